//! Pieces: a recording's numbers of one hour, as the files that a store has of them.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use perk_profile::{NodeId, Profile};
use perk_tables::{Sample, stack_ids};
use twox_hash::XxHash3_128;
use twox_hash::xxhash3_128::Hasher;

use crate::encode::{self, Stay};
use crate::hour::Hour;
use crate::label_text::{LabelText, common_labels, own_labels};
use crate::layout::{Slot, Table, service_name};
use crate::origin::Origin;
use crate::piece_id::PieceId;
use crate::rows::{RecordingRow, SampleRow, add_up};

/// The key of the label that says the service.
const SERVICE: &str = "service";
/// The service of recordings without such a label, and without a program.
const NO_SERVICE: &str = "java";

/// The numbers of a recording in one hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its id.
    pub id: PieceId,
    pub(crate) slot: Slot,
    /// The numbers that it has.
    pub rows: usize,
    /// The files of its tables, in the order of [`Table::ALL`].
    pub(crate) files: [Vec<u8>; 3],
}

impl Piece {
    /// Cuts a recording into pieces, in order of time.
    ///
    /// # Errors
    /// The recording has no date.
    pub fn all_of(profile: &Profile, origin: &Origin) -> Result<Vec<Self>> {
        let created_ms = match (profile.created, origin.created_ms) {
            (Some(created), _) => i64::try_from(created.unix_ms).unwrap_or(i64::MAX),
            (None, Some(created_ms)) => created_ms,
            (None, None) => {
                bail!("{}: the file has no date: --time says when it was recorded", origin.file)
            }
        };
        let labels = common_labels(profile, &origin.labels);
        let service = service(profile, &labels);
        let source = source_id(&labels);
        let stacks = stack_ids(profile);
        let own = own_labels(profile, &labels);
        let samples = Sample::all(profile).into_iter();
        let mut rows: Vec<_> =
            samples.map(|it| SampleRow::new(profile, &stacks, &own, created_ms, it)).collect();
        add_up(&mut rows);
        let recording = RecordingRow::new(profile, origin, created_ms, source, &labels);
        let id = recording_id(&recording, &rows);
        let mut hours: Vec<_> = rows.iter().map(|row| Hour::of(row.time_ms)).collect();
        hours.push(Hour::of(created_ms));
        hours.sort_unstable();
        hours.dedup();
        let pieces = hours.iter().enumerate().map(|(at, &hour)| {
            let rows: Vec<_> = rows.iter().filter(|it| Hour::of(it.time_ms) == hour).collect();
            let used: BTreeSet<_> = rows.iter().filter_map(|row| row.stack).collect();
            let of_nodes = stacks.iter().enumerate().filter(|it| used.contains(it.1));
            let used = of_nodes.map(|(node, &id)| (id, NodeId::new(node)));
            // What is counted for the whole recording is in its first piece.
            let recording = if at == 0 { recording.clone() } else { recording.without_counts() };
            Ok(Self {
                id: PieceId::of(format!("{id} {hour}").as_bytes()),
                slot: Slot { service: service.clone(), hour },
                rows: rows.len(),
                files: [
                    encode::samples(&rows, source)?,
                    encode::stacks(profile, used, Stay::Short)?,
                    encode::recordings(&[(id, recording)])?,
                ],
            })
        });
        pieces.collect()
    }

    /// The service, as names of folders have it.
    pub fn service(&self) -> &str {
        &self.slot.service
    }

    /// The hour.
    pub fn hour(&self) -> Hour {
        self.slot.hour
    }

