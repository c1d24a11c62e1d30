//! A reader of dumps and a solver of dominators that do without everything that makes them fast:
//! all references are kept, nothing is folded.

mod dominators;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use perk_heap::{Heap, Holder, ObjectId, Reach, Refs};
use perk_hprof::heap::{Elements, FieldType, Record, RootKind, Stream};

use crate::graph::Strength;
use dominators::Dominators;

/// References of a dump. Objects are numbered in the order of addresses.
pub(crate) struct Plain {
    pub(crate) addresses: Vec<u64>,
    /// The ends of each object's part of `targets`, which begins at the end of the one before.
    ends: Vec<u32>,
    targets: Vec<u32>,
    /// References that do not hold: from, to, strength.
    others: Vec<(u32, u32, Strength)>,
    roots: Vec<u32>,
}

#[derive(Default)]
struct PlainClasses {
    names: HashMap<u64, String>,
    class_names: HashMap<u64, String>,
    classes: HashMap<u64, PlainClass>,
    /// The offsets of references in instances, by class.
    layouts: HashMap<u64, Vec<(usize, Strength)>>,
}

struct PlainClass {
    superclass: u64,
    fields: Vec<(u64, FieldType)>,
}

impl PlainClasses {
    /// Returns the offsets of the references in the instances of a class.
    fn layout(&self, class: u64, id_bytes: usize) -> Vec<(usize, Strength)> {
        let chain: Vec<u64> = std::iter::successors(Some(class), |class| {
            Some(self.classes.get(class)?.superclass).filter(|&it| it != 0)
        })
        .collect();
        let name = |class: &u64| self.class_names.get(class).map_or("", String::as_str);
        let of_referent = chain.iter().find_map(|class| match name(class) {
            "java/lang/ref/SoftReference" => Some(Strength::Soft),
            "java/lang/ref/WeakReference" => Some(Strength::Weak),
            "java/lang/ref/PhantomReference" | "java/lang/ref/FinalReference" => {
                Some(Strength::Final)
            }
            _ => None,
        });
        let (mut offset, mut found) = (0, Vec::new());
        for class in &chain {
            for (field, kind) in self.classes.get(class).map_or(&[][..], |it| &it.fields) {
                if *kind == FieldType::Object {
                    let strength = match (name(class), self.names[field].as_str()) {
                        ("java/lang/ref/Reference", "referent") => {
                            of_referent.unwrap_or(Strength::Strong)
                        }
                        ("java/lang/ref/Reference", "discovered") => Strength::None,
                        _ => Strength::Strong,
                    };
                    found.push((offset, strength));
                }
                offset += kind.bytes(id_bytes);
            }
        }
        found
    }
}

impl Plain {
    /// Reads a dump.
    pub(crate) fn read(path: &Path, refs: Refs) -> Self {
        let (mut classes, mut addresses, mut roots) =
            (PlainClasses::default(), Vec::new(), Vec::new());
        let (header, mut stream) = open(path);
        while let Some(record) = stream.next().unwrap() {
            match record {
                Record::Utf8 { id, bytes } => {
                    classes.names.insert(id, String::from_utf8_lossy(bytes).into_owned());
                }
                Record::LoadClass { class, name, .. } => {
                    classes.class_names.insert(class, classes.names[&name].clone());
                }
                Record::Class(class) => {
                    addresses.push(class.id);
                    let fields = class.fields().collect();
                    let superclass = class.superclass;
                    classes.classes.insert(class.id, PlainClass { superclass, fields });
                }
                Record::Instance { id, .. } | Record::Array { id, .. } => addresses.push(id),
                Record::Root(root) => roots.push(root),
                _ => {}
            }
        }
        for &class in classes.classes.keys() {
            classes.layouts.insert(class, classes.layout(class, header));
        }
        addresses.sort_unstable();
        addresses.dedup();
        let number = |id: u64| addresses.binary_search(&id).ok().map(|it| it as u32);

        let threads: HashMap<u32, u32> = roots
            .iter()
            .filter_map(|root| match root.kind {
                RootKind::Thread { serial, .. } => Some((serial, number(root.id)?)),
                _ => None,
            })
            .collect();
        let (mut direct, mut locals) = (HashSet::new(), HashSet::new());
        for root in &roots {
            let serial = match root.kind {
                RootKind::JniLocal(stack) | RootKind::JavaFrame(stack) => Some(stack.thread_serial),
                RootKind::NativeStack(serial) | RootKind::ThreadBlock(serial) => Some(serial),
                _ => None,
            };
            let Some(object) = number(root.id) else { continue };
            match serial.and_then(|it| threads.get(&it)) {
                Some(&thread) => drop(locals.insert((thread, object))),
                None => drop(direct.insert(object)),
            }
        }
        // The JVM does not list the classes of primitive arrays.
        let is_primitive = |name: &str| name.len() == 2 && name.starts_with('[');
        let primitive = classes.class_names.iter().filter(|it| is_primitive(it.1));
        direct.extend(primitive.filter_map(|(&class, _)| number(class)));
        let weakest = match refs {
            Refs::Strong => Strength::Strong,
            Refs::Soft => Strength::Soft,
            Refs::All => Strength::Final,
        };
        let mut ends = vec![0_u32; addresses.len()];
        let mut others = Vec::new();
        let each = |put: &mut dyn FnMut(u32, u32, Strength)| {
            for &(thread, object) in &locals {
                put(thread, object, Strength::Strong);
            }
            each_reference(path, &classes, &mut |from, to, strength| {
                if let Some(to) = number(to) {
                    put(number(from).unwrap(), to, strength);
                }
            });
        };
        each(&mut |from, to, strength| match strength <= weakest {
            true => ends[from as usize] += 1,
            false => others.push((from, to, strength)),
        });
        let mut sum = 0;
        for end in &mut ends {
            // The ends are the begins until the targets are there.
            let degree = std::mem::replace(end, sum);
            sum += degree;
        }
        let mut targets = vec![0; sum as usize];
        each(&mut |from, to, strength| {
            if strength <= weakest {
                let end = &mut ends[from as usize];
                targets[*end as usize] = to;
                *end += 1;
            }
        });
        let mut roots: Vec<u32> = direct.into_iter().collect();
        roots.sort_unstable();
        Self { addresses, ends, targets, others, roots }
    }

