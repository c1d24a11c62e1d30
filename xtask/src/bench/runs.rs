//! What the runs of a program give.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use perk_profile::{Accounting, Profile, TraceId};
use perk_testkit::agent;

use super::child::Usage;

/// One run of each variant, in the order of the variants.
pub(super) type Round = Vec<Run>;

/// One run of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) usage: Usage,
    /// The agent's accounting, if the agent was present and its file contains one.
    pub(super) accounting: Option<Accounting>,
    /// The profile, of a run with a profiler.
    pub(super) recorded: Option<ProfileSize>,
    /// The program's measurements of itself.
    pub(super) timings: Vec<Timing>,
}

/// A profile's size and number of samples of CPU time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProfileSize {
    pub(super) file_bytes: u64,
    pub(super) sample_count: u64,
    /// The samples without a stack.
    pub(super) unattributed_count: u64,
}

impl ProfileSize {
    pub(super) fn of(profile: &Profile, file_bytes: u64) -> Self {
        let samples = profile.total_cpu_samples().rows;
        let count = |rows: &mut dyn Iterator<Item = (TraceId, u64)>| rows.map(|it| it.1).sum();
        let is_empty = |trace: TraceId| profile.frames(trace).next().is_none();
        let of_accounting = profile.accounting.as_ref().map_or(0, |it| it.unattributed_count);
        let unattributed: u64 = count(&mut samples.iter().copied().filter(|it| is_empty(it.0)));
        let all: u64 = count(&mut samples.iter().copied());
        // perk's file has the samples without a stack in its accounting alone.
        let unattributed_count = unattributed.max(of_accounting);
        let sample_count = all - unattributed + unattributed_count;
        Self { file_bytes, sample_count, unattributed_count }
    }
}

/// The measured cost of an operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timing {
    pub(super) operation: String,
    pub(super) ns: f64,
}

/// Copies the agent into a folder: a build during the measurement does not change the copy.
pub(super) fn agent_copy(folder: &Path) -> Result<PathBuf> {
    let so = folder.join("libperk.so");
    fs::copy(agent::agent_so(), &so).context("cannot copy the agent")?;
    Ok(so)
}
