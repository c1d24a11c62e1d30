//! The data of a profile's page.

use std::io;

use perk_analysis::calls::{CallColumns, CallTable};
use perk_analysis::label_tree::{LevelNode, LevelTree, Part};
use perk_analysis::{MethodTree, Owners, limits};
use perk_profile::{Accounting, KeyedMap, MethodId, Metric, Profile, TraceId, deep};

use super::VERSION;
use super::data::{
    CountedCalls, FrameColumns, LimitColumns, LimitEntry, NodeColumns, NodeKind, OtherMetric,
    PageData, is_samples,
};
use super::index::index;
use super::label::FrameLabel;
use super::owner::Ownership;
use super::times::TimeColumns;
use crate::file_format::{Lead, LeadRow, View};

impl PageData {
    pub(super) fn new(view: &View<'_>) -> io::Result<Self> {
        let metric = view.metric()?;
        let mut data = Self::of_profile(view.profile, &metric, view.title);
        data.before = view.before.map(|before| before.title.to_owned());
        let is_compared = view.before.is_some();
        let mut shown = vec![(metric, view.tree(FrameLabel::new)?)];
        if view.metric.is_none() && !is_compared {
            let others = Metric::leading_of(view.profile).filter(|metric| *metric != shown[0].0);
            for metric in others.collect::<Vec<_>>() {
                let label = |part| FrameLabel::new(view.profile, part);
                let tree = LevelTree::new(view.profile, &metric, label);
                shown.push((metric, tree));
            }
        }
        let levels = deep::levels(&view.profiles());
        let left_out: Vec<_> = shown.iter_mut().map(|(_, tree)| tree.fold(levels)).collect();
        let mut tables = Tables::default();
        for (place, ((metric, tree), left_out)) in shown.iter().zip(&left_out).enumerate() {
            let mut nodes = tables.nodes(tree, left_out, is_compared);
            if *metric == Metric::WallTime {
                let before = view.before.map(|before| (before.profile, &*tree.ends_before));
                nodes.idle = idle_nodes(before.into_iter().chain([(view.profile, &*tree.ends)]));
            }
            let times =
                || TimeColumns::of(view.profile, metric, &tree.ends, &nodes, &tables.frames);
            let times = if is_compared { None } else { times() };
            if place == 0 {
                (data.nodes, data.times) = (nodes, times);
            } else {
                let (value, unit) = (metric.name().to_owned(), unit(metric));
                data.others.push(OtherMetric { value, unit, nodes, times });
            }
        }
        let ownership = Ownership::new(&view.profiles());
        tables.frames.owner = tables.labels.iter().map(|label| ownership.of(label)).collect();
        data.app = ownership.app;
        data.limits = view.lead.map(|lead| tables.limits(view.profile, lead));
        let has_calls = Metric::Calls.is_in(view.profile) && is_samples(&data.value);
        data.calls = (has_calls && !is_compared).then(|| tables.calls(view.profile));
        (data.strings, data.frames) = (tables.strings, tables.frames);
        Ok(data)
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
            app: Vec::new(),
            limits: None,
            strings: Vec::new(),
            frames: FrameColumns::default(),
            calls: None,
            nodes: NodeColumns::default(),
            times: None,
            others: Vec::new(),
        }
    }
}

/// The tables of a page, while they are filled.
struct Tables<'a> {
    strings: Vec<String>,
    string_ids: KeyedMap<&'a str, u32>,
    frames: FrameColumns,
    frame_ids: KeyedMap<FrameLabel<'a>, u32>,
    /// The labels of the frames.
    labels: Vec<FrameLabel<'a>>,
}

