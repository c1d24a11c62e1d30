//! The methods with counters, and what exceptions do to the flow through them.

use std::collections::BTreeMap;

use perk_instrument::{COUNTS_HELPER, CountedCode, Flow, HELPER, MethodName};
use perk_jvm::MethodRef;
use perk_profile::mutf8;
use rustc_hash::FxHashMap;

use super::executed::{LineExecutions, MethodExecutions, SourceMethod};

/// A method with counters.
#[derive(Debug)]
pub(super) struct MethodCounters {
    /// Class with slashes, name and descriptor: `java/lang/String.length()I`.
    name: String,
    /// The file that it was compiled from.
    source: Option<String>,
    /// The number of its first counter.
    first: u32,
    flow: Flow,
    /// The pc of each instruction in the original code and in the new one.
    pcs: Vec<[u16; 2]>,
    /// The end of its own code in the new one.
    end: u16,
    /// The pcs at which source lines begin, and their numbers.
    lines: Vec<(u16, u16)>,
    /// The pcs of the instructions that make arrays.
    arrays: Vec<u16>,
    /// The pc in the original code of each call, and the number of the name that it has; 0 if it does
    /// not name the method that runs.
    calls: Vec<(u16, u32)>,
    exceptions: Exceptions,
}

/// What exceptions have done to the flow through a method.
#[derive(Clone, Debug, Default)]
pub(super) struct Exceptions {
    /// The executions of blocks that an exception has ended, by the place of the last instruction.
    left: FxHashMap<u16, u64>,
    /// The executions that began by an exception, by block.
    entered: FxHashMap<u16, u64>,
}

/// A method that an exception has met on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExceptionFrame {
    /// Its index, if it has counters.
    index: Option<usize>,
    /// The number of its name; 0 if no method with counters calls one of that name.
    called: u32,
    /// Whether the JVM calls it for another one: see [`IS_OF_JVM`].
    is_of_jvm: bool,
    /// Whether it is perk's own: one that a probe calls, where the stack may overflow.
    pub(super) is_helper: bool,
    /// Whether it is native and wraps the exceptions of what it calls.
    pub(super) is_wrapping: bool,
}

/// The methods; see the module.
#[derive(Debug, Default)]
pub(super) struct CountedMethods {
    all: Vec<MethodCounters>,
    by_name: FxHashMap<String, usize>,
    /// The numbers of the names of called methods, from 1 on.
    called: FxHashMap<String, u32>,
    /// The methods that exceptions have met.
    met: FxHashMap<MethodRef, ExceptionFrame>,
    /// The number of counters.
    counter_count: u32,
}

/// The classes whose methods the JVM calls for a call by a method handle, before it.
const IS_OF_JVM: [&str; 3] =
    ["java/lang/invoke/MethodHandleNatives", "java/lang/ClassLoader", "java/lang/Class"];

/// Returns the class and the name of a method.
fn class_and_name(method: &str) -> (&str, &str) {
    let (name, _) = method.split_once('(').unwrap_or((method, ""));
    name.rsplit_once('.').unwrap_or(("", name))
}

impl CountedMethods {
    /// Returns the first of a number of new counters; `None` if there are not enough.
    pub(super) fn counters(&mut self, count: usize, limit: usize) -> Option<u32> {
        let first = self.counter_count;
        let next = first.checked_add(u32::try_from(count).ok()?)?;
        (next as usize <= limit).then(|| self.counter_count = next)?;
        Some(first)
    }

    /// Adds a method. A name means the method that was added last: a class may be redefined.
    pub(super) fn add(&mut self, method: &MethodName<'_>, code: CountedCode<'_>) {
        let called = &mut self.called;
        let mut number = |name: &[u8]| {
            let next = called.len() as u32 + 1;
            *called.entry(mutf8::decode(name).into_owned()).or_insert(next)
        };
        let calls = code.calls.iter().map(|it| (it.pc, it.name.map_or(0, &mut number))).collect();
        let [class, name, descriptor] =
            [method.class, method.name, method.descriptor].map(mutf8::decode);
        let name = format!("{class}.{name}{descriptor}");
        let source = method.source.map(|source| mutf8::decode(source).into_owned());
        if self.by_name.insert(name.clone(), self.all.len()).is_some() {
            self.met.clear();
        }
        let CountedCode { first, flow, pcs, end, lines, arrays, .. } = code;
        let exceptions = Exceptions::default();
        self.all.push(MethodCounters {
            name,
            source,
            first,
            flow,
            pcs,
            end,
            lines,
            arrays,
            calls,
            exceptions,
        });
    }

