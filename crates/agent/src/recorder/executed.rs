//! Books executed bytecodes on the profile.

use perk_jamaica::metric;
use perk_profile::{Frame, Line, Method, TraceId, Unit};

use super::Recorder;

/// A method, named as in class files, with the file that it was compiled from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutedMethod<'a> {
    /// The class, with slashes.
    pub(crate) class: &'a str,
    pub(crate) name: &'a str,
    pub(crate) descriptor: &'a str,
    pub(crate) source: Option<&'a str>,
}

/// The executions of a method's code, since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) bytecodes: u64,
    /// The lines that have instructions, sorted.
    pub(crate) lines: Vec<ExecutedLine>,
    /// The executions of the instructions that make arrays, by pc.
    pub(crate) arrays: Vec<(u16, u64)>,
}

/// The executions of a source line, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExecutedLine {
    pub(crate) line: u16,
    pub(crate) bytecodes: u64,
    /// The executions of the instruction that was executed most often.
    pub(crate) executions: u64,
    pub(crate) instruction_count: u64,
    /// The number of instructions that were executed at least once.
    pub(crate) run_count: u64,
}

impl Recorder {
    /// Books the executions of a method.
    pub(crate) fn book_executed(&mut self, method: ExecutedMethod<'_>, executed: &Executed) {
        let symbols = &mut self.profile.symbols;
        let class = symbols.class(&method.class.replace('/', "."));
        let name = symbols.strings.intern(method.name);
        let signature = Some(symbols.strings.intern(method.descriptor));
        let source = method.source.map(|source| symbols.strings.intern(source));
        let method = symbols.method(Method { class, name, signature, source });
        let mut elsewhere = executed.bytecodes;
        let lines = if self.with_lines { executed.lines.as_slice() } else { &[] };
        for line in lines {
            let trace = self.trace_of_frame(Frame::new(method, Line::Number(line.line.into())));
            elsewhere -= line.bytecodes;
            for (name, count) in
                [(metric::BYTECODES, line.bytecodes), (metric::LINE_EXECUTIONS, line.executions)]
            {
                self.book_total(name, Unit::Count, trace, count);
            }
            self.set_number(metric::LINE_INSTRUCTIONS, Unit::Count, trace, line.instruction_count);
            self.set_number(metric::LINE_INSTRUCTIONS_RUN, Unit::Count, trace, line.run_count);
        }
        if elsewhere > 0 {
            let trace = self.trace_of_frame(Frame::new(method, Line::Unknown));
            self.book_total(metric::BYTECODES, Unit::Count, trace, elsewhere);
        }
        for &(pc, count) in executed.arrays.iter().filter(|(_, count)| *count > 0) {
            let frame = Frame { bci: Some(pc.into()), ..Frame::new(method, Line::Unknown) };
            let trace = self.trace_of_frame(frame);
            self.book_total(metric::ARRAY_ALLOCATIONS, Unit::Count, trace, count);
        }
    }

    /// Returns the trace of a single frame.
    pub(super) fn trace_of_frame(&mut self, frame: Frame) -> TraceId {
        let frame = self.profile.symbols.frame(frame);
        let node = self.profile.tree.insert([frame]);
        self.profile.trace(node, None)
    }
}
