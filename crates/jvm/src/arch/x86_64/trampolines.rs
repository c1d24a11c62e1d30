//! The trampolines for x86-64, by the System V ABI.

use std::arch::naked_asm;

use crate::trampolines::{enter, exit};

pub(crate) const COUNT: usize = 4096;
/// The number of registers for arguments.
pub(crate) const REGISTERS: usize = 6;
pub(crate) const FLOAT_REGISTERS: usize = 8;

/// The size and alignment of a trampoline.
pub(crate) const TRAMPOLINE_BYTES: usize = 16;

/// All trampolines, one after the other. Each passes on an address within itself in r11, a register
/// in which no function expects a value.
///
/// # Safety
/// Only the JVM calls one, instead of a native method's function.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn all_trampolines() {
    naked_asm!(
        ".rept {count}",
        ".p2align 4",
        "lea r11, [rip]",
        "jmp {pass}",
        ".endr",
        count = const COUNT,
        pass = sym pass,
    )
}

/// Keeps the registers that can hold arguments below the frame's base, the [`Passage`] under them;
/// above the base are the caller's base and address, then the arguments on the stack.
///
/// [`Passage`]: crate::trampolines::Passage
///
/// # Safety
/// As of [`all_trampolines`].
#[unsafe(naked)]
unsafe extern "C" fn pass() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 144",
        "mov [rbp - 8], rdi",
        "mov [rbp - 16], rsi",
        "mov [rbp - 24], rdx",
        "mov [rbp - 32], rcx",
        "mov [rbp - 40], r8",
        "mov [rbp - 48], r9",
        "movsd [rbp - 56], xmm0",
        "movsd [rbp - 64], xmm1",
        "movsd [rbp - 72], xmm2",
        "movsd [rbp - 80], xmm3",
        "movsd [rbp - 88], xmm4",
        "movsd [rbp - 96], xmm5",
        "movsd [rbp - 104], xmm6",
        "movsd [rbp - 112], xmm7",
        // enter(env, address, passage)
        "mov rsi, r11",
        "lea rdx, [rbp - 144]",
        "call {enter}",
        // The stack stays at a multiple of 16.
        "mov rcx, [rbp - 136]",
        "lea rax, [rcx * 8 + 15]",
        "and rax, -16",
        "sub rsp, rax",
        "lea rsi, [rbp + 16]",
        "mov rdi, rsp",
        "rep movsq",
        "mov rdi, [rbp - 8]",
        "mov rsi, [rbp - 16]",
        "mov rdx, [rbp - 24]",
        "mov rcx, [rbp - 32]",
        "mov r8, [rbp - 40]",
        "mov r9, [rbp - 48]",
        "movsd xmm0, [rbp - 56]",
        "movsd xmm1, [rbp - 64]",
        "movsd xmm2, [rbp - 72]",
        "movsd xmm3, [rbp - 80]",
        "movsd xmm4, [rbp - 88]",
        "movsd xmm5, [rbp - 96]",
        "movsd xmm6, [rbp - 104]",
        "movsd xmm7, [rbp - 112]",
        "call [rbp - 144]",
        "mov [rbp - 16], rax",
        "movsd [rbp - 56], xmm0",
        // exit(env, passage)
        "mov rdi, [rbp - 8]",
        "lea rsi, [rbp - 144]",
        "call {exit}",
        "mov rax, [rbp - 16]",
        "movsd xmm0, [rbp - 56]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        enter = sym enter,
        exit = sym exit,
    )
}
