//! The agent's view of the JVM: JVMTI and JNI behind types that keep references valid.

pub mod arch;
pub mod archive;
pub mod binder;
mod control;
mod env;
mod fields;
mod flags;
pub mod guard;
mod headers;
mod heap;
pub mod hook;
mod image;
mod jni;
mod management;
pub mod memory;
mod monitor_owner;
mod monitors;
pub mod native;
pub mod os;
mod pending;
pub mod probes;
mod reflection;
mod refs;
mod stopped;
mod sweep;
pub mod sync;
mod table;
pub mod trampolines;
mod values;
pub mod vm_memory;
mod walk;

pub use env::{
    Jvmti, LineTable, MethodRef, StackFrame, ThreadInfo, VIRTUAL_THREAD_GROUP,
    VirtualThreadFunction,
};
pub use fields::{LongField, ObjectField};
pub use flags::{bool_flag, clear_exported_bool, int_flag, set_bool_flag, text_flag};
pub use headers::{Header, Headers};
pub use heap::{DeclaredField, FOUND, IntField, NewObject};
pub use image::Image;
pub use jni::{Jni, Vm};
pub use management::{Commands, HeapDumper};
pub use monitors::ThreadMoment;
pub use refs::{Global, Local, ObjectRef, Reference, Weak};
pub use table::Functions;
pub use values::{TypedField, ValueType};
pub use vm_memory::ProcessMemory;
pub use walk::Walker;
