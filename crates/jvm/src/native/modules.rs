//! The files whose code is mapped.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;

use framehop::ExplicitModuleSectionInfo;
use object::elf::{PF_X, PT_LOAD};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection};

use super::functions::Functions;
use crate::os::{self, Load, Mapping};
use crate::sync::lock;

/// The bits of an address within a page.
const PAGE_MASK: u64 = 0xfff;

/// The contents of a file or a part of it. They stay mapped for good: few files are code.
pub(super) type Bytes = &'static [u8];

/// The files that were opened: device, number and contents.
static OPENED: Mutex<Vec<(u64, u64, Bytes)>> = Mutex::new(Vec::new());

/// Returns the contents of a file, the same for each session.
fn contents(file: &File) -> Option<Bytes> {
    let its = file.metadata().ok()?;
    let mut opened = lock(&OPENED);
    let known = opened
        .iter()
        .find(|it| (it.0, it.1, it.2.len() as u64) == (its.dev(), its.ino(), its.len()));
    if let Some((.., bytes)) = known {
        return Some(bytes);
    }
    let length = usize::try_from(its.len()).ok()?;
    let bytes: Bytes = Box::leak(Box::new(Mapping::of(file, length, Load::AsRead)?));
    opened.push((its.dev(), its.ino(), bytes));
    Some(bytes)
}

/// A file whose code is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MappedFile {
    path: String,
    /// The addresses of its code.
    addresses: Range<u64>,
    /// The place in the file of the first of them.
    offset: u64,
}

/// A file that is open; see [`MappedFile`].
#[derive(Debug)]
pub(super) struct Module {
    path: String,
    pub(super) addresses: Range<u64>,
    /// The difference between addresses of the process and those in the file.
    bias: u64,
    bytes: Bytes,
    functions: Option<Functions>,
}

/// Returns the files whose code is mapped now.
pub(super) fn mapped() -> Vec<MappedFile> {
    let maps = fs::read_to_string(os::MAPPINGS).unwrap_or_default();
    maps.lines().filter_map(mapped_of_line).collect()
}

/// `7f1c-7f2d r-xp 00001000 fe:01 1234    /usr/lib/libc.so.6`
fn mapped_of_line(line: &str) -> Option<MappedFile> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let is_code = words.next()?.contains('x');
    let offset = words.next()?;
    let path = words.nth(2)?.trim_start();
    let number = |text| u64::from_str_radix(text, 16).ok();
    let is_file = path.starts_with('/') && !path.ends_with(" (deleted)");
    (is_code && is_file).then_some(())?;
    let addresses = number(begin)?..number(end)?;
    Some(MappedFile { path: path.to_owned(), addresses, offset: number(offset)? })
}

impl MappedFile {
    /// Whether a module is this file, at this place.
    pub(super) fn is(&self, module: &Module) -> bool {
        self.addresses.start == module.addresses.start && self.path == module.path
    }

    /// Opens the file; `None` if it is not one of native code.
    pub(super) fn open(self) -> Option<(Module, framehop::Module<Bytes>)> {
        let Self { path, addresses, offset } = self;
        let file = File::open(&path).ok()?;
        let bytes = contents(&file)?;
        let elf: ElfFile64<'static, Endianness> = ElfFile64::parse(bytes).ok()?;
        let endian = elf.endian();
        // Mappings begin at the page in which their segment does.
        let segment = elf.elf_program_headers().iter().find(|segment| {
            let first = segment.p_offset(endian);
            let end = first.saturating_add(segment.p_filesz(endian));
            segment.p_type(endian) == PT_LOAD
                && segment.p_flags(endian) & PF_X != 0
                && (first & !PAGE_MASK..end).contains(&offset)
        })?;
        let bias = addresses
            .start
            .wrapping_sub(offset)
            .wrapping_add(segment.p_offset(endian))
            .wrapping_sub(segment.p_vaddr(endian));
        let section = |name: &str| elf.section_by_name(name);
        let range = |name: &str| {
            section(name).map(|it| it.address()..it.address().saturating_add(it.size()))
        };
        let data = |name: &str| section(name).and_then(|it| it.data().ok());
        let sections = ExplicitModuleSectionInfo {
            text_svma: range(".text"),
            text: data(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            ..ExplicitModuleSectionInfo::default()
        };
        let unwinding = framehop::Module::new(path.clone(), addresses.clone(), bias, sections);
        Some((Module { path, addresses, bias, bytes, functions: None }, unwinding))
    }
}

impl Module {
    /// Returns the name of the function that has an instruction.
    pub(super) fn function(&mut self, address: usize) -> Option<String> {
        let in_file = (address as u64).wrapping_sub(self.bias);
        self.functions().name(in_file)
    }

    /// Returns the first address of that function.
    pub(super) fn begin(&mut self, address: usize) -> Option<usize> {
        let in_file = (address as u64).wrapping_sub(self.bias);
        let begin = self.functions().begin(in_file)?;
        Some(begin.wrapping_add(self.bias) as usize)
    }

    fn functions(&mut self) -> &Functions {
        self.functions.get_or_insert_with(|| Functions::read(self.bytes))
    }

    /// Returns the file's name without its folder.
    pub(super) fn file_name(&self) -> &str {
        let name = Path::new(&self.path).file_name().and_then(|name| name.to_str());
        name.unwrap_or(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_have_files() {
        let mapped = |line: &str| mapped_of_line(line);
        let line = "7f00-7f80 r-xp 0000a000 fe:01 1234          /usr/lib/a b.so";
        let expected = MappedFile {
            path: "/usr/lib/a b.so".into(),
            addresses: 0x7f00..0x7f80,
            offset: 0xa000,
        };
        assert_eq!(mapped(line), Some(expected));
        for other in [
            "7f00-7f80 r--p 00000000 fe:01 1234          /usr/lib/a.so",
            "7f00-7f80 rwxp 00000000 00:00 0",
            "7f00-7f80 r-xp 00000000 00:00 0             [vdso]",
            "7f00-7f80 r-xp 00000000 fe:01 1234          /tmp/a.so (deleted)",
            "",
        ] {
            assert_eq!(mapped(other), None, "{other}");
        }
    }
}
