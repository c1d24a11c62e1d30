//! The probes of a method, and their code.

use perk_classfile::{
    Code, LocalType, MAX_CODE_BYTES, MethodEdit, PoolEditor, PoolError, Reach, access_bytes,
    opcode, push_access,
};

use crate::helper::{HELPER, Helper, StateField, Uses};
use crate::{PLACE_SHIFT, Probes};

/// The maximum size of code that HotSpot compiles, in bytes (`-XX:-DontCompileHugeMethods` lifts
/// it). Longer methods are always interpreted.
pub(crate) const HUGE_METHOD_BYTES: usize = 8000;

/// The maximum size of the code that pushes an `int`, in bytes, and of a call.
const PUSH_BYTES: usize = 3;
const CALL_BYTES: usize = 3;
const LDC_BYTES: usize = 3;
const FIELD_BYTES: usize = 3;

/// The maximum number of bytes by which the padding of a switch can grow.
const SWITCH_PADDING_BYTES: usize = 3;

/// A probe and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) pc: u16,
    pub(crate) reach: Reach,
    pub(crate) what: ProbeCall,
}

/// The action of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeCall {
    /// Enters the method, and fills the local variables.
    Enter,
    /// Counts the method, which is not entered.
    Touch,
    /// Restores the position of the caller, as the method ends.
    Exit,
    /// Restores the method's own position: an exception has ended its callees.
    Caught,
    /// Enters a leaf, by its number.
    EnterLeaf(u32),
    /// Restores the method's own position after a leaf's call.
    ExitLeaf,
    /// Counts an execution by a counter of the thread, given with the method that counts.
    Count(Helper, u32),
    /// Stores the current place in the position.
    Place(u16),
    /// Passes the new object or array on top of the operand stack.
    Fresh(Helper),
    /// The same with the number of the site.
    FreshAt(Helper, u32),
    /// Passes a new object in a local variable, and the number of its site.
    LocalAt(u16, u32),
    /// Passes a duplicate of a new object on top of the operand stack, which is removed, and the number of its site.
    SpareAt(u32),
    /// Passes `this`.
    This(Helper),
    /// Passes nothing.
    Plain(Helper),
    /// Duplicates the object on top of the operand stack.
    Receiver,
    /// Passes the duplicated object and the new one above it; the former is removed.
    Cloned,
    /// Passes the new object, and the class of the method, by its constant.
    ClonedAbove(u16),
    /// As [`Cloned`](Self::Cloned), with the number of the site.
    ClonedAt(u32),
    /// As [`ClonedAbove`](Self::ClonedAbove), with the number of the site.
    ClonedAboveAt(u16, u32),
}

/// The way in which a position becomes the thread's again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restoration {
    /// It is stored. The JIT compilers may drop or move the store.
    Stored,
    /// It is stored, and the store stays in its place: a clock reads it.
    Fenced,
    /// It is passed to the helper, which reads the time.
    Passed,
}

impl Restoration {
    pub(crate) fn of(probes: Probes) -> Self {
        match probes {
            Probes { leaving: true, .. } => Self::Passed,
            Probes { timed: true, .. } => Self::Fenced,
            _ => Self::Stored,
        }
    }

    /// Returns the maximum size of its code in bytes, with `local` bytes for the access of a local
    /// variable.
    fn bytes(self, local: usize) -> usize {
        let fence = if self == Self::Fenced { 1 + FIELD_BYTES + 1 } else { 0 };
        2 * local + FIELD_BYTES + fence
    }

    fn calls(self) -> bool {
        self == Self::Passed
    }
}

impl ProbeCall {
    /// Whether the probe is at a place where the method itself cannot overflow its stack, and calls
    /// the helper.
    fn is_contained(self, restoring: Restoration) -> bool {
        match self {
            Self::Exit | Self::Caught => restoring.calls(),
            Self::This(helper) => helper == Helper::MOUNTED,
            _ => false,
        }
    }

    /// Whether it uses the method's own position.
    fn needs_own(self) -> bool {
        matches!(self, Self::Caught | Self::ExitLeaf | Self::Place(_))
    }

