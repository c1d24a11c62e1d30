//! Call times, sites, and calls by callee and caller in files of the original agent
//! (`testdata/hprof`). They are read correctly and written again as they were.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use perk_hprof::{Error, Format, Writer};
use perk_profile::{
    Allocations, CallRow, CallTimes, CpuSamples, Event, Frame, FrameKind, HeapSummary, Line,
    Method, MethodId, Metric, MonitorRow, Profile, Section, SectionView, Site, Sites, TraceId,
};

const TIMES: &str = "times-cpu.txt";
const TIMES_BY_THREAD: &str = "times-cpu-thread.txt";
const TIMES_WITHOUT_FRAMES: &str = "times-cpu-depth0.txt";
const SITES: &str = "sites-alloc-depth1.txt";
const SITES_BINARY: &str = "sites-b-arrays.hprof";
const OLD: &str = "old-cpu.txt";
const ALL: [&str; 6] = [TIMES, TIMES_BY_THREAD, TIMES_WITHOUT_FRAMES, SITES, SITES_BINARY, OLD];

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn read(name: &str) -> Profile {
    let profile = perk_hprof::read(&golden(name)[..]).unwrap_or_else(|e| panic!("{name}: {e}"));
    // The original's records do not give the names of array classes that were made late.
    let notes = if name == SITES_BINARY { 7 } else { 0 };
    assert_eq!(profile.notes.len(), notes, "{name}: {:?}", profile.notes);
    profile
}

fn written(profile: &Profile, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    perk_hprof::write(profile, format, &mut bytes).unwrap();
    bytes
}

/// Returns milliseconds of self time, calls, serial number of the trace, and the method on top.
fn call(profile: &Profile, row: &CallRow) -> (f64, u64, u32, String) {
    let trace = profile.get_trace(row.trace);
    let top = profile.tree.frame(trace.node);
    let name = top.map_or("".into(), |frame| {
        profile.symbols.method_name(profile.symbols.get_frame(frame).method)
    });
    (row.self_ns as f64 / 1e6, row.count, trace.serial, name)
}

#[test]
fn text_of_call_times() {
    let profile = read(TIMES);
    let times = profile.call_times().next().unwrap();
    assert_eq!(times.total_ns, 814_000_000);
    let first: Vec<_> = times.rows[..6].iter().map(|row| call(&profile, row)).collect();
    let spin = "CpuRecursion.spin".to_owned();
    assert_eq!(
        first,
        [
            (204.0, 2, 302_303, spin.clone()),
            (200.0, 1, 302_300, spin.clone()),
            (151.0, 1, 302_314, "CpuRecursion.sleeper".to_owned()),
            (56.0, 1, 302_326, spin.clone()),
            (31.0, 1, 302_324, spin),
            (29.0, 52, 300_310, "java.lang.StringBuilder.append".to_owned()),
        ]
    );
    assert_eq!(times.rows.len(), 58);
    assert!(times.rows.iter().all(|row| row.self_ns % 1_000_000 == 0));
    for row in &times.rows {
        let mut frames = profile.frames(row.trace);
        assert!(frames.all(|frame| profile.symbols.get_frame(frame).line == Line::Unknown));
    }
}

/// No row was cut off in these files, so that the rows add up to the total.
/// Some locales have a blank before the sign of percentages.
#[test]
fn blanks_before_percent_signs_change_nothing() {
    for name in [TIMES, SITES] {
        let text = String::from_utf8(golden(name)).unwrap();
        let plain = read(name);
        for blank in [" ", "\u{a0}", "\u{202f}"] {
            let text = text.replace('%', &format!("{blank}%"));
            let profile = perk_hprof::read(text.as_bytes()).unwrap();
            assert_eq!(profile.notes, [""; 0], "{name}");
            assert_eq!(profile.events, plain.events, "{name}");
        }
    }
}

