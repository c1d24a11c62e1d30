//! Files of the original agent (`testdata/hprof`). Their contents are checked row by row, and no
//! cut of them does harm, however unlucky.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use perk_hprof::{Error, Format};
use perk_profile::{Event, Line, Profile};

const TEXTS: [&str; 3] =
    ["samples-cpu.txt", "samples-cpu-thread-lineno-n.txt", "sigquit-samples.txt"];
const BINARY: &str = "samples-b-cpu.hprof";

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn read(name: &str) -> Profile {
    perk_hprof::read(&golden(name)[..]).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Count, serial number of the trace, method on top.
type CountRow = (u64, u32, String);
type ExpectedRow = (u64, u32, &'static str);

/// Returns the total and the rows of each section.
fn sections(profile: &Profile) -> Vec<(u64, Vec<CountRow>)> {
    let sections = profile.cpu_samples().map(|samples| {
        let row = |&(trace, count): &(_, u64)| {
            let top = profile.frames(trace).next().unwrap();
            let method = profile.symbols.get_frame(top).method;
            let serial = profile.get_trace(trace).serial;
            (count, serial, profile.symbols.method_name(method))
        };
        (samples.total, samples.rows.iter().map(row).collect())
    });
    sections.collect()
}

#[track_caller]
fn assert_sections(profile: &Profile, expected: &[(u64, &[ExpectedRow])]) {
    let expected: Vec<(u64, Vec<CountRow>)> = expected
        .iter()
        .map(|(total, rows)| {
            let rows = rows.iter().map(|&(count, trace, name)| (count, trace, name.to_owned()));
            (*total, rows.collect())
        })
        .collect();
    assert_eq!(sections(profile), expected);
}

/// Returns the frames of a trace as the text form shows them.
fn frames(profile: &Profile, serial: u32) -> Vec<String> {
    let trace = profile.trace_by_serial(serial).unwrap();
    let symbols = &profile.symbols;
    let shown = profile.frames(trace).map(|id| {
        let frame = symbols.get_frame(id);
        let source = symbols.get_method(frame.method).source.unwrap();
        let line = match frame.line {
            Line::Number(line) => line.to_string(),
            other => format!("{other:?}"),
        };
        format!("{}({}:{line})", symbols.method_name(frame.method), symbols.strings.get(source))
    });
    shown.collect()
}

/// Returns the starts (`+`) and ends (`-`) of threads, in order.
fn lives(profile: &Profile) -> Vec<String> {
    let lives = profile.events.iter().filter_map(|event| match event {
        Event::ThreadStart(id) => {
            let thread = profile.get_thread(*id);
            let group = thread.group.map_or("", |group| profile.symbols.strings.get(group));
            Some(format!("+{} {} {group}", thread.serial, profile.thread_name(*id)))
        }
        Event::ThreadEnd(serial) => Some(format!("-{serial}")),
        _ => None,
    });
    lives.collect()
}

#[test]
fn text_of_cpu_samples() {
    let profile = read(TEXTS[0]);
    assert_eq!(profile.created.unwrap().ctime(), "Fri Nov 20 19:00:31 2026");
    assert_sections(
        &profile,
        &[(
            32,
            &[
                (13, 300_079, "CpuRecursion.spin"),
                (5, 300_080, "CpuRecursion.spin"),
                (5, 300_081, "CpuRecursion.spin"),
                (2, 300_083, "CpuRecursion.spin"),
                (2, 300_084, "CpuRecursion.spin"),
                (1, 300_018, "java.lang.CharacterDataLatin1.toLowerCase"),
                (1, 300_051, "java.net.URLClassLoader.defineClass"),
                (1, 300_078, "java.lang.System.nanoTime"),
                (1, 300_082, "CpuRecursion.leaf"),
                (1, 300_085, "jdk.internal.misc.TerminatingThreadLocal.<clinit>"),
            ],
        )],
    );
    assert_eq!(
        frames(&profile, 300_083),
        [
            "CpuRecursion.spin(CpuRecursion.java:6)",
            "CpuRecursion.<init>(CpuRecursion.java:14)",
            "CpuRecursion.main(CpuRecursion.java:23)",
        ]
    );
    assert_eq!(frames(&profile, 300_078)[0], "java.lang.System.nanoTime(System.java:Unknown)");
    let written = profile.cpu_samples().next().unwrap().written.unwrap();
    assert_eq!(written.ctime(), "Fri Nov 20 19:00:32 2026");
    assert_eq!(
        lives(&profile),
        ["+200001 main main", "-200001", "+200004 DestroyJavaVM main", "-200004", "-200002"]
    );
    assert!(profile.notes.is_empty() && profile.accounting.is_none());
}

#[test]
fn text_of_cpu_samples_by_thread_without_lines() {
    let profile = read(TEXTS[1]);
    assert_sections(
        &profile,
        &[(
            36,
            &[
                (11, 300_078, "CpuRecursion.spin"),
                (9, 300_080, "CpuRecursion.spin"),
                (8, 300_079, "CpuRecursion.spin"),
                (3, 300_082, "CpuRecursion.spin"),
                (2, 300_081, "CpuRecursion.spin"),
                (1, 300_023, "java.lang.Class.forName0"),
                (1, 300_047, "java.lang.StringCoding.safeTrim"),
                (1, 300_077, "CpuRecursion.fib"),
            ],
        )],
    );
    for (trace, _) in &profile.total_cpu_samples().rows {
        let thread = profile.get_trace(*trace).thread.unwrap();
        assert_eq!(profile.thread_name(thread), "main");
        let lines = profile.frames(*trace).map(|frame| profile.symbols.get_frame(frame).line);
        assert!(lines.into_iter().all(|line| line == Line::Unknown));
    }
}

#[test]
fn text_of_three_dumps() {
    let profile = read(TEXTS[2]);
    assert_sections(
        &profile,
        &[
            (
                47,
                &[
                    (35, 300_080, "LongRun.busy"),
                    (5, 300_079, "LongRun.busy"),
                    (3, 300_082, "LongRun.outer"),
                    (1, 300_023, "sun.util.PreHashedMap.get"),
                    (1, 300_048, "java.lang.ref.Reference.get"),
                    (1, 300_058, "java.lang.System.getSecurityManager"),
                    (1, 300_081, "LongRun.main"),
                ],
            ),
            (
                48,
                &[
                    (40, 300_080, "LongRun.busy"),
                    (6, 300_079, "LongRun.busy"),
                    (2, 300_082, "LongRun.outer"),
                ],
            ),
            (
                84,
                &[
                    (74, 300_080, "LongRun.busy"),
                    (9, 300_079, "LongRun.busy"),
                    (1, 300_082, "LongRun.outer"),
                ],
            ),
        ],
    );
    assert_eq!(profile.total_cpu_samples().total, 47 + 48 + 84);
}

#[test]
fn records_of_cpu_samples() {
    let profile = read(BINARY);
    assert_eq!(profile.created.unwrap().unix_ms, 1_795_201_232_762);
    assert_eq!(profile.depth, Some(4));
    assert_sections(
        &profile,
        &[(
            36,
            &[
                (14, 300_077, "CpuRecursion.spin"),
                (8, 300_078, "CpuRecursion.spin"),
                (8, 300_079, "CpuRecursion.spin"),
                (3, 300_081, "CpuRecursion.spin"),
                (2, 300_080, "CpuRecursion.spin"),
                (1, 300_047, "java.util.zip.ZipFile.getName"),
            ],
        )],
    );
    assert_eq!(
        frames(&profile, 300_077),
        [
            "CpuRecursion.spin(CpuRecursion.java:6)",
            "CpuRecursion.leaf(CpuRecursion.java:7)",
            "CpuRecursion.callerA(CpuRecursion.java:8)",
            "CpuRecursion.main(CpuRecursion.java:20)",
        ]
    );
    assert_eq!(
        lives(&profile),
        ["+200001 main main", "-200001", "+200004 DestroyJavaVM main", "-200004", "-200002"]
    );
    assert!(
        profile
            .symbols
            .classes()
            .any(|(id, _)| { profile.symbols.class_name(id) == "java.security.Principal[]" })
    );
    assert_eq!(profile.notes, [""; 0]);
}

/// A text that ends anywhere is read up to its end, with a note if the last part is not whole. A
/// text that ends before its first record is an error.
#[test]
fn texts_cut_anywhere_are_read_as_far_as_they_go() {
    for name in TEXTS {
        let bytes = golden(name);
        let all = sections(&read(name));
        let body = bytes.windows(11).position(|it| it == b"\n--------\n\n").unwrap() + 9;
        let first = body + 2 + bytes[body + 2..].iter().position(|&it| it == b')').unwrap();
        for end in 0..bytes.len() {
            let cut = &bytes[..end];
            let text = std::str::from_utf8(cut).unwrap();
            let begins = text.matches("CPU SAMPLES BEGIN (").count();
            let ends = text.matches("CPU SAMPLES END").count();
            let last = text.lines().rfind(|line| !line.starts_with('\t')).unwrap_or("");
            let is_open = begins != ends || last.starts_with("TRACE ");
            let whole = end >= body
                && !is_open
                && ["\n", ")", "CPU SAMPLES END", "--------"].iter().any(|it| text.ends_with(it));
            match perk_hprof::read(cut) {
                Ok(profile) => {
                    assert!(whole || end > first, "{name} cut at {end} was taken");
                    assert_eq!(profile.notes.is_empty(), whole, "{name} cut at {end}");
                    for (found, expected) in sections(&profile).iter().zip(&all) {
                        assert_eq!(found.0, expected.0, "{name} cut at {end}");
                        assert!(expected.1.starts_with(&found.1), "{name} cut at {end}");
                    }
                }
                Err(Error::Ascii { line, .. }) => {
                    let lines = cut.split(|byte| *byte == b'\n').count();
                    assert!(!whole && end <= first, "{name} cut at {end} was refused");
                    assert!((1..=lines).contains(&line), "{name} cut at {end}: {line}");
                }
                Err(Error::NotHprof { .. }) => assert!(end < 20, "{name} cut at {end}"),
                Err(other) => panic!("{name} cut at {end}: {other:?}"),
            }
        }
        let inside = bytes.len() - "CPU SAMPLES END\n".len();
        let notes = perk_hprof::read(&bytes[..inside]).unwrap().notes;
        let line = bytes[..inside].split(|byte| *byte == b'\n').count() - 1;
        assert_eq!(notes, [format!("the file is cut off in line {line}, in CPU SAMPLES")]);
    }
}

/// The file is cut at every record's end, and at each byte of the header and of the first records
/// of each kind.
#[test]
fn records_cut_anywhere_are_read_as_far_as_they_are_whole() {
    const OF_A_KIND: u32 = 4;
    let bytes = golden(BINARY);
    let mut borders = vec![19 + 4 + 8];
    let mut ends: Vec<usize> = (0..borders[0]).collect();
    let mut counts = [0_u32; 256];
    while *borders.last().unwrap() < bytes.len() {
        let at = *borders.last().unwrap();
        let length = bytes[at + 5..at + 9].iter().fold(0, |n, byte| n << 8 | usize::from(*byte));
        let next = at + 9 + length;
        let count = &mut counts[usize::from(bytes[at])];
        *count += 1;
        ends.extend(at..if *count <= OF_A_KIND { next } else { at + 2 });
        borders.push(next);
    }
    assert_eq!(*borders.last().unwrap(), bytes.len());
    assert_eq!(counts.iter().filter(|&&count| count > 0).count(), 8, "kinds of records");
    for end in ends {
        let whole = borders.binary_search(&end);
        match perk_hprof::read(&bytes[..end]) {
            Ok(profile) => {
                assert_eq!(profile.notes.is_empty(), whole.is_ok(), "cut at {end}");
                if let Err(next) = whole {
                    let note = format!("offset {}: the file is cut off in", borders[next - 1]);
                    assert!(profile.notes[0].starts_with(&note), "{:?}", profile.notes);
                }
            }
            // Nothing of these files can be read.
            Err(Error::Cut { offset, .. }) => assert!(end < borders[1] && offset <= end),
            Err(Error::NotHprof { .. } | Error::Ascii { .. }) => assert!(end < 19, "cut at {end}"),
            Err(other) => panic!("cut at {end}: {other:?}"),
        }
    }
}

/// Profiles that were read can be written again in both formats, and are the same then.
#[test]
fn golden_files_are_written_again() {
    for name in TEXTS.into_iter().chain([BINARY]) {
        let profile = read(name);
        for format in [Format::Ascii, Format::Binary] {
            let mut written = Vec::new();
            perk_hprof::write(&profile, format, &mut written).unwrap();
            let again = perk_hprof::read(&written[..]).unwrap();
            assert_eq!(sections(&again), sections(&profile), "{name} as {format:?}");
            assert_eq!(lives(&again), lives(&profile), "{name} as {format:?}");
        }
    }
}
