//! `refs`.

use perk_heap::{Edge, Label};

use super::table::{BATCH_ROWS, HeapColumn, HeapTable, HeapValues, RowGate};

/// The kind of a reference by its place.
fn kind(label: &Label) -> &'static str {
    match label {
        Label::Field(_) => "field",
        Label::Static(_) => "static",
        Label::Element(_) => "element",
        Label::Class => "class",
        Label::Superclass => "superclass",
        Label::Loader => "class loader",
        Label::Signers => "signers",
        Label::ProtectionDomain => "protection domain",
        Label::Constant(_) => "constant",
        Label::Local(Some(_)) => "local variable",
        Label::Local(None) => "native code",
    }
}

/// All references.
pub(super) fn references() -> HeapTable<Edge> {
    HeapTable {
        name: "refs",
        about: "the references between the objects of each heap dump",
        rows: Box::new(|heap, part, row| {
            RowGate::new(row).walk(heap, part, |gate, place| {
                heap.each_reference(place, &mut |edge| gate.send(edge.clone()))
            })
        }),
        batch_rows: BATCH_ROWS,
        columns: vec![
            HeapColumn::recording(),
            HeapColumn::new(
                "from",
                HeapValues::Address(|heap, row| Some(heap.address(row.from))),
                "the address of the object that has it; `from` is a word of SQL: refs.from or \"from\"",
            ),
            HeapColumn::new(
                "to",
                HeapValues::Address(|heap, row| Some(heap.address(row.to))),
                "the address of the object that it leads to",
            ),
            HeapColumn::new(
                "kind",
                HeapValues::Text(|_, row| Ok(Some(kind(&row.label).into()))),
                "its place: field, static, element, class, superclass, class loader, local variable and so on",
            ),
            HeapColumn::new(
                "field",
                HeapValues::Text(|_, row| match &row.label {
                    Label::Field(name) | Label::Static(name) => Ok(Some(name.into())),
                    _ => Ok(None),
                }),
                "the name of the field, static or not; null for other places",
            ),
            HeapColumn::new(
                "element",
                HeapValues::Number(|_, row| match row.label {
                    Label::Element(index) => Some(index),
                    _ => None,
                }),
                "the index of the element; null for other places",
            ),
            HeapColumn::new(
                "holds",
                HeapValues::Flag(|_, row| Some(row.holds)),
                "whether it holds the object: weak, phantom and finalizer references do not",
            ),
        ],
    }
}
