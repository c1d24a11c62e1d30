//! The profile model that perk's agent and tools share: symbols (classes, methods, frames), the
//! calling-context tree, threads, traces, metrics by trace, and the accounting of a run. The crate
//! does no input or output: engines and readers fill a [`Profile`], writers and analyses read it.
//!
//! Counts are plain numbers (`_count`), times are nanoseconds (`_ns`), sizes are bytes (`_bytes`).
#![forbid(unsafe_code)]

pub mod accounting;
mod callers;
pub mod deep;
pub mod exact;
pub mod fields;
pub mod heap;
mod id_table;
pub mod ids;
pub mod keyed;
mod labels;
pub mod merge;
pub mod metric;
mod metric_rows;
pub mod monitors;
pub mod mutf8;
pub mod names;
mod overflow;
pub mod pattern;
mod pauses;
pub mod profile;
mod proxies;
mod prune;
pub mod secrets;
pub mod section;
mod shared;
mod state;
pub mod strings;
pub mod symbols;
mod threads;
pub mod time;
pub mod time_series;
pub mod timeline;
pub mod tree;
pub mod units;
mod views;

// The tests of `perk-analysis` use the fixture, too.
#[cfg(test)]
extern crate self as perk_profile;
#[cfg(test)]
mod fixture;

pub use accounting::{
    Accounting, CALL_TICK_NS, CpuGroup, LIVE_COLLECTED, LIVE_UNCOLLECTED, NAME_SEPARATOR,
};
pub use exact::{
    Allocations, CallEdge, CallEdges, CallRow, CallTimes, HeapSummary, KnownObjects, Site, Sites,
};
pub use fields::{AccessCounts, AllocationSite, Field, FieldAccesses, FieldCounts, FieldModifier};
pub use heap::{HeapClassRow, HeapHistogram, HeapRoot, ObjectLayout};
pub use ids::{ClassId, FrameId, LabelSetId, MethodId, NodeId, PathId, StrId, ThreadId, TraceId};
pub use keyed::{KeyedMap, KeyedSet};
pub use labels::{Label, LabelSets, LabelValue};
pub use merge::Process;
pub use metric::{Metric, Unit};
pub use metric_rows::{MetricRows, add_up_rows};
pub use monitors::{
    HolderRow, LockKind, Monitor, MonitorDump, MonitorRow, MonitorTimes, Status, ThreadState,
    WaitEvent, WaitKind, Waits,
};
pub use pattern::{NamePattern, WholePattern};
pub use pauses::{Pause, PauseKind};
pub use profile::{CpuSamples, Event, Profile, Settings, Thread, Trace};
pub use section::{Column, Key, Section, SectionHead, SiteSelection, Span, Subject};
pub use shared::Shared;
pub use state::WallState;
pub use strings::Interner;
pub use symbols::{Class, FOLDED, Frame, FrameKind, Line, Method, OVER_BUDGET, Symbols};
pub use time::Timestamp;
pub use time_series::{SeriesSubject, TimeSeries, TimeSeriesBook, spread};
pub use timeline::{TICK_NS, TimedSamples, Timeline, TimelineBook, TimelineHead, TimelineRow};
pub use tree::CallTree;
pub use views::SectionView;
