//! `locks`: the waits for locks.

use perk_analysis::locks::{ContentionRow, contention};
use perk_profile::LockKind;

use crate::table::{Column, TableOf, Values};

pub(super) fn locks() -> TableOf<ContentionRow> {
    TableOf {
        name: "locks",
        about: "the waits for locks and to be notified, by class of the lock and stack, of all threads",
        rows: Box::new(|it| contention(&it.profile)),
        columns: vec![
            Column::recording(),
            Column::new(
                "class",
                Values::Text(|it, row| Some(it.profile.symbols.class_name(row.class))),
                "the class of the lock",
            ),
            Column::new(
                "kind",
                Values::Text(|_, row| {
                    Some(match row.kind {
                        LockKind::Monitor => "monitor",
                        LockKind::Parking => "parking",
                    })
                }),
                "monitor or parking (java.util.concurrent)",
            ),
            Column::new(
                "stack",
                Values::Stack(|it, row| it.stack(row.node)),
                "the stack of the waits; null if it is not known",
            ),
            Column::new(
                "blocked_count",
                Values::Number(|_, row| Some(row.waits.blocked_count)),
                "the number of waits for the lock",
            ),
            Column::new(
                "blocked_ns",
                Values::Number(|_, row| Some(row.waits.blocked_ns)),
                "their time",
            ),
            Column::new(
                "wait_count",
                Values::Number(|_, row| Some(row.waits.wait_count)),
                "the number of waits to be notified or unparked",
            ),
            Column::new(
                "waited_ns",
                Values::Number(|_, row| Some(row.waits.waited_ns)),
                "their time",
            ),
        ],
    }
}
