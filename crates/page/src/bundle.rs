//! Modules as one script.
//!
//! The modules are written for it: an import is a statement of its own at the beginning of a line, with names
//! in braces; an export is the word before a declaration. A name at the top level belongs to one module.

use std::collections::BTreeSet;

use crate::text;

/// The modules that `entries` import, and these, as one script: each after those that it imports, without the
/// statements of imports and exports.
///
/// # Panics
/// If a module is not there; the tests bundle every page.
pub fn bundle(entries: &[&str]) -> String {
    let mut script = String::new();
    let mut done = BTreeSet::new();
    for entry in entries {
        add(entry, &mut done, &mut script);
    }
    script
}

fn add(path: &str, done: &mut BTreeSet<String>, script: &mut String) {
    // A module of a cycle is there already, further down.
    if !done.insert(path.to_owned()) {
        return;
    }
    let module = Module::new(path);
    for (from, _) in &module.imports {
        add(from, done, script);
    }
    script.push_str(&module.body);
}

/// A module without its imports and exports.
struct Module {
    /// The path and the names of each import.
    imports: Vec<(String, Vec<&'static str>)>,
    body: String,
}

impl Module {
    fn new(path: &str) -> Self {
        let text = text(path).unwrap_or_else(|| panic!("no module {path}"));
        let mut module = Self { imports: Vec::new(), body: String::new() };
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let (line, after) = rest.split_at(end);
            if line.starts_with("import ") {
                let end = rest.find(';').map_or(rest.len(), |at| at + 1);
                let (statement, after) = rest.split_at(end);
                module.imports.push(import(path, statement));
                rest = after.trim_start_matches('\n');
                continue;
            }
            module.body.push_str(line.strip_prefix("export ").unwrap_or(line));
            rest = after;
        }
        module
    }
}

/// The path and the names of an import.
fn import(path: &str, statement: &'static str) -> (String, Vec<&'static str>) {
    let from = statement.split('"').nth(1).unwrap_or_default();
    let names = statement.split(['{', '}']).nth(1).unwrap_or_default();
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in from.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    (parts.join("/"), names)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::paths;

    /// The names of a declaration at the top level.
    fn declared(line: &'static str) -> Vec<&'static str> {
        let line = line.strip_prefix("async ").unwrap_or(line);
        let Some((kind, rest)) = line.split_once(' ') else { return Vec::new() };
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let first = |text: &'static str| text.split(|c| !is_name(c)).next().unwrap_or_default();
        match kind {
            // `export { name };`, as modules of others have it.
            "{" => vec![first(rest)],
            "function" | "class" => vec![first(rest)],
            "const" | "let" => {
                let names = rest.split(" = ").next().unwrap_or(rest);
                let is_list = names.starts_with(['[', '{']) || !rest.contains(" = ");
                let names = names.split([',', '[', ']', '{', '}', ';', ' ', '\n']);
                let names = names.filter(|name| !name.is_empty());
                names.take(if is_list { usize::MAX } else { 1 }).collect()
            }
            _ => Vec::new(),
        }
    }

    fn modules() -> impl Iterator<Item = &'static str> {
        paths().filter(|path| path.ends_with(".js") && !path.starts_with("vendor/"))
    }

    #[test]
    fn every_import_is_exported() {
        for path in modules() {
            for (from, names) in Module::new(path).imports {
                let exports =
                    text(&from).unwrap().lines().filter_map(|it| it.strip_prefix("export "));
                let exports: Vec<_> = exports.flat_map(declared).collect();
                for name in names {
                    assert!(exports.contains(&name), "{path} imports {name} of {from}");
                }
            }
        }
    }

    #[test]
    fn a_name_belongs_to_one_module_of_a_page() {
        for entry in ["flame/start.js", "fields/page.js", "source/page.js"] {
            let mut done = BTreeSet::new();
            add(entry, &mut done, &mut String::new());
            let mut owners: BTreeMap<&str, String> = BTreeMap::new();
            for path in done {
                let lines = text(&path).unwrap().lines();
                for name in lines.flat_map(|line| declared(line.trim_start_matches("export "))) {
                    let other = owners.insert(name, path.clone());
                    assert!(other.is_none(), "{name} is of {path} and of {other:?}");
                }
            }
        }
    }

    #[test]
    fn scripts_have_no_imports() {
        let script = bundle(&["flame/start.js"]);
        let begins = |word: &str| script.lines().any(|line| line.starts_with(word));
        assert!(!begins("import ") && !begins("export "));
        let at = |text: &str| script.find(text).unwrap();
        assert!(
            at("class Model {") < at("class Chart {") && at("class Chart {") < at("new Chart(")
        );
    }

    #[test]
    fn the_page_of_the_server_is_light_and_nothing_moves_in_it() {
        let shell = text("index.html").unwrap();
        let parts = shell.split("\"/assets/").skip(1).filter_map(|it| it.split('"').next());
        let mut all = BTreeSet::from(["index.html".to_owned()]);
        for part in parts {
            match part.ends_with(".js") {
                true => add(part, &mut all, &mut String::new()),
                false => drop(all.insert(part.to_owned())),
            }
        }
        assert!(all.contains("app/app.css") && all.contains("vendor/uplot.js"), "{all:?}");
        let bytes: usize = all.iter().map(|path| text(path).unwrap().len()).sum();
        assert!(bytes < 300_000, "the page has {bytes} bytes: {all:?}");
        // So there is nothing to leave out for those who want less motion.
        for path in all.iter().filter(|path| path.ends_with(".css") && path.starts_with("app/")) {
            for word in ["transition", "animation", "scroll-behavior"] {
                assert!(!text(path).unwrap().contains(word), "{path} has {word}");
            }
        }
    }

    #[test]
    fn markup_is_never_made_of_text() {
        for path in modules() {
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!text(path).unwrap().contains(word), "{path} has {word}");
            }
        }
    }
}
