//! Names and flags of classes.

use perk_classfile::access;

/// The internal name of the class of virtual threads.
pub const VIRTUAL_THREAD: &[u8] = b"java/lang/VirtualThread";

/// The superclass of all classes.
pub(crate) const OBJECT: &[u8] = b"java/lang/Object";

/// The flags of the fields that classes get.
pub(crate) const ADDED: u16 = access::PRIVATE | access::TRANSIENT | access::SYNTHETIC;
