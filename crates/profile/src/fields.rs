//! Accesses to the fields of objects, by the thread that allocated the object and by others, as the
//! Shared Fields Analysis records them.

use std::collections::BTreeMap;

use crate::{
    ClassId, Column, Frame, Key, KeyedMap, Line, Method, Metric, NamePattern, Profile, Section,
    SectionHead, StrId, Subject, Symbols, TraceId, names,
};

/// The numbers of accesses to a field.
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

impl From<[u64; 4]> for FieldCounts {
    /// Takes the order of [`FieldCounts::numbers`].
    fn from(numbers: [u64; 4]) -> Self {
        let [owner_read_count, other_read_count, owner_write_count, other_write_count] = numbers;
        Self { owner_read_count, other_read_count, owner_write_count, other_write_count }
    }
}

impl FieldCounts {
    /// Whether a thread other than the one that allocated the object accessed the field.
    pub fn is_shared(&self) -> bool {
        self.by_others() > 0
    }

    /// Whether any thread accessed the field.
    pub fn is_accessed(&self) -> bool {
        *self != Self::default()
    }

    /// Whether the field was written at most once, by the thread that allocated the object: such a
    /// write may be that of the constructor.
    pub fn is_initialised_only(&self) -> bool {
        self.owner_write_count <= 1 && self.other_write_count == 0
    }

    /// The number of accesses by threads other than the one that allocated the object.
    pub fn by_others(&self) -> u64 {
        self.other_read_count.saturating_add(self.other_write_count)
    }

    /// Adds the accesses of `other` multiplied by `times`.
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

    /// The number of all accesses.
    pub fn total(&self) -> u64 {
        self.numbers().into_iter().fold(0, u64::saturating_add)
    }
}

/// The accesses to a field, by the means that made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessCounts {
    /// Those of instructions: `getfield`, `putfield`, the loads from arrays and the stores to them,
    /// `arraylength`.
    pub direct: FieldCounts,
    /// Those by other means: `System.arraycopy`, `clone`, reflection, `VarHandle`, `Unsafe`, JNI.
    /// No accesses if they are not known.
    pub extended: FieldCounts,
}

impl AccessCounts {
    /// The accesses by all means.
    pub fn all(&self) -> FieldCounts {
        let mut all = self.direct;
        all.add(&self.extended, 1);
        all
    }

    /// Adds the accesses of `other` multiplied by `times`.
    pub fn add(&mut self, other: &Self, times: u64) {
        self.direct.add(&other.direct, times);
        self.extended.add(&other.extended, times);
    }
}

impl From<FieldCounts> for AccessCounts {
    fn from(direct: FieldCounts) -> Self {
        Self { direct, extended: FieldCounts::default() }
    }
}

/// A field, named as class files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The class that declares it, with dots; for arrays the array class itself (`[C`).
    pub class: StrId,
    /// Its name; `$arraylength` and `$components` for arrays.
    pub name: StrId,
    /// The descriptor of its type; `?` for components.
    pub descriptor: StrId,
}

/// A modifier of a field, as far as it matters to threads that share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldModifier {
    /// Neither of them, or it is not known.
    #[default]
    None,
    /// `final`
    Final,
    /// `volatile`
    Volatile,
    /// Neither of them, and `final` is not possible: not only constructors of its class write it.
    Assigned,
}

impl FieldModifier {
    /// Returns the modifier for its word in files.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Final, Self::Volatile, Self::Assigned].into_iter().find(|it| it.word() == Some(word))
    }

    /// Returns the word in files.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Final => Some("final"),
            Self::Volatile => Some("volatile"),
            Self::Assigned => Some("assigned"),
        }
    }
}

impl Field {
    /// Formats the field of objects of `class` as reports show it:
    /// `java.nio.HeapByteBuffer: int java.nio.Buffer.limit`.
    pub fn name(&self, class: ClassId, symbols: &Symbols) -> String {
        let text = |id| symbols.strings.get(id);
        let class = symbols.class_name(class);
        let kind = names::from_signature(text(self.descriptor));
        let (owner, name) = (self.declaring_class(symbols), text(self.name));
        match (kind.as_str(), owner == class) {
            ("?", _) => format!("{class}: {name}"),
            (kind, true) => format!("{class}: {kind} {name}"),
            (kind, false) => format!("{class}: {kind} {owner}.{name}"),
        }
    }

    /// Whether `pattern` matches the field of objects of `class`, or one of their classes: that of
    /// the objects or the one that declares the field.
    pub fn is_meant(&self, pattern: &NamePattern, class: ClassId, symbols: &Symbols) -> bool {
        let name = symbols.strings.get(self.name);
        pattern.matches(symbols.class_name(class), name)
            || pattern.matches(&self.declaring_class(symbols), name)
    }

