//! `classes`.

use perk_heap::{Class, ClassIndex, Heap, SetSize};

use super::table::{BATCH_ROWS, HeapColumn, HeapTable, HeapValues};

fn class<'h>(heap: &'h Heap, &index: &ClassIndex) -> &'h Class {
    heap.class(index)
}

/// The objects of a class that are held.
fn held(heap: &Heap, class: &ClassIndex) -> SetSize {
    heap.class_sizes().get(class.0 as usize).copied().unwrap_or_default()
}

/// All classes.
pub(super) fn classes() -> HeapTable<ClassIndex> {
    HeapTable {
        name: "classes",
        about: "the classes of each heap dump; several loaders can have one of the same name",
        rows: Box::new(|heap, part, row| {
            let classes = part.of(heap.classes().len());
            classes.map(|index| ClassIndex(index as u32)).try_for_each(row)
        }),
        batch_rows: BATCH_ROWS,
        columns: vec![
            HeapColumn::recording(),
            HeapColumn::new("class", HeapValues::Class(|_, &row| Some(row)), "its name"),
            HeapColumn::new(
                "address",
                HeapValues::Address(|heap, row| {
                    Some(class(heap, row).address).filter(|&it| it != 0)
                }),
                "its `java.lang.Class`; null if the dump has none",
            ),
            HeapColumn::new(
                "loader",
                HeapValues::Address(|heap, row| {
                    Some(class(heap, row).loader).filter(|&it| it != 0)
                }),
                "its loader; null for the boot loader",
            ),
            HeapColumn::new(
                "superclass",
                HeapValues::Class(|heap, row| class(heap, row).superclass),
                "the class above it",
            ),
            HeapColumn::new(
                "all_count",
                HeapValues::Number(|heap, row| Some(class(heap, row).instance_count)),
                "the number of its instances in the dump, reachable or not",
            ),
            HeapColumn::new(
                "all_bytes",
                HeapValues::Number(|heap, row| Some(class(heap, row).shallow_bytes)),
                "their own size",
            ),
            HeapColumn::of_holders(
                "instance_count",
                HeapValues::Number(|heap, row| Some(held(heap, row).count)),
                "the number of those that are held",
            ),
            HeapColumn::of_holders(
                "shallow_bytes",
                HeapValues::Number(|heap, row| Some(held(heap, row).shallow_bytes)),
                "the own size of those that are held",
            ),
            HeapColumn::of_holders(
                "least_retained_bytes",
                HeapValues::Number(|heap, row| Some(held(heap, row).least_bytes)),
                "what they retain at least: without what several of them hold together",
            ),
        ],
    }
}
