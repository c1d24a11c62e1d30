//! Calls of methods that access fields and components without an instruction, and the code that
//! reports these accesses. It takes all arguments of the call from the operand stack to local
//! variables and back.

use perk_classfile::{MemberRef, opcode, push_access};

use crate::helper::Helper;

/// A call that accesses fields or components.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HelperCall<'c> {
    /// The method that the probe calls.
    pub(crate) helper: Helper,
    /// The arguments that it takes, by their index.
    pub(crate) passed: &'static [usize],
    /// The number that it takes after them.
    pub(crate) number: Option<u32>,
    /// Whether the probe is after the call: it does not run if the call throws an exception.
    pub(crate) is_after: bool,
    descriptor: &'c [u8],
}

const READ: u32 = 1;
const WRITE: u32 = 2;
const LENGTH: u32 = 4;
/// The shift of the logarithm of the bytes that are accessed.
const WIDTH_SHIFT: u32 = 3;

impl<'c> HelperCall<'c> {
    /// Returns the accesses of a method that an instruction calls.
    pub(crate) fn of(callee: MemberRef<'c>) -> Option<Self> {
        let MemberRef { class, name, descriptor, .. } = callee;
        let (helper, passed, number): (_, &'static [usize], _) = match (class, name) {
            (b"jdk/internal/misc/Unsafe", b"copyMemory" | b"copySwapMemory")
                if descriptor.starts_with(b"(Ljava/lang/Object;J") =>
            {
                (Helper::COPIED_MEMORY, &[0, 1, 2, 3, 4], None)
            }
            (b"jdk/internal/misc/Unsafe", b"setMemory")
                if descriptor.starts_with(b"(Ljava/lang/Object;J") =>
            {
                (Helper::FILLED_MEMORY, &[0, 1, 2], None)
            }
            (b"jdk/internal/misc/Unsafe", _) if descriptor.starts_with(b"(Ljava/lang/Object;J") => {
                let access = of_unsafe(name)? | width(name) << WIDTH_SHIFT;
                (Helper::ACCESSED_AT, &[0, 1], Some(access))
            }
            (b"java/lang/reflect/Array", _) if descriptor.starts_with(b"(Ljava/lang/Object;") => {
                let access = match name {
                    b"getLength" => READ | LENGTH,
                    _ if name.starts_with(b"get") => READ,
                    _ if name.starts_with(b"set") => WRITE,
                    _ => return None,
                };
                (Helper::ACCESSED_ARRAY, &[0], Some(access))
            }
            (b"java/lang/System", b"arraycopy") => (Helper::COPIED_ARRAY, &[0, 2, 4], None),
            _ => return None,
        };
        let is_after = helper == Helper::COPIED_ARRAY;
        Some(Self { helper, passed, number, is_after, descriptor })
    }

    /// Returns the number of words of all arguments.
    pub(crate) fn words(&self) -> u16 {
        arguments(self.descriptor).map(|(_, words)| words).sum()
    }

    /// Writes the code that takes the arguments from the operand stack to local variables from
    /// `first` on.
    pub(crate) fn take(&self, first: u16, out: &mut Vec<u8>) {
        for (load, local) in self.locals(first).into_iter().rev() {
            push_access(out, load + (opcode::ISTORE - opcode::ILOAD), local);
        }
    }

    /// Writes the code that pushes the arguments of the probe.
    pub(crate) fn pass(&self, first: u16, out: &mut Vec<u8>) {
        let locals = self.locals(first);
        self.passed.iter().for_each(|&at| push_access(out, locals[at].0, locals[at].1));
    }

    /// Writes the code that pushes all arguments again.
    pub(crate) fn give_back(&self, first: u16, out: &mut Vec<u8>) {
        self.locals(first).into_iter().for_each(|(load, local)| push_access(out, load, local));
    }

    /// Returns the instruction that loads each argument, and its local variable.
    fn locals(&self, first: u16) -> Vec<(u8, u16)> {
        let mut next = first;
        let place = |(load, words)| {
            let local = next;
            next += words;
            (load, local)
        };
        arguments(self.descriptor).map(place).collect()
    }
}

/// Returns the accesses of a method of `Unsafe`. Whether a comparison writes is not known before,
/// and the processor takes the memory to write it in any case.
fn of_unsafe(name: &[u8]) -> Option<u32> {
    let name = name.strip_prefix(b"weak").unwrap_or(name);
    match name {
        _ if name.starts_with(b"getAnd") => Some(READ | WRITE),
        _ if name.starts_with(b"get") => Some(READ),
        _ if name.starts_with(b"put") => Some(WRITE),
        _ if name.to_ascii_lowercase().starts_with(b"compareand") => Some(READ | WRITE),
        _ => None,
    }
}

