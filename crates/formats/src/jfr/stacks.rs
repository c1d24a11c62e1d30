//! The mapping of a chunk's classes, methods, stacks and threads to those of the profile.

use std::hash::BuildHasher;

use perk_profile::{
    CallTree, ClassId, Frame, FrameId, FrameKind, KeyedMap, Line, Method, MethodId, NodeId,
    Profile, StrId, Thread, ThreadId, names,
};

use super::view::{Slot, StructAt, View};

/// The serial number of the first thread, as in HPROF files.
const FIRST_THREAD: u32 = 200_001;
/// The type of stacks.
pub(super) const STACK_TRACE: &str = "jdk.types.StackTrace";
/// The name of all virtual threads without one, of which there can be millions.
const UNNAMED_VIRTUAL: &str = "virtual threads";

/// The descriptor that async-profiler gives native functions. The class is then the library.
pub(super) const NATIVE_DESCRIPTOR: &str = "()L;";
/// The descriptor that perk gives methods whose signature is not known. The JDK's tools need one.
pub(super) const NO_DESCRIPTOR: &str = "()L?;";

/// A stack in the profile's tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    pub(super) node: NodeId,
    /// Whether its outer frames were cut off.
    pub(super) is_truncated: bool,
    /// The number of frames.
    pub(super) depth: usize,
}

/// The stack of an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum StackAt {
    /// The event has no stack.
    None,
    /// The chunk does not contain the stack, or lacks some of its frames.
    Lost,
    Found(Stack),
}

/// The threads of all chunks, by the properties that distinguish them: the ids of the JVM and of
/// the system, and the name.
#[derive(Debug, Default)]
pub(super) struct Threads {
    ids: KeyedMap<(i64, i64, StrId), ThreadId>,
}

/// The constants of a chunk that are already in the profile, by key.
#[derive(Debug, Default)]
pub(super) struct ChunkIds {
    stacks: KeyedMap<i64, Option<Stack>>,
    methods: KeyedMap<i64, Option<MethodId>>,
    classes: KeyedMap<i64, Option<ClassId>>,
    threads: KeyedMap<i64, Option<ThreadId>>,
    lines: KeyedMap<i64, (Line, FrameKind)>,
    states: KeyedMap<i64, bool>,
    /// The frames by their bytes.
    frames: KeyedMap<u128, Option<FrameId>>,
    /// The frames of the current stack.
    path: Vec<FrameId>,
}

/// The nodes of stacks by a hash of their frames. Each chunk repeats the same stacks under other
/// keys.
#[derive(Debug, Default)]
pub(super) struct Paths {
    nodes: KeyedMap<u64, NodeId>,
}

impl Paths {
    /// Returns the node of a stack, given from the innermost frame outward.
    fn node(&mut self, tree: &mut CallTree, frames: &[FrameId]) -> NodeId {
        let hash = self.nodes.hasher().hash_one(frames);
        match self.nodes.get(&hash) {
            Some(&node) if tree.frames(node).eq(frames.iter().copied()) => node,
            _ => {
                let node = tree.insert(frames.iter().rev().copied());
                self.nodes.insert(hash, node);
                node
            }
        }
    }
}

/// Returns the entry of `keys` for the constant of a field. If there is none, the result of `find`
/// becomes the entry.
fn cached<T: Copy>(keys: &mut KeyedMap<i64, T>, key: Option<i64>, find: impl FnOnce() -> T) -> T {
    match key {
        Some(key) => *keys.entry(key).or_insert_with(find),
        None => find(),
    }
}

impl ChunkIds {
    /// Returns the stack of an event.
    pub(super) fn stack(
        &mut self,
        view: &View<'_>,
        profile: &mut Profile,
        paths: &mut Paths,
        at: StructAt,
    ) -> StackAt {
        match view.field(at, "stackTrace").filter(|it| !it.is_list()) {
            Some(slot) => self.stack_in(view, profile, paths, slot),
            None => StackAt::None,
        }
    }

    /// Returns the stack of a field.
    pub(super) fn stack_in(
        &mut self,
        view: &View<'_>,
        profile: &mut Profile,
        paths: &mut Paths,
        slot: Slot<'_>,
    ) -> StackAt {
        let key = view.key_in(slot);
        let known = key.and_then(|key| self.stacks.get(&key).copied());
        let found = known.unwrap_or_else(|| {
            let stack = view.part_in(slot);
            let stack = stack.and_then(|it| self.new_stack(view, profile, paths, it));
            if let Some(key) = key {
                self.stacks.insert(key, stack);
            }
            stack
        });
        match found {
            Some(stack) => StackAt::Found(stack),
            None if key.is_none_or(|key| key == 0) => StackAt::None,
            None => StackAt::Lost,
        }
    }

