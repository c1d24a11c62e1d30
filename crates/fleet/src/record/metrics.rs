//! What the recorder has done, as numbers for Prometheus.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context;
use axum::Router;
use axum::http::header;
use axum::routing::get;

/// The numbers.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// The JVMs that are recorded now.
    pub(crate) jvm_count: AtomicU64,
    /// The files that JVMs have finished.
    pub(crate) file_count: AtomicU64,
    /// Their bytes, packed.
    pub(crate) file_bytes: AtomicU64,
    /// The files of the agents that are missing or cannot be read.
    pub(crate) lost_count: AtomicU64,
    /// The files that destinations have.
    pub(crate) delivered_count: AtomicU64,
    /// The attempts to deliver a file that failed.
    pub(crate) retry_count: AtomicU64,
    /// The files that were dropped, as a queue was full.
    pub(crate) dropped_count: AtomicU64,
    /// The CPU time of the agents, in nanoseconds.
    pub(crate) agent_cpu_ns: AtomicU64,
    /// The CPU time of the JVMs, in nanoseconds.
    pub(crate) jvm_cpu_ns: AtomicU64,
}

/// Adds to a number.
pub(crate) fn add(number: &AtomicU64, more: u64) {
    number.fetch_add(more, Relaxed);
}

impl Metrics {
    /// The text of Prometheus's exposition format.
    fn text(&self) -> String {
        let count = |number: &AtomicU64| number.load(Relaxed) as f64;
        let seconds = |number: &AtomicU64| count(number) / 1e9;
        let mut text = String::new();
        for (name, kind, help, value) in [
            ("perk_jvms", "gauge", "JVMs that are recorded", count(&self.jvm_count)),
            (
                "perk_files_total",
                "counter",
                "Files that JVMs have finished",
                count(&self.file_count),
            ),
            (
                "perk_file_bytes_total",
                "counter",
                "Bytes of these files, packed",
                count(&self.file_bytes),
            ),
            (
                "perk_lost_files_total",
                "counter",
                "Files that are missing or damaged",
                count(&self.lost_count),
            ),
            (
                "perk_delivered_files_total",
                "counter",
                "Files that destinations have",
                count(&self.delivered_count),
            ),
            (
                "perk_delivery_retries_total",
                "counter",
                "Deliveries that failed",
                count(&self.retry_count),
            ),
            (
                "perk_dropped_files_total",
                "counter",
                "Files dropped from a full queue",
                count(&self.dropped_count),
            ),
            (
                "perk_agent_cpu_seconds_total",
                "counter",
                "CPU time of perk in the JVMs",
                seconds(&self.agent_cpu_ns),
            ),
            (
                "perk_jvm_cpu_seconds_total",
                "counter",
                "CPU time of the JVMs",
                seconds(&self.jvm_cpu_ns),
            ),
        ] {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        }
        text
    }
}

/// Serves the numbers on a thread until the process ends.
///
/// # Errors
/// Nothing can listen at the address.
pub(crate) fn serve(metrics: &Arc<Metrics>, address: SocketAddr) -> anyhow::Result<()> {
    let listener = std::net::TcpListener::bind(address)
        .with_context(|| format!("cannot serve metrics at {address}"))?;
    listener.set_nonblocking(true)?;
    let metrics = Arc::clone(metrics);
    let answer = move || {
        let text = metrics.text();
        async move { ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text) }
    };
    let router = Router::new().route("/metrics", get(answer));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("perk metrics".to_owned());
    thread.spawn(move || {
        runtime.block_on(async {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                let _ = axum::serve(listener, router).await;
            }
        });
    })?;
    Ok(())
}
