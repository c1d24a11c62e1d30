//! The classes that get the field for the record of their objects.
//!
//! In each chain of superclasses, the class directly below `java/lang/Object` gets the field.
//! Classes whose objects HotSpot itself lays out, fills or takes apart do not get it if an
//! additional field would break them or HotSpot. `java/lang/Object` does not get it either, because
//! those classes inherit from it. The readers of the field decide how to treat objects without it.

use perk_classfile::{ClassEditor, ClassFile, Error, access};

use crate::{Names, fields};

const OBJECT: &[u8] = b"java/lang/Object";

/// The superclass of the box classes. Its other subclasses get the field.
const NUMBER: &[u8] = b"java/lang/Number";

/// The box classes. C2 assumes that a box has one field (`callGenerator.cpp`,
/// `scalarize_debug_usages`).
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

/// The package of vectors, stack chunks and continuations. C2 assumes that vectors have one field
/// (`VectorSupport.VectorPayload`). For stack chunks and continuations, the JVM copies frames to
/// and from memory that it does not clear.
const JVM_PACKAGE: &[u8] = b"jdk/internal/vm/";

/// The event classes of Flight Recorder. It adds fields to events by itself, compares them with
/// classes that mirror them, and writes them with a class that the JIT's code knows.
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
    // A class without a constructor does not have objects.
    let has_constructor = || class.methods().any(|method| method.name() == Ok(b"<init>"));
    let is_interface = class.access_flags() & access::INTERFACE != 0;
    Ok(is_first && !is_interface && !is_left_out() && has_constructor())
}

/// Adds the field before all others to a class that does not have it. Returns whether that is
/// possible.
pub(crate) fn add_record(editor: &mut ClassEditor<'_>, names: Names) -> bool {
    editor.add_field(crate::class::ADDED, names.of(fields::OBJECT_RECORD), "I").is_ok()
}

/// Returns a class with the field and no other change; `None` if it does not get the field.
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