#[test]
fn call_times_add_up() {
    for (name, total_ms, count) in
        [(TIMES, 814, 3710), (TIMES_BY_THREAD, 766, 2984), (TIMES_WITHOUT_FRAMES, 808, 18_896)]
    {
        let profile = read(name);
        let times = profile.call_times().next().unwrap();
        let sum_ns: u64 = times.rows.iter().map(|row| row.self_ns).sum();
        assert_eq!((sum_ns, times.total_ns), (total_ms * 1_000_000, total_ms * 1_000_000));
        assert_eq!(times.rows.iter().map(|row| row.count).sum::<u64>(), count, "{name}");
    }
    let profile = read(TIMES_BY_THREAD);
    let trace = profile.get_trace(profile.call_times().next().unwrap().rows[0].trace);
    assert_eq!(profile.thread_name(trace.thread.unwrap()), "main");
}

fn sum(sites: &Sites) -> Allocations {
    let mut sum = Allocations::default();
    for row in &sites.rows {
        sum.add(row.objects);
    }
    sum
}

#[test]
fn text_of_sites() {
    let profile = read(SITES);
    let sites = profile.sites().unwrap();
    assert_eq!(sites.rows.len(), 863);
    let Site { class, trace, objects } = sites.rows[1];
    assert_eq!(profile.symbols.class_name(class), "char[]");
    assert_eq!(profile.get_trace(trace).serial, 300_012);
    assert_eq!((objects.live_bytes, objects.live_count), (152_264, 2343));
    assert_eq!((objects.allocated_bytes, objects.allocated_count), (152_264, 2343));
    // The last row gives the share of the listed rows as 99.29 % of all.
    let share = sum(&sites).live_bytes as f64 / sites.total.live_bytes as f64;
    assert_eq!(format!("{:.2}", share * 100.0), "99.29");
    assert_eq!(sites.sample_interval_bytes, None);
}

#[test]
fn records_of_sites() {
    let profile = read(SITES_BINARY);
    let sites = profile.sites().unwrap();
    let total = Allocations {
        live_bytes: 417_776,
        live_count: 2027,
        allocated_bytes: 417_776,
        allocated_count: 2027,
    };
    assert_eq!(sites.total, total);
    assert_eq!(sites.rows.len(), 697);
    assert_eq!((sum(&sites).live_bytes, sum(&sites).live_count), (412_744, 1832));
    let Site { class, trace, objects } = sites.rows[1];
    assert_eq!(profile.symbols.class_name(class), "char[]");
    assert_eq!(profile.get_trace(trace).serial, 300_010);
    assert_eq!((objects.live_bytes, objects.live_count), (10_848, 76));
}

/// Returns the types of array elements in the only ALLOC SITES of a file.
fn element_types(bytes: &[u8]) -> Vec<u8> {
    let u4 = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut at = bytes.iter().position(|&byte| byte == 0).unwrap() + 13;
    while bytes[at] != 0x06 {
        at += 9 + u4(at + 5);
    }
    let rows = at + 9 + 34;
    (0..u4(rows - 4)).map(|row| bytes[rows + 25 * row]).collect()
}

#[test]
fn records_of_sites_name_the_types_that_the_original_named() {
    let again = written(&read(SITES_BINARY), Format::Binary);
    let types = element_types(&again);
    assert_eq!(types, element_types(&golden(SITES_BINARY)));
    assert!([0, 2, 4, 5, 6, 7, 8, 9, 10, 11].iter().all(|it| types.contains(it)));
}

/// The original agent wrote half a double in the cutoff's field. perk writes a float, which is the
/// share of the last row.
#[test]
fn the_cutoff_is_a_float() {
    let again = written(&read(SITES_BINARY), Format::Binary);
    let record = |at: usize| again[at] == 0x06 && again[at + 5..at + 9] == [0, 0, 0x44, 0x33];
    let at = (0..again.len() - 9).find(|&at| record(at)).unwrap() + 9;
    let cutoff = f32::from_be_bytes(again[at + 2..at + 6].try_into().unwrap());
    let profile = perk_hprof::read(&again[..]).unwrap();
    let sites = profile.sites().unwrap();
    let share = |row: &Site| row.objects.live_bytes as f32 / sites.total.live_bytes as f32;
    assert!((share(sites.rows.last().unwrap()) - cutoff).abs() < 1e-9, "{cutoff}");
    assert!(cutoff > 0.0001 && cutoff < 0.01, "{cutoff}");
}

