//! Queries on several machines: a scheduler and executors of Apache Ballista, which perk starts, and sessions that ask
//! them.
//!
//! A query is planned here, so that it reads whole pieces of a store only. The plan names the files; the scheduler cuts
//! it into stages, and executors run these. perk's functions travel as the store and the dates that they read.

mod args;
mod codec;
mod executor;
mod fault;
mod health;
mod job;
mod plan;
mod registry;
mod scheduler;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::SessionConfigExt;
use ballista_core::optimizer::with_ballista_optimizer_rules;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use perk_store::Store;
use perk_tables::Limits;
use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

pub(crate) use args::{ClusterArg, ExecutorArgs, SchedulerArgs};
use codec::StoreCodec;
pub(crate) use executor::executor;
use plan::ClusterPlanner;
pub(crate) use scheduler::scheduler;

/// The scheme of addresses.
const SCHEME: &str = "ballista://";
/// The port of schedulers.
const SCHEDULER_PORT: u16 = 50_050;
/// The most bytes of a message, such as a plan with the names of all files that it reads.
const MOST_MESSAGE_BYTES: u32 = 256 << 20;
/// The parts of a plan that can run at once.
const PARTITIONS: usize = 16;
/// How long the end of jobs that were cancelled is waited for.
const CANCEL_TIME: Duration = Duration::from_secs(2);

/// The address of a scheduler: `ballista://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterAddress {
    host: String,
    port: u16,
}

impl ClusterAddress {
    /// Its address for HTTP.
    fn url(&self) -> String {
        format!("http://{}:{}", self.host, self.port)
    }
}

impl FromStr for ClusterAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault =
            || "a cluster is ballista://HOST:PORT, with the port of its scheduler".to_owned();
        let place = text.strip_prefix(SCHEME).ok_or_else(fault)?;
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !place.ends_with(']') => {
                (host, port.parse().map_err(|_| fault())?)
            }
            _ => (place, SCHEDULER_PORT),
        };
        let is_host = !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']);
        if !is_host || port == 0 {
            return Err(fault());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for ClusterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}:{}", self.host, self.port)
    }
}

/// A cluster, and the jobs that it runs for this process.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    address: ClusterAddress,
    /// Each job subscribes while it runs.
    jobs: Arc<watch::Sender<()>>,
}

impl Cluster {
    pub(crate) fn new(address: ClusterAddress) -> Self {
        Self { address, jobs: Arc::new(watch::Sender::new(())) }
    }

    /// A session with the tables of a store, whose queries run on the cluster. Its machines must see the store at the same
    /// address.
    ///
    /// # Errors
    /// Other machines cannot be told of the store, in one line.
    pub(crate) async fn session(
        &self,
        store: &Store,
        limits: &Limits,
    ) -> anyhow::Result<SessionContext> {
        let context = self.context(limits)?;
        let store = self.store(store.clone(), limits)?;
        perk_store::add_to_cluster_session(&store, limits, &context).await?;
        Ok(context)
    }

    /// The same store, whose sums the cluster makes.
    ///
    /// # Errors
    /// The folder for what does not fit the memory cannot be made, in one line.
    pub(crate) fn store(&self, store: Store, limits: &Limits) -> anyhow::Result<Store> {
        Ok(store.with_session(self.context(limits)?))
    }

    /// A session without tables.
    fn context(&self, limits: &Limits) -> anyhow::Result<SessionContext> {
        let state = perk_tables::context(limits)?.state();
        let config = state.config().clone().with_target_partitions(PARTITIONS);
        let rules = with_ballista_optimizer_rules(state.optimizers());
        let codec = Arc::new(StoreCodec::default());
        let state = SessionStateBuilder::new_from_existing(state)
            .with_config(config.upgrade_for_ballista())
            .with_optimizer_rules(rules)
            .with_query_planner(Arc::new(ClusterPlanner::new(self.clone(), codec)))
            .build();
        Ok(SessionContext::new_with_state(state))
    }

    /// Waits for the end of jobs whose rows nobody waits for, which the scheduler must be told.
    pub(crate) async fn end(&self) {
        let _ = timeout(CANCEL_TIME, self.jobs.closed()).await;
    }
}

/// A host as addresses have it.
fn host_text(host: IpAddr) -> String {
    match host {
        IpAddr::V4(host) => host.to_string(),
        IpAddr::V6(host) => format!("[{host}]"),
    }
}

/// Ends with Ctrl-C or SIGTERM.
async fn until_signal() -> anyhow::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = ctrl_c() => Ok(pressed?),
        _ = terminated.recv() => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, host, port) in [
            ("ballista://h:1", "h", 1),
            ("ballista://h.example", "h.example", SCHEDULER_PORT),
            ("ballista://[::1]", "[::1]", SCHEDULER_PORT),
            ("ballista://[::1]:7", "[::1]", 7),
        ] {
            let address = ClusterAddress { host: host.to_owned(), port };
            assert_eq!(text.parse(), Ok(address));
        }
        for text in [
            "h:1",
            "http://h:1",
            "ballista://",
            "ballista://:1",
            "ballista://h:0",
            "ballista://h:x",
            "ballista://a/b:1",
        ] {
            let fault = text.parse::<ClusterAddress>().unwrap_err();
            assert!(fault.contains("ballista://HOST:PORT"), "{text}: {fault}");
        }
    }
}
