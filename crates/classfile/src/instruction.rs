//! Instructions, one at a time and without allocation (JVM specification 6.5).

use crate::Error;
use crate::opcode::{self, LENGTHS};

/// An instruction and its pc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// The offset in the code.
    pub pc: u16,
    /// Its opcode (see [`opcode`]); that of the modified instruction if it is `wide`.
    pub opcode: u8,
    /// All of its bytes, including a prefix `wide`.
    pub bytes: &'a [u8],
}

/// The operands of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operands<'a> {
    /// None but those on the operand stack.
    None,
    /// The value that `bipush` or `sipush` pushes.
    Value(i16),
    /// The type of elements of `newarray` (JVM specification table 6.5.newarray-A).
    ArrayType(u8),
    /// A local variable.
    Local(u16),
    /// A local variable and the number that `iinc` adds to it.
    Increment {
        /// The local variable.
        local: u16,
        /// The number that is added.
        by: i16,
    },
    /// An index in the constant pool.
    Constant(u16),
    /// The array type and the dimensions that `multianewarray` makes.
    MultiArray {
        /// The array type, in the constant pool.
        class: u16,
        /// The number of dimensions given.
        dimensions: u8,
    },
    /// The target pc. It may be outside the code in a broken class.
    Branch(i32),
    /// The targets of a switch.
    Switch(Switch<'a>),
}

impl<'a> Instruction<'a> {
    /// The pc after the instruction.
    pub fn next_pc(&self) -> u16 {
        // The sum is at most 65,535, as code has no more bytes.
        self.pc.saturating_add(self.bytes.len() as u16)
    }

    /// Whether it has the prefix `wide`.
    pub fn is_wide(&self) -> bool {
        self.bytes.first() == Some(&opcode::WIDE)
    }

    /// Whether it calls a method.
    pub fn is_invoke(&self) -> bool {
        matches!(self.opcode, opcode::INVOKEVIRTUAL..=opcode::INVOKEDYNAMIC)
    }

    /// Whether it returns from the method (`ret` does not).
    pub fn is_return(&self) -> bool {
        matches!(self.opcode, opcode::IRETURN..=opcode::RETURN)
    }

    /// Whether the next instruction can run after it without a jump. A `jsr` counts, as its
    /// subroutine returns there.
    pub fn falls_through(&self) -> bool {
        !matches!(
            self.opcode,
            opcode::GOTO | opcode::GOTO_W | opcode::RET..=opcode::RETURN | opcode::ATHROW
        )
    }

