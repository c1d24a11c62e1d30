//! Allocations by class, by site, by method and by call path.

use std::cmp::Reverse;

use perk_profile::{
    Allocations, ClassId, KeyedMap, MethodId, Metric, NodeId, PathId, Profile, Site, Sites, StrId,
};

use crate::MethodTree;

/// The objects of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRow {
    /// The class; of several with the same name (loaded by several class loaders) the first.
    pub class: ClassId,
    /// Its objects.
    pub objects: Allocations,
}

/// The objects of one class from one call path, over all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteRow {
    /// The class; of several with the same name the first.
    pub class: ClassId,
    /// The path, with lines; the root if it is not known.
    pub node: NodeId,
    /// The objects.
    pub objects: Allocations,
}

/// The objects that one method allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodRow {
    /// The method; of several that look the same the first.
    pub method: MethodId,
    /// The objects that it allocated itself.
    pub own: Allocations,
    /// The objects that it and its callees allocated, each counted once however deep it recurses.
    pub total: Allocations,
}

/// The objects allocated at each node of a [`MethodTree`], by [`PathId`].
#[derive(Clone, Debug)]
pub struct AllocationColumns {
    /// The objects that the path's last method allocated itself.
    pub own: Vec<Allocations>,
    /// The objects that it and its callees allocated.
    pub total: Vec<Allocations>,
    /// The metric by which methods are ordered.
    by: Metric,
}

impl AllocationColumns {
    /// Makes the columns of the objects of `sites`, whose methods are ordered by `by`.
    pub fn new(profile: &Profile, tree: &MethodTree, sites: &Sites, by: &Metric) -> Self {
        let mut own = vec![Allocations::default(); tree.len()];
        for row in &sites.rows {
            own[tree.path(profile.get_trace(row.trace).node).index()].add(row.objects);
        }
        let total = tree.totals(&own, |sum, more| sum.add(*more));
        Self { own, total, by: by.clone() }
    }

    /// The objects whose path is not known.
    pub fn without_path(&self, tree: &MethodTree) -> Allocations {
        self.own[tree.root().index()]
    }

    /// The methods that allocated, most of their own first.
    pub fn methods(&self, tree: &MethodTree) -> Vec<MethodRow> {
        let mut rows: Vec<MethodRow> = Vec::new();
        let mut places: KeyedMap<MethodId, usize> = KeyedMap::default();
        tree.walk(|path: PathId, is_outermost| {
            let total = self.total[path.index()];
            let Some(method) = tree.method(path).filter(|_| total != Allocations::default()) else {
                return;
            };
            let place = *places.entry(method).or_insert_with(|| {
                let none = Allocations::default();
                rows.push(MethodRow { method, own: none, total: none });
                rows.len() - 1
            });
            rows[place].own.add(self.own[path.index()]);
            if is_outermost {
                rows[place].total.add(total);
            }
        });
        let size = |objects: &Allocations| size(objects, &self.by);
        rows.sort_by_key(|row| (size(&row.own), size(&row.total), row.method));
        rows
    }
}

/// The classes of `sites`, most of the metric `by` first.
pub fn classes(profile: &Profile, sites: &Sites, by: &Metric) -> Vec<ClassRow> {
    let rows = merge(profile, sites, |_| ());
    let mut rows: Vec<_> =
        rows.into_iter().map(|((), class, objects)| ClassRow { class, objects }).collect();
    rows.sort_by_key(|row| (size(&row.objects, by), row.class));
    rows
}

/// The sites, most of the metric `by` first.
pub fn sites(profile: &Profile, sites: &Sites, by: &Metric) -> Vec<SiteRow> {
    let rows = merge(profile, sites, |site| profile.get_trace(site.trace).node);
    let mut rows: Vec<_> =
        rows.into_iter().map(|(node, class, objects)| SiteRow { class, node, objects }).collect();
    rows.sort_by_key(|row| (size(&row.objects, by), row.node, row.class));
    rows
}

/// The sort key of objects: most of the metric first; then most allocated bytes, or most live ones
/// where the metric is the allocated bytes.
fn size(objects: &Allocations, by: &Metric) -> impl Ord + use<> {
    let Allocations { live_bytes, live_count, allocated_bytes, allocated_count } = *objects;
    Reverse(match by {
        Metric::LiveBytes => (live_bytes, allocated_bytes, live_count),
        Metric::LiveObjects => (live_count, allocated_bytes, live_bytes),
        Metric::AllocatedObjects => (allocated_count, allocated_bytes, live_bytes),
        _ => (allocated_bytes, live_bytes, allocated_count),
    })
}