    /// Adds all stacks of the chunk to a profile, also those of events that have no number in it.
    pub(super) fn add_stacks(&mut self, view: &View<'_>, profile: &mut Profile, paths: &mut Paths) {
        for (key, at) in view.constants_of(STACK_TRACE) {
            let known = self.stacks.get(&key).copied();
            let stack = known.unwrap_or_else(|| self.new_stack(view, profile, paths, at));
            self.stacks.insert(key, stack);
            if let Some(stack) = stack {
                profile.trace(stack.node, None);
            }
        }
    }

    fn new_stack(
        &mut self,
        view: &View<'_>,
        profile: &mut Profile,
        paths: &mut Paths,
        at: StructAt,
    ) -> Option<Stack> {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        for element in view.elements(at, "frames") {
            let bytes = view.element_bytes(element);
            let known = bytes.and_then(|bytes| self.frames.get(&bytes).copied());
            path.push(known.unwrap_or_else(|| {
                let frame = view.element(element).and_then(|it| self.frame(view, profile, it));
                let id = frame.map(|frame| profile.symbols.frame(frame));
                bytes.map(|bytes| self.frames.insert(bytes, id));
                id
            })?);
        }
        let node = paths.node(&mut profile.tree, &path);
        let depth = path.len();
        self.path = path;
        Some(Stack { node, is_truncated: view.flag(at, "truncated"), depth })
    }

    fn frame(&mut self, view: &View<'_>, profile: &mut Profile, at: StructAt) -> Option<Frame> {
        let (mut method, mut kind, mut line, mut bci) = (None, None, None, None);
        for slot in view.slots(at) {
            match slot.name() {
                "method" => method = view.key_in(slot),
                "type" => kind = view.key_in(slot),
                "lineNumber" => line = view.number_in(slot),
                "bytecodeIndex" => bci = view.number_in(slot),
                _ => {}
            }
        }
        let known = method.and_then(|key| self.methods.get(&key).copied());
        let method = known.unwrap_or_else(|| {
            let found = view.part(at, "method").and_then(|it| self.new_method(view, profile, it));
            method.map(|key| self.methods.insert(key, found));
            found
        })?;
        let (without_line, kind) =
            cached(&mut self.lines, kind, || match view.text(at, "type").as_deref() {
                Some("Native" | "C++") => (Line::Native, FrameKind::Native),
                Some("Kernel") => (Line::Native, FrameKind::Kernel),
                Some("JIT compiled") => (Line::Compiled, FrameKind::Compiled),
                Some("Inlined") => (Line::Compiled, FrameKind::Inlined),
                Some("Interpreted") => (Line::Unknown, FrameKind::Interpreted),
                _ => (Line::Unknown, FrameKind::Unknown),
            });
        let line = match line.and_then(|line| u32::try_from(line).ok()) {
            Some(line @ 1..) if without_line != Line::Native => Line::Number(line),
            _ => without_line,
        };
        let bci = bci.and_then(|bci| i32::try_from(bci).ok());
        let bci = bci.filter(|&bci| bci >= 0 && line != Line::Native);
        let frame = Frame { bci, ..Frame::new(method, line) };
        // If lines distinguish frames, kinds would only multiply the paths of a method that is
        // interpreted first and then compiled.
        Some(if line == without_line { Frame { kind, ..frame } } else { frame })
    }

    fn new_method(
        &mut self,
        view: &View<'_>,
        profile: &mut Profile,
        at: StructAt,
    ) -> Option<MethodId> {
        let class = self.class(view, profile, at, "type");
        let symbols = &mut profile.symbols;
        let mut class = class.unwrap_or_else(|| symbols.class(""));
        let name = symbols.strings.intern(&view.text(at, "name")?);
        let descriptor = view.text(at, "descriptor").unwrap_or_default();
        let (mut signature, mut source) = (None, None);
        if descriptor == NATIVE_DESCRIPTOR {
            source =
                Some(symbols.get_class(class).name).filter(|&it| it != symbols.strings.intern(""));
            class = symbols.class("");
        } else if descriptor.starts_with('(') && descriptor != NO_DESCRIPTOR {
            signature = Some(symbols.strings.intern(&descriptor));
        }
        Some(symbols.method(Method { class, name, signature, source }))
    }

