//! Profiles that the tests of several formats share.

use perk_profile::{
    Accounting, Allocations, CallRow, CallTimes, Event, Frame, Line, Method, Metric, Profile,
    Section, Site, Sites, Timestamp, Unit,
};
use proptest::prelude::*;

use crate::builder::ProfileBuilder;
use crate::{View, collapsed};

/// Returns all metrics of a profile as collapsed stacks.
pub(crate) fn text(profile: &Profile) -> String {
    let mut text = Vec::new();
    for metric in Metric::all_of(profile) {
        text.extend(format!("# {} {:?}\n", metric.name(), metric.unit()).bytes());
        collapsed::write(&View::new(profile, "").with_metric(&metric), &mut text).unwrap();
    }
    String::from_utf8(text).unwrap()
}

/// Returns a profile with a number of every kind.
pub(crate) fn everything() -> Profile {
    let mut profile = collapsed::read(
        &b"[main];T.main;T.f 3\n[main];T.main 2\n[no stack] 4\n[below cutoff] 5\nT.g 1\n"[..],
    )
    .unwrap();
    let traces: Vec<_> = profile.total_cpu_samples().rows.iter().map(|row| row.0).collect();
    let row = |index: usize, count, self_ns| CallRow {
        trace: traces[index],
        count,
        self_ns,
        total_ns: 0,
    };
    let rows = vec![row(0, 10, 700), row(1, 1, 50)];
    profile.events.push(Event::from(CallTimes { total_ns: 800, rows, written: None }));
    let objects =
        Allocations { live_bytes: 16, live_count: 1, allocated_bytes: 72, allocated_count: 4 };
    let class = profile.symbols.class("java.util.Map$Entry[]");
    let sites = Sites {
        total: objects,
        rows: vec![Site { class, trace: traces[0], objects }],
        sample_interval_bytes: Some(512),
        ..Sites::default()
    };
    profile.events.push(Event::from(sites));
    for (name, unit) in [("cache-misses", Unit::Count), ("delay", Unit::Nanoseconds)] {
        let section = Section::of(Metric::other(name, unit), 12, [(traces[1], 9)]);
        profile.events.push(section.into());
    }
    profile.accounting = Some(Accounting {
        program: "x.Main".into(),
        interval_ns: 1_000_000,
        wall_ns: 5_000_000_000,
        utc_offset_s: 3_600,
        ..Accounting::default()
    });
    profile.created = Some(Timestamp { unix_ms: 1_795_201_231_000, utc_offset_s: 3_600 });
    profile
}

/// A thread, the frames of a stack (class, method, signature, source, line), and a count.
pub(crate) type Stack = (Option<String>, Vec<(String, String, String, Option<String>, i32)>, u64);

pub(crate) fn of_stacks(stacks: &[Stack]) -> Profile {
    let mut builder = ProfileBuilder::default();
    for (thread, frames, count) in stacks {
        let thread = thread.as_ref().map(|name| builder.thread(name));
        let mut stack = Vec::new();
        for (class, method, signature, source, line) in frames {
            let symbols = &mut builder.profile.symbols;
            let class = symbols.class(class);
            let name = symbols.strings.intern(method);
            let signature = (!signature.is_empty()).then(|| symbols.strings.intern(signature));
            let source = source.as_ref().map(|source| symbols.strings.intern(source));
            let method = symbols.method(Method { class, name, signature, source });
            let line = Line::from_hprof(*line);
            stack.push(symbols.frame(Frame::new(method, line)));
        }
        let node = builder.profile.tree.insert(stack);
        builder.add(thread, node, *count);
    }
    builder.finish()
}

/// Returns the stacks of a profile with all details of their frames, sorted.
pub(crate) fn frames(profile: &Profile) -> Vec<String> {
    let symbols = &profile.symbols;
    let samples = profile.total_cpu_samples();
    let mut lines: Vec<_> = samples
        .rows
        .iter()
        .map(|&(trace, count)| {
            let thread = profile.get_trace(trace).thread.map(|id| profile.thread_name(id));
            let frames: Vec<_> = profile
                .frames(trace)
                .map(|frame| {
                    let frame = symbols.get_frame(frame);
                    let method = symbols.get_method(frame.method);
                    let of = |id: Option<_>| id.map(|id| symbols.strings.get(id).to_owned());
                    let (signature, source) = (of(method.signature), of(method.source));
                    (symbols.method_name(frame.method), signature, source, frame.line)
                })
                .collect();
            format!("{thread:?} {count} {frames:?}")
        })
        .collect();
    lines.sort();
    lines
}

/// Generates stacks with all kinds of names, some of them unusual.
pub(crate) fn stacks() -> impl Strategy<Value = Vec<Stack>> {
    let frame = (
        "[a-b./$(\\[\\])<>]{0,6}",
        "[a-b<>;\u{65e5}]{1,4}",
        prop_oneof![Just(String::new()), Just("(I)V".to_owned())],
        prop::option::of("[A-C]{1,2}[.]java"),
        -3_i32..5,
    );
    let thread = prop::option::of("[a-c \u{e9}]{1,3}");
    prop::collection::vec((thread, prop::collection::vec(frame, 0..5), 1_u64..9), 0..8)
}
