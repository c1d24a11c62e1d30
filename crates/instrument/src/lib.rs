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
//! | `enter(I)` | at the beginning of a method's code; returns the thread's state |
//! | `touch(I)` | at the beginning of a trivial method, or of one without room for more, instead of all other probes for calls |
//! | a store of the caller's position | before each return; and in a handler of all exceptions, which rethrows, if [`Probes::unwinding`] is set |
//! | a store of the method's own position | at the exception handlers of code that calls, and after a leaf's call |
//! | a store of the own position with a line | before instructions that call, allocate or initialise a class, if the line may have changed |
//! | a read of the state's `fence` | after the first two stores if [`Probes::timed`] is set |
//! | `leave(state, J)` | instead of the first two stores if [`Probes::leaving`] is set |
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
//! If [`Probes::sites`] is set, the probes from `array` to `traced` also take the number of the site, and there are these in
//! place of `allocated`:
//!
//! | probe | where |
//! |---|---|
//! | `created(Object, I)` | after the constructor's call for a `new` |
//! | `captured(Object, I)` | after an `invokedynamic` that passes values and returns an object, which may be a new lambda |
//! | `constructed(Object, I)` | after the calls by which reflection and method handles make an object |
//!
//! A method with `enter` keeps in local variables of its own: the thread's state, the position of
//! its caller, and, if it needs it, its own. The stores do not call anything: they cannot throw, and
//! cost little in code that is interpreted. A position is the address of a context in native memory;
//! its bits from [`LINE_SHIFT`] on are the line.
//!
//! A method that an exception unwinds does not report this. The method that catches the exception
//! stores its own position.
//!
//! Exceptions of `leave` and `mounted` are dropped, because the method itself throws nothing there:
//! the JVM's stack may be full.
//!
//! If [`Probes::accesses`] is set, there are other probes, which call [`FIELDS_HELPER`]. A field is
//! passed by the number of its reference, a place of allocation by the number of its site. Accesses
//! are counted before the instruction, so also if it throws; the object may be null.
//!
//! | probe | where |
//! |---|---|
//! | `read(Object, I)`, `write(Object, I)` | before `getfield` and `putfield` |
//! | `readComponent(Object)`, `writeComponent(Object)`, `readLength(Object)` | before loads from arrays, stores to arrays, and `arraylength` |
//! | `allocated(Object)` | in `Object.<init>` |
//! | `created(Object, I)` | after the constructor's call for a `new` |
//! | `array(Object, I)`, `arrays(Object, I)` | after the instructions that make one array, or arrays in an array |
//! | `cloned(Object, Object)` | after calls of `clone`, with the object and the result |
//! | `cloning(Object)` | before calls of `clone` on objects that are not arrays |
//! | `accessedAt(Object, J, I)` | before calls of the methods of `jdk.internal.misc.Unsafe` that access an object at an offset, with the kind of access |
//! | `copiedMemory(...)`, `filledMemory(...)` | before calls of its `copyMemory` and `setMemory` |
//! | `accessedArray(Object, I)` | before calls of the methods of `java.lang.reflect.Array` that access a component or the length |
//! | `copiedArray(Object, Object, I)` | after calls of `System.arraycopy` |
//! | `reflected(Object, I)`, `reflectedArrays(Object, I)` | before the returns of `Constructor.newInstance`, and of both `Array.newInstance` |
//!
//! Those from `cloning` to `copiedArray` are only there if [`Probes::extended`] is set. The kind of an
//! access is 1 for a read, 2 for a write, 3 for both, plus 4 for the length of an array; its bits
//! from the fourth on are the logarithm of the number of bytes.
//!
//! If [`Probes::blocks`] asks for it, there are more probes, which call [`COUNTS_HELPER`]: `count(I)` counts an
//! execution at each place of a [`Flow`], `countMoving(I)` in the classes of virtual threads;
//! `mounting(Thread)` is at the entry of `VirtualThread.mount`.
//!
//! `count(I)` and `countMoving(I)` are also those of a method that has given up its position ([`Probes::path_budget`]): at
//! its entry, and before its calls of leaves. It has no other probes.
//!
//! If [`Probes::entries`] asks for it, `count(I)` or `countMoving(I)` counts an entry of the method, and the calls that
//! it makes ([`MethodCalls`]); `countShared(I)` does in a JVM that runs already. The only other probes then are those of
//! [`Probes::sites`].
//!
//! If [`Probes::events`] has any, there are other probes, which call [`EVENTS_HELPER`]:
//!
//! | probe | where |
//! |---|---|
//! | `enter(I)`, `enter(I, Object)` | at the beginning of a method's code; returns a number, which a local variable keeps |
//! | `leave(J)` | before each return with that number; and in a handler of all exceptions, which rethrows |
//! | `caught(J)` | at the exception handlers of code that calls |
//! | `step(...)`, `branch(...)`, `choose(...)` | before each instruction, with the method's number and the pc, and with copies of the operands that decide where it goes |
//! | `releasing(Object)` | before `monitorexit`, and at the exits of methods that are `synchronized` |
//!
//! The handler of all exceptions cannot cover the call of `super(...)`: a constructor that is ended
//! there does not report it, and the method that catches the exception does.
//!
//! Before `super(...)` has returned, `this` cannot be passed. Writes of its fields there are counted
//! after the call. Methods that switch the current thread (of `VirtualThread`) do not have these
//! probes. A probe is a call, so the stack of a program that is about to overflow may do so at an
//! access.
#![forbid(unsafe_code)]

