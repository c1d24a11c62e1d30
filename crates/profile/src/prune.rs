//! A profile without the names and call paths that none of its numbers is on: of a recording in files, each has all
//! paths since the recording began.

use crate::profile::SYSTEM_TRACE;
use crate::{
    ClassId, Event, Frame, FrameId, Key, Label, LabelSetId, LabelValue, Method, MethodId, NodeId,
    Profile, Section, StrId, Subject, Thread, Trace, TraceId,
};

impl Profile {
    /// The profile with the traces, call paths and names that its numbers are on, in an order that does not depend on
    /// when each was met: names by text, frames by method and line, and each path next to those that it shares its
    /// beginning with. So similar profiles have similar files, and each file compresses well. Traces get new serial
    /// numbers, without gaps. A profile with events that have traces of their own, such as single waits, stays as it is.
    #[must_use]
    pub fn pruned(self) -> Self {
        let has_others = self
            .events
            .iter()
            .any(|event| matches!(event, Event::Wait(_) | Event::FieldAccesses(_)));
        if has_others { self } else { Pruner::new(&self).take_events(self) }
    }
}

/// The profile that is made, and the ids that the parts of the other one have in it.
struct Pruner {
    profile: Profile,
    strings: UsedEntries,
    classes: UsedEntries,
    traces: UsedEntries,
    label_sets: Vec<LabelSetId>,
}

/// Which entries of a table are used, and then their positions in the new table.
struct UsedEntries {
    places: Vec<Option<u32>>,
}

impl UsedEntries {
    fn new(length: usize) -> Self {
        Self { places: vec![None; length] }
    }

    /// Notes that an entry is used. Returns whether it was not before.
    fn add(&mut self, index: usize) -> bool {
        self.places[index].replace(0).is_none()
    }

    /// Notes that names are used.
    fn add_all<const N: usize>(&mut self, names: [Option<StrId>; N]) {
        for name in names.into_iter().flatten() {
            self.add(name.index());
        }
    }

    /// Puts the used entries in an order. Returns them in it.
    fn order<K: Ord>(&mut self, key: impl Fn(usize) -> K) -> Vec<usize> {
        let mut used: Vec<_> = (0..self.places.len()).filter(|&at| self.has(at)).collect();
        used.sort_by_cached_key(|&at| (key(at), at));
        for (place, &at) in used.iter().enumerate() {
            self.places[at] = Some(place as u32);
        }
        used
    }

    fn has(&self, index: usize) -> bool {
        self.places[index].is_some()
    }

    /// The position of a used entry; that of the first entry if it is not used.
    fn get(&self, index: usize) -> usize {
        self.places[index].unwrap_or(0) as usize
    }
}

impl Pruner {
    fn new(from: &Profile) -> Self {
        let symbols = &from.symbols;
        let mut traces = UsedEntries::new(from.traces().len());
        let mut classes = UsedEntries::new(symbols.classes().len());
        let mut strings = UsedEntries::new(symbols.strings.len());
        for event in &from.events {
            note_event(event, &mut traces, &mut classes, &mut strings);
        }
        traces.add(from.system_trace().index());
        let mut nodes = UsedEntries::new(from.tree.len());
        for trace in (0..from.traces().len()).filter(|&trace| traces.has(trace)) {
            let mut at = Some(from.get_trace(TraceId::new(trace)).node);
            while let Some(node) = at.filter(|node| nodes.add(node.index())) {
                at = from.tree.parent(node);
            }
        }
        let mut frames = UsedEntries::new(symbols.frame_count());
        let mut methods = UsedEntries::new(symbols.method_count());
        let used_nodes = (0..from.tree.len()).filter(|&node| nodes.has(node)).map(NodeId::new);
        for frame in used_nodes.filter_map(|node| from.tree.frame(node)) {
            if frames.add(frame.index()) {
                methods.add(symbols.get_frame(frame).method.index());
            }
        }
        for index in (0..symbols.method_count()).filter(|&index| methods.has(index)) {
            let Method { class, name, signature, source } =
                symbols.get_method(MethodId::new(index));
            classes.add(class.index());
            strings.add_all([Some(name), signature, source]);
        }
        for (class, it) in symbols.classes() {
            if classes.has(class.index()) {
                strings.add(it.name.index());
            }
        }
        for Thread { name, group, parent_group, .. } in &from.threads {
            strings.add_all([Some(*name), *group, *parent_group]);
        }
        for label in label_sets(from).flatten() {
            let text = match label.value {
                LabelValue::Text(text) => Some(text),
                LabelValue::Number(_, unit) => unit,
            };
            strings.add_all([Some(label.key), text]);
        }
        let mut this =
            Self { profile: Profile::default(), strings, classes, traces, label_sets: Vec::new() };
        this.take_symbols(from, methods, &mut frames);
        this.take_paths(from, &nodes, &frames);
        this
    }

    fn string(&self, id: StrId) -> StrId {
        StrId::new(self.strings.get(id.index()))
    }

    fn class(&self, id: ClassId) -> ClassId {
        ClassId::new(self.classes.get(id.index()))
    }

