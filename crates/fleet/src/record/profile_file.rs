//! A finished file of an agent as it is delivered: with labels, in its format, under its name.

use std::io;
use std::time::Duration;

use perk_formats::{View, by_name};
use perk_profile::{Accounting, Event, Label, LabelValue, Profile, Timestamp, Unit};

use super::args::Format;
use super::identity::Identity;
use crate::gzip::packed;

/// The level of zstd: files are small, and are read more rarely than they are stored.
const ZSTD_LEVEL: i32 = 15;
/// The shortest times that have samples of their own, and waits, allocations and states: the finer ones of the agent take
/// as much room as all the rest.
const SAMPLES_TICK_NS: u64 = 100_000_000;
const SERIES_TICK_NS: u64 = 1_000_000_000;
/// What the times in a tick are multiples of.
const SERIES_ROUNDING_NS: u64 = 10_000_000;
/// The longest name of a service in a path, in bytes: all of a path is the name of a file in a queue.
const LONGEST: usize = 60;
/// The label with a file's id, and that with the reason of one that is not usual.
pub(crate) const FILE_LABEL: &str = "file";
pub(crate) const TRIGGER_LABEL: &str = "trigger";

/// A profile of one JVM and a part of its time.
#[derive(Debug)]
pub(crate) struct ProfileFile {
    pub(crate) profile: Profile,
    /// What distinguishes it from all others: a repeat has the same.
    pub(crate) id: String,
    /// Why it is not a usual one.
    pub(crate) reason: Option<String>,
}

impl ProfileFile {
    /// Reads a file of the agent, and gives its numbers the labels of the JVM and the file's id, which follows from
    /// the time of its beginning.
    ///
    /// # Errors
    /// It is no whole file, in one line.
    pub(crate) fn read(
        bytes: &[u8],
        identity: &Identity,
        reason: Option<&str>,
        id: impl FnOnce(Timestamp) -> String,
    ) -> anyhow::Result<Self> {
        let mut profile = perk_hprof::read(bytes)?.pruned();
        for event in &mut profile.events {
            match event {
                Event::Timeline(timeline) => timeline.coarsen(SAMPLES_TICK_NS),
                Event::TimeSeries(series) => {
                    series.coarsen(SERIES_TICK_NS);
                    if series.metric.unit() == Unit::Nanoseconds {
                        series.round(SERIES_ROUNDING_NS);
                    }
                }
                _ => {}
            }
        }
        let id = id(profile.created.unwrap_or_default());
        let trigger = reason.map(|reason| (TRIGGER_LABEL, reason));
        let texts = identity.labels().chain([(FILE_LABEL, &*id)]).chain(trigger);
        let strings = &mut profile.symbols.strings;
        let labels = texts.map(|(key, value)| Label {
            key: strings.intern(key),
            value: LabelValue::Text(strings.intern(value)),
        });
        let labels: Vec<_> = labels.collect();
        profile.add_labels(&labels);
        Ok(Self { profile, id, reason: reason.map(str::to_owned) })
    }

    /// The account of the file.
    pub(crate) fn accounting(&self) -> Option<&Accounting> {
        self.profile.accounting.as_ref()
    }

    /// Its path in a folder, by service and time.
    pub(crate) fn path(&self, identity: &Identity, format: Format) -> String {
        let (date, time) = date_and_time(self.profile.created.unwrap_or_default());
        let (service, hour) = (part_of_path(identity.service()), &time[..2]);
        format!("service={service}/date={date}/hour={hour}/{}.{}", self.name(), ending(format))
    }

    /// Its name, without an ending: the time of its beginning, its length and its id.
    pub(crate) fn name(&self) -> String {
        let (date, time) = date_and_time(self.profile.created.unwrap_or_default());
        let length = self.accounting().map_or(0, |it| it.wall_ns);
        let length = match Duration::from_nanos(length) {
            short if short.as_millis() < 500 => format!("{}ms", short.as_millis()),
            length => format!("{}s", length.as_secs_f64().round()),
        };
        let (date, time) = (date.replace('-', ""), time.replace(':', ""));
        format!("{date}T{time}Z-{length}-{}", self.id)
    }

    /// The file in a format.
    ///
    /// # Errors
    /// The profile has nothing that the format holds.
    pub(crate) fn bytes(&self, format: Format, title: &str) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        let view = View::new(&self.profile, title);
        let mut write = |name| {
            let written = by_name(name).ok_or(io::ErrorKind::Unsupported)?;
            written.write_view(&view, &mut plain)
        };
        match format {
            Format::Hprof => {
                // An idle JVM has a file as well: its account says that it ran, and was recorded.
                perk_hprof::write_packed(&self.profile, &mut plain)?;
                zstd::bulk::compress(&plain, ZSTD_LEVEL)
            }
            Format::Jfr => write("jfr").map(|()| plain),
            Format::Pprof => {
                write("pprof")?;
                packed(&plain)
            }
        }
    }
}

fn ending(format: Format) -> &'static str {
    match format {
        Format::Hprof => "hprof.zst",
        Format::Jfr => "jfr",
        Format::Pprof => "pb.gz",
    }
}

/// The date and the time of day in UTC: `2026-11-29`, `11:59:00`.
fn date_and_time(at: Timestamp) -> (String, String) {
    let text = at.iso_utc();
    let (date, time) = text.split_once('T').unwrap_or((&text, "00:00:00"));
    (date.to_owned(), time.trim_end_matches('Z').to_owned())
}

/// A text as a part of a path: without slashes and what shells treat specially.
fn part_of_path(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.@+".contains(c);
    let mut part: String = text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    while part.len() > LONGEST {
        part.pop();
    }
    if part.chars().all(|c| c == '.') { format!("_{part}") } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_parts_of_paths() {
        for (text, part) in [("shop", "shop"), ("a/b c", "a_b_c"), ("..", "_.."), ("ü", "ü")] {
            assert_eq!(part_of_path(text), part);
        }
        assert!(part_of_path(&"é".repeat(100)).len() <= LONGEST);
    }
}
