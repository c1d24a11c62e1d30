//! Which probes go where in a class: at a method's entry and exits, around calls that cannot be
//! seen from inside, at allocations, and the fields that perk adds to classes of the JVM.
//!
//! Bytes in, bytes out: [`instrument`] knows class files and nothing of a JVM that runs. What a
//! method's number is, and what is counted at the call, it asks a [`Methods`]. A probe is a call of
//! a static method of [`HELPER`]; it takes nothing from the operand stack and leaves nothing there,
//! but for an object that is cloned, which stands there twice while `clone` is called.
//!
//! | probe | where |
//! |---|---|
//! | `enter(I)` | at the beginning of a method's code |
//! | `touch(I)` | at the beginning of a method that does next to nothing, or has no room for more, instead of all that report calls |
//! | `exit(I)` | before each return, and in a handler of all exceptions, which throws on, of methods that catch some; after a leaf's call |
//! | `caught(I)` | at the exception handlers of code that calls: what was called may not have left |
//! | `line(I)` | before what calls, allocates or initialises a class, where the line may be another |
//! | `enterLeaf(I)` | before the call of a leaf, a method that is counted by its callers |
//! | `allocated(Object)` | in `Object.<init>`, which each constructor calls in the end |
//! | `array(...)`, `arrays(Object)` | after the instructions that make arrays |
//! | `made(Object)`, `reflected(Object)` | after calls that return what the JVM itself has made |
//! | `withhold()` | before calls that make what is counted after the call of the method that they are in |
//! | `cloned(Object, Object)` | after calls of `clone` on an object, with that object and what is returned |
//! | `clonedAbove(Object, Class)` | after `super.clone()` where the superclass may or may not have its own |
//! | `traced(Throwable)` | where an exception has got its backtrace |
//! | `mounted(Thread)`, `unmounted(Thread)` | where a virtual thread comes to a carrier, and leaves it |
//!
//! What probes throw at handlers and before returns, where the method itself throws nothing, is
//! dropped: the JVM's stack may be full.
//!
//! A method that an exception unwinds reports it only if it has handlers of its own. The others are
//! still the innermost ones when `caught` or `exit` is called, which then leave them, too: the
//! method that calls them is the innermost one of its name, as all later calls of it have reported.
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

/// The plain names of the fields that classes get, before their own. All are private, transient and
/// synthetic.
pub mod fields {
    /// The names of all of them begin so.
    pub const PREFIX: &str = "$perk";
    /// A `long` of `java/lang/Thread`.
    pub const THREAD_STACK: &str = "$perkStack";
    /// A `long` of `java/lang/Thread`.
    pub const THREAD_TREE: &str = "$perkTree";
    /// A `long` of `java/lang/Class`, which is written once: what is known of the class's objects.
    pub const CLASS_RECORDS: &str = "$perkRecords";
    /// An `int` of most classes right below `java/lang/Object`, and so of those below them, if
    /// [`Probes::object_record`](super::Probes) says so.
    pub const OBJECT_RECORD: &str = "$perkRecord";
}

/// Which probes are placed besides those at entries, exits and the calls of leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    /// A handler of all exceptions in every method, also in those that catch none themselves. It
    /// matters where code without probes catches exceptions: where some classes are not selected.
    pub unwinding: bool,
    /// Those that report the current line.
    pub lines: bool,
    /// Those that report each object and array made.
    pub heap: bool,
    /// Whether objects get a field for their record.
    pub object_record: bool,
    /// The names of what is added.
    pub names: Names,
}

/// A method by its names, in modified UTF-8 as class files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodName<'a> {
    /// The class's internal name, as `java/lang/Object`.
    pub class: &'a [u8],
    /// The method's name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// The file its class was compiled from. Not known of a leaf.
    pub source: Option<&'a [u8]>,
    /// Whether it is known to be native. That of a leaf is in [`leaves`] of its class.
    pub is_native: bool,
}

/// What is to be known of methods to instrument a class.
pub trait Methods {
    /// A number for a method, which its probes push as an `int`. Called once for each method
    /// instrumented, and once in each class and way of calling for each leaf called.
    fn number(&mut self, method: &MethodName<'_>) -> u32;

    /// Whether calls of exactly this target are counted at the call, because nothing can be counted
    /// inside: it is native, the JIT replaces its code, or it is not selected. `owner` is
    /// the class that the call names (`java/lang/Object` for arrays); the target may be inherited.
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

/// What became of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrumented {
    /// The class file; none if there is nothing to change.
    pub bytes: Option<Vec<u8>>,
    /// How many methods have probes.
    pub method_count: usize,
    /// The methods without the probes that they should have, as name and descriptor, and why.
    pub skipped: Vec<(Vec<u8>, String)>,
}
