//! Shared fields: records of ten fields, one in a hundred of them new.

use std::io::{self, Write};

/// Writes about `bytes` bytes.
pub(super) fn generate(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    const FIELDS: usize = 10;
    const KINDS: u64 = 100;
    let mut written = 0;
    let mut number = 0_u64;
    while written < bytes {
        // Equal records are repeated after the others of their kind.
        let kind = if number.is_multiple_of(KINDS) { number } else { number % KINDS };
        let mut record =
            format!("com/acme/Main{}\x1cwork\x1c(I)V\x1c{}\tcom.acme.Item\n", kind % 7, kind % 90);
        for field in 0..FIELDS {
            let reads = kind % 50 + field as u64;
            record += &format!("com.acme.Item\x1cfield{field}\x1cI\t{reads}\t0\t1\t{kind}\n");
        }
        record.push('\n');
        out.write_all(record.as_bytes())?;
        written += record.len() as u64;
        number += 1;
    }
    Ok(())
}
