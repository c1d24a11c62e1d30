//! The calls of JamaicaVM's profile: by caller, position and callee.

use std::iter::successors;

use perk_jamaica::metric;
use perk_jvm::sync::lock;
use perk_profile::{Frame, Line, Unit};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::books::jamaica::JamaicaBook;
use crate::analyses::exact::ExactEngine;
use crate::recorder::{CallNodes, Recorder};

impl ExactEngine {
    /// Books the calls of one tree, and the cycles of each method with all that it called.
    pub(super) fn book_invocations(&self, book: &JamaicaBook, calls: &mut dyn CallNodes) {
        let (natives, rate) = (&self.classes.natives(), self.common.cycles.rate());
        let recorder = &mut *lock(self.common.recorder);
        let mut pairs: FxHashMap<(u32, u16, u32), u64> = FxHashMap::default();
        let mut times: FxHashMap<u32, u64> = FxHashMap::default();
        let mut native_calls: FxHashMap<u32, u64> = FxHashMap::default();
        for index in 0..calls.count() {
            let node = calls.take(index);
            if node.is_lost() {
                continue;
            }
            let outward = || successors(calls.get(node.parent), |it| calls.get(it.parent));
            if let Some(caller) = outward().next().filter(|it| node.count > 0 && !it.is_lost()) {
                *pairs.entry((caller.method, node.line, node.method)).or_default() += node.count;
            }
            if node.count > 0 && natives.contains(&node.method) {
                *native_calls.entry(node.method).or_default() += node.count;
            }
            // The time of a recursive call is in that of the call around it.
            if node.total_ns > 0 && outward().all(|it| it.method != node.method) {
                *times.entry(node.method).or_default() += node.total_ns;
            }
        }
        for ((caller, place, callee), count) in pairs {
            let bci = place.checked_sub(1).map(i32::from);
            let caller = recorder.numbered_method(caller);
            let caller = Frame { bci, ..Frame::new(caller, Line::Unknown) };
            let callee = callee_frame(recorder, callee, natives);
            book.add_calls(recorder, [caller, callee], count);
        }
        for (method, count) in native_calls {
            let frame = callee_frame(recorder, method, natives);
            let trace = recorder.trace_of_frame(frame);
            book.add(metric::NATIVE_CALLS, Unit::Count, trace, count);
        }
        for (method, total_ns) in times {
            book.add_cycles(recorder.numbered_method(method), rate.cycles(total_ns));
        }
    }
}

fn callee_frame(recorder: &mut Recorder, method: u32, natives: &FxHashSet<u32>) -> Frame {
    let line = if natives.contains(&method) { Line::Native } else { Line::Unknown };
    Frame::new(recorder.numbered_method(method), line)
}
