//! Files that perk does not read and that it is often given: what each is, and what to do.

use std::fmt;

use memchr::memmem;

/// A kind of file that perk does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// What the file is: `a zip or jar archive`.
    title: &'static str,
    /// What to do, in a clause.
    advice: &'static str,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, which perk does not read: {}", self.title, self.advice)
    }
}

const UNPACK: &str = "unpack it first";
const EXPORT: &str = "export it as pprof, speedscope or collapsed stacks";
const GIVE_PROFILE: &str = "give perk the profile that it was made of";
const DUMP_HEAP: &str = "make a heap dump with jcmd PID GC.heap_dump FILE";
const EXPORT_DUMP: &str = "Eclipse MAT with the DTFJ plug-in opens it and exports HPROF";
const RUN: &str = "perk run makes a profile of a program";
const OF_JVMS: &str = "perk shows profiles of JVMs (perk formats lists the formats)";
const SCRIPT: &str = "give perk the output of perf script -i FILE";
const TO_PPROF: &str = "go tool pprof -proto FILE > x.pb.gz makes a file that perk reads";
const TO_SPEEDSCOPE: &str = "of JSON perk reads only that of speedscope";

/// Kinds of files by the bytes at an offset.
const MAGICS: &[(usize, &[u8], &str, &str)] = &[
    (0, b"PERFILE2", "data of perf record", SCRIPT),
    (0, b"2ELIFREP", "data of perf record", SCRIPT),
    (0, b"PERFFILE", "data of perf record", SCRIPT),
    (0, b"nBpRoFiLeR", "a snapshot of VisualVM or NetBeans", EXPORT),
    (0, b"NPSS", "a snapshot of VisualVM's sampler", EXPORT),
    (2, b"portable heap dump", "a portable heap dump of OpenJ9", EXPORT_DUMP),
    (0, b"// Version: J", "a classic heap dump of OpenJ9", DUMP_HEAP),
    (0, b"0SECTION ", "a javacore of OpenJ9", OF_JVMS),
    (0, b"NULL  ", "a javacore of OpenJ9", OF_JVMS),
    (0, b"\x7FELF", "an ELF program or library", RUN),
    (0, b"MZ\x90\0", "a program of Windows", RUN),
    (0, b"\xCF\xFA\xED\xFE", "a program of macOS", RUN),
    (0, b"\xCA\xFE\xBA\xBE", "a Java class file", RUN),
    (0, b"\xDA\xDA\xFE\xCA", "the modules of a JDK (jimage)", RUN),
    (0, b"JM\x01\0", "a module of a JDK (jmod)", RUN),
    (0, b"\xA2\xBA\x0B\xF0", "an archive of class data (CDS)", RUN),
    (0, b"\xA8\xBA\x0B\xF0", "an archive of class data (CDS)", RUN),
    (0, b"\xAC\xED\0\x05", "serialized Java objects", EXPORT),
    (0, b"PK\x03\x04", "a zip or jar archive", UNPACK),
    (0, b"PK\x05\x06", "an empty zip or jar archive", RUN),
    (257, b"ustar", "a tar archive", UNPACK),
    (0, b"BZh", "packed by bzip2", UNPACK),
    (0, b"\xFD7zXZ\0", "packed by xz", UNPACK),
    (0, b"7z\xBC\xAF\x27\x1C", "a 7z archive", UNPACK),
    (0, b"\x04\x22\x4D\x18", "packed by lz4", UNPACK),
    (0, b"LZIP\x01", "packed by lzip", UNPACK),
    (0, b"Rar!\x1A\x07", "a rar archive", UNPACK),
    (0, b"SQLite format 3\0", "a database of SQLite", EXPORT),
    (0, b"PAR1", "a Parquet file", EXPORT),
    (0, b"ARROW1", "an Arrow file", EXPORT),
    (0, b"\x89PNG\r\n\x1A\n", "a PNG image", GIVE_PROFILE),
    (0, b"\xFF\xD8\xFF", "a JPEG image", GIVE_PROFILE),
    (0, b"GIF8", "a GIF image", GIVE_PROFILE),
    (0, b"%PDF-", "a PDF document", GIVE_PROFILE),
    (0, b"gmon\0", "a profile of gprof", OF_JVMS),
    (0, b"# callgrind format", "a profile of callgrind", OF_JVMS),
    (0, b"heap profile:", "a heap profile in pprof's old format", TO_PPROF),
    (0, b"goroutine profile:", "a profile in pprof's text format", TO_PPROF),
    (0, b"--- contention", "a profile in pprof's old format", TO_PPROF),
    (0, b"# To display the perf.data header info", "the table of perf report", SCRIPT),
    (0, b"#!", "a script", RUN),
];

