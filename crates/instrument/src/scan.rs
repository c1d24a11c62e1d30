//! The search for the places of a method's probes.

use perk_classfile::{
    ClassFile, Code, Error, Instruction, LineNumber, MemberRef, MethodEdit, Operands, Reach, opcode,
};
use rustc_hash::FxHashMap;

use crate::fresh;
use crate::helper::Helper;
use crate::probe::{Plan, ProbeCall};
use crate::{MethodName, Methods, Places};

/// The kinds of probes that a method is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// Probes at entry, exits, handlers and the calls of leaves.
    pub(crate) calls: bool,
    /// Whether calls are timed.
    pub(crate) timed: bool,
    /// The method may be trivial: see [`Scanner::is_trivial`].
    pub(crate) is_small: bool,
    /// A probe for an exit by unwinding, even if the method does not catch any exception.
    pub(crate) unwinding: bool,
    /// Probes before instructions that depend on the current place.
    pub(crate) places: Places,
    /// Probes after allocations.
    pub(crate) allocations: bool,
    /// Probes before calls that count allocations inside, because the method's result is counted at
    /// its own calls.
    pub(crate) withholds: bool,
}

/// The facts about a called method.
#[derive(Clone, Copy, Debug)]
struct Callee {
    /// The method's number, if its calls are counted here.
    leaf: Option<u32>,
    /// The probe for the result, if it is new.
    fresh: Option<Helper>,
    /// Whether the method counts the objects that it makes.
    has_probe_inside: bool,
    /// Whether it is the constructor of Object, which only has probes for allocations.
    is_root: bool,
}

/// A scanner of the methods of a class. It reuses its memory from one method to the next.
#[derive(Debug)]
pub(crate) struct Scanner<'c> {
    pub(crate) class: &'c ClassFile<'c>,
    name: &'c [u8],
    /// The callees by index in the constant pool and opcode.
    callees: FxHashMap<(u16, u8), Callee>,
    /// The pcs that can be reached in more than one way, sorted.
    leaders: Vec<u16>,
    /// The pcs of calls, sorted.
    invokes: Vec<u16>,
    /// The pcs of exception handlers of code that calls, sorted.
    handlers: Vec<u16>,
    monitor_exits: Vec<u16>,
    lines: Vec<LineNumber>,
    pub(crate) plan: Plan,
    pub(crate) edit: MethodEdit,
}

impl<'c> Scanner<'c> {
    pub(crate) fn new(class: &'c ClassFile<'c>, name: &'c [u8]) -> Self {
        Self {
            class,
            name,
            callees: FxHashMap::default(),
            leaders: Vec::new(),
            invokes: Vec::new(),
            handlers: Vec::new(),
            monitor_exits: Vec::new(),
            lines: Vec::new(),
            plan: Plan::default(),
            edit: MethodEdit::new(),
        }
    }

    /// Fills the empty [`plan`](Self::plan) with the probes of a method, in the order of pcs.
    pub(crate) fn scan(
        &mut self,
        code: &Code<'_>,
        kinds: Kinds,
        is_constructor: bool,
        methods: &mut dyn Methods,
    ) -> Result<(), Error> {
        self.lines.clear();
        if kinds.places == Places::Lines {
            self.lines.extend(code.line_numbers()?);
            self.lines.sort_by_key(|it| it.start_pc);
        }
        if kinds.calls {
            if kinds.is_small && self.is_trivial(code, kinds)? {
                self.plan.add(0, Reach::FallThrough, ProbeCall::Touch);
                return Ok(());
            }
            self.plan.add(0, Reach::FallThrough, ProbeCall::Enter);
            self.find_blocks(code)?;
            if kinds.unwinding {
                self.plan.unwinding = if is_constructor { code.after_this_call() } else { Some(0) };
            }
            for &handler_pc in &self.handlers {
                self.plan.add(handler_pc, Reach::All, ProbeCall::Caught);
            }
        }
        self.find_sites(code, kinds, methods)?;
        // A stable sort keeps a handler's probe first at its pc. It is fast for two sorted parts.
        self.plan.probes.sort_by_key(|probe| (probe.pc, probe.reach));
        Ok(())
    }

