//! Walks the stacks of a running HotSpot JVM from outside its interfaces, with the tables that
//! libjvm exports for the Serviceability Agent (`gHotSpotVMStructs` and its siblings): they name
//! the offset of each field, so nothing about the layout of a build is written down here.
//!
//! [`Vm::new`] reads the tables once; it allocates. [`Vm::walk`] may be called in a signal handler
//! of the thread that is walked: like all that it calls, it does not allocate, take a lock, call
//! the JVM or the system, or panic: sums wrap, slices are accessed with `get`, and the loops have
//! bounds. It reads foreign memory through [`Memory`] only, so it is as safe as that is. Whatever
//! it reads may be in the middle of a change, so each step is checked: addresses of the stack must
//! be aligned, inside the stack and ascend. A walk that does not hold together ends as
//! [`End::Broken`] and keeps the frames before.
//!
//! [`Vm::names`], [`Vm::lines`] and [`Vm::text`] allocate. They are for the thread that empties
//! the engine's buffers.
//!
//! * `tables`: the exported tables.
//! * `code`: the code cache: which blob of code an address is in.
//! * `nmethod`: compiled methods and their debug information, which has the inlined methods.
//! * `method`: methods, their ids, names and lines.
//! * `frames`: the walk; `top`: the first step of it, where the code may be anywhere; `chunks`: its part
//!   in the heap, where virtual threads have older frames.
//! * `heap`: references and objects; `monitors`: which thread has a monitor.
//! * `arch`: what depends on the processor, as a table.

mod arch;
mod chunks;
mod code;
mod fields;
mod frame;
mod frames;
mod heap;
mod memory;
mod method;
mod monitors;
mod nmethod;
mod notes;
mod state;
mod tables;
mod top;

pub use frame::{Anchor, Code, End, InterpreterRegisters, Registers, VmFrame, WalkError};
use state::{FrameLayout, Threads};
pub use state::{ThreadState, Vm, Walk};
use std::ops::Range;
use std::sync::OnceLock;

use code::CodeCache;
use heap::Heap;
use method::Methods;
use nmethod::Nmethods;
use tables::Tables;

pub use fields::VirtualThreadFields;
pub use memory::{Memory, Symbols};
pub use method::{LineEntry, MethodNames};
pub use monitors::{MonitorOwner, Monitors};
pub use tables::MissingDescription;

impl Vm {
    /// Reads the tables, at `VMInit` or later: the code cache must exist.
    ///
    /// # Errors
    ///
    /// Names the first description that this JVM does not have.
    pub fn new(memory: &impl Memory, symbols: &impl Symbols) -> Result<Vm, MissingDescription> {
        let tables = Tables::read(memory, symbols)?;
        let arch =
            arch::of_this_build().ok_or_else(|| MissingDescription::new("this processor"))?;
        let threads = Threads::new(&tables)?;
        let has_virtual = threads.virtual_thread.is_some();
        let last_sp = tables.constant("frame::interpreter_frame_last_sp_offset")? as isize;
        Ok(Vm {
            arch,
            code: CodeCache::new(memory, &tables)?,
            nmethods: Nmethods::new(memory, &tables)?,
            methods: Methods::new(&tables)?,
            threads,
            layout: FrameLayout {
                sender_sp: tables.constant("frame::interpreter_frame_sender_sp_offset")? as isize,
                method: last_sp.wrapping_add(arch.method_from_last_sp),
                bytecode: last_sp.wrapping_add(arch.bytecode_from_last_sp),
                locals: last_sp.wrapping_add(arch.locals_from_last_sp),
                call_wrapper: tables.constant("frame::entry_frame_call_wrapper_offset")? as isize,
            },
            heap: if has_virtual { Heap::new(memory, &tables).ok() } else { None },
            virtual_threads: OnceLock::new(),
        })
    }

    /// Makes walks continue in the heap, where virtual threads have older frames. The fields can be looked up
    /// once there is a virtual thread; they stay the same. `false`: this JVM does not describe its heap.
    pub fn describe_virtual_threads(&self, fields: VirtualThreadFields) -> bool {
        self.virtual_threads.get_or_init(|| fields);
        self.heap.is_some()
    }

    /// Walks the stack of a thread, the youngest frame first. `thread` is the address of its
    /// `JavaThread`, 0 if it is not one; `stack` the addresses of its stack, empty if the
    /// `JavaThread` gives them. The registers of the interpreter make the first frame right to the
    /// bytecode if it is interpreted. Async-signal-safe.
    pub fn walk(
        &self,
        memory: &impl Memory,
        thread: usize,
        registers: Registers,
        interpreter: InterpreterRegisters,
        stack: Range<usize>,
        out: &mut [VmFrame],
    ) -> Walk {
        let stack = if stack.is_empty() { self.stack_of(memory, thread) } else { stack };
        frames::walk(self, memory, thread, registers, interpreter, stack, out)
    }

    /// Returns what a thread is doing. Async-signal-safe.
    pub fn in_java(&self, memory: &impl Memory, thread: usize) -> Option<ThreadState> {
        let threads = &self.threads;
        let state = threads.state.read(memory, thread)?;
        Some(match state {
            _ if state == threads.in_java => ThreadState::InJava,
            _ if state == threads.in_native => ThreadState::InNative,
            _ if state == threads.in_vm => ThreadState::InVm,
            _ if state == threads.blocked => ThreadState::Blocked,
            _ => ThreadState::Other,
        })
    }

