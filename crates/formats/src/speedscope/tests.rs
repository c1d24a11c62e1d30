use perk_profile::{Line, Metric, Profile, Unit};
use proptest::prelude::*;

use super::*;
use crate::{collapsed, fixture};

fn written(profile: &Profile) -> String {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns a file of these profiles, on frames `a.x`, `b.y` and `c`.
fn file(profiles: &str) -> String {
    format!(
        r#"{{"$schema":"{SCHEMA}","version":"0.0.1","shared":{{"frames":[
            {{"name":"a.x","file":"a.java","line":7,"col":1}},{{"name":"b.y"}},{{"name":"c","line":0}}]}},
            "profiles":[{profiles}]}}"#
    )
}

#[track_caller]
fn check(profiles: &str, expected: &str) -> Profile {
    let file = file(profiles);
    assert!(recognise(file.as_bytes()));
    let profile = read(file.as_bytes()).unwrap();
    assert_eq!(fixture::text(&profile), expected);
    profile
}

#[test]
fn slashes_in_names_of_classes_become_dots() {
    let profiles = r#"{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":6,
            "samples":[[0,1,2]],"weights":[1]}"#;
    let file = file(profiles)
        .replace(r#""b.y""#, r#""java/util/HashMap.get(I)V""#)
        .replace(r#""c""#, r#""net/http.Get""#);
    let profile = read(file.as_bytes()).unwrap();
    let stack = "a.x;java.util.HashMap.get;net/http.Get";
    assert_eq!(fixture::text(&profile), format!("# samples Count\n{stack} 1\n"));
}

#[test]
fn samples_without_a_unit_are_counted() {
    let profile = check(
        r#"{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":6,
            "samples":[[0,1],[0],[0,1],[]],"weights":[1,2,3,0.5]}"#,
        "# samples Count\n[no stack] 1\na.x 2\na.x;b.y 4\n",
    );
    assert_eq!(profile.notes, ["1 weights rounded to whole numbers"]);
    assert!(profile.threads.is_empty());
    let frame = profile.frames(profile.total_cpu_samples().rows[1].0).last().unwrap();
    let frame = profile.symbols.get_frame(frame);
    assert_eq!(frame.line, Line::Number(7));
    let source = profile.symbols.get_method(frame.method).source.unwrap();
    assert_eq!(profile.symbols.strings.get(source), "a.java");
}

#[test]
fn samples_of_one_time_each_have_an_interval() {
    let profiles = r#"{"type":"sampled","name":"T 1","unit":"seconds","startValue":0,"endValue":1,
        "samples":[[0],[0,1]],"weights":[0.01,0.01]},
        {"type":"sampled","name":"T 2","unit":"milliseconds","startValue":0,"endValue":1,
        "samples":[[2],[2]],"weights":[10,10.0]}"#;
    let profile = check(profiles, "# samples Count\n[T 1];a.x 1\n[T 1];a.x;b.y 1\n[T 2];c 2\n");
    assert_eq!(profile.sample_interval_ns(), Some(10_000_000));
    check(
        &profiles.replace("10.0", "12.5"),
        "# time Nanoseconds\n[T 1];a.x 10000000\n[T 1];a.x;b.y 10000000\n[T 2];c 22500000\n",
    );
}

#[test]
fn events_give_the_time_in_each_stack() {
    let profile = check(
        r#"{"type":"evented","name":"p","unit":"microseconds","startValue":0,"endValue":20,
            "events":[{"type":"O","frame":0,"at":1.5},{"type":"O","frame":1,"at":3},
            {"type":"C","frame":1,"at":7},{"type":"C","frame":0,"at":8},
            {"type":"O","frame":2,"at":10},{"type":"O","frame":2,"at":11}]},
            {"type":"sampled","name":"q","unit":"bytes","startValue":0,"endValue":9,
            "samples":[[1]],"weights":[9]}"#,
        "# time Nanoseconds\na.x 2500\na.x;b.y 4000\nc 1000\n# bytes Bytes\nb.y 9\n",
    );
    assert_eq!(profile.notes, ["2 frames without an end counted up to the last event"]);
    assert_eq!(Metric::first_of(&profile).unwrap().unit(), Unit::Nanoseconds);
}

#[test]
fn a_file_with_events_and_memory() {
    let file = include_bytes!("../../../../testdata/speedscope/events.speedscope.json");
    assert!(recognise(file));
    let expected = "# time Nanoseconds\na;b 5000000\na;b;c 5000000\na;b;d 4000000\n\
        # bytes Bytes\na;b 4\na;b;c 3\n";
    assert_eq!(fixture::text(&read(&file[..]).unwrap()), expected);
}

#[test]
fn negative_weights_count_as_nothing_and_large_ones_do_not_wrap() {
    let max = u64::MAX;
    let profile = check(
        &format!(
            r#"{{"type":"sampled","name":"p","unit":"none","samples":[[0],[0],[1],[2]],
            "weights":[{max},{max},-3,1e300]}}"#
        ),
        &format!("# samples Count\na.x {max}\nc {max}\n"),
    );
    assert_eq!(profile.notes, ["1 negative weights counted as 0"]);
}

