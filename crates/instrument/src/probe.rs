//! The probes of a method, and their code.

use perk_classfile::{
    Code, MAX_CODE_BYTES, MethodEdit, Operands, PoolEditor, PoolError, Reach, opcode,
};

use crate::helper::{Calls, Helper};

/// The maximum size of code that HotSpot compiles, in bytes (`-XX:-DontCompileHugeMethods` lifts
/// it). Longer methods are always interpreted.
const HUGE_METHOD_BYTES: usize = 8000;

/// The maximum size of the code that pushes an `int`, in bytes, and of a call.
const PUSH_BYTES: usize = 3;
const CALL_BYTES: usize = 3;
const LDC_BYTES: usize = 3;

/// The maximum number of bytes by which the padding of a switch can grow.
const SWITCH_PADDING_BYTES: usize = 3;

/// A probe and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) pc: u16,
    pub(crate) reach: Reach,
    pub(crate) what: ProbeCall,
}

/// The argument that a probe passes to the helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeCall {
    /// The method's own number.
    Own(Helper),
    /// The current line.
    Line(u16),
    /// The number of a leaf.
    Leaf(Helper, u32),
    /// The new object or array on top of the operand stack.
    Fresh(Helper),
    /// `this`.
    This(Helper),
    /// Nothing.
    Plain(Helper),
    /// The object on top of the operand stack, which is duplicated and stays there.
    Receiver,
    /// The duplicated object and the new one above it; the former is removed.
    Cloned,
    /// The new object, and the class of the method, by its constant.
    ClonedAbove(u16),
}

impl ProbeCall {
    /// Whether the probe is at a place where the method itself cannot overflow its stack: at a
    /// handler, or before a return.
    fn must_not_throw(self) -> bool {
        matches!(self, Self::Own(Helper::CAUGHT | Helper::EXIT) | Self::This(Helper::MOUNTED))
    }

    /// Returns the maximum size of its code, in bytes.
    fn bytes(self) -> usize {
        match self {
            Self::Own(_) | Self::Line(_) | Self::Leaf(..) => PUSH_BYTES + CALL_BYTES,
            Self::Fresh(_) | Self::This(_) | Self::Cloned => 1 + CALL_BYTES,
            Self::Plain(_) => CALL_BYTES,
            Self::Receiver => 1,
            Self::ClonedAbove(_) => 1 + LDC_BYTES + CALL_BYTES,
        }
    }

    /// Returns the maximum number of words of the operand stack that it needs, or holds while
    /// `clone` is called.
    fn stack_words(self) -> u16 {
        match self {
            Self::Cloned | Self::ClonedAbove(_) => 2,
            Self::Own(_) | Self::Line(_) | Self::Leaf(..) | Self::Fresh(_) => 1,
            Self::This(_) | Self::Receiver => 1,
            Self::Plain(_) => 0,
        }
    }

    /// Whether it is needed if only the method's own calls and allocations are counted.
    fn is_least(self) -> bool {
        match self {
            Self::Own(helper) => helper == Helper::TOUCH,
            Self::Fresh(_) | Self::This(_) | Self::Plain(_) => true,
            Self::Receiver | Self::Cloned | Self::ClonedAbove(_) => true,
            Self::Line(_) | Self::Leaf(..) => false,
        }
    }
}

/// Whether an instruction jumps back.
fn has_loop(code: &Code<'_>) -> bool {
    code.instructions().filter_map(Result::ok).any(|instruction| {
        let is_back = |target: i32| target <= i32::from(instruction.pc);
        match instruction.operands() {
            Operands::Branch(target) => is_back(target),
            Operands::Switch(switch) => {
                is_back(switch.default_target()) || switch.cases().any(|(_, it)| is_back(it))
            }
            _ => false,
        }
    })
}

/// The probes that a method is to have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) probes: Vec<Probe>,
    /// The pc from which unwinding is observed, if at all.
    pub(crate) unwinding: Option<u16>,
    /// The pcs of returns, in their order.
    pub(crate) returns: Vec<u16>,
    pub(crate) switch_count: usize,
}