    /// Whether nothing that is counted happens in the context of the code: it does not call, and
    /// does not make objects if those are counted. If calls are timed, its time must be negligible
    /// as well: it does not wait or loop.
    fn is_trivial(&self, code: &Code<'_>, kinds: Kinds) -> Result<bool, Error> {
        let is_long = code.bytes().len() > TRIVIAL_BYTES || code.exception_table().len() > 0;
        if kinds.timed && is_long {
            return Ok(false);
        }
        for instruction in code.instructions() {
            let instruction = instruction?;
            let is_trivial = match (instruction.opcode, instruction.operands()) {
                (opcode::INVOKESPECIAL, Operands::Constant(index)) if !kinds.allocations => {
                    let callee = self.class.pool().member_ref(index)?;
                    callee.class == OBJECT && callee.name == b"<init>"
                }
                // For another class it may be the first use, which initialises that class.
                (opcode::GETSTATIC | opcode::PUTSTATIC, Operands::Constant(index)) => {
                    self.class.pool().member_ref(index)?.class == self.name
                }
                (opcode::NEW, _) => false,
                (opcode::NEWARRAY | opcode::ANEWARRAY | opcode::MULTIANEWARRAY, _) => {
                    !kinds.timed && !kinds.allocations
                }
                (_, Operands::Branch(target)) if kinds.timed => target > i32::from(instruction.pc),
                (_, Operands::Switch(_)) | (opcode::MONITORENTER, _) => !kinds.timed,
                _ => !instruction.is_invoke(),
            };
            if !is_trivial {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Finds the beginnings of basic blocks if lines matter, and the handlers of code that calls.
    /// (A callee that ends by an exception reports its exit, with these exceptions: constructors
    /// before `super(...)`, leaves, and methods that could not be instrumented, wherever they are
    /// called.)
    fn find_blocks(&mut self, code: &Code<'_>) -> Result<(), Error> {
        self.leaders.clear();
        self.invokes.clear();
        self.handlers.clear();
        self.monitor_exits.clear();
        let table = code.exception_table();
        if self.lines.is_empty() && table.len() == 0 {
            return Ok(());
        }
        self.leaders.extend(table.map(|handler| handler.handler_pc));
        for instruction in code.instructions() {
            let instruction = instruction?;
            if instruction.opcode < opcode::IFEQ {
                continue;
            }
            if instruction.opcode == opcode::MONITOREXIT {
                self.monitor_exits.push(instruction.pc);
            }
            // A target outside the code is refused when the code is written.
            self.leaders.extend(instruction.targets().filter_map(|it| u16::try_from(it).ok()));
            // The subroutine returns to the next instruction.
            if matches!(instruction.opcode, opcode::JSR | opcode::JSR_W) {
                self.leaders.push(instruction.next_pc());
            }
            if instruction.is_invoke() {
                self.invokes.push(instruction.pc);
            }
        }
        self.leaders.sort_unstable();
        self.leaders.dedup();
        for handler in code.exception_table() {
            let first = self.invokes.partition_point(|pc| *pc < handler.start_pc);
            if self.invokes.get(first).is_some_and(|pc| *pc < handler.end_pc) {
                self.handlers.push(handler.handler_pc);
            }
        }
        self.handlers.sort_unstable();
        self.handlers.dedup();
        // The handler of a `synchronized` block frees the monitor, is covered by itself, and
        // rethrows. C1 does not compile calls there ("invalid parsing").
        let frees = |pc: u16| self.monitor_exits.contains(&pc);
        for handler in code.exception_table().filter(|it| it.start_pc == it.handler_pc) {
            if (handler.start_pc..handler.end_pc).any(frees) {
                self.handlers.retain(|pc| *pc != handler.handler_pc);
            }
        }
        Ok(())
    }

    /// Finds returns, calls, allocations and instructions that initialise classes.
    fn find_sites(
        &mut self,
        code: &Code<'_>,
        kinds: Kinds,
        methods: &mut dyn Methods,
    ) -> Result<(), Error> {
        let mut places =
            PlaceCursor { positions: kinds.places == Places::Positions, ..PlaceCursor::default() };
        for instruction in code.instructions() {
            let instruction = instruction?;
            let pc = instruction.pc;
            // Instructions that only compute or jump do not matter. They are the majority.
            if !matches!(instruction.opcode, opcode::TABLESWITCH..=opcode::MULTIANEWARRAY) {
                continue;
            }
            places.step(pc, &self.leaders, &self.lines);
            match (instruction.opcode, instruction.operands()) {
                (opcode::IRETURN..=opcode::RETURN, _) if kinds.calls => {
                    self.plan.add(pc, Reach::All, ProbeCall::Exit);
                }
                (opcode::INVOKEDYNAMIC, _) => self.place(&mut places, pc),
                (opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE, Operands::Constant(index)) => {
                    let callee = self.callee(index, &instruction, kinds, methods)?;
                    self.call(&mut places, &instruction, callee, kinds);
                }
                (opcode::NEW, Operands::Constant(index)) => {
                    if kinds.places != Places::None
                        && self.class.pool().class_name(index)? != self.name
                    {
                        self.place(&mut places, pc);
                    }
                }
                (opcode::GETSTATIC | opcode::PUTSTATIC, Operands::Constant(index)) => {
                    if kinds.places != Places::None
                        && self.class.pool().member_ref(index)?.class != self.name
                    {
                        self.place(&mut places, pc);
                    }
                }
                (_, Operands::Switch(_)) => self.plan.switch_count += 1,
                _ => {
                    if let Some(helper) = array_probe(&instruction) {
                        self.place(&mut places, pc);
                        if kinds.allocations {
                            self.fresh(&instruction, helper);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the probes around a call.
    fn call(
        &mut self,
        places: &mut PlaceCursor,
        call: &Instruction<'_>,
        callee: Callee,
        kinds: Kinds,
    ) {
        if kinds.allocations || !callee.is_root {
            self.place(places, call.pc);
        }
        if let Some(leaf) = callee.leaf {
            self.plan.add(call.pc, Reach::All, ProbeCall::EnterLeaf(leaf));
        }
        // The object that a leaf returns is made in the leaf, so it is reported before the exit.
        match callee.fresh.filter(|_| kinds.allocations) {
            Some(Helper::CLONED) => {
                self.plan.add(call.pc, Reach::All, ProbeCall::Receiver);
                self.plan.add(call.next_pc(), Reach::FallThrough, ProbeCall::Cloned);
            }
            Some(Helper::CLONED_ABOVE) => {
                let what = ProbeCall::ClonedAbove(self.class.this_class());
                self.plan.add(call.next_pc(), Reach::FallThrough, what);
            }
            Some(helper) => self.fresh(call, helper),
            None => {}
        }
        if kinds.withholds && callee.has_probe_inside {
            self.plan.add(call.pc, Reach::All, ProbeCall::Plain(Helper::WITHHOLD));
        }
        if callee.leaf.is_some() {
            self.plan.add(call.next_pc(), Reach::FallThrough, ProbeCall::ExitLeaf);
            places.reported = None;
        }
    }

    /// Adds the probe for the new object or array that an instruction leaves on the operand stack.
    fn fresh(&mut self, instruction: &Instruction<'_>, helper: Helper) {
        self.plan.add(instruction.next_pc(), Reach::FallThrough, ProbeCall::Fresh(helper));
    }

    /// Adds the probe for the current place, unless it is reported already.
    fn place(&mut self, places: &mut PlaceCursor, pc: u16) {
        if let Some(place) = places.current.filter(|_| places.reported != places.current) {
            places.reported = places.current;
            self.plan.add(pc, Reach::All, ProbeCall::Place(place));
        }
    }

    /// Returns the facts about a callee. They are computed at its first call.
    fn callee(
        &mut self,
        index: u16,
        call: &Instruction<'_>,
        kinds: Kinds,
        methods: &mut dyn Methods,
    ) -> Result<Callee, Error> {
        let key = (index, call.opcode);
        if let Some(callee) = self.callees.get(&key).filter(|_| kinds.calls) {
            return Ok(*callee);
        }
        let callee = self.class.pool().member_ref(index)?;
        let fresh = fresh::behind(self.class, call, &callee)?;
        let has_probe_inside = fresh::has_probe_inside(&callee);
        let is_root = callee.name == b"<init>" && callee.class == OBJECT;
        if !kinds.calls {
            return Ok(Callee { leaf: None, fresh, has_probe_inside, is_root });
        }
        let leaf = if is_root { None } else { leaf(call, callee, methods) };
        let callee = Callee { leaf, fresh, has_probe_inside, is_root };
        self.callees.insert(key, callee);
        Ok(callee)
    }
}

/// The maximum size of trivial code in bytes: a few nanoseconds without branches.
const TRIVIAL_BYTES: usize = 64;

const OBJECT: &[u8] = b"java/lang/Object";

/// Returns the number of a callee if its calls are counted at the call.
fn leaf(call: &Instruction<'_>, callee: MemberRef<'_>, methods: &mut dyn Methods) -> Option<u32> {
    let MemberRef { class, name, descriptor, is_interface } = callee;
    // The descriptors of these methods are those of the calls, and the final target is not known.
    if matches!(class, b"java/lang/invoke/MethodHandle" | b"java/lang/invoke/VarHandle") {
        return None;
    }
    // The methods of arrays are those of Object, and nothing overrides them.
    let is_array = class.starts_with(b"[");
    let class = if is_array { OBJECT } else { class };
    // `clone` of an interface is another method than that of Object.
    let is_virtual = matches!(call.opcode, opcode::INVOKEVIRTUAL | opcode::INVOKEINTERFACE)
        || is_interface && fresh::is_clone(&callee);
    let is_leaf = methods.leaf(class, name, descriptor, is_virtual && !is_array)
        || name == b"<init>" && !methods.selected(class, name);
    let name = MethodName { class, name, descriptor, source: None, is_native: false };
    is_leaf.then(|| methods.number(&name))
}

/// Returns the probe for the array that an instruction makes.
pub(crate) fn array_probe(instruction: &Instruction<'_>) -> Option<Helper> {
    match (instruction.opcode, instruction.operands()) {
        (opcode::NEWARRAY, Operands::ArrayType(array_type)) => Helper::of_array_type(array_type),
        (opcode::ANEWARRAY, _) => Some(Helper::REFERENCE_ARRAY),
        (opcode::MULTIANEWARRAY, _) => Some(Helper::ARRAYS),
        _ => None,
    }
}

/// The position of the scan in the lines and the basic blocks.
#[derive(Debug, Default)]
struct PlaceCursor {
    /// Whether places are the pcs of instructions, and not lines.
    positions: bool,
    next_leader: usize,
    next_line: usize,
    /// The place of the instruction.
    current: Option<u16>,
    /// The place that the probes have reported on every path to the instruction.
    reported: Option<u16>,
}

impl PlaceCursor {
    /// Advances to the instruction at `pc`; instructions may be skipped. Both tables are sorted.
    fn step(&mut self, pc: u16, leaders: &[u16], lines: &[LineNumber]) {
        if self.positions {
            self.current = Some(pc + 1);
            return;
        }
        while leaders.get(self.next_leader).is_some_and(|leader| *leader <= pc) {
            self.next_leader += 1;
            self.reported = None;
        }
        while let Some(line) = lines.get(self.next_line).filter(|line| line.start_pc <= pc) {
            self.next_line += 1;
            self.current = Some(line.line);
        }
    }
}
