//! The parts of a class file, found in one walk (JVM specification 4.1).

use std::ops::Range;

use crate::pool::{COUNT_AT, ConstantPool, tag};
use crate::reader::Reader;
use crate::{Code, Error};

const MAGIC: u32 = 0xCAFE_BABE;

/// Access and property flags (JVM specification tables 4.1-B, 4.5-A and 4.6-A) that matter for
/// added code.
pub mod access {
    /// Accessible from everywhere.
    pub const PUBLIC: u16 = 0x0001;
    /// Accessible only from its class.
    pub const PRIVATE: u16 = 0x0002;
    /// Belongs to the class, not to an object.
    pub const STATIC: u16 = 0x0008;
    /// A method that holds a monitor while it runs.
    pub const SYNCHRONIZED: u16 = 0x0020;
    /// A field that serialization leaves out.
    pub const TRANSIENT: u16 = 0x0080;
    /// A method whose code is not Java code.
    pub const NATIVE: u16 = 0x0100;
    /// An interface.
    pub const INTERFACE: u16 = 0x0200;
    /// A method without code, or a class with such methods.
    pub const ABSTRACT: u16 = 0x0400;
    /// A part that is not in the source.
    pub const SYNTHETIC: u16 = 0x1000;
}

/// A class file: the offsets of its parts, and its constant pool.
///
/// Parsing finds every field, method and attribute, and checks that they fill the file. The
/// contents of `Code` are read on demand ([`Member::code`]).
#[derive(Clone, Debug)]
pub struct ClassFile<'a> {
    bytes: &'a [u8],
    pool: ConstantPool<'a>,
    interfaces: Range<usize>,
    fields: Vec<Entry>,
    methods: Vec<Entry>,
    /// The offset of the class's own attributes in the file.
    attributes_at: usize,
}

/// A field or method.
#[derive(Clone, Debug)]
struct Entry {
    access_flags: u16,
    name: u16,
    descriptor: u16,
    /// The offset of the first attribute in the file.
    attributes_at: u32,
    end: u32,
    /// The whole attribute `Code`, with its name and length.
    code: Option<Range<u32>>,
}

impl<'a> ClassFile<'a> {
    /// Parses a class file.
    ///
    /// # Errors
    ///
    /// If the bytes are not one whole class file. The meaning of the parts is not checked: a JVM
    /// may still refuse a class that parses.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, 0);
        let magic = reader.u32("a class file")?;
        if magic != MAGIC {
            return Err(Error::Unexpected { offset: 0, expected: "a class file", found: magic });
        }
        if u32::try_from(bytes.len()).is_err() {
            let expected = "the end of the class file";
            return Err(Error::Unexpected { offset: u32::MAX as usize, expected, found: 0 });
        }
        reader.u32("the version")?;
        let pool = ConstantPool::parse(bytes, &mut reader)?;
        reader.take(6, "access flags, class and superclass")?;
        let count = reader.u16("the count of interfaces")?;
        let interfaces = reader.at()..reader.at() + 2 * usize::from(count);
        reader.take(interfaces.len(), "the interfaces")?;
        let mut names = CodeName::new(&pool);
        let fields = entries(&mut reader, &mut names)?;
        let methods = entries(&mut reader, &mut names)?;
        let attributes_at = reader.at();
        skip_attributes(&mut reader, |_, _| Ok(()))?;
        reader.expect_end("the end of the class file")?;
        Ok(Self { bytes, pool, interfaces, fields, methods, attributes_at })
    }

    /// Returns the file with other texts in its constant pool: `renamed` is called for each, and
    /// returns `None` for those that stay.
    pub fn with_texts(&self, renamed: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
        let pool = &self.pool;
        let mut bytes = self.bytes[..COUNT_AT + 2].to_vec();
        for index in 1..pool.count() {
            let text = pool.utf8(index).ok().and_then(&renamed);
            match text.and_then(|text| Some((u16::try_from(text.len()).ok()?, text))) {
                Some((length, text)) => {
                    bytes.push(tag::UTF8);
                    bytes.extend(length.to_be_bytes());
                    bytes.extend(text);
                }
                // A constant of eight bytes takes two indexes.
                None => bytes.extend(pool.constant(index).unwrap_or_default()),
            }
        }
        bytes.extend(&self.bytes[pool.end()..]);
        bytes
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The constant pool.
    pub fn pool(&self) -> &ConstantPool<'a> {
        &self.pool
    }

    /// Major and minor version: 61 and 0 for Java 17.
    pub fn version(&self) -> (u16, u16) {
        (self.u16_at(6), self.u16_at(4))
    }

    /// The class's access flags (see [`access`]).
    pub fn access_flags(&self) -> u16 {
        self.u16_at(self.pool.end())
    }

    /// The class's name.
    ///
    /// # Errors
    ///
    /// If the file does not name a class there, as for the functions below.
    pub fn name(&self) -> Result<&'a [u8], Error> {
        self.pool.class_name(self.this_class())
    }

    /// The constant that is the class itself.
    pub fn this_class(&self) -> u16 {
        self.u16_at(self.pool.end() + 2)
    }

    /// The superclass's name; `None` for `java/lang/Object` and modules.
    pub fn super_name(&self) -> Result<Option<&'a [u8]>, Error> {
        match self.u16_at(self.pool.end() + 4) {
            0 => Ok(None),
            index => self.pool.class_name(index).map(Some),
        }
    }

    /// The names of the interfaces that the class lists itself.
    pub fn interfaces(&self) -> impl Iterator<Item = Result<&'a [u8], Error>> {
        let indexes = &self.bytes[self.interfaces.clone()];
        indexes
            .chunks_exact(2)
            .map(|index| self.pool.class_name(u16::from_be_bytes([index[0], index[1]])))
    }

    /// The fields, in the file's order.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = Member<'_>> {
        self.fields.iter().map(|entry| Member { class: self, entry })
    }

    /// The methods, in the file's order.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = Member<'_>> {
        self.methods.iter().map(|entry| Member { class: self, entry })
    }

    /// The method at an index; `None` if there are fewer.
    pub fn method(&self, index: usize) -> Option<Member<'_>> {
        self.methods.get(index).map(|entry| Member { class: self, entry })
    }

    /// The class's own attributes.
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::new(&self.pool, Reader::new(self.bytes, self.attributes_at))
    }

    /// The offset of the count of fields in the file.
    pub(crate) fn field_count_at(&self) -> usize {
        self.interfaces.end
    }

    /// The big-endian value at an offset that parsing has checked.
    fn u16_at(&self, offset: usize) -> u16 {
        self.bytes[offset..].first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }
}

