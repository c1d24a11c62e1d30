//! The names of `include` and `wall-threads` that nothing in a running program has: they are refused before a
//! recording begins, with the names that there are.

use perk_control::options::Options;
use perk_control::remote::{Answer, field};
use perk_jvm::{Jni, Jvmti, Local};
use perk_profile::WholePattern;

/// The names in one line of an answer, the lines, and the longest name.
const NAMES_PER_LINE: usize = 500;
const MOST_LINES: usize = 900;
const LONGEST_NAME: usize = 200;

/// Checks that a loaded class, or a method of one, has each name of `include`, and a thread each of
/// `wall-threads`.
///
/// # Errors
/// The answer that has the first name that nothing has, and all names that there are.
pub(crate) fn check(options: &Options, jvmti: Jvmti, jni: Jni<'_>) -> Result<(), Answer> {
    let mut found = Ok(());
    if !options.include.is_empty() {
        jni.with_room(u16::MAX, || found = check_classes(options, jvmti, jni));
    }
    if found.is_err() || options.wall_threads.is_empty() {
        return found;
    }
    jni.with_room(u16::MAX, || {
        let threads = jvmti.all_threads(jni).unwrap_or_default();
        let name = |thread: &Local<'_>| jvmti.thread_info(jni, thread).ok().map(|it| it.name);
        let names: Vec<String> = threads.iter().filter_map(name).collect();
        let is_of_none = |it: &&WholePattern| !names.iter().any(|name| it.matches(name));
        if let Some(pattern) = options.wall_threads.iter().find(is_of_none) {
            found = Err(refusal("thread", "wall-threads", pattern.as_str(), &names));
        }
    });
    found
}

fn check_classes(options: &Options, jvmti: Jvmti, jni: Jni<'_>) -> Result<(), Answer> {
    let mut names = Vec::new();
    let mut left: Vec<_> = options.include.iter().collect();
    for class in jvmti.loaded_classes(jni).unwrap_or_default() {
        let signature = jvmti.class_signature(&class).unwrap_or_default();
        let Some(name) = signature.strip_prefix('L').and_then(|it| it.strip_suffix(';')) else {
            continue;
        };
        let name = name.replace('/', ".");
        left.retain(|pattern| !pattern.matches_class(&name));
        if left.iter().any(|pattern| pattern.may_match_in(&name)) {
            for method in jvmti.class_methods(&class).unwrap_or_default() {
                let Ok((method, _)) = jvmti.method_name(method) else { continue };
                left.retain(|pattern| !pattern.matches(&name, &method));
                names.push(format!("{name}#{method}"));
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        names.push(name);
    }
    match left.first() {
        Some(pattern) => {
            Err(refusal("loaded class or method", "include", pattern.as_str(), &names))
        }
        None => Ok(()),
    }
}

fn refusal(what: &str, option: &str, pattern: &str, names: &[String]) -> Answer {
    let answer = Answer::error(format!("{option}={pattern}: no {what} has that name"));
    let answer = answer.with(field::UNMATCHED, pattern);
    let names: Vec<&str> =
        names.iter().map(String::as_str).filter(|it| it.len() <= LONGEST_NAME).collect();
    let lines = names.chunks(NAMES_PER_LINE).take(MOST_LINES);
    lines.fold(answer, |answer, line| answer.with(field::NAMES, line.join(field::SEPARATOR)))
}