    /// Returns the maximum size of its code in bytes, with `local` bytes for the access of a local
    /// variable.
    fn bytes(self, local: usize, restoring: Restoration) -> usize {
        match self {
            Self::Enter => PUSH_BYTES + CALL_BYTES + 2 + 2 * FIELD_BYTES + 3 * local,
            Self::Touch | Self::EnterLeaf(_) | Self::Count(..) => PUSH_BYTES + CALL_BYTES,
            Self::Exit | Self::Caught | Self::ExitLeaf => restoring.bytes(local),
            Self::Place(_) => 2 * local + LDC_BYTES + 1 + FIELD_BYTES,
            Self::Fresh(_) | Self::This(_) | Self::Cloned => 1 + CALL_BYTES,
            Self::FreshAt(..) | Self::ClonedAt(_) | Self::SpareAt(_) => 1 + PUSH_BYTES + CALL_BYTES,
            Self::LocalAt(..) => 4 + PUSH_BYTES + CALL_BYTES,
            Self::Plain(_) => CALL_BYTES,
            Self::Receiver => 1,
            Self::ClonedAbove(_) => 1 + LDC_BYTES + CALL_BYTES,
            Self::ClonedAboveAt(..) => 1 + LDC_BYTES + PUSH_BYTES + CALL_BYTES,
        }
    }

    /// Returns the maximum number of words of the operand stack that it needs, or holds while
    /// `clone` is called.
    fn stack_words(self) -> u16 {
        match self {
            Self::Place(_) => 5,
            Self::Exit | Self::Caught | Self::ExitLeaf => 4,
            Self::Enter | Self::ClonedAt(_) | Self::ClonedAboveAt(..) => 3,
            Self::Cloned | Self::ClonedAbove(_) | Self::FreshAt(..) | Self::LocalAt(..) => 2,
            Self::Touch | Self::EnterLeaf(_) | Self::Count(..) => 1,
            Self::Fresh(_) | Self::This(_) | Self::Receiver | Self::SpareAt(_) => 1,
            Self::Plain(_) => 0,
        }
    }

    /// Whether it is needed if only the method's own calls and allocations are counted.
    fn is_least(self) -> bool {
        match self {
            Self::Touch | Self::Count(..) => true,
            Self::Fresh(_) | Self::This(_) | Self::Plain(_) => true,
            Self::Receiver | Self::Cloned | Self::ClonedAbove(_) => true,
            Self::FreshAt(..) | Self::LocalAt(..) | Self::SpareAt(_) => true,
            Self::ClonedAt(_) | Self::ClonedAboveAt(..) => true,
            Self::Enter | Self::Exit | Self::Caught => false,
            Self::Place(_) | Self::EnterLeaf(_) | Self::ExitLeaf => false,
        }
    }
}

/// The local variables that a method gets.
#[derive(Clone, Copy, Debug)]
struct Locals {
    /// The thread's state.
    state: u16,
    /// The position of the caller.
    caller: u16,
    /// The method's own position, if it needs it.
    own: Option<u16>,
}

impl Locals {
    /// The words of all of them.
    const MOST_WORDS: u16 = 5;

    /// Places them after the method's own.
    fn after(code: &Code<'_>, needs_own: bool) -> Self {
        let state = code.max_locals();
        let after = |words| state.saturating_add(words);
        Self { state, caller: after(1), own: needs_own.then(|| after(3)) }
    }

    /// Adds them to a method.
    fn add_to(self, edit: &mut MethodEdit, class: u16) {
        edit.add_local(LocalType::Object(class));
        edit.add_local(LocalType::Long);
        if self.own.is_some() {
            edit.add_local(LocalType::Long);
        }
    }
}

/// Whether an instruction jumps back.
fn has_loop(code: &Code<'_>) -> bool {
    code.instructions()
        .filter_map(Result::ok)
        .any(|instruction| instruction.targets().any(|target| target <= i32::from(instruction.pc)))
}

/// The probes that a method is to have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) probes: Vec<Probe>,
    /// The pc from which unwinding is observed, if at all.
    pub(crate) unwinding: Option<u16>,
    pub(crate) switch_count: usize,
    /// The most words that duplicates of new objects hold on the operand stack while their constructors run.
    pub(crate) held_words: u16,
}

