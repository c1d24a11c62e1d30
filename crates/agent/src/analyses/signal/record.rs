//! The records of samples, as words.

use perk_hotspot::vm::{Code, Registers, VmFrame};

/// The words of a frame.
const FRAME_WORDS: usize = 3;
/// The words before the frames.
const HEAD_WORDS: usize = 8;

/// The place of the number of the kernel's frames in the last word before the frames. Below it is the
/// number of the frames of the walk, and the lowest bit is set if the walk is complete.
const KERNEL_SHIFT: u32 = 48;

/// The beginning of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The number of the thread.
    pub(super) thread: u64,
    /// The intervals that the sample represents.
    pub(super) count: u64,
    /// The time, in nanoseconds of `System.nanoTime`.
    pub(super) time_ns: u64,
    /// The id of the virtual thread; 0 if the thread runs none, and if ids are not asked for.
    pub(super) virtual_id: u64,
    /// The registers of the interrupted code.
    pub(super) registers: Registers,
    /// Whether the walk came to the stack's end, or has as many frames as are asked for.
    pub(super) is_complete: bool,
    /// The frames of the walk.
    pub(super) frame_count: usize,
    /// The frames of the kernel.
    pub(super) kernel_count: usize,
}

impl Head {
    fn words(&self) -> [u64; HEAD_WORDS] {
        let Registers { pc, sp, fp } = self.registers;
        let counts = (self.kernel_count as u64) << KERNEL_SHIFT | (self.frame_count as u64) << 1;
        let flags = counts | u64::from(self.is_complete);
        let (pc, sp, fp) = (pc as u64, sp as u64, fp as u64);
        [self.thread, self.count, self.time_ns, self.virtual_id, pc, sp, fp, flags]
    }
}

/// Returns the number of words of a record with this number of words of the stack, and the words:
/// the head, the frames, the addresses of those of the kernel, and the stack from the stack pointer
/// on.
pub(super) fn words<'a>(
    head: &Head,
    frames: &'a [VmFrame],
    kernel: &'a [u64],
    stack_words: usize,
    stack: impl Iterator<Item = u64> + 'a,
) -> (usize, impl Iterator<Item = u64> + 'a) {
    let count = HEAD_WORDS + frames.len() * FRAME_WORDS + kernel.len() + stack_words;
    let frames = frames.iter().flat_map(frame_words);
    (count, head.words().into_iter().chain(frames).chain(kernel.iter().copied()).chain(stack))
}

/// The kinds of code, in the order of their numbers.
const KINDS: [Code; 9] = [
    Code::Interpreted,
    Code::C1,
    Code::C2,
    Code::Inlined,
    Code::NativeMethod,
    Code::Stub,
    Code::Native,
    Code::Continuation,
    Code::FrozenContinuation,
];

/// Returns the words of a frame.
fn frame_words(frame: &VmFrame) -> [u64; FRAME_WORDS] {
    let kind = KINDS.iter().position(|kind| *kind == frame.kind).unwrap_or(0);
    let code = (kind as u64) << 40 | u64::from(frame.level) << 32 | u64::from(frame.bci as u32);
    // A stub has a name, and others a method.
    let what = if frame.method == 0 { frame.name } else { frame.method };
    [what as u64, code, frame.pc as u64]
}

/// Returns the words of a record that are the address of a method.
pub(super) fn methods(record: &mut [u64]) -> impl Iterator<Item = &mut u64> {
    let count = record.get(HEAD_WORDS - 1).map_or(0, |flags| frame_count(*flags));
    let frames = record.get_mut(HEAD_WORDS..HEAD_WORDS + count * FRAME_WORDS).unwrap_or_default();
    frames.chunks_exact_mut(FRAME_WORDS).filter_map(|words| {
        let [what, code, _] = words.first_chunk_mut()?;
        let kind = KINDS.get((*code >> 40) as usize)?;
        (*kind != Code::Stub && *what != 0).then_some(what)
    })
}

fn frame_count(flags: u64) -> usize {
    (flags >> 1) as usize & ((1 << (KERNEL_SHIFT - 1)) - 1)
}

/// Marks a record as one whose stack is not complete.
pub(super) fn set_incomplete(record: &mut [u64]) {
    if let Some(flags) = record.get_mut(HEAD_WORDS - 1) {
        *flags &= !1;
    }
}

/// The parts of a record.
pub(super) struct Parts<'a, F> {
    pub(super) head: Head,
    /// The frames of the walk, the innermost first.
    pub(super) frames: F,
    /// The addresses of the kernel's frames, the innermost first.
    pub(super) kernel: &'a [u64],
    /// The words of the stack from the stack pointer on.
    pub(super) stack: &'a [u64],
}

/// Returns the parts of a record; `None` if it is none.
pub(super) fn parts(record: &[u64]) -> Option<Parts<'_, impl Iterator<Item = VmFrame> + '_>> {
    let (head, rest) = record.split_first_chunk()?;
    let [thread, count, time_ns, virtual_id, pc, sp, fp, flags] = *head;
    let head = Head {
        thread,
        count,
        time_ns,
        virtual_id,
        registers: Registers { pc: pc as usize, sp: sp as usize, fp: fp as usize },
        is_complete: flags & 1 != 0,
        frame_count: frame_count(flags),
        kernel_count: (flags >> KERNEL_SHIFT) as usize,
    };
    let (frames, rest) = rest.split_at_checked(head.frame_count * FRAME_WORDS)?;
    let (kernel, stack) = rest.split_at_checked(head.kernel_count)?;
    let frames = frames.chunks_exact(FRAME_WORDS).filter_map(|words| {
        let [what, code, pc] = *words.first_chunk()?;
        let kind = *KINDS.get((code >> 40) as usize)?;
        let is_stub = kind == Code::Stub;
        Some(VmFrame {
            kind,
            level: (code >> 32) as u8,
            bci: code as u32 as i32,
            method: if is_stub { 0 } else { what as usize },
            name: if is_stub { what as usize } else { 0 },
            pc: pc as usize,
        })
    });
    Some(Parts { head, frames, kernel, stack })
}
