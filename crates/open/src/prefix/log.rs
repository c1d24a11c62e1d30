//! Prefixes of logs, such as `web-1  | ` or `Nov 26 12:00:00 host java[7]: `.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

/// The most bytes of a prefix of a log.
const MOST_PREFIX_BYTES: usize = 256;
/// The number of lines by which a format is recognised behind a prefix of a log.
const TRIAL_LINES: usize = 16;
/// The most prefixes that are tried.
const MOST_TRIALS: usize = 1000;
/// The formats that are recognised by the form of their lines alone.
const FORMS: [&str; 4] = ["collapsed", "perf", "tsv", "fields"];

/// A prefix that the lines of a log have. What precedes the profile is no part of it.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    shape: PrefixShape,
    /// The prefix of the profile's first line.
    sample: String,
    /// The number of that line.
    first: u64,
    /// Only that line has the prefix: the profile is one message.
    is_single: bool,
    /// The number of lines without the prefix that were skipped.
    skipped: Rc<Cell<u64>>,
}

impl Log {
    /// Returns the prefix of a text of these lines that begins as files of `format` do, if that is certain.
    pub(super) fn of_lines(lines: &[&[u8]], format: Option<&str>) -> Option<Self> {
        if format.is_some_and(|name| !FORMS.contains(&name)) {
            return None;
        }
        Self::of_marked(lines).or_else(|| Self::of_all(lines))
    }

    /// Returns the rest of the line of this number; `None` if the text does not have the line.
    pub(super) fn strip<'l>(&self, line: &'l [u8], number: u64) -> Option<&'l [u8]> {
        if number < self.first {
            return None;
        }
        if self.is_single && number > self.first {
            return Some(line);
        }
        let rest = self.shape.strip(line);
        if rest.is_none() && !line.trim_ascii().is_empty() {
            self.skipped.set(self.skipped.get() + 1);
        }
        rest
    }

    /// Returns what was removed, for people.
    pub(super) fn note(&self) -> String {
        let sample = self.sample.escape_debug();
        if self.is_single {
            return format!("the prefix of the first line is removed: \"{sample}\"");
        }
        let rest = match self.skipped.get() {
            0 => String::new(),
            1 => "; 1 line without it skipped".to_owned(),
            count => format!("; {count} lines without it skipped"),
        };
        format!("the prefix of the lines is removed, as in \"{sample}\"{rest}")
    }

    fn new(shape: PrefixShape, prefix: &[u8], first: usize, is_single: bool) -> Self {
        let sample = String::from_utf8_lossy(prefix).into_owned();
        Self { shape, sample, first: first as u64, is_single, skipped: Rc::default() }
    }

    /// Returns the prefix of a profile whose beginning is unmistakable. Other lines may lack it.
    fn of_marked(lines: &[&[u8]]) -> Option<Self> {
        let is_marked = |text: &[u8]| {
            perk_formats::recognise(text).is_some_and(|format| !FORMS.contains(&format.name()))
        };
        let mut tried = HashSet::new();
        for (first, line) in lines.iter().enumerate() {
            for end in ends(line) {
                let (prefix, rest) = line.split_at(end);
                // Such a line begins without blanks.
                if rest[0].is_ascii_whitespace() {
                    continue;
                }
                let shape = PrefixShape::of(prefix);
                // The shape alone would do if each line of it were the profile's first.
                if !tried.insert((shape.clone(), rest.get(..8).map(<[u8]>::to_vec))) {
                    continue;
                }
                if tried.len() > MOST_TRIALS {
                    return None;
                }
                let next = &lines[first + 1..];
                let next = &next[..next.len().min(TRIAL_LINES)];
                let stripped: Vec<_> = next.iter().filter_map(|line| shape.strip(line)).collect();
                let is_single = stripped.is_empty() && !next.is_empty();
                let next = if is_single { next } else { &stripped };
                if is_marked(&[&[rest], next].concat().concat()) {
                    return Some(Self::new(shape, prefix, first, is_single));
                }
            }
        }
        None
    }

    /// Returns the longest prefix of all lines, if it is one of logs and stacks follow it.
    fn of_all(lines: &[&[u8]]) -> Option<Self> {
        // Such logs have lines that end in numbers, too.
        if perk_formats::foreign(&lines.concat()).is_some() {
            return None;
        }
        let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
        let first = lines.iter().position(|line| !is_blank(line))?;
        let mut all = ends(lines[first]);
        all.reverse();
        all.into_iter().find_map(|end| {
            let prefix = &lines[first][..end];
            let shape = PrefixShape::of(prefix);
            if !is_of_logs(prefix) {
                return None;
            }
            let rests: Option<Vec<_>> = lines
                .iter()
                .map(|line| if is_blank(line) { Some(*line) } else { shape.strip(line) })
                .collect();
            perk_formats::recognise(&rests?.concat())?;
            Some(Self::new(shape, prefix, first, false))
        })
    }
}

