//! The places of counted objects in the profile, and the tables of `-Xaprof`.

use std::io::{self, Write};
use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use perk_control::options::{Options, OutputFormat};
use perk_hprof::aprof;
use perk_jvm::sync::lock;
use perk_profile::{Allocations, ClassId, NodeId, Site, Sites, TraceId};
use rustc_hash::FxHashMap;

use super::callers::with_callers;
use crate::analyses::books::sites::{SiteBook, SiteRows};
use crate::analyses::exact::counts::{ObjectCounts, PathSite};
use crate::analyses::heap_dump::RecordSite;
use crate::recorder::{Book, Calls, PathNode, PathNodes, Place, Recorder, Sections, entry};
use crate::roster::Slot;

/// The objects of the exact engine; see the module. The book of sites writes the sections.
#[derive(Debug)]
pub(in crate::analyses::exact) struct ObjectBook {
    /// The book of sites, unless sites are sampled.
    sites: Option<&'static SiteBook>,
    /// The frames that are kept of each trace.
    depth: AtomicUsize,
    tables: Tables,
    objects: Mutex<ObjectState>,
}

#[derive(Debug, Default)]
struct ObjectState {
    /// The class and trace of each record, by its index.
    records: Vec<RecordSite>,
    /// All objects from the start to `until`.
    by_class: FxHashMap<ClassId, Allocations>,
    until: Duration,
    /// The same up to `from`, the beginning of the next table's span.
    before: FxHashMap<ClassId, Allocations>,
    from: Duration,
}

/// The tables of `-Xaprof` that are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tables {
    #[default]
    None,
    /// One table at exit, for the whole run.
    Run,
    /// One table per dump, for the time since the one before.
    Between,
}

impl ObjectBook {
    pub(in crate::analyses::exact) fn new(
        options: &Options,
        sites: Option<&'static SiteBook>,
    ) -> Self {
        let tables = match (options.aprof, options.aprof_between) {
            (true, true) => Tables::Between,
            // A tool that asks for all data in one file prints what it likes.
            (true, false) if options.format != OutputFormat::Extended => Tables::Run,
            _ => Tables::None,
        };
        let depth = if options.heap_sites { options.depth as usize } else { 0 };
        Self {
            sites: sites.filter(|_| options.heap_sample_bytes.is_none()),
            depth: AtomicUsize::new(depth),
            tables,
            objects: Mutex::default(),
        }
    }

    /// Returns the most frames of a path of sites.
    pub(super) fn depth(&self) -> usize {
        self.depth.load(Relaxed)
    }

    /// Keeps this number of frames of each new trace.
    pub(super) fn set_depth(&self, depth: u32) {
        if self.depth() > 0 {
            self.depth.store(depth as usize, Relaxed);
        }
    }

