//! `perk-fleet executor`: an executor of Ballista that knows perk's functions, and stores.

use std::net::{IpAddr, TcpListener};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use perk_tables::Limits;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::address::ClusterAddress;
use super::args::{ExecutorArgs, SchedulerPlace};
use super::codec::StoreCodec;
use super::process::{MOST_MESSAGE_BYTES, host_text};
use super::registry::StoreRegistry;
use crate::limits;
use crate::signals::until_signal;
use crate::talk::say;

/// How long a scheduler that starts at the same time is waited for.
const SCHEDULER_TIME: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);
/// How long results are kept that nobody says are not needed any more, and how often that is looked at, in seconds.
const KEPT_S: u64 = 24 * 3600;
const CLEAN_UP_S: u64 = 3600;
/// How often it reports to the scheduler, in seconds. After five failures it ends.
const REPORT_S: u64 = 5;

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
    let ports = ports(args.bind, args.port)?;
    let tasks = args.tasks.map(usize::from);
    let tasks = tasks.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let config = config(args, ports, tasks, &limits)?;
    let runtime = limits::runtime()?;
    let ended = runtime.block_on(async {
        wait_for(&args.scheduler).await?;
        let (bind, scheduler, (port, _)) = (args.bind, &args.scheduler, ports);
        say(format_args!("the executor listens on {bind}, port {port}: {tasks} tasks for {scheduler}"));
        if !bind.is_loopback() {
            say(format_args!(
                "whoever reaches {bind}, port {port} can read results of queries: it has no password and no encryption"
            ));
        }
        run(config).await
    });
    runtime.shutdown_background();
    ended.map(|()| ExitCode::SUCCESS)
}

/// Runs until a signal, and until the tasks have ended that run then, or another signal.
async fn run(config: ExecutorProcessConfig) -> anyhow::Result<()> {
    let mut process = pin!(start_executor_process(Arc::new(config)));
    tokio::select! {
        ended = &mut process => {
            ended.map_err(|error| anyhow!("the executor has stopped: {error}"))?;
            bail!("the executor has stopped: its scheduler does not answer any more, or its ports are taken")
        }
        signal = until_signal() => signal?,
    }
    tokio::select! {
        _ = process => Ok(()),
        signal = until_signal() => signal,
    }
}

fn config(
    args: &ExecutorArgs,
    (port, task_port): (u16, u16),
    tasks: usize,
    limits: &Limits,
) -> anyhow::Result<ExecutorProcessConfig> {
    let folder = limits.spill.to_str().context("the name of --work-dir is no text")?;
    let ClusterAddress { host, port: scheduler_port } = args.scheduler.0.clone();
    let limits_of_task = limits.clone();
    let runtime = move || {
        RuntimeEnvBuilder::new()
            .with_disk_manager_builder(limits_of_task.disk())
            .with_object_store_registry(Arc::new(StoreRegistry::default()))
            .build_arc()
    };
    let functions = BallistaFunctionRegistry::from(&SessionContext::new().state());
    Ok(ExecutorProcessConfig {
        bind_host: host_text(args.bind),
        // Without one, it is the address from which the scheduler is called.
        external_host: (!args.bind.is_unspecified()).then(|| host_text(args.bind)),
        port,
        grpc_port: task_port,
        job_data_ttl_seconds: KEPT_S,
        job_data_clean_up_interval_seconds: CLEAN_UP_S,
        executor_heartbeat_interval_seconds: REPORT_S,
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

/// The ports for results and for tasks: one and the next, or free ones instead of 0.
fn ports(bind: IpAddr, port: u16) -> anyhow::Result<(u16, u16)> {
    let listen = |port: u16| {
        let cannot = || format!("cannot listen on {bind}, port {port}");
        TcpListener::bind((bind, port)).with_context(cannot)
    };
    let results = listen(port)?;
    let tasks =
        listen(if port == 0 { 0 } else { port.checked_add(1).context("--port is too high")? })?;
    Ok((results.local_addr()?.port(), tasks.local_addr()?.port()))
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