impl Plan {
    pub(crate) fn clear(&mut self) {
        self.probes.clear();
        self.unwinding = None;
        self.switch_count = 0;
        self.held_words = 0;
    }

    pub(crate) fn add(&mut self, pc: u16, reach: Reach, what: ProbeCall) {
        self.probes.push(Probe { pc, reach, what });
    }

    /// Removes the least important probes until the code is short enough, or returns an error if
    /// that is impossible. Lines are removed first, then the repair after exceptions, then all
    /// probes except those that count the method itself. The calls that it makes are then
    /// attributed to its caller.
    ///
    /// A method without a loop that does not have room even for these, such as the table of a
    /// resource bundle, is counted and not compiled, because it runs once. So is each method whose
    /// blocks are counted: its counts must be exact. Counters take `counter_bytes` of the code.
    pub(crate) fn fit(
        &mut self,
        code: &Code<'_>,
        restoring: Restoration,
        counter_bytes: usize,
        has_blocks: bool,
    ) -> Result<(), String> {
        let is_huge = has_blocks
            || code.bytes().len() > HUGE_METHOD_BYTES
            || self.least_bytes(code) + counter_bytes > HUGE_METHOD_BYTES && !has_loop(code);
        let limit = if is_huge { MAX_CODE_BYTES } else { HUGE_METHOD_BYTES };
        let limit = limit.saturating_sub(counter_bytes);
        if self.most_bytes(code, restoring) <= limit {
            return Ok(());
        }
        self.probes.retain(|probe| !matches!(probe.what, ProbeCall::Place(_)));
        if self.most_bytes(code, restoring) <= limit {
            return Ok(());
        }
        self.probes.retain(|probe| probe.what != ProbeCall::Caught);
        self.unwinding = None;
        if self.most_bytes(code, restoring) <= limit {
            return Ok(());
        }
        for probe in &mut self.probes {
            if probe.what == ProbeCall::Enter {
                probe.what = ProbeCall::Touch;
            }
        }
        self.probes.retain(|probe| probe.what.is_least());
        match self.most_bytes(code, restoring) {
            bytes if bytes <= limit => Ok(()),
            bytes if is_huge => Err(format!("its code could have {bytes} bytes, {limit} at most")),
            bytes => Err(format!(
                "its code could have {bytes} bytes, and HotSpot compiles none of more than {limit}"
            )),
        }
    }

    /// Makes the method one that has no position: `count` counts its entries and those of the leaves that it calls, each by
    /// the counter that `counter` returns for it, and what it calls is attributed to its caller. Returns whether
    /// that is possible: a method that catches exceptions has to restore a position.
    pub(crate) fn give_up_position(
        &mut self,
        number: u32,
        count: Helper,
        counter: &mut dyn FnMut(u32) -> Option<u32>,
    ) -> bool {
        let needs_none = |probe: &Probe| {
            use ProbeCall::{Enter, EnterLeaf, Exit, ExitLeaf, Touch};
            matches!(probe.what, Enter | Touch | Exit | EnterLeaf(_) | ExitLeaf)
        };
        if !self.probes.iter().all(needs_none) {
            return false;
        }
        let mut probes = Vec::with_capacity(self.probes.len());
        for probe in &self.probes {
            let counted = match probe.what {
                ProbeCall::Enter | ProbeCall::Touch => number,
                ProbeCall::EnterLeaf(leaf) => leaf,
                _ => continue,
            };
            let Some(counter) = counter(counted) else { return false };
            probes.push(Probe { what: ProbeCall::Count(count, counter), ..*probe });
        }
        (self.probes, self.unwinding) = (probes, None);
        true
    }

    /// Returns the maximum size of the code with the fewest probes, in bytes.
    fn least_bytes(&self, code: &Code<'_>) -> usize {
        let least = self.probes.iter().map(|probe| match probe.what {
            ProbeCall::Enter => PUSH_BYTES + CALL_BYTES,
            what if what.is_least() => what.bytes(0, Restoration::Stored),
            _ => 0,
        });
        self.bytes_with(code, least.sum())
    }

