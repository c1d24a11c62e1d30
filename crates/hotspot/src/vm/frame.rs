//! Frames, and where a walk begins and ends.

/// The registers at which a walk begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The program counter.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer: `rbp` on x86-64.
    pub fp: usize,
}

/// Two more registers, which the interpreter keeps values in that its frames have late or not at
/// all. Zero where they are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterpreterRegisters {
    /// The address of the bytecode, or the caller's stack pointer at a method's entry: `r13` on
    /// x86-64.
    pub bytecode: usize,
    /// The method at its entry: `rbx` on x86-64.
    pub method: usize,
}

/// The kind of code that a frame is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Code {
    /// A method that is being interpreted.
    Interpreted,
    /// A method compiled by C1.
    C1,
    /// A method compiled by C2.
    C2,
    /// A method that is part of the compiled code of the next frame that is not inlined.
    Inlined,
    /// A native method, interpreted or called by its compiled wrapper.
    NativeMethod,
    /// Code that the JVM generated for no method, such as the intrinsic of an array copy.
    Stub,
    /// Code outside the code cache. Only the first frame can be of it.
    #[default]
    Native,
    /// The border of a virtual thread: the frames before it are the virtual thread's, those after
    /// it are its carrier's. It is `Continuation.enterSpecial`.
    Continuation,
    /// The border of a virtual thread with older frames in the heap that could not be read. Those before
    /// it are the youngest ones, which the JVM copied to the carrier's stack.
    FrozenContinuation,
}

/// A frame of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmFrame {
    /// The kind of code.
    pub kind: Code,
    /// The level of the compiled code, 1 to 4 (4 is C2), also of inlined methods; else 0.
    pub level: u8,
    /// The index of the bytecode; -1 in native methods and where it is not known.
    pub bci: i32,
    /// The address of the JVM's `Method`, or 0.
    pub method: usize,
    /// The program counter: of the instruction in the first frame, else where the call returns to.
    pub pc: usize,
    /// The address of the C string that names the blob of code, of stubs only; else 0. It stays
    /// where it is.
    pub name: usize,
}

impl VmFrame {
    /// A frame to fill buffers with.
    pub const EMPTY: VmFrame =
        VmFrame { kind: Code::Native, level: 0, bci: -1, method: 0, pc: 0, name: 0 };
}

impl Default for VmFrame {
    fn default() -> VmFrame {
        VmFrame::EMPTY
    }
}

/// Where a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// At the first Java method of the thread.
    Complete,
    /// The buffer is full.
    Truncated,
    /// The thread does not execute Java code, and no Java method waits for it to return.
    NoJava,
    /// The stack could not be followed.
    Broken(WalkError),
}

/// Why a stack could not be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WalkError {
    /// The code cache has no blob at an address of it.
    UnknownBlob,
    /// A frame is not inside the stack, not aligned, or not above the one before.
    BadFrame,
    /// The frame of the interpreter does not hold a method.
    BadMethod,
    /// Memory could not be read.
    Unreadable,
    /// The caller's address is outside the code cache.
    LeftCode,
    /// The thread is in native code called by Java code that left no mark of where it is.
    NoAnchor,
    /// The walk has taken more steps than a stack can have.
    TooLong,
}

/// The mark in a thread of the Java method that it last left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The stack pointer; 0 without such a method.
    pub sp: usize,
    /// The program counter. 0: it is on the stack below `sp`.
    pub pc: usize,
    /// The frame pointer.
    pub fp: usize,
}
