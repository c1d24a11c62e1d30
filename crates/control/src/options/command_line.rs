//! The arguments of `perk run` and `perk attach` that set options of the agent, and the messages about
//! them. (The agent does not use this module.)

use super::measurements::{Holder, MEASUREMENTS, MeasurementRow};
use super::numbers;
use super::row::{Argument, OptionRow};
use super::rules::{Reason, Refusal, list, whole_runs};
use super::table::{Options, ROWS};
use super::types::OutputFormat;

/// The arguments that a person gave, and the options of the agent that they set.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// The options. What the arguments do not set has the agent's default.
    pub options: Options,
    given: Vec<ArgumentValues>,
}

/// An argument with its values.
#[derive(Clone, Debug)]
struct ArgumentValues {
    row: &'static OptionRow,
    argument: &'static Argument,
    values: Vec<String>,
}

/// Returns the arguments, in the order of the help.
pub fn arguments() -> Vec<&'static Argument> {
    let mut arguments: Vec<_> = ROWS.iter().flat_map(|row| row.arguments).collect();
    arguments.sort_by_key(|argument| argument.position);
    arguments
}

impl Argument {
    /// The option that it sets.
    fn row(&self) -> &'static OptionRow {
        let is_own = |row: &&OptionRow| row.arguments.iter().any(|it| it.long == self.long);
        ROWS.iter().find(is_own).expect("arguments are parts of rows")
    }

    /// Checks that it can have this value. A time needs a unit on a command line; only in the agent's
    /// options it can be without one, as in those of the original.
    ///
    /// # Errors
    /// It cannot; what to write instead.
    pub fn check(&self, text: &str) -> Result<(), &'static str> {
        let value = self.row().value;
        if value.is_time() {
            numbers::time_ns(text)?;
        }
        // The command line gives each name by itself.
        let has_several = self.is_list && text.contains(':');
        let is_right = !has_several && value.set(&mut Options::default(), text).is_some();
        if is_right { Ok(()) } else { Err(self.hint) }
    }

    /// The value of the option; `None` keeps it.
    fn value(&self, values: &[String]) -> Option<String> {
        let of_word = |value: &String| match self.words.iter().find(|word| word.name == value) {
            Some(word) => word.value.map(str::to_owned),
            None => Some(value.clone()),
        };
        match values {
            [] => (!self.plain.is_empty()).then(|| self.plain.to_owned()),
            values => {
                let values: Vec<String> = values.iter().filter_map(of_word).collect();
                // The options' own separator.
                (!values.is_empty()).then(|| values.join(":"))
            }
        }
    }
}

impl Default for CommandLine {
    /// Returns the line without arguments.
    fn default() -> Self {
        let mut options = Options::default();
        for argument in arguments().into_iter().filter(|it| !it.default.is_empty()) {
            set(&mut options, argument.row(), argument.default);
        }
        Self { options, given: Vec::new() }
    }
}

fn row(name: &str) -> &'static OptionRow {
    ROWS.iter().find(|row| row.name == name).expect("an option of the table")
}

fn set(options: &mut Options, row: &OptionRow, value: &str) {
    let is_set = row.value.set(options, value).is_some();
    debug_assert!(is_set, "{}={value}", row.name);
}

impl CommandLine {
    /// Adds an argument with its values, which it [can have](Argument::check).
    pub fn give(&mut self, argument: &'static Argument, values: Vec<String>) {
        let row = argument.row();
        if argument.requires.is_empty() || self.has(argument.requires) {
            for &(name, value) in argument.also {
                set(&mut self.options, self::row(name), value);
            }
            if let Some(value) = argument.value(&values) {
                set(&mut self.options, row, &value);
            }
        }
        self.given.push(ArgumentValues { row, argument, values });
    }

    /// Adds what is measured if no argument says what to measure.
    pub fn measure_by_default(options: &mut Options) {
        set(options, row("budget"), "cpu:waits:locks:alloc");
    }

    /// Sets the depth of stacks that commands have without an argument: the agent's own is HPROF's.
    pub fn deepen(options: &mut Options) {
        let row = row("depth");
        row.arguments.iter().for_each(|argument| set(options, row, argument.default));
    }

