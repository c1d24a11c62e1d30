//! Whether the files of a crate depend on each other in large cycles.
//!
//! A file depends on another if it uses an item that is defined there. Re-exports are followed to the definition, and
//! methods are not seen. In a cycle no file can be understood, tested or moved without all others, so a cycle
//! spans [`MOST`] files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::borders::{code, sources};
use crate::workspace::Metadata;

/// The most files of a cycle.
const MOST: usize = 4;

/// A module by its names, from the crate's root.
type Module = Vec<String>;

/// The modules that each module uses.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Looks for large cycles in every crate of the workspace.
pub(super) fn check(metadata: &Metadata) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for package in metadata.members.iter().map(|id| &metadata.packages[id]) {
        let root = package.roots.iter().find(|root| root.ends_with("src/lib.rs"));
        let root = root.or_else(|| package.roots.iter().find(|root| root.ends_with("src/main.rs")));
        let Some(folder) = root.and_then(|root| root.parent()) else { continue };
        found.extend(too_large(&package.name, &cycles(&uses(&modules(folder)?))));
    }
    Ok(found)
}

/// Reads the modules of a crate.
fn modules(folder: &Path) -> Result<BTreeMap<Module, String>> {
    let mut modules = BTreeMap::new();
    for path in sources(folder)? {
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let place = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
        let mut module: Module = place.iter().map(|it| it.to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|it| it == "mod") || module == ["lib"] || module == ["main"] {
            module.pop();
        }
        modules.insert(module, code(&text));
    }
    Ok(modules)
}

/// Returns a line for each cycle that is larger than it may be.
fn too_large(package: &str, cycles: &[Vec<Module>]) -> Vec<String> {
    let large = cycles.iter().filter(|cycle| cycle.len() > MOST);
    let line = |cycle: &Vec<Module>| {
        let names: Vec<_> = cycle.iter().map(|it| it.join("::")).collect();
        let (count, names) = (cycle.len(), names.join(", "));
        format!("{package}: a cycle of {count} files, {MOST} at most: {names}")
    };
    large.map(line).collect()
}

/// A path in a module's text.
#[derive(Debug)]
struct Mention {
    /// From the crate's root.
    path: Vec<String>,
    /// The name that a `use` gives it.
    alias: String,
    is_use: bool,
    /// Whether it is a `pub use`.
    is_pub: bool,
}

/// Returns which modules use which.
fn uses(modules: &BTreeMap<Module, String>) -> Uses {
    let mentions: BTreeMap<&Module, Vec<Mention>> =
        modules.iter().map(|(module, text)| (module, mentions(module, text))).collect();
    let mut names = Names { modules, imports: BTreeMap::new(), globs: BTreeMap::new() };
    for (module, all) in &mentions {
        for mention in all.iter().filter(|it| it.is_use) {
            match mention.path.split_last() {
                Some((last, rest)) if last == "*" => {
                    names.globs.entry(module).or_default().push(rest.to_vec());
                }
                _ => {
                    let name = (*module, mention.alias.clone());
                    names.imports.entry(name).or_insert_with(|| mention.path.clone());
                }
            }
        }
    }
    let mut uses = Uses::new();
    for (module, all) in &mentions {
        let used = uses.entry((*module).clone()).or_default();
        for mention in all {
            let is_reexport = match mention.alias.as_str() {
                "*" => mention.is_pub,
                _ => mention.is_use && !names.is_used(module, mention),
            };
            let (target, item) = names.definition(&mention.path);
            // A `use` of a module alone is not a use of what it has.
            let is_module = mention.is_use && item.is_empty();
            if target != *module && !target.is_empty() && !is_module && !is_reexport {
                used.insert(target.clone());
            }
        }
    }
    uses
}

/// The names that the modules define and import.
struct Names<'m> {
    modules: &'m BTreeMap<Module, String>,
    imports: BTreeMap<(&'m Module, String), Vec<String>>,
    globs: BTreeMap<&'m Module, Vec<Vec<String>>>,
}

