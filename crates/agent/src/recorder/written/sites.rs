//! Writes exact allocation sites to the file from the records in which they are counted.
//!
//! The path of a site is not one of its tree: its frames have the lines of calls, which a tree has at
//! the callees. So a file gets the paths that call the tree's nodes, as far as there are sites below
//! them, and a path for each site. They are written anew for each dump, so that nothing of them stays in
//! memory.

use std::io;
use std::sync::Mutex;

use perk_hprof::{CountedPath, CountedRow, Writer};
use perk_profile::{Allocations, ClassId, KnownObjects, Sites, Subject};

use super::{CountedSection, NODES_AT_ONCE, Part};
use crate::output::FileCopy;
use crate::recorder::counted::{Calls, PathNodes};
use crate::recorder::{File, Recorder, now};
use crate::sync::lock;

/// The source of the paths of sites: no tree has this address.
const SOURCE: u64 = 0;

/// The place of the callers of a node below which there is no site.
const NOT_WANTED: u32 = u32::MAX;
/// The place of callers that are still to be written.
const WANTED: u32 = u32::MAX - 1;
/// The place of the callers of a thread's first methods: there are none.
const NO_CALLERS: u32 = u32::MAX - 2;

/// The objects of a site.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedSite {
    /// The index of the node; [`Calls::NO_PARENT`] if no method is known.
    pub(crate) node: u32,
    /// The line of the node's method; 0 if it is not given.
    pub(crate) line: u16,
    pub(crate) class: ClassId,
    pub(crate) objects: Allocations,
}

/// The paths that call the nodes of a tree.
pub(crate) struct SiteCallers<'a> {
    nodes: &'a dyn PathNodes,
    /// The positions of the paths in the file, by node.
    places: Vec<u32>,
    /// The first node that is still to be looked at.
    at: usize,
}

impl<'a> SiteCallers<'a> {
    /// Begins with the callers of these nodes.
    pub(crate) fn of(nodes: &'a dyn PathNodes, wanted: impl Iterator<Item = u32>) -> Self {
        let mut places = vec![NOT_WANTED; nodes.count()];
        for mut node in wanted {
            while let Some(place) = places.get_mut(node as usize)
                && *place == NOT_WANTED
            {
                *place = WANTED;
                node = nodes.get(node).map_or(Calls::NO_PARENT, |it| it.parent);
            }
        }
        Self { nodes, places, at: 0 }
    }

    /// Whether all are written.
    pub(crate) fn are_written(&self) -> bool {
        self.at == self.places.len()
    }

    /// Returns the position of the path that calls a node.
    fn position(&self, node: u32) -> Option<u32> {
        self.places.get(node as usize).copied().filter(|place| *place < NO_CALLERS)
    }

    /// Takes the next callers; the first of them gets a `position`.
    fn next_part(&mut self, recorder: &mut Recorder, mut position: u32) -> Part {
        let mut part = Part::default();
        let end = self.places.len().min(self.at + NODES_AT_ONCE);
        for at in self.at..end {
            let Some(node) = self.nodes.get(at as u32).filter(|_| self.places[at] == WANTED) else {
                continue;
            };
            self.places[at] = match self.nodes.get(node.parent) {
                None => NO_CALLERS,
                Some(caller) => {
                    let frame = recorder.site_frame(caller.method, node.line);
                    part.paths.push(CountedPath { parent: self.position(node.parent), frame });
                    position += 1;
                    position - 1
                }
            };
        }
        self.at = end;
        part
    }
}

/// The section of sites, on its way to the file or to a flush.
pub(crate) struct SiteStream<'a> {
    recorder: &'a Mutex<Recorder>,
    copy: Option<&'a mut Writer<FileCopy>>,
    section: CountedSection,
}

impl<'a> SiteStream<'a> {
    /// Begins the section of a dump.
    pub(crate) fn of_dump(recorder: &'a Mutex<Recorder>) -> Self {
        let known = lock(recorder).sites.known();
        Self { recorder, copy: None, section: section(known) }
    }

    /// Begins the section of a flush, for which nobody has looked for live objects.
    pub(in crate::recorder) fn of_copy(
        recorder: &'a Mutex<Recorder>,
        copy: &'a mut Writer<FileCopy>,
    ) -> Self {
        let known = KnownObjects { live: false, ..KnownObjects::default() };
        Self { recorder, copy: Some(copy), section: section(known) }
    }

    /// Whether it has the live objects.
    pub(crate) fn has_live(&self) -> bool {
        self.copy.is_none()
    }

    /// Writes the next callers.
    ///
    /// # Errors
    /// The error of the system, if it is a flush; of a dump, that its file is closed.
    pub(crate) fn callers(&mut self, callers: &mut SiteCallers<'_>) -> io::Result<()> {
        self.part(&mut |recorder, position| callers.next_part(recorder, position))
    }

    /// Writes sites below callers that are written, or sites of which no method is known.
    ///
    /// # Errors
    /// As [`callers`](Self::callers).
    pub(crate) fn sites(
        &mut self,
        callers: Option<&SiteCallers<'_>>,
        sites: &[CountedSite],
    ) -> io::Result<()> {
        self.part(&mut |recorder, mut position| {
            let mut part = Part::default();
            for site in sites {
                let known = callers.and_then(|it| Some((it, it.nodes.get(site.node)?)));
                let path = known.map(|(callers, node)| {
                    let frame = recorder.site_frame(node.method, site.line);
                    part.paths.push(CountedPath { parent: callers.position(site.node), frame });
                    position += 1;
                    position - 1
                });
                let (subject, numbers) = (Subject::Class(site.class), site.objects.numbers());
                part.rows.push(CountedRow { path, subject, numbers });
            }
            part.serial = recorder.profile.take_serials(part.rows.len() as u32);
            part
        })
    }

    /// Ends the section.
    ///
    /// # Errors
    /// As [`callers`](Self::callers).
    pub(crate) fn end(self) -> io::Result<()> {
        let Self { recorder, copy, section } = self;
        match copy {
            Some(copy) => section.end(copy),
            None => {
                let mut recorder = lock(recorder);
                recorder.write(|writer, _, _| section.end(writer));
                recorder.has_written_sites = true;
                Ok(())
            }
        }
    }

    /// Writes a part, which is made for the position of its first path. The recorder is locked for that
    /// alone: the threads of the program need it, too.
    fn part(&mut self, make: &mut dyn FnMut(&mut Recorder, u32) -> Part) -> io::Result<()> {
        let mut recorder = lock(self.recorder);
        let section = &mut self.section;
        if let Some(copy) = &mut self.copy {
            let part = make(&mut recorder, copy.path_count(SOURCE) as u32);
            return section.write(copy, &recorder.profile, SOURCE, &part);
        }
        // A file whose disk is full is closed.
        let File::Begun(writer) = &recorder.file else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let position = writer.path_count(SOURCE) as u32;
        let part = make(&mut recorder, position);
        recorder.write(|writer, profile, _| section.write(writer, profile, SOURCE, &part));
        Ok(())
    }
}

fn section(known: KnownObjects) -> CountedSection {
    CountedSection { head: Sites { known, written: Some(now()), ..Sites::default() }.head() }
}
