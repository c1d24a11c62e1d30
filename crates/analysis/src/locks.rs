//! The waits of threads for locks, by path, class of the lock and thread.

use perk_profile::{
    ClassId, KeyedMap, LockKind, MonitorRow, NodeId, Profile, StrId, ThreadId, Waits,
};

/// The waits of one path for locks of one class, over all sections and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionRow {
    /// The class of the lock; of several with the same name the first.
    pub class: ClassId,
    /// The kind of the lock.
    pub kind: LockKind,
    /// The path of the waits, with lines; the root if it is not known.
    pub node: NodeId,
    /// The number and the time of the waits.
    pub waits: Waits,
}

/// The paths on which threads waited, most time blocked first.
pub fn contention(profile: &Profile) -> Vec<ContentionRow> {
    let mut rows = merge(profile, |row| profile.get_trace(row.trace).node);
    rows.sort_by_key(|&(node, class, kind, waits)| (waits.order(), node, class, kind));
    rows.into_iter()
        .map(|(node, class, kind, waits)| ContentionRow { class, kind, node, waits })
        .collect()
}

/// The classes of the locks that threads waited for, most time blocked first.
pub fn lock_classes(profile: &Profile) -> Vec<(ClassId, LockKind, Waits)> {
    let rows = merge(profile, |_| ());
    let mut rows: Vec<_> =
        rows.into_iter().map(|((), class, kind, waits)| (class, kind, waits)).collect();
    rows.sort_by_key(|&(class, kind, waits)| (waits.order(), class, kind));
    rows
}

/// The waits of each thread, most time blocked first; only in a profile that was made per thread.
pub fn waiting_threads(profile: &Profile) -> Vec<(ThreadId, Waits)> {
    let mut sums: KeyedMap<ThreadId, Waits> = KeyedMap::default();
    for row in profile.monitor_times().flat_map(|section| section.rows) {
        if let Some(thread) = profile.get_trace(row.trace).thread {
            sums.entry(thread).or_default().add(row.waits);
        }
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|&(thread, waits)| (waits.order(), thread));
    rows
}

/// The rows of all sections added up by class name, kind and `key`.
fn merge<K: Copy + Eq + std::hash::Hash>(
    profile: &Profile,
    key: impl Fn(&MonitorRow) -> K,
) -> Vec<(K, ClassId, LockKind, Waits)> {
    let mut rows: Vec<(K, ClassId, LockKind, Waits)> = Vec::new();
    let mut places: KeyedMap<(StrId, LockKind, K), usize> = KeyedMap::default();
    for row in profile.monitor_times().flat_map(|section| section.rows) {
        let name = profile.symbols.get_class(row.class).name;
        let key = key(&row);
        let place = *places.entry((name, row.kind, key)).or_insert_with(|| {
            rows.push((key, row.class, row.kind, Waits::default()));
            rows.len() - 1
        });
        rows[place].3.add(row.waits);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{push_monitor_times, waits};

    #[test]
    fn sections_add_up() {
        let mut profile = Profile::default();
        push_monitor_times(&mut profile, &[("A", "T.f<T.main", waits(1, 10, 0, 0))]);
        push_monitor_times(
            &mut profile,
            &[("A", "T.f<T.main", waits(2, 20, 1, 5)), ("B", "T.f<T.main", waits(1, 90, 0, 0))],
        );
        let rows = contention(&profile);
        let name = |class| profile.symbols.class_name(class);
        assert_eq!((name(rows[0].class), rows[0].waits), ("B", waits(1, 90, 0, 0)));
        assert_eq!((name(rows[1].class), rows[1].waits), ("A", waits(3, 30, 1, 5)));
        assert_eq!(lock_classes(&profile).len(), 2);
    }
}