impl<'m> Names<'m> {
    /// Returns the module of a path and the rest of the path.
    fn split<'p>(&self, path: &'p [String]) -> (&'m Module, &'p [String]) {
        let ends = (0..=path.len()).rev();
        let found = ends.filter_map(|end| {
            let (module, _) = self.modules.get_key_value(&path[..end])?;
            Some((module, &path[end..]))
        });
        found
            .take(1)
            .next()
            .unwrap_or_else(|| (self.modules.keys().next().expect("a crate has a module"), path))
    }

    /// Returns the module in which a path's item is defined, and the item.
    fn definition(&self, path: &[String]) -> (&'m Module, Vec<String>) {
        let mut path = path.to_vec();
        // An import of itself ends nowhere.
        for _ in 0..8 {
            let (module, item) = self.split(&path);
            let Some((name, rest)) = item.split_first() else { return (module, Vec::new()) };
            let import = self.imports.get(&(module, name.clone())).cloned();
            let of_glob = || {
                let globs = self.globs.get(module)?.iter();
                let mut named = globs.map(|glob| [&glob[..], std::slice::from_ref(name)].concat());
                named.find(|it| {
                    let (of, item) = self.split(it);
                    !of.is_empty()
                        && item.len() == 1
                        && self.imports.contains_key(&(of, name.clone()))
                })
            };
            match import.or_else(of_glob).filter(|it| !self.split(it).0.is_empty()) {
                Some(next) if next != path => path = [&next[..], rest].concat(),
                _ => return (module, item.to_vec()),
            }
        }
        let (module, item) = self.split(&path);
        (module, item.to_vec())
    }

    /// Whether a module uses a name besides importing it.
    fn is_used(&self, module: &Module, mention: &Mention) -> bool {
        let words = Words(&self.modules[module]);
        words.filter(|word| *word == mention.alias).take(2).count() > 1
    }
}

/// The words of a text: names, `::`, and other characters.
struct Words<'t>(&'t str);

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = self.0.trim_start();
        let is_name = |it: char| it.is_alphanumeric() || it == '_';
        let length = match text.find(|it| !is_name(it)) {
            _ if text.starts_with("::") => 2,
            Some(0) => text.chars().next()?.len_utf8(),
            Some(end) => end,
            None => text.len(),
        };
        let (word, rest) = text.split_at(length);
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// Returns the paths in a module's text that lead to modules of its crate.
fn mentions(module: &Module, text: &str) -> Vec<Mention> {
    let words: Vec<&str> = Words(text).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        // `pub(in PATH)` says who may use an item.
        let is_visibility = before == "in" && at >= 2 && words[at - 2] == "(";
        let is_path = words.get(at + 1) == Some(&"::") && before != "::" && !is_visibility;
        let is_use = before == "use";
        let is_pub = is_use && at >= 2 && matches!(words[at - 2], "pub" | ")");
        let parent = || module.split_last().map_or(&[][..], |it| it.1).to_vec();
        let (prefix, begin) = match words[at] {
            "crate" if is_path => (Vec::new(), at + 2),
            "super" if is_path => (parent(), at + 2),
            "self" if is_path => (module.clone(), at + 2),
            name if is_path && name.starts_with(|it: char| it.is_ascii_lowercase()) => {
                (module.clone(), at)
            }
            name if is_use && name.starts_with(char::is_alphabetic) => (module.clone(), at),
            _ => {
                at += 1;
                continue;
            }
        };
        let first = found.len();
        at = tree(&words, begin, prefix, is_use, &mut found).max(at + 1);
        found[first..].iter_mut().for_each(|it| it.is_pub = is_pub);
    }
    found
}

/// Reads a path, or a tree of them, that begins with `prefix`. Returns the place after it.
fn tree(
    words: &[&str],
    mut at: usize,
    mut prefix: Vec<String>,
    is_use: bool,
    found: &mut Vec<Mention>,
) -> usize {
    loop {
        match words.get(at) {
            Some(&"{") => {
                at += 1;
                while at < words.len() && words[at] != "}" {
                    match words[at] {
                        "," => at += 1,
                        _ => match tree(words, at, prefix.clone(), is_use, found) {
                            next if next == at => return at,
                            next => at = next,
                        },
                    }
                }
                return at + 1;
            }
            Some(&"super") => _ = prefix.pop(),
            Some(&("self" | "crate")) => {}
            Some(name)
                if *name == "*"
                    || name.starts_with(|it: char| it.is_alphanumeric() || it == '_') =>
            {
                prefix.push((*name).to_owned());
            }
            _ => return at,
        }
        at += 1;
        if words.get(at) == Some(&"::") {
            at += 1;
            continue;
        }
        let mut alias = prefix.last().cloned().unwrap_or_default();
        if is_use && words.get(at) == Some(&"as") {
            alias = words.get(at + 1).map_or(alias, |it| (*it).to_owned());
            at += 2;
        }
        found.push(Mention { path: prefix, alias, is_use, is_pub: false });
        return at;
    }
}

/// Returns the sets of modules of which each leads to each other, but for single ones (Tarjan).
fn cycles(uses: &Uses) -> Vec<Vec<Module>> {
    let mut search = Search::new(uses);
    for module in uses.keys() {
        if !search.numbers.contains_key(module) {
            search.visit(module);
        }
    }
    search.found
}

