//! What heap dumps held, by class.

use perk_profile::{HeapHistogram, ObjectLayout, Profile};
use serde::Serialize;

use super::table::{Row, Table};
use crate::show::{Screen, bytes, percent, plural, printable};

/// A dump, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Dump<'a> {
    after_ms: u64,
    object_count: u64,
    object_bytes: u64,
    /// The file ends inside the dump.
    is_cut: bool,
    layout: Option<Layout>,
    roots: Vec<Roots>,
    classes: Vec<Class<'a>>,
}

/// How the sizes of objects were found.
#[derive(Debug, Serialize)]
struct Layout {
    header_bytes: u32,
    array_header_bytes: u32,
    reference_bytes: u32,
    alignment_bytes: u32,
    /// By the objects' addresses; otherwise it is assumed.
    is_inferred: bool,
}

#[derive(Debug, Serialize)]
struct Roots {
    kind: &'static str,
    count: u64,
}

#[derive(Debug, Serialize)]
struct Class<'a> {
    class: &'a str,
    instance_count: u64,
    shallow_bytes: u64,
}

/// All that the profile has, in order; of each the first `top` classes.
pub(super) fn of(profile: &Profile, top: usize) -> Vec<Dump<'_>> {
    let begun_ms = profile.created.map_or(0, |it| it.unix_ms);
    let dump = |heap: &HeapHistogram| Dump {
        after_ms: heap.written.map_or(0, |it| it.unix_ms.saturating_sub(begun_ms)),
        object_count: heap.object_count(),
        object_bytes: heap.object_bytes(),
        is_cut: heap.is_cut,
        layout: heap.layout.map(|it| Layout {
            header_bytes: it.header_bytes,
            array_header_bytes: it.array_header_bytes,
            reference_bytes: it.reference_bytes,
            alignment_bytes: it.alignment_bytes,
            is_inferred: it.is_inferred,
        }),
        roots: heap.roots.iter().map(|&(kind, count)| Roots { kind: kind.name(), count }).collect(),
        classes: ranked(heap)
            .rows
            .iter()
            .take(top)
            .map(|row| Class {
                class: profile.symbols.class_name(row.class),
                instance_count: row.instance_count,
                shallow_bytes: row.shallow_bytes,
            })
            .collect(),
    };
    profile.heaps().map(dump).collect()
}

/// `2 heap dumps, the last of 15769249 objects = 891.6 MB`; `None` where there are none.
pub(super) fn total(profile: &Profile) -> Option<String> {
    let last = profile.heaps().last()?;
    let amount = amount(last);
    Some(match profile.heaps().count() {
        1 => format!("a heap dump of {amount}"),
        count => format!("{count} heap dumps, the last of {amount}"),
    })
}

/// A table for each dump; empty where there are none.
pub(super) fn tables(profile: &Profile, top: usize, screen: &Screen) -> String {
    let count = profile.heaps().count();
    let tables = profile.heaps().enumerate().map(|(index, heap)| {
        let title = if count == 1 {
            "Heap dump".to_owned()
        } else {
            format!("Heap dump {} of {count}", index + 1)
        };
        table(profile, heap, &title, top, screen)
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn table(
    profile: &Profile,
    heap: &HeapHistogram,
    title: &str,
    top: usize,
    screen: &Screen,
) -> String {
    let all = heap.object_bytes();
    let heap = &ranked(heap);
    let rows = heap.rows.iter().take(top).enumerate().map(|(index, row)| {
        let cells = vec![
            (index + 1).to_string(),
            percent(row.shallow_bytes, all),
            bytes(row.shallow_bytes),
            row.instance_count.to_string(),
            printable(profile.symbols.class_name(row.class)),
        ];
        Row { cells, below: Vec::new() }
    });
    let titles = vec!["#", "bytes %", "bytes", "objects", "class"];
    let table = Table { titles, rows: rows.collect() }.render(screen);
    let cut = if heap.is_cut { "; the file is cut off, more objects are missing" } else { "" };
    let classes =
        format!("{} class{}", heap.rows.len(), if heap.rows.len() == 1 { "" } else { "es" });
    let heading = format!("{title}: {} of {classes}{cut}", amount(heap));
    let mut text = format!("{}\n{table}", screen.heading(&heading));
    if !heap.roots.is_empty() {
        let roots: Vec<_> =
            heap.roots.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
        text += &format!("Roots: {}\n", roots.join(", "));
    }
    if let Some(layout) = heap.layout {
        text += &sizes(layout);
    }
    text
}

fn sizes(layout: ObjectLayout) -> String {
    let ObjectLayout { header_bytes, reference_bytes, alignment_bytes, .. } = layout;
    let how = if layout.is_inferred { "inferred from the objects' addresses" } else { "assumed" };
    format!(
        "Sizes: headers of {header_bytes}, references of {reference_bytes}, multiples of \
         {alignment_bytes} bytes ({how})\n"
    )
}

/// `12 objects = 3.4 kB`
fn amount(heap: &HeapHistogram) -> String {
    format!("{} = {}", plural(heap.object_count(), "object"), bytes(heap.object_bytes()))
}

/// The classes with most bytes first.
fn ranked(heap: &HeapHistogram) -> HeapHistogram {
    let mut heap = heap.clone();
    heap.rank();
    heap
}
