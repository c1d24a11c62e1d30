//! JamaicaVM's profile, which `perk-jamaica` reads and writes.

use std::io::{self, Read, Write};

use perk_jamaica::metric;
use perk_profile::{Metric, Profile};

use crate::Error;
use crate::file_format::{
    Depth, Detail, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
};

/// JamaicaVM's profile.
pub static JAMAICA: &dyn FileFormat = &Jamaica;

pub(crate) struct Jamaica;

impl FileFormat for Jamaica {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "jamaica",
            title: "JamaicaVM profile",
            about: "JamaicaVM's profile",
            endings: &["jamaica", "prof"],
            page: "jamaica.md",
            keeps: "bytecodes, calls and allocations by method and class, without paths",
            reading: Reading::ToCut,
            written: Some(FormatContent {
                metrics: Metrics::Table,
                detail: Detail::Methods,
                documents: &[],
                accounting: false,
                depth: Depth::Whole,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        perk_jamaica::recognise(head)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        Ok(perk_jamaica::read(input)?)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        perk_jamaica::write(view.profile, out)
    }

    fn holds(&self, metric: &Metric) -> bool {
        let of_jvm = matches!(
            metric,
            Metric::Calls
                | Metric::AllocatedBytes
                | Metric::AllocatedObjects
                | Metric::LiveBytes
                | Metric::LiveObjects
        );
        of_jvm || metric.is_other() && metric::is_own(metric.name())
    }

    fn written_total(&self, profile: &Profile, metric: &Metric) -> u64 {
        perk_jamaica::written_total(profile, metric)
    }

    fn holds_callers(&self, metric: &Metric) -> bool {
        *metric == Metric::Calls
    }

    fn holds_lines(&self, metric: &Metric) -> bool {
        metric.is_other() && metric::is_by_line(metric.name())
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{CallRow, CallTimes};

    use super::*;
    use crate::by_name;

    #[test]
    fn callers_of_callers_are_lost() {
        let text = "PROFILE_INVOKE: 2 @ 3 A.f()V -> A.g()V\n";
        let mut profile = perk_jamaica::read(text.as_bytes()).unwrap();
        let jamaica = by_name("jamaica").unwrap();
        assert_eq!(jamaica.losses(&View::new(&profile, "")), [""; 0]);
        let called = Metric::Calls.rows(&profile).rows[0].0.trace;
        let frame = profile.frames(called).next().unwrap();
        let node = profile.tree.insert_below(profile.get_trace(called).node, [frame]);
        let trace = profile.trace(node, None);
        let calls = CallRow { trace, count: 1, self_ns: 0, total_ns: 0 };
        profile.events.push(CallTimes { rows: vec![calls], ..CallTimes::default() }.into());
        assert_eq!(jamaica.losses(&View::new(&profile, "")), ["call paths"]);
    }

    #[test]
    fn source_lines_are_lost_where_they_are_not_of_bytecodes() {
        let text = "PROFILE_LINES: 2 A.f()V A.java 3:2:2:1/1\n";
        let mut profile = perk_jamaica::read(text.as_bytes()).unwrap();
        let jamaica = by_name("jamaica").unwrap();
        assert_eq!(jamaica.losses(&View::new(&profile, "")), [""; 0]);
        let trace = Metric::first_of(&profile).unwrap().rows(&profile).rows[0].0.trace;
        let calls = CallRow { trace, count: 1, self_ns: 1, total_ns: 1 };
        profile.events.push(CallTimes { rows: vec![calls], ..CallTimes::default() }.into());
        let losses = jamaica.losses(&View::new(&profile, ""));
        assert!(losses.contains(&"source lines".to_owned()), "{losses:?}");
    }
}
