//! The row of a tick, from the frames of the thread.

use perk_control::options::Xprof as Tables;
use perk_hotspot::vm::{Code, VmFrame};
use perk_hprof::xprof::Table;
use perk_profile::MethodId;

use super::Frames;

/// The most innermost frames that can belong to a probe and its callees.
const MOST_PROBE_FRAMES: usize = 16;
/// The level of C2's code.
const C2_LEVEL: u8 = 4;

/// The label of ticks in the interpreter where it is between two methods.
pub(super) const INTERPRETER: &str = "Interpreter";
/// The label of ticks in a method that cannot be found, such as one that was unloaded.
pub(super) const NULL_METHOD: &str = "Unknown: null method";
/// The label of ticks without a Java method: in native threads that Java code does not call.
pub(super) const NO_LAST_FRAME: &str = "Unknown: no last frame";

/// Where a tick belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// A row of a table: its code, or native code that it called.
    Method { table: Table, method: MethodId, is_native: bool },
    /// Code that the JVM generated, called by no method.
    Stub { name: String, is_native: bool },
    /// A label of the thread's.
    Label(&'static str),
}

/// Returns the place of a tick.
///
/// Code that the JVM generated, such as an intrinsic, is code of the method that called it. Anything
/// outside of generated code is native code of that method.
pub(super) fn place(
    frames: &[VmFrame],
    tables: Tables,
    has_probes: bool,
    with: &mut impl Frames,
) -> Place {
    let mut rest = frames;
    if has_probes {
        // The work of probes belongs to the method that they are in.
        let inner = &frames[..frames.len().min(MOST_PROBE_FRAMES)];
        let is_probe = |frame: &VmFrame| {
            frame.method != 0 && with.method(frame).is_some_and(|(_, is_probe)| is_probe)
        };
        rest = &frames[inner.iter().rposition(is_probe).map_or(0, |it| it + 1)..];
    }
    let mut is_native = false;
    let mut stub: Option<&VmFrame> = None;
    while let Some((frame, others)) = rest.split_first() {
        match frame.kind {
            Code::Stub => stub = stub.or(Some(frame)),
            Code::FrozenContinuation => {}
            Code::Interpreted
            | Code::C1
            | Code::C2
            | Code::Inlined
            | Code::NativeMethod
            | Code::Continuation => break,
            Code::Native => is_native = true,
        }
        rest = others;
    }
    let in_interpreter = stub.is_some_and(|stub| with.is_interpreter(stub));
    let Some(frame) = rest.first() else {
        return match stub {
            Some(_) if in_interpreter => Place::Label(INTERPRETER),
            Some(stub) => Place::Stub { name: with.stub_name(stub), is_native },
            None => Place::Label(NO_LAST_FRAME),
        };
    };
    if in_interpreter && frame.kind != Code::Interpreted {
        return Place::Label(INTERPRETER);
    }
    let of_level = |level| match tables.tiers {
        false => Table::Compiled,
        true if level == C2_LEVEL => Table::CompiledC2,
        true => Table::CompiledC1,
    };
    let (table, named) = match frame.kind {
        Code::Interpreted => (Table::Interpreted, frame),
        Code::NativeMethod if with.is_interpreter(frame) => (Table::Interpreted, frame),
        Code::NativeMethod | Code::Continuation => (Table::Stub, frame),
        _ if tables.inlined => (of_level(frame.level), frame),
        _ => {
            let outer = rest.iter().find(|it| it.kind != Code::Inlined).unwrap_or(frame);
            (of_level(frame.level), outer)
        }
    };
    match with.method(named) {
        Some((method, _)) => Place::Method { table, method, is_native },
        None => Place::Label(NULL_METHOD),
    }
}
