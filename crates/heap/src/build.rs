//! The analysis of a dump, from its file to the bytes that each object retains.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use perk_hotspot::layout::FieldKind;
use perk_hprof::heap::{FieldType, ObjectSizes, Tally};

use crate::batch::{self, ObjectHead, Objects};
use crate::bits::BitSet;
use crate::class::ClassKind;
use crate::core;
use crate::edges::EdgeFile;
use crate::findings::Findings;
use crate::heap::{Classes, Heap, Holders, Reachability, RetainedSizes};
use crate::ids::{Addresses, Ids};
use crate::index::Index;
use crate::input::Input;
use crate::links::Source;
use crate::memory::{self, Plan};
use crate::model::Model;
use crate::object_id::UNIT_BYTES;
use crate::pool::Pool;
use crate::referrers::{self, ClassMarks, HeadPass, MANY, NONE, ReferrerPass};
use crate::scan::{self, Scan};
use crate::solve::{self, CoreSolution};
use crate::space::{Memory, Number, Space};
use crate::thread::Threads;
use crate::totals::Amount;
use crate::{Error, ObjectId, Options, Root, RootKind, Totals, Watch, class_archive};

/// The number of objects below their predecessors up to which a dump is in the order of addresses.
const MOST_DESCENTS: u64 = 64;
/// The step that is reported after the references are read.
const HOLDERS: &str = "holders";

impl Heap {
    /// Analyses a dump.
    ///
    /// # Errors
    /// If the file is not a dump, or cannot be read, or not with these options.
    pub fn open(path: &Path, options: &Options, watch: &mut dyn Watch) -> Result<Self, Error> {
        let input = Input::open(path, options, watch)?;
        let index = Index::of(path, &input, options);
        if let Some(heap) = index.as_ref().and_then(|index| index.load(options)) {
            return Ok(heap(input));
        }
        let mut heap = Self::analyse(input, options, watch)?;
        if let Some(Err(error)) = index.map(|index| index.save(&heap)) {
            heap.notes
                .push(format!("the next analysis begins anew, no index was written: {error}"));
        }
        Ok(heap)
    }

    fn analyse(input: Input, options: &Options, watch: &mut dyn Watch) -> Result<Self, Error> {
        let mut scan = scan::scan(&input, options.threads(), watch)?;
        if let Some(layout) = options.layout {
            scan.tally.assume(layout);
        }
        let sizes = sizes(&input, &mut scan)?;
        let mut model = Model::new(&mut scan, &sizes);
        let histogram = scan.tally.finish(&mut scan.profile, scan.is_of_jvm);
        watch.histogram(&scan.profile, &histogram);
        drop((histogram, std::mem::take(&mut scan.profile), std::mem::take(&mut scan.tally)));
        let (threads, roots) = Threads::new(&mut scan, &model);
        let mut is_root = BitSet::new(scan.ids.count());
        threads.top(&roots).for_each(|root| {
            is_root.put(root.object.0);
        });
        model.settle(options.refs, |object| is_root.has(object));
        let begun = FirstPass { input, scan, sizes, model, threads, roots, is_root };
        match memory::plan(begun.scan.ids.count().into(), options)? {
            Plan::Memory => begun.finish(Memory, None, options, watch),
            Plan::Scratch(little) => {
                let pool = Pool::new(little.pool_bytes, little.needed_bytes, options)?;
                watch.little_memory(little.needed_bytes, little.limit_bytes, pool.folder());
                let file = Arc::new(pool.edge_file()?);
                begun.finish(pool, Some(file), options, watch)
            }
        }
    }
}

/// What is known after the first pass.
struct FirstPass {
    input: Input,
    scan: Scan,
    sizes: ObjectSizes,
    model: Model,
    threads: Threads,
    roots: Vec<Root>,
    /// The objects that roots hold.
    is_root: BitSet,
}

/// What is known of each object in the end.
struct ObjectArrays<S: Space> {
    classes: ClassMarks<S>,
    shallow: S::Array<u32>,
    /// `None` without holders.
    holders: Option<HolderArrays<S>>,
}

/// How objects are held.
struct HolderArrays<S: Space> {
    holder: S::Array<u32>,
    retained: Units<S>,
    reach: S::Array<Reachability>,
}

