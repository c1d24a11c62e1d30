//! The trait of file formats, and the facts computed from it: whether a file can hold any part of a
//! profile, and the parts of a profile that it leaves out.

use std::fmt;
use std::hash::Hash;
use std::io::{self, Read, Write};

use perk_analysis::label_tree::{LevelTree, Part};
use perk_profile::{Line, MethodId, Metric, NodeId, Profile, Section, Unit, deep};

use crate::Error;

/// A format of profile files. A new one is a module with an implementation, a line in
/// [`FORMATS`](crate::FORMATS) and a page in `docs/formats`.
pub trait FileFormat: Sync {
    /// Returns the names of the format, and the parts of a profile that its files hold.
    fn facts(&self) -> &'static FormatFacts;

    /// Whether a file that begins with `head` is of this format, if the formats before it in
    /// [`FORMATS`](crate::FORMATS) do not recognise it.
    fn recognise(&self, _head: &[u8]) -> bool {
        false
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// [`Error`] with the place of the first thing that cannot be understood, or as `input` fails.
    fn read(&self, _input: &mut dyn Read) -> Result<Profile, Error> {
        Err(Error::WrittenOnly { title: self.facts().title })
    }

    /// Reads a profile with the stacks of all events that the file has, also of those without numbers.
    ///
    /// # Errors
    /// As [`FileFormat::read`].
    fn read_all_stacks(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        self.read(input)
    }

    /// Writes what is shown of a profile. Callers use `write_view`, which refuses empty files.
    ///
    /// # Errors
    /// As `out` fails; of kind `InvalidInput` if the format cannot hold the profile.
    fn write(&self, _view: &View<'_>, _out: &mut dyn Write) -> io::Result<()> {
        Err(refusal(format!("perk reads {} and does not write it", self.facts().title)))
    }

    /// Returns the format that writes `view` instead of this one, if a page of another kind shows it.
    fn instead(&self, _view: &View<'_>) -> Option<&'static dyn FileFormat> {
        None
    }

    /// Whether the format's files have a place for numbers of this metric. Files of one metric have
    /// a place for it if it is the one that is chosen.
    fn holds(&self, _metric: &Metric) -> bool {
        true
    }

    /// Whether the format's files have the source lines of this metric, though their
    /// [`Detail`] is without lines.
    fn holds_lines(&self, _metric: &Metric) -> bool {
        false
    }

    /// Whether the format's files have the callers of this metric's methods, though their [`Detail`]
    /// is without them.
    fn holds_callers(&self, _metric: &Metric) -> bool {
        false
    }

    /// Returns the part of the sum of `metric` that files of `profile` have, if the format holds the
    /// metric.
    fn written_total(&self, profile: &Profile, metric: &Metric) -> u64 {
        metric.rows(profile).total
    }

    /// Returns the precision with which files of `profile` have the numbers of `metric`, if it
    /// changes some of them.
    fn rounding(&self, _profile: &Profile, _metric: &Metric) -> Option<&'static str> {
        None
    }

    /// Whether files say what limits the program ([`View::lead`]).
    fn has_lead(&self) -> bool {
        false
    }

    /// Whether each file has a date.
    fn is_dated(&self) -> bool {
        false
    }

    /// Whether files of `profile` say how much time a sample represents, if it is known.
    fn holds_interval(&self, _profile: &Profile) -> bool {
        true
    }

    /// Whether files have the pauses of the program one by one, and what has times without call paths.
    fn holds_courses(&self) -> bool {
        false
    }

    /// Returns the other parts of `profile` for which the format's files have no place.
    fn special_losses(&self, _profile: &Profile) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The fixed facts of a format.
#[derive(Debug)]
pub struct FormatFacts {
    /// The name in options: `collapsed`.
    pub name: &'static str,
    /// The name in messages: `collapsed stacks`.
    pub title: &'static str,
    /// A line of help.
    pub about: &'static str,
    /// The file name extensions, without the dot. perk gives its own files the first.
    pub endings: &'static [&'static str],
    /// The page in `docs/formats`.
    pub page: &'static str,
    /// The parts of a profile that the files hold, for the table of formats.
    pub keeps: &'static str,
    /// The way in which perk reads the format.
    pub reading: Reading,
    /// The parts of a profile that perk writes; `None` if it does not write the format.
    pub written: Option<FormatContent>,
}

/// The way in which a format is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Not at all.
    Never,
    /// To the end of the input, regardless of how it ends.
    ToEnd,
    /// To the end of the input. The reader distinguishes input that fails there (`UnexpectedEof`)
    /// from input that ends.
    ToCut,
}

