//! The table of measurements: what each of them excludes, where it can begin and pause, and which
//! formats hold it.

use super::table::Options;
use super::types::{Jamaica, OutputFormat};

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurement {
    /// Stacks of threads that use CPU time.
    Samples,
    /// Every call, by call path.
    Calls,
    /// Every call, by method and call site.
    Counts,
    /// All objects at the end.
    HeapDump,
    /// Every allocation.
    Sites,
    /// Allocations, estimated from samples.
    SampledSites,
    /// Waits for monitors and locks.
    Monitors,
    /// Allocations by class.
    Aprof,
    /// The tables of `-Xprof`.
    Xprof,
    /// Stacks of all threads, by the clock.
    Wall,
    /// JamaicaVM's profile.
    Jamaica,
    /// Accesses to the fields of each object.
    Fields,
}

/// A measurement, and what goes with it.
#[derive(Debug)]
pub struct MeasurementRow {
    measurement: Measurement,
    /// The option of the agent that chooses it.
    pub(super) option: &'static str,
    /// The name in words of the agent's options.
    pub(super) agent: &'static str,
    /// The names in words of the command line.
    pub(super) command_line: &'static [&'static str],
    is_on: fn(&Options) -> bool,
    /// Whether it excludes all others.
    pub(super) is_alone: bool,
    /// Where its numbers are.
    pub(super) holder: Holder,
    /// What most of it is written on the JVM's exit, if that is so: without an exit there is none.
    pub(super) on_exit: &'static str,
    /// The reason why it cannot begin in a running JVM, if that is so.
    pub(super) start: Option<&'static FromStart>,
    /// Whether it puts probes into classes.
    changes_classes: bool,
    /// Whether it can pause, and thus also begin later than the program.
    pub(super) can_pause: bool,
    /// Whether it is always of the whole run, which cannot be cut at a time.
    pub(super) is_of_whole_run: bool,
}

