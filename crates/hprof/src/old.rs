//! The table of `cpu=old`: calls by callee and caller. The output of JDK 1.1's `java -prof` has in
//! addition the memory in use, and the objects that were left.
//!
//! Source of the format: files of the JDK 8 agent, and descriptions of JDK 1.1's; see
//! `docs/formats/old.md`.

mod objects;

use std::io::{self, Read, Write};

use perk_profile::{CallEdge, CallEdges, Event, HeapSummary, MethodId, Profile, Sites};

use self::objects::ObjectsLine;
use crate::lines::{counter, cut, method, one_line, signature_at, text};
use crate::units::{from_ms, to_ms};
use crate::{Error, LineReader, SkippedLines};

/// The first line of a table.
pub(crate) const TITLE: &str = "count callee caller time\n";
/// The first line in a book.
const SHORT_TITLE: &str = "callee caller time";
/// A counter of 32 bits that has grown over 2^31 is negative. One that would have grown further than
/// this is rather damaged: a small negative number.
const MOST_WRAPPED: u64 = 3 << 30;
const NO_CALLEE: &str = "<unknown callee>";
const NO_CALLER: &str = "<unknown caller>";

/// Writes one table. Its rows are taken as they are (see [`CallEdges::rank`]). The text does not
/// distinguish threads: rows of several threads print alike. Times are in whole milliseconds.
///
/// # Errors
/// The errors of the sink.
pub fn write(mut out: impl Write, profile: &Profile, edges: &CallEdges) -> io::Result<()> {
    out.write_all(TITLE.as_bytes())?;
    let name = |method: Option<MethodId>, none: &str| match method {
        None => none.to_owned(),
        Some(id) => {
            let signature = profile.symbols.get_method(id).signature;
            let signature = signature.map_or("", |id| profile.symbols.strings.get(id));
            one_line(&(profile.symbols.method_name(id) + signature)).into_owned()
        }
    };
    for row in &edges.rows {
        let (callee, caller) = (name(row.callee, NO_CALLEE), name(row.caller, NO_CALLER));
        writeln!(out, "{} {callee} {caller} {}", row.count, to_ms(row.total_ns))?;
    }
    Ok(())
}

/// Writes all tables of `profile` that the format can hold, by [`holds`].
pub(crate) fn write_all(mut out: impl Write, profile: &Profile) -> io::Result<()> {
    for event in &profile.events {
        match event {
            Event::HeapSummary(summary) => objects::write_summary(&mut out, summary)?,
            Event::Section(section) => {
                if let Some(edges) = CallEdges::of(profile, section) {
                    write(&mut out, profile, &edges)?;
                } else if let Some(sites) = Sites::of(section) {
                    objects::write_sites(&mut out, profile, &sites)?;
                }
            }
            _ => {}
        }
    }
    out.flush()
}

/// Whether the format can hold `event`: calls by callee and caller, and objects by class alone.
pub(crate) fn holds(event: &Event, profile: &Profile) -> bool {
    let Event::Section(section) = event else { return false };
    section.head.is_by_pair
        || Sites::of(section).is_some_and(|sites| objects::are_by_class(profile, &sites))
}

/// Whether `head` begins a file of this format: with the table of calls, or another table of JDK
/// 1.1.
pub(crate) fn recognise(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    // A title must have its line end, as other text may begin in the same way.
    (is_title(line) || objects::is_title(line)) && line.len() < head.len() || objects::begins(line)
}

/// Whether `line` is the title of calls. The JVMs before JDK 1.1 begin it with `# `.
pub(crate) fn is_title(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"# ").unwrap_or(line);
    let words = || line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    [TITLE, SHORT_TITLE].iter().any(|title| title.split_whitespace().map(str::as_bytes).eq(words()))
}

/// Reads a file of one dump or several, or an excerpt. A file that is cut off is read as far as it
/// goes. Rows that are damaged are skipped, unless they are the majority.
///
/// # Errors
/// [`Error::Ascii`] with the first line that cannot be understood, if most lines cannot, or with the
/// last line if there is nothing to read.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut lines = LineReader::new(input);
    let mut reader = OldReader::default();
    let mut is_cut = false;
    while lines.next()?.is_some() {
        if lines.is_cut() {
            // The last number of the line may lack digits.
            is_cut = true;
            break;
        }
        reader.line(lines.last(), lines.line());
    }
    is_cut |= lines.has_failed();
    is_cut |= reader.half_row.is_some();
    reader.close_dump();
    let OldReader { mut profile, wrapped, skipped, row_count, .. } = reader;
    if let Some((line, what)) = skipped.majority(row_count) {
        return Err(Error::Ascii { line, what });
    }
    let line = lines.line();
    if profile.events.is_empty() {
        let what = format!("the file ends here, expected \"{}\"", TITLE.trim_end());
        return Err(Error::Ascii { line: line.max(1), what });
    }
    profile.notes.extend(skipped.note());
    if wrapped > 0 {
        let what = "negative counters were taken as having grown over 2^31";
        profile.notes.push(format!("{wrapped} {what}"));
    }
    if is_cut {
        profile.notes.push(format!("the file is cut off in line {line}"));
    }
    Ok(profile)
}