/// The parts of a profile that files of a format hold, besides its metrics.
#[derive(Debug)]
pub struct FormatContent {
    /// The metrics in a file.
    pub metrics: Metrics,
    /// The detail in which a file gives the stacks of its numbers.
    pub detail: Detail,
    /// The parts that are not numbers at call paths.
    pub documents: &'static [Document],
    /// Whether the format has a place for the accounting of the run.
    pub accounting: bool,
    /// The way in which very deep stacks are written.
    pub depth: Depth,
}

/// The metrics in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metrics {
    /// All that the format holds.
    All,
    /// One of them.
    One,
    /// The chosen one, or all leading ones. The first is shown first.
    Leading,
    /// The metrics of one table. The writer refuses profiles that have nothing for it.
    Table,
}

/// The detail in which a file gives the stacks of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Call paths with source lines.
    Lines,
    /// Call paths of methods.
    Paths,
    /// Methods without their callers.
    Methods,
    /// None: classes, objects, pairs of methods.
    None,
}

/// The way in which a format writes very deep stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Whole.
    Whole,
    /// Their inner frames.
    Inner,
    /// Without their middle.
    Ends,
    /// As a tree of limited height.
    Folded,
}

/// A part of profiles that is not a metric by call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// Dumps of threads and monitors.
    MonitorDumps,
    /// Heap dumps by class.
    Heaps,
    /// Accesses to the fields of each object.
    Fields,
    /// When samples were taken.
    Times,
    /// The labels of rows.
    Labels,
}

impl Document {
    const ALL: [Document; 5] = [
        Document::MonitorDumps,
        Document::Heaps,
        Document::Fields,
        Document::Times,
        Document::Labels,
    ];

    fn all_of(profile: &Profile) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|document| document.is_in(profile))
    }

    fn is_in(self, profile: &Profile) -> bool {
        match self {
            Document::MonitorDumps => profile.monitor_dumps().next().is_some(),
            Document::Heaps => profile.heaps().next().is_some(),
            Document::Fields => profile.field_accesses().is_some(),
            Document::Times => profile.timelines().any(|timeline| !timeline.rows.is_empty()),
            Document::Labels => profile.sections().any(Section::has_labels),
        }
    }

    /// Returns the name in messages.
    fn title(self) -> &'static str {
        match self {
            Document::MonitorDumps => "monitor dumps",
            Document::Heaps => "heap dumps by class",
            Document::Fields => "field accesses by object",
            Document::Times => "the times of samples",
            Document::Labels => "labels",
        }
    }
}

/// A profile to write, and the part of it that is shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// The metric in files of one metric; `None` for the first that the profile has.
    pub metric: Option<&'a Metric>,
    /// The name of the profile, for readers.
    pub title: &'a str,
    /// The profile that it is compared with, in files of one metric.
    pub before: Option<&'a View<'a>>,
    /// What a page says first.
    pub lead: Option<&'a Lead>,
}

/// What limits a program, for the head of a page.
#[derive(Clone, Debug, Default)]
pub struct Lead {
    /// How much the threads work.
    pub summary: String,
    /// The limits, most first.
    pub rows: Vec<LeadRow>,
    /// Those of too few samples for advice, which are shown when they are asked for.
    pub more: Vec<LeadRow>,
    /// What they are, in words.
    pub more_title: String,
    /// The calls that are made again and again, a sentence each.
    pub repeats: Vec<String>,
}

/// A limit of a program.
#[derive(Clone, Debug)]
pub struct LeadRow {
    /// Its share of the time of the threads that work: `28.4 %`.
    pub share: String,
    /// The reason.
    pub reason: String,
    /// The short name of its method, with the line; empty without a method.
    pub place: String,
    /// The method.
    pub method: Option<MethodId>,
    /// What to try.
    pub hint: String,
    /// The metric that shows it.
    pub metric: Metric,
}

impl<'a> View<'a> {
    /// Returns a view of all of `profile`.
    pub fn new(profile: &'a Profile, title: &'a str) -> Self {
        Self { profile, metric: None, title, before: None, lead: None }
    }

    /// Shows `metric` in files of one metric.
    #[must_use]
    pub fn with_metric(self, metric: &'a Metric) -> Self {
        Self { metric: Some(metric), ..self }
    }

