//! Collapsed stacks as async-profiler writes them: unordered, and no stack occurs twice except by
//! chance.

use std::io::{self, Write};

use super::stacks::Stacks;

/// Writes about `bytes` bytes.
pub(super) fn generate(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    let mut stacks = Stacks::new();
    let mut frames = Vec::new();
    let mut line = String::new();
    let mut written = 0;
    while written < bytes {
        stacks.next(&mut frames);
        line.clear();
        for frame in &frames {
            let separator = if line.is_empty() { "" } else { ";" };
            line += &format!("{separator}{}.{}", frame.class(), frame.method());
        }
        line += &format!(" {}\n", 1 + stacks.number(50));
        out.write_all(line.as_bytes())?;
        written += line.len() as u64;
    }
    Ok(())
}
