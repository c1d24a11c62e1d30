//! Sessions whose queries run on a cluster.

use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::SessionConfigExt;
use ballista_core::optimizer::with_ballista_optimizer_rules;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use perk_store::Store;
use perk_tables::Limits;
use tokio::sync::watch;
use tokio::time::timeout;

use super::address::ClusterAddress;
use super::codec::StoreCodec;
use super::plan::ClusterPlanner;

/// The parts of a plan that can run at once.
const PARTITIONS: usize = 16;
/// How long the end of jobs that were cancelled is waited for.
const CANCEL_TIME: Duration = Duration::from_secs(2);

/// A cluster, and the jobs that it runs for this process.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(super) address: ClusterAddress,
    /// Each job subscribes while it runs.
    pub(super) jobs: Arc<watch::Sender<()>>,
}

impl Cluster {
    pub(crate) fn new(address: ClusterAddress) -> Self {
        Self { address, jobs: Arc::new(watch::Sender::new(())) }
    }

    /// A session with the tables of a store, whose queries run on the cluster. Its machines must see the store at the same
    /// address.
    ///
    /// # Errors
    /// The folder of the store is not there, or its name is no text, in one line.
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

    /// Waits until the scheduler knows that jobs are cancelled whose rows nobody wants.
    pub(crate) async fn end(&self) {
        let _ = timeout(CANCEL_TIME, self.jobs.closed()).await;
    }
}
