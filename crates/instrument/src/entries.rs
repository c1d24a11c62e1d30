//! The probes that count the entries of methods, and the calls that they make.
//!
//! One counter is at a method's entry, and one before each call: no path, no clock, and nothing at an exit.
//! So exceptions, recursion and threads that stop in the middle of a method do not matter. The first
//! call has no counter if it is executed as often as the method is entered: no instruction before it can throw, jump or be
//! jumped to.

use perk_classfile::{
    ClassFile, Code, Error, Instruction, MemberRef, Operands, Reach, opcode, tag,
};

use crate::class::OBJECT;
use crate::counts::PROBE_BYTES;
use crate::flow::leaders;
use crate::probe::HUGE_METHOD_BYTES;
use crate::site::SourceLines;
use crate::{Counter, MethodName, Methods};

/// Methods that are called everywhere, and are compiled to one instruction.
const UNCOUNTED: [(&[u8], &[u8]); 3] =
    [(b"java/lang/Thread", b"currentThread"), (OBJECT, b"getClass"), (OBJECT, b"<init>")];
/// Classes whose methods are compiled to some instructions, or do not name what they call.
const UNCOUNTED_CLASSES: [&[u8]; 3] =
    [b"jdk/internal/misc/Unsafe", b"java/lang/invoke/MethodHandle", b"java/lang/invoke/VarHandle"];

/// The counters of a method; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodCalls<'a> {
    /// The number of the counter of its entries.
    pub entries: u32,
    /// The calls that it makes, in the order of its code.
    pub calls: Vec<CountedCall<'a>>,
}

/// A call that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedCall<'a> {
    /// The number of its counter.
    pub counter: u32,
    /// The source line; 0 if it is not known.
    pub line: u16,
    /// The class that the call names: for methods of arrays `java/lang/Object`.
    pub class: &'a [u8],
    /// The method's name.
    pub name: &'a [u8],
    /// The method's descriptor.
    pub descriptor: &'a [u8],
    /// Whether the method that runs depends on the object: an overriding one runs in its place.
    pub is_virtual: bool,
}

/// The probes of a method.
pub(crate) struct MethodEntries<'c> {
    pub(crate) first: u32,
    /// The places of the counters, the entry's first.
    places: Vec<Counter>,
    calls: Vec<CountedCall<'c>>,
    is_whole: bool,
}

impl<'c> MethodEntries<'c> {
    /// Returns their places.
    pub(crate) fn places(&self) -> &[Counter] {
        &self.places
    }

    /// Whether the calls are counted.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the counters.
    pub(crate) fn into_calls(self) -> MethodCalls<'c> {
        MethodCalls { entries: self.first, calls: self.calls }
    }
}

/// Plans the probes in the methods of a class.
pub(crate) struct Entries<'c> {
    class: &'c ClassFile<'c>,
    name: &'c [u8],
}

impl<'c> Entries<'c> {
    pub(crate) fn new(class: &'c ClassFile<'c>, name: &'c [u8]) -> Self {
        Self { class, name }
    }

