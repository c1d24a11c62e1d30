//! The first line of a sample, with any choice of fields (`perf script -F`).

use super::{RECORD, UNKNOWN, frame};

/// The largest number of a thread that Linux gives.
const MAX_TID: u64 = 1 << 22;
/// The number of columns in which perf aligns a period without a time before it.
const PERIOD_COLUMNS: usize = 10;

/// The first line of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    /// The command; empty if the line has none.
    pub(super) command: &'a [u8],
    pub(super) tid: Option<&'a [u8]>,
    pub(super) time: Option<&'a [u8]>,
    pub(super) period: Option<&'a [u8]>,
    pub(super) event: &'a [u8],
    /// The rest after the event.
    pub(super) rest: &'a [u8],
}

impl<'a> Head<'a> {
    /// Takes `command pid/tid [cpu] flags time: period event: rest` apart. Each part can be missing,
    /// but there is a command with a number, a time or an event. The command can have spaces.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        let mut without_time: Option<Self> = None;
        let mut at = 0;
        let mut command_end = 0;
        while let Some((begin, end)) = next_word(line, at) {
            at = end;
            let command = line[..begin].trim_ascii();
            let heads = [
                Self::without_tid(line, begin, command_end, command),
                Self::with_tid(line, (begin, end), command),
            ];
            for head in heads.into_iter().flatten() {
                if head.time.is_some() {
                    return Some(head);
                }
                // Of the others, a period is sure, and a command is likelier than none.
                if without_time.is_none_or(|it| it.command.is_empty() && it.period.is_none()) {
                    without_time = Some(head);
                }
            }
            command_end = end;
        }
        without_time
    }

    /// Returns the head whose thread is the word from `begin` to `end`.
    fn with_tid(line: &'a [u8], (begin, end): (usize, usize), command: &'a [u8]) -> Option<Self> {
        let pid = &line[begin..end];
        let tid = pid.iter().position(|&byte| byte == b'/').map_or(pid, |slash| &pid[slash + 1..]);
        let is_pid = pid.split(|&byte| byte == b'/').all(is_digits);
        let tail = Self::tail(line, end).filter(|_| is_pid)?;
        let is_enough = match tail.period {
            // It can be the number of a thread whose name ends in a number, too.
            Some(digits) if tail.time.is_none() => is_period(line, end, digits),
            _ => !command.is_empty() || tail.has_time_or_event(),
        };
        is_enough.then_some(Self { command, tid: Some(tid), ..tail })
    }

    /// Returns the head whose fields after the command begin at `begin`, with no thread's number.
    fn without_tid(
        line: &'a [u8],
        begin: usize,
        command_end: usize,
        command: &'a [u8],
    ) -> Option<Self> {
        let tail = Self::tail(line, begin).filter(Self::has_time_or_event)?;
        let is_enough = tail.time.is_some()
            || match tail.period {
                Some(digits) => is_period(line, command_end, digits),
                None => command.is_empty() || tail.begins_with_cpu(line, begin),
            };
        is_enough.then_some(Self { command, ..tail })
    }

    /// Returns the fields from `at` on.
    fn tail(line: &'a [u8], mut at: usize) -> Option<Self> {
        let mut head =
            Head { command: b"", tid: None, time: None, period: None, event: b"", rest: b"" };
        let mut words = || {
            let (begin, end) = next_word(line, at)?;
            at = end;
            Some((&line[begin..end], begin, end))
        };
        let mut word = words();
        if word.is_some_and(|(it, ..)| is_cpu(it)) {
            word = words();
        }
        if word.is_some_and(|(it, ..)| is_flags(it)) {
            word = words();
        }
        if let Some((time, ..)) = word.filter(|(it, ..)| is_time(it)) {
            head.time = Some(time);
            word = words();
        }
        // Without an event and with no stack, the frame is next.
        let flat = word.filter(|_| head.time.is_some()).map(|(_, begin, _)| &line[begin..]);
        let has_symbol = |text: &[u8]| frame(text).is_some_and(|it| it.0 != UNKNOWN.as_bytes());
        let flat = flat.filter(|text| has_symbol(text));
        if let Some((digits, ..)) = word.filter(|(it, ..)| is_digits(it)) {
            head.period = Some(digits);
            word = words();
        }
        let Some((word, begin, end)) = word else { return Some(head) };
        let event = match word.strip_suffix(b":") {
            Some(event) => Some(event),
            None if word.starts_with(RECORD) => word.split(|&byte| byte == b'(').next(),
            None => None,
        };
        match event.filter(|event| event.iter().any(u8::is_ascii_alphabetic)) {
            Some(event) => Some(Self { event, rest: &line[end..], ..head }),
            None if flat.is_some() && head.period.is_some() && has_symbol(&line[begin..]) => {
                Some(Self { rest: &line[begin..], ..head })
            }
            None => Some(Self { period: None, rest: flat?, ..head }),
        }
    }

    fn has_time_or_event(&self) -> bool {
        self.time.is_some() || !self.event.is_empty()
    }

    /// Whether the line can only be the head of a sample: a text without numbers can be anything.
    pub(super) fn is_sure(&self) -> bool {
        self.time.is_some()
            || !self.event.is_empty() && (self.tid.is_some() || self.period.is_some())
            || !self.event.is_empty() && !self.command.is_empty()
    }

    /// Whether the line cannot be a frame: the function of a frame may look like an event.
    pub(super) fn is_no_frame(&self) -> bool {
        let has_other = !self.command.is_empty() || self.period.is_some();
        self.time.is_some() || !self.event.is_empty() && has_other
    }

    fn begins_with_cpu(&self, line: &[u8], at: usize) -> bool {
        next_word(line, at).is_some_and(|(begin, end)| is_cpu(&line[begin..end]))
    }
}

