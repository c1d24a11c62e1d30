//! Writes the StackMapTable: frames are shifted; new ones repeat the types of the method's own.

use super::contained::StackStore;
use super::layout::CodeLayout;
use super::{limit, push_u16};
use crate::edit::LocalType;
use crate::frames::{Frame, Frames, OBJECT, Types, UNINITIALIZED, UNINITIALIZED_THIS, form};
use crate::reader::Reader;
use crate::{PoolEditor, PoolError, SkipReason};

const TOP: u8 = 0;
const INTEGER: u8 = 1;
const FLOAT: u8 = 2;
const DOUBLE: u8 = 3;
const LONG: u8 = 4;

/// The data from which a method's first frame follows (JVM specification 4.10.1.6).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature<'a> {
    /// The class's name.
    pub(crate) class: &'a [u8],
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
    pub(crate) is_static: bool,
}

/// The added local variables, which all frames contain.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddedLocals<'a> {
    /// The word of the first, after the method's own.
    pub(super) at: usize,
    pub(super) types: &'a [LocalType],
}

impl AddedLocals<'_> {
    /// Puts them after the locals of a frame.
    fn put(self, locals: &mut Vec<Type>) {
        for (index, of) in self.types.iter().enumerate() {
            let of = match *of {
                LocalType::Long => Type { tag: LONG, data: 0 },
                LocalType::Object(class) => Type { tag: OBJECT, data: class },
            };
            match index {
                0 => put_at(locals, self.at, of),
                _ => locals.push(of),
            }
        }
    }
}

/// A verification type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Type {
    tag: u8,
    /// The class in the constant pool, or the pc in the original code of the `new`.
    data: u16,
}

/// The frame of a handler after the method's own code: an exception of any class is on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrailerFrame {
    /// Its pc in the new code, after that of all other frames.
    pub(super) pc: u32,
    pub(super) locals: TrailerLocals,
}

/// The local variables that are known in such a handler.
#[derive(Clone, Copy, Debug)]
pub(super) enum TrailerLocals {
    /// Only the added ones.
    Added,
    /// Only an exception, in a local variable.
    Exception(StackStore),
    /// Only the value that the method is about to return, in a local variable.
    Returned(StackStore),
    /// All that are known in the method's handler at a pc of the original code, and its exception,
    /// in a local variable. The handler continues at a pc of the new code.
    At { pc: u16, kept: StackStore, resumed: u32 },
}

/// Appends the contents of the attribute, with the frames of the trailer.
pub(super) fn write(
    reader: Reader<'_>,
    signature: &Signature<'_>,
    layout: &CodeLayout,
    added: AddedLocals<'_>,
    trailer: &[TrailerFrame],
    pool: &mut PoolEditor<'_>,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let mut frames = Frames::new(reader)?;
    let mut output = Output::begin(layout, added, out);
    let mut handlers = Handlers::default();
    let wants_handlers = trailer.iter().any(|it| matches!(it.locals, TrailerLocals::At { .. }));
    let has_added = !added.types.is_empty();
    let mut locals = Vec::new();
    if wants_handlers || has_added {
        locals = first_locals(signature, pool)?;
    }
    while let Some(frame) = frames.next()? {
        let pc = layout.at(i32::try_from(frame.pc).unwrap_or(i32::MAX))?.target;
        if wants_handlers || has_added {
            follow(&mut locals, &frame);
        }
        match has_added {
            true => output.frame_with_added(&frame, &locals, pc)?,
            false => output.frame(&frame, pc)?,
        }
        if !wants_handlers {
            continue;
        }
        let resumed = trailer.iter().filter_map(|it| match it.locals {
            TrailerLocals::At { pc, resumed, .. } if u32::from(pc) == frame.pc => Some(resumed),
            _ => None,
        });
        let Some(exception) = types(&frame.stack).next() else { continue };
        for resumed in resumed {
            output.same_locals(exception, resumed)?;
            let mut known = locals.clone();
            added.put(&mut known);
            handlers.0.push((frame.pc, exception, known));
        }
    }
    output.trailer(trailer, &handlers, signature, pool)?;
    output.end()
}

/// Appends the contents of an attribute that has only the frames of the trailer.
pub(super) fn write_only(
    signature: &Signature<'_>,
    layout: &CodeLayout,
    added: AddedLocals<'_>,
    trailer: &[TrailerFrame],
    pool: &mut PoolEditor<'_>,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let mut output = Output::begin(layout, added, out);
    output.trailer(trailer, &Handlers::default(), signature, pool)?;
    output.end()
}

