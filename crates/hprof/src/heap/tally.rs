//! Counts the objects of a dump by class, and infers their sizes from their addresses.
//!
//! Objects do not overlap. So the distance from one object of the dump to the next is at least the
//! size of the first. It is more if something that the dump does not give lies between. So the
//! least distance after the objects of a class is their size, unless the heap is full of holes or
//! the dump is not in the order of addresses (as with ZGC).

mod solve;

use perk_hotspot::layout::{FieldCounts, FieldKind, Layout};
use perk_profile::{
    ClassId, HeapClassRow, HeapHistogram, HeapRoot, KeyedMap, ObjectLayout, Profile,
};

use super::addresses::Addresses;
use super::sizes::{Lengths, ObjectSizes, Sizes};
use super::skim::ObjectVisitor;
use super::{ClassDump, FieldType, Header, RootKind};

/// The number of recently looked-up classes that are remembered, by the low bits of their ids.
const RECENT: usize = 1 << 8;
/// The least alignment of objects in HotSpot's heap.
const LEAST_ALIGNMENT_BYTES: u32 = 8;
/// The class of objects that represent classes.
const CLASS: &str = "java.lang.Class";
/// The number of types of elements, by HPROF's numbers.
const TYPES: usize = 12;

/// The data of the heap dump that is being read.
#[derive(Debug)]
pub struct Tally {
    classes: Vec<ClassTally>,
    by_id: KeyedMap<u64, u32>,
    recent: Box<[(u64, u32); RECENT]>,
    primitives: [Lengths; TYPES],
    roots: [u64; HeapRoot::ALL.len()],
    /// What the file's ids are as addresses.
    addresses: Addresses,
    /// The bits that are set in any address.
    id_bits: u64,
    /// The addresses of the objects that represent classes, which are dumped separately from the
    /// others.
    class_ids: Vec<u64>,
    /// The number of them that are one above a multiple of eight.
    hub_count: usize,
    has_sorted_ids: bool,
    before: LastObject,
    /// The least distance after an array, without its elements, for each primitive type.
    primitive_slack: [u64; TYPES],
    /// The same for arrays of references, if references have eight bytes.
    reference_slack: i64,
    is_open: bool,
    /// Whether Android wrote the file, which then gives the size of a class's instances.
    is_android: bool,
    /// Whether the file of another writer gives that size, too.
    has_instance_bytes: bool,
    /// Whether the distances are those to the next object in the order of addresses.
    is_by_address: bool,
    /// The number of objects with a lower address than the one before.
    descent_count: u64,
    /// The rules that are given, where they are not to be inferred.
    given: Option<ObjectLayout>,
}

/// A class.
#[derive(Debug, Default)]
struct ClassTally {
    /// The class in the profile, if LOAD CLASS has given it.
    class: Option<ClassId>,
    id: u64,
    count: u64,
    /// The least distance after its instances, and the number of times that it was found.
    gap: u64,
    gap_count: u64,
    /// The bytes of the values of its instances.
    value_bytes: u32,
    arrays: Option<Box<Lengths>>,
    /// The data of CLASS DUMP.
    dump: Option<ClassShape>,
}

#[derive(Clone, Copy, Debug)]
struct ClassShape {
    superclass: u64,
    instance_bytes: u32,
    fields: FieldCounts,
    statics: FieldCounts,
}

/// The object before the one at hand.
#[derive(Clone, Copy, Debug)]
struct LastObject {
    address: u64,
    kind: ObjectKind,
}

#[derive(Clone, Copy, Debug)]
enum ObjectKind {
    None,
    Instance(u32),
    References { length: u32 },
    Primitives { element: FieldType, bytes: u64 },
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            classes: Vec::new(),
            by_id: KeyedMap::default(),
            recent: Box::new([(u64::MAX, 0); RECENT]),
            primitives: [Lengths::default(); TYPES],
            roots: [0; HeapRoot::ALL.len()],
            addresses: Addresses::default(),
            id_bits: 0,
            class_ids: Vec::new(),
            hub_count: 0,
            has_sorted_ids: true,
            before: LastObject { address: 0, kind: ObjectKind::None },
            primitive_slack: [u64::MAX; TYPES],
            reference_slack: i64::MAX,
            is_open: false,
            is_android: false,
            has_instance_bytes: false,
            is_by_address: false,
            descent_count: 0,
            given: None,
        }
    }
}

impl ObjectVisitor for Tally {
    #[inline]
    fn instance(&mut self, id: u64, class: u64, value_bytes: u32) {
        let index = self.index(class);
        let class = &mut self.classes[index as usize];
        class.count += 1;
        class.value_bytes = value_bytes;
        self.distance(id, ObjectKind::Instance(index));
    }

