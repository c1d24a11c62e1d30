//! The lines of HEAP DUMP.

use perk_hprof::heap::{FieldType, JavaStack, RootKind};

/// The beginning of a dump's first line, and of its last.
pub(super) const BEGIN: &[u8] = b"HEAP DUMP BEGIN";
pub(super) const END: &[u8] = b"HEAP DUMP END";

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Line<'a> {
    Root {
        id: u64,
        kind: RootKind,
    },
    Object(TextObject<'a>),
    Array(TextArray<'a>),
    Class {
        id: u64,
        name: &'a [u8],
        trace: u32,
    },
    /// A reference of the object above: the name of the field, `[i]`, or what a class refers to.
    Member {
        name: &'a [u8],
        id: u64,
    },
}

/// OBJ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TextObject<'a> {
    pub(super) id: u64,
    pub(super) bytes: u64,
    pub(super) trace: u32,
    pub(super) class: &'a [u8],
    pub(super) class_id: u64,
}

/// ARR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TextArray<'a> {
    pub(super) id: u64,
    pub(super) bytes: u64,
    pub(super) trace: u32,
    pub(super) length: u32,
    pub(super) element: FieldType,
    /// The class of the array, or in texts before JDK 5 of its elements.
    pub(super) class: &'a [u8],
    pub(super) class_id: u64,
}

impl TextArray<'_> {
    /// Whether the class is that of the array, and not of its elements.
    pub(super) fn has_own_class(&self) -> bool {
        self.class.ends_with(b"]") || self.class.starts_with(b"[")
    }
}

impl<'a> Line<'a> {
    /// Reads a line.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        if let Some(member) = line.strip_prefix(b"\t") {
            let at = member.iter().rposition(|&byte| byte == b'\t')?;
            return Some(Self::Member {
                name: member[..at].trim_ascii_end(),
                id: hex(&member[at + 1..])?,
            });
        }
        let (kind, rest) = line.split_at_checked(line.iter().position(|&byte| byte == b' ')?)?;
        let open = rest.iter().position(|&byte| byte == b'(')?;
        let id = hex(&rest[..open])?;
        let facts = &rest[open + 1..];
        let facts = facts.strip_suffix(b")").unwrap_or(facts);
        let trace = || decimal(value(facts, b"trace=").unwrap_or(b"0")).unwrap_or(0) as u32;
        Some(match kind {
            b"ROOT" => Self::Root { id, kind: root(facts) },
            b"OBJ" => {
                let (class, class_id) = class(name(facts, b"class=")?);
                let bytes = decimal(value(facts, b"sz=")?)?;
                Self::Object(TextObject { id, bytes, trace: trace(), class, class_id: class_id? })
            }
            b"ARR" => {
                let (class, class_id) = class(name(facts, b"elem type=")?);
                let element = element(class).unwrap_or(FieldType::Object);
                let class_id = match element {
                    FieldType::Object => class_id?,
                    _ => 0,
                };
                let bytes = decimal(value(facts, b"sz=")?)?;
                let length = u32::try_from(decimal(value(facts, b"nelems=")?)?).ok()?;
                Self::Array(TextArray {
                    id,
                    bytes,
                    trace: trace(),
                    length,
                    element,
                    class,
                    class_id,
                })
            }
            b"CLS" => {
                // A name has no comma and no blank.
                let name = value(facts, b"name=")?;
                Self::Class { id, name, trace: trace() }
            }
            _ => return None,
        })
    }
}

/// Returns the index of an element: `[i]`.
pub(super) fn element_index(name: &[u8]) -> Option<u32> {
    u32::try_from(decimal(name.strip_prefix(b"[")?.strip_suffix(b"]")?)?).ok()
}

/// Returns the type of the elements of an array of primitive values: `char[]`, `[C`, `char`.
fn element(class: &[u8]) -> Option<FieldType> {
    let name = std::str::from_utf8(class).ok()?;
    let name = perk_profile::names::from_signature(name);
    let name = name.strip_suffix("[]").unwrap_or(&name).trim_ascii_end();
    (4..=11).filter_map(FieldType::from_hprof).find(|it| it.name() == Some(name))
}

/// Returns a class's name and its id: `NAME@%x`.
fn class(text: &[u8]) -> (&[u8], Option<u64>) {
    match text.iter().rposition(|&byte| byte == b'@') {
        Some(at) => (&text[..at], hex(&text[at + 1..])),
        None => (text, None),
    }
}

fn root(facts: &[u8]) -> RootKind {
    let serial = |key| decimal(value(facts, key).unwrap_or(b"0")).unwrap_or(0) as u32;
    let stack = || JavaStack { thread_serial: serial(b"thread="), depth: depth(facts) };
    let kind = facts.strip_prefix(b"kind=<").unwrap_or(facts);
    let kind = &kind[..kind.iter().position(|&byte| byte == b'>').unwrap_or(kind.len())];
    match kind {
        b"JNI global ref" => {
            RootKind::JniGlobal(hex(value(facts, b"id=").unwrap_or(b"0")).unwrap_or(0))
        }
        b"JNI local ref" => RootKind::JniLocal(stack()),
        b"Java stack" => RootKind::JavaFrame(stack()),
        b"native stack" => RootKind::NativeStack(serial(b"thread=")),
        b"system class" => RootKind::StickyClass,
        b"thread block" => RootKind::ThreadBlock(serial(b"thread=")),
        b"busy monitor" => RootKind::Monitor,
        b"thread" => RootKind::Thread { serial: serial(b"id="), trace: serial(b"trace=") },
        _ => RootKind::Unknown,
    }
}