mod accesses;
mod class;
mod counts;
mod entries;
mod events;
mod extended;
mod flow;
mod fresh;
mod helper;
mod leaves;
mod names;
mod probe;
mod record;
mod scan;
mod site;
mod sites;

pub use class::{VIRTUAL_THREAD, instrument};
pub use entries::{CountedCall, MethodCalls};
pub use flow::{Block, Counter, Flow, Handler};
pub use helper::{
    COUNTS_HELPER, COUNTS_METHODS as COUNTS_HELPER_METHODS, EVENTS_HELPER,
    EVENTS_METHODS as EVENTS_HELPER_METHODS, FIELDS_HELPER,
    FIELDS_METHODS as FIELDS_HELPER_METHODS, HELPER, HELPER_BASE, METHODS as HELPER_METHODS,
    STATE_FIELDS,
};
pub use leaves::{Leaf, Leaves, leaves};
pub use names::Names;
pub use perk_classfile::{ClassFile, Error, access};
pub use record::with_record;
pub use site::SitePlace;

/// The first bit of the place in a position: a line, or a pc plus 1. The bits below are an address of
/// user space.
pub const PLACE_SHIFT: u32 = 48;

/// The plain names of the fields that classes get before their own. All these fields are private,
/// transient and synthetic.
pub mod fields {
    /// The beginning of all their names.
    pub const PREFIX: &str = "$perk";
    /// A reference of `java/lang/Thread` to the thread's state, an object of the helper class.
    pub const THREAD_STATE: &str = "$perkState";
    /// A `long` of `java/lang/Thread`, for [`COUNTS_HELPER`](super::COUNTS_HELPER): the offset of the thread's
    /// counters from those that are not read.
    pub const THREAD_COUNTERS: &str = "$perkCounters";
    /// A `long` of `java/lang/Class`, which is written once: the data about the class's objects.
    pub const CLASS_RECORDS: &str = "$perkRecords";
    /// An `int` of most classes directly below `java/lang/Object`, and thus of their subclasses, if
    /// [`Probes::object_record`](super::Probes) is set.
    pub const OBJECT_RECORD: &str = "$perkRecord";
}

/// The places that probes report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Places {
    /// None.
    #[default]
    None,
    /// Source lines.
    Lines,
    /// The pc of the instruction, plus 1.
    Positions,
}

