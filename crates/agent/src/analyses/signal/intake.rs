//! What is taken out of the ring: the records, and what their methods are called.
//!
//! A class that is unloaded takes its methods with it, and others get their addresses. The JVM unloads
//! after a pause for garbage collection that begins later than the sample, so the records are taken at
//! the beginning of each pause as well. Nothing here asks the JVM or takes a lock that is held while
//! the JVM is asked: it stands still then.

use perk_hotspot::vm::{LineEntry, MethodNames, Vm};
use rustc_hash::FxHashMap;

use super::handler::{Own, Shared};
use super::record;

/// What is read of a method.
#[derive(Debug)]
pub(super) struct MethodText {
    pub(super) names: MethodNames,
    pub(super) lines: Vec<LineEntry>,
}

/// The records that wait to be booked; see the module.
#[derive(Debug)]
pub(super) struct Intake {
    has_lines: bool,
    /// The methods that were met, by address: what differs once another has it, and the number.
    methods: FxHashMap<usize, ([usize; 4], u64)>,
    method_count: u64,
    texts: Vec<MethodText>,
    records: Vec<Vec<u64>>,
    buffer: Vec<u64>,
}

impl Intake {
    /// Makes one that reads the lines of methods, or not.
    pub(super) fn new(has_lines: bool) -> Self {
        Self {
            has_lines,
            methods: FxHashMap::default(),
            method_count: 0,
            texts: Vec::new(),
            records: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// Takes the records out of the ring. Their methods become numbers: from 1 on, in the order in
    /// which they are met. Returns whether no record was left, as [`Ring::read`](super::ring::Ring::read).
    pub(super) fn fill(&mut self, shared: &Shared) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let is_empty = shared.ring.read(&mut buffer, |words| {
            let mut words = words.to_vec();
            let mut is_known = true;
            for method in record::methods(&mut words) {
                let number = self.number(&shared.vm, *method as usize);
                is_known &= number.is_some();
                *method = number.unwrap_or(0);
            }
            if !is_known {
                record::set_incomplete(&mut words);
            }
            self.records.push(words);
        });
        self.buffer = buffer;
        is_empty
    }

    /// Returns the records so far, and the methods that are new in them, in the order of their numbers.
    pub(super) fn take(&mut self) -> (Vec<Vec<u64>>, Vec<MethodText>) {
        (std::mem::take(&mut self.records), std::mem::take(&mut self.texts))
    }

    /// Returns the number of a method; `None` if it is not there any more.
    fn number(&mut self, vm: &Vm, method: usize) -> Option<u64> {
        let identity = vm.identity(&Own, method)?;
        if let Some((known, number)) = self.methods.get(&method)
            && *known == identity
        {
            return Some(*number);
        }
        let names = vm.names(&Own, method)?;
        let lines = if self.has_lines { vm.lines(&Own, method) } else { None };
        // Another one may have come meanwhile.
        if vm.identity(&Own, method)? != identity {
            return None;
        }
        self.method_count += 1;
        self.texts.push(MethodText { names, lines: lines.unwrap_or_default() });
        self.methods.insert(method, (identity, self.method_count));
        Some(self.method_count)
    }
}
