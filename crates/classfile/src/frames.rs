//! The frames of a StackMapTable (JVM specification 4.7.4).

use crate::Error;
use crate::reader::Reader;

/// The verification type of `this` in a constructor before its call of another constructor.
pub(crate) const UNINITIALIZED_THIS: u8 = 6;
/// The verification type of an object of a class that follows.
pub(crate) const OBJECT: u8 = 7;
/// The verification type of the uninitialised object of a `new`, whose pc follows.
pub(crate) const UNINITIALIZED: u8 = 8;

/// Forms of frames.
pub(crate) mod form {
    /// The locals of the previous frame, an empty stack: 0 to 63, the offset delta.
    pub(crate) const SAME_LAST: u8 = 63;
    /// The locals of the previous frame, one value on the stack: 64 and the offset delta.
    pub(crate) const SAME_ONE: u8 = 64;
    pub(crate) const SAME_ONE_LAST: u8 = 127;
    pub(crate) const SAME_ONE_EXTENDED: u8 = 247;
    /// One to three locals fewer than the previous frame: 250 to 248.
    pub(crate) const CHOP_3: u8 = 248;
    /// The locals of the previous frame.
    pub(crate) const SAME_EXTENDED: u8 = 251;
    /// One to three locals more than the previous frame: 252 to 254.
    pub(crate) const APPEND_1: u8 = 252;
    pub(crate) const APPEND_3: u8 = 254;
    pub(crate) const FULL: u8 = 255;
}

/// A frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) pc: u32,
    /// Its first byte: form, and the delta of the short forms.
    pub(crate) form: u8,
    /// The locals that it adds, or all of a full frame.
    pub(crate) locals: Types<'a>,
    pub(crate) stack: Types<'a>,
}

/// Verification types.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Types<'a> {
    pub(crate) count: u16,
    pub(crate) bytes: &'a [u8],
    /// The set of their tags, one bit per tag.
    tags: u16,
}

impl<'a> Types<'a> {
    const WHAT: &'static str = "a verification type";

    fn read(reader: &mut Reader<'a>, count: u16) -> Result<Self, Error> {
        let mut ahead = reader.clone();
        let mut tags = 0;
        for _ in 0..count {
            let offset = ahead.at();
            let tag = ahead.u8(Self::WHAT)?;
            match tag {
                0..=UNINITIALIZED_THIS => {}
                OBJECT | UNINITIALIZED => drop(ahead.u16(Self::WHAT)?),
                found => {
                    let (expected, found) = (Self::WHAT, found.into());
                    return Err(Error::Unexpected { offset, expected, found });
                }
            }
            tags |= 1 << tag;
        }
        let bytes = reader.take(ahead.at() - reader.at(), Self::WHAT)?;
        Ok(Self { count, bytes, tags })
    }

    /// Whether a type with this tag is among them.
    pub(crate) fn has(&self, tag: u8) -> bool {
        self.tags & (1 << tag) != 0
    }

    /// The offsets, in the bytes, of the pcs of uninitialized objects.
    pub(crate) fn uninitialized(&self) -> impl Iterator<Item = usize> + use<'a> {
        let (bytes, mut at) = (self.bytes, 0);
        std::iter::from_fn(move || {
            loop {
                let tag = *bytes.get(at)?;
                at += if matches!(tag, OBJECT | UNINITIALIZED) { 3 } else { 1 };
                if tag == UNINITIALIZED {
                    return Some(at - 2);
                }
            }
        })
    }
}

/// A reader of frames, one by one.
#[derive(Debug)]
pub(crate) struct Frames<'a> {
    reader: Reader<'a>,
    left: u16,
    /// The pc of the previous frame. A first frame at pc 0 is possible, so "none" differs from 0.
    last_pc: Option<u32>,
}

impl<'a> Frames<'a> {
    /// Makes a reader of the contents of the attribute.
    pub(crate) fn new(mut reader: Reader<'a>) -> Result<Self, Error> {
        let left = reader.u16("the count of frames")?;
        Ok(Self { reader, left, last_pc: None })
    }

    /// Reads the next frame; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Frame<'a>>, Error> {
        if self.left == 0 {
            self.reader.expect_end("the end of the frames")?;
            return Ok(None);
        }
        self.left -= 1;
        let reader = &mut self.reader;
        let offset = reader.at();
        let form = reader.u8("a frame")?;
        let delta = match form {
            0..=form::SAME_LAST => u16::from(form),
            form::SAME_ONE..=form::SAME_ONE_LAST => u16::from(form - form::SAME_ONE),
            form::SAME_ONE_EXTENDED.. => reader.u16("a frame's offset")?,
            _ => {
                let (expected, found) = ("a form of frame", form.into());
                return Err(Error::Unexpected { offset, expected, found });
            }
        };
        let (mut locals, mut stack) = (Types::default(), Types::default());
        match form {
            form::SAME_ONE..=form::SAME_ONE_EXTENDED => stack = Types::read(reader, 1)?,
            form::APPEND_1..=form::APPEND_3 => {
                locals = Types::read(reader, u16::from(form - form::SAME_EXTENDED))?;
            }
            form::FULL => {
                let count = reader.u16("the count of a frame's locals")?;
                locals = Types::read(reader, count)?;
                let count = reader.u16("the count of a frame's stack")?;
                stack = Types::read(reader, count)?;
            }
            _ => {}
        }
        let pc = self.last_pc.map_or(0, |pc| pc + 1) + u32::from(delta);
        self.last_pc = Some(pc);
        Ok(Some(Frame { pc, form, locals, stack }))
    }
}
