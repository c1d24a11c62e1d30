//! The sums of a part of a store, whatever their stacks.

use std::sync::Arc;

use anyhow::Result;
use perk_profile::Metric;
use perk_tables::Limits;

use super::build;
use crate::question::{Detail, Question};
use crate::store::Store;

/// A sum of numbers of all stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// What the numbers are.
    pub metric: Metric,
    /// The labels that are kept.
    pub labels: Vec<(String, String)>,
    /// The begin of the 10 seconds or of the hour, in milliseconds since 1970; 0 if times are not kept.
    pub time_ms: i64,
    /// The sum.
    pub sum: u64,
    /// The CPU time of samples, if it is known: recordings can have different intervals.
    pub cpu_ns: Option<u64>,
    /// What a sample represents; `None` if all was counted, or it is not known.
    pub period: Option<u64>,
}

impl Store {
    /// The numbers that a question asks, added up over stacks and threads. Much less is read than for a profile.
    ///
    /// # Errors
    /// The store cannot be read, or has more than fits the memory, in one line.
    pub async fn totals(&self, question: &Question, limits: &Limits) -> Result<Vec<Total>> {
        let detail = Detail { has_stacks: false, has_threads: false, ..question.detail.clone() };
        let question = Question { detail, ..question.clone() };
        let pieces = self.pieces(&question.window()).await?;
        let facts = Arc::new(self.recording_facts(&pieces).await?);
        let sums = self.sums(&pieces, &facts, &question, limits).await?;
        let totals = sums.sums.iter().map(|(key, &sum)| {
            let (name, unit) = &sums.metrics.values()[key.metric as usize];
            let interval_ns = sums.intervals_ns[key.metric as usize];
            Total {
                metric: build::metric(name, unit),
                labels: sums.labels.values().get(key.labels as usize).cloned().unwrap_or_default(),
                time_ms: key.time_ms,
                sum: build::count(sum, interval_ns),
                cpu_ns: interval_ns.map(|_| sum),
                period: interval_ns.or(facts.periods.get(name).copied()),
            }
        });
        Ok(totals.collect())
    }
}
