//! Names of methods, frames and classes as people read them.

use std::borrow::Cow;
use std::collections::HashMap;

use perk_profile::units::printable;
use perk_profile::{ClassId, FrameId, Line, MethodId, Symbols, names};

/// The names of `methods`: `class.method`, with parameter types only where two of them would
/// otherwise look the same.
pub fn labels(
    symbols: &Symbols,
    methods: impl IntoIterator<Item = MethodId>,
) -> HashMap<MethodId, String> {
    let plain = |method| printable(&symbols.method_name(method));
    let mut labels: HashMap<_, _> = methods.into_iter().map(|id| (id, plain(id))).collect();
    for detail in [NameDetail::SimpleTypes, NameDetail::FullTypes, NameDetail::Source] {
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

/// A difference between methods of the same class and name.
#[derive(Clone, Copy)]
enum NameDetail {
    /// `(Object, int)`
    SimpleTypes,
    /// `(java.lang.Object, int): java.lang.String`
    FullTypes,
    /// The types and ` (Main.java)`
    Source,
}

impl NameDetail {
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
            _ if signature.is_empty() && !matches!(self, NameDetail::Source) => String::new(),
            NameDetail::SimpleTypes => {
                let simple: Vec<_> =
                    types.iter().map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
                format!("({})", simple.join(", "))
            }
            NameDetail::FullTypes => full(),
            NameDetail::Source => {
                let source = method.source.map_or("unknown source", string);
                let types = if signature.is_empty() { String::new() } else { full() };
                format!("{types} ({source})")
            }
        }
    }
}

/// A name with one letter for each package: `j.u.HashMap`. Other words stay.
pub(crate) fn with_letters(word: &str) -> String {
    let mut parts: Vec<&str> = word.split('.').collect();
    let is_package = |part: &&str| {
        part.starts_with(char::is_lowercase)
            && part.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    let package_count = parts[..parts.len() - 1].iter().take_while(|part| is_package(part)).count();
    let is_class = parts[package_count].starts_with(char::is_alphabetic);
    for part in parts[..package_count].iter_mut().filter(|_| is_class) {
        *part = &part[..part.chars().next().map_or(0, char::len_utf8)];
    }
    parts.join(".")
}

/// The name of a method without the package of its class: `HashMap.get`.
pub fn short_method(symbols: &Symbols, id: MethodId) -> String {
    let package = names::package(symbols.class_name(symbols.get_method(id).class));
    let name = symbols.method_name(id);
    printable(name.strip_prefix(package).map_or(&*name, |name| name.trim_start_matches('.')))
}

/// A frame as HPROF shows it: `class.method (Source.java:12)`.
pub fn frame(symbols: &Symbols, id: FrameId) -> String {
    let frame = symbols.get_frame(id);
    printable(&symbols.method_name(frame.method)) + &place(symbols, frame.method, frame.line)
}

/// The position of a line in a method: ` (Source.java:12)`; empty where nothing is known.
pub fn place(symbols: &Symbols, method: MethodId, line: Line) -> String {
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

/// The name of a class for people: see [`class_name`].
pub fn class(symbols: &Symbols, id: ClassId) -> String {
    printable(&class_name(symbols, id))
}

/// The name of a class, in source form also where a file has the JVM's: `byte[][]` for `[[B`.
pub fn class_name(symbols: &Symbols, id: ClassId) -> Cow<'_, str> {
    match symbols.class_name(id) {
        name if name.starts_with('[') => names::from_signature(name).into(),
        name => name.into(),
    }
}

/// `class.method` and the signature: a method's name in JSON.
pub fn full_name(symbols: &Symbols, id: MethodId) -> String {
    let signature = symbols.get_method(id).signature;
    symbols.method_name(id) + signature.map_or("", |id| symbols.strings.get(id))
}

#[cfg(test)]
mod tests {
    use perk_profile::Method;

    use super::*;

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
    fn bridges_and_namesakes_are_distinguished() {
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
