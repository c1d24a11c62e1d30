//! Annotations that HotSpot respects: those that decide which probes a method can have, and where a
//! field is placed.

use perk_classfile::{Attributes, ClassFile, ConstantPool, Member};

/// The properties of a method that its annotations declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether a JIT may replace the method's code: `@IntrinsicCandidate`.
    pub is_intrinsic: bool,
    /// Whether the method changes the current thread: `@ChangesCurrentThread`,
    /// `@JvmtiMountTransition`.
    pub switches_thread: bool,
}

impl Marks {
    /// Returns the properties of a method.
    pub fn of(class: &ClassFile<'_>, method: &Member<'_>) -> Self {
        let mut marks = Self::default();
        for annotation in annotations(method.attributes(), class.pool()) {
            match annotation.jvm_name() {
                Some(b"IntrinsicCandidate") => marks.is_intrinsic = true,
                Some(b"ChangesCurrentThread" | b"JvmtiMountTransition") => {
                    marks.switches_thread = true;
                }
                _ => {}
            }
        }
        marks
    }
}

/// An annotation that is visible at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// The descriptor of the annotation's type.
    descriptor: &'a [u8],
    /// The index in the constant pool of the value of its element `value`, if that is a string.
    pub value: Option<u16>,
}

impl<'a> Annotation<'a> {
    /// Returns the name of its type without the package, if the type is one of those meant for the
    /// JVM.
    pub fn jvm_name(&self) -> Option<&'a [u8]> {
        self.descriptor.strip_prefix(b"Ljdk/internal/vm/annotation/")?.strip_suffix(b";")
    }
}

/// Returns the annotations of a class, field or method, up to the first one that cannot be read. A
/// JVM does not refuse such a class either.
pub fn annotations<'a>(
    attributes: Attributes<'a>,
    pool: &'a ConstantPool<'a>,
) -> impl Iterator<Item = Annotation<'a>> {
    let visible = attributes.filter(|it| it.name == b"RuntimeVisibleAnnotations");
    visible.flat_map(move |attribute| {
        let mut reader = AnnotationReader(attribute.contents);
        let count = reader.u16().unwrap_or(0);
        (0..count).map_while(move |_| reader.annotation(pool))
    })
}

/// The maximum depth of nested annotations and arrays. javac does not have a limit.
const MAX_DEPTH: usize = 32;

/// The unread part of the contents of `RuntimeVisibleAnnotations` (JVM specification 4.7.16). Each
/// function returns `None` if the contents end too early.
struct AnnotationReader<'a>(&'a [u8]);

impl AnnotationReader<'_> {
    fn annotation<'p>(&mut self, pool: &ConstantPool<'p>) -> Option<Annotation<'p>> {
        let descriptor = pool.utf8(self.u16()?).ok()?;
        let mut value = None;
        for _ in 0..self.u16()? {
            let is_value = pool.utf8(self.u16()?) == Ok(b"value");
            if let [b's', high, low, ..] = *self.0
                && is_value
            {
                value = Some(u16::from_be_bytes([high, low]));
            }
            self.skip_value(MAX_DEPTH)?;
        }
        Some(Annotation { descriptor, value })
    }

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
        let mut reader = AnnotationReader(&ELEMENTS);
        assert_eq!(reader.skip_elements(2), Some(()));
        assert_eq!(reader.0, [0xff, 0xff]);
        let mut array = AnnotationReader(&[b'[', 0, 2, b's', 0, 1, b's', 0, 2]);
        assert_eq!((array.skip_value(2), array.0.len()), (Some(()), 0));
    }

    #[test]
    fn what_is_behind_a_value_is_left() {
        let skip = |bytes: &[u8]| {
            let mut reader = AnnotationReader(bytes);
            reader.skip_value(MAX_DEPTH).map(|()| reader.0.len())
        };
        assert_eq!(skip(b"I\0\x01rest"), Some(4));
        assert_eq!(skip(b"e\0\x01\0\x02rest"), Some(4));
        assert_eq!(skip(b"[\0\x02I\0\x01I\0\x02rest"), Some(4));
        assert_eq!(skip(b"@\0\x01\0\x01\0\x02[\0\0rest"), Some(4));
        assert_eq!(skip(b"@\0\x01\0\x01\0"), None);
        assert_eq!(skip(&b"[\0\x01".repeat(1_000_000)), None);
    }

    #[test]
    fn what_ends_early_or_is_too_deep_is_given_up() {
        assert_eq!(AnnotationReader(&ELEMENTS).skip_elements(1), None);
        for length in 0..ELEMENTS.len() - 2 {
            assert_eq!(AnnotationReader(&ELEMENTS[..length]).skip_elements(2), None, "{length}");
        }
        let deep: Vec<u8> = [b'[', 0, 1].repeat(100_000);
        assert_eq!(AnnotationReader(&deep).skip_value(MAX_DEPTH), None);
    }
}
