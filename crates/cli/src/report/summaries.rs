//! The heap's totals, as a peer asked the agent for them.

use perk_profile::{Event, HeapSummary, Profile};
use serde::Serialize;

use super::table::{Row, Table};
use crate::show::{self, Screen};

/// The totals at one moment.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// `None` where it is not known.
    after_ms: Option<u64>,
    live_bytes: u64,
    live_count: u64,
    /// `None` where it is not known.
    allocated_bytes: Option<u64>,
    allocated_count: Option<u64>,
}

/// All that the profile has, in order.
pub(super) fn of(profile: &Profile) -> Vec<Summary> {
    let begun_ms = profile.created.map_or(0, |it| it.unix_ms);
    let summaries = profile.events.iter().filter_map(|event| match event {
        Event::HeapSummary(summary) => Some(summary),
        _ => None,
    });
    let summary = |&HeapSummary { objects, written }: &HeapSummary| {
        // What lives was allocated.
        let is_known = objects.allocated_bytes >= objects.live_bytes;
        Summary {
            after_ms: written.map(|it| it.unix_ms.saturating_sub(begun_ms)),
            live_bytes: objects.live_bytes,
            live_count: objects.live_count,
            allocated_bytes: is_known.then_some(objects.allocated_bytes),
            allocated_count: is_known.then_some(objects.allocated_count),
        }
    };
    summaries.map(summary).collect()
}

/// A number, or `-` where it is not known.
fn known(number: Option<u64>, show: impl Fn(u64) -> String) -> String {
    number.map_or_else(|| "-".to_owned(), show)
}

/// A row for each; empty where there are none.
pub(super) fn table(profile: &Profile, screen: &Screen) -> String {
    let rows = of(profile).into_iter().map(|it| {
        let cells = vec![
            show::bytes(it.live_bytes),
            it.live_count.to_string(),
            known(it.allocated_bytes, show::bytes),
            known(it.allocated_count, |count| count.to_string()),
            known(it.after_ms, |ms| show::duration(ms.saturating_mul(1_000_000))),
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
