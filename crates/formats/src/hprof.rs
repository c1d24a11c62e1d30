//! The formats of `perk-hprof`: text, records, and the tables of `cpu=old` and `-Xaprof`.

use std::io::{self, Read, Write};

use perk_hprof::{Format, aprof, ascii, binary, old};
use perk_profile::{Event, Key, Metric, MetricRows, Profile, Section, Unit, deep};

use crate::Error;
use crate::file_format::{
    Depth, Detail, Document, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
    has_rounded_times, listed, refusal,
};

/// HPROF text.
pub static TEXT: &dyn FileFormat = &Text;

pub(crate) struct Text;

impl FileFormat for Text {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "txt",
            title: "HPROF text",
            about: "HPROF text, as `java.hprof.txt`",
            endings: &["txt"],
            page: "hprof.md",
            keeps: "all but metrics of other tools and heap dumps by class; times in ms",
            reading: Reading::ToCut,
            written: Some(FormatContent {
                metrics: Metrics::All,
                detail: Detail::Lines,
                documents: &[Document::MonitorDumps],
                accounting: true,
                depth: Depth::Inner,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        perk_hprof::recognise(head) == Some(Format::Ascii)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        Ok(ascii::read(input)?)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let profile = view.profile;
        // The output of `cpu=old` alone has no header.
        let is_old = profile.has_pairs() && Format::Old.holds(profile).is_ok();
        perk_hprof::write(profile, if is_old { Format::Old } else { Format::Ascii }, out)
    }

    fn holds(&self, metric: &Metric) -> bool {
        let is_left_out =
            matches!(metric, Metric::WaitedTime | Metric::WaitCount | Metric::WallTime)
                || Metric::OF_HOLDERS.contains(metric);
        !metric.is_other() && !metric.is_of_fields() && !is_left_out
    }

    /// The text has no sums of calls, of objects and of waits, but the share of each row of the live
    /// bytes; and no samples without a method.
    fn written_total(&self, profile: &Profile, metric: &Metric) -> u64 {
        match metric {
            Metric::Samples => {
                let MetricRows { total, rows } = metric.rows(profile);
                let is_without = |row: &&(Key, u64)| profile.frames(row.0.trace).next().is_none();
                let without = rows.iter().filter(is_without).map(|row| row.1);
                total - without.fold(0, u64::saturating_add)
            }
            Metric::Calls
            | Metric::AllocatedBytes
            | Metric::AllocatedObjects
            | Metric::LiveObjects
            | Metric::BlockedCount => listed(profile, metric),
            // There is no share of nothing.
            Metric::LiveBytes if listed(profile, metric) == 0 => 0,
            _ => metric.rows(profile).total,
        }
    }

    /// The times of a section are whole milliseconds, and its rows are shares of them. The sum of
    /// live bytes is computed from the shares of its rows.
    fn rounding(&self, profile: &Profile, metric: &Metric) -> Option<&'static str> {
        if profile.has_pairs() && Format::Old.holds(profile).is_ok() {
            return rounded_to_ms(profile, metric);
        }
        let MetricRows { total, rows } = metric.rows(profile);
        let is_changed = match metric {
            Metric::LiveBytes => listed(profile, metric) < total,
            it if it.unit() != Unit::Nanoseconds => false,
            _ => {
                let shares = u128::from(total.max(1));
                let is_share = |ns: u64| u128::from(ns) * 10_000 % shares == 0;
                total % MS_NS != 0 || !rows.iter().all(|row| is_share(row.1))
            }
        };
        is_changed.then_some(match metric {
            Metric::LiveBytes => "the sum from shares of 0.01 %",
            _ => "the sum in ms, rows in 0.01 %",
        })
    }

    fn is_dated(&self) -> bool {
        true
    }

    fn holds_interval(&self, profile: &Profile) -> bool {
        let interval_ns = profile.accounting.as_ref().map(|it| it.interval_ns);
        interval_ns.is_some_and(|ns| profile.sample_interval_ns() == Some(ns))
    }

