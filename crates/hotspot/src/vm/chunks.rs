//! The frames of a virtual thread that are not on its carrier's stack. While a virtual thread does not
//! run, its frames are in stack chunks in the heap. When it continues, the JVM copies the youngest of
//! them to the stack; the others follow as frames return. Async-signal-safe.
//!
//! In a chunk the words of a frame are those of the stack, but the links of interpreted frames are
//! distances in words. A chunk may change and move; so the frames count only if the collector has not
//! run meanwhile and each of them holds together.

use std::ffi::CStr;

use super::code::BlobKind;
use super::fields::Bottom;
use super::fields::VirtualThreadFields;
use super::frames::{Cursor, SLOT, Walker, slot};
use super::memory::Memory;
use super::{Code, VmFrame};

/// The most words of a chunk that is believed to be one.
const MAX_WORDS: i64 = 1 << 27;
/// The most frames in a chunk, and the most chunks.
const MAX_FRAMES: usize = 100_000;
const MAX_CHUNKS: usize = 1024;
/// The words below a frame's stack pointer that belong to it: the link and the address to return to.
const METADATA: usize = 2 * SLOT;

impl VirtualThreadFields {
    /// Looks them up. `offset` returns that of a field by the class's internal name, the field's name
    /// and its descriptor. `None`: a field is missing.
    pub fn new(offset: impl Fn(&CStr, &CStr, &CStr) -> Option<usize>) -> Option<Self> {
        let chunk = c"jdk/internal/vm/StackChunk";
        let chunk_type = c"Ljdk/internal/vm/StackChunk;";
        let number = |name: &CStr| offset(chunk, name, c"I");
        let continuation_type = c"Ljdk/internal/vm/Continuation;";
        Some(Self {
            continuation: offset(c"java/lang/Thread", c"cont", continuation_type)?,
            tail: offset(c"jdk/internal/vm/Continuation", c"tail", chunk_type)?,
            parent: offset(chunk, c"parent", chunk_type)?,
            size: number(c"size")?,
            sp: number(c"sp")?,
            bottom: match number(c"bottom") {
                Some(offset) => Bottom::Begin(offset),
                None => Bottom::End(number(c"argsize")?),
            },
        })
    }
}

/// What became of the frames in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThawResult {
    /// All are written.
    Written,
    /// There is no room for all.
    Truncated,
    /// They cannot be read.
    Unreadable,
}

/// The words of a chunk with frames.
struct Chunk {
    begin: usize,
    end: usize,
    sp: usize,
}

