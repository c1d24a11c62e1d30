//! What is asked: profiles in files and folders, or a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use perk_formats::jfr::events;
use perk_heap::NoWatch;
use perk_open::{Input, Options, Source};
use perk_store::StoreAddress;
use perk_tables::{EventFile, Events, HeapDump, Recording, Recordings};

use crate::talk::say;

/// The format whose events are tables.
const JFR: &str = "jfr";

/// What is asked.
pub(super) enum Inputs {
    Recordings(Recordings, Arc<Events>),
    Store(StoreAddress),
}

/// Finds out what the inputs are, and reads those that are profiles.
///
/// # Errors
/// A file cannot be read, a folder has no profile, or there is more than a store, in one line.
pub(super) fn open(inputs: &[PathBuf]) -> anyhow::Result<Inputs> {
    let mut stores = inputs.iter().filter_map(|it| StoreAddress::of_input(it).transpose());
    match (stores.next().transpose()?, inputs.len()) {
        (None, _) => read(inputs),
        (Some(address), 1) => Ok(Inputs::Store(address)),
        (Some(address), _) => {
            bail!("{address} is a store: ask it alone, without files and other stores")
        }
    }
}

/// Reads profiles and the types of events. Of JFR recordings alone, profiles are read when a query needs them: events do
/// not.
fn read(inputs: &[PathBuf]) -> anyhow::Result<Inputs> {
    let files: Option<Vec<EventFile>> = inputs
        .iter()
        .zip(1..)
        .map(|(input, number)| event_file(input, number))
        .collect::<Result<_, _>>()?;
    let say_events = |text: &str| say(format_args!("{text}"));
    if let Some(files) = files {
        let inputs = inputs.to_vec();
        let recordings = Recordings::new(move || Ok(read_profiles(&inputs)?.recordings));
        return Ok(Inputs::Recordings(recordings, Arc::new(Events::new(files, say_events))));
    }
    let Profiles { recordings, paths } = read_profiles(inputs)?;
    let files = paths.iter().map(|(number, path)| event_file(path, *number));
    let files: Vec<Option<EventFile>> = files.collect::<Result<_, _>>()?;
    let events = Events::new(files.into_iter().flatten().collect(), say_events);
    Ok(Inputs::Recordings(recordings.into(), Arc::new(events)))
}

/// A file with its types of events; `None` of a folder, a stream and other formats.
fn event_file(path: &Path, recording: u64) -> anyhow::Result<Option<EventFile>> {
    if path.is_dir() || perk_open::is_stream(path) {
        return Ok(None);
    }
    let types = Source::at(path)?.read(&Options::default(), |format, input| {
        Ok(if format.facts().name == JFR { Some(events::types(input)?) } else { None })
    })?;
    Ok(types.map(|types| EventFile { recording, path: path.to_owned(), types }))
}

/// Profiles, and the files of those that have events.
#[derive(Default)]
struct Profiles {
    recordings: Vec<Recording>,
    paths: Vec<(u64, PathBuf)>,
}

/// Reads profiles.
fn read_profiles(inputs: &[PathBuf]) -> anyhow::Result<Profiles> {
    let mut profiles = Profiles::default();
    for input in inputs {
        if input.is_dir() {
            profiles.add_folder(input)?;
        } else {
            let (found, heap) = read_file(input)?;
            for note in &found.profile.notes {
                say(format_args!("{}: {note}", input.display()));
            }
            profiles.add(input, found, heap);
        }
    }
    Ok(profiles)
}

/// Reads the profile of a file, with the stacks of all events, which tables of events name. Its objects are read when they
/// are asked.
fn read_file(file: &Path) -> anyhow::Result<(Input, Option<HeapDump>)> {
    let options = Options { all_stacks: true, ..Options::default() };
    let has_objects = !perk_open::is_stream(file)
        && perk_open::content(file).is_ok_and(|content| content.has_objects);
    if !has_objects {
        return Ok((perk_open::profile(file, &options)?, None));
    }
    let found = perk_open::profile_beside_heap(file, &options)?;
    let file = file.to_owned();
    let dump = HeapDump::new(move |options| {
        let heap = perk_open::heap(&file, options, &mut NoWatch)?;
        for note in heap.notes() {
            say(format_args!("{}: {note}", file.display()));
        }
        Ok(heap)
    });
    Ok((found, Some(dump)))
}

impl Profiles {
    /// Reads all profiles in a folder. There can be thousands: what is wrong with them is said in a line each of its kind.
    fn add_folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        let (before, mut skipped, mut notes) = (self.recordings.len(), Vec::new(), 0);
        for file in files {
            match read_file(&file) {
                Ok((found, heap)) => {
                    notes += found.profile.notes.len();
                    self.add(&file, found, heap);
                }
                Err(error) => skipped.push(format!("{error:#}")),
            }
        }
        if self.recordings.len() == before {
            bail!("{}: no profile is in this folder", folder.display());
        }
        if let Some(first) = skipped.first() {
            let folder = folder.display();
            say(format_args!("{folder}: files skipped: {}; the first: {first}", skipped.len()));
        }
        if notes > 0 {
            let folder = folder.display();
            say(format_args!(
                "{folder}: notes on what the files lack: {notes}, in the table notes"
            ));
        }
        Ok(())
    }

    fn add(&mut self, file: &Path, found: Input, heap: Option<HeapDump>) {
        let number = self.recordings.len() as u64 + 1;
        if found.format.facts().name == JFR {
            self.paths.push((number, file.to_owned()));
        }
        let name = perk_open::display_name(file);
        self.recordings.push(Recording::new(number, name, found.profile, heap));
    }
}

/// All files below a folder, by name. Names that begin with a dot, and files that are still written, are left out.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|it| Ok(it?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name.ends_with(".part") {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}
