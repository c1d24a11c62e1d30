//! The analysis of a dump, from its file to the bytes that each object retains.

use std::ops::AddAssign;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use perk_hotspot::layout::FieldKind;
use perk_hprof::heap::{FieldType, ObjectSizes, Tally};

use crate::batch::{self, Head, Objects};
use crate::class::ClassKind;
use crate::core::{self, Core};
use crate::dominators::Search;
use crate::heap::{Heap, Reached};
use crate::ids::Ids;
use crate::index::Index;
use crate::input::Input;
use crate::links::Source;
use crate::model::{Model, RefKind};
use crate::referrers::{self, Classes, MANY, NONE, Referrers};
use crate::scan::{self, Scan};
use crate::thread::Threads;
use crate::totals::Amount;
use crate::{Error, ObjectId, Options, Root, RootKind, Totals, Watch, class_archive, memory};

/// The number of objects below their predecessors up to which a dump is in the order of addresses.
const MOST_DESCENTS: u64 = 64;
/// The unit of shallow sizes, in bytes.
pub(crate) const UNIT_BYTES: u64 = 8;

impl Heap {
    /// Analyses a dump.
    ///
    /// # Errors
    /// If the file is not a dump, or cannot be read, or not as asked.
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
        let thread_count = options.threads();
        let mut scan = scan::scan(&input, watch)?;
        if let Some(layout) = options.layout {
            scan.tally.assume(layout);
        }
        let sizes = sizes(&input, &mut scan)?;
        let mut model = Model::new(&mut scan, &sizes);
        let histogram = scan.tally.finish(&mut scan.profile, scan.is_of_jvm);
        watch.histogram(&scan.profile, &histogram);
        drop((histogram, std::mem::take(&mut scan.profile), std::mem::take(&mut scan.tally)));
        memory::check(scan.ids.count().into(), options)?;

        let (threads, mut roots) = Threads::new(&mut scan, &model);
        let mut is_root = crate::bits::BitSet::new(scan.ids.count());
        threads.top(&roots).for_each(|root| {
            is_root.put(root.object.0);
        });
        model.settle(options.refs, |object| is_root.has(object));
        let source = Source {
            input: &input,
            id_bytes: scan.id_bytes,
            batches: &scan.batches,
            ids: &scan.ids,
            model: &model,
            locals: &threads.held,
            thread_count,
        };
        let mut found = referrers::find(&source, is_root.iter(), watch)?;
        if options.keep_unreachable {
            for (object, referrer) in (0..).map(ObjectId).zip(&mut found.referrer) {
                if *referrer == NONE {
                    *referrer = MANY;
                    roots.push(Root { object, kind: RootKind::Unreachable, thread: None });
                }
            }
        }
        // The ends of references that do not hold are in the core, so that it shows what they reach.
        for &(from, to, _) in &found.left_out {
            found.referrer[from as usize] = MANY;
            found.referrer[to as usize] = MANY;
        }
        let dangling_count = found.dangling.values().sum();
        let is_of_archive = class_archive::has_all_dangling(&found, &scan, &model, &roots);
        let mut notes = std::mem::take(&mut scan.notes);
        notes.extend(dangling(&found, &model).filter(|_| !is_of_archive));
        notes.extend(input.change()?);
        let Referrers { classes, lengths, mut referrer, left_out, .. } = found;
        let (shallow, counts) = shallow(&model, &sizes, &classes, lengths);

        let core = core::collect(&source, &referrer, watch)?;
        for (class, Amount { count, bytes }) in model.classes.iter_mut().zip(counts) {
            (class.instance_count, class.shallow_bytes) = (count, bytes);
        }
        let top_roots: Vec<(u32, RootKind)> =
            threads.top(&roots).map(|root| (root.object.0, root.kind)).collect();
        let keeps = options.keep_unreachable;
        let (mut reach, tops) = solve(core, &mut referrer, &top_roots, &left_out, keeps);
        let (retained, cycles) = retained(&mut referrer, &shallow, &reach, keeps);
        if keeps {
            let kind = RootKind::Unreachable;
            reach.iter_mut().filter(|it| !it.is_held()).for_each(|it| *it = Reached::held(kind));
            let objects = tops.into_iter().chain(cycles).map(ObjectId);
            roots.extend(objects.map(|object| Root { object, kind, thread: None }));
        }
        roots.sort_unstable_by_key(|root| (root.object, root.kind, root.thread));
        let totals = totals(&shallow, &reach, dangling_count);
        Ok(Self {
            title: scan.title,
            unix_ms: scan.unix_ms,
            id_bytes: scan.id_bytes,
            notes,
            is_cut: scan.is_cut,
            refs: options.refs,
            layout: sizes.layout(),
            input,
            ids: scan.ids,
            batches: scan.batches,
            model,
            classes,
            shallow,
            holder: referrer,
            retained,
            reach,
            totals,
            roots,
            threads,
            thread_count,
            children: OnceLock::new(),
            graph: OnceLock::new(),
            batch_of: OnceLock::new(),
            places: Mutex::default(),
        })
    }
}

