//! Books allocations on the profile.

use perk_profile::{Allocations, ClassId, Site, Sites, TraceId};
use rustc_hash::FxHashMap;

use super::{Recorder, now};

/// What was allocated and what lives, by site: as of the dump that is made.
#[derive(Debug)]
pub(crate) struct SiteBook {
    rows: FxHashMap<(ClassId, TraceId), Allocations>,
    sample_interval_bytes: Option<u64>,
}

impl SiteBook {
    /// An empty book, of estimates where a sampling interval is given.
    pub(super) fn new(sample_interval_bytes: Option<u64>) -> Self {
        Self { rows: FxHashMap::default(), sample_interval_bytes }
    }
}

impl Recorder {
    /// Books the objects of a site: all since the program's start, anew for each dump.
    pub(crate) fn book_site(&mut self, class: ClassId, trace: TraceId, objects: Allocations) {
        self.sites.rows.entry((class, trace)).or_default().add(objects);
    }

    /// The section of sites; the next one begins without any.
    pub(super) fn take_sites(&mut self) -> Sites {
        let rows = std::mem::take(&mut self.sites.rows);
        let mut total = Allocations::default();
        rows.values().for_each(|&objects| total.add(objects));
        let rows = rows.into_iter();
        let rows = rows.map(|((class, trace), objects)| Site { class, trace, objects });
        let sample_interval_bytes = self.sites.sample_interval_bytes;
        let mut sites =
            Sites { total, rows: rows.collect(), sample_interval_bytes, written: Some(now()) };
        sites.rank(self.cutoff);
        sites
    }
}
