//! The native code of this process: the callers of a stack that was copied, and the names of functions.
//!
//! The kernel lists the files whose code is mapped; a file has tables to unwind its code with, which
//! compilers write for exceptions, and symbols. Nothing here runs in a signal handler.

mod functions;
mod kernel;
mod modules;

use std::time::{Duration, Instant};

use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, Unwinder, UnwinderNative};
use perk_hotspot::vm::Registers;

pub use self::kernel::KernelCode;
use self::modules::{Bytes, Module};
use crate::arch;

/// The files that are mapped are read again after this time, if an address belongs to none of them.
const STALE_AFTER: Duration = Duration::from_secs(1);
/// The limit of the frames of a stack.
const MOST_FRAMES: usize = 256;

/// The native code; see the module.
#[derive(Default)]
pub struct NativeCode {
    modules: Vec<Module>,
    unwinder: UnwinderNative<Bytes, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    read_at: Option<Instant>,
}

impl std::fmt::Debug for NativeCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeCode").field("modules", &self.modules.len()).finish_non_exhaustive()
    }
}

impl NativeCode {
    /// Finds the native frames of a stack, the innermost first, up to the first address that
    /// `is_end`: addresses to look functions up by. `stack` has the words from the stack pointer on;
    /// if it is too short, the outer frames are not found.
    pub fn unwind(
        &mut self,
        registers: Registers,
        stack: &[u64],
        is_end: impl Fn(usize) -> bool,
        found: &mut Vec<usize>,
    ) {
        let mut address = FrameAddress::from_instruction_pointer(registers.pc as u64);
        let mut unwinding = arch::unwinding(registers);
        let first = registers.sp as u64;
        let mut read = |at: u64| {
            let index = at.checked_sub(first).filter(|offset| offset % 8 == 0).ok_or(())? / 8;
            stack.get(index as usize).copied().ok_or(())
        };
        while found.len() < MOST_FRAMES {
            let lookup = address.address_for_lookup() as usize;
            if is_end(lookup) {
                return;
            }
            found.push(lookup);
            if self.module(lookup).is_none() {
                return;
            }
            let caller =
                self.unwinder.unwind_frame(address, &mut unwinding, &mut self.cache, &mut read);
            match caller.ok().flatten().and_then(FrameAddress::from_return_address) {
                Some(caller) => address = caller,
                None => return,
            }
        }
    }

    /// Returns the first address of the function that has an instruction; the address itself if it is
    /// not known.
    pub fn function(&mut self, address: usize) -> usize {
        self.module(address).and_then(|module| module.begin(address)).unwrap_or(address)
    }

    /// Returns the name of the function that has an instruction, else that of its file in brackets.
    pub fn name(&mut self, address: usize) -> String {
        match self.module(address) {
            Some(module) => {
                module.function(address).unwrap_or_else(|| format!("[{}]", module.file_name()))
            }
            None => "[unknown]".to_owned(),
        }
    }

    /// Returns the name of the file that has an instruction, without its folder.
    pub fn file_name(&mut self, address: usize) -> Option<String> {
        self.module(address).map(|module| module.file_name().to_owned())
    }

    fn module(&mut self, address: usize) -> Option<&mut Module> {
        let is_it = |module: &Module| module.addresses.contains(&(address as u64));
        let mut index = self.modules.iter().position(is_it);
        if index.is_none() && self.read_at.is_none_or(|at| at.elapsed() > STALE_AFTER) {
            self.read_at = Some(Instant::now());
            self.read_modules();
            index = self.modules.iter().position(is_it);
        }
        self.modules.get_mut(index?)
    }

    fn read_modules(&mut self) {
        let mapped = modules::mapped();
        let unwinder = &mut self.unwinder;
        self.modules.retain(|module| {
            let stays = mapped.iter().any(|it| it.is(module));
            if !stays {
                unwinder.remove_module(module.addresses.start);
            }
            stays
        });
        for file in mapped {
            if self.modules.iter().any(|module| file.is(module)) {
                continue;
            }
            if let Some((module, unwinding)) = file.open() {
                self.unwinder.add_module(unwinding);
                self.modules.push(module);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn innermost() -> (Registers, Vec<u64>) {
        let registers = arch::own_registers();
        // SAFETY: the stack has the frames of the test's callers above.
        let stack = unsafe { std::slice::from_raw_parts(registers.sp as *const u64, 256) };
        (registers, stack.to_vec())
    }

    #[inline(never)]
    fn caller() -> (Registers, Vec<u64>) {
        let found = innermost();
        std::hint::black_box(&found);
        found
    }

    #[test]
    fn callers_have_their_names() {
        let (registers, stack) = caller();
        let (mut code, mut found) = (NativeCode::default(), Vec::new());
        code.unwind(registers, &stack, |_| false, &mut found);
        let names: Vec<String> = found.iter().map(|it| code.name(*it)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let expected = ["innermost", "caller", "callers_have_their_names"];
        assert!(names.len() > expected.len(), "{names:?}");
        for (name, expected) in names.iter().zip(expected) {
            assert!(name.ends_with(&format!("native::tests::{expected}")), "{names:?}");
        }
        // A copy that is too short has the inner frames.
        let mut few = Vec::new();
        code.unwind(registers, &stack[..1], |_| false, &mut few);
        assert_eq!(few[0], found[0]);
        assert!(few.len() < found.len());
        few.clear();
        code.unwind(registers, &stack, |address| address == found[1], &mut few);
        assert_eq!(few, found[..1]);
    }

    #[test]
    fn functions_of_libraries_have_their_names() {
        let mut code = NativeCode::default();
        // It has several names.
        let name = code.name(libc::getpid as *const () as usize);
        assert!(name.ends_with("getpid"), "{name}");
        let file = code.file_name(libc::getpid as *const () as usize).unwrap();
        assert!(file.starts_with("libc"), "{file}");
        assert_eq!(code.name(0x10), "[unknown]");
    }
}
