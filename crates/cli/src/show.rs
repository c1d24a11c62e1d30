//! How numbers and names look in reports, and how wide a report may be.

use std::collections::HashMap;
use std::env;
use std::fmt::Write;
use std::io::{IsTerminal, stderr, stdout};

use perk_profile::{FrameId, Line, MethodId, Symbols, names};

/// What the place a report goes to can take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Screen {
    /// Columns; `None` where lines may be of any length.
    pub(crate) width: Option<usize>,
    /// Whether escape sequences for bold text are welcome.
    pub(crate) bold: bool,
}

impl Screen {
    pub(crate) fn of_stdout() -> Self {
        Self::new(stdout().is_terminal(), terminal_size::terminal_size_of(stdout()))
    }

    pub(crate) fn of_stderr() -> Self {
        Self::new(stderr().is_terminal(), terminal_size::terminal_size_of(stderr()))
    }

    fn new(is_terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Self {
        let colourless = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        // A terminal that says it has no columns does not know.
        let width = size.map(|(width, _)| usize::from(width.0)).filter(|&width| width > 0);
        Self { width, bold: is_terminal && !colourless }
    }

    /// A heading.
    pub(crate) fn heading(&self, text: &str) -> String {
        if self.bold { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// As much of a name's end as fits beside `used` columns.
    pub(crate) fn cut(&self, name: &str, used: usize) -> String {
        const LONGEST: usize = 1000;
        let room = self.room(used, LONGEST);
        let length = name.chars().count();
        if length <= room {
            return name.to_owned();
        }
        std::iter::once('…').chain(name.chars().skip(length - room + 1)).collect()
    }

    /// As much of a command line's beginning as fits beside `used` columns.
    pub(crate) fn cut_end(&self, line: &str, used: usize) -> String {
        const LONGEST: usize = 200;
        let room = self.room(used, LONGEST);
        if line.chars().count() <= room {
            return line.to_owned();
        }
        line.chars().take(room - 1).chain(['…']).collect()
    }

    fn room(&self, used: usize, longest: usize) -> usize {
        const LEAST: usize = 20;
        self.width.map_or(longest, |width| width.saturating_sub(used).max(LEAST)).min(longest)
    }
}

/// A duration: `85 us`, `12.3 ms`, `1.23 s`, `2 min 5 s`, `3 h 2 min`.
pub(crate) fn duration(ns: u64) -> String {
    let ns_f = ns as f64;
    match ns {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", short(ns_f / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", short(ns_f / 1e6)),
        1_000_000_000..60_000_000_000 => format!("{:.2} s", ns_f / 1e9),
        60_000_000_000..3_600_000_000_000 => {
            format!("{} min {} s", ns / 60_000_000_000, ns / 1_000_000_000 % 60)
        }
        _ => format!("{} h {} min", ns / 3_600_000_000_000, ns / 60_000_000_000 % 60),
    }
}

/// A size: `512 B`, `12.3 kB`, `4 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let size = bytes as f64;
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", short(size / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", short(size / 1e6)),
        _ => format!("{} GB", short(size / 1e9)),
    }
}

/// One decimal, unless it is a zero.
fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// `count` as a share of `total`, in percent with two decimals.
pub(crate) fn percent(count: u64, total: u64) -> String {
    format!("{:.2}", if total == 0 { 0.0 } else { count as f64 * 100.0 / total as f64 })
}

