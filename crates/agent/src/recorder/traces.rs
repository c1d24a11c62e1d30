//! The memory of the call traces that samples are booked on, and its limit.
//!
//! The tables of traces are the part of a profile that grows as long as a program runs, if it always
//! has new stacks. At the limit, a sample with a new stack is booked below those of its outermost
//! frames that are in the tables, on the frame [`CUT`]. So no sample is lost, no method's own samples
//! are wrong, and a trace says where it is cut.

use perk_jvm::os;
use perk_profile::{Frame, FrameId, Line, Method, Profile, Symbols, ThreadId, TraceId};

/// The frame in the place of the frames that are cut off: class and method, as HPROF's text has them.
const CUT: [&str; 2] = ["perk", "[memory limit reached]"];

/// The bytes of a node of the call tree, with the room that tables take in which they grow: a vector
/// has up to twice the 12 bytes of its entry, and a map with its predecessor, from which it is
/// filled, 24/7 times 13.
const NODE_BYTES: u64 = 64;
/// The bytes of a trace in the same sense: 16 in a vector, 17 and 9 in the maps by place and by
/// number, and those of a row that is booked on it.
const TRACE_BYTES: u64 = 192;
/// The part of the limit that only traces with [`CUT`] get.
const CUT_PART: u64 = 8;

/// The memory of traces; see the module.
#[derive(Debug)]
pub(super) struct TraceMemory {
    limit_bytes: u64,
    used_bytes: u64,
    /// The frame [`CUT`], once a trace has it.
    cut: Option<FrameId>,
    /// The samples on traces that are cut.
    pub(super) folded_count: u64,
}

impl TraceMemory {
    pub(super) fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, used_bytes: 0, cut: None, folded_count: 0 }
    }

    /// Whether there is room for a trace of a stack of which no frame is known.
    fn fits(&self, frame_count: usize) -> bool {
        let bytes = NODE_BYTES * frame_count as u64 + TRACE_BYTES;
        self.used_bytes + bytes <= self.limit_bytes - self.limit_bytes / CUT_PART
    }

    fn fits_cut(&self) -> bool {
        self.used_bytes + NODE_BYTES + TRACE_BYTES <= self.limit_bytes
    }

    /// Reports on stderr that samples are on traces that are cut.
    pub(super) fn warn(&self) {
        let Self { limit_bytes, folded_count, .. } = self;
        if *folded_count > 0 {
            os::say(&format!(
                "HPROF WARNING: {folded_count} samples are booked on call traces that are cut at \
                 {}: memlimit is {limit_bytes} bytes\n",
                CUT.join(".")
            ));
        }
    }

    /// Returns the trace of `frames`, which begin with the innermost, or at the limit the one that
    /// represents it.
    pub(super) fn find_or_cut(
        &mut self,
        profile: &mut Profile,
        thread: Option<ThreadId>,
        frames: &[FrameId],
    ) -> TraceId {
        let inward = frames.iter().rev().copied();
        if self.fits(frames.len()) {
            return self.add(profile, thread, inward);
        }
        let (node, depth) = profile.tree.longest(inward.clone());
        if depth == frames.len()
            && let Some(trace) = profile.find_trace(node, thread)
        {
            return trace;
        }
        let cut = *self.cut.get_or_insert_with(|| cut_frame(&mut profile.symbols));
        let mut outer = (node, depth);
        loop {
            let (node, depth) = outer;
            let known = profile.tree.child(node, cut);
            if let Some(trace) = known.and_then(|node| profile.find_trace(node, thread)) {
                return trace;
            }
            // Each thread has a trace to be cut to, whatever the limit.
            match profile.tree.parent(node) {
                Some(parent) if !self.fits_cut() => outer = (parent, depth - 1),
                _ => return self.add(profile, thread, inward.take(depth).chain([cut])),
            }
        }
    }

    /// Counts samples on a trace that is cut.
    pub(super) fn count(&mut self, profile: &Profile, trace: TraceId, count: u64) {
        let Some(cut) = self.cut else { return };
        if profile.tree.frame(profile.get_trace(trace).node) == Some(cut) {
            self.folded_count += count;
        }
    }

    fn add(
        &mut self,
        profile: &mut Profile,
        thread: Option<ThreadId>,
        inward: impl Iterator<Item = FrameId>,
    ) -> TraceId {
        let before = (profile.tree.len(), profile.traces().len());
        let node = profile.tree.insert(inward);
        let trace = profile.trace(node, thread);
        let nodes = (profile.tree.len() - before.0) as u64;
        let traces = (profile.traces().len() - before.1) as u64;
        self.used_bytes += nodes * NODE_BYTES + traces * TRACE_BYTES;
        trace
    }
}

fn cut_frame(symbols: &mut Symbols) -> FrameId {
    let [class, name] = CUT;
    let (class, name) = (symbols.class(class), symbols.strings.intern(name));
    let method = symbols.method(Method { class, name, signature: None, source: None });
    symbols.frame(Frame::new(method, Line::Unknown))
}
