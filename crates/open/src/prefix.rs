//! Texts with a prefix before each line: that of a build tool, such as Ant's `     [java] `, or that of a
//! log, such as `web-1  | ` or `Nov 26 12:00:00 host java[7]: `.

mod log;

use std::io::{self, BufRead, BufReader, Read};

use log::Log;

/// The most bytes of a line that are held at a time.
const PART_BYTES: u64 = 1 << 16;

/// The prefix of the lines of a text.
#[derive(Clone, Debug)]
pub(crate) enum Prefix {
    /// The name of a task in brackets, before some lines.
    Task,
    /// A prefix of a log.
    Log(Log),
}

impl Prefix {
    /// Returns the prefix of the lines of a text that begins with `head`, if that is certain.
    pub(crate) fn of_head(head: &[u8]) -> Option<Self> {
        if head.contains(&0) {
            return None;
        }
        if has_tasks(head) {
            return Some(Self::Task);
        }
        let format = perk_formats::recognise(head).map(|format| format.name());
        Log::of_lines(&whole_lines(head), format).map(Self::Log)
    }

    /// Returns what was removed, for people; call it when the text was read.
    pub(crate) fn note(&self) -> Option<String> {
        match self {
            Self::Task => None,
            Self::Log(log) => Some(log.note()),
        }
    }

    /// Returns the rest of the line of this number; `None` if the text does not have the line.
    fn strip<'l>(&self, line: &'l [u8], number: u64) -> Option<&'l [u8]> {
        match self {
            Self::Task => Some(after_task(line).unwrap_or(line)),
            Self::Log(log) => log.strip(line, number),
        }
    }
}

/// Returns the lines of a head, without one that is cut off.
fn whole_lines(head: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = head.split_inclusive(|&byte| byte == b'\n').collect();
    if lines.len() > 1 {
        lines.pop_if(|line| !line.ends_with(b"\n"));
    }
    lines
}

/// Whether the lines of a text that begins with `head` have a prefix: all of them, or some of a
/// text that is a profile only without it.
fn has_tasks(head: &[u8]) -> bool {
    let mut lines = whole_lines(head);
    lines.retain(|line| !line.trim_ascii().is_empty());
    let rests: Vec<_> = lines.iter().map(|line| after_task(line)).collect();
    if rests.iter().all(Option::is_none) {
        return false;
    }
    // A frame of which nothing is known may be alone on its line: `[unknown] 12`.
    let is_number = |rest: &[u8]| rest.trim_ascii().iter().all(u8::is_ascii_digit);
    let has_words = rests.iter().flatten().any(|rest| !is_number(rest));
    let all_have = rests.iter().all(Option::is_some) && has_words;
    if !all_have && perk_formats::recognise(head).is_some() {
        return false;
    }
    let stripped = lines.iter().zip(rests).flat_map(|(line, rest)| rest.unwrap_or(line)).copied();
    perk_formats::recognise(&stripped.collect::<Vec<u8>>()).is_some()
}

/// Returns the text after blanks and the name of a task in brackets, with one blank; `None` if
/// `line` does not begin so.
fn after_task(line: &[u8]) -> Option<&[u8]> {
    let rest = line.trim_ascii_start().strip_prefix(b"[")?;
    let end = rest.iter().position(|&byte| byte == b']')?;
    let (name, rest) = (&rest[..end], &rest[end + 1..]);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let is_task = name.first().is_some_and(u8::is_ascii_alphabetic) && name.iter().all(is_name);
    match rest {
        [b' ', rest @ ..] if is_task => Some(rest),
        [b'\r' | b'\n', ..] | [] if is_task => Some(rest),
        _ => None,
    }
}

/// The lines of a source, without their prefix.
pub(crate) struct BareLines<R> {
    source: BufReader<R>,
    prefix: Prefix,
    line: Vec<u8>,
    /// The beginning of what was not given out yet.
    at: usize,
    /// The number of the line.
    number: u64,
    /// Whether the line before has no end, so that this is more of it, and whether the text has it.
    within: Option<bool>,
}

