//! The objects that are not initialised yet: the calls of their constructors, and the places where
//! the objects are after these calls.
//!
//! The search follows the references to such objects on the operand stack and in local variables,
//! as the JVM's verifier does. It does not follow anything else.

mod stack;

use crate::{Code, Error, Handler, Instruction, MemberRef, Operands, opcode};
use stack::{StackState, Word};

/// The calls of constructors in a method's code, and the writes before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initializations {
    /// The calls that can be reached, in the order of pcs.
    pub calls: Vec<Initialization>,
    /// The writes of fields of `this` before it is initialised, in the order of pcs.
    pub early_writes: Vec<EarlyWrite>,
}

/// A call of a constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initialization {
    /// The pc after the call.
    pub next_pc: u16,
    /// The object on which it is called.
    pub object: UninitializedObject,
    /// The place of the object after the call.
    pub place: Place,
}

/// An object that is not initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UninitializedObject {
    /// The object of a constructor.
    This,
    /// The object that the `new` at a pc has made.
    New(u16),
    /// One of these, but it is not known which.
    Unknown,
}

/// The place of an object after the call of its constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On top of the operand stack.
    Top,
    /// In a local variable.
    Local(u16),
    /// Nowhere; a `dup` directly after the `new` would leave it on top of the operand stack. No
    /// path leads into the code between the two or out of it, but for exceptions.
    Dropped {
        /// The number of words that such `dup`s can hold on the operand stack until this call.
        held: u16,
    },
    /// It is not known.
    Unknown,
}

/// A write of a field of `this` before it is initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyWrite {
    /// The pc of the `putfield`.
    pub pc: u16,
    /// Whether it runs exactly once before any call of another constructor.
    pub is_certain: bool,
}

/// The maximum number of passes over the code. The code of compilers needs one more than the depth
/// to which it nests loops that begin with a jump to their end.
const MOST_PASSES: usize = 200;

