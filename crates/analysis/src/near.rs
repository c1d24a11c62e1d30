//! Names near to a pattern that matches none: what was probably meant.

use std::collections::BTreeSet;
use std::mem;

use perk_profile::{MethodId, NamePattern, Symbols};

/// The most names that are proposed.
const MOST: usize = 3;
/// One wrong letter is allowed for each of these numbers of letters, and this many in the whole
/// name.
const LETTERS_PER_SLIP: usize = 4;
const MOST_SLIPS: usize = 3;

/// The likeness of a name to a pattern; the smallest is the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// The same but for upper and lower case, or for the package before it, or shortened.
    Same,
    /// This number of letters differs.
    Slips(usize),
    /// The last part is the same: the simple name of the class, or the name of the method.
    LastPart,
}

/// The classes and methods of a profile that `pattern`, which matches none, may mean: patterns that
/// match, the nearest first, at most three.
pub fn names(pattern: &NamePattern, symbols: &Symbols) -> Vec<String> {
    let methods = (0..symbols.method_count()).map(|index| {
        let method = symbols.get_method(MethodId::new(index));
        (symbols.class_name(method.class), Some(symbols.strings.get(method.name)))
    });
    let classes = symbols.classes().map(|(id, _)| (symbols.class_name(id), None));
    of(pattern, methods.chain(classes))
}

/// The same for classes and any members of them, such as fields.
pub fn of<'a>(
    pattern: &NamePattern,
    members: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> Vec<String> {
    let mut classes = BTreeSet::new();
    let mut packages = BTreeSet::new();
    let mut methods = BTreeSet::new();
    for (class, member) in members {
        if classes.insert(class) {
            packages.extend(class.match_indices('.').map(|(at, _)| &class[..at]));
        }
        methods.extend(member.map(|member| (class, member)));
    }
    let wanted = NameParts::new(pattern);
    let mut found = BTreeSet::new();
    let mut add = |likeness: Option<Likeness>, name: String| {
        // The shortest of names that are alike is the one at the top.
        found.extend(likeness.map(|likeness| (likeness, name.len(), name)));
    };
    for package in packages {
        add(wanted.likeness(package), format!("{package}.*"));
    }
    if !wanted.is_package {
        for class in classes.into_iter().filter(|it| !it.is_empty()) {
            add(wanted.likeness(class), class.to_owned());
        }
        for (class, method) in methods {
            let name =
                if class.is_empty() { method.to_owned() } else { format!("{class}.{method}") };
            add(wanted.likeness(&name), name);
        }
    }
    // Where some are the same, the others are not what was meant.
    let nearest = found.first().map(|(likeness, ..)| mem::discriminant(likeness));
    let near = found.into_iter().take_while(|it| Some(mem::discriminant(&it.0)) == nearest);
    near.take(MOST).map(|(_, _, name)| name).collect()
}

/// The texts that `wanted`, which is none of them, may mean, such as names of threads or values of labels: the
/// nearest first, at most three.
pub fn texts<'a>(wanted: &str, all: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.trim_matches('*').to_lowercase();
    let likeness = |text: &str| {
        let text = text.to_lowercase();
        let is_part = wanted.len() > 1 && (text.contains(&wanted) || wanted.contains(&text));
        if is_part {
            return Some(Likeness::Same);
        }
        // The begin of a name with a number: `http-nio-8080-exec-1`.
        let start: String = text.chars().take(wanted.chars().count()).collect();
        [slips(&wanted, &text), slips(&wanted, &start)].into_iter().flatten().min()
    };
    let found: BTreeSet<_> = all
        .into_iter()
        .filter(|it| !it.is_empty())
        .filter_map(|text| Some((likeness(text)?, text.len(), text.to_owned())))
        .collect();
    found.into_iter().take(MOST).map(|(_, _, text)| text).collect()
}

/// The likeness of two texts with few different letters.
fn slips(a: &str, b: &str) -> Option<Likeness> {
    let most = (a.len() / LETTERS_PER_SLIP).clamp(1, MOST_SLIPS);
    let is_near = a.len() > 1 && a.len().abs_diff(b.len()) <= most;
    let count = is_near.then(|| strsim::osa_distance(a, b))?;
    (count <= most).then_some(Likeness::Slips(count))
}

/// The pattern as names are compared with it.
struct NameParts {
    /// Its parts, in lower case, without stars and parameters around them.
    parts: Vec<String>,
    /// Whether it ends in `.*`.
    is_package: bool,
}

