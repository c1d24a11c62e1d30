//! Sections that are written from call trees, a part at a time, between records of a profile.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use perk_hprof::{CountedPath, CountedRow, Format, Writer};
use perk_profile::{
    CallTimes, CpuSamples, Frame, FrameId, Line, Method, Profile, SectionHead, Subject, TraceId,
};

/// The trees that are written.
const TREES: [u64; 2] = [70, 7];

fn frame(profile: &mut Profile, name: &str) -> FrameId {
    let class = profile.symbols.class("Main");
    let name = profile.symbols.strings.intern(name);
    let method = profile.symbols.method(Method { class, name, signature: None, source: None });
    profile.symbols.frame(Frame::new(method, Line::Unknown))
}

fn path(parent: Option<u32>, frame: FrameId) -> CountedPath {
    CountedPath { parent, frame }
}

fn row(path: u32, [calls, self_ns, total_ns]: [u64; 3]) -> CountedRow {
    let numbers = [calls, self_ns, total_ns, 0];
    CountedRow { path: Some(path), subject: Subject::None, numbers }
}

fn head(numbers: [u64; 3]) -> SectionHead {
    let mut head = CallTimes::default().head();
    head.columns.iter_mut().zip(numbers).for_each(|(column, total)| column.total = total);
    head
}

fn names(profile: &Profile, trace: TraceId) -> String {
    let frames: Vec<_> = profile.frames(trace).collect();
    let names = frames.iter().rev().map(|&frame| {
        let method = profile.symbols.get_frame(frame).method;
        profile.symbols.method_name(method).replace("Main.", "")
    });
    names.collect::<Vec<_>>().join("/")
}

#[test]
fn paths_of_several_trees_add_up() {
    let mut agent = Profile::default();
    let [a, b, c] = ["a", "b", "c"].map(|name| frame(&mut agent, name));
    let mut writer = Writer::begin(Vec::new(), Format::Extended, &agent).unwrap();

    // A sample before, one after, and paths that come in parts of two dumps.
    let node = agent.tree.insert([c]);
    let sampled = agent.trace(node, None);
    let samples = CpuSamples { total: 4, rows: vec![(sampled, 4)], ..CpuSamples::default() };
    writer.cpu_samples(&agent, &samples).unwrap();
    writer.paths(&agent, TREES[0], &[path(None, a), path(Some(0), b)]).unwrap();
    let serial = agent.take_serials(2);
    let rows = [row(0, [1, 10, 30]), row(1, [2, 20, 20])];
    writer.counted_rows(&agent, &head([0; 3]), TREES[0], serial, &rows).unwrap();
    writer.paths(&agent, TREES[1], &[path(None, a), path(Some(0), b), path(None, c)]).unwrap();
    let serial = agent.take_serials(2);
    let rows = [row(1, [4, 40, 40]), row(2, [1, 1, 1])];
    writer.counted_rows(&agent, &head([0; 3]), TREES[1], serial, &rows).unwrap();
    writer.end_counted(&head([8, 71, 91])).unwrap();

    assert_eq!(TREES.map(|tree| writer.path_count(tree)), [2, 3]);
    writer.paths(&agent, TREES[0], &[path(Some(1), c)]).unwrap();
    let serial = agent.take_serials(2);
    let rows = [row(2, [5, 5, 5]), row(0, [0, 6, 11])];
    writer.counted_rows(&agent, &head([0; 3]), TREES[0], serial, &rows).unwrap();
    writer.end_counted(&head([5, 11, 16])).unwrap();
    let node = agent.tree.insert([c, a]);
    let later = agent.trace(node, None);
    let rows = vec![(later, 2), (sampled, 1)];
    writer.cpu_samples(&agent, &CpuSamples { total: 3, rows, ..CpuSamples::default() }).unwrap();

    let bytes = std::mem::take(writer.out());
    let read = perk_hprof::read(&bytes[..]).unwrap();
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    let times: Vec<CallTimes> = read.call_times().collect();
    let of_dump = |times: &CallTimes| -> Vec<(String, u64, u64, u64)> {
        let row = |row: &perk_profile::CallRow| {
            (names(&read, row.trace), row.count, row.self_ns, row.total_ns)
        };
        times.rows.iter().map(row).collect()
    };
    let own = |name: &str, count, self_ns, total_ns| (name.to_owned(), count, self_ns, total_ns);
    // Ordered as HPROF does: most self time first.
    assert_eq!(of_dump(&times[0]), [own("a/b", 6, 60, 60), own("a", 1, 10, 30), own("c", 1, 1, 1)]);
    assert_eq!(of_dump(&times[1]), [own("a", 0, 6, 11), own("a/b/c", 5, 5, 5)]);
    assert_eq!(times.iter().map(|it| it.total_ns).collect::<Vec<_>>(), [71, 11]);
    let samples: Vec<_> = read.cpu_samples().flat_map(|samples| samples.rows).collect();
    let samples: Vec<_> = samples.iter().map(|row| (names(&read, row.0), row.1)).collect();
    let sample = |name: &str, count| (name.to_owned(), count);
    assert_eq!(samples, [sample("c", 4), sample("c/a", 2), sample("c", 1)]);
    // Equal paths are one trace, and serial numbers are different.
    let mut serials = BTreeMap::new();
    for trace in read.traces() {
        assert!(serials.insert(trace.serial, trace.node).is_none(), "{}", trace.serial);
    }
    assert_eq!(read.traces().len(), 1 + 5);
}

#[test]
fn other_formats_refuse_them() {
    let mut agent = Profile::default();
    let a = frame(&mut agent, "a");
    for format in [Format::Ascii, Format::Binary] {
        let mut writer = Writer::begin(Vec::new(), format, &agent).unwrap();
        let error = writer.paths(&agent, 1, &[path(None, a)]).unwrap_err().to_string();
        assert_eq!(error, "only extended HPROF holds numbers of call trees");
        writer.end_counted(&head([0; 3])).unwrap_err();
    }
}