#[derive(Default)]
struct OldReader {
    profile: Profile,
    edges: Option<CallEdges>,
    summary: Option<HeapSummary>,
    sites: Option<Sites>,
    /// A row whose caller is in the next line, as books print them.
    half_row: Option<String>,
    /// The number of counters that have overflowed.
    wrapped: usize,
    /// The rows that are damaged, and the number of those that are not.
    skipped: SkippedLines,
    row_count: u64,
}

impl OldReader {
    fn line(&mut self, line: &[u8], number: usize) {
        if is_title(line) {
            self.close_dump();
            self.edges = Some(CallEdges::default());
            return;
        }
        if self.object_line(line, number) || line.trim_ascii().is_empty() {
            return;
        }
        let mut row = tight(&text(line));
        if let Some(half) = self.half_row.take() {
            if line.starts_with(b" ") || line.starts_with(b"\t") {
                row = format!("{half} {}", row.trim_start());
            } else {
                self.skipped.add(number - 1, expected(half.as_bytes()));
            }
        }
        let taken = self::row(&row, &mut self.profile, &mut self.wrapped);
        match (&mut self.edges, taken) {
            (Some(edges), Some(row)) => {
                edges.rows.push(row);
                self.row_count += 1;
            }
            (Some(_), None) if is_half_row(&row) => self.half_row = Some(row),
            _ => self.skipped.add(number, expected(line)),
        }
    }

    /// Takes a line of one of the other tables. Returns false if it is not one.
    fn object_line(&mut self, line: &[u8], number: usize) -> bool {
        match ObjectsLine::of(line) {
            Some(ObjectsLine::Title) => return true,
            Some(ObjectsLine::Summary { used, free_count, free_bytes }) => {
                self.summary = Some(used);
                if (free_count, free_bytes) != (0, 0) {
                    let note = format!(
                        "line {number}: {free_count} free handles and {free_bytes} free bytes of \
                         the heap have no place in a profile"
                    );
                    self.profile.notes.push(note);
                }
            }
            Some(ObjectsLine::Objects { class, objects }) => {
                let sites = self.sites.get_or_insert_default();
                sites.total.add(objects);
                let class = self.profile.symbols.class(&class);
                let trace = self.profile.system_trace();
                sites.rows.push(perk_profile::Site { class, trace, objects });
            }
            None => return false,
        }
        self.row_count += 1;
        true
    }

    /// Adds the data that was read since the last title.
    fn close_dump(&mut self) {
        if let Some(edges) = self.edges.take() {
            let section = edges.section(&mut self.profile);
            self.profile.events.push(Event::Section(section));
        }
        let events = &mut self.profile.events;
        events.extend(self.summary.take().map(Event::HeapSummary));
        events.extend(self.sites.take().map(Event::from));
    }
}

/// The line in place of a row.
fn expected(found: &[u8]) -> String {
    format!("expected \"{}\" or such a row, found \"{}\"", TITLE.trim_end(), cut(found))
}

/// Parses `count callee caller ms`. The columns may be aligned.
pub(crate) fn row(line: &str, profile: &mut Profile, wrapped: &mut usize) -> Option<CallEdge> {
    let (count, rest) = line.trim_start().split_once(' ')?;
    let (names, ms) = rest.trim_end().rsplit_once(' ')?;
    let number = |digits: &str| {
        let (value, has_wrapped, rest) = counter(digits.as_bytes())?;
        let is_number = rest.is_empty() && !(has_wrapped && value > MOST_WRAPPED);
        is_number.then_some((value, usize::from(has_wrapped)))
    };
    let ((count, of_count), (ms, of_ms)) = (number(count)?, number(ms)?);
    let (callee, caller) = callee_and_caller(names.trim())?;
    let mut id = |name: Option<&str>| name.map(|name| method(name.trim(), profile));
    let (callee, caller) = (id(callee), id(caller));
    *wrapped += of_count + of_ms;
    Some(CallEdge { callee, caller, thread: None, count, total_ns: from_ms(ms) })
}

