//! x86-64.

mod load;
mod registers;
mod trampolines;

pub(crate) use self::load::{leave_load, load};
pub use self::registers::registers;
pub(crate) use self::registers::unwinding;
pub(crate) use self::trampolines::{
    COUNT, FLOAT_REGISTERS, REGISTERS, TRAMPOLINE_BYTES, all_trampolines,
};

/// The processor in the head of an ELF file.
pub const ELF_MACHINE: u16 = 62;

/// Returns the processor's count of cycles, which runs at a constant rate; `None` if this kind of
/// processor has none.
pub fn cycle_count() -> Option<u64> {
    // SAFETY: each processor of this kind has the instruction.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

/// Returns the registers of its caller.
#[cfg(test)]
#[inline(always)]
pub(crate) fn own_registers() -> perk_hotspot::vm::Registers {
    let (pc, sp, fp): (usize, usize, usize);
    // SAFETY: the registers are only read.
    unsafe {
        std::arch::asm!("lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp", out(reg) pc, out(reg) sp, out(reg) fp);
    }
    perk_hotspot::vm::Registers { pc, sp, fp }
}