    fn trace(&self, id: TraceId) -> TraceId {
        TraceId::new(self.traces.get(id.index()))
    }

    fn take_symbols(&mut self, from: &Profile, mut methods: UsedEntries, frames: &mut UsedEntries) {
        let symbols = &from.symbols;
        let text = |at| symbols.strings.get(StrId::new(at));
        // The empty text is the first of each table.
        self.strings.add(0);
        for at in self.strings.order(text) {
            self.profile.symbols.strings.intern(text(at));
        }
        let name_of = |class| symbols.class_name(ClassId::new(class));
        for at in self.classes.order(name_of) {
            self.profile.symbols.jvm_class(name_of(at));
        }
        let order = methods.order(|at| {
            let Method { class, name, signature, source } = symbols.get_method(MethodId::new(at));
            let signature = signature.map(|it| self.strings.get(it.index()));
            let source = source.map(|it| self.strings.get(it.index()));
            (self.classes.get(class.index()), self.strings.get(name.index()), signature, source)
        });
        for at in order {
            let Method { class, name, signature, source } = symbols.get_method(MethodId::new(at));
            let method = Method {
                class: self.class(class),
                name: self.string(name),
                signature: signature.map(|it| self.string(it)),
                source: source.map(|it| self.string(it)),
            };
            self.profile.symbols.method(method);
        }
        let order = frames.order(|at| {
            let Frame { method, bci, line, kind } = symbols.get_frame(FrameId::new(at));
            (methods.get(method.index()), line, kind, bci)
        });
        for at in order {
            let frame = symbols.get_frame(FrameId::new(at));
            let method = MethodId::new(methods.get(frame.method.index()));
            self.profile.symbols.frame(Frame { method, ..frame });
        }
    }

    fn take_paths(&mut self, from: &Profile, nodes: &UsedEntries, frames: &UsedEntries) {
        let mut children: Vec<_> = (1..from.tree.len())
            .filter(|&node| nodes.has(node))
            .filter_map(|node| {
                let node = NodeId::new(node);
                let frame = frames.get(from.tree.frame(node)?.index());
                Some((from.tree.parent(node)?.index(), frame, node))
            })
            .collect();
        children.sort_unstable();
        let root = from.tree.root();
        let mut new_nodes = vec![root; from.tree.len()];
        // Of the same children the first is taken first.
        let below = |parent: NodeId| {
            let begin = children.partition_point(|it| it.0 < parent.index());
            children[begin..].iter().take_while(move |it| it.0 == parent.index())
        };
        let mut waiting: Vec<_> = below(root).collect();
        waiting.reverse();
        while let Some(&(parent, frame, node)) = waiting.pop() {
            let tree = &mut self.profile.tree;
            new_nodes[node.index()] = tree.insert_below(new_nodes[parent], [FrameId::new(frame)]);
            let begin = waiting.len();
            waiting.extend(below(node));
            waiting[begin..].reverse();
        }
        let of_trace = |at| {
            let Trace { node, thread, .. } = from.get_trace(TraceId::new(at));
            (at != from.system_trace().index(), new_nodes[node.index()], thread)
        };
        for (place, at) in self.traces.order(of_trace).into_iter().enumerate().skip(1) {
            let (_, node, thread) = of_trace(at);
            let serial = SYSTEM_TRACE.saturating_add(place as u32);
            self.profile.push_trace(Trace { serial, node, thread });
        }
        let threads = from.threads.iter().map(|thread| Thread {
            name: self.string(thread.name),
            group: thread.group.map(|it| self.string(it)),
            parent_group: thread.parent_group.map(|it| self.string(it)),
            ..*thread
        });
        self.profile.threads = threads.collect();
        self.label_sets = self.profile.take_labels(from);
    }

    /// The profile with the events, and all else that has no ids.
    fn take_events(mut self, from: Profile) -> Profile {
        let Profile { events, created, depth, settings, accounting, app, notes, .. } = from;
        let events = events.into_iter().map(|event| self.event(event)).collect();
        let pruned = &mut self.profile;
        (pruned.events, pruned.created, pruned.depth) = (events, created, depth);
        (pruned.settings, pruned.accounting) = (settings, accounting);
        (pruned.app, pruned.notes) = (app, notes);
        self.profile
    }

    fn event(&self, mut event: Event) -> Event {
        match &mut event {
            Event::Section(section) => *section = self.section(section),
            Event::Timeline(timeline) => {
                timeline.rows.iter_mut().for_each(|row| row.trace = self.trace(row.trace));
                timeline.rows.sort_unstable();
            }
            Event::MonitorDump(dump) => {
                dump.threads.iter_mut().for_each(|it| it.trace = self.trace(it.trace));
                dump.monitors.iter_mut().for_each(|it| it.class = self.class(it.class));
            }
            Event::Heap(heap) => {
                heap.rows.iter_mut().for_each(|it| it.class = self.class(it.class))
            }
            Event::ClassUnload(class) => *class = self.class(*class),
            Event::ThreadStart(_)
            | Event::ThreadEnd(_)
            | Event::HeapSummary(_)
            | Event::Wait(_)
            | Event::FieldAccesses(_)
            | Event::Pauses(_)
            | Event::TimeSeries(_) => {}
        }
        event
    }

