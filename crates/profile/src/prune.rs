//! A profile without the call paths that none of its numbers is on: of a recording in files, each has all paths
//! since the recording began.

use crate::profile::SYSTEM_TRACE;
use crate::{Event, KeyedMap, Profile, TraceId};

impl Profile {
    /// The profile with the traces and call paths that its numbers are on, in the order of the numbers. Traces get
    /// new serial numbers, without gaps. A profile with events that have traces of their own, such as single waits, stays
    /// as it is.
    #[must_use]
    pub fn pruned(mut self) -> Self {
        let has_others = self
            .events
            .iter()
            .any(|event| matches!(event, Event::Wait(_) | Event::FieldAccesses(_)));
        if has_others {
            return self;
        }
        let mut kept = Self::default();
        let mut known: KeyedMap<TraceId, TraceId> = KeyedMap::default();
        let mut events = std::mem::take(&mut self.events);
        let mut keep = |id: TraceId| {
            if id == self.system_trace() {
                return kept.system_trace();
            }
            *known.entry(id).or_insert_with(|| {
                let mut trace = self.get_trace(id);
                let frames: Vec<_> = self.tree.frames(trace.node).collect();
                trace.node = kept.tree.insert(frames.into_iter().rev());
                trace.serial = SYSTEM_TRACE.saturating_add(kept.traces().len() as u32);
                kept.push_trace(trace)
            })
        };
        for event in &mut events {
            match event {
                Event::Section(section) => {
                    let traces: Vec<_> = section.traces().map(&mut keep).collect();
                    for (row, trace) in traces.into_iter().enumerate() {
                        section.set_trace(row, trace);
                    }
                }
                Event::Timeline(timeline) => {
                    timeline.rows.iter_mut().for_each(|row| row.trace = keep(row.trace));
                }
                Event::MonitorDump(dump) => {
                    dump.threads.iter_mut().for_each(|thread| thread.trace = keep(thread.trace));
                }
                _ => {}
            }
        }
        self.events = events;
        self.take_paths(kept);
        self
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
        assert_eq!(rows[1], pruned.system_trace());
        assert_eq!(pruned.get_trace(rows[0]).serial, SYSTEM_TRACE + 1);
        assert_eq!(pruned.trace_by_serial(SYSTEM_TRACE + 1), Some(rows[0]));
        assert_eq!(pruned.frames(rows[0]).collect::<Vec<_>>(), [frames[2], frames[0]]);
    }
}
