//! `objects` and `arrays`.

use perk_heap::{Heap, Holder, ObjectId};

use super::table::{BATCH_ROWS, HeapColumn, HeapTable, HeapValues, ObjectRow, RowGate};
use crate::table::Part;

/// An object and its address.
impl ObjectRow for (ObjectId, u64) {
    fn object(&self) -> ObjectId {
        self.0
    }

    fn address(&self, _heap: &Heap) -> u64 {
        self.1
    }
}

/// An array and its length.
pub(super) struct ArrayRow {
    object: ObjectId,
    length: u64,
}

impl ObjectRow for ArrayRow {
    fn object(&self) -> ObjectId {
        self.object
    }
}

/// The objects of a part of a heap, with their addresses.
pub(super) fn objects_of(heap: &Heap, part: Part) -> impl Iterator<Item = (ObjectId, u64)> {
    let numbers = part.of(heap.object_count() as usize);
    heap.addresses(numbers.start as u32..numbers.end as u32)
}

/// All objects.
pub(super) fn objects() -> HeapTable<(ObjectId, u64)> {
    HeapTable {
        name: "objects",
        about: "all objects of each heap dump, reachable or not, and its classes, which are of `java.lang.Class`",
        rows: Box::new(|heap, part, row| objects_of(heap, part).try_for_each(row)),
        batch_rows: BATCH_ROWS,
        columns: vec![
            HeapColumn::recording(),
            HeapColumn::address(),
            HeapColumn::class(),
            HeapColumn::new(
                "loader",
                HeapValues::Address(|heap, row| {
                    Some(heap.class(heap.class_of(row.0)).loader).filter(|&it| it != 0)
                }),
                "the loader of its class; null for the boot loader",
            ),
            HeapColumn::shallow_bytes(),
            HeapColumn::retained_bytes(),
            HeapColumn::of_holders(
                "holder_address",
                HeapValues::Address(|heap, row| match heap.holder(row.0) {
                    Holder::Object(holder) => Some(heap.address(holder)),
                    Holder::Roots | Holder::Nothing => None,
                }),
                "the object that holds it: its immediate dominator; null if roots hold it, or nothing does",
            ),
            HeapColumn::of_holders(
                "reach",
                HeapValues::Text(|heap, row| Ok(Some(heap.reach(row.0).name().into()))),
                "how it is reachable: held, softly reachable, weakly reachable, finalizable or unreachable",
            ),
        ],
    }
}

/// All arrays.
pub(super) fn arrays() -> HeapTable<ArrayRow> {
    HeapTable {
        name: "arrays",
        about: "the arrays of each heap dump",
        rows: Box::new(|heap, part, row| {
            RowGate::new(row).walk(heap, part, |gate, place| {
                heap.each_array(place, &mut |object, length| gate.send(ArrayRow { object, length }))
            })
        }),
        batch_rows: BATCH_ROWS,
        columns: vec![
            HeapColumn::recording(),
            HeapColumn::address(),
            HeapColumn::class(),
            HeapColumn::new(
                "length",
                HeapValues::Number(|_, row| Some(row.length)),
                "the number of its elements",
            ),
            HeapColumn::shallow_bytes(),
            HeapColumn::retained_bytes(),
        ],
    }
}
