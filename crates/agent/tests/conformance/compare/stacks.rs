//! The part of a stack that is the same on every JDK: the frames of the program itself.

use std::collections::BTreeMap;

use perk_testkit::hprof::{Frame, Recording};

use crate::case::Case;

/// The parts of a stack that do not differ between JDKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Methods, source files and lines.
    Lines,
    /// Methods alone: samples fall on any line.
    Methods,
}

/// Returns the first consecutive frames that are the program's own, from the innermost outward. If
/// frames of the JDK precede them, `...` comes first, and only the first own frame follows, as the
/// number of further frames in the trace depends on the JDK. The thread comes before all, if the
/// trace has it.
pub(super) fn own(case: &Case, recording: &Recording, trace: u32, detail: Detail) -> String {
    let frames = recording.frames(trace);
    let is_own = |frame: &&Frame| is_own(case, frame);
    let skipped = frames.iter().take_while(|frame| !is_own(frame)).count();
    let own = frames[skipped..].iter().take_while(is_own);
    let limit = if skipped > 0 && detail == Detail::Lines { 1 } else { usize::MAX };
    let mut words: Vec<String> = own.take(limit).map(|frame| text(frame, detail)).collect();
    if skipped > 0 && detail == Detail::Lines || words.is_empty() && !frames.is_empty() {
        words.insert(0, "...".to_owned());
    }
    if let Some(thread) = recording.thread_of(trace) {
        words.insert(0, format!("[{thread}]"));
    }
    words.join(" < ")
}

/// Whether the innermost frame is the program's own.
pub(super) fn begins_own(case: &Case, recording: &Recording, trace: u32) -> bool {
    recording.frames(trace).first().is_some_and(|frame| is_own(case, frame))
}

/// Whether a frame is the program's own; the classes of lambdas belong to the JDK.
fn is_own(case: &Case, frame: &Frame) -> bool {
    let class = frame.method.rsplit_once('.').map_or("", |(class, _)| class);
    case.is_own(class) && !class.contains("$$Lambda")
}

fn text(frame: &Frame, detail: Detail) -> String {
    let method = class_name(&frame.method);
    match (detail, frame.line) {
        (Detail::Methods, _) => method,
        (Detail::Lines, Some(line)) => format!("{method}({}:{line})", frame.source),
        (Detail::Lines, None) => format!("{method}({})", frame.source),
    }
}

/// Returns a name without the number of a lambda's class, which differs in each run.
pub(super) fn class_name(name: &str) -> String {
    let Some((start, rest)) = name.split_once("$$Lambda") else { return name.to_owned() };
    let numbers = rest.trim_start_matches(|c: char| "$./0123456789abcdefx".contains(c));
    let method = if rest.starts_with("$$") || numbers.is_empty() { "" } else { "." };
    format!("{start}$$Lambda{method}{numbers}")
}

/// Adds up numbers by key.
pub(super) fn sums<const N: usize>(
    rows: impl Iterator<Item = (String, [u64; N])>,
) -> BTreeMap<String, [u64; N]> {
    let mut sums = BTreeMap::new();
    for (key, numbers) in rows {
        let sum = sums.entry(key).or_insert([0; N]);
        for (total, number) in sum.iter_mut().zip(numbers) {
            *total += number;
        }
    }
    sums
}
