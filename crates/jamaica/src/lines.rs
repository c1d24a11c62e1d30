//! The lines of a Jamaica profile, and their parts.

use perk_profile::{Allocations, names};

/// A method as class files name it. The parts that a file has cut off are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature<'a> {
    /// The class, with slashes.
    pub(crate) class: &'a str,
    pub(crate) method: &'a str,
    /// The descriptor: `(I)V`.
    pub(crate) descriptor: &'a str,
}

/// The mode in which a method ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Interpreted,
    Compiled,
    Other,
}

/// The numbers of a source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineNumbers {
    pub(crate) line: u32,
    pub(crate) bytecodes: u64,
    pub(crate) executions: u64,
    /// The number of the line's instructions that ran.
    pub(crate) run: u64,
    pub(crate) instructions: u64,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry<'a> {
    Bytecodes {
        count: u64,
        method: Signature<'a>,
    },
    /// The bytecodes of a method by source line.
    Lines {
        method: Signature<'a>,
        source: Option<&'a str>,
        lines: Vec<LineNumbers>,
    },
    /// The cycles of a method, including those of the methods that it calls.
    Cycles {
        count: u64,
        method: Signature<'a>,
        mode: Option<Mode>,
    },
    Native {
        count: u64,
        method: Signature<'a>,
    },
    NewArray {
        count: u64,
        bci: i32,
        method: Signature<'a>,
    },
    Invoke {
        count: u64,
        bci: i32,
        caller: Signature<'a>,
        callee: Signature<'a>,
    },
    Instantiations {
        class: &'a str,
        loader: &'a str,
        objects: Allocations,
        blocks: u64,
        trees: u64,
    },
    HeapUse {
        class: &'a str,
        objects: Allocations,
        blocks: u64,
        trees: u64,
    },
    HeapReferences {
        references: u64,
        words: u64,
    },
    Reflection {
        class: &'a str,
    },
    Threads {
        count: u64,
    },
    Thread {
        priority: u64,
        cycles: u64,
        /// The percentages of the thread's time in interpreted, compiled, JNI and GC code.
        shares: [u64; 4],
        c_stack_bytes: u64,
        java_stack_bytes: u64,
        name: Option<&'a str>,
    },
}

