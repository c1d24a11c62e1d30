//! The rules for measurements and options together, and the sentences of the agent about them. Those of
//! the command line are in `command_line.rs`.

use super::measurements::{FromStart, Holder, MEASUREMENTS, MeasurementRow};
use super::row::{AgentOption, Clash, Needs};
use super::table::{OPTIONS, Options};
use super::types::OutputFormat;

/// What cannot be, and why.
#[derive(Debug)]
pub struct Refusal(pub(super) Reason);

/// An option with the text of its value.
pub(super) type OptionText<'a> = (&'static AgentOption, &'a str);

/// The rule that options break.
#[derive(Debug)]
pub(super) enum Reason {
    /// The measurement excludes all others, and is not alone.
    Others(&'static MeasurementRow),
    /// The file's format has no place for the numbers of the measurement.
    Format(&'static MeasurementRow, OutputFormat),
    /// The measurement writes a file in its own format, which no option selects and no peer receives.
    OwnFile(&'static MeasurementRow),
    /// The measurement prints on stdout, and there is a peer.
    Peer(&'static MeasurementRow),
    /// The measurement prints text, and nothing else has that format.
    OnlyText(&'static MeasurementRow),
    /// Nothing is dumped on exit.
    Exit(&'static MeasurementRow),
    /// The option has no effect with this value.
    NoEffect(&'static AgentOption, &'static Needs, String),
    /// Values contradict each other.
    Clash(&'static Clash),
    /// The options select a part of the run.
    WholeRun,
    /// The measurement is to begin later, or to pause, and cannot.
    NoPause(&'static MeasurementRow),
    /// The measurement cannot begin in a running JVM.
    Start(&'static FromStart),
    /// A peer cannot be there in a running JVM.
    PeerStart,
}

impl Options {
    /// Returns what cannot be together. `given` has the options that were named, with their values.
    pub(super) fn refusal(&self, given: &[OptionText<'_>]) -> Option<Refusal> {
        let reason = self.of_measurements().or_else(|| self.of_options(given));
        reason.or_else(|| self.of_time()).map(Refusal)
    }

    /// Returns the reason why the options cannot begin in a running JVM.
    pub fn refusal_to_attach(&self) -> Option<Refusal> {
        let mut starts = self.starts().filter(|(_, start)| !start.agent.is_empty());
        let reason = starts.next().map(|(_, start)| Reason::Start(start));
        reason.or_else(|| self.has_peer().then_some(Reason::PeerStart)).map(Refusal)
    }

    /// Returns the reason why the recording cannot pause.
    pub fn refusal_to_pause(&self) -> Option<Refusal> {
        self.measurements().find(|row| !row.can_pause).map(|row| Refusal(Reason::NoPause(row)))
    }

    /// The measurements that cannot begin in a running JVM.
    pub(super) fn starts(
        &self,
    ) -> impl Iterator<Item = (&'static MeasurementRow, &'static FromStart)> {
        self.measurements()
            .filter_map(|row| Some((row, row.start?)))
            .filter(|(_, start)| (start.applies)(self))
    }

    fn of_measurements(&self) -> Option<Reason> {
        let count = self.measurements().count();
        if let Some(row) = self.measurements().find(|row| row.is_alone && count > 1) {
            return Some(Reason::Others(row));
        }
        self.measurements().find_map(|row| {
            let is_text = self.format == OutputFormat::Ascii;
            match row.holder {
                Holder::Recording(_) if !row.is_held_by(self.format) => {
                    Some(Reason::Format(row, self.format))
                }
                Holder::OwnText if !is_text || self.has_peer() => Some(Reason::OwnFile(row)),
                Holder::Stdout if self.has_peer() => Some(Reason::Peer(row)),
                _ if !row.on_exit.is_empty() && !self.doe => Some(Reason::Exit(row)),
                Holder::Stdout if count == 1 && !is_text => Some(Reason::OnlyText(row)),
                _ => None,
            }
        })
    }

    fn of_options(&self, given: &[OptionText<'_>]) -> Option<Reason> {
        OPTIONS.iter().find_map(|option| {
            if let Some(needs) = option.needs.filter(|_| !option.is_lenient)
                && !needs.are_met(self)
                && let Some(&(_, value)) = given.iter().rfind(|it| it.0.name == option.name)
                && option.default != Some(value)
            {
                return Some(Reason::NoEffect(option, needs, value.to_owned()));
            }
            option.clash.filter(|clash| (clash.is_there)(self)).map(Reason::Clash)
        })
    }

    fn of_time(&self) -> Option<Reason> {
        let is_part = self.delay_ns.is_some() || self.duration_ns.is_some();
        if is_part && self.measurements().any(|row| row.is_of_whole_run) {
            return Some(Reason::WholeRun);
        }
        self.refusal_to_pause().filter(|_| !self.start).map(|refusal| refusal.0)
    }
}

impl Refusal {
    /// The sentence, in words of the agent's options.
    pub fn for_agent(&self, options: &Options) -> String {
        match &self.0 {
            Reason::Others(row) => {
                let mut others: Vec<&str> = Vec::new();
                for other in MEASUREMENTS.iter().map(|it| it.option).filter(|&it| it != row.option)
                {
                    if !others.contains(&other) {
                        others.push(other);
                    }
                }
                let others = list(&others, "or");
                format!("{} cannot be used with {others}: run the program once for each", row.agent)
            }
            // HPROF's own sentence.
            Reason::Format(row, format) if row.is_held_by(OutputFormat::Ascii) => {
                format!("{} is not supported with format={}", row.agent, format.letter())
            }
            Reason::Format(row, _) => {
                let name = row.agent;
                format!("{name} is only supported with format=p: HPROF has no record for it")
            }
            Reason::OwnFile(row) => {
                let name = row.agent;
                format!("{name} writes text to a file; it is not supported with format and net")
            }
            Reason::Peer(row) => {
                let name = row.agent;
                format!("{name} prints text on stdout or to a file; it is not supported with net")
            }
            Reason::OnlyText(row) => {
                let name = row.agent;
                format!("{name} prints text; format is only supported with another analysis")
            }
            Reason::Exit(row) => {
                let (name, what) = (row.agent, row.on_exit);
                format!("{name} is not supported with doe=n: most {what} on exit")
            }
            Reason::NoEffect(option, needs, value) => {
                let who = match option.value.has_two() {
                    true => format!("{}={value}", option.name),
                    false => option.name.to_owned(),
                };
                format!("{who} is only supported with {}", needs.for_agent())
            }
            Reason::Clash(clash) => clash.agent.to_owned(),
            Reason::WholeRun => {
                let names: Vec<&str> = whole_runs().map(|row| row.option).collect();
                let names = list(&names, "and");
                format!(
                    "delay and duration are not supported with {names}, which measure the whole run"
                )
            }
            Reason::NoPause(row) if options.start => {
                format!("perk cannot pause exact counts: {}", row.agent)
            }
            Reason::NoPause(row) => {
                format!(
                    "start=n does not work with measurements that begin with the program: {}",
                    row.agent
                )
            }
            Reason::Start(start) => of_start(start.agent),
            Reason::PeerStart => of_start("net"),
        }
    }
}

fn of_start(what: &str) -> String {
    format!(
        "{what} can only be measured from the program's start: start the program with it, by perk run \
         or -agentpath"
    )
}

/// The measurements that are always of the whole run.
pub(super) fn whole_runs() -> impl Iterator<Item = &'static MeasurementRow> {
    MEASUREMENTS.iter().filter(|row| row.is_of_whole_run)
}

impl Needs {
    fn for_agent(&self) -> String {
        let names: Vec<&str> = self.of.iter().map(|it| it.row().agent).collect();
        if self.agent.is_empty() { list(&names, "or") } else { self.agent.to_owned() }
    }
}

/// Names in a sentence: `a, b and c`.
pub(super) fn list(names: &[&str], conjunction: &str) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} {conjunction} {last}", names.join(", ")),
    }
}
