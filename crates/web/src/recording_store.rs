//! What the server asks of a store of recordings.

use std::fmt;

use perk_analysis::{Filter, LabelPattern};
use perk_profile::Profile;

/// A store of recordings, as the server asks it. An answer can take seconds.
pub trait RecordingStore: fmt::Debug + Send + Sync {
    /// Its address, for people.
    fn name(&self) -> String;

    /// Its services, as they were at most some seconds ago.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    fn services(&self) -> anyhow::Result<Vec<Service>>;

    /// A number that changes with what the store has of a service from one time to another, in milliseconds since 1970, as
    /// it was at most some seconds ago.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    fn state(&self, service: &str, range_ms: (i64, i64)) -> anyhow::Result<u64>;

    /// The numbers of a part as one profile.
    ///
    /// # Errors
    /// The store has more than fits the memory, in one line; or it is a [`StoreFault`].
    fn profile(&self, part: &ServicePart) -> anyhow::Result<Profile>;

    /// The labels of a part: keys, and the values of each.
    ///
    /// # Errors
    /// As of [`profile`](Self::profile).
    fn labels(&self, part: &ServicePart) -> anyhow::Result<Vec<(String, Vec<String>)>>;
}

/// Why a store has no answer to a question that is right, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// It has nothing of what is asked.
    Nothing(String),
    /// It cannot be read.
    Unreadable(String),
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (StoreFault::Nothing(line) | StoreFault::Unreadable(line)) = self;
        f.write_str(line)
    }
}

impl std::error::Error for StoreFault {}

/// What a store has of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// No number is older, in milliseconds since 1970.
    pub begin_unix_ms: i64,
    /// No number is newer. While numbers come, it is a whole minute.
    pub end_unix_ms: i64,
}

/// A part of what a store has of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePart {
    /// The name of the service.
    pub service: String,
    /// The first time, in milliseconds since 1970.
    pub from_ms: i64,
    /// The first time after it.
    pub to_ms: i64,
    /// The labels that numbers have: one for each key.
    pub labels: Vec<LabelPattern>,
    /// What the numbers are distinguished by, besides metric and subject.
    pub detail: PartDetail,
}

/// What numbers are distinguished by. Without details, much less is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartDetail {
    /// Intervals of the time, of which there are about this number; `None` for none.
    pub interval_count: Option<u64>,
    /// Their stacks.
    pub has_stacks: bool,
    /// Their threads.
    pub has_threads: bool,
    /// Their labels of these keys.
    pub label_keys: Vec<String>,
}

impl PartDetail {
    /// Numbers over time, as far as a filter needs to know them.
    pub(crate) fn over_time(interval_count: u64, filter: &Filter) -> Self {
        let Filter { focus, ignore, hide, threads, labels: _ } = filter;
        Self {
            interval_count: Some(interval_count),
            has_stacks: [focus, ignore, hide].iter().any(|it| !it.is_empty()),
            has_threads: !threads.is_empty(),
            label_keys: Vec::new(),
        }
    }
}

impl ServicePart {
    /// What distinguishes it from others of its service: a text without blanks.
    pub(crate) fn key(&self) -> String {
        let Self { from_ms, to_ms, labels, detail, .. } = self;
        let PartDetail { interval_count, has_stacks, has_threads, label_keys } = detail;
        let labels: Vec<_> = labels.iter().map(ToString::to_string).collect();
        let text = format!(
            "{from_ms}-{to_ms} {labels:?} {interval_count:?} {has_stacks} {has_threads} {label_keys:?}"
        );
        form_urlencoded::byte_serialize(text.as_bytes()).collect()
    }
}
