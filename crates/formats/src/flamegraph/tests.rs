use perk_profile::{Accounting, Allocations, Event, Line, Metric, Site, Sites, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::builder::ProfileBuilder;
use crate::collapsed;

fn page(profile: &Profile) -> Vec<u8> {
    let mut out = Vec::new();
    write(&View::new(profile, "test"), &mut out).unwrap();
    out
}

fn text(profile: &Profile) -> String {
    let mut out = Vec::new();
    collapsed::write(&View::new(profile, ""), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn with_json(json: &str) -> Vec<u8> {
    format!("<html>{DATA_BEGIN}{json}{DATA_END}</html>").into_bytes()
}

const SAMPLE: &str = "[below cutoff] 7\n[main];T.run 1\n[main];T.run;T.work 5\n\
    [main];[no stack] 2\n[no stack] 3\n";

#[test]
fn reads_back_what_it_shows() {
    let mut profile = collapsed::read(SAMPLE.as_bytes()).unwrap();
    profile.created = Some(Timestamp { unix_ms: 1_700_000_000_000, utc_offset_s: 3600 });
    profile.notes = vec!["one".into()];
    profile.depth = Some(64);
    profile.accounting = Some(Accounting {
        program: "</script><b>".into(),
        interval_ns: 10_000_000,
        ..Accounting::default()
    });
    let read = read(&page(&profile)).unwrap();
    assert_eq!(text(&read), SAMPLE);
    assert_eq!(read.total_cpu_samples().total, 18);
    assert_eq!(read.created, profile.created);
    assert_eq!(read.notes, profile.notes);
    assert_eq!(read.depth, profile.depth);
    assert_eq!(read.accounting, profile.accounting);
    assert_eq!(page(&read), page(&profile));
}

#[test]
fn keeps_signatures_and_native_methods_and_merges_lines() {
    let mut builder = ProfileBuilder::default();
    for (signature, line) in
        [("(I)V", Line::Number(1)), ("(I)V", Line::Number(2)), ("(J)V", Line::Native)]
    {
        let frame = builder.frame("T", "f", signature, line);
        let node = builder.profile.tree.insert([frame]);
        builder.add(None, node, 1);
    }
    let profile = builder.finish();
    let read = read(&page(&profile)).unwrap();
    let shown: Vec<_> = read
        .total_cpu_samples()
        .rows
        .iter()
        .map(|&(trace, count)| {
            let frame = read.symbols.get_frame(read.frames(trace).next().unwrap());
            let signature = read.symbols.get_method(frame.method).signature.unwrap();
            (read.symbols.strings.get(signature).to_owned(), frame.line, count)
        })
        .collect();
    assert_eq!(shown, [("(I)V".into(), Line::Unknown, 2), ("(J)V".into(), Line::Native, 1)]);
}

#[test]
fn frames_have_owners_which_the_first_pages_did_not() {
    let stacks = "[main];com.acme.T.main;java.util.List.of 2\n[no stack] 1\n";
    let profile = collapsed::read(stacks.as_bytes()).unwrap();
    let html = String::from_utf8(page(&profile)).unwrap();
    let (app, owner) = (r#""app":["com.acme.*"],"#, r#","owner":[5,5,0,2]"#);
    assert!(html.contains(app) && html.contains(owner), "{html}");
    let first = html.replace(app, "").replace(owner, "");
    assert_eq!(text(&read(first.as_bytes()).unwrap()), stacks);
}

#[test]
fn each_kind_of_code_has_its_owner() {
    let stacks = "[main];com.acme.T.main;com.google.common.io.Files.read;java.io.File.exists;\
        libjvm_stat;do_sys_stat_[k] 2\n";
    let profile = collapsed::read(stacks.as_bytes()).unwrap();
    let data = PageData::new(&View::new(&profile, "test")).unwrap();
    let owners: Vec<_> = data
        .frames
        .name
        .iter()
        .map(|&name| data.strings[name as usize].as_str())
        .zip(data.frames.owner)
        .collect();
    for owner in [
        ("main", 5),
        ("main", 0),
        ("read", 1),
        ("exists", 2),
        ("libjvm_stat", 3),
        ("do_sys_stat", 4),
    ] {
        assert!(owners.contains(&owner), "{owner:?}: {owners:?}");
    }
    assert_eq!(owners.len(), 6);
}

#[test]
fn a_comparison_has_the_program_s_own_code_of_both() {
    let read = |text: &str| collapsed::read(text.as_bytes()).unwrap();
    let before = read("com.acme.T.main;com.acme.T.old 1\n");
    let after = read("com.acme.T.main;com.acme.T.new 1\n");
    let earlier = View::new(&before, "before");
    let view = View { before: Some(&earlier), ..View::new(&after, "after") };
    let data = PageData::new(&view).unwrap();
    assert_eq!((data.app, data.frames.owner), (vec!["com.acme.*".to_owned()], vec![0, 0, 0]));
}

#[test]
fn names_cannot_leave_their_place() {
    let name = "x</script><script>alert(1)</script><!--\"'&{{data}}\u{2028}";
    let mut profile = collapsed::read(format!("{name} 1\n").as_bytes()).unwrap();
    profile.accounting = Some(Accounting { jvm: name.into(), ..Accounting::default() });
    let mut out = Vec::new();
    write(&View::new(&profile, name), &mut out).unwrap();
    let html = String::from_utf8(out).unwrap();
    assert!(!html.contains("alert(1)</script>"));
    assert_eq!(html.matches(DATA_BEGIN).count(), 1);
    assert_eq!(html.matches("</script>").count(), 2);
    assert_eq!(text(&read(html.as_bytes()).unwrap()), text(&profile));
}

#[test]
fn only_pages_of_samples_read_back() {
    let mut profile = collapsed::read(SAMPLE.as_bytes()).unwrap();
    let trace = profile.total_cpu_samples().rows[0].0;
    let class = profile.symbols.class("byte[]");
    let objects = Allocations { allocated_bytes: 72, ..Allocations::default() };
    let rows = vec![Site { class, trace, objects }];
    profile.events = vec![Event::from(Sites { total: objects, rows, ..Sites::default() })];
    let mut out = Vec::new();
    write(&View::new(&profile, "test").with_metric(&Metric::AllocatedBytes), &mut out).unwrap();
    let html = String::from_utf8(out).unwrap();
    assert!(html.contains(r#""value":"allocated""#) && html.contains("byte[]"), "{html}");
    let error = read(html.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("expected samples"), "{error}");
    // A page that hides its kind of values is not read either.
    let html = html.replace(r#""value":"allocated","#, "");
    let error = read(html.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("frames.kind["), "{error}");
}

#[test]
fn pages_have_all_leading_metrics_and_give_back_samples() {
    let mut profile = collapsed::read(SAMPLE.as_bytes()).unwrap();
    let trace = profile.total_cpu_samples().rows[0].0;
    let class = profile.symbols.class("byte[]");
    let objects = Allocations { allocated_bytes: 72, allocated_count: 3, ..Allocations::default() };
    let rows = vec![Site { class, trace, objects }];
    profile.events.push(Event::from(Sites { total: objects, rows, ..Sites::default() }));
    let html = page(&profile);
    let shown = String::from_utf8(html.clone()).unwrap();
    assert!(
        shown.contains(r#""others":[{"value":"allocated","unit":"bytes","nodes":{"#),
        "{shown}"
    );
    assert!(!shown.contains(r#""value":"objects""#), "numbers of objects say less than bytes");
    let read = read(&html).unwrap();
    assert_eq!(text(&read), SAMPLE);
    assert_eq!(Metric::all_of(&read), [Metric::Samples]);
    assert_eq!(read.notes, ["values of the page that are not read back: allocated"]);
    let losses = |view: &View<'_>| (&FlameGraph as &dyn FileFormat).losses(view);
    let view = View::new(&profile, "");
    assert_eq!(losses(&view), ["the metric objects"]);
    let samples = view.with_metric(&Metric::Samples);
    assert_eq!(losses(&samples), ["the metrics allocated, objects"]);
    let mut alone = Vec::new();
    write(&samples, &mut alone).unwrap();
    assert!(!String::from_utf8(alone).unwrap().contains("others\":"));
}

#[test]
fn the_page_asks_nothing_of_the_network() {
    let html = String::from_utf8(page(&Profile::default())).unwrap();
    for word in ["http:", "https:", "src=", "@import", "url(", "fetch(", "{{"] {
        assert!(!html.contains(word), "{word}");
    }
}

#[test]
fn says_what_is_wrong_with_a_page() {
    #[track_caller]
    fn check(bytes: &[u8], message: &str) {
        assert_eq!(read(bytes).unwrap_err().to_string(), message);
    }
    check(b"<html>", "byte 0: expected the data of a flame graph page of perk");
    let cut = format!("{DATA_BEGIN}{{");
    check(cut.as_bytes(), "byte 48: expected the end of the page's data");
    let expected = "expected a flame graph's data (JSON, docs/formats/flamegraph.md)";
    check(&with_json("{\n!"), &format!("byte 55: {expected}"));

    let with = |nodes: &str| {
        with_json(&format!(
            "{{\"version\":1,\"title\":\"\",\"notes\":[],\"strings\":[\"\"],\"frames\":{{\"kind\":[0,2,3],\
             \"class\":[0,0,0],\"name\":[0,0,0],\"signature\":[0,0,0]}},\"nodes\":{nodes}}}"
        ))
    };
    let level = "expected a level from 1 to one below the node before";
    for (nodes, message) in [
        (r#"{"level":[2],"frame":[0],"self":[1]}"#, format!("nodes.level[0]: {level}")),
        (r#"{"level":[1,-1],"frame":[0,0],"self":[1,1]}"#, format!("nodes.level[1]: {level}")),
        (r#"{"level":[1,1],"frame":[2,0],"self":[1,1]}"#, format!("nodes.level[1]: {level}")),
        (
            r#"{"level":[1],"frame":[3],"self":[1]}"#,
            "nodes.frame[0]: expected an index of frames".to_owned(),
        ),
        (
            r#"{"level":[1,1],"frame":[0,1],"self":[1,1]}"#,
            "nodes.frame[1]: expected threads on level 1 only".to_owned(),
        ),
        (
            r#"{"level":[1],"frame":[0],"self":[]}"#,
            "nodes.self[0]: expected as many entries as in the table's other columns".to_owned(),
        ),
    ] {
        check(&with(nodes), &message);
    }
}

#[test]
fn cut_anywhere_it_says_so() {
    let profile = collapsed::read(SAMPLE.as_bytes()).unwrap();
    let data = PageData::new(&View::new(&profile, "")).unwrap();
    let page = with_json(&serde_json::to_string(&data).unwrap());
    assert!(read(&page).is_ok());
    let end = page.len() - "</script></html>".len();
    for end in 0..end {
        assert!(read(&page[..end]).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn odd_names_read_back(
        names in prop::collection::vec("[a.;<>/\"'&\\PC]{1,8}", 1..6),
        cut in 0_usize..6,
    ) {
        let (thread, frames) = names.split_at(cut.min(names.len() - 1));
        let stack = frames.join(";");
        let thread = thread.concat().replace(';', "");
        let stacks = format!("{stack} 1\n[{thread}];{stack} 2\n");
        let profile = collapsed::read(stacks.as_bytes()).unwrap();
        prop_assert_eq!(text(&read(&page(&profile)).unwrap()), text(&profile));
    }
}
