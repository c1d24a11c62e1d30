//! x86-64.

use std::arch::naked_asm;
use std::ffi::c_void;

use framehop::UnwindRegsNative;
use perk_hotspot::vm::{InterpreterRegisters, Registers};

/// Reads eight bytes. Returns 0 if [`leave_load`] has ended it.
///
/// # Safety
/// `value` must be valid. A fault must lead to [`leave_load`].
#[unsafe(naked)]
pub unsafe extern "C" fn load(address: usize, value: *mut u64) -> u32 {
    // The first instruction is the one that fails.
    naked_asm!("mov rax, [rdi]", "mov [rsi], rax", "mov eax, 1", "ret")
}

#[unsafe(naked)]
unsafe extern "C" fn load_failed() {
    naked_asm!("xor eax, eax", "ret")
}

/// Ends [`load`] if the interrupted thread is at its read. Returns whether it is.
///
/// # Safety
/// The registers must be those that the kernel passes to a signal handler.
pub unsafe fn leave_load(context: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    let pc = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    let pc = &mut pc.gregs[libc::REG_RIP as usize];
    let is_load = *pc == load as *const () as i64;
    if is_load {
        *pc = load_failed as *const () as i64;
    }
    is_load
}

/// Returns the registers of the interrupted thread.
///
/// # Safety
/// As of [`leave_load`].
pub unsafe fn registers(context: *const c_void) -> (Registers, InterpreterRegisters) {
    // SAFETY: the caller's promise.
    let all = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let register = |index: libc::c_int| all[index as usize] as usize;
    let registers = Registers {
        pc: register(libc::REG_RIP),
        sp: register(libc::REG_RSP),
        fp: register(libc::REG_RBP),
    };
    let (bytecode, method) = (register(libc::REG_R13), register(libc::REG_RBX));
    (registers, InterpreterRegisters { bytecode, method })
}

/// Returns the registers as the unwinder of native code has them.
pub fn unwinding(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.pc as u64, registers.sp as u64, registers.fp as u64)
}
