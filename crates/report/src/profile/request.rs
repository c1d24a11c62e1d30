//! What is asked of a profile.

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::bail;
use perk_analysis::{Filter, Window};
use perk_profile::units::printable;
use perk_render::Screen;

use super::head;
use super::source_part::SourcePart;
use super::views::ProfileView;
use crate::Want;
use crate::words::quoted;

/// Rows of a table without `--top`.
const ROWS: usize = 15;
/// Rows with lines below them without `--top`.
const BLOCKS: usize = 5;

/// What is asked of a profile.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    /// The part of the recording.
    pub window: Window,
    /// The traces that count.
    pub filter: Filter,
    /// The key of the label whose values are the outermost frames of stacks, and a view of their own where no
    /// view is named.
    pub by: Option<String>,
    /// The name of the metric to show; `None` for each, and in trees the first that there is.
    pub metric: Option<String>,
    /// Whether traces that were cut are joined to the longer ones that they most likely belong to.
    pub infers_callers: bool,
    /// The views to show; none for what `extent` says.
    pub views: Vec<ProfileView>,
    /// How much is shown where no view is named.
    pub extent: Extent,
    /// Whether everything is shown, and a table for each thread.
    pub threads: bool,
    /// Whether everything is shown, and the call traces with each method on top.
    pub traces: bool,
    /// Rows of each table; `None` for as many as fit, and in tables and documents all.
    pub top: Option<usize>,
    /// The most rows of one table with all rows: a note says how many there are more.
    pub most_rows: usize,
    /// Branches of trees below this share are left out, in percent.
    pub min_percent: f64,
    /// The folders with source files.
    pub sources: Vec<PathBuf>,
    /// Whether source files are shown whole.
    pub whole_sources: bool,
    /// The part of a page of source files that is wanted, as data; `None` for the whole page.
    pub source_part: Option<SourcePart>,
    /// How a command line names the inputs, for advice to look further.
    pub paths: Vec<PathBuf>,
    /// The options that select a part of a store, with their values.
    pub part: Vec<(&'static str, String)>,
    /// The screen that text is for: how much of a summary fits.
    pub screen: Screen,
    /// The forms of the answer.
    pub want: Want,
}

/// How much of a profile is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// What matters most, on a screen.
    #[default]
    Summary,
    /// All tables, call paths and the accounting.
    Everything,
    /// Ten lines of plain facts.
    Facts,
}

impl Default for ProfileRequest {
    fn default() -> Self {
        Self {
            window: Window::default(),
            filter: Filter::default(),
            by: None,
            metric: None,
            infers_callers: true,
            views: Vec::new(),
            extent: Extent::default(),
            threads: false,
            traces: false,
            top: None,
            most_rows: usize::MAX,
            min_percent: 0.5,
            sources: Vec::new(),
            whole_sources: false,
            source_part: None,
            paths: vec!["FILE".into()],
            part: Vec::new(),
            screen: Screen::default(),
            want: Want::default(),
        }
    }
}

impl ProfileRequest {
    /// Fails if no profile can answer the request.
    ///
    /// # Errors
    /// One table is wanted of several views.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.want.table && self.views.len() + usize::from(self.threads) > 1 {
            bail!("--csv shows one view: ask for one of them");
        }
        Ok(())
    }

    /// The views to show; of a label without any, its values.
    pub(super) fn views(&self) -> Cow<'_, [ProfileView]> {
        let has_by_alone = self.extent == Extent::Summary && !self.is_long();
        match &self.by {
            Some(key) if self.views.is_empty() && has_by_alone => {
                Cow::Owned(vec![ProfileView::Label(key.clone())])
            }
            _ => Cow::Borrowed(&self.views),
        }
    }

    pub(super) fn is_long(&self) -> bool {
        self.extent == Extent::Everything || self.threads || self.traces
    }

    pub(super) fn rows(&self) -> usize {
        self.top.unwrap_or(ROWS)
    }

    /// Rows of tables with lines below each.
    pub(super) fn blocks(&self) -> usize {
        self.top.unwrap_or(BLOCKS)
    }

    /// Methods of each kind of numbers that advice is on.
    pub(super) fn methods(&self) -> usize {
        self.top.unwrap_or(head::MOST)
    }

    /// The file and the filters of objects, as words of a command line.
    pub(super) fn words(&self) -> String {
        let paths = self.paths.iter().map(|path| printable(&quoted(&path.display().to_string())));
        let mut words = paths.collect::<Vec<_>>().join(" ");
        for (option, value) in &self.part {
            words += &printable(&format!(" {option} {}", quoted(value)));
        }
        for (option, names) in [("focus", &self.filter.focus), ("ignore", &self.filter.ignore)] {
            for name in names {
                words += &printable(&format!(" --{option} {}", quoted(name.as_str())));
            }
        }
        words
    }
}