/// A field (JVM specification 4.5) or method (4.6).
#[derive(Clone, Copy, Debug)]
pub struct Member<'c> {
    class: &'c ClassFile<'c>,
    entry: &'c Entry,
}

impl<'c> Member<'c> {
    /// Its access flags (see [`access`]).
    pub fn access_flags(&self) -> u16 {
        self.entry.access_flags
    }

    /// Its name.
    ///
    /// # Errors
    ///
    /// If the file does not have a string there.
    pub fn name(&self) -> Result<&'c [u8], Error> {
        self.class.pool.utf8(self.entry.name)
    }

    /// Its descriptor.
    ///
    /// # Errors
    ///
    /// If the file does not have a string there.
    pub fn descriptor(&self) -> Result<&'c [u8], Error> {
        self.class.pool.utf8(self.entry.descriptor)
    }

    /// The descriptor, which must be that of a method.
    ///
    /// # Errors
    ///
    /// If it is not a method descriptor (JVM specification 4.3.3).
    pub(crate) fn method_descriptor(&self) -> Result<&'c [u8], Error> {
        let descriptor = self.descriptor()?;
        let index = self.entry.descriptor;
        let error = || self.class.pool.not(index, "a method's descriptor");
        is_method_descriptor(descriptor).then_some(descriptor).ok_or_else(error)
    }

    /// Its attributes.
    pub fn attributes(&self) -> Attributes<'c> {
        let bytes = &self.class.bytes[..self.entry.end as usize];
        Attributes::new(&self.class.pool, Reader::new(bytes, self.entry.attributes_at as usize))
    }

    /// Its code; `None` for fields, and for methods that are abstract or native.
    ///
    /// # Errors
    ///
    /// If the attribute `Code` is not well formed.
    pub fn code(&self) -> Result<Option<Code<'c>>, Error> {
        let Some(attribute) = self.code_attribute() else { return Ok(None) };
        let bytes = &self.class.bytes[..attribute.end];
        let receiver = u16::from(self.access_flags() & access::STATIC == 0);
        let words = receiver + parameter_words(self.descriptor()?);
        Code::parse(self.class, words, Reader::new(bytes, attribute.start + HEADER)).map(Some)
    }

    /// The range of the whole attribute `Code` in the file.
    pub(crate) fn code_attribute(&self) -> Option<Range<usize>> {
        self.entry.code.as_ref().map(|range| range.start as usize..range.end as usize)
    }
}

fn is_method_descriptor(text: &[u8]) -> bool {
    let Some(mut left) = text.strip_prefix(b"(") else { return false };
    loop {
        if let Some(returned) = left.strip_prefix(b")") {
            return returned == b"V" || after_type(returned) == Some(b"");
        }
        match after_type(left) {
            Some(others) => left = others,
            None => return false,
        }
    }
}

