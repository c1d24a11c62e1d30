//! Registers.

use std::ffi::c_void;

use framehop::UnwindRegsNative;
use perk_hotspot::vm::{InterpreterRegisters, Registers};

/// Returns the registers of the interrupted thread.
///
/// # Safety
/// `context` must be what the kernel passes to a signal handler.
pub unsafe fn registers(context: *const c_void) -> (Registers, InterpreterRegisters) {
    // SAFETY: the caller's promise.
    let all = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    let registers =
        Registers { pc: all.pc as usize, sp: all.sp as usize, fp: all.regs[29] as usize };
    let (bytecode, method) = (all.regs[22] as usize, all.regs[12] as usize);
    (registers, InterpreterRegisters { bytecode, method })
}

/// Returns the registers as the unwinder of native code has them. The link register is not known: leaf functions are left by their frames.
pub(crate) fn unwinding(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(0, registers.sp as u64, registers.fp as u64)
}
