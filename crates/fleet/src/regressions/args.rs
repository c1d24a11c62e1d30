//! The arguments of `perk regressions`.

use std::str::FromStr;

use clap::Args;
use perk_analysis::LabelPattern;

use crate::cluster::ClusterArg;
use crate::store::args::{PartArgs, StoreArg};

/// List the methods whose share changed beyond chance, from version to version
///
/// Of each service, each version that is new since --since is compared with the one before it. If no version is new,
/// the time since then is compared with a time of the same length before it. CPU time counts for the innermost method
/// of your code on the stack. The exit code is 1 if a share grew.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  perk regressions /var/lib/perk --since 7d
  perk regressions s3://profiles/shop --service shop --since 24h
  perk regressions /var/lib/perk --since 7d --by commit --json
  perk regressions /var/lib/perk --since 7d --metric allocated

Each line has the error of the difference at 95 % confidence. Samples of a JVM in an hour are alike, so the error comes from
how much shares vary between JVMs and hours. The chance that even one line of all services is false is below
--false-alarms. perk diff STORE --base version=A --new version=B shows both versions side by side.")]
pub(crate) struct RegressionsArgs {
    #[command(flatten)]
    pub(super) store: StoreArg,
    #[command(flatten)]
    pub(super) part: PartArgs,
    /// Only numbers with this label: region=eu, 'pod=web-*' (repeatable: each key must match once)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) label: Vec<LabelPattern>,
    /// The label of versions
    #[arg(long, value_name = "KEY", default_value = "version")]
    pub(super) by: String,
    /// The metric: samples (CPU time), wall, allocated, or another
    #[arg(long, value_name = "NAME", default_value = "samples")]
    pub(super) metric: String,
    /// The chance that even one line is false
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub(super) false_alarms: Percent,
    /// Leave out changes of a share below this
    #[arg(long, value_name = "SHARE", default_value = "0.5%")]
    pub(super) min: Percent,
    #[command(flatten)]
    pub(super) cluster: ClusterArg,
    /// Write all changes as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// A part of all, above 0 and below 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Percent(pub(super) f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
        let share = number.ok().map(|it| it / 100.0).filter(|it| *it > 0.0 && *it < 1.0);
        share.map(Self).ok_or_else(|| "use a share above 0, such as 5%".to_owned())
    }
}
