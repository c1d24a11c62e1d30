//! `fields`: the accesses to the fields of objects.

use perk_analysis::objects::{self, FieldKey, ObjectsRow};
use perk_profile::{AllocationSite, FieldCounts};

use crate::recording::Recording;
use crate::table::{Column, TableOf, Values};

/// The accesses to a field of the objects of a site.
pub(super) struct FieldRow {
    objects: ObjectsRow<(FieldKey, Option<AllocationSite>)>,
    site: Option<String>,
    /// Whether accesses by other means than instructions were counted.
    has_extended: bool,
}

impl FieldRow {
    fn extended(&self, number: fn(&FieldCounts) -> u64) -> Option<u64> {
        self.has_extended.then(|| number(&self.objects.counts.extended))
    }
}

pub(super) fn fields() -> TableOf<FieldRow> {
    TableOf {
        name: "fields",
        about: "the accesses to the fields of objects, by the thread that made the object and by others, by allocation site",
        rows: Box::new(rows),
        columns: vec![
            Column::recording(),
            Column::new(
                "class",
                Values::Text(|it, row| Some(it.profile.symbols.class_name(row.objects.key.0.0))),
                "the class of the objects",
            ),
            Column::new(
                "field_class",
                Values::Text(|it, row| {
                    Some(it.profile.symbols.strings.get(row.objects.key.0.1.class))
                }),
                "the class that declares the field; of an array its own",
            ),
            Column::new(
                "field",
                Values::Text(|it, row| {
                    Some(it.profile.symbols.strings.get(row.objects.key.0.1.name))
                }),
                "the field; $arraylength and $components of arrays",
            ),
            Column::new(
                "descriptor",
                Values::Text(|it, row| {
                    Some(it.profile.symbols.strings.get(row.objects.key.0.1.descriptor))
                }),
                "its type, as the JVM writes it",
            ),
            Column::new(
                "site",
                Values::Text(|_, row| row.site.as_deref()),
                "the place that allocated the objects; null if it is not known",
            ),
            Column::new(
                "object_count",
                Values::Number(|_, row| Some(row.objects.object_count)),
                "the number of the objects",
            ),
            Column::new(
                "accessed_count",
                Values::Number(|_, row| Some(row.objects.accessed_count)),
                "those whose field was accessed at all",
            ),
            Column::new(
                "shared_count",
                Values::Number(|_, row| Some(row.objects.shared_count)),
                "those whose field another thread than the one that made the object accessed",
            ),
            Column::new(
                "owner_read_count",
                Values::Number(|_, row| Some(row.objects.counts.direct.owner_read_count)),
                "reads by the thread that made the object",
            ),
            Column::new(
                "other_read_count",
                Values::Number(|_, row| Some(row.objects.counts.direct.other_read_count)),
                "reads by other threads",
            ),
            Column::new(
                "owner_write_count",
                Values::Number(|_, row| Some(row.objects.counts.direct.owner_write_count)),
                "writes by the thread that made the object",
            ),
            Column::new(
                "other_write_count",
                Values::Number(|_, row| Some(row.objects.counts.direct.other_write_count)),
                "writes by other threads",
            ),
            Column::new(
                "extended_count",
                Values::Number(|_, row| row.extended(FieldCounts::total)),
                "accesses by other means, such as arraycopy and reflection; null if they were not counted",
            ),
            Column::new(
                "extended_other_count",
                Values::Number(|_, row| row.extended(FieldCounts::by_others)),
                "those of them by other threads",
            ),
            Column::new(
                "unknown_access_count",
                Values::Number(|_, row| Some(row.objects.unknown.all().total())),
                "accesses to objects of which it is not known which thread made them",
            ),
        ],
    }
}

fn rows(recording: &Recording) -> Vec<FieldRow> {
    let Some(accesses) = recording.profile.field_accesses() else { return Vec::new() };
    let has_extended = accesses.has_extended();
    let row = |objects: ObjectsRow<(FieldKey, Option<AllocationSite>)>| FieldRow {
        site: objects.key.1.map(|site| site.name(&recording.profile.symbols)),
        objects,
        has_extended,
    };
    objects::by_field_and_site(accesses, |_| true).into_iter().map(row).collect()
}
