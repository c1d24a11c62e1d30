//! The edits of a method.

use std::ops::Range;

/// The paths to an instruction that run the code inserted before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only the path from the previous instruction: jumps to the instruction, and handlers that
    /// begin there, skip the inserted code. At pc 0 it runs once for each call of the method. If
    /// the previous instruction does not fall through, nothing is inserted.
    FallThrough,
    /// All paths.
    All,
}

/// Code to be added to a method. An edit can be cleared and used for the next method.
///
/// Inserted code is *straight-line* and *stack-neutral*: it has no jumps, returns or switches, leaves
/// the operand stack as it was, and writes no local variable of the method's own. (Code inserted before an instruction may leave a word that the code
/// inserted after it pops.) This is not checked here, but by a JVM's verifier. Code inserted where
/// `this`, or a new object, is not initialised has the same restrictions as the method's own code
/// there.
#[derive(Clone, Debug, Default)]
pub struct MethodEdit {
    /// The bytes of all code to be added.
    bytes: Vec<u8>,
    insertions: Vec<Insertion>,
    catch_all: Option<CatchAll>,
    ranges: Vec<Range<u16>>,
    extra_stack: u16,
    scratch: u16,
    locals: Vec<LocalType>,
}

/// The type of an added local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalType {
    /// A `long`, of two words.
    Long,
    /// A reference to an object of a class, by its constant.
    Object(u16),
}

impl LocalType {
    pub(crate) fn words(self) -> u16 {
        match self {
            Self::Long => 2,
            Self::Object(_) => 1,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Insertion {
    pub(crate) pc: u16,
    pub(crate) reach: Reach,
    /// Whether the exceptions that it throws are dropped.
    pub(crate) is_contained: bool,
    start: u32,
    end: u32,
}

#[derive(Clone, Debug)]
struct CatchAll {
    stack: u16,
    is_contained: bool,
    start: usize,
    end: usize,
}

/// The code that handles all exceptions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerCode<'a> {
    pub(crate) code: &'a [u8],
    /// The number of words of the operand stack that it needs.
    pub(crate) stack: u16,
    pub(crate) is_contained: bool,
}

impl MethodEdit {
    /// Makes an edit that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes everything from the edit, but keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.insertions.clear();
        self.ranges.clear();
        self.catch_all = None;
        self.extra_stack = 0;
        self.scratch = 0;
        self.locals.clear();
    }

    /// Whether the edit changes nothing.
    pub fn is_empty(&self) -> bool {
        self.insertions.is_empty()
            && self.catch_all.is_none()
            && self.ranges.is_empty()
            && self.extra_stack == 0
            && self.scratch == 0
            && self.locals.is_empty()
    }

    /// Inserts `code` before the instruction at `pc` of the original code.
    ///
    /// At one pc the code for [`Reach::FallThrough`] comes first, and the rest keeps the order of
    /// the calls. To insert after an instruction, insert before the next one
    /// ([`Instruction::next_pc`](crate::Instruction::next_pc)) with [`Reach::FallThrough`].
    ///
    /// Line numbers and exception handlers that begin at `pc` do not include code for
    /// `FallThrough`, and include that for `All`; ranges that end at `pc` include neither. Local
    /// variables are known in both from `pc` on.
    pub fn insert(&mut self, pc: u16, reach: Reach, code: &[u8]) {
        self.add(pc, reach, false, code);
    }

    /// As [`insert`](Self::insert) for [`Reach::All`], for code that must not throw into the
    /// method: its exceptions are dropped, and the method continues as if the code had run. The
    /// code begins with an empty operand stack.
    ///
    /// This is possible only before an instruction that returns, or where an exception handler
    /// begins: the contents of the operand stack are known there, and are kept in a local variable.
    pub fn insert_contained(&mut self, pc: u16, code: &[u8]) {
        self.add(pc, Reach::All, true, code);
    }

    fn add(&mut self, pc: u16, reach: Reach, is_contained: bool, code: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(code);
        let end = self.bytes.len() as u32;
        self.insertions.push(Insertion { pc, reach, is_contained, start, end });
    }

    /// Appends a handler of all exceptions after the method's code, which runs `code` and rethrows
    /// the exception. Of several calls the last one counts.
    ///
    /// `code` can use the added local variables, but none of the method's own. It begins with the
    /// exception on the operand stack, leaves it there, and uses at most `stack` words above it.
    /// The handler handles the exceptions of the ranges of [`cover`](Self::cover) that no handler
    /// of the method handles.
    pub fn catch_all(&mut self, stack: u16, code: &[u8]) {
        self.catch(stack.saturating_add(1), false, code);
    }

    /// As [`catch_all`](Self::catch_all), for code that may throw exceptions, which are dropped. It
    /// begins with an empty operand stack.
    pub fn catch_all_contained(&mut self, stack: u16, code: &[u8]) {
        self.catch(stack.max(1), true, code);
    }

    fn catch(&mut self, stack: u16, is_contained: bool, code: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(code);
        self.catch_all = Some(CatchAll { stack, is_contained, start, end: self.bytes.len() });
    }

    /// Makes the handler of [`catch_all`](Self::catch_all) cover a range of pcs of the original
    /// code; the whole method is `0..code.end_pc()`. The handler itself is not covered.
    ///
    /// For code inserted at the border of a range, see [`insert`](Self::insert). In a constructor a
    /// range may begin only [where `this` is initialised](crate::Code::after_this_call).
    pub fn cover(&mut self, range: Range<u16>) {
        self.ranges.push(range);
    }

    /// Sets the number of words of the operand stack that inserted code needs above those of the
    /// method; of several calls the largest number counts.
    pub fn need_stack(&mut self, words: u16) {
        self.extra_stack = self.extra_stack.max(words);
    }

    /// Adds a local variable after the method's own and those added so far; the first is at the
    /// method's [`max_locals`](crate::Code::max_locals).
    ///
    /// The code inserted at pc 0 for [`Reach::FallThrough`] must assign it. It keeps its value
    /// until the method ends: all frames of the method contain it.
    pub fn add_local(&mut self, of: LocalType) {
        self.locals.push(of);
    }

    /// Sets the number of words of local variables, after those of the method and those added, that
    /// inserted code uses; of several calls the largest number counts. They keep their values only
    /// up to the next instruction at which several paths meet, or an exception handler begins.
    pub fn need_scratch(&mut self, words: u16) {
        self.scratch = self.scratch.max(words);
    }

    pub(crate) fn insertions(&self) -> &[Insertion] {
        &self.insertions
    }

    pub(crate) fn code(&self, insertion: &Insertion) -> &[u8] {
        &self.bytes[insertion.start as usize..insertion.end as usize]
    }

    pub(crate) fn handler(&self) -> Option<HandlerCode<'_>> {
        self.catch_all.as_ref().map(|&CatchAll { stack, is_contained, start, end }| HandlerCode {
            code: &self.bytes[start..end],
            stack,
            is_contained,
        })
    }

    /// The ranges that the handler covers.
    pub(crate) fn ranges(&self) -> &[Range<u16>] {
        &self.ranges
    }

    pub(crate) fn extra_stack(&self) -> u16 {
        self.extra_stack
    }

    pub(crate) fn scratch(&self) -> u16 {
        self.scratch
    }

    /// The added local variables.
    pub(crate) fn locals(&self) -> &[LocalType] {
        &self.locals
    }

    /// The number of words of the added local variables.
    pub(crate) fn local_words(&self) -> u16 {
        self.locals.iter().map(|it| it.words()).fold(0, u16::saturating_add)
    }
}
