//! The arguments of `perk run` and `perk attach` for measurements and output.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};
use perk_control::options::{Argument, CommandLine, arguments};

use crate::file_format::endings;

/// The arguments that select what perk measures, shows and writes.
#[derive(Clone, Debug, Args)]
pub(crate) struct MeasurementArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArguments,
    /// Rows of each table at the end [default: those that fit]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Show only errors, without a table
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[arg(short, long, value_name = "FILE", help = format!(
        "Write the profile here, in the format of the ending: {} (repeatable)",
        endings()
    ))]
    pub(crate) output: Vec<PathBuf>,
}

/// The arguments that set options of the agent. The agent's table of options has them.
#[derive(Clone, Debug)]
pub(crate) struct AgentArguments(pub(crate) CommandLine);

impl Args for AgentArguments {
    fn augment_args(command: Command) -> Command {
        command.args(arguments().into_iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AgentArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut line = CommandLine::default();
        for argument in arguments() {
            if matches.value_source(argument.long) == Some(ValueSource::CommandLine) {
                let has_values = !argument.value_name.is_empty();
                let values = matches.get_raw(argument.long).filter(|_| has_values);
                let values = values.into_iter().flatten();
                line.give(argument, values.map(|it| it.to_string_lossy().into_owned()).collect());
            }
        }
        Ok(Self(line))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn arg(argument: &'static Argument) -> Arg {
    let mut arg = Arg::new(argument.long).long(argument.long).help(argument.help);
    arg = arg.conflicts_with_all(argument.conflicts);
    if !argument.alias.is_empty() {
        arg = arg.visible_alias(argument.alias);
    }
    if argument.value_name.is_empty() {
        return arg.action(ArgAction::SetTrue);
    }
    arg = arg.value_name(argument.value_name);
    if argument.is_list {
        arg = arg.action(ArgAction::Append).value_delimiter(',');
    }
    if argument.is_optional {
        arg = arg.num_args(0..=1).require_equals(true);
    }
    if !argument.default.is_empty() {
        arg = arg.default_value(argument.default);
    }
    let words = argument.words.iter().map(|word| PossibleValue::new(word.name).help(word.help));
    match argument.range {
        Some((from, to)) => arg.value_parser(value_parser!(i64).range(from..=to)),
        None if !argument.words.is_empty() => arg.value_parser(PossibleValuesParser::new(words)),
        None => arg.value_parser(|text: &str| argument.check(text).map(|()| text.to_owned())),
    }
}

/// Hides an argument that a running program has no use for.
pub(super) fn hidden_from_start(arg: Arg) -> Arg {
    let is_its = |it: &&Argument| it.long == arg.get_id().as_str();
    let is_hidden = arguments().into_iter().find(is_its).is_some_and(|it| it.is_from_start);
    if is_hidden { arg.hide(true) } else { arg }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries the texts that an argument takes, and those that it refuses.
    #[track_caller]
    fn check(name: &str, right: &[&str], wrong: &[&str]) {
        let takes = |text: &str| {
            let command = AgentArguments::augment_args(Command::new("perk"));
            command.try_get_matches_from(["perk", &format!("--{name}={text}")]).is_ok()
        };
        for text in right {
            assert!(takes(text), "{name}: {text}");
        }
        for text in wrong {
            assert!(!takes(text), "{name}: {text}");
        }
    }

    #[test]
    fn values_are_those_of_the_agent() {
        let times =
            ["", "0", "1", "0ms", "-1ms", "ms", "1 ms", "10min", "99999999999999h", "y", "n"];
        check("interval", &["10ms", "1.5ms", "500us", "2s", "1m"], &times);
        check("wall", &["10ms", "1.5ms", "500us", "2s", "1h"], &times);
        let sizes = ["", "0", "k", "-1", "1.5m", "1t", "1 k", "1km"];
        check("memlimit", &["1", "512k", "8m", "4g"], &sizes);
        check("alloc", &["1", "512k", "1g"], &[&sizes[..], &["2g", "2147483648"]].concat());
        let names =
            ["", "a:b", "com/acme/Foo", "a b", "Lcom.acme.Foo;", "com..Foo", ".Foo", "a.[]"];
        check("include", &["com.acme.*", "*Parser", "Größe$Inner", "a,b"], &names);
        check("wall-threads", &["main", "http-*,a b"], &["", "a:b", "a,"]);
        check("depth", &["1", "2147483647"], &["0", "-1", "x", "2147483648"]);
    }
}
