//! Texts with the prefix that build tools put before each line of a program's output, such as Ant's
//! `     [java] `.

use std::io::{self, BufRead, BufReader, Read};

/// Whether the lines of a text that begins with `head` have a prefix: all of them, or some of a
/// text that is a profile only without it.
pub(crate) fn is_prefixed(head: &[u8]) -> bool {
    if head.contains(&0) {
        return false;
    }
    let mut lines: Vec<_> = head.split_inclusive(|&byte| byte == b'\n').collect();
    // The last line may be cut off.
    if lines.len() > 1 {
        lines.pop_if(|line| !line.ends_with(b"\n"));
    }
    lines.retain(|line| !line.trim_ascii().is_empty());
    let rests: Vec<_> = lines.iter().map(|line| after_prefix(line)).collect();
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
fn after_prefix(line: &[u8]) -> Option<&[u8]> {
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

/// The most bytes of a line that are held at a time.
const PART_BYTES: u64 = 1 << 16;

/// The lines of a source, without their prefix.
pub(crate) struct Lines<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    /// The beginning of what was not given out yet.
    at: usize,
    /// The line before has no end: it continues.
    is_within: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source: BufReader::new(source), line: Vec::new(), at: 0, is_within: false }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            self.line.clear();
            self.at = 0;
            if self.source.by_ref().take(PART_BYTES).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(0);
            }
            let prefix = after_prefix(&self.line).filter(|_| !self.is_within);
            self.at = prefix.map_or(0, |rest| self.line.len() - rest.len());
            self.is_within = !self.line.ends_with(b"\n");
        }
        let count = (&self.line[self.at..]).read(buffer)?;
        self.at += count;
        // An empty line after its prefix is not the end.
        if count == 0 && !buffer.is_empty() { self.read(buffer) } else { Ok(count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> Option<String> {
        is_prefixed(text.as_bytes()).then(|| {
            let mut stripped = String::new();
            let mut lines = Lines::new(text.as_bytes());
            lines.read_to_string(&mut stripped).unwrap();
            // Readers may ask again at the end.
            assert_eq!(lines.read(&mut [0; 8]).unwrap(), 0);
            stripped
        })
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
}
