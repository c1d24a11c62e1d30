//! The agent's view of the JVM: JVMTI and JNI behind types that keep references valid.

mod control;
mod env;
mod fields;
mod flags;
mod headers;
mod heap;
mod image;
mod jni;
mod management;
mod monitors;
mod pending;
mod reflection;
mod refs;
mod stopped;
mod sweep;
mod table;
mod values;
mod walk;

pub(crate) use env::{
    Jvmti, LineTable, MethodRef, StackFrame, ThreadInfo, VIRTUAL_THREAD_GROUP,
    VirtualThreadFunction,
};
pub(crate) use fields::{LongField, ObjectField};
pub(crate) use flags::{
    Exported, bool_flag, clear_exported_bool, int_flag, set_bool_flag, text_flag,
};
pub(crate) use headers::{Header, Headers};
pub(crate) use heap::{DeclaredField, FOUND, IntField, NewObject};
pub(crate) use image::Image;
pub(crate) use jni::{Jni, Vm};
pub(crate) use management::{Commands, HeapDumper};
pub(crate) use monitors::ThreadMoment;
pub(crate) use refs::{Borrowed, Global, Local, Reference, Weak};
pub(crate) use table::Functions;
pub(crate) use values::{Type, TypedField};
pub(crate) use walk::Walker;
