//! The part of a profile that a filter of methods leaves, in words.

use perk_analysis::{Filter, InferredCallers, LabelPattern, near};
use perk_profile::units::{percent, printable};
use perk_profile::{Metric, NamePattern, Profile, WholePattern};

use crate::selection::metric::adds_up;
use crate::words::no_such_name;

/// Leaves in the profile of that `name` what passes, and in `joined` no hidden frames. Adds to `notes` sections
/// without traces to filter, and patterns without a match. Returns how much is left, in a sentence; `None`
/// where the filter is empty.
pub fn apply(
    filter: &Filter,
    profile: &mut Profile,
    joined: &mut InferredCallers,
    name: &str,
    notes: &mut Vec<String>,
) -> Option<String> {
    if filter.is_empty() {
        return None;
    }
    for (option, pattern) in filter.unmatched(&profile.symbols) {
        let what = format!("class or method of {name}");
        let near = near::names(pattern, &profile.symbols);
        let missing = no_such_name(&what, pattern, &near);
        notes.push(format!("--{option} {}: {missing}", pattern.as_str()));
    }
    let before: Vec<_> = Metric::leading_of(profile)
        .filter(adds_up)
        .map(|metric| (metric.total(profile), metric))
        .collect();
    let object_count = |it: &Profile| Some(it.field_accesses()?.object_count());
    let accessed = object_count(profile);
    joined.without(profile, &filter.hidden(&profile.symbols));
    let note_count = profile.notes.len();
    *profile = filter.apply(std::mem::take(profile));
    notes.extend(profile.notes[note_count..].iter().map(|note| format!("{name}: {note}")));
    let metrics =
        before.into_iter().map(|(before, metric)| (metric.total(profile), before, metric.title()));
    let accessed = accessed.and_then(|before| {
        Some((object_count(profile)?, before, "objects with field accesses".to_owned()))
    });
    Some(printable(&sentence(filter, &metrics.chain(accessed).collect::<Vec<_>>())))
}

/// What is left and what is not: numbers after and before, and their names.
fn sentence(filter: &Filter, parts: &[(u64, u64, String)]) -> String {
    let list = |names: &[NamePattern]| {
        names.iter().map(NamePattern::as_str).collect::<Vec<_>>().join(", ")
    };
    let options = [("--focus", &filter.focus), ("--ignore", &filter.ignore)];
    let options = options.into_iter().filter(|(_, names)| !names.is_empty());
    let mut options: Vec<_> =
        options.map(|(option, names)| format!("{option} {}", list(names))).collect();
    if !filter.labels.is_empty() {
        let labels: Vec<_> = filter.labels.iter().map(LabelPattern::to_string).collect();
        options.push(format!("--label {}", labels.join(", ")));
    }
    if !filter.threads.is_empty() {
        let threads: Vec<_> = filter.threads.iter().map(WholePattern::as_str).collect();
        options.push(format!("--thread {}", threads.join(", ")));
    }
    let hidden = (!filter.hide.is_empty())
        .then(|| format!("the frames of {} are hidden", list(&filter.hide)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_in_a_sentence() {
        let patterns = |text: &str| text.split_whitespace().filter_map(NamePattern::new).collect();
        let args = |focus, ignore, hide| Filter {
            focus: patterns(focus),
            ignore: patterns(ignore),
            hide: patterns(hide),
            ..Filter::default()
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
            assert_eq!(super::sentence(&args, parts), sentence);
        }
    }
}
