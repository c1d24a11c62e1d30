//! The agent's messages on stderr after its options are parsed: HPROF's texts and exit codes.

use std::fmt;

use crate::options::{Options, TimesForm};

/// An error that ends the process. Its text is what goes to stderr, without the last newline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Fatal {
    /// The message.
    pub text: String,
    /// The exit code.
    pub exit_code: i32,
    /// Whether a line `HPROF TERMINATED PROCESS` follows.
    pub terminated: bool,
}

impl Fatal {
    /// An error before the program starts, which ends the process quietly with code 1.
    fn at_start(message: &str, location: &str) -> Self {
        Fatal { text: error_line(message, location), exit_code: 1, terminated: false }
    }

    /// An error that takes the process down with code 9. `location` is the `file:line` shown.
    pub fn terminating(message: &str, location: &str) -> Self {
        Fatal { text: error_line(message, location), exit_code: 9, terminated: true }
    }

    /// The agent is on the command line twice.
    pub fn loaded_twice() -> Self {
        Fatal::terminating(
            "Cannot load this JVM TI agent twice, \
             check your java command line for duplicate hprof options.",
            "hprof_init.c:1956",
        )
    }

    /// The output file cannot be made.
    pub fn cannot_create_file(name: &str) -> Self {
        Fatal::at_start(&format!("can't create profile file: {name}"), "hprof_init.c:850")
    }

    /// The temporary file of a heap dump cannot be made.
    pub fn cannot_create_temporary_file(name: &str) -> Self {
        Fatal::terminating(&format!("can't create temp heap file: {name}"), "hprof_init.c:814")
    }

    /// Nobody listens at the address of `net`.
    pub fn cannot_connect(host: &str, port: i32) -> Self {
        let address = address(host, port);
        Fatal::at_start(&format!("can't connect to {address}"), "hprof_init.c:827")
    }

    /// A JVMTI function failed.
    pub fn jvmti(message: &str, error_name: &str, error: i32, location: &str) -> Self {
        let message = format!("{message} (JVMTI Error {error_name}({error}))");
        Fatal::terminating(&message, location)
    }
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.terminated {
            f.write_str("\nHPROF TERMINATED PROCESS")?;
        }
        Ok(())
    }
}

/// A host and a port as they are written, with an IPv6 address in brackets.
pub fn address(host: &str, port: i32) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The message before a command ends the program.
pub const EXIT_LINE: &str = "HPROF: received exit event, exiting ...";

/// An error in HPROF's form that need not end the process.
pub fn error_line(message: &str, location: &str) -> String {
    format!("HPROF ERROR: {message} [{location}]")
}

/// The message of `pause=y` before it waits.
pub fn pause_line(pid: u32) -> String {
    format!("HPROF pause for PID {pid}")
}

/// The beginning of a dump's progress line (`verbose=y`).
pub const DUMP_BEGIN: &str = "Dumping";
/// The end of a dump's progress line.
pub const DUMP_END: &str = " done.\n";

/// The part of a dump's progress line that is added each second: megabytes of the JVM's heap dump.
pub fn heap_progress(bytes: u64) -> String {
    format!(" {} MB ...", bytes >> 20)
}

/// A part of a dump, in the order in which they are written.
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
    /// `cpu=times`
    Times,
    /// `cpu=old`
    Old,
}

impl DumpPart {
    /// The parts that `options` ask for, in order.
    pub fn of(options: &Options) -> impl Iterator<Item = DumpPart> + use<> {
        [
            (options.monitor, DumpPart::Monitors),
            (options.heap_dump, DumpPart::Heap),
            (options.heap_sites, DumpPart::Sites),
            (options.aprof, DumpPart::Aprof),
            (options.cpu.samples, DumpPart::Samples),
            (options.cpu.times == Some(TimesForm::Times), DumpPart::Times),
            (options.cpu.times == Some(TimesForm::Old), DumpPart::Old),
        ]
        .into_iter()
        .filter_map(|(wanted, part)| wanted.then_some(part))
    }

    /// The text of this part in the progress line.
    pub fn progress(self) -> &'static str {
        match self {
            DumpPart::Monitors => " contended monitor usage ...",
            DumpPart::Heap => " Java heap ...",
            DumpPart::Sites => " allocation sites ...",
            DumpPart::Aprof => " allocations by class ...",
            DumpPart::Samples => " CPU usage by sampling running threads ...",
            DumpPart::Times => " CPU usage by timing methods ...",
            DumpPart::Old => " CPU usage in old prof format ...",
        }
    }
}

/// The number of methods without probes that are named on stderr.
const MOST_NAMES: usize = 3;

/// The methods without probes, with their reasons; `named` are the first of `count`.
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

/// The patterns of `include` and `exclude` without a match, as options.
pub fn unmatched_patterns(patterns: &str) -> String {
    format!("HPROF: no class or method has the name: {patterns}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Parsed;

    #[test]
    fn fatal_errors_read_like_the_original() {
        assert_eq!(
            Fatal::cannot_create_file("/no/x.txt").to_string(),
            "HPROF ERROR: can't create profile file: /no/x.txt [hprof_init.c:850]"
        );
        let twice = Fatal::loaded_twice();
        assert_eq!(twice.exit_code, 9);
        assert!(twice.to_string().ends_with("[hprof_init.c:1956]\nHPROF TERMINATED PROCESS"));
        assert_eq!(
            Fatal::jvmti("Cannot get it", "JVMTI_ERROR_INTERNAL", 113, "hprof_util.c:1").text,
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
            let Ok(Parsed::Run(parsed)) = Options::parse(options, None) else {
                panic!("{options}");
            };
            let parts: String = DumpPart::of(&parsed).map(DumpPart::progress).collect();
            assert_eq!(format!("{DUMP_BEGIN}{parts}{DUMP_END}"), line, "{options}");
        }
        assert_eq!(heap_progress(512 << 20), " 512 MB ...");
    }
}