    /// Returns a method that an exception has met before.
    pub(super) fn met(&self, method: MethodRef) -> Option<ExceptionFrame> {
        // Others may get counters, or be called, later.
        self.met.get(&method).copied().filter(|met| met.index.is_some() && met.called != 0)
    }

    /// Returns a method that an exception meets, by its name.
    pub(super) fn meet(&mut self, method: MethodRef, full_name: &str) -> ExceptionFrame {
        let (class, name) = class_and_name(full_name);
        let met = ExceptionFrame {
            index: self.by_name.get(full_name).copied(),
            called: self.called.get(name).copied().unwrap_or(0),
            is_of_jvm: IS_OF_JVM.contains(&class) || name == "<clinit>",
            is_helper: class.starts_with(HELPER) || class.starts_with(COUNTS_HELPER),
            is_wrapping: matches!(name, "invoke0" | "newInstance0"),
        };
        self.met.insert(method, met);
        met
    }

    /// Returns a method with counters.
    pub(super) fn counted(&mut self, met: ExceptionFrame) -> Option<&mut MethodCounters> {
        met.index.map(|index| &mut self.all[index])
    }

    /// Whether the instruction at a pc of a method's new code calls another method. If not, the JVM has
    /// called that method: to load or initialise a class, for example. It is so if the first one is
    /// not known.
    pub(super) fn calls(
        &self,
        caller: ExceptionFrame,
        new_pc: u16,
        callee: ExceptionFrame,
    ) -> bool {
        let Some(index) = caller.index else { return true };
        let caller = &self.all[index];
        let pc = caller.pc(caller.place(new_pc));
        let Ok(call) = caller.calls.binary_search_by_key(&pc, |call| call.0) else { return false };
        match caller.calls[call].1 {
            0 => !callee.is_of_jvm,
            number => callee.called == number,
        }
    }

    /// Returns the number of counters of all methods.
    pub(super) fn counter_count(&self) -> usize {
        self.counter_count as usize
    }

    /// Returns all methods, each with whether its name means it.
    pub(super) fn all(&self) -> impl Iterator<Item = (&MethodCounters, bool)> {
        let is_last = |index, it: &MethodCounters| self.by_name.get(&it.name) == Some(&index);
        self.all.iter().enumerate().map(move |(index, it)| (it, is_last(index, it)))
    }
}

impl MethodCounters {
    /// Returns the place of the instruction at a pc of the new code, in the order of instructions. Code
    /// of perk's belongs to the instruction before it.
    fn place(&self, new_pc: u16) -> usize {
        self.pcs.partition_point(|pcs| pcs[1] <= new_pc).saturating_sub(1)
    }

    /// Returns the pc in the original code of the instruction at a place.
    fn pc(&self, place: usize) -> u16 {
        self.pcs.get(place).map_or(0, |pcs| pcs[0])
    }

    /// Whether a pc of the new code is in a handler of perk's, after the method's own code.
    pub(super) fn is_added(&self, new_pc: u16) -> bool {
        new_pc >= self.end
    }

    /// Whether an exception at a pc of the new code is handled at another one.
    pub(super) fn handles(&self, new_pc: u16, handler_pc: u16) -> bool {
        if self.is_added(handler_pc) {
            return !self.is_added(new_pc);
        }
        let (pc, block) = (self.pc(self.place(new_pc)), self.handler(handler_pc));
        let mut handlers = self.flow.handlers().iter();
        handlers.any(|it| Some(it.block) == block && (it.start_pc..it.end_pc).contains(&pc))
    }

    /// Notes that the instruction at a pc of the new code was the last one in its block.
    pub(super) fn leave(&mut self, new_pc: u16) {
        if !self.is_added(new_pc) {
            *self.exceptions.left.entry(self.place(new_pc) as u16).or_default() += 1;
        }
    }

