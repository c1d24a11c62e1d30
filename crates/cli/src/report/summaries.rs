//! The heap's totals, as a peer asked the agent for them.

use perk_profile::{Event, HeapSummary, Profile};
use serde::Serialize;

use super::table::{Row, Table};
use crate::show::{self, Screen};

/// The totals at one moment.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    after_ms: u64,
    live_bytes: u64,
    live_count: u64,
    allocated_bytes: u64,
    allocated_count: u64,
}

/// All that the profile has, in order.
pub(super) fn of(profile: &Profile) -> Vec<Summary> {
    let begun_ms = profile.created.map_or(0, |it| it.unix_ms);
    let summaries = profile.events.iter().filter_map(|event| match event {
        Event::HeapSummary(summary) => Some(summary),
        _ => None,
    });
    let summary = |&HeapSummary { objects, written }: &HeapSummary| Summary {
        after_ms: written.map_or(0, |it| it.unix_ms.saturating_sub(begun_ms)),
        live_bytes: objects.live_bytes,
        live_count: objects.live_count,
        allocated_bytes: objects.allocated_bytes,
        allocated_count: objects.allocated_count,
    };
    summaries.map(summary).collect()
}

/// A row for each; empty where there are none.
pub(super) fn table(profile: &Profile, screen: &Screen) -> String {
    let rows = of(profile).into_iter().map(|it| {
        let cells = vec![
            show::bytes(it.live_bytes),
            it.live_count.to_string(),
            show::bytes(it.allocated_bytes),
            it.allocated_count.to_string(),
            show::duration(it.after_ms.saturating_mul(1_000_000)),
        ];
        Row { cells, below: Vec::new() }
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let titles = vec!["live", "live objects", "allocated", "objects", "after"];
    screen.heading("Heap summaries") + "\n" + &Table { titles, rows }.render(screen)
}
