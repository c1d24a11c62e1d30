//! A profile on its way into a file of another format.

use perk_analysis::{Filter, Window};
use perk_formats::{Lead, View};
use perk_open::Format;
use perk_profile::{Metric, NamePattern, Profile, Timestamp};

use crate::lead;
use crate::selection::{self, labels, metric, names};

/// What becomes of a profile before a format writes it.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'c> {
    /// The format.
    pub format: Format,
    /// The part of the recording.
    pub window: Window,
    /// The traces that count.
    pub filter: &'c Filter,
    /// The patterns of the program's own classes that must be in the profile.
    pub app: &'c [NamePattern],
    /// The label whose values are the outermost frames of stacks.
    pub by: Option<&'c str>,
    /// The metric of formats of one metric; `None` for the first that the profile has.
    pub metric: Option<&'c str>,
    /// Whether threads are kept apart in formats of stacks alone.
    pub threads: bool,
    /// The date of a profile without one, in formats that need one.
    pub date: Option<Timestamp>,
}

/// A profile as a format writes it.
#[derive(Debug)]
pub struct WritableProfile {
    /// The profile.
    pub profile: Profile,
    /// Whether threads that the profile distinguished are one.
    pub has_merged_threads: bool,
    metric: Option<Metric>,
    title: String,
    lead: Option<Lead>,
}

/// Whether all threads are one in files of a format, unless it should distinguish them. The page of flame
/// graphs has them, and merges them itself.
pub fn merges_threads(format: Format) -> bool {
    format.has_one_metric() && format.ending() != "html"
}

impl Conversion<'_> {
    /// Selects the part of the profile of that `name`, and adds to `notes` what that is.
    ///
    /// # Errors
    /// There is no such window, name, label or metric.
    pub fn apply(
        &self,
        mut profile: Profile,
        name: &str,
        notes: &mut Vec<String>,
    ) -> anyhow::Result<WritableProfile> {
        let Self { format, filter, .. } = *self;
        names::check(self.app, filter, &[(name, &profile)])?;
        selection::apply((self.window, filter), &mut profile, name, notes)?;
        if let Some(key) = self.by {
            labels::root(&mut profile, key)?;
        }
        let has_merged_threads = merges_threads(format) && !self.threads && profile.has_threads();
        if has_merged_threads {
            profile = profile.without_threads().into_owned();
        }
        if format.is_dated() && profile.created.is_none() {
            profile.created = self.date;
        }
        let metric = self.metric.map(|name| metric::find(&profile, name)).transpose()?;
        let program = profile.accounting.as_ref().map(|it| it.program.clone());
        let title = program.filter(|it| !it.is_empty()).unwrap_or_else(|| name.to_owned());
        let lead = format.has_lead().then(|| lead(&profile, name)).flatten();
        Ok(WritableProfile { profile, has_merged_threads, metric, title, lead })
    }
}

impl WritableProfile {
    /// What the format writes.
    pub fn view(&self) -> View<'_> {
        let view = View::new(&self.profile, &self.title).with_lead(self.lead.as_ref());
        View { metric: self.metric.as_ref(), ..view }
    }
}
