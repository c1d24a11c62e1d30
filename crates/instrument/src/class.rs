//! The instrumentation of a class: its probes and fields.

use perk_classfile::{
    ClassEditor, ClassFile, Code, Edited, Error, Member, Reach, SkipReason, access,
};
use perk_hotspot::annotations::Marks;

use crate::accesses::Accesses;
use crate::counts::Counts;
use crate::helper::{COUNTS_HELPER, FIELDS_HELPER, HELPER, HELPER_BASE, Helper, Uses};
use crate::probe::ProbeCall;
use crate::scan::{Kinds, Scanner};
use crate::{Instrumented, MethodName, Methods, Probes, fields, fresh, record};

const VIRTUAL_THREAD: &[u8] = b"java/lang/VirtualThread";

/// The flags of the fields that classes get.
pub(crate) const ADDED: u16 = access::PRIVATE | access::TRANSIENT | access::SYNTHETIC;

/// The annotation of a field that keeps its first value other than 0. The JIT compilers treat this
/// value as a constant.
const STABLE: &str = "Ljdk/internal/vm/annotation/Stable;";

/// Adds probes to a class file, and fields to classes of the JVM.
///
/// # Errors
///
/// If the bytes are not a class file, or a method's code cannot be read.
pub fn instrument(
    bytes: &[u8],
    probes: Probes,
    methods: &mut dyn Methods,
) -> Result<Instrumented, Error> {
    let class = ClassFile::parse(bytes)?;
    let name = class.name()?;
    let mut instrumented = Instrumented { bytes: None, method_count: 0, skipped: Vec::new() };
    if is_untouched(name) {
        return Ok(instrumented);
    }
    let mut editor = ClassEditor::new(&class);
    let mut is_edited = probes.object_record
        && record::has_record(&class)?
        && record::add_record(&mut editor, probes.names);
    is_edited |= add_fields(&mut editor, name, probes, &mut instrumented.skipped);
    let add = match () {
        () if probes.accesses => add_accesses,
        () if probes.blocks => add_counts,
        () => add_calls,
    };
    add(&class, name, probes, methods, &mut editor, &mut instrumented)?;
    is_edited |= instrumented.method_count > 0;
    let Edited { bytes, mut skipped } = editor.finish();
    // A method that does not have room for all probes may not have room for fewer either.
    skipped.dedup_by_key(|it| it.method);
    for it in skipped {
        if let SkipReason::Malformed(error) = it.reason {
            return Err(error);
        }
        let Some(method) = class.method(it.method) else { continue };
        instrumented.skipped.push((full_name(&method)?, it.reason.to_string()));
    }
    instrumented.bytes = is_edited.then_some(bytes);
    Ok(instrumented)
}

/// Adds the probes for calls and allocations.
fn add_calls(
    class: &ClassFile<'_>,
    name: &[u8],
    probes: Probes,
    methods: &mut dyn Methods,
    editor: &mut ClassEditor<'_>,
    instrumented: &mut Instrumented,
) -> Result<(), Error> {
    let source = source_file(class);
    let mut scanner = Scanner::new(class, name);
    let mut uses = Uses::new(probes.names);
    for (index, method) in class.methods().enumerate() {
        let is_selected = methods.selected(name, method.name()?);
        if !(is_selected || probes.heap || name == VIRTUAL_THREAD) {
            continue;
        }
        let Some(code) = method.code()? else { continue };
        let member = method_name(name, &method, source)?;
        let marks = Marks::of(class, &method);
        let is_synchronized = method.access_flags() & access::SYNCHRONIZED != 0;
        let kinds = kinds(&member, marks, is_synchronized, is_selected, probes);
        plan(&mut scanner, &code, &member, kinds, probes, methods)?;
        if scanner.plan.probes.is_empty() {
            continue;
        }
        let skipped = |reason| ([member.name, member.descriptor].concat(), reason);
        if let Err(reason) = scanner.plan.fit(&code, probes.leaving) {
            instrumented.skipped.push(skipped(reason));
            continue;
        }
        let number = if kinds.calls { methods.number(&member) } else { 0 };
        let Scanner { plan, edit, .. } = &mut scanner;
        if let Err(full) = plan.write(&code, number, probes.leaving, &mut uses, editor.pool(), edit)
        {
            instrumented.skipped.push(skipped(full.to_string()));
            continue;
        }
        if editor.edit_method(index, edit) {
            instrumented.method_count += 1;
        }
    }
    Ok(())
}