/// Whether `line` is a count and one method.
fn is_half_row(line: &str) -> bool {
    let half = line.trim_start().split_once(' ');
    half.is_some_and(|(count, callee)| {
        counter(count.as_bytes()).is_some_and(|(.., rest)| rest.is_empty())
            && has_signature(callee.trim())
    })
}

/// Returns `line` without blanks in empty parentheses, as books print them.
fn tight(line: &str) -> String {
    let mut parts = line.split('(');
    let mut tight = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let trimmed = part.trim_start();
        tight.push('(');
        tight += if trimmed.starts_with(')') { trimmed } else { part };
    }
    tight
}

/// Returns the two methods of a row. Names may hold blanks, so the end of a signature separates
/// them.
fn callee_and_caller(names: &str) -> Option<(Option<&str>, Option<&str>)> {
    if let Some(callee) = names.strip_suffix(NO_CALLER).and_then(|rest| rest.strip_suffix(' ')) {
        let callee = callee.trim_end();
        return Some(((callee != NO_CALLEE).then_some(callee), None));
    }
    if let Some(caller) = names.strip_prefix(NO_CALLEE).and_then(|rest| rest.strip_prefix(' ')) {
        return Some((None, Some(caller)));
    }
    let mut splits = names.match_indices(' ').map(|(at, _)| (&names[..at], &names[at + 1..]));
    splits
        .clone()
        .find(|(callee, caller)| has_signature(callee) && has_signature(caller))
        .or_else(|| splits.next())
        .map(|(callee, caller)| (Some(callee), Some(caller)))
}

