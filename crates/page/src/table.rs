//! The list of all assets.

/// Pairs of a path below the folder of assets and the text there.
macro_rules! assets {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../assets/", $path)))),*]
    };
}

pub(crate) const ASSETS: &[(&str, &str)] = assets![
    "app/actions.js",
    "app/api.js",
    "app/app.css",
    "app/around.js",
    "app/bytecodes.js",
    "app/clock.js",
    "app/compare.js",
    "app/dom.js",
    "app/fields.js",
    "app/filter.js",
    "app/flame.js",
    "app/graph.js",
    "app/heap-threads.js",
    "app/heap-tree.js",
    "app/heap-views.js",
    "app/heap.js",
    "app/history.js",
    "app/lines.js",
    "app/live.css",
    "app/live.js",
    "app/locks.js",
    "app/main.js",
    "app/menu.js",
    "app/numbers.js",
    "app/overview.js",
    "app/rows.js",
    "app/running.js",
    "app/save.js",
    "app/service.js",
    "app/side.js",
    "app/state.js",
    "app/strip.js",
    "app/table.js",
    "app/threads.js",
    "app/time.js",
    "app/treemap.js",
    "app/views.css",
    "app/views.js",
    "app/watch.js",
    "base.css",
    "fields/fields.css",
    "fields/model.js",
    "fields/page.css",
    "fields/page.html",
    "fields/page.js",
    "flame/account.js",
    "flame/calls.js",
    "flame/chart.js",
    "flame/data.js",
    "flame/fold.js",
    "flame/frame.js",
    "flame/input.js",
    "flame/limits.js",
    "flame/model.js",
    "flame/names.js",
    "flame/page.css",
    "flame/page.html",
    "flame/page.js",
    "flame/panel.js",
    "flame/start.js",
    "flame/times.css",
    "flame/times.js",
    "flame/units.js",
    "flame/views.js",
    "flame/words.js",
    "head.html",
    "index.html",
    "source/lines.css",
    "source/lines.js",
    "source/page.css",
    "source/page.html",
    "source/page.js",
    "tables.css",
    "vendor/uplot-licence.txt",
    "vendor/uplot.css",
    "vendor/uplot.js",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn files(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = format!("{below}{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => files(&entry.path(), &format!("{path}/"), found),
                false => drop(found.insert(path)),
            }
        }
    }

    #[test]
    fn the_list_has_every_file() {
        let mut found = BTreeSet::new();
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets"), "", &mut found);
        let listed: BTreeSet<_> = ASSETS.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, found);
    }
}