/// Where the numbers of a measurement are.
#[derive(Debug)]
pub(super) enum Holder {
    /// In the agent's file, in these formats.
    Recording(&'static [OutputFormat]),
    /// In the agent's file in its extended format. With another one they are printed on stdout.
    ExtendedOrStdout,
    /// In a text file that has nothing else.
    OwnText,
    /// On stdout; if nothing else is measured, in a file where one is named.
    Stdout,
}

/// A measurement that cannot begin in a running JVM.
#[derive(Debug)]
pub(super) struct FromStart {
    pub(super) applies: fn(&Options) -> bool,
    /// What cannot begin, in words of the agent's options. Where this is empty the agent can begin it,
    /// and `perk attach` leaves it to a tool of the JDK.
    pub(super) agent: &'static str,
    /// The option with which it can begin, if there is one.
    pub(super) with: &'static str,
    /// What to do about it on the command line, beside starting the program with perk.
    pub(super) instead: &'static str,
}

const ALL_FORMATS: Holder =
    Holder::Recording(&[OutputFormat::Ascii, OutputFormat::Binary, OutputFormat::Extended]);
/// HPROF's binary format has no records for them.
const NO_BINARY: Holder = Holder::Recording(&[OutputFormat::Ascii, OutputFormat::Extended]);

/// A measurement by events or samples, which can begin and end at any time.
const BASE: MeasurementRow = MeasurementRow {
    measurement: Measurement::Samples,
    option: "",
    agent: "",
    command_line: &[],
    is_on: |_| false,
    is_alone: false,
    holder: ALL_FORMATS,
    on_exit: "",
    start: None,
    changes_classes: false,
    can_pause: true,
    is_of_whole_run: false,
};

/// All measurements, in the order of [`Measurement`], in which sentences name them.
pub(super) static MEASUREMENTS: [MeasurementRow; 12] = [
    MeasurementRow {
        measurement: Measurement::Samples,
        option: "cpu",
        agent: "cpu=samples",
        command_line: &["--cpu samples"],
        is_on: |options| options.cpu.samples,
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Calls,
        option: "cpu",
        agent: "cpu=times|old",
        command_line: &["--cpu times", "--cpu old"],
        is_on: |options| options.cpu.times.is_some(),
        holder: NO_BINARY,
        start: Some(&FromStart {
            applies: |options| options.include.is_empty(),
            agent: "calls of all methods (cpu=times and cpu=old without include=)",
            with: "include",
            instead: "name the methods to count (--include 'com.acme.*')",
        }),
        changes_classes: true,
        can_pause: false,
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Counts,
        option: "cpu",
        agent: "cpu=counts",
        command_line: &["--cpu counts"],
        is_on: |options| options.cpu.counts,
        holder: NO_BINARY,
        start: Some(&FromStart {
            applies: |options| options.include.is_empty(),
            agent: "calls of all methods (cpu=counts without include=)",
            with: "include",
            instead: "name the methods to count (--include 'com.acme.*')",
        }),
        changes_classes: true,
        can_pause: false,
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::HeapDump,
        option: "heap",
        agent: "heap=dump",
        command_line: &["--heap dump"],
        is_on: |options| options.heap_dump,
        start: Some(&FromStart {
            applies: |_| true,
            agent: "",
            with: "",
            instead: "use jcmd PID GC.heap_dump",
        }),
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Sites,
        option: "heap",
        agent: "heap=sites",
        command_line: &["--heap sites"],
        is_on: |options| options.heap_sites && options.heap_sample_bytes.is_none(),
        start: Some(&FromStart {
            applies: |_| true,
            agent: "heap=sites without sample=",
            with: "sample",
            instead: "use --alloc, which estimates",
        }),
        changes_classes: true,
        can_pause: false,
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::SampledSites,
        option: "heap",
        agent: "heap=sites with sample",
        command_line: &["--alloc"],
        is_on: |options| options.heap_sites && options.heap_sample_bytes.is_some(),
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Monitors,
        option: "monitor",
        agent: "monitor=y",
        command_line: &["--monitor", "--locks"],
        is_on: |options| options.monitor,
        holder: NO_BINARY,
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Aprof,
        option: "aprof",
        agent: "aprof",
        command_line: &["--aprof"],
        is_on: |options| options.aprof,
        holder: Holder::ExtendedOrStdout,
        start: Some(&FromStart {
            applies: |_| true,
            agent: "aprof",
            with: "",
            instead: "use --alloc, which estimates",
        }),
        changes_classes: true,
        can_pause: false,
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Xprof,
        option: "xprof",
        agent: "xprof",
        command_line: &["--xprof"],
        is_on: |options| options.xprof.is_some(),
        holder: Holder::Stdout,
        on_exit: "tables are printed",
        start: Some(&FromStart {
            applies: |_| true,
            agent: "xprof",
            with: "",
            instead: "use --cpu samples",
        }),
        can_pause: false,
        is_of_whole_run: true,
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Wall,
        option: "wall",
        agent: "wall",
        command_line: &["--wall"],
        is_on: |options| options.wall_ns.is_some(),
        holder: Holder::Recording(&[OutputFormat::Extended]),
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Jamaica,
        option: "jamaica",
        agent: "jamaica",
        command_line: &["--jamaica"],
        is_on: |options| options.jamaica.is_some(),
        is_alone: true,
        holder: Holder::OwnText,
        start: Some(&FromStart {
            applies: |_| true,
            agent: "jamaica",
            with: "",
            instead: "use --cpu samples",
        }),
        changes_classes: true,
        can_pause: false,
        is_of_whole_run: true,
        ..BASE
    },
    MeasurementRow {
        measurement: Measurement::Fields,
        option: "fields",
        agent: "fields=shared",
        command_line: &["--fields"],
        is_on: |options| options.fields,
        is_alone: true,
        holder: Holder::OwnText,
        on_exit: "objects are written",
        start: Some(&FromStart {
            applies: |_| true,
            agent: "fields=shared",
            with: "",
            instead: "",
        }),
        changes_classes: true,
        can_pause: false,
        is_of_whole_run: true,
    },
];

impl Measurement {
    /// Returns the row of the measurement.
    pub(super) fn row(self) -> &'static MeasurementRow {
        &MEASUREMENTS[self as usize]
    }

    /// Whether options ask for it.
    pub fn is_on(self, options: &Options) -> bool {
        (self.row().is_on)(options)
    }
}

impl MeasurementRow {
    /// Whether a file of the agent of this format has its numbers.
    pub(super) fn is_held_by(&self, format: OutputFormat) -> bool {
        match self.holder {
            Holder::Recording(formats) => formats.contains(&format),
            Holder::ExtendedOrStdout => format == OutputFormat::Extended,
            Holder::OwnText | Holder::Stdout => format == OutputFormat::Ascii,
        }
    }
}

impl Options {
    /// The measurements that are on.
    pub(super) fn measurements(&self) -> impl Iterator<Item = &'static MeasurementRow> {
        MEASUREMENTS.iter().filter(|row| (row.is_on)(self))
    }

    /// Whether a measurement puts probes into classes.
    pub fn changes_classes(&self) -> bool {
        self.measurements().any(|row| row.changes_classes)
    }

    /// Whether nothing is measured.
    pub fn are_idle(&self) -> bool {
        self.measurements().next().is_none()
    }

    /// Whether only this is measured.
    pub fn measure_only(&self, measurement: Measurement) -> bool {
        let mut rows = self.measurements();
        rows.next().is_some_and(|it| it.measurement == measurement) && rows.next().is_none()
    }

    /// Whether calls of methods or allocations are counted in call trees.
    pub(super) fn has_call_trees(&self) -> bool {
        let has_jamaica = self.jamaica == Some(Jamaica::All);
        self.cpu.times.is_some() || Measurement::Sites.is_on(self) || has_jamaica
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_measurement() {
        for row in &MEASUREMENTS {
            assert_eq!(row.measurement.row().measurement, row.measurement);
            assert!(!row.command_line.is_empty() && !row.agent.is_empty());
        }
    }
}
