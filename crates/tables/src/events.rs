//! The events of JFR recordings as tables: one for each type of events, with all fields.

mod builder;
mod names;
mod provider;
mod table;
mod types;
mod views;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use perk_formats::jfr::events::{EventField, EventTypes, FieldKind};

use self::provider::EventProvider;
use self::table::EventTable;
use crate::table::TableInfo;

pub use self::names::Names;

/// A file with events.
#[derive(Clone, Debug)]
pub struct EventFile {
    /// The number of its recording, from 1.
    pub recording: u64,
    /// Where it is.
    pub path: PathBuf,
    /// The types of its events.
    pub types: EventTypes,
}

/// Says something to people.
pub(crate) type Say = dyn Fn(&str) + Send + Sync;

/// The events of files.
pub struct Events {
    /// The numbers of the recordings, and where they are.
    files: Vec<(u64, PathBuf)>,
    tables: BTreeMap<String, Arc<EventTable>>,
    say: Box<Say>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Events {
    /// The events of these files. What is wrong with them is told to `say`.
    pub fn new(files: Vec<EventFile>, say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let mut types = EventTypes::default();
        let mut places = Vec::new();
        for file in files {
            types.unite(file.types);
            places.push((file.recording, file.path));
        }
        let tables = types.0.into_iter().map(|(name, mut event_type)| {
            leave_out_mixed(&mut event_type.fields, &name, &say);
            (name.clone(), Arc::new(EventTable::new(name, event_type)))
        });
        Self { files: places, tables: tables.collect(), say: Box::new(say) }
    }

    /// All tables and views, in the order of their names; none without files.
    pub fn tables(&self) -> Vec<TableInfo> {
        if self.files.is_empty() {
            return Vec::new();
        }
        let mut tables = vec![types::info()];
        tables.extend(self.tables.values().map(|table| table.info()));
        tables.extend(views::tables(&self.names()));
        tables
    }

    /// The names of the tables, and of their columns and the fields of structs, for queries.
    pub fn names(&self) -> Names {
        Names::new(self.tables.keys().map(String::as_str), self.column_names())
    }

    fn column_names(&self) -> Vec<&str> {
        fn add<'a>(fields: &'a [EventField], names: &mut Vec<&'a str>) {
            for EventField { name, kind, .. } in fields {
                names.push(name);
                if let FieldKind::Struct(fields) = kind {
                    add(fields, names);
                }
            }
        }
        let mut names = Vec::new();
        self.tables.values().for_each(|table| add(&table.fields, &mut names));
        names
    }
}

/// Makes the tables known to a session. The name of a table is the whole name of the type of events.
pub(crate) fn register(context: &SessionContext, events: &Arc<Events>) -> Result<()> {
    if events.files.is_empty() {
        return Ok(());
    }
    context.register_table(types::NAME, Arc::new(types::table(events)?))?;
    views::register(context, events.names())?;
    for (name, table) in &events.tables {
        let provider = EventProvider::new(Arc::clone(events), Arc::clone(table));
        context.register_table(TableReference::bare(name.as_str()), Arc::new(provider))?;
    }
    Ok(())
}

/// Leaves out the fields whose values are not alike.
fn leave_out_mixed(fields: &mut Vec<EventField>, name: &str, say: &impl Fn(&str)) {
    fields.retain_mut(|field| {
        let name = format!("{name}.{}", field.name);
        let is_mixed = leave_out_of_kind(&mut field.kind, &name, say);
        if is_mixed {
            say(&format!(
                "{name} has no column: it has fields of its own in one place and none in another"
            ));
        }
        !is_mixed
    });
}

fn leave_out_of_kind(kind: &mut FieldKind, name: &str, say: &impl Fn(&str)) -> bool {
    match kind {
        FieldKind::Mixed => true,
        FieldKind::Struct(fields) => {
            leave_out_mixed(fields, name, say);
            false
        }
        FieldKind::List(kind) => leave_out_of_kind(kind, name, say),
        _ => false,
    }
}
