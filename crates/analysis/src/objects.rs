//! Objects and the accesses to their fields, by class, allocation site and field.

use std::cmp::Reverse;

use perk_profile::fields::AlikeObjects;
use perk_profile::{AllocationSite, ClassId, Field, FieldAccesses, FieldCounts, KeyedMap};

/// The objects by class, most objects first.
pub fn by_class(accesses: &FieldAccesses) -> Vec<ObjectsRow<ClassId>> {
    by_key(accesses, |row| row.class)
}

/// The objects by allocation site and class, most objects first.
pub fn by_site(accesses: &FieldAccesses) -> Vec<ObjectsRow<(Option<AllocationSite>, ClassId)>> {
    by_key(accesses, |row| (row.site, row.class))
}

fn by_key<K: Copy + Eq + std::hash::Hash>(
    accesses: &FieldAccesses,
    key: impl Fn(&AlikeObjects<'_>) -> K,
) -> Vec<ObjectsRow<K>> {
    let mut rows: Vec<ObjectsRow<K>> = Vec::new();
    let mut places: KeyedMap<K, usize> = KeyedMap::default();
    for objects in accesses.rows() {
        let key = key(&objects);
        let place = *places.entry(key).or_insert_with(|| {
            rows.push(ObjectsRow::new(key));
            rows.len() - 1
        });
        rows[place].add(&objects.sum(), objects.is_shared(), objects.object_count);
    }
    rows.sort_by_key(|row| Reverse((row.object_count, row.shared_count, row.counts.total())));
    rows
}

/// The fields of each class of objects: the number of objects that have them, and the accesses to
/// all of these. Most accessed first.
pub fn by_field(accesses: &FieldAccesses) -> Vec<ObjectsRow<(ClassId, Field)>> {
    let mut rows: Vec<ObjectsRow<(ClassId, Field)>> = Vec::new();
    let mut places: KeyedMap<(ClassId, Field), usize> = KeyedMap::default();
    for objects in accesses.rows() {
        for (&field, counts) in objects.fields.iter().zip(objects.counts) {
            let key = (objects.class, field);
            let place = *places.entry(key).or_insert_with(|| {
                rows.push(ObjectsRow::new(key));
                rows.len() - 1
            });
            let mut sum = FieldCounts::default();
            sum.add(counts, objects.object_count);
            rows[place].add(&sum, counts.is_shared(), objects.object_count);
        }
    }
    rows.sort_by_key(|row| Reverse((row.counts.total(), row.object_count)));
    rows
}

/// Objects with a common key, and the accesses to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectsRow<K> {
    /// The common property of the objects.
    pub key: K,
    /// The number of objects.
    pub object_count: u64,
    /// The number of objects that were accessed at all.
    pub accessed_count: u64,
    /// The number of objects that were accessed by a thread other than the one that allocated them.
    pub shared_count: u64,
    /// The accesses to all of them.
    pub counts: FieldCounts,
}

impl<K> ObjectsRow<K> {
    fn new(key: K) -> Self {
        let counts = FieldCounts::default();
        Self { key, object_count: 0, accessed_count: 0, shared_count: 0, counts }
    }

    fn add(&mut self, sum: &FieldCounts, is_shared: bool, object_count: u64) {
        let add = |to: &mut u64, is_so: bool| {
            *to = to.saturating_add(if is_so { object_count } else { 0 });
        };
        add(&mut self.object_count, true);
        add(&mut self.accessed_count, sum.is_accessed());
        add(&mut self.shared_count, is_shared);
        self.counts.add(sum, 1);
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{FieldCounts, Symbols};

    use super::*;

    #[test]
    fn objects_add_up() {
        let mut symbols = Symbols::default();
        let class = symbols.class("T");
        let name = |symbols: &mut Symbols, name| symbols.strings.intern(name);
        let owner = name(&mut symbols, "T");
        let descriptor = name(&mut symbols, "I");
        let [a, b] =
            ["a", "b"].map(|it| Field { class: owner, name: name(&mut symbols, it), descriptor });
        let method = name(&mut symbols, "m");
        let site = AllocationSite { class: owner, method, descriptor, index: 7 };
        let counts = |owner_read_count, other_write_count| FieldCounts {
            owner_read_count,
            other_write_count,
            ..FieldCounts::default()
        };
        let mut accesses = FieldAccesses::default();
        let first = accesses.push(Some(site), class, 1, [(a, counts(3, 0)), (b, counts(1, 1))]);
        accesses.push(None, class, 5, [(a, counts(2, 0)), (b, counts(0, 0))]);
        accesses.push(None, class, 2, [(a, counts(0, 0)), (b, counts(0, 0))]);
        accesses.add_objects(first, 9);

        assert_eq!(accesses.object_count(), 17);
        let [row] = &by_class(&accesses)[..] else { panic!("one class") };
        assert_eq!((row.object_count, row.accessed_count, row.shared_count), (17, 15, 10));
        assert_eq!(row.counts, counts(3 * 10 + 10 + 2 * 5, 10));
        let sites = by_site(&accesses);
        assert_eq!(sites.iter().map(|row| row.object_count).collect::<Vec<_>>(), [10, 7]);
        let fields = by_field(&accesses);
        assert_eq!((fields[0].key.1, fields[0].counts), (a, counts(40, 0)));
        assert_eq!((fields[1].accessed_count, fields[1].shared_count), (10, 10));
    }
}
