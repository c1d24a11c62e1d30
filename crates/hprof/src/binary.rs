//! The binary format (`format=b`): 1.0, 1.0.1 and 1.0.2 are read, 1.0.2 with 8-byte ids is written.
//! Perk's extended form is the same with records of its own.
//!
//! Source of the format: the HPROF manual's record tables and files of the JDK 8 agent; see
//! `docs/formats/hprof.md`.

mod cursor;
mod reader;
mod writer;

pub use reader::read;
pub use writer::Writer;

/// Record tags.
mod tag {
    pub(super) const UTF8: u8 = 0x01;
    pub(super) const LOAD_CLASS: u8 = 0x02;
    pub(super) const STACK_FRAME: u8 = 0x04;
    pub(super) const STACK_TRACE: u8 = 0x05;
    pub(super) const ALLOC_SITES: u8 = 0x06;
    pub(super) const START_THREAD: u8 = 0x0A;
    pub(super) const END_THREAD: u8 = 0x0B;
    pub(super) const CPU_SAMPLES: u8 = 0x0D;
    pub(super) const CONTROL_SETTINGS: u8 = 0x0E;
    // Perk's own, in extended files.
    pub(super) const EXTENDED: u8 = crate::format::EXTENDED_TAG;
    pub(super) const NODES: u8 = 0xF1;
    pub(super) const TRACES: u8 = 0xF2;
    pub(super) const ALL_CPU_SAMPLES: u8 = 0xF3;
    pub(super) const CPU_TIMES: u8 = 0xF4;
    pub(super) const CALL_EDGES: u8 = 0xF5;
    pub(super) const ALL_SITES: u8 = 0xF6;
}

/// Begins the text of the UTF8 record that carries perk's accounting. Nothing refers to that
/// record, so other readers pass over it.
const ACCOUNTING: &str = "perk accounting\n";
/// That record's id.
const ACCOUNTING_ID: u64 = NAME;

/// Begins the text of the UTF8 record, to which nothing refers either, that stands before ALLOC
/// SITES whose numbers are estimates; the bytes between two samples follow.
const ESTIMATE: &str = "perk estimate\nsample_interval_bytes=";
/// That record's id.
const ESTIMATE_ID: u64 = THREAD_NAME;

/// The form of extended files, as their first record tells it.
const EXTENDED_FORM: u32 = 1;

/// Ids are table positions, from 1; as with the original agent the leading digit tells the table.
const NAME: u64 = 0xa << 32;
const THREAD_NAME: u64 = 0xb << 32;
const CLASS_OBJECT: u64 = 0x6 << 32;
const FRAME: u64 = 0x7 << 32;
/// Of frames that stand for a method and no place in it.
const METHOD: u64 = 0x8 << 32;

/// CONTROL SETTINGS: allocations are traced.
const FLAG_SITES: u32 = 0x1;
/// CONTROL SETTINGS: CPU sampling is on.
const FLAG_CPU_SAMPLES: u32 = 0x2;
/// ALLOC SITES: the rows are ordered by allocated and not by live bytes.
const FLAG_BY_ALLOCATED: u16 = 0x2;

/// ALLOC SITES: the types of elements.
const NO_ARRAY: u8 = 0;
const OBJECT_ARRAY: u8 = 2;
/// The classes whose elements are of a primitive type, and its number.
const ARRAYS: [(&str, u8); 8] = [
    ("boolean[]", 4),
    ("char[]", 5),
    ("float[]", 6),
    ("double[]", 7),
    ("byte[]", 8),
    ("short[]", 9),
    ("int[]", 10),
    ("long[]", 11),
];
