//! A query that a cluster runs.

use std::sync::Arc;
use std::time::Duration;

use ballista_core::BALLISTA_VERSION;
use ballista_core::client::BallistaClient;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::get_job_status_result::FlightProxy;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, CleanJobDataParams, ExecuteQueryParams, KeyValuePair, PartitionLocation,
};
use ballista_core::version::{check_compatibility, insert_version_header, version_from_metadata};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::exec_datafusion_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{AsExecutionPlan, PhysicalExtensionCodec};
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::StreamExt;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::Request;
use tonic::transport::{Channel, Endpoint};

use super::address::ClusterAddress;
use super::fault::{failed, refused};
use super::health::until_lost;
use super::process::MOST_MESSAGE_BYTES;
use super::sessions::Cluster;

/// The most time to connect.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// The time after which a machine that is silent is asked whether it is there, and the most for its answer.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How often a query is run whose results were lost with their executor before any of them came.
const ATTEMPTS: usize = 3;
/// How often results are asked of an executor, and the milliseconds between.
const FETCHES: u8 = 2;
const FETCH_PAUSE_MS: u64 = 500;

type Scheduler = SchedulerGrpcClient<Channel>;

/// A query that a cluster runs.
pub(super) struct Job {
    address: ClusterAddress,
    query: ExecuteQueryParams,
    /// Held while it runs.
    running: watch::Receiver<()>,
}

/// What a job has made, and where.
struct Results {
    partitions: Vec<PartitionLocation>,
    /// Who hands them on, if the executors do not.
    proxy: Option<FlightProxy>,
}

impl Job {
    pub(super) fn new(
        cluster: &Cluster,
        plan: &Arc<dyn ExecutionPlan>,
        codec: &dyn PhysicalExtensionCodec,
        context: &TaskContext,
    ) -> Result<Self> {
        let mut bytes = Vec::new();
        PhysicalPlanNode::try_from_physical_plan(Arc::clone(plan), codec)
            .and_then(|plan| plan.try_encode(&mut bytes))
            .map_err(|error| {
                let (address, error) = (&cluster.address, error.strip_backtrace());
                exec_datafusion_err!("{address} cannot run this query: {error}")
            })?;
        let settings = context.session_config().options().entries().into_iter();
        let settings = settings.map(|it| KeyValuePair { key: it.key, value: it.value });
        let query = ExecuteQueryParams {
            query: Some(Query::PhysicalPlan(bytes)),
            settings: settings.collect(),
            session_id: context.session_id(),
            operation_id: String::new(),
        };
        Ok(Self { address: cluster.address.clone(), query, running: cluster.jobs.subscribe() })
    }

    /// Runs it, and sends its rows.
    ///
    /// # Errors
    /// It has a fault, or the cluster is lost.
    pub(super) async fn run(self, rows: &Sender<Result<RecordBatch>>) -> Result<()> {
        tokio::select! {
            ran = self.run_there(rows) => ran,
            lost = until_lost(&self.address) => Err(lost),
        }
    }

    async fn run_there(&self, rows: &Sender<Result<RecordBatch>>) -> Result<()> {
        let scheduler = connect(&self.address).await?;
        for attempt in 1.. {
            let mut scheduled = SchedulerJob::new(scheduler.clone(), self.running.clone());
            let results = self.results(&mut scheduled).await?;
            let mut has_sent = false;
            match self.send(results, rows, &mut has_sent).await {
                Err(_) if !has_sent && attempt < ATTEMPTS => {}
                ended => {
                    scheduled.end(ended.is_ok()).await;
                    return ended;
                }
            }
        }
        Ok(())
    }

    /// Waits until executors have the results.
    async fn results(&self, scheduled: &mut SchedulerJob) -> Result<Results> {
        let mut request = Request::new(self.query.clone());
        insert_version_header(request.metadata_mut());
        let answer = scheduled.scheduler.execute_query_push(request).await;
        let answer = answer.map_err(|status| refused(&self.address, &status))?;
        let version = version_from_metadata(answer.metadata());
        check_compatibility(Some(BALLISTA_VERSION), version)
            .map_err(|text| exec_datafusion_err!("{}: {text}", self.address))?;
        let mut states = answer.into_inner();
        loop {
            let state = states.message().await.map_err(|status| refused(&self.address, &status))?;
            let Some(state) = state else {
                return Err(exec_datafusion_err!("{}: the scheduler has stopped", self.address));
            };
            let Some(job) = state.status else { continue };
            scheduled.id = Some(job.job_id);
            match job.status {
                Some(Status::Successful(job)) => {
                    return Ok(Results {
                        partitions: job.partition_location,
                        proxy: state.flight_proxy,
                    });
                }
                Some(Status::Failed(job)) => {
                    scheduled.id = None;
                    return Err(failed(&self.address, &job.error));
                }
                Some(Status::Queued(_) | Status::Running(_)) | None => {}
            }
        }
    }

