//! The binary format (`format=b`): 1.0, 1.0.1 and 1.0.2 are read, 1.0.2 with 8-byte ids is written.
//! Perk's extended format is the same with additional records.
//!
//! Source of the format: the HPROF manual's record tables and files of the JDK 8 agent; see
//! `docs/formats/hprof.md`.

mod cursor;
mod form;
mod monitors;
pub(crate) mod packed;
mod reader;
mod writer;

use perk_profile::{FieldModifier, Span, Unit};

pub use form::{BinaryForm, IdSize, Version};
pub use reader::{GrowingSymbols, Increments, read};
pub use writer::Writer;

/// Record tags.
pub(crate) mod tag {
    pub(crate) const UTF8: u8 = 0x01;
    pub(crate) const LOAD_CLASS: u8 = 0x02;
    pub(crate) const UNLOAD_CLASS: u8 = 0x03;
    pub(crate) const STACK_FRAME: u8 = 0x04;
    pub(crate) const STACK_TRACE: u8 = 0x05;
    pub(crate) const ALLOC_SITES: u8 = 0x06;
    pub(crate) const HEAP_SUMMARY: u8 = 0x07;
    pub(crate) const START_THREAD: u8 = 0x0A;
    pub(crate) const END_THREAD: u8 = 0x0B;
    pub(crate) const HEAP_DUMP: u8 = 0x0C;
    pub(crate) const CPU_SAMPLES: u8 = 0x0D;
    pub(crate) const CONTROL_SETTINGS: u8 = 0x0E;
    pub(crate) const HEAP_DUMP_SEGMENT: u8 = 0x1C;
    pub(crate) const HEAP_DUMP_END: u8 = 0x2C;
    // Perk's own: rows of others, in files of revision 5.
    pub(crate) const PACKED: u8 = 0xEB;
    // Perk's own, in any file.
    pub(crate) const TIME_SERIES: u8 = 0xEC;
    pub(crate) const PAUSES: u8 = 0xED;
    pub(crate) const TIMELINE: u8 = 0xEF;
    // Perk's own, in extended files.
    pub(crate) const LABELS: u8 = 0xEE;
    pub(crate) const EXTENDED: u8 = crate::format::EXTENDED_TAG;
    pub(crate) const NODES: u8 = 0xF1;
    pub(crate) const TRACES: u8 = 0xF2;
    // Only files of revision 1 have these six. Later revisions have SECTION instead.
    pub(crate) const ALL_CPU_SAMPLES: u8 = 0xF3;
    pub(crate) const CPU_TIMES: u8 = 0xF4;
    pub(crate) const CALL_EDGES: u8 = 0xF5;
    pub(crate) const ALL_SITES: u8 = 0xF6;
    pub(crate) const MONITOR_TIMES: u8 = 0xF7;
    pub(crate) const METRIC: u8 = 0xFA;
    pub(crate) const MONITOR_DUMP: u8 = 0xF8;
    pub(crate) const WAIT: u8 = 0xF9;
    pub(crate) const HEAP_HISTOGRAM: u8 = 0xFB;
    pub(crate) const LARGE_HEAP_SUMMARY: u8 = 0xFC;
    pub(crate) const SECTION: u8 = 0xFD;
    pub(crate) const FRAME_KINDS: u8 = 0xFE;
    pub(crate) const FIELD_ACCESSES: u8 = 0xFF;

    /// Whether records of this kind are read whole. Those of heap dumps are read in parts.
    pub(crate) fn has_body(tag: u8) -> bool {
        matches!(
            tag,
            UNLOAD_CLASS
                | ALLOC_SITES
                | HEAP_SUMMARY
                | START_THREAD
                | END_THREAD
                | CPU_SAMPLES
                | CONTROL_SETTINGS
                | PACKED..=FIELD_ACCESSES
        )
    }

    /// The name of a record's kind.
    pub(crate) fn name(tag: u8) -> &'static str {
        match tag {
            UTF8 => "UTF8",
            LOAD_CLASS => "LOAD CLASS",
            UNLOAD_CLASS => "UNLOAD CLASS",
            STACK_FRAME => "STACK FRAME",
            STACK_TRACE => "STACK TRACE",
            ALLOC_SITES => "ALLOC SITES",
            HEAP_SUMMARY => "HEAP SUMMARY",
            START_THREAD => "START THREAD",
            END_THREAD => "END THREAD",
            HEAP_DUMP => "HEAP DUMP",
            CPU_SAMPLES => "CPU SAMPLES",
            CONTROL_SETTINGS => "CONTROL SETTINGS",
            HEAP_DUMP_SEGMENT => "HEAP DUMP SEGMENT",
            HEAP_DUMP_END => "HEAP DUMP END",
            PACKED => "PACKED",
            TIME_SERIES => "TIME SERIES",
            PAUSES => "PAUSES",
            LABELS => "LABELS",
            TIMELINE => "TIMELINE",
            EXTENDED => "EXTENDED",
            NODES => "NODES",
            TRACES => "TRACES",
            ALL_CPU_SAMPLES => "ALL CPU SAMPLES",
            CPU_TIMES => "CPU TIMES",
            CALL_EDGES => "CALL EDGES",
            ALL_SITES => "ALL SITES",
            MONITOR_TIMES => "MONITOR TIMES",
            MONITOR_DUMP => "MONITOR DUMP",
            WAIT => "WAIT",
            METRIC => "METRIC",
            HEAP_HISTOGRAM => "HEAP HISTOGRAM",
            LARGE_HEAP_SUMMARY => "LARGE HEAP SUMMARY",
            SECTION => "SECTION",
            FRAME_KINDS => "FRAME KINDS",
            FIELD_ACCESSES => "FIELD ACCESSES",
            _ => "of a kind unknown",
        }
    }
}