/// The number of words that the parameters of a method take.
pub(crate) fn parameter_words(descriptor: &[u8]) -> u16 {
    let Some(mut left) = descriptor.strip_prefix(b"(") else { return 0 };
    let mut words = 0;
    while let Some(others) = after_type(left) {
        words += if left.starts_with(b"J") || left.starts_with(b"D") { 2 } else { 1 };
        left = others;
    }
    words
}

/// Returns the text after the descriptor of a type (JVM specification 4.3.2); `None` if there is no
/// such descriptor.
fn after_type(text: &[u8]) -> Option<&[u8]> {
    let dimensions = text.iter().take_while(|it| **it == b'[').count();
    let (first, others) = text[dimensions..].split_first()?;
    match first {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => Some(others),
        b'L' => {
            let end = others.iter().position(|it| *it == b';').filter(|end| *end > 0)?;
            Some(&others[end + 1..])
        }
        _ => None,
    }
}

/// The number of bytes before an attribute's contents: its name and length.
const HEADER: usize = 6;

/// An attribute (JVM specification 4.7).
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'c> {
    /// Its name; empty if the file does not give one.
    pub name: &'c [u8],
    /// Its bytes, without name and length.
    pub contents: &'c [u8],
    /// The offset of the contents in the file.
    pub offset: usize,
    /// The index of its name in the constant pool.
    pub(crate) name_index: u16,
}

/// The attributes of a class, field, method or `Code`.
#[derive(Clone, Debug)]
pub struct Attributes<'c> {
    pool: &'c ConstantPool<'c>,
    reader: Reader<'c>,
    left: u16,
}

impl<'c> Attributes<'c> {
    /// Makes an iterator that begins at the attributes' count.
    pub(crate) fn new(pool: &'c ConstantPool<'c>, mut reader: Reader<'c>) -> Self {
        let left = reader.u16("the count of attributes").unwrap_or(0);
        Self { pool, reader, left }
    }
}

impl<'c> Iterator for Attributes<'c> {
    type Item = Attribute<'c>;

    // The attributes were checked before the iterator is made, so that no errors occur here.
    fn next(&mut self) -> Option<Attribute<'c>> {
        self.left = self.left.checked_sub(1)?;
        let name_index = self.reader.u16("an attribute's name").ok()?;
        let length = self.reader.u32("an attribute's length").ok()?;
        let offset = self.reader.at();
        let contents = self.reader.take(length as usize, "an attribute").ok()?;
        let name = self.pool.utf8(name_index).unwrap_or_default();
        Some(Attribute { name, contents, offset, name_index })
    }
}

/// Skips a count and as many attributes; calls `each` with name index and contents.
pub(crate) fn skip_attributes<'a>(
    reader: &mut Reader<'a>,
    mut each: impl FnMut(u16, Reader<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    for _ in 0..reader.u16("the count of attributes")? {
        let name = reader.u16("an attribute's name")?;
        let length = reader.u32("an attribute's length")?;
        each(name, reader.part(length as usize, "an attribute")?)?;
    }
    Ok(())
}

/// Recognises the name `Code`, most often by its index alone.
struct CodeName<'p, 'a> {
    pool: &'p ConstantPool<'a>,
    known: Option<u16>,
}

impl<'p, 'a> CodeName<'p, 'a> {
    fn new(pool: &'p ConstantPool<'a>) -> Self {
        Self { pool, known: None }
    }

    fn is(&mut self, name: u16) -> bool {
        if self.known == Some(name) {
            return true;
        }
        let is_code = self.pool.utf8(name) == Ok(b"Code");
        if is_code {
            self.known = Some(name);
        }
        is_code
    }
}

/// Reads the fields or methods.
fn entries(reader: &mut Reader<'_>, code_name: &mut CodeName<'_, '_>) -> Result<Vec<Entry>, Error> {
    let count = reader.u16("the count of members")?;
    // The capacity is limited, as the count may be wrong: entries take at least 8 bytes each.
    let mut entries = Vec::with_capacity(usize::from(count.min(256)));
    for _ in 0..count {
        let access_flags = reader.u16("a member's access flags")?;
        let name = reader.u16("a member's name")?;
        let descriptor = reader.u16("a member's descriptor")?;
        let attributes_at = reader.at();
        let mut code: Option<Range<u32>> = None;
        skip_attributes(reader, |name, contents| {
            if code_name.is(name) {
                let start = contents.at() - HEADER;
                if code.is_some() {
                    let expected = "one attribute Code at most";
                    return Err(Error::Unexpected { offset: start, expected, found: name.into() });
                }
                code = Some(start as u32..contents.end() as u32);
            }
            Ok(())
        })?;
        let (attributes_at, end) = (attributes_at as u32, reader.at() as u32);
        entries.push(Entry { access_flags, name, descriptor, attributes_at, end, code });
    }
    Ok(entries)
}
