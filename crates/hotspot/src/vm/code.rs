//! The code cache: its heaps, and the blobs of code in them.

use super::memory::Memory;
use super::tables::{MissingDescription, Number, Tables, text};

/// The most heaps that the code cache has had so far is 3; JDK 26 has 4.
const MAX_HEAPS: usize = 6;
/// The mark of a free segment.
const FREE: u8 = 0xff;
/// The most steps to the beginning of a block. Each step but the last goes back hundreds of
/// segments.
const MAX_HOPS: usize = 65_536;
/// The most pieces of code of the interpreter that are read.
const MAX_CODELETS: usize = 4096;
/// The first 8 bytes of the names of blobs that are methods.
const COMPILED: usize = usize::from_le_bytes(*b"nmethod\0");
const NATIVE: usize = usize::from_le_bytes(*b"native n");

/// What is known of the code cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeCache {
    low: usize,
    high: usize,
    heaps: [CodeHeap; MAX_HEAPS],
    /// The size of the header of a block, and its flag.
    header: usize,
    used: Number,
    name: usize,
    frame_words: Number,
    frame_complete: Number,
    code_begin: CodePlace,
    code_end: CodePlace,
    /// The addresses of the interpreter's code.
    pub(super) interpreter: Span,
    /// The addresses of the code with which the interpreter begins methods.
    pub(super) method_entries: Span,
    /// Where the JVM's calls of Java methods return to.
    pub(super) call_stub_return: usize,
    /// The offset in the frame of a stub for calls from native code to Java, and in it, of the
    /// anchor.
    pub(super) upcall_frame: Option<(Number, usize)>,
}

/// Addresses from the first to before the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span(usize, usize);

impl Span {
    pub(super) fn contains(self, address: usize) -> bool {
        self.0 <= address && address < self.1
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct CodeHeap {
    span: Span,
    segments: usize,
    shift: u32,
}

/// A place in a blob, which builds describe as a pointer or as a distance.
#[derive(Clone, Copy, Debug)]
pub(super) enum CodePlace {
    /// The offset of a pointer.
    Pointer(usize),
    /// A number that is added to the blob's address.
    Distance(Number),
}

impl CodePlace {
    /// The first of the pointers or else of the distances that there is.
    pub(super) fn new(
        tables: &Tables,
        pointers: &[&str],
        distances: &[&str],
    ) -> Result<CodePlace, MissingDescription> {
        match tables.offset(pointers) {
            Ok(offset) => Ok(CodePlace::Pointer(offset)),
            Err(missing) => match tables.number(distances) {
                Ok(number) => Ok(CodePlace::Distance(number)),
                Err(_) => Err(missing),
            },
        }
    }

    pub(super) fn of(self, memory: &impl Memory, base: usize) -> Option<usize> {
        match self {
            CodePlace::Pointer(offset) => memory.word(base.wrapping_add(offset)),
            CodePlace::Distance(number) => {
                Some(base.wrapping_add(number.read(memory, base)? as usize))
            }
        }
    }
}

/// A blob of code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blob {
    pub(super) at: usize,
    pub(super) kind: BlobKind,
    /// The address of its name.
    pub(super) name: usize,
    pub(super) code: Span,
    /// The bytes of its frames with the return address; 0 where they differ or are not known.
    pub(super) frame_bytes: usize,
    /// The address from which on its frame is complete.
    pub(super) complete: usize,
}

impl Blob {
    pub(super) fn code_begin(&self) -> usize {
        self.code.0
    }
}

/// The kinds of blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlobKind {
    /// A compiled method.
    Compiled,
    /// The wrapper of a native method.
    Native,
    /// Any other.
    Stub,
}

impl CodeCache {
    pub(super) fn new(
        memory: &impl Memory,
        tables: &Tables,
    ) -> Result<CodeCache, MissingDescription> {
        let missing = |what: &str| MissingDescription::new(what);
        let read_static = |name: &str| -> Result<usize, MissingDescription> {
            let value = memory.word(tables.address(&[name])?);
            value.filter(|it| *it != 0).ok_or_else(|| missing(name))
        };
        let (interpreter, method_entries) = interpreter(memory, tables)?;
        let upcall_frame = tables.number(&["UpcallStub._frame_data_offset"]).ok();
        let upcall_anchor = tables.offset(&["UpcallStub::FrameData.jfa"]).ok();
        Ok(CodeCache {
            low: read_static("CodeCache._low_bound")?,
            high: read_static("CodeCache._high_bound")?,
            heaps: heaps(memory, tables, read_static("CodeCache._heaps")?)?,
            header: tables.size("HeapBlock")?,
            used: tables.number(&["HeapBlock::Header._used"])?,
            name: tables.offset(&["CodeBlob._name"])?,
            frame_words: tables.number(&["CodeBlob._frame_size"])?,
            frame_complete: tables.number(&["CodeBlob._frame_complete_offset"])?,
            code_begin: CodePlace::new(
                tables,
                &["CodeBlob._code_begin"],
                &["CodeBlob._code_offset"],
            )?,
            code_end: CodePlace::new(tables, &["CodeBlob._code_end"], &["CodeBlob._data_offset"])?,
            interpreter,
            method_entries,
            call_stub_return: read_static("StubRoutines._call_stub_return_address")?,
            upcall_frame: upcall_frame.zip(upcall_anchor),
        })
    }

