//! `flame(metric)`: the call tree with the numbers of a metric.

use perk_analysis::Columns;
use perk_profile::{Metric, PathId};

use super::names::{class, name, signature};
use crate::table::{Column, TableOf, Values};

/// A call path.
pub(crate) struct FlameRow {
    path: PathId,
    parent: Option<PathId>,
    depth: u32,
    own: u64,
    total: u64,
}

/// The numbers of the metric of a name, where a recording has it.
pub(crate) fn flame(metric: String) -> TableOf<FlameRow> {
    TableOf {
        name: "flame('samples')",
        about: "the call tree with the numbers of a metric, one row for each path",
        rows: Box::new(move |it| {
            let Some(metric) = Metric::find(&it.profile, &metric) else { return Vec::new() };
            let tree = it.tree();
            let columns = Columns::new(&it.profile, tree, &metric, None);
            let depths = tree.depths();
            let mut own = vec![0; tree.len()];
            columns.ends().for_each(|(path, number)| own[path.index()] = number);
            let paths = (0..tree.len()).map(PathId::new).filter(|&path| path != tree.root());
            let row = |path: PathId| FlameRow {
                path,
                parent: Some(tree.parent(path)).filter(|&it| it != tree.root()),
                depth: depths[path.index()],
                own: own[path.index()],
                total: columns.total(path),
            };
            paths.map(row).filter(|row| row.total > 0).collect()
        }),
        columns: vec![
            Column::recording(),
            Column::new(
                "path",
                Values::Number(|_, row| Some(row.path.index() as u64)),
                "the number of the path, by which `parent` names it",
            ),
            Column::new(
                "parent",
                Values::Number(|_, row| Some(row.parent?.index() as u64)),
                "the path without its last method; null for the first method of a thread",
            ),
            Column::new(
                "depth",
                Values::Number(|_, row| Some(row.depth.into())),
                "the number of its methods",
            ),
            Column::new(
                "class",
                Values::Text(|it, row| {
                    Some(class(&it.profile.symbols, it.tree().method(row.path)?))
                }),
                "the class of its last method",
            ),
            Column::new(
                "method",
                Values::Text(|it, row| {
                    Some(name(&it.profile.symbols, it.tree().method(row.path)?))
                }),
                "the name of that method",
            ),
            Column::new(
                "signature",
                Values::Text(|it, row| signature(&it.profile.symbols, it.tree().method(row.path)?)),
                "its parameters and result, as the JVM writes them",
            ),
            Column::new(
                "self",
                Values::Number(|_, row| Some(row.own)),
                "the number at the end of the path",
            ),
            Column::new(
                "total",
                Values::Number(|_, row| Some(row.total)),
                "the number of the path and all below it",
            ),
        ],
    }
}
