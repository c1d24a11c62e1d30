//! Reads recordings: made byte by byte, recorded earlier, and recorded here by real JVMs.

mod build;
mod bytes;
mod events;
mod real;
mod recorded;

use perk_profile::{Key, LockKind, Metric, Profile, Waits};

/// Returns the numbers of a metric by thread and call path, outermost method first. A native method
/// has `*`.
fn weights(profile: &Profile, metric: &Metric) -> Vec<(String, u64)> {
    let weights = metric.rows(profile);
    let mut rows: Vec<_> = weights
        .rows
        .iter()
        .map(|&(Key { trace, subject, .. }, count)| {
            let mut parts: Vec<String> =
                profile.frames(trace).map(|id| frame(profile, id)).collect();
            parts.extend(
                profile.get_trace(trace).thread.map(|it| profile.thread_name(it).to_owned()),
            );
            parts.reverse();
            parts.extend(subject.label(&profile.symbols));
            (parts.join(";"), count)
        })
        .collect();
    rows.sort();
    rows
}

fn frame(profile: &Profile, id: perk_profile::FrameId) -> String {
    let frame = profile.symbols.get_frame(id);
    let line = match frame.line {
        perk_profile::Line::Number(line) => format!(":{line}"),
        perk_profile::Line::Native => "*".to_owned(),
        _ => String::new(),
    };
    profile.symbols.method_name(frame.method) + &line
}

fn metric(profile: &Profile, name: &str) -> Vec<(String, u64)> {
    Metric::find(profile, name).map(|metric| weights(profile, &metric)).unwrap_or_default()
}

/// Returns the waits by class of the lock.
fn waits(profile: &Profile, class: &str, kind: LockKind) -> Waits {
    let mut sum = Waits::default();
    for row in profile.monitor_times().flat_map(|section| section.rows) {
        if row.kind == kind && profile.symbols.class_name(row.class) == class {
            sum.add(row.waits);
        }
    }
    sum
}

fn has_note(profile: &Profile, part: &str) -> bool {
    profile.notes.iter().any(|note| note.contains(part))
}
