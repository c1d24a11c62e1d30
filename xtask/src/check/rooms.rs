//! Whether the modules of the agent depend on each other in cycles.
//!
//! A *room* is a module at the top of `crates/agent/src` with everything below it, except that each
//! analysis is a room of its own. A room uses another if a path in its code leads there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::Metadata;

/// The module whose modules are rooms.
const ANALYSES: &str = "analyses";

/// The rooms that each room uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Looks for cycles in the agent.
pub(super) fn check(metadata: &Metadata) -> Result<Vec<String>> {
    let agent = metadata.packages.values().find(|package| package.name == "perk-agent");
    let roots = agent.map_or(&[][..], |agent| &agent.roots);
    let root = roots.iter().find(|root| root.ends_with("src/lib.rs"));
    let source = root.and_then(|root| root.parent()).context("perk-agent has no src/lib.rs")?;
    let mut files = Vec::new();
    collect(source, &mut Vec::new(), &mut files)?;
    Ok(circles(&uses(&files)).into_iter().collect())
}

/// Collects the path and the text of each module below a folder.
fn collect(
    folder: &Path,
    module: &mut Vec<String>,
    files: &mut Vec<(Vec<String>, String)>,
) -> Result<()> {
    let read = |path: &Path| format!("cannot read {}", path.display());
    let entries = fs::read_dir(folder).with_context(|| read(folder))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|it| Ok(it?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            module.push(name);
            collect(&path, module, files)?;
            module.pop();
        } else if path.extension().is_some_and(|it| it == "rs") && name != "lib" {
            let text = fs::read_to_string(&path).with_context(|| read(&path))?;
            files.push((module.iter().cloned().chain([name]).collect(), text));
        }
    }
    Ok(())
}

/// Returns the rooms, and for each the rooms that it uses.
fn uses(files: &[(Vec<String>, String)]) -> Uses {
    let of_analyses = files.iter().filter(|(module, _)| module[0] == ANALYSES);
    let analyses: BTreeSet<_> = of_analyses.filter_map(|(module, _)| module.get(1)).collect();
    let tops: BTreeSet<_> = files.iter().map(|(module, _)| &module[0]).collect();
    let room = |path: &[String]| match path {
        [top, name, ..] if top == ANALYSES && analyses.contains(name) => {
            Some(format!("{top}::{name}"))
        }
        [top, ..] if tops.contains(top) => Some(top.clone()),
        // The items of lib.rs belong to no room.
        _ => None,
    };
    let mut uses = Uses::new();
    for (module, text) in files {
        let Some(own) = room(module) else { continue };
        let used = uses.entry(own.clone()).or_default();
        let paths = paths(module, text);
        used.extend(paths.iter().filter_map(|path| room(path)).filter(|it| *it != own));
    }
    uses
}

/// Returns the paths in a module's text that begin with `crate` or `super`, from the crate's root.
fn paths(module: &[String], text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (word, depth) in [("crate::", 0), ("super::", module.len() - 1)] {
        for (at, _) in code.match_indices(word) {
            let before = code[..at].chars().next_back();
            // A word in the middle of a path or a name is read together with the text before it.
            if before.is_none_or(|it| !it.is_alphanumeric() && it != '_' && it != ':') {
                let mut rest = &code[at + word.len()..];
                tree(&mut rest, module[..depth].to_vec(), &mut found);
            }
        }
    }
    found
}

/// Reads a path, or a tree of them, that begins with `prefix`.
fn tree(rest: &mut &str, mut prefix: Vec<String>, found: &mut Vec<Vec<String>>) {
    loop {
        *rest = rest.trim_start();
        if let Some(list) = rest.strip_prefix('{') {
            *rest = list;
            while !rest.is_empty() {
                *rest = rest.trim_start_matches(|it: char| it.is_whitespace() || it == ',');
                if let Some(after) = rest.strip_prefix('}') {
                    *rest = after;
                    return;
                }
                let before = rest.len();
                tree(rest, prefix.clone(), found);
                if rest.len() == before {
                    return;
                }
            }
            return;
        }
        let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '*';
        let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        match name {
            "" => {}
            "super" => _ = prefix.pop(),
            "self" => {}
            _ => prefix.push(name.to_owned()),
        }
        match after.strip_prefix("::") {
            Some(after) => *rest = after,
            None => {
                found.push(prefix);
                // The end of this path: after it, `as` may give another name.
                let end = after.find([',', '}', ';', '\n']).unwrap_or(after.len());
                *rest = &after[end..];
                return;
            }
        }
    }
}

/// Returns a line for each cycle that is found. There may be more as long as there is one.
fn circles(uses: &Uses) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for start in uses.keys() {
        if let Some(circle) = way(uses, start, start) {
            // Each cycle is reported once, from its first room on.
            let first =
                circle.iter().enumerate().min_by_key(|(_, room)| *room).map_or(0, |it| it.0);
            let rooms = circle.iter().cycle().skip(first).take(circle.len() + 1);
            let rooms: Vec<_> = rooms.map(|it| it.as_str()).collect();
            found.insert(format!("break the circle of modules {}", rooms.join(" -> ")));
        }
    }
    found
}

/// Returns the shortest path from a room to another, without the latter.
fn way<'a>(uses: &'a Uses, start: &'a String, end: &str) -> Option<Vec<&'a String>> {
    let mut before: BTreeMap<&String, &String> = BTreeMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(room) = queue.pop_front() {
        for next in uses.get(room).into_iter().flatten() {
            if next == end {
                let back = std::iter::successors(Some(room), |room| before.get(*room).copied());
                let mut way: Vec<_> = back.collect();
                way.reverse();
                return Some(way);
            }
            if next != start && !before.contains_key(next) {
                before.insert(next, room);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let module = |path: &str| path.split('/').map(str::to_owned).collect();
        let files: Vec<_> =
            files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect();
        circles(&uses(&files)).into_iter().collect()
    }

    #[test]
    fn a_circle_is_found_whatever_the_path_looks_like() {
        let circle = ["break the circle of modules a -> b -> a"];
        let b = ("b/deep", "fn f() { crate::a::f() }");
        assert_eq!(found(&[("a", "use crate::b::B;"), b]), circle);
        assert_eq!(found(&[("a", "use crate::{c, b::{self, B}};"), b, ("c", "")]), circle);
        assert_eq!(found(&[("a", "use super::b;"), b]), circle);
        assert_eq!(found(&[("a/deep", "use super::super::b::*;"), b]), circle);
    }

    #[test]
    fn longer_circles_are_reported_once() {
        let files = [("c", "use crate::a;"), ("a", "use crate::b;"), ("b", "use crate::c as d;")];
        assert_eq!(found(&files), ["break the circle of modules a -> b -> c -> a"]);
    }

    #[test]
    fn analyses_are_rooms() {
        let files = [
            ("analyses", "pub mod x; pub mod y;"),
            ("analyses/x", "use super::{Analysis, y::Y};"),
            ("analyses/y", "use super::Analysis;"),
            ("analyses/y/deep", "use super::super::x;"),
        ];
        assert_eq!(
            found(&files),
            ["break the circle of modules analyses::x -> analyses::y -> analyses::x"]
        );
        assert_eq!(found(&files[..3]), [""; 0]);
    }

    #[test]
    fn what_is_not_a_path_to_another_room_is_passed_over() {
        let files = [
            ("a", "// crate::b\nuse crate::GLOBAL;\nuse std::super_crate::b;\nuse self::b::c;"),
            ("b", "use crate::a;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
