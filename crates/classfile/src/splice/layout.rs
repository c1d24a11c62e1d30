//! The positions of the original code in the new code.

use super::contained::{ContainedCode, StackStore};
use crate::code::MAX_CODE_BYTES;
use crate::instruction::padding;
use crate::{Code, Instruction, MethodEdit, Operands, Reach, SkipReason, opcode};

/// The positions of an instruction in the new code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InstructionPlace {
    /// The start of the code inserted before it, or of the instruction if there is none.
    pub(super) before: u32,
    /// The new target of jumps to it: the start of the code inserted for all paths.
    pub(super) target: u32,
    /// The instruction itself.
    pub(super) itself: u32,
}

impl InstructionPlace {
    const NONE: Self = Self { before: u32::MAX, target: u32::MAX, itself: u32::MAX };

    const fn all(pc: u32) -> Self {
        Self { before: pc, target: pc, itself: pc }
    }
}

/// An instruction that is not copied unchanged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub(super) pc: u16,
    /// Its length in the original, in bytes.
    pub(super) length: u16,
    /// Whether it is a `goto` or `jsr` that becomes `goto_w` or `jsr_w`.
    pub(super) is_widened: bool,
}

/// Maps the pcs of a method's code to those that they have when code is inserted.
#[derive(Clone, Debug, Default)]
pub(super) struct CodeLayout {
    /// The places by pc; `InstructionPlace::NONE` if no instruction begins there. The last is the end of
    /// the code.
    places: Vec<InstructionPlace>,
    /// The branches and switches, by pc.
    jumps: Vec<Jump>,
    /// The edit's insertions in the order of the new code, without unreachable ones.
    insertions: Vec<u32>,
    /// The insertions whose exceptions are dropped.
    contained: Vec<ContainedCode>,
    /// All of the edit's insertions in the order of pcs.
    order: Vec<u32>,
    /// The pcs of `goto` and `jsr` that become wide, sorted.
    widened: Vec<u16>,
}

impl CodeLayout {
    /// Computes the layout of the new code.
    ///
    /// Growing code may separate a branch from its target by more than 16 bits can express. Then
    /// `goto` and `jsr` are widened. A conditional branch does not have a wide form: the opposite
    /// branch over a `goto_w` would need a frame after it, and the types of the stack and the
    /// locals there are known only by verifying the whole method. Such a method is not edited.
    /// (With all the probes of `xtask roundtrip-jdk`, no method of JDK 17 or 25 is affected.)
    pub(super) fn arrange(&mut self, code: &Code<'_>, edit: &MethodEdit) -> Result<(), SkipReason> {
        self.widened.clear();
        self.order.clear();
        let insertions = edit.insertions();
        self.order.extend(0..insertions.len() as u32);
        let key = |index: &u32| {
            let insertion = &insertions[*index as usize];
            (insertion.pc, insertion.reach, *index)
        };
        if !self.order.is_sorted_by_key(key) {
            self.order.sort_unstable_by_key(key);
        }
        loop {
            self.place(code, edit)?;
            // Widened branches make the code longer, which may take others out of reach.
            if self.end() <= i16::MAX as usize || !self.widen(code)? {
                return Ok(());
            }
        }
    }

    /// The length of the new code, without a handler after it.
    pub(super) fn end(&self) -> usize {
        self.places.last().map_or(0, |place| place.before as usize)
    }

    /// The pcs of the instructions in the original and in the new code, in their order.
    pub(super) fn instructions(&self) -> impl Iterator<Item = [u32; 2]> {
        let places = self.places.split_last().map_or(&[][..], |(_, places)| places);
        let pcs = (0..).zip(places).filter(|(_, place)| **place != InstructionPlace::NONE);
        pcs.map(|(pc, place)| [pc, place.itself])
    }

    /// The places of the instruction at a pc of the original code.
    pub(super) fn at(&self, pc: i32) -> Result<InstructionPlace, SkipReason> {
        let end = self.places.len() - 1;
        match self.boundary(pc) {
            Ok(_) if usize::try_from(pc) == Ok(end) => Err(SkipReason::NotAnInstruction { pc }),
            place => place,
        }
    }

    /// The places of the instruction at a pc of the original code, or of the code's end.
    pub(super) fn boundary(&self, pc: i32) -> Result<InstructionPlace, SkipReason> {
        let place = usize::try_from(pc).ok().and_then(|pc| self.places.get(pc));
        let place = place.filter(|place| **place != InstructionPlace::NONE);
        place.copied().ok_or(SkipReason::NotAnInstruction { pc })
    }

