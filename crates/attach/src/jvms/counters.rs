//! The counters that a JVM keeps in a file for `jstat`: the size of its heap, its classes.
//!
//! The file `/tmp/hsperfdata_USER/PID` begins with a head of 32 bytes. Each entry has its length, the offset
//! of its name, the length of a vector or 0, a letter for the type (`J`: 64 bits), flags, a unit, a
//! variability, and the offset of its value; offsets count from the entry. Facts: the files themselves, and
//! the names that `jcmd PID PerfCounter.print` lists.

use std::io::Read;
use std::path::Path;

use perk_live::JvmCounters;

use super::{Jvm, name_of_user};
use crate::open_file;

/// The first bytes of the file.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// The file's first entry is at the offset that this place of the head has.
const FIRST_ENTRY: usize = 24;
/// The largest file that is read: a JVM's has 32 KiB.
const MOST_BYTES: u64 = 4 << 20;
const LONG: u8 = b'J';

/// The numbers by name.
#[derive(Debug)]
pub struct Counters(Vec<(String, u64)>);

impl Counters {
    /// The counters of a JVM; `None` if it keeps none, or perk cannot read them.
    pub fn of(jvm: &Jvm) -> Option<Self> {
        let folder = format!("/tmp/hsperfdata_{}", name_of_user(jvm.status.uid));
        let path = format!("{folder}/{}", jvm.status.inner_pid);
        let mut bytes = Vec::new();
        open_file(jvm, Path::new(&path)).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Self::read(&bytes)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let is_little = *bytes.get(4)? == 1;
        if !bytes.starts_with(&MAGIC) || !is_little {
            return None;
        }
        let u4 = |at: usize| {
            let bytes = bytes.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
        };
        let u8 = |at: usize| {
            let bytes = bytes.get(at..at.checked_add(8)?)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let (mut at, mut counters) = (u4(FIRST_ENTRY)?, Vec::new());
        while let Some(length) = u4(at).filter(|&length| length > 0) {
            let name =
                bytes.get(at.checked_add(u4(at + 4)?)?..)?.split(|&byte| byte == 0).next()?;
            if bytes.get(at + 12) == Some(&LONG)
                && u4(at + 8) == Some(0)
                && let Some(value) = u4(at + 16).and_then(|offset| u8(at.checked_add(offset)?))
            {
                counters.push((String::from_utf8_lossy(name).into_owned(), value));
            }
            at = at.checked_add(length)?;
        }
        Some(Self(counters))
    }

    /// The sum of a number of all generations, or of all their spaces.
    fn of_generations(&self, are_spaces: bool, number: &str) -> u64 {
        let is_part = |name: &str| {
            let rest = name.strip_prefix("sun.gc.generation.");
            rest.and_then(|rest| rest.strip_suffix(number))
                .is_some_and(|rest| rest.contains(".space.") == are_spaces && rest.ends_with('.'))
        };
        let parts = self.0.iter().filter(|(name, _)| is_part(name));
        parts.map(|it| it.1).fold(0, u64::saturating_add)
    }

    /// A number by its name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(it, _)| it == name).map(|it| it.1)
    }

    /// The sum of the numbers `PREFIX N.NAME` of all N.
    pub fn sum(&self, prefix: &str, name: &str) -> u64 {
        let is_part = |it: &str| {
            let rest = it.strip_prefix(prefix).and_then(|rest| rest.split_once('.'));
            rest.is_some_and(|(number, rest)| number.parse::<u32>().is_ok() && rest == name)
        };
        let parts = self.0.iter().filter(|(it, _)| is_part(it));
        parts.map(|it| it.1).fold(0, u64::saturating_add)
    }

    /// The most bytes that the heap may have. The generations of some collectors share them.
    pub fn heap_most_bytes(&self) -> u64 {
        let of = |number| self.get(&format!("sun.gc.generation.{number}.maxCapacity")).unwrap_or(0);
        let (young, old) = (of(0), of(1));
        // G1 gives each generation all of the heap.
        if young.abs_diff(old) < 1 << 10 { young.max(old) } else { young.saturating_add(old) }
    }

    /// The heap and the classes. The collector sets the counters of the heap at the end of a collection.
    pub fn values(&self) -> JvmCounters {
        let loaded = ["java.cls.loadedClasses", "java.cls.sharedLoadedClasses"];
        let unloaded = ["java.cls.unloadedClasses", "java.cls.sharedUnloadedClasses"];
        let total = |names: [&str; 2]| names.iter().filter_map(|name| self.get(name)).sum::<u64>();
        JvmCounters {
            heap_used_bytes: self.of_generations(true, "used"),
            heap_bytes: self.of_generations(false, "capacity"),
            class_count: total(loaded).saturating_sub(total(unloaded)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these numbers, as a JVM writes it.
    fn file(numbers: &[(&str, u64)]) -> Vec<u8> {
        let mut bytes =
            [&MAGIC[..], &[1, 2, 0, 1], &[0; 16], &32_u32.to_le_bytes(), &[0; 4]].concat();
        for (name, value) in numbers {
            let value_at = (20 + name.len() + 1).next_multiple_of(8);
            for number in [value_at + 8, 20, 0] {
                bytes.extend((number as u32).to_le_bytes());
            }
            bytes.extend([LONG, 0, 1, 1]);
            bytes.extend((value_at as u32).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.resize(bytes.len() + value_at - 20 - name.len(), 0);
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn the_heap_is_all_spaces_of_all_generations() {
        let bytes = file(&[
            ("sun.gc.generation.0.capacity", 30 << 20),
            ("sun.gc.generation.0.maxCapacity", 90 << 20),
            ("sun.gc.generation.0.space.0.used", 4 << 20),
            ("sun.gc.generation.0.space.0.capacity", 20 << 20),
            ("sun.gc.generation.1.capacity", 34 << 20),
            ("sun.gc.generation.1.space.0.used", 6 << 20),
            ("java.cls.loadedClasses", 100),
            ("java.cls.sharedLoadedClasses", 900),
            ("java.cls.unloadedClasses", 1),
        ]);
        let counters = Counters::read(&bytes).unwrap();
        let (used, all) =
            (perk_profile::units::bytes(10 << 20), perk_profile::units::bytes(64 << 20));
        assert_eq!(
            counters.values().line(),
            format!("heap {used} of {all} at the last collection · 999 classes")
        );
        // A file that is cut, or whose numbers are wrong, has fewer counters or none.
        for length in 0..bytes.len() {
            Counters::read(&bytes[..length]);
            let mut wrong = bytes.clone();
            wrong[length] ^= 0xff;
            Counters::read(&wrong);
        }
    }
}
