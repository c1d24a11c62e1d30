//! The numbers by which the probes report methods: those of kept classes come first, and all other
//! methods of the profile after them.
//!
//! A kept method gets its place in the profile when that is asked for: most of them are never
//! called.

use perk_control::options::Options;
use perk_profile::{FOLDED, Frame, FrameId, Line, Method, MethodId, OVER_BUDGET, Symbols};
use rustc_hash::FxHashMap;

use super::counted::Calls;
use super::entry;
use super::kept::{KeptMethods, MethodText};

/// The numbers of methods; see the module.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) kept: KeptMethods,
    /// Whether there may be kept classes.
    pub(super) may_keep: bool,
    /// The number of kept classes that the JVM has loaded.
    pub(super) class_count: u64,
    /// The ids of the kept methods that are in the profile.
    ids: Vec<Option<MethodId>>,
    /// The frames of methods, by their numbers.
    frames: Vec<Option<FrameId>>,
    /// The frames of methods at lines.
    line_frames: FxHashMap<(u32, u16), FrameId>,
}

impl Numbers {
    pub(super) fn new(options: &Options) -> Self {
        Self { may_keep: options.cache, ..Self::default() }
    }

    /// Returns the number of a method.
    pub(super) fn number(&self, symbols: &mut Symbols, text: &MethodText<'_>) -> u32 {
        self.kept.find(text).unwrap_or_else(|| {
            let id = method_of(symbols, text);
            (self.kept.count() + id.index()) as u32
        })
    }

    /// Returns the method with a number.
    pub(super) fn method(&mut self, symbols: &mut Symbols, number: u32) -> MethodId {
        let number = number as usize;
        match self.kept.get(number) {
            Some(text) => {
                *entry(&mut self.ids, number).get_or_insert_with(|| method_of(symbols, &text))
            }
            None => MethodId::new(number - self.kept.count()),
        }
    }

    /// Returns the frame of the method with a number.
    pub(super) fn frame(&mut self, symbols: &mut Symbols, number: u32) -> FrameId {
        match number {
            Calls::LOST => return named_frame(symbols, FOLDED),
            Calls::OVER_BUDGET => return named_frame(symbols, OVER_BUDGET),
            _ => {}
        }
        if let Some(Some(known)) = self.frames.get(number as usize) {
            return *known;
        }
        let method = self.method(symbols, number);
        let frame = symbols.frame(Frame::new(method, Line::Unknown));
        *entry(&mut self.frames, number as usize).insert(frame)
    }

    /// Returns the frame of a method at a line; 0 if it is not given.
    pub(super) fn frame_at(&mut self, symbols: &mut Symbols, number: u32, line: u16) -> FrameId {
        if line == 0 || matches!(number, Calls::LOST | Calls::OVER_BUDGET) {
            return self.frame(symbols, number);
        }
        if let Some(known) = self.line_frames.get(&(number, line)) {
            return *known;
        }
        let method = self.method(symbols, number);
        let frame = symbols.frame(Frame::new(method, Line::Number(line.into())));
        self.line_frames.insert((number, line), frame);
        frame
    }
}

fn method_of(symbols: &mut Symbols, text: &MethodText<'_>) -> MethodId {
    let class = symbols.class(text.class);
    let mut intern = |text: &str| symbols.strings.intern(text);
    let name = intern(text.name);
    let (signature, source) = (text.signature.map(&mut intern), text.source.map(&mut intern));
    symbols.method(Method { class, name, signature, source })
}

/// Returns a frame that is no method, with a name that says what it represents.
fn named_frame(symbols: &mut Symbols, name: &str) -> FrameId {
    let class = symbols.class(name);
    let name = symbols.strings.intern(name);
    let method = symbols.method(Method { class, name, signature: None, source: None });
    symbols.frame(Frame::new(method, Line::Unknown))
}
