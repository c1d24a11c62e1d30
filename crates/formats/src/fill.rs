//! Fills a profile sample by sample, as readers of merged stacks need it.

use perk_profile::{
    CpuSamples, Event, Frame, FrameId, Line, Method, NodeId, Profile, StrId, Thread, ThreadId,
    TraceId,
};
use rustc_hash::FxHashMap;

/// The serial number of the first thread, as in HPROF files.
const FIRST_THREAD: u32 = 200_001;

/// A profile in the making, with one section of samples.
#[derive(Debug, Default)]
pub(crate) struct Filler {
    pub(crate) profile: Profile,
    threads: FxHashMap<StrId, ThreadId>,
    /// Samples by trace.
    counts: Vec<u64>,
    total: u64,
}

impl Filler {
    /// The thread of that name.
    pub(crate) fn thread(&mut self, name: &str) -> ThreadId {
        let profile = &mut self.profile;
        let name = profile.symbols.strings.intern(name);
        *self.threads.entry(name).or_insert_with(|| {
            let index = u32::try_from(profile.threads.len()).unwrap_or(u32::MAX);
            profile.push_thread(Thread {
                serial: FIRST_THREAD.saturating_add(index),
                object_id: 0,
                name,
                group: None,
                parent_group: None,
            })
        })
    }

    /// The frame of a method; an empty signature is none.
    pub(crate) fn frame(
        &mut self,
        class: &str,
        name: &str,
        signature: &str,
        line: Line,
    ) -> FrameId {
        let symbols = &mut self.profile.symbols;
        let class = symbols.class(class);
        let name = symbols.strings.intern(name);
        let signature = (!signature.is_empty()).then(|| symbols.strings.intern(signature));
        let method = symbols.method(Method { class, name, signature, source: None });
        symbols.frame(Frame { method, bci: None, line })
    }

    /// Adds samples of a call path.
    pub(crate) fn add(&mut self, thread: Option<ThreadId>, node: NodeId, count: u64) {
        let trace = self.profile.trace(node, thread).index();
        if trace >= self.counts.len() {
            self.counts.resize(trace + 1, 0);
        }
        self.counts[trace] = self.counts[trace].saturating_add(count);
        self.add_unlisted(count);
    }

    /// Adds samples that belong to no trace of the profile.
    pub(crate) fn add_unlisted(&mut self, count: u64) {
        self.total = self.total.saturating_add(count);
    }

    /// The profile.
    pub(crate) fn finish(mut self) -> Profile {
        let rows = self.counts.into_iter().enumerate().filter(|&(_, count)| count > 0);
        let rows = rows.map(|(index, count)| (TraceId::new(index), count)).collect();
        let samples = CpuSamples { total: self.total, rows, ..CpuSamples::default() };
        self.profile.events.push(Event::CpuSamples(samples));
        self.profile
    }
}