    /// Returns the book of sites if sites go to the file from their records.
    pub(super) fn direct(&self) -> Option<&'static SiteBook> {
        self.sites.filter(|sites| sites.is_direct())
    }

    /// Runs `body` with the class and trace of each known record.
    pub(super) fn with_records(&self, body: &mut dyn FnMut(&[RecordSite])) {
        body(&lock(&self.objects).records);
    }

    /// Finds the traces of one tree's sites; those that are already known stay.
    pub(super) fn book_paths(
        &self,
        recorder: &mut Recorder,
        thread: Option<Slot>,
        nodes: &dyn PathNodes,
        sites: &[PathSite],
    ) {
        let records = &mut lock(&self.objects).records;
        let is_new = |record: u32| !matches!(records.get(record as usize), Some(Some(_)));
        let new: Vec<_> = sites.iter().filter(|site| is_new(site.record)).collect();
        if new.is_empty() {
            return;
        }
        let most = self.depth();
        let thread = recorder.thread_of_trace(thread);
        let mut is_wanted = vec![false; nodes.count()];
        for site in &new {
            if let Some(wanted) = is_wanted.get_mut(site.node as usize) {
                *wanted = true;
            }
        }
        for place in (0..is_wanted.len()).rev().map(|place| place as u32) {
            let parent = nodes.get(place).map_or(Calls::NO_PARENT, |node| node.parent);
            if is_wanted[place as usize] && parent != Calls::NO_PARENT {
                is_wanted[parent as usize] = true;
            }
        }
        // The depth of each wanted node and, unless it is too deep, the place of its callers.
        let root = recorder.profile.tree.root();
        let mut callers: Vec<(u32, NodeId)> = vec![(0, root); is_wanted.len()];
        for place in (0..is_wanted.len()).filter(|&place| is_wanted[place]) {
            let Some(node) = nodes.get(place as u32) else { continue };
            callers[place] = match nodes.get(node.parent) {
                None => (1, root),
                Some(parent) => {
                    let (depth, outer) = callers[node.parent as usize];
                    let frame = recorder.frame_at(parent.method, node.line);
                    let known = (depth as usize) < most;
                    let tree = &mut recorder.profile.tree;
                    (depth + 1, if known { tree.insert_below(outer, [frame]) } else { root })
                }
            };
        }
        for site in new {
            let place = match nodes.get(site.node) {
                Some(node) => {
                    let (depth, outer) = callers[site.node as usize];
                    if depth as usize <= most {
                        let frame = recorder.frame_at(node.method, site.line);
                        recorder.profile.tree.insert_below(outer, [frame])
                    } else {
                        innermost(recorder, most, nodes, node, site.line)
                    }
                }
                None => root,
            };
            let trace = recorder.profile.trace(place, thread);
            let class = ClassId::new(site.class as usize - 1);
            *entry(records, site.record as usize) = Some((class, trace));
        }
    }

    /// Books all objects up to `moment`, for the dump that follows.
    /// Samples say how the objects of a site divide among its callers, unless these are counted.
    pub(super) fn book(
        &self,
        recorder: &mut Recorder,
        objects: &ObjectCounts,
        samples: Option<Vec<(ClassId, TraceId, f64)>>,
        moment: Instant,
    ) {
        let state = &mut *lock(&self.objects);
        let ObjectState { records, by_class, until, .. } = state;
        let sites = || {
            objects.sites.iter().zip(&*records).filter_map(|(counts, site)| {
                let (class, trace) = (*site)?;
                (counts.allocated_count > 0).then_some((class, trace, *counts))
            })
        };
        *until = moment.saturating_duration_since(recorder.begun());
        by_class.clear();
        let mut count = |class, counts| by_class.entry(class).or_default().add(counts);
        sites().for_each(|(class, _, counts)| count(class, counts));
        // Of these objects, only the live ones are known. The time of their allocation is not
        // known.
        if self.tables != Tables::Between {
            objects.others.iter().for_each(|&(class, counts)| count(class, counts));
        }
        if let Some(book) = self.sites {
            let system = recorder.profile.system_trace();
            let others = objects.others.iter().map(|&(class, counts)| (class, system, counts));
            match samples {
                None => book.book(sites().chain(others)),
                Some(samples) => {
                    let mut by_site = SiteRows::default();
                    for (class, trace, objects) in sites().chain(others) {
                        by_site.entry((class, trace)).or_default().add(objects);
                    }
                    let sites = by_site.into_iter().map(|((class, trace), it)| (class, trace, it));
                    let rows = with_callers(&mut recorder.profile, sites.collect(), samples);
                    book.book(rows.into_iter().map(|((class, trace), it)| (class, trace, it)));
                }
            }
        }
    }
}

/// Returns the place of a path that is cut to its innermost frames, as many as the depth allows.
fn innermost(
    recorder: &mut Recorder,
    depth: usize,
    nodes: &dyn PathNodes,
    node: PathNode,
    line: u16,
) -> NodeId {
    let mut frames = Vec::new();
    let (mut node, mut line) = (Some(node), line);
    while let Some(it) = node.filter(|_| frames.len() < depth) {
        frames.push(recorder.frame_at(it.method, line));
        (node, line) = (nodes.get(it.parent), it.line);
    }
    recorder.profile.tree.insert(frames.into_iter().rev())
}

impl ObjectState {
    /// Returns the allocations since the last table, by class. The next table begins here.
    fn take_span(&mut self) -> FxHashMap<ClassId, Allocations> {
        let all = mem::take(&mut self.by_class);
        let mut span = all.clone();
        for (class, before) in mem::replace(&mut self.before, all) {
            if let Some(it) = span.get_mut(&class) {
                it.allocated_count = it.allocated_count.saturating_sub(before.allocated_count);
                it.allocated_bytes = it.allocated_bytes.saturating_sub(before.allocated_bytes);
            }
        }
        self.from = self.until;
        span
    }
}

impl Book for ObjectBook {
    fn place(&self) -> Place {
        Place::Sites
    }

    fn write(&self, _: &mut Recorder, _: &mut Sections<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Returns the table of `-Xaprof`, if this dump prints one.
    fn text(&self, recorder: &mut Recorder, last: bool) -> Option<Vec<u8>> {
        let mut objects = lock(&self.objects);
        let mut text = Vec::new();
        let by_class = match self.tables {
            Tables::Run if last => mem::take(&mut objects.by_class),
            Tables::Between => {
                let (from_s, until_s) = (objects.from.as_secs_f64(), objects.until.as_secs_f64());
                writeln!(text, "\nAllocated from {from_s:.3} s to {until_s:.3} s of the run:")
                    .ok()?;
                objects.take_span()
            }
            Tables::None | Tables::Run => return None,
        };
        let trace = recorder.profile.system_trace();
        let rows = by_class.into_iter().map(|(class, objects)| Site { class, trace, objects });
        let rows: Vec<_> = rows.collect();
        let mut total = Allocations::default();
        rows.iter().for_each(|site| total.add(site.objects));
        let sites = Sites { total, rows, ..Sites::default() };
        aprof::write(&mut text, &aprof::Table::of(&recorder.profile, &sites)).ok()?;
        Some(text)
    }

    fn release(&self) {
        *lock(&self.objects) = ObjectState::default();
    }
}
