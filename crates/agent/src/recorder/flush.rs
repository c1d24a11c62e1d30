//! Flushes: the profile so far is shown under the file's name while the recording goes on, so that it is
//! there if the program is killed. Nothing that is booked changes: the file at the end is the same as
//! without any flush.

use std::io;

use perk_control::options::TimesForm;
use perk_hprof::Writer;
use perk_profile::{Accounting, Event, MonitorRow};

use super::calls::CallBook;
use super::timeline::timed_row;
use super::{File, Recorder};
use crate::output::FileCopy;

/// What the analyses book for a flush alone.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) calls: CallBook,
    pub(super) waits: Option<Vec<MonitorRow>>,
}

/// A flush that is still to be shown: the file so far, and the sections that follow there.
#[derive(Debug)]
pub(crate) struct Flushed {
    file: FileCopy,
    sections: Vec<u8>,
}

impl Flushed {
    /// Shows it under the file's name. Needs no lock.
    ///
    /// # Errors
    /// The error of the system; what was shown before is still there.
    pub(crate) fn show(self) -> io::Result<()> {
        self.file.show(&self.sections)
    }
}

impl Recorder {
    /// Begins a flush: the analyses book what the recorder does not have.
    pub(crate) fn begin_flush(&mut self) {
        // A thread that ends from now on has its calls either here or in its tree.
        self.shown = Shown { calls: self.calls.clone(), waits: None };
    }

    /// Returns the profile so far, as a dump would write it. `None` if there is no file of records. Live
    /// objects are not looked for.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn flush(&mut self, mut accounting: Accounting) -> io::Result<Option<Flushed>> {
        // Paths are written once, for all flushes and the dumps that follow.
        self.write(|writer, profile, _| writer.traces(profile));
        let File::Begun(writer) = &mut self.file else { return Ok(None) };
        let Some(mut fork) = writer.fork(Vec::new()) else { return Ok(None) };
        let Some(file) = writer.out().copy()? else { return Ok(None) };
        self.account(&mut accounting);
        accounting.call_count = self.shown.calls.call_count;
        accounting.folded_call_count = self.shown.calls.folded_count;
        self.profile.accounting = Some(accounting);
        self.write_sections(&mut fork)?;
        self.shown = Shown::default();
        Ok(Some(Flushed { file, sections: std::mem::take(fork.out()) }))
    }

    /// Writes what a dump would write, and keeps it.
    fn write_sections(&mut self, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
        writer.accounting(&self.profile)?;
        if let Some(waits) = self.shown.waits.take() {
            let times = self.monitor_times(waits);
            writer.monitor_times(&self.profile, &times)?;
        }
        if self.with_sites {
            let sites = self.take_allocated_sites();
            writer.sites(&self.profile, &sites)?;
        }
        if self.with_samples {
            let samples = self.samples(self.cutoff);
            writer.cpu_samples(&self.profile, &samples)?;
            if let Some(timeline) = &mut self.timeline {
                let tick_ns = timeline.rows().0;
                let head = self.timeline_head(tick_ns);
                let rows = self.timeline.as_mut().map_or(&[][..], |timeline| timeline.rows().1);
                writer.timeline(&self.profile, &head, rows.iter().map(timed_row))?;
            }
        }
        if self.with_wall {
            writer.section(&self.profile, &self.wall.section())?;
        }
        for event in self.metrics.clone().take() {
            if let Event::Section(section) = event {
                writer.section(&self.profile, &section)?;
            }
        }
        match self.times {
            Some(TimesForm::Times) => {
                let times = self.shown_times();
                writer.call_times(&self.profile, &times)
            }
            Some(TimesForm::Old) => {
                let edges = self.shown_edges();
                writer.call_edges(&mut self.profile, &edges)
            }
            None => Ok(()),
        }
    }
}