#[test]
fn text_of_calls_by_callee_and_caller() {
    let profile = read(OLD);
    let edges = profile.call_edges().next().unwrap();
    assert_eq!(edges.rows.len(), 1554);
    assert_eq!(edges.rows.iter().map(|row| row.count).sum::<u64>(), 18_881);
    assert_eq!(edges.rows.iter().map(|row| row.total_ns).sum::<u64>(), 5_675_000_000);
    assert_eq!(edges.rows.iter().filter(|row| row.caller.is_none()).count(), 16);
    let text = |id: MethodId| {
        let signature = profile.symbols.get_method(id).signature.unwrap();
        profile.symbols.method_name(id) + profile.symbols.strings.get(signature)
    };
    let row = edges.rows[1];
    assert_eq!(row.callee.map(text).as_deref(), Some("CpuRecursion.fib(I)I"));
    assert_eq!((row.callee, row.count, row.total_ns), (row.caller, 1392, 15_000_000));
    let mut ranked = edges.clone();
    ranked.rank();
    let counts =
        |rows: &[perk_profile::CallEdge]| rows.iter().map(|row| row.count).collect::<Vec<_>>();
    assert_eq!(counts(&ranked.rows), counts(&edges.rows));
}

/// Returns the sections of a text, including dates. Classes have their stable names.
fn sections(text: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(text).unwrap();
    let mut sections: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if ["CPU TIME (ms) BEGIN", "SITES BEGIN"].iter().any(|start| line.starts_with(start)) {
            inside = true;
            sections.push(String::new());
        }
        if inside {
            let section = sections.last_mut().unwrap();
            let (numbers, class) = line.rsplit_once(' ').unwrap_or(("", line));
            section.push_str(&format!("{numbers} {}\n", perk_profile::names::stable(class)));
            inside = !line.ends_with(" END");
        }
    }
    sections
}

#[test]
fn sections_are_written_as_they_were_read() {
    for name in [TIMES, TIMES_BY_THREAD, TIMES_WITHOUT_FRAMES, SITES] {
        let again = written(&read(name), Format::Ascii);
        let (again, first) = (sections(&again), sections(&golden(name)));
        assert_eq!(first.len(), 1);
        assert_eq!(again, first, "{name}");
    }
    assert!(written(&read(OLD), Format::Old) == golden(OLD));
}

/// Returns the numbers and names of all sections, with serial numbers instead of ids.
fn summary(profile: &Profile) -> Vec<String> {
    let serial = |trace| profile.get_trace(trace).serial;
    let method = |id: Option<MethodId>| id.map(|id| profile.symbols.method_name(id));
    let mut summary = Vec::new();
    for section in profile.sections() {
        match section.view(profile) {
            SectionView::CallTimes(times) => {
                summary.push(format!("{} ns", times.total_ns));
                let row = |row: &CallRow| format!("{:?}", call(profile, row));
                summary.extend(times.rows.iter().map(row));
            }
            SectionView::Sites(sites) => {
                summary.push(format!("{:?} {:?}", sites.total, sites.sample_interval_bytes));
                let row = |row: &Site| {
                    let class = profile.symbols.class_name(row.class);
                    format!("{class} {} {:?}", serial(row.trace), row.objects)
                };
                summary.extend(sites.rows.iter().map(row));
            }
            SectionView::CallEdges(edges) => summary.extend(edges.rows.iter().map(|row| {
                let (callee, caller) = (method(row.callee), method(row.caller));
                format!("{callee:?} {caller:?} {} {}", row.count, row.total_ns)
            })),
            _ => {}
        }
    }
    summary
}

