//! The arguments of `perk-fleet scheduler` and `perk-fleet executor`, and the option that names a cluster.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use perk_store::Store;
use perk_tables::Limits;

use super::address::{ClusterAddress, SCHEDULER_PORT, SCHEME};
use super::sessions::Cluster;
use crate::values::Size;

/// The port on which executors have results.
const EXECUTOR_PORT: u16 = 50_051;

/// The cluster of a command.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClusterArg {
    /// Run queries on a cluster of Apache Ballista, whose machines see the store at the same address: docs/fleet.md
    #[arg(long, value_name = "ballista://HOST:PORT")]
    pub(crate) cluster: Option<ClusterAddress>,
}

impl ClusterArg {
    /// The cluster that is named.
    pub(crate) fn cluster(&self) -> Option<Cluster> {
        self.cluster.clone().map(Cluster::new)
    }

    /// The store of a command. Its sums are made by the cluster, if one is named.
    ///
    /// # Errors
    /// The folder for what does not fit the memory cannot be made, in one line.
    pub(crate) fn of_store(&self, store: Store, limits: &Limits) -> anyhow::Result<Store> {
        match self.cluster() {
            Some(cluster) => cluster.store(store, limits),
            None => Ok(store),
        }
    }
}

/// Start the scheduler of a cluster, which gives the parts of queries to executors
///
/// It is the scheduler of Apache Ballista, and knows perk's functions. It has no authentication and no encryption: whoever
/// reaches its port can run queries. docs/fleet.md describes clusters.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  perk-fleet scheduler
  perk-fleet scheduler --bind 10.0.0.5
  perk sql --cluster ballista://10.0.0.5:50050 s3://profiles/shop \"SELECT service, sum(cpu_ns) FROM samples GROUP BY 1\"")]
pub(crate) struct SchedulerArgs {
    /// The address to listen on; others can reach one that is not 127.0.0.1
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(super) bind: IpAddr,
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = SCHEDULER_PORT)]
    pub(super) port: u16,
    /// The name or address under which executors call it [default: the address to listen on]
    #[arg(long, value_name = "HOST")]
    pub(super) advertise: Option<String>,
}

/// Start an executor of a cluster, which runs parts of queries
///
/// It is an executor of Apache Ballista, and knows perk's functions and the stores of folders and buckets. Credentials of
/// buckets come from its environment. It has no authentication and no encryption: whoever reaches its port can read the
/// results of queries. docs/fleet.md describes clusters.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  perk-fleet executor
  perk-fleet executor --scheduler 10.0.0.5:50050 --bind 10.0.0.6 --work-dir /var/tmp/perk --memory 8g")]
pub(crate) struct ExecutorArgs {
    /// The scheduler
    #[arg(long, value_name = "HOST:PORT", default_value_t = SchedulerPlace::default())]
    pub(super) scheduler: SchedulerPlace,
    /// The address to listen on: the scheduler gives tasks to it, and other executors and clients get results from it. Others
    /// can reach one that is not 127.0.0.1
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(super) bind: IpAddr,
    /// The port for results; the next one is for tasks. 0 takes free ones
    #[arg(long, value_name = "N", default_value_t = EXECUTOR_PORT)]
    pub(super) port: u16,
    /// The folder for results, and for what does not fit the memory [default: a new folder for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(super) work_dir: Option<PathBuf>,
    /// The parts of queries that run at once [default: the processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) tasks: Option<u16>,
    /// The most memory for sorts, joins and sums; more continues on disk [default: a quarter of all, at most half of what is free]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<Size>,
}

/// Where a scheduler listens: `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchedulerPlace(pub(super) ClusterAddress);

impl Default for SchedulerPlace {
    fn default() -> Self {
        Self(ClusterAddress { host: "127.0.0.1".to_owned(), port: SCHEDULER_PORT })
    }
}

impl FromStr for SchedulerPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = format!("{}{text}", SCHEME).parse();
        address
            .map(Self)
            .map_err(|_| "use the host and the port of a scheduler: HOST:PORT".to_owned())
    }
}

impl std::fmt::Display for SchedulerPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0.host, self.0.port)
    }
}
