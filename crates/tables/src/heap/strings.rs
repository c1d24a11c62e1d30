//! `strings`.

use perk_heap::{Heap, ObjectId};

use super::objects::objects_of;
use super::table::{HeapColumn, HeapTable, HeapValues};
use crate::heap_functions::text;

/// Their texts can be long: a batch has few.
const BATCH_ROWS: usize = 512;

/// Whether each class is that of strings.
fn string_classes(heap: &Heap) -> Vec<bool> {
    heap.classes().iter().map(|it| it.name == "java.lang.String").collect()
}

/// All strings.
pub(super) fn strings() -> HeapTable<(ObjectId, u64)> {
    HeapTable {
        name: "strings",
        about: "the strings of each heap dump",
        rows: Box::new(|heap, part, row| {
            let is_string = string_classes(heap);
            let strings = objects_of(heap, part);
            strings.filter(|it| is_string[heap.class_of(it.0).0 as usize]).try_for_each(row)
        }),
        batch_rows: BATCH_ROWS,
        columns: vec![
            HeapColumn::recording(),
            HeapColumn::address(),
            HeapColumn::new(
                "text",
                HeapValues::Text(|heap, row| Ok(text(heap, row.0)?.map(Into::into))),
                "its characters, the first 65,536 of them; null if the dump does not have them",
            ),
            HeapColumn::shallow_bytes(),
            HeapColumn::retained_bytes(),
        ],
    }
}
