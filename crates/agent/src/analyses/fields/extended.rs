//! The accesses that no instruction makes (`accesses=extended`). Methods of `Unsafe` give a field by
//! its offset in objects, JNI by its id.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use rustc_hash::FxHashMap;

use super::SharedFields;
use super::classes::ExtendedUnits;
use crate::jvm::{Borrowed, Jni};
use crate::memory::reserve;
use crate::sync::lock;

/// The words of the helper's table.
const OFFSETS: usize = 1 << 16;

/// Stands for the unit of an offset at which there is no field of objects: the static fields of a
/// class, for example, are in the object of class Class.
pub(super) const NO_FIELD: u32 = (1 << 20) - 1;

/// The fields; see the module.
#[derive(Debug)]
pub(super) struct Extended {
    /// The fields that were accessed, by hash; the helper class reads and writes it.
    offsets: &'static [AtomicU64],
    /// By the number of the class.
    units: Mutex<FxHashMap<u32, ExtendedUnits>>,
}

impl Extended {
    pub(super) fn new() -> Result<Self, String> {
        let no_memory = |error: io::Error| format!("perk has no memory for fields: {error}");
        let offsets = reserve(OFFSETS).map_err(no_memory)?;
        Ok(Self { offsets, units: Mutex::default() })
    }

    /// Returns the address of the helper's table.
    pub(super) fn address(&self) -> u64 {
        self.offsets.as_ptr() as u64
    }
}

impl SharedFields {
    /// Returns the unit of the counters of the field at an offset in objects of a class.
    pub(super) fn unit_at(&self, jni: Jni<'_>, class: &Borrowed<'_>, offset: u64) -> Option<u32> {
        self.extended_unit(jni, class, |units| units.by_offset.get(&offset).copied())
    }

    /// Returns the unit of the counters of the field with an id of the JVM.
    pub(super) fn unit_of(&self, jni: Jni<'_>, class: &Borrowed<'_>, id: usize) -> Option<u32> {
        self.extended_unit(jni, class, |units| units.by_id.get(&id).copied())
    }

    fn extended_unit(
        &self,
        jni: Jni<'_>,
        class: &Borrowed<'_>,
        find: impl Fn(&ExtendedUnits) -> Option<u32>,
    ) -> Option<u32> {
        let known = &self.extended.as_ref()?.units;
        let number = self.classes.number(class);
        if let Some(units) = lock(known).get(&number) {
            return find(units);
        }
        let units = self.classes.extended_units(jni, self.helper()?, class);
        find(lock(known).entry(number).or_insert(units))
    }
}