impl Type {
    /// The type of a value, by its descriptor.
    fn of(descriptor: &[u8], pool: &mut PoolEditor<'_>) -> Result<Self, PoolError> {
        let tag = match descriptor.first() {
            Some(b'B' | b'C' | b'I' | b'S' | b'Z') => INTEGER,
            Some(b'F') => FLOAT,
            Some(b'D') => DOUBLE,
            Some(b'J') => LONG,
            Some(b'L') => {
                let name = descriptor[1..].strip_suffix(b";").unwrap_or_default();
                return Ok(Self { tag: OBJECT, data: pool.class(name)? });
            }
            Some(b'[') => return Ok(Self { tag: OBJECT, data: pool.class(descriptor)? }),
            _ => TOP,
        };
        Ok(Self { tag, data: 0 })
    }

    /// The type of the value that a method returns.
    fn returned(signature: &Signature<'_>, pool: &mut PoolEditor<'_>) -> Result<Self, PoolError> {
        let descriptor = signature.descriptor;
        let end = descriptor.iter().position(|it| *it == b')').map_or(0, |it| it + 1);
        Self::of(&descriptor[end..], pool)
    }

    fn words(self) -> usize {
        if matches!(self.tag, LONG | DOUBLE) { 2 } else { 1 }
    }
}

/// The locals, exceptions and pcs of the method's handlers that have contained code.
#[derive(Debug, Default)]
struct Handlers(Vec<(u32, Type, Vec<Type>)>);

/// The frames written so far.
struct Output<'o> {
    layout: &'o CodeLayout,
    added: AddedLocals<'o>,
    out: &'o mut Vec<u8>,
    count_at: usize,
    count: usize,
    last_pc: Option<u32>,
}

impl<'o> Output<'o> {
    fn begin(layout: &'o CodeLayout, added: AddedLocals<'o>, out: &'o mut Vec<u8>) -> Self {
        let count_at = out.len();
        push_u16(out, 0);
        Self { layout, added, out, count_at, count: 0, last_pc: None }
    }

    fn end(self) -> Result<(), SkipReason> {
        let count = limit("frames", self.count, super::MAX_U16)?;
        self.out[self.count_at..self.count_at + 2].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }

    /// Returns the distance to the next frame.
    fn delta(&mut self, pc: u32) -> u16 {
        let first = self.last_pc.map_or(0, |last_pc| last_pc + 1);
        self.last_pc = Some(pc);
        self.count += 1;
        // Frames are in the order of their pcs, which are below 65,536.
        (pc - first) as u16
    }

    /// Writes a frame of the method's own, whose locals are `locals`, with the added locals. A
    /// frame with the locals of the previous one stays as it is, but the previous one of the first
    /// frame is not written, and does not have the added locals.
    fn frame_with_added(
        &mut self,
        frame: &Frame<'_>,
        locals: &[Type],
        pc: u32,
    ) -> Result<(), SkipReason> {
        let is_first = self.last_pc.is_none();
        let has_same_locals =
            frame.form <= form::SAME_ONE_EXTENDED || frame.form == form::SAME_EXTENDED;
        if has_same_locals && !is_first {
            return self.frame(frame, pc);
        }
        let mut all = locals.to_vec();
        self.added.put(&mut all);
        self.full(&all, pc)?;
        push_u16(self.out, frame.stack.count);
        self.types(&frame.stack)
    }

    /// Begins a full frame, whose stack follows.
    fn full(&mut self, locals: &[Type], pc: u32) -> Result<(), SkipReason> {
        let delta = self.delta(pc);
        self.out.push(form::FULL);
        push_u16(self.out, delta);
        push_u16(self.out, limit("locals of a frame", locals.len(), super::MAX_U16)?);
        for local in locals {
            self.one(*local)?;
        }
        Ok(())
    }

    /// Writes a frame of the method's own.
    fn frame(&mut self, frame: &Frame<'_>, pc: u32) -> Result<(), SkipReason> {
        let delta = self.delta(pc);
        let short = u8::try_from(delta).ok().filter(|delta| *delta <= form::SAME_LAST);
        let out = &mut *self.out;
        match (frame.form, short) {
            (0..=form::SAME_LAST, Some(delta)) => out.push(delta),
            (0..=form::SAME_LAST, None) => {
                out.push(form::SAME_EXTENDED);
                push_u16(out, delta);
            }
            (form::SAME_ONE..=form::SAME_ONE_LAST, Some(delta)) => out.push(form::SAME_ONE + delta),
            (form::SAME_ONE..=form::SAME_ONE_LAST, None) => {
                out.push(form::SAME_ONE_EXTENDED);
                push_u16(out, delta);
            }
            (form, _) => {
                out.push(form);
                push_u16(out, delta);
            }
        }
        let is_full = frame.form == form::FULL;
        if is_full {
            push_u16(self.out, frame.locals.count);
        }
        self.types(&frame.locals)?;
        if is_full {
            push_u16(self.out, frame.stack.count);
        }
        self.types(&frame.stack)
    }