    /// Gets results from executors, and sends them.
    async fn send(
        &self,
        results: Results,
        rows: &Sender<Result<RecordBatch>>,
        has_sent: &mut bool,
    ) -> Result<()> {
        for partition in results.partitions {
            let fetched = self.fetch(partition, results.proxy.as_ref());
            let mut batches = fetched.await?;
            while let Some(batch) = batches.next().await {
                let batch = batch.map_err(|error| lost_results(&self.address, &error))?;
                *has_sent = true;
                if rows.send(Ok(batch)).await.is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn fetch(
        &self,
        partition: PartitionLocation,
        proxy: Option<&FlightProxy>,
    ) -> Result<SendableRecordBatchStream> {
        let layout = partition.layout();
        let file = partition.file_id;
        let known = partition.executor_meta.zip(partition.partition_id);
        let Some((executor, partition)) = known else {
            return Err(exec_datafusion_err!("{}: a result has no place", self.address));
        };
        let port = u16::try_from(executor.port).unwrap_or_default();
        let (host, host_port) = match proxy {
            Some(FlightProxy::External(place)) => place
                .rsplit_once(':')
                .and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)))
                .ok_or_else(|| exec_datafusion_err!("{}: no place is {place}", self.address))?,
            Some(FlightProxy::Local(true)) => (self.address.host.clone(), self.address.port),
            Some(FlightProxy::Local(false)) | None => (executor.host.clone(), port),
        };
        let fetched = async {
            let mut client = BallistaClient::try_new(
                &host,
                host_port,
                MOST_MESSAGE_BYTES as usize,
                false,
                None,
                FETCHES,
                FETCH_PAUSE_MS,
                0,
                0,
            )
            .await?;
            let (id, partition) = (&executor.id, partition.into());
            client
                .fetch_partition_proxied(id, &partition, file, layout, &executor.host, port, true)
                .await
        };
        let place = format!("{host}:{host_port}");
        match timeout(CONNECT_TIME, fetched).await {
            Ok(Ok(batches)) => Ok(batches),
            Ok(Err(_)) | Err(_) => Err(exec_datafusion_err!(
                "{}: the executor at {place} does not give its results",
                self.address
            )),
        }
    }
}

fn lost_results(address: &ClusterAddress, error: &DataFusionError) -> DataFusionError {
    exec_datafusion_err!("{address}: results were lost: {}", error.strip_backtrace())
}

/// A job that a scheduler knows. It is cancelled if nobody waits for it any more.
struct SchedulerJob {
    scheduler: Scheduler,
    id: Option<String>,
    running: watch::Receiver<()>,
}

impl SchedulerJob {
    fn new(scheduler: Scheduler, running: watch::Receiver<()>) -> Self {
        Self { scheduler, id: None, running }
    }

    /// Ends it: executors need not keep its results.
    async fn end(&mut self, is_done: bool) {
        let Some(job_id) = self.id.take() else { return };
        // What they keep all the same, they remove after some minutes.
        let _ = match is_done {
            true => {
                let data = CleanJobDataParams { job_id, remove_stage_ids: Vec::new() };
                self.scheduler.clean_job_data(data).await.map(|_| ())
            }
            false => self.scheduler.cancel_job(CancelJobParams { job_id }).await.map(|_| ()),
        };
    }
}

impl Drop for SchedulerJob {
    fn drop(&mut self) {
        let Some(job_id) = self.id.take() else { return };
        let (mut scheduler, running) = (self.scheduler.clone(), self.running.clone());
        tokio::spawn(async move {
            let _ = scheduler.cancel_job(CancelJobParams { job_id }).await;
            drop(running);
        });
    }
}

/// Connects to a scheduler.
async fn connect(address: &ClusterAddress) -> Result<Scheduler> {
    let endpoint = Endpoint::from_shared(address.url())
        .map_err(|_| exec_datafusion_err!("{address} is no address"))?
        .connect_timeout(CONNECT_TIME)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true);
    let channel = endpoint.connect().await.map_err(|_| {
        exec_datafusion_err!("{address}: no scheduler answers: perk-fleet scheduler starts one")
    })?;
    Ok(SchedulerGrpcClient::new(channel)
        .max_encoding_message_size(MOST_MESSAGE_BYTES as usize)
        .max_decoding_message_size(MOST_MESSAGE_BYTES as usize))
}
