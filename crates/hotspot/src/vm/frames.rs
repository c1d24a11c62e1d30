//! The walk from frame to frame. Async-signal-safe.

use std::ops::Range;

use super::arch::Arch;
use super::chunks::ThawResult;
use super::code::{Blob, BlobKind};
use super::memory::Memory;
use super::{
    Anchor, Code, End, InterpreterRegisters, Registers, ThreadState, Vm, VmFrame, Walk, WalkError,
};

/// The most frames that a walk visits.
const MAX_STEPS: usize = 100_000;
/// The level of C2.
const C2_LEVEL: u8 = 4;
/// The size of a slot of the stack, in bytes.
pub(super) const SLOT: usize = size_of::<usize>();
/// The most slots between the end of a virtual thread's frames and its carrier's: the JVM's record
/// of the virtual thread is there.
const MAX_BORDER_SLOTS: usize = 40;

/// The beginning of the name of the blob with the stub that a virtual thread's frames return to
/// when older ones are still in the heap.
const CONTINUATION_STUBS: [[u8; 8]; 3] = [*b"StubRout", *b"ines (co", *b"ntinuati"];
/// The beginning of the names of the stubs for calls from native code to Java.
const UPCALL_STUB: [[u8; 8]; 1] = [*b"upcall_s"];

/// A place in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// Where the code is, or, of callers, continues.
    pub(super) pc: usize,
    pub(super) sp: usize,
    pub(super) fp: usize,
}

/// What follows a frame.
pub(super) enum NextFrame {
    Frame(Cursor),
    End(End),
}

impl From<WalkError> for NextFrame {
    fn from(broken: WalkError) -> NextFrame {
        NextFrame::End(End::Broken(broken))
    }
}

/// A walk under way.
pub(super) struct Walker<'a, M> {
    pub(super) vm: &'a Vm,
    pub(super) memory: &'a M,
    pub(super) thread: usize,
    pub(super) interpreter: InterpreterRegisters,
    pub(super) stack: Range<usize>,
    pub(super) out: &'a mut [VmFrame],
    pub(super) count: usize,
}

pub(super) fn walk(
    vm: &Vm,
    memory: &impl Memory,
    thread: usize,
    registers: Registers,
    interpreter: InterpreterRegisters,
    stack: Range<usize>,
    out: &mut [VmFrame],
) -> Walk {
    let start = Cursor { pc: registers.pc, sp: registers.sp, fp: registers.fp };
    let mut walker = Walker { vm, memory, thread, interpreter, stack, out, count: 0 };
    let end = if vm.code.contains(start.pc) {
        walker.start_generated(start)
    } else {
        walker.start_native(start)
    };
    Walk { count: walker.count, end }
}

