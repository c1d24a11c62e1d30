//! Names that a request has and no profile: they are refused before anything is shown.

use anyhow::bail;
use perk_analysis::{Filter, LabelPattern, labels, near};
use perk_profile::{Event, MethodId, NamePattern, Profile};

use crate::words::{did_you_mean, no_such_name};

/// Checks that each class or method that the request selects, and each label, is in one of the profiles, which
/// have names for messages. What it leaves out (`--ignore`, `--hide`) need not be there: the numbers are right
/// without it.
///
/// # Errors
/// A name that none of the profiles has, and those near to it.
pub fn check(
    app: &[NamePattern],
    filter: &Filter,
    profiles: &[(&str, &Profile)],
) -> anyhow::Result<()> {
    let files = profiles.iter().map(|it| it.0).collect::<Vec<_>>().join(" or ");
    for (option, patterns) in [("app", app), ("focus", &filter.focus)] {
        for pattern in patterns {
            if profiles.iter().any(|(_, profile)| is_in(pattern, profile)) {
                continue;
            }
            let near = profiles.iter().map(|(_, profile)| near::names(pattern, &profile.symbols));
            let near = near.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
            let missing = no_such_name(&format!("class or method of {files}"), pattern, &near);
            bail!("--{option} {}: {missing}", pattern.as_str());
        }
    }
    for label in &filter.labels {
        if !profiles.iter().any(|(_, profile)| labels::is_in(label, profile)) {
            bail!("--label {}: {}", label, no_such_label(label, profiles));
        }
    }
    for pattern in &filter.threads {
        let threads = || profiles.iter().flat_map(|(_, profile)| thread_names(profile));
        if !threads().any(|name| pattern.matches(name)) {
            let near = did_you_mean(&near::texts(pattern.as_str(), threads()));
            bail!("--thread {}: no thread of {files} has that name{near}", pattern.as_str());
        }
    }
    Ok(())
}

fn thread_names(profile: &Profile) -> impl Iterator<Item = &str> {
    profile.threads.iter().map(|thread| profile.symbols.strings.get(thread.name))
}

/// Whether a class or method of a profile has the name.
fn is_in(pattern: &NamePattern, profile: &Profile) -> bool {
    let symbols = &profile.symbols;
    let has_method = (0..symbols.method_count())
        .any(|index| pattern.matches_method(symbols, MethodId::new(index)));
    has_method
        || profile.events.iter().any(|event| match event {
            // The methods that made objects are no part of stacks.
            Event::FieldAccesses(accesses) => accesses.sites().any(|site| {
                let class = symbols.strings.get(site.class).replace('/', ".");
                pattern.matches(&class, symbols.strings.get(site.method))
            }),
            _ => false,
        })
}

/// What the profiles have instead of a label.
fn no_such_label(label: &LabelPattern, profiles: &[(&str, &Profile)]) -> String {
    let (files, profiles): (Vec<_>, Vec<_>) = profiles.iter().copied().unzip();
    let files = files.join(" or ");
    let keys: Vec<String> =
        profiles.iter().flat_map(|it| labels::keys(it)).map(|(key, _)| key).collect();
    if keys.is_empty() {
        return format!("{files} has no labels");
    }
    if !keys.contains(&label.key) {
        let near = did_you_mean(&near::texts(&label.key, keys.iter().map(String::as_str)));
        return format!("no number of {files} has the label {}{near}", label.key);
    }
    let values: Vec<String> =
        profiles.iter().flat_map(|it| labels::values(it, &label.key)).collect();
    let near = near::texts(label.value.as_str(), values.iter().map(String::as_str));
    let near: Vec<_> = near.iter().map(|value| format!("{}={value}", label.key)).collect();
    format!("no number of {files} has a {} of that value{}", label.key, did_you_mean(&near))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(names: &[&str]) -> Vec<NamePattern> {
        names.iter().filter_map(|name| NamePattern::new(name)).collect()
    }

    fn refusal(app: &[&str], filter: &Filter, profiles: &[(&str, &Profile)]) -> Option<String> {
        check(&patterns(app), filter, profiles).err().map(|error| error.to_string())
    }

    #[test]
    fn a_name_is_in_one_of_the_profiles() {
        let of = |stack: &str| {
            let source = perk_open::Source::stream(std::io::Cursor::new(stack.to_owned()), "x");
            source.profile(&perk_open::Options::default()).unwrap().profile
        };
        let (before, after) = (of("com.acme.A.run 1\n"), of("com.acme.B.run 1\n"));
        let both = [("a", &before), ("b", &after)];
        let focus = |names: &[&str]| Filter { focus: patterns(names), ..Filter::default() };
        assert_eq!(refusal(&["com.acme.*"], &focus(&["A", "B"]), &both), None);
        assert_eq!(
            refusal(&[], &focus(&["A", "Bb"]), &both).unwrap(),
            "--focus Bb: no class or method of a or b has that name; did you mean com.acme.B?"
        );
        assert_eq!(
            refusal(&["acme"], &Filter::default(), &both[..1]).unwrap(),
            "--app acme: no class or method of a has that name; did you mean 'com.acme.*'?"
        );
        let label = Filter { labels: vec!["request=x".parse().unwrap()], ..Filter::default() };
        assert_eq!(refusal(&[], &label, &both[..1]).unwrap(), "--label request=x: a has no labels");
        let mut threads = before.clone();
        let name = threads.symbols.strings.intern("worker-1");
        threads.push_thread(perk_profile::Thread {
            serial: 200_001,
            object_id: 1,
            name,
            group: None,
            parent_group: None,
        });
        let of_thread = |name| Filter {
            threads: vec![perk_profile::WholePattern::new(name).unwrap()],
            ..Filter::default()
        };
        let one = [("a", &threads)];
        assert_eq!(refusal(&[], &of_thread("worker-*"), &one), None);
        assert_eq!(
            refusal(&[], &of_thread("wroker-1"), &one).unwrap(),
            "--thread wroker-1: no thread of a has that name; did you mean worker-1?"
        );
        let left_out =
            Filter { ignore: patterns(&["Gone"]), hide: patterns(&["sun.*"]), ..Filter::default() };
        assert_eq!(refusal(&[], &left_out, &both), None);
    }
}
