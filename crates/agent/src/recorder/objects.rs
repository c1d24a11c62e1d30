//! Books on the profile the objects that the exact engine counted.

use std::io::Write;
use std::time::{Duration, Instant};

use perk_control::options::{Format, Options};
use perk_hprof::aprof;
use perk_profile::{Allocations, ClassId, Frame, FrameId, Line, NodeId, Site, Sites, TraceId};
use rustc_hash::FxHashMap;

use super::counted::{Calls, Objects, PathNode, PathNodes, PathSite};
use super::{Recorder, entry};
use crate::roster::Slot;

/// The sites of the exact engine, and the tables of `-Xaprof`.
#[derive(Debug, Default)]
pub(crate) struct ObjectBook {
    /// The class and trace of each record, by its index.
    sites: Vec<Option<(ClassId, TraceId)>>,
    frames: FxHashMap<(u32, u16), FrameId>,
    tables: Tables,
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
    /// Returns the class and trace of each known record, by its index.
    pub(super) fn sites(&self) -> &[Option<(ClassId, TraceId)>] {
        &self.sites
    }
}

impl Recorder {
    /// Finds the traces of one tree's sites; those that are already known stay.
    pub(crate) fn book_paths(
        &mut self,
        thread: Option<Slot>,
        nodes: &dyn PathNodes,
        sites: &[PathSite],
    ) {
        let is_new =
            |record: u32| !matches!(self.objects.sites.get(record as usize), Some(Some(_)));
        let new: Vec<_> = sites.iter().filter(|site| is_new(site.record)).collect();
        if new.is_empty() {
            return;
        }
        let thread = self.thread_of_trace(thread);
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
        let root = self.profile.tree.root();
        let mut callers: Vec<(u32, NodeId)> = vec![(0, root); is_wanted.len()];
        for place in (0..is_wanted.len()).filter(|&place| is_wanted[place]) {
            let Some(node) = nodes.get(place as u32) else { continue };
            callers[place] = match nodes.get(node.parent) {
                None => (1, root),
                Some(parent) => {
                    let (depth, outer) = callers[node.parent as usize];
                    let frame = self.site_frame(parent.method, node.line);
                    let known = (depth as usize) < self.site_depth;
                    let tree = &mut self.profile.tree;
                    (depth + 1, if known { tree.insert_below(outer, [frame]) } else { root })
                }
            };
        }
        for site in new {
            let place = match nodes.get(site.node) {
                Some(node) => {
                    let (depth, outer) = callers[site.node as usize];
                    if depth as usize <= self.site_depth {
                        let frame = self.site_frame(node.method, site.line);
                        self.profile.tree.insert_below(outer, [frame])
                    } else {
                        self.innermost(nodes, node, site.line)
                    }
                }
                None => root,
            };
            let trace = self.profile.trace(place, thread);
            let class = ClassId::new(site.class as usize - 1);
            *entry(&mut self.objects.sites, site.record as usize) = Some((class, trace));
        }
    }

    /// Returns the place of a path that is cut to its innermost frames, as many as the depth
    /// allows.
    fn innermost(&mut self, nodes: &dyn PathNodes, node: PathNode, line: u16) -> NodeId {
        let mut frames = Vec::new();
        let (mut node, mut line) = (Some(node), line);
        while let Some(it) = node.filter(|_| frames.len() < self.site_depth) {
            frames.push(self.site_frame(it.method, line));
            (node, line) = (nodes.get(it.parent), it.line);
        }
        self.profile.tree.insert(frames.into_iter().rev())
    }

    pub(super) fn site_frame(&mut self, method: u32, line: u16) -> FrameId {
        if line == 0 || method == Calls::LOST {
            return self.call_frame(method);
        }
        if let Some(known) = self.objects.frames.get(&(method, line)) {
            return *known;
        }
        let id = self.numbered_method(method);
        let frame = self.profile.symbols.frame(Frame::new(id, Line::Number(line.into())));
        self.objects.frames.insert((method, line), frame);
        frame
    }

    /// Books all objects up to `moment`, for the dump that follows.
    pub(crate) fn book_objects(&mut self, objects: &Objects, moment: Instant) {
        let known = std::mem::take(&mut self.objects.sites);
        let sites = || {
            objects.sites.iter().zip(&known).filter_map(|(counts, site)| {
                let (class, trace) = (*site)?;
                (counts.allocated_count > 0).then_some((class, trace, *counts))
            })
        };
        let book = &mut self.objects;
        book.until = moment.saturating_duration_since(self.begun);
        book.by_class.clear();
        let mut count = |class, counts| book.by_class.entry(class).or_default().add(counts);
        sites().for_each(|(class, _, counts)| count(class, counts));
        // Of these objects, only the live ones are known. The time of their allocation is not
        // known.
        if book.tables != Tables::Between {
            objects.others.iter().for_each(|&(class, counts)| count(class, counts));
        }
        if self.sites_are_exact {
            let system = self.profile.system_trace();
            let others = objects.others.iter().map(|&(class, counts)| (class, system, counts));
            for (class, trace, counts) in sites().chain(others) {
                self.book_site(class, trace, counts);
            }
        }
        self.objects.sites = known;
    }

    /// Returns the table of `-Xaprof`, if this dump prints one.
    pub(super) fn class_table(&mut self, last: bool) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let by_class = match self.objects.tables {
            Tables::Run if last => std::mem::take(&mut self.objects.by_class),
            Tables::Between => {
                let (from, until) = (self.objects.from, self.objects.until);
                let (from_s, until_s) = (from.as_secs_f64(), until.as_secs_f64());
                writeln!(text, "\nAllocated from {from_s:.3} s to {until_s:.3} s of the run:")
                    .ok()?;
                self.objects.take_span()
            }
            Tables::None | Tables::Run => return None,
        };
        let trace = self.profile.system_trace();
        let rows = by_class.into_iter().map(|(class, objects)| Site { class, trace, objects });
        let rows: Vec<_> = rows.collect();
        let mut total = Allocations::default();
        rows.iter().for_each(|site| total.add(site.objects));
        let sites = Sites { total, rows, ..Sites::default() };
        aprof::write(&mut text, &aprof::Table::of(&self.profile, &sites)).ok()?;
        Some(text)
    }
}

impl ObjectBook {
    pub(super) fn new(options: &Options) -> Self {
        let tables = match (options.aprof, options.aprof_between) {
            (true, true) => Tables::Between,
            // A tool that asks for all data in one file prints what it likes.
            (true, false) if options.format != Format::Extended => Tables::Run,
            _ => Tables::None,
        };
        Self { tables, ..Self::default() }
    }

    /// Returns the allocations since the last table, by class. The next table begins here.
    fn take_span(&mut self) -> FxHashMap<ClassId, Allocations> {
        let all = std::mem::take(&mut self.by_class);
        let mut span = all.clone();
        for (class, before) in std::mem::replace(&mut self.before, all) {
            if let Some(it) = span.get_mut(&class) {
                it.allocated_count = it.allocated_count.saturating_sub(before.allocated_count);
                it.allocated_bytes = it.allocated_bytes.saturating_sub(before.allocated_bytes);
            }
        }
        self.from = self.until;
        span
    }
}
