//! The control socket: requests to the agent of a running program ([`perk_control::remote`]).
//!
//! A thread of the agent's own, of which the JVM does not know, sleeps until somebody connects, and looks
//! at the clocks of threads now and then. It is a thread of the JVM's only while it obeys a request, and its events are not the program's. A recording
//! that was begun by `lease` or `watch` ends when its connection is lost, or the option `grace` later.

mod socket;

use std::ffi::CStr;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use perk_control::remote::{Answer, Request, field};
use perk_jvm::guard::{Feature, contain};
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Vm};

use crate::output::Watcher;
use crate::threads;

/// The time for which a peer may leave the agent waiting.
const PEER_TIMEOUT: Duration = Duration::from_secs(5);
/// The time after an error of the socket itself, such as too many open files.
const REST: Duration = Duration::from_secs(1);
/// The time between two ticks.
const PERIOD: Duration = Duration::from_millis(500);
/// The name of the thread while it is one of the JVM's.
const THREAD: &CStr = c"perk control";
/// The bytes of the thread's stack.
const STACK_BYTES: usize = 512 << 10;

/// Obeys a request, with the connection that a recording can be sent over. Returns its answer.
type RequestHandler = fn(Jni<'_>, &Request, Option<&Arc<Watcher>>) -> Answer;

/// Does the work that recurs without a request.
type Tick = fn();

static OBEDIENT: OnceLock<RequestHandler> = OnceLock::new();
static TICK: OnceLock<Tick> = OnceLock::new();
/// Held while a request is obeyed.
static OBEYING: Mutex<()> = Mutex::new(());
/// The path of the socket that is open.
static OPEN: Mutex<Option<PathBuf>> = Mutex::new(None);
/// What the current recording ends with, if it is something.
static LEASE: Mutex<Option<Lease>> = Mutex::new(None);

/// What a recording ends with.
#[derive(Clone, Debug)]
enum Lease {
    /// A connection, or its end and this time.
    Held(Arc<UnixStream>, Option<Duration>),
    /// A moment, unless a connection takes the recording over.
    Lost(Instant),
}

impl Lease {
    fn connection(&self) -> Option<&Arc<UnixStream>> {
        match self {
            Self::Held(connection, _) => Some(connection),
            Self::Lost(_) => None,
        }
    }
}

/// Sets the function that obeys, and that which is called at each [`PERIOD`] without a request, once.
pub(crate) fn set_duties(obedient: RequestHandler, tick: Tick) {
    let _ = OBEDIENT.set(obedient);
    let _ = TICK.set(tick);
}

/// Obeys a request on the calling thread, which is one of the JVM's, after those that came before it.
pub(crate) fn obey(jni: Jni<'_>, request: &Request) -> Answer {
    alone(|| obey_alone(jni, request, None))
}

fn obey_alone(jni: Jni<'_>, request: &Request, watcher: Option<&Arc<Watcher>>) -> Answer {
    match OBEDIENT.get() {
        Some(obey) => obey(jni, request, watcher),
        None => Answer::error("the agent has not been loaded"),
    }
}

/// Runs `body` while no request is obeyed.
pub(crate) fn alone<T>(body: impl FnOnce() -> T) -> T {
    let _alone = lock(&OBEYING);
    body()
}

/// Closes the connection that the recording was to end with: it has ended.
pub(crate) fn end_lease() {
    let lease = lock(&LEASE).take();
    if let Some(connection) = lease.as_ref().and_then(Lease::connection) {
        // This wakes the control thread, too.
        let _ = connection.shutdown(Shutdown::Both);
    }
}

/// Opens the control socket, at `path` or where this user's sockets are. One that is open stays.
///
/// # Errors
/// The reason why there is none, in one line.
pub(crate) fn open(vm: Vm, path: Option<PathBuf>) -> Result<(), String> {
    let mut open = lock(&OPEN);
    if open.is_some() {
        return Ok(());
    }
    let (listener, path) = socket::bind(path)?;
    let serve = move || serve(&listener, vm);
    let thread =
        std::thread::Builder::new().name("perk control".to_owned()).stack_size(STACK_BYTES);
    let started = os::without_signals(|| thread.spawn(serve));
    started.map_err(|error| format!("no thread for the control socket: {error}"))?;
    *open = Some(path);
    os::at_exit(close);
    Ok(())
}

/// Removes the socket: the process ends.
extern "C" fn close() {
    if let Some(path) = lock(&OPEN).take() {
        let _ = std::fs::remove_file(path);
    }
}

/// Obeys requests, one at a time, and ends the recording whose connection is lost.
fn serve(listener: &UnixListener, vm: Vm) {
    threads::become_own();
    loop {
        let lease = lock(&LEASE).clone();
        if matches!(lease, Some(Lease::Lost(until)) if until <= Instant::now()) {
            contain(Feature::Commands, || end_recording(vm));
            end_lease();
            continue;
        }
        let connection = lease.as_ref().and_then(Lease::connection);
        match os::wait_for_peers(listener.as_fd(), connection.map(|it| it.as_fd()), PERIOD) {
            Ok((false, false)) => contain(Feature::Commands, || {
                if let Some(tick) = TICK.get() {
                    tick();
                }
            }),
            Ok((_, true)) => match &lease {
                Some(Lease::Held(lost, Some(grace))) => lose(lost, *grace),
                _ => {
                    contain(Feature::Commands, || end_recording(vm));
                    end_lease();
                }
            },
            Ok(_) => match listener.accept() {
                Ok((peer, _)) => contain(Feature::Commands, || {
                    // A peer that does not read its answer has given up.
                    let _ = answer(peer, vm);
                }),
                Err(error) => rest(&error),
            },
            Err(error) => rest(&error),
        }
    }
}

/// Notes that the connection of a recording is lost, which then ends after `grace`.
fn lose(connection: &Arc<UnixStream>, grace: Duration) {
    let _ = connection.shutdown(Shutdown::Both);
    let mut lease = lock(&LEASE);
    // The recording may have ended meanwhile.
    if lease.as_ref().and_then(Lease::connection).is_some_and(|it| Arc::ptr_eq(it, connection)) {
        *lease = Some(Lease::Lost(Instant::now() + grace));
    }
}

/// Whether a connection holds the recording.
fn is_held() -> bool {
    lock(&LEASE).as_ref().and_then(Lease::connection).is_some()
}

/// Waits after an error of a socket.
fn rest(error: &io::Error) {
    if error.kind() != io::ErrorKind::Interrupted {
        std::thread::sleep(REST);
    }
}

/// Ends the recording whose connection is lost, unless it has ended meanwhile.
fn end_recording(vm: Vm) {
    vm.attached(THREAD, |jni| {
        alone(|| {
            if lock(&LEASE).is_some() {
                obey_alone(jni, &Request::Stop, None);
            }
        });
    });
}

fn answer(peer: UnixStream, vm: Vm) -> io::Result<()> {
    peer.set_read_timeout(Some(PEER_TIMEOUT))?;
    peer.set_write_timeout(Some(PEER_TIMEOUT))?;
    let may_ask = os::peer_user(&peer).is_some_and(|user| [0, os::user_id()].contains(&user));
    if !may_ask {
        return Answer::error("only the user of the JVM may ask").write(&peer);
    }
    let peer = Arc::new(peer);
    let watcher = Watcher::new(Arc::clone(&peer));
    let answer = match Request::read(&*peer) {
        Ok(Some(request)) => {
            let mut answer = Answer::error("the JVM is ending");
            vm.attached(THREAD, |jni| {
                alone(|| {
                    if request == Request::Hold && is_held() {
                        answer = Answer::error("another perk holds the recording");
                        return;
                    }
                    answer = obey_alone(jni, &request, Some(&watcher));
                    let has_lease =
                        matches!(request, Request::Lease(_) | Request::Watch(_) | Request::Hold);
                    if has_lease && answer.result.is_ok() {
                        let grace = answer.get(field::GRACE_MS).and_then(|it| it.parse().ok());
                        let grace = grace.map(Duration::from_millis);
                        *lock(&LEASE) = Some(Lease::Held(Arc::clone(&peer), grace));
                    }
                });
            });
            answer
        }
        Ok(None) => return Ok(()),
        Err(error) => Answer::error(error),
    };
    answer.write(&*peer)?;
    watcher.answered();
    Ok(())
}