impl<M: Memory> Walker<'_, M> {
    /// Starts in native code: the JVM has marked the Java method that called it, if any did.
    fn start_native(&mut self, start: Cursor) -> End {
        let native = VmFrame { kind: Code::Native, pc: start.pc, ..VmFrame::EMPTY };
        if !self.emit(native) {
            return End::Truncated;
        }
        if self.thread == 0 {
            return End::NoJava;
        }
        let Some(anchor) = self.vm.anchor(self.memory, self.thread) else {
            return End::Broken(WalkError::Unreadable);
        };
        if anchor.sp != 0 && anchor.sp > start.sp {
            return self.run_from(anchor);
        }
        if self.vm.in_java(self.memory, self.thread) == Some(ThreadState::InJava) {
            return self.start_leaf(start);
        }
        End::NoJava
    }

    /// Follows the frames from an anchor that is set.
    pub(super) fn run_from(&mut self, anchor: Anchor) -> End {
        match self.frame_at(anchor) {
            NextFrame::Frame(cursor) => {
                self.stub_of(cursor.pc);
                self.run(cursor)
            }
            NextFrame::End(end) => end,
        }
    }

    /// The frame at an anchor that is set.
    fn frame_at(&self, anchor: Anchor) -> NextFrame {
        if !self.is_slot(anchor.sp) {
            return WalkError::BadFrame.into();
        }
        let pc = match anchor.pc {
            0 => self.memory.word(anchor.sp.wrapping_sub(SLOT)),
            pc => Some(pc),
        };
        match pc {
            Some(pc) => NextFrame::Frame(Cursor { pc, sp: anchor.sp, fp: anchor.fp }),
            None => WalkError::Unreadable.into(),
        }
    }

    /// Follows the frames from one that has called another.
    pub(super) fn run(&mut self, start: Cursor) -> End {
        let mut cursor = start;
        for _ in 0..MAX_STEPS {
            if !self.vm.code.contains(cursor.pc) {
                return End::Broken(WalkError::LeftCode);
            }
            if !self.is_slot(cursor.sp) {
                return End::Broken(WalkError::BadFrame);
            }
            match self.step(cursor) {
                NextFrame::Frame(next) if next.sp > cursor.sp => cursor = next,
                NextFrame::Frame(_) => return End::Broken(WalkError::BadFrame),
                NextFrame::End(end) => return end,
            }
        }
        End::Broken(WalkError::TooLong)
    }

    fn step(&mut self, cursor: Cursor) -> NextFrame {
        let code = &self.vm.code;
        if cursor.pc == code.call_stub_return {
            return self.entry(cursor.fp, cursor.sp);
        }
        if code.interpreter.contains(cursor.pc) {
            return self.interpreted(cursor, 0);
        }
        let Some(blob) = code.find(self.memory, cursor.pc) else {
            return WalkError::UnknownBlob.into();
        };
        match blob.kind {
            BlobKind::Compiled => self.compiled(&blob, cursor),
            BlobKind::Native => self.native_wrapper(&blob, cursor),
            BlobKind::Stub => self.stub_caller(&blob, cursor),
        }
    }

    /// The frame with which the JVM calls Java code. It leads to the Java code before.
    pub(super) fn entry(&self, fp: usize, sp: usize) -> NextFrame {
        let wrapper = slot(fp, self.vm.layout.call_wrapper);
        if !self.is_slot(fp) || fp < sp || !self.is_slot(wrapper) {
            return WalkError::BadFrame.into();
        }
        let wrapper = self.memory.word(wrapper).filter(|wrapper| self.is_slot(*wrapper));
        let Some(wrapper) = wrapper else {
            return WalkError::BadFrame.into();
        };
        self.before(wrapper.wrapping_add(self.vm.threads.wrapper_anchor), sp)
    }

    /// The frame at a saved anchor, which is further up in the stack than `sp`.
    fn before(&self, anchor: usize, sp: usize) -> NextFrame {
        match self.vm.anchor_at(self.memory, anchor) {
            None => WalkError::Unreadable.into(),
            Some(anchor) if anchor.sp == 0 => NextFrame::End(End::Complete),
            Some(anchor) if anchor.sp <= sp => WalkError::BadFrame.into(),
            Some(anchor) => self.frame_at(anchor),
        }
    }

    /// A frame of the interpreter. `bytecode` is the address of the bytecode, if known better than
    /// by the frame.
    pub(super) fn interpreted(&mut self, cursor: Cursor, bytecode: usize) -> NextFrame {
        let Some((method, bci, is_native)) = self.interpreted_method(cursor, bytecode) else {
            return WalkError::BadMethod.into();
        };
        let kind = if is_native { Code::NativeMethod } else { Code::Interpreted };
        if !self.emit(VmFrame { kind, bci, method, pc: cursor.pc, ..VmFrame::EMPTY }) {
            return NextFrame::End(End::Truncated);
        }
        self.linked(cursor.fp, self.vm.layout.sender_sp)
    }

    /// The method and bytecode index of a frame of the interpreter, and whether the method is
    /// native.
    pub(super) fn interpreted_method(
        &self,
        cursor: Cursor,
        bytecode: usize,
    ) -> Option<(usize, i32, bool)> {
        if !self.is_slot(cursor.fp) || cursor.fp < cursor.sp {
            return None;
        }
        self.method_of_frame(cursor.fp, bytecode)
    }

    /// The same of a frame whose pointer is known to be one.
    pub(super) fn method_of_frame(&self, fp: usize, bytecode: usize) -> Option<(usize, i32, bool)> {
        let layout = &self.vm.layout;
        let method = self.memory.word(slot(fp, layout.method))?;
        let (code, length) = self.vm.methods.bytecodes(self.memory, method)?;
        if length == 0 {
            return Some((method, -1, true));
        }
        let index = |at: usize| at.checked_sub(code).filter(|index| *index < length);
        let saved = self.memory.word(slot(fp, layout.bytecode))?;
        // A frame always has an address of the method's: anything else is no frame.
        let saved = index(saved)?;
        Some((method, index(bytecode).unwrap_or(saved) as i32, false))
    }

    /// The caller of a frame with a frame pointer. `sender_sp` is the slot of the caller's stack
    /// pointer where there is one.
    fn linked(&self, fp: usize, sender_sp: isize) -> NextFrame {
        let above = fp.wrapping_add(2 * SLOT);
        let read = |slots: isize| self.memory.word(slot(fp, slots));
        match (read(1), read(0), read(sender_sp)) {
            (Some(pc), Some(link), Some(sp)) => {
                let sp = if sp >= above && self.is_slot(sp) { sp } else { above };
                NextFrame::Frame(Cursor { pc, sp, fp: link })
            }
            _ => WalkError::Unreadable.into(),
        }
    }

    fn compiled(&mut self, blob: &Blob, cursor: Cursor) -> NextFrame {
        if !self.emit_called(blob, cursor) {
            return NextFrame::End(End::Truncated);
        }
        self.sized(blob, cursor)
    }

    /// Writes the methods of compiled code that has called something.
    pub(super) fn emit_called(&mut self, blob: &Blob, cursor: Cursor) -> bool {
        let nmethods = &self.vm.nmethods;
        let mut pc = cursor.pc;
        if nmethods.is_deopt_handler(self.memory, blob, pc) {
            // `None`: the frame is just being marked.
            pc = nmethods.original_pc(self.memory, blob, cursor.sp).unwrap_or(pc);
        }
        self.emit_compiled(blob, cursor.pc, pc, false)
    }

    /// Writes the methods of compiled code that was interrupted at `pc`.
    pub(super) fn emit_interrupted(&mut self, blob: &Blob, pc: usize) -> bool {
        self.emit_compiled(blob, pc, pc.wrapping_add(1), true)
    }

    /// Writes the methods at `wanted`, an address of compiled code, which is executing at `pc`.
    fn emit_compiled(
        &mut self,
        blob: &Blob,
        pc: usize,
        wanted: usize,
        is_interrupted: bool,
    ) -> bool {
        let nmethods = &self.vm.nmethods;
        let level = nmethods.level(self.memory, blob).unwrap_or(0);
        let is_c2 = level == C2_LEVEL;
        let kind = if is_c2 { Code::C2 } else { Code::C1 };
        let mut scopes = nmethods.scopes(self.memory, blob, wanted, is_interrupted && is_c2);
        while let Some(open) = &mut scopes {
            let Some(scope) = nmethods.next_scope(self.memory, open) else { break };
            let Some(_) = self.vm.methods.bytecodes(self.memory, scope.method) else { break };
            let kind = if scope.is_inlined { Code::Inlined } else { kind };
            let (method, bci) = (scope.method, scope.bci);
            if !self.emit(VmFrame { kind, level, bci, method, pc, ..VmFrame::EMPTY }) {
                return false;
            }
            if !scope.is_inlined {
                return true;
            }
        }
        // The debug information does not hold together, but the method is known.
        let method = nmethods.method(self.memory, blob).unwrap_or(0);
        self.emit(VmFrame { kind, level, method, pc, ..VmFrame::EMPTY })
    }

    /// Writes the method of compiled code that has not made its frame yet.
    pub(super) fn emit_entry(&mut self, blob: &Blob, pc: usize) -> bool {
        let nmethods = &self.vm.nmethods;
        let level = nmethods.level(self.memory, blob).unwrap_or(0);
        let kind = if level == C2_LEVEL { Code::C2 } else { Code::C1 };
        let method = nmethods.method(self.memory, blob).unwrap_or(0);
        let bci = nmethods.entry_bci(self.memory, blob);
        self.emit(VmFrame { kind, level, bci, method, pc, ..VmFrame::EMPTY })
    }

    fn native_wrapper(&mut self, blob: &Blob, cursor: Cursor) -> NextFrame {
        if !self.emit_native_wrapper(blob, cursor.pc) {
            return NextFrame::End(End::Truncated);
        }
        self.sized(blob, cursor)
    }

    /// Writes the native method that a wrapper is of.
    pub(super) fn emit_native_wrapper(&mut self, blob: &Blob, pc: usize) -> bool {
        let method = self.vm.nmethods.method(self.memory, blob).unwrap_or(0);
        let is_border = self.vm.methods.is_named(self.memory, method, b"enterSpecial");
        let kind = if is_border { Code::Continuation } else { Code::NativeMethod };
        self.emit(VmFrame { kind, method, pc, ..VmFrame::EMPTY })
    }

    /// The caller of a complete frame of the size that its blob says.
    pub(super) fn sized(&self, blob: &Blob, cursor: Cursor) -> NextFrame {
        if blob.frame_bytes < 2 * SLOT {
            return WalkError::BadFrame.into();
        }
        let sp = cursor.sp.wrapping_add(blob.frame_bytes);
        match (self.memory.word(sp.wrapping_sub(SLOT)), self.memory.word(sp.wrapping_sub(2 * SLOT)))
        {
            (Some(pc), Some(fp)) => NextFrame::Frame(Cursor { pc, sp, fp }),
            _ => WalkError::Unreadable.into(),
        }
    }

    /// The caller of a stub that has called something.
    fn stub_caller(&mut self, blob: &Blob, cursor: Cursor) -> NextFrame {
        if let Some((frame, anchor)) = self.vm.code.upcall_frame
            && self.is_named(blob, &UPCALL_STUB)
        {
            let offset = frame.read(self.memory, blob.at).unwrap_or(0) as usize;
            let anchor = cursor.sp.wrapping_add(offset).wrapping_add(anchor);
            return self.before(anchor, cursor.sp);
        }
        if blob.frame_bytes > 0 {
            return self.sized(blob, cursor);
        }
        if let Some(next) = self.frozen(blob, cursor) {
            return next;
        }
        if !self.is_slot(cursor.fp) || cursor.fp < cursor.sp {
            return WalkError::BadFrame.into();
        }
        self.linked(cursor.fp, 2)
    }

    /// Returns whether a blob's name begins with these bytes.
    fn is_named(&self, blob: &Blob, name: &[[u8; 8]]) -> bool {
        name.iter().enumerate().all(|(index, bytes)| {
            let at = blob.name.wrapping_add(index.wrapping_mul(bytes.len()));
            self.memory.word(at) == Some(usize::from_le_bytes(*bytes))
        })
    }

    fn is_continuation_stub(&self, blob: &Blob) -> bool {
        blob.kind == BlobKind::Stub && self.is_named(blob, &CONTINUATION_STUBS)
    }

    /// Follows a virtual thread that returns to older frames in the heap, out to its carrier's frame.
    pub(super) fn frozen(&mut self, blob: &Blob, cursor: Cursor) -> Option<NextFrame> {
        if !self.is_continuation_stub(blob) {
            return None;
        }
        let carrier = self.carrier(cursor)?;
        let kind = match self.heap_frames() {
            ThawResult::Written => Code::Continuation,
            ThawResult::Truncated => return Some(NextFrame::End(End::Truncated)),
            ThawResult::Unreadable => Code::FrozenContinuation,
        };
        Some(match self.emit(VmFrame { kind, pc: cursor.pc, ..VmFrame::EMPTY }) {
            true => NextFrame::Frame(carrier),
            false => NextFrame::End(End::Truncated),
        })
    }

    /// The carrier's frame above those of a virtual thread that returns to older frames in the
    /// heap. Between them is the JVM's record of the virtual thread, then its border's own frame.
    fn carrier(&self, cursor: Cursor) -> Option<Cursor> {
        let entry = match self.vm.threads.continuation {
            Some(offset) => self.memory.word(self.thread.wrapping_add(offset))?,
            None => cursor.sp,
        };
        if self.thread == 0 || entry < cursor.sp || !self.is_slot(entry) {
            return None;
        }
        for index in 1..MAX_BORDER_SLOTS {
            let at = entry.wrapping_add(index.wrapping_mul(SLOT));
            let pc = self.memory.word(at.wrapping_add(SLOT))?;
            let fp = self.memory.word(at)?;
            // Compiled code may keep anything in the register of the frame pointer.
            let is_frame = || fp > at && self.is_slot(fp);
            if self.is_return_address(pc) && (!self.vm.code.interpreter.contains(pc) || is_frame())
            {
                return Some(Cursor { pc, sp: at.wrapping_add(2 * SLOT), fp });
            }
        }
        None
    }

    /// Writes the stub at an address, if it is one.
    fn stub_of(&mut self, pc: usize) {
        let code = &self.vm.code;
        if code.interpreter.contains(pc) || pc == code.call_stub_return {
            return;
        }
        let blob = code.find(self.memory, pc);
        if let Some(blob) = blob.filter(|blob| blob.kind == BlobKind::Stub) {
            let name = blob.name;
            self.emit(VmFrame { kind: Code::Stub, name, pc, ..VmFrame::EMPTY });
        }
    }

    /// Returns whether code continues here after a call.
    pub(super) fn is_return_address(&self, pc: usize) -> bool {
        let code = &self.vm.code;
        if !code.contains(pc) {
            return false;
        }
        // The interpreter pushes addresses of its own.
        if pc == code.call_stub_return || code.interpreter.contains(pc) {
            return true;
        }
        let Some(blob) = code.find(self.memory, pc) else { return false };
        if !blob.code.contains(pc) {
            return false;
        }
        self.vm.arch.follows_call(pc, &|at| self.memory.u8(at))
            // A virtual thread's oldest frame on the stack returns to the stub that copies more.
            || self.is_continuation_stub(&blob)
            || (blob.kind == BlobKind::Compiled
                && self.vm.nmethods.is_deopt_handler(self.memory, &blob, pc))
    }

    /// The target of the call that returns to an address, if it is a direct one.
    pub(super) fn call_target(&self, pc: usize) -> Option<usize> {
        let call = self.vm.arch.direct_call;
        let at = pc.wrapping_sub(call.len());
        if !Arch::is(call, at, &|at| self.memory.u8(at)) {
            return None;
        }
        let distance = self.memory.u32(pc.wrapping_sub(4))? as i32;
        Some(pc.wrapping_add(distance as usize))
    }

    /// Returns whether an address is one of a slot of the stack.
    pub(super) fn is_slot(&self, address: usize) -> bool {
        address.is_multiple_of(SLOT) && self.stack.contains(&address)
    }

    /// Adds a frame. `false`: there is no room.
    pub(super) fn emit(&mut self, frame: VmFrame) -> bool {
        match self.out.get_mut(self.count) {
            Some(slot) => {
                *slot = frame;
                self.count = self.count.wrapping_add(1);
                true
            }
            None => false,
        }
    }
}

/// The address of a slot of a frame.
pub(super) fn slot(fp: usize, slots: isize) -> usize {
    fp.wrapping_add_signed(slots.wrapping_mul(SLOT as isize))
}
