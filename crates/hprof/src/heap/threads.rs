//! The roots and threads of the JVM's dump, and their serial numbers and names in perk's.

use perk_profile::symbols::{Frame, Line, Method};
use perk_profile::{FrameId, KeyedMap, Profile, StrId, Thread, ThreadId, TraceId};

use super::classes::DumpNames;
use super::{Context, JavaStack, Root, RootKind};

/// The base of the serial numbers of threads that the context does not know. Their `tid` is added.
const BY_TID: u32 = 1_000_000_000;
/// The base of the serial numbers of threads without a known `tid`. Their number among these is
/// added.
const UNNAMED: u32 = 2_000_000_000;

/// The name of threads of which nothing is known.
const UNKNOWN: &str = "<unknown>";

/// The class whose `run` is the first method of virtual threads.
const VIRTUAL_THREAD: &str = "java.lang.VirtualThread";

/// The data of the dump that concerns threads.
#[derive(Debug, Default)]
pub(super) struct DumpThreads {
    roots: Vec<Root>,
    frames: KeyedMap<u64, JvmFrame>,
    traces: KeyedMap<u32, Vec<u64>>,
    /// The traces that are stacks of threads, in the dump's order.
    stacks: Vec<u32>,
    /// Names of classes by their serial numbers.
    classes: KeyedMap<u32, StrId>,
    /// The `tid` of each `java.lang.Thread`, by its address.
    tids: KeyedMap<u64, u64>,
    /// The threads that were written before the heap, by the JVM's trace.
    by_trace: KeyedMap<u32, RootedThread>,
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

impl DumpThreads {
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

    /// Returns the stacks that come before the heap, with their threads as far as these are known
    /// already. The context lists `tid`s, which are those of the dump if their numbers are equal.
    /// (Between the list and the dump a thread may have begun or ended.)
    pub(super) fn before_heap(
        &mut self,
        profile: &mut Profile,
        context: &mut dyn Context,
        names: &mut DumpNames,
    ) -> Result<Vec<RootedThread>, String> {
        let kinds = self.stacks.iter().map(|&trace| self.is_virtual(profile, names, trace));
        let kinds: Vec<bool> = kinds.collect();
        let platform_count = kinds.iter().filter(|is_virtual| !**is_virtual).count();
        let tids = context.stack_tids().filter(|tids| tids.len() == platform_count);
        let mut tids = tids.unwrap_or_default().into_iter();
        let mut strangers = UnknownThreads::of(profile);
        let mut threads = Vec::new();
        for (&jvm_trace, is_virtual) in self.stacks.iter().zip(kinds) {
            let tid = if is_virtual { None } else { tids.next() }.filter(|&tid| tid != 0);
            let (thread, is_new) = match (tid, is_virtual) {
                (Some(tid), _) => strangers.thread(profile, context, 0, tid),
                (None, true) => (strangers.unnamed(profile, 0, "<virtual thread>"), true),
                (None, false) => (strangers.unnamed(profile, 0, UNKNOWN), true),
            };
            let trace = self.perk_trace(profile, names, jvm_trace, thread)?;
            let rooted = RootedThread { thread, is_new, trace };
            self.by_trace.insert(jvm_trace, rooted);
            threads.push(rooted);
        }
        Ok(threads)
    }

    /// Whether a stack is that of a virtual thread.
    fn is_virtual(&self, profile: &Profile, names: &DumpNames, trace: u32) -> bool {
        let frames = self.traces.get(&trace).into_iter().flatten();
        frames.filter_map(|frame| self.frames.get(frame)).any(|frame| {
            let class = self.classes.get(&frame.class_serial);
            class.is_some_and(|&it| profile.symbols.strings.get(it) == VIRTUAL_THREAD)
                && names.get(frame.method) == Some(b"run")
        })
    }

