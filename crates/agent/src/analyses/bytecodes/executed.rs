//! Books executed bytecodes on the profile.

use perk_jamaica::metric;
use perk_profile::{Frame, Line, Method, Unit};

use crate::analyses::books::jamaica::JamaicaBook;
use crate::recorder::Recorder;

/// A method, named as in class files, with the file that it was compiled from.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceMethod<'a> {
    /// The class, with slashes.
    pub(super) class: &'a str,
    pub(super) name: &'a str,
    pub(super) descriptor: &'a str,
    pub(super) source: Option<&'a str>,
}

/// The executions of a method's code, since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MethodExecutions {
    pub(super) bytecodes: u64,
    /// The lines that have instructions, sorted.
    pub(super) lines: Vec<LineExecutions>,
    /// The executions of the instructions that make arrays, by pc.
    pub(super) arrays: Vec<(u16, u64)>,
}

/// The executions of a source line, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineExecutions {
    pub(super) line: u16,
    pub(super) bytecodes: u64,
    /// The executions of the instruction that was executed most often.
    pub(super) executions: u64,
    pub(super) instruction_count: u64,
    /// The number of instructions that were executed at least once.
    pub(super) run_count: u64,
}

/// Books the executions of a method; those of lines if `with_lines` is set.
pub(super) fn book(
    recorder: &mut Recorder,
    book: &JamaicaBook,
    with_lines: bool,
    method: SourceMethod<'_>,
    executed: &MethodExecutions,
) {
    let symbols = &mut recorder.profile.symbols;
    let class = symbols.class(&method.class.replace('/', "."));
    let name = symbols.strings.intern(method.name);
    let signature = Some(symbols.strings.intern(method.descriptor));
    let source = method.source.map(|source| symbols.strings.intern(source));
    let method = symbols.method(Method { class, name, signature, source });
    let mut elsewhere = executed.bytecodes;
    let lines = if with_lines { executed.lines.as_slice() } else { &[] };
    for line in lines {
        let trace = recorder.trace_of_frame(Frame::new(method, Line::Number(line.line.into())));
        elsewhere -= line.bytecodes;
        for (name, count) in
            [(metric::BYTECODES, line.bytecodes), (metric::LINE_EXECUTIONS, line.executions)]
        {
            book.book_total(name, Unit::Count, trace, count);
        }
        book.set(metric::LINE_INSTRUCTIONS, Unit::Count, trace, line.instruction_count);
        book.set(metric::LINE_INSTRUCTIONS_RUN, Unit::Count, trace, line.run_count);
    }
    if elsewhere > 0 {
        let trace = recorder.trace_of_frame(Frame::new(method, Line::Unknown));
        book.book_total(metric::BYTECODES, Unit::Count, trace, elsewhere);
    }
    for &(pc, count) in executed.arrays.iter().filter(|(_, count)| *count > 0) {
        let frame = Frame { bci: Some(pc.into()), ..Frame::new(method, Line::Unknown) };
        let trace = recorder.trace_of_frame(frame);
        book.book_total(metric::ARRAY_ALLOCATIONS, Unit::Count, trace, count);
    }
}