    /// Returns the maximum size of the code with all probes, in bytes, unless branches must be
    /// widened.
    pub(crate) fn most_bytes(&self, code: &Code<'_>, restoring: Restoration) -> usize {
        let local = local_bytes(code);
        let probes: usize =
            self.probes.iter().map(|probe| probe.what.bytes(local, restoring)).sum();
        let unwinding = self.unwinding.map_or(0, |_| restoring.bytes(local) + 1);
        self.bytes_with(code, probes + unwinding + self.containment_bytes(local, restoring))
    }

    /// Returns the maximum size, in bytes, of the code that keeps values where exceptions of probes
    /// are dropped, and of the handlers that drop them.
    fn containment_bytes(&self, local: usize, restoring: Restoration) -> usize {
        let whats = || self.probes.iter().map(|probe| probe.what);
        let contained = whats().filter(|what| what.is_contained(restoring)).count();
        if contained == 0 {
            return 0;
        }
        let at_handlers = whats().filter(|what| *what == ProbeCall::Caught).count();
        let unwinds = usize::from(self.unwinding.is_some());
        let returns = usize::from(contained > at_handlers);
        // The handlers consist of `pop`, the value, and `goto_w`, or of a return or throw.
        2 * local * (contained + unwinds)
            + (local + 6) * at_handlers
            + (local + 2) * (unwinds + returns)
    }

    fn bytes_with(&self, code: &Code<'_>, probes_bytes: usize) -> usize {
        code.bytes().len() + probes_bytes + self.switch_count * SWITCH_PADDING_BYTES
    }

    /// Writes the probes of a method that has a number.
    pub(crate) fn write(
        &mut self,
        code: &Code<'_>,
        number: u32,
        restoring: Restoration,
        uses: &mut Uses,
        pool: &mut PoolEditor<'_>,
        edit: &mut MethodEdit,
    ) -> Result<(), PoolError> {
        edit.clear();
        let needs_own = self.probes.iter().any(|probe| probe.what.needs_own());
        let locals = Locals::after(code, needs_own);
        let mut writer = ProbeAssembler { number, locals, restoring, uses, pool };
        let mut bytes = Vec::new();
        for Probe { pc, reach, what } in &self.probes {
            bytes.clear();
            edit.need_stack(what.stack_words() + self.held_words);
            writer.write(*what, &mut bytes)?;
            if what.is_contained(restoring) {
                edit.insert_contained(*pc, &bytes);
            } else {
                edit.insert(*pc, *reach, &bytes);
            }
            if *what == ProbeCall::Enter {
                locals.add_to(edit, writer.uses.class(HELPER, writer.pool)?);
            }
        }
        if let Some(start) = self.unwinding {
            bytes.clear();
            writer.write(ProbeCall::Exit, &mut bytes)?;
            let stack = ProbeCall::Exit.stack_words();
            match restoring.calls() {
                true => edit.catch_all_contained(stack, &bytes),
                false => edit.catch_all(stack, &bytes),
            }
            edit.cover(start..code.end_pc());
        }
        Ok(())
    }
}

/// Returns the maximum size of the instruction that loads or stores one of the added local
/// variables, in bytes.
pub(crate) fn local_bytes(code: &Code<'_>) -> usize {
    access_bytes(code.max_locals().saturating_add(Locals::MOST_WORDS).max(4)) as usize
}

/// Writes the code of a method's probes.
struct ProbeAssembler<'w, 'c> {
    number: u32,
    locals: Locals,
    restoring: Restoration,
    uses: &'w mut Uses,
    pool: &'w mut PoolEditor<'c>,
}

