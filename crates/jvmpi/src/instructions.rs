//! INSTRUCTION_START, by probes before each instruction, if the option `instructions=y` is given. Without
//! it the agent may enable the event, and none comes; a line on stderr says so.

use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jint};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_INSTRUCTION_START, JVMPI_Event_instruction, JVMPI_Event_instruction_if_info,
    JVMPI_Event_instruction_lookupswitch_info, JVMPI_Event_instruction_tableswitch_info,
    JVMPI_Event_instruction_u, JVMPI_Event_u,
};

use super::{bridge, methods, notify};
use crate::state::STATE;
use perk_jvm::guard::{Feature, contain};
use perk_jvm::sync::lock;

/// The frames above the method's own while a native method of the helper runs: it, and its caller.
const HELPER_FRAMES: jint = 2;

/// The opcodes of the first branches that compare with 0, and that compare two numbers (JVM
/// specification 6.5); the others follow in the same order.
const IFEQ: jint = 0x99;
const IF_ICMPEQ: jint = 0x9f;
/// Those that jump if references are the same, and if one is null.
const IF_ACMPEQ: jint = 0xa5;
const IFNULL: jint = 0xc6;
const TABLESWITCH: jint = 0xaa;
const LOOKUPSWITCH: jint = 0xab;

/// What the event of an instruction has that is no conditional branch or switch.
const NOTHING: JVMPI_Event_instruction_u = JVMPI_Event_instruction_u {
    tableswitch_info: JVMPI_Event_instruction_tableswitch_info { key: 0, low: 0, hi: 0 },
};

/// Notes the keys of a `lookupswitch`. Returns their number.
pub(super) fn add_keys(keys: Vec<i32>) -> u32 {
    let mut all = lock(&STATE.instructions.keys);
    all.push(keys.into());
    all.len() as u32 - 1
}

/// `PerkEvents.stepped`: the values are what a branch compares; the key of a switch, and its least and its
/// greatest key; or the key, and the number of the keys of a `lookupswitch`.
pub(super) extern "system" fn stepped(
    env: *mut JNIEnv,
    _: jclass,
    number: jint,
    offset: jint,
    opcode: jint,
    a: jint,
    b: jint,
    c: jint,
) {
    contain(Feature::Jvmpi, || {
        notify::send(JVMPI_EVENT_INSTRUCTION_START, env, || {
            let mut u = NOTHING;
            match opcode {
                0 => {}
                TABLESWITCH => {
                    u.tableswitch_info =
                        JVMPI_Event_instruction_tableswitch_info { key: a, low: b, hi: c };
                }
                LOOKUPSWITCH => u.lookupswitch_info = chosen(a, b),
                _ => {
                    let is_true = is_taken(opcode, a, b);
                    u.if_info = JVMPI_Event_instruction_if_info { is_true };
                }
            }
            let method_id = methods::of_number(number, HELPER_FRAMES);
            JVMPI_Event_u { instruction: JVMPI_Event_instruction { method_id, offset, u } }
        });
    });
}

/// Returns where a `lookupswitch` goes; its keys are those of a number.
fn chosen(key: jint, keys: jint) -> JVMPI_Event_instruction_lookupswitch_info {
    let all = lock(&STATE.instructions.keys);
    let keys = all.get(keys as usize).map_or(&[][..], |keys| keys);
    let total = keys.len();
    let chosen = keys.binary_search(&key).unwrap_or(total);
    let mut pairs_total = total as jint;
    if bridge().is_some_and(|bridge| bridge.options.reports_default) {
        // The document's `is_default` is a byte at the same place, and machines are little-endian.
        pairs_total = (chosen == total).into();
    }
    JVMPI_Event_instruction_lookupswitch_info { chosen_pair_index: chosen as jint, pairs_total }
}

/// Whether a branch jumps. Of references the helper passes 0 and 0 if they are the same.
fn is_taken(opcode: jint, a: jint, b: jint) -> bool {
    let comparison = match opcode {
        IF_ACMPEQ | IFNULL => 0,
        IF_ICMPEQ..IF_ACMPEQ => opcode - IF_ICMPEQ,
        IFEQ..IF_ICMPEQ => opcode - IFEQ,
        // `if_acmpne` and `ifnonnull`.
        _ => 1,
    };
    match comparison {
        0 => a == b,
        1 => a != b,
        2 => a < b,
        3 => a >= b,
        4 => a > b,
        _ => a <= b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_jump_as_the_specification_says() {
        let taken = |opcode, values: [(jint, jint); 3]| values.map(|(a, b)| is_taken(opcode, a, b));
        let values = [(-1, 0), (0, 0), (1, 0)];
        let expected = [
            [false, true, false],
            [true, false, true],
            [true, false, false],
            [false, true, true],
            [false, false, true],
            [true, true, false],
        ];
        for (index, expected) in (0..).zip(expected) {
            assert_eq!(taken(IFEQ + index, values), expected);
            assert_eq!(taken(IF_ICMPEQ + index, values), expected);
        }
        for (is_same, opcode) in [(true, IF_ACMPEQ), (false, 0xa6), (true, IFNULL), (false, 0xc7)] {
            assert_eq!((is_taken(opcode, 0, 0), is_taken(opcode, 1, 0)), (is_same, !is_same));
        }
    }
}