/// Whether a number after a command or a thread, with no time, can only be a period: it is too large
/// for a thread's, or is aligned as periods are. `after` is the end of the word before it.
fn is_period(line: &[u8], after: usize, digits: &[u8]) -> bool {
    let is_large = number(digits).is_none_or(|number| number > MAX_TID);
    let columns = next_word(line, after).map_or(0, |(_, end)| end - after);
    is_large || columns == PERIOD_COLUMNS + usize::from(after > 0)
}

/// Returns the start and the end of the next word from `at` on.
pub(super) fn next_word(line: &[u8], at: usize) -> Option<(usize, usize)> {
    let begin = at + line[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
    let length = line[begin..].iter().position(u8::is_ascii_whitespace);
    Some((begin, length.map_or(line.len(), |length| begin + length)))
}

fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Whether a word is the number of a processor: `[001]`.
fn is_cpu(word: &[u8]) -> bool {
    word.strip_prefix(b"[").and_then(|it| it.strip_suffix(b"]")).is_some_and(is_digits)
}

/// Whether a word is seconds with decimals and a colon.
fn is_time(word: &[u8]) -> bool {
    let parts = word.strip_suffix(b":").and_then(|it| {
        let dot = it.iter().position(|&byte| byte == b'.')?;
        Some((&it[..dot], &it[dot + 1..]))
    });
    parts.is_some_and(|(seconds, decimals)| is_digits(seconds) && is_digits(decimals))
}

/// Returns the nanoseconds of a time; `None` if they are too many.
pub(super) fn nanoseconds(time: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(time).ok()?;
    let (seconds, decimals) = text.strip_suffix(':')?.split_once('.')?;
    let nine = format!("{:0<9.9}", decimals);
    let decimals: u64 = nine.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(decimals)
}

/// Whether a word is the state of interrupts that tracepoints print: `d.h2.`.
fn is_flags(word: &[u8]) -> bool {
    (4..=6).contains(&word.len())
        && word.contains(&b'.')
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn heads_in_all_forms() {
        for (line, command, tid, has_time, period, event, rest) in [
            (
                "java 24847 24344.646439:   10101010 cpu-clock: ",
                "java",
                "24847",
                true,
                "10101010",
                "cpu-clock",
                " ",
            ),
            ("  java 1/24847 [001] 2.5: 7 cycles:u: ", "java", "24847", true, "7", "cycles:u", " "),
            ("GC Thread#0 12 3.5: cpu-clock:", "GC Thread#0", "12", true, "", "cpu-clock", ""),
            (
                "Thread 12 13 [000] d.h2. 3.5: sched:sched_switch: a=b",
                "Thread 12",
                "13",
                true,
                "",
                "sched:sched_switch",
                " a=b",
            ),
            ("java 12 cpu-clock: 7f00 f (x)", "java", "12", false, "", "cpu-clock", " 7f00 f (x)"),
            ("java 12 ", "java", "12", false, "", "", ""),
            (
                "a b 0 1.0: PERF_RECORD_COMM exec: x:1/1",
                "a b",
                "0",
                true,
                "",
                "PERF_RECORD_COMM",
                "",
            ),
            // No command.
            ("  1234  5555.100000:     250000 cycles: ", "", "1234", true, "250000", "cycles", " "),
            ("1/1234 [001] 5.1: cycles:", "", "1234", true, "", "cycles", ""),
            ("  1234     250000 cycles: ", "", "1234", false, "250000", "cycles", " "),
            ("  1234 cycles: ", "", "1234", false, "", "cycles", " "),
            ("  1234  5.1: ", "", "1234", true, "", "", ""),
            // No thread.
            ("java  5.1:     250000 cycles: ", "java", "", true, "250000", "cycles", " "),
            ("GC Thread#0 [001]  5.1: 3 cycles:", "GC Thread#0", "", true, "3", "cycles", ""),
            ("java     250000 cycles: ", "java", "", false, "250000", "cycles", " "),
            ("java 12345678 cycles: ", "java", "", false, "12345678", "cycles", " "),
            ("java [001] cycles: ", "java", "", false, "", "cycles", " "),
            // Neither.
            ("  5.1:     250000 cycles: ", "", "", true, "250000", "cycles", " "),
            ("    250000 cycles: ", "", "", false, "250000", "cycles", " "),
            ("[001]  5.1: ", "", "", true, "", "", ""),
            ("cycles: ", "", "", false, "", "cycles", " "),
            // No event.
            ("java 1234  5.1:     250000 ", "java", "1234", true, "250000", "", ""),
            ("java 1234     250000 ", "java", "1234", false, "250000", "", ""),
            ("java 1234  5.1:  7f1 f (x)", "java", "1234", true, "", "", "7f1 f (x)"),
            ("java 1234  5.1:  401136 f (x)", "java", "1234", true, "", "", "401136 f (x)"),
            ("java 1234  5.1: 3 401136 f (x)", "java", "1234", true, "3", "", "401136 f (x)"),
            ("Thread 12 13 ", "Thread 12", "13", false, "", "", ""),
        ] {
            let Some(head) = Head::of(line.as_bytes()) else { panic!("{line}") };
            let found = (text(head.command), text(head.tid.unwrap_or_default()));
            assert_eq!(found, (command, tid), "{line}");
            assert_eq!((head.time.is_some(), text(head.event)), (has_time, event), "{line}");
            assert_eq!(text(head.period.unwrap_or_default()), period, "{line}");
            if !event.starts_with("PERF") {
                assert_eq!(text(head.rest), rest, "{line}");
            }
        }
        for line in ["", "java", "main;a;b 12x", "12 13:", "12", "  file.java:12"] {
            assert_eq!(Head::of(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn times_in_any_precision() {
        for (time, ns) in [
            ("24344.646439:", Some(24_344_646_439_000)),
            ("5.25:", Some(5_250_000_000)),
            ("0.0000000019:", Some(1)),
            ("99999999999999.0:", None),
            ("99999999999999999999999.0:", None),
        ] {
            assert_eq!(nanoseconds(time.as_bytes()), ns, "{time}");
        }
    }
}
