//! The file of the profile, or the socket in its place: opened at load, begun at VMInit, closed for good
//! once it is finished or has failed.

use std::io;
use std::mem;
use std::time::Instant;

use perk_control::messages::DumpPart;
use perk_control::options::{Options, OutputFormat};
use perk_hprof::{BinaryForm, IdSize, Version, Writer};
use perk_jvm::os;
use perk_profile::Profile;

use crate::output::Output;

/// The file; see the module.
#[derive(Debug)]
pub(super) struct ProfileFile {
    state: State,
    /// The name of the file, or the reason why it is lost.
    outcome: Result<String, String>,
    content: Content,
    /// Whether it is one of several: one that is lost has a number that is missing, and nothing is said in the
    /// program's output.
    is_part: bool,
    begun: Instant,
    /// The same moment by the clock of [`os::nano_time`].
    begun_ns: u64,
}

#[derive(Debug)]
enum State {
    Opened(Output),
    Begun(Box<Writer<Output>>),
    /// It has neither a header nor records.
    Plain(Output),
    Closed,
}

/// What the file holds.
#[derive(Clone, Copy, Debug)]
enum Content {
    Records(perk_hprof::Format),
    /// Records of HPROF's binary format, in one of its forms.
    Binary(BinaryForm),
    /// JamaicaVM's profile.
    Jamaica,
}

impl Content {
    fn of(options: &Options) -> Self {
        // The table of `cpu=old` is the whole output if nothing else can be in it.
        let is_table = DumpPart::of(options).eq([DumpPart::Old]) && !options.has_peer();
        match options.format {
            _ if options.jamaica.is_some() => Self::Jamaica,
            OutputFormat::Extended => Self::Records(perk_hprof::Format::Extended),
            OutputFormat::Ascii if is_table => Self::Records(perk_hprof::Format::Old),
            OutputFormat::Ascii => Self::Records(perk_hprof::Format::Ascii),
            OutputFormat::Binary => Self::Binary(BinaryForm {
                id_size: if options.short_ids { IdSize::Four } else { IdSize::Eight },
                version: if options.version_1_0_1 { Version::V1_0_1 } else { Version::V1_0_2 },
            }),
        }
    }
}

impl ProfileFile {
    pub(super) fn new(options: &Options, output: Option<Output>) -> Self {
        Self {
            outcome: output.as_ref().map(Output::name).ok_or_else(|| "there is no file".to_owned()),
            state: output.map_or(State::Closed, State::Opened),
            content: Content::of(options),
            is_part: options.every_ns.is_some(),
            begun: Instant::now(),
            begun_ns: os::nano_time(),
        }
    }

    /// Returns a closed file with the outcome of this one.
    pub(super) fn ended(&self, options: &Options) -> Self {
        Self { outcome: self.outcome.clone(), ..Self::new(options, None) }
    }

    /// Notes that the recording begins now.
    pub(super) fn start(&mut self) {
        self.begun = Instant::now();
        self.begun_ns = os::nano_time();
    }

    /// Writes the header.
    pub(super) fn begin(&mut self, profile: &Profile) {
        let State::Opened(output) = mem::replace(&mut self.state, State::Closed) else { return };
        let name = output.name();
        let begun = match self.content {
            Content::Jamaica => return self.state = State::Plain(output),
            Content::Records(format) => Writer::begin(output, format, profile),
            Content::Binary(form) => Writer::begin_binary(output, form, profile),
        };
        match begun {
            Ok(writer) => self.state = State::Begun(Box::new(writer)),
            Err(error) => {
                self.outcome = Err(format!("can't write {name}: {error}"));
                if !self.is_part {
                    cannot_write(&name, &error, None);
                }
            }
        }
    }

    /// Returns the name, or the reason why the file is lost.
    pub(super) fn outcome(&self) -> Result<String, String> {
        self.outcome.clone()
    }

    pub(super) fn begun(&self) -> Instant {
        self.begun
    }

    pub(super) fn begun_ns(&self) -> u64 {
        self.begun_ns
    }

    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.state, State::Opened(_))
    }

    pub(super) fn is_begun(&self) -> bool {
        matches!(self.state, State::Begun(_) | State::Plain(_))
    }

    /// Returns the number of paths of a source that it has; `None` if it has no records.
    pub(super) fn path_count(&self, source: u64) -> Option<usize> {
        match &self.state {
            State::Begun(writer) => Some(writer.path_count(source)),
            _ => None,
        }
    }

    /// Returns a writer that continues in a copy of the records so far.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn fork(&mut self) -> io::Result<Option<Writer<Output>>> {
        let State::Begun(writer) = &mut self.state else { return Ok(None) };
        let Some(copy) = writer.out().copy()? else { return Ok(None) };
        Ok(writer.fork(copy))
    }

    /// Writes records.
    pub(super) fn write(&mut self, body: impl FnOnce(&mut Writer<Output>) -> io::Result<()>) {
        let State::Begun(writer) = &mut self.state else { return };
        writer.set_elapsed_us(self.begun.elapsed().as_micros() as u64);
        let written = body(writer);
        if let Err(error) = written.and_then(|()| writer.out().rest()) {
            self.lose(&error);
        }
    }

    /// Writes to a file without records.
    pub(super) fn write_plain(&mut self, body: impl FnOnce(&mut Output) -> io::Result<()>) {
        if let State::Plain(output) = &mut self.state
            && let Err(error) = body(output).and_then(|()| output.rest())
        {
            self.lose(&error);
        }
    }

    /// Shows what was written so far under the file's name.
    pub(super) fn publish(&mut self) {
        self.write(|writer| writer.out().publish());
        self.write_plain(Output::publish);
    }

    /// Waits for a slow peer from now on.
    pub(super) fn be_patient(&mut self) {
        if let State::Begun(writer) = &mut self.state {
            writer.out().set_patient(true);
        }
    }

    /// Gives it its name, and closes it.
    pub(super) fn finish(&mut self) {
        self.write(|writer| writer.out().finish());
        self.write_plain(Output::finish);
        self.state = State::Closed;
    }

    /// Removes a file that was opened but never begun.
    pub(super) fn discard_unbegun(&mut self) {
        if let State::Opened(output) = &self.state {
            output.discard();
            self.state = State::Closed;
        }
    }

    /// Reports that the output cannot be written, and closes it.
    fn lose(&mut self, error: &io::Error) {
        let is_part = self.is_part;
        let mut lose = |output: &Output| {
            self.outcome = Err(format!("can't write {}: {error}", output.name()));
            if is_part {
                return output.discard();
            }
            let part = output.part().map(|part| part.display().to_string());
            cannot_write(&output.name(), error, part);
        };
        match mem::replace(&mut self.state, State::Closed) {
            State::Begun(mut writer) => lose(writer.out()),
            State::Plain(output) => lose(&output),
            State::Opened(_) | State::Closed => {}
        }
    }
}

/// Prints one line on stderr; the program continues without a profile.
pub(crate) fn cannot_write(name: &str, error: &io::Error, part: Option<String>) {
    // The code that lost the connection has already reported it.
    if error.kind() == io::ErrorKind::NotConnected {
        return;
    }
    let kept = part.map_or(String::new(), |part| format!("; the part written is in {part}"));
    os::say(&format!("HPROF ERROR: can't write profile file: {name}: {error}{kept}\n"));
}
