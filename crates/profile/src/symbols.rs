//! Classes, methods and frames, each kept once.

use crate::{ClassId, FrameId, Interner, KeyedMap, MethodId, Shared, StrId, names};

/// The class and the method above the methods whose call path is not known, because memory for it
/// was short.
pub const FOLDED: &str = "<folded>";

/// The class and the method of the frames that represent methods over budget (`path-budget`). Below the one of a caller are
/// the methods that its callees over budget called; below the one of a thread are the methods over budget themselves,
/// with all of their calls since they gave up their paths.
pub const OVER_BUDGET: &str = "<over budget>";

/// A loaded class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// Its name in source form (`java.util.Map$Entry`, `int[]`).
    pub name: StrId,
}

/// A method of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// The class that declares it.
    pub class: ClassId,
    /// Its simple name.
    pub name: StrId,
    /// Its JVM signature (`(I)V`); `None` if the format has none.
    pub signature: Option<StrId>,
    /// The source file of its class, or the library of a native function; `None` if unknown.
    pub source: Option<StrId>,
}

/// The line of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// A line of the source file, from 1.
    Number(u32),
    /// An unknown line: there is no line table, or lines were not requested.
    Unknown,
    /// Compiled code without a line (HPROF's -2).
    Compiled,
    /// A native method (HPROF's -3).
    Native,
}

impl Line {
    /// Returns HPROF's number of the line: the line itself, or -1 unknown, -2 compiled, -3 native.
    pub fn to_hprof(self) -> i32 {
        match self {
            Line::Number(line) => i32::try_from(line).unwrap_or(i32::MAX),
            Line::Unknown => -1,
            Line::Compiled => -2,
            Line::Native => -3,
        }
    }

    /// The reverse of [`Line::to_hprof`]; 0 and numbers below -3 are unknown lines.
    pub fn from_hprof(number: i32) -> Self {
        match number {
            -2 => Line::Compiled,
            -3 => Line::Native,
            1.. => Line::Number(number.unsigned_abs()),
            _ => Line::Unknown,
        }
    }
}

/// The way in which the code of a frame ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// Not known.
    #[default]
    Unknown,
    /// Bytecode, run by the interpreter.
    Interpreted,
    /// Code of a compiler that is not known.
    Compiled,
    /// Code of the compiler C1.
    CompiledC1,
    /// Code of the compiler C2.
    CompiledC2,
    /// Code inlined into the compiled code of its caller.
    Inlined,
    /// Native code: a native method, a library, the JVM.
    Native,
    /// Code of the kernel.
    Kernel,
    /// Code that the JVM generates for itself: entries, intrinsics, barriers.
    Stub,
}

impl FrameKind {
    /// All kinds, in the order of their numbers in perk's extended HPROF.
    pub const ALL: [FrameKind; 9] = [
        FrameKind::Unknown,
        FrameKind::Interpreted,
        FrameKind::Compiled,
        FrameKind::CompiledC1,
        FrameKind::CompiledC2,
        FrameKind::Inlined,
        FrameKind::Native,
        FrameKind::Kernel,
        FrameKind::Stub,
    ];

    /// Its name in tables; `None` if it is not known.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            FrameKind::Unknown => return None,
            FrameKind::Interpreted => "interpreted",
            FrameKind::Compiled => "compiled",
            FrameKind::CompiledC1 => "C1",
            FrameKind::CompiledC2 => "C2",
            FrameKind::Inlined => "inlined",
            FrameKind::Native => "native",
            FrameKind::Kernel => "kernel",
            FrameKind::Stub => "stub",
        })
    }

    /// The kind of frames with this line, if no other source gives it.
    pub fn of_line(line: Line) -> Self {
        match line {
            Line::Number(_) | Line::Unknown => FrameKind::Unknown,
            Line::Compiled => FrameKind::Compiled,
            Line::Native => FrameKind::Native,
        }
    }
}

/// A place in a method, as a stack shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The method.
    pub method: MethodId,
    /// The bytecode index, if the engine reported it; readers of files without it leave it out. Two
    /// frames on the same line can differ in it.
    pub bci: Option<i32>,
    /// The source line.
    pub line: Line,
    /// The way in which its code ran. Frames of one place can differ in it.
    pub kind: FrameKind,
}

impl Frame {
    /// A frame without a bytecode index, of the kind that its line implies.
    pub fn new(method: MethodId, line: Line) -> Self {
        Self { method, bci: None, line, kind: FrameKind::of_line(line) }
    }
}

