//! Watches whether a cluster is there: its scheduler answers, and it has an executor.

use std::time::{Duration, Instant};

use datafusion::common::exec_datafusion_err;
use datafusion::error::DataFusionError;
use reqwest::Client;
use tokio::time::sleep;

use super::address::ClusterAddress;

/// The time between questions, and the most for an answer.
const INTERVAL: Duration = Duration::from_secs(2);
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// How long the scheduler may be silent.
const SILENCE: Duration = Duration::from_secs(15);
/// How long the cluster may be without an executor: one that starts anew takes some seconds.
const NO_EXECUTOR: Duration = Duration::from_secs(30);

/// What is wrong with a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Scheduler,
    Executors,
}

/// Ends when a cluster has been lost for some time, with that fault.
pub(super) async fn until_lost(address: &ClusterAddress) -> DataFusionError {
    let client = Client::builder().no_proxy().timeout(ANSWER_TIME).build().unwrap_or_default();
    let question = format!("{}/readyz", address.url());
    let mut since: Option<(Lack, Instant)> = None;
    loop {
        let lack = match client.get(&question).send().await {
            Ok(answer) if answer.status().is_success() => None,
            Ok(_) => Some(Lack::Executors),
            Err(_) => Some(Lack::Scheduler),
        };
        let begin = since.filter(|it| Some(it.0) == lack).map_or_else(Instant::now, |it| it.1);
        since = lack.map(|it| (it, begin));
        match lack {
            Some(Lack::Scheduler) if begin.elapsed() >= SILENCE => {
                return exec_datafusion_err!("{address}: the scheduler does not answer any more");
            }
            Some(Lack::Executors) if begin.elapsed() >= NO_EXECUTOR => {
                return exec_datafusion_err!(
                    "{address}: the cluster has no executor: perk-fleet executor starts one"
                );
            }
            _ => sleep(INTERVAL).await,
        }
    }
}