fn has_signature(method: &str) -> bool {
    signature_at(method).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "count callee caller time
3138 java.lang.String.charAt(I)C java.io.UnixFileSystem.normalize(Ljava/lang/String;)Ljava/lang/String; 3
2 <unknown callee> A.b()V 0
1 a.B.<clinit>()V <unknown caller> 12
1 <unknown callee> <unknown caller> 0
1 A.with blank(LA b;)LA b; A.b()[[I 0
1 A.b C.d 0
";

    #[test]
    fn a_table_is_written_as_it_was_read() {
        let profile = read(TABLE.as_bytes()).unwrap();
        let edges = &profile.call_edges().next().unwrap();
        assert_eq!(edges.rows.len(), 6);
        let name = |id: Option<MethodId>| id.map(|id| profile.symbols.method_name(id));
        assert_eq!(edges.rows[0].count, 3138);
        assert_eq!(edges.rows[0].total_ns, 3_000_000);
        assert_eq!(name(edges.rows[0].callee).as_deref(), Some("java.lang.String.charAt"));
        assert_eq!((edges.rows[1].callee, edges.rows[2].caller), (None, None));
        assert_eq!(name(edges.rows[4].callee).as_deref(), Some("A.with blank"));
        let mut again = Vec::new();
        write(&mut again, &profile, edges).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), TABLE);
    }

    #[test]
    fn each_title_begins_a_table() {
        let twice = TABLE.repeat(2);
        assert_eq!(read(twice.as_bytes()).unwrap().events.len(), 2);
        assert_eq!(read(TITLE.as_bytes()).unwrap().events.len(), 1);
    }

    #[test]
    fn what_is_no_row_is_an_error_with_its_line() {
        for row in ["1", "1 a", "1 a b", "x a b 1", "1 a b -0", "handles_used: x", "[C 1"] {
            let error = read(format!("{TITLE}{row}\n").as_bytes()).unwrap_err();
            assert!(matches!(error, Error::Ascii { line: 2, .. }), "{row}: {error}");
        }
        let profile = read(format!("{TITLE}1 A.b()V\n2 A.b()V A.c()V 1\n").as_bytes()).unwrap();
        assert_eq!(profile.call_edges().next().unwrap().rows.len(), 1);
        assert!(profile.notes[0].starts_with("1 line skipped, line 2: expected "));
        assert!(read(&b"1 A.b()V A.c()V 1\n"[..]).is_err());
        assert!(read(&b""[..]).is_err());
    }

    #[test]
    fn damaged_rows_are_skipped() {
        let rows = "5 a.B.c()V d.E.f()V 10\nbject; d.E.f()V 0\n3 a.B.x()V d.E.f()V NaN\n\
                    -4 a.B.y()V d.E.f()V 1\n3 a.B.x()V d.E.f()V 1\n2 a.B.x()V d.E.g()V 1\n";
        let profile = read(format!("{TITLE}{rows}").as_bytes()).unwrap();
        let edges = profile.call_edges().next().unwrap();
        assert_eq!(edges.rows.iter().map(|row| row.count).collect::<Vec<_>>(), [5, 3, 2]);
        let what =
            "expected \"count callee caller time\" or such a row, found \"bject; d.E.f()V 0\"";
        assert_eq!(profile.notes, [format!("3 lines skipped, the first is line 3: {what}")]);
    }

    #[test]
    fn columns_may_be_aligned() {
        let rows = "    1.234  a.B.c()V      d.E.f()V     10\n        7  a.B.c()V      \
                    <unknown caller>  8\n";
        let text = format!("  count  callee        caller       time\n{rows}");
        assert!(recognise(text.as_bytes()));
        let profile = read(text.as_bytes()).unwrap();
        let mut written = Vec::new();
        write(&mut written, &profile, &profile.call_edges().next().unwrap()).unwrap();
        let expected = "1234 a.B.c()V d.E.f()V 10\n7 a.B.c()V <unknown caller> 8\n";
        assert_eq!(String::from_utf8(written).unwrap(), format!("{TITLE}{expected}"));
        assert_eq!(profile.notes, [""; 0]);
    }

    #[test]
    fn cut_tables_are_read_as_far_as_they_go() {
        for end in 0..TABLE.len() {
            let cut = &TABLE[..end];
            let result = read(cut.as_bytes());
            if end < TITLE.len() {
                assert!(matches!(result, Err(Error::Ascii { .. })), "cut at {end}");
                continue;
            }
            let profile = result.unwrap();
            let edges = profile.call_edges().next().unwrap();
            assert_eq!(edges.rows.len(), cut.matches('\n').count() - 1, "cut at {end}");
            assert_eq!(profile.notes.is_empty(), cut.ends_with('\n'), "cut at {end}");
        }
    }

    #[test]
    fn counters_that_have_overflown_are_mended() {
        let text = format!("{TITLE}-2147483647 A.b()V A.c()V -2147483648\n");
        let profile = read(text.as_bytes()).unwrap();
        let edges = profile.call_edges().next().unwrap();
        assert_eq!(edges.rows[0].count, (1 << 31) + 1);
        assert_eq!(edges.rows[0].total_ns, from_ms(1 << 31));
        assert_eq!(profile.notes, ["2 negative counters were taken as having grown over 2^31"]);
    }

    /// All four tables, twice. Those that the format can hold are written again.
    #[test]
    fn all_tables_of_jdk_1_1_are_kept() {
        let text = "\
count callee caller time
30 x/y/Z.foo2(  )V x/y/Z.foo1(  )V 1263
21 java/lang/System.gc(  )V  
    java/lang/FloatingDecimal.dtoa(IJI)V 760
handles_used: 1174, handles_free: 339046, heap-used: 113960, heap-free: 21794720

sig  count     bytes  indx
[C     174     19060     5
[B       5     19200     8
*** tab[267] p=4bba378 cb=1873248 cnt=219 ac=3 al=1103
  Ljava/util/HashtableEntry; 219 3504
  [Ljava/util/HashtableEntry; 3 4412
*** tab[268] p=4bba388 cb=1873258 cnt=1 ac=0 al=0
  Ljava/lang/System; 1 8
";
        let again = "\
count callee caller time
30 x.y.Z.foo2()V x.y.Z.foo1()V 1263
21 java.lang.System.gc()V java.lang.FloatingDecimal.dtoa(IJI)V 760
handles_used: 1174, heap-used: 113960
sig  count     bytes  indx
[C     174     19060     5
[B       5     19200     8
*** tab[0] p=0 cb=0 cnt=219 ac=3 al=1103
  Ljava/util/HashtableEntry; 219 3504
  [Ljava/util/HashtableEntry; 3 4412
*** tab[1] p=0 cb=0 cnt=1 ac=0 al=0
  Ljava/lang/System; 1 8
";
        let profile = read(text.repeat(2).as_bytes()).unwrap();
        assert_eq!(profile.events.len(), 6);
        assert_eq!(profile.notes.len(), 2);
        let sites = profile.sites().unwrap();
        assert_eq!(sites.total.live_bytes, 19_060 + 19_200 + 3504 + 4412 + 8);
        assert!(profile.events.iter().filter(|event| holds(event, &profile)).count() == 4);
        let mut written = Vec::new();
        crate::write(&profile, crate::Format::Old, &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), again.repeat(2));
        for (text, events) in [(text, 3), (again, 3), (&text[text.find("hand").unwrap()..], 2)] {
            assert!(recognise(text.as_bytes()));
            assert_eq!(crate::read(text.as_bytes()).unwrap().events.len(), events);
        }
    }
}
