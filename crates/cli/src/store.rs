//! Parts of stores as profiles. The program `perk-fleet` reads them.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use perk_open::{Input, Options, Source};
use perk_profile::units::printable;

use crate::args::{FilterArgs, PartArgs, SidePattern};
use crate::fleet;
use crate::progress::ProgressStream;
use crate::talk;

/// The file that makes a folder a store.
const STORE_FILE: &str = "perk-store.json";

/// Whether an input is a store: the address of one, or the folder.
pub(crate) fn is_store(path: &Path) -> bool {
    let is_address = || path.to_str().is_some_and(|it| it.contains("://")) && !path.exists();
    path.join(STORE_FILE).is_file() || is_address()
}

/// What the numbers of a part of a store are distinguished by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// When they were measured.
    pub(crate) has_times: bool,
    /// Their threads.
    pub(crate) has_threads: bool,
    /// All their labels, and not only those that are asked.
    pub(crate) has_labels: bool,
}

impl Detail {
    /// Everything that the store has.
    pub(crate) const ALL: Self = Self { has_times: true, has_threads: true, has_labels: true };
    /// Sums.
    pub(crate) const SUMS: Self = Self { has_times: false, has_threads: false, has_labels: false };
}

/// A part of a store.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    args: PartArgs,
    /// `KEY=VALUE`.
    labels: Vec<String>,
    keys: Vec<String>,
    detail: Detail,
}

impl Part {
    /// What arguments select, with what a filter and `--by` need.
    pub(crate) fn new(
        args: &PartArgs,
        filter: &FilterArgs,
        by: Option<&str>,
        detail: Detail,
    ) -> Self {
        let labels = filter.label.iter().map(ToString::to_string).collect();
        let keys = filter.label.iter().map(|it| it.key.clone());
        let keys = keys.chain(by.map(ToOwned::to_owned)).collect();
        let has_threads = detail.has_threads || !filter.thread.is_empty();
        Self { args: args.clone(), labels, keys, detail: Detail { has_threads, ..detail } }
    }

    /// A side of a comparison within this part.
    pub(crate) fn side(&self, pattern: &[SidePattern]) -> Self {
        let mut side = self.clone();
        for one in pattern.iter().cloned() {
            match one {
                SidePattern::Label(label) => side.labels.push(label),
                SidePattern::Time(from, to) => {
                    side.args.since = from.or(side.args.since);
                    side.args.until = to.or(side.args.until);
                }
            }
        }
        side
    }

    /// What messages and headings call the part of a store.
    pub(crate) fn name(&self, store: &Path) -> String {
        let mut words = vec![perk_open::display_name(store)];
        words.extend(self.args.words());
        words.extend(self.labels.iter().cloned());
        printable(&words.join(", "))
    }

    /// Reads it.
    ///
    /// # Errors
    /// `perk-fleet` is not installed, or cannot read the store, in one line.
    pub(crate) fn read(&self, store: &Path, options: &Options) -> anyhow::Result<Input> {
        let mut command = fleet::command();
        command.args(["store", "export"]).arg(store).args(["--output", "-"]);
        self.add_options(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| fleet::fault("reading a store", error))?;
        let stdout = child.stdout.take().context("perk-fleet has no output")?;
        let source = Source::stream(stdout, self.name(store)).watched(ProgressStream::new);
        let read = source.profile(options);
        let said = said(child)?;
        said.lines().for_each(|line| talk::say(format_args!("{line}")));
        read
    }

    fn add_options(&self, command: &mut Command) {
        command.args(self.args.given().map(|(option, value)| format!("{option}={value}")));
        command.args(self.labels.iter().map(|label| format!("--label={label}")));
        let Detail { has_times, has_threads, has_labels } = self.detail;
        let details = [("times", has_times), ("threads", has_threads), ("labels", has_labels)];
        let left_out = details.iter().filter(|it| !it.1);
        command.args(left_out.map(|it| format!("--without={}", it.0)));
        command.args(self.keys.iter().map(|key| format!("--keep-label={key}")));
    }
}

/// What `perk-fleet` has said when it ended.
///
/// # Errors
/// It failed: what it said is why.
fn said(mut child: Child) -> anyhow::Result<String> {
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut said);
    }
    let status = child.wait().context("perk-fleet was lost")?;
    let lines = said.lines().map(|line| line.strip_prefix("perk: ").unwrap_or(line));
    let said = lines.collect::<Vec<_>>().join("\n");
    if !status.success() {
        let why = said.lines().last().map_or_else(|| status.to_string(), ToOwned::to_owned);
        bail!("{why}");
    }
    Ok(said)
}
