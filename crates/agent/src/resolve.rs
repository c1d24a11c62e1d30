//! Turns the JVM's frames into the profile's symbols; the JVM is asked once per method.

use std::sync::Mutex;

use perk_jvm::sync::lock;
use perk_jvm::{Jni, Jvmti, LineTable, MethodRef, Reference, StackFrame};
use perk_profile::{ClassId, FrameId, Line, Method, MethodId, names};
use rustc_hash::FxHashMap;

use crate::recorder::Recorder;

/// A cache of the JVM's answers about methods. Its lock is not held while the JVM is asked: a
/// thread that is suspended meanwhile blocks no other.
#[derive(Debug)]
pub(crate) struct Resolver {
    jvmti: Jvmti,
    recorder: &'static Mutex<Recorder>,
    with_lines: bool,
    marks_native: bool,
    known: Mutex<SymbolCache>,
}

#[derive(Debug, Default)]
struct SymbolCache {
    methods: FxHashMap<MethodRef, ResolvedMethod>,
    frames: FxHashMap<StackFrame, FrameId>,
}

#[derive(Debug)]
struct ResolvedMethod {
    id: MethodId,
    lines: Option<LineTable>,
}

impl Resolver {
    /// Makes a resolver with or without lines; `marks_native` gives native methods a line of their
    /// own.
    pub(crate) fn new(
        jvmti: Jvmti,
        recorder: &'static Mutex<Recorder>,
        with_lines: bool,
        marks_native: bool,
    ) -> Self {
        let marks_native = with_lines && marks_native;
        Self { jvmti, recorder, with_lines, marks_native, known: Mutex::default() }
    }

    /// Forgets the JVM's answers.
    pub(crate) fn release(&self) {
        *lock(&self.known) = SymbolCache::default();
    }

    /// Returns the symbols of a stack, in its order.
    pub(crate) fn frames(&self, jni: Jni<'_>, stack: &[StackFrame]) -> Vec<FrameId> {
        let mut ids = Vec::with_capacity(stack.len());
        loop {
            let known = lock(&self.known);
            let rest = &stack[ids.len()..];
            ids.extend(rest.iter().map_while(|frame| known.frames.get(frame)));
            drop(known);
            let Some(&unknown) = stack.get(ids.len()) else { return ids };
            ids.push(self.resolve(jni, unknown));
        }
    }

    /// Returns the symbol of a frame that was not met before.
    fn resolve(&self, jni: Jni<'_>, frame: StackFrame) -> FrameId {
        let is_known = lock(&self.known).methods.contains_key(&frame.method);
        let asked = (!is_known).then(|| self.ask(jni, frame.method));
        let mut known = lock(&self.known);
        if let Some(asked) = asked {
            // If another thread has asked at the same time, its answer stays.
            known.methods.entry(frame.method).or_insert(asked);
        }
        let method = &known.methods[&frame.method];
        let line = match &method.lines {
            _ if frame.bci < 0 && self.marks_native => Line::Native,
            Some(lines) => line_at(lines, frame.bci),
            None => Line::Unknown,
        };
        let bci = i32::try_from(frame.bci).ok();
        let symbol = perk_profile::Frame { bci, ..perk_profile::Frame::new(method.id, line) };
        let id = lock(self.recorder).profile.symbols.frame(symbol);
        known.frames.insert(frame, id);
        id
    }

    /// Asks the JVM about a method.
    fn ask(&self, jni: Jni<'_>, method: MethodRef) -> ResolvedMethod {
        let Self { jvmti, recorder, with_lines, .. } = *self;
        // A class can be unloaded between the walk and now; the JVM then does not know its names.
        let names = jvmti.method_name(method).ok();
        let class = jvmti.declaring_class(jni, method).ok();
        let source = class.as_ref().and_then(|class| jvmti.source_file(class));
        let lines = if with_lines { jvmti.line_table(method) } else { None };
        let class = match &class {
            Some(class) => class_id(jvmti, recorder, class).0,
            None => lock(recorder).profile.symbols.class("<unloaded class>"),
        };
        let mut recorder = lock(recorder);
        let symbols = &mut recorder.profile.symbols;
        let (name, signature) = match &names {
            Some((name, signature)) => (name.as_str(), Some(signature.as_str())),
            None => ("<Unknown Method>", None),
        };
        let name = symbols.strings.intern(name);
        let signature = signature.map(|it| symbols.strings.intern(it));
        let source = source.map(|it| symbols.strings.intern(&it));
        let id = symbols.method(Method { class, name, signature, source });
        ResolvedMethod { id, lines }
    }
}

/// Returns the profile's class for a class of the JVM, and whether it is new. The tag of the class
/// object holds the number, so that two classes of one name stay distinct.
pub(crate) fn class_id(
    jvmti: Jvmti,
    recorder: &Mutex<Recorder>,
    class: &(impl Reference + ?Sized),
) -> (ClassId, bool) {
    match jvmti.tag(class) {
        0 => {
            let signature = jvmti.class_signature(class).unwrap_or_default();
            let id = lock(recorder).new_class(&names::from_signature(&signature));
            jvmti.set_tag(class, id.index() as i64 + 1);
            (id, true)
        }
        tag => (ClassId::new((tag - 1) as usize), false),
    }
}

/// Returns the line of the last entry that begins at or before `bci`.
fn line_at(lines: &LineTable, bci: i64) -> Line {
    let after = lines.partition_point(|&(start, _)| start <= bci);
    match after.checked_sub(1) {
        Some(index) => Line::Number(lines[index].1),
        None => Line::Unknown,
    }
}
