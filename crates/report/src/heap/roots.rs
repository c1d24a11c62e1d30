//! The roots: what holds objects from outside the heap.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use perk_heap::{Amount, ObjectId, RootKind};
use perk_render::{Column, Json, LazyTable, Part, Section};

use super::names;
use super::table::{DumpContent, HeapTable};

/// The roots, those that retain most first, and their kinds.
pub(super) struct Roots<'c> {
    content: &'c DumpContent<'c>,
    /// Each object that is a root, with the first thread that has it.
    roots: Vec<(ObjectId, Option<usize>)>,
    kinds: Vec<(RootKind, u64, Amount)>,
}

impl<'c> Roots<'c> {
    pub(super) fn new(content: &'c DumpContent<'c>) -> Self {
        let heap = content.heap;
        let of_objects = heap.roots().chunk_by(|a, b| a.object == b.object);
        let mut roots: Vec<_> = of_objects
            .map(|roots| (roots[0].object, roots.iter().find_map(|root| root.thread)))
            .collect();
        roots.sort_by_key(|it| (Reverse(heap.retained_bytes(it.0)), it.0));
        let mut counts: BTreeMap<RootKind, u64> = BTreeMap::new();
        for root in heap.roots() {
            *counts.entry(root.kind).or_default() += 1;
        }
        let held = |kind| heap.totals().by_root.iter().find(|it| it.0 == kind).map(|it| it.1);
        let mut kinds: Vec<_> = counts
            .into_iter()
            .map(|(kind, count)| (kind, count, held(kind).unwrap_or_default()))
            .collect();
        kinds.sort_by_key(|it| (Reverse(it.2.bytes), it.0));
        Self { content, roots, kinds }
    }

    fn of_kinds(&self) -> LazyTable<'_> {
        let all = self.content.heap.totals().reachable.bytes;
        let held = Column::bytes("held_bytes").of(all);
        LazyTable::of(&self.content.symbols, "Kinds of roots", &self.kinds)
            .column(Column::other("kind").name("kind"), |it| it.0.name())
            .column(Column::count("root_count").at(3, "roots"), |it| it.1)
            .column(Column::count("held_count").at(2, "objects"), |it| it.2.count)
            .column(held.share_at(0, "held %").at(1, "held"), |it| it.2.bytes)
            .table()
            .note(
                "Each object is counted once, also below roots of several kinds. What the frames of a thread \
                 hold is counted with the thread.",
            )
    }
}

impl HeapTable for Roots<'_> {
    fn key(&self) -> &'static str {
        "roots"
    }

    fn table(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let retained = Column::bytes("retained_bytes").of(heap.totals().reachable.bytes);
        let thread = |it: &&(ObjectId, Option<usize>)| {
            let object = heap.threads().get(it.1?)?.object.filter(|&thread| thread != it.0)?;
            Some(names::object(heap, object))
        };
        LazyTable::of(&self.content.symbols, "Roots by what they retain", &self.roots)
            .column(Column::other("kinds").at(3, "kind"), |it| names::root_kinds(heap, it.0))
            .column(Column::other("address"), |it| names::address(heap, it.0))
            .column(Column::other("class"), |it| names::class(heap, it.0))
            .column(Column::words().name("object"), |it| names::object(heap, it.0))
            .column(Column::other("thread"), thread)
            .column(Column::bytes("shallow_bytes"), |it| heap.shallow_bytes(it.0))
            .column(retained.share_at(0, "retained %").at(1, "retained").bar_at(2), |it| {
                heap.retained_bytes(it.0)
            })
            .each(move |it, row| {
                if let Some(thread) = thread(it) {
                    row.suffix = format!(", of {thread}");
                }
            })
            .table()
            .ranked()
    }

    fn sections(&self, top: usize) -> Vec<Section> {
        vec![vec![Part::table(self.of_kinds())], vec![Part::table(self.table().top(top))]]
    }

    fn members(&self, top: usize) -> Vec<(&'static str, Json)> {
        vec![("root_kinds", self.of_kinds().into()), ("roots", self.table().top(top).into())]
    }

    fn missing(&self) -> Option<String> {
        self.roots.is_empty().then(|| "the dump has no roots".to_owned())
    }
}
