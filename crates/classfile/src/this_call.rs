//! The point at which a constructor has initialised its object.

use crate::frames::{Frames, UNINITIALIZED_THIS, form};
use crate::{Code, Error, UninitializedObject};

impl Code<'_> {
    /// The pc after the call of `this(...)` or `super(...)` in a constructor: from there on `this`
    /// is an object like any other, and an exception handler may cover the code (JVM specification
    /// 4.10.1.4).
    ///
    /// `None` if that cannot be decided: the code is not a constructor's, or some path to the code
    /// after the call does not pass the call, which no Java compiler writes. Also `None` for code
    /// that cannot be read.
    pub fn after_this_call(&self) -> Option<u16> {
        let found = self.initializations(true).ok()??;
        let call = found.calls.iter().find(|it| it.object == UninitializedObject::This)?;
        let is_the_only_way = self.is_the_only_way(call.next_pc).unwrap_or(false);
        (is_the_only_way && self.frames_agree(call.next_pc).unwrap_or(false))
            .then_some(call.next_pc)
    }

    /// Whether the code from `pc` on can only be reached through the instruction before it.
    fn is_the_only_way(&self, pc: u16) -> Result<bool, Error> {
        let crosses = |target: i32| target >= i32::from(pc);
        for instruction in self.instructions() {
            let instruction = instruction?;
            if instruction.pc >= pc {
                break;
            }
            if instruction.targets().any(crosses) {
                return Ok(false);
            }
        }
        Ok(!self.exception_table().any(|it| it.start_pc < pc && it.handler_pc >= pc))
    }

    /// Whether the frames, if there are any, have `this` initialised exactly from `pc` on.
    fn frames_agree(&self, pc: u16) -> Result<bool, Error> {
        let mut is_uninitialized = true;
        for attribute in self.attributes().filter(|it| it.name == b"StackMapTable") {
            let mut frames = Frames::new(self.contents(&attribute))?;
            while let Some(frame) = frames.next()? {
                if frame.form == form::FULL {
                    is_uninitialized = frame.locals.has(UNINITIALIZED_THIS);
                }
                let is_before = frame.pc < u32::from(pc);
                if is_uninitialized != is_before
                    || !is_before && frame.stack.has(UNINITIALIZED_THIS)
                {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
