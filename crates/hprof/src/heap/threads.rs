//! The roots and threads of the JVM's dump, and what perk calls them.

use perk_profile::symbols::{Frame, Line, Method};
use perk_profile::{FrameId, KeyedMap, Profile, StrId, Thread, ThreadId, TraceId};

use super::classes::Names;
use super::{Context, JavaStack, Root, RootKind};

/// The serial numbers of threads that the context does not know: this and their `tid`.
const BY_TID: u32 = 1_000_000_000;
/// Of threads of which not even that is known: this and the JVM's number for them in this dump.
const BY_DUMP: u32 = 2_000_000_000;

/// In whose `run` virtual threads begin.
const VIRTUAL_THREAD: &str = "java.lang.VirtualThread";

/// What of the dump has to do with threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    roots: Vec<Root>,
    frames: KeyedMap<u64, JvmFrame>,
    traces: KeyedMap<u32, Vec<u64>>,
    /// The traces that are stacks of threads, in the dump's order.
    stacks: Vec<u32>,
    /// Names of classes by their serial numbers.
    classes: KeyedMap<u32, StrId>,
    /// The `tid` of each `java.lang.Thread`, by its address.
    tids: KeyedMap<u64, u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct JvmFrame {
    pub(super) method: u64,
    pub(super) signature: u64,
    pub(super) source: u64,
    pub(super) class_serial: u32,
    pub(super) line: Line,
}

/// A thread that has roots.
#[derive(Clone, Copy, Debug)]
pub(super) struct RootedThread {
    pub(super) thread: ThreadId,
    /// Whether the file does not know it yet.
    pub(super) is_new: bool,
    pub(super) trace: TraceId,
}

impl Threads {
    pub(super) fn root(&mut self, root: Root) {
        self.roots.push(root);
    }

    pub(super) fn class(&mut self, serial: u32, name: StrId) {
        self.classes.insert(serial, name);
    }

    pub(super) fn frame(&mut self, id: u64, frame: JvmFrame) {
        self.frames.insert(id, frame);
    }

    pub(super) fn trace(&mut self, serial: u32, thread: u32, frames: impl Iterator<Item = u64>) {
        if thread != 0 {
            self.stacks.push(serial);
        }
        self.traces.insert(serial, frames.collect());
    }

    pub(super) fn tid(&mut self, address: u64, tid: u64) {
        self.tids.insert(address, tid);
    }

    /// The threads with these `tid`s, and their stacks; none where the dump has not as many. (Between
    /// the list and the dump a thread may have begun or ended.)
    pub(super) fn before_heap(
        &self,
        profile: &mut Profile,
        context: &mut dyn Context,
        names: &mut Names,
        tids: &[u64],
    ) -> Result<Vec<RootedThread>, String> {
        let is_virtual = |trace: &u32| self.is_virtual(profile, names, *trace);
        let stacks: Vec<_> = self.stacks.iter().copied().filter(|it| !is_virtual(it)).collect();
        if stacks.len() != tids.len() {
            return Ok(Vec::new());
        }
        let mut unknown = known_by_number(profile);
        let mut threads = Vec::new();
        for (trace, &tid) in stacks.into_iter().zip(tids).filter(|(_, tid)| **tid != 0) {
            let (thread, is_new) = thread(profile, context, &mut unknown, (0, Some(tid)), 0);
            let trace = self.perk_trace(profile, names, trace, thread)?;
            threads.push(RootedThread { thread, is_new, trace });
        }
        Ok(threads)
    }

    /// Whether a stack is that of a virtual thread.
    fn is_virtual(&self, profile: &Profile, names: &Names, trace: u32) -> bool {
        let frames = self.traces.get(&trace).into_iter().flatten();
        frames.filter_map(|frame| self.frames.get(frame)).any(|frame| {
            let class = self.classes.get(&frame.class_serial);
            class.is_some_and(|&it| profile.symbols.strings.get(it) == VIRTUAL_THREAD)
                && names.get(frame.method) == Some(b"run")
        })
    }