impl<'a> Entry<'a> {
    /// Takes a line apart: the numbers in their order, regardless of the words and signs between
    /// them.
    ///
    /// # Errors
    /// The text that was expected.
    pub(crate) fn parse(keyword: &str, rest: &'a str) -> Result<Self, &'static str> {
        let mut words = Words(rest);
        let entry = match keyword {
            "PROFILE" | "PROFILE_NATIVE" => {
                let expected = "a count, its percentage and a method";
                let (count, _) = (words.count(), words.number());
                let (count, method) = count.zip(words.signature()).ok_or(expected)?;
                match keyword {
                    "PROFILE" => Self::Bytecodes { count, method },
                    _ => Self::Native { count, method },
                }
            }
            "PROFILE_CYCLES" => {
                let count = words.count();
                let (count, name) = count.zip(words.rest()).ok_or("a count and a method")?;
                let (name, mode) = part_mode(name);
                Self::Cycles { count, method: Signature::parse(name), mode }
            }
            "PROFILE_LINES" => {
                let expected = "a count, a method, its source file or -, and its lines as \
                                line:bytecodes:executions:run/instructions";
                let (_, method) = words.count().zip(words.signature()).ok_or(expected)?;
                let source = words.word().ok_or(expected)?;
                let lines = words.0.split_whitespace().map(LineNumbers::parse);
                let lines = lines.collect::<Option<_>>().ok_or(expected)?;
                Self::Lines { method, source: (source != "-").then_some(source), lines }
            }
            "PROFILE_NEWARRAY" => {
                let expected = "a count, a bytecode position and a method";
                let (count, bci) = words.count().zip(words.bci()).ok_or(expected)?;
                Self::NewArray { count, bci, method: words.signature().ok_or(expected)? }
            }
            "PROFILE_INVOKE" => {
                let expected = "a count, a bytecode position, the caller and the method called";
                let (count, bci) = words.count().zip(words.bci()).ok_or(expected)?;
                let caller = words.signature();
                let (caller, callee) = caller.zip(words.signature()).ok_or(expected)?;
                Self::Invoke { count, bci, caller, callee }
            }
            "INSTANTIATION_COUNT" => {
                let expected = "objects, blocks of one, blocks and bytes of all, objects in trees and \
                                their percentage, class loader and class";
                let [count, blocks, _, bytes, trees, _] = words.numbers().ok_or(expected)?;
                let loader = words.word();
                let (loader, class) = loader.zip(words.rest()).ok_or(expected)?;
                let objects = Allocations {
                    allocated_count: count,
                    allocated_bytes: bytes,
                    ..Allocations::default()
                };
                Self::Instantiations { class, loader, objects, blocks, trees }
            }
            "HEAP_USE" => {
                let expected = "objects, blocks of one, block size, bytes and percentage of all, objects \
                                in trees and their percentage, and a class";
                let [count, blocks, _, bytes, _, trees, _] = words.numbers().ok_or(expected)?;
                let class = words.rest().ok_or(expected)?;
                let objects =
                    Allocations { live_count: count, live_bytes: bytes, ..Allocations::default() };
                Self::HeapUse { class, objects, blocks, trees }
            }
            "HEAP_REFS" => {
                let [references, words] =
                    words.numbers().ok_or("the numbers of references and of words")?;
                Self::HeapReferences { references, words }
            }
            "PROFILE_CLASS_USED_VIA_REFLECTION" => {
                Self::Reflection { class: words.rest().ok_or("a class")? }
            }
            "PROFILE_THREADS" => Self::Threads { count: words.count().ok_or("a number")? },
            _ => {
                let expected =
                    "a thread's priority and cycles, four percentages and two stack sizes";
                let [priority, cycles, a, b, c, d, c_stack_bytes, java_stack_bytes] =
                    words.numbers().ok_or(expected)?;
                let name = words.rest().map(|name| {
                    name.strip_prefix('(').and_then(|it| it.strip_suffix(')')).unwrap_or(name)
                });
                Self::Thread {
                    priority,
                    cycles,
                    shares: [a, b, c, d],
                    c_stack_bytes,
                    java_stack_bytes,
                    name,
                }
            }
        };
        Ok(entry)
    }
}

impl<'a> Signature<'a> {
    fn parse(text: &'a str) -> Self {
        let (name, descriptor) = text.split_at(text.find('(').unwrap_or(text.len()));
        let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
        Self { class, method, descriptor }
    }
}

impl LineNumbers {
    fn parse(word: &str) -> Option<Self> {
        let (word, instructions) = word.rsplit_once('/')?;
        let mut numbers = word.split(':');
        let mut number = || numbers.next()?.parse::<u64>().ok();
        let (line, bytecodes) = (number()?.try_into().ok()?, number()?);
        let (executions, run) = (number()?, number()?);
        let instructions = instructions.parse().ok()?;
        let is_whole = numbers.next().is_none();
        is_whole.then_some(Self { line, bytecodes, executions, run, instructions })
    }
}

/// The rest of a line.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn word(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        self.0 = &text[end..];
        (end > 0).then_some(&text[..end])
    }

    /// Returns the number at the beginning of a line.
    fn count(&mut self) -> Option<u64> {
        self.word()?.parse().ok()
    }

    /// Returns the next number. Words and signs before it are skipped; names are not, as no
    /// number follows a name.
    fn number(&mut self) -> Option<u64> {
        loop {
            let before = self.0;
            let word = self.word()?;
            let digits = word.trim_matches(|c: char| "()%*=@,:".contains(c));
            if let Ok(number) = digits.parse() {
                return Some(number);
            }
            let is_sign = digits.is_empty();
            let is_plain = digits.chars().all(|c| c.is_ascii_alphabetic());
            let is_last = self.0.trim().is_empty();
            if !is_sign && (!is_plain || is_last) {
                self.0 = before;
                return None;
            }
        }
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        numbers[0] = self.count()?;
        for number in &mut numbers[1..] {
            *number = self.number()?;
        }
        Some(numbers)
    }

    fn bci(&mut self) -> Option<i32> {
        self.number()?.try_into().ok()
    }

    /// Returns the next method. An arrow before it is skipped.
    fn signature(&mut self) -> Option<Signature<'a>> {
        let word = self.word()?;
        let word = if word == "->" { self.word()? } else { word };
        Some(Signature::parse(word))
    }

    /// Returns the rest of the line.
    fn rest(&mut self) -> Option<&'a str> {
        let text = self.0.trim();
        (!text.is_empty()).then_some(text)
    }
}

/// Returns a method's name and, if it is not cut off, the mode after it: `()Z(interpreted)`.
fn part_mode(text: &str) -> (&str, Option<Mode>) {
    // The name may be cut off in front of a whole mode: `A.f(Ljava/lang/Str(interpreted)`.
    for (suffix, mode) in [("(interpreted)", Mode::Interpreted), ("(compiled)", Mode::Compiled)] {
        if let Some(name) = text.strip_suffix(suffix) {
            return (name, Some(mode));
        }
    }
    let end_of_parameters = text.find(')').unwrap_or(text.len());
    let Some(at) = text[end_of_parameters..].find('(').map(|at| end_of_parameters + at) else {
        return (text, None);
    };
    let mode = text[at + 1..].trim_end_matches(')');
    let mode = match mode {
        "" => None,
        mode if "interpreted".starts_with(mode) => Some(Mode::Interpreted),
        mode if "compiled".starts_with(mode) => Some(Mode::Compiled),
        _ => Some(Mode::Other),
    };
    (&text[..at], mode)
}

/// Returns the source form of a class that Jamaica names `java/lang/String` or `[C`.
pub(crate) fn from_class_name(name: &str) -> String {
    if name.starts_with('[') { names::from_signature(name) } else { name.replace('/', ".") }
}

/// Does the reverse of [`from_class_name`].
pub(crate) fn to_class_name(class: &str) -> String {
    if class.ends_with("[]") { names::to_signature(class) } else { class.replace('.', "/") }
}
