//! Constants added after those of a class file.

use crate::pool::{self, ConstantPool, tag};
use crate::{PoolError, opcode};

/// Adds constants to a class's pool. A constant that exists already, or was added before, is not
/// added again.
#[derive(Clone, Debug)]
pub struct PoolEditor<'c> {
    original: &'c ConstantPool<'c>,
    /// The constants added.
    bytes: Vec<u8>,
    /// The offset of each of them in `bytes`, by index minus the original count.
    starts: Vec<u32>,
    /// A hash table with open addressing: indexes of constants by the hash of their bytes, 0 in a
    /// free slot. It is empty until the first constant is added, so that a class without edits
    /// costs nothing.
    table: Vec<u16>,
    /// The number of slots of the table in use.
    used: usize,
}

impl<'c> PoolEditor<'c> {
    pub(crate) fn new(original: &'c ConstantPool<'c>) -> Self {
        Self { original, bytes: Vec::new(), starts: Vec::new(), table: Vec::new(), used: 0 }
    }

    /// The bytes of the constants added.
    pub(crate) fn added(&self) -> &[u8] {
        &self.bytes
    }

    /// The count to write into the class file: one more than the last index.
    pub fn count(&self) -> u16 {
        self.original.count() + self.starts.len() as u16
    }

    /// Adds a string, given as modified UTF-8 (for most names that is UTF-8).
    ///
    /// # Errors
    ///
    /// If the pool is full, as for all functions below; or if the string is too long.
    pub fn utf8(&mut self, text: impl AsRef<[u8]>) -> Result<u16, PoolError> {
        let text = text.as_ref();
        let too_long = PoolError::TooLong { bytes: text.len() };
        let [high, low] = u16::try_from(text.len()).map_err(|_| too_long)?.to_be_bytes();
        self.add(&[&[tag::UTF8, high, low], text])
    }

    /// Adds a class, interface or array type by its internal name.
    pub fn class(&mut self, name: impl AsRef<[u8]>) -> Result<u16, PoolError> {
        let name = self.utf8(name)?;
        self.pair(tag::CLASS, name, None)
    }

    /// Adds a string constant, given as modified UTF-8.
    pub fn string(&mut self, text: impl AsRef<[u8]>) -> Result<u16, PoolError> {
        let text = self.utf8(text)?;
        self.pair(tag::STRING, text, None)
    }

    /// Adds an `int` constant.
    pub fn integer(&mut self, value: i32) -> Result<u16, PoolError> {
        self.add(&[&[tag::INTEGER], &value.to_be_bytes()])
    }

    /// Adds a `long` constant. It takes two indexes.
    pub fn long(&mut self, value: i64) -> Result<u16, PoolError> {
        self.add(&[&[tag::LONG], &value.to_be_bytes()])
    }

    /// Adds a name and a descriptor.
    pub fn name_and_type(
        &mut self,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
    ) -> Result<u16, PoolError> {
        let name = self.utf8(name)?;
        let descriptor = self.utf8(descriptor)?;
        self.pair(tag::NAME_AND_TYPE, name, Some(descriptor))
    }

    /// Adds a reference to a field of a class.
    pub fn field_ref(
        &mut self,
        class: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
    ) -> Result<u16, PoolError> {
        self.member(tag::FIELD_REF, class.as_ref(), name.as_ref(), descriptor.as_ref())
    }

    /// Adds a reference to a method of a class that is not an interface.
    pub fn method_ref(
        &mut self,
        class: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
    ) -> Result<u16, PoolError> {
        self.member(tag::METHOD_REF, class.as_ref(), name.as_ref(), descriptor.as_ref())
    }

    /// Adds a reference to a method of an interface.
    pub fn interface_method_ref(
        &mut self,
        class: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
    ) -> Result<u16, PoolError> {
        self.member(tag::INTERFACE_METHOD_REF, class.as_ref(), name.as_ref(), descriptor.as_ref())
    }

    /// Appends the shortest code that pushes an `int`. It needs one word of the operand stack.
    pub fn push_int(&mut self, code: &mut Vec<u8>, value: i32) -> Result<(), PoolError> {
        match (i8::try_from(value), i16::try_from(value)) {
            (Ok(value @ -1..=5), _) => code.push(opcode::ICONST_0.wrapping_add_signed(value)),
            (Ok(value), _) => code.extend([opcode::BIPUSH, value as u8]),
            (_, Ok(value)) => {
                let [high, low] = value.to_be_bytes();
                code.extend([opcode::SIPUSH, high, low]);
            }
            _ => match self.integer(value)?.to_be_bytes() {
                [0, index] => code.extend([opcode::LDC, index]),
                [high, low] => code.extend([opcode::LDC_W, high, low]),
            },
        }
        Ok(())
    }

