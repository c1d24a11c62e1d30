//! The trampolines for AArch64, by AAPCS64 as Linux has it.

use std::arch::naked_asm;

use crate::trampolines::{enter, exit};

pub(crate) const COUNT: usize = 4096;
/// The number of registers for arguments.
pub(crate) const REGISTERS: usize = 8;
pub(crate) const FLOAT_REGISTERS: usize = 8;

/// The size and alignment of a trampoline.
pub(crate) const TRAMPOLINE_BYTES: usize = 8;

/// All trampolines, one after the other. Each passes on its address in x16, a register in which no
/// function expects a value.
///
/// # Safety
/// Only the JVM calls one, in the place of a native method's function.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn all_trampolines() {
    naked_asm!(
        ".p2align 3",
        ".rept {count}",
        "adr x16, .",
        "b {pass}",
        ".endr",
        count = const COUNT,
        pass = sym pass,
    )
}

/// Keeps the registers that can hold arguments above the frame's base, the [`Passage`] below them;
/// the arguments on the stack are above all of it.
///
/// [`Passage`]: crate::trampolines::Passage
///
/// # Safety
/// As of [`all_trampolines`].
#[unsafe(naked)]
unsafe extern "C" fn pass() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, -176]!",
        ".cfi_def_cfa_offset 176",
        ".cfi_offset x29, -176",
        ".cfi_offset x30, -168",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "stp x0, x1, [x29, 48]",
        "stp x2, x3, [x29, 64]",
        "stp x4, x5, [x29, 80]",
        "stp x6, x7, [x29, 96]",
        "stp d0, d1, [x29, 112]",
        "stp d2, d3, [x29, 128]",
        "stp d4, d5, [x29, 144]",
        "stp d6, d7, [x29, 160]",
        // enter(env, address, passage)
        "mov x1, x16",
        "add x2, x29, 16",
        "bl {enter}",
        // The stack stays at a multiple of 16.
        "ldp x9, x10, [x29, 16]",
        "add x11, x10, 1",
        "and x11, x11, -2",
        "sub sp, sp, x11, lsl 3",
        "add x12, x29, 176",
        "mov x13, sp",
        "2:",
        "cbz x10, 3f",
        "ldr x14, [x12], 8",
        "str x14, [x13], 8",
        "sub x10, x10, 1",
        "b 2b",
        "3:",
        "ldp x0, x1, [x29, 48]",
        "ldp x2, x3, [x29, 64]",
        "ldp x4, x5, [x29, 80]",
        "ldp x6, x7, [x29, 96]",
        "ldp d0, d1, [x29, 112]",
        "ldp d2, d3, [x29, 128]",
        "ldp d4, d5, [x29, 144]",
        "ldp d6, d7, [x29, 160]",
        "blr x9",
        "str x0, [x29, 56]",
        "str d0, [x29, 112]",
        // exit(env, passage)
        "ldr x0, [x29, 48]",
        "add x1, x29, 16",
        "bl {exit}",
        "ldr x0, [x29, 56]",
        "ldr d0, [x29, 112]",
        "mov sp, x29",
        ".cfi_def_cfa_register sp",
        "ldp x29, x30, [sp], 176",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
        enter = sym enter,
        exit = sym exit,
    )
}
