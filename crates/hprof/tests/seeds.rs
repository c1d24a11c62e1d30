//! The samples in old documents (`testdata/hprof/seeds`), and the contents read from each.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use perk_hprof::{Format, aprof};
use perk_profile::{Event, Line, Profile, TraceId};

fn seed(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof/seeds").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn read(name: &str) -> Profile {
    perk_hprof::read(&seed(name)[..]).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Returns the frames of a trace, innermost first.
fn stack(profile: &Profile, trace: TraceId) -> Vec<String> {
    let name = |frame| profile.symbols.method_name(profile.symbols.get_frame(frame).method);
    profile.frames(trace).map(name).collect()
}

/// Returns the serial number and count of each row of the first section, with the number of frames.
fn samples(profile: &Profile) -> Vec<(u32, u64, usize)> {
    let rows = &profile.cpu_samples().next().unwrap().rows;
    let row = |&(trace, count): &(TraceId, u64)| {
        (profile.get_trace(trace).serial, count, profile.frames(trace).count())
    };
    rows.iter().map(row).collect()
}

#[test]
fn cpu_samples_of_jdk_1_2() {
    let profile = read("book-cpu-samples.txt");
    let rows = samples(&profile);
    assert_eq!(rows.len(), 17);
    assert_eq!(rows[..4], [(204, 8664, 4), (215, 1846, 1), (214, 1609, 1), (151, 490, 2)]);
    let section = profile.cpu_samples().next().unwrap();
    assert_eq!(section.total, 15_813);
    assert_eq!(section.written.unwrap().ctime(), "Wed Jan 12 11:26:47 2000");
    assert_eq!(
        stack(&profile, section.rows[0].0),
        [
            "java.lang.FloatingDecimal.dtoa",
            "java.lang.FloatingDecimal.<init>",
            "java.lang.Double.toString",
            "java.lang.String.valueOf"
        ]
    );
    let top = profile.frames(section.rows[0].0).next().unwrap();
    assert_eq!(profile.symbols.get_frame(top).line, Line::Compiled);
    assert_eq!(stack(&profile, section.rows[1].0), ["java.lang.Double.equals"]);
    assert_eq!(profile.notes.len(), 2, "{:?}", profile.notes);
    assert_eq!(profile.notes[0], "1 section has no end, the first is CPU SAMPLES before line 21");
    assert!(profile.notes[1].starts_with("14 traces that rows refer to are not in the file"));
}

#[test]
fn a_whole_file_of_jdk_1_2() {
    let profile = read("book-three-sections.txt");
    assert_eq!(profile.created.unwrap().ctime(), "Thu Aug 26 18:36:05 1999");
    assert_eq!(profile.thread_name(perk_profile::ThreadId::new(0)), "Thread-0");
    assert_eq!(profile.threads[0].object_id, 0x8c_2640);
    let trace = profile.trace_by_serial(964).unwrap();
    assert_eq!(stack(&profile, trace)[3], "java.io.ObjectInputStream.inputArray");
    let section = profile.cpu_samples().next().unwrap();
    assert_eq!((section.total, section.rows.len()), (512_371, 5));
    assert_eq!(stack(&profile, section.rows[4].0), ["java.lang.reflect.Field.set"]);
}

/// If a section's first line is missing, its total follows from the percentages.
#[test]
fn rows_without_their_section() {
    let profile = read("book-one-row.txt");
    assert_eq!(samples(&profile), [(545, 18_382, 4)]);
    let section = profile.cpu_samples().next().unwrap();
    assert!(section.total.abs_diff(159_151) < 100, "{}", section.total);
    assert!(profile.get_trace(section.rows[0].0).thread.is_some());
    let profile = read("book-same-method.txt");
    assert_eq!(samples(&profile), [(699, 110, 1), (711, 100, 1), (332, 99, 1)]);
    assert_eq!(profile.total_cpu_samples().total, 309);
}

#[test]
fn cpu_samples_and_times_of_the_manuals() {
    let profile = read("manual2-cpu-samples.txt");
    let rows = samples(&profile);
    assert_eq!((rows.len(), rows[0], rows[9]), (10, (303, 12_514, 1), (162, 2403, 1)));
    assert!(profile.notes.iter().any(|it| it.starts_with("1 line of dots")), "{:?}", profile.notes);
    let profile = read("manual5-cpu-samples.txt");
    let rows = samples(&profile);
    assert_eq!((rows.len(), rows[0], rows[9]), (10, (300_187, 229, 1), (300_175, 3, 1)));
    let profile = read("manual5-cpu-time.txt");
    let times = profile.call_times().next().unwrap();
    assert_eq!((times.rows.len(), times.total_ns), (10, 2_082_665_289_000_000));
    assert_eq!(times.rows[5].count, 36);
    let share = times.rows[0].self_ns as f64 / times.total_ns as f64;
    assert!((0.03695..0.03705).contains(&share), "{share}");
    assert_eq!(
        stack(&profile, times.rows[4].trace),
        ["com.sun.tools.javac.jvm.ClassReader.listAll"]
    );
}

#[test]
fn sites_of_the_manuals() {
    let profile = read("manual2-sites.txt");
    let sites = profile.sites().unwrap();
    let classes: Vec<_> =
        sites.rows.iter().map(|row| profile.symbols.class_name(row.class)).collect();
    assert_eq!(
        classes,
        [
            "char[]",
            "sun.tools.java.Identifier",
            "java.util.Hashtable$Entry",
            "java.util.Hashtable$Entry"
        ]
    );
    assert_eq!(sites.rows[0].objects.allocated_count, 129_884);
    let live = sites.total.live_bytes;
    assert!((1_624_000..1_628_000).contains(&live), "149224 are 9.18 % of {live}");
    // The traces follow the section.
    assert_eq!(stack(&profile, sites.rows[1].trace)[0], "sun.tools.java.Identifier.lookup");
    assert_eq!(stack(&profile, sites.rows[3].trace).len(), 4);
    let profile = read("manual5-sites.txt");
    let sites = profile.sites().unwrap();
    assert_eq!(sites.rows.len(), 4);
    assert_eq!(stack(&profile, sites.rows[0].trace)[1], "java.util.zip.ZipFile+3.nextElement");
    assert_eq!(profile.symbols.class_name(sites.rows[3].class), "com.sun.tools.javac.util.Name[]");
    let traces = profile.traces().len();
    assert_eq!(traces, 1 + 4, "each trace is there once");
}

#[test]
fn the_tables_of_jdk_1_1() {
    let profile = read("book-prof-calls.prof");
    let edges = profile.call_edges().next().unwrap();
    let name = |id| profile.symbols.method_name(id);
    assert_eq!(edges.rows.len(), 3);
    assert_eq!(edges.rows[0].total_ns, 760_000_000);
    assert_eq!(edges.rows[0].callee.map(name).unwrap(), "java.lang.System.gc");
    assert_eq!(edges.rows[2].caller.map(name).unwrap(), "java.lang.Double.equals");

    let profile = read("book-prof-four-tables.prof");
    let [Event::Section(_), Event::HeapSummary(summary), Event::Section(_)] = &profile.events[..]
    else {
        panic!("{:?}", profile.events)
    };
    let (edges, sites) = (profile.call_edges().next().unwrap(), profile.sites().unwrap());
    assert_eq!(edges.rows.len(), 2);
    assert_eq!((summary.objects.live_count, summary.objects.live_bytes), (1174, 113_960));
    let rows: Vec<_> = sites
        .rows
        .iter()
        .map(|row| {
            let class = profile.symbols.class_name(row.class);
            (class, row.objects.live_count, row.objects.live_bytes)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("char[]", 174, 19_060),
            ("byte[]", 5, 19_200),
            ("java.util.HashtableEntry", 219, 3504),
            ("java.util.HashtableEntry[]", 3, 4412)
        ]
    );
    assert_eq!(
        profile.notes,
        [
            "line 6: 339046 free handles and 21794720 free bytes of the heap have no place in a profile"
        ]
    );
}

#[test]
fn the_table_of_xaprof() {
    let bytes = seed("book-aprof.txt");
    assert!(aprof::recognise(&bytes));
    assert_eq!(perk_hprof::recognise(&bytes), None);
    let table = aprof::tables(&bytes[..]).unwrap().remove(0);
    assert_eq!((table.rows.len(), table.rows[1].class.as_str()), (22, "char[]"));
    assert_eq!((table.total.bytes, table.total.count), (23_916_904, 518_123));
}

/// Files cut anywhere do no harm, and the parts that are read can be written and read again.
#[test]
fn any_part_is_read_or_refused() {
    for entry in
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof/seeds"))
            .unwrap()
    {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        for end in 0..=bytes.len() {
            let Ok(profile) = perk_hprof::read(&bytes[..end]) else { continue };
            let format = if path.extension().is_some_and(|it| it == "prof") {
                Format::Old
            } else {
                Format::Ascii
            };
            let mut written = Vec::new();
            perk_hprof::write(&profile, format, &mut written).unwrap();
            let again = perk_hprof::read(&written[..]).unwrap();
            assert_eq!(again.events.len(), profile.events.len(), "{} {end}", path.display());
        }
        // Windows line ends make no difference.
        let text = String::from_utf8(bytes).unwrap();
        let windows = text.replace('\n', "\r\n");
        if let Ok(profile) = perk_hprof::read(text.as_bytes()) {
            let other = perk_hprof::read(windows.as_bytes()).unwrap();
            assert_eq!(other.events, profile.events, "{}", path.display());
            assert_eq!(other.notes, profile.notes, "{}", path.display());
        }
    }
}
