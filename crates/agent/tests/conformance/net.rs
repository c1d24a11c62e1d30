//! Runs with `net`: the recorded commands are sent again, and the stream is compared like a file.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use perk_testkit::Jdk;
use perk_testkit::hprof::Recording;

use crate::case::{Case, Exchange};
use crate::compare;
use crate::differences::Findings;
use crate::run;

/// The file that holds the data that a recorded agent sent.
const STREAM: &str = "stream.bin";
/// The time that the program runs before the first command.
const BEFORE_COMMANDS: Duration = Duration::from_millis(700);
/// The time without data after which an answer is whole.
const QUIET: Duration = Duration::from_millis(300);
/// The limit of the time that an agent takes to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);

/// Repeats a recorded session and compares.
pub(crate) fn compare(jdk: &Jdk, case: &Case, found: &mut Findings<'_>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    // The port differed at each recording.
    let options = case.command.agent_options()[0];
    let (before, after) = options.split_once("net=").expect("a session has net=");
    let after = after.split_once(',').map_or(String::new(), |(_, rest)| format!(",{rest}"));
    let options = format!("{before}net=127.0.0.1:{port}{after}");
    let mut running = run::without_agent(jdk, case).agentlib_hprof().agent(&options).spawn();
    listener.set_nonblocking(true).expect("a listener that does not wait");
    let deadline = Instant::now() + CONNECT_LIMIT;
    let stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {
                running.wait_until("a moment", |_| true);
                sleep(Duration::from_millis(5));
            }
            Err(error) => return found.fault(format!("nobody connects: {error}")),
        }
    };
    let exchanges = case.session.as_deref().unwrap_or_default();
    let bytes = session(stream, exchanges).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let outcome = running.wait();
    if is_fatal(case) {
        // Whatever a client sends, the program continues.
        found.equal("exit code", outcome.code(), Some(0));
        return found.differs("net-commands", || "the original ends the program".to_owned());
    }
    compare::ending(jdk, case, &outcome, found);
    let (perk, original) = (Recording::read(&bytes), case.files.get(STREAM));
    match (perk, original.map(|bytes| Recording::read(bytes))) {
        (Ok(perk), Some(Ok(original))) => {
            compare::sections::compare(case, &perk, &original, None, found);
        }
        (Err(what), _) => found.fault(format!("the stream: {what}")),
        (_, Some(Err(what))) => found.fault(format!("the recorded stream: {what}")),
        (Ok(_), None) => {}
    }
}

/// Whether the original ended the program because of the data it was sent.
fn is_fatal(case: &Case) -> bool {
    let stderr = &case.command.stderr;
    stderr.contains("failed to recognize cmd") || stderr.contains("HPROF TERMINATED PROCESS")
}

/// Sends the commands. Returns all data up to the end of the stream.
fn session(mut stream: TcpStream, exchanges: &[Exchange]) -> std::io::Result<Vec<u8>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(QUIET))?;
    let mut bytes = Vec::new();
    sleep(BEFORE_COMMANDS);
    for exchange in exchanges {
        if stream.write_all(&exchange.command).is_err() {
            break;
        }
        read_until_quiet(&mut stream, &mut bytes)?;
    }
    stream.set_read_timeout(None)?;
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error),
        _ => Ok(bytes),
    }
}

fn read_until_quiet(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let mut buffer = [0; 1 << 16];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) => {
                let is_quiet = [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind());
                return if is_quiet { Ok(()) } else { Err(error) };
            }
        }
    }
}