/// Returns the number of a frame, which may be -1.
fn depth(facts: &[u8]) -> u32 {
    let frame = value(facts, b"frame=").unwrap_or_default();
    if frame.starts_with(b"-") {
        return u32::MAX;
    }
    decimal(frame).and_then(|frame| u32::try_from(frame).ok()).unwrap_or(u32::MAX)
}

/// Returns the text from a key on, up to a comma.
fn value<'a>(facts: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let rest = name(facts, key)?;
    Some(&rest[..rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len())])
}

/// Returns the text from a key on.
fn name<'a>(facts: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    if let Some(rest) = facts.strip_prefix(key) {
        return Some(rest);
    }
    let at = memchr::memmem::find_iter(facts, key).find(|&at| at > 0 && facts[at - 1] == b' ')?;
    Some(&facts[at + key.len()..])
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn hex(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits.trim_ascii()).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_all_ages_are_read() {
        let root = |id, kind| Line::Root { id, kind };
        let stack = |depth| JavaStack { thread_serial: 200_000, depth };
        let array = |class: &'static [u8], class_id, element| {
            Line::Array(TextArray {
                id: 0xa,
                bytes: 24,
                trace: 7,
                length: 2,
                element,
                class,
                class_id,
            })
        };
        for (line, expected) in [
            (
                &b"ROOT 500007e7 (kind=<thread>, id=200003, trace=300001)"[..],
                root(0x5000_07e7, RootKind::Thread { serial: 200_003, trace: 300_001 }),
            ),
            (
                b"ROOT 1 (kind=<JNI global ref>, id=2a, trace=300000)",
                root(1, RootKind::JniGlobal(0x2a)),
            ),
            (
                b"ROOT 1 (kind=<Java stack>, thread=200000, frame=3)",
                root(1, RootKind::JavaFrame(stack(3))),
            ),
            (
                b"ROOT 1 (kind=<JNI local ref>, thread=200000, frame=-1)",
                root(1, RootKind::JniLocal(stack(u32::MAX))),
            ),
            (
                b"ROOT 1 (kind=<thread block>, thread=200000)",
                root(1, RootKind::ThreadBlock(200_000)),
            ),
            (b"ROOT 1 (kind=<system class>, name=a.B)", root(1, RootKind::StickyClass)),
            (b"ROOT 1 (kind=<busy monitor>)", root(1, RootKind::Monitor)),
            (b"ROOT 1 (kind=<unknown>)", root(1, RootKind::Unknown)),
            (
                b"OBJ 500001a9 (sz=40, trace=300040, class=a.B$1@50000150)",
                Line::Object(TextObject {
                    id: 0x5000_01a9,
                    bytes: 40,
                    trace: 300_040,
                    class: b"a.B$1",
                    class_id: 0x5000_0150,
                }),
            ),
            (
                b"ARR a (sz=24, trace=7, nelems=2, elem type=java.lang.Object[]@b)",
                array(b"java.lang.Object[]", 0xb, FieldType::Object),
            ),
            (
                b"ARR a (sz=24, trace=7, nelems=2, elem type=a.B@b)",
                array(b"a.B", 0xb, FieldType::Object),
            ),
            (
                b"ARR a (sz=24, trace=7, nelems=2, elem type=char[])",
                array(b"char[]", 0, FieldType::Char),
            ),
            (b"ARR a (sz=24, trace=7, nelems=2, elem type=int)", array(b"int", 0, FieldType::Int)),
            (
                b"ARR a (sz=24, trace=7, nelems=2, elem type=byte[][]@b)",
                array(b"byte[][]", 0xb, FieldType::Object),
            ),
            (
                b"CLS 1 (name=a.B, trace=300000)",
                Line::Class { id: 1, name: b"a.B", trace: 300_000 },
            ),
            (b"\t[0]\t\t500001af", Line::Member { name: b"[0]", id: 0x5000_01af }),
            (b"\tname\t\t1f", Line::Member { name: b"name", id: 0x1f }),
            (b"\tstatic separator\tff", Line::Member { name: b"static separator", id: 0xff }),
        ] {
            assert_eq!(Line::of(line), Some(expected), "{}", line.escape_ascii());
        }
        for line in [
            &b""[..],
            b"OBJ",
            b"OBJ x (sz=1)",
            b"OBJ 1 (sz=, class=a@1)",
            b"\tname",
            b"XYZ 1 (a=1)",
        ] {
            assert_eq!(Line::of(line), None, "{}", line.escape_ascii());
        }
        assert_eq!(element_index(b"[12]"), Some(12));
        assert_eq!(element_index(b"[x]"), None);
    }
}
