//! What is served: files, the files of folders, running JVMs and the services of stores, each under a name that is part of
//! addresses.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use perk_open::display_name;
use perk_profile::units::printable;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::folder::{Folder, is_below};
use crate::live::{LiveMoment, LiveSource};
use crate::recording_store::RecordingStore;
use crate::stored::{ServiceMoment, Stores};

/// How long a list of a folder's files holds.
const LIST_AGE: Duration = Duration::from_secs(2);

/// What distinguishes a file from the one that was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    device: u64,
    inode: u64,
    pub(crate) bytes: u64,
    pub(crate) modified_ns: i128,
}

impl Fingerprint {
    /// That of a regular file; `None` where there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self {
            device: facts.dev(),
            inode: facts.ino(),
            bytes: facts.len(),
            modified_ns: i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec()),
        })
    }
}

/// What a source is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    Profile,
    Heap,
    Jvm,
    Service,
}

impl SourceKind {
    fn name(self) -> &'static str {
        match self {
            SourceKind::Profile => "profile",
            SourceKind::Heap => "heap",
            SourceKind::Jvm => "jvm",
            SourceKind::Service => "service",
        }
    }
}

/// A file, by its beginning.
#[derive(Clone, Debug)]
pub(crate) struct FileFacts {
    pub(crate) fingerprint: Fingerprint,
    kind: SourceKind,
    format: &'static str,
}

impl FileFacts {
    pub(crate) fn of(path: &Path, fingerprint: Fingerprint) -> anyhow::Result<Self> {
        let content = perk_open::content(path)?;
        let kind = if content.has_objects { SourceKind::Heap } else { SourceKind::Profile };
        Ok(Self { fingerprint, kind, format: content.format.title() })
    }
}

/// A source.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its name in addresses.
    pub(crate) id: String,
    /// Its name for people.
    pub(crate) name: String,
    /// How often it has changed since the server began.
    pub(crate) version: u64,
    pub(crate) origin: Origin,
}

/// Where the numbers of a source come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    File(FileOrigin),
    /// A part of the recording of a running JVM.
    Jvm(LiveMoment),
    /// A part of what a store has of a service.
    Service(ServiceMoment),
    /// A store that cannot be read now: why.
    Fault(String),
}

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct FileOrigin {
    pub(crate) path: PathBuf,
    /// The folder that it may not leave.
    folder: Option<PathBuf>,
    facts: Result<FileFacts, String>,
}

impl FileOrigin {
    /// The file as it is now.
    fn fingerprint(&self) -> Option<Fingerprint> {
        let is_inside = self.folder.as_deref().is_none_or(|folder| is_below(&self.path, folder));
        Fingerprint::of(&self.path).filter(|_| is_inside)
    }
}

impl Source {
    /// Its name in messages and commands.
    pub(crate) fn label(&self) -> String {
        match &self.origin {
            Origin::File(file) => display_name(&file.path),
            _ => self.name.clone(),
        }
    }

