//! The methods with counters, and what exceptions do to the flow through them.

use perk_instrument::{Call, Flow, MethodName};
use perk_profile::mutf8;
use rustc_hash::FxHashMap;

/// A method with counters.
#[derive(Debug)]
pub(super) struct Counted {
    /// Class with slashes, name and descriptor: `java/lang/String.length()I`.
    pub(super) name: String,
    /// The number of its first counter.
    first: u32,
    flow: Flow,
    /// The pc of each instruction in the original code and in the new one.
    pcs: Vec<[u16; 2]>,
    /// The pc in the original code of each call, and the number of the name that it has; 0 if it does
    /// not name the method that runs.
    calls: Vec<(u16, u32)>,
    /// By block: the executions that an exception has ended, those that began by one, and the
    /// instructions that were not executed.
    left: Vec<u64>,
    entered: Vec<u64>,
    unexecuted_count: u64,
}

/// The methods; see the module.
#[derive(Debug, Default)]
pub(super) struct CountedMethods {
    all: Vec<Counted>,
    by_name: FxHashMap<String, usize>,
    /// The numbers of the names of called methods, from 1 on.
    called: FxHashMap<String, u32>,
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
    /// Returns the first of so many new counters; `None` if there are not that many.
    pub(super) fn counters(&mut self, count: usize, limit: usize) -> Option<u32> {
        let first = self.counter_count;
        let next = first.checked_add(u32::try_from(count).ok()?)?;
        (next as usize <= limit).then(|| self.counter_count = next)?;
        Some(first)
    }

    /// Adds a method. A name stands for the method that was added last: a class may be redefined.
    pub(super) fn add(
        &mut self,
        method: &MethodName<'_>,
        first: u32,
        flow: Flow,
        pcs: Vec<[u16; 2]>,
        calls: &[Call<'_>],
    ) {
        let called = &mut self.called;
        let mut number = |name: &[u8]| {
            let next = called.len() as u32 + 1;
            *called.entry(mutf8::decode(name).into_owned()).or_insert(next)
        };
        let calls = calls.iter().map(|it| (it.pc, it.name.map_or(0, &mut number))).collect();
        let [class, name, descriptor] =
            [method.class, method.name, method.descriptor].map(mutf8::decode);
        let name = format!("{class}.{name}{descriptor}");
        self.by_name.insert(name.clone(), self.all.len());
        let none = vec![0; flow.blocks().len()];
        let (left, entered) = (none.clone(), none);
        let unexecuted_count = 0;
        self.all.push(Counted { name, first, flow, pcs, calls, left, entered, unexecuted_count });
    }

    pub(super) fn named(&mut self, name: &str) -> Option<&mut Counted> {
        self.by_name.get(name).map(|&index| &mut self.all[index])
    }

    /// Whether the instruction at a pc of a method's new code calls another method. If not, the JVM has
    /// called that method: to load or initialise a class, for example. It is so if the first one is
    /// not known.
    pub(super) fn calls(&self, caller: &str, new_pc: u16, callee: &str) -> bool {
        let Some(&index) = self.by_name.get(caller) else { return true };
        let caller = &self.all[index];
        let pc = caller.pc(caller.place(new_pc));
        let Ok(call) = caller.calls.binary_search_by_key(&pc, |call| call.0) else { return false };
        let (class, name) = class_and_name(callee);
        match caller.calls[call].1 {
            0 => !IS_OF_JVM.contains(&class) && name != "<clinit>",
            number => self.called.get(name) == Some(&number),
        }
    }

    /// Returns the number of bytecodes that each method has executed, by the sums of the counters.
    pub(super) fn bytecodes(&self, counters: impl Fn(u32) -> u64) -> Vec<(&str, u64)> {
        self.all.iter().map(|it| (&*it.name, it.bytecodes(&counters))).collect()
    }
}

impl Counted {
    /// Returns the place of the instruction at a pc of the new code, in the order of instructions. Code
    /// of perk's belongs to the instruction before it.
    fn place(&self, new_pc: u16) -> usize {
        self.pcs.partition_point(|pcs| pcs[1] <= new_pc).saturating_sub(1)
    }

    /// Returns the pc in the original code of the instruction at a place.
    fn pc(&self, place: usize) -> u16 {
        self.pcs.get(place).map_or(0, |pcs| pcs[0])
    }

    /// Whether an exception at a pc of the new code is handled at another one.
    pub(super) fn handles(&self, new_pc: u16, handler_pc: u16) -> bool {
        let (pc, block) = (self.pc(self.place(new_pc)), self.handler(handler_pc));
        let mut handlers = self.flow.handlers().iter();
        handlers.any(|it| Some(it.block) == block && (it.start_pc..it.end_pc).contains(&pc))
    }

    /// Notes that the instruction at a pc of the new code was the last one in its block.
    pub(super) fn leave(&mut self, new_pc: u16) {
        let place = self.place(new_pc);
        let (pc, blocks) = (self.pc(place), self.flow.blocks());
        let block = blocks.partition_point(|block| block.pc <= pc).saturating_sub(1);
        let Some(left) = self.left.get_mut(block) else { return };
        *left += 1;
        let next_block = blocks.get(block + 1).map_or(u16::MAX, |next| next.pc);
        let rest = self.pcs[place..].iter().skip(1).take_while(|pcs| pcs[0] < next_block);
        self.unexecuted_count += rest.count() as u64;
    }

    /// Notes that a handler at a pc of the new code has caught an exception.
    pub(super) fn enter(&mut self, handler_pc: u16) {
        if let Some(block) = self.handler(handler_pc) {
            self.entered[block] += 1;
        }
    }

    /// Returns the block of a handler at a pc of the new code, where code of perk's may come before
    /// its first instruction.
    fn handler(&self, handler_pc: u16) -> Option<usize> {
        let next = self.pcs.partition_point(|pcs| pcs[1] < handler_pc);
        let [pc, _] = self.pcs.get(next)?;
        self.flow.blocks().binary_search_by_key(pc, |block| block.pc).ok()
    }

    fn bytecodes(&self, counters: impl Fn(u32) -> u64) -> u64 {
        let numbers = self.first..self.first + self.flow.counters().len() as u32;
        let counts: Vec<u64> = numbers.map(counters).collect();
        let executions = self.flow.executions(&counts, &self.left, &self.entered);
        let blocks = executions.iter().zip(self.flow.blocks());
        let all: u64 =
            blocks.map(|(count, block)| count * u64::from(block.instruction_count)).sum();
        all.saturating_sub(self.unexecuted_count)
    }
}