    /// The target pcs of a branch or switch. They may be outside the code in a broken class.
    pub fn targets(&self) -> impl Iterator<Item = i32> + use<'a> {
        let (target, switch) = match self.operands() {
            Operands::Branch(target) => (Some(target), None),
            Operands::Switch(switch) => (Some(switch.default_target()), Some(switch)),
            _ => (None, None),
        };
        let cases = switch.into_iter().flat_map(|switch| switch.cases().map(|(_, target)| target));
        target.into_iter().chain(cases)
    }

    /// The operands of the instruction.
    pub fn operands(&self) -> Operands<'a> {
        let byte = |at: usize| self.bytes.get(at).copied().unwrap_or(0);
        let u16_at = |at| u16::from_be_bytes([byte(at), byte(at + 1)]);
        let is_wide = self.is_wide();
        match self.opcode {
            opcode::BIPUSH => Operands::Value(i16::from(byte(1) as i8)),
            opcode::SIPUSH => Operands::Value(u16_at(1) as i16),
            opcode::NEWARRAY => Operands::ArrayType(byte(1)),
            opcode::LDC => Operands::Constant(byte(1).into()),
            opcode::MULTIANEWARRAY => {
                Operands::MultiArray { class: u16_at(1), dimensions: byte(3) }
            }
            opcode::LDC_W
            | opcode::LDC2_W
            | opcode::GETSTATIC..=opcode::NEW
            | opcode::ANEWARRAY
            | 0xc0..=opcode::INSTANCEOF => Operands::Constant(u16_at(1)),
            opcode::IINC if is_wide => {
                Operands::Increment { local: u16_at(2), by: u16_at(4) as i16 }
            }
            opcode::IINC => {
                Operands::Increment { local: byte(1).into(), by: i16::from(byte(2) as i8) }
            }
            opcode::ILOAD..=opcode::ALOAD | opcode::ISTORE..=opcode::ASTORE | opcode::RET => {
                Operands::Local(if is_wide { u16_at(2) } else { byte(1).into() })
            }
            opcode::ILOAD_0..=opcode::ALOAD_3 => {
                Operands::Local(u16::from(self.opcode - opcode::ILOAD_0) % 4)
            }
            opcode::ISTORE_0..=opcode::ASTORE_3 => {
                Operands::Local(u16::from(self.opcode - opcode::ISTORE_0) % 4)
            }
            opcode::IFEQ..=opcode::JSR | opcode::IFNULL | opcode::IFNONNULL => {
                Operands::Branch(i32::from(self.pc) + i32::from(u16_at(1) as i16))
            }
            opcode::GOTO_W | opcode::JSR_W => {
                let offset = i32::from_be_bytes([byte(1), byte(2), byte(3), byte(4)]);
                Operands::Branch(i32::from(self.pc).wrapping_add(offset))
            }
            opcode::TABLESWITCH | opcode::LOOKUPSWITCH => {
                let bytes = self.bytes.get(1 + padding(self.pc.into())..).unwrap_or_default();
                let is_lookup = self.opcode == opcode::LOOKUPSWITCH;
                Operands::Switch(Switch { pc: self.pc, is_lookup, bytes })
            }
            _ => Operands::None,
        }
    }
}

/// The number of bytes between the opcode of a switch at `pc` and its first operand.
pub(crate) fn padding(pc: u32) -> usize {
    3 - (pc % 4) as usize
}

/// The targets of `tableswitch` or `lookupswitch`. They may be outside the code in a broken class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch<'a> {
    pc: u16,
    is_lookup: bool,
    /// The bytes from the default's offset on.
    bytes: &'a [u8],
}

impl<'a> Switch<'a> {
    /// The target pc if no key matches.
    pub fn default_target(&self) -> i32 {
        self.target(0)
    }

    /// The keys and their target pcs, in the order of the instruction.
    pub fn cases(self) -> impl Iterator<Item = (i32, i32)> + use<'a> {
        let (head, step) = self.layout();
        let count = self.bytes.len().saturating_sub(head) / step;
        (0..count).map(move |case| {
            let at = head + case * step;
            let key = match self.is_lookup {
                true => self.word(at),
                false => self.word(4).wrapping_add(case as i32),
            };
            (key, self.target(at + step - 4))
        })
    }

    /// The number of bytes before the first case, and the number of bytes per case. The last four
    /// bytes of a case are its offset.
    pub(crate) fn layout(&self) -> (usize, usize) {
        if self.is_lookup { (8, 8) } else { (12, 4) }
    }

    /// The bytes from the default's offset on.
    pub(crate) fn table(&self) -> &'a [u8] {
        self.bytes
    }

    fn target(&self, at: usize) -> i32 {
        i32::from(self.pc).wrapping_add(self.word(at))
    }

    fn word(&self, at: usize) -> i32 {
        let word = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| i32::from_be_bytes(*word))
    }
}

/// The instructions of a method, in the order of their pcs. The iterator ends after an error.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: &'a [u8],
    pc: usize,
    /// The offset of the code in the file, for errors.
    offset: usize,
}

impl<'a> Instructions<'a> {
    pub(crate) fn new(code: &'a [u8], offset: usize) -> Self {
        Self { code, pc: 0, offset }
    }

