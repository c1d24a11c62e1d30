//! The operand stack and the local variables, as far as objects that are not initialised are in
//! them.

use super::{Place, UninitializedObject};
use crate::opcode;

/// A word of the operand stack, or a local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Anything else, or unknown.
    Plain,
    /// A reference to the object of the constructor, which is not initialised.
    This,
    /// A reference to the object of the `new` at a pc, which is not initialised.
    New(u16),
}

/// The state at a pc.
///
/// The lowest words of the operand stack may be missing. They are plain.
#[derive(Debug, Default)]
pub(super) struct StackState {
    stack: Vec<Word>,
    /// The local variables that are not plain.
    locals: Vec<(u16, Word)>,
    /// The objects that no instruction has used since their `new`, each with its pc and its place
    /// on the operand stack. No path has led into the code since then or out of it.
    unused: Vec<(u16, usize)>,
    /// Whether the local variables differ from those before the instruction.
    pub(super) are_locals_changed: bool,
}

/// The maximum number of words of the stack, and of local variables, that are kept for a label. A
/// class file could otherwise take much memory.
const MOST_WORDS: usize = 512;
const MOST_LOCALS: usize = 64;

impl StackState {
    pub(super) fn at_entry(is_constructor: bool) -> Self {
        let locals = if is_constructor { vec![(0, Word::This)] } else { Vec::new() };
        Self { locals, ..Self::default() }
    }

    /// Returns the part of the state that is kept for a label.
    pub(super) fn at_label(&self) -> Self {
        let stack = self.stack[self.stack.len().saturating_sub(MOST_WORDS)..].to_vec();
        let locals = self.locals.iter().take(MOST_LOCALS).copied().collect();
        let mut state = Self { stack, locals, ..Self::default() };
        state.trim();
        state
    }

    /// Returns the state at a handler. There is only the exception on the operand stack.
    pub(super) fn at_handler(&self) -> Self {
        Self { locals: self.locals.clone(), ..Self::default() }
    }

    /// Keeps the words that the state of another path has, too. Returns whether others were lost.
    pub(super) fn meet(&mut self, other: &Self) -> bool {
        let before = (self.stack.len(), self.locals.len());
        // The operand stacks of all paths to an instruction are equally high.
        let height = self.stack.len().min(other.stack.len());
        self.stack.drain(..self.stack.len() - height);
        let others = &other.stack[other.stack.len() - height..];
        let mut is_changed = false;
        for (word, other) in self.stack.iter_mut().zip(others) {
            if *word != *other && *word != Word::Plain {
                *word = Word::Plain;
                is_changed = true;
            }
        }
        self.trim();
        self.locals.retain(|it| other.locals.contains(it));
        is_changed || before != (self.stack.len(), self.locals.len())
    }

    /// Removes the lowest words if they are plain.
    fn trim(&mut self) {
        let plain = self.stack.iter().take_while(|it| **it == Word::Plain).count();
        self.stack.drain(..plain);
    }

    /// Pops and pushes words.
    pub(super) fn run(&mut self, popped: usize, pushed: usize) {
        let height = self.stack.len().saturating_sub(popped);
        self.use_from(height);
        self.stack.truncate(height);
        self.stack.resize(height + pushed, Word::Plain);
    }

    /// The word that has `above` words above it.
    pub(super) fn peek(&self, above: usize) -> Word {
        self.stack.iter().rev().nth(above).copied().unwrap_or(Word::Plain)
    }

    /// Runs a call that is not that of a constructor.
    pub(super) fn call(&mut self, descriptor: &[u8], receiver_words: usize) {
        self.run(receiver_words + parameter_words(descriptor), result_words(descriptor));
    }

    /// Runs the `new` at a pc.
    pub(super) fn make(&mut self, pc: u16) {
        // A loop has made another object here before, which is not used any more.
        self.replace(Word::New(pc));
        self.unused.push((pc, self.stack.len()));
        self.stack.push(Word::New(pc));
    }

    /// Runs the call of a constructor with this number of words of parameters. Returns the object,
    /// and its place after the call.
    pub(super) fn initialize(&mut self, words: usize) -> (UninitializedObject, Place) {
        let word = self.peek(words);
        let at = self.stack.len().saturating_sub(words + 1);
        let held = self.unused.iter().filter(|(_, slot)| *slot <= at).count() as u16;
        let is_unused = self.unused.iter().any(|(_, slot)| *slot == at);
        self.run(words + 1, 0);
        let object = match word {
            Word::Plain => return (UninitializedObject::Unknown, Place::Unknown),
            Word::This => UninitializedObject::This,
            Word::New(pc) => UninitializedObject::New(pc),
        };
        let place = if self.peek(0) == word {
            Place::Top
        } else if let Some((local, _)) = self.locals.iter().find(|it| it.1 == word) {
            Place::Local(*local)
        } else if is_unused {
            Place::Dropped { held }
        } else {
            Place::Unknown
        };
        self.replace(word);
        (object, place)
    }

