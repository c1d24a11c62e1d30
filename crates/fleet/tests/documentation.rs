//! docs/sql.md and docs/store.md have all tables and columns.

use std::fmt::Write;
use std::fs;

use perk_tables::TableInfo;
use perk_testkit::workspace;

#[test]
fn docs_have_all_columns() {
    check("docs/sql.md", "## Tables\n\n", "A *stack* is ", perk_tables::tables());
    check(
        "docs/sql.md",
        "<!-- the tables of heap dumps -->\n\n",
        "<!-- end of the tables -->",
        perk_tables::heap_tables(),
    );
    check(
        "docs/store.md",
        "<!-- the tables of stores -->\n\n",
        "<!-- end of the tables -->",
        perk_store::tables(),
    );
}

/// Compares the tables between two texts of a page.
#[track_caller]
fn check(page: &str, begin: &str, end: &str, tables: Vec<TableInfo>) {
    let path = workspace().join(page);
    let written = fs::read_to_string(&path).unwrap();
    let (before, rest) = written.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let mut text = String::new();
    for table in tables {
        writeln!(text, "**`{}`**: {}.\n", table.name, table.about).unwrap();
        text.push_str("| column | type | |\n|---|---|---|\n");
        for column in table.columns {
            writeln!(text, "| `{}` | {} | {} |", column.name, column.kind, column.about).unwrap();
        }
        text.push('\n');
    }
    let text = format!("{before}{begin}{text}{end}{after}");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).unwrap();
        return;
    }
    assert!(
        text == written,
        "run UPDATE_EXPECT=1 cargo test -p perk-fleet -p perk-tables documentation"
    );
}
