//! `heap_threads`.

use perk_heap::{Heap, ObjectId, ThreadFacts};

use super::table::{BATCH_ROWS, HeapColumn, HeapTable, HeapValues};
use crate::fault::fault;
use crate::table::Part;

/// A thread that lived when the dump was made.
pub(super) struct ThreadRow {
    object: Option<ObjectId>,
    facts: ThreadFacts,
    local_count: u64,
}

/// All threads. They are few, and found together: the first part has them.
fn threads_of(heap: &Heap, part: Part) -> anyhow::Result<Vec<ThreadRow>> {
    if part.index > 0 {
        return Ok(Vec::new());
    }
    let living = heap.living_threads()?.into_iter();
    Ok(living
        .map(|it| ThreadRow {
            object: it.object,
            facts: it.facts,
            local_count: it.locals.len() as u64,
        })
        .collect())
}

/// The living threads.
pub(super) fn threads() -> HeapTable<ThreadRow> {
    HeapTable {
        name: "heap_threads",
        about: "the threads that lived when the heap was dumped, virtual ones among them",
        rows: Box::new(|heap, part, row| {
            threads_of(heap, part).map_err(fault)?.into_iter().try_for_each(row)
        }),
        batch_rows: BATCH_ROWS,
        columns: vec![
            HeapColumn::recording(),
            HeapColumn::new(
                "address",
                HeapValues::Address(|heap, row| Some(heap.address(row.object?))),
                "its `java.lang.Thread`; null if the dump has none",
            ),
            HeapColumn::new(
                "name",
                HeapValues::Text(|_, row| Ok(row.object.map(|_| row.facts.name.as_str().into()))),
                "its name; empty for most virtual threads",
            ),
            HeapColumn::new(
                "state",
                HeapValues::Text(|_, row| Ok(row.facts.state.map(Into::into))),
                "its state, as `Thread.State` has it; null if it is not known",
            ),
            HeapColumn::new(
                "is_virtual",
                HeapValues::Flag(|_, row| Some(row.facts.is_virtual)),
                "whether it is a virtual thread",
            ),
            HeapColumn::new(
                "is_daemon",
                HeapValues::Flag(|_, row| Some(row.facts.is_daemon)),
                "whether it is a daemon",
            ),
            HeapColumn::new(
                "local_count",
                HeapValues::Number(|_, row| Some(row.local_count)),
                "the number of objects that its frames and native code hold, each once per frame",
            ),
            HeapColumn::of_holders(
                "retained_bytes",
                HeapValues::Number(|heap, row| {
                    Some(row.object.map_or(0, |it| heap.retained_bytes(it)))
                }),
                "what it and its frames hold",
            ),
        ],
    }
}
