//! The part of a profile that `--focus`, `--ignore` and `--hide` leave, in words, and names that match
//! nothing.

use perk_analysis::{Filter, InferredCallers, near};
use perk_profile::units::{percent, printable};
use perk_profile::{Metric, NamePattern, Profile, Symbols};

use crate::args::FilterArgs;
use crate::metric::adds_up;
use crate::talk;

/// A pattern on the command line.
pub(crate) fn name_pattern(text: &str) -> Result<NamePattern, String> {
    NamePattern::new(text)
        .ok_or_else(|| "name a method or a class: bar, Foo.bar, Foo, 'com.acme.*'".to_owned())
}

impl FilterArgs {
    /// The filter that the options describe.
    fn filter(&self) -> Filter {
        let Self { focus, ignore, hide } = self.clone();
        Filter { focus, ignore, hide }
    }

    /// Leaves in the profile of that `name` what passes, and in `joined` no hidden frames. Reports
    /// sections without traces to filter, and patterns without a match. Returns how much is left, in
    /// a sentence; `None` where there is no filter.
    pub(crate) fn apply(
        &self,
        profile: &mut Profile,
        joined: &mut InferredCallers,
        name: &str,
    ) -> Option<String> {
        let filter = self.filter();
        if filter.is_empty() {
            return None;
        }
        for (option, pattern) in filter.unmatched(&profile.symbols) {
            let what = format!("class or method of {name}");
            let near = near::names(pattern, &profile.symbols);
            talk::say(format_args!(
                "--{option} {}: {}",
                pattern.as_str(),
                no_such_name(&what, pattern, &near)
            ));
        }
        let before: Vec<_> = Metric::leading_of(profile)
            .filter(adds_up)
            .map(|metric| (metric.rows(profile).total, metric))
            .collect();
        let object_count = |it: &Profile| Some(it.field_accesses()?.object_count());
        let accessed = object_count(profile);
        joined.without(profile, &filter.hidden(&profile.symbols));
        let note_count = profile.notes.len();
        *profile = filter.apply(std::mem::take(profile));
        for note in &profile.notes[note_count..] {
            talk::say(format_args!("{name}: {note}"));
        }
        let metrics = before
            .into_iter()
            .map(|(before, metric)| (metric.rows(profile).total, before, metric.title()));
        let accessed = accessed.and_then(|before| {
            Some((object_count(profile)?, before, "objects with field accesses".to_owned()))
        });
        Some(printable(&self.sentence(&metrics.chain(accessed).collect::<Vec<_>>())))
    }

    /// As [`FilterArgs::apply`], for output that has no place for the sentence: says it on stderr.
    pub(crate) fn apply_and_say(&self, profile: &mut Profile, name: &str) {
        if let Some(line) = self.apply(profile, &mut InferredCallers::default(), name) {
            talk::say(format_args!("{name}: {line}"));
        }
    }

    /// What is left and what is not: numbers after and before, and their names.
    fn sentence(&self, parts: &[(u64, u64, String)]) -> String {
        let list = |names: &[NamePattern]| {
            names.iter().map(NamePattern::as_str).collect::<Vec<_>>().join(", ")
        };
        let options = [("--focus", &self.focus), ("--ignore", &self.ignore)];
        let options = options.into_iter().filter(|(_, names)| !names.is_empty());
        let options: Vec<_> =
            options.map(|(option, names)| format!("{option} {}", list(names))).collect();
        let hidden = (!self.hide.is_empty())
            .then(|| format!("the frames of {} are hidden", list(&self.hide)));
        if options.is_empty() {
            return hidden.unwrap_or_default();
        }
        let by = options.join(" and ");
        let kept = match parts {
            [(after, before, what)] => {
                let left_out = percent(before.saturating_sub(*after), *before);
                let share = percent(*after, *before);
                format!("{share} % of {what} kept by {by}, {left_out} % left out")
            }
            parts => {
                let share = |(after, before, what): &(u64, u64, String)| {
                    format!("{} % of {what}", percent(*after, *before))
                };
                let shares: Vec<_> = parts.iter().map(share).collect();
                format!("kept by {by}: {}; the rest is left out", shares.join(", "))
            }
        };
        hidden.into_iter().fold(kept, |line, hidden| line + "; " + &hidden)
    }
}

/// Says that no `what` has the name `pattern`, which ones are near, and else what to write.
pub(crate) fn no_such_name(what: &str, pattern: &NamePattern, near: &[String]) -> String {
    let near: Vec<_> = near.iter().map(|name| quoted(name)).collect();
    let advice = match &near[..] {
        [] if pattern.begins_with_package() => format!(
            " from its beginning on; {} finds it further in",
            quoted(&format!("*.{}", pattern.as_str()))
        ),
        [] => "; use bar, Foo.bar, Foo or com.acme.Foo, with * for any part".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    };
    format!("no {what} has that name{advice}")
}

/// As [`no_such_name`], of classes and methods; nothing where one has the name.
pub(crate) fn no_such_method(pattern: &NamePattern, symbols: &Symbols) -> Option<String> {
    let filter = Filter { focus: vec![pattern.clone()], ..Filter::default() };
    let is_unmatched = !filter.unmatched(symbols).is_empty();
    is_unmatched.then(|| no_such_name("class or method", pattern, &near::names(pattern, symbols)))
}

/// `text` as a word of a command line.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./,:=@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (text, word) in [
            ("com.acme.Foo.x", "com.acme.Foo.x"),
            ("Größe.x", "Größe.x"),
            ("Foo$Bar.x", "'Foo$Bar.x'"),
            ("char[]", "'char[]'"),
            ("it's", r"'it'\''s'"),
            ("a b", "'a b'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(text), word);
        }
    }

    #[test]
    fn what_is_left_is_in_a_sentence() {
        let patterns = |text: &str| text.split_whitespace().filter_map(NamePattern::new).collect();
        let args = |focus, ignore, hide| FilterArgs {
            focus: patterns(focus),
            ignore: patterns(ignore),
            hide: patterns(hide),
        };
        let samples = (63, 100, "samples".to_owned());
        let calls = (1, 2, "calls".to_owned());
        for (args, parts, sentence) in [
            (
                args("com.acme.* Foo", "", ""),
                &[samples.clone()][..],
                "63.00 % of samples kept by --focus com.acme.*, Foo, 37.00 % left out",
            ),
            (
                args("a", "b", "c"),
                &[samples, calls],
                "kept by --focus a and --ignore b: 63.00 % of samples, 50.00 % of calls; the rest is \
                 left out; the frames of c are hidden",
            ),
            (args("", "", "c d"), &[], "the frames of c, d are hidden"),
        ] {
            assert_eq!(args.sentence(parts), sentence);
        }
    }
}
