//! CPU samples: by signals where they work, by polling elsewhere.

use std::ffi::CStr;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use perk_control::options::SampleEngine;
use perk_jvm::guard::Feature;
use perk_jvm::os;
use perk_jvm::{Jni, ObjectRef, set_bool_flag};
use perk_jvmti_sys::JVMTI_EVENT_DYNAMIC_CODE_GENERATED;
use perk_profile::Accounting;

use super::books::samples::{NativeTimeBook, SampleBook};
use super::polling::Polling;
use super::signal::Signals;
use super::xprof::Xprof;
use super::{Analysis, Event, Needs, Order};
use crate::common::Common;
use crate::recorder::Book;
use crate::threads::LiveThread;

/// The analysis of CPU samples; see the module.
pub(crate) struct Samples {
    common: &'static Common,
    /// Whether there are samples, and not only the ticks of [`Xprof`].
    takes_samples: bool,
    /// Whether samples are to be taken by signals.
    wants_signals: bool,
    xprof: Option<&'static Xprof>,
    book: &'static SampleBook,
    native_book: &'static NativeTimeBook,
    polling: Polling,
    /// The other engine, if it runs.
    signals: OnceLock<&'static Signals>,
}

impl Samples {
    pub(crate) fn new(
        common: &'static Common,
        takes_samples: bool,
        xprof: Option<&'static Xprof>,
    ) -> Self {
        let options = &common.options;
        let is_polling = match options.engine {
            SampleEngine::Auto => options.has_peer(),
            SampleEngine::Signal => false,
            SampleEngine::Polling => true,
        };
        let book: &SampleBook = Box::leak(Box::new(SampleBook::new(options)));
        Self {
            common,
            takes_samples,
            // As with the original, no frames means no samples.
            wants_signals: takes_samples && options.depth > 0 && !is_polling,
            xprof,
            book,
            native_book: Box::leak(Box::default()),
            polling: Polling::new(common, book),
            signals: OnceLock::new(),
        }
    }

    /// Returns the engines that run: that of the samples, and that of the ticks.
    fn engines(&self) -> impl Iterator<Item = &dyn Analysis> {
        let signals = self.signals.get().copied();
        let polls = self.takes_samples && (signals.is_none() || !self.wants_signals);
        let signals = signals.map(|it| it as &dyn Analysis);
        signals.into_iter().chain(polls.then_some(&self.polling as &dyn Analysis))
    }

    /// Reports that signals cannot be used.
    fn do_without_signals(&self, reason: &str) {
        let reason = format!("signals cannot be used: {reason}");
        if let Some(xprof) = self.xprof {
            xprof.give_up(&reason);
        }
        if self.wants_signals {
            os::say(&format!(
                "HPROF WARNING: samples are taken at safepoints (engine=polling), as {reason}\n"
            ));
        }
    }

    /// Starts the engine that signals drive.
    fn start_signals(&self, jni: Jni<'_>) -> Result<(), String> {
        let books = self.wants_signals.then_some((self.book, self.native_book));
        let signals = Signals::new(self.common, books, self.xprof)?;
        let signals: &'static Signals = Box::leak(Box::new(signals));
        signals.start(jni)?;
        let _ = self.signals.set(signals);
        if self.common.options.native {
            // If the JVM refuses, those that are there have the names of their groups.
            let _ = self.common.jvmti.generate_events(JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
        }
        Ok(())
    }
}

impl Analysis for Samples {
    fn name(&self) -> Option<&'static str> {
        // The last one takes the samples.
        self.takes_samples.then(|| self.engines().last()?.name()).flatten()
    }

    fn feature(&self) -> Feature {
        Feature::Sampling
    }

    fn task(&self) -> &'static str {
        "sample"
    }

    fn needs(&self) -> Needs {
        let mut needs = if self.takes_samples { self.polling.needs() } else { Needs::default() };
        if self.wants_signals || self.xprof.is_some() {
            needs.events.push(Event::CollectionStart);
        }
        if self.wants_signals && self.common.options.native {
            needs.events.push(Event::StubMade);
        }
        needs
    }

    fn books(&'static self) -> Vec<&'static dyn Book> {
        vec![self.book, self.native_book]
    }

    fn loaded(&'static self) -> Result<(), String> {
        let xprof = self.common.options.xprof;
        if self.wants_signals || xprof.is_some_and(|xprof| xprof.inlined) {
            // Compiled code then has the places of all its instructions, not only of its calls.
            set_bool_flag(c"DebugNonSafepoints", true);
        }
        Ok(())
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        if self.wants_signals || self.xprof.is_some() {
            match self.start_signals(jni) {
                Ok(()) if self.wants_signals => return Ok(()),
                Ok(()) => {}
                Err(reason) => self.do_without_signals(&reason),
            }
        }
        if self.takes_samples { self.polling.begin(jni) } else { Ok(()) }
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        self.engines().for_each(|engine| engine.thread_began(thread));
    }

    fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>, known: Option<&LiveThread>) {
        self.engines().for_each(|engine| engine.thread_ended(jni, thread, known));
    }

    fn collection_started(&self) {
        self.engines().for_each(Analysis::collection_started);
    }

    fn stub_made(&self, name: &CStr, addresses: Range<usize>) {
        self.engines().for_each(|engine| engine.stub_made(name, addresses.clone()));
    }

    fn obey(&'static self, jni: Jni<'_>, order: Order) -> Result<(), String> {
        // Orders come from a peer, and with one samples are taken by polling.
        self.polling.obey(jni, order)
    }

    fn set_paused(&'static self, jni: Jni<'_>, is_paused: bool) {
        match self.signals.get() {
            Some(signals) if self.wants_signals => signals.set_paused(jni, is_paused),
            _ => self.polling.set_paused(jni, is_paused),
        }
    }

    fn stop(&self) {
        self.engines().for_each(|engine| engine.stop());
    }

    fn settle(&self, last: bool) {
        self.engines().for_each(|engine| engine.settle(last));
    }

    fn finish(&self) {
        self.engines().for_each(|engine| engine.finish());
    }

    fn release(&'static self, jni: Jni<'_>) {
        self.engines().for_each(|engine| engine.release(jni));
    }

    fn account(&self, accounting: &mut Accounting) {
        self.engines().for_each(|engine| engine.account(accounting));
    }
}
