//! `roots`.

use perk_heap::{ObjectId, Root};

use super::table::{BATCH_ROWS, HeapColumn, HeapTable, HeapValues, ObjectRow};

impl ObjectRow for Root {
    fn object(&self) -> ObjectId {
        self.object
    }
}

/// All roots.
pub(super) fn roots() -> HeapTable<Root> {
    HeapTable {
        name: "roots",
        about: "what the JVM itself holds, one row for each object, reason and thread",
        rows: Box::new(|heap, part, row| {
            heap.roots()[part.of(heap.roots().len())].iter().copied().try_for_each(row)
        }),
        batch_rows: BATCH_ROWS,
        columns: vec![
            HeapColumn::recording(),
            HeapColumn::new(
                "kind",
                HeapValues::Text(|_, row| Ok(Some(row.kind.name().into()))),
                "the reason: thread, Java stack, JNI global ref, system class and so on",
            ),
            HeapColumn::address(),
            HeapColumn::class(),
            HeapColumn::new(
                "thread_address",
                HeapValues::Address(|heap, row| {
                    let thread = heap.threads().get(row.thread?)?;
                    Some(heap.address(thread.object?))
                }),
                "the thread that it is of, as in `heap_threads`; null if it is of none",
            ),
            HeapColumn::shallow_bytes(),
            HeapColumn::retained_bytes(),
        ],
    }
}
