//! Reads rows that stand column by column.

use super::BinaryReader;
use super::extended::ExtendedTables;
use crate::Error;
use crate::binary::cursor::Cursor;
use crate::binary::packed::{Unpacked, unpacked};
use crate::binary::tag;
use crate::heap::Record;

impl BinaryReader {
    /// Reads a record PACKED: the records that its rows are.
    pub(super) fn packed(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let offset = body.offset();
        let Unpacked { tag, body } = unpacked(body, |trace| {
            let traces = self.extended.as_ref().map_or(&[][..], ExtendedTables::traces);
            let trace = traces.get(trace as usize).map(|&trace| self.profile.get_trace(trace));
            let thread = trace.and_then(|trace| trace.thread);
            thread.map_or(0, |thread| self.profile.get_thread(thread).serial.into())
        })?;
        let mut rest = Cursor::new(&body, offset, 8);
        match tag {
            tag::UTF8 => {
                while !rest.is_empty() {
                    let length = rest.u4("the length of a text")? as usize;
                    let mut text = Cursor::new(rest.bytes(length, "a text")?, offset, 8);
                    let id = text.id("the id of a text")?;
                    self.utf8(id, text.bytes(text.left(), "a text")?);
                }
            }
            tag::LOAD_CLASS => {
                while !rest.is_empty() {
                    let serial = rest.u4("the class's serial number")?;
                    let class = rest.id("the class object")?;
                    rest.u4("the class's trace")?;
                    let name = rest.id("the class's name")?;
                    self.record(Record::LoadClass { serial, class, name }, offset as u64)?;
                }
            }
            tag::STACK_FRAME => {
                while !rest.is_empty() {
                    let id = rest.id("the frame's id")?;
                    let method = rest.id("the method's name")?;
                    let signature = rest.id("the method's signature")?;
                    let source = rest.id("the source file's name")?;
                    let class_serial = rest.u4("the class's serial number")?;
                    let line = rest.u4("the line")?.cast_signed();
                    let frame = Record::Frame { id, method, signature, source, class_serial, line };
                    self.record(frame, offset as u64)?;
                }
            }
            tag => self.body(tag, &mut rest)?,
        }
        Ok(())
    }
}
