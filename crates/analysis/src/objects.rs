//! Objects and the accesses to their fields, by class, allocation site and field.

use std::cmp::Reverse;
use std::hash::Hash;

use perk_profile::fields::AlikeObjects;
use perk_profile::{
    AccessCounts, AllocationSite, ClassId, Field, FieldAccesses, FieldCounts, KeyedMap,
};

/// The class and the allocation site of objects.
pub type SiteKey = (Option<AllocationSite>, ClassId);

/// The class of objects, and one of their fields.
pub type FieldKey = (ClassId, Field);

/// All objects.
pub fn total(accesses: &FieldAccesses) -> ObjectsRow<()> {
    let mut row = ObjectsRow::new(());
    accesses.rows().for_each(|objects| row.add(&objects, objects.accesses()));
    row
}

/// The objects by class, most objects first.
pub fn by_class(accesses: &FieldAccesses) -> Vec<ObjectsRow<ClassId>> {
    by_key(accesses, |row| row.class)
}

/// The objects by allocation site and class, most objects first.
pub fn by_site(accesses: &FieldAccesses) -> Vec<ObjectsRow<SiteKey>> {
    by_key(accesses, |row| (row.site, row.class))
}

fn by_key<K: Copy + Eq + Hash>(
    accesses: &FieldAccesses,
    key: impl Fn(&AlikeObjects<'_>) -> K,
) -> Vec<ObjectsRow<K>> {
    let mut rows = OrderedMap::default();
    for objects in accesses.rows() {
        let key = key(&objects);
        rows.at(key, ObjectsRow::new).add(&objects, objects.accesses());
    }
    let mut rows = rows.values;
    rows.sort_by_key(|row| Reverse((row.object_count, row.shared_count, row.all().total())));
    rows
}

/// The fields of each class of objects: the number of objects that have them, and the accesses to
/// all of these. Most accessed first.
pub fn by_field(accesses: &FieldAccesses) -> Vec<ObjectsRow<FieldKey>> {
    let mut rows = OrderedMap::default();
    let mut places = vec![Vec::new(); accesses.layout_count()];
    for objects in accesses.rows() {
        let places = &mut places[objects.layout];
        if places.is_empty() {
            let keys = objects.fields.iter().map(|&field| (objects.class, field));
            places.extend(keys.map(|key| rows.place(key, ObjectsRow::new)));
        }
        for (&place, counts) in places.iter().zip(objects.accesses()) {
            rows.values[place].add(&objects, std::iter::once(counts));
        }
    }
    let mut rows = rows.values;
    rows.sort_by_key(|row| Reverse((row.all().total(), row.object_count)));
    rows
}

/// The fields that `is_meant` accepts, by class and allocation site of the objects. Those that other
/// threads accessed most come first.
pub fn by_field_and_site(
    accesses: &FieldAccesses,
    is_meant: impl Fn(FieldKey) -> bool,
) -> Vec<ObjectsRow<(FieldKey, Option<AllocationSite>)>> {
    let mut rows = OrderedMap::default();
    let mut meant = vec![None; accesses.layout_count()];
    for objects in accesses.rows() {
        let keys = objects.fields.iter().map(|&field| (objects.class, field));
        let meant: &Vec<bool> =
            meant[objects.layout].get_or_insert_with(|| keys.clone().map(&is_meant).collect());
        for ((key, counts), _) in keys.zip(objects.accesses()).zip(meant).filter(|it| *it.1) {
            rows.at((key, objects.site), ObjectsRow::new).add(&objects, std::iter::once(counts));
        }
    }
    let mut rows = rows.values;
    let order = |all: FieldCounts| (all.by_others(), all.total());
    rows.sort_by_key(|row| Reverse((order(row.all()), row.object_count)));
    rows
}

/// Values in the order in which their keys came.
#[derive(Debug)]
pub(crate) struct OrderedMap<K, V> {
    pub(crate) values: Vec<V>,
    places: KeyedMap<K, usize>,
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        Self { values: Vec::new(), places: KeyedMap::default() }
    }
}

impl<K: Copy + Eq + Hash, V> OrderedMap<K, V> {
    /// The place of the value of `key`, which `make` makes if there is none.
    pub(crate) fn place(&mut self, key: K, make: impl FnOnce(K) -> V) -> usize {
        *self.places.entry(key).or_insert_with(|| {
            self.values.push(make(key));
            self.values.len() - 1
        })
    }

    /// The value of `key`.
    pub(crate) fn at(&mut self, key: K, make: impl FnOnce(K) -> V) -> &mut V {
        let place = self.place(key, make);
        &mut self.values[place]
    }
}

