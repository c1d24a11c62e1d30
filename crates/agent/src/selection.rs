//! The methods that are counted: `include` and `exclude`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perk_control::messages;
use perk_jvm::os;
use perk_profile::{NamePattern, mutf8};

/// The methods that are counted. Without any pattern, all methods are.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    include: Vec<PatternUse>,
    exclude: Vec<PatternUse>,
}

/// A pattern, and whether it matched a class or method.
#[derive(Debug)]
struct PatternUse {
    pattern: NamePattern,
    has_matched: AtomicBool,
}

impl Selection {
    /// Makes a selection of patterns to include and to exclude.
    pub(crate) fn new(include: &[NamePattern], exclude: &[NamePattern]) -> Self {
        let chosen = |patterns: &[NamePattern]| {
            let chosen = |pattern: &NamePattern| PatternUse {
                pattern: pattern.clone(),
                has_matched: AtomicBool::new(false),
            };
            patterns.iter().map(chosen).collect()
        };
        Self { include: chosen(include), exclude: chosen(exclude) }
    }

    /// Whether every method is counted.
    pub(crate) fn is_everything(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Whether a method is counted; the names are those of class files.
    pub(crate) fn selects(&self, class: &[u8], method: &[u8]) -> bool {
        if self.is_everything() {
            return true;
        }
        let class = mutf8::decode(class).replace('/', ".");
        let method = mutf8::decode(method);
        let is_meant = |patterns: &[PatternUse]| {
            // All patterns are asked, so that each records whether it matches anything.
            patterns.iter().fold(false, |is_meant, chosen| {
                let has_matched = chosen.has_matched.load(Relaxed);
                if is_meant && has_matched {
                    return true;
                }
                let matches = chosen.pattern.matches(&class, &method);
                if matches && !has_matched {
                    chosen.has_matched.store(true, Relaxed);
                }
                is_meant || matches
            })
        };
        let is_excluded = is_meant(&self.exclude);
        (self.include.is_empty() || is_meant(&self.include)) && !is_excluded
    }

    /// Whether one of a class's methods may be counted, as far as `include` says; the class's name has
    /// dots. The names of the methods are asked for if they matter.
    pub(crate) fn selects_any(&self, class: &str, methods: impl FnOnce() -> Vec<String>) -> bool {
        let include = || self.include.iter().map(|chosen| &chosen.pattern);
        if self.include.is_empty() || include().any(|it| it.matches_class(class)) {
            return true;
        }
        let of_methods: Vec<_> = include().filter(|it| it.may_match_in(class)).collect();
        !of_methods.is_empty()
            && methods().iter().any(|method| of_methods.iter().any(|it| it.matches(class, method)))
    }

    /// Returns the patterns that matched no class or method, as options.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        let lists = [("include", &self.include), ("exclude", &self.exclude)];
        let all = lists.into_iter().flat_map(|(list, all)| all.iter().map(move |it| (list, it)));
        let unmatched = all.filter(|(_, chosen)| !chosen.has_matched.load(Relaxed));
        unmatched.map(|(list, it)| format!("{list}={}", it.pattern.as_str())).collect()
    }
}

/// Prints which methods are not in a file as they lack probes, and which patterns match nothing.
/// `what` is counted.
pub(crate) fn warn_of_missing(what: &str, skipped: &[String], selection: &Selection) {
    if let [first, rest @ ..] = skipped {
        let more =
            if rest.is_empty() { String::new() } else { format!("; and {} more", rest.len()) };
        os::say(&format!(
            "HPROF WARNING: {what} in methods without room for probes are not in the file: \
             {first}{more}\n"
        ));
    }
    let unmatched = selection.unmatched();
    if !unmatched.is_empty() {
        os::say(&messages::unmatched_patterns(&unmatched.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<NamePattern> {
        texts.iter().filter_map(|text| NamePattern::new(text)).collect()
    }

    #[test]
    fn classes_are_selected_by_their_methods() {
        let selection = Selection::new(&patterns(&["a.Foo", "Bar.run", "main"]), &[]);
        let with = |class, methods: &[&str]| {
            selection.selects_any(class, || methods.iter().map(|&it| it.to_owned()).collect())
        };
        assert!(with("a.Foo", &[]) && with("a.Foo$In", &[]) && !with("b.Foo", &["run"]));
        assert!(with("x.Bar", &["stop", "run"]) && !with("x.Bar", &["stop"]));
        assert!(with("x.Any", &["main"]) && !with("x.Any", &["mains"]));
        let never = || unreachable!("no pattern can be of a method of this class");
        assert!(
            !Selection::new(&patterns(&["a.Foo.b*", "a.Foo"]), &[]).selects_any("b.Bar", never)
        );
    }

    #[test]
    fn what_matched_nothing_is_known() {
        let include = patterns(&["Foo", "HashMap.put", "Gone"]);
        let selection = Selection::new(&include, &patterns(&["Foo.not", "*Never"]));
        assert!(selection.selects(b"a/Foo$In", b"m") && !selection.selects(b"a/Foo", b"not"));
        assert!(selection.selects(b"java/util/HashMap", b"put"));
        assert!(!selection.selects(b"java/util/HashMap", b"get"));
        assert_eq!(selection.unmatched(), ["include=Gone", "exclude=*Never"]);
        assert!(Selection::default().selects(b"A", b"b"));
        assert!(Selection::default().unmatched().is_empty());
    }
}
