//! The control socket of the agent in a JVM.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use perk_analysis::near;
use perk_control::remote::{Answer, AnswerError, PROTOCOL, Request, field, socket_name};

use perk_profile::NamePattern;
use perk_report::words::did_you_mean;

use crate::inside::{JvmFolder, bases};
use crate::jvms::Jvm;
use crate::socket::{self, Deadline, TimedStream};

/// The names in the program that are near to the one of the options that nothing there has.
fn near(answer: &Answer) -> Vec<String> {
    let Some(wanted) = answer.get(field::UNMATCHED) else { return Vec::new() };
    let all: Vec<_> =
        answer.all(field::NAMES).flat_map(|names| names.split(field::SEPARATOR)).collect();
    let is_of_threads = answer.result.as_ref().is_err_and(|text| text.contains("no thread"));
    match NamePattern::new(wanted).filter(|_| !is_of_threads) {
        Some(pattern) => near::of(
            &pattern,
            all.iter().map(|name| match name.split_once('#') {
                Some((class, method)) => (class, Some(method)),
                None => (*name, None),
            }),
        ),
        None => near::texts(wanted, all),
    }
}

/// The time in which an agent obeys: it may have a large file to write.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The control socket of a JVM's agent.
#[derive(Debug)]
pub struct Control<'a> {
    jvm: &'a Jvm,
    folder: JvmFolder,
    name: String,
}

impl<'a> Control<'a> {
    /// The socket of the JVM's agent; `None` if there is no agent.
    pub fn of(jvm: &'a Jvm) -> Option<Self> {
        let name = socket_name(jvm.status.inner_pid);
        let folders = bases(jvm).into_iter().filter_map(|base| JvmFolder::open(jvm, &base).ok());
        let mut folders = folders.filter(|folder| {
            let is_there = folder.act(|| fs::symlink_metadata(folder.path(&name)).is_ok());
            // The socket of an earlier process may exist as well, without a listener.
            let deadline = Deadline::after(Duration::from_secs(1));
            is_there.unwrap_or(false)
                && !matches!(socket::to(jvm, folder, &name, deadline), Ok(None))
        });
        folders.next().map(|folder| Self { jvm, folder, name })
    }

    /// Sends a request, and returns the answer to it.
    ///
    /// # Errors
    /// The agent cannot be reached, or does not answer in time. An answer may be an error as well.
    pub fn ask(&self, request: &Request, patience: Duration) -> anyhow::Result<Answer> {
        self.talk(request, patience).map(|(answer, _)| answer)
    }

    /// As [`Control::ask`]. Returns the connection, too.
    fn talk(&self, request: &Request, patience: Duration) -> anyhow::Result<(Answer, UnixStream)> {
        let title = self.jvm.title();
        let cannot = || format!("cannot ask the agent in {title}");
        let deadline = Deadline::after(patience);
        let stream = socket::to(self.jvm, &self.folder, &self.name, deadline);
        let stream = stream.with_context(cannot)?.with_context(|| format!("{title} has ended"))?;
        let mut stream = TimedStream { stream, deadline };
        request.write(&mut stream).with_context(cannot)?;
        let answer = Answer::read(&mut stream).map_err(|error| match error {
            AnswerError::Io(error) if error.kind() == io::ErrorKind::TimedOut => anyhow!(
                "the agent in {title} does not answer within {} s: the JVM may be stopped or \
                 overloaded",
                patience.as_secs()
            ),
            AnswerError::Io(_) | AnswerError::Cut if self.jvm.process.is_gone() => {
                anyhow!("{title} has ended")
            }
            error => anyhow!(error).context(cannot()),
        })?;
        Ok((answer, stream.stream))
    }

    /// As [`Control::ask`], where an answer that is an error is one.
    pub fn obey(&self, request: &Request, patience: Duration) -> anyhow::Result<Answer> {
        self.obeyed(self.ask(request, patience)?)
    }

    /// Begins a recording that ends with the connection, which this returns. The agent closes it when
    /// the recording has ended for another reason.
    ///
    /// # Errors
    /// As those of [`Control::obey`].
    pub fn lease(&self, options: String, patience: Duration) -> anyhow::Result<UnixStream> {
        let (answer, connection) = self.talk(&Request::Lease(options), patience)?;
        self.obeyed(answer).map(|_| connection)
    }

    /// Takes over the recording that is under way: it ends with the connection, which this returns.
    ///
    /// # Errors
    /// As those of [`Control::obey`].
    pub fn hold(&self, patience: Duration) -> anyhow::Result<UnixStream> {
        let (answer, connection) = self.talk(&Request::Hold, patience)?;
        self.obeyed(answer).map(|_| connection)
    }

    /// Begins a recording that the agent sends over the connection, which this returns.
    ///
    /// # Errors
    /// As those of [`Control::obey`].
    pub fn watch(&self, options: String, patience: Duration) -> anyhow::Result<UnixStream> {
        let (answer, connection) = self.talk(&Request::Watch(options), patience)?;
        self.obeyed(answer)?;
        connection.set_read_timeout(None)?;
        Ok(connection)
    }

    fn obeyed(&self, answer: Answer) -> anyhow::Result<Answer> {
        match &answer.result {
            Ok(()) => Ok(answer),
            Err(text) => bail!("{}: {text}{}", self.jvm.title(), did_you_mean(&near(&answer))),
        }
    }

    /// Fails if the agent speaks another language.
    pub fn check(&self, patience: Duration) -> anyhow::Result<()> {
        let answer = self.obey(&Request::Status, patience)?;
        match answer.get(field::PROTOCOL) {
            Some(version) if version == PROTOCOL.to_string() => Ok(()),
            _ => bail!(
                "{} has the agent of perk {}, which perk {} cannot talk to: use that version",
                self.jvm.title(),
                answer.get(field::PERK).unwrap_or("of another version"),
                env!("CARGO_PKG_VERSION")
            ),
        }
    }
}