/// Returns the places in a line at which a prefix can end. Blanks after it can be the text's own.
fn ends(line: &[u8]) -> Vec<usize> {
    let most = line.trim_ascii_end().len().min(MOST_PREFIX_BYTES);
    (1..most).filter(|&end| b" \t:|>".contains(&line[end - 1])).collect()
}

/// Whether a text can only be the prefix of a log: it has a time of day, or the name of a service.
fn is_of_logs(prefix: &[u8]) -> bool {
    let is_time = |it: &[u8]| {
        let form = |(byte, form): (&u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        };
        it.iter().zip(b"00:00:00").all(form)
    };
    let is_service = prefix.contains(&b'|') && prefix.ends_with(b" ");
    let is_pod = prefix.starts_with(b"[") && prefix.contains(&b'/') && prefix.ends_with(b"] ");
    is_service || is_pod || prefix.windows(8).any(is_time)
}

/// The form of a prefix: texts that differ in their numbers, blanks and dates have the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PrefixShape {
    pieces: Vec<PrefixPiece>,
    /// The blanks at the end, which are the same in all lines: others are the text's own.
    blanks: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PrefixPiece {
    Digits,
    Blanks,
    /// The short name of a month or of a day of the week.
    Date,
    Byte(u8),
}

const DATES: [&[u8]; 19] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
    b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun",
];

impl PrefixPiece {
    /// Returns the length of the piece at the beginning of `text`; `None` if it does not begin so.
    fn length_in(self, text: &[u8]) -> Option<usize> {
        let count = |is_it: fn(&u8) -> bool| text.iter().take_while(|byte| is_it(byte)).count();
        let length = match self {
            Self::Digits => count(u8::is_ascii_digit),
            Self::Blanks => count(|byte| b" \t".contains(byte)),
            Self::Date => DATES.iter().find(|name| text.starts_with(name)).map_or(0, |it| it.len()),
            Self::Byte(byte) => usize::from(text.first() == Some(&byte)),
        };
        (length > 0).then_some(length)
    }
}

impl PrefixShape {
    fn of(prefix: &[u8]) -> Self {
        let text = prefix.trim_ascii_end();
        let blanks = prefix[text.len()..].to_vec();
        let mut rest = text.trim_ascii_start();
        let mut pieces = Vec::new();
        while let Some(&byte) = rest.first() {
            let of_many = [PrefixPiece::Digits, PrefixPiece::Blanks, PrefixPiece::Date];
            let found = of_many.iter().find_map(|it| Some((*it, it.length_in(rest)?)));
            let (piece, length) = found.unwrap_or((PrefixPiece::Byte(byte), 1));
            pieces.push(piece);
            rest = &rest[length..];
        }
        Self { pieces, blanks }
    }

    /// Returns the rest of a line that has the prefix.
    fn strip<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        let mut rest = line.trim_ascii_start();
        for piece in &self.pieces {
            rest = &rest[piece.length_in(rest)?..];
        }
        // The blanks before nothing may have been cut off.
        let is_empty = rest.trim_ascii().is_empty();
        rest.strip_prefix(&self.blanks[..]).or_else(|| is_empty.then(|| line_end(rest)))
    }
}

/// Returns the line end of a text of blanks.
fn line_end(blanks: &[u8]) -> &[u8] {
    let blank_count = blanks.iter().take_while(|byte| b" \t".contains(byte)).count();
    &blanks[blank_count..]
}
