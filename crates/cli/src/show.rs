//! How numbers and names look in reports, and how wide a report may be.

use std::borrow::Cow;
use std::collections::HashMap;
use std::env;
use std::io::{IsTerminal, stderr, stdout};

pub(crate) use perk_profile::units::{bytes, duration, percent, plural, printable};
use perk_profile::{ClassId, FrameId, Line, MethodId, Metric, Symbols, Unit, names};

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

    /// Text as lines that fit, broken at blanks, those behind the first by `indent` further in.
    pub(crate) fn wrap(&self, text: &str, indent: usize) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let mut wrapped = String::new();
        let mut column = 0;
        for word in text.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if column > indent && column + length > width {
                wrapped.truncate(wrapped.trim_end().len());
                wrapped.push('\n');
                wrapped += &" ".repeat(indent);
                column = indent;
            }
            wrapped += word;
            column += word.chars().count();
        }
        wrapped
    }

    fn room(&self, used: usize, longest: usize) -> usize {
        const LEAST: usize = 12;
        self.width.map_or(longest, |width| width.saturating_sub(used).max(LEAST)).min(longest)
    }
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
        let types = names::parameters(signature).unwrap_or_default();
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

/// A frame as HPROF shows it: `class.method (Source.java:12)`.
pub(crate) fn frame(symbols: &Symbols, id: FrameId) -> String {
    let frame = symbols.get_frame(id);
    printable(&symbols.method_name(frame.method)) + &place(symbols, frame.method, frame.line)
}

/// Where in a method a line is: ` (Source.java:12)`; empty where nothing is known.
pub(crate) fn place(symbols: &Symbols, method: MethodId, line: Line) -> String {
    let source = symbols.get_method(method).source.map(|source| symbols.strings.get(source));
    let place = match (line, source) {
        (Line::Number(line), Some(source)) => format!(" ({source}:{line})"),
        (Line::Number(line), None) => format!(" (line {line})"),
        (Line::Native, _) => " (native)".to_owned(),
        (Line::Compiled | Line::Unknown, Some(source)) => format!(" ({source})"),
        (Line::Compiled | Line::Unknown, None) => String::new(),
    };
    printable(&place)
}

/// A metric in headings and sentences: `samples`, `allocated bytes`, `blocked time`.
pub(crate) fn metric(metric: &Metric) -> String {
    match metric {
        Metric::AllocatedBytes => "allocated bytes".to_owned(),
        Metric::LiveBytes => "live bytes".to_owned(),
        Metric::LiveObjects => "live objects".to_owned(),
        Metric::BlockedTime => "blocked time".to_owned(),
        Metric::WaitedTime => "waited time".to_owned(),
        other => printable(other.name()),
    }
}

/// A cell of CSV: as [`printable`], and no formula for a spreadsheet, which takes an apostrophe before
/// a text as the sign that it is one. Numbers stay as they are.
pub(crate) fn cell(text: &str) -> String {
    const BEGINS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = digits.parse::<f64>().is_ok()
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let apostrophe = if text.starts_with(BEGINS) && !is_number { "'" } else { "" };
    format!("{apostrophe}{}", printable(text))
}

/// The name of a class for people: see [`class_name`].
pub(crate) fn class(symbols: &Symbols, id: ClassId) -> String {
    printable(&class_name(symbols, id))
}

/// The name of a class, in source form also where a file has the JVM's: `byte[][]` for `[[B`.
pub(crate) fn class_name(symbols: &Symbols, id: ClassId) -> Cow<'_, str> {
    match symbols.class_name(id) {
        name if name.starts_with('[') => names::from_signature(name).into(),
        name => name.into(),
    }
}

/// A number of a unit, for people.
pub(crate) fn number(number: u64, unit: Unit) -> String {
    match unit {
        Unit::Count => number.to_string(),
        Unit::Nanoseconds => duration(number),
        Unit::Bytes => bytes(number),
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Method;

    use super::*;

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
    fn text_is_broken_at_blanks() {
        let screen = Screen { width: Some(20), bold: false };
        let text = "perk      a word and others, averyverylongwordthatfitsnowhere on";
        let lines = "perk      a word and\n          others,\n          \
                     averyverylongwordthatfitsnowhere\n          on";
        assert_eq!(screen.wrap(text, 10), lines);
        assert_eq!(Screen::default().wrap(text, 10), text);
    }

    #[test]
    fn cells_are_no_formulas() {
        for (text, shown) in [
            ("=1+2", "'=1+2"),
            ("-[A b]", "'-[A b]"),
            ("+1-1", "'+1-1"),
            ("-", "'-"),
            ("@x", "'@x"),
            ("-12.5", "-12.5"),
            ("1234", "1234"),
            ("a=b", "a=b"),
            ("a\x1b[2J\u{202e}", "a\\u{1b}[2J\\u{202e}"),
            ("", ""),
        ] {
            assert_eq!(cell(text), shown);
        }
    }

    #[test]
    fn classes_have_their_source_form() {
        let mut symbols = Symbols::default();
        for (name, shown) in [
            ("[[B", "byte[][]"),
            ("[Ljava.util.Map$Entry;", "java.util.Map$Entry[]"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("int[]", "int[]"),
            ("B", "B"),
        ] {
            let id = symbols.class(name);
            assert_eq!(class(&symbols, id), shown);
        }
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
