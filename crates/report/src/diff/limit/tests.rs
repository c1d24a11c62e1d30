use perk_analysis::diff::{Calls, HeapObjects};
use perk_profile::{Allocations, Method, Symbols, Waits};

use perk_analysis::diff::{Change, Diff, MethodNumbers, MetricDiff};
use perk_profile::{CallRow, CallTimes, Event, Frame, Line, MethodId, Profile};

use super::*;

fn method(symbols: &mut Symbols, class: &str, name: &str) -> MethodId {
    let class = symbols.class(class);
    let name = symbols.strings.intern(name);
    symbols.method(Method { class, name, signature: None, source: None })
}

/// 100 calls before, 105 after; of `Foo.bar` 10 and 10.
fn sample() -> Diff {
    let mut diff = Diff::default();
    let bar = method(&mut diff.symbols, "com.acme.Foo", "bar");
    let main = method(&mut diff.symbols, "com.acme.Main", "main");
    let calls = |count, self_ns| Calls { count, self_ns, total_ns: self_ns };
    diff.methods = Some(vec![
        Change { key: bar, before: calls(10, 1_000), after: calls(10, 2_000) },
        Change { key: main, before: calls(90, 0), after: calls(95, 0) },
    ]);
    let count = |own| MethodNumbers { own, total: own };
    let samples = MetricDiff {
        metric: Metric::Samples,
        total: Change { key: (), before: 100, after: 200 },
        methods: vec![Change { key: bar, before: count(10), after: count(40) }],
        sample: Some([1.0; 2]),
        ..MetricDiff::default()
    };
    let node = diff.tree.root();
    let class = diff.symbols.class("byte[]");
    let bytes = |allocated_bytes| Allocations { allocated_bytes, ..Allocations::default() };
    diff.sites = Some(vec![Change { key: (class, node), before: bytes(1_000), after: bytes(990) }]);
    let misses = MetricDiff {
        metric: Metric::other("cache-misses", Unit::Count),
        total: Change { key: (), before: 1_000, after: 500 },
        methods: vec![Change { key: main, before: count(100), after: count(100) }],
        ..MetricDiff::default()
    };
    let time = MetricDiff {
        metric: Metric::SelfTime,
        unit: Unit::Nanoseconds,
        total: Change { key: (), before: 1_000, after: 2_000 },
        methods: vec![Change { key: bar, before: count(1_000), after: count(2_000) }],
        ..MetricDiff::default()
    };
    diff.metrics = vec![samples, time, misses];
    let blocked = |blocked_ns| Waits { blocked_ns, blocked_count: 1, ..Waits::default() };
    diff.locks = Some(vec![Change { key: class, before: blocked(5), after: blocked(9_000_000) }]);
    let objects = |instance_count, shallow_bytes| HeapObjects { instance_count, shallow_bytes };
    diff.heap = Some(vec![Change { key: class, before: objects(4, 64), after: objects(3, 128) }]);
    diff
}

