//! Books on the profile what the exact engine counted of objects.

use perk_hprof::aprof;
use perk_profile::{
    Allocations, ClassId, Frame, FrameId, Line, MethodId, NodeId, Site, Sites, TraceId,
};
use rustc_hash::FxHashMap;

use super::Recorder;
use crate::exact::{Calls, Objects, PathNode, SitePaths};
use crate::roster::Slot;

/// What is known of the exact engine's sites.
#[derive(Debug, Default)]
pub(crate) struct ObjectBook {
    /// By the index of the record.
    sites: Vec<Option<(ClassId, TraceId)>>,
    frames: FxHashMap<(u32, u16), FrameId>,
    by_class: FxHashMap<ClassId, Allocations>,
}

impl Recorder {
    /// Finds the traces of one tree's sites; what is known of others stays.
    pub(crate) fn book_paths(&mut self, thread: Option<Slot>, paths: &SitePaths) {
        let is_new =
            |record: u32| !matches!(self.objects.sites.get(record as usize), Some(Some(_)));
        let new: Vec<_> = paths.sites.iter().filter(|site| is_new(site.record)).collect();
        if new.is_empty() {
            return;
        }
        let thread = self.thread_of_trace(thread);
        let mut is_wanted = vec![false; paths.nodes.len()];
        for site in &new {
            if let Some(wanted) = is_wanted.get_mut(site.node as usize) {
                *wanted = true;
            }
        }
        for (place, node) in paths.nodes.iter().enumerate().rev() {
            if is_wanted[place] && node.parent != Calls::NO_PARENT {
                is_wanted[node.parent as usize] = true;
            }
        }
        // For each wanted node its depth and, unless it is too deep, the place of its callers.
        let root = self.profile.tree.root();
        let mut callers: Vec<(usize, NodeId)> = vec![(0, root); paths.nodes.len()];
        for (place, node) in paths.nodes.iter().enumerate().filter(|&(place, _)| is_wanted[place]) {
            callers[place] = match paths.nodes.get(node.parent as usize) {
                None => (1, root),
                Some(parent) => {
                    let (depth, outer) = callers[node.parent as usize];
                    let frame = self.site_frame(parent.method, node.line);
                    let known = depth < self.site_depth;
                    let tree = &mut self.profile.tree;
                    (depth + 1, if known { tree.insert_below(outer, [frame]).node } else { root })
                }
            };
        }
        for site in new {
            let place = match paths.nodes.get(site.node as usize) {
                Some(node) => {
                    let (depth, outer) = callers[site.node as usize];
                    if depth <= self.site_depth {
                        let frame = self.site_frame(node.method, site.line);
                        self.profile.tree.insert_below(outer, [frame]).node
                    } else {
                        self.innermost(paths, node, site.line)
                    }
                }
                None => root,
            };
            let trace = self.profile.trace(place, thread);
            let index = site.record as usize;
            if self.objects.sites.len() <= index {
                self.objects.sites.resize(index + 1, None);
            }
            let class = ClassId::new(site.class as usize - 1);
            self.objects.sites[index] = Some((class, trace));
        }
    }

    /// The place of a path of which only so many frames are kept as were asked for.
    fn innermost(&mut self, paths: &SitePaths, node: &PathNode, line: u16) -> NodeId {
        let mut frames = Vec::new();
        let (mut node, mut line) = (Some(node), line);
        while let Some(it) = node.filter(|_| frames.len() < self.site_depth) {
            frames.push(self.site_frame(it.method, line));
            (node, line) = (paths.nodes.get(it.parent as usize), it.line);
        }
        self.profile.tree.insert(frames.into_iter().rev()).node
    }

    fn site_frame(&mut self, method: u32, line: u16) -> FrameId {
        if line == 0 || method == Calls::LOST {
            return self.call_frame(method);
        }
        let symbols = &mut self.profile.symbols;
        *self.objects.frames.entry((method, line)).or_insert_with(|| {
            let line = Line::Number(line.into());
            symbols.frame(Frame { method: MethodId::new(method as usize), bci: None, line })
        })
    }

    /// Books all objects up to now, for the dump that follows.
    pub(crate) fn book_objects(&mut self, objects: &Objects) {
        let sites = objects.sites.iter().enumerate().filter_map(|(record, counts)| {
            let (class, trace) = (*self.objects.sites.get(record)?)?;
            Some((class, trace, *counts))
        });
        let system = self.profile.system_trace();
        let others = objects.others.iter().map(|&(class, counts)| (class, system, counts));
        let all: Vec<_> = sites.chain(others).collect();
        self.objects.by_class.clear();
        for (class, trace, counts) in all {
            if counts.allocated_count > 0 {
                self.objects.by_class.entry(class).or_default().add(counts);
                if self.sites_are_exact {
                    self.book_site(class, trace, counts);
                }
            }
        }
    }

    /// Prints the table of `-Xaprof`, on stdout as the JVM did.
    pub(super) fn print_classes(&self) {
        let trace = self.profile.system_trace();
        let rows = self.objects.by_class.iter();
        let rows: Vec<_> = rows.map(|(&class, &objects)| Site { class, trace, objects }).collect();
        let mut total = Allocations::default();
        rows.iter().for_each(|site| total.add(site.objects));
        let sites = Sites { total, rows, ..Sites::default() };
        // A program that has closed its stdout has nobody who reads it.
        let _ = aprof::write(std::io::stdout(), &aprof::Table::of(&self.profile, &sites));
    }
}