#[test]
fn says_what_is_wrong() {
    #[track_caller]
    fn check(file: &str, message: &str) {
        assert_eq!(read(file.as_bytes()).unwrap_err().to_string(), message);
    }
    let json = "not speedscope's JSON: ";
    check("", &format!("{json}EOF while parsing a value at line 1 column 0"));
    check("{\n}", &format!("{json}missing field `shared` at line 2 column 1"));
    check(&(file("") + "x"), &format!("{json}trailing characters at line 3 column 27"));
    check(&file(r#"{"unit":"none"}"#), "profiles[0]: expected samples or events");
    check(&file(r#"{"samples":[[0]]}"#), "profiles[0]: expected weights");
    let odd = r#"{"samples":[[0]],"weights":[1,2]}"#;
    check(&file(odd), "profiles[0]: expected as many weights as samples");
    check(
        &file(r#"{"samples":[[0,3]],"weights":[1]}"#),
        "shared.frames[3]: expected an entry for each frame of the samples",
    );
    for (events, what) in [
        (r#"{"type":"C","frame":0,"at":1}"#, "the end of a frame that is not the innermost"),
        (
            r#"{"type":"O","frame":0,"at":1},{"type":"O","frame":0,"at":0}"#,
            "an event earlier than the one before it",
        ),
        (r#"{"type":"X","frame":0,"at":1}"#, "unknown variant `X`"),
    ] {
        let error = read(file(&format!(r#"{{"events":[{events}]}}"#)).as_bytes()).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(&format!("{json}{what}")), "{message}");
        assert!(message.contains(" at line 3 column "), "{message}");
    }
}

#[test]
fn other_json_is_not_recognised() {
    for head in ["", "{", "{}", "[1]", "{\"traceEvents\":[]}", "profiles sampled", "\"shared\""] {
        assert!(!recognise(head.as_bytes()), "{head}");
    }
    let old = "\u{FEFF} {\"shared\":{\"frames\":[]},\"profiles\":[]}";
    assert!(recognise(old.as_bytes()));
    assert!(read(old.as_bytes()).unwrap().events.is_empty());
    // Windows line ends are white space.
    assert!(read(old.replace(' ', "\r\n").as_bytes()).is_ok());
}

#[test]
fn everything_survives() {
    let profile = fixture::everything();
    let text = written(&profile);
    assert!(recognise(&text.as_bytes()[..100]));
    let read = read(text.as_bytes()).unwrap();
    assert_eq!(fixture::text(&read), fixture::text(&profile));
    assert_eq!(read.accounting, profile.accounting);
    assert_eq!(read.created, profile.created);
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    assert_eq!(read.cpu_samples().next().unwrap().interval_ns, Some(1_000_000));
    let (sites, of) = (read.sites().unwrap(), profile.sites().unwrap());
    assert_eq!((sites.total, sites.sample_interval_bytes), (of.total, Some(512)));
    assert_eq!(written(&read).len(), text.len());
}

#[test]
fn a_cut_file_is_read_as_far_as_it_is_whole() {
    let cut_after = |profiles: &str, end: &str| {
        let file = file(profiles);
        let at = file.rfind(end).unwrap() + end.len();
        let profile = read(&file.as_bytes()[..at]).unwrap();
        (fixture::text(&profile), profile.notes)
    };
    let note = "the file is cut off: its whole part is read".to_owned();
    let samples =
        r#"{"type":"sampled","unit":"none","samples":[[0,1],[0],[1]],"weights":[4,5,67]}"#;
    let (text, notes) = cut_after(samples, ",6");
    assert_eq!(text, "# samples Count\na.x 5\na.x;b.y 4\n");
    assert_eq!(notes, ["1 samples without a weight skipped", &note]);
    let (text, notes) = cut_after(samples, "[1]]");
    assert_eq!(text, "");
    assert_eq!(notes, ["3 samples without a weight skipped", &note]);
    let turned = r#"{"type":"sampled","unit":"none","weights":[4,5,67],"samples":[[0,1],[0],[1]]}"#;
    assert_eq!(cut_after(turned, ",[1").0, "# samples Count\na.x 5\na.x;b.y 4\n");
    let events = r#"{"type":"evented","unit":"none","events":[{"type":"O","frame":0,"at":1},
        {"type":"O","frame":1,"at":3},{"type":"C","frame":1,"at":4},{"type":"C","frame":0,"at":9}]}"#;
    let (text, notes) = cut_after(events, r#""frame":0"#);
    assert_eq!(text, "# samples Count\na.x 2\na.x;b.y 1\n");
    assert_eq!(notes, ["1 frames without an end counted up to the last event", &note]);
}

#[test]
fn cut_anywhere_it_says_so_and_flipped_bits_do_no_harm() {
    let mut profile = fixture::everything();
    profile.accounting = None;
    let text = written(&profile);
    let end = text.trim_end().len();
    let mut read_count = 0;
    for at in (0..end).step_by(5) {
        match read(&text.as_bytes()[..at]) {
            Ok(profile) => {
                read_count += 1;
                assert!(profile.notes.last().unwrap().starts_with("the file is cut off"), "{at}");
            }
            Err(error) => {
                assert!(at == 0 || error.to_string().contains("cut off"), "{at}: {error}")
            }
        }
        for bit in [0, 1, 4, 7] {
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1 << bit;
            if let Ok(profile) = read(&damaged[..]) {
                written(&profile);
            }
        }
    }
    assert!(read_count > end / 20, "{read_count} of {end} bytes");
}

#[test]
fn names_may_be_of_a_megabyte_and_traces_many() {
    let name = "n".repeat(1 << 20);
    let mut stacks = format!("{name}.m 1\n");
    stacks.extend((0..10_000).map(|index| format!("a.b;c.d;C{index}.m 1\n")));
    let profile = collapsed::read(stacks.as_bytes()).unwrap();
    let read = read(written(&profile).as_bytes()).unwrap();
    assert_eq!(fixture::text(&read), fixture::text(&profile));
}

proptest! {
    #[test]
    fn frames_survive(stacks in fixture::stacks()) {
        let profile = fixture::of_stacks(&stacks);
        let read = read(written(&profile).as_bytes()).unwrap();
        prop_assert_eq!(fixture::frames(&read), fixture::frames(&profile));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:0-9a-z]{0,60}") {
        let _ = read(text.as_bytes());
    }
}