impl Default for Tables<'_> {
    fn default() -> Self {
        Self {
            strings: vec![String::new()],
            string_ids: KeyedMap::from_iter([("", 0)]),
            frames: FrameColumns::default(),
            frame_ids: KeyedMap::default(),
            labels: Vec::new(),
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

    fn frame(&mut self, label: FrameLabel<'a>) -> u32 {
        if let Some(&frame) = self.frame_ids.get(&label) {
            return frame;
        }
        let [class, name, signature] =
            [label.class, label.name, label.signature].map(|text| self.string(text));
        self.frames.kind.push(label.kind);
        self.frames.class.push(class);
        self.frames.name.push(name);
        self.frames.signature.push(signature);
        self.labels.push(label);
        let frame = index(self.frames.kind.len() - 1);
        self.frame_ids.insert(label, frame);
        frame
    }

    /// Returns the frame of a method, if it is on the page.
    fn frame_of(&self, profile: &'a Profile, id: MethodId) -> Option<u32> {
        let label = |native| FrameLabel::new(profile, Part::Method { id, native });
        [false, true].into_iter().find_map(|native| self.frame_ids.get(&label(native)).copied())
    }

    /// Returns the counted calls of the frames' methods.
    fn calls(&self, profile: &'a Profile) -> CountedCalls {
        let tree = MethodTree::new(profile);
        let table = CallTable::of_tree(profile, &tree, &CallColumns::new(profile, &tree, None));
        let count = vec![0; self.labels.len()];
        let mut calls = CountedCalls { count, ..CountedCalls::default() };
        for row in &table.methods {
            if let Some(frame) = self.frame_of(profile, row.method) {
                calls.count[frame as usize] = row.count;
            }
        }
        for edge in &table.edges {
            let frame = |method: Option<MethodId>| self.frame_of(profile, method?);
            let Some((caller, callee)) = frame(edge.caller).zip(frame(edge.callee)) else {
                continue;
            };
            calls.caller.push(caller);
            calls.callee.push(callee);
            calls.pair_count.push(edge.count);
            calls.estimated.push(edge.estimated_count);
        }
        calls
    }

    /// Returns the list of what limits the program, with the frames of its methods.
    fn limits(&self, profile: &'a Profile, lead: &Lead) -> LimitColumns {
        let entry = |row: &LeadRow| LimitEntry {
            share: row.share.clone(),
            reason: row.reason.clone(),
            place: row.place.clone(),
            hint: row.hint.clone(),
            value: row.metric.name().to_owned(),
            frame: row.method.and_then(|id| self.frame_of(profile, id)),
        };
        let [rows, more] = [&lead.rows, &lead.more].map(|rows| rows.iter().map(entry).collect());
        let [summary, more_title] = [&lead.summary, &lead.more_title].map(String::clone);
        LimitColumns { summary, rows, more, more_title, repeats: lead.repeats.clone() }
    }

    /// Returns the nodes of a tree. The last of its labels are `left_out`.
    fn nodes(
        &mut self,
        tree: &LevelTree<FrameLabel<'a>>,
        left_out: &'a [String],
        is_compared: bool,
    ) -> NodeColumns {
        let left_out = left_out.iter().map(|text| FrameLabel::named(NodeKind::LeftOut, text));
        let labels = tree.labels.iter().copied().chain(left_out);
        let frames: Vec<u32> = labels.map(|label| self.frame(label)).collect();
        let mut nodes = NodeColumns::default();
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

/// The places of the nodes in which threads do not work, of profiles with the ends of their traces.
fn idle_nodes<'p>(profiles: impl Iterator<Item = (&'p Profile, &'p [(TraceId, u32)])>) -> Vec<u32> {
    let of_profile = |(profile, ends): (&Profile, &[(TraceId, u32)])| {
        let idle = limits::idle(profile, &MethodTree::new(profile), &Owners::new(profile));
        let rows = Metric::WallTime.rows(profile).rows;
        let ends =
            rows.iter().zip(ends).filter(|((key, _), _)| idle.contains(&(key.trace, key.subject)));
        ends.map(|(_, end)| end.1).collect::<Vec<_>>()
    };
    let mut nodes: Vec<u32> = profiles.flat_map(of_profile).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Returns the unit in a page, except for samples and calls.
fn unit(metric: &Metric) -> Option<String> {
    let has_noun = matches!(metric, Metric::Samples | Metric::Calls);
    (!has_noun).then(|| metric.unit().name().to_owned())
}
