//! The kinds of values: how their texts are read, compared with the default and written.

use perk_profile::{NamePattern, WholePattern};

use super::numbers;
use super::table::Options;

/// Where an option keeps its value, and how that is written. Each function gives the place of the
/// value in the options.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// `y` or `n`.
    Switch(fn(&mut Options) -> &mut bool),
    /// One of these; if several of them can hold together, those that say most are last.
    Choice(&'static [Choice]),
    /// `n`, `y`, or some of these with colons between them, which begin with the state of `y`.
    Kinds(&'static Kinds),
    /// A time that need not be there.
    Time(fn(&mut Options) -> &mut Option<u64>),
    /// `n`, `y` for this time, or a time.
    SwitchOrTime(fn(&mut Options) -> &mut Option<u64>, u64),
    /// A number above 0, with `k` or `m`.
    Scaled(fn(&mut Options) -> &mut u64),
    /// A number above 0 and up to a limit, with `k` or `m`, that need not be there.
    OptionalScaled(fn(&mut Options) -> &mut Option<u64>, u64),
    /// A number from 0 on.
    Number(fn(&mut Options) -> &mut u32),
    /// A number with a fraction, from 0 on.
    Ratio(fn(&mut Options) -> &mut f64),
    /// Names of classes and methods, which add up.
    Patterns(fn(&mut Options) -> &mut Vec<NamePattern>),
    /// Names of threads, which add up.
    ThreadNames(fn(&mut Options) -> &mut Vec<WholePattern>),
    /// `y` or `n`, without effect.
    Ignored,
    /// A number of any value that the original accepted, without effect.
    IgnoredNumber,
    /// The name of a file.
    File,
    /// A host and a port.
    Net,
    /// An option that no longer exists, with the message for it.
    Removed(&'static str),
}

/// Values that can be together, and the states with none of them.
#[derive(Debug)]
pub(super) struct Kinds {
    /// The state of `n`.
    pub(super) none: fn(&mut Options),
    /// The state of `y`.
    pub(super) plain: fn(&mut Options),
    pub(super) kinds: &'static [Choice],
}

/// A value with a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) set: fn(&mut Options),
}

impl Choice {
    /// Whether the options have the value already.
    fn holds(&self, options: &Options) -> bool {
        let mut set = options.clone();
        (self.set)(&mut set);
        set == *options
    }
}

impl Value {
    /// Sets the value that a text says; `None` means that the text is wrong.
    pub(super) fn set(self, options: &mut Options, text: &str) -> Option<()> {
        match self {
            Value::Switch(at) => *at(options) = switch(text)?,
            Value::Choice(choices) => (chosen(choices, text)?.set)(options),
            Value::Kinds(kinds) if text == "n" => (kinds.none)(options),
            Value::Kinds(Kinds { plain, kinds, .. }) => {
                plain(options);
                for kind in text.split(':').filter(|_| text != "y") {
                    (chosen(kinds, kind)?.set)(options);
                }
            }
            Value::Time(at) => *at(options) = Some(interval_ns(text)?),
            Value::SwitchOrTime(at, plain_ns) => {
                *at(options) = match switch(text) {
                    Some(is_on) => is_on.then_some(plain_ns),
                    None => Some(interval_ns(text)?),
                }
            }
            Value::Scaled(at) => *at(options) = numbers::scaled(text)?,
            Value::OptionalScaled(at, limit) => {
                *at(options) = Some(numbers::scaled(text).filter(|&number| number <= limit)?);
            }
            Value::Number(at) => *at(options) = u32::try_from(numbers::decimal(text)?).ok()?,
            Value::Ratio(at) => {
                let ratio = numbers::float(text)?;
                // No share is below NaN, so nothing is left out.
                let ratio = if ratio.is_nan() { 0.0 } else { ratio };
                *at(options) = Some(ratio).filter(|&ratio| ratio >= 0.0)?;
            }
            Value::Patterns(at) => at(options).extend(parts(text, pattern)?),
            Value::ThreadNames(at) => at(options).extend(parts(text, thread_name)?),
            Value::Ignored => drop(switch(text)?),
            Value::IgnoredNumber => {}
            Value::File | Value::Net | Value::Removed(_) => return None,
        }
        Some(())
    }

    /// Whether it has two values, so that each says what the other is not.
    pub(super) fn has_two(self) -> bool {
        matches!(self, Value::Switch(_) | Value::Choice([_, _]))
    }

    /// Whether it is a time.
    pub(super) fn is_time(self) -> bool {
        matches!(self, Value::Time(_) | Value::SwitchOrTime(..))
    }

    /// Whether the value is not the default one.
    fn is_given(self, options: &Options) -> bool {
        let (mut own, mut default) = (options.clone(), Options::default());
        let (own, default) = (&mut own, &mut default);
        match self {
            Value::Switch(at) => at(own) != at(default),
            Value::Choice(choices) => {
                choices.iter().any(|it| it.holds(options) && !it.holds(default))
            }
            Value::Kinds(kinds) => !Choice { name: "n", set: kinds.none }.holds(options),
            Value::Scaled(at) => at(own) != at(default),
            Value::Time(at) | Value::SwitchOrTime(at, _) | Value::OptionalScaled(at, _) => {
                at(own) != at(default)
            }
            Value::Number(at) => at(own) != at(default),
            Value::Ratio(at) => at(own) != at(default),
            Value::Patterns(at) => at(own) != at(default),
            Value::ThreadNames(at) => at(own) != at(default),
            Value::File | Value::Net => own.output != default.output,
            Value::Ignored | Value::IgnoredNumber | Value::Removed(_) => false,
        }
    }

    /// Returns the texts that give the option its value, one for each time that it is said; none for
    /// the default value.
    pub(super) fn texts(self, options: &Options) -> Vec<String> {
        if !self.is_given(options) {
            return Vec::new();
        }
        let mut own = options.clone();
        let own = &mut own;
        let yes_or_no = |is_on| if is_on { "y" } else { "n" }.to_owned();
        match self {
            Value::Switch(at) => vec![yes_or_no(*at(own))],
            Value::Choice(choices) => {
                let mut said = Options::default();
                let mut texts = Vec::new();
                for choice in choices.iter().rev() {
                    if choice.holds(options) && !choice.holds(&said) {
                        (choice.set)(&mut said);
                        texts.insert(0, choice.name.to_owned());
                    }
                }
                texts
            }
            Value::Kinds(Kinds { kinds, .. }) => {
                let names = kinds.iter().filter(|it| it.holds(options)).map(|it| it.name);
                let names = names.collect::<Vec<_>>().join(":");
                vec![if names.is_empty() { "y".to_owned() } else { names }]
            }
            Value::Time(at) => at(own).map(interval).into_iter().collect(),
            Value::SwitchOrTime(at, plain_ns) => vec![match *at(own) {
                Some(ns) if ns != plain_ns => interval(ns),
                time => yes_or_no(time.is_some()),
            }],
            Value::Scaled(at) => vec![scaled(*at(own))],
            Value::OptionalScaled(at, _) => at(own).map(scaled).into_iter().collect(),
            Value::Number(at) => vec![at(own).to_string()],
            Value::Ratio(at) => vec![at(own).to_string()],
            // One name each time, because the agent limits the length of a value.
            Value::Patterns(at) => at(own).iter().map(|it| it.as_str().to_owned()).collect(),
            Value::ThreadNames(at) => at(own).iter().map(|it| it.as_str().to_owned()).collect(),
            Value::Ignored
            | Value::IgnoredNumber
            | Value::File
            | Value::Net
            | Value::Removed(_) => Vec::new(),
        }
    }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "y" => Some(true),
        "n" => Some(false),
        _ => None,
    }
}

