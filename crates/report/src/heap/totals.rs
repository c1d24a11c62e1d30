//! The first lines of each view, and the head of the JSON document.

use perk_heap::{Amount, Heap, Refs};
use perk_profile::Timestamp;
use perk_profile::units::{bytes, plural, printable};
use perk_render::Json;

use super::names;

/// The file, and what holds objects.
pub(super) fn title(heap: &Heap, name: &str) -> Vec<String> {
    let date = match heap.unix_ms() {
        0 => String::new(),
        unix_ms => format!(" of {} UTC", Timestamp { unix_ms, utc_offset_s: 0 }.ctime()),
    };
    let title = printable(heap.title());
    let reachable = heap.totals().reachable;
    vec![format!(
        "{name}: {title}{date}, {} reachable ({})",
        amount(reachable),
        names::refs(heap.refs())
    )]
}

/// The title, and all totals.
pub(super) fn lines(heap: &Heap, name: &str) -> Vec<String> {
    let totals = heap.totals();
    let mut lines = title(heap, name);
    let others = [
        ("softly reachable", totals.softly),
        ("weakly reachable", totals.weakly),
        ("finalizable", totals.finalizable),
        ("unreachable", totals.unreachable),
    ];
    let others = others.iter().filter(|(_, it)| it.count > 0);
    let others: Vec<_> = others.map(|(what, it)| format!("{what} {}", amount(*it))).collect();
    lines.push(match &others[..] {
        [] => "not held: nothing".to_owned(),
        others => format!("not held: {}", others.join(", ")),
    });
    let kinds =
        totals.by_root.iter().map(|(kind, it)| format!("{} {}", kind.name(), bytes(it.bytes)));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    lines.push(format!(
        "held by roots, each object counted with the first kind that reaches it: {kinds}"
    ));
    lines
}

/// `12 objects = 3.4 kB`
pub(super) fn amount(amount: Amount) -> String {
    format!("{} = {}", plural(amount.count, "object"), bytes(amount.bytes))
}

/// What the document of each view begins with.
pub(super) fn members(heap: &Heap) -> Vec<(&'static str, Json)> {
    let amount =
        |it: Amount| Json::object([("count", it.count.into()), ("bytes", it.bytes.into())]);
    let totals = heap.totals();
    let by_root = totals.by_root.iter().map(|&(kind, it)| {
        Json::object([
            ("kind", kind.name().into()),
            ("count", it.count.into()),
            ("bytes", it.bytes.into()),
        ])
    });
    let refs = match heap.refs() {
        Refs::Strong => "strong",
        Refs::Soft => "soft",
        Refs::All => "all",
    };
    let layout = heap.layout();
    vec![
        ("title", heap.title().to_owned().into()),
        ("dumped_unix_ms", Some(heap.unix_ms()).filter(|&it| it > 0).into()),
        ("notes", Json::list(heap.notes().iter().cloned())),
        ("refs", refs.into()),
        (
            "layout",
            Json::object([
                ("header_bytes", layout.header_bytes.into()),
                ("array_header_bytes", layout.array_header_bytes.into()),
                ("reference_bytes", layout.reference_bytes.into()),
                ("alignment_bytes", layout.alignment_bytes.into()),
                ("is_inferred", layout.is_inferred.into()),
            ]),
        ),
        (
            "totals",
            Json::object([
                ("reachable", amount(totals.reachable)),
                ("softly_reachable", amount(totals.softly)),
                ("weakly_reachable", amount(totals.weakly)),
                ("finalizable", amount(totals.finalizable)),
                ("unreachable", amount(totals.unreachable)),
                ("by_root", Json::list(by_root)),
                ("dangling_reference_count", totals.dangling_count.into()),
            ]),
        ),
    ]
}
