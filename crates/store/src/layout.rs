//! The names of a store's files.

use object_store::path::{Path, PathPart};
use percent_encoding::percent_decode_str;
use twox_hash::XxHash3_128;

use crate::hour::Hour;
use crate::piece_id::PieceId;

/// The file that makes a folder a store. It has the version of the layout.
pub(crate) const STORE_FILE: &str = "perk-store.json";
/// The folder of the manifests.
pub(crate) const MANIFEST: &str = "manifest";
/// The version of the layout.
pub(crate) const VERSION: u32 = 1;

/// The ends of names of data files and manifests.
const DATA_END: &str = ".parquet";
const MANIFEST_END: &str = ".json";
/// What the name of the manifest of a compaction begins with. It comes after those of pieces, which are hexadecimal, so
/// that a store can list it without them.
const COMPACTION: &str = "merged-";
/// The most bytes of a service's name in the names of folders.
const MOST_SERVICE_BYTES: usize = 160;
/// The bytes of what a longer name ends in: a dash and the id of the whole name.
const SERVICE_ID_BYTES: usize = 33;

/// A table of a store, as a folder of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// The numbers, by hour.
    Samples,
    /// The frames of stacks, by date.
    Stacks,
    /// The recordings, by date.
    Recordings,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 3] = [Table::Samples, Table::Stacks, Table::Recordings];

    /// The name of its folder, and of the table in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Table::Samples => "samples",
            Table::Stacks => "stacks",
            Table::Recordings => "recordings",
        }
    }
}

/// The service and the hour of files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    /// The service, as the names of folders have it.
    pub(crate) service: String,
    pub(crate) hour: Hour,
}

/// What a file of the manifest is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ManifestName {
    Piece(PieceId),
    /// The compaction of this number.
    Compaction(u32),
}

/// The name of a service in names of folders: such that it is short, and no other service has it. That of such a name is
/// itself.
pub fn service_name(service: &str) -> String {
    if service.len() <= MOST_SERVICE_BYTES {
        return service.to_owned();
    }
    let mut end = MOST_SERVICE_BYTES - SERVICE_ID_BYTES;
    while !service.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{:032x}", &service[..end], XxHash3_128::oneshot(service.as_bytes()))
}

impl Slot {
    /// The service and the first hour of its date.
    pub(crate) fn of_date(self) -> Self {
        Self { hour: self.hour.first_of_date(), ..self }
    }

    /// The folder of the manifests of this service and hour.
    pub(crate) fn manifests(&self, root: &Path) -> Path {
        let date = date_folder(&service_folder(root, MANIFEST, &self.service), self.hour);
        date.join(format!("hour={}", self.hour.hour()))
    }

    /// A manifest.
    pub(crate) fn manifest(&self, root: &Path, name: ManifestName) -> Path {
        let file = match name {
            ManifestName::Piece(id) => format!("{id}{MANIFEST_END}"),
            ManifestName::Compaction(number) => format!("{COMPACTION}{number:06}{MANIFEST_END}"),
        };
        self.manifests(root).join(file)
    }

    /// A path between the manifests of pieces and of compactions, in the order of names.
    pub(crate) fn before_compactions(&self, root: &Path) -> Path {
        self.manifests(root).join(COMPACTION)
    }

    /// The folder of the data of a table.
    pub(crate) fn folder(&self, root: &Path, table: Table) -> Path {
        let date = date_folder(&service_folder(root, table.name(), &self.service), self.hour);
        match table {
            Table::Samples => date.join(format!("hour={}", self.hour.hour())),
            Table::Stacks | Table::Recordings => date,
        }
    }

    /// The data of a piece in a table.
    pub(crate) fn data(&self, root: &Path, table: Table, id: PieceId) -> Path {
        self.folder(root, table).join(format!("{id}{DATA_END}"))
    }
}

/// The folder of a service below that of a table or of the manifests.
pub(crate) fn service_folder(root: &Path, folder: &str, service: &str) -> Path {
    root.clone().join(folder).join(PathPart::from(format!("service={service}").as_str()))
}

/// The folder of a date below that of a service.
pub(crate) fn date_folder(service: &Path, hour: Hour) -> Path {
    service.clone().join(format!("date={}", hour.date()))
}

/// The value of a part `key=value` of a path.
pub(crate) fn value_of(part: &str, key: &str) -> Option<String> {
    let value = part.strip_prefix(key)?.strip_prefix('=')?;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

/// What a path below `root` is as a manifest: `manifest/service=S/date=D/hour=H/NAME.json`.
pub(crate) fn parse_manifest(root: &Path, path: &Path) -> Option<(Slot, ManifestName)> {
    let parts: Vec<_> = path.prefix_match(root)?.map(|it| it.as_ref().to_owned()).collect();
    let [folder, service, date, hour, file] = &parts[..] else { return None };
    if folder != MANIFEST {
        return None;
    }
    let hour = Hour::parse(&value_of(date, "date")?, &value_of(hour, "hour")?)?;
    let stem = file.strip_suffix(MANIFEST_END)?;
    let name = match stem.strip_prefix(COMPACTION) {
        Some(number) => ManifestName::Compaction(number.parse().ok()?),
        None => ManifestName::Piece(PieceId::parse(stem)?),
    };
    Some((Slot { service: value_of(service, "service")?, hour }, name))
}

/// The piece that a data file is of.
pub(crate) fn piece_of(path: &Path) -> Option<PieceId> {
    PieceId::parse(path.filename()?.strip_suffix(DATA_END)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let root = Path::from("a/b");
        let hour = Hour::of(1_795_201_231_999);
        for service in ["shop", "a/b c%2F=é", "", "x".repeat(400).as_str()] {
            let slot = Slot { service: service_name(service), hour };
            let id = PieceId::of(service.as_bytes());
            for name in [ManifestName::Piece(id), ManifestName::Compaction(7)] {
                let path = slot.manifest(&root, name);
                let path = Path::parse(path.as_ref()).unwrap();
                assert_eq!(parse_manifest(&root, &path), Some((slot.clone(), name)));
            }
            let path = slot.data(&root, Table::Samples, id);
            assert!(path.as_ref().ends_with(&format!("/date=2026-11-20/hour=19/{id}.parquet")));
            assert_eq!(piece_of(&path), Some(id));
        }
        for other in ["a/b/manifest/x.json", "a/b/samples/service=s/date=2026-11-20/hour=19/1.json"]
        {
            assert_eq!(parse_manifest(&root, &Path::from(other)), None);
        }
    }

    #[test]
    fn long_services_differ() {
        let (one, two) = ("x".repeat(400), "x".repeat(401));
        assert_ne!(service_name(&one), service_name(&two));
        assert_eq!(service_name(&service_name(&one)), service_name(&one));
    }
}
