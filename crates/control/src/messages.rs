//! The messages that the agent writes to stderr after its options are parsed: HPROF's texts and
//! exit codes.

use std::fmt;

use crate::options::{Options, TimesForm};

/// An error that ends the process. Its text goes to stderr, without the last newline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct FatalError {
    /// The message.
    pub text: String,
    /// The exit code.
    pub exit_code: i32,
    /// Whether a line `HPROF TERMINATED PROCESS` follows.
    pub terminated: bool,
}

impl FatalError {
    /// Creates an error that occurs before the program starts and ends the process with code 1,
    /// without the line `HPROF TERMINATED PROCESS`.
    fn at_start(message: &str, location: &str) -> Self {
        FatalError { text: error_line(message, location), exit_code: 1, terminated: false }
    }

    /// Creates an error that ends the process with code 9. `location` is the `file:line` shown.
    pub fn terminating(message: &str, location: &str) -> Self {
        FatalError { text: error_line(message, location), exit_code: 9, terminated: true }
    }

    /// Creates the error for an agent that is on the command line twice.
    pub fn loaded_twice() -> Self {
        FatalError::terminating(
            "Cannot load this JVM TI agent twice, \
             check your java command line for duplicate hprof options.",
            "hprof_init.c:1956",
        )
    }

    /// Creates the error for an output file that cannot be created.
    pub fn cannot_create_file(name: &str) -> Self {
        FatalError::at_start(&format!("can't create profile file: {name}"), "hprof_init.c:850")
    }

    /// Creates the error for a temporary file of a heap dump that cannot be created.
    pub fn cannot_create_temporary_file(name: &str) -> Self {
        FatalError::terminating(&format!("can't create temp heap file: {name}"), "hprof_init.c:814")
    }

    /// Creates the error for a failed connection to the address of `net`.
    pub fn cannot_connect(host: &str, port: i32) -> Self {
        let address = address(host, port);
        FatalError::at_start(&format!("can't connect to {address}"), "hprof_init.c:827")
    }

    /// Creates the error for a JVMTI function that failed.
    pub fn jvmti(message: &str, error_name: &str, error: i32, location: &str) -> Self {
        let message = format!("{message} (JVMTI Error {error_name}({error}))");
        FatalError::terminating(&message, location)
    }
}

impl fmt::Display for FatalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.terminated {
            f.write_str("\nHPROF TERMINATED PROCESS")?;
        }
        Ok(())
    }
}

/// Returns a host and a port as text, with an IPv6 address in brackets.
pub fn address(host: &str, port: i32) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The message that is shown before a command ends the program.
pub const EXIT_LINE: &str = "HPROF: received exit event, exiting ...";

/// Returns the line for an error in HPROF's style that need not end the process.
pub fn error_line(message: &str, location: &str) -> String {
    format!("HPROF ERROR: {message} [{location}]")
}

/// Returns the message that `pause=y` shows before it waits.
pub fn pause_line(pid: u32) -> String {
    format!("HPROF pause for PID {pid}")
}

/// The beginning of a dump's progress line (`verbose=y`).
pub const DUMP_BEGIN: &str = "Dumping";
/// The end of a dump's progress line.
pub const DUMP_END: &str = " done.\n";

/// Returns the part that is added to a dump's progress line each second: the megabytes of the JVM's
/// heap dump.
pub fn heap_progress(bytes: u64) -> String {
    format!(" {} MB ...", bytes >> 20)
}

/// A part of a dump. The order of the variants is that in which the parts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DumpPart {
    /// `monitor=y`
    Monitors,
    /// `heap=dump`
    Heap,
    /// `heap=sites`
    Sites,
    /// `aprof=y|between`
    Aprof,
    /// `cpu=samples`
    Samples,
    /// `wall=y`
    Wall,
    /// `cpu=times`
    Times,
    /// `cpu=old`
    Old,
    /// `jamaica=y|bytecodes`
    Jamaica,
}

