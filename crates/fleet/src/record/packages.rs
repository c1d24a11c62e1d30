//! A file in the form in which a place has it.

use std::io;

use super::args::Format;
use super::deliver::{HttpRequest, PlaceKind, Protocol};
use super::identity::Identity;
use super::profile_file::ProfileFile;
use super::{otlp, pyroscope};

/// The form of files at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A file of a format.
    File(Format),
    /// Requests of a protocol.
    Requests(Protocol),
}

impl Form {
    /// The form of a place, where files have this format.
    pub(crate) fn of(place: &PlaceKind, format: Format) -> Self {
        match place {
            PlaceKind::Folder(_) | PlaceKind::Objects(_) => Self::File(format),
            // A file on its way into tables.
            PlaceKind::Store(_) => Self::File(Format::Hprof),
            PlaceKind::Server(protocol, _) => Self::Requests(*protocol),
        }
    }
}

/// What a queue gets: bytes, and the path that they have at the place, or a name.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl ProfileFile {
    /// The file in a form. A form that holds nothing of it has no packages.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn packages(
        &self,
        form: Form,
        identity: &Identity,
        title: &str,
    ) -> io::Result<Vec<Package>> {
        let package = |request: HttpRequest, ending: &str| Package {
            path: format!("{}.{ending}", self.name()),
            bytes: request.to_bytes(),
        };
        Ok(match form {
            Form::File(format) => match self.bytes(format, title) {
                Ok(bytes) => vec![Package { path: self.path(identity, format), bytes }],
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => Vec::new(),
                Err(error) => return Err(error),
            },
            Form::Requests(Protocol::Push) => {
                let request = pyroscope::push(self, identity)?;
                request.map(|it| package(it, "push")).into_iter().collect()
            }
            Form::Requests(Protocol::Ingest) => {
                let requests = pyroscope::ingest(self, identity)?.into_iter();
                requests.map(|(series, it)| package(it, &format!("{series}.ingest"))).collect()
            }
            Form::Requests(Protocol::Otlp) => {
                let request = otlp::request(self, identity)?;
                request.map(|it| package(it, "otlp")).into_iter().collect()
            }
        })
    }
}