    /// The instruction at a pc where one is known to begin.
    pub(crate) fn at(mut self, pc: u16) -> Result<Instruction<'a>, Error> {
        self.pc = pc.into();
        let nothing =
            Error::Truncated { offset: self.offset + self.pc, expected: "an instruction" };
        self.next().unwrap_or(Err(nothing))
    }

    fn fail(&mut self, error: Error) -> Option<Result<Instruction<'a>, Error>> {
        self.pc = self.code.len();
        Some(Err(error))
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.code.get(self.pc..)?;
        let first = *rest.first()?;
        let length = match LENGTHS[usize::from(first)] {
            0 => match long_length(rest, self.pc) {
                Ok(length) => length,
                Err(expected) => {
                    let offset = self.offset + self.pc;
                    return self.fail(Error::Unexpected { offset, expected, found: first.into() });
                }
            },
            length => usize::from(length),
        };
        let Some(bytes) = rest.get(..length) else {
            let offset = self.offset + self.code.len();
            return self.fail(Error::Truncated { offset, expected: "the rest of an instruction" });
        };
        let opcode = if first == opcode::WIDE { bytes[1] } else { first };
        let instruction = Instruction { pc: self.pc as u16, opcode, bytes };
        self.pc += length;
        Some(Ok(instruction))
    }
}

/// Returns the length of an instruction of variable length; if the bytes are not an instruction,
/// the error is a description of what is expected.
fn long_length(rest: &[u8], pc: usize) -> Result<usize, &'static str> {
    const INCOMPLETE: &str = "a whole switch";
    let word = |at: usize| {
        let word = rest.get(at..).and_then(|rest| rest.first_chunk());
        word.map(|word| i64::from(i32::from_be_bytes(*word)))
    };
    let table = 1 + padding(pc as u32);
    match rest[0] {
        opcode::WIDE => match rest.get(1) {
            Some(&opcode::IINC) => Ok(6),
            Some(
                opcode::ILOAD..=opcode::ALOAD | opcode::ISTORE..=opcode::ASTORE | &opcode::RET,
            ) => Ok(4),
            _ => Err("an instruction that can be wide"),
        },
        opcode::TABLESWITCH => {
            let low = word(table + 4).ok_or(INCOMPLETE)?;
            let high = word(table + 8).ok_or(INCOMPLETE)?;
            let count = usize::try_from(high - low + 1).map_err(|_| "a range of keys")?;
            Ok(table + 12 + 4 * count)
        }
        opcode::LOOKUPSWITCH => {
            let count = word(table + 4).ok_or(INCOMPLETE)?;
            let count = usize::try_from(count).map_err(|_| "a count of keys")?;
            Ok(table + 8 + 8 * count)
        }
        _ => Err("an opcode"),
    }
}

/// Appends the instruction that loads or stores a local variable, given the opcode of its long form
/// (`iload` to `aload`, `istore` to `astore`). There is a short form for each of the first four.
pub fn push_access(out: &mut Vec<u8>, opcode: u8, local: u16) {
    let [high, low] = local.to_be_bytes();
    let (first, first_short) = match opcode {
        opcode::ISTORE.. => (opcode::ISTORE, opcode::ISTORE_0),
        _ => (opcode::ILOAD, opcode::ILOAD_0),
    };
    match local {
        0..=3 => out.push(first_short + 4 * (opcode - first) + low),
        4..=255 => out.extend([opcode, low]),
        _ => out.extend([opcode::WIDE, opcode, high, low]),
    }
}

