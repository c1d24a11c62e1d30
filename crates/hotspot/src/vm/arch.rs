//! What depends on the processor: where frames keep their parts, and the instructions with which
//! generated code makes and removes its frames. One table for each processor,
//! in a module of its own.

#[cfg(all(target_arch = "x86_64", target_endian = "little"))]
mod x86_64;

/// Matches any byte of an instruction.
const ANY: i16 = -1;

/// A processor, as far as walks depend on it.
#[derive(Debug)]
pub(super) struct Arch {
    /// The interpreter's slot of the method, in words from its slot of the last stack pointer.
    pub(super) method_from_last_sp: isize,
    /// The interpreter's slot of the bytecode's address, likewise.
    pub(super) bytecode_from_last_sp: isize,
    /// The interpreter's slot of the first local variable, likewise.
    pub(super) locals_from_last_sp: isize,
    /// Instructions that push the frame pointer.
    pub(super) push_frame: &'static [&'static [i16]],
    /// Instructions that make room for a frame, after which it is complete but for the saved frame
    /// pointer.
    pub(super) allocate: &'static [&'static [i16]],
    /// The instructions at which a frame has already been removed in part.
    pub(super) epilogue: &'static [Epilogue],
    /// Instructions that call, seen from the address that they return to.
    pub(super) calls: &'static [&'static [i16]],
    /// The call whose last 4 bytes are the distance of its target from the next instruction.
    pub(super) direct_call: &'static [i16],
}

/// Instructions around the program counter.
#[derive(Debug)]
pub(super) struct Epilogue {
    before: &'static [i16],
    at: &'static [i16],
    pub(super) state: Removal,
}

/// How much of a frame is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// The stack pointer points to the address to return to.
    Return,
    /// The stack pointer points to the saved frame pointer; the address to return to follows.
    Link,
}

/// Returns the table of the processor that this is built for; `None` if there is none.
pub(super) fn of_this_build() -> Option<&'static Arch> {
    #[cfg(all(target_arch = "x86_64", target_endian = "little"))]
    return Some(&x86_64::ARCH);
    #[cfg(not(all(target_arch = "x86_64", target_endian = "little")))]
    None
}

impl Arch {
    /// Returns whether the bytes at an address, read with `byte`, are this instruction.
    pub(super) fn is(pattern: &[i16], address: usize, byte: &impl Fn(usize) -> Option<u8>) -> bool {
        pattern.iter().enumerate().all(|(index, wanted)| {
            *wanted == ANY || byte(address.wrapping_add(index)).map(i16::from) == Some(*wanted)
        })
    }

    /// Returns how much of its frame the code at `pc` has removed; `None`: nothing.
    pub(super) fn removal(
        &self,
        pc: usize,
        byte: &impl Fn(usize) -> Option<u8>,
    ) -> Option<Removal> {
        let found = self.epilogue.iter().find(|it| {
            Arch::is(it.at, pc, byte) && Arch::is(it.before, pc.wrapping_sub(it.before.len()), byte)
        });
        found.map(|it| it.state)
    }

    /// Returns whether the instruction before `pc` may be a call.
    pub(super) fn follows_call(&self, pc: usize, byte: &impl Fn(usize) -> Option<u8>) -> bool {
        self.calls.iter().any(|call| {
            let at = pc.wrapping_sub(call.len());
            match call {
                // The register is in the low bits of the second byte.
                [0xff, second, ..] => {
                    byte(at) == Some(0xff)
                        && byte(at.wrapping_add(1))
                            .is_some_and(|it| i16::from(it & 0xf8) == *second)
                }
                _ => Arch::is(call, at, byte),
            }
        })
    }
}
