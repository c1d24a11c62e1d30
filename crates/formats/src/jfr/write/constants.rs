//! The constants of a chunk: threads, stacks and everything that these name.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use perk_profile::{
    ClassId, Frame, FrameKind, KeyedMap, KeyedSet, Line, Method, MethodId, NodeId, Profile,
    ThreadId, names,
};

use super::bytes::Bytes;
use super::schema;
use super::state::SampleState;
use crate::deep::{LEFT_OUT, Stacks};
use crate::jfr::stacks::{NATIVE_DESCRIPTOR, NO_DESCRIPTOR};

/// The kinds of frames, by key from 1.
const FRAME_TYPES: [&str; 6] =
    ["Interpreted", "JIT compiled", "Inlined", "Native", "Kernel", "Unknown"];

/// The parts of a profile that the events of a chunk name.
#[derive(Debug, Default)]
pub(super) struct References {
    threads: BTreeSet<ThreadId>,
    nodes: KeyedSet<NodeId>,
    classes: BTreeSet<ClassId>,
    /// The number of frames of the stacks.
    pub(super) frame_count: usize,
}

impl References {
    /// Returns the key of a stack; 0 means none.
    pub(super) fn stack(&mut self, profile: &Profile, node: NodeId) -> u64 {
        if node != profile.tree.root() && self.nodes.insert(node) {
            self.frame_count += profile.tree.depth(node);
        }
        node.index() as u64
    }

    /// Returns the key of a thread; 0 means none.
    pub(super) fn thread(&mut self, thread: Option<ThreadId>) -> u64 {
        thread.map_or(0, |thread| {
            self.threads.insert(thread);
            thread.index() as u64 + 1
        })
    }

    /// Returns the key of a class; 0 means none.
    pub(super) fn class(&mut self, class: Option<ClassId>) -> u64 {
        class.map_or(0, |class| {
            self.classes.insert(class);
            class.index() as u64 + 1
        })
    }
}

/// Values by key, from a first key on. Each value is there once.
#[derive(Debug)]
struct Pool<K> {
    keys: KeyedMap<K, u64>,
    values: BTreeMap<u64, Bytes>,
    first_key: u64,
}

impl<K: Eq + Hash> Pool<K> {
    fn from_key(first_key: u64) -> Self {
        Self { keys: KeyedMap::default(), values: BTreeMap::new(), first_key }
    }

    /// Returns the key of a value, and whether it is new.
    fn key(&mut self, value: K) -> (u64, bool) {
        let next = self.first_key + self.keys.len() as u64;
        let key = *self.keys.entry(value).or_insert(next);
        (key, key == next)
    }
}

/// A method, or the frame that represents others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Code {
    Method(MethodId),
    LeftOut,
}

/// The constants of a chunk while they are collected.
pub(super) struct Constants<'a> {
    profile: &'a Profile,
    symbols: Pool<String>,
    packages: Pool<String>,
    /// The classes that are not in the profile: the libraries of native functions. Their keys follow
    /// those of the profile's classes.
    classes: Pool<String>,
    methods: Pool<Code>,
    groups: Pool<(Option<String>, Option<String>)>,
}

