//! `xtask conform combinations`: records how the original agent of JDK 8 ends with each combination
//! of its analyses. Tests compare perk with that table if there is no JDK 8.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use perk_testkit::combinations::{self, CLASS, Ending, FILE, SOURCE};
use perk_testkit::{fixture, workspace};

/// The table, below the root of the workspace.
const TABLE: &str = "testdata/hprof/combinations/original.tsv";

/// Runs the original with all combinations. `java` is a command that runs JDK 8's `java`.
pub(super) fn write(java: &[String]) -> Result<()> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let classes = fixture::compile_text_for(8, CLASS, SOURCE);
    // The command of JDK 8 may have access to this folder only.
    for class in fs::read_dir(classes)? {
        let class = class?;
        fs::copy(class.path(), work.path().join(class.file_name()))?;
    }
    let mut table = String::new();
    for options in combinations::all() {
        let ending = ending(java, &options, work.path()).with_context(|| options.clone())?;
        writeln!(table, "{options}\t{ending}")?;
    }
    let path = workspace().join(TABLE);
    fs::write(&path, table).with_context(|| path.display().to_string())
}

fn ending(java: &[String], options: &str, work: &Path) -> Result<Ending> {
    let [java, words @ ..] = java else { bail!("no command") };
    let file = work.join(FILE);
    let output = Command::new(java)
        .args(words)
        .arg(format!("-agentlib:hprof={options},file={FILE}"))
        .args(["-Xmx64m", "-cp", ".", CLASS])
        .current_dir(work)
        .output()
        .with_context(|| format!("cannot start {java}"))?;
    let code = output.status.code().context("a signal ended it")?;
    let bytes = file.exists().then(|| fs::read(&file)).transpose()?;
    if bytes.is_some() {
        fs::remove_file(&file)?;
    }
    Ending::of(code, bytes.as_deref(), &String::from_utf8_lossy(&output.stderr))
}
