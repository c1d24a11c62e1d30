//! Writes the instructions.

use super::layout::{CodeLayout, Jump};
use crate::instruction::padding;
use crate::{Code, MethodEdit, Operands, SkipReason, opcode};

/// Appends the method's instructions and the inserted ones.
pub(super) fn write(
    code: &Code<'_>,
    edit: &MethodEdit,
    layout: &CodeLayout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let bytes = code.bytes();
    let start = out.len();
    let mut copied = 0;
    let mut jumps = layout.jumps().iter().peekable();
    let mut contained = layout.contained().iter();
    for index in layout.insertions() {
        let insertion = &edit.insertions()[*index as usize];
        while let Some(jump) = jumps.next_if(|jump| jump.pc < insertion.pc) {
            copied = write_jump(code, jump, copied, layout, out)?;
        }
        let pc = usize::from(insertion.pc);
        out.extend_from_slice(&bytes[copied..pc]);
        copied = pc;
        match if insertion.is_contained { contained.next() } else { None } {
            Some(contained) => {
                contained.kept.store(out);
                out.extend_from_slice(edit.code(insertion));
                contained.kept.load(out);
            }
            None => out.extend_from_slice(edit.code(insertion)),
        }
    }
    for jump in jumps {
        copied = write_jump(code, jump, copied, layout, out)?;
    }
    out.extend_from_slice(&bytes[copied..]);
    debug_assert_eq!(out.len() - start, layout.end());
    Ok(())
}

/// Appends the bytes up to a branch or switch that are not copied yet, and the branch or switch
/// with its new offsets. Returns the end of the copied part of the original.
fn write_jump(
    code: &Code<'_>,
    jump: &Jump,
    copied: usize,
    layout: &CodeLayout,
    out: &mut Vec<u8>,
) -> Result<usize, SkipReason> {
    let pc = usize::from(jump.pc);
    out.extend_from_slice(&code.bytes()[copied..pc]);
    let instruction = code.instruction_at(jump.pc)?;
    let from = layout.at(jump.pc.into())?.itself;
    let offset = |target| -> Result<i32, SkipReason> {
        // Both pcs are below 65,536.
        Ok(layout.at(target)?.target as i32 - from as i32)
    };
    match instruction.operands() {
        Operands::Branch(target) => {
            let offset = offset(target)?;
            let is_wide = matches!(instruction.opcode, opcode::GOTO_W | opcode::JSR_W);
            if jump.is_widened {
                out.push(instruction.opcode + (opcode::GOTO_W - opcode::GOTO));
            } else {
                out.push(instruction.opcode);
            }
            if jump.is_widened || is_wide {
                out.extend(offset.to_be_bytes());
            } else {
                // The layout has widened, or refused, branches that do not fit.
                out.extend((offset as i16).to_be_bytes());
            }
        }
        Operands::Switch(switch) => {
            out.push(instruction.opcode);
            out.resize(out.len() + padding(from), 0);
            let (head, step) = switch.layout();
            let table = out.len();
            out.extend_from_slice(switch.table());
            let mut put = |at: usize, target| -> Result<(), SkipReason> {
                out[table + at..table + at + 4].copy_from_slice(&offset(target)?.to_be_bytes());
                Ok(())
            };
            put(0, switch.default_target())?;
            for (case, (_, target)) in switch.cases().enumerate() {
                put(head + case * step + step - 4, target)?;
            }
        }
        _ => out.extend_from_slice(instruction.bytes),
    }
    Ok(pc + usize::from(jump.length))
}
