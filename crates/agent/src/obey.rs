//! The effects of the requests that come over the control socket, or from the program itself.

use std::sync::Arc;

use perk_control::remote::{AgentState, Answer, PROTOCOL, Request, field};
use perk_jvm::Jni;
use perk_jvmpi as jvmpi;

use crate::common::Life;
use crate::load;
use crate::output::Watcher;
use crate::remote;
use crate::session::Session;

/// Obeys a request, which a recording for `watcher` is sent to if it asks for that. Returns its answer.
pub(crate) fn obey(jni: Jni<'_>, request: &Request, watcher: Option<&Arc<Watcher>>) -> Answer {
    match request {
        Request::Status => status(),
        _ if jvmpi::is_loaded() => jvmpi_request(request),
        Request::Start(Some(options)) | Request::Lease(options) => start(jni, options, None),
        Request::Watch(options) => start(jni, options, watcher.cloned()),
        Request::Start(None) => resume(jni),
        Request::Hold => with_session(hold),
        Request::Stop => stop(jni),
        Request::Dump => with_session(|session| {
            session.dump();
            of_file(session)
        }),
        Request::Reset => with_session(|session| match session.reset() {
            Ok(()) => Answer::ok(),
            Err(reason) => Answer::error(reason),
        }),
    }
}

/// Does the work that recurs without a request: looks at the clocks of threads.
pub(crate) fn tick() {
    if let Some(session) = Session::current() {
        session.tick();
    }
}

fn with_session(body: impl FnOnce(&'static Session) -> Answer) -> Answer {
    match Session::current() {
        Some(session) => body(session),
        None => Answer::error("nothing is measured here: start a recording first"),
    }
}

/// Returns the answer that has the file of a recording, unless that is lost.
fn of_file(session: &Session) -> Answer {
    match session.file() {
        Ok(file) => with_grace(Answer::ok().with(field::FILE, file), session),
        Err(reason) => Answer::error(reason),
    }
}

/// Adds the time for which the recording continues without a connection, if it does.
fn with_grace(answer: Answer, session: &Session) -> Answer {
    match session.common().options.grace_ns {
        Some(grace_ns) => answer.with(field::GRACE_MS, grace_ns / 1_000_000),
        None => answer,
    }
}

/// Lets a connection take over the recording. A file that is lost is not the last one.
fn hold(session: &'static Session) -> Answer {
    match session.common().life {
        Life::Attached => with_grace(Answer::ok(), session),
        Life::Program => Answer::error("the recording is that of the command line"),
    }
}

fn start(jni: Jni<'_>, options: &str, watcher: Option<Arc<Watcher>>) -> Answer {
    if let Some(session) = Session::current() {
        if session.has_ended() {
            return Answer::error(
                "the recording of the command line has ended, and there is no other",
            );
        }
        let options = &session.common().options.raw;
        return Answer::error(format!("a recording is under way ({options}): stop it first"));
    }
    let is_watched = watcher.is_some();
    match load::start(jni, options, watcher) {
        Ok(_) if is_watched => Answer::ok(),
        Ok(session) => of_file(session),
        Err(answer) => answer,
    }
}

fn resume(jni: Jni<'_>) -> Answer {
    match Session::current() {
        None => Answer::error("nothing is paused: give the options of a recording"),
        Some(session) => match session.resume(jni) {
            Ok(()) => of_file(session),
            Err(reason) => Answer::error(reason),
        },
    }
}

fn stop(jni: Jni<'_>) -> Answer {
    with_session(|session| match session.common().life {
        Life::Attached => {
            load::stop(jni, session);
            remote::end_lease();
            of_file(session)
        }
        Life::Program => match session.pause(jni) {
            Ok(()) => of_file(session),
            Err(reason) => Answer::error(reason),
        },
    })
}

/// Passes a request to the profiler of JVMPI that this JVM has.
fn jvmpi_request(request: &Request) -> Answer {
    match request {
        Request::Dump | Request::Reset if jvmpi::request(request.verb().name().as_bytes()) => {
            Answer::ok()
        }
        _ => Answer::error("this JVM has a profiler of JVMPI, which takes dump and reset"),
    }
}

fn status() -> Answer {
    let state = match Session::current() {
        None => AgentState::Idle,
        Some(session) if session.has_ended() => AgentState::Idle,
        Some(session) if session.is_paused() => AgentState::Paused,
        Some(_) => AgentState::Recording,
    };
    let mut answer = Answer::ok()
        .with(field::PERK, env!("CARGO_PKG_VERSION"))
        .with(field::PROTOCOL, PROTOCOL)
        .with(field::PID, std::process::id())
        .with(field::STATE, state);
    if jvmpi::is_loaded() {
        answer = answer.with(field::PROFILER, "jvmpi");
    }
    let Some(session) = Session::current() else { return answer };
    answer = answer.with(field::OPTIONS, &session.common().options.raw);
    if let Some(jvm) = session.jvm() {
        answer = answer.with(field::JVM, jvm);
    }
    if let Ok(file) = session.file() {
        answer = answer.with(field::FILE, file);
    }
    match session.elapsed() {
        Some(elapsed) => answer.with(field::ELAPSED_MS, elapsed.as_millis()),
        None => answer,
    }
}