    /// Gives all roots perk's serial numbers. The second part is the threads among them. They may
    /// be new to the file only if `may_be_new` allows it now. The kind of the roots of a thread
    /// that the file does not know becomes unknown.
    pub(super) fn resolve(
        mut self,
        profile: &mut Profile,
        context: &mut dyn Context,
        names: &mut DumpNames,
        may_be_new: bool,
    ) -> Result<(Vec<Root>, Vec<RootedThread>), String> {
        let mut roots = std::mem::take(&mut self.roots);
        let mut strangers = UnknownThreads::of(profile);
        let mut serials = KeyedMap::default();
        let mut threads = Vec::new();
        for root in &mut roots {
            let RootKind::Thread { serial, trace } = &mut root.kind else { continue };
            let rooted = match self.by_trace.get(trace) {
                Some(&rooted) => rooted,
                None if may_be_new => {
                    let (thread, is_new) = match self.tids.get(&root.id) {
                        Some(&tid) => strangers.thread(profile, context, root.id, tid),
                        None => (strangers.unnamed(profile, root.id, UNKNOWN), true),
                    };
                    let trace = self.perk_trace(profile, names, *trace, thread)?;
                    RootedThread { thread, is_new, trace }
                }
                None => {
                    root.kind = RootKind::Unknown;
                    continue;
                }
            };
            threads.push(rooted);
            let perk_serial = profile.get_thread(rooted.thread).serial;
            serials.insert(*serial, perk_serial);
            (*serial, *trace) = (perk_serial, profile.get_trace(rooted.trace).serial);
        }
        for root in &mut roots {
            let serial = match &mut root.kind {
                RootKind::JniLocal(JavaStack { thread_serial, .. })
                | RootKind::JavaFrame(JavaStack { thread_serial, .. })
                | RootKind::NativeStack(thread_serial)
                | RootKind::ThreadBlock(thread_serial) => thread_serial,
                _ => continue,
            };
            match serials.get(serial) {
                Some(&known) => *serial = known,
                None => root.kind = RootKind::Unknown,
            }
        }
        Ok((roots, threads))
    }

    /// Returns the profile's trace for a trace of the JVM.
    fn perk_trace(
        &self,
        profile: &mut Profile,
        names: &mut DumpNames,
        serial: u32,
        thread: ThreadId,
    ) -> Result<TraceId, String> {
        let empty = Vec::new();
        let mut path = Vec::new();
        for id in self.traces.get(&serial).unwrap_or(&empty).iter().rev() {
            path.push(self.perk_frame(profile, names, *id)?);
        }
        let node = profile.tree.insert(path);
        Ok(profile.trace(node, Some(thread)))
    }

    fn perk_frame(
        &self,
        profile: &mut Profile,
        names: &mut DumpNames,
        id: u64,
    ) -> Result<FrameId, String> {
        let frame = self.frames.get(&id);
        let frame =
            frame.ok_or_else(|| format!("a trace names frame {id:#x}, which no record gives"))?;
        let Some(&class) = self.classes.get(&frame.class_serial) else {
            return Err(format!("no LOAD CLASS gives the name of class {}", frame.class_serial));
        };
        let class = profile.symbols.strings.get(class).to_owned();
        let class = profile.symbols.class(&class);
        let mut name = |id| names.intern(profile, id);
        let method = name(frame.method).ok_or_else(|| {
            format!("no UTF8 record gives the name of a method, id {:#x}", frame.method)
        })?;
        let (signature, source) = (name(frame.signature), name(frame.source));
        let method = profile.symbols.method(Method { class, name: method, signature, source });
        Ok(profile.symbols.frame(Frame::new(method, frame.line)))
    }
}

/// The threads that the context does not know.
struct UnknownThreads {
    /// The threads of this dump and earlier ones, by serial number.
    by_tid: KeyedMap<u32, ThreadId>,
    unnamed_count: u32,
}

impl UnknownThreads {
    fn of(profile: &Profile) -> Self {
        let mut strangers = Self { by_tid: KeyedMap::default(), unnamed_count: 0 };
        for (index, thread) in profile.threads.iter().enumerate() {
            match thread.serial {
                UNNAMED.. => strangers.unnamed_count += 1,
                BY_TID.. => drop(strangers.by_tid.insert(thread.serial, ThreadId::new(index))),
                _ => {}
            }
        }
        strangers
    }

    /// Returns the thread of a `java.lang.Thread`, given by its address (0 if that is not known
    /// yet) and `tid`, and whether it is new to the profile.
    fn thread(
        &mut self,
        profile: &mut Profile,
        context: &mut dyn Context,
        address: u64,
        tid: u64,
    ) -> (ThreadId, bool) {
        if let Some(thread) = context.thread(profile, tid) {
            return (thread, false);
        }
        let serial = BY_TID + (tid % u64::from(BY_TID)) as u32;
        if let Some(&thread) = self.by_tid.get(&serial) {
            return (thread, false);
        }
        let thread = push(profile, serial, address, &format!("<tid {tid}>"));
        self.by_tid.insert(serial, thread);
        (thread, true)
    }

    /// Adds a new thread of which only the stack is known.
    fn unnamed(&mut self, profile: &mut Profile, address: u64, name: &str) -> ThreadId {
        self.unnamed_count += 1;
        push(profile, UNNAMED + self.unnamed_count, address, name)
    }
}

fn push(profile: &mut Profile, serial: u32, address: u64, name: &str) -> ThreadId {
    let name = profile.symbols.strings.intern(name);
    let thread = Thread { serial, object_id: address, name, group: None, parent_group: None };
    profile.push_thread(thread)
}