/// The sites added up by class name and `key`.
fn merge<K: Copy + Eq + std::hash::Hash>(
    profile: &Profile,
    sites: &Sites,
    key: impl Fn(&Site) -> K,
) -> Vec<(K, ClassId, Allocations)> {
    let mut rows: Vec<(K, ClassId, Allocations)> = Vec::new();
    let mut places: KeyedMap<(StrId, K), usize> = KeyedMap::default();
    for site in &sites.rows {
        let name = profile.symbols.get_class(site.class).name;
        let key = key(site);
        let place = *places.entry((name, key)).or_insert_with(|| {
            rows.push((key, site.class, Allocations::default()));
            rows.len() - 1
        });
        rows[place].2.add(site.objects);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::push_sites;

    fn profile() -> Profile {
        let mut profile = Profile::default();
        push_sites(
            &mut profile,
            &[
                ("byte[]", "T.copy:5<T.read:9<T.main:1", [1_000, 10, 100, 1]),
                ("byte[]", "T.copy:5<T.main:2", [500, 5, 0, 0]),
                ("T", "T.read:8<T.main:1", [160, 10, 16, 1]),
                ("T", "T.read:8<T.read:9<T.main:1", [32, 2, 32, 2]),
                ("int[]", "", [64, 1, 64, 1]),
            ],
        );
        profile
    }

    fn section(profile: &Profile) -> Sites {
        profile.sites().unwrap()
    }

    #[test]
    fn classes_and_sites_add_up() {
        let profile = profile();
        let class = |id| profile.symbols.class_name(id).to_owned();
        let classes: Vec<_> = classes(&profile, &section(&profile), &Metric::AllocatedBytes)
            .iter()
            .map(|row| (class(row.class), row.objects.allocated_bytes, row.objects.live_count))
            .collect();
        assert_eq!(
            classes,
            [("byte[]".into(), 1_500, 1), ("T".into(), 192, 3), ("int[]".into(), 64, 1)]
        );
        let sites = sites(&profile, &section(&profile), &Metric::AllocatedBytes);
        let bytes: Vec<_> = sites.iter().map(|row| row.objects.allocated_bytes).collect();
        assert_eq!(bytes, [1_000, 500, 160, 64, 32]);
        assert_eq!(sites[3].node, profile.tree.root());
    }

    #[test]
    fn the_order_is_that_of_a_metric() {
        let profile = profile();
        for (by, expected) in [
            (Metric::AllocatedBytes, ["byte[]", "T", "int[]"]),
            (Metric::AllocatedObjects, ["byte[]", "T", "int[]"]),
            (Metric::LiveBytes, ["byte[]", "int[]", "T"]),
            (Metric::LiveObjects, ["T", "byte[]", "int[]"]),
        ] {
            let rows = classes(&profile, &section(&profile), &by);
            let names: Vec<_> =
                rows.iter().map(|row| profile.symbols.class_name(row.class)).collect();
            assert_eq!(names, expected, "{by:?}");
            let first = &sites(&profile, &section(&profile), &by)[0];
            let expected = if by == Metric::LiveObjects { "T" } else { "byte[]" };
            assert_eq!(profile.symbols.class_name(first.class), expected, "{by:?}");
        }
    }

    #[test]
    fn methods_count_their_own_and_all_below() {
        let profile = profile();
        let tree = MethodTree::new(&profile);
        let columns =
            AllocationColumns::new(&profile, &tree, &section(&profile), &Metric::AllocatedBytes);
        let rows: Vec<_> = columns
            .methods(&tree)
            .iter()
            .map(|row| {
                let name = profile.symbols.method_name(row.method);
                (name, row.own.allocated_bytes, row.total.allocated_bytes, row.total.live_bytes)
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("T.copy".into(), 1_500, 1_500, 100),
                // The inner of two calls of `read` is counted once.
                ("T.read".into(), 192, 1_192, 148),
                ("T.main".into(), 0, 1_692, 148),
            ]
        );
        assert_eq!(columns.without_path(&tree).allocated_bytes, 64);
    }

    #[test]
    fn classes_of_several_loaders_are_one() {
        let mut profile = profile();
        let trace = profile.system_trace();
        let class = profile.symbols.new_class("int[]");
        let objects = Allocations { allocated_bytes: 6, ..Allocations::default() };
        let mut sites = section(&profile);
        sites.rows.push(Site { class, trace, objects });
        profile.events.push(sites.into());
        let classes = classes(&profile, &section(&profile), &Metric::AllocatedBytes);
        assert_eq!(classes.len(), 3);
        assert_eq!(classes[2].objects.allocated_bytes, 70);
    }
}
