//! The probes at the entry and the exits of methods.

use perk_classfile::{
    ClassEditor, Code, Error, LocalType, MethodEdit, PoolError, Reach, opcode, push_access,
};

use crate::class::OBJECT;
use crate::helper::{Helper, Uses};
use crate::{MethodName, Probes};

/// The words of the operand stack that the probe at an exit needs, and those for an entry.
const EXIT_WORDS: u16 = 2;
const ENTRY_WORDS: u16 = 2;

/// Places the probes in the methods of a class.
pub(crate) struct Brackets {
    uses: Uses,
    edit: MethodEdit,
}

impl Brackets {
    pub(crate) fn new(probes: Probes) -> Self {
        Self { uses: Uses::new(probes.names), edit: MethodEdit::new() }
    }

    /// Adds the probes of a method, given by its index and name, that pass a number. Returns whether
    /// it has them.
    pub(crate) fn add(
        &mut self,
        (index, method): (usize, &MethodName<'_>),
        is_static: bool,
        number: u32,
        code: &Code<'_>,
        editor: &mut ClassEditor<'_>,
    ) -> Result<Result<bool, PoolError>, Error> {
        let is_constructor = method.name == b"<init>" && method.class != OBJECT;
        // HotSpot's C2 fails at an exception handler in the constructor of Object, whose returns are not
        // like others: they register objects that must be finalised. Nothing there throws an exception.
        let is_root = method.name == b"<init>" && method.class == OBJECT;
        let edit = &mut self.edit;
        edit.clear();
        edit.need_stack(ENTRY_WORDS.max(EXIT_WORDS));
        edit.add_local(LocalType::Long);
        let local = code.max_locals();
        let (mut entry, mut exit, mut caught) = (Vec::new(), Vec::new(), Vec::new());
        let mut write = || {
            let pool = editor.pool();
            pool.push_int(&mut entry, number as i32)?;
            // A constructor cannot pass its object before it is initialised.
            let helper = match is_static || is_constructor {
                true => Helper::ENTER_EVENT,
                false => {
                    entry.push(opcode::ALOAD_0);
                    Helper::ENTER_EVENT_OF_OBJECT
                }
            };
            entry.extend(self.uses.call(helper, pool)?);
            push_access(&mut entry, opcode::LSTORE, local);
            push_access(&mut exit, opcode::LLOAD, local);
            caught.clone_from(&exit);
            exit.extend(self.uses.call(Helper::LEAVE_EVENT, pool)?);
            caught.extend(self.uses.call(Helper::CAUGHT_EVENT, pool)?);
            Ok(())
        };
        if let Err(full) = write() {
            return Ok(Err(full));
        }
        edit.insert(0, Reach::FallThrough, &entry);
        if is_root {
            for instruction in code.instructions() {
                let instruction = instruction?;
                if instruction.is_return() {
                    edit.insert(instruction.pc, Reach::All, &exit);
                }
            }
            return Ok(Ok(editor.edit_method(index, edit)));
        }
        let mut calls = Vec::new();
        for instruction in code.instructions() {
            let instruction = instruction?;
            if instruction.is_return() {
                edit.insert_contained(instruction.pc, &exit);
            } else if instruction.is_invoke() {
                calls.push(instruction.pc);
            }
        }
        let mut handlers: Vec<u16> = code
            .exception_table()
            .filter(|it| calls.iter().any(|pc| (it.start_pc..it.end_pc).contains(pc)))
            .map(|it| it.handler_pc)
            .collect();
        handlers.sort_unstable();
        handlers.dedup();
        for handler in handlers {
            edit.insert_contained(handler, &caught);
        }
        let start = if is_constructor { code.after_this_call() } else { Some(0) };
        if let Some(start) = start {
            edit.catch_all_contained(EXIT_WORDS, &exit);
            edit.cover(start..code.end_pc());
        }
        Ok(Ok(editor.edit_method(index, edit)))
    }
}
