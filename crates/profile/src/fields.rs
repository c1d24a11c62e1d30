//! Accesses to the fields of objects, by the thread that allocated the object and by others, as the
//! Shared Fields Analysis records them.

use std::cmp::Reverse;

use crate::{ClassId, KeyedMap, StrId, Symbols};

/// How often a field was accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldCounts {
    /// Reads by the thread that allocated the object.
    pub owner_read_count: u64,
    /// Reads by all other threads.
    pub other_read_count: u64,
    /// Writes by the thread that allocated the object.
    pub owner_write_count: u64,
    /// Writes by all other threads.
    pub other_write_count: u64,
}

impl FieldCounts {
    /// Whether another thread than the object's own accessed the field.
    pub fn is_shared(&self) -> bool {
        self.other_read_count > 0 || self.other_write_count > 0
    }

    /// Whether any thread accessed the field.
    pub fn is_accessed(&self) -> bool {
        *self != Self::default()
    }

    /// Adds `other`, which happened so many times.
    pub fn add(&mut self, other: &Self, times: u64) {
        let add = |to: &mut u64, from: u64| *to = to.saturating_add(from.saturating_mul(times));
        add(&mut self.owner_read_count, other.owner_read_count);
        add(&mut self.other_read_count, other.other_read_count);
        add(&mut self.owner_write_count, other.owner_write_count);
        add(&mut self.other_write_count, other.other_write_count);
    }

    /// The numbers in the order of a profile's columns: reads by the owner and by others, writes by
    /// the owner and by others.
    pub fn numbers(&self) -> [u64; 4] {
        let &Self { owner_read_count, other_read_count, owner_write_count, other_write_count } =
            self;
        [owner_read_count, other_read_count, owner_write_count, other_write_count]
    }

    /// All accesses.
    pub fn total(&self) -> u64 {
        self.numbers().into_iter().fold(0, u64::saturating_add)
    }
}

/// A field, named as class files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The class that declares it, with dots; of arrays the class itself (`[C`).
    pub class: StrId,
    /// Its name; `$arraylength` and `$components` of arrays.
    pub name: StrId,
    /// Its type's descriptor; `?` of components.
    pub descriptor: StrId,
}

/// The instruction that allocated an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AllocationSite {
    /// The class, with slashes.
    pub class: StrId,
    /// The method's name.
    pub method: StrId,
    /// The method's descriptor.
    pub descriptor: StrId,
    /// The instruction's index in the method; -1 where the method allocates by reflection.
    pub index: i32,
}

impl AllocationSite {
    /// As reports show it: `java.nio.ByteBuffer.wrap([BII)Ljava/nio/ByteBuffer; @2`.
    pub fn name(&self, symbols: &Symbols) -> String {
        let text = |id| symbols.strings.get(id);
        let (class, method) = (text(self.class).replace('/', "."), text(self.method));
        let index = if self.index < 0 { String::new() } else { format!(" @{}", self.index) };
        format!("{class}.{method}{}{index}", text(self.descriptor))
    }
}

/// The objects of a class and the fields they have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Layout {
    class: ClassId,
    fields: Vec<Field>,
}

/// Objects that are alike: of one class and site, and with the same accesses to each field.
#[derive(Clone, Copy, Debug)]
pub struct AlikeObjects<'a> {
    /// Where they were allocated; `None` where that is not known.
    pub site: Option<AllocationSite>,
    /// Their class.
    pub class: ClassId,
    /// How many there are.
    pub object_count: u64,
    /// Their fields, those of the outermost superclass first.
    pub fields: &'a [Field],
    /// The accesses to each field of one object.
    pub counts: &'a [FieldCounts],
}

impl AlikeObjects<'_> {
    /// Whether another thread than the objects' own accessed them.
    pub fn is_shared(&self) -> bool {
        self.counts.iter().any(FieldCounts::is_shared)
    }

    /// The accesses to all fields of all the objects.
    pub fn sum(&self) -> FieldCounts {
        let mut sum = FieldCounts::default();
        self.counts.iter().for_each(|counts| sum.add(counts, self.object_count));
        sum
    }
}

