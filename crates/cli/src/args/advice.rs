//! What a wrong command line probably means, as the right one.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use perk_control::jdk::find_in_path;
use perk_report::words::quoted;

/// The longest command line that is proposed as a whole.
const LONGEST: usize = 100;

/// The command line begins with a word that is not a command of perk: a program, a running program or a
/// profile. Returns the command for it, and what it does.
pub(super) fn of_no_command(words: &[OsString]) -> Option<String> {
    let word = words.first()?.to_str()?;
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("perk attach {word} profiles the running program"));
    }
    if let Some(command) = java_command(words) {
        return Some(format!("{command} profiles a program"));
    }
    if Path::new(word).is_file() && !is_program(word) {
        return Some(format!("perk report {} shows a profile", quoted(word)));
    }
    if is_program(word) {
        return Some(format!("{} profiles a program", line("perk run --", words)));
    }
    let name = word.rsplit('.').next()?;
    name.starts_with(char::is_uppercase).then(|| {
        let run = line("perk run -- java", words);
        format!("{run} profiles a program, perk attach {} one that runs", quoted(word))
    })
}

/// What begins with a word that is no program: what `java` runs. Returns the command for it.
pub(crate) fn of_no_program(words: &[OsString]) -> Option<String> {
    let word = words.first()?.to_str()?;
    let name = word.rsplit('.').next()?;
    let is_for_java = word.starts_with('-') || name.starts_with(char::is_uppercase);
    java_command(words).or_else(|| is_for_java.then(|| line("perk run -- java", words)))
}

/// The command that runs the jar, source or class file at the beginning of `words`.
fn java_command(words: &[OsString]) -> Option<String> {
    let path = Path::new(words.first()?);
    match path.extension()?.to_str()? {
        "jar" => Some(line("perk run -- java -jar", words)),
        "java" => Some(line("perk run -- java", words)),
        "class" => {
            let class = path.file_stem()?.to_owned();
            let words: Vec<_> = std::iter::once(class).chain(words[1..].to_vec()).collect();
            Some(line("perk run -- java", &words))
        }
        _ => None,
    }
}

fn is_program(word: &str) -> bool {
    find_in_path(OsStr::new(word), &env::var_os("PATH").unwrap_or_default()).is_some()
}

/// `command` with the words after it, as many as fit.
fn line(command: &str, words: &[OsString]) -> String {
    let mut line = command.to_owned();
    for word in words.iter().map(|it| quoted(&it.to_string_lossy())) {
        if line.len() + word.len() > LONGEST {
            return line + " …";
        }
        line = line + " " + &word;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn what_is_no_command_is_probably_a_program() {
        for (given, advice) in [
            ("4711", Some("perk attach 4711 profiles the running program")),
            ("sh -c true", Some("perk run -- sh -c true profiles a program")),
            ("app.jar -x", Some("perk run -- java -jar app.jar -x profiles a program")),
            ("Foo.java", Some("perk run -- java Foo.java profiles a program")),
            ("out/Foo.class a", Some("perk run -- java Foo a profiles a program")),
            ("Cargo.toml", Some("perk report Cargo.toml shows a profile")),
            (
                "com.acme.Main",
                Some(
                    "perk run -- java com.acme.Main profiles a program, perk attach com.acme.Main one that \
                     runs",
                ),
            ),
            ("rnu", None),
            ("", None),
        ] {
            assert_eq!(of_no_command(&words(given)).as_deref(), advice, "{given}");
        }
    }

    #[test]
    fn what_is_no_program_is_probably_for_java() {
        for (given, advice) in [
            ("Main a", Some("perk run -- java Main a")),
            ("-cp out Main", Some("perk run -- java -cp out Main")),
            ("app.jar", Some("perk run -- java -jar app.jar")),
            ("gradel", None),
        ] {
            assert_eq!(of_no_program(&words(given)).as_deref(), advice, "{given}");
        }
        let long = format!("Main {}", "abcdefghi ".repeat(20));
        assert!(of_no_program(&words(&long)).unwrap().ends_with("abcdefghi …"));
    }
}
