//! A scheduler and an executor of Ballista itself, which know nothing of perk.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use tokio::runtime::Runtime;

use super::processes::wait_for_executors;
use super::{ask, rows, sql, store};
use crate::store::SUMS;

fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Starts them in this process, which ends with the test.
fn start() -> SocketAddr {
    let (place, executor) = (free(), free());
    thread::spawn(move || {
        let config = SchedulerConfig { bind_port: place.port(), ..SchedulerConfig::default() };
        Runtime::new().unwrap().block_on(async {
            let cluster = BallistaCluster::new_from_config(&config).await.unwrap();
            start_server(cluster, place, Arc::new(config)).await.unwrap();
        });
    });
    thread::spawn(move || {
        while std::net::TcpStream::connect(place).is_err() {
            thread::sleep(std::time::Duration::from_millis(50));
        }
        let folder = tempfile::tempdir().unwrap();
        let config = ExecutorProcessConfig {
            port: executor.port(),
            grpc_port: free().port(),
            scheduler_host: "127.0.0.1".to_owned(),
            scheduler_port: place.port(),
            work_dir: Some(folder.path().to_str().unwrap().to_owned()),
            ..ExecutorProcessConfig::default()
        };
        Runtime::new().unwrap().block_on(start_executor_process(Arc::new(config))).unwrap();
    });
    wait_for_executors(&place.to_string(), 1);
    place
}

#[test]
fn a_cluster_of_ballista_runs_what_needs_no_function_of_perk() {
    let store = store();
    let path = store.path();
    let address = format!("ballista://{}", start());
    for query in [
        SUMS,
        "SELECT service, hour, thread, sum(value) AS value FROM samples WHERE metric = 'samples' GROUP BY 1, 2, 3 ORDER BY 4",
        "SELECT s.metric, count(*) AS n FROM samples s JOIN recordings r USING (source) GROUP BY 1",
        "SELECT file, labels['version'] AS version FROM recordings",
    ] {
        let here = rows(query, &sql::run(&[&path], &[query, "--json"]));
        assert_eq!(rows(query, &ask(&path, &address, query)), here, "{query}");
    }
    let output = ask(&path, &address, "SELECT leaf(stack), sum(value) FROM samples GROUP BY 1");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("does not know perk's function leaf: start"), "{said}");
}