    /// The class that declares it, in source form.
    pub fn declaring_class(&self, symbols: &Symbols) -> String {
        names::stable(&names::from_signature(symbols.strings.get(self.class))).into_owned()
    }
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
    /// The instruction's index in the method; -1 if the method allocates by reflection.
    pub index: i32,
}

impl AllocationSite {
    /// Returns the trace that has only the method.
    fn trace(&self, profile: &mut Profile) -> TraceId {
        let symbols = &mut profile.symbols;
        let class = symbols.strings.get(self.class).replace('/', ".");
        let class = symbols.class(&class);
        let signature = Some(self.descriptor);
        let method = symbols.method(Method { class, name: self.method, signature, source: None });
        let bci = (self.index >= 0).then_some(self.index);
        let frame = symbols.frame(Frame { bci, ..Frame::new(method, Line::Unknown) });
        let node = profile.tree.insert([frame]);
        profile.trace(node, None)
    }

    /// Formats the site as reports show it: `java.nio.ByteBuffer.wrap(byte[], int, int) @2`.
    pub fn name(&self, symbols: &Symbols) -> String {
        let text = |id| symbols.strings.get(id);
        let (class, method) = (text(self.class).replace('/', "."), text(self.method));
        let types = names::parameters(text(self.descriptor)).map(|types| {
            let simple = |name: &String| name.rsplit('.').next().unwrap_or(name).to_owned();
            format!("({})", types.iter().map(simple).collect::<Vec<_>>().join(", "))
        });
        let types = types.unwrap_or_else(|| text(self.descriptor).to_owned());
        let index = if self.index < 0 { String::new() } else { format!(" @{}", self.index) };
        format!("{class}.{method}{types}{index}")
    }
}

/// The class of objects and the fields they have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Layout {
    class: ClassId,
    fields: Vec<Field>,
}

/// Objects of one class and site, with the same accesses to each field.
#[derive(Clone, Copy, Debug)]
pub struct AlikeObjects<'a> {
    /// Their allocation site; `None` if it is not known.
    pub site: Option<AllocationSite>,
    /// Their class.
    pub class: ClassId,
    /// The number of objects.
    pub object_count: u64,
    /// Their fields, those of the outermost superclass first.
    pub fields: &'a [Field],
    /// The accesses of instructions to each field of one object. If the site is not known, neither
    /// is the thread that allocated the objects: then all are those of other threads.
    pub counts: &'a [FieldCounts],
    /// The accesses by other means to each field of one object; `None` if they are not known.
    pub extended: Option<&'a [FieldCounts]>,
    /// The number of their layout. Objects of one layout have the same class and fields.
    pub layout: usize,
}

impl<'a> AlikeObjects<'a> {
    /// The accesses to each field of one object, by their means.
    pub fn accesses(&self) -> impl Iterator<Item = AccessCounts> + Clone + use<'a> {
        let extended = self.extended;
        self.counts.iter().enumerate().map(move |(place, &direct)| AccessCounts {
            direct,
            extended: extended.map_or_else(FieldCounts::default, |extended| extended[place]),
        })
    }

    /// Whether a thread other than the one that allocated the objects is known to have accessed
    /// them, by any means.
    pub fn is_shared(&self) -> bool {
        self.site.is_some() && self.accesses().any(|it| it.all().is_shared())
    }

    /// The sum of the accesses of instructions to all fields of all the objects.
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
    /// As many as `counts`, if accesses by other means were counted.
    extended: Option<Vec<FieldCounts>>,
    modifiers: KeyedMap<Field, FieldModifier>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    site: Option<AllocationSite>,
    layout: u32,
    object_count: u64,
    /// The index of its first count; it has as many counts as its layout has fields.
    first_count: usize,
}

impl FieldAccesses {
    /// Returns the number of the layout of objects of `class` with these fields.
    pub fn layout(&mut self, class: ClassId, fields: Vec<Field>) -> usize {
        let next = u32::try_from(self.layouts.len()).unwrap_or(u32::MAX);
        let layout = self.layout_ids.entry(Layout { class, fields }).or_insert_with_key(|layout| {
            self.layouts.push(layout.clone());
            next
        });
        *layout as usize
    }

