//! The constant pool of a class file, indexed once and decoded on demand.

use crate::Error;
use crate::reader::Reader;

/// The tags of constants (JVM specification table 4.4-A).
pub mod tag {
    /// Modified UTF-8.
    pub const UTF8: u8 = 1;
    /// An `int`.
    pub const INTEGER: u8 = 3;
    /// A `float`.
    pub const FLOAT: u8 = 4;
    /// A `long`; takes two indexes.
    pub const LONG: u8 = 5;
    /// A `double`; takes two indexes.
    pub const DOUBLE: u8 = 6;
    /// A class, interface or array type.
    pub const CLASS: u8 = 7;
    /// A string.
    pub const STRING: u8 = 8;
    /// A field of a class.
    pub const FIELD_REF: u8 = 9;
    /// A method of a class.
    pub const METHOD_REF: u8 = 10;
    /// A method of an interface.
    pub const INTERFACE_METHOD_REF: u8 = 11;
    /// A name and a descriptor.
    pub const NAME_AND_TYPE: u8 = 12;
    /// A method handle.
    pub const METHOD_HANDLE: u8 = 15;
    /// A method type.
    pub const METHOD_TYPE: u8 = 16;
    /// A constant computed by a bootstrap method.
    pub const DYNAMIC: u8 = 17;
    /// A call site made by a bootstrap method.
    pub const INVOKE_DYNAMIC: u8 = 18;
    /// A module.
    pub const MODULE: u8 = 19;
    /// A package.
    pub const PACKAGE: u8 = 20;
}

/// The offset of the count of constants in a class file (JVM specification 4.1).
pub(crate) const COUNT_AT: usize = 8;

/// The constants of a class file (JVM specification 4.4).
///
/// Indexes begin at 1. Names are modified UTF-8, classes are named in internal form
/// (`java/lang/Object`, `[I`).
#[derive(Clone, Debug)]
pub struct ConstantPool<'a> {
    /// The file up to the end of the pool.
    bytes: &'a [u8],
    /// The offset of each constant's tag; 0 for index 0 and those after `long` and `double`.
    offsets: Vec<u32>,
}

/// A field or method, as an instruction names it (JVM specification 4.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRef<'a> {
    /// The class, interface or array type in which it is looked up.
    pub class: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Whether it is a method of an interface.
    pub is_interface: bool,
}

impl<'a> ConstantPool<'a> {
    /// Indexes the pool, and moves `reader` to its end. `file` is the whole file.
    pub(crate) fn parse(file: &'a [u8], reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count_at = reader.at();
        let count = usize::from(reader.u16("the count of constants")?);
        let mut offsets = Vec::with_capacity(count.min(file.len()));
        offsets.push(0);
        while offsets.len() < count {
            let offset = reader.at();
            let tag = reader.u8("a constant's tag")?;
            let length = match tag {
                tag::UTF8 => usize::from(reader.u16("a string's length")?),
                _ => fixed_length(tag).ok_or(Error::Unexpected {
                    offset,
                    expected: "a constant's tag",
                    found: tag.into(),
                })?,
            };
            reader.take(length, "a constant")?;
            // A file has at most 4 GiB: `ClassFile::parse` refuses larger ones.
            offsets.push(offset as u32);
            if matches!(tag, tag::LONG | tag::DOUBLE) {
                offsets.push(0);
            }
        }
        if offsets.len() != count {
            // The count is 0, or the second index of the last `long` would be the count itself.
            let (expected, found) = ("the count of constants and one", count as u32);
            return Err(Error::Unexpected { offset: count_at, expected, found });
        }
        Ok(Self { bytes: &file[..reader.at()], offsets })
    }

    /// The count in the class file: one more than the last index.
    pub fn count(&self) -> u16 {
        self.offsets.len() as u16
    }

    /// The offset of the end of the pool in the file.
    pub(crate) fn end(&self) -> usize {
        self.bytes.len()
    }

    /// The tag of a constant (see [`tag`]), if there is a constant at the index.
    pub fn tag(&self, index: u16) -> Option<u8> {
        self.entry(index)?.first().copied()
    }