    pub(super) fn contains(&self, pc: usize) -> bool {
        self.low <= pc && pc < self.high
    }

    /// Finds the blob at an address. Async-signal-safe.
    pub(super) fn find(&self, memory: &impl Memory, pc: usize) -> Option<Blob> {
        let heap = self.heaps.iter().find(|heap| heap.span.contains(pc))?;
        let mut segment = pc.wrapping_sub(heap.span.0).wrapping_shr(heap.shift);
        // Each segment of a block has the distance back, or to a segment that has it; the first has
        // none.
        let mut hops = 0;
        loop {
            let back = memory.u8(heap.segments.wrapping_add(segment))?;
            if back == FREE || hops == MAX_HOPS {
                return None;
            }
            if back == 0 {
                break;
            }
            segment = segment.checked_sub(usize::from(back))?;
            hops = hops.wrapping_add(1);
        }
        let block = heap.span.0.wrapping_add(segment.wrapping_shl(heap.shift));
        if self.used.read(memory, block)? == 0 {
            return None;
        }
        let at = block.wrapping_add(self.header);
        let code_begin = self.code_begin.of(memory, at)?;
        let name = memory.word(at.wrapping_add(self.name))?;
        let frame_words = self.frame_words.read(memory, at)?;
        let complete = self.frame_complete.read(memory, at)?;
        Some(Blob {
            at,
            kind: match memory.word(name)? {
                COMPILED => BlobKind::Compiled,
                NATIVE => BlobKind::Native,
                _ => BlobKind::Stub,
            },
            name,
            code: Span(code_begin, self.code_end.of(memory, at)?),
            frame_bytes: (frame_words.max(0) as usize).wrapping_mul(size_of::<usize>()),
            // Negative: the frame is never complete.
            complete: if complete < 0 {
                usize::MAX
            } else {
                code_begin.wrapping_add(complete as usize)
            },
        })
    }
}

fn heaps(
    memory: &impl Memory,
    tables: &Tables,
    array: usize,
) -> Result<[CodeHeap; MAX_HEAPS], MissingDescription> {
    let length = tables.number(&["GrowableArrayBase._len"])?;
    let data = tables.offset(&["GrowableArray<int>._data"])?;
    let space = tables.offset(&["CodeHeap._memory"])?;
    let segments = tables.offset(&["CodeHeap._segmap"])?;
    let shift = tables.number(&["CodeHeap._log2_segment_size"])?;
    let low = tables.offset(&["VirtualSpace._low_boundary"])?;
    let high = tables.offset(&["VirtualSpace._high_boundary"])?;
    let read = |index: usize| -> Option<CodeHeap> {
        let data = memory.word(array + data)?;
        let heap = memory.word(data + index * size_of::<usize>())?;
        Some(CodeHeap {
            span: Span(memory.word(heap + space + low)?, memory.word(heap + space + high)?),
            segments: memory.word(heap + segments + low)?,
            shift: u32::try_from(shift.read(memory, heap)?).ok()?,
        })
    };
    let unusable = || MissingDescription::new("a code cache that can be read");
    let count = length.read(memory, array).ok_or_else(unusable)? as usize;
    let mut heaps = [CodeHeap::default(); MAX_HEAPS];
    if count == 0 || count > heaps.len() {
        return Err(unusable());
    }
    for (index, heap) in heaps.iter_mut().enumerate().take(count) {
        *heap = read(index).ok_or_else(unusable)?;
    }
    Ok(heaps)
}

/// The addresses of the interpreter's code, and of the code at the entries of methods in it.
fn interpreter(memory: &impl Memory, tables: &Tables) -> Result<(Span, Span), MissingDescription> {
    let queue = tables.address(&["AbstractInterpreter._code"])?;
    let buffer = tables.offset(&["StubQueue._stub_buffer"])?;
    let limit = tables.number(&["StubQueue._buffer_limit"])?;
    let size = tables.number(&["InterpreterCodelet._size"])?;
    let description = tables.offset(&["InterpreterCodelet._description"])?;
    let unusable = || MissingDescription::new("an interpreter that can be read");
    let queue = memory.word(queue).filter(|it| *it != 0).ok_or_else(unusable)?;
    let begin = memory.word(queue + buffer).ok_or_else(unusable)?;
    let end = begin + limit.read(memory, queue).ok_or_else(unusable)? as usize;
    let mut entries = Span::default();
    let mut at = begin;
    for _ in 0..MAX_CODELETS {
        let length = size.read(memory, at).unwrap_or(0);
        if at >= end || length <= 0 {
            break;
        }
        let next = at + length as usize;
        let name = text(memory, memory.word(at + description).unwrap_or(0));
        if name.starts_with("method entry point") {
            // They follow each other.
            entries = Span(if entries.0 == 0 { at } else { entries.0 }, next);
        }
        at = next;
    }
    Ok((Span(begin, end), entries))
}
