//! Flame graphs: one HTML file that shows the samples in any browser, without a network, and that
//! can be read back. `docs/formats/flamegraph.md` describes the embedded data.

mod times;

use std::io::{self, Read, Write};

use perk_analysis::label_tree::{LevelNode, LevelTree, Part};
use perk_profile::{
    Accounting, Event, FrameId, KeyedMap, Line, Metric, NodeId, Profile, ThreadId, Timestamp, deep,
};
use serde::{Deserialize, Serialize};

use self::times::Times;
use crate::Error;
use crate::builder::ProfileBuilder;
use crate::fields_page::{self, FieldsPage};
use crate::file_format::{
    Depth, Detail, Document, Facts, FileFormat, Holds, Metrics, Reading, View,
};
use crate::page::{DATA_END, Page};

/// The scripts: the tree, the drawing, the data, the interaction.
const PAGE: Page = Page {
    html: include_str!("flamegraph.html"),
    style: include_str!("flamegraph.css"),
    scripts: &[
        include_str!("flamegraph_model.js"),
        include_str!("flamegraph_chart.js"),
        include_str!("flamegraph_data.js"),
        include_str!("flamegraph.js"),
    ],
    data_begin: DATA_BEGIN,
};
/// The page of a profile with times.
const TIMED_PAGE: Page = Page {
    style: concat!(include_str!("flamegraph.css"), include_str!("flamegraph_times.css")),
    scripts: &[
        include_str!("flamegraph_model.js"),
        include_str!("flamegraph_chart.js"),
        include_str!("flamegraph_data.js"),
        include_str!("flamegraph.js"),
        include_str!("flamegraph_times.js"),
    ],
    ..PAGE
};
const DATA_BEGIN: &str = "<script type=\"application/json\" id=\"perk-data\">";
const VERSION: u32 = 1;

pub(crate) struct FlameGraph;

impl FileFormat for FlameGraph {
    fn facts(&self) -> &'static Facts {
        &Facts {
            name: "html",
            title: "flame graph",
            about: "Flame graph, one HTML file that needs no network",
            endings: &["html"],
            page: "flamegraph.md",
            keeps: "metrics by call path, without lines",
            reading: Reading::ToEnd,
            written: Some(Holds {
                metrics: Metrics::Leading,
                detail: Detail::Paths,
                documents: &[Document::Times],
                accounting: true,
                depth: Depth::Folded,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        let text = head.trim_ascii_start();
        text.get(..14).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype html"))
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        read(&bytes)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view, out)
    }

    fn instead(&self, view: &View<'_>) -> Option<&'static dyn FileFormat> {
        fields_page::is_for(view).then_some(&FieldsPage)
    }
}

/// Writes the shown part of a profile as a page: the chosen metric, or all leading ones, which the
/// reader of the page switches between. Frames are merged by method, and stand below their threads if
/// the traces have threads. For objects and locks, the last frame is the class. For two
/// profiles, frames are as wide as their numbers after, and are coloured by the change of their
/// share.
///
/// # Errors
/// As `out` fails; of kind `InvalidInput` if the profile does not have the metric.
pub fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let data = Data::new(view)?;
    let page = if data.has_times() { &TIMED_PAGE } else { &PAGE };
    page.write(&view.heading(), &data, out)
}

/// Reads the samples of a page which [`write()`] wrote. Pages without samples are refused, because
/// one number alone does not make calls or allocations; other values beside samples are a note.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let expected = "the data of a flame graph page of perk";
    let begin = find(bytes, DATA_BEGIN).ok_or(Error::Offset { offset: 0, expected })?;
    let begin = begin + DATA_BEGIN.len();
    let expected = "the end of the page's data";
    let length =
        find(&bytes[begin..], DATA_END).ok_or(Error::Offset { offset: bytes.len(), expected })?;
    let json = &bytes[begin..begin + length];
    let data: Data = serde_json::from_slice(json).map_err(|error| {
        let offset = begin + offset(json, error.line(), error.column());
        Error::Offset {
            offset,
            expected: "a flame graph's data (JSON, docs/formats/flamegraph.md)",
        }
    })?;
    if data.version != VERSION {
        return Err(Error::Offset { offset: begin, expected: "data of version 1" });
    }
    if data.before.is_some() {
        let expected = "a page of one profile, not a comparison";
        return Err(Error::Offset { offset: begin, expected });
    }
    if !is_samples(&data.value) {
        let expected = "samples: a page of another metric holds too little to be read back";
        return Err(Error::Offset { offset: begin, expected });
    }
    data.into_profile()
}

