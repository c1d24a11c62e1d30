//! Pieces: a recording's numbers of one hour, as the files that a store has of them.

use std::fmt;

use anyhow::{Result, bail};
use perk_profile::Profile;
use perk_tables::{Sample, stack_ids};
use twox_hash::XxHash3_128;
use twox_hash::xxhash3_128::Hasher;

use crate::encode;
use crate::hour::Hour;
use crate::label_text::{LabelText, common_labels, own_labels};
use crate::layout::{Slot, Table, service_name};
use crate::rows::{RecordingRow, SampleRow, add_up};

/// The key of the label that says the service.
const SERVICE: &str = "service";
/// The service of recordings without such a label, and without a program.
const NO_SERVICE: &str = "java";

/// The id of a piece or of a recording: 128 bits of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PieceId(pub(crate) [u8; 16]);

impl PieceId {
    /// The id of a content.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(content).to_be_bytes())
    }

    /// The id as it is printed.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 32 && text.bytes().all(|it| b"0123456789abcdef".contains(&it));
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for PieceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Where a recording comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The name of its file.
    pub file: String,
    /// Labels that it gets; its own of the same keys have precedence.
    pub labels: Vec<(String, String)>,
    /// Its start in milliseconds since 1970, if the file has no date.
    pub created_ms: Option<i64>,
}

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
            let used = rows.iter().filter_map(|row| row.stack).collect();
            // What is counted for the whole recording is in its first piece.
            let recording = if at == 0 { recording.clone() } else { recording.without_counts() };
            Ok(Self {
                id: PieceId::of(format!("{id} {hour}").as_bytes()),
                slot: Slot { service: service.clone(), hour },
                rows: rows.len(),
                files: [
                    encode::samples(&rows, source)?,
                    encode::stacks(profile, &stacks, &used)?,
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
    // The name of a file is no part of the recording.
    let head = RecordingRow { file: String::new(), ..recording.clone() };
    hasher.write(format!("{head:?}").as_bytes());
    for row in rows {
        hasher.write(format!("{row:?}").as_bytes());
    }
    PieceId(hasher.finish_128().to_be_bytes())
}
