//! The binary format (`format=b`): 1.0, 1.0.1 and 1.0.2 are read, 1.0.2 with 8-byte ids is written.
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
    pub(super) const START_THREAD: u8 = 0x0A;
    pub(super) const END_THREAD: u8 = 0x0B;
    pub(super) const CPU_SAMPLES: u8 = 0x0D;
    pub(super) const CONTROL_SETTINGS: u8 = 0x0E;
}

/// Begins the text of the UTF8 record that carries perk's accounting. Nothing refers to that
/// record, so other readers pass over it.
const ACCOUNTING: &str = "perk accounting\n";
/// That record's id.
const ACCOUNTING_ID: u64 = NAME;

/// Ids are table positions, from 1; as with the original agent the leading digit tells the table.
const NAME: u64 = 0xa << 32;

/// CONTROL SETTINGS: CPU sampling is on.
const FLAG_CPU_SAMPLES: u32 = 0x2;