    #[inline]
    fn object_array(&mut self, id: u64, class: u64, length: u32) {
        let index = self.index(class);
        self.classes[index as usize].arrays.get_or_insert_default().add(length);
        self.distance(id, ObjectKind::References { length });
    }

    #[inline]
    fn primitive_array(&mut self, id: u64, element: FieldType, length: u32) {
        let bytes = u64::from(length) * element.bytes(0) as u64;
        self.primitives[usize::from(element.to_hprof())].add(length);
        self.distance(id, ObjectKind::Primitives { element, bytes });
    }
}

impl Tally {
    /// Begins or continues a dump.
    pub fn open(&mut self) {
        self.is_open = true;
    }

    /// Begins a file. The data of the file before it no longer applies.
    pub fn begin_file(&mut self, header: &Header) {
        let addresses = Addresses::new(header.id_bytes);
        *self = Self { is_android: header.is_android(), addresses, ..Self::default() };
    }

    /// Says that CLASS DUMP has the size of instances with header and padding, as in
    /// [`TEXT_TITLE`](super::TEXT_TITLE).
    pub fn take_instance_bytes(&mut self) {
        self.has_instance_bytes = true;
    }

    /// Whether the dump has no object and no class so far.
    pub fn is_empty(&self) -> bool {
        let has_primitives = self.primitives.iter().any(|arrays| arrays.count > 0);
        let has_any =
            |class: &ClassTally| class.count > 0 || class.arrays.is_some() || class.dump.is_some();
        !has_primitives && !self.classes.iter().any(has_any)
    }

    /// Whether a dump has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Takes LOAD CLASS.
    pub fn load(&mut self, id: u64, class: ClassId) {
        self.addresses.learn(id);
        let index = self.index(id);
        self.classes[index as usize].class = Some(class);
    }

    /// Takes CLASS DUMP. `statics` are the types of the static fields, without the JVM's own.
    pub fn class(&mut self, dump: &ClassDump<'_>, statics: impl Iterator<Item = FieldType>) {
        let index = self.index(dump.id);
        let fields = dump.fields().map(|(_, field)| field.kind()).collect();
        let statics = statics.map(FieldType::kind).collect();
        let ClassDump { superclass, instance_bytes, .. } = *dump;
        let dumped = ClassShape { superclass, instance_bytes, fields, statics };
        self.classes[index as usize].dump = Some(dumped);
        self.class_ids.push(self.addresses.of(dump.id));
        self.hub_count += usize::from(self.addresses.of(dump.id) % 8 == 1);
        self.has_sorted_ids = false;
    }

    /// Counts a root.
    pub fn root(&mut self, kind: RootKind) {
        let kind = match kind {
            RootKind::JniGlobal(_) => HeapRoot::JniGlobal,
            RootKind::JniLocal(_) => HeapRoot::JniLocal,
            RootKind::JavaFrame(_) => HeapRoot::JavaFrame,
            RootKind::NativeStack(_) => HeapRoot::NativeStack,
            RootKind::StickyClass => HeapRoot::StickyClass,
            RootKind::ThreadBlock(_) => HeapRoot::ThreadBlock,
            RootKind::Monitor | RootKind::JniMonitor(_) => HeapRoot::Monitor,
            RootKind::Thread { .. } => HeapRoot::Thread,
            RootKind::Unreachable => return,
            _ => HeapRoot::Unknown,
        };
        self.roots[kind as usize] += 1;
    }

