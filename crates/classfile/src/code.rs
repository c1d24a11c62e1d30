//! The attribute `Code` of a method (JVM specification 4.7.3).

use crate::class::skip_attributes;
use crate::reader::Reader;
use crate::{Attribute, Attributes, ClassFile, Error, Instruction, Instructions};

/// The maximum number of bytes of a method's code (JVM specification 4.11).
pub const MAX_CODE_BYTES: usize = 65_535;

/// The code of a method.
#[derive(Clone, Debug)]
pub struct Code<'c> {
    class: &'c ClassFile<'c>,
    max_stack: u16,
    max_locals: u16,
    parameter_words: u16,
    bytes: &'c [u8],
    /// The offset of the first instruction in the file.
    offset: usize,
    exceptions: &'c [u8],
    attributes: Reader<'c>,
}

/// An entry of an exception table: a handler and the instructions whose exceptions it handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The first pc covered.
    pub start_pc: u16,
    /// The first pc after the covered range.
    pub end_pc: u16,
    /// The pc at which the handler begins.
    pub handler_pc: u16,
    /// The class of exceptions, in the constant pool; 0 for all.
    pub catch_type: u16,
}

/// An entry of a line number table (JVM specification 4.7.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineNumber {
    /// The first pc of the line.
    pub start_pc: u16,
    /// The line, from 1.
    pub line: u16,
}

impl<'c> Code<'c> {
    /// Parses the contents of the attribute of a method with `parameter_words` words of parameters.
    pub(crate) fn parse(
        class: &'c ClassFile<'c>,
        parameter_words: u16,
        mut reader: Reader<'c>,
    ) -> Result<Self, Error> {
        let max_stack = reader.u16("max_stack")?;
        let max_locals = reader.u16("max_locals")?;
        let at = reader.at();
        let length = reader.u32("the length of the code")?;
        if length == 0 || length as usize > MAX_CODE_BYTES {
            let expected = "a length of code from 1 to 65535";
            return Err(Error::Unexpected { offset: at, expected, found: length });
        }
        let offset = reader.at();
        let bytes = reader.take(length as usize, "the code")?;
        let count = reader.u16("the length of the exception table")?;
        let exceptions = reader.take(usize::from(count) * 8, "the exception table")?;
        let attributes = reader.clone();
        // A JVM refuses attributes without a name, also those that it would ignore.
        skip_attributes(&mut reader, |name, _| class.pool().utf8(name).map(|_| ()))?;
        reader.expect_end("the end of the attribute Code")?;
        let code = Self {
            class,
            max_stack,
            max_locals,
            parameter_words,
            bytes,
            offset,
            exceptions,
            attributes,
        };
        Ok(code)
    }

    /// The class it belongs to.
    pub(crate) fn class(&self) -> &'c ClassFile<'c> {
        self.class
    }

    /// The maximum number of words on the operand stack.
    pub fn max_stack(&self) -> u16 {
        self.max_stack
    }

    /// The number of words for local variables, including parameters.
    pub fn max_locals(&self) -> u16 {
        self.max_locals
    }

    /// The number of words of local variables that the parameters take, including the object
    /// itself.
    pub(crate) fn parameter_words(&self) -> u16 {
        self.parameter_words
    }

    /// The instructions' bytes: 1 to 65,535.
    pub fn bytes(&self) -> &'c [u8] {
        self.bytes
    }

    /// The first pc after the code.
    pub fn end_pc(&self) -> u16 {
        u16::try_from(self.bytes.len()).unwrap_or(u16::MAX)
    }

    /// The instructions in the order of their pcs.
    pub fn instructions(&self) -> Instructions<'c> {
        Instructions::new(self.bytes, self.offset)
    }

    /// The instruction at a pc where one is known to begin.
    pub(crate) fn instruction_at(&self, pc: u16) -> Result<Instruction<'c>, Error> {
        self.instructions().at(pc)
    }

    /// The exception table, in the order in which a JVM searches it.
    pub fn exception_table(&self) -> impl ExactSizeIterator<Item = Handler> + use<'c> {
        self.exceptions.chunks_exact(8).map(|entry| {
            let u16_at = |at| u16::from_be_bytes([entry[at], entry[at + 1]]);
            Handler {
                start_pc: u16_at(0),
                end_pc: u16_at(2),
                handler_pc: u16_at(4),
                catch_type: u16_at(6),
            }
        })
    }

    /// The attributes of the code.
    pub fn attributes(&self) -> Attributes<'c> {
        Attributes::new(self.class.pool(), self.attributes.clone())
    }

    /// The line numbers, in the file's order, which need not be that of pcs.
    ///
    /// # Errors
    ///
    /// If a line number table is shorter than its count requires.
    pub fn line_numbers(&self) -> Result<impl Iterator<Item = LineNumber> + use<'c>, Error> {
        for attribute in self.attributes().filter(is_line_numbers) {
            let mut reader = self.contents(&attribute);
            let count = reader.u16("the length of a line number table")?;
            reader.take(usize::from(count) * 4, "a line number")?;
        }
        let tables = self.attributes().filter(is_line_numbers);
        Ok(tables.flat_map(|table| {
            let count = table.contents.first_chunk().map_or(0, |count| u16::from_be_bytes(*count));
            let entries = table.contents.get(2..).unwrap_or_default().chunks_exact(4);
            entries.take(count.into()).map(|entry| LineNumber {
                start_pc: u16::from_be_bytes([entry[0], entry[1]]),
                line: u16::from_be_bytes([entry[2], entry[3]]),
            })
        }))
    }

    /// A reader of an attribute's contents.
    pub(crate) fn contents(&self, attribute: &Attribute<'c>) -> Reader<'c> {
        let end = attribute.offset + attribute.contents.len();
        Reader::new(&self.class.bytes()[..end], attribute.offset)
    }
}

fn is_line_numbers(attribute: &Attribute<'_>) -> bool {
    attribute.name == b"LineNumberTable"
}