/// Determines the sizes of objects from the distances between neighbours in the heap.
fn sizes(input: &Input, scan: &mut Scan) -> Result<ObjectSizes, Error> {
    if scan.tally.descent_count() > MOST_DESCENTS {
        scan.tally.forget_distances();
        let mut distances = Distances { ids: &scan.ids, tally: &mut scan.tally };
        let mut buffer = Vec::new();
        for part in &scan.batches {
            batch::walk(input, scan.id_bytes, part, &mut buffer, &mut distances)?;
        }
    } else {
        scan.tally.trust_distances();
    }
    Ok(scan.tally.object_sizes(&scan.profile, scan.is_of_jvm))
}

/// Finds the distance from each object to the next one in the order of addresses.
struct Distances<'a> {
    ids: &'a Ids,
    tally: &'a mut Tally,
}

impl Distances<'_> {
    fn gap(&self, head: Head) -> Option<u64> {
        self.ids.next(head.id).map(|next| next - head.id)
    }
}

impl Objects for Distances<'_> {
    fn instance(&mut self, head: Head, class: u64, _values: &[u8]) {
        if let Some(gap) = self.gap(head) {
            self.tally.instance_distance(class, gap);
        }
    }

    fn references(&mut self, head: Head, _class: u64, length: u32) {
        if let Some(gap) = self.gap(head) {
            self.tally.references_distance(length, gap);
        }
    }

    fn elements(&mut self, _first: u64, _ids: &[u8]) {}

    fn primitives(&mut self, head: Head, element: FieldType, length: u32, _has_content: bool) {
        if let Some(gap) = self.gap(head) {
            let bytes = u64::from(length) * element.bytes(8) as u64;
            self.tally.primitives_distance(element, bytes, gap);
        }
    }
}

