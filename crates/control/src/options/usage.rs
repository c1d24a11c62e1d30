//! The help text and the documentation. Both are generated from the table.

use std::fmt::Write;

use super::row::{AgentOption, Section};
use super::table::{OPTIONS, ROWS};

/// Returns the text that the option `help` prints on stdout.
///
/// The lines on the original's options, the examples and the notes are taken from the original.
pub fn usage() -> String {
    let mut text = String::from(
        "
     perk: a profiler for the JVM that takes HPROF's options

hprof usage: java -agentlib:hprof=[help]|[<option>=<value>, ...]

Option Name and Value  Description                    Default
---------------------  -----------                    -------
",
    );
    for spec in section(Section::Main) {
        push_row(&mut text, &written(spec), spec.about, spec.default);
    }
    text.push_str("\nObsolete Options\n----------------\n");
    for spec in section(Section::Obsolete) {
        text = text + &written(spec) + "\n";
    }
    text.push_str(
        "
Examples
--------
  - Get sample cpu information every 20 millisec, with a stack depth of 3:
      java -agentlib:hprof=cpu=samples,interval=20,depth=3 classname
  - Get heap usage information based on the allocation sites:
      java -agentlib:hprof=heap=sites classname

Notes
-----
  - The option format=b cannot be used with monitor=y.
  - The option format=b cannot be used with cpu=old|times.
  - Use of the -Xrunhprof interface can still be used, e.g.
       java -Xrunhprof:[help]|[<option>=<value>, ...]
    will behave exactly the same as:
       java -agentlib:hprof=[help]|[<option>=<value>, ...]

perk's additions
----------------
",
    );
    for spec in section(Section::Perk) {
        push_row(&mut text, &written(spec), spec.about, spec.default);
    }
    for spec in &OPTIONS {
        if let Some(addition) = spec.addition {
            let written = format!("{}={}", spec.name, addition.values);
            push_row(&mut text, &written, addition.about, "");
        }
    }
    push_row(&mut text, "jvmpi[=<lib>[=...]]", "run a profiler of JVMPI", "");
    text.push_str("\nWarnings\n--------\n");
    text.push_str("  - Samples are estimates; a method with only a few samples may be chance.\n");
    text
}

/// Returns the contents of `docs/options.md`. A test compares them with the file.
pub fn options_markdown() -> String {
    let mut text = String::from(
        "# Options of the agent

<!-- Written from the table in crates/control/src/options/table.rs:
     UPDATE_EXPECT=1 cargo test -p perk-control -->

`java -agentlib:hprof=<option>=<value>,<option>=<value>,...` or `-agentpath:<libperk.so>=...`.
The names, values, defaults and messages are those of HPROF, the agent that JDK 8 and older came
with. `help` as the whole string prints a summary on stdout. The environment variable
`_JAVA_HPROF_OPTIONS` is appended to the options after a comma.

Blanks are kept and case matters. An option given twice has its last value, except that
`heap`, `cpu`, `include` and `exclude` add up, and that `file` and `net` may appear only once
between them. Without any analysis (`heap`, `cpu`, `monitor`, `aprof`, `xprof`) the default is `heap=all`.
`cpu=times|old` and `monitor=y` cannot be used with `format=b`.

A wrong option is one line on stderr and exit code 1, before the program starts:

```
HPROF ERROR: hprof option error: Unknown option: foo (foo=bar) [hprof_init.c:495]
```

",
    );
    push_table(&mut text, "Options", section(Section::Main));
    text.push('\n');
    push_table(&mut text, "perk's additions", section(Section::Perk));
    for spec in &OPTIONS {
        if let Some(addition) = spec.addition {
            push_markdown_row(&mut text, spec.name, addition.values, addition.about, "");
        }
    }
    text.push_str(
        "
A unit in `interval` is `us`, `ms` or `s`; a number without one is in milliseconds. `k` is 1024,
`m` 1024 * 1024 and `g` 1024 * 1024 * 1024. With `force=n` a file that exists is not overwritten: the process id goes into
the name, before a `.txt` ending of text output and at the end of the name of binary output.

",
    );
    for row in ROWS.iter().filter(|row| !row.note.is_empty()) {
        text = text + row.note + "\n";
    }
    text.push_str(
        "\
- `jvmpi` runs a profiler library of JVMPI instead of perk's own analyses, and has options of its own:
  [jvmpi.md](jvmpi.md).

",
    );
    push_table(&mut text, "Unlisted options of HPROF", section(Section::Undocumented));
    text.push('\n');
    push_table(&mut text, "Accepted without effect", section(Section::Obsolete));
    text.push_str("\n## Removed from HPROF itself\n\n");
    for spec in section(Section::Removed) {
        let _ = writeln!(text, "- `{}`: refused, with a hint at `-XX:OnError`", spec.name);
    }
    text
}

fn section(section: Section) -> impl Iterator<Item = &'static AgentOption> {
    OPTIONS.iter().filter(move |spec| spec.section == section)
}

fn written(spec: &AgentOption) -> String {
    format!("{}={}", spec.name, spec.values)
}

fn push_row(text: &mut String, option: &str, about: &str, default: &str) {
    let row = format!("{option:<22} {about:<30} {default}");
    text.push_str(row.trim_end());
    text.push('\n');
}

fn push_table(text: &mut String, title: &str, specs: impl Iterator<Item = &'static AgentOption>) {
    let _ =
        write!(text, "## {title}\n\n| option | values | default | meaning |\n|---|---|---|---|\n");
    for spec in specs {
        push_markdown_row(text, spec.name, spec.values, spec.about, spec.default);
    }
}

fn push_markdown_row(text: &mut String, name: &str, values: &str, about: &str, default: &str) {
    let values = values.replace('|', "\\|");
    let about = about.replace('<', "\\<");
    let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
    let _ = writeln!(text, "| `{name}` | `{values}` | {default} | {about} |");
}
