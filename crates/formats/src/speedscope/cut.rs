//! The completion of JSON that is cut off, so that serde_json, which refuses it, can read its whole part.

use std::io::{self, Read};

/// The number of bytes read at once.
const BUFFER_BYTES: usize = 1 << 16;

/// A reader that gives out JSON unchanged. If the input ends too early, it adds the ends of the
/// open lists and objects. Values that are incomplete by then, such as half a number, are left out.
#[derive(Debug)]
pub(super) struct ClosingReader<R> {
    input: R,
    /// The bytes read: given out up to `at`, safe to give out up to `safe`.
    buffer: Vec<u8>,
    at: usize,
    safe: usize,
    /// The ends of the open lists and objects.
    open: Vec<u8>,
    /// The number of these that belong to a list inside a list, such as a stack, which counts as a
    /// whole.
    inner: usize,
    is_in_string: bool,
    is_escaped: bool,
    has_begun: bool,
    is_at_end: bool,
    is_cut: bool,
}

impl<R: Read> ClosingReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            at: 0,
            safe: 0,
            open: Vec::new(),
            inner: 0,
            is_in_string: false,
            is_escaped: false,
            has_begun: false,
            is_at_end: false,
            is_cut: false,
        }
    }

    /// Whether the input ended too early.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Reads until there are bytes to give out, or the input ends.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        (self.at, self.safe) = (0, 0);
        while self.safe == 0 && !self.is_at_end {
            let begin = self.buffer.len();
            self.buffer.resize(begin + BUFFER_BYTES, 0);
            let count = self.input.read(&mut self.buffer[begin..]);
            self.buffer.truncate(begin + count.as_ref().map_or(0, |&count| count));
            if count? == 0 {
                self.end();
            } else {
                self.scan(begin);
            }
        }
        Ok(())
    }

    /// Finds the whole part of the buffer. The part from `begin` on is new.
    fn scan(&mut self, begin: usize) {
        for (at, &byte) in self.buffer.iter().enumerate().skip(begin) {
            if self.is_in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
                // The value before the comma is whole.
                b',' if self.inner == 0 => self.safe = at,
                b'[' | b'{' => {
                    let is_inner = byte == b'[' && self.open.last() == Some(&b']');
                    self.open.push(if byte == b'[' { b']' } else { b'}' });
                    self.has_begun = true;
                    if is_inner || self.inner > 0 {
                        self.inner += 1;
                    } else {
                        self.safe = at + 1;
                    }
                }
                b']' | b'}' => {
                    self.open.pop();
                    self.inner = self.inner.saturating_sub(1);
                    if self.inner == 0 {
                        self.safe = at + 1;
                    }
                }
                _ => {}
            }
        }
        // Outside of JSON there is no reason to wait for more bytes.
        if self.open.is_empty() && !self.is_in_string {
            self.safe = self.buffer.len();
        }
    }

    fn end(&mut self) {
        self.is_at_end = true;
        self.is_cut = self.has_begun && !self.open.is_empty();
        if self.is_cut {
            self.open.truncate(self.open.len() - self.inner);
            self.buffer.clear();
            self.buffer.extend(self.open.drain(..).rev());
        }
        self.safe = self.buffer.len();
    }
}

impl<R: Read> Read for ClosingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.safe {
            self.fill()?;
        }
        let count = (&self.buffer[self.at..self.safe]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(text: &str) -> (String, bool) {
        let (mut whole, mut completed) = (String::new(), ClosingReader::new(text.as_bytes()));
        completed.read_to_string(&mut whole).unwrap();
        (whole, completed.is_cut())
    }

    #[test]
    fn what_is_open_is_closed() {
        for (text, whole) in [
            (r#"{"a":[1,23"#, r#"{"a":[1]}"#),
            (r#"{"a":[1,2],"b"#, r#"{"a":[1,2]}"#),
            (r#"{"a":[1,2],"b":"x,]\"}"#, r#"{"a":[1,2]}"#),
            (r#"{"a":"b","c":{"d":[[1],[2,"#, r#"{"a":"b","c":{"d":[[1]]}}"#),
            (r#"{"d":[[1,{"a":"#, r#"{"d":[]}"#),
            ("[", "[]"),
        ] {
            assert_eq!(completed(text), (whole.to_owned(), true), "{text}");
        }
        for text in ["", " ", "{}", "[1,2] \n", "12", "]", "{}]"] {
            assert_eq!(completed(text), (text.to_owned(), false));
        }
    }

    #[test]
    fn any_cut_is_json_again() {
        let text = r#"{"a":{"b":[1.5,-2e3,"x\\\"y",true,null],"c":"[{,"},"d":[{"e":1},{"f":[]}]}"#;
        for end in 1..text.len() {
            let (whole, is_cut) = completed(&text[..end]);
            serde_json::from_str::<serde_json::Value>(&whole).unwrap();
            assert!(is_cut, "{whole}");
        }
        assert_eq!(completed(text), (text.to_owned(), false));
    }
}
