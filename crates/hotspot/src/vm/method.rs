//! Methods: their ids, names and lines.

mod constants;

use self::constants::Constants;
use super::memory::{LastWord, Memory};
use super::tables::{Number, Tables, text};
use super::{MissingDescription, Vm};

/// The bits of a symbol's first word with the number of its users.
const SYMBOL_USER_BITS: u32 = 16;
/// The longest symbol of HotSpot, in bytes.
const MAX_SYMBOL: usize = 65_535;

/// The offsets of what is read of methods.
#[derive(Clone, Copy, Debug)]
pub(super) struct Methods {
    const_method: usize,
    constants: usize,
    flags: Number,
    code_size: Number,
    name: Number,
    signature: Number,
    number: Number,
    /// The size of a `ConstMethod`: the bytecodes follow.
    const_method_size: usize,
    has_lines: i64,
    holder: usize,
    source_file: Number,
    /// The constants of a class. Those of a method can be fewer: the JVM's own methods, such as
    /// `MethodHandle.invokeBasic`, have a few of theirs, with the class's number of the source file.
    class_constants: usize,
    /// The size of a `ConstantPool`: the entries follow.
    pool_size: usize,
    /// `None` if the JVM does not describe them.
    entries: Option<Constants>,
    ids: usize,
    class_name: usize,
    symbol_length: Number,
    symbol_body: usize,
}

/// What a method is called, in the JVM's modified UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodNames {
    /// The internal name of the class, as in `java/lang/String`.
    pub class: Vec<u8>,
    /// The method's name.
    pub name: Vec<u8>,
    /// The method's descriptor.
    pub signature: Vec<u8>,
    /// The name of the source file, if the class says.
    pub source: Option<Vec<u8>>,
    /// The name of the method that it passes its calls on to, if it is one of the object of a lambda or
    /// a method reference.
    pub target: Option<Vec<u8>>,
}

/// An entry of a table of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEntry {
    /// The bytecode index from which on the line is right.
    pub bci: i32,
    /// The line.
    pub line: i32,
}

impl Methods {
    pub(super) fn new(tables: &Tables) -> Result<Methods, MissingDescription> {
        Ok(Methods {
            const_method: tables.offset(&["Method._constMethod"])?,
            constants: tables.offset(&["ConstMethod._constants"])?,
            flags: tables.number(&["ConstMethod._flags._flags", "ConstMethod._flags"])?,
            code_size: tables.number(&["ConstMethod._code_size"])?,
            name: tables.number(&["ConstMethod._name_index"])?,
            signature: tables.number(&["ConstMethod._signature_index"])?,
            number: tables.number(&["ConstMethod._method_idnum"])?,
            const_method_size: tables.size("ConstMethod")?,
            has_lines: tables
                .constant("ConstMethodFlags::_misc_has_linenumber_table")
                .or_else(|_| tables.constant("ConstMethod::_has_linenumber_table"))?,
            holder: tables.offset(&["ConstantPool._pool_holder"])?,
            class_constants: tables.offset(&["InstanceKlass._constants"])?,
            source_file: tables.number(&["ConstantPool._source_file_name_index"])?,
            pool_size: tables.size("ConstantPool")?,
            entries: Constants::new(tables).ok(),
            ids: tables.offset(&["InstanceKlass._methods_jmethod_ids"])?,
            class_name: tables.offset(&["Klass._name"])?,
            symbol_length: tables.number(&["Symbol._length"])?,
            symbol_body: tables.offset(&["Symbol._body", "Symbol._body[0]"])?,
        })
    }

    fn const_method(&self, memory: &impl Memory, method: usize) -> Option<usize> {
        pointer(memory, method.wrapping_add(self.const_method))
    }

    fn pool(&self, memory: &impl Memory, const_method: usize) -> Option<usize> {
        pointer(memory, const_method.wrapping_add(self.constants))
    }

    /// Returns the address and the length of the bytecodes, if this is a method as far as can be
    /// seen. Async-signal-safe.
    pub(super) fn bytecodes(&self, memory: &impl Memory, method: usize) -> Option<(usize, usize)> {
        if method == 0 || method & 7 != 0 {
            return None;
        }
        let const_method = self.const_method(memory, method)?;
        let pool = self.pool(memory, const_method)?;
        pointer(memory, pool.wrapping_add(self.holder))?;
        let length = self.code_size.read(memory, const_method)?;
        Some((const_method.wrapping_add(self.const_method_size), length as usize))
    }

    /// Returns whether a method has this name, of 12 bytes. Async-signal-safe.
    pub(super) fn is_named(&self, memory: &impl Memory, method: usize, name: &[u8; 12]) -> bool {
        let symbol = self.const_method(memory, method).and_then(|const_method| {
            let index = self.name.read(memory, const_method)?;
            self.symbol(memory, self.pool(memory, const_method)?, index)
        });
        symbol.is_some_and(|symbol| self.is_symbol(memory, symbol, name))
    }

    /// Returns whether a symbol is this text. Async-signal-safe.
    pub(super) fn is_symbol(&self, memory: &impl Memory, symbol: usize, name: &[u8]) -> bool {
        let byte =
            |index: usize| memory.u8(symbol.wrapping_add(self.symbol_body).wrapping_add(index));
        self.symbol_length.read(memory, symbol) == Some(name.len() as i64)
            && name.iter().enumerate().all(|(index, it)| byte(index) == Some(*it))
    }