/// The data of the page, from which its scripts draw.
#[derive(Debug, Serialize, Deserialize)]
struct Data {
    version: u32,
    /// The name of the shown values. Pages of samples omit it, as the first versions did.
    #[serde(default = "samples", skip_serializing_if = "is_samples")]
    value: String,
    /// The unit of the numbers, except for samples and calls: `count`, `nanoseconds`, `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    title: String,
    /// The name of the profile before, if two are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// Milliseconds since 1970, and the seconds by which local time was ahead of UTC.
    created: Option<(u64, i32)>,
    depth: Option<u32>,
    /// The text of [`Accounting::to_text`].
    accounting: Option<String>,
    notes: Vec<String>,
    /// The strings. The first is empty.
    strings: Vec<String>,
    frames: Frames,
    nodes: Nodes,
    /// When the numbers were taken, if the profile tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<Times>,
    /// The other values that the page can show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Other>,
}

/// Another value of a page. Its frames are among those of the page.
#[derive(Debug, Serialize, Deserialize)]
struct Other {
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    nodes: Nodes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<Times>,
}

/// The distinct frames, one column per property. Names are indexes of strings.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Frames {
    kind: Vec<Kind>,
    class: Vec<u32>,
    name: Vec<u32>,
    signature: Vec<u32>,
}

/// The nodes of the tree in preorder.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Nodes {
    /// The level (from 1), minus the level of the previous node.
    level: Vec<i64>,
    frame: Vec<u32>,
    #[serde(rename = "self")]
    self_count: Vec<u64>,
    /// The same numbers in the profile before, if two profiles are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<u64>,
}

fn samples() -> String {
    "samples".to_owned()
}

fn is_samples(value: &str) -> bool {
    value == "samples"
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub(crate) enum Kind {
    Java,
    Native,
    Thread,
    NoStack,
    BelowCutoff,
    Objects,
    LeftOut,
}

impl From<Kind> for u8 {
    fn from(kind: Kind) -> Self {
        kind as u8
    }
}

impl TryFrom<u8> for Kind {
    type Error = &'static str;

    fn try_from(code: u8) -> Result<Self, Self::Error> {
        const ALL: [Kind; 7] = [
            Kind::Java,
            Kind::Native,
            Kind::Thread,
            Kind::NoStack,
            Kind::BelowCutoff,
            Kind::Objects,
            Kind::LeftOut,
        ];
        ALL.into_iter().find(|&kind| kind as u8 == code).ok_or("a kind of frame, 0 to 6")
    }
}

/// The properties by which the page distinguishes frames. Siblings stand in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Label<'a> {
    pub(crate) class: &'a str,
    pub(crate) name: &'a str,
    pub(crate) signature: &'a str,
    pub(crate) kind: Kind,
}

impl<'a> Label<'a> {
    /// Returns the label of a node that is not a method.
    pub(crate) fn named(kind: Kind, name: &'a str) -> Self {
        Self { class: "", name, signature: "", kind }
    }

