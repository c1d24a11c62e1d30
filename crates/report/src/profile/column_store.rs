//! The numbers by path that a profile keeps for the questions that follow.

use std::sync::{Arc, Mutex, PoisonError};

use perk_analysis::{Columns, MethodTree};
use perk_profile::{Metric, Profile};

/// The metrics whose numbers are kept.
const METRICS: usize = 2;

/// The numbers by path of the metrics of a profile that were asked for last.
#[derive(Debug, Default)]
pub(super) struct ColumnStore {
    /// The last one first.
    kept: Mutex<Vec<(Metric, Arc<Columns>)>>,
}

impl ColumnStore {
    /// The numbers of a metric of the profile, which is always the same one.
    pub(super) fn get(
        &self,
        profile: &Profile,
        tree: &MethodTree,
        metric: &Metric,
    ) -> Arc<Columns> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|it| it.0 == *metric);
        let first = match at {
            Some(at) => kept.remove(at),
            None => {
                kept.truncate(METRICS - 1);
                (metric.clone(), Columns::new(profile, tree, metric, None).into())
            }
        };
        let columns = Arc::clone(&first.1);
        kept.insert(0, first);
        columns
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|it| it.1.bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Section;

    use super::super::fixture::trace;
    use super::*;

    #[test]
    fn the_metrics_asked_for_last_are_kept() {
        let mut profile = Profile::default();
        let path = trace(&mut profile, &["T.main", "T.f"], None);
        let metrics = [Metric::Samples, Metric::BlockedCount, Metric::WaitCount];
        for (metric, number) in metrics.iter().zip(1..) {
            profile.events.push(Section::of(metric.clone(), number, [(path, number)]).into());
        }
        let tree = MethodTree::new(&profile);
        let store = ColumnStore::default();
        let get = |place: usize| store.get(&profile, &tree, &metrics[place]);
        let (first, second) = (get(0), get(1));
        assert_eq!((first.all, second.all), (1, 2));
        assert!(Arc::ptr_eq(&first, &get(0)));
        assert_eq!(store.bytes(), first.bytes() + second.bytes());
        assert_eq!(get(2).all, 3);
        assert!(Arc::ptr_eq(&first, &get(0)));
        assert!(!Arc::ptr_eq(&second, &get(1)));
    }
}
