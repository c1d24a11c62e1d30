//! docs/sql.md has all tables and columns.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use perk_tables::tables;

const BEGIN: &str = "## Tables\n\n";
const END: &str = "A *stack* is ";

#[test]
fn docs_have_all_columns() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let written = fs::read_to_string(&path).unwrap();
    let (before, rest) = written.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let mut text = String::new();
    for table in tables() {
        writeln!(text, "**`{}`**: {}.\n", table.name, table.about).unwrap();
        text.push_str("| column | type | |\n|---|---|---|\n");
        for column in table.columns {
            writeln!(text, "| `{}` | {} | {} |", column.name, column.kind, column.about).unwrap();
        }
        text.push('\n');
    }
    let text = format!("{before}{BEGIN}{text}{END}{after}");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).unwrap();
        return;
    }
    assert!(text == written, "run UPDATE_EXPECT=1 cargo test -p perk-tables");
}
