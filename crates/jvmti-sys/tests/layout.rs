//! Comparisons of the tables with a C compiler's layout of JDK 25's header on a 64-bit machine.

use std::mem::{size_of, transmute};

use perk_jvmti_sys::*;

#[test]
fn sizes_are_those_of_c() {
    assert_eq!(size_of::<jvmtiInterface_1>(), 156 * 8);
    assert_eq!(size_of::<jvmtiEventCallbacks>(), 39 * 8);
    assert_eq!(size_of::<Capabilities>(), 16);
    assert_eq!(size_of::<jvmtiError>(), 4);
    assert_eq!(size_of::<jvmtiEvent>(), 4);
    assert_eq!(size_of::<jvmtiThreadInfo>(), 32);
    assert_eq!(size_of::<jvmtiThreadGroupInfo>(), 24);
    assert_eq!(size_of::<jvmtiFrameInfo>(), 16);
    assert_eq!(size_of::<jvmtiStackInfo>(), 32);
    assert_eq!(size_of::<jvmtiLineNumberEntry>(), 16);
    assert_eq!(size_of::<jvmtiLocalVariableEntry>(), 48);
    assert_eq!(size_of::<jvmtiMonitorUsage>(), 40);
    assert_eq!(size_of::<jvmtiMonitorStackDepthInfo>(), 16);
    assert_eq!(size_of::<jvmtiTimerInfo>(), 32);
    assert_eq!(size_of::<jvmtiExtensionFunctionInfo>(), 56);
    assert_eq!(size_of::<jvmtiExtensionEventInfo>(), 40);
    assert_eq!(size_of::<jvmtiParamInfo>(), 24);
    assert_eq!(size_of::<jvmtiAddrLocationMap>(), 16);
    assert_eq!(size_of::<jvmtiClassDefinition>(), 24);
    assert_eq!(size_of::<jvmtiHeapCallbacks>(), 128);
    assert_eq!(size_of::<jvmtiHeapReferenceInfo>(), 64);
    assert_eq!(size_of::<jvmtiHeapReferenceInfoStackLocal>(), 48);
}

#[test]
fn capabilities_are_the_bits_of_c() {
    let set = Capabilities::default()
        .with(Capability::CanTagObjects)
        .with(Capability::CanGenerateObjectFreeEvents)
        .with(Capability::CanSupportVirtualThreads);
    // SAFETY: both types have 16 bytes, in which every pattern is a value.
    let words: [u32; 4] = unsafe { transmute(set) };
    assert_eq!(words, [1, 0x1001, 0, 0]);
}

#[test]
fn capabilities_are_a_set() {
    let wanted: Capabilities =
        [Capability::CanGetBytecodes, Capability::CanSuspend].into_iter().collect();
    let given = Capabilities::default().with(Capability::CanSuspend);
    assert!(wanted.has(Capability::CanSuspend) && !wanted.has(Capability::CanTagObjects));
    assert_eq!(format!("{:?}", wanted.difference(given)), "{CanGetBytecodes}");
    assert_eq!(given.difference(wanted), Capabilities::default());
}

#[test]
fn the_slot_of_an_event_is_its_number() {
    for (name, event) in [
        ("VMInit", JVMTI_EVENT_VM_INIT),
        ("ClassFileLoadHook", JVMTI_EVENT_CLASS_FILE_LOAD_HOOK),
        ("MonitorContendedEntered", JVMTI_EVENT_MONITOR_CONTENDED_ENTERED),
        ("SampledObjectAlloc", JVMTI_EVENT_SAMPLED_OBJECT_ALLOC),
    ] {
        let slot = (event.0 - JVMTI_MIN_EVENT_TYPE_VAL.0) as usize;
        assert_eq!(CALLBACK_OFFSETS[slot], (name, slot * 8));
    }
}

#[test]
fn errors_and_events_have_the_names_of_the_header() {
    assert_eq!(JVMTI_ERROR_WRONG_PHASE.name(), "JVMTI_ERROR_WRONG_PHASE");
    assert_eq!(JVMTI_ERROR_MAX.name(), "JVMTI_ERROR_INVALID_ENVIRONMENT");
    assert_eq!(JVMTI_EVENT_VM_INIT.name(), "JVMTI_EVENT_VM_INIT");
    assert_eq!(jvmtiError(99_999).to_string(), "unknown jvmtiError (99999)");
    assert_eq!(JVMTI_ERROR_NONE.ok(), Ok(()));
    assert_eq!(JVMTI_ERROR_INTERNAL.ok(), Err(JVMTI_ERROR_INTERNAL));
}

#[test]
fn an_empty_slot_answers_that_it_is_not_available() {
    // SAFETY: all zeros is a valid table of empty slots: null pointers and `None`s.
    let table: jvmtiInterface_1 = unsafe { std::mem::zeroed() };
    let mut env: jvmtiEnv = &raw const table;
    let mut phase = JVMTI_PHASE_LIVE;
    // SAFETY: the environment points to a table.
    let error = unsafe { call!(&raw mut env, GetPhase, &mut phase) };
    assert_eq!(error, JVMTI_ERROR_NOT_AVAILABLE);
}