    /// Adds objects of a layout with the accesses to each field of one of them, and returns their
    /// index.
    pub fn push(
        &mut self,
        site: Option<AllocationSite>,
        layout: usize,
        object_count: u64,
        counts: impl IntoIterator<Item = AccessCounts>,
    ) -> usize {
        let first_count = self.counts.len();
        let end = first_count + self.layouts[layout].fields.len();
        for AccessCounts { direct, extended } in counts {
            self.counts.push(direct);
            self.extended.iter_mut().for_each(|all| all.push(extended));
        }
        self.resize(end);
        let layout = layout as u32;
        self.records.push(Record { site, layout, object_count, first_count });
        self.records.len() - 1
    }

    fn resize(&mut self, count: usize) {
        self.counts.resize(count, FieldCounts::default());
        if let Some(extended) = &mut self.extended {
            extended.resize(count, FieldCounts::default());
        }
    }

    /// Notes that accesses by other means than instructions were counted.
    pub fn set_extended(&mut self) {
        self.extended.get_or_insert_default();
        self.resize(self.counts.len());
    }

    /// Forgets the accesses by other means than instructions.
    pub fn drop_extended(&mut self) {
        self.extended = None;
    }

    /// Whether accesses by other means than instructions were counted.
    pub fn has_extended(&self) -> bool {
        self.extended.is_some()
    }

    /// Notes what is known of a field's declaration; of several notes the last in the order of
    /// [`FieldModifier`] counts.
    pub fn note_modifier(&mut self, field: Field, modifier: FieldModifier) {
        if modifier != FieldModifier::None {
            let known = self.modifiers.entry(field).or_default();
            *known = modifier.max(*known);
        }
    }

    /// Returns what is known of a field's declaration.
    pub fn modifier(&self, field: Field) -> FieldModifier {
        self.modifiers.get(&field).copied().unwrap_or_default()
    }

    /// Adds `more` to the number of objects at `place`.
    pub fn add_objects(&mut self, place: usize, more: u64) {
        let count = &mut self.records[place].object_count;
        *count = count.saturating_add(more);
    }

    /// All objects, in the order in which the first of each kind was added.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = AlikeObjects<'_>> {
        self.records.iter().map(|record| {
            let layout = &self.layouts[record.layout as usize];
            let counts = record.first_count..record.first_count + layout.fields.len();
            AlikeObjects {
                site: record.site,
                class: layout.class,
                object_count: record.object_count,
                fields: &layout.fields,
                counts: &self.counts[counts.clone()],
                extended: self.extended.as_ref().map(|all| &all[counts]),
                layout: record.layout as usize,
            }
        })
    }

    /// The number of layouts.
    pub fn layout_count(&self) -> usize {
        self.layouts.len()
    }

    /// The sites of the objects, those that are known.
    pub fn sites(&self) -> impl Iterator<Item = AllocationSite> + '_ {
        self.records.iter().filter_map(|record| record.site)
    }

    /// Keeps the objects of the sites that `is_kept` accepts.
    pub fn retain(&mut self, mut is_kept: impl FnMut(Option<AllocationSite>) -> bool) {
        self.records.retain(|record| is_kept(record.site));
    }

    /// Makes the section of the accesses of instructions by allocation site and field. The stack has
    /// only the method that allocated the objects. Accesses to objects of an unknown site are not
    /// shared ones.
    pub fn section(&self, profile: &mut Profile) -> Section {
        let mut sums: BTreeMap<Key, [u64; 2]> = BTreeMap::new();
        let mut traces: KeyedMap<AllocationSite, TraceId> = KeyedMap::default();
        for objects in self.rows() {
            let trace = match objects.site {
                None => profile.system_trace(),
                Some(site) => *traces.entry(site).or_insert_with(|| site.trace(profile)),
            };
            for (field, counts) in objects.fields.iter().zip(objects.counts) {
                let mut sum = FieldCounts::default();
                sum.add(counts, objects.object_count);
                let shared = match objects.site {
                    Some(_) => sum.by_others(),
                    None => 0,
                };
                let subject = Subject::Field(objects.class, field.name);
                let row = sums.entry(Key::new(trace, subject)).or_default();
                for (to, from) in row.iter_mut().zip([sum.total(), shared]) {
                    *to = to.saturating_add(from);
                }
            }
        }
        sums.retain(|_, numbers| numbers[0] > 0);
        let total =
            |place: usize| sums.values().map(|numbers| numbers[place]).fold(0, u64::saturating_add);
        let columns = [
            Column::new(Metric::FieldAccesses, total(0)),
            Column::new(Metric::SharedFieldAccesses, total(1)),
        ];
        Section::with_rows(SectionHead::new(columns), sums)
    }

    /// The number of objects.
    pub fn object_count(&self) -> u64 {
        self.records.iter().map(|record| record.object_count).fold(0, u64::saturating_add)
    }
}
