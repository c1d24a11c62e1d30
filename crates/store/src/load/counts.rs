//! A metric by recordings' labels, hours and stacks: what comparisons need to know how much numbers vary.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use perk_profile::{Profile, TraceId};
use perk_tables::Limits;

use super::Part;
use super::sums::SumKey;
use crate::question::{Detail, KeptLabels, KeptTimes, Question};
use crate::stacks::StackPaths;
use crate::store::Store;

/// A metric by the labels of recordings, hours and stacks.
#[derive(Debug)]
pub struct Counts {
    /// The stacks and the account, without numbers.
    pub profile: Profile,
    /// By labels.
    pub groups: Vec<Group>,
}

/// The numbers of recordings with the same labels: those of a JVM on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The labels.
    pub labels: Vec<(String, String)>,
    /// The start of the first recording, in milliseconds since 1970.
    pub begin_ms: i64,
    /// By the begin of the hour, in milliseconds since 1970: stacks and their numbers. The number of CPU samples is their
    /// time in nanoseconds.
    pub hours: BTreeMap<i64, Vec<(TraceId, u64)>>,
    /// What a sample represents; `None` if all was counted.
    pub period: Option<u64>,
}

impl Store {
    /// A metric of a question, by recordings' labels, hours and stacks.
    ///
    /// # Errors
    /// The store cannot be read, or has more than fits the memory, in one line.
    pub async fn counts(&self, question: &Question, limits: &Limits) -> Result<Counts> {
        let detail = Detail {
            times: KeptTimes::Hours,
            has_stacks: true,
            has_threads: false,
            labels: KeptLabels::OfRecordings,
        };
        let question = Question { detail, ..question.clone() };
        let Part { facts, sums, paths, .. } = self.part(&question, limits).await?;
        let StackPaths { mut profile, nodes } = paths;
        profile.accounting = facts.account(&question, None);
        let begins_ms = facts.begins_ms();
        let groups = sums.labels.values().iter().map(|labels| Group {
            labels: labels.clone(),
            begin_ms: begins_ms.get(labels).copied().unwrap_or_default(),
            hours: BTreeMap::new(),
            period: None,
        });
        let mut groups: Vec<_> = groups.collect();
        for (&key, &number) in &sums.sums {
            let SumKey { metric, stack, labels, time_ms, .. } = key;
            let Some(group) = groups.get_mut(labels as usize) else { continue };
            let node = match sums.stacks.values().get(stack as usize) {
                Some(id) => *nodes.get(id).context("a stack has no frames")?,
                None => profile.tree.root(),
            };
            let trace = profile.trace(node, None);
            group.hours.entry(time_ms).or_default().push((trace, number));
            let period = sums.metrics.values().get(metric as usize);
            let period = period.and_then(|it| facts.periods.get(&it.0).copied());
            group.period = sums.intervals_ns[metric as usize].or(period);
        }
        Ok(Counts { profile, groups })
    }
}
