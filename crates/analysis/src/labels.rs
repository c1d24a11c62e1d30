//! Numbers by their labels: those of some labels only, and labels as the outermost frames of
//! stacks.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use perk_profile::{
    Event, Frame, FrameId, Key, KeyedMap, LabelSetId, Line, Method, NodeId, Profile, StrId,
    Symbols, TraceId, WholePattern,
};

/// Labels of a key: `request=GET *`. Each `*` of the value matches any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelPattern {
    /// The key.
    pub key: String,
    /// The values.
    pub value: WholePattern,
}

impl FromStr for LabelPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').filter(|(key, _)| !key.is_empty());
        let parts = parts.and_then(|(key, value)| Some((key, WholePattern::new(value)?)));
        let (key, value) = parts.ok_or("use KEY=VALUE, such as 'request=GET *'")?;
        Ok(Self { key: key.to_owned(), value })
    }
}

impl fmt::Display for LabelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value.as_str())
    }
}

/// Whether a number of the profile has such a label.
pub fn is_in(pattern: &LabelPattern, profile: &Profile) -> bool {
    values(profile, &pattern.key).iter().any(|value| pattern.value.matches(value))
}

/// The values of the labels of a key.
pub fn values(profile: &Profile, key: &str) -> BTreeSet<String> {
    let symbols = &profile.symbols;
    let sets = (0..profile.labels.len()).map(LabelSetId::new);
    let of_key = sets
        .flat_map(|set| profile.labels.get(set))
        .filter(|label| symbols.strings.get(label.key) == key);
    of_key.map(|label| label.value_text(symbols)).collect()
}

/// Whether labels have one for each key of `patterns`, one of its patterns. `has` finds it.
pub fn are_kept(patterns: &[LabelPattern], has: impl Fn(&LabelPattern) -> bool) -> bool {
    patterns.iter().all(|one| patterns.iter().filter(|it| it.key == one.key).any(&has))
}

/// The sets of labels that have a label for each key of `patterns`, one of its patterns.
pub(crate) fn kept(patterns: &[LabelPattern], profile: &Profile) -> Vec<bool> {
    let symbols = &profile.symbols;
    let has = |set: LabelSetId, pattern: &LabelPattern| {
        profile.labels.get(set).iter().any(|label| {
            symbols.strings.get(label.key) == pattern.key
                && pattern.value.matches(&label.value_text(symbols))
        })
    };
    let sets = (0..profile.labels.len()).map(LabelSetId::new);
    sets.map(|set| are_kept(patterns, |pattern| has(set, pattern))).collect()
}

