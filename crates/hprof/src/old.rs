//! The table of `cpu=old`: calls by callee and caller, as JDK 1.1's `java -prof` listed them first.
//!
//! Source of the format: files of the JDK 8 agent; see `docs/formats/old.md`.

use std::io::{self, Write};

use perk_profile::{CallEdge, CallEdges, Event, Method, MethodId, Profile};

use crate::Error;
use crate::lines::{Lines, cut, number, one_line, text};
use crate::units::{from_ms, to_ms};

/// The first line.
pub(crate) const TITLE: &str = "count callee caller time\n";
const NO_CALLEE: &str = "<unknown callee>";
const NO_CALLER: &str = "<unknown caller>";

/// Writes one table; its rows are taken as they are (see [`CallEdges::rank`]). Threads are not
/// told apart: rows of several threads print alike. Times are in whole milliseconds.
///
/// # Errors
/// As the sink fails.
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

/// Reads a file of one table or several.
///
/// # Errors
/// [`Error::Ascii`] with the line that cannot be understood.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let mut lines = Lines::new(bytes);
    let mut profile = Profile::default();
    let mut table: Option<CallEdges> = None;
    while let Some(line) = lines.next()? {
        if line == TITLE.trim_end().as_bytes() {
            profile.events.extend(table.replace(CallEdges::default()).map(Event::CallEdges));
            continue;
        }
        let row = row(line, &mut profile);
        match (&mut table, row) {
            (Some(table), Some(row)) => table.rows.push(row),
            _ => {
                let what = format!(
                    "expected \"count callee caller time\" or such a row, found \"{}\"",
                    cut(line)
                );
                return Err(lines.error(what));
            }
        }
    }
    profile.events.extend(table.map(Event::CallEdges));
    Ok(profile)
}

fn row(line: &[u8], profile: &mut Profile) -> Option<CallEdge> {
    let line = text(line);
    let (count, rest) = line.split_once(' ')?;
    let (names, ms) = rest.rsplit_once(' ')?;
    let (callee, caller) = callee_and_caller(names)?;
    let mut id = |name: Option<&str>| name.map(|name| method(name, profile));
    Some(CallEdge {
        callee: id(callee),
        caller: id(caller),
        thread: None,
        count: number(count.as_bytes())?,
        total_ns: from_ms(number(ms.as_bytes())?),
    })
}

/// The two methods of a row: names may hold blanks, so that what ends in a signature counts.
fn callee_and_caller(names: &str) -> Option<(Option<&str>, Option<&str>)> {
    if let Some(callee) = names.strip_suffix(NO_CALLER).and_then(|rest| rest.strip_suffix(' ')) {
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

/// Where the signature of `class.method(…)…` begins.
fn signature_at(method: &str) -> Option<usize> {
    let at = method.rfind('(')?;
    let (_, result) = method[at..].rsplit_once(')')?;
    let element = result.trim_start_matches('[');
    let is_type = matches!(element, "Z" | "B" | "C" | "S" | "I" | "J" | "F" | "D" | "V")
        || element.len() > 2 && element.starts_with('L') && element.ends_with(';');
    is_type.then_some(at)
}

fn method(name: &str, profile: &mut Profile) -> MethodId {
    let (name, signature) = match signature_at(name) {
        Some(at) => (&name[..at], Some(&name[at..])),
        None => (name, None),
    };
    let (class, name) = name.rsplit_once('.').unwrap_or(("", name));
    let symbols = &mut profile.symbols;
    let class = symbols.class(class);
    let name = symbols.strings.intern(name);
    let signature = signature.map(|signature| symbols.strings.intern(signature));
    symbols.method(Method { class, name, signature, source: None })
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
        let [Event::CallEdges(edges)] = &profile.events[..] else { panic!("{:?}", profile.events) };
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
        for row in ["", "1", "1 a", "1 a b", "x a b 1", "1 a b -1", "handles_used: 1"] {
            let error = read(format!("{TITLE}{row}\n").as_bytes()).unwrap_err();
            assert!(matches!(error, Error::Ascii { line: 2, .. }), "{row}: {error}");
        }
        assert!(read(&TABLE.as_bytes()[..TABLE.len() - 1]).is_err());
    }
}
