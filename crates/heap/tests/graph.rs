//! Heaps made at random, and the references in them.

mod classes;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};

use perk_heap::{Label, Value};
use perk_hprof::heap::FieldType;

use crate::dump::{Dump, RootRecord};
pub(crate) use classes::{GraphClass, known};

/// A source of random numbers that is the same for each seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The strength of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    Strong,
    Soft,
    Weak,
    Final,
    /// It holds nothing in any way.
    None,
}

/// A reference to an object that is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub(crate) to: usize,
    pub(crate) label: String,
    pub(crate) strength: Strength,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// The class object of a class.
    Class(usize),
    Instance {
        class: usize,
        values: Vec<Value>,
    },
    Objects {
        class: usize,
        elements: Vec<u64>,
    },
    Primitives(FieldType, Vec<u8>),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) address: u64,
    pub(crate) trace: u32,
    pub(crate) body: Body,
}

/// A heap. Its nodes are in the order of addresses.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) id_bytes: usize,
    pub(crate) nodes: Vec<Node>,
    pub(crate) classes: Vec<GraphClass>,
    /// In the file's order, with addresses at which there may be nothing.
    pub(crate) roots: Vec<(RootRecord, u64)>,
    has_segments: bool,
    /// Whether classes are between the objects, and not before them.
    has_late_classes: bool,
    seed: u64,
}

impl Graph {
    /// Makes a heap of about `size` objects besides the classes.
    pub(crate) fn random(seed: u64, size: usize) -> Self {
        let mut dice = Dice(seed);
        let mut classes = classes::random(&mut dice);
        let count = classes.len() + size;
        let out = shapes::random(&mut dice, count);
        let (id_bytes, addresses) = addresses(&mut dice, count);
        let nowhere = (1..).find(|it| addresses.binary_search(it).is_err()).unwrap();
        let nowhere = [nowhere, *addresses.last().unwrap() + 1];
        let mut places: Vec<usize> = (0..count).collect();
        dice.shuffle(&mut places);
        for (class, &place) in classes.iter_mut().zip(&places) {
            class.place = place;
        }
        let class_at: BTreeMap<usize, usize> =
            classes.iter().enumerate().map(|(index, it)| (it.place, index)).collect();
        let mut nodes = Vec::new();
        for (place, targets) in out.iter().enumerate() {
            let mut ids: Vec<u64> = targets.iter().map(|&to| addresses[to]).collect();
            if dice.chance(3) {
                ids.push(nowhere[dice.below(2)]);
            }
            let body = match class_at.get(&place) {
                Some(&class) => {
                    classes[class].take_references(&mut dice, &ids);
                    Body::Class(class)
                }
                None => classes::object(&mut dice, &classes, ids),
            };
            let trace = [0, 1, 2, 3][dice.below(4)];
            nodes.push(Node { address: addresses[place], trace, body });
        }
        let (has_segments, has_late_classes) = (dice.chance(70), dice.chance(20));
        let roots = Vec::new();
        let mut graph =
            Self { id_bytes, nodes, classes, roots, has_segments, has_late_classes, seed };
        graph.add_roots(&mut dice, nowhere[0]);
        graph
    }

    fn add_roots(&mut self, dice: &mut Dice, nowhere: u64) {
        let count = self.nodes.len();
        let mut roots = Vec::new();
        let mut serials = vec![70, 71];
        let is_thread = |it: &Node| match it.body {
            Body::Instance { class, .. } => self.is_below(class, known::THREAD),
            _ => false,
        };
        for thread in self.nodes.iter().filter(|it| is_thread(it)) {
            if dice.chance(75) {
                let serial = serials.len() as u32;
                let trace = 10 + dice.below(3) as u32;
                roots.push((RootRecord::Thread { serial, trace }, thread.address));
                serials.push(serial);
            }
        }
        // A thread without its object, and one that no record begins.
        roots.push((RootRecord::Thread { serial: 70, trace: 0 }, nowhere));
        let most = [0, 1, 2, count / 6, count / 3][dice.below(5)];
        for _ in 0..most {
            let thread = serials[dice.below(serials.len())];
            let frame = [u32::MAX, 0, 1, 2][dice.below(4)];
            let kind = match dice.below(9) {
                0 => RootRecord::Unknown,
                1 => RootRecord::JniGlobal,
                2 => RootRecord::JniLocal(thread, frame),
                3..=5 => RootRecord::JavaFrame(thread, frame),
                6 => RootRecord::NativeStack(thread),
                7 => RootRecord::ThreadBlock(thread),
                _ => RootRecord::Monitor,
            };
            let missing = dice.chance(3);
            let id = if missing { nowhere } else { self.nodes[dice.below(count)].address };
            roots.push((kind, id));
            if dice.chance(10) {
                roots.push((kind, id));
            }
        }
        // Most JVMs hold the classes of the boot loader.
        let percent = [100, 100, 50, 0][dice.below(4)];
        for class in &self.classes {
            let is_of_vm = class.name.starts_with("java/");
            if dice.chance(if is_of_vm { percent } else { 10 }) {
                roots.push((RootRecord::StickyClass, self.nodes[class.place].address));
            }
        }
        dice.shuffle(&mut roots);
        self.roots = roots;
    }