    /// The bytes of its files.
    pub fn bytes(&self) -> usize {
        self.files.iter().map(Vec::len).sum()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (Table, &[u8])> {
        Table::ALL.into_iter().zip(self.files.iter().map(|it| &**it))
    }
}

/// The service of a recording: its label, or else the program.
fn service(profile: &Profile, labels: &LabelText) -> String {
    let label = labels.iter().find(|label| label.0 == SERVICE).map(|label| label.1.clone());
    let program = profile.accounting.as_ref().map(|it| it.program.as_str());
    let program = program.and_then(|it| it.split_whitespace().next()).map(str::to_owned);
    service_name(&label.or(program).filter(|it| !it.is_empty()).unwrap_or(NO_SERVICE.to_owned()))
}

/// The id of the labels that a recording's numbers have in common.
pub(crate) fn source_id(labels: &LabelText) -> [u8; 16] {
    let text: Vec<_> = labels.iter().map(|(key, value)| format!("{key}\0{value}\0")).collect();
    XxHash3_128::oneshot(text.concat().as_bytes()).to_be_bytes()
}

/// The id of a recording: of all its content, whatever file it was in.
fn recording_id(recording: &RecordingRow, rows: &[SampleRow<'_>]) -> PieceId {
    let mut hasher = Hasher::new();
    // A recording is the same in a file of another name.
    let head = RecordingRow { file: String::new(), ..recording.clone() };
    hasher.write(format!("{head:?}").as_bytes());
    rows.iter().for_each(|row| row.hash_into(&mut hasher));
    PieceId(hasher.finish_128().to_be_bytes())
}

#[cfg(test)]
mod tests {
    use perk_profile::{
        Event, Frame, Line, Method, Metric, Section, Timeline, TimelineHead, TimelineRow, Timestamp,
    };

    use super::*;

    /// Five samples of one stack: two at the start, and three 20 seconds later, in the next hour.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        profile.created = Timestamp::from_iso_utc("2026-11-29T10:59:50Z");
        let class = profile.symbols.class("A");
        let name = profile.symbols.strings.intern("main");
        let method = profile.symbols.method(Method { class, name, signature: None, source: None });
        let frame = profile.symbols.frame(Frame::new(method, Line::Number(7)));
        let node = profile.tree.insert([frame]);
        let trace = profile.trace(node, None);
        profile.events.push(Event::Section(Section::of(Metric::Samples, 5, [(trace, 5)])));
        let head = TimelineHead {
            metric: Metric::Samples,
            tick_ns: 1_000_000_000,
            begin_ns: 0,
            end_ns: 21_000_000_000,
        };
        let row = |tick, count| TimelineRow { tick, thread: None, trace, count };
        let rows = [row(0, 1), row(3, 1), row(20, 3)].into_iter().collect();
        profile.events.push(Event::Timeline(Timeline { head, rows }));
        profile
    }

    fn pieces(profile: &Profile, labels: &[(&str, &str)]) -> Vec<Piece> {
        let label = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let labels = labels.iter().map(label).collect();
        let origin = Origin { file: "a.hprof".to_owned(), labels, created_ms: None };
        Piece::all_of(profile, &origin).unwrap()
    }

    #[test]
    fn a_recording_is_cut_by_hours() {
        let pieces = pieces(&profile(), &[("service", "shop")]);
        let hours: Vec<_> = pieces.iter().map(|it| (it.hour().to_string(), it.rows)).collect();
        assert_eq!(hours, [("2026-11-29 10:00".to_owned(), 1), ("2026-11-29 11:00".to_owned(), 1)]);
        assert!(pieces.iter().all(|it| it.service() == "shop"));
        assert_ne!(pieces[0].id, pieces[1].id);
    }

    #[test]
    fn an_id_is_of_the_content() {
        let ids = |profile: &Profile, labels: &[(&str, &str)]| {
            pieces(profile, labels).iter().map(|it| it.id).collect::<Vec<_>>()
        };
        let first = ids(&profile(), &[]);
        assert_eq!(first, ids(&profile(), &[]));
        // The label with the id of the file does not count.
        assert_eq!(first, ids(&profile(), &[("file", "x")]));
        assert_ne!(first, ids(&profile(), &[("version", "2")]));
        let mut later = profile();
        later.created = Timestamp::from_iso_utc("2026-11-29T10:59:51Z");
        assert_ne!(first, ids(&later, &[]));
        let mut more = profile();
        more.notes.push("a line was skipped".to_owned());
        assert_ne!(first, ids(&more, &[]));
        let text = first[0].to_string();
        assert_eq!(PieceId::parse(&text), Some(first[0]));
        assert_eq!(PieceId::parse(&text.to_uppercase()), None);
        assert_eq!(PieceId::parse(&format!("+{}", &text[1..])), None);
    }

    #[test]
    fn a_recording_needs_a_time() {
        let mut undated = profile();
        undated.created = None;
        let origin = Origin { file: "a.hprof".to_owned(), ..Origin::default() };
        let error = Piece::all_of(&undated, &origin).unwrap_err().to_string();
        assert!(error.starts_with("a.hprof: the file has no date"), "{error}");
        let dated = Origin { created_ms: Some(0), ..origin };
        assert_eq!(Piece::all_of(&undated, &dated).unwrap()[0].service(), NO_SERVICE);
    }
}