impl Plan {
    pub(crate) fn clear(&mut self) {
        self.probes.clear();
        self.unwinding = None;
        self.returns.clear();
        self.switch_count = 0;
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
    /// resource bundle, is counted and not compiled, because it runs once.
    pub(crate) fn fit(&mut self, code: &Code<'_>) -> Result<(), String> {
        let is_huge = code.bytes().len() > HUGE_METHOD_BYTES
            || self.least_bytes(code) > HUGE_METHOD_BYTES && !has_loop(code);
        let limit = if is_huge { MAX_CODE_BYTES } else { HUGE_METHOD_BYTES };
        if self.most_bytes(code) <= limit {
            return Ok(());
        }
        self.probes.retain(|probe| !matches!(probe.what, ProbeCall::Line(_)));
        if self.most_bytes(code) <= limit {
            return Ok(());
        }
        self.probes.retain(|probe| probe.what != ProbeCall::Own(Helper::CAUGHT));
        self.unwinding = None;
        if self.most_bytes(code) <= limit {
            return Ok(());
        }
        for probe in &mut self.probes {
            if probe.what == ProbeCall::Own(Helper::ENTER) {
                probe.what = ProbeCall::Own(Helper::TOUCH);
            }
        }
        self.probes.retain(|probe| probe.what.is_least());
        match self.most_bytes(code) {
            bytes if bytes <= limit => Ok(()),
            bytes if is_huge => Err(format!("its code could have {bytes} bytes, {limit} at most")),
            bytes => Err(format!(
                "its code could have {bytes} bytes, and HotSpot compiles none of more than {limit}"
            )),
        }
    }

    /// Returns the maximum size of the code with the fewest probes, in bytes.
    fn least_bytes(&self, code: &Code<'_>) -> usize {
        let whats = self.probes.iter().map(|probe| probe.what);
        let least = whats.filter(|what| what.is_least() || *what == ProbeCall::Own(Helper::ENTER));
        self.bytes_with(code, least.map(ProbeCall::bytes).sum())
    }

    /// Returns the maximum size of the code with all probes, in bytes, unless branches must be
    /// widened.
    fn most_bytes(&self, code: &Code<'_>) -> usize {
        let probes: usize = self.probes.iter().map(|probe| probe.what.bytes()).sum();
        let unwinding = self.unwinding.map_or(0, |_| PUSH_BYTES + CALL_BYTES + 1);
        self.bytes_with(code, probes + unwinding + self.containment_bytes(code))
    }

    /// Returns the maximum size, in bytes, of the code that keeps values where exceptions of probes
    /// are dropped, and of the handlers that drop them.
    fn containment_bytes(&self, code: &Code<'_>) -> usize {
        // An instruction that reads or writes a local variable.
        let local = if code.max_locals() < u8::MAX.into() { 2 } else { 4 };
        let whats = || self.probes.iter().map(|probe| probe.what);
        let at_handlers = whats().filter(|what| *what == ProbeCall::Own(Helper::CAUGHT)).count();
        let contained = whats().filter(|what| what.must_not_throw()).count();
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
        calls: &mut Calls,
        pool: &mut PoolEditor<'_>,
        edit: &mut MethodEdit,
    ) -> Result<(), PoolError> {
        edit.clear();
        edit.need_stack(1);
        let mut own = Vec::new();
        pool.push_int(&mut own, number as i32)?;
        let mut bytes = Vec::new();
        for Probe { pc, reach, what } in &self.probes {
            bytes.clear();
            edit.need_stack(what.stack_words());
            let helper = match *what {
                ProbeCall::Own(helper) => {
                    bytes.extend_from_slice(&own);
                    helper
                }
                ProbeCall::Line(line) => {
                    pool.push_int(&mut bytes, line.into())?;
                    Helper::LINE
                }
                ProbeCall::Leaf(helper, number) => {
                    pool.push_int(&mut bytes, number as i32)?;
                    helper
                }
                ProbeCall::Fresh(helper) => {
                    bytes.push(opcode::DUP);
                    helper
                }
                ProbeCall::This(helper) => {
                    bytes.push(opcode::ALOAD_0);
                    helper
                }
                ProbeCall::Plain(helper) => helper,
                ProbeCall::Receiver => {
                    edit.insert(*pc, *reach, &[opcode::DUP]);
                    continue;
                }
                ProbeCall::Cloned => {
                    bytes.push(opcode::DUP_X1);
                    Helper::CLONED
                }
                ProbeCall::ClonedAbove(class) => {
                    let [high, low] = class.to_be_bytes();
                    bytes.extend([opcode::DUP, opcode::LDC_W, high, low]);
                    Helper::CLONED_ABOVE
                }
            };
            bytes.extend(calls.get(helper, pool)?);
            if what.must_not_throw() {
                edit.insert_contained(*pc, &bytes);
            } else {
                edit.insert(*pc, *reach, &bytes);
            }
        }
        if let Some(start) = self.unwinding {
            own.extend(calls.get(Helper::EXIT, pool)?);
            edit.catch_all(1, &own);
            self.cover(start..code.end_pc(), edit);
        }
        Ok(())
    }

    /// Covers all instructions except the returns, where the method's exit is reported already.
    fn cover(&self, range: std::ops::Range<u16>, edit: &mut MethodEdit) {
        let mut start = range.start;
        for &pc in self.returns.iter().filter(|pc| **pc >= range.start) {
            if start < pc {
                edit.cover(start..pc);
            }
            start = pc + 1;
        }
        if start < range.end {
            edit.cover(start..range.end);
        }
    }
}
