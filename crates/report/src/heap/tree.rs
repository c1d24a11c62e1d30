//! The dominator tree.

use perk_heap::{HeldRow, ObjectId, TreeLimits};
use perk_profile::units::{bytes, plural};
use perk_render::{Column, LazyTable, Part, Section};

use super::names;
use super::table::{DumpContent, HeapTable};
use super::what::ObjectQuery;

/// Objects below those that hold them.
pub(super) struct Tree<'c> {
    content: &'c DumpContent<'c>,
    heading: String,
    rows: Vec<Row>,
    /// What the rows at the top retain.
    all_bytes: u64,
    missing: Option<String>,
}

struct Row {
    held: HeldRow,
    /// The place in the holder, where that is one object.
    place: Option<String>,
}

impl<'c> Tree<'c> {
    /// The tree of everything, or of some objects.
    pub(super) fn new(
        content: &'c DumpContent<'c>,
        what: Option<&ObjectQuery>,
    ) -> anyhow::Result<Self> {
        let heap = content.heap;
        let objects = what.map(|what| what.objects(heap)).transpose()?;
        let tops = objects.as_deref().map(|it| heap.topmost(it));
        let all_bytes = match &tops {
            Some(tops) => tops.iter().map(|&it| heap.retained_bytes(it)).sum(),
            None => heap.totals().reachable.bytes,
        };
        let limits = TreeLimits::new(all_bytes, content.tree_rows());
        let held = heap.held_tree(tops.as_deref(), limits);
        let missing = match (&objects, held.is_empty()) {
            (Some(objects), true) => Some(format!(
                "nothing holds {}: {}",
                what.map_or(String::new(), ObjectQuery::text),
                objects.first().map_or("", |&it| heap.reach(it).name())
            )),
            (None, true) => Some("nothing is held from the roots".to_owned()),
            _ => None,
        };
        let heading = match what {
            Some(what) => {
                let holder = match tops.as_deref() {
                    Some(&[object]) => names::object(heap, object),
                    _ => what.text(),
                };
                format!(
                    "{holder} retains {}: what is below it in the dominator tree",
                    bytes(all_bytes)
                )
            }
            None => "Dominator tree: objects below those that hold them".to_owned(),
        };
        let rows = Self::with_places(content, held)?;
        Ok(Self { content, heading, rows, all_bytes, missing })
    }

    fn with_places(content: &DumpContent<'_>, held: Vec<HeldRow>) -> anyhow::Result<Vec<Row>> {
        let heap = content.heap;
        let mut above: Vec<Option<ObjectId>> = Vec::new();
        let row = |held: HeldRow| {
            above.truncate(held.depth);
            let holder = above.last().copied().flatten();
            let place = match (holder, held.object) {
                (Some(holder), Some(object)) => {
                    heap.place_of(holder, object)?.map(|it| names::place(heap, Some(holder), &it))
                }
                _ => None,
            };
            // Below a list there are its last object's.
            above.push(held.object.filter(|_| held.level_count == 1));
            Ok(Row { held, place })
        };
        held.into_iter().map(row).collect()
    }

    fn name(&self, row: &Row) -> String {
        let heap = self.content.heap;
        let HeldRow { class, stands_for, object, count, level_count, .. } = row.held;
        let place = row.place.as_ref().map_or(String::new(), |place| format!("{place} "));
        let what = match object {
            Some(object) => names::object(heap, object),
            None => format!("{count} {}", names::class_or_its_object(heap, class, stands_for)),
        };
        let levels = match (level_count, object) {
            (1, _) => String::new(),
            (levels, None) => format!(" ({levels} levels)"),
            (levels, Some(_)) => format!(" and {} below it ({levels} levels)", count - 1),
        };
        format!("{place}{what}{levels}")
    }
}

impl HeapTable for Tree<'_> {
    fn key(&self) -> &'static str {
        "tree"
    }

    fn table(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let retained = Column::bytes("retained_bytes").of(self.all_bytes);
        LazyTable::of(&self.content.symbols, self.heading.clone(), &self.rows)
            .column(Column::other("depth"), |it| it.held.depth as u64)
            .column(Column::other("place"), |it| it.place.clone())
            .column(Column::other("address"), |it| {
                it.held.object.map(|object| names::address(heap, object))
            })
            .column(Column::other("class"), |it| match it.held.object {
                Some(object) => names::class(heap, object),
                None => names::class_or_its_object(heap, it.held.class, it.held.stands_for),
            })
            .column(Column::words().name("object, what it holds below it"), |it| self.name(it))
            .column(Column::count("instance_count"), |it| it.held.count)
            .column(Column::count("level_count"), |it| it.held.level_count)
            .column(Column::bytes("shallow_bytes").at(3, "shallow"), |it| it.held.shallow_bytes)
            .column(retained.share_at(0, "retained %").at(1, "retained").bar_at(2), |it| {
                it.held.retained_bytes
            })
            .each(|it, row| row.depth = it.held.depth)
            .table()
    }

    fn sections(&self, _: usize) -> Vec<Section> {
        let table = self.table().note(format!(
            "Objects of a class below the same ones are one row, also those of lists and trees below each \
             other (levels), and classes of one name. {} shown, those that retain most (--top N: more).",
            plural(self.rows.len() as u64, "row")
        ));
        vec![vec![Part::table(table)]]
    }

    fn missing(&self) -> Option<String> {
        self.missing.clone()
    }
}
