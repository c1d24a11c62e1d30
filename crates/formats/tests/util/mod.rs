//! The functions that the tests of several formats share.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::path::Path;

use perk_profile::{CpuSamples, Event, Line, Profile, Thread, ThreadId, TraceId};

/// Reads a file of the folder `testdata`.
pub(crate) fn testdata(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns a trace as `thread:outer;inner`. Each frame is followed by its line, `(c)` if it is
/// compiled and `(n)` if it is native.
pub(crate) fn path(profile: &Profile, trace: TraceId) -> String {
    let thread = profile.get_trace(trace).thread.map(|it| format!("{}:", profile.thread_name(it)));
    let mut frames: Vec<_> = profile
        .frames(trace)
        .map(|frame| {
            let frame = profile.symbols.get_frame(frame);
            let line = match frame.line {
                Line::Number(line) => format!(":{line}"),
                Line::Unknown => String::new(),
                Line::Compiled => "(c)".to_owned(),
                Line::Native => "(n)".to_owned(),
            };
            profile.symbols.method_name(frame.method) + &line
        })
        .collect();
    frames.reverse();
    thread.unwrap_or_default() + &frames.join(";")
}

/// Returns the samples by [`path`].
pub(crate) fn samples(profile: &Profile) -> BTreeMap<String, u64> {
    let mut samples = BTreeMap::new();
    for (trace, count) in profile.total_cpu_samples().rows {
        *samples.entry(path(profile, trace)).or_insert(0) += count;
    }
    samples
}

/// Returns the paths of a thread's samples.
pub(crate) fn sample_paths(profile: &Profile, thread: &str) -> Vec<String> {
    let begin = format!("{thread}:");
    samples(profile).into_keys().filter(|path| path.starts_with(&begin)).collect()
}

/// Returns thread number `number` of `profile`, created together with those before it; 0 is none.
pub(crate) fn thread(profile: &mut Profile, number: usize) -> Option<ThreadId> {
    while profile.threads.len() < number {
        let serial = 200_001 + profile.threads.len() as u32;
        let name = profile.symbols.strings.intern(&format!("t{}", profile.threads.len()));
        profile.push_thread(Thread { serial, object_id: 0, name, group: None, parent_group: None });
    }
    number.checked_sub(1).map(ThreadId::new)
}

/// Adds a section of samples.
pub(crate) fn push_samples(profile: &mut Profile, rows: Vec<(TraceId, u64)>, total: u64) {
    profile.events.push(Event::from(CpuSamples { total, rows, ..CpuSamples::default() }));
}

/// Calls `read` with `bytes` cut off at every place, and with each of many bits flipped.
pub(crate) fn damage(bytes: &[u8], read: impl Fn(&[u8])) {
    for end in 0..bytes.len() {
        read(&bytes[..end]);
    }
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..2000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mut damaged = bytes.to_vec();
        damaged[(state >> 8) as usize % bytes.len()] ^= 1 << (state & 7);
        read(&damaged);
    }
}
