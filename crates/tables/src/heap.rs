//! The tables of heap dumps.

mod classes;
mod objects;
mod references;
mod roots;
mod strings;
mod table;
mod threads;

use std::sync::Arc;

use crate::table::{Table, TableInfo};

/// The tables of heap dumps, in the order of their names.
pub fn tables() -> Vec<TableInfo> {
    all().iter().map(|table| table.info()).collect()
}

pub(crate) fn all() -> Vec<Arc<dyn Table>> {
    vec![
        Arc::new(objects::arrays()),
        Arc::new(classes::classes()),
        Arc::new(threads::threads()),
        Arc::new(objects::objects()),
        Arc::new(references::references()),
        Arc::new(roots::roots()),
        Arc::new(strings::strings()),
    ]
}
