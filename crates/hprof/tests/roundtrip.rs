//! What is written is read as it was, whatever the names; and readers take any bytes.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use perk_hprof::{Error, Format};
use perk_profile::{
    CpuSamples, Event, Frame, FrameId, Line, Method, MethodId, Profile, StrId, Thread, ThreadId,
    Timestamp, TraceId,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const FORMATS: [Format; 2] = [Format::Ascii, Format::Binary];

/// A profile as numbers and names; [`build`] makes one of it.
#[derive(Debug, Clone)]
struct Plan {
    created_s: u64,
    depth: u16,
    classes: Vec<String>,
    methods: Vec<(Index, String, Option<String>, Option<String>)>,
    frames: Vec<(Index, Line)>,
    threads: Vec<(String, Option<String>, Option<String>)>,
    /// Frames, the outermost first, and a thread.
    traces: Vec<(Vec<Index>, Option<Index>)>,
    events: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Start,
    End(Index),
    /// Counts of traces, samples beyond them, and seconds since the beginning.
    Samples(Vec<(Index, u64)>, u64, u64),
}

/// Names that are legal in a JVM and look like parts of a file.
fn name() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "java.lang.",
        "\"",
        "\\",
        "\t",
        "\n",
        "\r",
        "\0",
        "(",
        ")",
        ":",
        ".",
        " ",
        "12",
        "é",
        "😀",
        "\u{FFFF}",
        "perk accounting\n",
        "\u{7FF}",
        "\u{D7FF}",
        "<empty>",
        "<init>",
        "Unknown line",
        "\\n",
        "TRACE 300001:",
        "CPU SAMPLES END\n",
        "--------",
        "\", group=\"",
        ", id = ",
        "    perk: ",
        "\u{2028}",
    ];
    let piece = prop_oneof![
        4 => select(pieces.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => Just("x".repeat(3000)),
    ];
    vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn optional_name() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(name())
}

/// No method's name has a dot.
fn method_name() -> impl Strategy<Value = String> {
    name().prop_map(|name| name.replace('.', "-"))
}

