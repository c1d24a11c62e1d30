//! Requests to the agent in a running JVM: `perk start`, `stop`, `dump`, `reset` and `status`.

use std::io::{Write, stdout};
use std::process::ExitCode;

use anyhow::bail;
use perk_attach::jvms::find;
use perk_attach::{Control, PATIENCE, load_agent, may_ask};
use perk_control::remote::Request;

use crate::args::RemoteArgs;

/// Sends a request of the command line, and prints the fields of the answer.
pub(crate) fn send(args: &RemoteArgs, request: &Request) -> anyhow::Result<ExitCode> {
    let jvm = find(&args.jvm)?;
    may_ask(&jvm)?;
    let control = match (Control::of(&jvm), request) {
        (Some(control), _) => control,
        (None, Request::Start(_)) => load_agent(&jvm, args.timeout)?,
        (None, _) => bail!(
            "perk is not in {}: perk attach {pid} or perk start {pid} loads it",
            jvm.title(),
            pid = jvm.process.pid
        ),
    };
    let patience = if *request == Request::Status { args.timeout } else { PATIENCE };
    let answer = control.obey(request, patience)?;
    let mut out = stdout().lock();
    for (name, value) in &answer.fields {
        writeln!(out, "{name}={value}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
