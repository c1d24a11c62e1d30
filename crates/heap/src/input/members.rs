//! The gzip members of the JDK: `jcmd PID GC.heap_dump -gz=1` packs every block of 1 MiB as a
//! separate member. They are unpacked on all CPUs.
//!
//! A member's end is known only when it is unpacked. So everything that looks like the beginning of
//! a member is unpacked, and the results are used in order: each begins where the one before ends.
//! Others (packed data that the program had in its heap) are left out.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use flate2::bufread::GzDecoder;
use memchr::memmem;
use perk_unpack::Packing;

use super::unpack::{check_room, fault};
use crate::scratch::Scratch;
use crate::{Error, Watch};

/// The text that the JDK writes as the first member's comment, before the size of a block.
const COMMENT: &[u8] = b"HPROF BLOCKSIZE=";
/// The bytes of a member before its comment: magic, method, flags, time, system.
const HEAD_BYTES: usize = 10;
const HAS_COMMENT: u8 = 0x10;
/// How each member begins: magic and method.
const MAGIC: &[u8] = &[0x1F, 0x8B, 8];
/// The largest block that is taken for one of the JDK.
const MOST_BLOCK_BYTES: usize = 64 << 20;
/// The packed bytes that are looked at together.
const BATCH_BYTES: usize = 4 << 20;

/// Returns the size of the blocks of a dump that the JDK packed.
pub(super) fn block_bytes(head: &[u8]) -> Option<usize> {
    if !head.starts_with(MAGIC) || head.get(MAGIC.len()) != Some(&HAS_COMMENT) {
        return None;
    }
    let size = head.get(HEAD_BYTES..)?.strip_prefix(COMMENT)?;
    let size = &size[..size.iter().position(|&byte| byte == 0)?];
    let size = std::str::from_utf8(size).ok()?.parse().ok()?;
    (1..=MOST_BLOCK_BYTES).contains(&size).then_some(size)
}

/// A member that is unpacked.
struct Member {
    /// Its end in the batch.
    end: usize,
    content: Vec<u8>,
}

/// Unpacks a file of `bytes` bytes into scratch. Returns the fault at which the packed data ends, if
/// it has one.
pub(super) fn unpack(
    file: &File,
    bytes: u64,
    block_bytes: usize,
    thread_count: usize,
    scratch: &mut Scratch,
    watch: &mut dyn Watch,
) -> Result<Option<String>, Error> {
    let mut batch = MemberBatch { bytes: Vec::new(), block_bytes, spare: Mutex::default() };
    // Packed data that cannot be made smaller is a little longer than its content.
    let batch_bytes = BATCH_BYTES.max(4 * block_bytes);
    let mut offset = 0;
    let mut is_estimated = false;
    loop {
        let begin = batch.bytes.len();
        let want =
            usize::try_from(bytes - offset).map_or(batch_bytes, |left| left.min(batch_bytes));
        batch.bytes.resize(want, 0);
        if begin < want {
            file.read_exact_at(&mut batch.bytes[begin..], offset + begin as u64)?;
        }
        let is_last = offset + want as u64 == bytes;
        let taken = batch.unpack(thread_count, is_last, scratch)?;
        offset += taken as u64;
        watch.progress("unpacking", offset, bytes);
        if offset == bytes {
            return Ok(None);
        }
        if (taken == 0 || is_last) && is_zeros(file, offset..bytes)? {
            return Ok(None);
        }
        if taken == 0 || is_last {
            return batch.rest(&batch.bytes[taken..], offset, scratch).map(Some);
        }
        batch.bytes.drain(..taken);
        if !is_estimated {
            is_estimated = true;
            check_room(scratch, offset, bytes)?;
        }
    }
}