/// In text, nothing tells a parenthesis of the source from the one before it.
fn source() -> impl Strategy<Value = Option<String>> {
    optional_name().prop_map(|name| name.map(|name| name.replace('(', "[")))
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        (1..=i32::MAX as u32).prop_map(Line::Number),
        Just(Line::Unknown),
        Just(Line::Compiled),
        Just(Line::Native),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    // The clock of the records wraps after 71 minutes.
    let samples = (vec((any::<Index>(), 1..1_000_000_u64), 0..6), 0..10_u64, 0..4000_u64);
    prop_oneof![
        Just(Step::Start),
        any::<Index>().prop_map(Step::End),
        samples.prop_map(|(rows, more, seconds)| Step::Samples(rows, more, seconds)),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let index = any::<Index>;
    let symbols = (
        // No class's name has a slash: the reader takes one for the dot of JDK 1.2's agent.
        vec(name().prop_map(|name| name.replace('/', ".")), 1..4),
        vec((index(), method_name(), optional_name(), source()), 1..5),
        vec((index(), line()), 1..6),
    );
    let threads = vec((name(), optional_name(), optional_name()), 1..4);
    let traces = vec((vec(index(), 0..5), proptest::option::of(index())), 1..6);
    let rest = (0..4_000_000_000_u64, any::<u16>(), threads, traces, vec(step(), 0..6));
    (symbols, rest).prop_map(
        |((classes, methods, frames), (created_s, depth, threads, traces, events))| Plan {
            created_s,
            depth,
            classes,
            methods,
            frames,
            threads,
            traces,
            events,
        },
    )
}

fn stamp(seconds: u64) -> Timestamp {
    Timestamp { unix_ms: seconds * 1000, utc_offset_s: 0 }
}

fn build(plan: &Plan) -> Profile {
    let mut profile = Profile::default();
    profile.created = Some(stamp(plan.created_s));
    profile.depth = Some(plan.depth.into());
    let symbols = &mut profile.symbols;
    let classes: Vec<_> = plan.classes.iter().map(|name| symbols.new_class(name)).collect();
    let mut methods: Vec<MethodId> = Vec::new();
    for (class, name, signature, source) in &plan.methods {
        let mut intern = |name: &String| symbols.strings.intern(name);
        let method = Method {
            name: intern(name),
            signature: signature.as_ref().map(&mut intern),
            source: source.as_ref().map(&mut intern),
            class: *class.get(&classes),
        };
        methods.push(symbols.method(method));
    }
    let frames: Vec<FrameId> = plan
        .frames
        .iter()
        .map(|(method, line)| Frame { method: *method.get(&methods), bci: None, line: *line })
        .map(|frame| symbols.frame(frame))
        .collect();
    let mut threads: Vec<ThreadId> = Vec::new();
    for (index, (name, group, parent_group)) in plan.threads.iter().enumerate() {
        let mut intern = |name: &String| profile.symbols.strings.intern(name);
        let thread = Thread {
            serial: 200_001 + index as u32,
            object_id: 0x5_0000_0001 + index as u64,
            name: intern(name),
            group: group.as_ref().map(&mut intern),
            parent_group: parent_group.as_ref().map(&mut intern),
        };
        threads.push(profile.push_thread(thread));
    }
    let mut traces: Vec<TraceId> = vec![profile.system_trace()];
    for (path, thread) in &plan.traces {
        let node = profile.tree.insert(path.iter().map(|index| *index.get(&frames))).node;
        let thread = thread.as_ref().map(|index| *index.get(&threads));
        traces.push(profile.trace(node, thread));
    }
    // Threads that a trace names have started by then.
    let mut to_start = threads.iter();
    for step in &plan.events {
        let event = match step {
            Step::Start => to_start.next().map(|thread| Event::ThreadStart(*thread)),
            Step::End(index) => {
                Some(Event::ThreadEnd(profile.get_thread(*index.get(&threads)).serial))
            }
            Step::Samples(rows, more, seconds) => {
                profile.events.extend(to_start.by_ref().map(|thread| Event::ThreadStart(*thread)));
                let mut samples = CpuSamples::default();
                for (trace, count) in rows {
                    let trace = *trace.get(&traces);
                    if !samples.rows.iter().any(|(known, _)| *known == trace) {
                        samples.rows.push((trace, *count));
                    }
                }
                samples.total = samples.rows.iter().map(|(_, count)| count).sum::<u64>() + more;
                samples.written = Some(stamp(plan.created_s + seconds));
                samples.rank(0.0);
                Some(Event::CpuSamples(samples))
            }
        };
        profile.events.extend(event);
    }
    profile
}

fn written(profile: &Profile, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    perk_hprof::write(profile, format, &mut bytes).unwrap();
    bytes
}

/// All that a profile's events say, by names instead of ids.
fn told(profile: &Profile) -> Vec<String> {
    let text = |id: StrId| profile.symbols.strings.get(id);
    let thread = |id: ThreadId| {
        let thread = profile.get_thread(id);
        (
            thread.serial,
            thread.object_id,
            text(thread.name),
            thread.group.map(text),
            thread.parent_group.map(text),
        )
    };
    let row = |&(id, count): &(TraceId, u64)| {
        let trace = profile.get_trace(id);
        let frames: Vec<_> = profile
            .frames(id)
            .map(|id| {
                let frame = profile.symbols.get_frame(id);
                let method = profile.symbols.get_method(frame.method);
                (
                    profile.symbols.class_name(method.class).to_owned(),
                    text(method.name),
                    method.signature.map(text),
                    method.source.map(text),
                    frame.line,
                )
            })
            .collect();
        (count, trace.serial, trace.thread.map(thread), frames)
    };
    let event = |event: &Event| match event {
        Event::ThreadStart(id) => format!("start {:?}", thread(*id)),
        Event::ThreadEnd(serial) => format!("end {serial}"),
        Event::CpuSamples(samples) => {
            let rows: Vec<_> = samples.rows.iter().map(row).collect();
            format!("{} {:?} {rows:?}", samples.total, samples.written)
        }
        other => format!("{other:?}"),
    };
    profile.events.iter().map(event).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    /// Text is the same bytes after one reading. (Line ends in names are written as `\n`.)
    #[test]
    fn text_is_written_as_it_was_read(plan in plan()) {
        let first = written(&build(&plan), Format::Ascii);
        let read = perk_hprof::read(&first).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let second = written(&read, Format::Ascii);
        prop_assert_eq!(String::from_utf8_lossy(&second), String::from_utf8_lossy(&first));
    }

    /// Records lose nothing. Their ids are the order of first use after one reading, and stay.
    #[test]
    fn records_are_written_as_they_were_read(plan in plan()) {
        let profile = build(&plan);
        let first = written(&profile, Format::Binary);
        let read = perk_hprof::read(&first).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(read.created, profile.created);
        prop_assert_eq!(read.depth, profile.depth);
        prop_assert_eq!(told(&read), told(&profile));
        let classes = |profile: &Profile| -> Vec<String> {
            let symbols = &profile.symbols;
            symbols.classes().map(|(id, _)| symbols.class_name(id).to_owned()).collect()
        };
        prop_assert_eq!(classes(&read), classes(&profile));
        prop_assert_eq!(read.notes.len(), 0);

        let second = written(&read, Format::Binary);
        let third = written(&perk_hprof::read(&second).unwrap(), Format::Binary);
        prop_assert!(second == third, "{:?}", plan);
        prop_assert_eq!(second.len(), first.len());
    }

    #[test]
    fn what_is_cut_or_broken_is_an_error_or_less(
        plan in plan(),
        cuts in vec(any::<Index>(), 20),
        flips in vec((any::<Index>(), 0..8_u8), 1..20),
    ) {
        for format in FORMATS {
            let bytes = written(&build(&plan), format);
            for cut in &cuts {
                survives(&bytes[..cut.index(bytes.len())])?;
            }
            let mut broken = bytes;
            for (at, bit) in &flips {
                let at = at.index(broken.len());
                broken[at] ^= 1 << bit;
                survives(&broken)?;
            }
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_profile(
        header in select(vec![
            &b"JAVA PROFILE 1.0.1, created Fri Nov 20 19:00:31 2026\n\n--------\n\n"[..],
            &b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0"[..],
            &b"JAVA PROFILE 1.0.1\0\0\0\0\x04\0\0\0\0\0\0\0\0"[..],
            &b"JAVA PROFILE 1.0"[..],
            &b""[..],
        ]),
        bytes in vec(any::<u8>(), 0..400),
    ) {
        survives(&[header, &bytes].concat())?;
    }

    /// Records of any tag and length with bytes that mean something more often than chance has it.
    #[test]
    fn any_records_are_an_error_or_a_profile(
        id_bytes in 0..10_u8,
        records in vec((0..0x30_u8, 0..40_u32, vec(0..4_u8, 0..40)), 0..10),
    ) {
        let mut bytes = b"JAVA PROFILE 1.0.1\0\0\0\0".to_vec();
        bytes.push(id_bytes);
        bytes.extend([0; 8]);
        for (tag, length, body) in records {
            bytes.push(tag);
            bytes.extend([0; 4]);
            bytes.extend(length.to_be_bytes());
            bytes.extend(body);
        }
        survives(&bytes)?;
    }
}

/// Reads, which must not panic; an error lies inside the file.
fn survives(bytes: &[u8]) -> Result<(), TestCaseError> {
    match perk_hprof::read(bytes) {
        Ok(profile) => {
            // What was read can be written.
            for format in FORMATS {
                written(&profile, format);
            }
        }
        Err(Error::Binary { offset, .. }) => prop_assert!(offset <= bytes.len()),
        Err(Error::Ascii { line, .. }) => {
            let lines = bytes.split(|byte| *byte == b'\n').count();
            prop_assert!((1..=lines).contains(&line), "line {} of {}", line, lines);
        }
        Err(_) => {}
    }
    Ok(())
}

/// Bits of the original's files, one after the other through the small ones and here and there in
/// the large one.
#[test]
fn golden_files_with_a_bit_flipped_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof");
    for (name, step) in [("samples-cpu.txt", 13), ("samples-b-cpu.hprof", 61)] {
        let bytes = fs::read(folder.join(name)).unwrap();
        for bit in (0..bytes.len() * 8).step_by(step) {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            survives(&broken).unwrap_or_else(|e| panic!("{name}, bit {bit}: {e}"));
        }
    }
}
