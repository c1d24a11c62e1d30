//! The functions of the kernel.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;

use crate::os;

/// Represents all functions if the kernel hides their addresses.
const KERNEL: &str = "[kernel]";

/// The functions; see the module. The list is read when a name is first asked for.
#[derive(Debug, Default)]
pub struct KernelCode(Option<KernelFunctions>);

#[derive(Debug, Default)]
struct KernelFunctions {
    /// The address of each, and the place of its name, by address.
    all: Vec<(u64, Range<u32>)>,
    names: String,
}

impl KernelCode {
    /// Returns the name of the function that has an instruction.
    pub fn name(&mut self, address: u64) -> &str {
        let read =
            || File::open(os::KERNEL_SYMBOLS).map(|it| KernelFunctions::read(BufReader::new(it)));
        let functions = self.0.get_or_insert_with(|| read().unwrap_or_default());
        let after = functions.all.partition_point(|(begin, _)| *begin <= address);
        let found = after.checked_sub(1).and_then(|index| functions.all.get(index));
        let name = |name: &Range<u32>| &functions.names[name.start as usize..name.end as usize];
        found.map_or(KERNEL, |(_, place)| name(place))
    }

    /// Whether names were asked for and the kernel hides its addresses.
    pub fn is_hidden(&self) -> bool {
        self.0.as_ref().is_some_and(|it| it.all.is_empty())
    }
}

impl KernelFunctions {
    /// Reads a list: `ffffffff816bab60 T vfs_read`, and after functions of modules a tab and the
    /// module's name. Hidden addresses are 0.
    fn read(mut list: impl BufRead) -> Self {
        let (mut this, mut line) = (Self::default(), String::new());
        while matches!(list.read_line(&mut line), Ok(1..)) {
            this.add(&line);
            line.clear();
        }
        this.all.sort_unstable_by_key(|(address, name)| (*address, name.start));
        this
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok().filter(|it| *it != 0)?;
        let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
        let name = words.next().filter(|_| is_code)?;
        let begin = u32::try_from(self.names.len()).ok()?;
        self.names.push_str(name);
        self.all.push((address, begin..u32::try_from(self.names.len()).ok()?));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_address() {
        let list = "ffffffff816bab60 T vfs_read\n\
                    0000000000000000 t hidden\n\
                    ffffffff81600000 D data\n\
                    ffffffffc0000010 t ext4_read\t[ext4]\n\
                    ffffffff81000000 W _text\n";
        let mut code = KernelCode(Some(KernelFunctions::read(list.as_bytes())));
        assert!(!code.is_hidden());
        assert_eq!(code.name(0xffff_ffff_816b_ab60), "vfs_read");
        assert_eq!(code.name(0xffff_ffff_816b_ab5f), "_text");
        assert_eq!(code.name(0xffff_ffff_c000_1000), "ext4_read");
        assert_eq!(code.name(0xffff_ffff_8000_0000), "[kernel]");
        let mut hidden =
            KernelCode(Some(KernelFunctions::read(&b"0000000000000000 T vfs_read\n"[..])));
        assert!(hidden.is_hidden());
        assert_eq!(hidden.name(0xffff_ffff_816b_ab60), "[kernel]");
    }
}
