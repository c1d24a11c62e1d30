//! Stores in buckets of S3, Google and Azure, also over a network and of a service that have faults.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use perk_testkit::peer;
use serde_json::{Value, json};

use super::{SUMS, StoreFolder, Sums, of_tools, sums};
use crate::record::counterparts::{self, Server, script};

const KEYS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "perk"),
    ("AWS_SECRET_ACCESS_KEY", "a secret/+"),
    ("AWS_REGION", "us-east-1"),
];
/// Azurite's own.
const AZURE_KEY: (&str, &str) = (
    "AZURE_STORAGE_ACCOUNT_KEY",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
);

/// A store in a bucket, and what is between it and perk.
struct Bucket {
    store: &'static str,
    /// The variables of the environment that perk needs.
    variables: Vec<(&'static str, String)>,
    _server: Server,
    network: Network,
}

impl Bucket {
    /// One of S3; `None` if there is no server.
    fn of_s3() -> Option<Self> {
        if !counterparts::are_here() {
            return None;
        }
        let mut command = script("s3.py");
        command.envs(KEYS);
        let server = Server::start(command);
        let network = Network::start(server.port);
        let mut variables: Vec<_> =
            KEYS.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        variables.push(("AWS_ENDPOINT_URL", network.address()));
        Some(Self { store: "s3://profiles/stores/one", variables, _server: server, network })
    }

    /// One of Google, whose requests are those of S3 but for conditions, which the network translates.
    fn of_google() -> Option<Self> {
        if !counterparts::are_here() {
            return None;
        }
        let server = Server::start(script("s3.py"));
        let network = Network::start(server.port);
        let account = json!({
            "gcs_base_url": network.address(),
            "disable_oauth": true,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        });
        let variables = vec![("GOOGLE_SERVICE_ACCOUNT_KEY", account.to_string())];
        Some(Self { store: "gs://profiles/stores/one", variables, _server: server, network })
    }

    /// One of Azure; `None` if there is no server.
    fn of_azure() -> Option<Self> {
        let azurite = peer("counterparts/azurite/node", "counterparts")?;
        let mut command = script("azure.py");
        command.arg(azurite.parent()?).envs([AZURE_KEY]);
        let server = Server::start(command);
        let network = Network::start(server.port);
        let account = "devstoreaccount1";
        let variables = vec![
            ("AZURE_STORAGE_ACCOUNT_NAME", account.to_owned()),
            (AZURE_KEY.0, AZURE_KEY.1.to_owned()),
            ("AZURE_ENDPOINT", format!("{}/{account}", network.address())),
        ];
        Some(Self { store: "az://profiles/stores/one", variables, _server: server, network })
    }

    fn output(&self, arguments: &[&str]) -> Output {
        let mut run = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        run.args(arguments).envs(variables).stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Adds the files of other tools.
    fn add(&self) {
        for (file, service, time) in of_tools() {
            let label = format!("service={service}");
            let file = file.to_str().unwrap();
            self.run(&["store", "add", self.store, "--label", &label, "--time", time, file]);
        }
    }

    #[track_caller]
    fn sums(&self) -> Sums {
        let rows: Vec<Value> =
            serde_json::from_str(&self.run(&["sql", self.store, SUMS, "--json"])).unwrap();
        sums(&rows)
    }
}

/// What happens to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// An answer takes a while.
    Slow,
    /// Two of three requests are too many.
    Limits,
    /// Every request is refused.
    Refuses,
    /// Lists of folders with data do not have the files yet.
    ListsLate,
    /// Answers with files end in the middle.
    Cuts,
}

/// A proxy between a client and a service, which sees each request on a connection of its own.
struct Network {
    port: u16,
    fault: Arc<Mutex<Fault>>,
}

impl Network {
    fn start(service: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let fault = Arc::new(Mutex::new(Fault::Nothing));
        let known = Arc::clone(&fault);
        thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                let fault = *known.lock().unwrap();
                // A client may leave at any time.
                thread::spawn(move || client.and_then(|it| pass(it, service, fault, number)));
            }
        });
        Self { port, fault }
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }
}