    /// Ends the dump. The data of LOAD CLASS is kept for the next one.
    ///
    /// `is_of_jvm`: whether the JVM wrote the dump, with all fields that its objects have.
    pub fn finish(&mut self, profile: &mut Profile, is_of_jvm: bool) -> HeapHistogram {
        let (sizes, layouts) = self.solve(profile, is_of_jvm);
        let mut rows = Vec::new();
        let of_classes = self.of_classes(profile);
        for (index, class) in self.classes.iter().enumerate() {
            let own_bytes = self.instance_bytes(index, &sizes, layouts[index].as_ref());
            let mut instance_count = class.count;
            let mut shallow_bytes = class.count.saturating_mul(own_bytes);
            if of_classes == Some(index) && !self.is_native_image() {
                for dumped in self.classes.iter().filter_map(|class| class.dump) {
                    instance_count += 1;
                    shallow_bytes += sizes.jvm.class_bytes(own_bytes, &dumped.statics);
                }
            }
            if let Some(arrays) = &class.arrays {
                instance_count += arrays.count;
                let bytes = sizes.array_bytes(arrays, FieldKind::Reference);
                shallow_bytes = shallow_bytes.saturating_add(bytes);
            }
            if instance_count > 0 {
                let unnamed = || profile.symbols.class(&format!("<class {:#x}>", class.id));
                let class = class.class.unwrap_or_else(unnamed);
                rows.push(HeapClassRow { class, instance_count, shallow_bytes });
            }
        }
        for (number, arrays) in self.primitives.iter().enumerate() {
            let Some(element) = FieldType::from_hprof(number as u8) else { continue };
            let (Some(name), 1..) = (element.name(), arrays.count) else { continue };
            rows.push(HeapClassRow {
                class: profile.symbols.class(&format!("{name}[]")),
                instance_count: arrays.count,
                shallow_bytes: sizes.array_bytes(arrays, element.kind()),
            });
        }
        let roots = HeapRoot::ALL.into_iter().zip(self.roots).filter(|&(_, count)| count > 0);
        let roots = roots.collect();
        self.forget();
        let layout = Some(sizes.layout());
        let mut heap = HeapHistogram { rows, roots, layout, ..HeapHistogram::default() };
        heap.rank();
        heap
    }

    /// Returns the ids of the classes that instances or arrays have or that CLASS DUMPs give.
    pub fn class_ids(&self) -> impl Iterator<Item = u64> {
        let is_used =
            |class: &&ClassTally| class.count > 0 || class.arrays.is_some() || class.dump.is_some();
        self.classes.iter().filter(is_used).map(|class| class.id)
    }

    /// Returns what the file's ids are as addresses.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Returns the number of objects with a lower address than the one before. The distances are
    /// those between neighbours only if they are few.
    pub fn descent_count(&self) -> u64 {
        self.descent_count
    }

    /// Takes it that the distances are those between neighbours.
    pub fn trust_distances(&mut self) {
        self.is_by_address = true;
    }

    /// Forgets the distances, so that those in the order of addresses can be given.
    pub fn forget_distances(&mut self) {
        for class in &mut self.classes {
            (class.gap, class.gap_count) = (u64::MAX, 0);
        }
        self.primitive_slack = [u64::MAX; TYPES];
        self.reference_slack = i64::MAX;
        self.is_by_address = true;
    }

    /// Takes the distance from an instance of a class to the next object.
    #[inline]
    pub fn instance_distance(&mut self, class: u64, gap: u64) {
        let index = self.index(class);
        self.classes[index as usize].distance(gap);
    }

    /// Takes the distance from an array of references to the next object.
    #[inline]
    pub fn references_distance(&mut self, length: u32, gap: u64) {
        let gap = i64::try_from(gap).unwrap_or(i64::MAX);
        let slack = gap - 8 * i64::from(length);
        self.reference_slack = self.reference_slack.min(slack);
    }

    /// Takes the distance from an array with this number of bytes of elements to the next object.
    #[inline]
    pub fn primitives_distance(&mut self, element: FieldType, bytes: u64, gap: u64) {
        let slack = &mut self.primitive_slack[usize::from(element.to_hprof())];
        *slack = (*slack).min(gap.saturating_sub(bytes));
    }

    /// Takes the rules of sizes as given, whatever the distances are.
    pub fn assume(&mut self, layout: ObjectLayout) {
        self.given = Some(layout);
    }

    /// Returns the sizes of the objects so far. `is_of_jvm` is that of [`Tally::finish`].
    pub fn object_sizes(&self, profile: &Profile, is_of_jvm: bool) -> ObjectSizes {
        let (sizes, layouts) = self.solve(profile, is_of_jvm);
        let own = |index: usize| self.instance_bytes(index, &sizes, layouts[index].as_ref());
        let instance_bytes =
            self.classes.iter().enumerate().map(|(index, class)| (class.id, own(index)));
        let class_bytes = match self.is_native_image() {
            true => None,
            false => Some(self.of_classes(profile).map_or(0, own)),
        };
        ObjectSizes { sizes, instance_bytes: instance_bytes.collect(), class_bytes }
    }

    /// Infers the rules and the layout of each class.
    fn solve(&self, profile: &Profile, is_of_jvm: bool) -> (Sizes, Vec<Option<Layout>>) {
        let (sizes, trusted) = match self.given {
            Some(layout) => (self.packed_or_stacked(Sizes::given(layout)), u64::MAX),
            None if self.is_android => (Sizes::android(), u64::MAX),
            None => (self.sizes(), self.trusted_gap_count(is_of_jvm)),
        };
        let layouts = self.layouts(&sizes, trusted, Some(profile));
        (sizes, layouts)
    }