/// Kinds of texts by words near their beginning.
const WORDS: &[(&[u8], &str, &str)] = &[
    (
        b"Full thread dump ",
        "a thread dump of a JVM",
        "perk attach PID --wall shows what threads wait for",
    ),
    (
        b"   java.lang.Thread.State: ",
        "threads of a thread dump of a JVM",
        "perk attach PID --wall shows what threads wait for",
    ),
    (b"A fatal error has been detected by the Java Runtime", "a crash report of a JVM", OF_JVMS),
    (b" num     #instances         #bytes", "a class histogram of jmap or jcmd", DUMP_HEAP),
    (b"[info][gc", "a log of garbage collections", "perk run --alloc shows what allocates"),
    (b"1TISIGINFO", "a javacore of OpenJ9", OF_JVMS),
    (b"Each sample counts as", "the table of gprof", OF_JVMS),
];

/// Kinds of JSON by the names of members.
const MEMBERS: &[(&[u8], &str, &str)] = &[
    (b"\"traceEvents\"", "a trace in Chrome's JSON", TO_SPEEDSCOPE),
    (b"\"timeDeltas\"", "a CPU profile of Chrome or Node.js in JSON", TO_SPEEDSCOPE),
    (b"\"preprocessedProfileVersion\"", "a profile of the Firefox Profiler in JSON", TO_SPEEDSCOPE),
    (
        b"\"threadDump\"",
        "a thread dump of a JVM in JSON",
        "perk attach PID --wall shows what threads wait for",
    ),
    (
        b"\"stream\":\"stdout\"",
        "a container's log in JSON",
        "jq -rj .log FILE > x.txt gives the text of the program",
    ),
    (b"\"recording\"", "the JSON of jfr print", "give perk the .jfr file"),
    (b"\"resourceProfiles\"", "a profile of OpenTelemetry in JSON", TO_SPEEDSCOPE),
    (b"\"jmhVersion\"", "results of JMH in JSON", RUN),
    (b"\"where_to_begin\"", "a report of perk in JSON", GIVE_PROFILE),
    (b"\"children\"", "a flame graph of another tool in JSON", TO_SPEEDSCOPE),
];

/// The bytes in which the words of texts are looked for.
const WORDS_BYTES: usize = 2048;

/// Returns the kind of a file that begins with `head`, if it is one that perk knows and does not read.
/// A file that a format of perk can hold may be of such a kind, too: formats come first.
pub fn foreign(head: &[u8]) -> Option<Foreign> {
    of_bytes(head).or_else(|| of_text(head))
}

fn of_bytes(head: &[u8]) -> Option<Foreign> {
    // The type of an ELF file that is a core dump.
    const CORE: &[u8] = &[4, 0];
    if head.starts_with(b"\x7FELF") && head.get(16..18) == Some(CORE) {
        let advice = "jhsdb jmap --binaryheap --exe JAVA --core FILE makes a heap dump of a JVM's";
        return Some(Foreign { title: "a core dump", advice });
    }
    let is_it = |offset: usize, magic: &[u8]| {
        head.get(offset..).is_some_and(|rest| rest.starts_with(magic))
    };
    let found = MAGICS.iter().find(|(offset, magic, ..)| is_it(*offset, magic));
    found.map(|&(_, _, title, advice)| Foreign { title, advice })
}

fn of_text(head: &[u8]) -> Option<Foreign> {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    let has = |word: &[u8]| memmem::find(head, word).is_some();
    if is_json(head) {
        let found = MEMBERS.iter().find(|(member, ..)| has(member));
        let (title, advice) = found
            .map_or(("JSON of another tool", TO_SPEEDSCOPE), |&(_, title, advice)| (title, advice));
        return Some(Foreign { title, advice });
    }
    if let Some(kind) = of_tags(head) {
        return Some(kind);
    }
    let begin = &head[..head.len().min(WORDS_BYTES)];
    let found = WORDS.iter().find(|(words, ..)| memmem::find(begin, words).is_some());
    found.map(|&(_, title, advice)| Foreign { title, advice })
}

/// Whether a text begins as objects and lists of JSON do. Frames in brackets do not: `[main];a.b 1`.
fn is_json(text: &[u8]) -> bool {
    let after = |open: u8| text.strip_prefix(&[open]).map(<[u8]>::trim_ascii_start);
    let object = |rest: &[u8]| rest.is_empty() || matches!(rest[0], b'"' | b'}');
    match (after(b'{'), after(b'[')) {
        (Some(rest), _) => object(rest),
        (_, Some(rest)) => match rest.first() {
            Some(b'{') => object(rest[1..].trim_ascii_start()),
            Some(b'"' | b']') => true,
            _ => false,
        },
        _ => false,
    }
}

