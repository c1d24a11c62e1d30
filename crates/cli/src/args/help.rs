//! The help of the commands, and the message about a wrong command line.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error, FromArgMatches};

use super::Cli;

/// Parses the process's arguments.
pub(crate) fn parse() -> Result<Cli, Error> {
    let matches = command().try_get_matches()?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))
}

/// The command line. Its help is wrapped at the width of the terminal.
pub(crate) fn command() -> Command {
    with_paragraphs(Cli::command())
}

/// The message about the wrong arguments `given`, with what to do.
pub(crate) fn text(error: &Error, given: &[OsString]) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let text = text.split("\n\nUsage:").next().unwrap_or(text);
    let text = text.split("\n\nFor more information").next().unwrap_or(text);
    // An option of a profiled program is no value of perk's.
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("tip: to pass "));
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.trim_end().replace("\n\n", ";\n");
    let text = NUMBERS.iter().fold(text, |text, &(from, to)| text.replace(from, to));
    let name = given.get(1).and_then(|name| name.to_str()).unwrap_or_default();
    let text = match advice(error, name, given) {
        Some(advice) => format!("{}; {advice}", text.split(";\n").next().unwrap_or_default()),
        None => text,
    };
    let see = match command().find_subcommand(name) {
        Some(command) => format!("perk {} --help", command.get_name()),
        None => "perk --help".to_owned(),
    };
    format!("{text} (see {see})")
}

/// What to do about arguments that are wrong as a whole, and not by a letter.
fn advice(error: &Error, name: &str, given: &[OsString]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let word_at = |found: &dyn Fn(&str) -> bool| {
        given.iter().skip(1).position(|word| word.to_str().is_some_and(found)).map(|at| at + 1)
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let wrong = text(ContextKind::InvalidSubcommand)?;
            super::advice::of_no_command(&given[word_at(&|word| word == wrong)?..])
        }
        ErrorKind::UnknownArgument if error.get(ContextKind::SuggestedArg).is_none() => {
            let wrong = text(ContextKind::InvalidArg)?;
            // Of `-jar` it is `-j`.
            let whole = word_at(&|word| word.starts_with(wrong));
            let whole = whole.and_then(|at| given[at].to_str()).unwrap_or(wrong);
            let is_option = whole.starts_with('-');
            match name {
                "run" => Some(format!(
                    "arguments of the program come after it: perk run -- java {whole} …"
                )),
                "attach" => Some(
                    "perk attach takes the process id or the name of a running program; perk run -- java … \
                     starts one"
                        .to_owned(),
                ),
                "convert" if !is_option => {
                    Some(format!("name the file to write with -o: perk convert … -o {whole}"))
                }
                _ if name == whole && is_option => {
                    Some(format!("options come after the command: perk run {whole}"))
                }
                _ => None,
            }
        }
        ErrorKind::MissingRequiredArgument if name == "report" => {
            let has_file = word_at(&|word| word == "-o" || word.starts_with("--output"));
            has_file.map(|_| "perk convert writes a profile in another format".to_owned())
        }
        _ => None,
    }
}

/// The words of the standard library about wrong numbers, and those for people.
const NUMBERS: [(&str, &str); 3] = [
    ("invalid digit found in string", "use a whole number"),
    ("cannot parse integer from empty string", "use a whole number"),
    ("number too large to fit in target type", "use a smaller number"),
];

/// The command and its subcommands, without line breaks in the paragraphs of their notes.
fn with_paragraphs(command: Command) -> Command {
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(notes) => command.after_help(paragraphs(&notes)),
        None => command,
    };
    command.mut_subcommands(with_paragraphs)
}

/// The text with each paragraph as one line. Indented lines stay unchanged.
fn paragraphs(text: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut joined = String::new();
    let mut last = "";
    for line in text.lines() {
        match is_prose(last) && is_prose(line) && !last.ends_with(':') {
            true => joined.push(' '),
            false if joined.is_empty() => {}
            false => joined.push('\n'),
        }
        joined += line;
        last = line;
    }
    joined
}