/// Whether a part of a file is zeros, as tapes and block devices add them.
fn is_zeros(file: &File, part: Range<u64>) -> Result<bool, Error> {
    let mut bytes = [0; 1 << 12];
    let mut at = part.start;
    while at < part.end {
        let count = (part.end - at).min(bytes.len() as u64) as usize;
        file.read_exact_at(&mut bytes[..count], at)?;
        if bytes[..count].iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += count as u64;
    }
    Ok(true)
}

/// Packed bytes that begin with a member.
struct MemberBatch {
    bytes: Vec<u8>,
    block_bytes: usize,
    /// Buffers for further members.
    spare: Mutex<Vec<Vec<u8>>>,
}

impl MemberBatch {
    /// Writes all whole members to scratch. Returns the number of packed bytes that they have.
    fn unpack(
        &self,
        thread_count: usize,
        is_last: bool,
        scratch: &mut Scratch,
    ) -> Result<usize, Error> {
        let mut begins: Vec<_> = memmem::find_iter(&self.bytes, MAGIC).collect();
        if !is_last && begins.len() > 1 {
            // The last one is hardly whole. It is the first of the next batch.
            begins.pop();
        }
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..thread_count.min(begins.len()) {
                let (sender, next, begins) = (sender.clone(), &next, &begins);
                scope.spawn(move || {
                    while let Some(&begin) = begins.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if sender.send((begin, self.member(begin..self.bytes.len()))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut waiting = std::collections::BTreeMap::new();
            let mut taken = 0;
            for (begin, member) in receiver {
                waiting.insert(begin, member);
                while let Some(Some(Member { end, content })) = waiting.remove(&taken) {
                    scratch.write(&content)?;
                    self.give_back(content);
                    taken = end;
                }
            }
            Ok(taken)
        })
    }

    /// Unpacks the member that begins there, if there is a whole one.
    fn member(&self, range: Range<usize>) -> Option<Member> {
        let mut content =
            self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        let packed = &self.bytes[range.clone()];
        let mut decoder = GzDecoder::new(packed);
        let limit = self.block_bytes as u64 + 1;
        let read = (&mut decoder).take(limit).read_to_end(&mut content);
        if read.is_ok_and(|count| count <= self.block_bytes) {
            return Some(Member { end: range.end - decoder.into_inner().len(), content });
        }
        self.give_back(content);
        None
    }

    fn give_back(&self, mut content: Vec<u8>) {
        content.clear();
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(content);
        }
    }

    /// Writes the readable part of an incomplete member. Returns its fault.
    fn rest(&self, packed: &[u8], offset: u64, scratch: &mut Scratch) -> Result<String, Error> {
        if !MAGIC.starts_with(&packed[..packed.len().min(MAGIC.len())]) {
            return Ok(format!("no gzip data follows offset {offset}"));
        }
        let mut decoder = GzDecoder::new(packed);
        let mut content = Vec::new();
        let read = (&mut decoder).take(self.block_bytes as u64).read_to_end(&mut content);
        scratch.write(&content)?;
        let fault = read.err().and_then(|error| fault(Packing::Gzip, &error));
        Ok(fault.unwrap_or_else(|| format!("the gzip data is damaged from offset {offset} on")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jdk_names_the_size_of_its_blocks() {
        let head = b"\x1F\x8B\x08\x10\0\0\0\0\x04\0HPROF BLOCKSIZE=1048576\0\xE4";
        assert_eq!(block_bytes(head), Some(1 << 20));
        for other in [
            &head[..20],
            b"\x1F\x8B\x08\0\0\0\0\0\x04\0HPROF BLOCKSIZE=1\0",
            b"\x1F\x8B\x08\x10\0\0\0\0\x04\0HPROF BLOCKSIZE=0\0",
            b"\x1F\x8B\x08\x10\0\0\0\0\x04\0HPROF BLOCKSIZE=99999999999\0",
            b"\x1F\x8B\x08\x10\0\0\0\0\x04\0a comment\0",
            b"",
        ] {
            assert_eq!(block_bytes(other), None);
        }
    }
}
