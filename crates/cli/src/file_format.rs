//! The forms in which perk keeps profiles.

use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use perk_formats::{
    async_profiler, collapsed, flamegraph, jamaica, jfr, perf_script, pprof, shared_fields,
    speedscope, svg, xprof,
};
use perk_hprof::{Format, aprof, ascii, old};
use perk_profile::{Event, Line, Metric, NodeId, Profile, deep};

use crate::packing::Packing;

/// A form of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// HPROF text, as `java.hprof.txt`
    #[value(name = "txt")]
    Text,
    /// HPROF binary, as `format=b` gives it; call times in records of perk's own
    #[value(name = "hprof")]
    Binary,
    /// Callees, callers, calls and times, as `cpu=old` and `java -prof` give them
    #[value(name = "prof")]
    Old,
    /// Allocations by class, as `-Xaprof` printed them
    Aprof,
    /// Ticks by method and thread, as `-Xprof` printed them
    Xprof,
    /// JamaicaVM's profile
    Jamaica,
    /// Accesses to the fields of each object: the Shared Fields Analysis
    Fields,
    /// One line a call path: `main;a;b 12`
    Collapsed,
    /// Flame graph, one HTML file that needs no network
    Html,
    /// Flame graph, one picture
    Svg,
    /// pprof's profile.proto
    Pprof,
    /// speedscope's JSON
    Speedscope,
    /// A recording of the JDK's Flight Recorder
    Jfr,
    /// The output of `perf script`
    Perf,
    /// The text of async-profiler: `flat` and `traces`
    Async,
}

/// Whether a file that begins so is of some form.
type Recognise = fn(&[u8]) -> bool;

/// How much of a file is looked at to tell its form.
pub(crate) const HEAD_BYTES: u64 = 64 * 1024;

