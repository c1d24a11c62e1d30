//! SITES.

use perk_profile::{Allocations, Event, Site, SiteSelection, Sites};

use super::contents::Contents;
use super::section::SectionReader;
use super::shares::{RowHead, TotalRange, date};
use crate::ascii::BY_ALLOCATED;
use crate::lines::{number, word};

/// SITES.
pub(super) struct SiteSection {
    sites: Sites,
    live: TotalRange,
    /// The number of lines that marked left out rows before this section.
    elided_before: usize,
}

impl SiteSection {
    /// Begins a section. `rest` follows `SITES BEGIN (`.
    pub(super) fn new(rest: &[u8], contents: &mut Contents) -> Self {
        let order = rest.iter().position(|&byte| byte == b')').unwrap_or(rest.len());
        let by_allocated = rest[..order].ends_with(BY_ALLOCATED.as_bytes());
        let sites = Sites {
            selection: SiteSelection { by_allocated, ..SiteSelection::default() },
            sample_interval_bytes: contents.sample_interval_bytes.take(),
            written: date(&rest[order..]),
            ..Sites::default()
        };
        Self { sites, live: TotalRange::default(), elided_before: contents.notes.elided }
    }
}

impl SectionReader for SiteSection {
    fn title(&self) -> &'static str {
        "SITES"
    }

    fn columns(&self) -> &'static str {
        "rank self accum live alloc'ed trace class"
    }

    /// Takes a row:
    /// `rank self% accum% live bytes, objects, allocated bytes, objects, trace, class`.
    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String> {
        let rest = &mut &line[..];
        if matches!(word(&mut &line[..]), Some(b"percent" | b"rank")) {
            return Ok(true);
        }
        let Some(head) = RowHead::of(rest) else { return Ok(false) };
        let mut column = || word(rest).and_then(number);
        let columns = (column(), column(), column(), column(), column());
        let (Some(live_bytes), Some(live_count), Some(bytes), Some(count), Some(serial)) = columns
        else {
            return Ok(false);
        };
        let objects =
            Allocations { live_bytes, live_count, allocated_bytes: bytes, allocated_count: count };
        let class = contents.class(rest);
        let trace = contents.trace(serial, self.sites.rows.len(), b"")?;
        self.sites.total.add(objects);
        self.live.limit(live_bytes, head.own);
        // If an excerpt leaves out rows, the sum does not match the listed rows.
        if head.rank == Some(self.sites.rows.len() as u64 + 1) {
            self.live.limit(self.sites.total.live_bytes, head.accumulated);
        }
        self.sites.rows.push(Site { class, trace, objects });
        Ok(true)
    }

    fn close(mut self: Box<Self>, contents: &mut Contents) {
        let listed_bytes = self.sites.total.live_bytes;
        self.sites.total.live_bytes = self.live.nearest(listed_bytes);
        contents.notes.odd_sites += usize::from(self.live.is_contradicted());
        // If rows are left out, below a cutoff or in an excerpt, the shares of the listed rows give
        // the live bytes of those left out, and no other number.
        self.sites.known.all_sites = self.sites.total.live_bytes == listed_bytes
            && contents.notes.elided == self.elided_before;
        contents.profile.events.push(Event::from(self.sites));
    }
}
