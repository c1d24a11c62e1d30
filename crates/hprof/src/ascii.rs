//! The ASCII format (`format=a`), version 1.0.1.
//!
//! Source of the format: the HPROF manual's excerpts and files of the JDK 8 agent; see
//! `docs/formats/hprof.md`.

mod reader;
mod titles;
mod writer;

pub use reader::read;
pub use writer::Writer;

/// The line that ends the header's prose.
const PROSE_END: &str = "--------";
/// The beginning of a line of the accounting, which is in the prose of files that perk's tool
/// wrote.
const ACCOUNTING: &str = "    perk: ";
/// The serial number of the trace that announces, right before SITES, that their numbers are
/// estimates. The serial numbers of other traces begin above it, and no row refers to it.
const ESTIMATE_SERIAL: u32 = 299_999;
/// The only frame of that trace: this text, the bytes, and the text that follows.
const ESTIMATE: (&str, &str) = ("perk.estimate(one sample in ", " bytes:Unknown line)");
/// The serial number of the first trace that announces, right before CPU SAMPLES, that the next
/// such section counts them again. The serial numbers of further such traces go down from it.
const INTERIM_SERIAL: u32 = 299_998;
/// The only frame of such a trace.
const INTERIM: &str = "perk.interim(the next section counts these again:Unknown line)";
/// The texts by which SITES gives its order.
const BY_LIVE: &str = "ordered by live bytes";
const BY_ALLOCATED: &str = "ordered by allocated bytes";
/// The texts in MONITOR TIME after the class of a monitor, and after the class of a lock that
/// threads park for.
const JAVA_MONITOR: &str = " (Java)";
const PARKING: &str = " (Parking)";
/// The text after the name of a monitor of the JVM itself, in files of the agents before JDK 5.
const RAW_MONITOR: &str = " (Raw)";
/// The name for an unknown thread in WAIT and similar lines.
const UNKNOWN_THREAD: &str = "<unknown thread>";

/// Whether `head` begins a text of this format: with the header or, in an excerpt, with any record,
/// possibly after some lines of prose. Excerpts may be indented.
pub(crate) fn recognise(head: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_start);
    !head.contains(&0) && lines.any(|line| begins_record(line) || titles::is_cpu_title(line))
}

/// Returns the text after `BEGIN (total = ` in the first line of CPU TIME, also if its title is
/// `CPU TIMES`.
fn cpu_time_total(line: &[u8]) -> Option<&[u8]> {
    after_cpu_time(line)?.strip_prefix(b" BEGIN (total = ")
}

/// Returns the text after the title `CPU TIME (ms)`, which may be `CPU TIMES` and may lack the
/// unit.
fn after_cpu_time(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"CPU TIME")?;
    let rest = rest.strip_prefix(b"S").unwrap_or(rest);
    Some(rest.strip_prefix(b" (ms)").unwrap_or(rest))
}

/// Whether `line` begins a record, or a file.
fn begins_record(line: &[u8]) -> bool {
    const BEGINS: [&[u8]; 11] = [
        b"THREAD START (",
        b"THREAD END (",
        b"CPU SAMPLES BEGIN",
        b"SITES BEGIN",
        b"HEAP DUMP BEGIN",
        b"MONITOR TIME BEGIN",
        b"MONITOR DUMP BEGIN",
        b"WAIT: MONITOR ",
        b"WAITED: MONITOR ",
        b"SLEEP: timeout=",
        b"JAVA PROFILE 1.0",
    ];
    match line {
        [b'T', b'R', b'A', b'C', b'E', b' ', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            digits > 0 && rest.get(digits) == Some(&b':')
        }
        [b'A'..=b'Z', ..] => {
            BEGINS.iter().any(|begin| line.starts_with(begin))
                || after_cpu_time(line).is_some_and(|rest| rest.starts_with(b" BEGIN"))
        }
        _ => false,
    }
}
