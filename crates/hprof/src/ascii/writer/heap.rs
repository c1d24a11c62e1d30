//! Writes heap dumps: the HEAP DUMP section.
//!
//! The section begins with the number of objects and the roots, which are known only at its end. So
//! the objects go to a temporary file first.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};

use perk_profile::{KeyedMap, KeyedSet, Profile, StrId, TraceId};

use super::Writer;
use crate::ThreadStart;
use crate::heap::{
    ArrayHead, Context, Elements, FieldType, HeapClass, HeapClasses, HeapCounts, HeapOptions,
    InstanceLayout, Rewrite, Root, RootKind, Sink, is_resolved_references, number,
};
use crate::lines::one_line;
use crate::write::date;

/// Names of fields shorter than this are followed by a second tab.
const TAB_STOP: usize = 8;
/// Lines are written once they reach this size.
const LINES_BYTES: usize = 1 << 16;
/// The bytes of an id in the JVM's dump.
const ID_BYTES: usize = 8;

impl<W: Write> Writer<W> {
    /// Rewrites the JVM's heap dump: see [`crate::Writer::heap_dump`].
    pub fn heap_dump(
        &mut self,
        profile: &mut Profile,
        input: &mut impl Read,
        options: &HeapOptions,
        context: &mut dyn Context,
    ) -> io::Result<HeapCounts> {
        // The first root refers to the system trace.
        self.traces(profile, [profile.system_trace()])?;
        let mut section = HeapDumpText {
            objects: Lines { file: perk_files::nameless(&options.folder)?, text: Vec::new() },
            writer: self,
            with_primitive_arrays: options.primitive_arrays,
            array: None,
            holders: KeyedMap::default(),
            constants: KeyedMap::default(),
        };
        Rewrite { profile, options, context }.run(input, &mut section)
    }
}

struct HeapDumpText<'w, W: Write> {
    writer: &'w mut Writer<W>,
    /// The lines of objects.
    objects: Lines,
    with_primitive_arrays: bool,
    /// The array whose elements come next.
    array: Option<OpenArray>,
    /// Classes, by the id of the array that holds the objects of their constant pool.
    holders: KeyedMap<u64, u64>,
    /// These objects with their positions, by class.
    constants: KeyedMap<u64, Vec<(u32, u64)>>,
}

/// An array of references.
struct OpenArray {
    /// The position of its next element.
    next: u32,
    /// The class whose constants it holds.
    holder: Option<u64>,
}

impl<W: Write> HeapDumpText<'_, W> {
    fn elements(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(array) = &mut self.array else { return Ok(()) };
        for element in bytes.chunks_exact(ID_BYTES) {
            let (position, id) = (array.next, number(element));
            array.next += 1;
            if id == 0 {
                continue;
            }
            self.objects.text("\t[").decimal(position.into()).text("]\t\t").hex(id).end()?;
            if let Some(class) = array.holder {
                self.constants.entry(class).or_default().push((position, id));
            }
        }
        Ok(())
    }

    /// Writes a class after those above it.
    fn class_lines(
        &mut self,
        profile: &Profile,
        classes: &HeapClasses,
        written: &mut KeyedSet<u64>,
        class: &HeapClass,
    ) -> io::Result<()> {
        let mut above = Vec::new();
        let mut next = Some(class);
        while let Some(class) = next.filter(|class| written.insert(class.id)) {
            above.push(class);
            next = classes.peek(class.superclass);
        }
        for class in above.into_iter().rev() {
            let text = |name| one_line(profile.symbols.strings.get(name));
            let out = &mut self.writer.out;
            writeln!(out, "CLS {:x} (name={}, trace=0)", class.id, text(class.name))?;
            let fields = [
                ("super", class.superclass),
                ("loader", class.loader),
                ("signers", class.signers),
                ("domain", class.domain),
            ];
            for (name, id) in fields.into_iter().filter(|&(_, id)| id != 0) {
                writeln!(out, "\t{name}\t\t{id:x}")?;
            }
            for &(name, field, id) in &class.statics {
                if field == FieldType::Object && id != 0 {
                    writeln!(out, "\tstatic {}\t{id:x}", text(name))?;
                }
            }
            for (position, id) in self.constants.get(&class.id).into_iter().flatten() {
                writeln!(out, "\tconstant pool entry {position}\t{id:x}")?;
            }
        }
        Ok(())
    }
}