/// Objects with a common key, and the accesses to them, or to one of their fields. Objects are
/// judged by the accesses of all means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectsRow<K> {
    /// The common property of the objects.
    pub key: K,
    /// The number of objects.
    pub object_count: u64,
    /// The number of objects whose allocation site is not known. The thread that allocated them is
    /// not known either.
    pub unknown_count: u64,
    /// The number of objects that were accessed at all.
    pub accessed_count: u64,
    /// The number of objects that were accessed by a thread other than the one that allocated them.
    /// Objects of unknown site are in none of these numbers.
    pub shared_count: u64,
    /// The number of objects that were written by a thread other than the one that allocated them.
    pub other_written_count: u64,
    /// The number of objects that were read, and of which each field was written at most once, by
    /// the thread that allocated them.
    pub read_only_count: u64,
    /// The accesses to the objects of known site.
    pub counts: AccessCounts,
    /// The accesses to the objects of unknown site.
    pub unknown: AccessCounts,
}

impl<K> ObjectsRow<K> {
    fn new(key: K) -> Self {
        Self {
            key,
            object_count: 0,
            unknown_count: 0,
            accessed_count: 0,
            shared_count: 0,
            other_written_count: 0,
            read_only_count: 0,
            counts: AccessCounts::default(),
            unknown: AccessCounts::default(),
        }
    }

    /// The number of objects whose allocation site is known.
    pub fn known_count(&self) -> u64 {
        self.object_count - self.unknown_count
    }

    /// The accesses to the objects of known site, by all means.
    pub fn all(&self) -> FieldCounts {
        self.counts.all()
    }

    /// Adds `objects`, each with these accesses to the fields that count.
    fn add(
        &mut self,
        objects: &AlikeObjects<'_>,
        fields: impl Iterator<Item = AccessCounts> + Clone,
    ) {
        let all = || fields.clone().map(|it| it.all());
        let add = |to: &mut u64, is_so: bool| {
            *to = to.saturating_add(if is_so { objects.object_count } else { 0 });
        };
        add(&mut self.object_count, true);
        add(&mut self.accessed_count, all().any(|it| it.is_accessed()));
        if objects.site.is_none() {
            add(&mut self.unknown_count, true);
            fields.for_each(|counts| self.unknown.add(&counts, objects.object_count));
            return;
        }
        add(&mut self.shared_count, all().any(|it| it.is_shared()));
        add(&mut self.other_written_count, all().any(|it| it.other_write_count > 0));
        let is_read = |it: FieldCounts| it.owner_read_count > 0 || it.other_read_count > 0;
        let is_read_only = all().all(|it| it.is_initialised_only()) && all().any(is_read);
        add(&mut self.read_only_count, is_read_only);
        fields.for_each(|counts| self.counts.add(&counts, objects.object_count));
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
        let layout = accesses.layout(class, vec![a, b]);
        let both = |a: FieldCounts, b: FieldCounts| [a.into(), b.into()];
        let first = accesses.push(Some(site), layout, 1, both(counts(3, 0), counts(1, 1)));
        accesses.push(None, layout, 5, both(counts(2, 0), counts(0, 0)));
        accesses.push(None, layout, 2, both(counts(0, 0), counts(0, 0)));
        accesses.add_objects(first, 9);

        assert_eq!(accesses.object_count(), 17);
        let [row] = &by_class(&accesses)[..] else { panic!("one class") };
        assert_eq!((row.object_count, row.accessed_count, row.shared_count), (17, 15, 10));
        assert_eq!((row.unknown_count, row.known_count()), (7, 10));
        assert_eq!((row.all(), row.unknown.all().total()), (counts(3 * 10 + 10, 10), 2 * 5));
        assert_eq!((row.other_written_count, row.read_only_count), (10, 0));
        let sites = by_site(&accesses);
        assert_eq!(sites.iter().map(|row| row.object_count).collect::<Vec<_>>(), [10, 7]);
        let fields = by_field(&accesses);
        assert_eq!((fields[0].key.1, fields[0].all()), (a, counts(30, 0)));
        assert_eq!((fields[0].read_only_count, fields[0].unknown.all().total()), (10, 10));
        assert_eq!((fields[1].accessed_count, fields[1].shared_count), (10, 10));
        let of_b = by_field_and_site(&accesses, |(_, field)| field == b);
        let of_b: Vec<_> = of_b.iter().map(|row| (row.key.1, row.object_count)).collect();
        assert_eq!(of_b, [(Some(site), 10), (None, 7)]);
    }
}