    pub(crate) fn new(profile: &'a Profile, part: Part) -> Self {
        let strings = &profile.symbols.strings;
        match part {
            Part::Thread(name) => Self::named(Kind::Thread, strings.get(name)),
            Part::Subject(name) => Self::named(Kind::Objects, strings.get(name)),
            Part::State(state) => Self::named(Kind::Objects, state.label()),
            Part::NoStack => Self::named(Kind::NoStack, "[no stack]"),
            Part::BelowCutoff => Self::named(Kind::BelowCutoff, "[below cutoff]"),
            Part::Method { id, native } => {
                let method = profile.symbols.get_method(id);
                Label {
                    class: profile.symbols.class_name(method.class),
                    name: strings.get(method.name),
                    signature: method.signature.map_or("", |signature| strings.get(signature)),
                    kind: if native { Kind::Native } else { Kind::Java },
                }
            }
        }
    }
}

/// The tables of a page, while they are filled.
struct Tables<'a> {
    strings: Vec<String>,
    string_ids: KeyedMap<&'a str, u32>,
    frames: Frames,
    frame_ids: KeyedMap<Label<'a>, u32>,
}

impl Default for Tables<'_> {
    fn default() -> Self {
        Self {
            strings: vec![String::new()],
            string_ids: KeyedMap::from_iter([("", 0)]),
            frames: Frames::default(),
            frame_ids: KeyedMap::default(),
        }
    }
}

impl<'a> Tables<'a> {
    fn string(&mut self, text: &'a str) -> u32 {
        *self.string_ids.entry(text).or_insert_with(|| {
            self.strings.push(text.to_owned());
            index(self.strings.len() - 1)
        })
    }

    fn frame(&mut self, label: Label<'a>) -> u32 {
        if let Some(&frame) = self.frame_ids.get(&label) {
            return frame;
        }
        let [class, name, signature] =
            [label.class, label.name, label.signature].map(|text| self.string(text));
        self.frames.kind.push(label.kind);
        self.frames.class.push(class);
        self.frames.name.push(name);
        self.frames.signature.push(signature);
        let frame = index(self.frames.kind.len() - 1);
        self.frame_ids.insert(label, frame);
        frame
    }

    /// Returns the nodes of a tree. The last of its labels are `left_out`.
    fn nodes(
        &mut self,
        tree: &LevelTree<Label<'a>>,
        left_out: &'a [String],
        is_compared: bool,
    ) -> Nodes {
        let left_out = left_out.iter().map(|text| Label::named(Kind::LeftOut, text));
        let labels = tree.labels.iter().copied().chain(left_out);
        let frames: Vec<u32> = labels.map(|label| self.frame(label)).collect();
        let mut nodes = Nodes::default();
        let mut above = 0;
        for &LevelNode { level, label, before, after } in &tree.nodes {
            let level = i64::from(level) + 1;
            nodes.level.push(level - above);
            nodes.frame.push(frames[label as usize]);
            nodes.self_count.push(after);
            if is_compared {
                nodes.before.push(before);
            }
            above = level;
        }
        nodes
    }
}

impl Data {
    fn new(view: &View<'_>) -> io::Result<Self> {
        let metric = view.metric()?;
        let mut data = Self::of_profile(view.profile, &metric, view.title);
        data.before = view.before.map(|before| before.title.to_owned());
        let is_compared = view.before.is_some();
        let mut shown = vec![(metric, view.tree(Label::new)?)];
        if view.metric.is_none() && !is_compared {
            let others = Metric::leading_of(view.profile).filter(|metric| *metric != shown[0].0);
            for metric in others.collect::<Vec<_>>() {
                let label = |part| Label::new(view.profile, part);
                let tree = LevelTree::new(view.profile, &metric, label);
                shown.push((metric, tree));
            }
        }
        let levels = deep::levels(&view.profiles());
        let left_out: Vec<_> = shown.iter_mut().map(|(_, tree)| tree.fold(levels)).collect();
        let mut tables = Tables::default();
        for (place, ((metric, tree), left_out)) in shown.iter().zip(&left_out).enumerate() {
            let nodes = tables.nodes(tree, left_out, is_compared);
            let times = || Times::of(view.profile, metric, &tree.ends, &nodes, &tables.frames);
            let times = if is_compared { None } else { times() };
            if place == 0 {
                (data.nodes, data.times) = (nodes, times);
            } else {
                let (value, unit) = (metric.name().to_owned(), unit(metric));
                data.others.push(Other { value, unit, nodes, times });
            }
        }
        (data.strings, data.frames) = (tables.strings, tables.frames);
        Ok(data)
    }