    fn symbol(&self, memory: &impl Memory, pool: usize, index: i64) -> Option<usize> {
        let slot = (index as usize).wrapping_mul(size_of::<usize>());
        pointer(memory, pool.wrapping_add(self.pool_size).wrapping_add(slot))
    }

    fn symbol_bytes(&self, memory: &impl Memory, symbol: usize) -> Option<Vec<u8>> {
        let length = self.symbol_length.read(memory, symbol)? as usize;
        let body = symbol.wrapping_add(self.symbol_body);
        let memory = LastWord::of(memory);
        (0..length.min(MAX_SYMBOL)).map(|index| memory.u8(body.wrapping_add(index))).collect()
    }
}

impl Vm {
    /// Returns the `jmethodID` of a method if the JVM has made one. Async-signal-safe.
    pub fn method_id(&self, memory: &impl Memory, method: usize) -> Option<usize> {
        let methods = &self.methods;
        let const_method = methods.const_method(memory, method)?;
        let pool = methods.pool(memory, const_method)?;
        let holder = pointer(memory, pool.wrapping_add(methods.holder))?;
        let ids = pointer(memory, holder.wrapping_add(methods.ids))?;
        let number = methods.number.read(memory, const_method)? as usize;
        // The first word is the number of ids.
        if number >= memory.word(ids)? {
            return None;
        }
        let slot = number.wrapping_add(1).wrapping_mul(size_of::<usize>());
        pointer(memory, ids.wrapping_add(slot))
    }

    /// Returns numbers that change once another method has the address, after the class was unloaded.
    /// Async-signal-safe.
    pub fn identity(&self, memory: &impl Memory, method: usize) -> Option<[usize; 4]> {
        let methods = &self.methods;
        let const_method = methods.const_method(memory, method)?;
        let pool = methods.pool(memory, const_method)?;
        let holder = pointer(memory, pool.wrapping_add(methods.holder))?;
        let class = pointer(memory, holder.wrapping_add(methods.class_name))?;
        let name = methods.symbol(memory, pool, methods.name.read(memory, const_method)?)?;
        // The word before a symbol's text has a hash of it, above the number of its users, which changes.
        let hash = memory.word(class)? >> SYMBOL_USER_BITS;
        Some([const_method, class, hash, name])
    }

    /// Reads the name of a method. Its class must not be unloaded meanwhile. Allocates.
    pub fn names(&self, memory: &impl Memory, method: usize) -> Option<MethodNames> {
        let methods = &self.methods;
        let const_method = methods.const_method(memory, method)?;
        let pool = methods.pool(memory, const_method)?;
        let holder = pointer(memory, pool.wrapping_add(methods.holder))?;
        let class = pointer(memory, holder.wrapping_add(methods.class_name))?;
        let of_pool =
            |index: i64| methods.symbol_bytes(memory, methods.symbol(memory, pool, index)?);
        let class_pool = pointer(memory, holder.wrapping_add(methods.class_constants))?;
        let source = methods.source_file.read(memory, class_pool)?;
        let source_name =
            || methods.symbol_bytes(memory, methods.symbol(memory, class_pool, source)?);
        let class = methods.symbol_bytes(memory, class)?;
        let name = of_pool(methods.name.read(memory, const_method)?)?;
        let is_special = name.starts_with(b"<");
        let target = || methods.target(memory, class_pool);
        Some(MethodNames {
            target: if is_special || !is_of_lambda(&class) { None } else { target() },
            class,
            name,
            signature: of_pool(methods.signature.read(memory, const_method)?)?,
            source: if source == 0 { None } else { source_name() },
        })
    }

    /// Reads the lines of a method, in the order of its table; none if the class has no table.
    /// Allocates.
    pub fn lines(&self, memory: &impl Memory, method: usize) -> Option<Vec<LineEntry>> {
        let methods = &self.methods;
        let const_method = methods.const_method(memory, method)?;
        let (code, length) = methods.bytecodes(memory, method)?;
        let mut lines = Vec::new();
        if methods.flags.read(memory, const_method)? & methods.has_lines == 0 {
            return Some(lines);
        }
        let memory = &LastWord::of(memory);
        let mut at = code.wrapping_add(length);
        let (mut bci, mut line) = (0i32, 0i32);
        // A table cannot have more entries than the method has bytes of code.
        for _ in 0..=length {
            let byte = memory.u8(at)?;
            at = at.wrapping_add(1);
            match byte {
                0 => return Some(lines),
                0xff => {
                    let read = |at: &mut usize| self.nmethods.numbers.signed(memory, at);
                    bci = bci.wrapping_add(read(&mut at)?);
                    line = line.wrapping_add(read(&mut at)?);
                }
                _ => {
                    bci = bci.wrapping_add(i32::from(byte >> 3));
                    line = line.wrapping_add(i32::from(byte & 7));
                }
            }
            lines.push(LineEntry { bci, line });
        }
        None
    }

    /// Reads a C string of the JVM, such as [`VmFrame::name`](super::VmFrame::name). Allocates.
    pub fn text(&self, memory: &impl Memory, at: usize) -> String {
        text(memory, at)
    }
}

/// Whether the class of this name is that of the object of a lambda.
fn is_of_lambda(class: &[u8]) -> bool {
    const LAMBDA: &[u8] = b"$$Lambda";
    class.windows(LAMBDA.len()).any(|part| part == LAMBDA)
}

/// Reads an address that is not null.
fn pointer(memory: &impl Memory, at: usize) -> Option<usize> {
    memory.word(at).filter(|address| *address != 0)
}
