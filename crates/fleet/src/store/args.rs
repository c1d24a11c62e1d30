//! The arguments of `perk store`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand, ValueEnum};
use perk_analysis::LabelPattern;
use perk_profile::Timestamp;
use perk_store::{Detail, KeptLabels, KeptTimes, Question, StoreAddress};

use crate::cluster::ClusterArg;
use crate::values::{Age, KeyValue, Size};

/// Keep recordings in a folder or a bucket, as tables
///
/// A store is a folder, or s3://BUCKET/PATH, gs:// or az://, with Parquet files that other engines read as they are. perk sql
/// STORE asks it.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  perk store add /var/lib/perk app.hprof other.jfr --label version=1.4.2
  perk store ls /var/lib/perk
  perk store compact s3://profiles/shop --since 2d
  perk store expire /var/lib/perk --older-than 30d
  perk store export /var/lib/perk --service shop --since 24h -o shop.hprof.zst
  perk sql /var/lib/perk \"SELECT service, leaf(stack), sum(cpu_ns) FROM samples GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10\"

docs/store.md describes the files of a store.")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(super) command: StoreCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// Add recordings, in any format that perk reads
    ///
    /// The store is made if there is none. A recording that the store has already changes nothing, whatever file it is in.
    Add(AddArgs),
    /// List the services of a store
    Ls(LsArgs),
    /// Make one file of the files of each hour
    ///
    /// The rows are put in an order in which a query for one stack reads little. The running hour is left out. Another process
    /// may do the same meanwhile, and others may write.
    Compact(CompactArgs),
    /// Remove the dates that are older than an age
    Expire(ExpireArgs),
    /// Read all files, and compare them with their manifests
    ///
    /// The exit code is 1 if a recording is not whole.
    Check(CheckArgs),
    /// Write a part of a store as one profile
    Export(ExportArgs),
}

/// The store of a command.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArg {
    /// A folder, s3://BUCKET/PATH, gs:// or az://
    #[arg(value_name = "STORE", value_parser = StoreAddress::parse)]
    pub(crate) store: StoreAddress,
}

#[derive(Clone, Debug, Args)]
pub(super) struct AddArgs {
    #[command(flatten)]
    pub(super) store: StoreArg,
    /// The recordings
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Give all numbers a label, such as service=shop; labels that a file has stay
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) label: Vec<KeyValue>,
    /// When files without a date were recorded, such as 2026-11-29T10:00:00Z
    #[arg(long)]
    pub(super) time: Option<Moment>,
}

#[derive(Clone, Debug, Args)]
pub(super) struct LsArgs {
    #[command(flatten)]
    pub(super) store: StoreArg,
    #[command(flatten)]
    pub(super) part: PartArgs,
}

#[derive(Clone, Debug, Args)]
pub(super) struct CompactArgs {
    #[command(flatten)]
    pub(super) store: StoreArg,
    #[command(flatten)]
    pub(super) part: PartArgs,
    /// The most memory; sorts that need more continue on disk [default: a quarter of all, at most half of what is free]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<Size>,
}

#[derive(Clone, Debug, Args)]
pub(super) struct ExpireArgs {
    #[command(flatten)]
    pub(super) store: StoreArg,
    /// The age, such as 30d: dates that ended before are removed
    #[arg(long, value_name = "AGE")]
    pub(super) older_than: Age,
}

#[derive(Clone, Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pub(super) store: StoreArg,
    #[command(flatten)]
    pub(super) part: PartArgs,
}

#[derive(Clone, Debug, Args)]
pub(super) struct ExportArgs {
    #[command(flatten)]
    pub(super) store: StoreArg,
    #[command(flatten)]
    pub(super) part: PartArgs,
    /// Only numbers with this label: version=1.4.2, 'version=1.*' (repeatable: each key must match once)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) label: Vec<LabelPattern>,
    /// Leave out what the numbers are distinguished by: less is read, and the file is smaller (repeatable, or with commas)
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub(super) without: Vec<LeftOut>,
    /// Of the labels that --without labels leaves out, keep those of this key (repeatable)
    #[arg(long, value_name = "KEY")]
    pub(super) keep_label: Vec<String>,
    #[command(flatten)]
    pub(super) cluster: ClusterArg,
    /// The file, .hprof or .hprof.zst, or - for stdout: perk convert writes it in other formats
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: PathBuf,
}

/// What numbers are distinguished by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LeftOut {
    /// When they were measured
    Times,
    /// Their threads
    Threads,
    /// Their labels
    Labels,
}

impl ExportArgs {
    /// What is asked of the store.
    pub(super) fn question(&self) -> Question {
        let has = |what| !self.without.contains(&what);
        Question {
            service: self.part.service.clone(),
            from_ms: self.part.since.map(|it| it.unix_ms),
            to_ms: self.part.until.map(|it| it.unix_ms),
            labels: self.label.clone(),
            metric: None,
            detail: Detail {
                times: match has(LeftOut::Times) {
                    true => KeptTimes::ALL,
                    false => KeptTimes::Nothing,
                },
                has_stacks: true,
                has_threads: has(LeftOut::Threads),
                labels: match has(LeftOut::Labels) {
                    true => KeptLabels::All,
                    false => KeptLabels::Of(self.keep_label.clone()),
                },
                is_cpu_time: false,
            },
        }
    }
}

/// A part of a store.
#[derive(Clone, Debug, Args)]
pub(crate) struct PartArgs {
    /// Only this service
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// From a time on: an age such as 24h or 7d, or 2026-11-29T10:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Moment>,
    /// Up to a time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Moment>,
}

/// A moment: an age, or a date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Milliseconds since 1970.
    pub(crate) unix_ms: i64,
}

/// The time since 1970, in milliseconds.
pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

impl Moment {
    /// The moment of an age.
    pub(crate) fn ago(age: Duration) -> Self {
        let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Self { unix_ms: now_ms().saturating_sub(age_ms) }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A date means its first moment.
        let whole = format!("{text}T00:00:00Z");
        let stamp = Timestamp::from_iso_utc(text).or_else(|| Timestamp::from_iso_utc(&whole));
        if let Some(stamp) = stamp {
            return Ok(Self { unix_ms: i64::try_from(stamp.unix_ms).unwrap_or(i64::MAX) });
        }
        text.parse::<Age>().map(|age| Self::ago(age.0)).map_err(|_| {
            "use an age such as 24h or 7d, or a time such as 2026-11-29T10:00:00Z".to_owned()
        })
    }
}