    /// Gives all roots perk's serial numbers. The second part is the threads among them.
    pub(super) fn resolve(
        mut self,
        profile: &mut Profile,
        context: &mut dyn Context,
        names: &mut Names,
    ) -> Result<(Vec<Root>, Vec<RootedThread>), String> {
        let mut roots = std::mem::take(&mut self.roots);
        let mut unknown = known_by_number(profile);
        let mut serials = KeyedMap::default();
        let mut threads = Vec::new();
        for root in &mut roots {
            let RootKind::Thread { serial, trace } = &mut root.kind else { continue };
            let tid = self.tids.get(&root.id).copied();
            let (thread, is_new) = thread(profile, context, &mut unknown, (root.id, tid), *serial);
            let trace_id = self.perk_trace(profile, names, *trace, thread)?;
            threads.push(RootedThread { thread, is_new, trace: trace_id });
            let perk_serial = profile.get_thread(thread).serial;
            serials.insert(*serial, perk_serial);
            (*serial, *trace) = (perk_serial, profile.get_trace(trace_id).serial);
        }
        for root in &mut roots {
            let serial = match &mut root.kind {
                RootKind::JniLocal(JavaStack { thread_serial, .. })
                | RootKind::JavaFrame(JavaStack { thread_serial, .. })
                | RootKind::NativeStack(thread_serial)
                | RootKind::ThreadBlock(thread_serial) => thread_serial,
                _ => continue,
            };
            *serial = serials.get(serial).copied().unwrap_or(BY_DUMP + *serial % BY_TID);
        }
        Ok((roots, threads))
    }

    /// The profile's trace for one of the JVM's.
    fn perk_trace(
        &self,
        profile: &mut Profile,
        names: &mut Names,
        serial: u32,
        thread: ThreadId,
    ) -> Result<TraceId, String> {
        let empty = Vec::new();
        let mut path = Vec::new();
        for id in self.traces.get(&serial).unwrap_or(&empty).iter().rev() {
            path.push(self.perk_frame(profile, names, *id)?);
        }
        let node = profile.tree.insert(path).node;
        Ok(profile.trace(node, Some(thread)))
    }

    fn perk_frame(
        &self,
        profile: &mut Profile,
        names: &mut Names,
        id: u64,
    ) -> Result<FrameId, String> {
        let frame = self.frames.get(&id);
        let frame =
            frame.ok_or_else(|| format!("a trace names frame {id:#x}, which no record gives"))?;
        let Some(&class) = self.classes.get(&frame.class_serial) else {
            return Err(format!("no LOAD CLASS tells the name of class {}", frame.class_serial));
        };
        let class = profile.symbols.strings.get(class).to_owned();
        let class = profile.symbols.class(&class);
        let mut name = |id| names.intern(profile, id);
        let method = name(frame.method).ok_or_else(|| {
            format!("no UTF8 record gives the name of a method, id {:#x}", frame.method)
        })?;
        let (signature, source) = (name(frame.signature), name(frame.source));
        let method = profile.symbols.method(Method { class, name: method, signature, source });
        Ok(profile.symbols.frame(Frame { method, bci: None, line: frame.line }))
    }
}

/// The thread of a `java.lang.Thread`, given by its address (0 if that is not known yet) and `tid`,
/// and whether it is new to the profile.
fn thread(
    profile: &mut Profile,
    context: &mut dyn Context,
    unknown: &mut KeyedMap<u32, ThreadId>,
    (address, tid): (u64, Option<u64>),
    jvm_serial: u32,
) -> (ThreadId, bool) {
    if let Some(thread) = tid.and_then(|tid| context.thread(profile, tid)) {
        return (thread, false);
    }
    let serial = match tid {
        Some(tid) => BY_TID + (tid % u64::from(BY_TID)) as u32,
        None => BY_DUMP + jvm_serial % BY_TID,
    };
    if let Some(&thread) = unknown.get(&serial) {
        return (thread, false);
    }
    let name = tid.map_or_else(|| "<unknown>".to_owned(), |tid| format!("<tid {tid}>"));
    let name = profile.symbols.strings.intern(&name);
    let thread = Thread { serial, object_id: address, name, group: None, parent_group: None };
    let thread = profile.push_thread(thread);
    unknown.insert(serial, thread);
    (thread, true)
}

/// The threads of earlier dumps that the context did not know.
fn known_by_number(profile: &Profile) -> KeyedMap<u32, ThreadId> {
    let threads = profile.threads.iter().enumerate();
    let threads = threads.filter(|(_, thread)| (BY_TID..BY_DUMP).contains(&thread.serial));
    threads.map(|(index, thread)| (thread.serial, ThreadId::new(index))).collect()
}
