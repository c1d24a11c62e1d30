//! The help text of the agent.

use super::row::{OptionRow, Section};
use super::table::ROWS;

/// Returns the text that the option `help` prints on stdout.
pub fn usage() -> &'static str {
    include_str!("help.txt")
}

/// Returns the contents of `help.txt`. A test compares them with the file: the agent's library has the
/// text, and not the parts that it is made of.
///
/// The lines on the original's options, the examples and the notes are taken from the original.
pub fn written_usage() -> String {
    let mut text = String::from(
        "
     perk: a profiler for the JVM that takes HPROF's options

hprof usage: java -agentlib:hprof=[help]|[<option>=<value>, ...]

Option Name and Value  Description                    Default
---------------------  -----------                    -------
",
    );
    for option in section(Section::Main) {
        push_row(&mut text, &written(option), option.about, option.default);
    }
    text.push_str("\nObsolete Options\n----------------\n");
    for option in section(Section::Obsolete) {
        text = text + &written(option) + "\n";
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
    for option in section(Section::Perk) {
        push_row(&mut text, &written(option), option.about, option.default);
    }
    for option in ROWS {
        if let Some(addition) = option.addition {
            let written = format!("{}={}", option.name, addition.values);
            push_row(&mut text, &written, addition.about, "");
        }
    }
    push_row(&mut text, "jvmpi[=<lib>[=...]]", "run a profiler of JVMPI", "");
    text.push_str("\nWarnings\n--------\n");
    text.push_str("  - Samples are estimates; a method with only a few samples may be chance.\n");
    text
}

fn section(section: Section) -> impl Iterator<Item = &'static OptionRow> {
    ROWS.iter().filter(move |option| option.section == section)
}

fn written(option: &OptionRow) -> String {
    format!("{}={}", option.name, option.values)
}

fn push_row(text: &mut String, name: &str, about: &str, default: &str) {
    let row = format!("{name:<22} {about:<30} {default}");
    text.push_str(row.trim_end());
    text.push('\n');
}