#[test]
fn extended_files_hold_all_of_it() {
    for name in ALL {
        let profile = read(name);
        let bytes = written(&profile, Format::Extended);
        assert_eq!(perk_hprof::recognise(&bytes), Some(Format::Extended));
        let again = perk_hprof::read(&bytes[..]).unwrap();
        assert_eq!(summary(&again), summary(&profile), "{name}");
        assert_eq!(again.tree.len(), profile.tree.len(), "{name}");
    }
}

/// Rows that do not fit one record continue in the next.
#[test]
fn extended_sections_of_many_rows_are_several_records() {
    let mut profile = read(TIMES);
    let row = profile.call_times().next().unwrap().rows[0];
    let rows: Vec<_> = (0..200_000).map(|count| CallRow { count, ..row }).collect();
    for event in &mut profile.events {
        if let Event::Section(section) = event
            && let Some(times) = CallTimes::of(section)
        {
            *event = CallTimes { rows: rows.clone(), ..times }.into();
        }
    }
    let counts = |profile: &Profile| -> Vec<u64> {
        profile.call_times().flat_map(|times| times.rows).map(|row| row.count).collect()
    };
    let bytes = written(&profile, Format::Extended);
    let mut at = 19 + 4 + 8;
    let mut records = 0;
    while at < bytes.len() {
        let length = u32::from_be_bytes(bytes[at + 5..at + 9].try_into().unwrap()) as usize;
        assert!(length < 4 << 20, "a record of {length} bytes");
        records += usize::from(bytes[at] == 0xFD);
        at += 9 + length;
        // A section is not whole until its last record.
        if records > 0 {
            let profile = perk_hprof::read(&bytes[..at]).unwrap();
            let count = counts(&profile).len();
            assert_eq!(count, 200_000.min(records * 65_536));
            let note = "the file ends inside a section of several records: rows are missing";
            assert_eq!(profile.notes, if records == 4 { vec![] } else { vec![note.to_owned()] });
        }
    }
    assert_eq!(records, 4);
    assert_eq!(counts(&perk_hprof::read(&bytes[..]).unwrap()), (0..200_000).collect::<Vec<_>>());
}

/// A text that ends inside a line has a note, if it is read. Of records, those that are whole are
/// read, and a note gives the offset at which they end.
#[test]
fn files_cut_here_and_there_do_no_harm() {
    for name in ALL {
        let bytes = golden(name);
        for end in (0..bytes.len()).step_by(bytes.len() / 150 + 1) {
            let cut = &bytes[..end];
            let is_text = !name.ends_with(".hprof");
            match perk_hprof::read(cut) {
                Ok(profile) if is_text => {
                    let whole = [&b"\n"[..], b")", b":"].iter().any(|it| cut.ends_with(it));
                    assert!(whole || !profile.notes.is_empty(), "{name} cut at {end}");
                }
                Ok(profile) if end > 40 => {
                    let whole = cut == bytes || profile.notes.is_empty();
                    let notes = profile.notes;
                    let is_noted = notes.iter().any(|it| it.contains("the file is cut off in"));
                    assert!(whole || is_noted, "{name} cut at {end}: {notes:?}");
                }
                Ok(_) | Err(Error::Ascii { .. } | Error::NotHprof { .. }) => {}
                Err(Error::Binary { offset, .. } | Error::Cut { offset, .. }) => {
                    assert!(offset <= end && !is_text && end < 100);
                }
                Err(other) => panic!("{name} cut at {end}: {other:?}"),
            }
        }
    }
    let times = golden(TIMES);
    let end = times.len() - "CPU TIME (ms) END\n".len();
    let profile = perk_hprof::read(&times[..end]).unwrap();
    assert_eq!(summary(&profile), summary(&read(TIMES)));
    assert!(profile.notes[0].ends_with(", in CPU TIME (ms)"), "{:?}", profile.notes);
}