    fn types(&mut self, types: &Types<'_>) -> Result<(), SkipReason> {
        let start = self.out.len();
        self.out.extend_from_slice(types.bytes);
        for at in types.uninitialized() {
            let pc = &mut self.out[start + at..start + at + 2];
            let new = self.layout.at(u16::from_be_bytes([pc[0], pc[1]]).into())?.itself as u16;
            pc.copy_from_slice(&new.to_be_bytes());
        }
        Ok(())
    }

    /// Writes a frame with the locals of the previous frame, and one value on the stack.
    fn same_locals(&mut self, stack: Type, pc: u32) -> Result<(), SkipReason> {
        let delta = self.delta(pc);
        self.out.push(form::SAME_ONE_EXTENDED);
        push_u16(self.out, delta);
        self.one(stack)
    }

    fn one(&mut self, of: Type) -> Result<(), SkipReason> {
        self.out.push(of.tag);
        match of.tag {
            OBJECT => push_u16(self.out, of.data),
            UNINITIALIZED => {
                push_u16(self.out, self.layout.at(of.data.into())?.itself as u16);
            }
            _ => {}
        }
        Ok(())
    }

    fn trailer(
        &mut self,
        trailer: &[TrailerFrame],
        handlers: &Handlers,
        signature: &Signature<'_>,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), SkipReason> {
        if trailer.is_empty() {
            return Ok(());
        }
        let throwable = Type { tag: OBJECT, data: pool.class("java/lang/Throwable")? };
        for frame in trailer {
            let mut locals = Vec::new();
            match frame.locals {
                TrailerLocals::Added => self.added.put(&mut locals),
                TrailerLocals::Exception(kept) => put(&mut locals, kept, throwable),
                TrailerLocals::Returned(kept) => {
                    put(&mut locals, kept, Type::returned(signature, pool)?);
                }
                TrailerLocals::At { pc, kept, .. } => {
                    // Old classes without frames need no frame here.
                    let known = handlers.0.iter().find(|it| it.0 == u32::from(pc));
                    let Some((_, exception, known)) = known else { continue };
                    locals.clone_from(known);
                    put(&mut locals, kept, *exception);
                }
            }
            self.full(&locals, frame.pc)?;
            push_u16(self.out, 1);
            self.one(throwable)?;
        }
        Ok(())
    }
}

/// Puts the kept value after the locals before it.
fn put(locals: &mut Vec<Type>, kept: StackStore, of: Type) {
    let StackStore::Value { local, .. } = kept else { return };
    put_at(locals, local.into(), of);
}

/// Puts a value at a word after the locals.
fn put_at(locals: &mut Vec<Type>, word: usize, of: Type) {
    let words: usize = locals.iter().map(|it| it.words()).sum();
    let between = word.saturating_sub(words);
    locals.extend(std::iter::repeat_n(Type { tag: TOP, data: 0 }, between));
    locals.push(of);
}

/// The locals at a method's beginning.
fn first_locals(
    signature: &Signature<'_>,
    pool: &mut PoolEditor<'_>,
) -> Result<Vec<Type>, PoolError> {
    let mut locals = Vec::new();
    let is_object = signature.class == b"java/lang/Object";
    if signature.name == b"<init>" && !is_object {
        locals.push(Type { tag: UNINITIALIZED_THIS, data: 0 });
    } else if !signature.is_static {
        locals.push(Type { tag: OBJECT, data: pool.class(signature.class)? });
    }
    let mut left = signature.descriptor.strip_prefix(b"(").unwrap_or_default();
    while let Some(first) = left.first().filter(|it| **it != b')') {
        let dimensions = left.iter().take_while(|it| **it == b'[').count();
        let is_class = left.get(dimensions) == Some(&b'L');
        let end = if is_class { left.iter().position(|it| *it == b';') } else { Some(dimensions) };
        let (one, others) = left.split_at(end.map_or(left.len(), |end| (end + 1).min(left.len())));
        debug_assert_eq!(one.first(), Some(first));
        locals.push(Type::of(one, pool)?);
        left = others;
    }
    Ok(locals)
}

/// Updates the locals of the previous frame to those of a frame.
fn follow(locals: &mut Vec<Type>, frame: &Frame<'_>) {
    match frame.form {
        form::CHOP_3..form::SAME_EXTENDED => {
            let less = usize::from(form::SAME_EXTENDED - frame.form);
            locals.truncate(locals.len().saturating_sub(less));
        }
        form::FULL => *locals = types(&frame.locals).collect(),
        _ => locals.extend(types(&frame.locals)),
    }
}

fn types(types: &Types<'_>) -> impl Iterator<Item = Type> {
    let (bytes, mut at) = (types.bytes, 0);
    std::iter::from_fn(move || {
        let tag = *bytes.get(at)?;
        at += 1;
        let mut data = 0;
        if matches!(tag, OBJECT | UNINITIALIZED) {
            data = u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]);
            at += 2;
        }
        Some(Type { tag, data })
    })
}
