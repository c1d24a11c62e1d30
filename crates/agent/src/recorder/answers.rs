//! The recorder's answers to the commands of a peer.

use perk_profile::{Allocations, HeapSummary, SiteSelection};

use super::{Recorder, now};
use crate::roster::Slot;

impl Recorder {
    /// Returns the living thread that has this id.
    pub(crate) fn find_thread(&self, id: u64) -> Option<Slot> {
        self.roster.find(id)
    }

    /// Writes the sites that were booked.
    pub(crate) fn answer_sites(&mut self, selection: SiteSelection, cutoff: f64) {
        let sites = self.take_sites(selection, cutoff);
        self.write(|writer, profile, _| writer.sites(profile, &sites));
    }

    /// Writes the number and bytes of the objects of all booked sites; `live` is the number and
    /// size of all objects, if these are known better than from the live objects of the sites.
    pub(crate) fn answer_summary(&mut self, live: Option<(u64, u64)>) {
        let mut objects = self.take_sites(SiteSelection::default(), 0.0).total;
        if let Some((live_count, live_bytes)) = live {
            objects = Allocations {
                live_bytes,
                live_count,
                allocated_bytes: objects.allocated_bytes.max(live_bytes),
                allocated_count: objects.allocated_count.max(live_count),
            };
        }
        let summary = HeapSummary { objects, written: Some(now()) };
        self.write(|writer, _, _| writer.heap_summary(&summary));
    }

    /// Writes the traces that are not written yet.
    pub(crate) fn answer_traces(&mut self) {
        self.write(|writer, profile, _| writer.traces(profile));
    }

    /// Writes the samples since the last dump, which still count for the next one.
    pub(crate) fn answer_samples(&mut self, cutoff: f64) {
        let mut samples = self.samples(cutoff);
        samples.is_interim = true;
        self.write(|writer, profile, _| writer.cpu_samples(profile, &samples));
    }

    /// Writes samples at each dump from now on.
    pub(crate) fn begin_samples(&mut self) {
        self.with_samples = true;
    }

    /// Clears the samples and calls since the last dump.
    pub(crate) fn clear_cpu(&mut self) {
        self.counts.clear();
        self.forget_times();
        self.take_times();
        self.take_edges();
    }

    /// Keeps that many frames of each new trace, but no more than the probes can distinguish: that
    /// depth is set at the start.
    pub(crate) fn set_depth(&mut self, depth: u32) {
        let most = self.profile.depth.unwrap_or(0);
        let depth = depth.min(most) as usize;
        if self.site_depth > 0 {
            self.site_depth = depth;
        }
        if self.times == Some(perk_control::options::TimesForm::Times) {
            self.timing_depth = depth;
        }
    }
}
