//! Inserted code whose exceptions are dropped, and its handlers after the method's code.

use std::ops::Range;

use super::frames::{TrailerFrame, TrailerLocals};
use super::layout::CodeLayout;
use crate::edit::HandlerCode;
use crate::instruction::{access_bytes, push_access};
use crate::{Code, Instruction, MethodEdit, opcode};

/// The contents of the operand stack where the code is inserted, and the local variable that keeps
/// them: an exception handler discards the operand stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StackStore {
    /// No value that is needed later.
    Nothing,
    /// A value in a local variable.
    Value {
        /// The kind, in the order of the instructions: int, long, float, double, reference.
        kind: u8,
        local: u16,
    },
}

const LONG: u8 = 1;
const DOUBLE: u8 = 3;
const REFERENCE: u8 = 4;

/// The last words of a method's own local variables, or the first after all local variables if it
/// has too few. Parameters are left alone: Flight Recorder of JDK 17 copies whole methods into
/// others that continue with the same parameters.
fn reused(code: &Code<'_>, edit: &MethodEdit, words: u16) -> u16 {
    match code.max_locals().checked_sub(words).filter(|it| *it >= code.parameter_words()) {
        Some(own) => own,
        None => free(code, edit),
    }
}

/// The first word after all local variables.
fn free(code: &Code<'_>, edit: &MethodEdit) -> u16 {
    code.max_locals().saturating_add(edit.local_words())
}

impl StackStore {
    /// Returns the contents of the stack before an instruction that returns, or at an exception
    /// handler.
    pub(super) fn before(
        instruction: &Instruction<'_>,
        code: &Code<'_>,
        edit: &MethodEdit,
    ) -> Self {
        let free = free(code, edit);
        match instruction.opcode {
            opcode::RETURN => Self::Nothing,
            opcode @ opcode::IRETURN..opcode::RETURN => {
                let kind = opcode - opcode::IRETURN;
                let words = if matches!(kind, LONG | DOUBLE) { 2 } else { 1 };
                let mut table = code.exception_table();
                let is_covered = table.any(|it| (it.start_pc..it.end_pc).contains(&instruction.pc));
                // The method does not need its own local variables any more, unless a handler uses
                // them.
                let local = if is_covered { free } else { reused(code, edit, words) };
                Self::Value { kind, local }
            }
            _ => Self::Value { kind: REFERENCE, local: free },
        }
    }

    /// An exception, at a point after which no local variable of the method is needed.
    pub(super) fn last_exception(code: &Code<'_>, edit: &MethodEdit) -> Self {
        Self::Value { kind: REFERENCE, local: reused(code, edit, 1) }
    }

    /// The number of words of local variables needed.
    pub(super) fn locals(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Value { kind: LONG | DOUBLE, local } => usize::from(local) + 2,
            Self::Value { local, .. } => usize::from(local) + 1,
        }
    }

    /// The length in bytes of the instruction that stores it, and of the one that loads it.
    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Value { local, .. } => access_bytes(local),
        }
    }

    pub(super) fn store(self, out: &mut Vec<u8>) {
        if let Self::Value { kind, local } = self {
            push_access(out, opcode::ISTORE + kind, local);
        }
    }

    pub(super) fn load(self, out: &mut Vec<u8>) {
        if let Self::Value { kind, local } = self {
            push_access(out, opcode::ILOAD + kind, local);
        }
    }
}

/// The position of contained code in the new code.
#[derive(Clone, Debug)]
pub(super) struct ContainedCode {
    /// The pc in the original code.
    pub(super) pc: u16,
    /// The code, without the instructions that store the operand stack.
    pub(super) covered: Range<u32>,
    /// The pc at which the method continues.
    pub(super) end: u32,
    pub(super) kept: StackStore,
}

/// The code after the method's own: the handler of all exceptions, and the handlers that drop
/// exceptions.
#[derive(Clone, Debug, Default)]
pub(super) struct Trailer {
    pub(super) code: Vec<u8>,
    /// The ranges covered by the handlers that drop exceptions, each with the pc of its handler.
    pub(super) covered: Vec<(Range<u32>, u32)>,
    /// The frames, in the order of their pcs.
    pub(super) frames: Vec<TrailerFrame>,
    /// The number of words of local variables needed.
    pub(super) locals: usize,
}