impl FileFormat {
    /// The endings of its files, without the dot.
    fn endings(self) -> &'static [&'static str] {
        match self {
            FileFormat::Text => &["txt"],
            FileFormat::Binary => &["hprof"],
            FileFormat::Old => &["prof"],
            FileFormat::Aprof => &["aprof"],
            FileFormat::Xprof => &["xprof"],
            FileFormat::Jamaica => &["jamaica"],
            FileFormat::Fields => &["fields", "tsv"],
            FileFormat::Collapsed => &["collapsed", "folded"],
            FileFormat::Html => &["html"],
            FileFormat::Svg => &["svg"],
            FileFormat::Pprof => &["pb", "pprof"],
            FileFormat::Speedscope => &["speedscope.json", "speedscope"],
            FileFormat::Jfr => &["jfr"],
            FileFormat::Perf => &["perf"],
            FileFormat::Async => &["async"],
        }
    }

    /// The ending that perk gives its files, without the dot.
    pub(crate) fn ending(self) -> &'static str {
        self.endings()[0]
    }

    /// Its name for `--from` and `--to`.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// What people call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            FileFormat::Text => "HPROF text",
            FileFormat::Binary => "HPROF binary",
            FileFormat::Old => "cpu=old text",
            FileFormat::Aprof => "-Xaprof table",
            FileFormat::Xprof => "-Xprof text",
            FileFormat::Jamaica => "JamaicaVM profile",
            FileFormat::Fields => "shared fields",
            FileFormat::Collapsed => "collapsed stacks",
            FileFormat::Html => "flame graph",
            FileFormat::Svg => "flame graph picture",
            FileFormat::Pprof => "pprof",
            FileFormat::Speedscope => "speedscope",
            FileFormat::Jfr => "JFR recording",
            FileFormat::Perf => "perf script",
            FileFormat::Async => "async-profiler text",
        }
    }

    /// Whether perk reads it.
    pub(crate) fn is_read(self) -> bool {
        self != FileFormat::Svg
    }

    /// Whether perk writes it.
    pub(crate) fn is_written(self) -> bool {
        !matches!(self, FileFormat::Jfr | FileFormat::Perf | FileFormat::Async)
    }

    /// What of a profile is lost in it, for `perk formats`; empty where nothing is.
    pub(crate) fn keeps(self) -> &'static str {
        match self {
            FileFormat::Text => {
                "all but metrics of other tools and heap dumps by class; times in ms"
            }
            FileFormat::Binary => "everything but field accesses",
            FileFormat::Old => "calls by callee and caller, times in ms",
            FileFormat::Aprof => "objects and bytes by class",
            FileFormat::Xprof => "samples by thread and method, without paths",
            FileFormat::Jamaica => "calls and allocations by method and class, without paths",
            FileFormat::Fields => "field accesses, object by object",
            FileFormat::Collapsed => "one metric by call path, without lines and signatures",
            FileFormat::Html => "one metric by call path, without lines",
            FileFormat::Svg => "one metric by call path, as a picture",
            FileFormat::Pprof => {
                "all metrics by call path, with lines; no total times, no monitor dumps"
            }
            FileFormat::Speedscope => {
                "all metrics by call path, with lines; no total times, no monitor dumps"
            }
            FileFormat::Jfr => "samples, allocations, locks",
            FileFormat::Perf | FileFormat::Async => "samples and events by call path",
        }
    }

    /// The form that a file name's ending stands for, which the ending of a packing may follow.
    pub(crate) fn of_path(path: &Path) -> anyhow::Result<FileFormat> {
        let name = Packing::split(path).0;
        let name = name.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let written =
            || FileFormat::value_variants().iter().copied().filter(|form| form.is_written());
        let has = |ending: &&str| {
            name.strip_suffix(*ending).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        };
        written().find(|form| form.endings().iter().any(has)).with_context(|| {
            let endings: Vec<_> = written().map(FileFormat::ending).collect();
            format!(
                "{}: cannot write a form with this ending: use .{} or .{}",
                path.display(),
                endings[..endings.len() - 1].join(", ."),
                endings[endings.len() - 1]
            )
        })
    }

    /// The form of a file that begins with `head`.
    pub(crate) fn of_content(head: &[u8]) -> Option<FileFormat> {
        let by_head: [(Recognise, FileFormat); 9] = [
            (jfr::recognise, FileFormat::Jfr),
            (aprof::recognise, FileFormat::Aprof),
            (is_html, FileFormat::Html),
            (speedscope::recognise, FileFormat::Speedscope),
            (jamaica::recognise, FileFormat::Jamaica),
            (xprof::recognise, FileFormat::Xprof),
            (async_profiler::recognise, FileFormat::Async),
            (perf_script::recognise, FileFormat::Perf),
            (shared_fields::recognise, FileFormat::Fields),
        ];
        match perk_hprof::recognise(head) {
            Some(Format::Ascii) => return Some(FileFormat::Text),
            Some(Format::Binary | Format::Extended) => return Some(FileFormat::Binary),
            Some(Format::Old) => return Some(FileFormat::Old),
            None => {}
        }
        let found = by_head.iter().find(|(recognise, _)| recognise(head)).map(|&(_, form)| form);
        found
            .or_else(|| collapsed::recognise(head).then_some(FileFormat::Collapsed))
            .or_else(|| pprof::recognise(head).then_some(FileFormat::Pprof))
    }

    /// Reads a file of this form.
    pub(crate) fn read(self, mut input: impl Read) -> anyhow::Result<Profile> {
        let mut whole = || {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes).map(|_| bytes)
        };
        Ok(match self {
            FileFormat::Text => ascii::read(input)?,
            FileFormat::Binary => perk_hprof::binary::read(input)?,
            FileFormat::Old => old::read(input)?,
            FileFormat::Aprof => aprof::read(input)?,
            FileFormat::Collapsed => collapsed::read(input)?,
            FileFormat::Html => flamegraph::read(&whole()?)?,
            FileFormat::Xprof => xprof::read(input)?,
            FileFormat::Jamaica => jamaica::read(input)?,
            FileFormat::Fields => shared_fields::read(input)?,
            FileFormat::Pprof => pprof::read(input)?,
            FileFormat::Speedscope => speedscope::read(input)?,
            FileFormat::Jfr => jfr::read(input)?,
            FileFormat::Perf => perf_script::read(input)?,
            FileFormat::Async => async_profiler::read(input)?,
            FileFormat::Svg => anyhow::bail!("perk writes pictures and cannot read them"),
        })
    }

    /// Whether the reader tells input that fails at its end (`UnexpectedEof`) from input that ends.
    pub(crate) fn knows_cuts(self) -> bool {
        !matches!(
            self,
            FileFormat::Html
                | FileFormat::Svg
                | FileFormat::Pprof
                | FileFormat::Speedscope
                | FileFormat::Jfr
        )
    }

    /// Whether a file of this form is one table of its own kind; its writer says what it misses.
    fn is_table(self) -> bool {
        matches!(
            self,
            FileFormat::Old
                | FileFormat::Aprof
                | FileFormat::Xprof
                | FileFormat::Jamaica
                | FileFormat::Fields
        )
    }

    /// Whether a file of this form shows one metric of each call path.
    pub(crate) fn has_one_metric(self) -> bool {
        matches!(self, FileFormat::Collapsed | FileFormat::Html | FileFormat::Svg)
    }

    /// Writes `profile` in this form; where it shows one metric, that one, or the first there is.
    pub(crate) fn write(
        self,
        profile: &Profile,
        metric: Option<&Metric>,
        title: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.check_content(profile)?;
        match self {
            FileFormat::Text | FileFormat::Binary | FileFormat::Old => {
                perk_hprof::write(profile, self.format_of(profile), out)
            }
            FileFormat::Aprof => {
                let sites = profile.sites().ok_or_else(|| {
                    refusal("the -Xaprof table holds allocations; the profile has none")
                })?;
                aprof::write(out, &aprof::Table::of(profile, sites))
            }
            FileFormat::Collapsed => collapsed::write(profile, &shown(profile, metric)?, out),
            FileFormat::Html => flamegraph::write(profile, &shown(profile, metric)?, title, out),
            FileFormat::Svg => svg::write(profile, &shown(profile, metric)?, title, out),
            FileFormat::Xprof if !Metric::Samples.is_in(profile) => {
                Err(refusal("the tables of -Xprof hold samples; the profile has none"))
            }
            FileFormat::Xprof => xprof::write(profile, out),
            FileFormat::Jamaica => jamaica::write(profile, out),
            FileFormat::Fields => shared_fields::write(profile, out),
            FileFormat::Pprof => pprof::write(profile, out),
            FileFormat::Speedscope => speedscope::write(profile, out),
            FileFormat::Jfr | FileFormat::Perf | FileFormat::Async => {
                Err(refusal(format!("perk reads {} and does not write it", self.title())))
            }
        }
    }

    /// Which of its formats this form has `profile` in: the plain one, where that holds it and does
    /// not write each of very deep stacks whole.
    fn format_of(self, profile: &Profile) -> Format {
        let has_calls = profile.call_edges().next().is_some();
        match self {
            FileFormat::Old => Format::Old,
            // What `cpu=old` writes alone has no header.
            FileFormat::Text if has_calls && Format::Old.holds(profile).is_ok() => Format::Old,
            FileFormat::Text => Format::Ascii,
            _ if Format::Binary.holds(profile).is_ok() && deep::limit(&[profile]).is_none() => {
                Format::Binary
            }
            _ => Format::Extended,
        }
    }

    /// Fails where nothing that `profile` has would be in the file.
    fn check_content(self, profile: &Profile) -> io::Result<()> {
        if self.is_table() {
            return Ok(());
        }
        let metrics = Metric::all_of(profile);
        let documents = Document::all_of(profile);
        let is_held = metrics.iter().any(|metric| self.holds(metric))
            || documents.iter().any(|document| document.is_held_by(self));
        if is_held || metrics.is_empty() && documents.is_empty() {
            return Ok(());
        }
        let metrics = metrics.iter().map(|metric| metric.name().to_owned());
        let documents = documents.into_iter().map(|document| document.title().to_owned());
        let lost: Vec<_> = metrics.chain(documents).collect();
        let lost = lost.join(" and ");
        Err(refusal(format!("{}: no place for {lost}; the profile has nothing else", self.title())))
    }

    /// What this form leaves out of very deep stacks of `profiles`, in a sentence.
    pub(crate) fn depth_note(self, profiles: &[&Profile]) -> Option<String> {
        match self {
            FileFormat::Collapsed | FileFormat::Pprof | FileFormat::Speedscope => deep::limit(profiles).map(|limit| {
                format!(
                    "stacks of more than {limit} frames are too many to be written whole: the \
                     middle of each is [frames left out]"
                )
            }),
            FileFormat::Text => deep::limit(profiles).map(|limit| {
                format!(
                    "stacks of more than {limit} frames are too many to be written whole: traces \
                     have the inner {limit}"
                )
            }),
            FileFormat::Html | FileFormat::Svg => deep::levels(profiles).map(|levels| {
                format!(
                    "stacks are more than {levels} frames deep: a frame of the graph stands for the \
                     middle of chains with one callee each, and one for deeper levels"
                )
            }),
            _ => None,
        }
    }

    /// What of `profile` this form has no place for, where it shows `metric`.
    pub(crate) fn losses(self, profile: &Profile, metric: Option<&Metric>) -> Vec<String> {
        let shown = metric.cloned().or_else(|| Metric::first_of(profile)).unwrap_or_default();
        let symbols = &profile.symbols;
        let mut frames = (1..profile.tree.len()).map(NodeId::new);
        let mut has_lines = || {
            frames.any(|node| {
                let frame = profile.tree.frame(node).map(|frame| symbols.get_frame(frame));
                frame.is_some_and(|frame| matches!(frame.line, Line::Number(_)))
            })
        };
        let has_no_frames =
            matches!(self, FileFormat::Aprof | FileFormat::Old | FileFormat::Fields);
        let mut samples = profile.cpu_samples().flat_map(|section| &section.rows);
        let mut is_without_stack = || samples.any(|row| profile.frames(row.0).next().is_none());
        let is_summary = |event: &Event| matches!(event, Event::HeapSummary(_));
        let lost_metrics = Metric::all_of(profile).into_iter();
        let lost_metrics =
            lost_metrics.filter(|it| !self.holds(it) || self.has_one_metric() && *it != shown);
        let lost_metrics: Vec<_> = lost_metrics.map(|it| it.name().to_owned()).collect();
        let metrics = match &lost_metrics[..] {
            [] => None,
            [name] => Some(format!("the metric {name}")),
            names => Some(format!("the metrics {}", names.join(", "))),
        };
        let others = [
            (matches!(self, FileFormat::Aprof | FileFormat::Xprof), "call paths"),
            (!self.holds_lines() && !has_no_frames && has_lines(), "source lines"),
            (self == FileFormat::Text && is_without_stack(), "samples without a stack"),
            (self == FileFormat::Text && profile.events.iter().any(is_summary), "heap summaries"),
            (
                self == FileFormat::Text && profile.sites().is_some_and(|sites| !sites.known.live),
                "the mark that live objects are unknown",
            ),
        ];
        let others = others.into_iter().filter_map(|(lost, what)| lost.then_some(what));
        let documents = Document::all_of(profile).into_iter();
        let documents = documents.filter(|it| !it.is_held_by(self)).map(Document::title);
        let accounting =
            (!self.holds_accounting() && profile.accounting.is_some()).then_some("the accounting");
        let named = others.chain(documents).chain(accounting).map(str::to_owned);
        metrics.into_iter().chain(named).collect()
    }

    /// Whether files of this form have a place for numbers of this metric. (Of those of one metric it
    /// is the one that is chosen.)
    fn holds(self, metric: &Metric) -> bool {
        match self {
            FileFormat::Text => {
                !metric.is_other() && !matches!(metric, Metric::WaitedTime | Metric::WaitCount)
            }
            FileFormat::Aprof => {
                matches!(metric, Metric::AllocatedBytes | Metric::AllocatedObjects)
            }
            FileFormat::Xprof => *metric == Metric::Samples || metric.is_other(),
            FileFormat::Old => matches!(metric, Metric::Calls | Metric::SelfTime),
            FileFormat::Jamaica => {
                metric.is_other()
                    || matches!(
                        metric,
                        Metric::Calls | Metric::AllocatedBytes | Metric::AllocatedObjects
                    )
            }
            FileFormat::Fields => false,
            _ => true,
        }
    }

    fn holds_lines(self) -> bool {
        matches!(
            self,
            FileFormat::Text | FileFormat::Binary | FileFormat::Pprof | FileFormat::Speedscope
        )
    }

    fn holds_accounting(self) -> bool {
        self.holds_lines() || self == FileFormat::Html
    }
}

