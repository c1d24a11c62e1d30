//! Flags of the running JVM, through the tables that HotSpot exports for debuggers
//! (`vmStructs.hpp`). They are set when agents are loaded.

use std::ffi::{CStr, c_char, c_void};

use crate::os;

/// `VMStructEntry`: a field of a type.
#[repr(C)]
struct VmField {
    type_name: *const c_char,
    field_name: *const c_char,
    type_string: *const c_char,
    is_static: i32,
    offset: u64,
    address: *const c_void,
}

/// `VMTypeEntry`: a type.
#[repr(C)]
struct VmType {
    type_name: *const c_char,
    superclass_name: *const c_char,
    is_oop_type: i32,
    is_integer_type: i32,
    is_unsigned: i32,
    size: u64,
}

/// Returns the value of a `bool` flag; `None` if the flag or the table of flags does not exist.
pub fn bool_flag(name: &CStr) -> Option<bool> {
    // SAFETY: the JVM has such a flag at this address.
    value(name).map(|value| unsafe { *value != 0 })
}

/// Returns the value of an `intx` flag; `None` if the flag or the table of flags does not exist.
pub fn int_flag(name: &CStr) -> Option<i64> {
    // SAFETY: the JVM has such a flag at this address, of the size of a word.
    value(name).map(|value| unsafe { value.cast::<i64>().read_unaligned() })
}

/// Sets a `bool` flag that compilers read, before any runs. Returns whether the flag exists.
pub fn set_bool_flag(name: &CStr, is_on: bool) -> bool {
    // SAFETY: the JVM has such a flag at this address, which it reads as a byte.
    let set = |value: *const u8| unsafe { value.cast_mut().write_volatile(is_on.into()) };
    value(name).map(set).is_some()
}

/// Returns the value of a flag that is a text, or a list of them with line ends in between; `None`
/// if the flag or the table of flags does not exist.
pub fn text_flag(name: &CStr) -> Option<String> {
    let value: *const *const c_char = value(name)?.cast();
    // SAFETY: the JVM has a pointer to a text at this address, or null.
    unsafe {
        let text = *value;
        if text.is_null() {
            None
        } else {
            Some(CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }
}

/// Returns the address of a flag's value.
fn value(name: &CStr) -> Option<*const u8> {
    // SAFETY: the JVM exports these symbols, each a pointer to a table that ends with an entry
    // without a name; the tables say where the flags are, and of what size.
    unsafe {
        let fields: *const VmField = table(c"gHotSpotVMStructs")?;
        let types: *const VmType = table(c"gHotSpotVMTypes")?;
        let field = |name: &CStr| {
            let mut entry = fields;
            while !(*entry).type_name.is_null() {
                let its = (CStr::from_ptr((*entry).type_name), CStr::from_ptr((*entry).field_name));
                if its == (c"JVMFlag", name) {
                    return Some(&*entry);
                }
                entry = entry.add(1);
            }
            None
        };
        let mut flag_type = types;
        while !(*flag_type).type_name.is_null()
            && CStr::from_ptr((*flag_type).type_name) != c"JVMFlag"
        {
            flag_type = flag_type.add(1);
        }
        let size = (*flag_type).size as usize;
        let flags = *field(c"flags")?.address.cast::<*const u8>();
        let count = *field(c"numFlags")?.address.cast::<usize>();
        let (name_at, value_at) = (field(c"_name")?.offset, field(c"_addr")?.offset);
        if size == 0 || flags.is_null() {
            return None;
        }
        (0..count).find_map(|index| {
            let flag = flags.add(index * size);
            let its_name = *flag.add(name_at as usize).cast::<*const c_char>();
            let value = *flag.add(value_at as usize).cast::<*const u8>();
            // The table's last entry has no name.
            let found = !its_name.is_null() && CStr::from_ptr(its_name) == name;
            (found && !value.is_null()).then_some(value)
        })
    }
}

/// Clears a `bool` variable that the JVM exports, if there is one of that name, while agents are loaded.
pub fn clear_exported_bool(name: &CStr) {
    if let Some(value) = os::symbol(name) {
        // SAFETY: the JVM has such a variable at this address, which it reads as a byte.
        unsafe { value.cast::<u8>().write_volatile(0) };
    }
}

/// Returns a table that the JVM exports.
///
/// # Safety
/// The symbol must be a pointer to such a table.
unsafe fn table<T>(symbol: &CStr) -> Option<*const T> {
    let symbol = os::symbol(symbol)?.cast::<*const T>();
    // SAFETY: the caller's promise.
    let table = unsafe { symbol.read() };
    (!table.is_null()).then_some(table)
}
