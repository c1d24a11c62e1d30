//! The shortest paths from roots to objects.

use perk_heap::{ObjectId, PathNode, PathTree};
use perk_profile::units::plural;
use perk_render::{Column, Json, LazyTable, Part, Section};

use super::names;
use super::table::{DumpContent, HeapTable};
use super::what::ObjectQuery;

/// The part of all paths that a row has at least, where it is text.
const LEAST_SHARE: f64 = 0.01;

/// Paths, equal ones as one.
pub(super) struct Paths<'c> {
    content: &'c DumpContent<'c>,
    what: String,
    /// The number of objects that were asked for.
    object_count: u64,
    tree: PathTree,
    missing: Option<String>,
}

impl<'c> Paths<'c> {
    pub(super) fn new(content: &'c DumpContent<'c>, what: &ObjectQuery) -> anyhow::Result<Self> {
        let heap = content.heap;
        let objects = what.objects(heap)?;
        let tree = PathTree::new(heap, &objects)?;
        let missing = tree.nodes.is_empty().then(|| {
            let reach = objects.first().map_or("", |&it| heap.reach(it).name());
            format!("no path leads from a root to {}: {reach}", what.text())
        });
        let PathTree { object_count, asked_count, .. } = tree;
        let what = match objects[..] {
            [object] => names::object(heap, object),
            _ if object_count < asked_count => {
                let objects = plural(asked_count, "object");
                format!("{object_count} of {objects} of {}, spread over all", what.text())
            }
            _ => format!("{} of {}", plural(object_count, "object"), what.text()),
        };
        Ok(Self { content, what, object_count: objects.len() as u64, tree, missing })
    }

    /// The nodes that have `least` paths, and for each the object above it, if that is one.
    fn rows(&self, least: u64) -> Vec<(&PathNode, Option<ObjectId>)> {
        let mut above: Vec<Option<ObjectId>> = Vec::new();
        let mut rows = Vec::new();
        for node in self.tree.nodes.iter().filter(|node| node.path_count >= least) {
            above.truncate(node.depth);
            rows.push((node, above.last().copied().flatten()));
            above.push(node.object);
        }
        rows
    }

    fn with_least(&self, least: u64) -> LazyTable<'_> {
        let heap = self.content.heap;
        let name = |&(node, above): &(&PathNode, Option<ObjectId>)| {
            let ends = match node.end_count {
                0 => String::new(),
                count if count == node.path_count => String::new(),
                count => format!(" ({count} of them)"),
            };
            names::step(heap, node, above) + &ends
        };
        let paths = Column::count("path_count").of(self.tree.object_count);
        let heading = format!("Shortest paths from roots to {}", self.what);
        LazyTable::of(&self.content.symbols, heading, self.rows(least))
            .column(Column::other("depth"), |it| it.0.depth as u64)
            .column(Column::other("root_kind"), |it| it.0.root.map(|kind| kind.name()))
            .column(Column::other("place"), |it| {
                it.0.label.as_ref().map(|place| names::place(heap, it.1, place))
            })
            .column(Column::other("address"), |it| {
                it.0.object.map(|object| names::address(heap, object))
            })
            .column(Column::other("class"), |it| match it.0.object {
                Some(object) => names::class(heap, object),
                None => names::class_or_its_object(heap, it.0.class, it.0.stands_for),
            })
            .column(Column::words().name("root, and the way to the objects"), name)
            .column(Column::count("level_count"), |it| it.0.level_count)
            .column(paths.share_at(0, "paths %").at(1, "paths"), |it| it.0.path_count)
            .column(Column::count("end_count"), |it| it.0.end_count)
            .each(|it, row| row.depth = it.0.depth)
            .table()
    }

    fn note(&self) -> Option<String> {
        let others = self.object_count - self.tree.asked_count;
        (others > 0).then(|| {
            format!("To {} more no path leads: nothing holds them.", plural(others, "object"))
        })
    }
}

impl HeapTable for Paths<'_> {
    fn key(&self) -> &'static str {
        "paths"
    }

    fn table(&self) -> LazyTable<'_> {
        self.with_least(0)
    }

    fn sections(&self, _: usize) -> Vec<Section> {
        let top = self.content.tree_rows();
        let least = (self.tree.object_count as f64 * LEAST_SHARE).ceil() as u64;
        let shown_count = self.rows(least).len().min(top);
        let mut table = self.with_least(least).top(top);
        let left_out = self.tree.nodes.len() - shown_count;
        if left_out > 0 {
            table =
                table.note(format!("{} left out (--csv has all).", plural(left_out as u64, "row")));
        }
        if let Some(note) = self.note() {
            table = table.note(note);
        }
        vec![vec![Part::table(table)]]
    }

    fn members(&self, _: usize) -> Vec<(&'static str, Json)> {
        let top = self.content.tree_rows();
        vec![
            ("object_count", self.tree.object_count.into()),
            ("asked_object_count", self.tree.asked_count.into()),
            ("paths", self.table().top(top).into()),
        ]
    }

    fn part(&self) -> Option<String> {
        let PathTree { object_count, asked_count, .. } = self.tree;
        (object_count < asked_count).then(|| format!("the paths are those to {}", self.what))
    }

    fn missing(&self) -> Option<String> {
        self.missing.clone()
    }
}