/// What profiles hold besides metrics by call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Document {
    Edges,
    MonitorDumps,
    Heaps,
    Fields,
}

impl Document {
    const ALL: [Document; 4] =
        [Document::Edges, Document::MonitorDumps, Document::Heaps, Document::Fields];

    fn all_of(profile: &Profile) -> Vec<Self> {
        Self::ALL.into_iter().filter(|document| document.is_in(profile)).collect()
    }

    fn is_in(self, profile: &Profile) -> bool {
        match self {
            Document::Edges => profile.call_edges().next().is_some(),
            Document::MonitorDumps => profile.monitor_dumps().next().is_some(),
            Document::Heaps => profile.heaps().next().is_some(),
            Document::Fields => profile.field_accesses().is_some(),
        }
    }

    /// Its name in messages.
    fn title(self) -> &'static str {
        match self {
            Document::Edges => "calls by callee and caller",
            Document::MonitorDumps => "monitor dumps",
            Document::Heaps => "heap dumps by class",
            Document::Fields => "field accesses",
        }
    }

    /// Whether files of this form have a place for it.
    fn is_held_by(self, form: FileFormat) -> bool {
        match form {
            FileFormat::Text => matches!(self, Document::Edges | Document::MonitorDumps),
            FileFormat::Binary => self != Document::Fields,
            FileFormat::Fields => self == Document::Fields,
            _ => form.is_table() && self == Document::Edges,
        }
    }
}