impl DumpPart {
    /// Returns the parts that `options` ask for, in the order in which they are written.
    pub fn of(options: &Options) -> impl Iterator<Item = DumpPart> + use<> {
        [
            (options.monitor, DumpPart::Monitors),
            (options.heap_dump, DumpPart::Heap),
            (options.heap_sites, DumpPart::Sites),
            (options.aprof, DumpPart::Aprof),
            (options.cpu.samples, DumpPart::Samples),
            (options.wall_ns.is_some(), DumpPart::Wall),
            (options.cpu.times == Some(TimesForm::Times) || options.cpu.counts, DumpPart::Times),
            (options.cpu.times == Some(TimesForm::Old), DumpPart::Old),
            (options.jamaica.is_some(), DumpPart::Jamaica),
        ]
        .into_iter()
        .filter_map(|(wanted, part)| wanted.then_some(part))
    }

    /// Returns the text of this part in the progress line.
    pub fn progress(self) -> &'static str {
        match self {
            DumpPart::Monitors => " contended monitor usage ...",
            DumpPart::Heap => " Java heap ...",
            DumpPart::Sites => " allocation sites ...",
            DumpPart::Aprof => " allocations by class ...",
            DumpPart::Samples => " CPU usage by sampling running threads ...",
            DumpPart::Wall => " wall-clock samples ...",
            DumpPart::Times => " CPU usage by timing methods ...",
            DumpPart::Old => " CPU usage in old prof format ...",
            DumpPart::Jamaica => " JamaicaVM's profile ...",
        }
    }
}

/// The number of methods without probes whose names are written to stderr.
const MOST_NAMES: usize = 3;

/// Returns the message about the methods without probes, with their reasons; `named` are the first
/// of `count`.
pub fn skipped_methods(count: u64, named: &[&str]) -> String {
    let named = &named[..named.len().min(MOST_NAMES)];
    let methods = if count == 1 { "method" } else { "methods" };
    let more = match count.saturating_sub(named.len() as u64) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named = named.join("; ");
    format!(
        "HPROF: calls and allocations of {count} {methods} without probes are not counted: \
         {named}{more}\n"
    )
}

/// Returns the message about the patterns of `include` and `exclude` that match nothing. `patterns`
/// has the syntax of options.
pub fn unmatched_patterns(patterns: &str) -> String {
    format!("HPROF: no class or method has the name: {patterns}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::AgentAction;

    #[test]
    fn fatal_errors_read_like_the_original() {
        assert_eq!(
            FatalError::cannot_create_file("/no/x.txt").to_string(),
            "HPROF ERROR: can't create profile file: /no/x.txt [hprof_init.c:850]"
        );
        let twice = FatalError::loaded_twice();
        assert_eq!(twice.exit_code, 9);
        assert!(twice.to_string().ends_with("[hprof_init.c:1956]\nHPROF TERMINATED PROCESS"));
        assert_eq!(
            FatalError::jvmti("Cannot get it", "JVMTI_ERROR_INTERNAL", 113, "hprof_util.c:1").text,
            "HPROF ERROR: Cannot get it (JVMTI Error JVMTI_ERROR_INTERNAL(113)) [hprof_util.c:1]"
        );
    }

    #[test]
    fn methods_without_probes_are_named() {
        assert_eq!(
            skipped_methods(1, &["a.B.m()V: it is long"]),
            "HPROF: calls and allocations of 1 method without probes are not counted: \
             a.B.m()V: it is long\n"
        );
        let line = skipped_methods(12, &["a: 1", "b: 2", "c: 3", "d: 4"]);
        assert!(line.ends_with("counted: a: 1; b: 2; c: 3; and 9 more\n"), "{line}");
    }

    #[test]
    fn a_dump_names_its_parts_in_order() {
        for (options, line) in [
            (
                "cpu=y,heap=all",
                "Dumping Java heap ... allocation sites ... \
                 CPU usage by sampling running threads ... done.\n",
            ),
            (
                "cpu=times,heap=sites",
                "Dumping allocation sites ... CPU usage by timing methods ... done.\n",
            ),
            (
                "cpu=old,aprof=y",
                "Dumping allocations by class ... CPU usage in old prof format ... done.\n",
            ),
        ] {
            let Ok(AgentAction::Run(parsed)) = Options::parse(options, None) else {
                panic!("{options}");
            };
            let parts: String = DumpPart::of(&parsed).map(DumpPart::progress).collect();
            assert_eq!(format!("{DUMP_BEGIN}{parts}{DUMP_END}"), line, "{options}");
        }
        assert_eq!(heap_progress(512 << 20), " 512 MB ...");
    }
}