struct Search<'u> {
    uses: &'u Uses,
    /// The number of each module that was met, and the least that it leads to.
    numbers: BTreeMap<&'u Module, (usize, usize)>,
    open: Vec<&'u Module>,
    found: Vec<Vec<Module>>,
}

impl<'u> Search<'u> {
    fn new(uses: &'u Uses) -> Self {
        Self { uses, numbers: BTreeMap::new(), open: Vec::new(), found: Vec::new() }
    }

    /// Returns the least number that a module leads to.
    fn visit(&mut self, module: &'u Module) -> usize {
        let number = self.numbers.len();
        self.numbers.insert(module, (number, number));
        self.open.push(module);
        let mut least = number;
        for next in self.uses.get(module).into_iter().flatten() {
            match self.numbers.get(next) {
                None => least = least.min(self.visit(next)),
                Some(met) if self.open.contains(&next) => least = least.min(met.0),
                Some(_) => {}
            }
        }
        if least == number {
            let begin = self.open.iter().position(|it| *it == module).unwrap_or(0);
            let mut cycle: Vec<Module> = self.open.drain(begin..).cloned().collect();
            cycle.sort();
            if cycle.len() > 1 {
                self.found.push(cycle);
            }
        }
        self.numbers.insert(module, (number, least));
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let module = |path: &str| -> Module {
            path.split('/').filter(|it| !it.is_empty()).map(str::to_owned).collect()
        };
        let files = files.iter().map(|(path, text)| (module(path), (*text).to_owned()));
        let cycles = cycles(&uses(&files.collect()));
        let names = |it: Vec<Module>| it.iter().map(|it| it.join("::")).collect::<Vec<_>>();
        cycles.into_iter().map(|it| names(it).join(" ")).collect()
    }

    #[test]
    fn a_cycle_is_found_whatever_the_paths_look_like() {
        let b = ("b", "pub struct B; fn f() -> crate::a::A {}");
        for a in [
            "use crate::b::B; fn f(_: B) {}",
            "use crate::{b::{self, B}}; fn f(_: B) {}",
            "use super::b; fn f(_: b::B) {}",
            "fn f(_: super::b::B) {}",
        ] {
            assert_eq!(found(&[("", "mod a; mod b;"), ("a", a), b]), ["a b"], "{a}");
        }
    }

    #[test]
    fn reexports_lead_to_the_definition() {
        let root = ("", "mod a; pub use a::inner::Item;");
        let a = ("a", "pub mod inner; pub use inner::Item; pub fn g() {}");
        let outer = ("b", "use crate::a::Item; fn f(_: Item) {}");
        assert_eq!(found(&[root, a, ("a/inner", "pub struct Item;"), outer]), [""; 0]);
        let inner = ("a/inner", "use crate::b::B; pub struct Item(B);");
        let b = ("b", "pub struct B; use crate::Item; fn f(_: Item) {}");
        assert_eq!(found(&[root, a, inner, b]), ["a::inner b"]);
        let a = ("a", "pub mod inner; pub use inner::*; pub fn g() {}");
        let inner = ("a/inner", "mod x; pub use x::Item;");
        let x = ("a/inner/x", "pub struct Item; fn f() { crate::b::f() }");
        assert_eq!(
            found(&[root, a, inner, x, ("b", "pub fn f(_: crate::a::Item) {}")]),
            ["a::inner::x b"]
        );
    }

    #[test]
    fn a_module_alone_and_a_reexport_are_no_use() {
        let a = ("a", "mod deep; pub use deep::Deep; pub struct A;");
        let deep = ("a/deep", "use super::A; pub struct Deep(A);");
        assert_eq!(found(&[a, deep]), [""; 0]);
        let a = ("a", "mod deep; use deep::Deep; pub struct A; fn f(_: Deep) {}");
        assert_eq!(found(&[a, deep]), ["a a::deep"]);
        assert_eq!(
            found(&[("a", "use crate::b; fn f() {}"), ("b", "use crate::a; fn f() {}")]),
            [""; 0]
        );
        let deep = ("a/deep", "pub(in crate::a) struct Deep;");
        assert_eq!(found(&[a, deep]), [""; 0]);
    }

    #[test]
    fn a_cycle_has_four_files_at_most() {
        let cycle: Vec<Module> = ["a", "b", "c", "d", "e"].map(|it| vec![it.to_owned()]).to_vec();
        let line = "x: a cycle of 5 files, 4 at most: a, b, c, d, e";
        assert_eq!(too_large("x", std::slice::from_ref(&cycle)), [line]);
        assert_eq!(too_large("x", &[cycle[1..].to_vec()]), [""; 0]);
    }
}
