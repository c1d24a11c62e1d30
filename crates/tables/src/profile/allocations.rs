//! `sites`: the objects by class and stack.

use perk_profile::{Allocations, Metric, Site};

use crate::recording::Recording;
use crate::table::{Column, TableOf, Values};

/// The objects of a site, and which of their numbers are known.
pub(super) struct SiteRow {
    site: Site,
    has_live: bool,
    is_estimate: bool,
}

impl SiteRow {
    fn live(&self, number: fn(&Allocations) -> u64) -> Option<u64> {
        self.has_live.then(|| number(&self.site.objects))
    }
}

pub(super) fn sites() -> TableOf<SiteRow> {
    TableOf {
        name: "sites",
        about: "the objects that were allocated, by class and stack",
        rows,
        columns: vec![
            Column::recording(),
            Column::new(
                "class",
                Values::Text(|it, row| Some(it.profile.symbols.class_name(row.site.class))),
                "the class of the objects",
            ),
            Column::new(
                "stack",
                Values::Stack(|it, row| Some(it.stack(it.profile.get_trace(row.site.trace).node))),
                "the stack that allocated them",
            ),
            Column::new(
                "allocated_bytes",
                Values::Number(|_, row| Some(row.site.objects.allocated_bytes)),
                "their size in bytes",
            ),
            Column::new(
                "allocated_count",
                Values::Number(|_, row| Some(row.site.objects.allocated_count)),
                "their number",
            ),
            Column::new(
                "live_bytes",
                Values::Number(|_, row| row.live(|it| it.live_bytes)),
                "the size of those that live; null if it is not known",
            ),
            Column::new(
                "live_count",
                Values::Number(|_, row| row.live(|it| it.live_count)),
                "the number of those that live; null if it is not known",
            ),
            Column::new(
                "is_estimate",
                Values::Flag(|_, row| Some(row.is_estimate)),
                "whether the numbers are estimated from samples",
            ),
        ],
    }
}

fn rows(recording: &Recording) -> Vec<SiteRow> {
    let profile = &recording.profile;
    let Some(sites) = profile.sites() else { return Vec::new() };
    let (has_live, is_estimate) =
        (sites.known.live, Metric::AllocatedBytes.period(profile).is_some());
    let row = |site| SiteRow { site, has_live, is_estimate };
    sites.rows.into_iter().map(row).collect()
}