impl FirstPass {
    fn source(&self, thread_count: usize) -> Source<'_> {
        Source {
            input: &self.input,
            id_bytes: self.scan.id_bytes,
            batches: &self.scan.batches,
            ids: &self.scan.ids,
            model: &self.model,
            locals: &self.threads.held,
            thread_count,
        }
    }

    /// Finds the sizes of all objects, and, if that is asked for, how they are held.
    fn finish<S: Space>(
        self,
        space: S,
        edge_file: Option<Arc<EdgeFile>>,
        options: &Options,
        watch: &mut dyn Watch,
    ) -> Result<Heap, Error> {
        match options.holders {
            true => self.finish_holders(space, edge_file, options, watch),
            false => self.finish_sizes(space, options, watch),
        }
    }

    fn finish_sizes<S: Space>(
        mut self,
        mut space: S,
        options: &Options,
        watch: &mut dyn Watch,
    ) -> Result<Heap, Error> {
        let heads = referrers::find_heads(&self.source(options.threads()), &mut space, watch)?;
        self.scan.notes.extend(self.input.change()?);
        let HeadPass { classes, lengths } = heads;
        let shallow = self.shallow(&mut space, &classes, lengths)?;
        let arrays = ObjectArrays { classes, shallow, holders: None };
        Ok(self.heap(space, arrays, Totals::default(), options))
    }

    fn finish_holders<S: Space>(
        mut self,
        mut space: S,
        edge_file: Option<Arc<EdgeFile>>,
        options: &Options,
        watch: &mut dyn Watch,
    ) -> Result<Heap, Error> {
        let thread_count = options.threads();
        let keeps = options.keep_unreachable;
        let count = self.scan.ids.count() as usize;
        let found = referrers::find(&self.source(thread_count), &mut space, edge_file, watch)?;
        let is_of_archive =
            class_archive::has_all_dangling(&found, &self.scan, &self.model, &self.roots);
        let ReferrerPass { heads, edges, left_out, dangling, .. } = found;
        let dangling_count = dangling.values().sum();
        let notes = &mut self.scan.notes;
        notes.extend(dangling_note(&dangling, &self.model).filter(|_| !is_of_archive));
        notes.extend(self.input.change()?);
        let HeadPass { classes, lengths } = heads;
        let shallow = self.shallow(&mut space, &classes, lengths)?;

        watch.progress(HOLDERS, 0, 3);
        let is_root = std::mem::take(&mut self.is_root);
        let mut referrer: S::Array<u32> =
            referrers::single(&mut space, &edges, count, is_root.iter(), thread_count)?;
        drop(is_root);
        if keeps {
            for object in 0..count {
                if space.get(&referrer, object)? == NONE {
                    space.set(&mut referrer, object, MANY)?;
                    let object = ObjectId(object as u32);
                    self.roots.push(Root { object, kind: RootKind::Unreachable, thread: None });
                }
            }
        }
        // The ends of references that do not hold are in the core, so that it shows what they reach.
        for &(from, to, _) in &left_out {
            space.set(&mut referrer, from as usize, MANY)?;
            space.set(&mut referrer, to as usize, MANY)?;
        }
        let core = core::collect(&mut space, edges, &referrer, thread_count)?;
        watch.progress(HOLDERS, 1, 3);
        let top_roots: Vec<(u32, RootKind)> =
            self.threads.top(&self.roots).map(|root| (root.object.0, root.kind)).collect();
        let CoreSolution { mut reach, tops } = solve::solve(
            &mut space,
            core,
            &mut referrer,
            &top_roots,
            &left_out,
            keeps,
            thread_count,
        )?;
        watch.progress(HOLDERS, 2, 3);
        let mut holder = referrer;
        let (retained, cycles) = retained(&mut space, &mut holder, &shallow, &reach, keeps)?;
        if keeps {
            let kind = RootKind::Unreachable;
            for object in 0..count {
                if !space.get(&reach, object)?.is_held() {
                    space.set(&mut reach, object, Reachability::held(kind))?;
                }
            }
            let objects = tops.into_iter().chain(cycles).map(ObjectId);
            self.roots.extend(objects.map(|object| Root { object, kind, thread: None }));
        }
        let totals = totals(&mut space, &shallow, &reach, dangling_count)?;
        let holders = Some(HolderArrays { holder, retained, reach });
        Ok(self.heap(space, ObjectArrays { classes, shallow, holders }, totals, options))
    }

    /// Makes the lengths of arrays the sizes of all objects, and counts the objects of each class.
    fn shallow<S: Space>(
        &mut self,
        space: &mut S,
        classes: &ClassMarks<S>,
        mut lengths: S::Array<u32>,
    ) -> Result<S::Array<u32>, Error> {
        let counts = shallow(space, &self.model, &self.sizes, classes, &mut lengths)?;
        for (class, Amount { count, bytes }) in self.model.classes.iter_mut().zip(counts) {
            (class.instance_count, class.shallow_bytes) = (count, bytes);
        }
        Ok(lengths)
    }

    fn heap<S: Space>(
        self,
        space: S,
        arrays: ObjectArrays<S>,
        totals: Totals,
        options: &Options,
    ) -> Heap {
        let Self { input, scan, sizes, model, threads, mut roots, .. } = self;
        roots.sort_unstable_by_key(|root| (root.object, root.kind, root.thread));
        let room = space.room();
        let classes = match arrays.classes {
            ClassMarks::Few(array) => Classes::Few(S::column(&room, array, 0)),
            ClassMarks::Many(array) => Classes::Many(S::column(&room, array, 0)),
        };
        let holders = arrays.holders.map(|HolderArrays { holder, retained, reach }| Holders {
            holder: S::column(&room, holder, NONE),
            retained: match retained {
                Units::Few(array) => RetainedSizes::Few(S::column(&room, array, 0)),
                Units::Many(array) => RetainedSizes::Many(S::column(&room, array, 0)),
            },
            reach: S::column(&room, reach, Reachability::NOT),
        });
        Heap {
            title: scan.title,
            unix_ms: scan.unix_ms,
            id_bytes: scan.id_bytes,
            notes: scan.notes,
            is_cut: scan.is_cut,
            refs: options.refs,
            layout: sizes.layout(),
            input,
            ids: scan.ids,
            batches: scan.batches,
            model,
            classes,
            shallow: S::column(&room, arrays.shallow, 0),
            holders,
            room,
            totals,
            roots,
            threads,
            thread_count: options.threads(),
            children: OnceLock::new(),
            findings: Findings::default(),
            graph: OnceLock::new(),
            batch_of: OnceLock::new(),
            places: Mutex::default(),
        }
    }
}

