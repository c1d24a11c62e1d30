//! The constants of a class, where they say what the object of a lambda calls.

use super::super::MissingDescription;
use super::super::memory::Memory;
use super::super::tables::Tables;
use super::{Methods, pointer};

// The kinds of constants: those of class files (JVM specification 4.4), and the JVM's own for a class
// that was not used yet.
const CLASS: u8 = 7;
const METHOD: u8 = 10;
const INTERFACE_METHOD: u8 = 11;
const NAME_AND_TYPE: u8 = 12;
const UNUSED_CLASS: u8 = 100;

/// The greatest number of constants of a class for lambdas. They have some dozens.
const MOST: usize = 1 << 10;

/// The offsets of what is read of constants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    length: usize,
    tags: usize,
    tag_data: usize,
}

/// A method that is called.
#[derive(Debug, PartialEq, Eq)]
struct Callee {
    class: Vec<u8>,
    name: Vec<u8>,
}

impl Constants {
    pub(super) fn new(tables: &Tables) -> Result<Self, MissingDescription> {
        Ok(Self {
            length: tables.offset(&["ConstantPool._length"])?,
            tags: tables.offset(&["ConstantPool._tags"])?,
            tag_data: tables.offset(&["Array<u1>._data"])?,
        })
    }
}

impl Methods {
    /// Returns the name of the method that the class of a lambda's object calls; `None` where the
    /// constants of the class leave several. Allocates.
    pub(super) fn target(&self, memory: &impl Memory, pool: usize) -> Option<Vec<u8>> {
        let entries = self.entries?;
        let length = memory.u32(pool.wrapping_add(entries.length))? as usize;
        let tags = pointer(memory, pool.wrapping_add(entries.tags))?.wrapping_add(entries.tag_data);
        let tag = |index: usize| memory.u8(tags.wrapping_add(index));
        let mut callees = Vec::new();
        for index in 1..length.min(MOST) {
            if matches!(tag(index)?, METHOD | INTERFACE_METHOD) {
                let (class, name_and_type) = self.halves(memory, pool, index)?;
                if !matches!(tag(class)?, CLASS | UNUSED_CLASS)
                    || tag(name_and_type)? != NAME_AND_TYPE
                {
                    return None;
                }
                let text = |index| self.symbol_bytes(memory, self.symbol(memory, pool, index)?);
                let class = text(self.halves(memory, pool, class)?.1 as i64)?;
                let name = text(self.halves(memory, pool, name_and_type)?.0 as i64)?;
                callees.push(Callee { class, name });
            }
        }
        target_of(callees)
    }

    /// Returns the lower and the upper half of an entry: the class, and the name and type, of a method;
    /// the name and the type; a number and the name of a class.
    fn halves(&self, memory: &impl Memory, pool: usize, index: usize) -> Option<(usize, usize)> {
        let slot = index.wrapping_mul(size_of::<usize>());
        let word = memory.u32(pool.wrapping_add(self.pool_size).wrapping_add(slot))?;
        Some(((word & 0xffff) as usize, (word >> 16) as usize))
    }
}

/// Returns the name of the callee that is neither the constructor of the superclass nor there for the
/// conversion of arguments and results; `new` for a constructor.
fn target_of(mut callees: Vec<Callee>) -> Option<Vec<u8>> {
    callees.retain(|it| it.class != b"java/lang/Object" || it.name != b"<init>");
    if callees.len() > 1 {
        callees.retain(|it| !it.is_conversion());
    }
    match <[Callee; 1]>::try_from(callees) {
        // A handle has been called that represents the method.
        Ok([callee]) if callee.class.starts_with(b"java/lang/invoke/") => None,
        Ok([callee]) if callee.name == b"<init>" => Some(b"new".to_vec()),
        Ok([callee]) => Some(callee.name),
        Err(_) => None,
    }
}

impl Callee {
    /// Whether it boxes a primitive value or unboxes one.
    fn is_conversion(&self) -> bool {
        let is_box = matches!(
            self.class.strip_prefix(b"java/lang/").unwrap_or_default(),
            b"Boolean"
                | b"Byte"
                | b"Character"
                | b"Short"
                | b"Integer"
                | b"Long"
                | b"Float"
                | b"Double"
                | b"Number"
        );
        is_box && (self.name == b"valueOf" || self.name.ends_with(b"Value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(callees: &[(&str, &str)], target: Option<&str>) {
        let callees = callees.iter().map(|(class, name)| Callee {
            class: class.as_bytes().to_vec(),
            name: name.as_bytes().to_vec(),
        });
        let found = target_of(callees.collect());
        assert_eq!(found.as_deref().map(String::from_utf8_lossy).as_deref(), target);
    }

    #[test]
    fn the_callee_is_the_target() {
        let object = ("java/lang/Object", "<init>");
        let body = ("a/Main", "lambda$main$0");
        let [boxes, unboxes] = [("java/lang/Integer", "valueOf"), ("java/lang/Number", "intValue")];
        check(&[object, body], Some("lambda$main$0"));
        check(&[body, object, boxes, unboxes], Some("lambda$main$0"));
        check(&[object, unboxes], Some("intValue"));
        check(&[object, ("java/util/ArrayList", "<init>")], Some("new"));
        check(&[object, ("java/lang/Integer", "toString")], Some("toString"));
        for unclear in [
            &[object][..],
            &[object, boxes, unboxes],
            &[object, body, ("a/Main", "other")],
            &[object, ("java/lang/invoke/MethodHandle", "invokeExact")],
        ] {
            check(unclear, None);
        }
    }
}
