//! The first step of a walk, from code that was interrupted anywhere: its frame may not be complete
//! yet or no longer be. Several readings of the stack are tried, the most probable first, until one
//! leads to the end of the stack. Async-signal-safe.

use super::arch::{Arch, Removal};
use super::code::{Blob, BlobKind};
use super::frames::{Cursor, NextFrame, SLOT, Walker};
use super::memory::Memory;
use super::{Code, End, ThreadState, VmFrame, WalkError};

/// The most bytes of code in which a method makes its frame.
const MAX_PROLOGUE: usize = 256;
/// The most native frames that are followed by their frame pointers.
const MAX_NATIVE_FRAMES: usize = 64;
/// The most slots that are searched for an address to return to.
const MAX_SEARCHED: usize = 1024;
/// A reading of the stack that leads through this number of frames is right. If it then ends, so do
/// others.
const CERTAIN_FRAMES: usize = 64;
/// The most such addresses that are tried.
const MAX_TRIED: usize = 12;

/// The readings of a stack.
struct Candidates {
    all: [Option<Cursor>; 8],
    count: usize,
}

impl Candidates {
    fn new() -> Candidates {
        Candidates { all: [None; 8], count: 0 }
    }

    fn add(&mut self, cursor: Option<Cursor>) {
        let known = self.all.iter().any(|it| it.is_some() && *it == cursor);
        if let Some(place) = self.all.get_mut(self.count)
            && cursor.is_some()
            && !known
        {
            *place = cursor;
            self.count = self.count.wrapping_add(1);
        }
    }
}

/// Where the interrupted instruction is in its method.
enum Position {
    /// Its frame is complete.
    Body,
    /// As in a body, but the caller's frame pointer is still in the register.
    BeforeSave,
    /// It has no frame of its own, or only a part of it.
    Partial(Removal),
}

