//! What is taken out of the ring: the records, and what their methods are called.
//!
//! A class that is unloaded takes its methods with it, and others get their addresses. The JVM unloads
//! after a pause for garbage collection that begins later than the sample, so the records are taken at
//! the beginning of each pause as well. Nothing here asks the JVM or takes a lock that is held while
//! the JVM is asked: it stands still then.

use perk_hotspot::vm::{LineEntry, MethodNames, Vm};
use perk_jvm::ProcessMemory;
use rustc_hash::FxHashMap;

use super::handler::HandlerState;
use super::record;

/// What is read of a method.
#[derive(Debug)]
pub(super) struct MethodText {
    pub(super) names: MethodNames,
    pub(super) lines: Vec<LineEntry>,
}

/// The words of records whose memory is kept for the next ones.
const KEPT_WORDS: usize = 1 << 16;

/// Records, one after the other.
#[derive(Debug, Default)]
pub(super) struct Records {
    words: Vec<u64>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Records {
    /// Adds a record. Returns its words.
    fn add(&mut self, words: &[u64]) -> &mut [u64] {
        let begin = self.words.len();
        self.words.extend_from_slice(words);
        self.ends.push(self.words.len());
        &mut self.words[begin..]
    }

    fn clear(&mut self) {
        self.words.clear();
        self.words.shrink_to(KEPT_WORDS);
        self.ends.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the words of each record, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u64]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.words[begin..end])
    }
}

/// The records that wait to be booked; see the module.
#[derive(Debug)]
pub(super) struct Intake {
    has_lines: bool,
    /// The methods that were met, by address: what differs once another has it, and the number.
    methods: FxHashMap<usize, ([usize; 4], u64)>,
    method_count: u64,
    /// The numbers of the methods that were met since the records were begun to be taken: the memory of
    /// each is read once for many records.
    current: FxHashMap<usize, u64>,
    texts: Vec<MethodText>,
    records: Records,
    buffer: Vec<u64>,
}

impl Intake {
    /// Makes one that reads the lines of methods, or not.
    pub(super) fn new(has_lines: bool) -> Self {
        Self {
            has_lines,
            methods: FxHashMap::default(),
            method_count: 0,
            current: FxHashMap::default(),
            texts: Vec::new(),
            records: Records::default(),
            buffer: Vec::new(),
        }
    }

    /// Takes the records out of the ring. Their methods become numbers: from 1 on, in the order in
    /// which they are met. Returns whether no record was left, as [`Ring::read`](super::ring::Ring::read).
    pub(super) fn fill(&mut self, shared: &HandlerState) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut records = std::mem::take(&mut self.records);
        self.current.clear();
        let is_empty = shared.ring.read(&mut buffer, |words| {
            let words = records.add(words);
            let mut is_known = true;
            for method in record::methods(words) {
                let number = self.number(&shared.vm, *method as usize);
                is_known &= number.is_some();
                *method = number.unwrap_or(0);
            }
            if !is_known {
                record::set_incomplete(words);
            }
        });
        (self.buffer, self.records) = (buffer, records);
        is_empty
    }

    /// Passes the records so far to `records`, instead of those that are there. Returns the methods that
    /// are new in them, in the order of their numbers.
    pub(super) fn take(&mut self, records: &mut Records) -> Vec<MethodText> {
        records.clear();
        std::mem::swap(&mut self.records, records);
        std::mem::take(&mut self.texts)
    }

    /// Returns the number of a method; `None` if it is not there any more.
    fn number(&mut self, vm: &Vm, method: usize) -> Option<u64> {
        if let Some(&number) = self.current.get(&method) {
            return Some(number);
        }
        let number = self.read(vm, method)?;
        self.current.insert(method, number);
        Some(number)
    }

    fn read(&mut self, vm: &Vm, method: usize) -> Option<u64> {
        let identity = vm.identity(&ProcessMemory, method)?;
        if let Some((known, number)) = self.methods.get(&method)
            && *known == identity
        {
            return Some(*number);
        }
        let names = vm.names(&ProcessMemory, method)?;
        let lines = if self.has_lines { vm.lines(&ProcessMemory, method) } else { None };
        // Another one may have come meanwhile.
        if vm.identity(&ProcessMemory, method)? != identity {
            return None;
        }
        self.method_count += 1;
        self.texts.push(MethodText { names, lines: lines.unwrap_or_default() });
        self.methods.insert(method, (identity, self.method_count));
        Some(self.method_count)
    }
}
