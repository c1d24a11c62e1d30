//! The names that other tools give frames: async-profiler, `perf` with a map of the code that the
//! JVM compiled, and tools that process their output.

use std::borrow::Cow;

use perk_profile::{FrameKind, Line, names};

/// The endings of the names of source files that become class files.
const JVM_SOURCE_ENDINGS: [&str; 5] = ["java", "kt", "scala", "groovy", "clj"];
/// The endings of the names of files with native code or scripts.
const LIBRARY_ENDINGS: [&str; 5] = ["so", "dll", "dylib", "exe", "py"];

/// The parts of a frame's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameName<'a> {
    /// The class in source form; empty if the frame is not a Java method.
    pub(crate) class: Cow<'a, str>,
    pub(crate) method: &'a str,
    /// The JVM's signature; empty if the name has none.
    pub(crate) signature: String,
    pub(crate) line: Line,
    pub(crate) kind: FrameKind,
}

impl<'a> FrameName<'a> {
    /// Splits `text`. It can have any syntax of `docs/formats/collapsed.md`.
    pub(crate) fn of(text: &'a str) -> Self {
        let (text, mark) = split_kind(text);
        let of_mark = mark.map(|(_, line)| line);
        let kind = mark.map_or(FrameKind::Unknown, |(kind, _)| kind);
        if text.starts_with(['[', '/']) || kind == FrameKind::Kernel {
            let (class, line) = (Cow::Borrowed(""), of_mark.unwrap_or(Line::Unknown));
            return Self { class, method: text, signature: String::new(), line, kind };
        }
        let (text, line) = split_line(text);
        let line = line.or(of_mark);
        if let Some((class, rest)) = split_descriptor(text) {
            let (method, signature) = split_signature(rest);
            let class = source_form(class);
            return Self { class, method, signature, line: line.unwrap_or(Line::Unknown), kind };
        }
        if let Some((class, method, signature)) = split_declaration(text) {
            let class = source_form(class);
            return Self { class, method, signature, line: line.unwrap_or(Line::Unknown), kind };
        }
        let (head, signature) = split_signature(text);
        let (class, method) = split_method(head);
        let is_java = line.is_some() || !signature.is_empty();
        let class = match is_class(class) && (is_java || is_internal_method(class, method)) {
            true => source_form(class),
            false => Cow::Borrowed(class),
        };
        Self { class, method, signature, line: line.unwrap_or(Line::Unknown), kind }
    }

    /// Splits `text` if it is a Java method whose class has the JVM's form, with slashes. In
    /// formats for programs of any language other names have other rules. `source` is the source
    /// file, if it is known.
    pub(crate) fn of_internal_form(text: &'a str, source: &str) -> Option<Self> {
        let (text, mark) = split_kind(text);
        let (kind, of_mark) = mark.unwrap_or((FrameKind::Unknown, Line::Unknown));
        if text.starts_with(['[', '/']) || kind == FrameKind::Kernel {
            return None;
        }
        let (text, line) = split_line(text);
        let line = line.unwrap_or(of_mark);
        let (class, (method, signature)) = match split_descriptor(text) {
            Some((class, rest)) => (class, split_signature(rest)),
            None => {
                let (head, signature) = split_signature(text);
                let (class, method) = split_method(head);
                let is_java = mark.is_some() || !signature.is_empty() || is_jvm_source(source);
                let is_java = is_java && has_packages(class) || is_internal_method(class, method);
                if !is_class(class) || !is_java {
                    return None;
                }
                (class, (method, signature))
            }
        };
        Some(Self { class: source_form(class), method, signature, line, kind })
    }
}

/// Returns the name of a thread without async-profiler's number after it, and the number.
pub(crate) fn split_id(name: &str) -> (&str, Option<u64>) {
    let parts = name.rsplit_once(" tid=");
    let id = |digits: &str| digits.parse().ok().filter(|_| !digits.starts_with('+'));
    match parts.and_then(|(name, digits)| Some((name, id(digits)?))) {
        Some((name, id)) => (name, Some(id)),
        None => (name, None),
    }
}

