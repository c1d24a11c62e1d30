//! The JVM as the agent sees it: JVMTI and JNI behind types that keep references valid.

mod env;
mod jni;
mod refs;

pub(crate) use env::{Jvmti, LineTable, MethodRef, StackFrame, ThreadInfo, VirtualThreadFunction};
pub(crate) use jni::Jni;
pub(crate) use refs::{Borrowed, Global, Local, Reference};
