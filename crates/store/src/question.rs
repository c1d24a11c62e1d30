//! What of a store is asked, and what the answer distinguishes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use perk_analysis::{LabelPattern, labels::are_kept};

use crate::hour::Hour;
use crate::layout::service_name;
use crate::rows::TICK_MS;
use crate::selection::Window;

/// What of a store is asked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The service; all if `None`.
    pub service: Option<String>,
    /// The first time, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// The first time after it.
    pub to_ms: Option<i64>,
    /// The labels that numbers have: one for each key.
    pub labels: Vec<LabelPattern>,
    /// The metric, by its name; all if `None`.
    pub metric: Option<String>,
    /// What numbers are distinguished by.
    pub detail: Detail,
}

/// What numbers are distinguished by, besides metric, stack and subject. Without details, much less is read.
#[derive(Clone, Debug)]
pub struct Detail {
    /// When they were measured.
    pub times: KeptTimes,
    /// Their stacks and subjects. Without them, numbers of different stacks are one.
    pub has_stacks: bool,
    /// Their threads.
    pub has_threads: bool,
    /// Their labels.
    pub labels: KeptLabels,
    /// Whether CPU samples of known intervals are the metric `cpu`, which is their time. Recordings can have different
    /// intervals, and only times add up without rounding.
    pub is_cpu_time: bool,
}

/// The times that numbers keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptTimes {
    /// That of the interval that has them, of this number of milliseconds: see [`KeptTimes::intervals`].
    Intervals(i64),
    /// The hour.
    Hours,
    /// None.
    Nothing,
}

/// The labels that numbers keep.
#[derive(Clone, Debug)]
pub enum KeptLabels {
    /// All.
    All,
    /// Those of these keys.
    Of(Vec<String>),
    /// Those whose keys are chosen.
    Chosen(KeyChoice),
    /// Those that all numbers of a recording have.
    OfRecordings,
}

/// A choice of keys of labels.
#[derive(Clone)]
pub struct KeyChoice(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl KeyChoice {
    /// The keys for which `is_chosen` returns true.
    pub fn new(is_chosen: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_chosen))
    }
}

impl fmt::Debug for KeyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyChoice")
    }
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            times: KeptTimes::ALL,
            has_stacks: true,
            has_threads: true,
            labels: KeptLabels::All,
            is_cpu_time: false,
        }
    }
}

impl KeptTimes {
    /// All that a store has, which are to 10 seconds.
    pub const ALL: Self = Self::Intervals(TICK_MS);

    /// Those of intervals that have at least this length, in milliseconds: whole numbers of 10 seconds.
    pub fn intervals(least_ms: i64) -> Self {
        let ticks = least_ms.max(1).unsigned_abs().div_ceil(TICK_MS.unsigned_abs());
        Self::Intervals(i64::try_from(ticks).unwrap_or(i64::MAX).saturating_mul(TICK_MS))
    }

    /// The length of the intervals, in milliseconds; `None` if times within an hour are not kept.
    pub(crate) fn interval_ms(self) -> Option<i64> {
        match self {
            KeptTimes::Intervals(ms) => Some(ms.max(1)),
            KeptTimes::Hours | KeptTimes::Nothing => None,
        }
    }
}

impl KeptLabels {
    /// Whether labels of a key are kept.
    pub(crate) fn has(&self, key: &str) -> bool {
        match self {
            KeptLabels::All | KeptLabels::OfRecordings => true,
            KeptLabels::Of(keys) => keys.iter().any(|it| it == key),
            KeptLabels::Chosen(choice) => (choice.0)(key),
        }
    }

    fn is_none(&self) -> bool {
        matches!(self, KeptLabels::Of(keys) if keys.is_empty())
    }
}

impl Question {
    pub(crate) fn window(&self) -> Window {
        Window {
            service: self.service.as_deref().map(service_name),
            from: self.from_ms.map(Hour::of),
            to: self.to_ms.map(|it| Hour::of(it - 1)),
        }
    }

    /// The part of it that is of an hour.
    pub(crate) fn of_hour(&self, hour: Hour) -> Self {
        let (begin_ms, end_ms) = (hour.begin_ms(), hour.end_ms());
        Self {
            from_ms: Some(self.from_ms.map_or(begin_ms, |it| it.max(begin_ms))),
            to_ms: Some(self.to_ms.map_or(end_ms, |it| it.min(end_ms))),
            ..self.clone()
        }
    }

    pub(crate) fn has_time(&self, time_ms: i64) -> bool {
        self.from_ms.is_none_or(|from| time_ms >= from - from.rem_euclid(TICK_MS))
            && self.to_ms.is_none_or(|to| time_ms < to)
    }

    /// Whether all of an hour is asked.
    pub(crate) fn has_all_of(&self, hour: Hour) -> bool {
        self.has_time(hour.begin_ms()) && self.has_time(hour.end_ms() - 1)
    }

    /// Whether numbers with these labels are asked.
    pub(crate) fn has_labels(&self, labels: &BTreeMap<&str, &str>) -> bool {
        are_kept(&self.labels, |it| labels.get(&*it.key).is_some_and(|text| it.value.matches(text)))
    }

    /// Whether the labels of numbers matter.
    pub(crate) fn needs_labels(&self) -> bool {
        !self.labels.is_empty() || !self.detail.labels.is_none()
    }
}