/// Returns the name and the number of the thread that async-profiler writes as a frame: `[main
/// tid=7]` or, if it has no name, `[tid=7]`.
pub(crate) fn thread(frame: &str) -> Option<(&str, u64)> {
    let name = frame.strip_prefix('[')?.strip_suffix(']')?;
    match split_id(name) {
        (name, Some(id)) => Some((name, id)),
        (name, None) => Some((name, name.strip_prefix("tid=")?.parse().ok()?)),
    }
}

/// Takes off async-profiler's mark of a frame's kind: `_[j]` compiled, `_[i]` inlined, `_[1]`
/// compiled by C1, `_[0]` interpreted, `_[k]` of the kernel. Returns it with the line that it
/// implies.
fn split_kind(text: &str) -> (&str, Option<(FrameKind, Line)>) {
    let Some((head, mark)) = text.strip_suffix(']').and_then(|text| text.rsplit_once("_[")) else {
        return (text, None);
    };
    match mark {
        _ if head.is_empty() => (text, None),
        "j" => (head, Some((FrameKind::Compiled, Line::Compiled))),
        "i" => (head, Some((FrameKind::Inlined, Line::Compiled))),
        "1" => (head, Some((FrameKind::CompiledC1, Line::Compiled))),
        "0" => (head, Some((FrameKind::Interpreted, Line::Unknown))),
        "k" => (head, Some((FrameKind::Kernel, Line::Native))),
        _ => (text, None),
    }
}

/// Takes off a line number after a method: `java/util/HashMap.get:552`.
fn split_line(text: &str) -> (&str, Option<Line>) {
    let numbered = text.rsplit_once(':').filter(|(head, digits)| {
        digits.bytes().all(|byte| byte.is_ascii_digit())
            && head.contains('.')
            && !head.ends_with([':', '.'])
    });
    match numbered.and_then(|(head, digits)| Some((head, digits.parse().ok()?))) {
        Some((head, line @ 1..)) => (head, Some(Line::Number(line))),
        _ => (text, None),
    }
}

/// Returns the class and the rest of `Lcom/foo/Bar;::baz`, `Lcom/foo/Bar;.baz` and
/// `Lcom/foo/Bar;baz`; and of `com/foo/Bar:::baz` and `com/foo/Bar:.baz`, the forms that
/// `stackcollapse-perf.pl` gives them.
fn split_descriptor(text: &str) -> Option<(&str, &str)> {
    let (class, rest) = match text.strip_prefix('L').and_then(|text| text.split_once(';')) {
        Some(parts) => parts,
        None => {
            let (class, rest) = text.split_once(':')?;
            let class = class.strip_prefix('L').unwrap_or(class);
            (class, rest.strip_prefix("::").or(rest.strip_prefix('.')).map(|_| rest)?)
        }
    };
    let rest = rest.strip_prefix("::").or(rest.strip_prefix('.')).unwrap_or(rest);
    (is_class(class) && !rest.is_empty()).then_some((class, rest))
}

/// Returns class, method and signature of `java.lang.String Foo.bar(int, long)`, the form in which
/// HotSpot describes a method.
fn split_declaration(text: &str) -> Option<(&str, &str, String)> {
    let (result, rest) = text.split_once(' ')?;
    let (head, parameters) = match rest.split_once('(') {
        Some((head, parameters)) => (head, Some(parameters.strip_suffix(')')?)),
        // Tools that collapse stacks leave out the parameters.
        None => (rest, None),
    };
    let (class, method) = head.rsplit_once('.')?;
    if !is_class(result) || !is_class(class) || method.is_empty() || method.contains(' ') {
        return None;
    }
    let Some(parameters) = parameters else { return Some((class, method, String::new())) };
    let mut signature = "(".to_owned();
    for parameter in parameters.split(',').map(str::trim).filter(|_| !parameters.is_empty()) {
        if !is_class(parameter) {
            return None;
        }
        signature += &names::to_signature(parameter);
    }
    signature.push(')');
    signature += &names::to_signature(result);
    Some((class, method, signature))
}

