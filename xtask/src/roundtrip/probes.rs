//! Puts probes of each kind into a class.

use anyhow::{Context, Result};
use perk_classfile::{
    ClassEditor, ClassFile, Code, Edited, Instruction, MethodEdit, Operands, PoolEditor, PoolError,
    Reach, access, opcode,
};

/// The class of java.base that the probes call; its source is in `java/probe`.
pub(super) const PROBE: &str = "java/lang/PerkProbe";

/// A field that java.lang.Thread gets.
const FIELD: &str = "perkProbe";

/// Which probes are put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinds {
    /// At each method's entry, returns and unwinding.
    Calls,
    /// Also around calls, behind allocations, and at exception handlers and basic blocks.
    All,
}

/// How many probes were put in, and what was left without.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) methods: usize,
    pub(super) probes: usize,
    /// Constructors without a probe for unwinding.
    pub(super) undecided: usize,
    /// Class, method and reason.
    pub(super) skipped: Vec<String>,
}

/// Puts probes into every method. Each method has a number; `counts.methods` is the last one.
pub(super) fn instrument(bytes: &[u8], kinds: Kinds, counts: &mut Counts) -> Result<Vec<u8>> {
    let class = ClassFile::parse(bytes)?;
    let name = class.name()?;
    let mut editor = ClassEditor::new(&class);
    let mut writer = Writer::default();
    for (index, method) in class.methods().enumerate() {
        // Every constructor ends up in the one; the JVM treats each class whose `finalize` is not
        // empty as one to be finalized.
        if name == b"java/lang/Object" && matches!(method.name()?, b"<init>" | b"finalize") {
            continue;
        }
        let Some(code) = method.code()? else { continue };
        counts.methods += 1;
        let start = if method.name()? == b"<init>" { code.after_this_call() } else { Some(0) };
        counts.undecided += usize::from(start.is_none());
        writer.method(&code, start, kinds, counts.methods as i32, editor.pool())?;
        if editor.edit_method(index, &writer.edit) {
            counts.probes += writer.probes;
        }
    }
    if name == b"java/lang/Thread" {
        editor.add_field(access::PUBLIC | access::TRANSIENT, FIELD, "J")?;
    }
    let Edited { bytes, skipped } = editor.finish();
    for it in skipped {
        let method = class.method(it.method).context("a method that is not there")?;
        let name = [name, b".", method.name()?].concat();
        counts.skipped.push(format!("{}: {}", String::from_utf8_lossy(&name), it.reason));
    }
    Ok(bytes)
}

/// A call of each method of [`PROBE`].
#[derive(Clone, Copy)]
struct Calls {
    enter: [u8; 3],
    exit: [u8; 3],
    unwind: [u8; 3],
    before: [u8; 3],
    after: [u8; 3],
    allocate: [u8; 3],
    caught: [u8; 3],
    block: [u8; 3],
}

impl Calls {
    fn new(pool: &mut PoolEditor<'_>) -> Result<Self, PoolError> {
        let mut call = |name, descriptor| {
            let [high, low] = pool.method_ref(PROBE, name, descriptor)?.to_be_bytes();
            Ok([opcode::INVOKESTATIC, high, low])
        };
        Ok(Self {
            enter: call("enter", "(I)V")?,
            exit: call("exit", "(I)V")?,
            unwind: call("unwind", "(I)V")?,
            before: call("beforeCall", "()V")?,
            after: call("afterCall", "()V")?,
            allocate: call("allocate", "(J)V")?,
            caught: call("caught", "()V")?,
            block: call("block", "()V")?,
        })
    }
}

/// Writes the probes of one method of a class after another.
#[derive(Default)]
struct Writer {
    edit: MethodEdit,
    calls: Option<Calls>,
    code: Vec<u8>,
    leaders: Vec<u16>,
    probes: usize,
}

impl Writer {
    /// The probes of a method with a number, whose unwinding can be seen from `start` on.
    fn method(
        &mut self,
        code: &Code<'_>,
        start: Option<u16>,
        kinds: Kinds,
        number: i32,
        pool: &mut PoolEditor<'_>,
    ) -> Result<()> {
        let calls = match self.calls {
            Some(calls) => calls,
            None => *self.calls.insert(Calls::new(pool)?),
        };
        self.edit.clear();
        self.probes = 0;
        self.edit.need_stack(2);
        let mut push = Vec::new();
        pool.push_int(&mut push, number)?;
        if kinds == Kinds::All {
            self.edit.add_locals(1);
            self.blocks(code, &calls)?;
        }
        self.insert(0, Reach::FallThrough, &push, calls.enter);
        for instruction in code.instructions() {
            let instruction = instruction?;
            if instruction.is_return() {
                self.insert(instruction.pc, Reach::All, &push, calls.exit);
            }
            if kinds == Kinds::All {
                self.around(&instruction, number, &calls, pool)?;
            }
        }
        if kinds == Kinds::All {
            for handler in code.exception_table() {
                self.insert(handler.handler_pc, Reach::All, &[], calls.caught);
            }
        }
        if let Some(start) = start {
            let code_bytes = [&push[..], &calls.unwind, &[opcode::ATHROW]].concat();
            self.edit.catch_all(2, &code_bytes);
            self.edit.cover(start..code.end_pc());
            self.probes += 1;
        }
        Ok(())
    }

    /// Probes at calls and allocations.
    fn around(
        &mut self,
        instruction: &Instruction<'_>,
        number: i32,
        calls: &Calls,
        pool: &mut PoolEditor<'_>,
    ) -> Result<()> {
        let is_allocation = matches!(
            instruction.opcode,
            opcode::NEW | opcode::NEWARRAY | opcode::ANEWARRAY | opcode::MULTIANEWARRAY
        );
        if instruction.is_invoke() {
            self.insert(instruction.pc, Reach::All, &[], calls.before);
            self.insert(instruction.next_pc(), Reach::FallThrough, &[], calls.after);
        } else if is_allocation {
            let mut push = Vec::new();
            pool.push_long(&mut push, i64::from(number) << 16 | i64::from(instruction.pc))?;
            self.insert(instruction.next_pc(), Reach::FallThrough, &push, calls.allocate);
        }
        Ok(())
    }

    /// Probes where a basic block begins.
    fn blocks(&mut self, code: &Code<'_>, calls: &Calls) -> Result<()> {
        let mut leaders = std::mem::take(&mut self.leaders);
        leaders.clear();
        leaders.push(0);
        let mut targets = |target| leaders.extend(u16::try_from(target));
        for instruction in code.instructions() {
            let instruction = instruction?;
            match instruction.operands() {
                Operands::Branch(target) => {
                    targets(target);
                    targets(instruction.next_pc().into());
                }
                Operands::Switch(switch) => {
                    targets(switch.default_target());
                    switch.cases().for_each(|(_, target)| targets(target));
                }
                _ => {}
            }
        }
        leaders.sort_unstable();
        leaders.dedup();
        // Behind the last instruction there is nothing to reach.
        for leader in leaders.iter().filter(|leader| **leader < code.end_pc()) {
            self.insert(*leader, Reach::All, &[], calls.block);
        }
        self.leaders = leaders;
        Ok(())
    }

    fn insert(&mut self, pc: u16, reach: Reach, push: &[u8], call: [u8; 3]) {
        self.code.clear();
        self.code.extend_from_slice(push);
        self.code.extend(call);
        self.edit.insert(pc, reach, &self.code);
        self.probes += 1;
    }
}
