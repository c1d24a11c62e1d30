//! A read that may fail.

use std::arch::naked_asm;
use std::ffi::c_void;

/// Reads eight bytes. Returns 0 if [`leave_load`] has ended it.
///
/// # Safety
/// `value` must be valid. A fault must lead to [`leave_load`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn load(address: usize, value: *mut u64) -> u32 {
    // The first instruction is the one that fails.
    naked_asm!("ldr x2, [x0]", "str x2, [x1]", "mov w0, #1", "ret")
}

#[unsafe(naked)]
unsafe extern "C" fn load_failed() {
    naked_asm!("mov w0, #0", "ret")
}

/// Ends [`load`] if the interrupted thread is at its read. Returns whether it is.
///
/// # Safety
/// The registers must be those that the kernel passes to a signal handler.
pub(crate) unsafe fn leave_load(context: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    let pc = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc };
    let is_load = *pc == load as *const () as u64;
    if is_load {
        *pc = load_failed as *const () as u64;
    }
    is_load
}
