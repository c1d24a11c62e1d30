//! The instrumentation of a class: its probes and fields.

mod constants;

use perk_classfile::{
    ClassEdit, ClassEditor, ClassFile, Code, Error, Member, PoolError, Reach, SkipReason, access,
    opcode,
};
use perk_hotspot::annotations::Marks;

use crate::accesses::Accesses;
use crate::counts::{self, Counts, PROBE_BYTES};
use crate::entries::Entries;
use crate::events::{EventProbes, Subject};
use crate::helper::{
    COUNTS_HELPER, EVENTS_HELPER, FIELDS_HELPER, HELPER, HELPER_BASE, Helper, Uses,
};
use crate::probe::{Plan, ProbeCall, Restoration};
use crate::scan::{Kinds, Scanner};
use crate::{ClassProbes, Events, MethodName, Methods, Places, Probes, fields, fresh, record};
pub use constants::VIRTUAL_THREAD;
pub(crate) use constants::{ADDED, OBJECT};

/// The reason why a method is not counted if all numbers of counters are taken.
const NO_COUNTERS: &str = "there are no more counters";

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
) -> Result<ClassProbes, Error> {
    let class = ClassFile::parse(bytes)?;
    let name = class.name()?;
    methods.class(&class)?;
    let mut instrumented = ClassProbes {
        bytes: None,
        method_count: 0,
        native_count: 0,
        skipped: Vec::new(),
        exempt: Vec::new(),
    };
    if is_untouched(name) {
        if probes.events != Events::NONE && !is_helper(name) && class.methods().len() > 0 {
            instrumented.native_count = native_count(&class);
            instrumented.exempt.push((b"*".to_vec(), "the class runs below the probes"));
        }
        return Ok(instrumented);
    }
    let mut editor = ClassEditor::new(&class);
    let mut is_edited = probes.object_record
        && record::has_record(&class)?
        && record::add_record(&mut editor, probes.names);
    is_edited |= !probes.late && add_fields(&mut editor, name, probes, &mut instrumented.skipped);
    let add = match () {
        () if probes.accesses => add_accesses,
        () if probes.events != Events::NONE => add_events,
        () => add_calls,
    };
    add(&class, name, probes, methods, &mut editor, &mut instrumented)?;
    is_edited |= instrumented.method_count > 0;
    let ClassEdit { bytes, mut skipped } = editor.finish();
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

/// Adds the probes for calls, allocations, and the executions of blocks or entries.
fn add_calls(
    class: &ClassFile<'_>,
    name: &[u8],
    probes: Probes,
    methods: &mut dyn Methods,
    editor: &mut ClassEditor<'_>,
    instrumented: &mut ClassProbes,
) -> Result<(), Error> {
    let source = source_file(class);
    let restoring = Restoration::of(probes);
    let mut scanner = Scanner::new(class, name);
    let mut uses = Uses::new(probes.names);
    let counts = Counts::new(class);
    let entries = Entries::new(class, name);
    let count = if probes.late { Helper::COUNT_SHARED } else { Helper::counting(name) };
    for (index, method) in class.methods().enumerate() {
        let is_selected = methods.selected(name, method.name()?);
        if !(is_selected || probes.heap || name == VIRTUAL_THREAD) {
            continue;
        }
        let Some(code) = method.code()? else { continue };
        let member = method_name(name, &method, source)?;
        if must_stay_empty(&member, &code) {
            continue;
        }
        let marks = Marks::of(class, &method);
        let is_synchronized = method.access_flags() & access::SYNCHRONIZED != 0;
        let kinds = kinds(&member, marks, is_synchronized, is_selected, probes);
        scanner.plan.clear();
        if probes.sites {
            if let Some(reason) = scanner.scan_sites(&code, kinds, &member, methods)? {
                let full_name = [member.name, member.descriptor].concat();
                instrumented.skipped.push((full_name, reason));
            }
        } else if probes.calls {
            scanner.scan(&code, kinds, member.name == b"<init>", methods)?;
        }
        add_of_jvm(&mut scanner.plan, &code, &member, probes)?;
        let mut skipped = |reason| {
            let full_name = [member.name, member.descriptor].concat();
            instrumented.skipped.push((full_name, reason));
        };
        let is_counted = is_selected && can_have_any(&member, marks);
        let mut blocks = None;
        if probes.blocks && is_counted {
            blocks = Counts::plan(&member, &code, methods)?;
            if blocks.is_none() {
                skipped(NO_COUNTERS.to_owned());
            }
        }
        let mut calls = None;
        // Probes would be missing in the JIT's replacement code: the calls of such methods are counted.
        if probes.entries && is_counted && !marks.is_intrinsic {
            let is_static = method.access_flags() & access::STATIC != 0;
            let other_bytes = scanner.plan.most_bytes(&code, restoring) - code.bytes().len();
            calls = entries.plan(&member, &code, is_static, other_bytes, methods)?;
            match &calls {
                Some(calls) if calls.is_whole() => {}
                Some(_) => skipped("its calls are too many for HotSpot to compile it".to_owned()),
                None => skipped(NO_COUNTERS.to_owned()),
            }
        }
        let of_blocks = blocks.as_ref().map(|it| (it.first, it.places()));
        let of_calls = calls.as_ref().map(|it| (it.first, it.places()));
        let counters = of_blocks.or(of_calls);
        let counter_bytes = counters.map_or(0, |(_, places)| places.len() * PROBE_BYTES);
        if let Err(reason) = scanner.plan.fit(&code, restoring, counter_bytes, blocks.is_some()) {
            skipped(reason);
            scanner.plan.clear();
        }
        if scanner.plan.probes.is_empty() && counters.is_none() {
            continue;
        }
        let Scanner { plan, edit, .. } = &mut scanner;
        let number = if kinds.calls { methods.number(&member) } else { 0 };
        if kinds.calls && probes.path_budget && methods.is_over_budget(number) {
            let mut counter = |method| methods.counter(method);
            if plan.give_up_position(number, count, &mut counter) {
                methods.gave_up_position(number);
            }
        }
        let mut write = || {
            plan.write(&code, number, restoring, &mut uses, editor.pool(), edit)?;
            let Some((first, places)) = counters else { return Ok(()) };
            counts::write(count, first, places, (&mut uses, editor.pool(), edit))
        };
        if let Err(full) = write() {
            let full: PoolError = full;
            skipped(full.to_string());
            continue;
        }
        if editor.edit_method(index, edit) {
            instrumented.method_count += 1;
            if let Some(blocks) = blocks {
                counts.report(&member, &code, blocks, methods, editor)?;
            }
            if let Some(calls) = calls {
                methods.entered(&member, calls.into_calls());
            }
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
    instrumented: &mut ClassProbes,
) -> Result<(), Error> {
    let mut accesses = Accesses::new(class, probes);
    let add: &mut ProbeWriter<'_> = &mut |key, code, methods, editor, missing| {
        accesses.add(key, code, methods, editor, missing)
    };
    add_to_each(class, name, (methods, editor, instrumented), add)
}

/// Adds the probes for events.
fn add_events(
    class: &ClassFile<'_>,
    name: &[u8],
    probes: Probes,
    methods: &mut dyn Methods,
    editor: &mut ClassEditor<'_>,
    instrumented: &mut ClassProbes,
) -> Result<(), Error> {
    let mut events = EventProbes::new(probes);
    for (index, method) in class.methods().enumerate() {
        let member = method_name(name, &method, source_file(class))?;
        let Some(code) = method.code()? else { continue };
        let full_name = || [member.name, member.descriptor].concat();
        let is_empty = must_stay_empty(&member, &code);
        if is_empty || Marks::of(class, &method).switches_thread {
            let reason = if is_empty { "it must stay empty" } else { "it switches threads" };
            instrumented.exempt.push((full_name(), reason));
            continue;
        }
        let subject = Subject {
            index,
            name: member,
            is_static: method.access_flags() & access::STATIC != 0,
            is_synchronized: method.access_flags() & access::SYNCHRONIZED != 0,
            version: class.version().0,
            number: methods.number(&member),
        };
        match events.add(&subject, &code, methods, editor)? {
            Ok(is_edited) => instrumented.method_count += usize::from(is_edited),
            Err(full) => instrumented.skipped.push((full_name(), full.to_string())),
        }
    }
    instrumented.native_count = native_count(class);
    Ok(())
}

/// Returns the number of native methods of a class.
fn native_count(class: &ClassFile<'_>) -> usize {
    class.methods().filter(|it| it.access_flags() & access::NATIVE != 0).count()
}

/// Adds the probes of a method, given by its index and name. Returns whether it has any, and adds the
/// reasons if some are missing.
type ProbeWriter<'a> = dyn FnMut(
        (usize, &MethodName<'_>),
        &Code<'_>,
        &mut dyn Methods,
        &mut ClassEditor<'_>,
        &mut Vec<String>,
    ) -> Result<bool, Error>
    + 'a;

/// Adds probes to each method that is selected and has code, and to the constructor of Object.
fn add_to_each(
    class: &ClassFile<'_>,
    name: &[u8],
    (methods, editor, instrumented): (&mut dyn Methods, &mut ClassEditor<'_>, &mut ClassProbes),
    add: &mut ProbeWriter<'_>,
) -> Result<(), Error> {
    let source = source_file(class);
    let mut missing = Vec::new();
    for (index, method) in class.methods().enumerate() {
        let member = method_name(name, &method, source)?;
        let is_wanted = is_root(&member) || methods.selected(name, member.name);
        let Some(code) = method.code()?.filter(|_| is_wanted) else { continue };
        if must_stay_empty(&member, &code) || Marks::of(class, &method).switches_thread {
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

/// Whether it is a `finalize` that does nothing. The JVM looks at its code: with any more, each object of
/// the class and of those below it would have to be finalised, and live until then.
fn must_stay_empty(method: &MethodName<'_>, code: &Code<'_>) -> bool {
    method.name == b"finalize" && method.descriptor == b"()V" && code.bytes() == [opcode::RETURN]
}

/// Whether it is the constructor of Object, which every other constructor calls in the end. It has no
/// probes, except that it reports the object.
fn is_root(method: &MethodName<'_>) -> bool {
    method.class == OBJECT && method.name == b"<init>"
}

/// Whether a class is left alone, because it runs below the probes: the helpers, the classes that
/// they call, and the classes that move a virtual thread's frames. A module does not have code.
fn is_untouched(class: &[u8]) -> bool {
    is_helper(class)
        || class == b"jdk/internal/misc/Unsafe"
        || class.starts_with(b"jdk/internal/vm/Continuation")
        || class == b"module-info"
}

/// Whether a class is perk's own.
fn is_helper(class: &[u8]) -> bool {
    [HELPER, FIELDS_HELPER, COUNTS_HELPER, EVENTS_HELPER, HELPER_BASE]
        .iter()
        .any(|name| class.starts_with(name.as_bytes()))
}

/// Whether a method can have probes. If it switches the current thread, that may change between entry
/// and exit.
fn can_have_any(method: &MethodName<'_>, marks: Marks) -> bool {
    !is_root(method) && !marks.switches_thread
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
    let can_have_any = can_have_any(method, marks);
    // Probes would be missing in the JIT's replacement code: such methods are leaves.
    let is_bracketed = probes.calls && !probes.sites;
    let calls = can_have_any && is_bracketed && is_selected && !marks.is_intrinsic;
    let can_allocate = can_have_any && probes.heap;
    let withholds = can_allocate
        && match probes.sites {
            true => fresh::is_counted_at_calls(class, name, descriptor),
            false => fresh::is_counted_elsewhere(class, name, descriptor),
        };
    Kinds {
        calls,
        is_small: !is_synchronized && name != b"<clinit>",
        unwinding: probes.unwinding,
        timed: probes.timed,
        places: if calls { probes.places } else { Places::None },
        allocations: can_allocate && !withholds,
        withholds,
    }
}

/// Adds the probes that only certain methods of the JDK have.
fn add_of_jvm(
    plan: &mut Plan,
    code: &Code<'_>,
    method: &MethodName<'_>,
    probes: Probes,
) -> Result<(), Error> {
    match (method.class, method.name, method.descriptor) {
        (b"java/lang/Object", b"<init>", _) if probes.heap && !probes.sites => {
            plan.add(0, Reach::FallThrough, ProbeCall::This(Helper::ALLOCATED));
        }
        // The carrier calls both methods. When `mount` returns and when `unmount` begins, the
        // virtual thread is the current thread and knows its carrier.
        (VIRTUAL_THREAD, b"mount", b"()V") => {
            if probes.have_counters() && !probes.late {
                plan.add(0, Reach::FallThrough, ProbeCall::This(Helper::MOUNTING));
            }
            for instruction in code.instructions().filter(|_| probes.calls) {
                let instruction = instruction?;
                if instruction.is_return() {
                    plan.add(instruction.pc, Reach::All, ProbeCall::This(Helper::MOUNTED));
                }
            }
        }
        (VIRTUAL_THREAD, b"unmount", b"()V") if probes.calls => {
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
    probes: Probes,
    skipped: &mut Vec<(Vec<u8>, String)>,
) -> bool {
    let Probes { accesses, calls, names, .. } = probes;
    let helper = match () {
        () if accesses => Some(FIELDS_HELPER),
        () if calls => Some(HELPER),
        () => None,
    };
    let mut added = Vec::new();
    match class {
        b"java/lang/Thread" => {
            let state = helper.map(|it| (fields::THREAD_STATE, format!("L{};", names.of(it))));
            let counters = (fields::THREAD_COUNTERS, "J".to_owned());
            let counters = probes.have_counters().then_some(counters);
            for (plain, descriptor) in state.into_iter().chain(counters) {
                added.push((plain, editor.add_field(ADDED, names.of(plain), descriptor)));
            }
        }
        b"java/lang/Class" if accesses || calls => {
            let name = names.of(fields::CLASS_RECORDS);
            let field = editor.add_annotated_field(ADDED, name, "J", STABLE);
            added.push((fields::CLASS_RECORDS, field));
        }
        _ => {}
    }
    let has_any = !added.is_empty();
    for (plain, added) in added {
        if let Err(error) = added {
            skipped.push((plain.as_bytes().to_vec(), error.to_string()));
        }
    }
    has_any
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
