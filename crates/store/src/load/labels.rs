//! The labels that numbers of a store have.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use perk_tables::Limits;

use crate::hour::Hour;
use crate::question::{Detail, KeptLabels, KeptTimes, Question};
use crate::store::Store;

/// Keys of labels, and the values of each.
pub type LabelValues = BTreeMap<String, BTreeSet<String>>;

impl Store {
    /// The labels of a question's recordings, and those that its numbers of the last hour have of their own.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    pub async fn labels(&self, question: &Question, limits: &Limits) -> Result<LabelValues> {
        let pieces = self.pieces(&question.window()).await?;
        let sources = self.sources(&pieces).await?;
        let mut found = LabelValues::new();
        let mut add = |(key, value): &(String, String)| {
            found.entry(key.clone()).or_default().insert(value.clone());
        };
        sources.values().for_each(|labels| labels.iter().for_each(&mut add));
        if let Some(last) = pieces.iter().map(|it| it.hour()).max() {
            let sums = self.part(&labels_of_hour(question, last), limits).await?.sums;
            sums.labels.values().iter().for_each(|labels| labels.iter().for_each(&mut add));
        }
        Ok(found)
    }
}

/// The labels of a question's numbers of an hour.
fn labels_of_hour(question: &Question, hour: Hour) -> Question {
    let detail = Detail {
        times: KeptTimes::Nothing,
        has_stacks: false,
        has_threads: false,
        labels: KeptLabels::All,
        is_cpu_time: false,
    };
    Question { detail, ..question.of_hour(hour) }
}