    /// Returns the index of `java.lang.ClassTally`.
    fn of_classes(&self, profile: &Profile) -> Option<usize> {
        self.classes.iter().position(|class| {
            class.class.is_some_and(|class| profile.symbols.class_name(class) == CLASS)
        })
    }

    /// Returns the size of the instances of a class.
    fn instance_bytes(&self, index: usize, sizes: &Sizes, layout: Option<&Layout>) -> u64 {
        let class = &self.classes[index];
        let given_bytes = class.dump.map(|dump| dump.instance_bytes);
        let given_bytes = given_bytes.filter(|&bytes| self.gives_instance_bytes() && bytes > 0);
        match layout {
            _ if let Some(bytes) = given_bytes => {
                u64::from(bytes).next_multiple_of(sizes.jvm.alignment_bytes.into())
            }
            Some(layout) => layout.instance_bytes(),
            None => (u64::from(sizes.jvm.header_bytes) + u64::from(class.value_bytes))
                .next_multiple_of(sizes.jvm.alignment_bytes.into()),
        }
    }

    /// Whether CLASS DUMP has the size of instances in the heap, and not that of their fields.
    fn gives_instance_bytes(&self) -> bool {
        self.is_android || self.has_instance_bytes || self.is_native_image()
    }

    /// Whether a native image wrote the dump. Its classes are objects like all others, and CLASS DUMP
    /// has their addresses plus one.
    fn is_native_image(&self) -> bool {
        let has_aligned_ids = self.id_bits.trailing_zeros() >= LEAST_ALIGNMENT_BYTES.ilog2();
        has_aligned_ids && self.class_ids.len() > 1 && self.hub_count == self.class_ids.len()
    }

    /// Forgets all data except the classes' ids and names.
    fn forget(&mut self) {
        for class in &mut self.classes {
            *class = ClassTally { class: class.class, id: class.id, ..ClassTally::new(class.id) };
        }
        let (classes, by_id) = (&mut self.classes, &mut self.by_id);
        *self = Self {
            classes: std::mem::take(classes),
            by_id: std::mem::take(by_id),
            addresses: self.addresses,
            is_android: self.is_android,
            has_instance_bytes: self.has_instance_bytes,
            ..Self::default()
        };
    }

    #[inline]
    fn index(&mut self, id: u64) -> u32 {
        let slot = (id >> 3 ^ id >> 11) as usize % RECENT;
        let (recent, index) = self.recent[slot];
        if recent == id { index } else { self.find(id, slot) }
    }

    fn find(&mut self, id: u64, slot: usize) -> u32 {
        let next = self.classes.len() as u32;
        let index = *self.by_id.entry(id).or_insert(next);
        if index == next {
            self.classes.push(ClassTally::new(id));
        }
        self.recent[slot] = (id, index);
        index
    }

    /// Notes the distance between the object before and this one.
    #[inline]
    fn distance(&mut self, id: u64, kind: ObjectKind) {
        let address = self.addresses.of(id);
        self.id_bits |= address;
        let before = std::mem::replace(&mut self.before, LastObject { address, kind });
        let Some(gap @ 1..) = address.checked_sub(before.address) else {
            self.descent_count += 1;
            return;
        };
        match before.kind {
            ObjectKind::Instance(index) => {
                let mut gap = gap;
                if gap != self.classes[index as usize].gap {
                    gap = self.without_class(before.address, gap);
                }
                self.classes[index as usize].distance(gap);
            }
            ObjectKind::References { length } => {
                self.references_distance(length, gap);
            }
            ObjectKind::Primitives { element, bytes } => {
                self.primitives_distance(element, bytes, gap)
            }
            ObjectKind::None => {}
        }
    }

    /// Returns the distance to the next object, which may be one that represents a class.
    #[cold]
    fn without_class(&mut self, address: u64, gap: u64) -> u64 {
        if !self.has_sorted_ids {
            self.class_ids.sort_unstable();
            self.has_sorted_ids = true;
        }
        let next = self.class_ids.partition_point(|&class| class <= address);
        self.class_ids.get(next).map_or(gap, |class| gap.min(class - address))
    }
}

impl ClassTally {
    fn new(id: u64) -> Self {
        Self { id, gap: u64::MAX, ..Self::default() }
    }

    /// Takes the distance from an instance to the next object.
    #[inline]
    fn distance(&mut self, gap: u64) {
        if gap < self.gap {
            (self.gap, self.gap_count) = (gap, 0);
        }
        self.gap_count += u64::from(gap == self.gap);
    }
}