    /// Says first what limits the program.
    #[must_use]
    pub fn with_lead(self, lead: Option<&'a Lead>) -> Self {
        Self { lead, ..self }
    }

    /// Returns the metric to show. An empty profile is shown as empty.
    ///
    /// # Errors
    /// Of kind `InvalidInput` if the profile does not have the metric that is chosen.
    pub(crate) fn metric(&self) -> io::Result<Metric> {
        match self.metric {
            Some(metric) if !metric.is_in(self.profile) => {
                Err(refusal(format!("the profile has no {} by call path", metric.name())))
            }
            Some(metric) => Ok(metric.clone()),
            None => Ok(Metric::first_of(self.profile).unwrap_or_default()),
        }
    }

    /// Returns the tree of the shown part: of the profile alone, or of two profiles laid on each
    /// other.
    pub(crate) fn tree<L: Clone + Ord + Hash>(
        &self,
        label: impl Fn(&'a Profile, Part) -> L,
    ) -> io::Result<LevelTree<L>> {
        let tree = |view: &View<'a>| -> io::Result<_> {
            let metric = view.metric()?;
            Ok(LevelTree::new(view.profile, &metric, |part| label(view.profile, part)))
        };
        match self.before {
            None => tree(self),
            Some(before) => Ok(LevelTree::compare(tree(before)?, tree(self)?)),
        }
    }

    /// Returns the title of the view, or the titles of both profiles.
    pub(crate) fn heading(&self) -> String {
        match self.before {
            None => self.title.to_owned(),
            Some(before) => format!("{} → {}", before.title, self.title),
        }
    }

    /// Returns the profiles: the one before, if there is one, and this one.
    pub fn profiles(&self) -> Vec<&'a Profile> {
        self.before.iter().map(|before| before.profile).chain([self.profile]).collect()
    }
}

