//! Books allocations on the profile.

use std::mem;

use perk_control::options::Options;
use perk_profile::{Allocations, ClassId, KnownObjects, Site, SiteSelection, Sites, TraceId};
use rustc_hash::FxHashMap;

use super::{Recorder, now};

/// Objects by site.
pub(super) type Rows = FxHashMap<(ClassId, TraceId), Allocations>;

/// The allocated and live objects of each site, as of the current dump.
#[derive(Debug)]
pub(crate) struct SiteBook {
    rows: Rows,
    sample_interval_bytes: Option<u64>,
    known: KnownObjects,
    /// The allocations that do not count: see [`Recorder::clear_sites`].
    removed: Rows,
    /// All allocations up to the moment at which counting was switched off.
    frozen: Option<Rows>,
    /// The sites as of the last section, if a peer may ask for those that changed since.
    last: Option<Rows>,
}

impl SiteBook {
    /// Returns an empty book; it is one of estimates if a sampling interval is given.
    pub(super) fn new(options: &Options, has_peer: bool) -> Self {
        Self {
            rows: Rows::default(),
            sample_interval_bytes: options.heap_sample_bytes,
            known: KnownObjects { live: options.live, ..KnownObjects::default() },
            removed: Rows::default(),
            frozen: None,
            last: has_peer.then(Rows::default),
        }
    }

    /// Returns which objects are known.
    pub(super) fn known(&self) -> KnownObjects {
        self.known
    }

    /// Whether objects were booked for a dump.
    pub(super) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Returns the objects of each site that were booked for a dump.
    pub(super) fn take_rows(&mut self) -> Rows {
        mem::take(&mut self.rows)
    }

    /// Returns the objects of a site that count. The probes go on while counting is switched off,
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

impl Recorder {
    /// Books the objects of a site: all since the program's start, booked anew for each dump.
    pub(crate) fn book_site(&mut self, class: ClassId, trace: TraceId, objects: Allocations) {
        self.sites.rows.entry((class, trace)).or_default().add(objects);
    }

    /// Drops the objects that were booked for a dump.
    pub(crate) fn forget_sites(&mut self) {
        self.sites.rows.clear();
    }

    /// Returns the section of sites; the next section begins empty.
    pub(super) fn take_sites(&mut self, selection: SiteSelection, cutoff: f64) -> Sites {
        let book = &mut self.sites;
        let booked = mem::take(&mut book.rows);
        let counted = booked.into_iter().map(|(site, objects)| (site, book.counted(site, objects)));
        let mut total = Allocations::default();
        let mut rows = Vec::with_capacity(counted.len());
        let mut now_all = book.last.is_some().then(Rows::default);
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
        let mut sites = Sites {
            total,
            rows,
            sample_interval_bytes: book.sample_interval_bytes,
            selection,
            known: book.known,
            written: Some(now()),
        };
        book.last = now_all;
        sites.rank(cutoff);
        sites
    }

    /// Sites that are counted exactly are as calls.
    pub(super) fn cutoff_of_sites(&self) -> f64 {
        if self.sites_are_exact { self.cutoff_of_counts() } else { self.cutoff }
    }

    /// Returns the section of sites without live objects, which nobody has looked for.
    pub(super) fn take_allocated_sites(&mut self) -> Sites {
        let book = &mut self.sites;
        book.rows.values_mut().for_each(|it| (it.live_bytes, it.live_count) = (0, 0));
        let known = mem::replace(&mut book.known.live, false);
        let sites = self.take_sites(SiteSelection::default(), self.cutoff_of_sites());
        self.sites.known.live = known;
        sites
    }

    /// Switches the counting of allocations on or off. The objects booked must be all up to now.
    pub(crate) fn count_sites(&mut self, counts: bool) {
        let book = &mut self.sites;
        let rows = mem::take(&mut book.rows);
        match book.frozen.take() {
            None if !counts => book.frozen = Some(rows),
            Some(frozen) if counts => {
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
    pub(crate) fn clear_sites(&mut self, with_live: bool) {
        let book = &mut self.sites;
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