/// The table as the original agent writes it with `cpu=old` beside other analyses, with more than
/// one dump, and as perk writes it, with a header.
#[test]
fn the_table_of_calls_stands_behind_other_sections() {
    let dump = "\
TRACE 300001:
\tA.b(A.java:1)
CPU SAMPLES BEGIN (total = 1) Sun Nov 22 05:34:20 2026
rank   self  accum   count trace method
   1 100.00% 100.00%       1 300001 A.b
CPU SAMPLES END
count callee caller time
3138 java.lang.String.charAt(I)C A.b()V 3
1 A.b()V <unknown caller> 12
";
    let again = dump.split_once("CPU SAMPLES BEGIN").unwrap().1;
    let text = format!("{dump}THREAD END (id = 200003)\nCPU SAMPLES BEGIN{again}");
    let header = "JAVA PROFILE 1.0.1, created Sun Nov 22 05:34:20 2026\n\n--------\n\n";
    for text in [text.clone(), format!("{header}{text}")] {
        let profile = perk_hprof::read(text.as_bytes()).unwrap();
        assert!(profile.notes.is_empty(), "{:?}", profile.notes);
        let rows: Vec<_> = profile.call_edges().map(|edges| edges.rows.len()).collect();
        assert_eq!((rows, profile.cpu_samples().count()), (vec![2, 2], 2));
        assert_eq!(profile.call_edges().next().unwrap().rows[0].total_ns, 3_000_000);
        // The header is not compared.
        let written = String::from_utf8(written(&profile, Format::Ascii)).unwrap();
        assert!(written.ends_with(&text[text.find("TRACE").unwrap()..]), "{written}");
    }
    let table = dump.find("3138").unwrap();
    for end in table..=dump.len() {
        let profile = perk_hprof::read(&dump.as_bytes()[..end]).unwrap();
        let rows = profile.call_edges().next().unwrap().rows.len();
        assert_eq!(rows, dump[table..end].matches('\n').count(), "cut at {end}");
        assert_eq!(profile.notes.is_empty(), dump[..end].ends_with('\n'), "cut at {end}");
    }
    let profile = perk_hprof::read(format!("{dump}no row\n").as_bytes()).unwrap();
    let note = &profile.notes[0];
    assert!(note.starts_with("1 line skipped, line "), "{note}");
    assert!(note.contains("expected a row \"count callee caller time\""), "{note}");
}

/// Live bytes of 5 GB do not fit four bytes.
#[test]
fn numbers_without_room_stand_before_their_record() {
    let mut profile = Profile::default();
    let class = profile.symbols.class("byte[]");
    let trace = profile.system_trace();
    let large = u64::from(u32::MAX);
    let objects = Allocations {
        live_bytes: 5_000_000_000,
        live_count: large,
        allocated_bytes: 1 << 40,
        allocated_count: large - 1,
    };
    let sites =
        Sites { total: objects, rows: vec![Site { class, trace, objects }], ..Sites::default() };
    let summary = HeapSummary { objects, written: None };
    let samples =
        CpuSamples { total: 1 << 33, rows: vec![(trace, 1 << 33)], ..CpuSamples::default() };
    // The agent writes them in this way. A whole profile with such numbers is refused.
    let mut writer = Writer::begin(Vec::new(), Format::Binary, &profile).unwrap();
    writer.sites(&profile, &sites).unwrap();
    writer.heap_summary(&summary).unwrap();
    writer.cpu_samples(&profile, &samples).unwrap();
    let bytes = writer.out().clone();
    let read = perk_hprof::read(&bytes[..]).unwrap();
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    let [Event::Section(_), Event::HeapSummary(summary), Event::Section(_)] = &read.events[..]
    else {
        panic!("{:?}", read.events)
    };
    let (sites, samples) = (read.sites().unwrap(), read.cpu_samples().next().unwrap());
    assert_eq!((sites.total, sites.rows[0].objects, summary.objects), (objects, objects, objects));
    assert_eq!((samples.total, samples.rows[0].1), (1 << 33, 1 << 33));
    // If no record gives the exact numbers, as in files of others, a note says so.
    let mark = b"perk wide numbers";
    let mut other = bytes.clone();
    for at in 0..other.len() - mark.len() {
        if other[at..].starts_with(mark) {
            other[at] = b'q';
        }
    }
    let read = perk_hprof::read(&other[..]).unwrap();
    assert_eq!(read.sites().unwrap().total.live_bytes, large);
    // The numbers of each section, and of the rows of two.
    let note = "9 numbers are 2^32 - 1, the largest that HPROF's records hold: may be larger";
    assert_eq!(read.notes, [note]);
}

