//! The formats that perk knows, and their table.

use crate::file_format::FileFormat;
use crate::foreign::foreign;
use crate::{
    async_profiler, collapsed, fields_page, flamegraph, hprof, jamaica, jfr, perf_script, pprof,
    shared_fields, speedscope, svg, xprof,
};

/// All formats, in the order in which they are recognised. Formats that match many files come last.
pub static FORMATS: [&dyn FileFormat; 17] = [
    &hprof::Text,
    &hprof::Binary,
    &hprof::OldTable,
    &jfr::Jfr,
    &hprof::Aprof,
    &fields_page::FieldsPage,
    &flamegraph::FlameGraph,
    &svg::Svg,
    &speedscope::Speedscope,
    &jamaica::Jamaica,
    &xprof::Xprof,
    &async_profiler::AsyncProfiler,
    &perf_script::PerfScript,
    &shared_fields::ByObjectFormat,
    &shared_fields::AlikeFormat,
    &collapsed::CollapsedStacks,
    &pprof::Pprof,
];

/// The number of bytes of a file that [`recognise`] looks at.
pub const HEAD_BYTES: u64 = 64 * 1024;

/// Returns the format of a file that begins with `head`.
pub fn recognise(head: &[u8]) -> Option<&'static dyn FileFormat> {
    let format = FORMATS.into_iter().find(|format| format.recognise(head))?;
    // Whatever ends in a number may be a line of stacks.
    let is_foreign = format.name() == collapsed::NAME && foreign(head).is_some();
    (!is_foreign).then_some(format)
}

/// Returns the format of a name.
pub fn by_name(name: &str) -> Option<&'static dyn FileFormat> {
    FORMATS.into_iter().find(|format| format.name() == name)
}

/// Returns the table of all formats.
pub fn table() -> String {
    let mut table = format!(
        "{:<11} {:<16} {:<5} {:<6}  {:<20} keeps\n",
        "format", "ending", "reads", "writes", "what"
    );
    let yes = |is_it| if is_it { "yes" } else { "-" };
    for format in FORMATS {
        let (reads, writes) = (yes(format.is_read()), yes(format.is_written()));
        let (name, ending, title) = (format.name(), format.ending(), format.title());
        let keeps = format.facts().keeps;
        table += &format!("{name:<11} .{ending:<15} {reads:<5} {writes:<6}  {title:<20} {keeps}\n");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides() {
        let check = |head: &[u8], name| {
            assert_eq!(recognise(head).map(|format| format.name()), name, "{head:?}");
        };
        check(b"JAVA PROFILE 1.0.1, created Fri", Some("txt"));
        check(b"JAVA PROFILE 1.0.1\0\0\0\0\x08", Some("hprof"));
        check(b"count callee caller time\n", Some("prof"));
        check(b"CPU SAMPLES BEGIN (total = 9) Wed Jan 12 11:26:47 2000\n", Some("txt"));
        check(b"in prose:\n\nTRACE 204:\njava/lang/A.f(A.java:1)\n", Some("txt"));
        check(b"handles_used: 1174, handles_free: 339046", Some("prof"));
        check(
            b"its output\nAllocation profile (sizes in bytes, cutoff = 0 bytes):\n",
            Some("aprof"),
        );
        check(b"\nAllocation profile (sizes in bytes, cutoff = 0 bytes):\n", Some("aprof"));
        check(b"main;a;b 12\n", Some("collapsed"));
        check(b"FLR\0\0\x02\0\x01", Some("jfr"));
        check(b"a 1", Some("collapsed"));
        check(
            b"\n<!DOCTYPE html><script type=\"application/json\" id=\"perk-data\">",
            Some("html"),
        );
        check(b"\n<!DOCTYPE html><title>", None);
        check(b"done 5\n\nFlat profile of 1.50 secs (9 total ticks): main\n", Some("xprof"));
        check(b"--- Execution profile ---\nTotal samples : 9\n", Some("async"));
        check(b"java 7 5.25: 3 cycles:u: \n\t7f f (x)\n", Some("perf"));
        for head in [&b""[..], b"JAVA PROF", b"# README\n", b"a;b\nc 1\n", b"\xff\xfe 12\n"] {
            check(head, None);
        }
    }
}
