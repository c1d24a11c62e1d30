//! pprof: a profile with many samples of fewer stacks, as a service's profiler writes it.

use std::io::{self, Write};

use perk_formats::{collapsed, pprof};

use super::stacks::{Frame, Stacks};

/// Writes about `bytes` bytes: a profile of fifty thousand stacks, and its samples repeatedly.
pub(super) fn generate(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    const STACKS: u64 = 50_000;
    let whole = written(STACKS, Stacks::next)?;
    out.write_all(&whole)?;
    // A message in two pieces is the sum of both. The second piece repeats the samples, without the
    // tables.
    let samples = samples(&whole);
    let mut written = whole.len();
    while (written as u64) < bytes && !samples.is_empty() {
        out.write_all(&samples)?;
        written += samples.len();
    }
    Ok(())
}

/// Writes about `bytes` bytes, at most 40 MB. Each sample has a stack of its own, of any methods.
pub(super) fn generate_unique(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    const MOST_BYTES: u64 = 40_000_000;
    /// The bytes of the methods' tables, and of a sample.
    const TABLES: u64 = 400_000;
    const SAMPLE: u64 = 41;
    let stacks = bytes.min(MOST_BYTES).saturating_sub(TABLES) / SAMPLE;
    out.write_all(&written(stacks, Stacks::any)?)
}

/// Returns a profile of `stack_count` stacks.
fn written(stack_count: u64, next: fn(&mut Stacks, &mut Vec<Frame>)) -> io::Result<Vec<u8>> {
    let mut text = String::new();
    let mut stacks = Stacks::new();
    let mut frames = Vec::new();
    for _ in 0..stack_count {
        next(&mut stacks, &mut frames);
        let start = text.len();
        for frame in &frames {
            let separator = if text.len() == start { "" } else { ";" };
            text += &format!("{separator}{}.{}", frame.class(), frame.method());
        }
        text += &format!(" {}\n", 1 + stacks.number(50));
    }
    let profile = collapsed::read(text.as_bytes()).map_err(io::Error::other)?;
    let mut whole = Vec::new();
    pprof::write(&profile, &mut whole)?;
    Ok(whole)
}

/// Returns the fields of a profile that are samples: number 2, with a length.
fn samples(whole: &[u8]) -> Vec<u8> {
    const SAMPLE: u64 = 2 << 3 | 2;
    let mut samples = Vec::new();
    let mut rest = whole;
    while let Some((key, after_key)) = varint(rest) {
        let Some((value, after_value)) = varint(after_key) else { break };
        let length = if key & 7 == 2 { value as usize } else { 0 };
        let end = whole.len() - after_value.len() + length;
        let start = whole.len() - rest.len();
        if key == SAMPLE {
            samples.extend_from_slice(&whole[start..end]);
        }
        rest = &whole[end..];
    }
    samples
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let number =
        bytes[..length].iter().rev().fold(0_u64, |sum, &byte| sum << 7 | u64::from(byte & 0x7f));
    Some((number, &bytes[length..]))
}
