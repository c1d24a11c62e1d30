//! The named differences, as `docs/formats/hprof.md` has them, and the findings of a comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use perk_testkit::workspace;

const DOCUMENT: &str = "docs/formats/hprof.md";
const HEADING: &str = "## Where perk differs from the original\n";

/// The tables of the document.
pub(crate) struct Differences {
    /// The patterns of the cases in which each difference shows, by name.
    shown: BTreeMap<String, Vec<String>>,
    /// The file and function of the test for each difference that no recorded run shows.
    pub(crate) proved_elsewhere: BTreeMap<String, (String, String)>,
}

impl Differences {
    /// Reads the document.
    pub(crate) fn read() -> Differences {
        let path = workspace().join(DOCUMENT);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{DOCUMENT}: {e}"));
        let (_, section) = text.split_once(HEADING).expect("the section on differences");
        let section = section.split("\n## ").next().unwrap_or_default();
        let mut differences =
            Differences { shown: BTreeMap::new(), proved_elsewhere: BTreeMap::new() };
        let mut last_column = "";
        for line in section.lines().filter(|line| line.starts_with("| ")) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [name, _, _, _, last] = cells[..] else { panic!("{DOCUMENT}: a row of {cells:?}") };
            if name == "name" {
                last_column = last;
                continue;
            }
            let quoted: Vec<String> =
                last.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            assert!(!quoted.is_empty(), "{DOCUMENT}: {name} has no {last_column}");
            let before = match last_column {
                "cases" => differences.shown.insert(name.to_owned(), quoted).is_some(),
                _ => {
                    let [file, function] = &quoted[..] else {
                        panic!("{DOCUMENT}: {name}: no test")
                    };
                    let test = (file.clone(), function.clone());
                    differences.proved_elsewhere.insert(name.to_owned(), test).is_some()
                }
            };
            assert!(!before, "{DOCUMENT}: {name} stands twice");
        }
        differences
    }

    /// Returns the names of the differences that recorded runs show.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.shown.keys().map(String::as_str)
    }

    fn covers(&self, name: &str, case: &str) -> bool {
        let patterns = self.shown.get(name);
        // A difference without a recorded run may appear in any run that is added.
        self.proved_elsewhere.contains_key(name)
            || patterns.is_some_and(|them| them.iter().any(|pattern| matches(pattern, case)))
    }
}

/// Whether a name matches a pattern in which `*` represents any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| matches(rest, name)))
        }),
    }
}

/// The findings of one case's comparison.
pub(crate) struct Findings<'a> {
    differences: &'a Differences,
    case: &'a str,
    /// The names of the differences seen.
    pub(crate) seen: BTreeSet<&'static str>,
    /// The differences without a name.
    pub(crate) faults: Vec<String>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(differences: &'a Differences, case: &'a str) -> Self {
        Findings { differences, case, seen: BTreeSet::new(), faults: Vec::new() }
    }

    /// Notes a difference that the entry `name` covers.
    pub(crate) fn differs(&mut self, name: &'static str, what: impl FnOnce() -> String) {
        if self.differences.covers(name, self.case) {
            self.seen.insert(name);
        } else {
            let what = what();
            self.faults.push(format!("differs as {name}, which does not name this case: {what}"));
        }
    }

    /// Notes a difference that must not exist.
    pub(crate) fn fault(&mut self, what: String) {
        self.faults.push(what);
    }

    /// Fails unless both are equal.
    pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        perk: T,
        original: T,
    ) {
        if perk != original {
            self.fault(format!("{what}:\n    perk      {perk:?}\n    original  {original:?}"));
        }
    }
}

#[test]
fn patterns() {
    assert!(matches("sites-*", "sites-alloc") && matches("*-b-*", "sites-b-alloc"));
    assert!(matches("*", "x") && matches("a", "a") && matches("a*", "a"));
    assert!(!matches("sites-*", "times") && !matches("a", "ab") && !matches("*b", "abc"));
}