/// Takes off the JVM's signature after a method. In it, `|` can replace `;`.
fn split_signature(text: &str) -> (&str, String) {
    let Some(at) = text.find('(') else { return (text, String::new()) };
    let signature = text[at..].replace('|', ";");
    if at > 0 && is_signature(&signature) {
        (&text[..at], signature)
    } else {
        (text, String::new())
    }
}

/// Whether `text` is parameters and a result, as section 4.3.3 of the JVM specification defines
/// them.
fn is_signature(text: &str) -> bool {
    let parts = text.strip_prefix('(').and_then(|text| text.split_once(')'));
    let Some((mut parameters, result)) = parts else { return false };
    while let Some(rest) = after_type(parameters) {
        parameters = rest;
    }
    parameters.is_empty() && (result == "V" || after_type(result) == Some(""))
}

/// Returns the rest after the type at the beginning of `text`.
fn after_type(text: &str) -> Option<&str> {
    let element = text.trim_start_matches('[');
    match element.strip_prefix('L') {
        Some(rest) => {
            let (class, rest) = rest.split_once(';')?;
            is_class(class).then_some(rest)
        }
        None => element.strip_prefix(['Z', 'B', 'C', 'S', 'I', 'J', 'F', 'D']),
    }
}

/// Returns class and method, separated at the last dot, or at the last dot before a list of
/// parameters.
fn split_method(frame: &str) -> (&str, &str) {
    let end = frame.find('(').unwrap_or(frame.len());
    match frame[..end].rfind('.') {
        // A leading dot does not separate anything, and neither does the one in `elf_load.isra.0`.
        None | Some(0) => ("", frame),
        Some(dot) if frame[dot + 1..].starts_with(|c: char| c.is_ascii_digit()) => ("", frame),
        Some(dot) => (&frame[..dot], &frame[dot + 1..]),
    }
}

/// Whether `text` can be a class's name, with dots or slashes.
fn is_class(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(['/', '.'])
        && !text.contains([' ', ':', ';', '(', ')', '<', '>', '`', '\\', '~', '*', '&'])
}

/// Whether the slashes of `class` are those of the JVM's internal form. Go's packages
/// (`github.com/a/b`, `net/http`) contain slashes, too.
fn is_internal_form(class: &str) -> bool {
    // The number of a hidden class can follow a dot.
    let class = class.rsplit_once(".0x").map_or(class, |(class, _)| class);
    let simple = class.rsplit('/').next().unwrap_or_default();
    let is_hidden = simple.starts_with(|c: char| c.is_ascii_digit());
    !class.contains('.') && (is_hidden || simple.contains(|c: char| c.is_uppercase() || c == '$'))
}

/// Whether the slashes of `class` are those of the JVM's internal form, and `method` can be a
/// method and is no ending of a file's name (`lib/libFoo.so`) or method of a type of Go
/// (`x/Y.(*T).f`).
fn is_internal_method(class: &str, method: &str) -> bool {
    is_internal_form(class) && !method.contains('(') && !LIBRARY_ENDINGS.contains(&method)
}

/// Whether slashes separate the names of packages.
fn has_packages(class: &str) -> bool {
    class.contains('/') && class.split('/').all(|part| !part.is_empty() && !part.contains('.'))
}

/// Whether a source file is of a language whose compiler makes class files.
pub fn is_jvm_source(file: &str) -> bool {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| JVM_SOURCE_ENDINGS.contains(&ending))
}