/// The probes that are placed besides those at entries, exits and the calls of leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    /// Add a handler of all exceptions to every method. It matters if code without probes catches
    /// exceptions, that is, if some classes are not selected.
    pub unwinding: bool,
    /// Whether calls are timed. If not, all methods that do not call anything are trivial.
    pub timed: bool,
    /// Report exits to the helper: its clock must be read there.
    pub leaving: bool,
    /// Report the current place in the method.
    pub places: Places,
    /// Add the probes that report each new object and array.
    pub heap: bool,
    /// With [`heap`](Self::heap): pass the number of the site to each of these probes. Objects are reported after the
    /// calls of their constructors, and not in `Object.<init>`, which does not know the site.
    pub sites: bool,
    /// Add a field to objects for their record.
    pub object_record: bool,
    /// Report accesses of fields and components of arrays, and the sites of allocations, to
    /// [`FIELDS_HELPER`]. There are no other probes then.
    pub accesses: bool,
    /// Also report the accesses of the methods that make them without an instruction. It needs
    /// [`accesses`](Self::accesses).
    pub extended: bool,
    /// Count calls: the probes at entries, exits and the calls of leaves.
    pub calls: bool,
    /// Count the executions of basic blocks, from which those of bytecodes follow, by
    /// [`COUNTS_HELPER`].
    pub blocks: bool,
    /// Count the entries of methods and the calls that they make, by [`COUNTS_HELPER`]. It takes neither
    /// [`blocks`](Self::blocks), nor [`calls`](Self::calls) without [`sites`](Self::sites).
    pub entries: bool,
    /// With [`calls`](Self::calls): some methods give up their positions while the program runs, and have counters of
    /// [`COUNTS_HELPER`] from then on ([`Methods::is_over_budget`]).
    pub path_budget: bool,
    /// What is reported to [`EVENTS_HELPER`]. There are no other probes then.
    pub events: Events,
    /// The JVM runs already: its own classes do not get fields.
    pub late: bool,
    /// The names of the added class and fields.
    pub names: Names,
}

impl Probes {
    /// Returns no probes but those at entries, exits and the calls of leaves.
    pub const fn least(names: Names) -> Self {
        Self {
            unwinding: false,
            timed: false,
            leaving: false,
            places: Places::None,
            heap: false,
            sites: false,
            object_record: false,
            accesses: false,
            extended: false,
            calls: true,
            blocks: false,
            entries: false,
            path_budget: false,
            events: Events::NONE,
            late: false,
            names,
        }
    }

    /// Whether any of them may count in the counters of threads.
    const fn have_counters(self) -> bool {
        self.blocks || self.entries || self.path_budget
    }
}

/// The events for which [`EVENTS_HELPER`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events {
    /// Entries and exits of methods.
    pub brackets: bool,
    /// Each instruction.
    pub steps: bool,
    /// Releases of monitors.
    pub monitors: bool,
}

impl Events {
    /// None.
    pub const NONE: Self = Self { brackets: false, steps: false, monitors: false };
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

/// A call in a method that has counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The pc in the original code.
    pub pc: u16,
    /// The name of the method; `None` if the call names another one than it runs, as those of method
    /// handles.
    pub name: Option<&'a [u8]>,
}

/// The code of a method that has counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedCode<'a> {
    /// The number of the first counter.
    pub first: u32,
    /// The flow through the code, which has the other counters.
    pub flow: Flow,
    /// The pc of each instruction in the original code and in the new one.
    pub pcs: Vec<[u16; 2]>,
    /// The end of the method's own code in the new one, before the handlers that were added.
    pub end: u16,
    /// The pcs at which source lines begin, sorted, and their numbers.
    pub lines: Vec<(u16, u16)>,
    /// The calls, in the order of their pcs.
    pub calls: Vec<Call<'a>>,
    /// The pcs of the instructions that make arrays.
    pub arrays: Vec<u16>,
}