/// Passes a request on, and its answer back.
fn pass(client: TcpStream, service: u16, fault: Fault, number: usize) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let Some((mut head, body)) = message(&mut reader)? else { return Ok(()) };
    let refused = |status: &str, code: &str| {
        let body = format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>");
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
    };
    match fault {
        Fault::Limits if !number.is_multiple_of(3) => {
            return (&client).write_all(refused("503 Slow Down", "SlowDown").as_bytes());
        }
        Fault::Refuses => {
            return (&client).write_all(refused("403 Forbidden", "AccessDenied").as_bytes());
        }
        Fault::Slow => thread::sleep(Duration::from_millis(200)),
        _ => {}
    }
    let request = head[0].clone();
    // Without an account, Google's clients have an empty name.
    head.retain(|line| {
        let line = line.to_ascii_lowercase();
        !line.starts_with("connection:") && line.trim_end() != "authorization: bearer"
    });
    // Google's condition that there is no such object, as S3 has it.
    for line in &mut head {
        if line.eq_ignore_ascii_case("x-goog-if-generation-match: 0") {
            "if-none-match: *".clone_into(line);
        }
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", service))?;
    write!(upstream, "{}\r\nconnection: close\r\n\r\n", head.join("\r\n"))?;
    upstream.write_all(&body)?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    let is_data = request.contains("samples") || request.contains("stacks");
    match fault {
        Fault::ListsLate if request.contains("list-type=2") && is_data => {
            answer = without_files(&answer[..end], &answer[end..]);
        }
        Fault::Cuts if request.starts_with("GET") && request.contains(".parquet") => {
            answer.truncate(end + (answer.len() - end) / 2);
        }
        _ => {}
    }
    (&client).write_all(&answer)
}

/// The lines of the head of a message, and its body; `None` at the end.
fn message(reader: &mut impl BufRead) -> io::Result<Option<(Vec<String>, Vec<u8>)>> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some((head, body)))
}

/// A list of a bucket without its files.
fn without_files(head: &[u8], body: &[u8]) -> Vec<u8> {
    let body = String::from_utf8_lossy(body);
    let mut parts = body.split("<Contents>");
    let begin = parts.next().unwrap_or_default();
    let end = body.rsplit_once("</Contents>").map_or("", |it| it.1);
    let body = format!("{begin}{end}");
    let head = String::from_utf8_lossy(head);
    let head = head.lines().filter(|it| !it.to_ascii_lowercase().starts_with("content-length"));
    let head: Vec<_> = head.filter(|it| !it.is_empty()).collect();
    format!("{}\r\ncontent-length: {}\r\n\r\n{body}", head.join("\r\n"), body.len()).into_bytes()
}

/// Does with the store of a bucket what is done with stores.
#[track_caller]
fn has_a_store(bucket: &Bucket) {
    let store = bucket.store;
    bucket.add();
    let of_folder = sums(&StoreFolder::of_tools().rows(SUMS));
    assert_eq!(bucket.sums(), of_folder);
    bucket.add();
    assert_eq!(bucket.sums(), of_folder);
    assert!(bucket.run(&["store", "compact", store]).starts_with("hours compacted: 1"));
    assert_eq!(bucket.sums(), of_folder);
    assert!(bucket.run(&["store", "check", store]).starts_with("whole: 3 pieces"));
    let expired = bucket.run(&["store", "expire", store, "--older-than", "1h"]);
    assert!(expired.starts_with("dates removed: 3"), "{expired}");
}

#[test]
fn a_bucket_of_s3_has_a_store() {
    Bucket::of_s3().iter().for_each(has_a_store);
}

#[test]
fn a_bucket_of_google_has_a_store() {
    Bucket::of_google().iter().for_each(has_a_store);
}

#[test]
fn a_container_of_azure_has_a_store() {
    Bucket::of_azure().iter().for_each(has_a_store);
}

#[test]
fn a_bucket_that_is_slow_limits_and_lists_late_is_read_and_written() {
    let Some(bucket) = Bucket::of_s3() else { return };
    bucket.network.set(Fault::Limits);
    bucket.add();
    let of_folder = sums(&StoreFolder::of_tools().rows(SUMS));
    for fault in [Fault::Limits, Fault::Slow, Fault::ListsLate] {
        bucket.network.set(fault);
        assert_eq!(bucket.sums(), of_folder, "{fault:?}");
    }
    bucket.network.set(Fault::ListsLate);
    let methods = "SELECT count(*) AS count FROM methods";
    let late = bucket.run(&["sql", bucket.store, methods, "--json"]);
    bucket.network.set(Fault::Limits);
    assert!(bucket.run(&["store", "compact", bucket.store]).starts_with("hours compacted: 1"));
    assert_eq!(bucket.sums(), of_folder);
    bucket.network.set(Fault::Nothing);
    assert_eq!(bucket.run(&["sql", bucket.store, methods, "--json"]), late);
    assert!(bucket.run(&["store", "check", bucket.store]).starts_with("whole: 3 pieces"));
}

#[test]
fn a_bucket_that_refuses_or_cuts_answers_is_one_line() {
    let Some(bucket) = Bucket::of_s3() else { return };
    bucket.add();
    for (fault, words) in [(Fault::Refuses, "AccessDenied"), (Fault::Cuts, ".parquet")] {
        bucket.network.set(fault);
        let output = bucket.output(&["sql", bucket.store, SUMS]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{fault:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains(words), "{fault:?}: {said}");
        assert_eq!(output.stdout, b"");
    }
}