    /// Returns the kernel's id of a thread. Async-signal-safe.
    pub fn os_thread_id(&self, memory: &impl Memory, thread: usize) -> Option<i32> {
        let threads = &self.threads;
        let os_thread = memory.word(thread.wrapping_add(threads.os_thread))?;
        let id = threads.os_thread_id.read(memory, os_thread)?;
        i32::try_from(id).ok().filter(|id| *id > 0)
    }

    /// Returns the id of the thread that `Thread.currentThread` gives on a thread: the virtual thread's
    /// on a carrier. `offset` is that of the id in thread objects. Async-signal-safe.
    pub fn current_thread_id(
        &self,
        memory: &impl Memory,
        thread: usize,
        offset: usize,
    ) -> Option<u64> {
        if let Some(owner_id) = self.threads.owner_id {
            return memory.word(thread.wrapping_add(owner_id)).map(|id| id as u64);
        }
        let read = || {
            let object = self.current_thread_object(memory, thread)?;
            memory.word(object.wrapping_add(offset)).map(|id| id as u64)
        };
        self.while_nothing_moves(memory, thread, read)
    }

    /// Returns the address of the object that a reference of 8 bytes is to, until the collector moves
    /// it; `None` for null, and where the collector has to look at the reference first.
    /// Async-signal-safe.
    pub fn object_at(&self, memory: &impl Memory, at: usize) -> Option<usize> {
        self.heap?.object(memory, memory.word(at)?).filter(|object| *object != 0)
    }

    fn current_thread_object(&self, memory: &impl Memory, thread: usize) -> Option<usize> {
        self.object_at(memory, memory.word(thread.wrapping_add(self.threads.virtual_thread?))?)
    }

    fn carrier_object(&self, memory: &impl Memory, thread: usize) -> Option<usize> {
        self.object_at(memory, memory.word(thread.wrapping_add(self.threads.object?))?)
    }

    /// Returns the result of `read`, if the collector has moved no object meanwhile.
    fn while_nothing_moves<T>(
        &self,
        memory: &impl Memory,
        thread: usize,
        read: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let heap = self.heap?;
        // Pauses do not wait for native code.
        let state = self.in_java(memory, thread)?;
        let may_pass = !matches!(state, ThreadState::InJava | ThreadState::InVm);
        let moment = heap.moment(memory, may_pass)?;
        let read = read()?;
        (heap.moment(memory, may_pass)? == moment).then_some(read)
    }

    /// Returns the mark of the Java method that a thread last left. Async-signal-safe.
    pub fn anchor(&self, memory: &impl Memory, thread: usize) -> Option<Anchor> {
        self.anchor_at(memory, thread.wrapping_add(self.threads.anchor))
    }

    /// Returns whether an address is in the code cache. Async-signal-safe.
    pub fn is_generated_code(&self, pc: usize) -> bool {
        self.code.contains(pc)
    }

    /// Returns whether an address is in the code of the interpreter. Async-signal-safe.
    pub fn is_interpreter(&self, pc: usize) -> bool {
        self.code.interpreter.contains(pc)
    }

    /// Returns the address of the C string that names the blob of code at an address. `nmethod` and
    /// `native nmethod` are methods. Async-signal-safe.
    pub fn code_name(&self, memory: &impl Memory, pc: usize) -> Option<usize> {
        self.code.find(memory, pc).map(|blob| blob.name)
    }

    fn anchor_at(&self, memory: &impl Memory, address: usize) -> Option<Anchor> {
        let threads = &self.threads;
        Some(Anchor {
            sp: memory.word(address.wrapping_add(threads.last_sp))?,
            pc: memory.word(address.wrapping_add(threads.last_pc))?,
            fp: memory.word(address.wrapping_add(threads.last_fp))?,
        })
    }

    fn stack_of(&self, memory: &impl Memory, thread: usize) -> Range<usize> {
        let at = |offset: usize| match thread {
            0 => None,
            _ => memory.word(thread.wrapping_add(offset)),
        };
        match (at(self.threads.stack_base), at(self.threads.stack_size)) {
            (Some(base), Some(size)) => base.wrapping_sub(size)..base,
            _ => 0..0,
        }
    }
}

impl Threads {
    fn new(tables: &Tables) -> Result<Threads, MissingDescription> {
        let handle = |field: &str| {
            let handle = tables.offset(&[field]).ok()?;
            Some(handle.wrapping_add(tables.offset(&["OopHandle._obj"]).ok()?))
        };
        Ok(Threads {
            anchor: tables.offset(&["JavaThread._anchor"])?,
            state: tables.number(&["JavaThread._thread_state"])?,
            stack_base: tables.offset(&["JavaThread._stack_base", "Thread._stack_base"])?,
            stack_size: tables.offset(&["JavaThread._stack_size", "Thread._stack_size"])?,
            last_sp: tables.offset(&["JavaFrameAnchor._last_Java_sp"])?,
            last_pc: tables.offset(&["JavaFrameAnchor._last_Java_pc"])?,
            last_fp: tables.offset(&["JavaFrameAnchor._last_Java_fp"])?,
            wrapper_anchor: tables.offset(&["JavaCallWrapper._anchor"])?,
            continuation: tables.offset(&["JavaThread._cont_entry"]).ok(),
            virtual_thread: handle("JavaThread._vthread"),
            object: handle("JavaThread._threadObj"),
            owner_id: tables.offset(&["JavaThread._monitor_owner_id"]).ok(),
            os_thread: tables.offset(&["JavaThread._osthread", "Thread._osthread"])?,
            os_thread_id: tables.number(&["OSThread._thread_id"])?,
            in_java: tables.constant("_thread_in_Java")?,
            in_native: tables.constant("_thread_in_native")?,
            in_vm: tables.constant("_thread_in_vm")?,
            blocked: tables.constant("_thread_blocked")?,
        })
    }
}