/// Returns the length of that instruction, in bytes.
pub fn access_bytes(local: u16) -> u32 {
    match local {
        0..=3 => 1,
        4..=255 => 2,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(code: &[u8]) -> Vec<(u16, u8, Operands<'_>)> {
        let instructions = Instructions::new(code, 0).map(Result::unwrap);
        instructions.map(|it| (it.pc, it.opcode, it.operands())).collect()
    }

    fn error(code: &[u8]) -> Error {
        let results: Vec<_> = Instructions::new(code, 100).collect();
        results.last().unwrap().unwrap_err()
    }

    #[test]
    fn operands_of_each_form() {
        let code = [
            0x10, 0xff, 0x11, 0x01, 0x00, 0xbc, 10, 0x15, 7, 0x1d, 0x4e, 0x84, 3,
            0xfe, // 0..14
            0xc4, 0x84, 1, 0, 0xff, 0, 0xc4, 0x19, 1, 2, 0x12, 9, 0x13, 1, 1, // 14..29
            0xb6, 0, 5, 0xb9, 0, 6, 1, 0, 0xba, 0, 7, 0, 0, 0xc5, 0, 8, 2, // 29..46
            0x99, 0xff, 0xfe, 0xc8, 0, 1, 0, 0, 0xa9, 4, 0xb1, // 46..57
        ];
        use Operands::*;
        let expected = [
            (0, 0x10, Value(-1)),
            (2, 0x11, Value(256)),
            (5, 0xbc, ArrayType(10)),
            (7, 0x15, Local(7)),
            (9, 0x1d, Local(3)),
            (10, 0x4e, Local(3)),
            (11, 0x84, Increment { local: 3, by: -2 }),
            (14, 0x84, Increment { local: 256, by: -256 }),
            (20, 0x19, Local(258)),
            (24, 0x12, Constant(9)),
            (26, 0x13, Constant(257)),
            (29, 0xb6, Constant(5)),
            (32, 0xb9, Constant(6)),
            (37, 0xba, Constant(7)),
            (42, 0xc5, MultiArray { class: 8, dimensions: 2 }),
            (46, 0x99, Branch(44)),
            (49, 0xc8, Branch(49 + 65536)),
            (54, 0xa9, Local(4)),
            (56, 0xb1, None),
        ];
        assert_eq!(all(&code), expected);
    }

    #[test]
    fn switches_have_keys_and_targets() {
        let mut table = vec![0x00, 0xaa, 0, 0];
        for word in [20_i32, -1, 1, 4, 8, -1] {
            table.extend(word.to_be_bytes());
        }
        let mut lookup = vec![0xab, 0, 0, 0];
        for word in [9_i32, 2, -5, 1, 70_000, 2] {
            lookup.extend(word.to_be_bytes());
        }
        let [_, (1, opcode::TABLESWITCH, Operands::Switch(table))] = all(&table)[..] else {
            panic!()
        };
        assert_eq!(table.default_target(), 21);
        assert_eq!(table.cases().collect::<Vec<_>>(), [(-1, 5), (0, 9), (1, 0)]);
        let [(0, opcode::LOOKUPSWITCH, Operands::Switch(lookup))] = all(&lookup)[..] else {
            panic!()
        };
        assert_eq!(lookup.default_target(), 9);
        assert_eq!(lookup.cases().collect::<Vec<_>>(), [(-5, 1), (70_000, 2)]);
    }

    #[test]
    fn what_is_no_instruction_is_an_error_with_its_offset() {
        let unexpected = |offset, expected, found| Error::Unexpected { offset, expected, found };
        assert_eq!(error(&[0, 0xca]), unexpected(101, "an opcode", 0xca));
        assert_eq!(error(&[0xc4, 0]), unexpected(100, "an instruction that can be wide", 0xc4));
        assert_eq!(error(&[0xaa, 0, 0, 0, 0]), unexpected(100, "a whole switch", 0xaa));
        let negative = [0xab, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(error(&negative), unexpected(100, "a count of keys", 0xab));
        let expected = "the rest of an instruction";
        assert_eq!(error(&[0xb6, 0]), Error::Truncated { offset: 102, expected });
    }

    #[test]
    fn only_jumps_and_ends_do_not_fall_through() {
        let code = [0xa7, 0, 3, 0xa8, 0, 3, 0xbf, 0x99, 0, 0, 0xb1, 0xb6, 0, 0];
        let falls: Vec<_> =
            Instructions::new(&code, 0).map(|it| it.unwrap().falls_through()).collect();
        assert_eq!(falls, [false, true, false, true, false, true]);
    }
}