    /// Whether the times of a value are known.
    fn has_times(&self) -> bool {
        self.times.is_some() || self.others.iter().any(|other| other.times.is_some())
    }

    /// Returns the tables without the tree.
    fn of_profile(profile: &Profile, metric: &Metric, title: &str) -> Self {
        Self {
            version: VERSION,
            value: metric.name().to_owned(),
            unit: unit(metric),
            title: title.to_owned(),
            before: None,
            created: profile.created.map(|stamp| (stamp.unix_ms, stamp.utc_offset_s)),
            depth: profile.depth,
            accounting: profile.accounting.as_ref().map(Accounting::to_text),
            notes: profile.notes.clone(),
            strings: Vec::new(),
            frames: Frames::default(),
            nodes: Nodes::default(),
            times: None,
            others: Vec::new(),
        }
    }

    fn into_profile(self) -> Result<Profile, Error> {
        let mut builder = ProfileBuilder::default();
        let steps = self.steps(&mut builder)?;
        let nodes = self.nodes;
        same_length("nodes.frame", nodes.frame.len(), nodes.level.len())?;
        same_length("nodes.self", nodes.self_count.len(), nodes.level.len())?;

        let mut level = 0_i64;
        // The path to the node: its thread, if it has one, and the nodes of the call tree down to
        // it.
        let mut thread: Option<ThreadId> = None;
        let mut path: Vec<NodeId> = Vec::new();
        // The thread and the node of the call tree of each node with a number.
        let mut ends: Vec<Option<(Option<ThreadId>, NodeId)>> = vec![None; nodes.level.len()];
        for (index, &delta) in nodes.level.iter().enumerate() {
            let error = |table, expected| Error::Entry { table, index, expected };
            level = level.saturating_add(delta);
            let above = usize::try_from(level.saturating_sub(1))
                .ok()
                .filter(|&above| above <= path.len() + usize::from(thread.is_some()))
                .ok_or(error("nodes.level", "a level from 1 to one below the node before"))?;
            if above == 0 {
                thread = None;
            }
            path.truncate(above - usize::from(thread.is_some()));
            let step = steps
                .get(nodes.frame[index] as usize)
                .ok_or(error("nodes.frame", "an index of frames"))?;
            match *step {
                Step::Thread(id) if above == 0 => thread = Some(id),
                Step::Thread(_) => return Err(error("nodes.frame", "threads on level 1 only")),
                Step::Frame(frame) => {
                    let tree = &mut builder.profile.tree;
                    let parent = path.last().copied().unwrap_or(tree.root());
                    path.push(tree.insert_below(parent, [frame]));
                }
                Step::NoStack | Step::BelowCutoff => {}
            }
            match (step, nodes.self_count[index]) {
                (_, 0) => {}
                (Step::BelowCutoff, count) => builder.add_unlisted(count),
                (_, count) => {
                    let node = path.last().copied().unwrap_or(builder.profile.tree.root());
                    builder.add(thread, node, count);
                    ends[index] = Some((thread, node));
                }
            }
        }
        let timeline = match &self.times {
            Some(times) => Some(times.timeline(&mut builder, &ends)?),
            None => None,
        };
        let mut profile = builder.finish();
        profile.events.extend(timeline.map(Event::Timeline));
        let stamp = |(unix_ms, utc_offset_s)| Timestamp { unix_ms, utc_offset_s };
        profile.created = self.created.map(stamp);
        profile.depth = self.depth;
        profile.accounting = self.accounting.as_deref().map(Accounting::from_text);
        profile.notes = self.notes;
        if !self.others.is_empty() {
            let names: Vec<_> = self.others.iter().map(|other| other.value.as_str()).collect();
            let names = names.join(", ");
            profile.notes.push(format!("values of the page that are not read back: {names}"));
        }
        Ok(profile)
    }

