//! HEAP DUMP: its objects are counted by class.

use rustc_hash::FxHashMap;

use super::Section;
use super::contents::Contents;
use crate::lines::{number, source_form, text};

/// The objects of a class, or of all.
#[derive(Clone, Copy, Default)]
struct Objects {
    count: u64,
    bytes: u64,
}

/// HEAP DUMP.
pub(super) struct HeapDump {
    first_line: usize,
    /// By the class's name as the file has it.
    by_class: FxHashMap<Box<[u8]>, Objects>,
    roots: u64,
    classes: u64,
}

impl HeapDump {
    pub(super) fn new(first_line: usize) -> Self {
        Self { first_line, by_class: FxHashMap::default(), roots: 0, classes: 0 }
    }

    fn add(&mut self, class: &[u8], bytes: u64) {
        let objects = match self.by_class.get_mut(class) {
            Some(objects) => objects,
            None => self.by_class.entry(class.into()).or_default(),
        };
        objects.count += 1;
        objects.bytes = objects.bytes.saturating_add(bytes);
    }
}

impl Section for HeapDump {
    fn title(&self) -> &'static str {
        "HEAP DUMP"
    }

    fn columns(&self) -> &'static str {
        "ROOT, OBJ, ARR or CLS …"
    }

    fn row(&mut self, line: &[u8], _: &mut Contents) -> Result<bool, String> {
        match line {
            // A field, an element.
            [b'\t', ..] => {}
            [b'O', b'B', b'J', b' ', rest @ ..] => {
                let Some((class, bytes)) = object(rest, b", class=") else { return Ok(false) };
                self.add(class, bytes);
            }
            [b'A', b'R', b'R', b' ', rest @ ..] => {
                let Some((class, bytes)) = object(rest, b", elem type=") else { return Ok(false) };
                if class.ends_with(b"]") || class.starts_with(b"[") {
                    self.add(class, bytes);
                } else {
                    // The agents before JDK 5 name the type of the elements.
                    self.add(&[class, b" []"].concat(), bytes);
                }
            }
            [b'R', b'O', b'O', b'T', b' ', ..] => self.roots += 1,
            [b'C', b'L', b'S', b' ', ..] => self.classes += 1,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn close(self: Box<Self>, contents: &mut Contents) {
        let mut all = Objects::default();
        for objects in self.by_class.values() {
            all.count += objects.count;
            all.bytes = all.bytes.saturating_add(objects.bytes);
        }
        let most = self.by_class.iter().max_by_key(|(name, objects)| (objects.bytes, *name));
        let most = most.map_or(String::new(), |(name, objects)| {
            let (name, Objects { count, bytes }) = (text(name), objects);
            format!("; most are of {}: {count} objects, {bytes} bytes", source_form(&name))
        });
        let Objects { count, bytes } = all;
        let note = format!(
            "line {}: HEAP DUMP of {count} objects, {bytes} bytes, {} classes, {} roots was \
             counted and not kept{most}",
            self.first_line, self.classes, self.roots
        );
        contents.profile.notes.push(note);
    }
}

/// The class and the size in `%x (sz=%u, trace=%u, …class=%s@%x)`; arrays of primitive types have
/// no address of a class. The end may be missing.
fn object<'a>(rest: &'a [u8], class: &[u8]) -> Option<(&'a [u8], u64)> {
    let at = rest.iter().position(|&byte| byte == b'(')?;
    let rest = rest[at + 1..].strip_prefix(b"sz=")?;
    let length = rest.iter().position(|&byte| byte == b',')?;
    let bytes = number(&rest[..length])?;
    let at = rest.windows(class.len()).position(|part| part == class)?;
    let name = &rest[at + class.len()..];
    let name = name.strip_suffix(b")").unwrap_or(name);
    let end = name.iter().rposition(|&byte| byte == b'@').unwrap_or(name.len());
    Some((&name[..end], bytes))
}
