//! The names on the command line that nothing in the program had, which is known at its end.

use perk_analysis::near;
use perk_control::options::Options;
use perk_profile::{NAME_SEPARATOR, NamePattern, Profile, WholePattern};
use perk_report::words::{did_you_mean, no_such_name};

/// One line for each name of `--include`, `--exclude` and `--wall-threads` that nothing in any of the JVMs had, with
/// those near to it.
pub(super) fn lines(options: &Options, profiles: &[&Profile]) -> Vec<String> {
    let all: Vec<_> = profiles.iter().map(|profile| of_one(options, profile)).collect();
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let is_in = |name: &str, others: &[(String, String)]| others.iter().any(|it| it.0 == name);
    let of_none = first.iter().filter(|it| others.iter().all(|others| is_in(&it.0, others)));
    of_none.map(|(name, why)| format!("{name}: {why}")).collect()
}

/// The options with such names, and what to say about each.
fn of_one(options: &Options, profile: &Profile) -> Vec<(String, String)> {
    let names = |all: &str| -> Vec<String> {
        all.split(NAME_SEPARATOR).filter(|it| !it.is_empty()).map(str::to_owned).collect()
    };
    let mut lines = Vec::new();
    let accounting = profile.accounting.as_ref();
    for option in names(accounting.map_or("", |it| &*it.unmatched_patterns)) {
        let Some((option, text)) = option.split_once('=') else { continue };
        let Some(pattern) = NamePattern::new(text) else { continue };
        // The file has the methods that were counted; the account has the packages of the class path.
        let mut near = near::names(&pattern, &profile.symbols);
        if let Some(account) = accounting.filter(|_| near.is_empty()) {
            let in_package = |it: &String| Some(format!("{}.package-info", it.strip_suffix(".*")?));
            let packages: Vec<_> = names(&account.packages).iter().filter_map(in_package).collect();
            let main = account.program.split_whitespace().next().unwrap_or_default();
            let main = main.rsplit('/').next().unwrap_or_default();
            let all = packages.iter().map(String::as_str).chain([main]);
            near = near::of(&pattern, all.map(|name| (name, None)));
        }
        let why = no_such_name("class or method", &pattern, &near);
        lines.push((format!("--{option} {text}"), why));
    }
    let threads: Vec<_> =
        profile.threads.iter().map(|thread| profile.symbols.strings.get(thread.name)).collect();
    let is_of_none = |it: &&WholePattern| !threads.iter().any(|name| it.matches(name));
    for pattern in options.wall_threads.iter().filter(is_of_none) {
        let near = did_you_mean(&near::texts(pattern.as_str(), threads.iter().copied()));
        let why = format!("no thread had that name{near}");
        lines.push((format!("--wall-threads {}", pattern.as_str()), why));
    }
    lines
}