/// The facts about methods that the instrumentation of a class needs.
pub trait Methods {
    /// Notes the class, before its methods.
    ///
    /// # Errors
    /// What is wrong with it: it gets no probes.
    fn class(&mut self, _class: &ClassFile<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Returns a number for a method, which its probes push as an `int`. This is called once per
    /// instrumented method, and for each called leaf once per class and way of calling.
    fn number(&mut self, _method: &MethodName<'_>) -> u32 {
        0
    }

    /// Whether the method with a number is to give up its position, as its calls have taken too much: it has a
    /// [`counter`](Self::counter) then, and what it calls is attributed to its caller. A method that catches exceptions
    /// keeps its position.
    fn is_over_budget(&mut self, _number: u32) -> bool {
        false
    }

    /// Notes that a method has given up its position.
    fn gave_up_position(&mut self, _number: u32) {}

    /// Returns the counter of a method that has no position, or of a leaf that one calls, by its number; `None` if there
    /// are no more.
    fn counter(&mut self, _number: u32) -> Option<u32> {
        None
    }

    /// Whether calls of exactly this target are counted at the call, because nothing can be counted
    /// inside: it is native, the JIT replaces its code, or it is not selected. `owner` is the class
    /// that the call names (`java/lang/Object` for arrays); the target may be inherited.
    fn leaf(
        &mut self,
        _owner: &[u8],
        _name: &[u8],
        _descriptor: &[u8],
        _is_virtual_dispatch: bool,
    ) -> bool {
        false
    }

    /// Whether a method is to be counted. For [`Probes::heap`], allocations are counted in every
    /// method.
    fn selected(&mut self, class: &[u8], method: &[u8]) -> bool;

    /// Returns a number for a field, given as instructions name it: `owner` is the class in which
    /// the search for the field begins. This is called once per field and class that accesses it.
    fn field(&mut self, _owner: &[u8], _name: &[u8], _descriptor: &[u8]) -> u32 {
        0
    }

    /// Notes that an instruction writes a field, and not in a constructor of the class that it
    /// names: such a field cannot be `final`.
    fn assigned(&mut self, _owner: &[u8], _name: &[u8], _descriptor: &[u8]) {}

    /// Returns the number of the first of these counters of a method; `None` if there are no more. The
    /// others follow it.
    fn counters(&mut self, _method: &MethodName<'_>, _count: usize) -> Option<u32> {
        None
    }

    /// Notes that a method has got its counters.
    fn counted(&mut self, _method: &MethodName<'_>, _code: CountedCode<'_>) {}

    /// Returns a number for an instruction that makes objects or arrays, in a line of a method; 0 for an unknown line.
    fn allocation(&mut self, _method: &MethodName<'_>, _line: u16) -> u32 {
        0
    }

    /// Notes the counters of a method's entries and calls.
    fn entered(&mut self, _method: &MethodName<'_>, _calls: MethodCalls<'_>) {}

    /// Returns a number for the keys of a `lookupswitch`.
    fn keys(&mut self, _keys: Vec<i32>) -> u32 {
        0
    }

    /// Returns a number for a site of allocation in a method; `None` for objects that the method
    /// makes by reflection. This is called once per site, and in `Array.newInstance` once per
    /// return.
    fn site(&mut self, _method: &MethodName<'_>, _place: Option<SitePlace>) -> u32 {
        0
    }
}

/// The result of instrumenting a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassProbes {
    /// The new class file; `None` if nothing changes.
    pub bytes: Option<Vec<u8>>,
    /// The number of methods with probes.
    pub method_count: usize,
    /// The number of native methods, if there are probes for events.
    pub native_count: usize,
    /// The methods that lack the probes they should have, as name and descriptor, each with the
    /// reason.
    pub skipped: Vec<(Vec<u8>, String)>,
    /// The methods that are to have no probes for events, each with the reason: `*` for all.
    pub exempt: Vec<(Vec<u8>, &'static str)>,
}