    /// Returns the meaning of each entry of `frames` in the profile that `builder` makes. Those that only
    /// other values have mean nothing.
    fn steps(&self, builder: &mut ProfileBuilder) -> Result<Vec<Step>, Error> {
        let Frames { kind, class, name, signature } = &self.frames;
        same_length("frames.class", class.len(), kind.len())?;
        same_length("frames.name", name.len(), kind.len())?;
        same_length("frames.signature", signature.len(), kind.len())?;
        let string = |table, index: usize, column: &[u32]| {
            let expected = "an index of strings";
            let string = self.strings.get(column[index] as usize).map(String::as_str);
            string.ok_or(Error::Entry { table, index, expected })
        };
        let mut is_used = vec![false; kind.len()];
        for &frame in &self.nodes.frame {
            if let Some(is_used) = is_used.get_mut(frame as usize) {
                *is_used = true;
            }
        }
        let mut steps = Vec::with_capacity(kind.len());
        for (index, &kind) in kind.iter().enumerate() {
            if !is_used[index] {
                steps.push(Step::NoStack);
                continue;
            }
            let class = string("frames.class", index, class)?;
            let name = string("frames.name", index, name)?;
            let signature = string("frames.signature", index, signature)?;
            steps.push(match kind {
                Kind::Java | Kind::LeftOut => {
                    Step::Frame(builder.frame(class, name, signature, Line::Unknown))
                }
                Kind::Native => Step::Frame(builder.frame(class, name, signature, Line::Native)),
                Kind::Thread => Step::Thread(builder.thread(name)),
                Kind::NoStack => Step::NoStack,
                Kind::BelowCutoff => Step::BelowCutoff,
                Kind::Objects => {
                    let expected = "a kind of frame that samples have: not 5";
                    return Err(Error::Entry { table: "frames.kind", index, expected });
                }
            });
        }
        Ok(steps)
    }
}

/// The step that a node adds to the path above it when it is read back.
#[derive(Clone, Copy, Debug)]
enum Step {
    Thread(ThreadId),
    Frame(FrameId),
    NoStack,
    BelowCutoff,
}

/// Returns the unit in a page, except for samples and calls.
fn unit(metric: &Metric) -> Option<String> {
    let has_noun = matches!(metric, Metric::Samples | Metric::Calls);
    (!has_noun).then(|| metric.unit().name().to_owned())
}

fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a profile's tables hold less than 2^32 entries")
}

fn same_length(table: &'static str, length: usize, expected: usize) -> Result<(), Error> {
    if length == expected {
        return Ok(());
    }
    let expected = "as many entries as in the table's other columns";
    Err(Error::Entry { table, index: length, expected })
}

fn find(bytes: &[u8], text: &str) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text.as_bytes())
}

/// Returns the offset of a line and a column, both from 1, as serde_json gives them.
fn offset(json: &[u8], line: usize, column: usize) -> usize {
    let before = json.split_inclusive(|&byte| byte == b'\n').take(line.saturating_sub(1));
    (before.map(<[u8]>::len).sum::<usize>() + column.saturating_sub(1)).min(json.len())
}

#[cfg(test)]
mod tests {
    use perk_profile::{Allocations, Site, Sites};
    use proptest::prelude::*;

    use super::*;
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
        let objects =
            Allocations { allocated_bytes: 72, allocated_count: 3, ..Allocations::default() };
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
                "nodes.self[0]: expected as many entries as in the table's other columns"
                    .to_owned(),
            ),
        ] {
            check(&with(nodes), &message);
        }
    }

    #[test]
    fn cut_anywhere_it_says_so() {
        let profile = collapsed::read(SAMPLE.as_bytes()).unwrap();
        let data = Data::new(&View::new(&profile, "")).unwrap();
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
}
