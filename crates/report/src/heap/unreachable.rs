//! The objects that are not held from the roots, by class.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use perk_heap::{ClassIndex, ObjectId, Reach, RootKind};
use perk_render::{Column, LazyTable};

use super::table::{DumpContent, HeapTable};

/// Classes of objects that are not held. If trees of garbage count as held, the objects at their top.
pub(super) struct Unreachable<'c> {
    content: &'c DumpContent<'c>,
    rows: Vec<Row>,
    keeps: bool,
}

struct Row {
    reach: Reach,
    class: ClassIndex,
    count: u64,
    shallow_bytes: u64,
    /// Known where trees of garbage count as held.
    retained_bytes: u64,
}

impl<'c> Unreachable<'c> {
    /// The objects of a dump; `keeps` if trees of garbage have roots.
    pub(super) fn new(content: &'c DumpContent<'c>, keeps: bool) -> Self {
        let heap = content.heap;
        let mut sums: BTreeMap<(Reach, ClassIndex), [u64; 3]> = BTreeMap::new();
        let mut add = |reach, object: ObjectId| {
            let sum = sums.entry((reach, heap.class_of(object))).or_default();
            sum[0] += 1;
            sum[1] += heap.shallow_bytes(object);
            sum[2] += heap.retained_bytes(object);
        };
        if keeps {
            let garbage = heap.roots().iter().filter(|root| root.kind == RootKind::Unreachable);
            garbage.for_each(|root| add(Reach::Unreachable, root.object));
        }
        let unheld = heap.objects().map(|it| (heap.reach(it), it));
        unheld.filter(|it| it.0 != Reach::Held).for_each(|(reach, object)| add(reach, object));
        let mut rows: Vec<_> = sums
            .into_iter()
            .map(|((reach, class), [count, shallow_bytes, retained_bytes])| Row {
                reach,
                class,
                count,
                shallow_bytes,
                retained_bytes,
            })
            .collect();
        rows.sort_by_key(|it| {
            (Reverse(it.retained_bytes), Reverse(it.shallow_bytes), it.reach, it.class)
        });
        Self { content, rows, keeps }
    }
}

impl HeapTable for Unreachable<'_> {
    fn key(&self) -> &'static str {
        "unreachable"
    }

    fn table(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let all = |of: fn(&Row) -> u64| self.rows.iter().map(of).sum::<u64>();
        let keeps = self.keeps;
        let heading = match keeps {
            true => "Trees of garbage by the class of the object at the top",
            false => "Objects that nothing holds, by class",
        };
        let shallow = Column::bytes("shallow_bytes").of(all(|it| it.shallow_bytes));
        let retained = Column::bytes("retained_bytes").of(all(|it| it.retained_bytes));
        let (shallow, retained) = match keeps {
            true => (
                shallow.at(3, "shallow"),
                retained.share_at(0, "retained %").at(1, "retained").bar_at(2),
            ),
            false => (shallow.share_at(0, "shallow %").at(1, "shallow").bar_at(2), retained),
        };
        LazyTable::of(&self.content.symbols, heading, &self.rows)
            .column(Column::other("reach").at(5, "reachable"), |it| it.reach.name())
            .column(Column::other("class").name("class"), |it| &*heap.class(it.class).name)
            .column(Column::count("instance_count").at(4, "objects"), |it| it.count)
            .column(shallow, |it| it.shallow_bytes)
            .column(retained, move |it| keeps.then_some(it.retained_bytes))
            .table()
            .ranked()
    }

    fn missing(&self) -> Option<String> {
        self.rows.is_empty().then(|| "all objects of the dump are held".to_owned())
    }
}
