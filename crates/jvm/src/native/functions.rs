//! The functions of a file.

use cpp_demangle::DemangleOptions;
use object::elf::STT_FUNC;
use object::read::elf::{ElfFile64, Sym};
use object::{Endianness, elf};

use super::modules::Bytes;

/// The functions, by address.
#[derive(Debug, Default)]
pub(super) struct Functions {
    all: Vec<Function>,
    names: object::StringTable<'static>,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    address: u64,
    /// 0 if the file does not say.
    size: u32,
    /// The place of its name.
    name: u32,
}

impl Functions {
    /// Reads the symbols of a file: all, or those for other files if it has no others.
    pub(super) fn read(bytes: Bytes) -> Self {
        let Ok(elf) = ElfFile64::<Endianness>::parse(bytes) else { return Self::default() };
        let endian = elf.endian();
        let table = match elf.elf_symbol_table() {
            symbols if symbols.is_empty() => elf.elf_dynamic_symbol_table(),
            symbols => symbols,
        };
        let function = |symbol: &elf::Sym64<Endianness>| {
            let address = symbol.st_value(endian);
            (symbol.st_type() == STT_FUNC && address != 0).then(|| Function {
                address,
                size: u32::try_from(symbol.st_size(endian)).unwrap_or(u32::MAX),
                name: symbol.st_name(endian),
            })
        };
        let mut all: Vec<Function> = table.iter().filter_map(function).collect();
        all.sort_unstable_by_key(|function| function.address);
        Self { all, names: table.strings() }
    }

    /// Returns the name of the function that has an address of the file.
    pub(super) fn name(&self, address: u64) -> Option<String> {
        let name = self.names.get(self.find(address)?.name).ok()?;
        Some(demangled(&String::from_utf8_lossy(name)))
    }

    /// Returns the first address of that function.
    pub(super) fn begin(&self, address: u64) -> Option<u64> {
        Some(self.find(address)?.address)
    }

    fn find(&self, address: u64) -> Option<&Function> {
        let after = self.all.partition_point(|function| function.address <= address);
        let function = self.all.get(after.checked_sub(1)?)?;
        let is_inside = function.size == 0 || address - function.address < u64::from(function.size);
        is_inside.then_some(function)
    }
}

/// Returns the name of a function as its source has it, without parameters.
fn demangled(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let of_cpp = || {
        let name = cpp_demangle::Symbol::new(symbol).ok()?;
        name.demangle_with_options(&DemangleOptions::new().no_params().no_return_type()).ok()
    };
    let is_cpp = symbol.starts_with("_Z");
    is_cpp.then(of_cpp).flatten().unwrap_or_else(|| symbol.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, name) in [
            ("getpid", "getpid"),
            ("_ZN14PhaseIdealLoop18build_and_optimizeEv", "PhaseIdealLoop::build_and_optimize"),
            ("_ZN7MemNode10find_fieldIiEEvPS_T_", "MemNode::find_field<int>"),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_Znot a name", "_Znot a name"),
        ] {
            assert_eq!(demangled(symbol), name);
        }
    }
}