    fn of_jvm(place: usize, source: &LiveSource) -> Self {
        Self {
            id: format!("j{}", place + 1),
            name: printable(&source.jvm.title()),
            version: 1,
            origin: Origin::Jvm(LiveMoment::whole(source)),
        }
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&FileOrigin> {
        match &self.origin {
            Origin::File(file) => Some(file),
            _ => None,
        }
    }

    /// The part of the recording of a running JVM, if it is one.
    pub(crate) fn live(&self) -> Option<&LiveMoment> {
        match &self.origin {
            Origin::Jvm(live) => Some(live),
            _ => None,
        }
    }

    /// The file as it is now.
    pub(crate) fn fingerprint(&self) -> Result<Fingerprint, Fault> {
        let found = self.file().and_then(FileOrigin::fingerprint);
        found.ok_or_else(|| Fault::nothing(format!("{} is no file any more", self.name)))
    }

    fn value(&self) -> Value {
        let mut value = json!({
            "id": self.id,
            "name": self.name,
            "path": null,
            "kind": null,
            "format": null,
            "bytes": null,
            "modified": null,
            "version": self.version,
            "state": "ok",
            "error": null,
        });
        match &self.origin {
            Origin::File(file) => {
                let facts = file.facts.as_ref();
                let fingerprint =
                    facts.ok().map(|it| it.fingerprint).or_else(|| Fingerprint::of(&file.path));
                value["path"] = display_name(&file.path).into();
                value["kind"] = facts.map_or("profile", |it| it.kind.name()).into();
                value["format"] = facts.ok().map(|it| it.format).into();
                value["bytes"] = fingerprint.map(|it| it.bytes).into();
                value["modified"] =
                    fingerprint.map(|it| (it.modified_ns / 1_000_000) as i64).into();
                if let Err(line) = facts {
                    value["state"] = "cannot be read".into();
                    value["error"] = printable(line).into();
                }
            }
            Origin::Jvm(live) => {
                value["kind"] = SourceKind::Jvm.name().into();
                value["modified"] = live.source.recording.progress().begun_unix_ms.into();
                value["recording"] = live.source.state().into();
            }
            Origin::Service(moment) => {
                value["kind"] = SourceKind::Service.name().into();
                value["format"] = printable(&moment.store.name()).into();
                value["begin"] = moment.service.begin_unix_ms.into();
                value["modified"] = moment.service.end_unix_ms.into();
            }
            Origin::Fault(line) => {
                value["kind"] = SourceKind::Service.name().into();
                value["state"] = "cannot be read".into();
                value["error"] = printable(line).into();
            }
        }
        value
    }
}

/// An argument of the command line.
#[derive(Debug)]
enum Input {
    File(PathBuf),
    Folder(PathBuf),
}

/// All sources.
pub(crate) struct Sources {
    inputs: Vec<Input>,
    jvms: Vec<LiveSource>,
    stores: Stores,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    folders: HashMap<usize, Folder>,
    list: Vec<Source>,
    listed: Option<Instant>,
    files: HashMap<PathBuf, (Fingerprint, Result<FileFacts, String>)>,
    versions: HashMap<String, (Option<Fingerprint>, u64)>,
}

impl Sources {
    /// The sources of these arguments.
    ///
    /// # Errors
    /// One is not there, or is neither a file that perk can read nor a folder.
    pub(crate) fn new(
        paths: &[PathBuf],
        jvms: Vec<LiveSource>,
        stores: Vec<Arc<dyn RecordingStore>>,
    ) -> anyhow::Result<Self> {
        let input = |path: &PathBuf| {
            let name = display_name(path);
            if perk_open::is_stream(path) {
                bail!("stdin can be read only once: name a file");
            }
            let facts = fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
            // Links are resolved once: the files stay where they are when the link changes.
            let whole = fs::canonicalize(path).with_context(|| format!("cannot read {name}"))?;
            match () {
                () if facts.is_dir() => Ok(Input::Folder(whole)),
                () if facts.is_file() => {
                    perk_open::content(path)?;
                    Ok(Input::File(path.clone()))
                }
                () => bail!("{name} is neither a file nor a folder"),
            }
        };
        let inputs = paths.iter().map(input).collect::<anyhow::Result<_>>()?;
        Ok(Self { inputs, jvms, stores: Stores(stores), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All sources, as they were at most some seconds ago.
    pub(crate) fn list(&self) -> Value {
        let mut state = self.state();
        self.update(&mut state);
        json!({ "sources": state.list.iter().map(Source::value).collect::<Vec<_>>() })
    }

    /// The source of this id.
    pub(crate) fn find(&self, id: &str) -> Result<Source, Fault> {
        let mut state = self.state();
        let is_there = |state: &State| state.list.iter().any(|it| it.id == id);
        if !is_there(&state) || state.listed.is_none_or(|it| it.elapsed() > LIST_AGE) {
            self.update(&mut state);
        }
        // Of a store that cannot be read, all services are its fault.
        let is_fault_of = |it: &&Source| {
            let is_of_store = id.strip_prefix(&*it.id).is_some_and(|rest| rest.starts_with(':'));
            is_of_store && matches!(it.origin, Origin::Fault(_))
        };
        let found = state.list.iter().find(|it| it.id == id);
        let found = found.or_else(|| state.list.iter().find(is_fault_of)).cloned();
        let mut source = found
            .ok_or_else(|| Fault::nothing("there is no such source: /api/sources lists them"))?;
        if let Origin::File(file) = &source.origin {
            source.version = version(&mut state.versions, id, Fingerprint::of(&file.path));
        }
        Ok(source)
    }

    fn update(&self, state: &mut State) {
        if state.listed.is_some_and(|it| it.elapsed() < LIST_AGE) {
            return;
        }
        let State { folders, list, listed, files, versions } = state;
        list.clear();
        let mut jvms = self.jvms.iter().enumerate().peekable();
        for (index, input) in self.inputs.iter().enumerate() {
            while let Some((place, source)) = jvms.next_if(|it| it.1.place <= index) {
                list.push(Source::of_jvm(place, source));
            }
            let id = format!("s{}", index + 1);
            match input {
                Input::File(path) => {
                    let facts = file_facts(files, path);
                    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                    list.push(Source {
                        version: version(versions, &id, Fingerprint::of(path)),
                        id,
                        name: printable(&name),
                        origin: Origin::File(FileOrigin {
                            path: path.clone(),
                            folder: None,
                            facts,
                        }),
                    });
                }
                Input::Folder(path) => {
                    let folder = folders.entry(index).or_insert_with(|| Folder::new(path.clone()));
                    list.extend(folder.files().into_iter().map(|file| {
                        let below = file.below.to_string_lossy();
                        let id = format!("{id}:{}", below_id(&file.below));
                        Source {
                            version: version(versions, &id, Some(file.facts.fingerprint)),
                            id,
                            name: printable(&below),
                            origin: Origin::File(FileOrigin {
                                path: file.path,
                                folder: Some(path.clone()),
                                facts: Ok(file.facts),
                            }),
                        }
                    }));
                }
            }
        }
        list.extend(jvms.map(|(place, source)| Source::of_jvm(place, source)));
        list.extend(self.stores.sources());
        *listed = Some(Instant::now());
    }
}

/// The path below a folder as a part of an address. Names that are no Unicode have their other bytes as `%XX`.
fn below_id(below: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let chunks = below.as_os_str().as_bytes().utf8_chunks();
    chunks.fold(String::new(), |mut id, chunk| {
        id += &chunk.valid().replace('%', "%25");
        chunk.invalid().iter().for_each(|byte| id += &format!("%{byte:02X}"));
        id
    })
}

/// What a file holds, looked at again where it has changed.
fn file_facts(
    files: &mut HashMap<PathBuf, (Fingerprint, Result<FileFacts, String>)>,
    path: &Path,
) -> Result<FileFacts, String> {
    let Some(fingerprint) = Fingerprint::of(path) else {
        return Err(format!("{} is no file any more", display_name(path)));
    };
    match files.get(path).filter(|it| it.0 == fingerprint) {
        Some((_, facts)) => facts.clone(),
        None => {
            let facts = FileFacts::of(path, fingerprint).map_err(|error| format!("{error:#}"));
            files.insert(path.to_owned(), (fingerprint, facts.clone()));
            facts
        }
    }
}

/// The version of a source whose file is now `fingerprint`.
fn version(
    versions: &mut HashMap<String, (Option<Fingerprint>, u64)>,
    id: &str,
    fingerprint: Option<Fingerprint>,
) -> u64 {
    let known = versions.entry(id.to_owned()).or_insert((fingerprint, 1));
    if known.0 != fingerprint {
        *known = (fingerprint, known.1 + 1);
    }
    known.1
}
