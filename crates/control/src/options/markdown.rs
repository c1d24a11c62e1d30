//! The documentation of the options.

use std::fmt::Write;

use super::measurements::{Holder, MEASUREMENTS, MeasurementRow};
use super::row::{OptionRow, Section};
use super::table::ROWS;
use super::types::OutputFormat;

/// Returns the contents of `docs/options.md`. A test compares them with the file.
pub fn options_markdown() -> String {
    let mut text = String::from(
        "# Options of the agent

<!-- Written from the tables in crates/control/src/options, table.rs and measurements.rs:
     UPDATE_EXPECT=1 cargo test -p perk-control -->

`java -agentlib:hprof=<option>=<value>,<option>=<value>,...` or `-agentpath:<libperk.so>=...`.
The names, values, defaults and messages are those of HPROF, the agent that JDK 8 and older came
with. `help` as the whole string prints a summary on stdout. The environment variable
`_JAVA_HPROF_OPTIONS` is appended to the options after a comma.

Blanks are kept and case matters. If an option is given twice, the last value counts, except that
`heap`, `cpu`, `include` and `exclude` add up, and that only one `file` or `net` may
appear. Without any measurement the default is `heap=all`.

A wrong option gives one line on stderr and exit code 1, before the program starts:

```
HPROF ERROR: hprof option error: Unknown option: foo (foo=bar) [hprof_init.c:495]
```

",
    );
    push_measurements(&mut text);
    push_table(&mut text, "Options", section(Section::Main));
    text.push('\n');
    push_table(&mut text, "perk's additions", section(Section::Perk));
    for row in ROWS {
        if let Some(addition) = row.addition {
            push_row(&mut text, [row.name, addition.values, "", "", addition.about]);
        }
    }
    text.push_str(
        "
The unit of a time is `us`, `ms`, `s`, `m` or `h`; a number without one is in milliseconds, as in the
original's `interval`. The command line of `perk` takes no time without a unit. `k` is 1024,
`m` 1024 * 1024 and `g` 1024 * 1024 * 1024. With `force=n` an existing file is not overwritten: the
process id goes into the name, before the ending `.txt` of text output and at the end of the name of
binary output.

",
    );
    for row in ROWS.iter().filter(|row| !row.note.is_empty()) {
        text = text + row.note + "\n";
    }
    text.push_str(
        "\
- `jvmpi` runs a profiler library of JVMPI instead of perk's own analyses, and has its own options:
  [jvmpi.md](jvmpi.md).

",
    );
    push_table(&mut text, "Unlisted options of HPROF", section(Section::Undocumented));
    text.push('\n');
    push_table(&mut text, "Accepted without effect", section(Section::Obsolete));
    text.push_str("\n## Removed from HPROF itself\n\n");
    for row in section(Section::Removed) {
        let _ = writeln!(text, "- `{}`: refused, with a hint at `-XX:OnError`", row.name);
    }
    text
}

fn section(section: Section) -> impl Iterator<Item = &'static OptionRow> {
    ROWS.iter().filter(move |row| row.section == section)
}

fn push_measurements(text: &mut String) {
    text.push_str(
        "## Measurements

A measurement that cannot pause counts from the program's start. *attach* says whether a measurement
can begin in a running program (`perk attach`, `perk start`); *format* lists the file formats that
have its numbers.

| measurement | `perk run` | format | with others | attach | pause |
|---|---|---|---|---|---|
",
    );
    for row in &MEASUREMENTS {
        let yes_or_no = |is_so| if is_so { "yes" } else { "no" };
        let names: Vec<String> = row.command_line.iter().map(|it| format!("`{it}`")).collect();
        let attach = match row.start {
            None => "yes".to_owned(),
            Some(start) if start.agent.is_empty() => "`perk start`".to_owned(),
            Some(start) => match start.with {
                "" => "no".to_owned(),
                with => format!("with `{with}`"),
            },
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {attach} | {} |",
            row.agent.replace('|', "\\|"),
            names.join(", "),
            formats(row),
            yes_or_no(!row.is_alone),
            yes_or_no(row.can_pause),
        );
    }
    text.push('\n');
}

/// The formats of the file that hold a measurement.
fn formats(row: &MeasurementRow) -> String {
    let all = [OutputFormat::Ascii, OutputFormat::Binary, OutputFormat::Extended];
    let held = all.into_iter().filter(|&format| row.is_held_by(format));
    let held = held.map(|format| format!("`{}`", format.letter())).collect::<Vec<_>>().join(", ");
    match row.holder {
        Holder::Recording(_) => held,
        Holder::ExtendedOrStdout => format!("{held}; otherwise printed"),
        Holder::OwnText => "text of its own".to_owned(),
        Holder::Stdout => "printed".to_owned(),
    }
}

fn push_table(text: &mut String, title: &str, rows: impl Iterator<Item = &'static OptionRow>) {
    let _ = write!(
        text,
        "## {title}\n\n| option | values | default | `perk run` | meaning |\n|---|---|---|---|---|\n"
    );
    for row in rows {
        let names: Vec<String> =
            row.arguments.iter().map(|it| format!("`--{}`", it.long)).collect();
        push_row(text, [row.name, row.values, row.default, &names.join(", "), row.about]);
    }
}

fn push_row(text: &mut String, [name, values, default, names, about]: [&str; 5]) {
    let values = values.replace('|', "\\|");
    let about = about.replace('<', "\\<");
    let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
    let _ = writeln!(text, "| `{name}` | `{values}` | {default} | {names} | {about} |");
}