/// Returns the logarithm of the bytes that a method of `Unsafe` accesses; 0 for references.
fn width(name: &[u8]) -> u32 {
    let has = |word: &[u8]| name.windows(word.len()).any(|part| part == word);
    match () {
        () if has(b"Short") || has(b"Char") => 1,
        () if has(b"Int") || has(b"Float") => 2,
        () if has(b"Long") || has(b"Double") || has(b"Address") => 3,
        () => 0,
    }
}

/// Returns for each parameter of a descriptor the instruction that loads it, and its words.
fn arguments(descriptor: &[u8]) -> impl Iterator<Item = (u8, u16)> {
    let mut left = descriptor.strip_prefix(b"(").unwrap_or_default();
    std::iter::from_fn(move || {
        let kind = *left.first().filter(|it| **it != b')')?;
        let dimensions = left.iter().take_while(|it| **it == b'[').count();
        let of_class = left.get(dimensions) == Some(&b'L');
        let end = if of_class { left.iter().position(|it| *it == b';')? } else { dimensions };
        left = left.get(end + 1..)?;
        Some(match kind {
            b'J' => (opcode::LLOAD, 2),
            b'D' => (opcode::DLOAD, 2),
            b'F' => (opcode::FLOAD, 1),
            b'L' | b'[' => (opcode::ALOAD, 1),
            _ => (opcode::ILOAD, 1),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        class: &'static str,
        name: &'static str,
        descriptor: &'static str,
    ) -> Option<HelperCall<'static>> {
        let [class, name, descriptor] = [class, name, descriptor].map(str::as_bytes);
        HelperCall::of(MemberRef { class, name, descriptor, is_interface: false })
    }

    #[test]
    fn methods_of_unsafe_that_access_objects_are_known() {
        let access = |name, rest: &str| {
            let descriptor = format!("(Ljava/lang/Object;{rest}").leak();
            let call = of("jdk/internal/misc/Unsafe", name, descriptor)?;
            Some((call.helper, call.number.unwrap_or(0)))
        };
        let at = |number| Some((Helper::ACCESSED_AT, number));
        assert_eq!(access("getInt", "J)I"), at(READ | 2 << 3));
        assert_eq!(access("getReferenceAcquire", "J)Ljava/lang/Object;"), at(READ));
        assert_eq!(access("putLongRelease", "JJ)V"), at(WRITE | 3 << 3));
        assert_eq!(access("compareAndSetInt", "JII)Z"), at(READ | WRITE | 2 << 3));
        assert_eq!(access("weakCompareAndSetChar", "JCC)Z"), at(READ | WRITE | 1 << 3));
        assert_eq!(access("getAndAddByte", "JB)B"), at(READ | WRITE));
        let copy = access("copyMemory", "JLjava/lang/Object;JJ)V");
        assert_eq!(copy, Some((Helper::COPIED_MEMORY, 0)));
        assert_eq!(access("setMemory", "JJB)V"), Some((Helper::FILLED_MEMORY, 0)));
        assert_eq!(access("park", "J)V"), None);
        assert!(of("jdk/internal/misc/Unsafe", "getInt", "(J)I").is_none());
        assert!(of("com/acme/Unsafe", "getInt", "(Ljava/lang/Object;J)I").is_none());
    }

    #[test]
    fn methods_of_arrays_are_known() {
        let access = |name, descriptor| of("java/lang/reflect/Array", name, descriptor)?.number;
        assert_eq!(access("getLength", "(Ljava/lang/Object;)I"), Some(READ | LENGTH));
        assert_eq!(access("getInt", "(Ljava/lang/Object;I)I"), Some(READ));
        assert_eq!(access("setInt", "(Ljava/lang/Object;II)V"), Some(WRITE));
        assert_eq!(access("newInstance", "(Ljava/lang/Class;I)Ljava/lang/Object;"), None);
    }

    #[test]
    fn arguments_are_taken_and_given_back() {
        let descriptor = "(Ljava/lang/Object;J[[Ljava/lang/String;D)V";
        let call = of("jdk/internal/misc/Unsafe", "putInt", descriptor).unwrap();
        assert_eq!(call.words(), 6);
        let mut out = Vec::new();
        call.take(4, &mut out);
        let stores = opcode::ISTORE - opcode::ILOAD;
        let given =
            [(opcode::ALOAD, 4), (opcode::LLOAD, 5), (opcode::ALOAD, 7), (opcode::DLOAD, 8)];
        let mut taken = given.map(|(load, local)| [load + stores, local]);
        taken.reverse();
        assert_eq!(out, taken.as_flattened());
        out.clear();
        call.pass(4, &mut out);
        assert_eq!(out, [opcode::ALOAD, 4, opcode::LLOAD, 5]);
        out.clear();
        call.give_back(4, &mut out);
        assert_eq!(out, given.map(|(load, local)| [load, local]).as_flattened());
    }
}
