//! The numbers by which the probes report methods: those of kept classes come first, and all other
//! methods of the profile after them.
//!
//! A kept method gets its place in the profile when that is asked for: most of them are never
//! called.

use perk_control::options::Options;
use perk_profile::{Method, MethodId, Symbols};

use super::kept::{KeptMethods, MethodText, table_of};
use super::{Recorder, entry};

/// The numbers of methods; see the module.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    kept: KeptMethods,
    /// Whether there may be kept classes.
    may_keep: bool,
    /// The number of kept classes that the JVM has loaded.
    pub(super) class_count: u64,
    /// The ids of the kept methods that are in the profile.
    ids: Vec<Option<MethodId>>,
}

impl Numbers {
    pub(super) fn new(options: &Options) -> Self {
        Self { may_keep: options.cache, ..Self::default() }
    }
}

impl Recorder {
    /// Whether there may be kept classes.
    pub(crate) fn may_keep_methods(&self) -> bool {
        self.numbers.may_keep
    }

    /// Counts a kept class that the JVM loads.
    pub(crate) fn count_kept_class(&mut self) {
        self.numbers.class_count += 1;
    }

    /// Gives the first numbers to the methods of kept classes. No method has a number yet.
    pub(crate) fn keep_methods(&mut self, kept: KeptMethods) {
        self.numbers.kept = kept;
    }

    /// Returns the table of all methods that have numbers; kept ones are not among them.
    pub(crate) fn methods_to_keep(&self) -> Vec<u8> {
        table_of(&self.profile.symbols)
    }

    /// Returns the number of a method.
    pub(crate) fn method_number(&mut self, text: &MethodText<'_>) -> u32 {
        let kept = &self.numbers.kept;
        kept.find(text).unwrap_or_else(|| {
            let id = method_of(&mut self.profile.symbols, text);
            (kept.count() + id.index()) as u32
        })
    }

    /// Returns the method with a number.
    pub(super) fn numbered_method(&mut self, number: u32) -> MethodId {
        let Numbers { kept, ids, .. } = &mut self.numbers;
        let number = number as usize;
        match kept.get(number) {
            Some(text) => *entry(ids, number)
                .get_or_insert_with(|| method_of(&mut self.profile.symbols, &text)),
            None => MethodId::new(number - kept.count()),
        }
    }
}

fn method_of(symbols: &mut Symbols, text: &MethodText<'_>) -> MethodId {
    let class = symbols.class(text.class);
    let mut intern = |text: &str| symbols.strings.intern(text);
    let name = intern(text.name);
    let (signature, source) = (text.signature.map(&mut intern), text.source.map(&mut intern));
    symbols.method(Method { class, name, signature, source })
}
