//! The profiles that a server is measured with.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes distinct stacks of about 12 methods out of 3,000: few beginnings, many ends.
pub(super) fn write_stacks(path: &Path, count: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        // Steele and Vigna's mixer of a counter.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    };
    let name = |index: u64| format!("com.acme.p{}.C{}.m{index}", index % 40, index % 500);
    for index in 0..count {
        write!(out, "java.lang.Thread.run")?;
        // A few beginnings have most of the stacks.
        let begin = random(40) * random(50);
        for level in 0..6 {
            write!(out, ";{}", name((begin * 31 + level * 7) % 3000))?;
        }
        for _ in 0..3 {
            write!(out, ";{}", name(random(3000)))?;
        }
        // Each stack is another one.
        write!(out, ";{};{}", name(index % 3000), name(index / 3000 % 3000))?;
        writeln!(out, " {}", 1 + random(9))?;
    }
    out.flush()
}

/// Writes stacks in which each of the methods is a few times.
pub(super) fn write_methods(path: &Path, count: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let name = |index: u64| format!("com.acme.p{}.C{}.m{index}", index % 400, index % 9000);
    for index in 0..count {
        let caller = name(index / 7);
        writeln!(out, "java.lang.Thread.run;{caller};{} {}", name(index), 1 + index * 37 % 1000)?;
    }
    out.flush()
}