/// Files of form 1 have a separate record type for each kind of section. They are read as the
/// profiles they were made of.
#[test]
fn extended_files_of_form_1_are_read() {
    let form_1 = |name: &str| {
        let bytes = golden(&format!("form1/{name}.hprof"));
        assert_eq!(bytes[31], 0xF0, "{name}");
        perk_hprof::read(&bytes[..]).unwrap()
    };
    for (name, seed) in [
        ("sites", "manual5-sites.txt"),
        ("times", "manual5-cpu-time.txt"),
        ("edges", "book-prof-calls.prof"),
    ] {
        assert_eq!(
            summary(&form_1(name)),
            summary(&perk_hprof::read(&golden(&format!("seeds/{seed}"))[..]).unwrap()),
            "{name}"
        );
    }
    let waits = form_1("waits");
    let times = waits.monitor_times().next().unwrap();
    let shown = |row: &MonitorRow| {
        let blocked_ms = (row.waits.blocked_ns + 500_000) / 1_000_000;
        (waits.symbols.class_name(row.class), row.waits.blocked_count, blocked_ms)
    };
    assert_eq!(times.total_ns, 30_000_000);
    let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
    let expected = [("T$Lock", 4, 20), (lock, 2, 10)];
    assert_eq!(times.rows.iter().map(shown).collect::<Vec<_>>(), expected);
    let events = form_1("events");
    let shown = |metric: Metric| (metric.name().to_owned(), metric.rows(&events).total);
    let metrics: Vec<_> = Metric::all_of(&events).into_iter().map(shown).collect();
    let expected = [
        ("samples", 12),
        ("page-faults", 16_052),
        ("context-switches", 94),
        ("task-clock", 121_212_120),
        ("cpu-clock", 50_505_050),
    ];
    assert_eq!(metrics, expected.map(|(name, total)| (name.to_owned(), total)));
}

/// Extended files keep the kinds of frames, also of frames with one place.
#[test]
fn extended_files_hold_kinds_of_frames() {
    let mut profile = Profile::default();
    let class = profile.symbols.class("T");
    let name = profile.symbols.strings.intern("f");
    let method = profile.symbols.method(Method { class, name, signature: None, source: None });
    let mut rows = Vec::new();
    for (index, kind) in FrameKind::ALL.into_iter().enumerate() {
        let frame = Frame { kind, ..Frame::new(method, Line::Unknown) };
        let frame = profile.symbols.frame(frame);
        let node = profile.tree.insert([frame]);
        rows.push((profile.trace(node, None), 1 + index as u64));
    }
    profile.events.push(Section::of(Metric::Samples, 45, rows).into());
    let bytes = written(&profile, Format::Extended);
    let read = perk_hprof::read(&bytes[..]).unwrap();
    let kind = |(trace, count): (TraceId, u64)| {
        let frame = read.frames(trace).next().unwrap();
        (read.symbols.get_frame(frame).kind, count)
    };
    let kinds: Vec<_> = Metric::Samples.rows(&read).by_trace().into_iter().map(kind).collect();
    assert_eq!(kinds, FrameKind::ALL.into_iter().zip(1..).collect::<Vec<_>>());
}