impl Trailer {
    /// Makes the trailer that a method needs.
    pub(super) fn new(code: &Code<'_>, edit: &MethodEdit, layout: &CodeLayout) -> Self {
        let mut trailer = Self::default();
        if let Some(handler) = edit.handler() {
            trailer.catch_all(code, edit, handler, layout);
        }
        trailer.resume_returns(code, layout);
        for contained in layout.contained().iter().filter(|it| !returns(code, it.pc)) {
            let ContainedCode { pc, end: resumed, kept, .. } = *contained;
            let locals = TrailerLocals::At { pc, kept, resumed };
            let handler = trailer.handler(layout, kept, locals);
            trailer.covered.push((contained.covered.clone(), handler));
            trailer.goto(layout, resumed);
        }
        trailer
    }

    /// Adds the handler of all exceptions.
    fn catch_all(
        &mut self,
        code: &Code<'_>,
        edit: &MethodEdit,
        handler: HandlerCode<'_>,
        layout: &CodeLayout,
    ) {
        self.frames.push(TrailerFrame { pc: self.pc(layout), locals: TrailerLocals::Added });
        if !handler.is_contained {
            self.code.extend_from_slice(handler.code);
            self.code.push(opcode::ATHROW);
            return;
        }
        let kept = StackStore::last_exception(code, edit);
        kept.store(&mut self.code);
        let start = self.pc(layout);
        self.code.extend_from_slice(handler.code);
        let covered = start..self.pc(layout);
        kept.load(&mut self.code);
        self.code.push(opcode::ATHROW);
        let drops = self.handler(layout, kept, TrailerLocals::Exception(kept));
        self.covered.push((covered, drops));
        self.code.push(opcode::ATHROW);
    }

    /// Adds one handler for all code before returns, which returns.
    fn resume_returns(&mut self, code: &Code<'_>, layout: &CodeLayout) {
        let mut handlers: Vec<(StackStore, u32)> = Vec::new();
        for contained in layout.contained().iter().filter(|it| returns(code, it.pc)) {
            let kept = contained.kept;
            let known = handlers.iter().find(|it| it.0 == kept).map(|it| it.1);
            let handler = known.unwrap_or_else(|| {
                let handler = self.handler(layout, kept, TrailerLocals::Returned(kept));
                self.code.push(code.bytes()[usize::from(contained.pc)]);
                handlers.push((kept, handler));
                handler
            });
            self.covered.push((contained.covered.clone(), handler));
        }
    }

    /// Begins a handler that drops the exception and loads the kept value; returns its pc.
    fn handler(&mut self, layout: &CodeLayout, kept: StackStore, locals: TrailerLocals) -> u32 {
        let pc = self.pc(layout);
        self.frames.push(TrailerFrame { pc, locals });
        self.code.push(opcode::POP);
        kept.load(&mut self.code);
        self.locals = self.locals.max(kept.locals());
        pc
    }

    fn goto(&mut self, layout: &CodeLayout, target: u32) {
        // Both pcs are below 2^31: code that is too long is refused before it is written.
        let offset = target as i32 - self.pc(layout) as i32;
        match i16::try_from(offset) {
            Ok(short) => {
                self.code.push(opcode::GOTO);
                self.code.extend(short.to_be_bytes());
            }
            Err(_) => {
                self.code.push(opcode::GOTO_W);
                self.code.extend(offset.to_be_bytes());
            }
        }
    }

    fn pc(&self, layout: &CodeLayout) -> u32 {
        (layout.end() + self.code.len()) as u32
    }
}

/// Whether the instruction at a pc of the original code returns.
fn returns(code: &Code<'_>, pc: u16) -> bool {
    matches!(code.bytes()[usize::from(pc)], opcode::IRETURN..=opcode::RETURN)
}
