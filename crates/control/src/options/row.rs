//! The types of the table's rows.

use super::measurements::Measurement;
use super::table::Options;
use super::value::Value;

/// An option: its names, its values, and the texts on it.
#[derive(Debug)]
pub(super) struct OptionRow {
    /// The name in the agent's options.
    pub(super) name: &'static str,
    /// The values, as the agent's help shows them.
    pub(super) values: &'static str,
    /// The line of the agent's help.
    pub(super) about: &'static str,
    /// The default, as the agent's help shows it.
    pub(super) default: &'static str,
    pub(super) section: Section,
    /// The syntax that the message for an empty value shows after the name; without it, `rule` is
    /// quoted.
    pub(super) form: Option<&'static str>,
    /// The requirement that the message for a wrong value states.
    pub(super) rule: &'static str,
    pub(super) value: Value,
    /// The values that perk adds to the original's and documents, if it does.
    pub(super) addition: Option<&'static Addition>,
    /// What has to be measured for the option to have an effect, if that is not always so.
    pub(super) needs: Option<&'static Needs>,
    /// Whether the agent takes the option where it has no effect, as HPROF did. The command line
    /// refuses it.
    pub(super) is_lenient: bool,
    /// What cannot be together with the option.
    pub(super) clash: Option<&'static Clash>,
    /// The paragraphs of `docs/options.md`.
    pub(super) note: &'static str,
    /// The arguments of `perk run` and `perk attach` that set the option.
    pub(super) arguments: &'static [Argument],
}

/// The part of a row that the agent needs. (The texts for documents and for the command line are not
/// in its library.)
#[derive(Clone, Copy, Debug)]
pub(super) struct AgentOption {
    pub(super) name: &'static str,
    /// The default, if it matters whether a value is another one.
    pub(super) default: Option<&'static str>,
    pub(super) form: Option<&'static str>,
    pub(super) rule: &'static str,
    pub(super) value: Value,
    pub(super) needs: Option<&'static Needs>,
    pub(super) is_lenient: bool,
    pub(super) clash: Option<&'static Clash>,
}

impl OptionRow {
    pub(super) const fn for_agent(&self) -> AgentOption {
        AgentOption {
            name: self.name,
            default: if self.needs.is_some() { Some(self.default) } else { None },
            form: self.form,
            rule: self.rule,
            value: self.value,
            needs: self.needs,
            is_lenient: self.is_lenient,
            clash: self.clash,
        }
    }
}

/// The place of an option in the help text and the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Main,
    Obsolete,
    /// The original accepted it but did not document it.
    Undocumented,
    /// perk's own.
    Perk,
    /// It is refused with a hint.
    Removed,
}

/// A value that perk accepts in addition to the original's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addition {
    pub(super) values: &'static str,
    pub(super) about: &'static str,
}

/// What an option or an argument has an effect on.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// The measurements, in the order in which they are named: one of them has to be on.
    pub(super) of: &'static [Measurement],
    /// A condition instead of "one of them is on".
    pub(super) is_met: Option<fn(&Options) -> bool>,
    /// The condition in words of the agent's options, if the names of the measurements do not say it.
    pub(super) agent: &'static str,
    /// The condition in words of the command line, likewise.
    pub(super) command_line: &'static str,
}

impl Needs {
    /// The values of the fields that most share.
    pub(super) const BASE: Needs = Needs { of: &[], is_met: None, agent: "", command_line: "" };

    pub(super) const fn one_of(of: &'static [Measurement]) -> Needs {
        Needs { of, ..Needs::BASE }
    }

    pub(super) fn are_met(&self, options: &Options) -> bool {
        match self.is_met {
            Some(is_met) => is_met(options),
            None => self.of.iter().any(|it| it.is_on(options)),
        }
    }
}

/// Values that contradict each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clash {
    pub(super) is_there: fn(&Options) -> bool,
    /// The sentence in words of the agent's options.
    pub(super) agent: &'static str,
    /// The sentence in words of the command line, if the clash can be there.
    pub(super) command_line: &'static str,
}

/// An argument of `perk run` and `perk attach` that sets an option of the agent.
#[derive(Debug)]
pub struct Argument {
    /// The name, without `--`.
    pub long: &'static str,
    /// Another name.
    pub alias: &'static str,
    /// The position in the help.
    pub position: usize,
    /// The line of the help.
    pub help: &'static str,
    /// The name of its value in the help; empty if it takes none.
    pub value_name: &'static str,
    /// The value of the option if the argument takes none, or is given without one. If it is empty, the
    /// argument is for the command line alone.
    pub plain: &'static str,
    /// Whether it can be given without its value.
    pub is_optional: bool,
    /// Whether it takes several values, with commas or repeated.
    pub is_list: bool,
    /// The values that it can have; empty for values that the option's own syntax describes.
    pub words: &'static [Word],
    /// The range of a number.
    pub range: Option<(i64, i64)>,
    /// What to write instead of a wrong value.
    pub hint: &'static str,
    /// The value if the argument is not given.
    pub default: &'static str,
    /// Other options that it sets, with their values.
    pub also: &'static [(&'static str, &'static str)],
    /// The arguments that it cannot be with.
    pub conflicts: &'static [&'static str],
    /// The argument that has to be there, too; without it, this one sets nothing.
    pub requires: &'static str,
    /// Whether it selects a measurement.
    pub is_measurement: bool,
    /// Whether it is for programs that perk starts only. The help of `perk attach` leaves it out.
    pub is_from_start: bool,
    /// What it has an effect on, if that is not what its option has an effect on.
    pub needs: Option<&'static Needs>,
}

/// A value of an argument.
#[derive(Debug)]
pub struct Word {
    /// The value on the command line.
    pub name: &'static str,
    /// The option's value, if it has another name; `None` keeps the option.
    pub value: Option<&'static str>,
    /// The line of the help.
    pub help: &'static str,
}

impl Word {
    /// A value that has the same name in the agent's options.
    pub(super) const fn new(name: &'static str, help: &'static str) -> Word {
        Word { name, value: Some(name), help }
    }
}