    /// Appends the code that pushes a `long`. It needs two words of the operand stack.
    pub fn push_long(&mut self, code: &mut Vec<u8>, value: i64) -> Result<(), PoolError> {
        match value {
            0 | 1 => code.push(opcode::LCONST_0 + value as u8),
            _ => {
                let [high, low] = self.long(value)?.to_be_bytes();
                code.extend([opcode::LDC2_W, high, low]);
            }
        }
        Ok(())
    }

    fn member(
        &mut self,
        tag: u8,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<u16, PoolError> {
        let class = self.class(class)?;
        let name_and_type = self.name_and_type(name, descriptor)?;
        self.pair(tag, class, Some(name_and_type))
    }

    fn pair(&mut self, tag: u8, first: u16, second: Option<u16>) -> Result<u16, PoolError> {
        let second = second.map(u16::to_be_bytes);
        let second = second.as_ref().map_or(&[][..], |bytes| bytes);
        self.add(&[&[tag], &first.to_be_bytes(), second])
    }

    /// Returns the index of the constant whose bytes are the concatenation of `parts`.
    fn add(&mut self, parts: &[&[u8]]) -> Result<u16, PoolError> {
        if self.table.is_empty() {
            self.index(usize::from(self.original.count()) + 64);
        } else if self.used * 2 >= self.table.len() {
            self.index(self.used * 2);
        }
        // The constant is written where it would be added, and removed again if it is known.
        let start = self.bytes.len();
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        let place = match self.find(&self.bytes[start..]) {
            Ok(index) => {
                self.bytes.truncate(start);
                return Ok(index);
            }
            Err(place) => place,
        };
        let slots = if self.bytes[start] == tag::LONG { 2 } else { 1 };
        let index = self.count();
        if usize::from(index) + slots > usize::from(u16::MAX) {
            self.bytes.truncate(start);
            return Err(PoolError::Full);
        }
        self.starts.extend(std::iter::repeat_n(start as u32, slots));
        self.table[place] = index;
        self.used += 1;
        Ok(index)
    }

    /// Rebuilds the table, for `expected` constants and as many more.
    fn index(&mut self, expected: usize) {
        self.table.clear();
        self.table.resize((expected * 2).next_power_of_two(), 0);
        self.used = 0;
        for index in 1..self.count() {
            let Some(constant) = self.constant(index) else { continue };
            if let Err(place) = self.find(constant) {
                self.table[place] = index;
                self.used += 1;
            }
        }
    }

    /// Returns the index of a constant, or else its slot in the table.
    fn find(&self, constant: &[u8]) -> Result<u16, usize> {
        let mask = self.table.len() - 1;
        let mut place = hash(constant) & mask;
        loop {
            match self.table[place] {
                0 => return Err(place),
                index if self.constant(index) == Some(constant) => return Ok(index),
                _ => place = (place + 1) & mask,
            }
        }
    }

    /// The bytes of a constant; `None` for the second index of a `long`.
    fn constant(&self, index: u16) -> Option<&[u8]> {
        let Some(added) = index.checked_sub(self.original.count()) else {
            return self.original.constant(index);
        };
        let added = usize::from(added);
        let start = *self.starts.get(added)?;
        let is_second = added > 0 && self.starts[added - 1] == start;
        let bytes = &self.bytes[start as usize..];
        (!is_second).then(|| &bytes[..pool::length(bytes)])
    }
}

/// Hashes eight bytes at a time by multiplication, as the pool is hashed whenever a class is
/// loaded.
fn hash(bytes: &[u8]) -> usize {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = bytes.len() as u64;
    let mut mix = |word: u64| hash = (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        mix(chunk.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
    }
    let rest = chunks.remainder();
    mix(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    (hash >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Reader;

    /// A file that ends after its pool of the given constants.
    fn file(count: u16, constants: &[&[u8]]) -> Vec<u8> {
        let mut file = vec![0; 8];
        file.extend(count.to_be_bytes());
        file.extend(constants.concat());
        file
    }

    fn parse(file: &[u8]) -> ConstantPool<'_> {
        ConstantPool::parse(file, &mut Reader::new(file, 8)).unwrap()
    }

    /// The pool after the edit.
    fn edited(editor: &PoolEditor<'_>, file: &[u8]) -> Vec<u8> {
        let mut edited = file.to_vec();
        edited[8..10].copy_from_slice(&editor.count().to_be_bytes());
        edited.extend_from_slice(editor.added());
        edited
    }

    #[test]
    fn constants_are_added_once_and_read_back() {
        let file = file(4, &[b"\x01\x00\x01A", b"\x07\x00\x01", b"\x01\x00\x03foo"]);
        let original = parse(&file);
        let mut editor = PoolEditor::new(&original);
        assert_eq!(editor.class("A"), Ok(2));
        let method = editor.method_ref("A", "foo", "()V").unwrap();
        let interface = editor.interface_method_ref("A", "foo", "()V").unwrap();
        let long = editor.long(-7).unwrap();
        let integer = editor.integer(1 << 20).unwrap();
        let string = editor.string("foo").unwrap();
        assert_eq!(integer, long + 2);
        assert_eq!(editor.method_ref("A", "foo", "()V"), Ok(method));
        assert_eq!(editor.long(-7), Ok(long));
        let bytes = edited(&editor, &file);
        let pool = parse(&bytes);
        assert_eq!(pool.count(), editor.count());
        let member = pool.member_ref(method).unwrap();
        assert_eq!(
            (member.class, member.name, member.descriptor),
            (&b"A"[..], &b"foo"[..], &b"()V"[..])
        );
        assert!(!member.is_interface && pool.member_ref(interface).unwrap().is_interface);
        assert_eq!((pool.long(long), pool.integer(integer)), (Ok(-7), Ok(1 << 20)));
        assert_eq!(pool.string(string), Ok(&b"foo"[..]));
        assert_eq!(pool.tag(long + 1), None);
    }

    #[test]
    fn the_table_grows_and_a_full_pool_is_an_error() {
        let file = file(1, &[]);
        let original = parse(&file);
        let mut editor = PoolEditor::new(&original);
        for value in 0..65_534 {
            assert_eq!(editor.integer(value), Ok(value as u16 + 1));
        }
        assert_eq!(editor.long(0), Err(PoolError::Full));
        assert_eq!(editor.integer(-1), Err(PoolError::Full));
        assert_eq!(editor.integer(40_000), Ok(40_001));
        assert_eq!(parse(&edited(&editor, &file)).integer(65_534), Ok(65_533));
        assert_eq!(editor.utf8(vec![b'x'; 65_536]), Err(PoolError::TooLong { bytes: 65_536 }));
    }

    #[test]
    fn a_long_does_not_take_the_last_index() {
        let file = file(1, &[]);
        let original = parse(&file);
        let mut editor = PoolEditor::new(&original);
        for value in 0..65_533 {
            editor.integer(value).unwrap();
        }
        assert_eq!(editor.long(0), Err(PoolError::Full));
        assert_eq!(editor.integer(-1), Ok(65_534));
    }

    #[test]
    fn numbers_are_pushed_by_the_shortest_code() {
        let file = file(1, &[]);
        let original = parse(&file);
        let mut editor = PoolEditor::new(&original);
        let mut push = |value| {
            let mut code = Vec::new();
            editor.push_int(&mut code, value).unwrap();
            code
        };
        assert_eq!(push(-1), [0x02]);
        assert_eq!(push(5), [0x08]);
        assert_eq!(push(-128), [0x10, 0x80]);
        assert_eq!(push(128), [0x11, 0x00, 0x80]);
        assert_eq!(push(-32_768), [0x11, 0x80, 0x00]);
        assert_eq!(push(32_768), [0x12, 1]);
        let mut code = Vec::new();
        editor.push_long(&mut code, 1).unwrap();
        editor.push_long(&mut code, 2).unwrap();
        assert_eq!(code, [0x0a, 0x14, 0, 2]);
        for value in 100_000..100_300 {
            editor.integer(value).unwrap();
        }
        code.clear();
        editor.push_int(&mut code, 100_299).unwrap();
        assert_eq!(code, [0x13, 0x01, 0x2f]);
    }
}
