//! What depends on the processor: where frames keep their parts, and the instructions with which
//! generated code makes and removes its frames. One table for each processor.

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

const X86_64: Arch = Arch {
    method_from_last_sp: -1,
    bytecode_from_last_sp: -6,
    locals_from_last_sp: -5,
    // push rbp
    push_frame: &[&[0x55]],
    // sub rsp, imm8; sub rsp, imm32
    allocate: &[&[0x48, 0x83, 0xec, ANY], &[0x48, 0x81, 0xec, ANY, ANY, ANY, ANY]],
    epilogue: &[
        // ret
        Epilogue { before: &[], at: &[0xc3], state: Removal::Return },
        // pop rbp
        Epilogue { before: &[], at: &[0x5d], state: Removal::Link },
        // cmp rsp, [r15 + x] after pop rbp: the poll of a safepoint
        Epilogue { before: &[0x5d], at: &[0x49, 0x3b, 0x67], state: Removal::Return },
        Epilogue { before: &[0x5d], at: &[0x49, 0x3b, 0xa7], state: Removal::Return },
        // ja, after this comparison
        Epilogue {
            before: &[0x5d, 0x49, 0x3b, 0x67, ANY],
            at: &[0x0f, 0x87],
            state: Removal::Return,
        },
        Epilogue {
            before: &[0x5d, 0x49, 0x3b, 0xa7, ANY, ANY, ANY, ANY],
            at: &[0x0f, 0x87],
            state: Removal::Return,
        },
    ],
    // call rel32; call reg; call [reg]; call [reg + disp8]; call [reg + disp32]
    calls: &[
        &[0xe8, ANY, ANY, ANY, ANY],
        &[0xff, 0xd0],
        &[0xff, 0x10],
        &[0xff, 0x50, ANY],
        &[0xff, 0x90, ANY, ANY, ANY, ANY],
    ],
    direct_call: &[0xe8, ANY, ANY, ANY, ANY],
};

/// The table of the processor that this is built for.
pub(super) fn of_this_build() -> Option<&'static Arch> {
    if cfg!(all(target_arch = "x86_64", target_endian = "little")) { Some(&X86_64) } else { None }
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

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn at(code: &[u8], pc: usize) -> Option<Removal> {
        X86_64.removal(pc, &|address| code.get(address).copied())
    }

    #[test]
    fn the_end_of_a_method_is_recognised_at_each_instruction() {
        // add rsp, 16; pop rbp; cmp rsp, [r15 + 0x28]; ja +4; ret
        let code =
            [0x48, 0x83, 0xc4, 0x10, 0x5d, 0x49, 0x3b, 0x67, 0x28, 0x0f, 0x87, 4, 0, 0, 0, 0xc3];
        assert_eq!(at(&code, 0), None);
        assert_eq!(at(&code, 4), Some(Removal::Link));
        assert_eq!(at(&code, 5), Some(Removal::Return));
        assert_eq!(at(&code, 9), Some(Removal::Return));
        assert_eq!(at(&code, 15), Some(Removal::Return));
    }

    #[test]
    fn addresses_after_calls_are_recognised() {
        let follows =
            |code: &[u8]| X86_64.follows_call(code.len(), &|address| code.get(address).copied());
        assert!(follows(&[0xe8, 1, 2, 3, 4]));
        assert!(follows(&[0x41, 0xff, 0xd2]), "call r10");
        assert!(follows(&[0xff, 0x57, 8]), "call [rdi + 8]");
        assert!(!follows(&[0xe9, 1, 2, 3, 4]), "a jump");
        assert!(!follows(&[]));
    }
}