/// The accesses to all objects of a run. Objects that are alike are kept once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldAccesses {
    layouts: Vec<Layout>,
    layout_ids: KeyedMap<Layout, u32>,
    records: Vec<Record>,
    counts: Vec<FieldCounts>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    site: Option<AllocationSite>,
    layout: u32,
    object_count: u64,
    /// Where its counts begin; their number is the layout's.
    first_count: usize,
}

impl FieldAccesses {
    /// Adds objects, and says where they are. `fields` and `counts` go together.
    pub fn push(
        &mut self,
        site: Option<AllocationSite>,
        class: ClassId,
        object_count: u64,
        fields: impl IntoIterator<Item = (Field, FieldCounts)>,
    ) -> usize {
        let first_count = self.counts.len();
        let field = |(field, counts)| {
            self.counts.push(counts);
            field
        };
        let layout = Layout { class, fields: fields.into_iter().map(field).collect() };
        let next = u32::try_from(self.layouts.len()).unwrap_or(u32::MAX);
        let layout = *self.layout_ids.entry(layout).or_insert_with_key(|layout| {
            self.layouts.push(layout.clone());
            next
        });
        self.records.push(Record { site, layout, object_count, first_count });
        self.records.len() - 1
    }

    /// Says that there are `more` objects like those at `place`.
    pub fn add_objects(&mut self, place: usize, more: u64) {
        let count = &mut self.records[place].object_count;
        *count = count.saturating_add(more);
    }

    /// All objects, in the order in which the first of each kind was added.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = AlikeObjects<'_>> {
        self.records.iter().map(|record| {
            let layout = &self.layouts[record.layout as usize];
            let end = record.first_count + layout.fields.len();
            AlikeObjects {
                site: record.site,
                class: layout.class,
                object_count: record.object_count,
                fields: &layout.fields,
                counts: &self.counts[record.first_count..end],
            }
        })
    }

    /// How many objects there are.
    pub fn object_count(&self) -> u64 {
        self.records.iter().map(|record| record.object_count).fold(0, u64::saturating_add)
    }

    /// The objects by class, most objects first.
    pub fn by_class(&self) -> Vec<ObjectsRow<ClassId>> {
        self.by_key(|row| row.class)
    }

    /// The objects by allocation site and class, most objects first.
    pub fn by_site(&self) -> Vec<ObjectsRow<(Option<AllocationSite>, ClassId)>> {
        self.by_key(|row| (row.site, row.class))
    }

    fn by_key<K: Copy + Eq + std::hash::Hash>(
        &self,
        key: impl Fn(&AlikeObjects<'_>) -> K,
    ) -> Vec<ObjectsRow<K>> {
        let mut rows: Vec<ObjectsRow<K>> = Vec::new();
        let mut places: KeyedMap<K, usize> = KeyedMap::default();
        for objects in self.rows() {
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

    /// The fields of each class of objects: how many objects have them, and the accesses to them
    /// all. Most accessed first.
    pub fn by_field(&self) -> Vec<ObjectsRow<(ClassId, Field)>> {
        let mut rows: Vec<ObjectsRow<(ClassId, Field)>> = Vec::new();
        let mut places: KeyedMap<(ClassId, Field), usize> = KeyedMap::default();
        for objects in self.rows() {
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
}

/// Objects of a kind, and all that happened to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectsRow<K> {
    /// What they have in common.
    pub key: K,
    /// How many there are.
    pub object_count: u64,
    /// Those of them that were accessed at all.
    pub accessed_count: u64,
    /// Those of them that another thread than their own accessed.
    pub shared_count: u64,
    /// The accesses to them all.
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

        assert_eq!(accesses.layouts.len(), 1);
        assert_eq!(accesses.object_count(), 17);
        let [row] = &accesses.by_class()[..] else { panic!("one class") };
        assert_eq!((row.object_count, row.accessed_count, row.shared_count), (17, 15, 10));
        assert_eq!(row.counts, counts(3 * 10 + 10 + 2 * 5, 10));
        let sites = accesses.by_site();
        assert_eq!(sites.iter().map(|row| row.object_count).collect::<Vec<_>>(), [10, 7]);
        let fields = accesses.by_field();
        assert_eq!((fields[0].key.1, fields[0].counts), (a, counts(40, 0)));
        assert_eq!((fields[1].accessed_count, fields[1].shared_count), (10, 10));
    }
}