    /// Notes that a handler at a pc of the new code has caught an exception.
    pub(super) fn enter(&mut self, handler_pc: u16) {
        if let Some(block) = self.handler(handler_pc) {
            *self.exceptions.entered.entry(block as u16).or_default() += 1;
        }
    }

    /// Returns the block of a handler at a pc of the new code, where code of perk's may come before
    /// its first instruction.
    fn handler(&self, handler_pc: u16) -> Option<usize> {
        let next = self.pcs.partition_point(|pcs| pcs[1] < handler_pc);
        let [pc, _] = self.pcs.get(next)?;
        self.flow.blocks().binary_search_by_key(pc, |block| block.pc).ok()
    }

    /// Returns the name: see the field.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the class, with slashes.
    pub(super) fn class(&self) -> &str {
        class_and_name(&self.name).0
    }

    /// Returns the method as the recorder takes it.
    pub(super) fn text(&self) -> SourceMethod<'_> {
        let (class, name) = class_and_name(&self.name);
        let descriptor = &self.name[class.len() + 1 + name.len()..];
        SourceMethod { class, name, descriptor, source: self.source.as_deref() }
    }

    /// Returns what exceptions have done so far.
    pub(super) fn exceptions(&self) -> &Exceptions {
        &self.exceptions
    }

    /// Returns what the method has executed, by the sums of all counters. `running` has the places of
    /// the new code at which threads are in the method.
    pub(super) fn executed(
        &self,
        counters: &[u64],
        exceptions: &Exceptions,
        running: &[u16],
    ) -> MethodExecutions {
        let first = self.first as usize;
        let counts = counters.get(first..first + self.flow.counters().len()).unwrap_or_default();
        let blocks = self.flow.blocks();
        let mut left_at = vec![0; self.pcs.len()];
        let places = exceptions.left.iter().map(|(place, count)| (usize::from(*place), *count));
        let running = running.iter().filter(|pc| !self.is_added(**pc));
        for (place, count) in places.chain(running.map(|pc| (self.place(*pc), 1))) {
            if let Some(left) = left_at.get_mut(place) {
                *left += count;
            }
        }
        let mut left = vec![0; blocks.len()];
        let mut first = 0;
        for (block, left) in blocks.iter().zip(&mut left) {
            let next = first + usize::from(block.instruction_count);
            *left = left_at.get(first..next).unwrap_or_default().iter().sum();
            first = next;
        }
        let mut entered = vec![0; blocks.len()];
        for (block, count) in &exceptions.entered {
            entered[usize::from(*block)] = *count;
        }
        let of_blocks = self.flow.executions(counts, &left, &entered);
        let mut executed = MethodExecutions::default();
        let mut lines: BTreeMap<u16, LineExecutions> = BTreeMap::new();
        let mut arrays = self.arrays.iter().copied().peekable();
        let mut place = 0;
        for (block, executions) in blocks.iter().zip(of_blocks) {
            let mut executions = executions;
            for _ in 0..block.instruction_count {
                let Some(&[pc, _]) = self.pcs.get(place) else { break };
                executed.bytecodes += executions;
                if let Some(pc) = arrays.next_if_eq(&pc) {
                    executed.arrays.push((pc, executions));
                }
                if let Some(number) = self.line(pc) {
                    let line = lines.entry(number).or_default();
                    line.bytecodes += executions;
                    line.executions = line.executions.max(executions);
                    line.instruction_count += 1;
                    line.run_count += u64::from(executions > 0);
                }
                executions = executions.saturating_sub(left_at[place]);
                place += 1;
            }
        }
        let with_number = |(line, executed)| LineExecutions { line, ..executed };
        executed.lines = lines.into_iter().map(with_number).collect();
        executed
    }

    /// Returns the source line of the instruction at a pc.
    fn line(&self, pc: u16) -> Option<u16> {
        let next = self.lines.partition_point(|(start_pc, _)| *start_pc <= pc);
        Some(self.lines[next.checked_sub(1)?].1)
    }
}