fn chosen(choices: &'static [Choice], name: &str) -> Option<&'static Choice> {
    choices.iter().find(|choice| choice.name == name)
}

/// Parses names. They are separated by colons, because a comma would end the value.
fn parts<T>(text: &str, parse: fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split(':').map(parse).collect()
}

/// Parses a pattern of `include` and `exclude`: a name that a Java class or method can have, in
/// which each `*` represents any characters.
fn pattern(text: &str) -> Option<NamePattern> {
    let pattern = NamePattern::new(text).filter(|it| it.odd_character().is_none())?;
    (!text.split('.').any(str::is_empty)).then_some(pattern)
}

/// Parses a name of `wall-threads`, in which each `*` represents any characters. The grammar cannot
/// express a name with a comma or a colon.
fn thread_name(text: &str) -> Option<WholePattern> {
    WholePattern::new(text).filter(|_| !text.contains([',', ':']))
}

/// Parses a time above 0 and returns it in nanoseconds. Without a unit it counts milliseconds, as the
/// original's `interval` does.
fn interval_ns(text: &str) -> Option<u64> {
    let of_unit = || Some(u64::try_from(numbers::decimal(text)?).ok()? * 1_000_000);
    numbers::time_ns(text).ok().or_else(of_unit).filter(|&ns| ns > 0)
}

/// Returns a time in the largest unit of which it is a whole number.
fn interval(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let (unit, unit_ns) =
        units.into_iter().find(|unit| ns.is_multiple_of(unit.1)).unwrap_or(units[2]);
    let text = format!("{}{unit}", ns / unit_ns);
    debug_assert_eq!(interval_ns(&text), Some(ns));
    text
}

/// Returns a number in the largest unit of which it is a whole number.
fn scaled(number: u64) -> String {
    let units = [("m", 1 << 20), ("k", 1 << 10), ("", 1)];
    let (unit, of) =
        units.into_iter().find(|unit| number.is_multiple_of(unit.1)).unwrap_or(units[2]);
    format!("{}{unit}", number / of)
}
