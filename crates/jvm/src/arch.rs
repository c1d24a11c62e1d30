//! The parts that depend on the processor.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use self::aarch64::{leave_load, load, registers, unwinding};
#[cfg(target_arch = "x86_64")]
pub use self::x86_64::{leave_load, load, registers, unwinding};
