//! The placement of probes in a class: at a method's entry and exits, around calls that cannot be
//! observed from inside, and at allocations. Also the fields that perk adds to classes of the JVM.
//!
//! [`instrument`] converts bytes to bytes. It knows class files and does not depend on a running
//! JVM. It asks a [`Methods`] for the number of a method and for the methods that are counted at
//! the call. A probe is a call of a static method of [`HELPER`]. It leaves the operand stack as it
//! was, with one exception: an object that is cloned is there twice while `clone` is called.
//!
//! | probe | where |
//! |---|---|
//! | `enter(I)` | at the beginning of a method's code |
//! | `touch(I)` | at the beginning of a trivial method, or of one without room for more, instead of all other probes for calls |
//! | `exit(I)` | before each return; after a leaf's call; and in a handler of all exceptions, which rethrows, in methods that catch some |
//! | `caught(I)` | at the exception handlers of code that calls: the callees may not have reported their exit |
//! | `line(I)` | before instructions that call, allocate or initialise a class, if the line may have changed |
//! | `enterLeaf(I)` | before the call of a leaf, a method that is counted by its callers |
//! | `allocated(Object)` | in `Object.<init>`, which each constructor finally calls |
//! | `array(...)`, `arrays(Object)` | after the instructions that make arrays |
//! | `made(Object)`, `reflected(Object)` | after calls that return what the JVM itself has made |
//! | `withhold()` | before calls of methods that count the new object themselves, in a method whose result is counted after its own call |
//! | `cloned(Object, Object)` | after calls of `clone` on an object, with that object and the result |
//! | `clonedAbove(Object, Class)` | after `super.clone()`, if the superclass may have its own `clone` or not |
//! | `traced(Throwable)` | after an exception has got its backtrace |
//! | `mounted(Thread)`, `unmounted(Thread)` | when a virtual thread is mounted on a carrier, and when it is unmounted |
//!
//! Exceptions that probes throw at handlers and before returns are dropped, because the method
//! itself throws nothing there: the JVM's stack may be full.
//!
//! A method that an exception unwinds reports this only if it has handlers of its own. Other
//! unwound methods are still innermost when a caller's `caught` or `exit` is called, which then
//! leaves them, too. The caller is found as the innermost entry of its method, because all later
//! calls of the method have reported their exit.
#![forbid(unsafe_code)]

mod class;
mod fresh;
mod helper;
mod leaves;
mod names;
mod probe;
mod record;
mod scan;

pub use class::instrument;
pub use helper::{HELPER, METHODS as HELPER_METHODS};
pub use leaves::{Leaf, Leaves, leaves};
pub use names::Names;
pub use perk_classfile::{ClassFile, Error};
pub use record::with_record;

/// The plain names of the fields that classes get before their own. All these fields are private,
/// transient and synthetic.
pub mod fields {
    /// The beginning of all their names.
    pub const PREFIX: &str = "$perk";
    /// A `long` of `java/lang/Thread`, for the thread's stack.
    pub const THREAD_STACK: &str = "$perkStack";
    /// A `long` of `java/lang/Thread`, for the thread's tree.
    pub const THREAD_TREE: &str = "$perkTree";
    /// A `long` of `java/lang/Class`, which is written once: the data about the class's objects.
    pub const CLASS_RECORDS: &str = "$perkRecords";
    /// An `int` of most classes directly below `java/lang/Object`, and thus of their subclasses, if
    /// [`Probes::object_record`](super::Probes) is set.
    pub const OBJECT_RECORD: &str = "$perkRecord";
}

/// The probes that are placed besides those at entries, exits and the calls of leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    /// Add a handler of all exceptions to every method, including methods that do not catch any. It
    /// matters if code without probes catches exceptions, that is, if some classes are not
    /// selected.
    pub unwinding: bool,
    /// Add the probes that report the current line.
    pub lines: bool,
    /// Add the probes that report each new object and array.
    pub heap: bool,
    /// Add a field to objects for their record.
    pub object_record: bool,
    /// The names of the added class and fields.
    pub names: Names,
}

/// A method, identified by names in modified UTF-8, as in class files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodName<'a> {
    /// The class's internal name, as `java/lang/Object`.
    pub class: &'a [u8],
    /// The method's name.
    pub name: &'a [u8],
    /// The method's descriptor.
    pub descriptor: &'a [u8],
    /// The source file of its class. It is not known for a leaf.
    pub source: Option<&'a [u8]>,
    /// Whether the method is known to be native. For a leaf, see the [`leaves`] of its class.
    pub is_native: bool,
}

/// The facts about methods that the instrumentation of a class needs.
pub trait Methods {
    /// Returns a number for a method, which its probes push as an `int`. This is called once per
    /// instrumented method, and for each called leaf once per class and way of calling.
    fn number(&mut self, method: &MethodName<'_>) -> u32;

    /// Whether calls of exactly this target are counted at the call, because nothing can be counted
    /// inside: it is native, the JIT replaces its code, or it is not selected. `owner` is the class
    /// that the call names (`java/lang/Object` for arrays); the target may be inherited.
    fn leaf(
        &mut self,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
        is_virtual_dispatch: bool,
    ) -> bool;

    /// Whether a method is to be counted. Allocations are counted in every method.
    fn selected(&mut self, class: &[u8], method: &[u8]) -> bool;
}

/// The result of instrumenting a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrumented {
    /// The new class file; `None` if nothing changes.
    pub bytes: Option<Vec<u8>>,
    /// The number of methods with probes.
    pub method_count: usize,
    /// The methods that lack the probes they should have, as name and descriptor, each with the
    /// reason.
    pub skipped: Vec<(Vec<u8>, String)>,
}
