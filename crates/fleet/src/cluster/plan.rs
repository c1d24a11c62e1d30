//! Plans that run on a cluster.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{internal_err, plan_err};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    replace_children_if_necessary,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};

use super::codec::StoreCodec;
use super::job::Job;
use super::sessions::Cluster;

/// The batches of rows that wait to be read.
const WAITING: usize = 2;

/// Plans queries here, so that they run there.
#[derive(Debug)]
pub(super) struct ClusterPlanner {
    cluster: Cluster,
    codec: Arc<StoreCodec>,
}

impl ClusterPlanner {
    pub(super) fn new(cluster: Cluster, codec: Arc<StoreCodec>) -> Self {
        Self { cluster, codec }
    }

    /// The plan that runs another one on the cluster.
    fn there(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = with_pauses(plan)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(plan.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Arc::new(ClusterExec {
            plan,
            cluster: self.cluster.clone(),
            codec: Arc::clone(&self.codec),
            properties: Arc::new(properties),
        }))
    }
}

#[async_trait]
impl QueryPlanner for ClusterPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if let LogicalPlan::Analyze(_) = plan {
            return plan_err!(
                "EXPLAIN ANALYZE measures a query on this machine: leave out --cluster"
            );
        }
        let here = DefaultPhysicalPlanner::default().create_physical_plan(plan, session).await?;
        if matches!(plan, LogicalPlan::Explain(_)) || !is_for_cluster(&here)? {
            return Ok(here);
        }
        // COPY writes its file here.
        match here.downcast_ref::<DataSinkExec>() {
            Some(sink) => {
                let input = self.there(sink.input())?;
                replace_children_if_necessary(Arc::clone(&here), vec![input])
            }
            None => self.there(&here),
        }
    }
}

/// The plan with pauses after joins: these can make rows for hours out of few, and other tasks of an executor run in pauses.
fn with_pauses(plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let paused = Arc::clone(plan).transform_up(|node| match node.name().ends_with("JoinExec") {
        true => {
            Ok(Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>))
        }
        false => Ok(Transformed::no(node)),
    });
    Ok(paused?.data)
}

/// Whether a plan is for a cluster: it reads files of a store, and nothing of this process, such as a profile that is made
/// of sums.
fn is_for_cluster(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let (mut reads_files, mut is_of_here) = (false, false);
    plan.apply(|node| {
        if node.is::<DataSourceExec>() {
            reads_files = true;
        } else if node.children().is_empty() {
            is_of_here |= !node.is::<EmptyExec>() && !node.is::<PlaceholderRowExec>();
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(reads_files && !is_of_here)
}

/// A plan that runs on a cluster. What it gives comes as one partition, in its order.
#[derive(Debug)]
struct ClusterExec {
    plan: Arc<dyn ExecutionPlan>,
    cluster: Cluster,
    codec: Arc<StoreCodec>,
    properties: Arc<PlanProperties>,
}

impl DisplayAs for ClusterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClusterExec: {}", self.cluster.address)
    }
}

impl ExecutionPlan for ClusterExec {
    fn name(&self) -> &str {
        "ClusterExec"
    }

    fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    // The plan is finished: nothing here changes it.
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.is_empty() {
            true => Ok(self),
            false => internal_err!("a plan of a cluster has no children"),
        }
    }

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let job = Job::new(&self.cluster, &self.plan, &*self.codec, &context)?;
        let mut rows = RecordBatchReceiverStream::builder(self.schema(), WAITING);
        let sender = rows.tx();
        rows.spawn(async move { job.run(&sender).await });
        Ok(rows.build())
    }
}