    /// Plans the probes of a method, whose code grows by `other_bytes` besides. HotSpot may have no room for the
    /// calls: it does not compile methods above a size. `None` if there are no more counters.
    pub(crate) fn plan(
        &self,
        method: &MethodName<'_>,
        code: &Code<'_>,
        is_static: bool,
        other_bytes: usize,
        methods: &mut dyn Methods,
    ) -> Result<Option<MethodEntries<'c>>, Error> {
        let (mut places, mut calls) = self.scan(code, is_static)?;
        let bytes = code.bytes().len() + other_bytes + places.len() * PROBE_BYTES;
        let is_whole = bytes <= HUGE_METHOD_BYTES || code.bytes().len() > HUGE_METHOD_BYTES;
        if !is_whole {
            places.truncate(1);
            calls.retain(|call| call.counter == 0);
        }
        let first = methods.counters(method, places.len());
        Ok(first.map(|first| {
            calls.iter_mut().for_each(|call| call.counter += first);
            MethodEntries { first, places, calls, is_whole }
        }))
    }

    /// Returns the places of the counters, the entry's first, and the calls, with the indexes of their
    /// counters.
    fn scan(
        &self,
        code: &Code<'_>,
        is_static: bool,
    ) -> Result<(Vec<Counter>, Vec<CountedCall<'c>>), Error> {
        let mut places = vec![Counter { pc: 0, reach: Reach::FallThrough }];
        let mut calls = Vec::new();
        let leaders = leaders(code)?;
        let lines = SourceLines::of(code)?;
        let mut this = This { is_there: !is_static, is_on_top: false };
        let mut jumps_back = false;
        for instruction in code.instructions() {
            let instruction = instruction?;
            jumps_back |= instruction.targets().any(|it| it == 0);
            this.is_there &= !is_store_of_local_0(&instruction);
        }
        let mut is_as_entry = !jumps_back;
        for instruction in code.instructions() {
            let instruction = instruction?;
            let pc = instruction.pc;
            is_as_entry &= pc == 0 || leaders.binary_search(&pc).is_err();
            if let Some(MemberRef { class, name, descriptor, .. }) = self.callee(&instruction)? {
                let counter = if is_as_entry { 0 } else { places.len() as u32 };
                if !is_as_entry {
                    places.push(Counter { pc, reach: Reach::All });
                }
                let line = lines.at(pc);
                // The methods of arrays are those of Object, and nothing overrides them.
                let is_array = class.starts_with(b"[");
                let class = if is_array { OBJECT } else { class };
                let dispatches =
                    matches!(instruction.opcode, opcode::INVOKEVIRTUAL | opcode::INVOKEINTERFACE);
                let is_virtual = dispatches && !is_array;
                calls.push(CountedCall { counter, line, class, name, descriptor, is_virtual });
            }
            is_as_entry &= !self.can_throw_or_jump(&instruction, &this)?;
            this.is_on_top = this.is_there && instruction.opcode == opcode::ALOAD_0;
        }
        Ok((places, calls))
    }

    /// Returns the method that an instruction calls, if its calls are counted.
    fn callee(&self, instruction: &Instruction<'_>) -> Result<Option<MemberRef<'c>>, Error> {
        let (opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE, Operands::Constant(index)) =
            (instruction.opcode, instruction.operands())
        else {
            return Ok(None);
        };
        let callee = self.class.pool().member_ref(index)?;
        let is_counted = !UNCOUNTED.contains(&(callee.class, callee.name))
            && !UNCOUNTED_CLASSES.contains(&callee.class);
        Ok(is_counted.then_some(callee))
    }

    /// Whether the instruction after this one can be executed less often, apart from errors of the JVM
    /// itself, such as a lack of memory for a constant text.
    fn can_throw_or_jump(&self, it: &Instruction<'_>, this: &This) -> Result<bool, Error> {
        Ok(match (it.opcode, it.operands()) {
            (opcode::LDC..=opcode::LDC2_W, Operands::Constant(index)) => !matches!(
                self.class.pool().tag(index),
                Some(tag::INTEGER | tag::FLOAT | tag::LONG | tag::DOUBLE | tag::STRING)
            ),
            (opcode::GETFIELD, _) => !this.is_on_top,
            // Another class may be initialised.
            (opcode::GETSTATIC, Operands::Constant(index)) => {
                self.class.pool().member_ref(index)?.class != self.name
            }
            (opcode, _) => !is_plain(opcode),
        })
    }
}

/// The knowledge about `this`, which is not null.
#[derive(Clone, Copy, Debug)]
struct This {
    /// Whether it is in local variable 0 all the time.
    is_there: bool,
    /// Whether it is on top of the operand stack.
    is_on_top: bool,
}

fn is_store_of_local_0(instruction: &Instruction<'_>) -> bool {
    let is_store = matches!(instruction.opcode, opcode::ISTORE..=opcode::ASTORE_3);
    is_store && instruction.operands() == Operands::Local(0)
}

/// Whether an instruction only moves or computes values: constants, local variables, the operand stack,
/// arithmetic without the division of integers.
fn is_plain(opcode: u8) -> bool {
    matches!(
        opcode,
        0x00..=0x11 | 0x15..=0x2d | 0x36..=0x4e | 0x57..=0x6b | 0x6e..=0x6f | 0x72..=0x98
    )
}