impl Code<'_> {
    /// Finds the calls of constructors. `None` if the method's control flow is too intricate.
    ///
    /// # Errors
    ///
    /// If the code, or a constant that it names, cannot be read.
    pub fn initializations(&self, is_constructor: bool) -> Result<Option<Initializations>, Error> {
        let mut walk = Walk::new(self)?;
        for _ in 0..MOST_PASSES {
            let found = walk.pass(StackState::at_entry(is_constructor))?;
            if !walk.is_changed {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The pcs where paths can meet or handlers change, sorted: the targets of branches and
    /// switches, and the starts, ends and targets in the exception table. Those outside the code
    /// are left out.
    ///
    /// # Errors
    ///
    /// If the code cannot be read.
    pub fn labels(&self) -> Result<Vec<u16>, Error> {
        let table = self.exception_table();
        let mut labels: Vec<u16> =
            table.flat_map(|it| [it.start_pc, it.end_pc, it.handler_pc]).collect();
        for instruction in self.instructions() {
            labels.extend(instruction?.targets().filter_map(|it| u16::try_from(it).ok()));
        }
        labels.sort_unstable();
        labels.dedup();
        Ok(labels)
    }
}

/// Passes over a method's code. Each begins with the states that the earlier ones have found.
struct Walk<'w, 'c> {
    code: &'w Code<'c>,
    labels: Vec<u16>,
    /// The state at each label that is known to be reached.
    states: Vec<Option<StackState>>,
    handlers: Vec<Handler>,
    /// Whether a state has changed after the pass had used it.
    is_changed: bool,
}

impl<'w, 'c> Walk<'w, 'c> {
    fn new(code: &'w Code<'c>) -> Result<Self, Error> {
        let labels = code.labels()?;
        let states = labels.iter().map(|_| None).collect();
        let handlers = code.exception_table().collect();
        Ok(Self { code, labels, states, handlers, is_changed: false })
    }

    fn pass(&mut self, entry: StackState) -> Result<Initializations, Error> {
        let mut found = Initializations::default();
        // `None` where no path is known to lead.
        let mut state = Some(entry);
        let mut next_label = 0;
        let mut is_straight = true;
        self.is_changed = false;
        for instruction in self.code.instructions() {
            let instruction = instruction?;
            let pc = instruction.pc;
            while self.labels.get(next_label).is_some_and(|label| *label < pc) {
                next_label += 1;
            }
            let is_label = self.labels.get(next_label) == Some(&pc);
            if is_label {
                is_straight = false;
                if let Some(state) = &state {
                    merge(&mut self.states[next_label], state);
                }
                state = self.states[next_label].as_ref().map(StackState::at_label);
            }
            let Some(now) = &mut state else { continue };
            if is_label || std::mem::take(&mut now.are_locals_changed) {
                self.throw(pc, now);
            }
            self.step(&instruction, now, is_straight, &mut found)?;
            let mut has_targets = false;
            for target in instruction.targets() {
                has_targets = true;
                self.join(pc, target, now);
            }
            if has_targets {
                is_straight = false;
                now.forget_dropped();
            }
            if matches!(instruction.opcode, opcode::JSR | opcode::JSR_W) {
                // The subroutine has taken the address to which it returns.
                now.run(1, 0);
            }
            if !instruction.falls_through() {
                state = None;
            }
        }
        Ok(found)
    }

    /// Brings a state to the target of a jump from `pc`.
    fn join(&mut self, pc: u16, target: i32, state: &StackState) {
        let label = u16::try_from(target).map(|target| self.labels.binary_search(&target));
        if let Ok(Ok(label)) = label {
            let is_new = merge(&mut self.states[label], state);
            self.is_changed |= is_new && target <= i32::from(pc);
        }
    }

    /// Brings a state to the handlers of the exceptions of the instruction at `pc`.
    fn throw(&mut self, pc: u16, state: &StackState) {
        for index in 0..self.handlers.len() {
            let Handler { start_pc, end_pc, handler_pc, .. } = self.handlers[index];
            if (start_pc..end_pc).contains(&pc) {
                self.join(pc, handler_pc.into(), &state.at_handler());
            }
        }
    }

    /// Runs an instruction.
    fn step(
        &self,
        instruction: &Instruction<'_>,
        state: &mut StackState,
        is_straight: bool,
        found: &mut Initializations,
    ) -> Result<(), Error> {
        let pool = self.code.class().pool();
        let pc = instruction.pc;
        match (instruction.opcode, instruction.operands()) {
            (opcode::NEW, _) => state.make(pc),
            (opcode::INVOKESPECIAL, Operands::Constant(index)) => {
                let callee = pool.member_ref(index)?;
                if callee.name == b"<init>" {
                    let words = stack::parameter_words(callee.descriptor);
                    let (object, place) = state.initialize(words);
                    let next_pc = instruction.next_pc();
                    found.calls.push(Initialization { next_pc, object, place });
                } else {
                    state.call(callee.descriptor, 1);
                }
            }
            (opcode::INVOKEVIRTUAL | opcode::INVOKEINTERFACE, Operands::Constant(index)) => {
                state.call(pool.member_ref(index)?.descriptor, 1);
            }
            (opcode::INVOKESTATIC, Operands::Constant(index)) => {
                state.call(pool.member_ref(index)?.descriptor, 0);
            }
            (opcode::INVOKEDYNAMIC, Operands::Constant(index)) => {
                state.call(pool.dynamic(index)?.1, 0);
            }
            (opcode::GETSTATIC..=opcode::PUTFIELD, Operands::Constant(index)) => {
                let MemberRef { descriptor, .. } = pool.member_ref(index)?;
                let words = stack::type_words(descriptor);
                match instruction.opcode {
                    opcode::GETSTATIC => state.run(0, words),
                    opcode::PUTSTATIC => state.run(words, 0),
                    opcode::GETFIELD => state.run(1, words),
                    _ => {
                        if state.peek(words) == Word::This {
                            found.early_writes.push(EarlyWrite { pc, is_certain: is_straight });
                        }
                        state.run(words + 1, 0);
                    }
                }
            }
            (opcode::MULTIANEWARRAY, Operands::MultiArray { dimensions, .. }) => {
                state.run(dimensions.into(), 1);
            }
            (opcode, Operands::Local(local)) => state.access(opcode, local),
            (opcode, _) => state.plain(opcode),
        }
        Ok(())
    }
}

/// Merges a state into that of a label; returns whether the latter has changed.
fn merge(label: &mut Option<StackState>, state: &StackState) -> bool {
    match label {
        Some(known) => known.meet(state),
        None => {
            *label = Some(state.at_label());
            true
        }
    }
}
