//! Running JVMs: the part of the recording that a question is about.

use std::sync::Arc;

use anyhow::Context;
use perk_live::{End, Jvm, JvmState, LiveRecording, Range, Stretch};
use perk_open::Input;
use perk_profile::Timestamp;
use perk_report::parse;

use crate::fault::Fault;
use crate::question::Question;
use crate::recording_store::PartDetail;
use crate::sources::{Origin, Source};

/// A running JVM and its recording.
#[derive(Clone)]
pub struct LiveSource {
    /// The recording.
    pub recording: Arc<LiveRecording>,
    /// The JVM.
    pub jvm: Arc<dyn Jvm>,
    /// The number of files and folders that are listed before it.
    pub place: usize,
}

impl std::fmt::Debug for LiveSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveSource").field("recording", &self.recording).finish_non_exhaustive()
    }
}

impl LiveSource {
    /// Whether it is recorded, in a word.
    pub(crate) fn state(&self) -> &'static str {
        match (self.recording.end(), self.jvm.state()) {
            (Some(_), JvmState::Ended(_)) => "ended",
            (Some(End::Ended), _) => "finished",
            (Some(End::Lost(_)), _) => "lost",
            (None, JvmState::Stopped) => "stopped",
            (None, _) => "live",
        }
    }
}

/// A part of the recording of a running JVM.
#[derive(Clone, Debug)]
pub(crate) struct LiveMoment {
    pub(crate) source: LiveSource,
    pub(crate) stretch: Stretch,
}

impl LiveMoment {
    /// All that was recorded so far.
    pub(crate) fn whole(source: &LiveSource) -> Self {
        let to_ns = source.recording.progress().end_ns;
        Self { source: source.clone(), stretch: Stretch { from_ns: 0, to_ns } }
    }

    /// The profile of the part.
    pub(crate) fn input(&self) -> anyhow::Result<Input> {
        let recording = &self.source.recording;
        let mut profile = recording.moment(self.stretch)?.profile;
        let utc_offset_s = profile.accounting.as_ref().map_or(0, |it| it.utc_offset_s);
        let begun_unix_ms = recording.progress().begun_unix_ms;
        profile.created = Some(Timestamp {
            unix_ms: begun_unix_ms + self.stretch.from_ns / 1_000_000,
            utc_offset_s,
        });
        let format = perk_formats::by_name("hprof").context("the format of recordings")?;
        Ok(Input { format, profile })
    }
}

impl Source {
    /// The begin of what is known by time: a running JVM's recording has the times of the last minutes alone.
    pub(crate) fn times_from_ns(&self) -> u64 {
        self.live().map_or(0, |live| live.source.recording.progress().kept_from_ns)
    }

    /// What there is to know about its times, in a line.
    pub(crate) fn times_note(&self) -> Option<String> {
        let from_ns = self.times_from_ns();
        let from = perk_profile::units::duration(from_ns);
        (from_ns > 0).then(|| format!("the times of what was measured before {from} are not kept"))
    }

    /// The same source at a part of its recording: it is another source, which stays the same.
    fn at(mut self, stretch: Stretch) -> Self {
        if let Origin::Jvm(live) = &mut self.origin {
            live.stretch = stretch;
            let name = self.id.split('@').next().unwrap_or_default();
            self.id = format!("{name}@{}-{}", stretch.from_ns, stretch.to_ns);
        }
        self
    }

    /// Whether an id is that of a part of this source: of the recording of a running JVM, or of a service.
    pub(crate) fn is_moment(&self, id: &str) -> bool {
        let is_own = |(name, _)| self.id.split('@').next() == Some(name);
        self.file().is_none() && id.split_once('@').is_some_and(is_own)
    }

    /// All of the recording of a running JVM, also after the part; all of the time of a service that is looked at, in this
    /// detail; other sources are whole.
    pub(crate) fn whole(&self, detail: &PartDetail) -> Self {
        match &self.origin {
            Origin::Jvm(live) => self.clone().at(LiveMoment::whole(&live.source).stretch),
            Origin::Service(moment) => moment.over_all_time(detail).into_source(self),
            Origin::File(_) | Origin::Fault(_) => self.clone(),
        }
    }
}

/// The source and the question of a request. That of a running JVM or a service is about a part, which becomes the
/// source: see [`live_part`] and [`ServiceMoment::asked`].
pub(crate) fn resolved(source: Source, question: Question) -> Result<(Source, Question), Fault> {
    match &source.origin {
        Origin::File(_) => Ok((source, question)),
        Origin::Jvm(live) => {
            let (stretch, question) = live_part(live, &question)?;
            Ok((source.at(stretch), question))
        }
        Origin::Service(moment) => {
            let (moment, question) = moment.asked(&question)?;
            Ok((moment.into_source(&source), question))
        }
        Origin::Fault(line) => Err(Fault::source(line.clone())),
    }
}

/// The part of the recording of a running JVM: `last=10s` of it, and `from` and `to`; all of it where the question has none.
fn live_part(live: &LiveMoment, question: &Question) -> Result<(Stretch, Question), Fault> {
    let recording = &live.source.recording;
    let window = question.window()?;
    let last = question.value("last", parse::time)?;
    let now_ns = recording.progress().end_ns;
    let to_ns = window.to_ns.unwrap_or(now_ns).min(now_ns);
    let stretch = match (last, window.from_ns) {
        (Some(_), Some(_)) => {
            return Err(Fault::question("last and from: the last part begins by itself"));
        }
        (Some(time), None) => {
            recording.stretch(Range::Last(time), Some(std::time::Duration::from_nanos(to_ns)))
        }
        (None, from_ns) => Stretch { from_ns: from_ns.unwrap_or(0), to_ns },
    };
    if window.to_ns.is_some_and(|to_ns| to_ns <= stretch.from_ns) {
        return Err(Fault::question("to is not later than from"));
    }
    Ok((stretch, question.without_all(&["last", "from", "to"])))
}
