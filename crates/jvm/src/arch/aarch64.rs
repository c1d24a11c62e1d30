//! AArch64.

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
pub const ELF_MACHINE: u16 = 183;

/// Returns the processor's count of cycles, which runs at a constant rate; `None` if this kind of
/// processor has none.
pub fn cycle_count() -> Option<u64> {
    None
}

/// Returns the registers of its caller.
#[cfg(test)]
#[inline(always)]
pub(crate) fn own_registers() -> perk_hotspot::vm::Registers {
    let (pc, sp, fp): (usize, usize, usize);
    // SAFETY: the registers are only read.
    unsafe {
        std::arch::asm!("adr {0}, .", "mov {1}, sp", "mov {2}, x29", out(reg) pc, out(reg) sp, out(reg) fp);
    }
    perk_hotspot::vm::Registers { pc, sp, fp }
}