    pub(crate) fn is_below(&self, class: usize, above: usize) -> bool {
        let mut chain = std::iter::successors(Some(class), |&class| self.classes[class].superclass);
        chain.any(|it| it == above)
    }

    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        self.nodes.binary_search_by_key(&address, |it| it.address).ok()
    }

    /// Returns the node of the thread with the serial number, if it is there.
    pub(crate) fn thread(&self, wanted: u32) -> Option<usize> {
        self.roots.iter().find_map(|&(kind, id)| match kind {
            RootRecord::Thread { serial, .. } if serial == wanted => self.find(id),
            _ => None,
        })
    }

    /// Returns the roots that hold objects by themselves, and not by their thread.
    pub(crate) fn direct_roots(&self) -> BTreeSet<usize> {
        let direct = self.roots.iter().filter(|(kind, _)| match thread_of(*kind) {
            Some((serial, _)) => self.thread(serial).is_none(),
            None => true,
        });
        let assumed = self.assumed_roots().into_iter();
        direct.filter_map(|&(_, id)| self.find(id)).chain(assumed).collect()
    }

    /// Returns the classes that count as roots though the file has no root of them: those of primitive
    /// arrays, and all of the boot loader if no class is a root.
    pub(crate) fn assumed_roots(&self) -> Vec<usize> {
        let is_class =
            |it: &(RootRecord, u64)| it.0 == RootRecord::StickyClass && self.find(it.1).is_some();
        if self.roots.iter().any(is_class) {
            return vec![self.classes[known::INTS].place, self.classes[known::BYTES].place];
        }
        let of_boot_loader = self.classes.iter().filter(|it| it.record.loader == 0);
        let primitive = [known::INTS, known::BYTES].map(|it| self.classes[it].place);
        of_boot_loader.map(|it| it.place).chain(primitive).collect()
    }

    /// Returns the references of a node to objects that are there, and the number of the others.
    pub(crate) fn links(&self, from: usize) -> (Vec<Link>, u64) {
        let mut found = Vec::new();
        let mut put = |id: u64, label: Label, strength| found.push((id, label, strength));
        let strong = Strength::Strong;
        let class_object = |class: usize| self.nodes[self.classes[class].place].address;
        match &self.nodes[from].body {
            Body::Class(class) => {
                let record = &self.classes[*class].record;
                if let Some(above) = self.classes[*class].superclass {
                    put(class_object(above), Label::Superclass, strong);
                }
                put(record.loader, Label::Loader, strong);
                put(record.signers, Label::Signers, strong);
                put(record.domain, Label::ProtectionDomain, strong);
                for (index, value) in &record.constants {
                    if let Value::Reference(id) = *value {
                        put(id, Label::Constant(*index), strong);
                    }
                }
                for (name, value) in &record.statics {
                    if let Value::Reference(id) = *value {
                        put(id, Label::Static(name.clone()), strong);
                    }
                }
            }
            Body::Instance { class, values } => {
                put(class_object(*class), Label::Class, strong);
                for ((declarer, field, _), value) in self.fields(*class).into_iter().zip(values) {
                    if let Value::Reference(id) = *value {
                        put(
                            id,
                            Label::Field(field.clone()),
                            self.strength(*class, declarer, &field),
                        );
                    }
                }
            }
            Body::Objects { class, elements } => {
                put(class_object(*class), Label::Class, strong);
                for (index, &id) in elements.iter().enumerate() {
                    put(id, Label::Element(index as u64), strong);
                }
            }
            // Their classes are of the boot loader, which nothing unloads.
            Body::Primitives(..) => {}
        }
        let locals: BTreeSet<_> = self.locals(from).into_iter().collect();
        for (frame, id) in locals {
            put(id, Label::Local(frame), strong);
        }
        found.retain(|(id, ..)| *id != 0);
        let (mut links, mut dangling_count) = (Vec::new(), 0);
        for (id, label, strength) in found {
            match self.find(id) {
                Some(to) => links.push(Link { to, label: format!("{label:?}"), strength }),
                None => dangling_count += u64::from(strength != Strength::None),
            }
        }
        (links, dangling_count)
    }

    /// Returns the frames and addresses of what a node holds, if it is a thread.
    fn locals(&self, node: usize) -> Vec<(Option<u32>, u64)> {
        let of = self.roots.iter().filter_map(|&(kind, id)| {
            let (serial, frame) = thread_of(kind)?;
            self.find(id)?;
            (self.thread(serial) == Some(node)).then_some((frame, id))
        });
        of.collect()
    }

    /// Returns the fields of the instances of a class, with the class that declares each.
    pub(crate) fn fields(&self, class: usize) -> Vec<(usize, String, FieldType)> {
        classes::fields(&self.classes, class)
    }

    fn strength(&self, class: usize, declarer: usize, field: &str) -> Strength {
        if declarer != known::REFERENCE {
            return Strength::Strong;
        }
        match field {
            "discovered" => Strength::None,
            "referent" if self.is_below(class, known::SOFT) => Strength::Soft,
            "referent" if self.is_below(class, known::WEAK) => Strength::Weak,
            "referent" if self.is_below(class, known::PHANTOM) => Strength::Final,
            "referent" if self.is_below(class, known::FINAL) => Strength::Final,
            _ => Strength::Strong,
        }
    }

    /// Writes the dump.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut dice = Dice(self.seed ^ 1);
        let mut dump = Dump::new(self.id_bytes);
        dump.has_segments = self.has_segments;
        let mut serials = Vec::new();
        for class in &self.classes {
            serials.push(dump.load_class(self.nodes[class.place].address, &class.name));
        }
        for (frame, method) in [(1, "run"), (2, "call"), (3, "main")] {
            dump.frame(frame, serials[known::THREAD], method, frame as i32 * 10);
        }
        dump.trace(1, 0, &[]);
        dump.trace(2, 0, &[1, 2]);
        dump.trace(3, 0, &[3]);
        dump.trace(10, 2, &[]);
        dump.trace(11, 2, &[1, 2, 3]);
        dump.trace(12, 2, &[2, 3]);
        let roots_first = dice.chance(50);
        if roots_first {
            self.write_roots(&mut dump);
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        if dice.chance(50) {
            dice.shuffle(&mut order);
        }
        if !self.has_late_classes {
            order.sort_by_key(|&it| !matches!(self.nodes[it].body, Body::Class(_)));
        }
        for index in order {
            if dice.chance(5) {
                dump.end_segment();
            }
            let Node { address, trace, body } = &self.nodes[index];
            match body {
                Body::Class(class) => {
                    let class = &self.classes[*class];
                    let above =
                        class.superclass.map(|it| self.nodes[self.classes[it].place].address);
                    let mut record = class.record.clone();
                    (record.id, record.trace) = (*address, *trace);
                    record.superclass = above.unwrap_or(0);
                    dump.class(&record);
                }
                Body::Instance { class, values } => {
                    let class = self.nodes[self.classes[*class].place].address;
                    dump.instance(*address, *trace, class, values);
                }
                Body::Objects { class, elements } => {
                    let class = self.nodes[self.classes[*class].place].address;
                    dump.objects(*address, *trace, class, elements);
                }
                Body::Primitives(element, bytes) => {
                    dump.primitives(*address, *trace, *element, bytes);
                }
            }
        }
        if !roots_first {
            self.write_roots(&mut dump);
        }
        dump.finish()
    }

    fn write_roots(&self, dump: &mut Dump) {
        for &(kind, id) in &self.roots {
            dump.root(kind, id);
        }
    }
}