impl ProbeAssembler<'_, '_> {
    fn write(&mut self, what: ProbeCall, out: &mut Vec<u8>) -> Result<(), PoolError> {
        let Locals { state, caller, own } = self.locals;
        let own = own.unwrap_or(caller);
        match what {
            ProbeCall::Enter => {
                self.pool.push_int(out, self.number as i32)?;
                self.call(Helper::ENTER, out)?;
                out.push(opcode::DUP);
                let needs_own = self.locals.own.is_some();
                if needs_own {
                    out.push(opcode::DUP);
                }
                push_access(out, opcode::ASTORE, state);
                self.get(StateField::CALLER, caller, out)?;
                if needs_own {
                    self.get(StateField::CONTEXT, own, out)?;
                }
            }
            ProbeCall::Touch => {
                self.pool.push_int(out, self.number as i32)?;
                self.call(Helper::TOUCH, out)?;
            }
            ProbeCall::Exit => self.restore(caller, out)?,
            ProbeCall::Caught | ProbeCall::ExitLeaf => self.restore(own, out)?,
            ProbeCall::EnterLeaf(number) => {
                self.pool.push_int(out, number as i32)?;
                self.call(Helper::ENTER_LEAF, out)?;
            }
            ProbeCall::Count(helper, counter) => {
                self.pool.push_int(out, counter as i32)?;
                self.call(helper, out)?;
            }
            ProbeCall::Place(place) => {
                push_access(out, opcode::ALOAD, state);
                push_access(out, opcode::LLOAD, own);
                self.pool.push_long(out, i64::from(place) << PLACE_SHIFT)?;
                out.push(opcode::LOR);
                out.extend(self.uses.field(opcode::PUTFIELD, StateField::CONTEXT, self.pool)?);
            }
            ProbeCall::Fresh(helper) => {
                out.push(opcode::DUP);
                self.call(helper, out)?;
            }
            ProbeCall::FreshAt(helper, site) => {
                out.push(opcode::DUP);
                self.call_at(helper, site, out)?;
            }
            ProbeCall::LocalAt(local, site) => {
                push_access(out, opcode::ALOAD, local);
                self.call_at(Helper::CREATED_AT, site, out)?;
            }
            ProbeCall::SpareAt(site) => self.call_at(Helper::CREATED_AT, site, out)?,
            ProbeCall::This(helper) => {
                out.push(opcode::ALOAD_0);
                self.call(helper, out)?;
            }
            ProbeCall::Plain(helper) => self.call(helper, out)?,
            ProbeCall::Receiver => out.push(opcode::DUP),
            ProbeCall::Cloned => {
                out.push(opcode::DUP_X1);
                self.call(Helper::CLONED, out)?;
            }
            ProbeCall::ClonedAbove(class) => {
                let [high, low] = class.to_be_bytes();
                out.extend([opcode::DUP, opcode::LDC_W, high, low]);
                self.call(Helper::CLONED_ABOVE, out)?;
            }
            ProbeCall::ClonedAt(site) => {
                out.push(opcode::DUP_X1);
                self.call_at(Helper::CLONED_AT, site, out)?;
            }
            ProbeCall::ClonedAboveAt(class, site) => {
                let [high, low] = class.to_be_bytes();
                out.extend([opcode::DUP, opcode::LDC_W, high, low]);
                self.call_at(Helper::CLONED_ABOVE_AT, site, out)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, helper: Helper, out: &mut Vec<u8>) -> Result<(), PoolError> {
        out.extend(self.uses.call(helper, self.pool)?);
        Ok(())
    }

    /// Passes the number of a site as well.
    fn call_at(&mut self, helper: Helper, site: u32, out: &mut Vec<u8>) -> Result<(), PoolError> {
        self.pool.push_int(out, site as i32)?;
        self.call(helper, out)
    }

    /// Moves a field of the thread's state, which is on the operand stack, to a local variable.
    fn get(&mut self, field: StateField, to: u16, out: &mut Vec<u8>) -> Result<(), PoolError> {
        out.extend(self.uses.field(opcode::GETFIELD, field, self.pool)?);
        push_access(out, opcode::LSTORE, to);
        Ok(())
    }

    /// Makes a position that is in a local variable the thread's.
    fn restore(&mut self, from: u16, out: &mut Vec<u8>) -> Result<(), PoolError> {
        push_access(out, opcode::ALOAD, self.locals.state);
        if self.restoring == Restoration::Fenced {
            out.push(opcode::DUP);
        }
        push_access(out, opcode::LLOAD, from);
        out.extend(match self.restoring.calls() {
            true => self.uses.call(Helper::LEAVE, self.pool)?,
            false => self.uses.field(opcode::PUTFIELD, StateField::CONTEXT, self.pool)?,
        });
        if self.restoring == Restoration::Fenced {
            out.extend(self.uses.field(opcode::GETFIELD, StateField::FENCE, self.pool)?);
            out.push(opcode::POP);
        }
        Ok(())
    }
}