/// The beginning of the text of the UTF8 record that carries perk's accounting. No record refers to
/// it, so other readers skip it.
const ACCOUNTING: &str = "perk accounting\n";
/// The id of that record.
const ACCOUNTING_ID: u64 = NAME;

/// The beginning of the text of the UTF8 record before ALLOC SITES whose numbers are estimates. The
/// bytes between two samples follow. No record refers to it.
const ESTIMATE: &str = "perk estimate\nsample_interval_bytes=";
/// The id of that record.
const ESTIMATE_ID: u64 = THREAD_NAME;

/// The text of the UTF8 record before CPU SAMPLES that the next such record counts again. No record
/// refers to it.
const INTERIM: &str = "perk interim\n";
/// The id of the first such record. The ids of further ones go up from it.
const INTERIM_ID: u64 = 0x8 << 32;

/// The beginning of the text of the UTF8 record before a record with numbers that do not fit four
/// bytes, and are written as 2^32 - 1 there. All of these numbers follow in their order, one per
/// line. No record refers to it.
const WIDE: &str = "perk wide numbers\n";
/// The id of the first such record. The ids of further ones go up from it.
const WIDE_ID: u64 = 0xc << 32;

/// The revision of extended files, as their first record gives it. Files of revision 1 have a
/// separate record type for each kind of section.
const EXTENDED_FORM: u32 = 4;
/// That of files with PACKED.
const PACKED_FORM: u32 = 5;

/// Ids are table positions, from 1. As with the original agent, the leading digit gives the table.
const NAME: u64 = 0xa << 32;
const THREAD_NAME: u64 = 0xb << 32;
/// This is so high that no object of the heap has the id.
const CLASS_OBJECT: u64 = 0x6 << 60;
const FRAME: u64 = 0x7 << 32;

/// SECTION: the spans that the numbers cover, by their number.
const SPANS: [Span; 3] = [Span::SinceLast, Span::Interim, Span::SinceStart];
/// SECTION: the rows have subjects.
const HAS_SUBJECTS: u8 = 0x1;
/// SECTION: the rows are of pairs of methods.
const IS_BY_PAIR: u8 = 0x2;
/// SECTION: the rows are as they were counted: those of one trace and subject add up, and they are in no
/// order.
const AS_COUNTED: u8 = 0x4;
/// SECTION: the rows have sets of labels.
const HAS_LABELS: u8 = 0x8;
/// LABELS: the kinds of values.
const TEXT_LABEL: u8 = 0;
const NUMBER_LABEL: u8 = 1;
/// SECTION: the column is of another tool.
const IS_OTHER: u8 = 0x1;
/// SECTION: rows are left out, and a column's total is the total of the rows that are written.
const IS_PARTIAL: u8 = 0x2;
/// SECTION: the numbers of a column are not known.
const IS_UNKNOWN: u8 = 0x4;
/// SECTION: the kinds of subjects. A class means its objects.
const NO_SUBJECT: u8 = 0;
const CLASS_SUBJECT: u8 = 1;
const LOCK_SUBJECT: u8 = 2;
const FIELD_SUBJECT: u8 = 3;
const STATE_SUBJECT: u8 = 4;

/// Perk's own records: the record is the last of its section.
const IS_LAST: u8 = 0x1;
/// TRACES: a trace with the node and the thread of an earlier one is that one.
const MAY_REPEAT: u8 = 0x2;
/// FIELD ACCESSES: the accesses by other means than instructions follow those of instructions.
const HAS_EXTENDED: u8 = 0x2;
/// FIELD ACCESSES: the modifiers of fields, by their number.
const FIELD_MODIFIERS: [FieldModifier; 4] =
    [FieldModifier::None, FieldModifier::Final, FieldModifier::Volatile, FieldModifier::Assigned];
/// FIELD ACCESSES: the kinds of entries.
mod fields {
    pub(super) const LAYOUT: u8 = 0;
    pub(super) const SITE: u8 = 1;
    pub(super) const OBJECTS: u8 = 2;
}

/// METRIC and SECTION: the units, by their number.
const UNITS: [Unit; 3] = [Unit::Count, Unit::Nanoseconds, Unit::Bytes];

/// ALL SITES: it is not known which objects live.
const LIVE_IS_UNKNOWN: u8 = 0x10;
/// ALL SITES: rows are left out, and the totals, except that of the live bytes, are those of the
/// rows that are written.
const SITES_ARE_LEFT_OUT: u8 = 0x20;
/// HEAP HISTOGRAM: the file ended inside the dump.
const HEAP_IS_CUT: u8 = 0x2;
/// HEAP HISTOGRAM: the layout that the sizes follow from is given.
const HEAP_HAS_LAYOUT: u8 = 0x4;
/// HEAP HISTOGRAM: the layout was found from addresses.
const HEAP_IS_INFERRED: u8 = 0x8;

/// CONTROL SETTINGS: allocations are recorded.
const FLAG_SITES: u32 = 0x1;
/// CONTROL SETTINGS: CPU sampling is on.
const FLAG_CPU_SAMPLES: u32 = 0x2;

/// ALLOC SITES: the types of elements.
const NO_ARRAY: u8 = 0;
const OBJECT_ARRAY: u8 = 2;
/// The array classes with elements of a primitive type, and their numbers.
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
