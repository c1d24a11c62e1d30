//! The places of allocations in the code of methods.

use perk_classfile::{Code, Error};

/// The place of an instruction that makes objects or arrays, in the three ways to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SitePlace {
    /// The bytecode index: its offset in the code, in bytes.
    pub bci: u32,
    /// The number of instructions before it.
    pub instruction: u32,
    /// Its number among the instructions and labels, from 1 on. A pc is a label once if a branch or
    /// switch leads there, or if it is a start, end or handler in the exception table. The Shared
    /// Fields Analysis of 2012 counts in this way.
    pub disl2012: u32,
}

/// The length of `new` in bytes.
pub(crate) const NEW_BYTES: u16 = 3;

/// The source lines of a method.
pub(crate) struct SourceLines(Vec<(u16, u16)>);

impl SourceLines {
    pub(crate) fn of(code: &Code<'_>) -> Result<Self, Error> {
        let mut lines: Vec<_> = code.line_numbers()?.map(|it| (it.start_pc, it.line)).collect();
        lines.sort_unstable();
        Ok(Self(lines))
    }

    /// Returns the line of the instruction at a pc; 0 if it is not known.
    pub(crate) fn at(&self, pc: u16) -> u16 {
        let next = self.0.partition_point(|(start_pc, _)| *start_pc <= pc);
        next.checked_sub(1).map_or(0, |index| self.0[index].1)
    }
}

/// Finds the places of a method.
pub(crate) struct SitePlaces<'p, 'c> {
    code: &'p Code<'c>,
    /// The method's labels, which are found when the first place is.
    labels: Option<Vec<u16>>,
}

impl<'p, 'c> SitePlaces<'p, 'c> {
    pub(crate) fn new(code: &'p Code<'c>) -> Self {
        Self { code, labels: None }
    }

    /// Returns the place of the instruction at a pc, with this number of instructions before it.
    pub(crate) fn at(&mut self, pc: u16, instructions: usize) -> Result<SitePlace, Error> {
        let labels = match &mut self.labels {
            Some(known) => known,
            labels => labels.insert(self.code.labels()?),
        };
        let labels = labels.partition_point(|label| *label <= pc);
        // Code has at most 65,535 instructions, and as many labels.
        Ok(SitePlace {
            bci: pc.into(),
            instruction: instructions as u32,
            disl2012: (instructions + labels + 1) as u32,
        })
    }
}
