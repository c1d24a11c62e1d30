//! The probes that count the executions of basic blocks.

use perk_classfile::{
    ClassEditor, ClassFile, Code, Error, LocalType, MethodEdit, Operands, PoolEditor, PoolError,
    Reach, opcode, push_access,
};

use crate::helper::{Helper, Uses};
use crate::{Call, Flow, MethodName, Methods, Names};

/// The words of the operand stack that a probe needs.
const STACK_WORDS: u16 = 3;

/// Places the probes in the methods of a class. It reuses its memory from one method to the next.
pub(crate) struct Counts<'c> {
    class: &'c ClassFile<'c>,
    uses: Uses,
    edit: MethodEdit,
}

impl<'c> Counts<'c> {
    pub(crate) fn new(class: &'c ClassFile<'c>, names: Names) -> Self {
        Self { class, uses: Uses::new(names), edit: MethodEdit::new() }
    }

    /// Adds the probes of a method, given by its index and name. Returns whether it has them, and adds
    /// the reason if not.
    pub(crate) fn add(
        &mut self,
        (index, method): (usize, &MethodName<'_>),
        code: &Code<'_>,
        methods: &mut dyn Methods,
        editor: &mut ClassEditor<'_>,
        missing: &mut Vec<String>,
    ) -> Result<bool, Error> {
        let flow = Flow::of(code)?;
        let Some(first) = methods.counters(method, flow.counters().len()) else {
            missing.push("there are no more counters".to_owned());
            return Ok(false);
        };
        if let Err(full) = self.write(code, &flow, first, editor.pool()) {
            missing.push(full.to_string());
            return Ok(false);
        }
        let is_edited = editor.edit_method(index, &self.edit);
        if is_edited {
            // Code has at most 65,535 bytes.
            let pcs = editor.instructions().map(|pcs| pcs.map(|pc| pc as u16)).collect();
            methods.counted(method, first, flow, pcs, self.calls(code)?);
        }
        Ok(is_edited)
    }

    /// Returns the calls of a method.
    fn calls(&self, code: &Code<'_>) -> Result<Vec<Call<'c>>, Error> {
        let mut calls = Vec::new();
        for instruction in code.instructions() {
            let instruction = instruction?;
            let (true, Operands::Constant(index)) =
                (instruction.is_invoke(), instruction.operands())
            else {
                continue;
            };
            let name = match instruction.opcode {
                opcode::INVOKEDYNAMIC => None,
                _ => {
                    let callee = self.class.pool().member_ref(index)?;
                    let is_handle = callee.class.starts_with(b"java/lang/invoke/");
                    (!is_handle).then_some(callee.name)
                }
            };
            calls.push(Call { pc: instruction.pc, name });
        }
        Ok(calls)
    }

    fn write(
        &mut self,
        code: &Code<'_>,
        flow: &Flow,
        first: u32,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), PoolError> {
        self.edit.clear();
        self.edit.need_stack(STACK_WORDS);
        self.edit.add_local(LocalType::Long);
        let local = code.max_locals();
        let mut bytes = self.uses.call(Helper::COUNTERS, pool)?.to_vec();
        push_access(&mut bytes, opcode::LSTORE, local);
        self.edit.insert(0, Reach::FallThrough, &bytes);
        for (number, counter) in (first..).zip(flow.counters()) {
            bytes.clear();
            push_access(&mut bytes, opcode::LLOAD, local);
            pool.push_int(&mut bytes, number as i32)?;
            bytes.extend(self.uses.call(Helper::COUNT_BLOCK, pool)?);
            self.edit.insert(counter.pc, counter.reach, &bytes);
        }
        Ok(())
    }
}