#[cfg(test)]
mod tests {
    use perk_formats::FORMATS;

    use super::*;

    fn each_command(command: &mut Command, check: &mut impl FnMut(&mut Command)) {
        check(command);
        command.get_subcommands_mut().for_each(|it| each_command(it, check));
    }

    #[test]
    fn help_is_broken_where_the_terminal_ends() {
        for width in [80, 100, 120] {
            let mut all = command().term_width(width);
            all.build();
            let mut count = 0;
            each_command(&mut all, &mut |command| {
                let help = command.clone().term_width(width).render_long_help().to_string();
                let lines: Vec<&str> = help.lines().collect();
                let is_prose = |line: &str| line.starts_with(|c: char| !c.is_whitespace());
                for pair in lines.windows(2).filter(|pair| pair.iter().all(|it| is_prose(it))) {
                    let [line, next] = [pair[0], pair[1]];
                    let word = next.split(' ').next().unwrap();
                    let length = |text: &str| text.chars().count();
                    let is_full = length(line) + 1 + length(word) > width;
                    assert!(is_full || line.ends_with(':'), "{width}: {line:?} {next:?}");
                    assert!(length(line) <= width, "{width}: {line:?}");
                    count += 1;
                }
            });
            assert!(count > 20, "{count}");
        }
    }

    #[test]
    fn examples_keep_their_lines() {
        let text = "Examples:\n  a b\n  c\n\nOne\ntwo\nthree.\n\nFour";
        assert_eq!(paragraphs(text), "Examples:\n  a b\n  c\n\nOne two three.\n\nFour");
    }

    #[test]
    fn all_endings_are_listed() {
        for name in ["run", "attach", "convert"] {
            let all = command();
            let command = all.find_subcommand(name).unwrap().clone();
            let help = command.term_width(10_000).render_long_help().to_string();
            for format in FORMATS.into_iter().filter(|it| it.is_written()) {
                let ending = format!(".{}", format.ending());
                let written = help.lines().find(|line| line.contains("format of the ending"));
                assert!(written.unwrap().contains(&ending), "{name}: {ending}");
            }
        }
    }

    #[test]
    fn a_wrong_option_has_advice_that_is_right() {
        let said = |line: &[&str]| {
            let given: Vec<OsString> = line.iter().map(OsString::from).collect();
            text(&command().try_get_matches_from(&given).unwrap_err(), &given).replace('\n', " ")
        };
        assert_eq!(
            said(&["perk", "run", "--foo", "--", "java"]),
            "unexpected argument '--foo' found; arguments of the program come after it: \
             perk run -- java --foo … (see perk run --help)"
        );
        assert_eq!(
            said(&["perk", "run", "-jar", "app.jar"]),
            "unexpected argument '-j' found; arguments of the program come after it: perk run -- java -jar … \
             (see perk run --help)"
        );
        assert!(
            said(&["perk", "run", "--top", "x", "java"])
                .contains("'--top <N>': use a whole number")
        );
        assert!(said(&["perk", "-q", "run"]).contains("perk run -q"));
        assert!(said(&["perk", "convert", "a", "b.html"]).contains("perk convert … -o b.html"));
        assert!(said(&["perk", "attach", "java", "-jar"]).contains("perk run -- java"));
        assert!(said(&["perk", "report", "a", "-o", "b.html"]).contains("perk convert"));
        assert_eq!(
            said(&["perk", "--", "4711"]),
            "unrecognized subcommand '4711'; perk attach 4711 profiles the running program (see perk --help)"
        );
        assert_eq!(
            said(&["perk", "report", "--bla", "x"]),
            "unexpected argument '--bla' found (see perk report --help)"
        );
        assert_eq!(
            said(&["perk", "report", "--foccus", "x"]),
            "unexpected argument '--foccus' found;   tip: a similar argument exists: '--focus' \
             (see perk report --help)"
        );
        assert!(said(&["perk", "rnu"]).ends_with("(see perk --help)"));
    }
}