    fn special_losses(&self, profile: &Profile) -> Vec<&'static str> {
        let is_summary = |event: &Event| matches!(event, Event::HeapSummary(_));
        let losses = [
            (profile.events.iter().any(is_summary), "heap summaries"),
            (
                profile.sites().is_some_and(|sites| !sites.known.live),
                "the mark that live objects are unknown",
            ),
        ];
        losses.into_iter().filter_map(|(is_lost, what)| is_lost.then_some(what)).collect()
    }
}

/// HPROF binary.
pub static BINARY: &dyn FileFormat = &Binary;

pub(crate) struct Binary;

impl FileFormat for Binary {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "hprof",
            title: "HPROF binary",
            about: "HPROF binary, as `format=b` gives it; call times in records of perk's own",
            endings: &["hprof"],
            page: "hprof.md",
            keeps: "everything",
            reading: Reading::ToCut,
            written: Some(FormatContent {
                metrics: Metrics::All,
                detail: Detail::Lines,
                documents: &[
                    Document::MonitorDumps,
                    Document::Heaps,
                    Document::Fields,
                    Document::Times,
                    Document::Labels,
                ],
                accounting: true,
                depth: Depth::Whole,
            }),
        }
    }

    fn holds_courses(&self) -> bool {
        true
    }

    fn recognise(&self, head: &[u8]) -> bool {
        matches!(perk_hprof::recognise(head), Some(Format::Binary | Format::Extended))
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        Ok(binary::read(input)?)
    }

    fn is_dated(&self) -> bool {
        true
    }

    /// Writes plain records if they hold everything and no deep stacks have to be written whole.
    /// Otherwise writes perk's own records among them.
    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let profile = view.profile;
        let is_plain = Format::Binary.holds(profile).is_ok()
            && deep::limit(&[profile]).is_none()
            && !profile.sections().any(Section::has_labels);
        perk_hprof::write(profile, if is_plain { Format::Binary } else { Format::Extended }, out)
    }
}

pub(crate) struct OldTable;

impl FileFormat for OldTable {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "prof",
            title: "cpu=old text",
            about: "Callees, callers, calls and times, as `cpu=old` and `java -prof` give them",
            endings: &["prof"],
            page: "old.md",
            keeps: "calls by callee and caller, times in ms",
            reading: Reading::ToCut,
            written: Some(FormatContent {
                metrics: Metrics::Table,
                detail: Detail::None,
                documents: &[],
                accounting: false,
                depth: Depth::Whole,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        perk_hprof::recognise(head) == Some(Format::Old)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        Ok(old::read(input)?)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        perk_hprof::write(view.profile, Format::Old, out)
    }

    fn holds(&self, metric: &Metric) -> bool {
        matches!(metric, Metric::Calls | Metric::SelfTime | Metric::TotalTime)
    }

    fn written_total(&self, profile: &Profile, metric: &Metric) -> u64 {
        listed(profile, metric)
    }

    fn rounding(&self, profile: &Profile, metric: &Metric) -> Option<&'static str> {
        rounded_to_ms(profile, metric)
    }
}

/// The number of nanoseconds in the unit of times in text.
const MS_NS: u64 = 1_000_000;

/// Returns the precision of the rows of `cpu=old`, if one is not in whole milliseconds.
fn rounded_to_ms(profile: &Profile, metric: &Metric) -> Option<&'static str> {
    has_rounded_times(profile, metric, MS_NS).then_some("rows in ms")
}

pub(crate) struct Aprof;

impl FileFormat for Aprof {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "aprof",
            title: "-Xaprof table",
            about: "Allocations by class, as `-Xaprof` printed them",
            endings: &["aprof"],
            page: "aprof.md",
            keeps: "objects and bytes by class",
            reading: Reading::ToCut,
            written: Some(FormatContent {
                metrics: Metrics::Table,
                detail: Detail::None,
                documents: &[],
                accounting: false,
                depth: Depth::Whole,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        aprof::recognise(head)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        Ok(aprof::read(input)?)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let profile = view.profile;
        let sites = profile
            .sites()
            .ok_or_else(|| refusal("the -Xaprof table holds allocations; the profile has none"))?;
        aprof::write(out, &aprof::Table::of(profile, &sites))
    }

    fn holds(&self, metric: &Metric) -> bool {
        matches!(metric, Metric::AllocatedBytes | Metric::AllocatedObjects)
    }
}
