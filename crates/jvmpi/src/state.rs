//! The state of the bridge: what its parts know, all in one place. It has no behaviour: the parts' modules are
//! above, and none of them keeps anything of its own but what is of a thread.

pub(crate) mod bridge;
pub(crate) mod classes;
pub(crate) mod entries;
pub(crate) mod objects;
pub(crate) mod parts;
pub(crate) mod probes;
pub(crate) mod threads;

use std::sync::OnceLock;

use self::bridge::Bridge;
use self::parts::{
    AccountState, AllCalls, Bracket, ClassFiles, Collections, CompiledMethods, Contention, Cpu,
    Delivery, GcThread, Hold, Instructions, Interface, MethodLines, Natives, Numbers, ObjectEvents,
    OwnCode, ProbeWishes, RawMonitors, Refs, Requests, Suspension, VmMethods,
};

/// The state of all parts.
#[derive(Debug)]
pub(crate) struct State {
    /// The bridge, once it is made, which lives as long as the process.
    pub(crate) bridge: OnceLock<Bridge>,
    pub(crate) account: AccountState,
    pub(crate) own: OwnCode,
    pub(crate) class_files: ClassFiles,
    pub(crate) compiled: CompiledMethods,
    pub(crate) contention: Contention,
    pub(crate) cpu: Cpu,
    pub(crate) gc: Collections,
    pub(crate) bracket: Bracket,
    pub(crate) hold: Hold,
    pub(crate) gc_thread: GcThread,
    pub(crate) instructions: Instructions,
    pub(crate) interface: Interface,
    pub(crate) lines: MethodLines,
    pub(crate) calls: AllCalls,
    pub(crate) numbers: Numbers,
    pub(crate) probes: ProbeWishes,
    pub(crate) vm: VmMethods,
    pub(crate) natives: Natives,
    pub(crate) delivery: Delivery,
    pub(crate) objects: ObjectEvents,
    pub(crate) raw_monitors: RawMonitors,
    pub(crate) refs: Refs,
    pub(crate) requests: Requests,
    pub(crate) suspension: Suspension,
}

/// The state of the process.
pub(crate) static STATE: State = State {
    bridge: OnceLock::new(),
    account: AccountState::new(),
    own: OwnCode::new(),
    class_files: ClassFiles::new(),
    compiled: CompiledMethods::new(),
    contention: Contention::new(),
    cpu: Cpu::new(),
    gc: Collections::new(),
    bracket: Bracket::new(),
    hold: Hold::new(),
    gc_thread: GcThread::new(),
    instructions: Instructions::new(),
    interface: Interface::new(),
    lines: MethodLines::new(),
    calls: AllCalls::new(),
    numbers: Numbers::new(),
    probes: ProbeWishes::new(),
    vm: VmMethods::new(),
    natives: Natives::new(),
    delivery: Delivery::new(),
    objects: ObjectEvents::new(),
    raw_monitors: RawMonitors::new(),
    refs: Refs::new(),
    requests: Requests::new(),
    suspension: Suspension::new(),
};

/// Returns the bridge, once the agent is loaded.
pub(crate) fn bridge() -> Option<&'static Bridge> {
    STATE.bridge.get()
}