impl<'a> Constants<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            symbols: Pool::from_key(1),
            packages: Pool::from_key(1),
            classes: Pool::from_key(profile.symbols.classes().len() as u64 + 1),
            methods: Pool::from_key(1),
            groups: Pool::from_key(1),
        }
    }

    /// Returns the event that has all constants of a chunk.
    pub(super) fn checkpoint(
        mut self,
        used: &References,
        stacks: &Stacks<'_>,
        time_ns: u64,
    ) -> Bytes {
        let mut nodes: Vec<_> = used.nodes.iter().copied().collect();
        nodes.sort_unstable();
        let traces: Vec<_> =
            nodes.into_iter().map(|node| (node.index() as u64, self.stack(stacks, node))).collect();
        let threads: Vec<_> = used
            .threads
            .iter()
            .map(|&thread| (thread.index() as u64 + 1, self.thread(thread)))
            .collect();
        used.classes.iter().for_each(|&class| {
            self.class(class);
        });
        let texts = |texts: &[&str]| -> Vec<(u64, Bytes)> {
            let value = |text: &&str| {
                let mut value = Bytes::default();
                value.text(text);
                value
            };
            (1..).zip(texts.iter().map(value)).collect()
        };
        let states: Vec<_> = SampleState::ALL.iter().map(|state| state.name()).collect();
        let pools = [
            (schema::FRAME_TYPE, texts(&FRAME_TYPES)),
            (schema::THREAD_STATE, texts(&states)),
            (schema::THREAD_GROUP, self.groups.values.into_iter().collect()),
            (schema::THREAD, threads),
            (schema::SYMBOL, self.symbols.values.into_iter().collect()),
            (schema::PACKAGE, self.packages.values.into_iter().collect()),
            (schema::CLASS, self.classes.values.into_iter().collect()),
            (schema::METHOD, self.methods.values.into_iter().collect()),
            (schema::STACK_TRACE, traces),
        ];
        let pools: Vec<_> = pools.into_iter().filter(|(_, values)| !values.is_empty()).collect();
        let mut fields = Bytes::default();
        // Its start and duration, the distance to the checkpoint before it, and its kind.
        fields.number(time_ns).number(0).number(0).byte(0).number(pools.len() as u64);
        for (type_id, values) in &pools {
            fields.number(*type_id).number(values.len() as u64);
            for (key, value) in values {
                fields.number(*key).raw(value);
            }
        }
        let mut event = Bytes::default();
        event.event(schema::CHECKPOINT, &fields);
        event
    }

    fn symbol(&mut self, text: &str) -> u64 {
        let (key, is_new) = self.symbols.key(text.to_owned());
        if is_new {
            self.symbols.values.entry(key).or_default().text(text);
        }
        key
    }

    /// Returns the key of a thread group, by its name and that of its parent; 0 means none.
    fn group(&mut self, name: Option<&str>, parent: Option<&str>) -> u64 {
        if name.is_none() && parent.is_none() {
            return 0;
        }
        let (key, is_new) = self.groups.key((name.map(str::to_owned), parent.map(str::to_owned)));
        if is_new {
            let parent = self.group(parent, None);
            self.groups.values.entry(key).or_default().number(parent).text(name.unwrap_or(""));
        }
        key
    }

    fn thread(&mut self, id: ThreadId) -> Bytes {
        let profile = self.profile;
        let thread = profile.get_thread(id);
        let text = |it: Option<_>| it.map(|it| profile.symbols.strings.get(it));
        let group = self.group(text(thread.group), text(thread.parent_group));
        let mut value = Bytes::default();
        value.no_text().number(0).text(profile.thread_name(id)).number(id.index() as u64 + 1);
        value.number(group).flag(false);
        value
    }

    fn class(&mut self, id: ClassId) -> u64 {
        let key = id.index() as u64 + 1;
        if !self.classes.values.contains_key(&key) {
            let name = self.profile.symbols.class_name(id);
            self.write_class(key, name, names::package(name));
        }
        key
    }

    fn write_class(&mut self, key: u64, name: &str, package: &str) {
        let (package_key, is_new) = self.packages.key(package.to_owned());
        if is_new {
            let symbol = self.symbol(&package.replace('.', "/"));
            self.packages.values.entry(package_key).or_default().number(symbol);
        }
        let name = self.symbol(&jfr_name(name));
        let value = self.classes.values.entry(key).or_default();
        value.number(0).number(name).number(package_key).int(0).flag(false);
    }

    fn method(&mut self, code: Code) -> u64 {
        let (key, is_new) = self.methods.key(code);
        if is_new {
            let symbols = &self.profile.symbols;
            let (class, name, descriptor) = match code {
                Code::LeftOut => (self.library(""), LEFT_OUT, NATIVE_DESCRIPTOR),
                Code::Method(id) => {
                    let Method { class, name, signature, source } = symbols.get_method(id);
                    let is_function = symbols.class_name(class).is_empty() && signature.is_none();
                    let source = source.map_or("", |source| symbols.strings.get(source));
                    let descriptor = match signature {
                        Some(signature) => symbols.strings.get(signature),
                        None if is_function => NATIVE_DESCRIPTOR,
                        None => NO_DESCRIPTOR,
                    };
                    let class = if is_function { self.library(source) } else { self.class(class) };
                    (class, symbols.strings.get(name), descriptor)
                }
            };
            let (name, descriptor) = (self.symbol(name), self.symbol(descriptor));
            let value = self.methods.values.entry(key).or_default();
            value.number(class).number(name).number(descriptor).int(0).flag(false);
        }
        key
    }

    /// Returns the key of the class that represents the library of native functions.
    fn library(&mut self, name: &str) -> u64 {
        let (key, is_new) = self.classes.key(name.to_owned());
        if is_new {
            self.write_class(key, name, "");
        }
        key
    }

    fn stack(&mut self, stacks: &Stacks<'_>, node: NodeId) -> Bytes {
        let profile = self.profile;
        let mut frames = Bytes::default();
        let mut count = 0_u64;
        for frame in stacks.frames(node) {
            let frame = frame.map(|frame| profile.symbols.get_frame(frame));
            let code = frame.map_or(Code::LeftOut, |frame| Code::Method(frame.method));
            let method = self.method(code);
            let line = match frame.map(|frame| frame.line) {
                Some(Line::Number(line)) => i32::try_from(line).unwrap_or(i32::MAX),
                _ => -1,
            };
            let bci = frame.and_then(|frame| frame.bci).unwrap_or(-1);
            frames.number(method).int(line).int(bci).number(frame.map_or(6, |it| frame_type(&it)));
            count += 1;
        }
        // A stack that is as deep as stacks can be is one whose outer frames are missing.
        let is_truncated = profile.depth.is_some_and(|depth| count >= depth.into());
        let mut value = Bytes::default();
        value.flag(is_truncated).number(count).raw(&frames);
        value
    }
}

/// Returns the key of the kind of a frame.
fn frame_type(frame: &Frame) -> u64 {
    match (frame.line, frame.kind) {
        // Readers do not look for lines of native frames.
        (Line::Number(_), FrameKind::Native | FrameKind::Kernel) => 6,
        (_, FrameKind::Kernel) => 5,
        (Line::Native, _) | (_, FrameKind::Native) => 4,
        (_, FrameKind::Interpreted) => 1,
        (_, FrameKind::Inlined) => 3,
        (Line::Compiled, _)
        | (
            _,
            FrameKind::Compiled | FrameKind::CompiledC1 | FrameKind::CompiledC2 | FrameKind::Stub,
        ) => 2,
        _ => 6,
    }
}

/// Returns a class's name as in recordings: `java/util/Map`, `[I`.
fn jfr_name(class: &str) -> String {
    if class.ends_with("[]") {
        names::to_signature(class)
    } else if class.starts_with('[') {
        class.to_owned()
    } else {
        class.replace('.', "/")
    }
}
