//! Objects that are counted by the instruction that makes them, with callers from samples.

use crate::{Event, Metric, Profile};

impl Profile {
    /// The number of samples from which the callers of counted objects are estimated; `None` if the callers are
    /// counted, too, or the objects are estimated.
    pub fn caller_sample_count(&self) -> Option<u64> {
        let is_estimate = self.site_section()?.head.columns.iter().any(|it| it.period.is_some());
        let accounting =
            self.accounting.as_ref().filter(|it| !is_estimate && it.probe_object_count > 0)?;
        Some(accounting.allocation_sample_count).filter(|count| *count > 0)
    }

    /// Leaves out the callers of objects: each path of a site ends at its innermost frame, whose objects are counted.
    pub fn drop_callers_of_objects(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        for event in &mut events {
            let Event::Section(section) = event else { continue };
            if !section.head.has(&Metric::OF_OBJECTS) {
                continue;
            }
            let traces: Vec<_> = section.traces().collect();
            for (row, trace) in traces.into_iter().enumerate() {
                let trace = self.get_trace(trace);
                if let Some(frame) = self.tree.frame(trace.node) {
                    let node = self.tree.insert([frame]);
                    section.set_trace(row, self.trace(node, trace.thread));
                }
            }
        }
        self.events = events;
    }
}

#[cfg(test)]
mod tests {
    use crate::{Accounting, Allocations, Event, Frame, Line, Method, Profile, Site, Sites};

    #[test]
    fn callers_are_known_to_be_estimates_and_can_be_left_out() {
        let mut profile = Profile::default();
        let class = profile.symbols.class("app.A");
        let mut frame = |name: &str| {
            let name = profile.symbols.strings.intern(name);
            let method = Method { class, name, signature: None, source: None };
            let method = profile.symbols.method(method);
            profile.symbols.frame(Frame::new(method, Line::Number(3)))
        };
        let [main, make] = ["main", "make"].map(&mut frame);
        let node = profile.tree.insert([main, make]);
        let trace = profile.trace(node, None);
        let objects = Allocations { allocated_bytes: 64, allocated_count: 4, ..Default::default() };
        let rows = vec![Site { class, trace, objects }];
        profile.events.push(Event::from(Sites { total: objects, rows, ..Sites::default() }));
        assert_eq!(profile.caller_sample_count(), None);
        let accounting =
            Accounting { allocation_sample_count: 7, probe_object_count: 4, ..Default::default() };
        profile.accounting = Some(accounting);
        assert_eq!(profile.caller_sample_count(), Some(7));
        profile.drop_callers_of_objects();
        let sites = profile.sites().unwrap();
        assert_eq!(sites.rows[0].objects, objects);
        assert_eq!(profile.frames(sites.rows[0].trace).collect::<Vec<_>>(), [make]);
    }
}
