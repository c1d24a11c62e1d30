//! `sites`: the objects by class and stack.

use perk_analysis::allocations::{self, SiteRow};
use perk_profile::{Allocations, Metric};

use crate::recording::Recording;
use crate::table::{Column, TableOf, Values};

/// The objects of a site, and which of their numbers are known.
pub(super) struct Objects {
    site: SiteRow,
    has_live: bool,
    is_estimate: bool,
}

impl Objects {
    fn live(&self, number: fn(&Allocations) -> u64) -> Option<u64> {
        self.has_live.then(|| number(&self.site.objects))
    }
}

pub(super) fn sites() -> TableOf<Objects> {
    TableOf {
        name: "sites",
        about: "the objects that were allocated, by class and stack",
        rows: Box::new(rows),
        columns: vec![
            Column::recording(),
            Column::new(
                "class",
                Values::Text(|it, row| Some(it.profile.symbols.class_name(row.site.class))),
                "the class of the objects",
            ),
            Column::new(
                "stack",
                Values::Stack(|it, row| it.stack(row.site.node)),
                "the stack that allocated them; null if it is not known",
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

fn rows(recording: &Recording) -> Vec<Objects> {
    let profile = &recording.profile;
    let Some(sites) = profile.sites() else { return Vec::new() };
    let (has_live, is_estimate) =
        (sites.known.live, Metric::AllocatedBytes.period(profile).is_some());
    let row = |site| Objects { site, has_live, is_estimate };
    let sites = allocations::sites(profile, &sites, &Metric::AllocatedBytes);
    sites.into_iter().map(row).collect()
}