    /// Makes all words plain that are equal to one.
    fn replace(&mut self, word: Word) {
        self.stack.iter_mut().filter(|it| **it == word).for_each(|it| *it = Word::Plain);
        let before = self.locals.len();
        self.locals.retain(|it| it.1 != word);
        self.are_locals_changed |= self.locals.len() != before;
    }

    /// Runs a load or a store of a local variable, or another instruction with one.
    pub(super) fn access(&mut self, opcode: u8, local: u16) {
        match opcode {
            opcode::ALOAD | opcode::ALOAD_0..=opcode::ALOAD_3 => {
                let found = self.locals.iter().find(|it| it.0 == local);
                self.stack.push(found.map_or(Word::Plain, |it| it.1));
            }
            opcode::ASTORE | opcode::ASTORE_0..=opcode::ASTORE_3 => {
                let word = self.peek(0);
                self.run(1, 0);
                self.overwrite(local, 1);
                if word != Word::Plain {
                    self.locals.push((local, word));
                    self.are_locals_changed = true;
                }
            }
            opcode::ISTORE..=opcode::ASTORE_3 => {
                let words = popped(opcode);
                self.run(words, 0);
                self.overwrite(local, words as u16);
            }
            _ => self.plain(opcode),
        }
    }

    fn overwrite(&mut self, local: u16, words: u16) {
        let before = self.locals.len();
        self.locals.retain(|it| it.0 < local || it.0 - local >= words);
        self.are_locals_changed |= self.locals.len() != before;
    }

    /// Runs an instruction that only depends on its opcode.
    pub(super) fn plain(&mut self, opcode: u8) {
        match opcode {
            opcode::DUP..=opcode::DUP2_X2 => {
                let form = usize::from(opcode - opcode::DUP);
                self.duplicate(1 + form / 3, form % 3);
            }
            opcode::SWAP => {
                self.reach(2);
                let top = self.stack.len() - 1;
                self.stack.swap(top - 1, top);
            }
            _ => self.run(popped(opcode), pushed(opcode)),
        }
    }

    /// Copies the topmost words below the same number of others.
    fn duplicate(&mut self, words: usize, others: usize) {
        let at = self.reach(words + others);
        let copied = at + others..at + others + words;
        let copies: Vec<Word> = self.stack[copied].to_vec();
        self.stack.splice(at..at, copies);
    }

    /// Uses the topmost words; returns the place of the lowest of them.
    fn reach(&mut self, words: usize) -> usize {
        let missing = words.saturating_sub(self.stack.len());
        self.stack.splice(0..0, std::iter::repeat_n(Word::Plain, missing));
        let at = self.stack.len() - words;
        self.use_from(at);
        at
    }

    /// Notes that the words from a place on are used.
    fn use_from(&mut self, place: usize) {
        while self.unused.last().is_some_and(|(_, slot)| *slot >= place) {
            self.unused.pop();
        }
    }

    /// Notes that paths part.
    pub(super) fn forget_dropped(&mut self) {
        self.unused.clear();
    }
}

/// The number of words of the parameters in a method's descriptor.
pub(super) fn parameter_words(descriptor: &[u8]) -> usize {
    crate::class::parameter_words(descriptor).into()
}

fn result_words(descriptor: &[u8]) -> usize {
    let end = descriptor.iter().rposition(|byte| *byte == b')').map_or(0, |end| end + 1);
    type_words(&descriptor[end..])
}

/// The number of words of a type, by its descriptor.
pub(super) fn type_words(descriptor: &[u8]) -> usize {
    match descriptor.first() {
        Some(b'J' | b'D') => 2,
        Some(b'V') | None => 0,
        Some(_) => 1,
    }
}

/// The number of words that an instruction pops, by opcode, if that depends on nothing else.
const POPPED: &[u8; 202] = b"\
    0000000000000000\
    0000000000000000\
    0000000000000022\
    2222221212111112\
    2221111222211113\
    4343333120000000\
    2424242424242424\
    2424121223232324\
    2424011122211122\
    2111422441111112\
    2222222000111212\
    1000000000001111\
    1111001100";

/// The number of words that an instruction pushes, in the same way.
const PUSHED: &[u8; 202] = b"\
    0111111112211122\
    1111212121111122\
    2211112222111112\
    1211110000000000\
    0000000000000000\
    0000000000000000\
    1212121212121212\
    1212121212121212\
    1212021211212212\
    1111111110000000\
    0000000010000000\
    0000000000001110\
    1100010001";

fn popped(opcode: u8) -> usize {
    words(POPPED, opcode)
}

fn pushed(opcode: u8) -> usize {
    words(PUSHED, opcode)
}

fn words(table: &[u8; 202], opcode: u8) -> usize {
    table.get(usize::from(opcode)).map_or(0, |digit| usize::from(digit - b'0'))
}