/// The error of a form that cannot hold a profile.
fn refusal(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

/// The metric to show: the one asked for, or the first there is.
fn shown(profile: &Profile, metric: Option<&Metric>) -> io::Result<Metric> {
    match metric.cloned().or_else(|| Metric::first_of(profile)) {
        Some(metric) if !metric.is_in(profile) => {
            Err(refusal(format!("the profile has no {} by call path", metric.name())))
        }
        // A profile of nothing is shown as empty.
        metric => Ok(metric.unwrap_or_default()),
    }
}

fn is_html(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    text.get(..14).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides() {
        let check = |head: &[u8], form| assert_eq!(FileFormat::of_content(head), form, "{head:?}");
        check(b"JAVA PROFILE 1.0.1, created Fri", Some(FileFormat::Text));
        check(b"JAVA PROFILE 1.0.1\0\0\0\0\x08", Some(FileFormat::Binary));
        check(b"count callee caller time\n", Some(FileFormat::Old));
        check(b"CPU SAMPLES BEGIN (total = 9) Wed Jan 12 11:26:47 2000\n", Some(FileFormat::Text));
        check(b"in prose:\n\nTRACE 204:\njava/lang/A.f(A.java:1)\n", Some(FileFormat::Text));
        check(b"handles_used: 1174, handles_free: 339046", Some(FileFormat::Old));
        check(
            b"its output\nAllocation profile (sizes in bytes, cutoff = 0 bytes):\n",
            Some(FileFormat::Aprof),
        );
        check(
            b"\nAllocation profile (sizes in bytes, cutoff = 0 bytes):\n",
            Some(FileFormat::Aprof),
        );
        check(b"main;a;b 12\n", Some(FileFormat::Collapsed));
        check(b"FLR\0\0\x02\0\x01", Some(FileFormat::Jfr));
        check(b"a 1", Some(FileFormat::Collapsed));
        check(b"\n<!DOCTYPE html><title>", Some(FileFormat::Html));
        check(
            b"done 5\n\nFlat profile of 1.50 secs (9 total ticks): main\n",
            Some(FileFormat::Xprof),
        );
        check(b"--- Execution profile ---\nTotal samples : 9\n", Some(FileFormat::Async));
        check(b"java 7 5.25: 3 cycles:u: \n\t7f f (x)\n", Some(FileFormat::Perf));
        for head in [&b""[..], b"JAVA PROF", b"# README\n", b"a;b\nc 1\n", b"\xff\xfe 12\n"] {
            check(head, None);
        }
    }

    #[test]
    fn an_ending_decides() {
        for (path, form) in [
            ("a.txt", FileFormat::Text),
            ("java.hprof", FileFormat::Binary),
            ("java.prof", FileFormat::Old),
            ("java.aprof", FileFormat::Aprof),
            ("/x/a.b.collapsed", FileFormat::Collapsed),
            ("a.HTML", FileFormat::Html),
            ("a.speedscope.json", FileFormat::Speedscope),
            ("a.pb.gz", FileFormat::Pprof),
            ("a.TXT.zst", FileFormat::Text),
        ] {
            assert_eq!(FileFormat::of_path(Path::new(path)).unwrap(), form, "{path}");
        }
        for path in ["a", "a.jfr", ".txt", "txt", "a.gz", "a.txt.gz.gz"] {
            assert!(FileFormat::of_path(Path::new(path)).is_err(), "{path}");
        }
    }
}