/// Determines the sizes of objects from the distances between neighbours in the heap.
fn sizes(input: &Input, scan: &mut Scan) -> Result<ObjectSizes, Error> {
    if scan.tally.descent_count() > MOST_DESCENTS {
        scan.tally.forget_distances();
        let turned = turned(&scan.ids, scan.tally.addresses())?;
        let ids = turned.as_ref().unwrap_or(&scan.ids);
        let mut distances = Distances { ids, tally: &mut scan.tally };
        let mut buffer = Vec::new();
        for part in &scan.batches {
            batch::walk(input, scan.id_bytes, part, &mut buffer, &mut distances)?;
        }
    } else {
        scan.tally.trust_distances();
    }
    Ok(scan.tally.object_sizes(&scan.profile, scan.is_of_jvm))
}

/// Returns the addresses of objects whose ids are not in their order.
fn turned(ids: &Ids, addresses: perk_hprof::heap::Addresses) -> Result<Option<Ids>, Error> {
    if !addresses.is_little() {
        return Ok(None);
    }
    let mut turned = Addresses::default();
    (0..ids.count()).for_each(|id| turned.insert(addresses.of(ids.address(id))));
    turned.finish().map(Some)
}

/// Finds the distance from each object to the next one in the order of addresses.
struct Distances<'a> {
    ids: &'a Ids,
    tally: &'a mut Tally,
}

impl Distances<'_> {
    fn gap(&self, head: ObjectHead) -> Option<u64> {
        let address = self.tally.addresses().of(head.id);
        self.ids.next(address).map(|next| next - address)
    }
}

impl Objects for Distances<'_> {
    fn instance(&mut self, head: ObjectHead, class: u64, _values: &[u8]) {
        if let Some(gap) = self.gap(head) {
            self.tally.instance_distance(class, gap);
        }
    }

    fn references(&mut self, head: ObjectHead, _class: u64, length: u32) {
        if let Some(gap) = self.gap(head) {
            self.tally.references_distance(length, gap);
        }
    }

    fn elements(&mut self, _first: u64, _ids: &[u8]) {}

    fn primitives(
        &mut self,
        head: ObjectHead,
        element: FieldType,
        length: u32,
        _has_content: bool,
    ) {
        if let Some(gap) = self.gap(head) {
            let bytes = u64::from(length) * element.bytes(8) as u64;
            self.tally.primitives_distance(element, bytes, gap);
        }
    }
}

/// Reports the number of references that lead nowhere, and the classes of their objects.
fn dangling_note(dangling: &BTreeMap<u32, u64>, model: &Model) -> Option<String> {
    let mut classes: Vec<_> = dangling.iter().map(|(&class, &count)| (count, class)).collect();
    classes.sort_unstable_by_key(|&(count, class)| (Reverse(count), class));
    let total: u64 = classes.iter().map(|&(count, _)| count).sum();
    let named: Vec<_> = classes
        .iter()
        .take(3)
        .map(|&(count, class)| format!("{count} from {}", model.classes[class as usize].name))
        .collect();
    let more = if classes.len() > named.len() { ", …" } else { "" };
    (total > 0).then(|| {
        format!(
            "{total} references to objects that the dump does not have: {}{more}",
            named.join(", ")
        )
    })
}