    /// The names of the arguments that were given.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.given.iter().map(|it| it.argument.long)
    }

    /// Whether an argument was given.
    pub fn has(&self, long: &str) -> bool {
        self.given.iter().any(|it| it.argument.long == long)
    }

    /// Returns the first argument that chooses a measurement.
    pub fn first_measurement(&self) -> Option<String> {
        let mut chosen = self.given.iter().filter(|it| it.argument.is_measurement);
        chosen.next().map(|given| format!("--{}", given.argument.long))
    }

    /// Checks the options that follow from the arguments.
    ///
    /// # Errors
    /// The argument that has no effect, or what cannot be together, in one line.
    pub fn check(&self, options: &Options) -> Result<(), String> {
        let refusal = options.refusal(&[]);
        if let Some(Refusal(Reason::Others(_))) = refusal {
            return self.refused(refusal, options);
        }
        for ArgumentValues { row, argument, .. } in &self.given {
            if !argument.requires.is_empty() && !self.has(argument.requires) {
                return Err(format!("--{} works only with --{}", argument.long, argument.requires));
            }
            if let Some(needs) = argument.needs.or(row.needs)
                && !needs.are_met(options)
            {
                let names: Vec<&str> =
                    needs.of.iter().flat_map(|it| it.row().command_line).copied().collect();
                let what = match needs.command_line {
                    "" => list(&names, "or"),
                    text => text.to_owned(),
                };
                return Err(format!("--{} works only with {what}", argument.long));
            }
        }
        if options.heap_dump && options.measurements().any(has_no_place_beside_a_dump) {
            let rows = MEASUREMENTS.iter().filter(|row| has_no_place_beside_a_dump(row));
            let rows = rows.filter(|row| !row.is_alone);
            let names: Vec<&str> = rows.flat_map(|row| row.command_line).copied().collect();
            let names = list(&names, "and");
            return Err(format!(
                "a heap dump that other tools read has no place for {names}: run twice"
            ));
        }
        self.refused(refusal, options)
    }

    /// Checks that the measurements can begin in a running JVM.
    ///
    /// # Errors
    /// The measurement, and what there is instead, in one line.
    pub fn check_attach(&self, options: &Options) -> Result<(), String> {
        let Some((first, start)) = options.starts().next() else { return Ok(()) };
        let alike = options.starts().filter(|(row, _)| row.option == first.option);
        let alike: Vec<_> = alike.map(|(_, start)| start).collect();
        let mut name = self.name(first);
        if !start.with.is_empty() && alike.len() == 1 {
            name = format!("{name} without --{}", start.with);
        }
        let advice: Vec<&str> =
            alike.iter().map(|start| start.instead).filter(|it| !it.is_empty()).collect();
        let or = if advice.is_empty() { "" } else { ", or " };
        let advice = advice.join(" and ");
        Err(format!(
            "{name} cannot begin in a running program: {advice}{or}start the program with perk run"
        ))
    }

    fn refused(&self, refusal: Option<Refusal>, options: &Options) -> Result<(), String> {
        let Some(refusal) = refusal else { return Ok(()) };
        Err(match &refusal.0 {
            Reason::Others(row) => {
                let name = self.name(row);
                format!("{name} measures alone: run once with it and once with the others")
            }
            Reason::WholeRun => {
                let name = if options.delay_ns.is_some() { "--delay" } else { "--duration" };
                let names: Vec<&str> =
                    whole_runs().flat_map(|row| row.command_line).copied().collect();
                format!("{name}: {} measure the whole run", list(&names, "and"))
            }
            Reason::NoPause(row) => {
                format!("--paused: {} is measured from the start", self.name(row))
            }
            Reason::Clash(clash) if !clash.command_line.is_empty() => clash.command_line.to_owned(),
            // What the arguments cannot express.
            _ => refusal.for_agent(options),
        })
    }

    /// The name of a measurement, as it was given.
    fn name(&self, row: &MeasurementRow) -> String {
        let chooses = |given: &&ArgumentValues| {
            let is_other = given.argument.also.iter().any(|it| it.0 == row.option);
            given.argument.is_measurement && (given.row.name == row.option || is_other)
        };
        match self.given.iter().find(chooses) {
            Some(ArgumentValues { argument, values, .. }) => match values.first() {
                Some(value) if !argument.is_optional => format!("--{} {value}", argument.long),
                _ => format!("--{}", argument.long),
            },
            None => row.command_line[0].to_owned(),
        }
    }
}

/// Whether a file that other tools read as a heap dump does not have the numbers.
fn has_no_place_beside_a_dump(row: &MeasurementRow) -> bool {
    !matches!(row.holder, Holder::Stdout) && !row.is_held_by(OutputFormat::Binary)
}
