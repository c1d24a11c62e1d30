//! The book of allocation sites, which the exact and the sampled sites and the census fill.

use std::io;
use std::mem;
use std::sync::Mutex;

use perk_control::options::Options;
use perk_jvm::sync::lock;
use perk_profile::{
    Allocations, ClassId, HeapSummary, KnownObjects, Site, SiteSelection, Sites, TraceId,
};
use rustc_hash::FxHashMap;

use super::{cutoff_of_counts, writes_from_trees};
use crate::recorder::{Book, DumpSection, Inquiry, Place, Recorder, Sections, now};

/// Objects by site.
pub(crate) type SiteRows = FxHashMap<(ClassId, TraceId), Allocations>;

/// The allocated and live objects of each site, as of the dump to come.
#[derive(Debug)]
pub(crate) struct SiteBook {
    /// Whether dumps have sites.
    is_written: bool,
    has_peer: bool,
    /// Whether a section counts from the one before on.
    has_parts: bool,
    cutoff: f64,
    sample_interval_bytes: Option<u64>,
    known: KnownObjects,
    /// Whether sites go to the file from their records, and are booked only where that cannot be.
    is_direct: bool,
    sites: Mutex<SiteCounts>,
}

#[derive(Debug, Default)]
struct SiteCounts {
    rows: SiteRows,
    /// The allocations that do not count: see [`SiteBook::clear`].
    removed: SiteRows,
    /// All allocations up to the moment at which counting was switched off.
    frozen: Option<SiteRows>,
    /// The sites as of the last section, if a peer may ask for those that changed since.
    last: Option<SiteRows>,
    /// Whether the file already has the sites of the dump that is made.
    is_done: bool,
    /// Whether the last flush has sites from here.
    is_shown: bool,
}

impl SiteBook {
    /// Returns an empty book; it is one of estimates if a sampling interval is given.
    pub(crate) fn new(options: &Options) -> Self {
        let is_exact = options.heap_sample_bytes.is_none();
        // Heap dumps give objects the traces of the profile.
        let is_direct = writes_from_trees(options)
            && options.heap_sites
            && is_exact
            && options.paths
            && !options.heap_dump
            && !options.aprof;
        let has_peer = options.has_peer();
        Self {
            is_written: options.heap_sites || options.aprof,
            has_peer,
            has_parts: options.every_ns.is_some(),
            cutoff: if is_exact { cutoff_of_counts(options) } else { options.cutoff },
            sample_interval_bytes: options.heap_sample_bytes,
            known: KnownObjects { live: options.live, ..KnownObjects::default() },
            is_direct,
            sites: Mutex::new(SiteCounts::new(has_peer)),
        }
    }

    /// Returns which objects are known.
    pub(crate) fn known(&self) -> KnownObjects {
        self.known
    }

    /// Whether exact sites go to the file from their records.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Notes that the file has the sites of the dump that is made.
    pub(crate) fn set_done(&self) {
        lock(&self.sites).is_done = true;
    }

    /// Whether the last flush has the sites from this book.
    pub(crate) fn is_shown(&self) -> bool {
        !self.is_direct || lock(&self.sites).is_shown
    }

    /// Books the objects of sites: all since the program's start, booked anew for each dump.
    pub(crate) fn book(&self, sites: impl IntoIterator<Item = (ClassId, TraceId, Allocations)>) {
        let mut book = lock(&self.sites);
        for (class, trace, objects) in sites {
            book.rows.entry((class, trace)).or_default().add(objects);
        }
    }

    /// Returns the objects of each site that were booked for a dump.
    pub(crate) fn take_rows(&self) -> SiteRows {
        mem::take(&mut lock(&self.sites).rows)
    }

    /// Returns the section of sites; the next section begins empty.
    fn take(&self, selection: SiteSelection, cutoff: f64, known: KnownObjects) -> Sites {
        let mut book = lock(&self.sites);
        let booked = mem::take(&mut book.rows);
        let counted = booked.into_iter().map(|(site, objects)| (site, book.counted(site, objects)));
        let mut total = Allocations::default();
        let mut rows = Vec::with_capacity(counted.len());
        let mut now_all = book.last.is_some().then(SiteRows::default);
        for (site, objects) in counted.filter(|(_, it)| *it != Allocations::default()) {
            total.add(objects);
            let last = book.last.as_ref().filter(|_| selection.changed_only);
            if last.is_none_or(|last| last.get(&site) != Some(&objects)) {
                rows.push(Site { class: site.0, trace: site.1, objects });
            }
            if let Some(all) = &mut now_all {
                all.insert(site, objects);
            }
        }
        book.last = now_all;
        let sample_interval_bytes = self.sample_interval_bytes;
        let written = Some(now());
        let mut sites = Sites { total, rows, sample_interval_bytes, selection, known, written };
        sites.rank(cutoff);
        sites
    }