/// The table of symbols.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// All names.
    pub strings: Interner,
    classes: Shared<Vec<Class>>,
    methods: Shared<Vec<Method>>,
    frames: Shared<Vec<Frame>>,
    class_by_name: Shared<KeyedMap<StrId, ClassId>>,
    method_ids: Shared<KeyedMap<Method, MethodId>>,
    frame_ids: Shared<KeyedMap<Frame, FrameId>>,
}

impl Symbols {
    /// Returns the class of a name; the first one, if several loaders define it. A class that was
    /// generated while the program ran has a name without addresses and counters
    /// ([`names::stable`]), which it shares with those like it.
    pub fn class(&mut self, name: &str) -> ClassId {
        let name = self.strings.intern(&names::stable(name));
        match self.class_by_name.get(&name) {
            Some(&id) => id,
            None => self.push_class(name),
        }
    }

    /// Adds a class even if one of that name exists: the class of another loader. Generated classes
    /// are those of [`Symbols::class`].
    pub fn new_class(&mut self, name: &str) -> ClassId {
        if *names::stable(name) == *name { self.jvm_class(name) } else { self.class(name) }
    }

    /// Adds a class under the very name that the JVM has for it, even if it is a generated one.
    pub fn jvm_class(&mut self, name: &str) -> ClassId {
        let name = self.strings.intern(name);
        self.push_class(name)
    }

    fn push_class(&mut self, name: StrId) -> ClassId {
        let id = ClassId::new(self.classes.len());
        self.classes.push(Class { name });
        self.class_by_name.entry(name).or_insert(id);
        id
    }

    /// The id of `method`, which is added if it is new.
    pub fn method(&mut self, method: Method) -> MethodId {
        if let Some(&id) = self.method_ids.get(&method) {
            return id;
        }
        let id = MethodId::new(self.methods.len());
        self.methods.push(method);
        self.method_ids.insert(method, id);
        id
    }

    /// Sets the source file of a method.
    pub fn set_source(&mut self, id: MethodId, source: StrId) {
        let method = &mut self.methods[id.index()];
        if self.method_ids.get(method) == Some(&id) {
            self.method_ids.remove(method);
        }
        method.source = Some(source);
        self.method_ids.entry(*method).or_insert(id);
    }

    /// The id of `frame`, which is added if it is new.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        if let Some(&id) = self.frame_ids.get(&frame) {
            return id;
        }
        let id = FrameId::new(self.frames.len());
        self.frames.push(frame);
        self.frame_ids.insert(frame, id);
        id
    }

    /// All classes, by id.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = (ClassId, Class)> + '_ {
        self.classes.iter().enumerate().map(|(index, class)| (ClassId::new(index), *class))
    }

    /// Returns the class of an id.
    pub fn get_class(&self, id: ClassId) -> Class {
        self.classes[id.index()]
    }

    /// Returns the method of an id.
    pub fn get_method(&self, id: MethodId) -> Method {
        self.methods[id.index()]
    }

    /// Returns the frame of an id.
    pub fn get_frame(&self, id: FrameId) -> Frame {
        self.frames[id.index()]
    }

    /// The name of a class, in source form.
    pub fn class_name(&self, id: ClassId) -> &str {
        self.strings.get(self.get_class(id).name)
    }

    /// Whether a method represents others that are not known: [`FOLDED`] and [`OVER_BUDGET`].
    pub fn is_unknown(&self, id: MethodId) -> bool {
        matches!(self.class_name(self.get_method(id).class), FOLDED | OVER_BUDGET)
    }

    /// Whether a method represents methods over budget: [`OVER_BUDGET`].
    pub fn is_over_budget(&self, id: MethodId) -> bool {
        self.class_name(self.get_method(id).class) == OVER_BUDGET
    }

    /// The number of methods.
    pub fn method_count(&self) -> usize {
        self.methods.len()
    }

    /// The number of frames.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Formats `class.method`, as reports and traces show it; the method alone if no class is
    /// known, as in native frames of other tools.
    pub fn method_name(&self, id: MethodId) -> String {
        let method = self.get_method(id);
        match (self.class_name(method.class), self.strings.get(method.name)) {
            ("", name) => name.to_owned(),
            (class, name) => format!("{class}.{name}"),
        }
    }
}
