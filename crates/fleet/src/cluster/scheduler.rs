//! `perk-fleet scheduler`: a scheduler of Ballista that knows perk's functions.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;

use super::address::SCHEME;
use super::args::SchedulerArgs;
use super::codec::StoreCodec;
use super::process::{MOST_MESSAGE_BYTES, host_text};
use crate::limits;
use crate::signals::until_signal;
use crate::talk::say;

/// How long an executor may be silent, and how often that is looked at, in seconds. Those of perk report every 5 seconds.
const EXECUTOR_SILENCE_S: u64 = 20;
const LOOK_S: u64 = 2;

/// Runs until Ctrl-C or SIGTERM.
///
/// # Errors
/// The address cannot be had, in one line.
pub(crate) fn scheduler(args: &SchedulerArgs) -> anyhow::Result<ExitCode> {
    let runtime = limits::runtime()?;
    let ended = runtime.block_on(run(args));
    runtime.shutdown_background();
    ended
}

async fn run(args: &SchedulerArgs) -> anyhow::Result<ExitCode> {
    let host = match &args.advertise {
        Some(host) => host.clone(),
        None if args.bind.is_unspecified() => {
            bail!("executors cannot call {}: --advertise names this machine", args.bind)
        }
        None => host_text(args.bind),
    };
    let cannot = || format!("cannot listen on {}, port {}", args.bind, args.port);
    let listener = TcpListener::bind((args.bind, args.port)).await.with_context(cannot)?;
    let place = listener.local_addr()?;
    let config = SchedulerConfig {
        bind_host: host_text(args.bind),
        bind_port: place.port(),
        external_host: host.clone(),
        grpc_server_max_decoding_message_size: MOST_MESSAGE_BYTES,
        grpc_server_max_encoding_message_size: MOST_MESSAGE_BYTES,
        grpc_client_max_message_size: MOST_MESSAGE_BYTES,
        executor_timeout_seconds: EXECUTOR_SILENCE_S,
        expire_dead_executor_interval_seconds: LOOK_S,
        no_executors_grace_period_seconds: EXECUTOR_SILENCE_S,
        override_physical_codec: Some(Arc::new(StoreCodec::default())),
        ..SchedulerConfig::default()
    };
    let fault = |error| anyhow!("the scheduler cannot start: {error}");
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(fault)?;
    let scheduler =
        create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await;
    let scheduler = scheduler.map_err(fault)?;
    say(format_args!("the scheduler listens: {SCHEME}{host}:{}", place.port()));
    if !args.bind.is_loopback() {
        say(format_args!(
            "whoever reaches {place} can run queries: it has no password and no encryption"
        ));
    }
    tokio::select! {
        served = start_grpc_service_with_listener(listener, scheduler) => {
            served.map_err(|error| anyhow!("the scheduler has stopped: {error}"))?;
        }
        signal = until_signal() => signal?,
    }
    Ok(ExitCode::SUCCESS)
}