    /// Returns the summary of the objects of all sites; `live` is the number and size of all objects, if
    /// these are known better than from the live objects of the sites.
    fn take_summary(&self, live: Option<(u64, u64)>) -> HeapSummary {
        let mut objects = self.take(SiteSelection::default(), 0.0, self.known).total;
        if let Some((live_count, live_bytes)) = live {
            objects = Allocations {
                live_bytes,
                live_count,
                allocated_bytes: objects.allocated_bytes.max(live_bytes),
                allocated_count: objects.allocated_count.max(live_count),
            };
        }
        HeapSummary { objects, written: Some(now()) }
    }

    /// Switches the counting of allocations on or off. The objects booked must be all up to now.
    fn set_counting(&self, is_counting: bool) {
        let mut book = lock(&self.sites);
        let rows = mem::take(&mut book.rows);
        match book.frozen.take() {
            None if !is_counting => book.frozen = Some(rows),
            Some(frozen) if is_counting => {
                for (site, mut objects) in rows {
                    objects.remove_allocated(frozen.get(&site).copied().unwrap_or_default());
                    book.removed.entry(site).or_default().add(objects);
                }
            }
            frozen => book.frozen = frozen,
        }
    }

    /// Counts allocations from now on; with `with_live`, as if the program had begun with the objects that
    /// live. The objects booked must be all up to now.
    fn clear(&self, with_live: bool) {
        let mut book = lock(&self.sites);
        let rows = mem::take(&mut book.rows);
        for (site, objects) in rows {
            let mut gone = book.counted(site, objects);
            let live = Allocations {
                allocated_bytes: gone.live_bytes,
                allocated_count: gone.live_count,
                ..Allocations::default()
            };
            if with_live {
                gone.remove_allocated(live);
            }
            book.removed.entry(site).or_default().add(gone);
        }
    }
}

impl SiteCounts {
    fn new(has_peer: bool) -> Self {
        Self { last: has_peer.then(SiteRows::default), ..Self::default() }
    }

    /// Returns the objects of a site that count. The probes continue while counting is switched off,
    /// so their counts are left out here.
    fn counted(&self, site: (ClassId, TraceId), objects: Allocations) -> Allocations {
        let mut counted = match &self.frozen {
            Some(frozen) => frozen.get(&site).copied().unwrap_or_default(),
            None => objects,
        };
        if let Some(removed) = self.removed.get(&site) {
            counted.remove_allocated(*removed);
        }
        // It is not known which live objects do not count. At most all live objects count.
        counted.live_bytes = objects.live_bytes.min(counted.allocated_bytes);
        counted.live_count = objects.live_count.min(counted.allocated_count);
        counted
    }
}

impl Book for SiteBook {
    fn place(&self) -> Place {
        Place::Sites
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        if !self.is_written {
            return Ok(());
        }
        let sites = if sections.are_of_flush() {
            let mut book = lock(&self.sites);
            book.is_shown = !self.is_direct || !book.rows.is_empty();
            if !book.is_shown {
                return Ok(());
            }
            // Nobody has looked for live objects.
            book.rows.values_mut().for_each(|it| (it.live_bytes, it.live_count) = (0, 0));
            drop(book);
            let known = KnownObjects { live: false, ..self.known };
            self.take(SiteSelection::default(), self.cutoff, known)
        } else {
            if mem::take(&mut lock(&self.sites).is_done) {
                return Ok(());
            }
            let booked = self.has_parts.then(|| lock(&self.sites).rows.clone());
            let sites = self.take(SiteSelection::default(), self.cutoff, self.known);
            if let Some(booked) = booked {
                lock(&self.sites).removed = booked;
            }
            sites
        };
        sections.put(recorder, DumpSection::Sites(&sites))
    }

    fn answer(&self, recorder: &mut Recorder, inquiry: Inquiry) {
        match inquiry {
            Inquiry::Sites { selection, cutoff } => {
                let sites = self.take(selection, cutoff, self.known);
                recorder.write_section(DumpSection::Sites(&sites));
            }
            Inquiry::HeapSummary { live } => {
                let summary = self.take_summary(live);
                recorder.write(|writer, _, _| writer.heap_summary(&summary));
            }
            Inquiry::CountSites(is_counting) => self.set_counting(is_counting),
            Inquiry::ClearSites => self.clear(true),
            _ => {}
        }
    }

    fn drop_gathered(&self) {
        lock(&self.sites).rows.clear();
    }

    fn reset(&self, with_live: bool) {
        self.clear(with_live);
    }

    fn release(&self) {
        *lock(&self.sites) = SiteCounts::new(self.has_peer);
    }
}
