//! The probes that count the executions of basic blocks.

use perk_classfile::{
    ClassEditor, ClassFile, Code, Error, Instruction, MethodEdit, Operands, PoolEditor, PoolError,
    opcode,
};

use crate::helper::{Helper, Uses};
use crate::scan::array_probe;
use crate::{Call, CountedCode, Counter, Flow, MethodName, Methods};

/// The words of the operand stack that a probe needs.
const STACK_WORDS: u16 = 1;

/// The maximum size of a probe in bytes: the push of an `int`, and a call.
pub(crate) const PROBE_BYTES: usize = 6;

/// Adds the probes of counters to an edit: one at each place, with the numbers from `first` on. `count` is the method
/// that counts.
pub(crate) fn write(
    count: Helper,
    first: u32,
    places: &[Counter],
    (uses, pool, edit): (&mut Uses, &mut PoolEditor<'_>, &mut MethodEdit),
) -> Result<(), PoolError> {
    edit.need_stack(STACK_WORDS);
    let mut bytes = Vec::new();
    for (number, place) in (first..).zip(places) {
        bytes.clear();
        pool.push_int(&mut bytes, number as i32)?;
        bytes.extend(uses.call(count, pool)?);
        edit.insert(place.pc, place.reach, &bytes);
    }
    Ok(())
}

/// Plans the probes in the methods of a class.
pub(crate) struct Counts<'c> {
    class: &'c ClassFile<'c>,
}

/// The probes of a method.
pub(crate) struct MethodCounts {
    pub(crate) first: u32,
    flow: Flow,
}

impl MethodCounts {
    /// Returns their places.
    pub(crate) fn places(&self) -> &[Counter] {
        self.flow.counters()
    }
}

impl<'c> Counts<'c> {
    pub(crate) fn new(class: &'c ClassFile<'c>) -> Self {
        Self { class }
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
