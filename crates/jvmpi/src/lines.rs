//! The lines of methods, which are asked for once.
//!
//! A method that runs while its class is redefined continues unchanged, with an id that was never reported:
//! frames have the id of the method that replaced it.
//!
//! HotSpot does not use a method's id again after its class was unloaded, and frames have only methods
//! of loaded classes. A method keeps its id when its class is redefined, though, and has other lines
//! then: [`forget`] is called after that. Too many tables are forgotten, too, which bounds the memory.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{PoisonError, RwLockReadGuard};

use perk_jvmti_sys::jni_sys::jint;

use super::bridge;
use crate::state::STATE;
use crate::state::entries::Tables;
use perk_jvm::{Jvmti, LineTable, MethodRef};

/// The line of a frame whose line is not known.
const UNKNOWN: jint = -1;
/// The line of a frame of a native method.
const NATIVE: jint = -3;
/// The most methods whose tables are kept.
const MOST_METHODS: usize = 1 << 16;

/// The tables, while a stack is looked at.
#[derive(Debug)]
pub(super) struct LineTables {
    jvmti: Jvmti,
    tables: Option<RwLockReadGuard<'static, Tables>>,
}

/// Runs `body` with the tables.
pub(super) fn with(jvmti: Jvmti, body: impl FnOnce(&mut LineTables)) {
    body(&mut LineTables { jvmti, tables: None });
}

impl LineTables {
    /// Returns the method of a frame as the agent knows it, and the line of an instruction.
    pub(super) fn frame(&mut self, method: MethodRef, bci: i64) -> (MethodRef, jint) {
        if bci < 0 {
            return (method, NATIVE);
        }
        let tables = self.tables.get_or_insert_with(read);
        match tables.get(&method) {
            Some((known, table)) => (*known, line_at(table, bci)),
            None => self.ask(method, bci),
        }
    }

    #[cold]
    fn ask(&mut self, method: MethodRef, bci: i64) -> (MethodRef, jint) {
        // The JVM is called without the lock.
        self.tables = None;
        let before = STATE.lines.forgotten.load(SeqCst);
        let table = self.jvmti.line_table(method).unwrap_or_default();
        let known = self.replacement(method).unwrap_or(method);
        let line = line_at(&table, bci);
        let mut tables = STATE.lines.tables.write().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= MOST_METHODS {
            tables.clear();
        }
        if STATE.lines.forgotten.load(SeqCst) == before {
            tables.insert(method, (known, table));
        }
        (known, line)
    }

    /// Returns the method that has replaced one since the frame began; `None` if none has.
    fn replacement(&self, method: MethodRef) -> Option<MethodRef> {
        let jvmti = self.jvmti;
        if !jvmti.is_obsolete(method) {
            return None;
        }
        let jni = bridge()?.current_jni()?;
        let class = jvmti.declaring_class(jni, method).ok()?;
        let name = jvmti.method_name(method).ok()?;
        let methods = jvmti.class_methods(&class).ok()?;
        methods.into_iter().find(|it| jvmti.method_name(*it).is_ok_and(|it| it == name))
    }
}

fn read() -> RwLockReadGuard<'static, Tables> {
    STATE.lines.tables.read().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets the tables, as methods may have other lines now.
pub(super) fn forget() {
    STATE.lines.forgotten.fetch_add(1, SeqCst);
    STATE.lines.tables.write().unwrap_or_else(PoisonError::into_inner).clear();
}

/// Returns the line of the last entry that begins at or before an instruction.
fn line_at(table: &LineTable, bci: i64) -> jint {
    let after = table.partition_point(|&(start, _)| start <= bci);
    after.checked_sub(1).map_or(UNKNOWN, |index| table[index].1 as jint)
}