/// Makes the lengths of arrays the sizes of all objects. Returns the objects of each class.
fn shallow<S: Space>(
    space: &mut S,
    model: &Model,
    sizes: &ObjectSizes,
    classes: &ClassMarks<S>,
    lengths: &mut S::Array<u32>,
) -> Result<Vec<Amount>, Error> {
    let units = |bytes: u64| u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX);
    let mut counts = vec![Amount::default(); model.classes.len()];
    let kinds: Vec<(ClassKind, u32)> =
        model.classes.iter().map(|class| (class.kind, units(class.instance_bytes))).collect();
    let mut class_objects = model.class_objects.iter().peekable();
    for object in 0..S::count(lengths) {
        let class = classes.get(space, object)? as usize;
        let length = space.get(lengths, object)?;
        let array = |element| units(sizes.array_bytes(element, length));
        let size = match kinds[class] {
            _ if class_objects.peek().is_some_and(|it| it.0 as usize == object) => {
                let class = class_objects.next().map(|it| &model.classes[it.1 as usize]);
                let statics = class.into_iter().flat_map(|class| &class.statics);
                // The JVM's own pseudo fields take no room.
                let statics = statics.filter(|field| !field.name.starts_with('<'));
                units(sizes.class_bytes(statics.map(|field| field.value.field_type().kind())))
            }
            (ClassKind::Instance, units) => units,
            (ClassKind::ObjectArray, _) => array(FieldKind::Reference),
            (ClassKind::PrimitiveArray(element), _) => array(element.kind()),
        };
        space.set(lengths, object, size)?;
        counts[class].count += 1;
        counts[class].bytes += u64::from(size) * UNIT_BYTES;
    }
    Ok(counts)
}

/// What each object retains, in the unit of sizes: four bytes where the whole heap fits.
enum Units<S: Space> {
    Few(S::Array<u32>),
    Many(S::Array<u64>),
}

/// Returns what each object retains, and the objects that [`solve::peel`] makes roots.
fn retained<S: Space>(
    space: &mut S,
    holder: &mut S::Array<u32>,
    shallow: &S::Array<u32>,
    reach: &S::Array<Reachability>,
    keep_unreachable: bool,
) -> Result<(Units<S>, Vec<u32>), Error> {
    let mut total = 0_u64;
    space.each(shallow, |_, units| total += u64::from(units))?;
    if total <= u32::MAX.into() {
        let own = copied(space, shallow)?;
        let (units, cycles) = solve::peel(space, own, holder, reach, keep_unreachable)?;
        return Ok((Units::Few(units), cycles));
    }
    let own = copied(space, shallow)?;
    let (units, cycles) = solve::peel(space, own, holder, reach, keep_unreachable)?;
    Ok((Units::Many(units), cycles))
}

/// Returns a copy of numbers, in the same width or a larger one.
fn copied<S: Space, T: Number + Default + From<u32>>(
    space: &mut S,
    numbers: &S::Array<u32>,
) -> Result<S::Array<T>, Error> {
    let count = S::count(numbers);
    let mut copy = space.array(count, T::default());
    for index in 0..count {
        let number = space.get(numbers, index)?;
        space.set(&mut copy, index, T::from(number))?;
    }
    Ok(copy)
}

fn totals<S: Space>(
    space: &mut S,
    shallow: &S::Array<u32>,
    reach: &S::Array<Reachability>,
    dangling_count: u64,
) -> Result<Totals, Error> {
    let mut by_code = [Amount::default(); 256];
    for object in 0..S::count(shallow) {
        let amount = &mut by_code[usize::from(space.get(reach, object)?.0)];
        amount.count += 1;
        amount.bytes += u64::from(space.get(shallow, object)?) * UNIT_BYTES;
    }
    let of = |reached: Reachability| by_code[usize::from(reached.0)];
    let by_root = RootKind::ALL.into_iter().map(|kind| (kind, of(Reachability::held(kind))));
    let by_root: Vec<_> = by_root.filter(|(_, amount)| amount.count > 0).collect();
    let reachable = by_root.iter().fold(Amount::default(), |sum, (_, amount)| Amount {
        count: sum.count + amount.count,
        bytes: sum.bytes + amount.bytes,
    });
    Ok(Totals {
        reachable,
        softly: of(Reachability::SOFTLY),
        weakly: of(Reachability::WEAKLY),
        finalizable: of(Reachability::FINALIZABLE),
        unreachable: of(Reachability::NOT),
        by_root,
        dangling_count,
    })
}
