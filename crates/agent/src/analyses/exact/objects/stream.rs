//! Writes exact allocation sites to the file from the records in which they are counted.
//!
//! The path of a site is not one of its tree: its frames have the lines of calls, which a tree has at
//! the callees. So a file gets the paths that call the tree's nodes, as far as there are sites below
//! them, and a path for each site. They are written anew for each dump, so that nothing of them stays in
//! memory.

use std::io;
use std::sync::Mutex;

use perk_hprof::{CountedPath, CountedRow, Writer};
use perk_jvm::sync::lock;
use perk_profile::{KnownObjects, Sites, Subject};

use crate::analyses::books::sites::SiteBook;
use crate::analyses::exact::counts::CountedSite;
use crate::output::Output;
use crate::recorder::{
    Calls, CountedPart, CountedSection, Flush, NODES_AT_ONCE, PathNodes, Recorder, now,
};

/// The source of the paths of sites: no tree has this address.
const SOURCE: u64 = 0;

/// The place of the callers of a node below which there is no site.
const NOT_WANTED: u32 = u32::MAX;
/// The place of callers that are still to be written.
const WANTED: u32 = u32::MAX - 1;
/// The place of the callers of a thread's first methods: there are none.
const NO_CALLERS: u32 = u32::MAX - 2;

/// The paths that call the nodes of a tree.
pub(super) struct SiteCallers<'a> {
    nodes: &'a dyn PathNodes,
    /// The positions of the paths in the file, by node.
    places: Vec<u32>,
    /// The first node that is still to be looked at.
    at: usize,
}

impl<'a> SiteCallers<'a> {
    /// Begins with the callers of these nodes.
    pub(super) fn of(nodes: &'a dyn PathNodes, wanted: impl Iterator<Item = u32>) -> Self {
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
    pub(super) fn are_written(&self) -> bool {
        self.at == self.places.len()
    }

    /// Returns the position of the path that calls a node.
    fn position(&self, node: u32) -> Option<u32> {
        self.places.get(node as usize).copied().filter(|place| *place < NO_CALLERS)
    }

    /// Takes the next callers; the first of them gets a `position`.
    fn next_part(&mut self, recorder: &mut Recorder, mut position: u32) -> CountedPart {
        let mut part = CountedPart::default();
        let end = self.places.len().min(self.at + NODES_AT_ONCE);
        for at in self.at..end {
            let Some(node) = self.nodes.get(at as u32).filter(|_| self.places[at] == WANTED) else {
                continue;
            };
            self.places[at] = match self.nodes.get(node.parent) {
                None => NO_CALLERS,
                Some(caller) => {
                    let frame = recorder.frame_at(caller.method, node.line);
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
pub(super) struct SiteStream<'a> {
    recorder: &'a Mutex<Recorder>,
    book: &'a SiteBook,
    copy: Option<&'a mut Writer<Output>>,
    section: CountedSection,
}

impl<'a> SiteStream<'a> {
    /// Begins the section of a dump.
    pub(super) fn of_dump(recorder: &'a Mutex<Recorder>, book: &'a SiteBook) -> Self {
        Self { recorder, book, copy: None, section: section(book.known()) }
    }

    /// Begins the section of a flush, for which nobody has looked for live objects.
    pub(super) fn of_flush(
        recorder: &'a Mutex<Recorder>,
        book: &'a SiteBook,
        flush: &'a mut Flush,
    ) -> Self {
        let known = KnownObjects { live: false, ..KnownObjects::default() };
        Self { recorder, book, copy: Some(&mut flush.writer), section: section(known) }
    }

    /// Whether it has the live objects.
    pub(super) fn has_live(&self) -> bool {
        self.copy.is_none()
    }

    /// Writes the next callers.
    ///
    /// # Errors
    /// The error of the system, if it is a flush; of a dump, that its file is closed.
    pub(super) fn callers(&mut self, callers: &mut SiteCallers<'_>) -> io::Result<()> {
        self.part(&mut |recorder, position| callers.next_part(recorder, position))
    }

    /// Writes sites below callers that are written, or sites of which no method is known.
    ///
    /// # Errors
    /// As [`callers`](Self::callers).
    pub(super) fn sites(
        &mut self,
        callers: Option<&SiteCallers<'_>>,
        sites: &[CountedSite],
    ) -> io::Result<()> {
        self.part(&mut |recorder, mut position| {
            let mut part = CountedPart::default();
            for site in sites {
                let known = callers.and_then(|it| Some((it, it.nodes.get(site.node)?)));
                let path = known.map(|(callers, node)| {
                    let frame = recorder.frame_at(node.method, site.line);
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
    pub(super) fn end(self) -> io::Result<()> {
        let Self { recorder, book, copy, section } = self;
        match copy {
            Some(copy) => section.end(copy),
            None => {
                lock(recorder).write(|writer, _, _| section.end(writer));
                book.set_done();
                Ok(())
            }
        }
    }

    /// Writes a part, which is made for the position of its first path. The recorder is locked for that
    /// alone: the threads of the program need it, too.
    fn part(&mut self, make: &mut dyn FnMut(&mut Recorder, u32) -> CountedPart) -> io::Result<()> {
        let mut recorder = lock(self.recorder);
        let section = &mut self.section;
        if let Some(copy) = &mut self.copy {
            let part = make(&mut recorder, copy.path_count(SOURCE) as u32);
            return section.write(copy, &recorder.profile, SOURCE, &part);
        }
        // A file whose disk is full is closed.
        let position = recorder.path_count(SOURCE).ok_or(io::ErrorKind::NotFound)?;
        let part = make(&mut recorder, position as u32);
        recorder.write(|writer, profile, _| section.write(writer, profile, SOURCE, &part));
        Ok(())
    }
}

fn section(known: KnownObjects) -> CountedSection {
    CountedSection::new(Sites { known, written: Some(now()), ..Sites::default() }.head())
}