/// `1 sample`, `2 samples`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `text` without characters that could move a terminal's cursor or break a line.
pub(crate) fn printable(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// The names of `methods`: `class.method`, with parameter types only where two of them would
/// otherwise look the same.
pub(crate) fn labels(
    symbols: &Symbols,
    methods: impl IntoIterator<Item = MethodId>,
) -> HashMap<MethodId, String> {
    let plain = |method| printable(&symbols.method_name(method));
    let mut labels: HashMap<_, _> = methods.into_iter().map(|id| (id, plain(id))).collect();
    for detail in [Detail::SimpleTypes, Detail::FullTypes, Detail::Source] {
        let mut uses: HashMap<&str, u32> = HashMap::new();
        for label in labels.values() {
            *uses.entry(label).or_default() += 1;
        }
        let same: Vec<_> = labels
            .iter()
            .filter(|(_, label)| uses[label.as_str()] > 1)
            .map(|(&id, _)| id)
            .collect();
        for id in same {
            labels.insert(id, plain(id) + &printable(&detail.of(symbols, id)));
        }
    }
    labels
}

/// What tells methods of the same class and name apart.
#[derive(Clone, Copy)]
enum Detail {
    /// `(Object, int)`
    SimpleTypes,
    /// `(java.lang.Object, int): java.lang.String`
    FullTypes,
    /// The types and ` (Main.java)`
    Source,
}

impl Detail {
    fn of(self, symbols: &Symbols, id: MethodId) -> String {
        let method = symbols.get_method(id);
        let string = |id| symbols.strings.get(id);
        let signature = method.signature.map_or("", string);
        let types = parameters(signature).unwrap_or_default();
        let full = || {
            let result = signature.rsplit(')').next().map(names::from_signature);
            let result = result.filter(|_| !signature.is_empty());
            let result = result.map_or(String::new(), |result| format!(": {result}"));
            format!("({}){result}", types.join(", "))
        };
        match self {
            _ if signature.is_empty() && !matches!(self, Detail::Source) => String::new(),
            Detail::SimpleTypes => {
                let simple: Vec<_> =
                    types.iter().map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
                format!("({})", simple.join(", "))
            }
            Detail::FullTypes => full(),
            Detail::Source => {
                let source = method.source.map_or("unknown source", string);
                let types = if signature.is_empty() { String::new() } else { full() };
                format!("{types} ({source})")
            }
        }
    }
}

/// The parameter types of a method signature, in source form; `None` where it is none.
fn parameters(signature: &str) -> Option<Vec<String>> {
    let (mut rest, _) = signature.strip_prefix('(')?.split_once(')')?;
    let mut types = Vec::new();
    while !rest.is_empty() {
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let length = match element.chars().next()? {
            'L' => element.find(';')? + 1,
            c => c.len_utf8(),
        };
        let (this, next) = rest.split_at(dimensions + length);
        types.push(names::from_signature(this));
        rest = next;
    }
    Some(types)
}

/// A frame as HPROF shows it: `class.method (Source.java:12)`.
pub(crate) fn frame(symbols: &Symbols, id: FrameId) -> String {
    let frame = symbols.get_frame(id);
    let mut text = symbols.method_name(frame.method);
    let source = symbols.get_method(frame.method).source.map(|source| symbols.strings.get(source));
    let place = match (frame.line, source) {
        (Line::Number(line), Some(source)) => format!(" ({source}:{line})"),
        (Line::Number(line), None) => format!(" (line {line})"),
        (Line::Native, _) => " (native)".to_owned(),
        (Line::Compiled | Line::Unknown, Some(source)) => format!(" ({source})"),
        (Line::Compiled | Line::Unknown, None) => String::new(),
    };
    text.write_str(&place).expect("a String takes any text");
    printable(&text)
}

#[cfg(test)]
mod tests {
    use perk_profile::Method;

    use super::*;

    #[test]
    fn units_are_readable() {
        for (ns, text) in [
            (0, "0 s"),
            (999, "999 ns"),
            (500_000, "500 us"),
            (10_000_000, "10 ms"),
            (12_340_000, "12.3 ms"),
            (1_234_000_000, "1.23 s"),
            (125_000_000_000, "2 min 5 s"),
            (10_920_000_000_000, "3 h 2 min"),
        ] {
            assert_eq!(duration(ns), text);
        }
        for (size, text) in [(0, "0 B"), (999, "999 B"), (12_345, "12.3 kB"), (4_000_000, "4 MB")] {
            assert_eq!(bytes(size), text);
        }
        assert_eq!(percent(1, 3), "33.33");
        assert_eq!(percent(0, 0), "0.00");
    }

    #[test]
    fn names_keep_their_end() {
        let screen = Screen { width: Some(40), bold: false };
        let cut = screen.cut("org.example.deep.package.Name.method", 10);
        assert_eq!(cut, "…mple.deep.package.Name.method");
        assert_eq!(cut.chars().count(), 30);
        assert_eq!(Screen::default().cut(&"x".repeat(60_000), 0).chars().count(), 1000);
        assert_eq!(screen.cut("short", 39), "short");
        assert_eq!(screen.cut_end("java -jar some/application.jar", 20), "java -jar some/appl…");
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(printable("a\tb\x1b[2J→"), "a\\tb\\u{1b}[2J→");
    }

    #[track_caller]
    fn check_labels(methods: &[(&str, &str, Option<&str>)], expected: &[&str]) {
        let mut symbols = Symbols::default();
        let ids: Vec<_> = methods
            .iter()
            .map(|&(class, name, signature)| {
                let class = symbols.class(class);
                let name = symbols.strings.intern(name);
                let signature = signature.map(|signature| symbols.strings.intern(signature));
                symbols.method(Method { class, name, signature, source: None })
            })
            .collect();
        let labels = labels(&symbols, ids.iter().copied());
        assert_eq!(ids.iter().map(|id| labels[id].as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_overloads_show_their_types() {
        check_labels(
            &[
                ("a.B", "f", Some("(I[[Ljava/lang/String;)V")),
                ("a.B", "f", Some("()V")),
                ("a.B", "g", Some("()V")),
            ],
            &["a.B.f(int, String[][])", "a.B.f()", "a.B.g"],
        );
    }

    #[test]
    fn bridges_and_namesakes_are_told_apart() {
        check_labels(
            &[("B", "get", Some("()LX;")), ("B", "get", Some("()Ljava/lang/Object;"))],
            &["B.get(): X", "B.get(): java.lang.Object"],
        );
        check_labels(
            &[("B", "f", Some("(La/List;)V")), ("B", "f", Some("(Lb/List;)V"))],
            &["B.f(a.List): void", "B.f(b.List): void"],
        );
        check_labels(&[("B", "f", Some("(L")), ("B", "f", None)], &["B.f()", "B.f"]);
    }
}
