//! The views of sections for readers and writers of records: numbers by name.

use crate::{CallEdges, CallTimes, CpuSamples, Event, MonitorTimes, Profile, Section, Sites};

/// A section with its numbers named, as HPROF's records have them.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionView {
    /// CPU samples.
    CpuSamples(CpuSamples),
    /// Calls by call path.
    CallTimes(CallTimes),
    /// Calls by callee and caller.
    CallEdges(CallEdges),
    /// Allocation sites.
    Sites(Sites),
    /// Waits for locks.
    MonitorTimes(MonitorTimes),
    /// Metrics for which HPROF has no record.
    Other,
}

impl Section {
    /// The numbers, named; those of different labels add up.
    pub fn view(&self, profile: &Profile) -> SectionView {
        if self.has_labels() {
            return self.without_labels().view(profile);
        }
        if let Some(edges) = CallEdges::of(profile, self) {
            SectionView::CallEdges(edges)
        } else if let Some(samples) = CpuSamples::of(self) {
            SectionView::CpuSamples(samples)
        } else if let Some(times) = CallTimes::of(self) {
            SectionView::CallTimes(times)
        } else if let Some(sites) = Sites::of(self) {
            SectionView::Sites(sites)
        } else if let Some(times) = MonitorTimes::of(self) {
            SectionView::MonitorTimes(times)
        } else {
            SectionView::Other
        }
    }

    /// Adds up the rows of one trace and subject, and orders the rows as HPROF prints them if they are
    /// calls or allocation sites, or else by trace.
    #[must_use]
    pub fn added_up(self, profile: &Profile) -> Self {
        let sum = self.summed();
        match sum.view(profile) {
            SectionView::CallTimes(mut times) => {
                times.rank(0.0);
                times.into()
            }
            SectionView::Sites(mut sites) => {
                sites.rank(0.0);
                sites.into()
            }
            _ => sum,
        }
    }
}

impl From<CpuSamples> for Section {
    fn from(samples: CpuSamples) -> Self {
        Self::with_rows(samples.head(), samples.keyed())
    }
}

impl From<CallTimes> for Section {
    fn from(times: CallTimes) -> Self {
        Self::with_rows(times.head(), times.keyed())
    }
}

impl From<MonitorTimes> for Section {
    fn from(times: MonitorTimes) -> Self {
        Self::with_rows(times.head(), times.keyed())
    }
}

impl From<Sites> for Section {
    fn from(sites: Sites) -> Self {
        Self::with_rows(sites.head(), sites.keyed())
    }
}

impl<T: Into<Section>> From<T> for Event {
    fn from(section: T) -> Self {
        Event::Section(section.into())
    }
}
