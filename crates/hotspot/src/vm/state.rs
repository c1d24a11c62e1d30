//! What is known of a JVM.

use std::sync::OnceLock;

use super::arch::Arch;
use super::code::CodeCache;
use super::fields::VirtualThreadFields;
use super::frame::End;
use super::heap::Heap;
use super::method::Methods;
use super::nmethod::Nmethods;
use super::tables::Number;

/// What is known of a JVM's data structures: plain offsets and addresses.
#[derive(Clone, Debug)]
pub struct Vm {
    pub(super) arch: &'static Arch,
    pub(super) code: CodeCache,
    pub(super) nmethods: Nmethods,
    pub(super) methods: Methods,
    pub(super) threads: Threads,
    pub(super) layout: FrameLayout,
    /// What is known of the heap, on JVMs with virtual threads.
    pub(super) heap: Option<Heap>,
    pub(super) virtual_threads: OnceLock<VirtualThreadFields>,
}

/// The offsets in threads and in the links between the Java parts of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threads {
    pub(super) anchor: usize,
    pub(super) state: Number,
    pub(super) stack_base: usize,
    pub(super) stack_size: usize,
    pub(super) last_sp: usize,
    pub(super) last_pc: usize,
    pub(super) last_fp: usize,
    pub(super) wrapper_anchor: usize,
    /// `JavaThread::_cont_entry`, which JDK 21 does not describe.
    pub(super) continuation: Option<usize>,
    /// Where `JavaThread::_vthread` has the address of a reference, on JDK 21 and later.
    pub(super) virtual_thread: Option<usize>,
    /// Where `JavaThread::_threadObj` has the address of a reference.
    pub(super) object: Option<usize>,
    /// `JavaThread::_monitor_owner_id`, which is the current thread's id on JDK 24 and later.
    pub(super) owner_id: Option<usize>,
    pub(super) os_thread: usize,
    pub(super) os_thread_id: Number,
    pub(super) in_java: i64,
    pub(super) in_native: i64,
    pub(super) in_vm: i64,
    pub(super) blocked: i64,
}

/// Where the slots of frames are, in words from the frame pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameLayout {
    pub(super) sender_sp: isize,
    pub(super) method: isize,
    pub(super) bytecode: isize,
    /// The first local variable. In the heap alone it is the distance in words.
    pub(super) locals: isize,
    pub(super) call_wrapper: isize,
}

/// The result of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// How many frames were written.
    pub count: usize,
    /// Where the walk ended.
    pub end: End,
}

/// What a thread is doing, as the JVM has noted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadState {
    /// It executes Java code.
    InJava,
    /// It executes native code.
    InNative,
    /// It executes the JVM's code.
    InVm,
    /// It waits in the JVM.
    Blocked,
    /// It is starting, or between two of these states.
    Other,
}