/// Adds the probes for accesses and allocation sites.
fn add_accesses(
    class: &ClassFile<'_>,
    name: &[u8],
    probes: Probes,
    methods: &mut dyn Methods,
    editor: &mut ClassEditor<'_>,
    instrumented: &mut Instrumented,
) -> Result<(), Error> {
    let mut accesses = Accesses::new(class, probes);
    let add: &mut Add<'_> = &mut |key, code, methods, editor, missing| {
        accesses.add(key, code, methods, editor, missing)
    };
    // The constructor of Object always reports the object.
    add_to_each(class, name, (methods, editor, instrumented), true, add)
}

/// Adds the probes for the executions of blocks.
fn add_counts(
    class: &ClassFile<'_>,
    name: &[u8],
    probes: Probes,
    methods: &mut dyn Methods,
    editor: &mut ClassEditor<'_>,
    instrumented: &mut Instrumented,
) -> Result<(), Error> {
    let mut counts = Counts::new(class, probes.names);
    let add: &mut Add<'_> =
        &mut |key, code, methods, editor, missing| counts.add(key, code, methods, editor, missing);
    add_to_each(class, name, (methods, editor, instrumented), false, add)
}

/// Adds the probes of a method, given by its index and name. Returns whether it has any, and adds the
/// reasons if some are missing.
type Add<'a> = dyn FnMut(
        (usize, &MethodName<'_>),
        &Code<'_>,
        &mut dyn Methods,
        &mut ClassEditor<'_>,
        &mut Vec<String>,
    ) -> Result<bool, Error>
    + 'a;

/// Adds probes to each method that is selected and has code; to the constructor of Object if
/// `with_root` is set.
fn add_to_each(
    class: &ClassFile<'_>,
    name: &[u8],
    (methods, editor, instrumented): (&mut dyn Methods, &mut ClassEditor<'_>, &mut Instrumented),
    with_root: bool,
    add: &mut Add<'_>,
) -> Result<(), Error> {
    let source = source_file(class);
    let mut missing = Vec::new();
    for (index, method) in class.methods().enumerate() {
        let member = method_name(name, &method, source)?;
        let is_wanted = match is_root(&member) {
            true => with_root && member.name == b"<init>",
            false => methods.selected(name, member.name),
        };
        let Some(code) = method.code()?.filter(|_| is_wanted) else { continue };
        if Marks::of(class, &method).switches_thread {
            continue;
        }
        let has_probes = add((index, &member), &code, methods, editor, &mut missing)?;
        instrumented.method_count += usize::from(has_probes);
        let full_name = [member.name, member.descriptor].concat();
        instrumented.skipped.extend(missing.drain(..).map(|it| (full_name.clone(), it)));
    }
    Ok(())
}

/// Returns the name of a method that has code.
fn method_name<'m>(
    class: &'m [u8],
    method: &Member<'m>,
    source: Option<&'m [u8]>,
) -> Result<MethodName<'m>, Error> {
    let (name, descriptor) = (method.name()?, method.descriptor()?);
    Ok(MethodName { class, name, descriptor, source, is_native: false })
}

/// Whether it is a method of Object that does not have any probes, except that its constructor
/// reports the object. Every constructor finally calls that constructor. `finalize` must stay
/// empty, because instances of a class with a `finalize` that is not empty have to be finalised.
fn is_root(method: &MethodName<'_>) -> bool {
    method.class == b"java/lang/Object" && matches!(method.name, b"<init>" | b"finalize")
}

/// Whether a class is left alone, because it runs below the probes: the helpers, the classes that
/// they call, and the classes that move a virtual thread's frames. A module does not have code.
fn is_untouched(class: &[u8]) -> bool {
    [HELPER, FIELDS_HELPER, COUNTS_HELPER, HELPER_BASE]
        .iter()
        .any(|name| class.starts_with(name.as_bytes()))
        || class == b"jdk/internal/misc/Unsafe"
        || class.starts_with(b"jdk/internal/vm/Continuation")
        || class == b"module-info"
}