impl dyn FileFormat {
    /// Returns the name in options.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    /// Returns the name in messages.
    pub fn title(&self) -> &'static str {
        self.facts().title
    }

    /// Returns the file name extension that perk gives its files, without the dot.
    pub fn ending(&self) -> &'static str {
        self.facts().endings[0]
    }

    /// Whether perk reads the format.
    pub fn is_read(&self) -> bool {
        self.facts().reading != Reading::Never
    }

    /// Whether perk writes the format.
    pub fn is_written(&self) -> bool {
        self.facts().written.is_some()
    }

    /// Whether the format's files show one metric at a time, of one profile or of two.
    pub fn has_one_metric(&self) -> bool {
        let written = self.facts().written.as_ref();
        written.is_some_and(|it| matches!(it.metrics, Metrics::One | Metrics::Leading))
    }

    /// Whether the format's files hold the accesses to the fields of each object.
    pub fn holds_fields(&self) -> bool {
        let written = self.facts().written.as_ref();
        written.is_some_and(|it| it.documents.contains(&Document::Fields))
    }

    /// Writes the shown part of a profile.
    ///
    /// # Errors
    /// As [`FileFormat::write`]; also of kind `InvalidInput` if the file would contain nothing of
    /// the profile, or the profile contains nothing.
    pub fn write_view(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        if let Some(other) = self.instead(view) {
            return other.write_view(view, out);
        }
        let profile = view.profile;
        if let Some(holds) = self.facts().written.as_ref().filter(|it| it.metrics != Metrics::Table)
        {
            let metrics = Metric::all_of(profile);
            let documents: Vec<_> = Document::all_of(profile).collect();
            let is_held = metrics.iter().any(|metric| self.holds(metric))
                || documents.iter().any(|document| holds.documents.contains(document));
            let mut all: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
            all.extend(documents.iter().map(|document| document.title()));
            if !is_held && !all.is_empty() {
                let (title, lost) = (self.title(), all.join(" and "));
                let what = format!("{title}: no place for {lost}; the profile has nothing else");
                return Err(refusal(what));
            }
        }
        let is_table = self.facts().written.as_ref().is_some_and(|it| it.metrics == Metrics::Table);
        let has_numbers = |profile: &Profile| {
            !Metric::all_of(profile).is_empty() || Document::all_of(profile).next().is_some()
        };
        // A table says what it needs.
        let is_refused_by_itself = is_table && view.profiles().into_iter().any(has_numbers);
        if !is_refused_by_itself && self.is_empty_of(view) {
            let all: Vec<_> = view.profiles().into_iter().flat_map(Metric::all_of).collect();
            let why = match &all[..] {
                [] => "all numbers of the profile are 0".to_owned(),
                [first, ..] => {
                    let mut names: Vec<_> = all.iter().map(Metric::name).collect();
                    names.dedup();
                    let (names, first) = (names.join(", "), first.name());
                    format!(
                        "the profile has no numbers of the program's methods, only {names} \
                         (--metric '{first}' writes it)"
                    )
                }
            };
            return Err(refusal(format!("{}: nothing to write: {why}", self.title())));
        }
        self.write(view, out)
    }

    /// Whether a file of the view would show nothing: no number but 0, and no document.
    pub fn is_empty_of(&self, view: &View<'_>) -> bool {
        if let Some(other) = self.instead(view) {
            return other.is_empty_of(view);
        }
        let Some(holds) = &self.facts().written else { return true };
        let shows = |profile: &Profile| {
            let has_metric = match view.metric {
                Some(chosen) if self.has_one_metric() => chosen.is_in(profile),
                None if self.has_one_metric() => {
                    Metric::first_of(profile).is_some_and(|first| self.holds(&first))
                }
                _ => Metric::all_of(profile).iter().any(|metric| self.holds(metric)),
            };
            has_metric || Document::all_of(profile).any(|it| holds.documents.contains(&it))
        };
        // The format itself refuses a metric that the profile does not have.
        let is_missing = view.metric.is_some_and(|metric| !metric.is_in(view.profile));
        !is_missing && !view.profiles().into_iter().any(shows)
    }

    /// Returns the metrics of a profile that a file of the view does not hold.
    pub fn lost_metrics(&self, view: &View<'_>) -> Vec<Metric> {
        if let Some(other) = self.instead(view) {
            return other.lost_metrics(view);
        }
        let profile = view.profile;
        let Some(holds) = &self.facts().written else { return Vec::new() };
        let shown = view.metric.cloned().or_else(|| Metric::first_of(profile)).unwrap_or_default();
        let has_leading =
            holds.metrics == Metrics::Leading && view.metric.is_none() && view.before.is_none();
        let is_shown =
            |it: &Metric| *it == shown || has_leading && it.is_leading() && !it.is_by_pair(profile);
        let is_held = |it: &Metric| self.holds(it) && (!self.has_one_metric() || is_shown(it));
        Metric::all_of(profile).into_iter().filter(|it| !is_held(it)).collect()
    }

    /// Returns the parts of a profile that a file of the view does not hold.
    pub fn losses(&self, view: &View<'_>) -> Vec<String> {
        if let Some(other) = self.instead(view) {
            return other.losses(view);
        }
        let profile = view.profile;
        let Some(holds) = &self.facts().written else { return Vec::new() };
        let lost = self.lost_metrics(view);
        let is_held = |it: &Metric| !lost.contains(it);
        let all = Metric::all_of(profile);
        let sums = all.iter().filter(|it| is_held(it)).filter_map(|it| self.lost_sum(profile, it));
        let rounded = all.iter().filter(|it| is_held(it)).filter_map(|it| {
            let precision = self.rounding(profile, it)?;
            Some(format!("digits of the metric {} ({precision})", it.name()))
        });
        let metrics: Vec<_> = lost.iter().map(Metric::name).collect();
        let metrics = match &metrics[..] {
            [] => None,
            [name] => Some(format!("the metric {name}")),
            names => Some(format!("the metrics {}", names.join(", "))),
        };
        let has_no_paths = matches!(holds.detail, Detail::Methods | Detail::None);
        let has_no_lines = matches!(holds.detail, Detail::Paths | Detail::Methods);
        let lines_are_lost = |section: &Section| {
            !section.head.columns.iter().any(|column| self.holds_lines(&column.metric))
        };
        let holds_callers = |section: &Section| {
            section.head.columns.iter().any(|column| self.holds_callers(&column.metric))
        };
        let paths = (has_no_paths && has_paths(profile, holds_callers)).then_some("call paths");
        let lines = (has_no_lines && has_lines(profile, lines_are_lost)).then_some("source lines");
        let documents = Document::all_of(profile).filter(|it| !holds.documents.contains(it));
        // Alone they are no profile, so they are no document.
        let courses = [
            (profile.pauses().next().is_some(), "single pauses"),
            (profile.time_series().next().is_some(), "allocations, waits and states over time"),
        ];
        let courses = courses.into_iter().filter(|it| it.0 && !self.holds_courses());
        let accounting =
            (!holds.accounting && profile.accounting.is_some()).then_some("the accounting");
        let others = paths.into_iter().chain(lines).chain(self.special_losses(profile));
        let others = others.chain(documents.map(Document::title)).chain(courses.map(|it| it.1));
        let others = others.chain(accounting);
        let has_samples = Metric::Samples.is_in(profile) && is_held(&Metric::Samples);
        let is_lost = |_: &u64| has_samples && !self.holds_interval(profile);
        let interval_ns = profile.sample_interval_ns().filter(is_lost);
        let interval = interval_ns.map(|ns| format!("the interval of samples ({ns} ns)"));
        let others = others.map(str::to_owned).chain(interval);
        metrics.into_iter().chain(sums).chain(rounded).chain(others).collect()
    }

    /// Returns the name of a metric and the part of its sum that files of `profile` do not have.
    fn lost_sum(&self, profile: &Profile, metric: &Metric) -> Option<String> {
        let total = metric.rows(profile).total;
        let lost = total.saturating_sub(self.written_total(profile, metric));
        let unit = match metric.unit() {
            Unit::Count => "",
            Unit::Nanoseconds => " ns",
            Unit::Bytes => " bytes",
        };
        (lost > 0).then(|| format!("{lost} of {total}{unit} of the metric {}", metric.name()))
    }

    /// Returns a sentence about the parts of very deep stacks of `profiles` that the files leave
    /// out.
    pub fn depth_note(&self, profiles: &[&Profile]) -> Option<String> {
        match self.facts().written.as_ref()?.depth {
            Depth::Whole => None,
            Depth::Ends => deep::limit(profiles).map(|limit| {
                format!(
                    "stacks of more than {limit} frames are too many to be written whole: the \
                     middle of each is [frames left out]"
                )
            }),
            Depth::Inner => deep::limit(profiles).map(|limit| {
                format!(
                    "stacks of more than {limit} frames are too many to be written whole: traces \
                     have the inner {limit}"
                )
            }),
            Depth::Folded => deep::levels(profiles).map(|levels| {
                format!(
                    "stacks are more than {levels} frames deep: a frame of the graph represents the \
                     middle of chains with one callee each, and one for deeper levels"
                )
            }),
        }
    }
}

