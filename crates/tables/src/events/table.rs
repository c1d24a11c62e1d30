//! The table of a type of events: its columns, for DataFusion and for people.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use perk_formats::jfr::events::{EventField, EventType, FieldKind};

use super::builder;
use crate::table::{ColumnInfo, RECORDING, TableInfo};

/// The table of a type of events.
pub(super) struct EventTable {
    pub(super) name: String,
    pub(super) fields: Vec<EventField>,
    /// The column of the recording, and one for each field.
    pub(super) schema: SchemaRef,
    pub(super) label: String,
    pub(super) count: u64,
    about: String,
}

impl EventTable {
    pub(super) fn new(name: String, event_type: EventType) -> Self {
        let EventType { label, description, mut fields, count } = event_type;
        // The number of the recording has its name.
        fields.retain(|it| it.name != RECORDING);
        let recording = Arc::new(Field::new(RECORDING, DataType::Int64, true));
        let columns = std::iter::once(recording).chain(fields.iter().map(builder::field));
        let schema = Arc::new(Schema::new(columns.collect::<Vec<_>>()));
        let words = [label.clone(), description].into_iter().filter(|it| !it.is_empty());
        let words = words.collect::<Vec<_>>().join(": ");
        let about = format!("{count} events: {words}");
        Self {
            name,
            fields,
            schema,
            label,
            count,
            about: about.trim_end_matches([':', ' ']).to_owned(),
        }
    }

    /// The table for people.
    pub(super) fn info(&self) -> TableInfo {
        let recording = ColumnInfo {
            name: RECORDING.into(),
            kind: "number".into(),
            about: "the recording, as in `recordings`".into(),
        };
        let columns = self.fields.iter().map(|field| ColumnInfo {
            name: field.name.clone().into(),
            kind: kind(&field.kind),
            about: about(field).into(),
        });
        TableInfo {
            name: self.name.clone().into(),
            about: self.about.clone().into(),
            columns: std::iter::once(recording).chain(columns).collect(),
        }
    }
}

fn kind(kind: &FieldKind) -> Cow<'static, str> {
    match kind {
        FieldKind::Flag => "true or false".into(),
        FieldKind::Number | FieldKind::Timespan | FieldKind::Decimal => "number".into(),
        FieldKind::Text | FieldKind::Mixed => "text".into(),
        FieldKind::Time => "time".into(),
        FieldKind::Stack => "stack".into(),
        FieldKind::Struct(fields) => {
            let fields = fields.iter().map(|it| match &it.kind {
                FieldKind::Struct(_) => format!("{} {}", it.name, self::kind(&it.kind)),
                _ => it.name.clone(),
            });
            format!("struct({})", fields.collect::<Vec<_>>().join(", ")).into()
        }
        FieldKind::List(inner) => format!("list of {}", self::kind(inner)).into(),
    }
}

/// What a column means, with its unit.
fn about(field: &EventField) -> String {
    let unit = match field.kind {
        FieldKind::Timespan => Some("ns"),
        _ => field.unit.map(|it| it.label()),
    };
    let label = Some(&*field.label).filter(|it| !it.is_empty());
    let description = Some(&*field.description).filter(|it| !it.is_empty());
    let unit = unit.map(|it| format!("[{it}]"));
    let parts: Vec<_> = [label, description].into_iter().flatten().collect();
    [parts.join(": "), unit.unwrap_or_default()].join(" ").trim().to_owned()
}
