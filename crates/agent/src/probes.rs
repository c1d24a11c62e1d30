//! The room of all analyses that put probes into classes: the helper classes that the probes call,
//! the field in which objects hold the index of their record, and what hides both from the program.

mod binding;
mod hashes;
mod hidden;
mod intrinsics;
mod late;
mod record_field;
mod reflection;
mod retransform;
mod selection;
mod skipped;

pub(crate) use self::binding::{Exchange, HelperClass, Native, define_helpers, is_bound};
#[cfg(test)]
pub(crate) use self::hashes::hash_of;
pub(crate) use self::hashes::{HASH_MASK, seed_of};
pub(crate) use self::hidden::{CLASS as HIDDEN_CLASS_MAKER, bind as bind_hidden, bind_makers};
pub(crate) use self::intrinsics::warn as warn_of_intrinsics;
pub(crate) use self::late::define_late;
pub(crate) use self::record_field::{RecordField, find as find_record_field, kept_record};
pub(crate) use self::retransform::retransform;
pub(crate) use self::selection::Selection;
pub(crate) use self::skipped::{skipped_methods, warn_of_missing};