impl fmt::Debug for dyn FileFormat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl PartialEq for dyn FileFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn FileFormat {}

/// Whether a row has more frames than a method, or than a method and its caller where these are held.
fn has_paths(profile: &Profile, holds_callers: impl Fn(&Section) -> bool) -> bool {
    let mut by_path = profile.sections().filter(|section| !section.head.is_by_pair);
    let root = profile.tree.root();
    let outer = |node| profile.tree.parent(node).filter(|parent| *parent != root);
    by_path.any(|section| {
        let holds_callers = holds_callers(section);
        section.traces().any(|trace| {
            let caller = outer(profile.get_trace(trace).node);
            if holds_callers { caller.and_then(outer).is_some() } else { caller.is_some() }
        })
    })
}

/// Whether one of these sections has source lines.
fn has_lines(profile: &Profile, is_looked_at: impl Fn(&Section) -> bool) -> bool {
    let has_line = |frame| matches!(profile.symbols.get_frame(frame).line, Line::Number(_));
    let mut frames = (1..profile.tree.len()).filter_map(|it| profile.tree.frame(NodeId::new(it)));
    let mut traces = profile.sections().filter(|it| is_looked_at(it)).flat_map(Section::traces);
    frames.any(has_line) && traces.any(|trace| profile.frames(trace).any(has_line))
}

/// Whether rows of a metric are times that are not whole numbers of a step.
pub(crate) fn has_rounded_times(profile: &Profile, metric: &Metric, step_ns: u64) -> bool {
    metric.unit() == Unit::Nanoseconds
        && metric.rows(profile).rows.iter().any(|row| row.1 % step_ns != 0)
}

/// Returns the sum of a metric's rows, without what the profile does not list.
pub(crate) fn listed(profile: &Profile, metric: &Metric) -> u64 {
    metric.rows(profile).rows.iter().map(|row| row.1).fold(0, u64::saturating_add)
}

/// Returns the error of a format that cannot hold a profile.
pub(crate) fn refusal(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

#[cfg(test)]
mod tests;
