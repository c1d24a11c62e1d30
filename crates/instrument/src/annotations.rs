//! The annotations of the JDK's methods that decide which probes they can have.

use perk_classfile::{ClassFile, Member};

/// What a method's annotations say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// A JIT may replace its code: `@IntrinsicCandidate`.
    pub(crate) is_intrinsic: bool,
    /// It changes what thread is the current one: `@ChangesCurrentThread`,
    /// `@JvmtiMountTransition`.
    pub(crate) switches_thread: bool,
}

/// How deep annotations and arrays may be in one another; javac has no limit, people do.
const MAX_DEPTH: usize = 32;

impl Marks {
    /// Those of a method. What cannot be read says nothing: a JVM does not refuse it either.
    pub(crate) fn of(class: &ClassFile<'_>, method: &Member<'_>) -> Self {
        let mut marks = Self::default();
        for attribute in method.attributes() {
            if attribute.name == b"RuntimeVisibleAnnotations" {
                let _ = marks.read(class, attribute.contents);
            }
        }
        marks
    }

    /// Reads the contents of `RuntimeVisibleAnnotations` (JVM specification 4.7.16).
    fn read(&mut self, class: &ClassFile<'_>, contents: &[u8]) -> Option<()> {
        let mut reader = Reader(contents);
        for _ in 0..reader.u16()? {
            let name = class.pool().utf8(reader.u16()?).ok()?;
            match name.strip_prefix(b"Ljdk/internal/vm/annotation/") {
                Some(b"IntrinsicCandidate;") => self.is_intrinsic = true,
                Some(b"ChangesCurrentThread;" | b"JvmtiMountTransition;") => {
                    self.switches_thread = true;
                }
                _ => {}
            }
            reader.skip_elements(MAX_DEPTH)?;
        }
        Some(())
    }
}

/// What is left of an attribute; each function gives none where it ends too early.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    fn u16(&mut self) -> Option<u16> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*bytes))
    }

    /// Skips the pairs of name and value of an annotation.
    fn skip_elements(&mut self, depth: usize) -> Option<()> {
        for _ in 0..self.u16()? {
            self.skip(2)?;
            self.skip_value(depth)?;
        }
        Some(())
    }

    fn skip_value(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let tag = *self.0.first()?;
        self.skip(1)?;
        match tag {
            b'e' => self.skip(4),
            b'@' => {
                self.skip(2)?;
                self.skip_elements(depth)
            }
            b'[' => (0..self.u16()?).try_for_each(|_| self.skip_value(depth)),
            _ => self.skip(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `@A(int, enum, @B(class), {string, string})`.
    const ELEMENTS: [u8; 33] = [
        0, 4, // pairs
        0, 1, b'I', 0, 2, //
        0, 1, b'e', 0, 2, 0, 3, //
        0, 1, b'@', 0, 2, 0, 1, 0, 3, b'c', 0, 4, // its end is the class
        0, 1, b'[', 0, 0, //
        0xff, 0xff,
    ];

    #[test]
    fn values_of_each_form_are_stepped_over() {
        let mut reader = Reader(&ELEMENTS);
        assert_eq!(reader.skip_elements(2), Some(()));
        assert_eq!(reader.0, [0xff, 0xff]);
        let mut array = Reader(&[b'[', 0, 2, b's', 0, 1, b's', 0, 2]);
        assert_eq!((array.skip_value(2), array.0.len()), (Some(()), 0));
    }

    #[test]
    fn what_ends_early_or_is_too_deep_is_given_up() {
        assert_eq!(Reader(&ELEMENTS).skip_elements(1), None);
        for length in 0..ELEMENTS.len() - 2 {
            assert_eq!(Reader(&ELEMENTS[..length]).skip_elements(2), None, "{length}");
        }
        let deep: Vec<u8> = [b'[', 0, 1].repeat(100_000);
        assert_eq!(Reader(&deep).skip_value(MAX_DEPTH), None);
    }
}