/// The keys of all labels, and the number of values that each has.
pub fn keys(profile: &Profile) -> Vec<(String, usize)> {
    let mut values: KeyedMap<StrId, Vec<_>> = KeyedMap::default();
    let sets = (0..profile.labels.len()).map(LabelSetId::new);
    for label in sets.flat_map(|set| profile.labels.get(set)) {
        values.entry(label.key).or_default().push(label.value);
    }
    let text = |id| profile.symbols.strings.get(id).to_owned();
    let count = |mut values: Vec<_>| {
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    let mut keys: Vec<_> =
        values.into_iter().map(|(key, values)| (text(key), count(values))).collect();
    keys.sort();
    keys
}

/// Makes the value of the label `key` the outermost frame of each stack: `GET /orders`. Numbers without such a
/// label get one that says so. When samples were taken is known by stack alone, and is left out.
///
/// Returns whether any number has the label.
pub fn root(profile: &mut Profile, key: &str) -> bool {
    let mut roots = Roots::new(profile, key);
    let mut events = std::mem::take(&mut profile.events);
    events.retain(|event| !matches!(event, Event::Timeline(_)));
    let mut has_label = false;
    for event in &mut events {
        let Event::Section(section) = event else { continue };
        let keys: Vec<Key> = section.rows().map(|row| row.0).collect();
        for (row, of_row) in keys.into_iter().enumerate() {
            has_label |= roots.frames[of_row.labels.index()] != roots.none;
            let trace = roots.trace(profile, of_row.trace, of_row.labels);
            section.set_trace(row, trace);
        }
    }
    profile.events = events;
    has_label
}

/// The frames of a label's values, and the paths below them.
struct Roots {
    /// By set of labels.
    frames: Vec<FrameId>,
    /// The frame of numbers without the label.
    none: FrameId,
    nodes: KeyedMap<(NodeId, FrameId), NodeId>,
    traces: KeyedMap<(TraceId, FrameId), TraceId>,
}

impl Roots {
    fn new(profile: &mut Profile, key: &str) -> Self {
        let none = frame(&mut profile.symbols, &format!("[no {key}]"));
        let id = profile.symbols.strings.intern(key);
        let frames = (0..profile.labels.len()).map(|index| {
            let labels = profile.labels.of_key(LabelSetId::new(index), id);
            let values: Vec<_> = labels.map(|it| it.value_text(&profile.symbols)).collect();
            match values.is_empty() {
                true => none,
                false => frame(&mut profile.symbols, &values.join(", ")),
            }
        });
        let frames = frames.collect();
        Self { frames, none, nodes: KeyedMap::default(), traces: KeyedMap::default() }
    }

    fn trace(&mut self, profile: &mut Profile, trace: TraceId, labels: LabelSetId) -> TraceId {
        let root = self.frames[labels.index()];
        if let Some(&known) = self.traces.get(&(trace, root)) {
            return known;
        }
        let of_trace = profile.get_trace(trace);
        let node = self.node(profile, of_trace.node, root);
        let moved = profile.trace(node, of_trace.thread);
        self.traces.insert((trace, root), moved);
        moved
    }

    /// The path of `node` below the frame `root`.
    fn node(&mut self, profile: &mut Profile, node: NodeId, root: FrameId) -> NodeId {
        let mut above = Vec::new();
        let mut at = node;
        let mut below = loop {
            if let Some(&known) = self.nodes.get(&(at, root)) {
                break known;
            }
            match profile.tree.parent(at).zip(profile.tree.frame(at)) {
                Some((parent, frame)) => {
                    above.push((at, frame));
                    at = parent;
                }
                None => {
                    let top = profile.tree.root();
                    break profile.tree.insert_below(top, [root]);
                }
            }
        };
        while let Some((at, frame)) = above.pop() {
            below = profile.tree.insert_below(below, [frame]);
            self.nodes.insert((at, root), below);
        }
        below
    }
}

/// A frame with this name.
fn frame(symbols: &mut Symbols, name: &str) -> FrameId {
    let class = symbols.class("");
    let name = symbols.strings.intern(name);
    let method = symbols.method(Method { class, name, signature: None, source: None });
    symbols.frame(Frame::new(method, Line::Unknown))
}

#[cfg(test)]
mod tests {
    use perk_profile::{Column, Label, LabelValue, Metric, Section, SectionHead};

    use super::*;
    use crate::Filter;
    use crate::fixture::stack;

    /// Samples of requests on two paths.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        let mut set = |request: &str, status: i64| {
            let mut text = |text: &str| profile.symbols.strings.intern(text);
            let request = Label { key: text("request"), value: LabelValue::Text(text(request)) };
            let status = Label { key: text("status"), value: LabelValue::Number(status, None) };
            profile.labels.set(vec![request, status])
        };
        let sets = [set("GET /a", 200), set("GET /b", 200), set("POST /a", 500)];
        let traces = ["T.run", "T.load<T.run"].map(|path| {
            let node = stack(&mut profile, path);
            profile.trace(node, None)
        });
        let [run, load] = traces;
        let rows = [
            (load, sets[0], 1),
            (run, sets[0], 2),
            (load, sets[1], 4),
            (load, sets[2], 8),
            (run, LabelSetId::EMPTY, 16),
        ];
        let mut section = Section::new(SectionHead::new([Column::new(Metric::Samples, 31)]));
        for (trace, labels, number) in rows {
            section.push(Key { labels, ..Key::from(trace) }, &[number]);
        }
        profile.events.push(section.into());
        profile
    }

    fn paths(profile: &Profile) -> Vec<(String, u64)> {
        let name = |frame| profile.symbols.method_name(profile.symbols.get_frame(frame).method);
        let rows = Metric::Samples.rows(profile).by_trace();
        let path = |trace| profile.frames(trace).map(name).collect::<Vec<_>>().join("<");
        let mut rows: Vec<_> = rows.into_iter().map(|(trace, it)| (path(trace), it)).collect();
        rows.sort();
        rows
    }

    #[test]
    fn a_filter_keeps_the_rows_of_labels() {
        for (patterns, sum) in [
            (&["request=GET *"][..], 7),
            (&["request=GET /a", "request=POST *"], 11),
            (&["request=GET *", "status=500"], 0),
            (&["status=200"], 7),
            (&["other=*"], 0),
        ] {
            let labels = patterns.iter().map(|text| text.parse().unwrap()).collect();
            let filtered = Filter { labels, ..Filter::default() }.apply(profile());
            assert_eq!(Metric::Samples.total(&filtered), sum, "{patterns:?}");
        }
        for text in ["", "request", "=x", "request="] {
            assert!(text.parse::<LabelPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_label_can_be_the_root_of_stacks() {
        let mut profile = profile();
        assert_eq!(keys(&profile), [("request".to_owned(), 3), ("status".to_owned(), 2)]);
        assert!(root(&mut profile, "request"));
        let expected = [
            ("T.load<T.run<GET /a", 1),
            ("T.load<T.run<GET /b", 4),
            ("T.load<T.run<POST /a", 8),
            ("T.run<GET /a", 2),
            ("T.run<[no request]", 16),
        ];
        assert_eq!(paths(&profile), expected.map(|(path, number)| (path.to_owned(), number)));
        assert!(!root(&mut super::tests::profile(), "nothing"));
    }
}