/// Returns the name with dots instead of slashes, except the slash before the number of a hidden
/// class.
fn source_form(class: &str) -> Cow<'_, str> {
    if !class.contains('/') {
        return Cow::Borrowed(class);
    }
    let mut text = String::with_capacity(class.len());
    let mut parts = class.split('/');
    text.extend(parts.next());
    for part in parts {
        text.push(if part.starts_with(|c: char| c.is_ascii_digit()) { '/' } else { '.' });
        text.push_str(part);
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_kinds() {
        for (mark, kind) in [
            ("j", FrameKind::Compiled),
            ("i", FrameKind::Inlined),
            ("1", FrameKind::CompiledC1),
            ("0", FrameKind::Interpreted),
            ("k", FrameKind::Kernel),
            ("x", FrameKind::Unknown),
        ] {
            assert_eq!(FrameName::of(&format!("a/B.c_[{mark}]")).kind, kind, "{mark}");
        }
    }

    #[test]
    fn every_tool_s_frames_are_parted() {
        for (frame, class, method, signature, line) in [
            ("java.util.HashMap.get", "java.util.HashMap", "get", "", Line::Unknown),
            ("java/util/HashMap.get_[j]", "java.util.HashMap", "get", "", Line::Compiled),
            ("a/B.c_[i]", "a.B", "c", "", Line::Compiled),
            ("a/B.c_[1]", "a.B", "c", "", Line::Compiled),
            ("a/B.c_[0]", "a.B", "c", "", Line::Unknown),
            ("a/B.c:12_[0]", "a.B", "c", "", Line::Number(12)),
            ("do_exec.isra.0_[k]", "", "do_exec.isra.0", "", Line::Native),
            ("a/B.c(I[La/B|)V", "a.B", "c", "(I[La/B;)V", Line::Unknown),
            ("Lcom/foo/Bar;::baz", "com.foo.Bar", "baz", "", Line::Unknown),
            ("Lcom/foo/Bar;.baz", "com.foo.Bar", "baz", "", Line::Unknown),
            ("Lcom/foo/Bar;baz(J)[I", "com.foo.Bar", "baz", "(J)[I", Line::Unknown),
            ("com/foo/Bar:::baz", "com.foo.Bar", "baz", "", Line::Unknown),
            ("com/foo/Bar:.baz", "com.foo.Bar", "baz", "", Line::Unknown),
            ("int Work.fib(int)", "Work", "fib", "(I)I", Line::Unknown),
            (
                "java.lang.Object a.B.<init>(a.C[], long, b.D$E)",
                "a.B",
                "<init>",
                "([La/C;JLb/D$E;)Ljava/lang/Object;",
                Line::Unknown,
            ),
            ("void a.B.c()", "a.B", "c", "()V", Line::Unknown),
            ("void a.B.c", "a.B", "c", "", Line::Unknown),
            ("A$$Lambda$14/0x00ff.run", "A$$Lambda$14/0x00ff", "run", "", Line::Unknown),
            ("p/A$$Lambda.0x00ff.run", "p.A$$Lambda.0x00ff", "run", "", Line::Unknown),
            ("net/http.Get", "net/http", "Get", "", Line::Unknown),
            ("net/http.(*conn).serve", "net/http", "(*conn).serve", "", Line::Unknown),
            ("internal/abi.Kind.String", "internal/abi.Kind", "String", "", Line::Unknown),
            ("a.com/b/C.d", "a.com/b/C", "d", "", Line::Unknown),
            ("a/b.c_[j]", "a.b", "c", "", Line::Compiled),
            ("T.f(java.lang.String)", "T", "f(java.lang.String)", "", Line::Unknown),
            ("T.f:0", "T", "f:0", "", Line::Unknown),
            ("start_thread", "", "start_thread", "", Line::Unknown),
            ("libc.so.6`read", "", "libc.so.6`read", "", Line::Unknown),
            ("lib/libFoo.so", "lib/libFoo", "so", "", Line::Unknown),
            ("/usr/lib/libz.so.1.2", "", "/usr/lib/libz.so.1.2", "", Line::Unknown),
            ("std::vector<a.b>::push(int)", "std::vector<a", "b>::push(int)", "", Line::Unknown),
            ("Foo::bar(int, x.y) const", "", "Foo::bar(int, x.y) const", "", Line::Unknown),
            ("[unknown]", "", "[unknown]", "", Line::Unknown),
            (".text", "", ".text", "", Line::Unknown),
            ("_[j]", "", "_[j]", "", Line::Unknown),
            ("T.", "T", "", "", Line::Unknown),
            ("::", "", "::", "", Line::Unknown),
            ("", "", "", "", Line::Unknown),
        ] {
            let name = FrameName::of(frame);
            assert_eq!((&*name.class, name.method), (class, method), "{frame}");
            assert_eq!((&*name.signature, name.line), (signature, line), "{frame}");
        }
    }

    #[test]
    fn only_java_methods_have_the_internal_form() {
        for (text, source, class, method, signature) in [
            ("java/util/HashMap.get", "", "java.util.HashMap", "get", ""),
            ("java/util/HashMap.get(I)V", "", "java.util.HashMap", "get", "(I)V"),
            ("java/util/HashMap.<init>", "", "java.util.HashMap", "<init>", ""),
            ("java/util/HashMap.get_[j]", "", "java.util.HashMap", "get", ""),
            ("java/util/HashMap.get:55", "", "java.util.HashMap", "get", ""),
            ("Ljava/util/HashMap;.get", "", "java.util.HashMap", "get", ""),
            ("Ljava/util/HashMap;get(J)[I", "", "java.util.HashMap", "get", "(J)[I"),
            ("Ljava/util/HashMap;::get", "", "java.util.HashMap", "get", ""),
            ("a/B$$Lambda/0x00ff.run", "", "a.B$$Lambda/0x00ff", "run", ""),
            ("a/B$$Lambda$4/0x00ff.run", "", "a.B$$Lambda$4/0x00ff", "run", ""),
            ("a/B$$Lambda.0x00ff.run", "", "a.B$$Lambda.0x00ff", "run", ""),
            ("clojure/core$map.invoke", "", "clojure.core$map", "invoke", ""),
            ("a/b/c.d", "c.java", "a.b.c", "d", ""),
            ("a/b/c.d", "Main.kt", "a.b.c", "d", ""),
        ] {
            let name = FrameName::of_internal_form(text, source).unwrap();
            assert_eq!((&*name.class, name.method), (class, method), "{text}");
            assert_eq!(name.signature, signature, "{text}");
        }
        for (text, source) in [
            ("java.util.HashMap.get", "HashMap.java"),
            ("a/b/c.d", ""),
            ("a/b/c.d", "c.go"),
            ("net/http.Get", "server.go"),
            ("net/http.(*conn).serve", "server.go"),
            ("x/Y.(*T).f", ""),
            ("github.com/x/Y.Func", ""),
            ("internal/abi.Kind.String", ""),
            ("gopkg.in/yaml.v3.(*Decoder).Decode", ""),
            ("main.(*Map[go.shape.int]).Get", ""),
            ("/usr/lib/libFoo.so", ""),
            ("lib/libFoo.so", ""),
            ("std::vector<A/B.c>::push(int)", ""),
            ("[Foo/Bar.baz]", ""),
            ("do_A/B.c_[k]", ""),
            ("", ""),
        ] {
            assert_eq!(FrameName::of_internal_form(text, source), None, "{text}");
        }
    }

    #[test]
    fn signatures() {
        for text in ["()V", "(I)I", "([[JLa/b/C;Z)[La;"] {
            assert!(is_signature(text), "{text}");
        }
        for text in ["(int)", "()", "(V)V", "(L;)V", "()[V", "(I)II", "(I", "I"] {
            assert!(!is_signature(text), "{text}");
        }
    }
}
