//! x86-64.

use super::{ANY, Arch, Epilogue, Removal};

pub(super) const ARCH: Arch = Arch {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(code: &[u8], pc: usize) -> Option<Removal> {
        ARCH.removal(pc, &|address| code.get(address).copied())
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
            |code: &[u8]| ARCH.follows_call(code.len(), &|address| code.get(address).copied());
        assert!(follows(&[0xe8, 1, 2, 3, 4]));
        assert!(follows(&[0x41, 0xff, 0xd2]), "call r10");
        assert!(follows(&[0xff, 0x57, 8]), "call [rdi + 8]");
        assert!(!follows(&[0xe9, 1, 2, 3, 4]), "a jump");
        assert!(!follows(&[]));
    }
}