impl<M: Memory> Walker<'_, M> {
    /// Starts in generated code.
    pub(super) fn start_generated(&mut self, start: Cursor) -> End {
        let code = &self.vm.code;
        if code.interpreter.contains(start.pc) {
            return self.start_interpreter(start);
        }
        let Some(blob) = code.find(self.memory, start.pc) else {
            return End::Broken(WalkError::UnknownBlob);
        };
        let mut candidates = Candidates::new();
        let has_room = match blob.kind {
            BlobKind::Compiled | BlobKind::Native => {
                self.method_candidates(&blob, start, &mut candidates);
                if blob.kind == BlobKind::Native {
                    self.emit_native_wrapper(&blob, start.pc)
                } else if start.pc < blob.complete {
                    self.emit_entry(&blob, start.pc)
                } else {
                    self.emit_interrupted(&blob, start.pc)
                }
            }
            BlobKind::Stub => {
                self.stub_candidates(&blob, start, &mut candidates);
                let name = blob.name;
                self.emit(VmFrame { kind: Code::Stub, name, pc: start.pc, ..VmFrame::EMPTY })
            }
        };
        if !has_room {
            return End::Truncated;
        }
        // The JVM's own code calls stubs, too: then it has marked the Java method.
        if blob.kind == BlobKind::Stub && self.thread == 0 {
            return End::NoJava;
        }
        if blob.kind == BlobKind::Stub && self.is_in_vm() {
            return match self.vm.anchor(self.memory, self.thread) {
                Some(anchor) if anchor.sp > start.sp => self.run_from(anchor),
                Some(_) => End::NoJava,
                None => End::Broken(WalkError::Unreadable),
            };
        }
        // It copies a virtual thread's frames.
        match self.frozen(&blob, start) {
            Some(NextFrame::Frame(cursor)) => self.run(cursor),
            Some(NextFrame::End(end)) => end,
            None => self.attempt(&candidates, start, false),
        }
    }

    fn is_in_vm(&self) -> bool {
        matches!(
            self.vm.in_java(self.memory, self.thread),
            Some(ThreadState::InVm | ThreadState::Blocked | ThreadState::InNative)
        )
    }

    /// Starts in native code that Java code has called without a mark, as it does with functions
    /// that are short.
    pub(super) fn start_leaf(&mut self, start: Cursor) -> End {
        let mut candidates = Candidates::new();
        candidates.add(self.returning(start, 0));
        let mut fp = start.fp;
        let mut sp = start.sp;
        for _ in 0..MAX_NATIVE_FRAMES {
            if !self.is_slot(fp) || fp < sp {
                break;
            }
            let above = fp.wrapping_add(2 * SLOT);
            let (Some(pc), Some(link)) =
                (self.memory.word(fp.wrapping_add(SLOT)), self.memory.word(fp))
            else {
                break;
            };
            if self.is_return_address(pc) {
                candidates.add(Some(Cursor { pc, sp: above, fp: link }));
                break;
            }
            (fp, sp) = (link, above);
        }
        match self.attempt(&candidates, start, true) {
            End::Broken(_) => End::Broken(WalkError::NoAnchor),
            end => end,
        }
    }

    /// Tries the candidates, then the words of the stack that look like return addresses.
    fn attempt(&mut self, candidates: &Candidates, start: Cursor, is_native: bool) -> End {
        let count = self.count;
        for cursor in candidates.all.iter().flatten() {
            self.count = count;
            let end = self.run(*cursor);
            if self.is_certain(end, count) {
                return end;
            }
        }
        let mut tried = 0usize;
        for index in 0..MAX_SEARCHED {
            let at = start.sp.wrapping_add(index.wrapping_mul(SLOT));
            if tried == MAX_TRIED || !self.is_slot(at) {
                break;
            }
            let Some(pc) = self.memory.word(at) else { break };
            if !self.is_return_address(pc) || (is_native && !self.may_call_native(pc)) {
                continue;
            }
            tried = tried.wrapping_add(1);
            self.count = count;
            let fp = self.link_below(start, at);
            let sp = at.wrapping_add(SLOT);
            let end = self.run(Cursor { pc, sp, fp });
            if self.is_certain(end, count) {
                return end;
            }
        }
        self.count = count;
        match candidates.all.first() {
            Some(Some(cursor)) => self.run(*cursor),
            _ => End::Broken(WalkError::BadFrame),
        }
    }

    /// Returns whether a reading of the stack is the right one, which began after `count` frames.
    fn is_certain(&self, end: End, count: usize) -> bool {
        matches!(end, End::Complete | End::Truncated)
            || self.count.saturating_sub(count) >= CERTAIN_FRAMES
    }

    /// The caller's frame pointer, if the slot below the address to return to has it; otherwise it
    /// may still be in its register.
    fn link_below(&self, start: Cursor, at: usize) -> usize {
        match self.memory.word(at.wrapping_sub(SLOT)) {
            Some(link) if at > start.sp && link > at && self.is_slot(link) => link,
            _ => start.fp,
        }
    }

    /// Returns whether the call that returns to `pc` can lead to native code.
    fn may_call_native(&self, pc: usize) -> bool {
        self.call_target(pc).is_none_or(|target| !self.vm.code.contains(target))
    }

    /// The caller, if it is to be returned to with the address in the slot of the stack.
    fn returning(&self, start: Cursor, slots: usize) -> Option<Cursor> {
        let at = start.sp.wrapping_add(slots.wrapping_mul(SLOT));
        if !self.is_slot(at) {
            return None;
        }
        let pc = self.memory.word(at).filter(|pc| self.is_return_address(*pc))?;
        let fp = match slots {
            0 => start.fp,
            _ => self.memory.word(at.wrapping_sub(SLOT))?,
        };
        Some(Cursor { pc, sp: at.wrapping_add(SLOT), fp })
    }

    /// The caller of a frame of known size.
    fn returning_sized(&self, blob: &Blob, start: Cursor) -> Option<Cursor> {
        match self.sized(blob, start) {
            NextFrame::Frame(cursor) if self.is_return_address(cursor.pc) => Some(cursor),
            _ => None,
        }
    }

    /// The caller of a frame that the frame pointer points to.
    fn returning_linked(&self, start: Cursor) -> Option<Cursor> {
        if !self.is_slot(start.fp) || start.fp < start.sp {
            return None;
        }
        let pc = self.memory.word(start.fp.wrapping_add(SLOT))?;
        let link = self.memory.word(start.fp)?;
        let sp = start.fp.wrapping_add(2 * SLOT);
        self.is_return_address(pc).then_some(Cursor { pc, sp, fp: link })
    }

    fn method_candidates(&self, blob: &Blob, start: Cursor, candidates: &mut Candidates) {
        match self.position(blob, start.pc) {
            Position::Body => {}
            Position::BeforeSave => {
                let sized = self.returning_sized(blob, start);
                candidates.add(sized.map(|cursor| Cursor { fp: start.fp, ..cursor }));
            }
            Position::Partial(Removal::Return) => candidates.add(self.returning(start, 0)),
            Position::Partial(Removal::Link) => candidates.add(self.returning(start, 1)),
        }
        candidates.add(self.returning_sized(blob, start));
        candidates.add(self.returning(start, 0));
        candidates.add(self.returning(start, 1));
    }

    fn position(&self, blob: &Blob, pc: usize) -> Position {
        let arch = self.vm.arch;
        let byte = |at: usize| self.memory.u8(at);
        if pc >= blob.complete {
            return match arch.removal(pc, &byte) {
                Some(removal) => Position::Partial(removal),
                None => Position::Body,
            };
        }
        // Before the frame is complete: is the instruction that makes room before or after?
        let begin = blob.code_begin();
        let mut pushed = false;
        for offset in 0..MAX_PROLOGUE {
            let at = begin.wrapping_add(offset);
            if at >= pc {
                break;
            }
            if let Some(made) = arch.allocate.iter().find(|made| Arch::is(made, at, &byte)) {
                return match () {
                    () if at.wrapping_add(made.len()) > pc => break,
                    () if pushed => Position::Body,
                    () => Position::BeforeSave,
                };
            }
            pushed = arch.push_frame.iter().any(|push| Arch::is(push, at, &byte));
        }
        // The push is the instruction before this one, or before one that makes the frame pointer.
        let pushed =
            arch.push_frame.iter().any(|push| Arch::is(push, pc.wrapping_sub(push.len()), &byte));
        Position::Partial(if pushed { Removal::Link } else { Removal::Return })
    }

    fn stub_candidates(&self, blob: &Blob, start: Cursor, candidates: &mut Candidates) {
        // A call of this very blob that returns to the address on top is certain.
        let leaf = self.returning(start, 0);
        let is_sized = blob.frame_bytes > 0 && start.pc >= blob.complete;
        if is_sized {
            candidates.add(self.returning_sized(blob, start));
        }
        candidates.add(leaf);
        candidates.add(self.returning(start, 1));
        candidates.add(self.returning_linked(start));
        if !is_sized && blob.frame_bytes > 0 {
            candidates.add(self.returning_sized(blob, start));
        }
        // Adapters move the address to return to; the caller's stack pointer is in a register.
        let sp = self.interpreter.bytecode;
        candidates.add(
            leaf.filter(|_| self.is_slot(sp) && sp > start.sp).map(|leaf| Cursor { sp, ..leaf }),
        );
    }

    fn start_interpreter(&mut self, start: Cursor) -> End {
        let registers = self.interpreter;
        let is_entry = self.vm.code.method_entries.contains(start.pc);
        let own = self.interpreted_method(start, registers.bytecode);
        let entered = self.vm.methods.bytecodes(self.memory, registers.method);
        // At a method's entry the frame pointer is still the caller's, unless the frame is made:
        // then it is at the first bytecode, or native.
        let is_made = own.is_some_and(|(_, bci, is_native)| is_native || bci == 0);
        if own.is_some() && (!is_entry || is_made || entered.is_none()) {
            let count = self.count;
            if let NextFrame::Frame(next) = self.interpreted(start, registers.bytecode)
                && let end @ (End::Complete | End::Truncated) = self.run(next)
            {
                return end;
            }
            self.count = count;
        }
        let mut candidates = Candidates::new();
        if let Some((_, length)) = entered {
            let kind = if length == 0 { Code::NativeMethod } else { Code::Interpreted };
            let bci = if length == 0 { -1 } else { 0 };
            let method = registers.method;
            if !self.emit(VmFrame { kind, bci, method, pc: start.pc, ..VmFrame::EMPTY }) {
                return End::Truncated;
            }
        } else {
            let blob = self.vm.code.find(self.memory, start.pc);
            let name = blob.map_or(0, |blob| blob.name);
            if !self.emit(VmFrame { kind: Code::Stub, name, pc: start.pc, ..VmFrame::EMPTY }) {
                return End::Truncated;
            }
        }
        if own.is_some() {
            // The caller is interpreted: where it continues does not matter.
            candidates.add(Some(start));
        }
        let leaf = self.returning(start, 0);
        // The caller's stack pointer is in a register, the address to return to below it.
        let sender = registers.bytecode;
        if self.is_slot(sender) && sender > start.sp {
            candidates.add(leaf.map(|leaf| Cursor { sp: sender, ..leaf }));
            let below = self.memory.word(sender.wrapping_sub(SLOT));
            let below = below.filter(|pc| self.is_return_address(*pc));
            candidates.add(below.map(|pc| Cursor { pc, sp: sender, fp: start.fp }));
        }
        candidates.add(leaf);
        candidates.add(self.returning(start, 1));
        candidates.add(self.returning_linked(start));
        self.attempt(&candidates, start, false)
    }
}
