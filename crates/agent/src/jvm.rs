//! The JVM as the agent sees it: JVMTI and JNI behind types that keep references valid.

mod env;
mod heap;
mod jni;
mod refs;
mod table;

pub(crate) use env::{Jvmti, LineTable, MethodRef, StackFrame, ThreadInfo, VirtualThreadFunction};
pub(crate) use heap::{ArraySizes, IntField};
pub(crate) use jni::{Jni, LongField, Vm};
pub(crate) use refs::{Borrowed, Global, Local, Reference, Weak};
pub(crate) use table::FunctionTable;
