//! Names of functions in the form of other tools: class and method in one.

use std::borrow::Cow;

use perk_profile::Line;

use crate::frame_name::FrameName;

/// The parts of a function's name in a format for programs of any language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameParts<'a> {
    /// The class, in source form if it is one of Java.
    pub(crate) class: Cow<'a, str>,
    pub(crate) method: &'a str,
    /// The JVM's signature; empty if the name has none.
    pub(crate) signature: Cow<'a, str>,
    /// The line, where the name has it.
    pub(crate) line: Line,
}

impl<'a> NameParts<'a> {
    /// Takes a name apart. `source` is the function's source file, or empty.
    pub(crate) fn of(name: &'a str, source: &str) -> Self {
        match FrameName::of_internal_form(name, source) {
            Some(FrameName { class, method, signature, line, .. }) => {
                Self { class, method, signature: signature.into(), line }
            }
            None => Self::as_it_is(name),
        }
    }

    /// Takes apart a name whose class is in its final form.
    pub(crate) fn as_it_is(name: &'a str) -> Self {
        let (class, method) = split(name);
        Self { class: class.into(), method, signature: "".into(), line: Line::Unknown }
    }
}

/// Splits a name into class and method at its last dot that is outside brackets and after the last
/// slash (`com.acme.Foo.bar(int)`, `example.org/x/pkg.(*Map[...]).Get`). A leading dot does not
/// separate anything, and the path of a library has no class.
fn split(name: &str) -> (&str, &str) {
    if name.starts_with('/') {
        return ("", name);
    }
    let mut depth = 0_u32;
    for (at, byte) in name.bytes().enumerate().rev() {
        match byte {
            b')' | b']' => depth += 1,
            b'(' | b'[' => depth = depth.saturating_sub(1),
            b'.' if depth == 0 && at > 0 => return (&name[..at], &name[at + 1..]),
            b'/' if depth == 0 => break,
            _ => {}
        }
    }
    ("", name)
}

/// Does the reverse of [`split`]. Returns `[unknown]` if there is neither class nor method.
pub(crate) fn join(class: &str, method: &str) -> String {
    match (class, method) {
        ("", "") => "[unknown]".to_owned(),
        ("", method) => method.to_owned(),
        (class, method) => format!("{class}.{method}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_and_method() {
        for (name, class, method) in [
            ("java.util.HashMap.get", "java.util.HashMap", "get"),
            ("A$$Lambda/0x00ff.run", "A$$Lambda/0x00ff", "run"),
            ("T.f(java.lang.String)", "T", "f(java.lang.String)"),
            ("T.f(Ljava/lang/String;)V", "T", "f(Ljava/lang/String;)V"),
            ("main.main", "main", "main"),
            ("gopkg.in/yaml.v3.(*Decoder).Decode", "gopkg.in/yaml.v3.(*Decoder)", "Decode"),
            ("example.org/x/pkg.Map[...]", "example.org/x/pkg", "Map[...]"),
            ("main.(*Map[go.shape.int]).Get.func1", "main.(*Map[go.shape.int]).Get", "func1"),
            ("example.org/start", "", "example.org/start"),
            ("start_thread", "", "start_thread"),
            ("/usr/lib/jvm/libjvm.so", "", "/usr/lib/jvm/libjvm.so"),
            ("/usr/lib/libc.so.6", "", "/usr/lib/libc.so.6"),
            (".text", "", ".text"),
            ("T.", "T", ""),
            ("[unknown]", "", "[unknown]"),
            ("", "", ""),
        ] {
            assert_eq!(split(name), (class, method), "{name}");
            if !name.is_empty() {
                assert_eq!(join(class, method), name);
            }
        }
    }
}