    /// Returns the class that a field names.
    pub(super) fn class(
        &mut self,
        view: &View<'_>,
        profile: &mut Profile,
        at: StructAt,
        field: &str,
    ) -> Option<ClassId> {
        cached(&mut self.classes, view.key(at, field), || {
            let class = view.part(at, field)?;
            let name = view.text(class, "name")?;
            Some(profile.symbols.class(&source_name(&name)))
        })
    }

    /// Returns the thread that a field names.
    pub(super) fn thread(
        &mut self,
        view: &View<'_>,
        profile: &mut Profile,
        threads: &mut Threads,
        (at, field): (StructAt, &str),
    ) -> Option<ThreadId> {
        cached(&mut self.threads, view.key(at, field), || {
            Some(threads.thread(view, profile, view.part(at, field)?))
        })
    }

    /// Whether a sampled thread ran, according to the JDK or async-profiler. A wall-clock recording
    /// also contains threads that did not.
    pub(super) fn is_running(&mut self, view: &View<'_>, at: StructAt) -> bool {
        cached(&mut self.states, view.key(at, "state"), || {
            let state = view.text(at, "state");
            state.is_none_or(|it| matches!(&*it, "STATE_RUNNABLE" | "STATE_DEFAULT"))
        })
    }
}

impl Threads {
    fn thread(&mut self, view: &View<'_>, profile: &mut Profile, at: StructAt) -> ThreadId {
        let named = |field| view.text(at, field).filter(|name| !name.is_empty());
        let (mut java_id, mut os_id) = (
            view.number(at, "javaThreadId").unwrap_or(0),
            view.number(at, "osThreadId").unwrap_or(0),
        );
        let strings = &mut profile.symbols.strings;
        let name = if let Some(name) = named("javaName") {
            strings.intern(&name)
        } else if view.flag(at, "virtual") {
            (java_id, os_id) = (0, 0);
            strings.intern(UNNAMED_VIRTUAL)
        } else if let Some(name) = named("osName") {
            strings.intern(&name)
        } else {
            strings.intern(&format!("thread {}", if java_id > 0 { java_id } else { os_id }))
        };
        *self.ids.entry((java_id, os_id, name)).or_insert_with(|| {
            let group = view.part(at, "group");
            let parent = group.and_then(|it| view.part(it, "parent"));
            let mut group_name = |at: Option<StructAt>| {
                let name = view.text(at?, "name")?;
                Some(profile.symbols.strings.intern(&name))
            };
            let (group, parent_group) = (group_name(group), group_name(parent));
            let index = u32::try_from(profile.threads.len()).unwrap_or(u32::MAX);
            profile.push_thread(Thread {
                serial: FIRST_THREAD.saturating_add(index),
                object_id: u64::try_from(java_id).unwrap_or(0),
                name,
                group,
                parent_group,
            })
        })
    }
}

/// Returns a class's name in source form. JFR has `java/util/Map` and `[I`; hidden classes as
/// `a/B$$Lambda$14+0x00007f87280f9e38/1787079037` (JDK 17, the last number is a hash) or
/// `a.B$$Lambda/0x000000000813ecb8`, which get the dot of the JVM's signatures at that place.
pub(super) fn source_name(name: &str) -> String {
    if name.starts_with('[') {
        return names::from_signature(name);
    }
    let suffix = name.rfind("0x").filter(|&at| name[..at].ends_with(['+', '/', '.']));
    let Some(at) = suffix else { return name.replace('/', ".") };
    let address = name[at..].split('/').next().unwrap_or_default();
    format!("{}.{address}", name[..at - 1].replace('/', "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names() {
        for (name, source) in [
            ("java/util/Map$Entry", "java.util.Map$Entry"),
            ("[B", "byte[]"),
            ("[[Ljava/lang/Object;", "java.lang.Object[][]"),
            ("a/B$$Lambda$14+0x00007f87280f9e38/1787079037", "a.B$$Lambda$14.0x00007f87280f9e38"),
            ("a.B$$Lambda/0x000000000813ecb8", "a.B$$Lambda.0x000000000813ecb8"),
            ("0x", "0x"),
            ("", ""),
        ] {
            assert_eq!(source_name(name), source);
        }
    }
}
