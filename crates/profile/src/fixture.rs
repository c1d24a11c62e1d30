//! Profiles for tests, written as stacks: `A.leaf:12<A.main`, innermost frame first.

use perk_profile::{
    CpuSamples, Event, Frame, Line, LockKind, Method, MethodId, MonitorRow, MonitorTimes, NodeId,
    Profile, TraceId, Waits,
};

/// Returns the method `Class.name`.
pub(crate) fn method(profile: &mut Profile, name: &str) -> MethodId {
    let (class, name) = name.rsplit_once('.').unwrap();
    let class = profile.symbols.class(class);
    let name = profile.symbols.strings.intern(name);
    profile.symbols.method(Method { class, name, signature: None, source: None })
}

/// Returns the node of a stack.
pub(crate) fn stack(profile: &mut Profile, stack: &str) -> NodeId {
    let frames: Vec<_> = stack
        .rsplit('<')
        .filter(|frame| !frame.is_empty())
        .map(|frame| {
            let (name, line) = match frame.split_once(':') {
                Some((name, line)) => (name, Line::Number(line.parse().unwrap())),
                None => (frame, Line::Unknown),
            };
            let method = method(profile, name);
            profile.symbols.frame(Frame::new(method, line))
        })
        .collect();
    profile.tree.insert(frames)
}

/// Returns the traces of stacks, each with a number, and the total.
pub(crate) fn numbers(profile: &mut Profile, rows: &[(&str, u64)]) -> (Vec<(TraceId, u64)>, u64) {
    let trace = |&(path, count): &(&str, u64)| {
        let node = stack(profile, path);
        (profile.trace(node, None), count)
    };
    (rows.iter().map(trace).collect(), rows.iter().map(|row| row.1).sum())
}

/// Adds a section of samples: stack and number.
pub(crate) fn push_samples(profile: &mut Profile, rows: &[(&str, u64)]) {
    let (rows, total) = numbers(profile, rows);
    profile.events.push(Event::from(CpuSamples { total, rows, ..CpuSamples::default() }));
}

/// A profile of samples.
pub(crate) fn samples(rows: &[(&str, u64)]) -> Profile {
    let mut profile = Profile::default();
    push_samples(&mut profile, rows);
    profile
}

/// Waits, and their times in nanoseconds.
pub(crate) fn waits(blocked_count: u64, blocked_ns: u64, wait_count: u64, waited_ns: u64) -> Waits {
    Waits { blocked_count, blocked_ns, wait_count, waited_ns }
}

/// Adds a section of waits for monitors: class, stack and waits.
pub(crate) fn push_monitor_times(profile: &mut Profile, rows: &[(&str, &str, Waits)]) {
    let mut times = MonitorTimes::default();
    for &(class, path, waits) in rows {
        let node = stack(profile, path);
        let trace = profile.trace(node, None);
        let class = profile.symbols.class(class);
        times.total_ns += waits.blocked_ns;
        times.rows.push(MonitorRow { trace, class, kind: LockKind::Monitor, waits });
    }
    profile.events.push(Event::from(times));
}
