//! Flushes: the profile so far is shown under the file's name while the recording goes on, so that it is
//! there if the program is killed. Nothing that is booked changes: the file at the end is the same as
//! without any flush.

use std::io;
use std::sync::Mutex;

use perk_control::options::TimesForm;
use perk_hprof::Writer;
use perk_profile::{Accounting, Event, MonitorRow};

use super::calls::{CallBook, ProbeCost};
use super::counted::CallNodes;
use super::timeline::timed_row;
use super::written::{CountedSection, SiteStream};
use super::{File, Recorder};
use crate::output::FileCopy;
use crate::sync::lock;

/// What the analyses book for a flush alone.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) calls: CallBook,
    pub(super) waits: Option<Vec<MonitorRow>>,
}

/// A flush that is still to be shown: the file so far, and the sections that follow there.
#[derive(Debug)]
pub(crate) struct Flush {
    writer: Writer<FileCopy>,
    /// Whether it has a section of calls, of the recorder's profile.
    has_calls: bool,
    /// Whether it has one of allocation sites.
    has_sites: bool,
    section: CountedSection,
    book: CallBook,
}

impl Flush {
    /// Whether the recorder's profile has the calls.
    pub(crate) fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Whether the recorder's profile has the allocation sites.
    pub(crate) fn has_sites(&self) -> bool {
        self.has_sites
    }

    /// Begins the section of allocation sites as they are now.
    pub(crate) fn sites<'a>(&'a mut self, recorder: &'a Mutex<Recorder>) -> SiteStream<'a> {
        SiteStream::of_copy(recorder, &mut self.writer)
    }

    /// Copies the file so far. Needs no lock.
    ///
    /// # Errors
    /// The error of the system; what was shown before is still there.
    pub(crate) fn copy(&mut self) -> io::Result<()> {
        self.writer.out().make()
    }

    /// Adds the calls of one tree as they are now, as long as the flush `is_wanted`. The recorder is locked
    /// for a part of them at a time: the threads of the program need it, too.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn show_calls(
        &mut self,
        recorder: &Mutex<Recorder>,
        tree: u64,
        calls: &mut dyn CallNodes,
        is_wanted: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let Self { writer, section, book, .. } = self;
        let mut at = 0;
        while at < calls.count() && is_wanted() {
            let mut recorder = lock(recorder);
            let known = writer.path_count(tree);
            let part = recorder.next_part(calls, &mut at, known, book, ProbeCost::default());
            section.write(writer, &recorder.profile, tree, &part)?;
        }
        Ok(())
    }

    /// Ends the section of calls.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn end_calls(&mut self) -> io::Result<()> {
        self.section.end(&mut self.writer)
    }

    /// Ends it and shows it under the file's name.
    ///
    /// # Errors
    /// The error of the system; what was shown before is still there.
    pub(crate) fn show(mut self, recorder: &Mutex<Recorder>) -> io::Result<()> {
        {
            let recorder = &mut *lock(recorder);
            if let Some(accounting) = &mut recorder.profile.accounting {
                accounting.call_count += self.book.call_count;
                accounting.folded_call_count += self.book.folded_count;
            }
            self.writer.accounting(&recorder.profile)?;
        }
        self.writer.out().show()
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
    pub(crate) fn flush(&mut self, mut accounting: Accounting) -> io::Result<Option<Flush>> {
        // Paths are written once, for all flushes and the dumps that follow.
        self.write(|writer, profile, _| writer.traces(profile));
        let File::Begun(writer) = &mut self.file else { return Ok(None) };
        let Some(file) = writer.out().copy()? else { return Ok(None) };
        let Some(mut fork) = writer.fork(file) else { return Ok(None) };
        self.account(&mut accounting);
        accounting.call_count = self.shown.calls.call_count;
        accounting.folded_call_count = self.shown.calls.folded_count;
        self.profile.accounting = Some(accounting);
        let has_calls = !self.shown.calls.rows.is_empty();
        let has_sites = !self.writes_sites || self.sites.has_rows();
        self.write_sections(&mut fork)?;
        self.shown = Shown::default();
        let (section, book) = (CountedSection::of_calls(), CallBook::default());
        Ok(Some(Flush { writer: fork, has_calls, has_sites, section, book }))
    }

    /// Writes what a dump would write, and keeps it.
    fn write_sections(&mut self, writer: &mut Writer<FileCopy>) -> io::Result<()> {
        if let Some(waits) = self.shown.waits.take() {
            let times = self.monitor_times(waits);
            writer.monitor_times(&self.profile, &times)?;
        }
        if self.with_sites && (!self.writes_sites || self.sites.has_rows()) {
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
                match self.writes_calls && times.rows.is_empty() {
                    true => Ok(()),
                    false => writer.call_times(&self.profile, &times),
                }
            }
            Some(TimesForm::Old) => {
                let edges = self.shown_edges();
                writer.call_edges(&mut self.profile, &edges)
            }
            None => Ok(()),
        }
    }
}
