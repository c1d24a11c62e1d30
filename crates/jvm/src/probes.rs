//! The room of all analyses that put probes into classes: the helper classes that the probes call,
//! the field in which objects hold the index of their record, and what hides both from the program.

mod binding;
mod hashes;
mod hidden;
mod late;
mod record_field;
mod reflection;
mod retransform;
mod skipped;

pub use self::binding::{Exchange, HelperClass, HelperNative, define_helpers, is_bound};
pub use self::hashes::{HASH_MASK, hash_of, seed_of};
pub use self::hidden::{CLASS as HIDDEN_CLASS_MAKER, bind as bind_hidden, bind_makers};
pub use self::late::define_late;
pub use self::record_field::{RecordField, find as find_record_field, kept_record};
pub use self::retransform::retransform;
pub use self::skipped::skipped_methods;
