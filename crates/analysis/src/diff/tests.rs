use super::*;
use crate::fixture::{push_sites, times};

#[test]
fn equal_runs_differ_in_time_alone() {
    let one = times(&[("T.main", 1, 10), ("T.f<T.main", 5, 70)]);
    // The same calls, found in another order.
    let two = times(&[("T.f<T.main", 5, 80), ("T.main", 1, 11)]);
    let diff = Diff::new(&one, &two);
    let methods = diff.methods.unwrap();
    assert_eq!(methods.len(), 2);
    assert!(methods.iter().all(|row| row.before.count == row.after.count));
    assert_eq!((methods[0].before.self_ns, methods[0].after.self_ns), (70, 80));
    assert!(diff.edges.unwrap().iter().all(|row| row.before == row.after));
    assert!(diff.sites.is_none());
    let [time] = &diff.metrics[..] else { panic!("{:?}", diff.metrics) };
    assert_eq!((&time.metric, time.total.before, time.total.after), (&Metric::SelfTime, 80, 91));
    assert_eq!((time.methods[0].before.total, time.methods[1].after.total), (70, 91));
}

#[test]
fn stacks_with_several_methods_count_once() {
    let one = times(&[("T.main", 1, 1), ("T.f<T.main", 5, 10), ("T.g<T.f<T.main", 5, 100)]);
    let two = times(&[("T.f<T.f<T.main", 5, 20), ("T.h<T.main", 1, 500)]);
    let diff = Diff::new(&one, &two);
    let on = |names: &[&str]| {
        let is_meant = |id| names.contains(&&*diff.symbols.method_name(id));
        diff.on_stacks_with([&one, &two], &Metric::SelfTime, is_meant)
    };
    assert_eq!(on(&["T.f", "T.g"]), [110, 20]);
    assert_eq!(on(&["T.main"]), [111, 520]);
    assert_eq!(on(&["T.h"]), [0, 500]);
    let pairs = [("T.main", "", 1, 111), ("T.f", "T.main", 5, 110), ("T.g", "T.f", 5, 100)];
    let one = crate::fixture::edges(&pairs);
    let diff = Diff::new(&one, &one);
    let is_meant = |id| ["T.f", "T.g"].contains(&&*diff.symbols.method_name(id));
    let both = diff.on_stacks_with([&one, &one], &Metric::SelfTime, is_meant);
    assert_eq!(both, [110, 110]);
}

#[test]
fn calls_are_matched_by_name_and_ordered_by_change() {
    let one = times(&[("T.main", 1, 0), ("T.gone<T.main", 3, 0), ("T.f<T.main", 5, 0)]);
    let two = times(&[("T.f<T.main", 9, 0), ("T.main", 1, 0), ("T.f<T.new<T.main", 1, 0)]);
    let diff = Diff::new(&one, &two);
    let name = |id| diff.symbols.method_name(id);
    let methods: Vec<_> = diff.methods.as_ref().unwrap().iter().collect();
    let methods: Vec<_> =
        methods.iter().map(|row| (name(row.key), row.before.count, row.after.count)).collect();
    assert_eq!(methods, [("T.f".into(), 5, 10), ("T.gone".into(), 3, 0), ("T.main".into(), 1, 1)]);
    let edges: Vec<_> = diff.edges.as_ref().unwrap().iter().collect();
    let edges: Vec<_> = edges
        .iter()
        .map(|row| (row.key.0.map(name), row.key.1.map(name), row.before, row.after))
        .collect();
    let (main, f) = (Some("T.main".to_owned()), Some("T.f".to_owned()));
    let (gone, new) = (Some("T.gone".to_owned()), Some("T.new".to_owned()));
    assert_eq!(
        edges,
        [
            (main.clone(), f.clone(), 5, 9),
            (main.clone(), gone, 3, 0),
            (new.clone(), f, 0, 1),
            (None, main, 1, 1)
        ]
    );
}

#[test]
fn sites_are_matched_by_class_path_and_line() {
    let mut one = Profile::default();
    push_sites(
        &mut one,
        &[
            ("byte[]", "T.f:3<T.main:9", [100, 1, 0, 0]),
            ("T$$Lambda/0x0000aa", "T.f:4<T.main:9", [16, 1, 16, 1]),
            ("T", "T.g:1", [8, 1, 0, 0]),
        ],
    );
    let mut two = Profile::default();
    push_sites(
        &mut two,
        &[
            ("T", "T.g:2", [8, 1, 0, 0]),
            ("T$$Lambda/0x0000bb", "T.f:4<T.main:9", [16, 1, 0, 0]),
            ("byte[]", "T.f:3<T.main:9", [150, 3, 0, 0]),
        ],
    );
    let diff = Diff::new(&one, &two);
    let bytes: Vec<_> = diff
        .sites
        .as_ref()
        .unwrap()
        .iter()
        .map(|row| {
            let name = diff.symbols.class_name(row.key.0);
            (name, row.before.allocated_bytes, row.after.allocated_bytes)
        })
        .collect();
    assert_eq!(bytes, [("byte[]", 100, 150), ("T", 0, 8), ("T", 8, 0), ("T$$Lambda", 16, 16)]);
    assert_eq!(diff.classes.unwrap().len(), 3);
    assert!(!diff.is_estimated);
}
