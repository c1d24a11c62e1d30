//! HEAP DUMP: its objects are counted by class.

use perk_profile::{Event, HeapClassRow, HeapHistogram, HeapRoot, KeyedMap};

use super::contents::Contents;
use super::section::SectionReader;
use crate::lines::{number, source_form, text};

/// The objects of a class, or of all.
#[derive(Clone, Copy, Default)]
struct ClassObjects {
    count: u64,
    bytes: u64,
}

/// HEAP DUMP.
pub(super) struct HeapDumpSection {
    first_line: usize,
    /// The objects by the class's name in the file.
    by_class: KeyedMap<Box<[u8]>, ClassObjects>,
    /// The counts in the order of [`HeapRoot::ALL`].
    root_counts: [u64; HeapRoot::ALL.len()],
    class_count: u64,
}

impl HeapDumpSection {
    pub(super) fn new(first_line: usize) -> Self {
        Self {
            first_line,
            by_class: KeyedMap::default(),
            root_counts: Default::default(),
            class_count: 0,
        }
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

impl SectionReader for HeapDumpSection {
    fn title(&self) -> &'static str {
        "HEAP DUMP"
    }

    fn columns(&self) -> &'static str {
        "ROOT, OBJ, ARR or CLS …"
    }

    fn row(&mut self, line: &[u8], _: &mut Contents) -> Result<bool, String> {
        match line {
            // A line of a field or an element.
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
            [b'R', b'O', b'O', b'T', b' ', rest @ ..] => {
                self.root_counts[root_kind(rest) as usize] += 1;
            }
            [b'C', b'L', b'S', b' ', ..] => self.class_count += 1,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn close(self: Box<Self>, contents: &mut Contents) {
        let profile = &mut contents.profile;
        let mut heap = HeapHistogram::default();
        let mut by_class: Vec<_> = self.by_class.into_iter().collect();
        by_class.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, objects) in by_class {
            let class = profile.symbols.class(&source_form(&text(&name)));
            heap.rows.push(HeapClassRow {
                class,
                instance_count: objects.count,
                shallow_bytes: objects.bytes,
            });
        }
        if self.class_count > 0 {
            let class = profile.symbols.class("java.lang.Class");
            let instance_count = self.class_count;
            heap.rows.push(HeapClassRow { class, instance_count, shallow_bytes: 0 });
            profile.notes.push(format!(
                "line {}: HEAP DUMP has no sizes of its {instance_count} classes",
                self.first_line
            ));
        }
        heap.rank();
        let roots = HeapRoot::ALL.into_iter().zip(self.root_counts);
        heap.roots = roots.filter(|&(_, count)| count > 0).collect();
        profile.events.push(Event::Heap(heap));
    }
}

/// Returns the kind of a root: `%x (kind=<thread>, …)`.
fn root_kind(line: &[u8]) -> HeapRoot {
    let line = text(line);
    let kind = line.split_once("(kind=<").and_then(|(_, rest)| rest.split_once('>'));
    kind.and_then(|(kind, _)| HeapRoot::of_name(kind)).unwrap_or(HeapRoot::Unknown)
}

/// Returns the class and the size in `%x (sz=%u, trace=%u, …class=%s@%x)`. Arrays of primitive
/// types do not have an address of a class. The end may be missing.
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