    /// The bytes of a constant, from its tag to its end.
    pub(crate) fn constant(&self, index: u16) -> Option<&'a [u8]> {
        self.entry(index).map(|bytes| &bytes[..length(bytes)])
    }

    /// The bytes from a constant's tag to the end of the pool.
    fn entry(&self, index: u16) -> Option<&'a [u8]> {
        match self.offsets.get(usize::from(index)) {
            None | Some(0) => None,
            Some(&offset) => self.bytes.get(offset as usize..),
        }
    }

    /// The two bytes after the tag, if the tag is `wanted`.
    fn operand(&self, index: u16, wanted: u8, expected: &'static str) -> Result<u16, Error> {
        match self.entry(index) {
            Some([tag, high, low, ..]) if *tag == wanted => Ok(u16::from_be_bytes([*high, *low])),
            _ => Err(self.not(index, expected)),
        }
    }

    /// The error for a constant that is not as expected.
    pub(crate) fn not(&self, index: u16, expected: &'static str) -> Error {
        let offset = self.offsets.get(usize::from(index)).filter(|&&offset| offset != 0);
        let offset = offset.map_or(self.bytes.len(), |&offset| offset as usize);
        Error::Constant { offset, index, expected }
    }

    /// A string as modified UTF-8.
    ///
    /// # Errors
    ///
    /// If there is no such constant at the index, as for all functions below.
    pub fn utf8(&self, index: u16) -> Result<&'a [u8], Error> {
        let length = usize::from(self.operand(index, tag::UTF8, "a string")?);
        let bytes = self.entry(index).and_then(|entry| entry.get(3..3 + length));
        bytes.ok_or_else(|| self.not(index, "a string"))
    }

    /// The name of a class, interface or array type.
    pub fn class_name(&self, index: u16) -> Result<&'a [u8], Error> {
        self.utf8(self.operand(index, tag::CLASS, "a class")?)
    }

    /// The text of a string constant.
    pub fn string(&self, index: u16) -> Result<&'a [u8], Error> {
        self.utf8(self.operand(index, tag::STRING, "a string constant")?)
    }

    /// An `int` constant.
    pub fn integer(&self, index: u16) -> Result<i32, Error> {
        match self.entry(index) {
            Some(&[tag::INTEGER, a, b, c, d, ..]) => Ok(i32::from_be_bytes([a, b, c, d])),
            _ => Err(self.not(index, "an int constant")),
        }
    }

    /// A `long` constant.
    pub fn long(&self, index: u16) -> Result<i64, Error> {
        let value = match self.entry(index) {
            Some([tag::LONG, value @ ..]) => value.first_chunk(),
            _ => None,
        };
        value
            .map(|value| i64::from_be_bytes(*value))
            .ok_or_else(|| self.not(index, "a long constant"))
    }

    /// A name and a descriptor.
    pub fn name_and_type(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Error> {
        let name = self.operand(index, tag::NAME_AND_TYPE, "a name and type")?;
        Ok((self.utf8(name)?, self.utf8(self.second(index)?)?))
    }

    /// The field or method of an instruction.
    pub fn member_ref(&self, index: u16) -> Result<MemberRef<'a>, Error> {
        let tag = self.tag(index).filter(|tag| {
            matches!(*tag, tag::FIELD_REF | tag::METHOD_REF | tag::INTERFACE_METHOD_REF)
        });
        let tag = tag.ok_or_else(|| self.not(index, "a field or method"))?;
        let class = self.operand(index, tag, "a field or method")?;
        let (name, descriptor) = self.name_and_type(self.second(index)?)?;
        let is_interface = tag == tag::INTERFACE_METHOD_REF;
        Ok(MemberRef { class: self.class_name(class)?, name, descriptor, is_interface })
    }

    /// The name and descriptor of an `invokedynamic` call site or a dynamic constant.
    pub fn dynamic(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Error> {
        match self.tag(index) {
            Some(tag::DYNAMIC | tag::INVOKE_DYNAMIC) => self.name_and_type(self.second(index)?),
            _ => Err(self.not(index, "a dynamic constant or call site")),
        }
    }

    /// The second pair of bytes after the tag.
    fn second(&self, index: u16) -> Result<u16, Error> {
        match self.entry(index) {
            Some(&[_, _, _, high, low, ..]) => Ok(u16::from_be_bytes([high, low])),
            _ => Err(self.not(index, "a constant of two parts")),
        }
    }
}

/// The number of bytes after the tag of a constant that is not a string.
fn fixed_length(tag: u8) -> Option<usize> {
    Some(match tag {
        tag::CLASS | tag::STRING | tag::METHOD_TYPE | tag::MODULE | tag::PACKAGE => 2,
        tag::METHOD_HANDLE => 3,
        tag::INTEGER | tag::FLOAT => 4,
        tag::FIELD_REF | tag::METHOD_REF | tag::INTERFACE_METHOD_REF => 4,
        tag::NAME_AND_TYPE | tag::DYNAMIC | tag::INVOKE_DYNAMIC => 4,
        tag::LONG | tag::DOUBLE => 8,
        _ => return None,
    })
}

/// The length of the constant at the beginning of `bytes`, at most all of them.
pub(crate) fn length(bytes: &[u8]) -> usize {
    let length = match bytes {
        &[tag::UTF8, high, low, ..] => 3 + usize::from(u16::from_be_bytes([high, low])),
        &[tag, ..] => 1 + fixed_length(tag).unwrap_or(0),
        [] => 0,
    };
    length.min(bytes.len())
}
