//! The probes that count the executions of basic blocks.

use perk_classfile::{
    ClassEditor, ClassFile, Code, Error, Instruction, LocalType, MethodEdit, Operands, PoolEditor,
    PoolError, Reach, opcode, push_access,
};

use crate::class::VIRTUAL_THREAD;
use crate::helper::{COUNTS_HELPER, Helper, Uses};
use crate::probe::local_bytes;
use crate::scan::array_probe;
use crate::{Call, CountedCode, Flow, MethodName, Methods, Names};

/// The words of the operand stack that a probe needs.
const STACK_WORDS: u16 = 2;

/// The maximum size of a probe without the access of the local variable, in bytes: the push of an
/// `int`, and a call.
const PROBE_BYTES: usize = 6;

/// Places the probes in the methods of a class.
pub(crate) struct Counts<'c> {
    class: &'c ClassFile<'c>,
    uses: Uses,
    /// The method that counts.
    count: Helper,
}

/// Whether methods of a class move virtual threads from one carrier to another.
fn moves(class: &[u8]) -> bool {
    class.starts_with(VIRTUAL_THREAD)
}

/// The probes of a method.
pub(crate) struct MethodCounts {
    first: u32,
    flow: Flow,
}

impl MethodCounts {
    /// Returns the maximum size of their code in bytes.
    pub(crate) fn most_bytes(&self, code: &Code<'_>) -> usize {
        (self.flow.counters().len() + 1) * (PROBE_BYTES + local_bytes(code))
    }
}

impl<'c> Counts<'c> {
    pub(crate) fn new(class: &'c ClassFile<'c>, name: &[u8], names: Names) -> Self {
        let count = if moves(name) { Helper::COUNT_MOVING } else { Helper::COUNT };
        Self { class, uses: Uses::new(names), count }
    }

    /// Plans the probes of a method; `None` if there are no more counters.
    pub(crate) fn plan(
        method: &MethodName<'_>,
        code: &Code<'_>,
        methods: &mut dyn Methods,
    ) -> Result<Option<MethodCounts>, Error> {
        let flow = Flow::of(code)?;
        let first = methods.counters(method, flow.counters().len());
        Ok(first.map(|first| MethodCounts { first, flow }))
    }

    /// Adds the probes to an edit, which has added this number of words of local variables.
    pub(crate) fn write(
        &mut self,
        code: &Code<'_>,
        planned: &MethodCounts,
        local_words: u16,
        pool: &mut PoolEditor<'_>,
        edit: &mut MethodEdit,
    ) -> Result<(), PoolError> {
        edit.need_stack(STACK_WORDS);
        edit.add_local(LocalType::Object(self.uses.class(COUNTS_HELPER, pool)?));
        let local = code.max_locals().saturating_add(local_words);
        let mut bytes = self.uses.call(Helper::COUNTS_STATE, pool)?.to_vec();
        push_access(&mut bytes, opcode::ASTORE, local);
        edit.insert(0, Reach::FallThrough, &bytes);
        for (number, counter) in (planned.first..).zip(planned.flow.counters()) {
            bytes.clear();
            push_access(&mut bytes, opcode::ALOAD, local);
            pool.push_int(&mut bytes, number as i32)?;
            bytes.extend(self.uses.call(self.count, pool)?);
            edit.insert(counter.pc, counter.reach, &bytes);
        }
        Ok(())
    }

    /// Reports a method that the editor has just edited.
    pub(crate) fn report(
        &self,
        method: &MethodName<'_>,
        code: &Code<'_>,
        MethodCounts { first, flow }: MethodCounts,
        methods: &mut dyn Methods,
        editor: &ClassEditor<'_>,
    ) -> Result<(), Error> {
        // Code has at most 65,535 bytes.
        let pcs = editor.instructions().map(|pcs| pcs.map(|pc| pc as u16)).collect();
        let end = editor.code_end() as u16;
        let mut lines: Vec<_> = code.line_numbers()?.map(|it| (it.start_pc, it.line)).collect();
        lines.sort_unstable();
        let mut counted =
            CountedCode { first, flow, pcs, end, lines, calls: Vec::new(), arrays: Vec::new() };
        for instruction in code.instructions() {
            let instruction = instruction?;
            if instruction.is_invoke() {
                counted.calls.push(self.call(&instruction)?);
            } else if array_probe(&instruction).is_some() {
                counted.arrays.push(instruction.pc);
            }
        }
        methods.counted(method, counted);
        Ok(())
    }

    /// Returns the call that an instruction makes.
    fn call(&self, instruction: &Instruction<'_>) -> Result<Call<'c>, Error> {
        let name = match (instruction.opcode, instruction.operands()) {
            (opcode::INVOKEDYNAMIC, _) => None,
            (_, Operands::Constant(index)) => {
                let callee = self.class.pool().member_ref(index)?;
                let is_handle = callee.class.starts_with(b"java/lang/invoke/");
                (!is_handle).then_some(callee.name)
            }
            _ => None,
        };
        Ok(Call { pc: instruction.pc, name })
    }
}
