//! `perk regressions`: methods whose share changed beyond chance, by service and version.

mod args;
mod compare;
mod output;
mod shares;

use std::process::ExitCode;

use anyhow::bail;
use perk_store::{Question, Store, service_name};
use tokio::runtime::Runtime;

use crate::limits;
use crate::store::args::{Moment, now_ms};
pub(crate) use args::RegressionsArgs;
use compare::Comparison;
use shares::are_changes;

/// The exit code where a share grew.
const GREW: u8 = 1;
/// How far back versions are new, without `--since`.
const DEFAULT_AGE_MS: i64 = 7 * 24 * 3_600_000;

/// Compares, and prints what changed.
///
/// # Errors
/// The store cannot be read, or has nothing to compare, in one line.
pub(crate) fn regressions(args: &RegressionsArgs) -> anyhow::Result<ExitCode> {
    let comparisons = Runtime::new()?.block_on(compare(args))?;
    if comparisons.is_empty() {
        bail!("{}: nothing was recorded of this", args.store.store);
    }
    let changes = comparisons.iter().flat_map(|it| &it.changes);
    let chances: Vec<_> = changes.map(|it| it.chance).collect();
    let mut are = are_changes(&chances, args.false_alarms.0).into_iter();
    let found = comparisons.into_iter().map(|mut comparison| {
        comparison
            .changes
            .retain(|change| are.next().unwrap_or(false) && change.change().abs() >= args.min.0);
        comparison
    });
    let found: Vec<_> = found.collect();
    let grew = found.iter().flat_map(|it| &it.changes).any(|it| it.change() > 0.0);
    match args.json {
        true => output::json(&found)?,
        false => output::text(&found, args, chances.len())?,
    }
    Ok(if grew { ExitCode::from(GREW) } else { ExitCode::SUCCESS })
}

/// The comparisons of all services.
async fn compare(args: &RegressionsArgs) -> anyhow::Result<Vec<Comparison>> {
    let (_spill, limits) = limits::of_command(None)?;
    let store = args.cluster.of_store(Store::open(&args.store.store).await?, &limits)?;
    let until_ms = args.part.until.map_or_else(now_ms, |it| it.unix_ms);
    let default = Moment { unix_ms: until_ms.saturating_sub(DEFAULT_AGE_MS) };
    let since_ms = args.part.since.unwrap_or(default).unix_ms;
    if since_ms >= until_ms {
        bail!("--since is not before --until");
    }
    let mut comparisons = Vec::new();
    for service in store.services().await? {
        if args.part.service.as_deref().is_some_and(|it| service_name(it) != service) {
            continue;
        }
        let question = Question {
            service: Some(service.clone()),
            from_ms: Some(since_ms.saturating_sub(until_ms - since_ms)),
            to_ms: Some(until_ms),
            labels: args.label.clone(),
            metric: Some(args.metric.clone()),
            ..Question::default()
        };
        let counts = store.counts(&question, &limits).await?;
        if !counts.groups.is_empty() {
            comparisons.extend(compare::of_service(&service, counts, &args.by, since_ms));
        }
    }
    Ok(comparisons)
}
