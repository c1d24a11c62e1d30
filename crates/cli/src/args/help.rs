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
    let mut text = text.trim_end().replace("\n\n", ";\n");
    let name = given.get(1).and_then(|name| name.to_str()).unwrap_or_default();
    let has_similar = error.get(ContextKind::SuggestedArg).is_some();
    if let (ErrorKind::UnknownArgument, "run", false) = (error.kind(), name, has_similar)
        && let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
    {
        text += &format!(";\narguments of the program come after it: perk run -- java {option} …");
    }
    let see = match command().find_subcommand(name) {
        Some(command) => format!("perk {} --help", command.get_name()),
        None => "perk --help".to_owned(),
    };
    format!("{text} (see {see})")
}

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
