//! Which classes get the field for the record of their objects.
//!
//! One class of each line of superclasses has it, that right below `java/lang/Object`. Not those
//! whose objects HotSpot lays out, fills or takes apart by itself, and that break, or break it, when
//! there is one field more: nor `java/lang/Object`, which all of those inherit from. What becomes of
//! objects without the field is for those to say who read it.

use perk_classfile::{ClassEditor, ClassFile, Error, access};

use crate::{Names, fields};

const OBJECT: &[u8] = b"java/lang/Object";

/// The superclass of boxes: other classes below it get the field.
const NUMBER: &[u8] = b"java/lang/Number";

/// C2 takes it that a box has one field (`callGenerator.cpp`, `scalarize_debug_usages`).
const BOXES: [&[u8]; 8] = [
    b"java/lang/Boolean",
    b"java/lang/Byte",
    b"java/lang/Character",
    b"java/lang/Double",
    b"java/lang/Float",
    b"java/lang/Integer",
    b"java/lang/Long",
    b"java/lang/Short",
];

/// Vectors have one field in C2's code (`VectorSupport.VectorPayload`); of stack chunks and
/// continuations the JVM copies frames into and out of memory that it does not clear.
const JVM_PACKAGE: &[u8] = b"jdk/internal/vm/";

/// Flight Recorder adds fields to events by itself, holds them against classes that mirror them, and
/// writes them with a class that the JIT's code knows.
const RECORDER: [&[u8]; 4] = [
    b"jdk/internal/event/Event",
    b"jdk/jfr/internal/MirrorEvent",
    b"jdk/jfr/internal/EventWriter",
    b"jdk/jfr/internal/event/EventWriter",
];

/// Whether a class gets the field.
pub(crate) fn has_record(class: &ClassFile<'_>) -> Result<bool, Error> {
    let name = class.name()?;
    let superclass = class.super_name()?;
    let is_first = superclass == Some(OBJECT) || superclass == Some(NUMBER);
    let is_left_out = || {
        name == NUMBER
            || BOXES.contains(&name)
            || name.starts_with(JVM_PACKAGE)
            || RECORDER.contains(&name)
    };
    // What has no constructor has no objects.
    let has_constructor = || class.methods().any(|method| method.name() == Ok(b"<init>"));
    let is_interface = class.access_flags() & access::INTERFACE != 0;
    Ok(is_first && !is_interface && !is_left_out() && has_constructor())
}

/// Adds the field to a class that has none, before all others; returns whether that can be.
pub(crate) fn add_record(editor: &mut ClassEditor<'_>, names: Names) -> bool {
    editor.add_field(crate::class::ADDED, names.of(fields::OBJECT_RECORD), "I").is_ok()
}

/// A class with the field and nothing else; `None` if it does not get it.
///
/// # Errors
///
/// If the bytes are not a class file.
pub fn with_record(bytes: &[u8], names: Names) -> Result<Option<Vec<u8>>, Error> {
    let class = ClassFile::parse(bytes)?;
    if !has_record(&class)? {
        return Ok(None);
    }
    let mut editor = ClassEditor::new(&class);
    Ok(add_record(&mut editor, names).then(|| editor.finish().bytes))
}