    /// The branches and switches, in the order of their pcs.
    pub(super) fn jumps(&self) -> &[Jump] {
        &self.jumps
    }

    /// The indexes of the edit's insertions, in the order of the new code.
    pub(super) fn insertions(&self) -> &[u32] {
        &self.insertions
    }

    /// The insertions whose exceptions are dropped, in the order of the new code.
    pub(super) fn contained(&self) -> &[ContainedCode] {
        &self.contained
    }

    fn place(&mut self, code: &Code<'_>, edit: &MethodEdit) -> Result<(), SkipReason> {
        let length = code.bytes().len();
        self.places.clear();
        self.places.resize(length + 1, InstructionPlace::NONE);
        self.jumps.clear();
        self.insertions.clear();
        self.contained.clear();
        let mut next = 0;
        let mut end = 0;
        let mut falls_through = true;
        for instruction in code.instructions() {
            let instruction = instruction?;
            let mut place = InstructionPlace::all(end);
            while let Some(&index) = self.order.get(next) {
                let insertion = &edit.insertions()[index as usize];
                if insertion.pc > instruction.pc {
                    break;
                }
                if insertion.pc < instruction.pc {
                    return Err(SkipReason::NotAnInstruction { pc: insertion.pc.into() });
                }
                next += 1;
                let mut bytes = edit.code(insertion).len() as u32;
                if insertion.is_contained {
                    let kept = StackStore::before(&instruction, code, edit);
                    let start = place.itself + kept.bytes();
                    let covered = start..start + bytes;
                    bytes += 2 * kept.bytes();
                    let end = place.itself + bytes;
                    self.contained.push(ContainedCode { pc: instruction.pc, covered, end, kept });
                }
                match insertion.reach {
                    // Unreachable code would need a frame of its own.
                    Reach::FallThrough if !falls_through => continue,
                    Reach::FallThrough => place.target += bytes,
                    Reach::All => {}
                }
                place.itself += bytes;
                self.insertions.push(index);
            }
            self.places[usize::from(instruction.pc)] = place;
            end = place.itself + self.new_length(&instruction, place.itself);
            if end as usize > MAX_CODE_BYTES {
                let (what, limit) = ("bytes of code", MAX_CODE_BYTES);
                return Err(SkipReason::TooLarge { what, value: end as usize, limit });
            }
            falls_through = instruction.falls_through();
        }
        if let Some(&index) = self.order.get(next) {
            let pc = edit.insertions()[index as usize].pc;
            return Err(SkipReason::NotAnInstruction { pc: pc.into() });
        }
        self.places[length] = InstructionPlace::all(end);
        Ok(())
    }

    /// Returns the length of an instruction at `at`, in bytes. Records it if it is a branch or
    /// switch.
    fn new_length(&mut self, instruction: &Instruction<'_>, at: u32) -> u32 {
        let &Instruction { pc, opcode, bytes } = instruction;
        let length = bytes.len() as u32;
        let mut is_widened = false;
        let new_length = match opcode {
            opcode::TABLESWITCH | opcode::LOOKUPSWITCH => {
                length - padding(pc.into()) as u32 + padding(at) as u32
            }
            opcode::GOTO | opcode::JSR => {
                is_widened = !self.widened.is_empty() && self.widened.binary_search(&pc).is_ok();
                if is_widened { 5 } else { length }
            }
            opcode::IFEQ..=opcode::JSR | opcode::IFNULL..=opcode::JSR_W => length,
            _ => return length,
        };
        self.jumps.push(Jump { pc, length: length as u16, is_widened });
        new_length
    }

    /// Finds the branches that are too far from their targets; returns false if there are none.
    fn widen(&mut self, code: &Code<'_>) -> Result<bool, SkipReason> {
        let known = self.widened.len();
        for jump in self.jumps.iter().filter(|jump| jump.length == 3 && !jump.is_widened) {
            let instruction = code.instruction_at(jump.pc)?;
            let Operands::Branch(target) = instruction.operands() else { continue };
            let offset =
                i64::from(self.at(target)?.target) - i64::from(self.at(jump.pc.into())?.itself);
            if i16::try_from(offset).is_err() {
                match instruction.opcode {
                    opcode::GOTO | opcode::JSR => self.widened.push(jump.pc),
                    _ => return Err(SkipReason::BranchTooFar { pc: jump.pc }),
                }
            }
        }
        self.widened.sort_unstable();
        Ok(self.widened.len() > known)
    }
}