impl<R: Read> BareLines<R> {
    pub(crate) fn new(source: R, prefix: Prefix) -> Self {
        let source = BufReader::new(source);
        Self { source, prefix, line: Vec::new(), at: 0, number: 0, within: None }
    }
}

impl<R: Read> Read for BareLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // An empty line after its prefix is not the end.
        while self.at == self.line.len() && !buffer.is_empty() {
            self.line.clear();
            self.at = 0;
            if self.source.by_ref().take(PART_BYTES).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(0);
            }
            let rest = match self.within {
                Some(has_line) => has_line.then_some(&self.line[..]),
                None => self.prefix.strip(&self.line, self.number),
            };
            self.at = self.line.len() - rest.map_or(0, <[u8]>::len);
            let is_whole = self.line.ends_with(b"\n");
            self.within = (!is_whole).then_some(rest.is_some());
            self.number += u64::from(is_whole);
        }
        let count = (&self.line[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> Option<String> {
        text_and_note(text).map(|it| it.0)
    }

    /// Returns the text without its prefix, and the note.
    fn text_and_note(text: &str) -> Option<(String, String)> {
        let prefix = Prefix::of_head(text.as_bytes())?;
        let mut stripped = String::new();
        let mut lines = BareLines::new(text.as_bytes(), prefix.clone());
        lines.read_to_string(&mut stripped).unwrap();
        // Readers may ask again at the end.
        assert_eq!(lines.read(&mut [0; 8]).unwrap(), 0);
        Some((stripped, prefix.note().unwrap_or_default()))
    }

    #[test]
    fn prefixes_are_taken_off() {
        for (text, expected) in [
            ("     [java] main;a 1\n     [java] main;b 2\n", "main;a 1\nmain;b 2\n"),
            ("[exec] main;a 1\r\n[exec]\r\n[exec] b 2", "main;a 1\r\n\r\nb 2"),
            (
                "run:\n     [java] Flat profile of 1.50 secs (9 total ticks): main\n\
                 [echo] done\nBUILD\n",
                "run:\nFlat profile of 1.50 secs (9 total ticks): main\ndone\nBUILD\n",
            ),
            (
                "     [java] count callee caller time\n     [java] 1 A.b()V A.c()V 1\n",
                "count callee caller time\n1 A.b()V A.c()V 1\n",
            ),
            (
                "     [java] TRACE 1:\n     [java] \ta.A.f(A.java:1)\n",
                "TRACE 1:\n\ta.A.f(A.java:1)\n",
            ),
        ] {
            assert_eq!(stripped(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_prefix_stays() {
        for text in [
            "[unknown] 12\n[unknown] 3\n",
            "[main tid=7];a;b 12\n",
            "main;[java] a 1\n",
            "a 1\n[java] b 2\n",
            "[java] # README\n",
            "[]\n",
            "",
        ] {
            assert_eq!(stripped(text), None, "{text}");
        }
    }

    /// A text of each format that has lines, and a line of another program.
    const TEXTS: [&str; 9] = [
        "JAVA PROFILE 1.0.1, created Fri Nov 26 12:00:00 2026\n\nTRACE 1:\n\ta.A.f(A.java:1)\n   1 5%\n",
        "CPU SAMPLES BEGIN (total = 9) Wed Jan 12 11:26:47 2000\nrank   self\n   1 12.44%\n",
        "count callee caller time\n1 A.b()V A.c()V 1\n",
        "handles_used: 1174, handles_free: 339046\n\n x\n",
        "Allocation profile (sizes in bytes, cutoff = 0 bytes):\n  ___Size__\n",
        "Flat profile of 1.50 secs (9 total ticks): main\n\n  Interpreted + native\n",
        "--- Execution profile ---\nTotal samples : 9\n\n  [ 0] a.b\n",
        "java 7 5.25: 3 cycles:u: \n\t7f f (x)\n\njava 7 5.26: 3 cycles:u: \n\t7f f (x)\n",
        "    5.25: 3 cycles:u: \n\t7f f (x)\n\n    5.26: 3 cycles:u: \n\t7f f (x)\n",
    ];

    #[test]
    fn prefixes_of_logs_are_taken_off() {
        const STACKS: &str = "[main];a.b c;d 12\nGC Thread#0;a 5\n";
        let prefixes: [fn(usize) -> String; 12] = [
            |_| "web-1  | ".to_owned(),
            |_| "\u{1b}[36mweb-1  |\u{1b}[0m ".to_owned(),
            |line| format!("Nov {:2} 12:00:0{line} host java[1{line}]: ", 9 + line),
            |line| format!("2026-11-26T12:00:00.12{line}456789Z stdout F "),
            |line| format!("2026-11-26T12:00:00.{line}+00:00 app[web.1]: "),
            |line| format!("2026-11-26 12:00:00,12{line} INFO  [main] com.acme.Foo - "),
            |line| format!("<34>1 2026-11-26T12:00:0{line}.003Z host app {line} ID47 - "),
            |line| format!("[{}   1.00{line}] [http-1] ", " ".repeat(line % 2)) + "12:00:00 ",
            |_| "[pod/web-7f/app] ".to_owned(),
            |line| format!("12:00:{:02} web.1  | ", 8 + line),
            |line| format!("{} 12:00:00 ", ["Nov 30", "Dec  1"][line % 2]),
            |line| format!("I1126 12:00:00.00{line}       1 log.go:19] "),
        ];
        for text in TEXTS.iter().chain([&STACKS]) {
            for prefix in prefixes {
                let line = |(at, line): (usize, &str)| prefix(at) + line;
                let log: String = text.split_inclusive('\n').enumerate().map(line).collect();
                let (rest, note) = text_and_note(&log).unwrap_or_else(|| panic!("{log}"));
                assert_eq!(rest, *text, "{log}");
                let sample = prefix(0).escape_debug().to_string();
                assert_eq!(note, format!("the prefix of the lines is removed, as in \"{sample}\""));
                // Blanks before the end of a line may be gone.
                let bare = log.lines().map(|line| line.trim_end().to_owned() + "\n");
                assert!(stripped(&bare.collect::<String>()).is_some(), "{log}");
            }
        }
    }

    #[test]
    fn other_lines_of_a_log_are_skipped() {
        let log = "db-1   | ready\nweb-1  | starting\nweb-1  | JAVA PROFILE 1.0.1, created x\n\
                   db-1   | checkpoint\nweb-1  |\nweb-1  | TRACE 1:\nweb-1  | \ta.A.f(A.java:1)\n";
        let (rest, note) = text_and_note(log).unwrap();
        // The format allows words of the program before it.
        assert_eq!(
            rest,
            "starting\nJAVA PROFILE 1.0.1, created x\n\nTRACE 1:\n\ta.A.f(A.java:1)\n"
        );
        assert!(note.ends_with("; 1 line without it skipped"), "{note}");
        let message = "12:00:00 INFO Foo - --- Execution profile ---\nTotal samples : 9\n";
        let (rest, note) = text_and_note(message).unwrap();
        assert_eq!(rest, "--- Execution profile ---\nTotal samples : 9\n");
        assert!(note.contains("first line"), "{note}");
    }

    #[test]
    fn texts_without_a_prefix_stay() {
        for text in TEXTS {
            assert_eq!(stripped(text), None, "{text}");
        }
        for text in [
            "GC Thread#0;a 5\nGC Thread#1;a 5\n",
            "a.| 12\na.| 13\n",
            "java: x;a 12\njava: x;b 1\n",
            "12:00:00 12\n12:00:01 13\n",
            "2026-11-26 12:00:00 [info][gc] GC(0) Pause 12\nother 12:00:00 5\n",
            "[2026-11-26T12:00:00.1+0000][info][gc] GC(0) Pause 12\n\
             [2026-11-26T12:00:01.1+0000][info][gc] GC(1) Pause 12\n",
            "12:00:00 starting\n12:00:01 Full thread dump OpenJDK 64-Bit Server VM (17.0.15)\n",
        ] {
            assert_eq!(stripped(text), None, "{text}");
        }
    }
}
