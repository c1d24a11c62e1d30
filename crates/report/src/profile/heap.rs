//! Heap dumps by class, and totals of the heap.

use perk_profile::units::{bytes, duration, plural};
use perk_profile::{Event, HeapHistogram, HeapSummary, ObjectLayout, Profile};
use perk_render::{Cell, Column, Json, LazyTable};

/// `2 heap dumps, the last of 15769249 objects = 891.6 MB`; `None` where there are none.
pub(super) fn total(profile: &Profile) -> Option<String> {
    let last = profile.heaps().last()?;
    let amount = amount(last);
    Some(match profile.heaps().count() {
        1 => format!("a heap dump of {amount}"),
        count => format!("{count} heap dumps, the last of {amount}"),
    })
}

/// The classes of some dumps, which are numbered from 1, those with most bytes first.
pub fn classes<'t>(
    profile: &'t Profile,
    heading: String,
    heaps: impl IntoIterator<Item = (usize, HeapHistogram), IntoIter: 't>,
    all: u64,
) -> LazyTable<'t> {
    let rows = heaps.into_iter().flat_map(|(index, mut heap)| {
        heap.rank();
        heap.rows.into_iter().map(move |row| (index as u64 + 1, row))
    });
    let bytes = Column::bytes("shallow_bytes").of(all);
    LazyTable::of(&profile.symbols, heading, rows)
        .column(Column::other("dump").no_json(), |(dump, _)| *dump)
        .column(Column::other("class").name("class"), |(_, row)| row.class)
        .column(Column::count("instance_count").at(2, "objects"), |(_, row)| row.instance_count)
        .column(bytes.share_at(0, "bytes %").at(1, "bytes"), |(_, row)| row.shallow_bytes)
        .table()
        .ranked()
}

/// The classes of all dumps.
pub(super) fn all_classes(profile: &Profile) -> LazyTable<'_> {
    classes(profile, String::new(), profile.heaps().cloned().enumerate(), 0)
}

/// A table for each dump.
pub(super) fn tables(profile: &Profile) -> impl Iterator<Item = LazyTable<'_>> {
    let count = profile.heaps().count();
    profile.heaps().enumerate().map(move |(index, heap)| {
        let number = if count == 1 { String::new() } else { format!(" {} of {count}", index + 1) };
        let cut = if heap.is_cut { "; the file is cut off, more objects are missing" } else { "" };
        let class = if heap.rows.len() == 1 { "class" } else { "classes" };
        let heading =
            format!("Heap dump{number}: {} of {} {class}{cut}", amount(heap), heap.rows.len());
        let heaps = [(index, heap.clone())];
        let mut table = classes(profile, heading, heaps, heap.object_bytes());
        let roots: Vec<_> =
            heap.roots.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
        if !roots.is_empty() {
            table = table.note(format!("Roots: {}", roots.join(", ")));
        }
        // A file that gives the sizes has no objects.
        let Some(layout) = heap.layout else { return table };
        let table = table.note(sizes(layout));
        match index + 1 == count {
            true => table.note("perk heap shows what holds these objects"),
            false => table,
        }
    })
}

fn sizes(layout: ObjectLayout) -> String {
    let ObjectLayout { header_bytes, reference_bytes, alignment_bytes, .. } = layout;
    let how = if layout.is_inferred { "inferred from the objects' addresses" } else { "assumed" };
    format!(
        "Sizes: headers of {header_bytes}, references of {reference_bytes}, multiples of \
         {alignment_bytes} bytes ({how})"
    )
}

/// `12 objects = 3.4 kB`
fn amount(heap: &HeapHistogram) -> String {
    format!("{} = {}", plural(heap.object_count(), "object"), bytes(heap.object_bytes()))
}

/// All dumps, in order; of each the first `top` classes.
pub(super) fn report(profile: &Profile, top: usize) -> Json {
    let begun_ms = begun_ms(profile);
    Json::list(profile.heaps().enumerate().map(|(index, heap)| {
        // How the sizes of objects were found.
        let layout = heap.layout.map(|it| {
            Json::object([
                ("header_bytes", it.header_bytes.into()),
                ("array_header_bytes", it.array_header_bytes.into()),
                ("reference_bytes", it.reference_bytes.into()),
                ("alignment_bytes", it.alignment_bytes.into()),
                ("is_inferred", it.is_inferred.into()),
            ])
        });
        let roots = heap.roots.iter().map(|&(kind, count)| {
            Json::object([("kind", kind.name().into()), ("count", count.into())])
        });
        let after_ms = heap.written.map_or(0, |it| it.unix_ms.saturating_sub(begun_ms));
        let classes = classes(profile, String::new(), [(index, heap.clone())], 0);
        Json::object([
            ("after_ms", after_ms.into()),
            ("object_count", heap.object_count().into()),
            ("object_bytes", heap.object_bytes().into()),
            ("is_cut", heap.is_cut.into()),
            ("layout", layout.into()),
            ("roots", Json::list(roots)),
            ("classes", classes.top(top).into()),
        ])
    }))
}

/// The heap's totals, as a peer asked the agent for them.
pub(super) fn summaries(profile: &Profile) -> LazyTable<'_> {
    let begun_ms = begun_ms(profile);
    let summaries = profile.events.iter().filter_map(|event| match event {
        Event::HeapSummary(summary) => Some(summary),
        _ => None,
    });
    let after = move |it: &&HeapSummary| {
        let after_ms = it.written?.unix_ms.saturating_sub(begun_ms);
        Some(Cell::Worded(after_ms, duration(after_ms.saturating_mul(1_000_000))))
    };
    // What lives was allocated.
    let allocated = |it: &&HeapSummary, number: u64| {
        (it.objects.allocated_bytes >= it.objects.live_bytes).then_some(Cell::Number(number))
    };
    LazyTable::of(&profile.symbols, "Heap summaries", summaries)
        .column(Column::other("after_ms").name("after"), move |it| or_dash(after(it)))
        .column(Column::bytes("live_bytes").at(0, "live"), |it| it.objects.live_bytes)
        .column(Column::count("live_count").at(1, "live objects"), |it| it.objects.live_count)
        .column(Column::bytes("allocated_bytes").at(2, "allocated"), move |it| {
            or_dash(allocated(it, it.objects.allocated_bytes))
        })
        .column(Column::count("allocated_count").at(3, "objects"), move |it| {
            or_dash(allocated(it, it.objects.allocated_count))
        })
        .table()
}

fn or_dash(cell: Option<Cell>) -> Cell {
    cell.unwrap_or(Cell::Missing("-"))
}

fn begun_ms(profile: &Profile) -> u64 {
    profile.created.map_or(0, |it| it.unix_ms)
}
