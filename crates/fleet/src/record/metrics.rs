//! What the recorder has done, as numbers for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use axum::Router;
use axum::http::header;
use axum::routing::get;

use crate::lock::lock;

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
    /// The CPU time of the agents, in nanoseconds.
    pub(crate) agent_cpu_ns: AtomicU64,
    /// The CPU time of the JVMs, in nanoseconds.
    pub(crate) jvm_cpu_ns: AtomicU64,
    /// The numbers of the destinations, by name.
    destinations: Mutex<BTreeMap<String, Arc<DestinationMetrics>>>,
}

/// The numbers of a destination.
#[derive(Debug, Default)]
pub(crate) struct DestinationMetrics {
    /// The files that it has.
    pub(crate) delivered_count: AtomicU64,
    /// The attempts to deliver a file that failed.
    pub(crate) retry_count: AtomicU64,
    /// The files that were dropped, as its queue was full.
    pub(crate) dropped_count: AtomicU64,
    /// The files that it refused.
    pub(crate) refused_count: AtomicU64,
    /// The files that wait for it.
    pub(crate) waiting_count: AtomicU64,
}

/// Adds to a number.
pub(crate) fn add(number: &AtomicU64, more: u64) {
    number.fetch_add(more, Relaxed);
}

impl Metrics {
    /// The numbers of a destination, which stay if it is asked for again.
    pub(crate) fn destination(&self, name: &str) -> Arc<DestinationMetrics> {
        Arc::clone(lock(&self.destinations).entry(name.to_owned()).or_default())
    }

    /// The text of Prometheus's exposition format.
    fn text(&self) -> String {
        let count = |number: &AtomicU64| number.load(Relaxed) as f64;
        let seconds = |number: &AtomicU64| count(number) / 1e9;
        let mut text = String::new();
        let mut write = |name: &str, help: &str, values: &[(String, f64)]| {
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        for (name, help, value) in [
            ("perk_jvms", "JVMs that are recorded", count(&self.jvm_count)),
            ("perk_files_total", "Files that JVMs have finished", count(&self.file_count)),
            ("perk_file_bytes_total", "Bytes of these files, packed", count(&self.file_bytes)),
            ("perk_lost_files_total", "Files that are missing or damaged", count(&self.lost_count)),
            (
                "perk_agent_cpu_seconds_total",
                "CPU time of perk in the JVMs",
                seconds(&self.agent_cpu_ns),
            ),
            ("perk_jvm_cpu_seconds_total", "CPU time of the JVMs", seconds(&self.jvm_cpu_ns)),
        ] {
            write(name, help, &[(String::new(), value)]);
        }
        let destinations = lock(&self.destinations);
        type NumberOf = fn(&DestinationMetrics) -> &AtomicU64;
        let of_each: [(&str, &str, NumberOf); 5] = [
            ("perk_delivered_files_total", "Files that a destination has, or requests", |it| {
                &it.delivered_count
            }),
            ("perk_delivery_retries_total", "Deliveries that failed, and are tried again", |it| {
                &it.retry_count
            }),
            ("perk_dropped_files_total", "Files dropped from a full queue", |it| &it.dropped_count),
            ("perk_refused_files_total", "Files that a destination refused", |it| {
                &it.refused_count
            }),
            ("perk_waiting_files", "Files that wait for a destination", |it| &it.waiting_count),
        ];
        for (name, help, number) in of_each {
            let values = destinations.iter().map(|(destination, its)| {
                (format!("{{destination=\"{}\"}}", escaped(destination)), count(number(its)))
            });
            write(name, help, &values.collect::<Vec<_>>());
        }
        text
    }
}

/// The value of a label in Prometheus's format.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
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