impl<M: Memory> Walker<'_, M> {
    /// Writes the frames of the virtual thread that are in the heap.
    pub(super) fn heap_frames(&mut self) -> ThawResult {
        let count = self.count;
        let (vm, memory, thread) = (self.vm, self.memory, self.thread);
        match vm.while_nothing_moves(memory, thread, || self.chunks()) {
            Some(thawing) => thawing,
            None => {
                self.count = count;
                ThawResult::Unreadable
            }
        }
    }

    fn chunks(&mut self) -> Option<ThawResult> {
        let heap = self.vm.heap?;
        let fields = *self.vm.virtual_threads.get()?;
        let first = self.count;
        // The carrier's continuation is the virtual thread's, also while that is begun or left.
        let carrier = self.vm.carrier_object(self.memory, self.thread)?;
        let continuation = heap.field(self.memory, carrier.wrapping_add(fields.continuation))?;
        if continuation == 0 {
            return None;
        }
        let mut next = continuation.wrapping_add(fields.tail);
        let mut is_whole = true;
        for _ in 0..MAX_CHUNKS {
            let object = heap.field(self.memory, next)?;
            if object == 0 || !is_whole {
                break;
            }
            let chunk = self.chunk(object)?;
            is_whole = self.chunk_frames(&chunk)?;
            next = object.wrapping_add(fields.parent);
        }
        self.drop_copies(first);
        Some(if is_whole { ThawResult::Written } else { ThawResult::Truncated })
    }

    fn chunk(&self, object: usize) -> Option<Chunk> {
        let (heap, fields) = (self.vm.heap?, self.vm.virtual_threads.get()?);
        let name = b"jdk/internal/vm/StackChunk";
        let class = heap.class_named(self.memory, &self.vm.methods, object, name)?;
        let begin = object.wrapping_add(heap.instance_bytes(self.memory, class)?);
        let number = |offset: usize| {
            let number = self.memory.u32(object.wrapping_add(offset))?;
            Some(i64::from(number as i32))
        };
        let size = number(fields.size)?;
        let bottom = match fields.bottom {
            Bottom::Begin(offset) => number(offset)?,
            Bottom::End(offset) => size.wrapping_sub(number(offset)?),
        };
        let sp = number(fields.sp)?;
        let is_one = size < MAX_WORDS && (0..=size).contains(&bottom) && sp >= 0;
        let at = |words: i64| begin.wrapping_add((words as usize).wrapping_mul(SLOT));
        is_one.then(|| Chunk { begin, end: at(bottom), sp: at(sp) })
    }

    /// Writes the frames of a chunk. `false`: there is no room.
    fn chunk_frames(&mut self, chunk: &Chunk) -> Option<bool> {
        let word = |walker: &Self, at: usize| walker.memory.word(at);
        let distance =
            |walker: &Self, at: usize, from: usize| Some(slot(from, word(walker, at)? as isize));
        let layout = self.vm.layout;
        let mut sp = chunk.sp;
        // An interpreted callee moves its caller's stack pointer.
        let mut own_sp = sp;
        for _ in 0..MAX_FRAMES {
            if sp >= chunk.end {
                return Some(true);
            }
            if sp < chunk.begin.wrapping_add(METADATA) {
                return None;
            }
            let pc = word(self, sp.wrapping_sub(SLOT))?;
            let before = sp;
            if self.vm.code.interpreter.contains(pc) {
                let link = sp.wrapping_sub(METADATA);
                let fp = distance(self, link, link)?;
                if !(sp..chunk.end).contains(&fp) {
                    return None;
                }
                let (method, bci, is_native) = self.method_of_frame(fp, 0)?;
                let kind = if is_native { Code::NativeMethod } else { Code::Interpreted };
                if !self.emit(VmFrame { kind, bci, method, pc, ..VmFrame::EMPTY }) {
                    return Some(false);
                }
                let locals = distance(self, slot(fp, layout.locals), fp)?;
                if locals.wrapping_add(SLOT) >= chunk.end {
                    return Some(true);
                }
                own_sp = distance(self, slot(fp, layout.sender_sp), fp)?;
                sp = fp.wrapping_add(METADATA);
            } else {
                let blob = self.vm.code.find(self.memory, pc)?;
                if !blob.code.contains(pc) || blob.frame_bytes < METADATA {
                    return None;
                }
                let has_room = match blob.kind {
                    BlobKind::Compiled => self.emit_called(&blob, Cursor { pc, sp: own_sp, fp: 0 }),
                    BlobKind::Native => self.emit_native_wrapper(&blob, pc),
                    BlobKind::Stub => true,
                };
                if !has_room {
                    return Some(false);
                }
                sp = own_sp.wrapping_add(blob.frame_bytes);
                own_sp = sp;
                if sp >= chunk.end.wrapping_sub(METADATA) {
                    return Some(true);
                }
            }
            if sp <= before || own_sp < before || own_sp > chunk.end {
                return None;
            }
        }
        None
    }

    /// Removes frames that are on the stack, too: those of a virtual thread that is just being copied
    /// to the heap. `first` is the number of the first frame of the heap.
    fn drop_copies(&mut self, first: usize) {
        let (stack, heap) = self
            .out
            .get(..self.count)
            .unwrap_or_default()
            .split_at_checked(first)
            .unwrap_or_default();
        let is_native = |frame: &VmFrame| matches!(frame.kind, Code::Native | Code::NativeMethod);
        if !stack.first().is_some_and(is_native) {
            return;
        }
        let key = |frame: &VmFrame| (frame.method, frame.bci, frame.pc);
        // The call that leads here is the youngest frame, or the second if a method makes it; no frame
        // in the heap that is not a copy is at such a call.
        let youngest = stack.iter().position(|frame| frame.method != 0).unwrap_or(stack.len());
        let copied = [youngest, youngest.wrapping_add(1)].into_iter().find_map(|from| {
            let on_stack = stack.get(from..).filter(|it| !it.is_empty())?;
            let copies = heap.get(..on_stack.len())?;
            on_stack.iter().map(key).eq(copies.iter().map(key)).then_some(on_stack.len())
        });
        if let Some(copied) = copied {
            let count = self.count;
            if let Some(used) = self.out.get_mut(first..count) {
                used.rotate_left(copied.min(used.len()));
                self.count = count.wrapping_sub(copied);
            }
        }
    }
}