/// Says how many references lead nowhere, and from objects of which classes.
fn dangling(found: &Referrers, model: &Model) -> Option<String> {
    let mut classes: Vec<_> =
        found.dangling.iter().map(|(&class, &count)| (count, class)).collect();
    classes.sort_unstable_by_key(|&(count, class)| (std::cmp::Reverse(count), class));
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

/// Returns the size of each object, and the objects of each class. The lengths of arrays are used
/// up.
fn shallow(
    model: &Model,
    sizes: &ObjectSizes,
    classes: &Classes,
    lengths: Vec<u32>,
) -> (Vec<u32>, Vec<Amount>) {
    let units = |bytes: u64| u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX);
    let mut shallow = lengths;
    let mut counts = vec![Amount::default(); model.classes.len()];
    let kinds: Vec<(ClassKind, u32)> =
        model.classes.iter().map(|class| (class.kind, units(class.instance_bytes))).collect();
    let mut class_objects = model.class_objects.iter().peekable();
    for (object, size) in (0..).zip(&mut shallow) {
        let class = classes.get(object) as usize;
        let array = |element| units(sizes.array_bytes(element, *size));
        *size = match kinds[class] {
            _ if class_objects.peek().is_some_and(|it| it.0 == object) => {
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
        counts[class].count += 1;
        counts[class].bytes += u64::from(*size) * UNIT_BYTES;
    }
    (shallow, counts)
}

/// Solves the holders of the objects in the core, and how all objects are reachable. `referrer` has
/// the holders afterwards: [`MANY`] for the roots together, [`NONE`] for nothing. With
/// `keep_unreachable` also returns the objects of the core that from now on count as roots.
fn solve(
    core: Core,
    referrer: &mut [u32],
    roots: &[(u32, RootKind)],
    left_out: &[(u32, u32, RefKind)],
    keep_unreachable: bool,
) -> (Vec<Reached>, Vec<u32>) {
    let Core { objects, graph } = core;
    let count = objects.count();
    let mut reached = vec![Reached::NOT; count as usize];
    let mut by_kind: Vec<(RootKind, u32)> =
        roots.iter().map(|&(object, kind)| (kind, objects.rank(object))).collect();
    by_kind.sort_unstable();
    let mut search = Search::new(&graph);
    for &(kind, root) in &by_kind {
        search.run(&graph, root, |node| reached[node as usize] = Reached::held(kind));
    }
    let mut tops = Vec::new();
    if keep_unreachable {
        // What is left hangs on cycles that nothing outside refers to.
        for node in trees(&graph, &search).into_iter().rev() {
            if !search.has(node) {
                let kind = RootKind::Unreachable;
                by_kind.push((kind, node));
                tops.push(node);
                search.run(&graph, node, |node| reached[node as usize] = Reached::held(kind));
            }
        }
    }
    weaker(&graph, &objects, left_out, &mut reached);
    let root_nodes: Vec<u32> = by_kind.iter().map(|&(_, node)| node).collect();
    let dominators = search.dominators(graph, &root_nodes);
    let members = objects.members();
    let mut is_solved = crate::bits::BitSet::new(count);
    for (node, above) in dominators {
        let object = members[node as usize] as usize;
        is_solved.put(node);
        // Others have their one referrer as holder, unless they were made roots.
        if referrer[object] == MANY || above.is_none() {
            referrer[object] = above.map_or(MANY, |above| members[above as usize]);
        }
    }
    for (node, &object) in (0..).zip(&members) {
        if referrer[object as usize] == MANY && !is_solved.has(node) {
            referrer[object as usize] = NONE;
        }
    }
    let tops = tops.into_iter().map(|node| members[node as usize]).collect();
    (spread(referrer, &members, &reached), tops)
}

/// Returns nodes that together lead to all that were not found. None leads to a later one.
fn trees(graph: &core::Csr, found: &Search) -> Vec<u32> {
    let mut is_passed = crate::bits::BitSet::new(graph.len() as u32);
    let mut tops = Vec::new();
    let mut open = Vec::new();
    for top in 0..graph.len() as u32 {
        if found.has(top) || is_passed.put(top) {
            continue;
        }
        tops.push(top);
        open.push(top);
        while let Some(node) = open.pop() {
            open.extend(graph.of(node).iter().filter(|&&next| !is_passed.put(next)));
        }
    }
    tops
}

/// Finds what only weaker references reach, in the order of their strength.
fn weaker(
    graph: &core::Csr,
    objects: &crate::bits::Ranked,
    left_out: &[(u32, u32, RefKind)],
    reached: &mut [Reached],
) {
    let levels = [
        (RefKind::Soft, Reached::SOFTLY),
        (RefKind::Weak, Reached::WEAKLY),
        (RefKind::Final, Reached::FINALIZABLE),
        (RefKind::Phantom, Reached::FINALIZABLE),
    ];
    // In the order of the objects that have them, which is that of the nodes.
    let links: Vec<(u32, u32, RefKind)> = left_out
        .iter()
        .map(|&(from, to, kind)| (objects.rank(from), objects.rank(to), kind))
        .collect();
    let mut open = Vec::new();
    for (kind, level) in levels {
        let visit = |node: u32, reached: &mut [Reached], open: &mut Vec<u32>| {
            if reached[node as usize] == Reached::NOT {
                reached[node as usize] = level;
                open.push(node);
            }
        };
        for &(from, to, _) in links.iter().filter(|it| it.2 <= kind) {
            if reached[from as usize] != Reached::NOT {
                visit(to, reached, &mut open);
            }
        }
        while let Some(node) = open.pop() {
            graph.of(node).iter().for_each(|&next| visit(next, reached, &mut open));
            let first = links.partition_point(|it| it.0 < node);
            let own = links[first..].iter().take_while(|it| it.0 == node);
            for &(_, to, _) in own.filter(|it| it.2 <= kind) {
                visit(to, reached, &mut open);
            }
        }
    }
}

/// Returns how each object is reachable: as the nearest object of the core above it.
fn spread(holder: &[u32], members: &[u32], reached: &[Reached]) -> Vec<Reached> {
    let mut all = vec![Reached::UNKNOWN; holder.len()];
    for (&object, &reached) in members.iter().zip(reached) {
        all[object as usize] = reached;
    }
    for object in 0..holder.len() as u32 {
        // What is passed counts as not reachable until the end of the chain is known, so that a
        // cycle ends.
        let mut at = object;
        while at < MANY && all[at as usize] == Reached::UNKNOWN {
            all[at as usize] = Reached::NOT;
            at = holder[at as usize];
        }
        let found = if at < MANY { all[at as usize] } else { Reached::NOT };
        if found == Reached::NOT {
            continue;
        }
        let end = at;
        let mut at = object;
        while at != end {
            all[at as usize] = found;
            at = holder[at as usize];
        }
    }
    all
}

/// What each object retains, in the unit of sizes: four bytes where the whole heap fits.
#[derive(Debug)]
pub(crate) enum Retained {
    Few(Vec<u32>),
    Many(Vec<u64>),
}

impl Retained {
    #[inline]
    pub(crate) fn units(&self, object: ObjectId) -> u64 {
        match self {
            Self::Few(units) => units[object.0 as usize].into(),
            Self::Many(units) => units[object.0 as usize],
        }
    }
}

/// Returns what each object retains, and the objects of [`peeled`].
fn retained(
    holder: &mut [u32],
    shallow: &[u32],
    reach: &[Reached],
    keep_unreachable: bool,
) -> (Retained, Vec<u32>) {
    let total: u64 = shallow.iter().map(|&units| u64::from(units)).sum();
    if total <= u32::MAX.into() {
        let (units, cycles) = peeled(shallow.to_vec(), holder, reach, keep_unreachable);
        return (Retained::Few(units), cycles);
    }
    let units = shallow.iter().map(|&units| u64::from(units)).collect();
    let (units, cycles) = peeled(units, holder, reach, keep_unreachable);
    (Retained::Many(units), cycles)
}

/// Makes shallow units into retained ones: leaves of the tree of holders are taken off one after the
/// other. With `keep_unreachable` also returns an object of each cycle that nothing outside refers
/// to, which from now on counts as a root.
fn peeled<T: Copy + Default + AddAssign>(
    mut retained: Vec<T>,
    holder: &mut [u32],
    reach: &[Reached],
    keep_unreachable: bool,
) -> (Vec<T>, Vec<u32>) {
    let mut left = vec![0_u32; holder.len()];
    for &above in holder.iter().filter(|&&above| above < MANY) {
        left[above as usize] += 1;
    }
    let mut peel = |first: u32, holder: &[u32], left: &mut [u32]| {
        let mut object = first;
        loop {
            let above = holder[object as usize];
            // An object is taken off once: `left` is then no number that can be reached.
            left[object as usize] = u32::MAX;
            if above >= MANY {
                return;
            }
            let units = retained[object as usize];
            retained[above as usize] += units;
            left[above as usize] -= 1;
            // What lies ahead will be met there.
            if left[above as usize] > 0 || above > first {
                return;
            }
            object = above;
        }
    };
    for object in 0..holder.len() as u32 {
        if left[object as usize] == 0 {
            peel(object, holder, &mut left);
        }
    }
    let mut extra = Vec::new();
    if keep_unreachable {
        for object in 0..holder.len() as u32 {
            if left[object as usize] == u32::MAX {
                continue;
            }
            // The objects of a cycle are left. It is cut above its first one, and taken off from the
            // object that held that one on.
            let mut at = std::mem::replace(&mut holder[object as usize], MANY);
            extra.push(object);
            loop {
                left[at as usize] = u32::MAX;
                let above = holder[at as usize];
                if above >= MANY {
                    break;
                }
                let units = retained[at as usize];
                retained[above as usize] += units;
                at = above;
            }
        }
        return (retained, extra);
    }
    for (units, reached) in retained.iter_mut().zip(reach) {
        if !reached.is_held() {
            *units = T::default();
        }
    }
    (retained, extra)
}

fn totals(shallow: &[u32], reach: &[Reached], dangling_count: u64) -> Totals {
    let mut by_code = [Amount::default(); 256];
    for (&units, reached) in shallow.iter().zip(reach) {
        let amount = &mut by_code[usize::from(reached.0)];
        amount.count += 1;
        amount.bytes += u64::from(units) * UNIT_BYTES;
    }
    let of = |reached: Reached| by_code[usize::from(reached.0)];
    let by_root = RootKind::ALL.into_iter().map(|kind| (kind, of(Reached::held(kind))));
    let by_root: Vec<_> = by_root.filter(|(_, amount)| amount.count > 0).collect();
    let reachable = by_root.iter().fold(Amount::default(), |sum, (_, amount)| Amount {
        count: sum.count + amount.count,
        bytes: sum.bytes + amount.bytes,
    });
    Totals {
        reachable,
        softly: of(Reached::SOFTLY),
        weakly: of(Reached::WEAKLY),
        finalizable: of(Reached::FINALIZABLE),
        unreachable: of(Reached::NOT),
        by_root,
        dangling_count,
    }
}
