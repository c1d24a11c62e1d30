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
pub(crate) fn unwinding(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.pc as u64, registers.sp as u64, registers.fp as u64)
}