impl NameParts {
    fn new(pattern: &NamePattern) -> Self {
        let text = pattern.as_str();
        let text = text.split_once('(').map_or(text, |(name, _)| name);
        let is_package = text.ends_with(".*");
        let text = text.trim_matches(['*', '.']).to_lowercase();
        Self { parts: parts(&text).map(str::to_owned).collect(), is_package }
    }

    /// The likeness of the end of `name` that has as many parts.
    fn likeness(&self, name: &str) -> Option<Likeness> {
        let name = name.to_lowercase();
        let name: Vec<_> = parts(&name).collect();
        let last = self.parts.last().filter(|it| it.len() > 1)?;
        let of_last = (*last == *name.last()?).then_some(Likeness::LastPart);
        let Some(from) = name.len().checked_sub(self.parts.len()) else { return of_last };
        let pairs = || self.parts.iter().zip(&name[from..]);
        let is_short = |(part, of): (&String, &&str)| of.starts_with(&**part);
        let is_same = of_last.is_some() && pairs().all(is_short);
        if is_same {
            return Some(Likeness::Same);
        }
        let slips = |(part, of): (&String, &&str)| {
            let most = (part.len() / LETTERS_PER_SLIP).clamp(1, MOST_SLIPS);
            // A name that is much longer or shorter is far, whatever its letters.
            let is_near = part.len().abs_diff(of.len()) <= most;
            let slips = is_near.then(|| strsim::osa_distance(part, of))?;
            (slips <= most).then_some(slips)
        };
        let slips: Option<usize> = pairs().map(slips).sum();
        slips.filter(|&slips| slips <= MOST_SLIPS).map(Likeness::Slips).or(of_last)
    }
}

/// The parts of a name: packages, classes, those inside of them, methods.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', '$', '/']).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHODS: [(&str, &str); 8] = [
        ("com.acme.Main", "main"),
        ("com.acme.Main", "parse"),
        ("com.acme.java.util.Foo", "run"),
        ("com.acme.web.Server$UserController", "list"),
        ("java.util.HashMap", "get"),
        ("java.util.HashMap", "put"),
        ("org.h2.mvstore.MVMap", "replacePage"),
        ("", "start_thread"),
    ];

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let pattern = NamePattern::new(text).unwrap();
        let is_match = |&(class, method): &(&str, &str)| pattern.matches(class, method);
        assert!(!METHODS.iter().any(is_match), "{text} matches");
        let near = of(&pattern, METHODS.map(|(class, method)| (class, Some(method))));
        assert_eq!(near, expected, "{text}");
        for name in near {
            let pattern = NamePattern::new(&name).unwrap();
            let is_match = |&(class, method): &(&str, &str)| pattern.matches(class, method);
            assert!(METHODS.iter().any(is_match), "{name} matches nothing");
        }
    }

    #[test]
    fn slips_and_cases() {
        check("HashMapp", &["java.util.HashMap"]);
        check("hashmap.get", &["java.util.HashMap.get"]);
        check("HashMap.gte", &["java.util.HashMap.get"]);
        check("UserControler.list", &["com.acme.web.Server$UserController.list"]);
        check("parze*", &["com.acme.Main.parse"]);
        check("strat_thread", &["start_thread"]);
        check("nothing.like.This", &[]);
        check("Q", &[]);
    }

    #[test]
    fn any_texts() {
        let names = ["main", "http-nio-8080-exec-1", "Reference Handler", "GET /orders"];
        for (wanted, near) in [
            ("mian", &["main"][..]),
            ("htp-nio-*", &["http-nio-8080-exec-1"]),
            ("HTTP-*", &["http-nio-8080-exec-1"]),
            ("GET /order", &["GET /orders"]),
            ("nosuch-*", &[]),
            ("x", &[]),
        ] {
            assert_eq!(texts(wanted, names), near, "{wanted}");
        }
    }

    #[test]
    fn packages() {
        check("acme", &["com.acme.*"]);
        check("com.acme", &["com.acme.*"]);
        check("com.acmee.*", &["com.acme.*"]);
        check("util.*", &["java.util.*", "com.acme.java.util.*"]);
        check("acme.Main", &["com.acme.Main"]);
        check("org.acme.Main.parse", &["com.acme.Main.parse"]);
    }

    #[test]
    fn shortened_names_are_completed() {
        check("o.h.m.MVMap.replacePage(…)", &["org.h2.mvstore.MVMap.replacePage"]);
        check("MVMap.replacePage(CursorPos)", &["org.h2.mvstore.MVMap.replacePage"]);
    }
}