/// Returns the kinds of probes that a method can have.
fn kinds(
    method: &MethodName<'_>,
    marks: Marks,
    is_synchronized: bool,
    is_selected: bool,
    probes: Probes,
) -> Kinds {
    let MethodName { class, name, descriptor, .. } = *method;
    // The current thread may change between entry and exit.
    let can_have_any = !is_root(method) && !marks.switches_thread;
    // Probes would be missing in the JIT's replacement code: such methods are leaves.
    let calls = can_have_any && is_selected && !marks.is_intrinsic;
    let can_allocate = can_have_any && probes.heap;
    let withholds = can_allocate && fresh::is_counted_elsewhere(class, name, descriptor);
    Kinds {
        calls,
        is_small: !is_synchronized && name != b"<clinit>",
        unwinding: probes.unwinding,
        timed: probes.timed,
        lines: calls && probes.lines,
        allocations: can_allocate && !withholds,
        withholds,
    }
}

/// Plans the probes of a method.
fn plan(
    scanner: &mut Scanner<'_>,
    code: &Code<'_>,
    method: &MethodName<'_>,
    kinds: Kinds,
    probes: Probes,
    methods: &mut dyn Methods,
) -> Result<(), Error> {
    scanner.scan(code, kinds, method.name == b"<init>", methods)?;
    let plan = &mut scanner.plan;
    match (method.class, method.name, method.descriptor) {
        (b"java/lang/Object", b"<init>", _) if probes.heap => {
            plan.add(0, Reach::FallThrough, ProbeCall::This(Helper::ALLOCATED));
        }
        // The carrier calls both methods. When `mount` returns and when `unmount` begins, the
        // virtual thread is the current thread and knows its carrier.
        (VIRTUAL_THREAD, b"mount", b"()V") => {
            for instruction in code.instructions() {
                let instruction = instruction?;
                if instruction.is_return() {
                    plan.add(instruction.pc, Reach::All, ProbeCall::This(Helper::MOUNTED));
                }
            }
        }
        (VIRTUAL_THREAD, b"unmount", b"()V") => {
            plan.add(0, Reach::FallThrough, ProbeCall::This(Helper::UNMOUNTED));
        }
        _ => {}
    }
    Ok(())
}

/// Adds the fields that a class of the JVM gets, and returns whether there are any. A field that
/// cannot be added is reported with the skipped methods.
fn add_fields(
    editor: &mut ClassEditor<'_>,
    class: &[u8],
    Probes { accesses, blocks, names, .. }: Probes,
    skipped: &mut Vec<(Vec<u8>, String)>,
) -> bool {
    let (plain, added) = match class {
        b"java/lang/Thread" => {
            let helper = match () {
                () if accesses => FIELDS_HELPER,
                () if blocks => COUNTS_HELPER,
                () => HELPER,
            };
            let (name, of) = (names.of(fields::THREAD_STATE), names.of(helper));
            (fields::THREAD_STATE, editor.add_field(ADDED, name, format!("L{of};")))
        }
        b"java/lang/Class" if !blocks => {
            let name = names.of(fields::CLASS_RECORDS);
            (fields::CLASS_RECORDS, editor.add_annotated_field(ADDED, name, "J", STABLE))
        }
        _ => return false,
    };
    if let Err(error) = added {
        skipped.push((plain.as_bytes().to_vec(), error.to_string()));
    }
    true
}

/// Returns the source file that a class names (JVM specification 4.7.10).
pub(crate) fn source_file<'c>(class: &'c ClassFile<'_>) -> Option<&'c [u8]> {
    let attribute = class.attributes().find(|it| it.name == b"SourceFile")?;
    let index = u16::from_be_bytes(*attribute.contents.first_chunk()?);
    class.pool().utf8(index).ok()
}

fn full_name(method: &Member<'_>) -> Result<Vec<u8>, Error> {
    Ok([method.name()?, method.descriptor()?].concat())
}