/// Returns the serial number of the thread that holds a root, and the index of its frame.
pub(crate) fn thread_of(kind: RootRecord) -> Option<(u32, Option<u32>)> {
    match kind {
        RootRecord::JniLocal(serial, frame) | RootRecord::JavaFrame(serial, frame) => {
            Some((serial, Some(frame).filter(|&frame| frame != u32::MAX)))
        }
        RootRecord::NativeStack(serial) | RootRecord::ThreadBlock(serial) => Some((serial, None)),
        _ => None,
    }
}

/// Returns the size of ids, and ascending addresses.
fn addresses(dice: &mut Dice, count: usize) -> (usize, Vec<u64>) {
    let id_bytes = [8, 8, 4, 4, 2, 3, 5, 6, 7, 1][dice.below(10)];
    let (id_bytes, step) = match id_bytes {
        // Serial numbers, as JDK 8's agent has them.
        1 if count < 254 => (1, 1),
        1 | 2 if count < 4000 => (2, [1, 8][dice.below(2)]),
        8 => (8, [8, 16, 1 << 26, 1 << 40][dice.below(4)]),
        id_bytes => (id_bytes.max(3), [1, 8, 16, 64][dice.below(4)]),
    };
    let mut address = [0_u64, 0xFF0, 1 << 20][dice.below(3).min(id_bytes - 1)];
    if id_bytes >= 6 {
        address += 0x7F_0000_0000;
    }
    let mut addresses = Vec::new();
    for _ in 0..count {
        address += step * if id_bytes > 2 { 1 + dice.below(4) as u64 } else { 1 };
        addresses.push(address);
    }
    (id_bytes, addresses)
}
