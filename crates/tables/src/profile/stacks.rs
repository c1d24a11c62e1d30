//! `stacks`: the frames of all stacks.

use perk_profile::{FrameId, Line, NodeId};

use super::names::{class, name, signature, source};
use crate::recording::Recording;
use crate::stacks::frames;
use crate::table::{Column, TableOf, Values};

/// A frame of a stack.
pub(super) struct StackFrame {
    node: NodeId,
    depth: u64,
    frame: FrameId,
}

pub(super) fn stacks() -> TableOf<StackFrame> {
    TableOf {
        name: "stacks",
        about: "the frames of the stacks that numbers are of, one row each",
        rows: Box::new(rows),
        columns: vec![
            Column::recording(),
            Column::new(
                "stack",
                Values::Stack(|it, row| it.stack(row.node)),
                "the stack; its id follows from its frames and is the same in all recordings",
            ),
            Column::new(
                "depth",
                Values::Number(|_, row| Some(row.depth)),
                "the place of the frame, from 1: the outermost",
            ),
            Column::new(
                "class",
                Values::Text(|it, row| Some(class(&it.profile.symbols, row.method(it)))),
                "the class of the method; empty for native functions",
            ),
            Column::new(
                "method",
                Values::Text(|it, row| Some(name(&it.profile.symbols, row.method(it)))),
                "the name of the method",
            ),
            Column::new(
                "signature",
                Values::Text(|it, row| signature(&it.profile.symbols, row.method(it))),
                "its parameters and result, as the JVM writes them",
            ),
            Column::new(
                "source",
                Values::Text(|it, row| source(&it.profile.symbols, row.method(it))),
                "its source file, or the library of a native function",
            ),
            Column::new(
                "line",
                Values::Number(|it, row| match it.profile.symbols.get_frame(row.frame).line {
                    Line::Number(line) => Some(line.into()),
                    Line::Unknown | Line::Compiled | Line::Native => None,
                }),
                "the line; null if it is not known",
            ),
            Column::new(
                "kind",
                Values::Text(|it, row| it.profile.symbols.get_frame(row.frame).kind.name()),
                "how its code ran: interpreted, inlined, native and so on; null if it is not known",
            ),
            Column::new(
                "owner",
                Values::Text(|it, row| Some(it.owners().of(row.method(it)).label())),
                "whose code it is: your code, libraries, JDK, JVM and native",
            ),
        ],
    }
}

impl StackFrame {
    fn method(&self, recording: &Recording) -> perk_profile::MethodId {
        recording.profile.symbols.get_frame(self.frame).method
    }
}

/// The frames of the stacks of all traces.
fn rows(recording: &Recording) -> Vec<StackFrame> {
    let profile = &recording.profile;
    let mut nodes: Vec<_> = profile.traces().iter().map(|trace| trace.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut rows = Vec::new();
    for node in nodes {
        let frames = frames(profile, node).into_iter().zip(1..);
        rows.extend(frames.map(|(frame, depth)| StackFrame { node, depth, frame }));
    }
    rows
}