    pub(crate) fn targets(&self, object: u32) -> &[u32] {
        let object = object as usize;
        let begin = if object == 0 { 0 } else { self.ends[object - 1] };
        &self.targets[begin as usize..self.ends[object] as usize]
    }

    /// Returns the way in which each object is reachable.
    fn reach(&self) -> Vec<Reach> {
        let mut reach = vec![Reach::Unreachable; self.addresses.len()];
        let mut others: HashMap<u32, Vec<(u32, Strength)>> = HashMap::new();
        for &(from, to, strength) in &self.others {
            others.entry(from).or_default().push((to, strength));
        }
        let mut begin = self.roots.clone();
        let levels = [
            (Reach::Held, Strength::Strong),
            (Reach::Softly, Strength::Soft),
            (Reach::Weakly, Strength::Weak),
            (Reach::Finalizable, Strength::Final),
        ];
        // The weaker references of what has been reached, by strength.
        let mut later = Vec::new();
        for (level, strength) in levels {
            let mut todo = std::mem::take(&mut begin);
            let (now, rest) = later.into_iter().partition(|it: &(u32, Strength)| it.1 <= strength);
            later = rest;
            todo.extend(Vec::from_iter(now).into_iter().map(|it: (u32, Strength)| it.0));
            while let Some(object) = todo.pop() {
                if reach[object as usize] != Reach::Unreachable {
                    continue;
                }
                reach[object as usize] = level;
                todo.extend(self.targets(object));
                for &(to, weaker) in others.get(&object).into_iter().flatten() {
                    match weaker <= strength {
                        true => todo.push(to),
                        false => later.push((to, weaker)),
                    }
                }
            }
        }
        reach
    }

    /// Compares each object of a heap. Returns the number of those that are held.
    pub(crate) fn compare(&self, heap: &Heap) -> usize {
        assert_eq!(heap.object_count(), self.addresses.len() as u64);
        for (object, &address) in heap.objects().zip(&self.addresses) {
            assert_eq!(heap.address(object), address);
        }
        let reach = self.reach();
        for (object, &reach) in heap.objects().zip(&reach) {
            assert_eq!(heap.reach(object), reach, "{:#x}", heap.address(object));
        }
        let dominators =
            Dominators::solve(self.addresses.len(), &self.roots, |it| self.targets(it));
        let retained = dominators.sums(|object| heap.shallow_bytes(ObjectId(object)));
        let mut held_count = 0;
        for (object, &reach) in heap.objects().zip(&reach) {
            let address = heap.address(object);
            let holder = match dominators.immediate(object.0) {
                _ if reach != Reach::Held => Holder::Nothing,
                Some(holder) => Holder::Object(ObjectId(holder)),
                None => Holder::Roots,
            };
            held_count += usize::from(reach == Reach::Held);
            assert_eq!(heap.holder(object), holder, "holder of {address:#x}");
            let retained = retained[object.0 as usize];
            assert_eq!(heap.retained_bytes(object), retained, "retained by {address:#x}");
        }
        held_count
    }
}

/// Returns the size of ids and the records of a dump.
fn open(path: &Path) -> (usize, Stream<BufReader<File>>) {
    let (header, stream) = Stream::new(BufReader::new(File::open(path).unwrap())).unwrap();
    (header.id_bytes, stream)
}

/// Calls `put` with each reference of a dump but null: from, to, strength.
fn each_reference(path: &Path, classes: &PlainClasses, put: &mut dyn FnMut(u64, u64, Strength)) {
    let (id_bytes, mut stream) = open(path);
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let mut put = |from: u64, to: u64, strength| {
        if to != 0 {
            put(from, to, strength);
        }
    };
    // The array whose elements come in parts.
    let mut open_array = None;
    while let Some(record) = stream.next().unwrap() {
        match record {
            Record::Class(class) => {
                let others = [class.superclass, class.loader, class.signers, class.domain];
                let constants = class.constants().map(|it| it.1);
                let values = constants.chain(class.statics().map(|it| it.value));
                let values = values.filter(|it| it.field == FieldType::Object).map(|it| it.bits());
                others.into_iter().chain(values).for_each(|to| put(class.id, to, Strength::Strong));
            }
            Record::Instance { id, class, values, .. } => {
                put(id, class, Strength::Strong);
                for &(offset, strength) in &classes.layouts[&class] {
                    put(id, number(&values[offset..offset + id_bytes]), strength);
                }
            }
            Record::Array { id, elements: Elements::Objects(class), bytes, .. } => {
                put(id, class, Strength::Strong);
                bytes.chunks(id_bytes).for_each(|to| put(id, number(to), Strength::Strong));
                open_array = Some(id);
            }
            Record::Array { elements: Elements::Primitives(_), .. } => open_array = None,
            Record::MoreElements(bytes) => {
                if let Some(id) = open_array {
                    bytes.chunks(id_bytes).for_each(|to| put(id, number(to), Strength::Strong));
                }
            }
            _ => {}
        }
    }
}
