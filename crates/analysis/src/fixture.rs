//! Small profiles for the tests of the analyses.

#[path = "../../profile/src/fixture.rs"]
mod model;

use perk_profile::{
    Allocations, CallEdge, CallEdges, CallRow, CallTimes, Event, Metric, Profile, Section, Site,
    Sites, Thread, ThreadId, Unit,
};

pub(crate) use self::model::{
    method, numbers, push_monitor_times, push_samples, samples, stack, waits,
};

/// Adds a thread.
pub(crate) fn thread(profile: &mut Profile, name: &str) -> ThreadId {
    let name = profile.symbols.strings.intern(name);
    let serial = 200_001 + u32::try_from(profile.threads.len()).unwrap();
    profile.push_thread(Thread { serial, object_id: 1, name, group: None, parent_group: None })
}

/// Adds a metric of another tool: stack and number.
pub(crate) fn push_metric(profile: &mut Profile, name: &str, rows: &[(&str, u64)]) {
    let (rows, total) = numbers(profile, rows);
    let metric = Metric::other(name, Unit::Count);
    profile.events.push(Section::of(metric, total, rows).into());
}

/// Adds a section of calls: stack, thread, number of calls, self time.
pub(crate) fn push_times(profile: &mut Profile, rows: &[(&str, Option<ThreadId>, u64, u64)]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|&(path, thread, count, self_ns)| {
            let node = stack(profile, path);
            CallRow { trace: profile.trace(node, thread), count, self_ns, total_ns: 0 }
        })
        .collect();
    let total_ns = rows.iter().map(|row| row.self_ns).sum();
    profile.events.push(Event::from(CallTimes { total_ns, rows, written: None }));
}

/// A profile of the calls of one thread.
pub(crate) fn times(rows: &[(&str, u64, u64)]) -> Profile {
    let mut profile = Profile::default();
    let rows: Vec<_> = rows.iter().map(|&(path, calls, ns)| (path, None, calls, ns)).collect();
    push_times(&mut profile, &rows);
    profile
}

/// Adds a section of sites: class, stack, and the bytes and numbers of allocated and of live
/// objects.
pub(crate) fn push_sites(profile: &mut Profile, rows: &[(&str, &str, [u64; 4])]) {
    let mut sites = Sites::default();
    for &(class, path, numbers) in rows {
        let [allocated_bytes, allocated_count, live_bytes, live_count] = numbers;
        let node = stack(profile, path);
        let trace = profile.trace(node, None);
        let class = profile.symbols.class(class);
        let objects = Allocations { live_bytes, live_count, allocated_bytes, allocated_count };
        sites.total.add(objects);
        sites.rows.push(Site { class, trace, objects });
    }
    profile.events.push(Event::from(sites));
}

/// A profile of callees, callers, calls and total times. An empty name is an unknown method.
pub(crate) fn edges(rows: &[(&str, &str, u64, u64)]) -> Profile {
    let mut profile = Profile::default();
    let rows = rows
        .iter()
        .map(|&(callee, caller, count, total_ns)| {
            let mut known = |name: &str| (!name.is_empty()).then(|| method(&mut profile, name));
            CallEdge { callee: known(callee), caller: known(caller), thread: None, count, total_ns }
        })
        .collect();
    let section = CallEdges { rows, written: None }.section(&mut profile);
    profile.events.push(section.into());
    profile
}
