//! The accesses that no instruction makes (`accesses=extended`). Methods of `Unsafe` give a field by
//! its offset in objects, JNI by its id.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use perk_jvm::memory::reserve;
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, ObjectRef};
use rustc_hash::FxHashMap;

use super::classes::{Classes, ExtendedUnits};

/// The words of the helper's table.
const OFFSETS: usize = 1 << 16;

/// The unit of an offset that no field of objects has: the static fields of a
/// class, for example, are in the object of class Class.
pub(super) const NO_FIELD: u32 = (1 << 20) - 1;

/// The fields; see the module.
#[derive(Debug)]
pub(super) struct ExtendedFields {
    /// The fields that were accessed, by hash; the helper class reads and writes it.
    offsets: &'static [AtomicU64],
    /// By the number of the class.
    units: Mutex<FxHashMap<u32, ExtendedUnits>>,
}

impl ExtendedFields {
    pub(super) fn new() -> Result<Self, String> {
        let no_memory = |error: io::Error| format!("perk has no memory for fields: {error}");
        let offsets = reserve(OFFSETS).map_err(no_memory)?;
        Ok(Self { offsets, units: Mutex::default() })
    }

    /// Returns the address of the helper's table.
    pub(super) fn address(&self) -> u64 {
        self.offsets.as_ptr() as u64
    }

    /// Returns what `find` finds among the units of a class.
    pub(super) fn unit(
        &self,
        jni: Jni<'_>,
        classes: &Classes,
        helper: &Global,
        class: &ObjectRef<'_>,
        find: impl Fn(&ExtendedUnits) -> Option<u32>,
    ) -> Option<u32> {
        let number = classes.number(class);
        if let Some(units) = lock(&self.units).get(&number) {
            return find(units);
        }
        let units = classes.extended_units(jni, helper, class);
        find(lock(&self.units).entry(number).or_insert(units))
    }
}
