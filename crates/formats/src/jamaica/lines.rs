//! The lines of a Jamaica profile, each taken apart.

use perk_profile::{Allocations, names};

/// A method as class files name it; what a file has cut off is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signature<'a> {
    /// With slashes.
    pub(super) class: &'a str,
    pub(super) method: &'a str,
    /// `(I)V`.
    pub(super) descriptor: &'a str,
}

/// How a method ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Interpreted,
    Compiled,
    Other,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    Bytecodes {
        count: u64,
        method: Signature<'a>,
    },
    /// With those of the methods called.
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
        /// Percent of its time in interpreted, compiled, JNI and GC code.
        shares: [u64; 4],
        c_stack_bytes: u64,
        java_stack_bytes: u64,
        name: Option<&'a str>,
    },
}

impl<'a> Entry<'a> {
    /// Takes a line apart: the numbers in their order, whatever words and signs stand between.
    ///
    /// # Errors
    /// What was expected.
    pub(super) fn parse(keyword: &str, rest: &'a str) -> Result<Self, &'static str> {
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

/// What is left of a line.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn word(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        self.0 = &text[end..];
        (end > 0).then_some(&text[..end])
    }

    /// The number that a line begins with.
    fn count(&mut self) -> Option<u64> {
        self.word()?.parse().ok()
    }

    /// The next number. Words and signs before it are passed over, names are not: no number comes
    /// behind one.
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

    /// The next method; an arrow before it is passed over.
    fn signature(&mut self) -> Option<Signature<'a>> {
        let word = self.word()?;
        let word = if word == "->" { self.word()? } else { word };
        Some(Signature::parse(word))
    }

    /// All that is left, without percentages before it.
    fn rest(&mut self) -> Option<&'a str> {
        let text = self.0.trim();
        (!text.is_empty()).then_some(text)
    }
}

/// A method's name and, where it is not cut off, the mode behind it: `()Z(interpreted)`.
fn part_mode(text: &str) -> (&str, Option<Mode>) {
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

/// The source form of a class as Jamaica names it: `java/lang/String`, `[C`.
pub(super) fn from_class_name(name: &str) -> String {
    if name.starts_with('[') { names::from_signature(name) } else { name.replace('/', ".") }
}

/// The reverse of [`from_class_name`].
pub(super) fn to_class_name(class: &str) -> String {
    if class.ends_with("[]") { names::to_signature(class) } else { class.replace('.', "/") }
}
