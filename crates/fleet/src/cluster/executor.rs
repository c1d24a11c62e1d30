//! `perk-fleet executor`: an executor of Ballista that knows perk's functions, and stores.

use std::net::{IpAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use perk_tables::Limits;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::args::{ExecutorArgs, SchedulerPlace};
use super::codec::StoreCodec;
use super::registry::StoreRegistry;
use super::{ClusterAddress, MOST_MESSAGE_BYTES};
use crate::limits;
use crate::sql::STACK_BYTES;
use crate::talk::say;

/// How long a scheduler that starts at the same time is waited for.
const SCHEDULER_TIME: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

/// Runs until Ctrl-C or SIGTERM, and ends the parts of queries that it runs then.
///
/// # Errors
/// There is no scheduler, or the address cannot be had, in one line.
pub(crate) fn executor(args: &ExecutorArgs) -> anyhow::Result<ExitCode> {
    let (_folder, limits) = limits::of_command(args.memory.map(|it| it.0))?;
    let limits = match &args.work_dir {
        Some(folder) => {
            let cannot = || format!("cannot make {}", folder.display());
            std::fs::create_dir_all(folder).with_context(cannot)?;
            let spill = folder.canonicalize().with_context(cannot)?;
            Limits { spill, ..limits }
        }
        None => limits,
    };
    let port = free_port(args.bind, args.port)?;
    let tasks = args.tasks.map(usize::from);
    let tasks = tasks.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let config = config(args, port, tasks, &limits)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()?;
    let ended = runtime.block_on(async {
        wait_for(&args.scheduler).await?;
        let (bind, scheduler) = (args.bind, &args.scheduler);
        say(format_args!("the executor listens on {bind}, port {port}: {tasks} tasks for {scheduler}"));
        if !bind.is_loopback() {
            say(format_args!(
                "whoever reaches {bind}, port {port} can read results of queries: it has no password and no encryption"
            ));
        }
        let ended = start_executor_process(Arc::new(config)).await;
        ended.map_err(|error| anyhow!("the executor has stopped: {error}"))
    });
    runtime.shutdown_background();
    ended.map(|()| ExitCode::SUCCESS)
}

fn config(
    args: &ExecutorArgs,
    port: u16,
    tasks: usize,
    limits: &Limits,
) -> anyhow::Result<ExecutorProcessConfig> {
    let folder = limits.spill.to_str().context("the name of --work-dir is no text")?;
    let ClusterAddress { host, port: scheduler_port } = args.scheduler.0.clone();
    let spill = limits.clone();
    let runtime = move || {
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![spill.spill.clone()]))
            .with_max_temp_directory_size(spill.spill_bytes);
        RuntimeEnvBuilder::new()
            .with_disk_manager_builder(disk)
            .with_object_store_registry(Arc::new(StoreRegistry::default()))
            .build_arc()
    };
    let functions = BallistaFunctionRegistry::from(&SessionContext::new().state());
    Ok(ExecutorProcessConfig {
        bind_host: args.bind.to_string(),
        port,
        // Tasks are asked for: nobody calls this one.
        grpc_port: port,
        scheduler_host: host,
        scheduler_port,
        vcores: tasks,
        work_dir: Some(folder.to_owned()),
        memory_pool_size: Some(limits.memory_bytes as u64),
        grpc_max_decoding_message_size: MOST_MESSAGE_BYTES,
        grpc_max_encoding_message_size: MOST_MESSAGE_BYTES,
        override_function_registry: Some(Arc::new(functions)),
        override_runtime_producer: Some(Arc::new(move |_| runtime())),
        override_physical_codec: Some(Arc::new(StoreCodec::default())),
        ..ExecutorProcessConfig::default()
    })
}

/// The port, or a free one instead of 0.
fn free_port(bind: IpAddr, port: u16) -> anyhow::Result<u16> {
    let cannot = || format!("cannot listen on {bind}, port {port}");
    Ok(TcpListener::bind((bind, port)).with_context(cannot)?.local_addr()?.port())
}

/// Waits until a scheduler listens.
async fn wait_for(scheduler: &SchedulerPlace) -> anyhow::Result<()> {
    let begin = Instant::now();
    let place = scheduler.to_string();
    while !matches!(timeout(SCHEDULER_TIME, TcpStream::connect(&place)).await, Ok(Ok(_))) {
        if begin.elapsed() >= SCHEDULER_TIME {
            bail!("{place}: no scheduler answers: perk-fleet scheduler starts one");
        }
        sleep(PAUSE).await;
    }
    Ok(())
}