/// Returns the kind of a text in XML or HTML. Names of the JVM are in angle brackets, too: `<init>`.
fn of_tags(text: &[u8]) -> Option<Foreign> {
    let mut rest = text;
    while let Some(end) =
        PROLOGS.iter().find_map(|(begin, end)| rest.starts_with(begin).then_some(*end))
    {
        let place = memmem::find(rest, end).map_or(rest.len(), |place| place + end.len());
        rest = rest[place..].trim_ascii_start();
    }
    let has_prolog = rest.len() < text.len();
    let is_tag = |tag: &[u8]| rest.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag));
    let found = TAGS.iter().find(|(tag, ..)| is_tag(tag));
    let (title, advice) = match found {
        Some(&(_, title, advice)) => (title, advice),
        None if has_prolog => ("XML", EXPORT),
        None => return None,
    };
    Some(Foreign { title, advice })
}

/// The begins and ends of what precedes the first element in XML.
const PROLOGS: &[(&[u8], &[u8])] = &[(b"<?xml", b"?>"), (b"<?", b"?>"), (b"<!--", b"-->")];

/// Kinds of XML and HTML by the first element.
const TAGS: &[(&[u8], &str, &str)] = &[
    (b"<svg", "an SVG image", GIVE_PROFILE),
    (b"<!doctype svg", "an SVG image", GIVE_PROFILE),
    (b"<!doctype html", "an HTML page", GIVE_PROFILE),
    (b"<html", "an HTML page", GIVE_PROFILE),
    (b"<configuration", "settings of Flight Recorder (.jfc)", "give perk the .jfr file"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognise;

    #[test]
    fn files_of_other_tools_are_named() {
        for (head, title) in [
            (&b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0"[..], "an ELF program or library"),
            (b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0>\0", "a core dump"),
            (b"PK\x03\x04\x14\0\0\0", "a zip or jar archive"),
            (b"\xCA\xFE\xBA\xBE\0\0\0=", "a Java class file"),
            (b"PERFILE2h\0\0\0", "data of perf record"),
            (b"nBpRoFiLeR\x01\x02", "a snapshot of VisualVM or NetBeans"),
            (b"\0\x12portable heap dump\0", "a portable heap dump of OpenJ9"),
            (b"0SECTION       TITLE subcomponent dump routine\n", "a javacore of OpenJ9"),
            (b"[\n {\"jmhVersion\": \"1.37\"}]", "results of JMH in JSON"),
            (b"{\"traceEvents\": [{\"ph\": \"X\"}]}", "a trace in Chrome's JSON"),
            (
                b"{\"log\":\"JAVA PROFILE 1.0.1\\n\",\"stream\":\"stdout\",\"time\":\"2026\"}\n",
                "a container's log in JSON",
            ),
            (
                b"web-1  | 2026-11-26 12:00:00\nweb-1  | Full thread dump OpenJDK 64-Bit Server VM 12\n",
                "a thread dump of a JVM",
            ),
            (b"{\n  \"a\": 5\n}\n", "JSON of another tool"),
            (b"{\"a\": 5\n", "JSON of another tool"),
            (b"[]", "JSON of another tool"),
            (b"<?xml version=\"1.0\"?>\n<!-- x -->\n<svg width=\"1\">", "an SVG image"),
            (b"<?xml version=\"1.0\"?>\n<suite a=\"1\"> 5\n", "XML"),
            (b"<!DOCTYPE html>\n<title>x</title>", "an HTML page"),
            (b"<html><body>1\n", "an HTML page"),
            (
                b"2026-11-26 12:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15)",
                "a thread dump of a JVM",
            ),
            (
                b"12:00:00 \"main\" #1 prio=5 os_prio=0 tid=0x1\n12:00:00    java.lang.Thread.State: RUNNABLE\n",
                "threads of a thread dump of a JVM",
            ),
            (b"#!/bin/sh\nexit 1\n", "a script"),
        ] {
            assert_eq!(foreign(head).map(|it| it.title), Some(title), "{}", head.escape_ascii());
            assert!(recognise(head).is_none(), "{}", head.escape_ascii());
        }
        let mut tar = vec![b'a'; 257];
        tar.extend(b"ustar\x0000");
        assert_eq!(foreign(&tar).unwrap().title, "a tar archive");
        // A line of the whole head, as programs print JSON.
        let mut long = b"{\"nodes\":[{\"id\":1,\"x\":[".to_vec();
        long.resize(crate::HEAD_BYTES as usize, b'1');
        assert!(foreign(&long).is_some() && recognise(&long).is_none());
    }

    #[test]
    fn stacks_with_brackets_are_no_files_of_other_tools() {
        for head in [
            &b"[main];a.b 1\n"[..],
            b"[[vdso]];a.b 1\n",
            b"{lambda};a.b 1\n",
            b"<init>;a.b 1\n",
            b"<clinit> 7\n",
            b"MZ.run;a.b 1\n",
            b"NULL;a.b 1\n",
            b"# a comment\na;b 1\n",
        ] {
            assert_eq!(foreign(head), None, "{}", head.escape_ascii());
            assert_eq!(recognise(head).map(|it| it.name()), Some("collapsed"));
        }
    }
}