fn compared<'a>(diff: &'a Diff, profiles: [&'a Profile; 2]) -> LimitInput<'a> {
    LimitInput { diff, profiles, asked: None, is_normalized: false }
}

fn verdict(text: &str, diff: &Diff) -> anyhow::Result<Verdict> {
    let none = Profile::default();
    limit(text).unwrap().check(compared(diff, [&none, &none]))
}

/// Calls of paths, as `T.main;T.f`, with their self time.
fn calls(rows: &[(&str, u64)]) -> Profile {
    let mut profile = Profile::default();
    let mut calls = CallTimes::default();
    for &(path, self_ns) in rows {
        let frames: Vec<_> = path
            .split(';')
            .map(|name| {
                let (class, name) = name.split_once('.').unwrap();
                let method = method(&mut profile.symbols, class, name);
                profile.symbols.frame(Frame::new(method, Line::Unknown))
            })
            .collect();
        let node = profile.tree.insert(frames);
        let trace = profile.trace(node, None);
        calls.rows.push(CallRow { trace, count: 1, self_ns, total_ns: 0 });
    }
    profile.events.push(Event::from(calls));
    profile
}

#[track_caller]
fn check(text: &str, numbers: (u64, u64), is_exceeded: bool) {
    let verdict = verdict(text, &sample()).unwrap();
    assert_eq!(((verdict.before, verdict.after), verdict.is_exceeded), (numbers, is_exceeded));
}

#[test]
fn growth_past_a_limit() {
    check("calls>+5%", (100, 105), false);
    check("calls>+4.9%", (100, 105), true);
    check("calls>4.9%", (100, 105), true);
    check("calls>+4", (100, 105), true);
    check("calls>+5", (100, 105), false);
    check("calls(com.acme.Foo.bar)>+0", (10, 10), false);
    check("calls(main) >+ 0%", (90, 95), true);
    check("time>+1us", (1_000, 2_000), false);
    check("self_ns(Foo.*)>+999", (1_000, 2_000), true);
    check("allocated_bytes<-0", (1_000, 990), true);
    check("allocated_bytes(byte[])<-1%", (1_000, 990), false);
    check("allocated_bytes>+0", (1_000, 990), false);
}

#[test]
fn samples_are_compared_by_share() {
    check("samples>+50%", (100, 200), true);
    check("samples(bar)>+99%", (10, 20), true);
    check("samples(bar)>+100%", (10, 20), false);
}

#[test]
fn other_metrics_and_locks_have_limits() {
    check("cache-misses>+0", (1_000, 500), false);
    check("cache-misses<-40%", (1_000, 500), true);
    check("cache-misses(main)>+50%", (100, 200), true);
    check("lock_time>+8ms", (5, 9_000_000), true);
    check("lock_time(byte[])>+9ms", (5, 9_000_000), false);
    check("lock_count>+0", (1, 1), false);
    check("heap_bytes(byte[])>+50%", (64, 128), true);
    check("heap_count<-0", (4, 3), true);
}

#[test]
fn limits_on_nothing_are_errors() {
    let error = |text: &str, diff: &Diff| verdict(text, diff).unwrap_err().to_string();
    assert!(
        error("calls(gone)>+1", &sample()).contains("no class or method has that name; use bar")
    );
    assert!(error("live_bytes(gone)>+1", &sample()).contains("no class or method"));
    assert!(error("calls>+1", &Diff::default()).contains("not in both profiles"));
    let known = "heap_count, shared_objects, cache-misses, total, self";
    assert!(error("x>+1", &sample()).contains(known));
    let unit = error("cache-misses>+5ms", &sample());
    assert_eq!(unit, "--fail-on cache-misses>+5ms: a limit on cache-misses is a count, not a time");
}

#[test]
fn what_is_no_limit_is_refused() {
    for text in ["", "calls", "calls>5", "calls>=5", "calls>+", "calls>+-1", "calls()>+1", ">+1"] {
        assert!(limit(text).is_err(), "{text}");
    }
    for text in ["calls(a>+1", "calls>+nan%", "calls>+-5%", "time>+5min", "time>+5MB"] {
        assert!(limit(text).is_err(), "{text}");
    }
    let error = limit("calls(T.f)>+5ms").unwrap_err();
    assert_eq!(error, "a limit on calls is a count, not a time");
    assert!(limit("calls>5").unwrap_err().contains("use NUMBER>+LIMIT or NUMBER<-LIMIT"));
}

#[test]
fn totals_have_what_methods_call() {
    let before = calls(&[("T.main", 1), ("T.main;T.f", 2), ("T.main;T.f;T.g", 7)]);
    let after = calls(&[("T.main", 1), ("T.main;T.f", 2), ("T.main;T.f;T.g", 303)]);
    let diff = Diff::new(&before, &after);
    let numbers = |text: &str| {
        let compared = compared(&diff, [&before, &after]);
        let verdict = limit(text).unwrap().check(compared).unwrap();
        ((verdict.before, verdict.after), verdict.is_exceeded)
    };
    assert_eq!(numbers("time(T.f)>+100ns"), ((9, 305), true));
    assert_eq!(numbers("total(T.f)>+296ns"), ((9, 305), false));
    assert_eq!(numbers("total_time(T.f)>+295"), ((9, 305), true));
    assert_eq!(numbers("self(T.f)>+0"), ((2, 2), false));
    assert_eq!(numbers("self_ns(T.f)>+0"), ((2, 2), false));
    // The time of both is that of one of them, once.
    assert_eq!(numbers("total(T.*)>+3%"), ((10, 306), true));
    assert_eq!(numbers("total>+3%"), ((10, 306), true));
    let verdict = limit("total>+3%").unwrap().check(compared(&diff, [&before, &after])).unwrap();
    let (most, sides) = verdict.most.unwrap();
    assert_eq!((&*diff.symbols.method_name(most), sides), ("T.g", [7, 303]));
    // In proportion, g has 98 % and had 70 %.
    let compared = LimitInput { is_normalized: true, ..compared(&diff, [&before, &after]) };
    let verdict = limit("self(T.g)>+1ns").unwrap().check(compared).unwrap();
    assert_eq!((verdict.before, verdict.after), (7, 9));
}

#[test]
fn few_samples_leave_a_limit_open() {
    let uncertain = |text: &str| {
        let verdict = verdict(text, &sample()).unwrap();
        (verdict.margin, verdict.is_exceeded, verdict.is_uncertain)
    };
    assert_eq!(uncertain("samples>+10%"), (Some(35), true, false));
    assert_eq!(uncertain("samples>+120%"), (Some(35), false, false));
    assert_eq!(uncertain("samples<-10%"), (Some(35), false, true));
    assert_eq!(uncertain("samples(bar)>+50%"), (Some(10), true, true));
    assert_eq!(uncertain("calls>+4"), (None, true, false));
}