    /// A section, in order of its traces.
    fn section(&self, section: &Section) -> Section {
        let subject = |subject: Subject| {
            subject.renamed(|class| self.class(class), |field| self.string(field))
        };
        let rows = section.rows().map(|(key, numbers)| {
            let (trace, labels) = (self.trace(key.trace), self.label_sets[key.labels.index()]);
            (Key { trace, subject: subject(key.subject), labels }, numbers)
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|row| row.0);
        let mut sorted = Section::new(section.head.clone());
        rows.into_iter().for_each(|(key, numbers)| sorted.push(key, numbers));
        sorted
    }
}

/// All sets of labels, by id.
fn label_sets(profile: &Profile) -> impl Iterator<Item = &[Label]> {
    (0..profile.labels.len()).map(|set| profile.labels.get(LabelSetId::new(set)))
}

/// Notes what an event names.
fn note_event(
    event: &Event,
    traces: &mut UsedEntries,
    classes: &mut UsedEntries,
    strings: &mut UsedEntries,
) {
    match event {
        Event::Section(section) => {
            for (key, _) in section.rows() {
                traces.add(key.trace.index());
                key.subject.class().map(|class| classes.add(class.index()));
                if let Subject::Field(_, field) = key.subject {
                    strings.add(field.index());
                }
            }
        }
        Event::Timeline(timeline) => timeline.rows.iter().for_each(|row| {
            traces.add(row.trace.index());
        }),
        Event::MonitorDump(dump) => {
            dump.threads.iter().for_each(|thread| {
                traces.add(thread.trace.index());
            });
            dump.monitors.iter().for_each(|monitor| {
                classes.add(monitor.class.index());
            });
        }
        Event::Heap(heap) => heap.rows.iter().for_each(|row| {
            classes.add(row.class.index());
        }),
        Event::ClassUnload(class) => {
            classes.add(class.index());
        }
        Event::ThreadStart(_)
        | Event::ThreadEnd(_)
        | Event::HeapSummary(_)
        | Event::Wait(_)
        | Event::FieldAccesses(_)
        | Event::Pauses(_)
        | Event::TimeSeries(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Line, Method, Metric, Section};

    #[test]
    fn what_has_numbers_stays() {
        let mut profile = Profile::default();
        let frames: Vec<_> = ["a", "b", "c"]
            .map(|name| {
                let symbols = &mut profile.symbols;
                let (class, name) = (symbols.class("A"), symbols.strings.intern(name));
                let method = Method { class, name, signature: None, source: None };
                let method = symbols.method(method);
                symbols.frame(Frame::new(method, Line::Unknown))
            })
            .to_vec();
        let outer = profile.tree.insert([frames[0], frames[1]]);
        let unused = profile.trace(outer, None);
        let node = profile.tree.insert([frames[0], frames[2]]);
        let used = profile.trace(node, None);
        let system = profile.system_trace();
        profile.events.push(Section::of(Metric::Samples, 3, [(used, 2), (system, 1)]).into());
        assert_ne!(unused, used);

        let pruned = profile.pruned();
        assert_eq!((pruned.tree.len(), pruned.traces().len()), (3, 2));
        let rows: Vec<_> = pruned.sections().next().unwrap().rows().map(|it| it.0.trace).collect();
        assert_eq!(rows[0], pruned.system_trace());
        assert_eq!(pruned.get_trace(rows[1]).serial, SYSTEM_TRACE + 1);
        assert_eq!(pruned.trace_by_serial(SYSTEM_TRACE + 1), Some(rows[1]));
        let name = |frame| pruned.symbols.method_name(pruned.symbols.get_frame(frame).method);
        assert_eq!(pruned.frames(rows[1]).map(name).collect::<Vec<_>>(), ["A.c", "A.a"]);
        assert_eq!((pruned.symbols.method_count(), pruned.symbols.strings.lookup("b")), (2, None));
    }

    #[test]
    fn the_order_does_not_depend_on_what_came_first() {
        let profile = |order: [usize; 4]| {
            let stacks = ["T.x<T.main", "U.y<T.x<T.main", "T.a<T.main", "A.b<U.run"];
            crate::fixture::samples(&order.map(|at| (stacks[at], at as u64 + 1))).pruned()
        };
        let (one, other) = (profile([0, 1, 2, 3]), profile([3, 1, 0, 2]));
        assert_eq!(one.events, other.events);
        let edges = |it: &Profile| it.tree.edges().collect::<Vec<_>>();
        assert_eq!(edges(&one), edges(&other));
        let text = |it: &Profile| {
            let symbols = &it.symbols;
            let methods = (0..symbols.method_count()).map(MethodId::new);
            methods.map(|id| symbols.method_name(id)).collect::<Vec<_>>()
        };
        assert_eq!(text(&one), ["A.b", "T.a", "T.main", "T.x", "U.run", "U.y"]);
        assert_eq!(text(&one), text(&other));
    }
}
