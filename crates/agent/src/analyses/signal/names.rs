//! The symbols of frames: the JVM's own data has the names of methods ([`intake`](super::intake)), so
//! that it need not be asked.

use std::collections::BTreeMap;
use std::ops::Range;

use perk_control::options::OutputFormat;
use perk_hotspot::vm::{Code, LineEntry, Registers, Vm, VmFrame};
use perk_instrument::{COUNTS_HELPER, FIELDS_HELPER, HELPER, HELPER_BASE};
use perk_jvm::ProcessMemory;
use perk_jvm::native::{KernelCode, NativeCode};
use perk_jvm::sync::lock;
use perk_profile::{Frame, FrameId, FrameKind, Line, Method, MethodId, mutf8};
use rustc_hash::FxHashMap;

use super::intake::MethodText;
use crate::analyses::xprof;
use crate::common::Common;
use crate::recorder::Recorder;

/// The code that was met.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The methods, in the order of their numbers, which begin with 1.
    methods: Vec<MethodSymbols>,
    /// The instructions of native code and of the kernel.
    native: FxHashMap<usize, FrameId>,
    /// The native functions, by their first addresses, and the groups of threads.
    functions: FxHashMap<usize, FrameId>,
    groups: FxHashMap<String, FrameId>,
    /// The symbols of stubs, by their addresses, and of groups of stubs, by the address of their names.
    stubs: FxHashMap<usize, FrameId>,
    /// The single stubs of groups, by their addresses.
    singles: BTreeMap<usize, Stub>,
    code: NativeCode,
    kernel: KernelCode,
    addresses: Vec<usize>,
}

/// A stub: a function that the JVM has generated for itself.
#[derive(Debug)]
pub(super) struct Stub {
    pub(super) name: String,
    pub(super) addresses: Range<usize>,
}

/// The answers to the questions of [`xprof`](crate::analyses::xprof).
#[derive(Debug)]
pub(super) struct TickNames<'a> {
    pub(super) vm: &'a Vm,
    pub(super) names: &'a mut Names,
}

impl xprof::Frames for TickNames<'_> {
    fn method(&mut self, frame: &VmFrame) -> Option<(MethodId, bool)> {
        self.names.known(frame).map(|known| (known.id, known.is_probe))
    }

    fn is_interpreter(&self, frame: &VmFrame) -> bool {
        self.vm.is_interpreter(frame.pc)
    }

    fn stub_name(&self, frame: &VmFrame) -> String {
        self.vm.text(&ProcessMemory, frame.name)
    }
}

/// A method.
#[derive(Debug)]
struct MethodSymbols {
    id: MethodId,
    lines: Vec<LineEntry>,
    /// Whether it is one of a helper class of probes.
    is_probe: bool,
    frames: FxHashMap<(i32, FrameKind), FrameId>,
}

impl Names {
    /// Adds methods, which have the next numbers.
    pub(super) fn learn(&mut self, common: &Common, texts: Vec<MethodText>) {
        self.methods.extend(texts.into_iter().map(|text| known(common, text)));
    }

    /// Adds single stubs of groups.
    pub(super) fn learn_stubs(&mut self, stubs: Vec<Stub>) {
        self.singles.extend(stubs.into_iter().map(|stub| (stub.addresses.start, stub)));
    }

    /// Adds the symbols of the Java frames of a stack, in its order, and with `native=y` those of the
    /// code that the JVM generated for no method. The work of probes and their callees belongs to
    /// the method that they are in.
    pub(super) fn add_frames(
        &mut self,
        common: &Common,
        vm: &Vm,
        frames: impl Iterator<Item = VmFrame>,
        found: &mut Vec<FrameId>,
    ) {
        for frame in frames {
            if frame.method == 0 {
                if common.options.native && frame.name != 0 {
                    found.push(self.stub(common, vm, &frame));
                }
                continue;
            }
            match self.frame(common, &frame) {
                Some((_, true)) => found.clear(),
                Some((id, false)) => found.push(id),
                None => {}
            }
        }
    }

    /// Adds the symbols of the native frames of a stack up to generated code, in its order. `stack`
    /// has the words from the stack pointer on.
    pub(super) fn add_native(
        &mut self,
        common: &Common,
        vm: &Vm,
        registers: Registers,
        stack: &[u64],
        found: &mut Vec<FrameId>,
    ) {
        self.addresses.clear();
        let is_end = |address| vm.is_generated_code(address);
        self.code.unwind(registers, stack, is_end, &mut self.addresses);
        for &address in &self.addresses {
            let id = *self.native.entry(address).or_insert_with(|| {
                let function = self.code.function(address);
                *self.functions.entry(function).or_insert_with(|| {
                    let (name, file) = (self.code.name(function), self.code.file_name(function));
                    symbol(common, &name, file.as_deref(), FrameKind::Native)
                })
            });
            found.push(id);
        }
    }

    /// Adds the symbols of the kernel's frames of a stack, in its order: the address of an instruction,
    /// and those to which its callers return. If the kernel hides its addresses there is one frame.
    pub(super) fn add_kernel(
        &mut self,
        common: &Common,
        addresses: &[u64],
        found: &mut Vec<FrameId>,
    ) {
        for (index, &address) in addresses.iter().enumerate() {
            let inside = if index == 0 { address } else { address.saturating_sub(1) };
            let id = *self.native.entry(inside as usize).or_insert_with(|| {
                symbol(common, self.kernel.name(inside), None, FrameKind::Kernel)
            });
            found.push(id);
            if self.kernel.is_hidden() {
                return;
            }
        }
    }