impl<W: Write> Sink for HeapDumpText<'_, W> {
    const KEEPS_STATICS: bool = true;

    fn holds_heap_back(&self) -> bool {
        true
    }

    fn load_class(&mut self, _: &Profile, _: u64, _: StrId) -> io::Result<()> {
        Ok(())
    }

    fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        self.writer.thread_start(thread)
    }

    fn trace(&mut self, profile: &Profile, trace: TraceId) -> io::Result<()> {
        self.writer.traces(profile, [trace])
    }

    fn class(
        &mut self,
        profile: &Profile,
        class: &HeapClass,
        _: &InstanceLayout,
    ) -> io::Result<()> {
        let holds = |name| is_resolved_references(profile.symbols.strings.get(name));
        if let Some(field) = class.statics.iter().find(|field| field.2 != 0 && holds(field.0)) {
            self.holders.insert(field.2, class.id);
        }
        Ok(())
    }

    fn instance(
        &mut self,
        profile: &Profile,
        (id, trace): (u64, u32),
        class: &HeapClass,
        layout: &InstanceLayout,
        values: &[u8],
    ) -> io::Result<()> {
        let text = |name| one_line(profile.symbols.strings.get(name));
        let line = self.objects.text("OBJ ").hex(id).text(" (sz=").decimal(class.object_bytes);
        let line = line.text(", trace=").decimal(trace.into()).text(", class=");
        line.text(&text(class.name)).text("@").hex(class.id).text(")").end()?;
        for field in layout.references() {
            let id = number(&values[field.at..field.at + ID_BYTES]);
            if id != 0 {
                let name = text(field.name);
                let tab = if name.chars().count() < TAB_STOP { "\t" } else { "" };
                self.objects.text("\t").text(&name).text("\t").text(tab).hex(id).end()?;
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        profile: &Profile,
        array: &ArrayHead,
        class: Option<&HeapClass>,
        elements: &[u8],
    ) -> io::Result<()> {
        let &ArrayHead { id, trace, object_bytes: size, mut length, .. } = array;
        let line = self.objects.text("ARR ").hex(id).text(" (sz=").decimal(size);
        let line = line.text(", trace=").decimal(trace.into()).text(", nelems=");
        self.array = match array.elements {
            Elements::Objects(class_id) => {
                let name = class.map_or("", |class| profile.symbols.strings.get(class.name));
                let line = line.decimal(length.into()).text(", elem type=").text(&one_line(name));
                line.text("@").hex(class_id).text(")").end()?;
                Some(OpenArray { next: 0, holder: self.holders.get(&id).copied() })
            }
            Elements::Primitives(element) => {
                length = if self.with_primitive_arrays { length } else { 0 };
                let line = line.decimal(length.into()).text(", elem type=");
                line.text(element.name().unwrap_or_default()).text("[])").end()?;
                None
            }
        };
        self.elements(elements)
    }

    fn more_elements(&mut self, elements: &[u8]) -> io::Result<()> {
        self.elements(elements)
    }

    fn roots(&mut self, _: &[Root]) -> io::Result<()> {
        Ok(())
    }

    fn end(
        &mut self,
        profile: &Profile,
        roots: &[Root],
        classes: &HeapClasses,
        counts: &HeapCounts,
    ) -> io::Result<()> {
        let &HeapCounts { object_count, object_bytes, .. } = counts;
        let out = &mut self.writer.out;
        let stamp = date(None, profile).ctime();
        writeln!(out, "HEAP DUMP BEGIN ({object_count} objects, {object_bytes} bytes) {stamp}")?;
        writeln!(out, "ROOT 0 (kind=<thread>, id=200000, trace=300000)")?;
        for &root in roots {
            let name = classes.peek(root.id).map(|class| profile.symbols.strings.get(class.name));
            root_line(out, root, name)?;
        }
        self.objects.copy_to(out)?;
        let mut written = KeyedSet::default();
        for class in classes.dumped() {
            self.class_lines(profile, classes, &mut written, class)?;
        }
        writeln!(self.writer.out, "HEAP DUMP END")
    }
}

/// Lines that go to a file. With millions of them, most of the time would go into the formatting of
/// numbers.
struct Lines {
    file: File,
    text: Vec<u8>,
}

impl Lines {
    fn text(&mut self, text: &str) -> &mut Self {
        self.text.extend_from_slice(text.as_bytes());
        self
    }

    fn hex(&mut self, number: u64) -> &mut Self {
        let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1);
        let digit = |at: u32| b"0123456789abcdef"[(number >> (4 * at) & 0xf) as usize];
        self.text.extend((0..digits).rev().map(digit));
        self
    }

    fn decimal(&mut self, mut number: u64) -> &mut Self {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.text.extend_from_slice(&digits[at..]);
        self
    }

    /// Ends a line.
    fn end(&mut self) -> io::Result<()> {
        self.text.push(b'\n');
        if self.text.len() < LINES_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Writes all of them, whole lines at a time: a reader of the growing file must find only whole
    /// lines.
    fn copy_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.flush()?;
        self.file.rewind()?;
        let mut lines = BufReader::with_capacity(LINES_BYTES, &self.file);
        let mut text = std::mem::take(&mut self.text);
        loop {
            let read = lines.fill_buf()?;
            let count = read.len();
            if count == 0 {
                return Ok(());
            }
            text.extend_from_slice(read);
            lines.consume(count);
            let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            out.write_all(&text[..whole])?;
            out.flush()?;
            text.drain(..whole);
        }
    }
}

/// Writes a root, and the name of the class if the root is one.
fn root_line(out: &mut impl Write, root: Root, class: Option<&str>) -> io::Result<()> {
    write!(out, "ROOT {:x} (kind=<{}>", root.id, root.kind.name())?;
    match root.kind {
        RootKind::JniGlobal(reference) => write!(out, ", id={reference:x}, trace=0"),
        RootKind::JniLocal(stack) | RootKind::JavaFrame(stack) | RootKind::JniMonitor(stack) => {
            write!(out, ", thread={}, frame={}", stack.thread_serial, stack.depth.cast_signed())
        }
        RootKind::NativeStack(serial) | RootKind::ThreadBlock(serial) => {
            write!(out, ", thread={serial}")
        }
        RootKind::StickyClass => {
            write!(out, ", name={}", one_line(class.unwrap_or("Unknown_class")))
        }
        RootKind::Thread { serial, trace } => write!(out, ", id={serial}, trace={trace}"),
        _ => Ok(()),
    }?;
    writeln!(out, ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_as_ever() {
        let mut lines =
            Lines { file: perk_files::nameless(&std::env::temp_dir()).unwrap(), text: vec![] };
        let numbers = [0, 1, 9, 10, 15, 16, 0xffd0_1890, u64::MAX >> 1, u64::MAX];
        for number in numbers {
            lines.decimal(number).text(" ").hex(number).end().unwrap();
        }
        let expected = numbers.map(|number| format!("{number} {number:x}\n")).concat();
        assert_eq!(lines.text, expected.as_bytes());
    }
}
