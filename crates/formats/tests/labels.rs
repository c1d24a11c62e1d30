//! Labels in every format that has a place for them: what is read back is what was there.

use perk_formats::View;
use perk_profile::{
    Column, Frame, Key, Label, LabelSetId, LabelValue, Line, Method, Metric, Profile, Section,
    SectionHead, Subject,
};

/// Samples of a request on two paths and allocations of another, with and without labels.
fn profile() -> Profile {
    let mut profile = Profile::default();
    let class = profile.symbols.class("com.acme.Orders");
    let mut frame = |name: &str| {
        let name = profile.symbols.strings.intern(name);
        let method = profile.symbols.method(Method { class, name, signature: None, source: None });
        profile.symbols.frame(Frame::new(method, Line::Number(7)))
    };
    let [run, load] = [frame("run"), frame("load")];
    let paths = [profile.tree.insert([run]), profile.tree.insert([load, run])];
    let [run, load] = paths.map(|node| profile.trace(node, None));
    let mut text = |text: &str| profile.symbols.strings.intern(text);
    let get = Label { key: text("request"), value: LabelValue::Text(text("GET /orders/{id}")) };
    let post = Label { key: text("request"), value: LabelValue::Text(text("")) };
    let size = Label { key: text("size"), value: LabelValue::Number(-3, Some(text("bytes"))) };
    let status = Label { key: text("status"), value: LabelValue::Number(200, None) };
    let first = profile.labels.set(vec![get, size]);
    let second = profile.labels.set(vec![post, status]);
    let mut samples = Section::new(SectionHead::new([Column::new(Metric::Samples, 15)]));
    for (trace, labels, number) in
        [(load, first, 1), (run, first, 2), (load, second, 4), (load, LabelSetId::EMPTY, 8)]
    {
        samples.push(Key { labels, ..Key::from(trace) }, &[number]);
    }
    let metric = Metric::other("misses", perk_profile::Unit::Count);
    let mut misses = Section::new(SectionHead::new([Column::new(metric, 48)]));
    for (labels, number) in [(first, 16), (second, 32)] {
        misses.push(Key { trace: load, subject: Subject::None, labels }, &[number]);
    }
    let head = SectionHead::new(Metric::OF_OBJECTS.map(|metric| Column::new(metric, 66)));
    let mut sites = Section::new(head);
    for (labels, number) in [(first, 64), (LabelSetId::EMPTY, 2)] {
        let key = Key { trace: run, subject: Subject::Class(class), labels };
        sites.push(key, &[number; 4]);
    }
    profile.events.extend([samples.into(), misses.into(), sites.into()]);
    profile
}

/// Each number with its path, subject and labels.
fn rows(profile: &Profile) -> Vec<String> {
    let symbols = &profile.symbols;
    let mut rows = Vec::new();
    for metric in Metric::all_of(profile) {
        for (key, number) in metric.rows(profile).rows {
            let name = |frame| symbols.method_name(symbols.get_frame(frame).method);
            let path: Vec<_> = profile.frames(key.trace).map(name).collect();
            let label =
                |it: &Label| format!("{}={}", symbols.strings.get(it.key), it.value_text(symbols));
            let mut labels: Vec<_> = profile.labels.get(key.labels).iter().map(label).collect();
            labels.sort();
            let subject = key.subject.label(symbols);
            rows.push(format!("{} {path:?} {subject:?} {labels:?} {number}", metric.name()));
        }
    }
    rows.sort();
    rows
}

#[test]
fn labels_come_back() {
    let profile = profile();
    let expected = rows(&profile);
    assert_eq!(expected.len(), 14);
    for name in ["hprof", "pprof", "speedscope"] {
        let format = perk_formats::by_name(name).unwrap();
        let view = View::new(&profile, "x");
        let mut file = Vec::new();
        format.write_view(&view, &mut file).unwrap();
        let read = format.read(&mut &file[..]).unwrap();
        // pprof does not distinguish an empty text from the number 0.
        let text = rows(&read).join("\n").replace("request=0", "request=");
        assert_eq!(text, expected.join("\n"), "{name}");
        assert_eq!(format.losses(&view), [""; 0], "{name}");
        assert_eq!(read.notes, [""; 0], "{name}");
    }
}

#[test]
fn formats_without_labels_add_their_numbers_up() {
    let profile = profile();
    for name in ["collapsed", "txt"] {
        let format = perk_formats::by_name(name).unwrap();
        let view = View::new(&profile, "x").with_metric(&Metric::Samples);
        let mut file = Vec::new();
        format.write_view(&view, &mut file).unwrap();
        let read = format.read(&mut &file[..]).unwrap();
        let mut numbers: Vec<_> =
            Metric::Samples.rows(&read).by_trace().into_iter().map(|it| it.1).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [2, 13], "{name}");
        assert!(format.losses(&view).contains(&"labels".to_owned()), "{:?}", format.losses(&view));
    }
}