    /// Returns the symbol of a group of threads, below their stacks.
    pub(super) fn group(&mut self, common: &Common, name: &str) -> FrameId {
        if let Some(&known) = self.groups.get(name) {
            return known;
        }
        let id = symbol(common, &format!("[{name}]"), None, FrameKind::Native);
        self.groups.insert(name.to_owned(), id);
        id
    }

    /// Returns the symbol of the stub of a frame; that of its group if no more is known.
    fn stub(&mut self, common: &Common, vm: &Vm, frame: &VmFrame) -> FrameId {
        let single = self.singles.range(..=frame.pc).next_back().map(|(_, stub)| stub);
        let single = single.filter(|stub| stub.addresses.contains(&frame.pc));
        let key = single.map_or(frame.name, |stub| stub.addresses.start);
        *self.stubs.entry(key).or_insert_with(|| {
            let name = match single {
                Some(stub) => stub.name.clone(),
                None => format!("[{}]", vm.text(&ProcessMemory, frame.name)),
            };
            symbol(common, &name, None, FrameKind::Stub)
        })
    }

    fn known(&mut self, frame: &VmFrame) -> Option<&mut MethodSymbols> {
        self.methods.get_mut(frame.method.checked_sub(1)?)
    }

    /// Returns the symbol of a frame, and whether it is one of a probe's.
    fn frame(&mut self, common: &Common, frame: &VmFrame) -> Option<(FrameId, bool)> {
        let MethodSymbols { id, lines, frames, is_probe } = self.known(frame)?;
        // Other forms have neither: a trace would be there several times.
        let is_extended = common.options.format == OutputFormat::Extended;
        let kind = if is_extended { kind(frame) } else { FrameKind::Unknown };
        let is_native = frame.kind == Code::NativeMethod;
        let known = frames.entry((frame.bci, kind)).or_insert_with(|| {
            let line = match common.options.lineno {
                _ if is_native && common.marks_native() => Line::Native,
                true => line_at(lines, frame.bci),
                false => Line::Unknown,
            };
            let bci = Some(frame.bci).filter(|bci| is_extended && *bci >= 0);
            let symbol = Frame { bci, kind, ..Frame::new(*id, line) };
            lock(common.recorder).profile.symbols.frame(symbol)
        });
        Some((*known, *is_probe))
    }
}

/// Returns the symbol of code that is not a method's, of a library or not.
fn symbol(common: &Common, name: &str, library: Option<&str>, kind: FrameKind) -> FrameId {
    let line = if kind == FrameKind::Stub { Line::Unknown } else { Line::Native };
    let mut recorder = lock(common.recorder);
    let symbols = &mut recorder.profile.symbols;
    let class = symbols.class("");
    let name = symbols.strings.intern(name);
    let source = library.map(|library| symbols.strings.intern(library));
    let method = symbols.method(Method { class, name, signature: None, source });
    symbols.frame(Frame { bci: None, kind, ..Frame::new(method, line) })
}

/// Makes the symbols of a method.
fn known(common: &Common, MethodText { names, lines }: MethodText) -> MethodSymbols {
    let text = |bytes: &[u8]| mutf8::decode(bytes).into_owned();
    let class = text(&names.class);
    let helpers = [HELPER, FIELDS_HELPER, COUNTS_HELPER, HELPER_BASE];
    let is_probe = helpers.iter().any(|helper| class.starts_with(helper));
    let class = external_name(&class);
    let mut recorder = lock(common.recorder);
    let Recorder { profile, .. } = &mut *recorder;
    let symbols = &mut profile.symbols;
    let class = symbols.class(&class);
    // Other forms have the JVM's name.
    let target = names.target.as_ref().filter(|_| common.options.format == OutputFormat::Extended);
    let name = symbols.strings.intern(&text(target.unwrap_or(&names.name)));
    let signature = Some(symbols.strings.intern(&text(&names.signature)));
    // The JVM's own methods, such as `MethodHandle.linkToStatic`, have an empty one.
    let source = names
        .source
        .filter(|source| !source.is_empty())
        .map(|source| symbols.strings.intern(&text(&source)));
    let id = symbols.method(Method { class, name, signature, source });
    MethodSymbols { id, lines, is_probe, frames: FxHashMap::default() }
}

/// Returns the name of a class as `Class.getName` has it, but for hidden classes: the address after
/// theirs follows a dot, as in the signatures that JVMTI gives.
fn external_name(class: &str) -> String {
    let name = class.replace('/', ".");
    match name.rfind("+0x") {
        Some(plus) => format!("{}.{}", &name[..plus], &name[plus + 1..]),
        None => name,
    }
}

fn kind(frame: &VmFrame) -> FrameKind {
    match (frame.kind, frame.level) {
        (Code::Interpreted, _) => FrameKind::Interpreted,
        (Code::C1, _) => FrameKind::CompiledC1,
        (Code::C2, _) => FrameKind::CompiledC2,
        (Code::Inlined, _) => FrameKind::Inlined,
        (Code::NativeMethod | Code::Native, _) => FrameKind::Native,
        (Code::Stub | Code::Continuation | Code::FrozenContinuation, _) => FrameKind::Stub,
    }
}

/// Returns the line of the entry that begins last at or before `bci`.
fn line_at(lines: &[LineEntry], bci: i32) -> Line {
    let before = lines.iter().filter(|entry| entry.bci <= bci);
    before
        .max_by_key(|entry| entry.bci)
        .map_or(Line::Unknown, |entry| Line::Number(entry.line.unsigned_abs()))
}
