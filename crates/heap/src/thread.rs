//! Threads and call traces.

use std::collections::BTreeMap;

use perk_profile::KeyedMap;
use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::scan::{Scan, stack_of};
use crate::{ObjectId, Root, RootKind};

/// A thread that the dump gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its serial number in the file.
    pub serial: u32,
    /// Its `java.lang.Thread`.
    pub object: Option<ObjectId>,
    /// The serial number of its call trace, or 0.
    pub trace: u32,
    /// The objects that its frames and native code hold, each once per frame, from the innermost
    /// frame on.
    pub locals: Vec<Local>,
}

/// An object that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Local {
    /// The index of the frame in the thread's trace, the innermost first; `None` for native code.
    pub frame: Option<u32>,
    /// The object.
    pub object: ObjectId,
}

/// A call trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Its frames, the innermost first.
    pub frames: Vec<Frame>,
}

/// A frame of a call trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The class's name in source form; empty if the file does not give it.
    pub class: String,
    /// The method's name.
    pub method: String,
    /// The source file's name; empty if unknown.
    pub source: String,
    /// The line: above 0, or -1 unknown, -2 compiled, -3 native.
    pub line: i32,
}

/// The threads and traces of a dump.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Threads {
    pub(crate) threads: Vec<Thread>,
    pub(crate) traces: KeyedMap<u32, Trace>,
    /// For each thread that has an object: the object, and what its frames hold.
    pub(crate) held: Vec<(u32, Vec<u32>)>,
}

impl Threads {
    /// Makes the threads, and the roots of all kinds. A root of a class without a name for it in the
    /// dump is left out.
    pub(crate) fn new(scan: &mut Scan, model: &Model) -> (Self, Vec<Root>) {
        let mut roots = Vec::new();
        let mut by_serial: BTreeMap<u32, Thread> = BTreeMap::new();
        for root in &scan.roots {
            let Some(object) = scan.ids.find(root.id).map(ObjectId) else { continue };
            let Some(kind) = RootKind::of_file(root.kind) else { continue };
            let mut serial = None;
            if let perk_hprof::heap::RootKind::Thread { serial: number, trace } = root.kind {
                let thread = by_serial.entry(number).or_default();
                (thread.object, thread.trace) = (Some(object), trace);
                serial = Some(number);
            } else if let Some(stack) = stack_of(root.kind) {
                let frame = (stack.depth != u32::MAX).then_some(stack.depth);
                let thread = by_serial.entry(stack.thread_serial).or_default();
                thread.locals.push(Local { frame, object });
                serial = Some(stack.thread_serial);
            }
            roots.push((object, kind, serial));
        }
        scan.roots = Vec::new();
        if !roots.iter().any(|&(_, kind, _)| kind == RootKind::StickyClass) {
            let of_boot_loader = model.classes.iter().filter(|class| class.loader == 0);
            let objects = of_boot_loader.filter_map(|class| class.object);
            let before = roots.len();
            roots.extend(objects.map(|object| (object, RootKind::StickyClass, None)));
            if roots.len() > before {
                let note = "no class is a root: the classes of the boot loader are taken as such";
                scan.notes.push(note.to_owned());
            }
        }
        // The JVM holds the classes of primitive arrays, but does not list them.
        let of_primitives = model.primitives.iter();
        let objects = of_primitives.filter_map(|&class| model.classes.get(class as usize)?.object);
        roots.extend(objects.map(|object| (object, RootKind::StickyClass, None)));
        let named = by_serial.into_iter().map(|(serial, thread)| Thread { serial, ..thread });
        let mut threads: Vec<Thread> = named.collect();
        for thread in &mut threads {
            thread.locals.sort_unstable();
            thread.locals.dedup();
        }
        let held = threads.iter().filter_map(|thread| {
            let mut locals: Vec<u32> = thread.locals.iter().map(|local| local.object.0).collect();
            locals.sort_unstable();
            locals.dedup();
            Some((thread.object?.0, locals))
        });
        let held = held.collect();
        let index = |serial| threads.binary_search_by_key(&serial, |thread| thread.serial).ok();
        let mut roots: Vec<Root> = roots
            .into_iter()
            .map(|(object, kind, serial)| Root { object, kind, thread: serial.and_then(index) })
            .collect();
        roots.sort_unstable_by_key(|root| (root.object, root.kind, root.thread));
        roots.dedup();
        let traces = traces(scan);
        (Self { threads, traces, held }, roots)
    }

    /// Returns the roots that no thread object holds.
    pub(crate) fn top<'a>(&'a self, roots: &'a [Root]) -> impl Iterator<Item = &'a Root> {
        roots.iter().filter(|root| self.is_held(root).is_none())
    }

    /// Returns the thread object that holds a root, if one does.
    pub(crate) fn is_held(&self, root: &Root) -> Option<ObjectId> {
        match root.kind {
            RootKind::JavaFrame
            | RootKind::JniLocal
            | RootKind::NativeStack
            | RootKind::ThreadBlock => self.threads[root.thread?].object,
            _ => None,
        }
    }
}

/// Makes the traces of the file.
fn traces(scan: &mut Scan) -> KeyedMap<u32, Trace> {
    let class = |serial| {
        let name = scan.serials.get(&serial).and_then(|id| scan.loaded.get(id));
        let text = name.map(|&name| perk_hprof::heap::source_form(&scan.names.get(name)));
        text.unwrap_or_default()
    };
    let frame = |id| match scan.frames.get(&id) {
        Some(frame) => Frame {
            class: class(frame.class_serial),
            method: scan.names.get(frame.method),
            source: scan.names.get(frame.source),
            line: frame.line,
        },
        None => Frame::default(),
    };
    let of = |frames: &[u64]| Trace { frames: frames.iter().map(|&id| frame(id)).collect() };
    let traces = std::mem::take(&mut scan.traces);
    traces.into_iter().map(|(serial, trace)| (serial, of(&trace.frames))).collect()
}
