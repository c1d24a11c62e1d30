//! The fields in which the objects of each class hold the index of their record.

use perk_jvm::IntField;
use perk_jvm::probes::RecordField;
use perk_profile::ClassId;
use rustc_hash::FxHashMap;

/// The fields of the classes. Classes of different loaders can have the same name, but different
/// fields.
#[derive(Debug, Default)]
pub(super) struct RecordFields {
    by_offset: FxHashMap<(ClassId, u32), IntField>,
    /// Whether all classes of the name have the field.
    is_with: FxHashMap<ClassId, bool>,
}

impl RecordFields {
    /// Adds the field of a class, or that it does not have one.
    pub(super) fn add(&mut self, class: ClassId, field: Option<RecordField>) {
        *self.is_with.entry(class).or_insert(true) &= field.is_some();
        if let Some(RecordField { field, offset }) = field {
            self.by_offset.insert((class, offset), field);
        }
    }

    /// Returns the field at an offset.
    pub(super) fn get(&self, class: ClassId, offset: u32) -> Option<IntField> {
        self.by_offset.get(&(class, offset)).copied()
    }

    /// Returns whether objects have the field, by the number of their class.
    pub(super) fn by_number(&self) -> Vec<bool> {
        let mut has_field = Vec::new();
        for (class, is_with) in &self.is_with {
            *crate::recorder::entry(&mut has_field, class.index() + 1) = *is_with;
        }
        has_field
    }
}
