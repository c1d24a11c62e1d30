//! What is asked: profiles and heap dumps in files and folders, or a store.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use perk_heap::NoWatch;
use perk_open::Options;
use perk_store::{Store, StoreAddress};
use perk_tables::{HeapDump, Recording};

use crate::talk::say;

/// What is asked.
pub(super) enum Inputs {
    Recordings(Vec<Recording>),
    Store(StoreAddress),
}

/// Finds out what the inputs are, and reads those that are profiles.
///
/// # Errors
/// A file cannot be read, a folder has no profile, or there is more than a store, in one line.
pub(super) fn open(inputs: &[PathBuf]) -> anyhow::Result<Inputs> {
    let mut stores = inputs.iter().filter_map(|it| store(it).transpose());
    match (stores.next().transpose()?, inputs.len()) {
        (None, _) => Ok(Inputs::Recordings(read(inputs)?)),
        (Some(address), 1) => Ok(Inputs::Store(address)),
        (Some(address), _) => {
            bail!("{address} is a store: ask it alone, without files and other stores")
        }
    }
}

/// The store that an input is; `None` if it is a file or a folder of profiles.
fn store(input: &Path) -> anyhow::Result<Option<StoreAddress>> {
    let text = input.to_string_lossy();
    let is_address = text.contains("://") && !input.exists();
    let is_store = is_address || (input.is_dir() && Store::is_at(input));
    is_store.then(|| StoreAddress::parse(&text)).transpose()
}

/// Reads profiles.
fn read(inputs: &[PathBuf]) -> anyhow::Result<Vec<Recording>> {
    let mut recordings = Vec::new();
    for input in inputs {
        if input.is_dir() {
            open_folder(input, &mut recordings)?;
        } else {
            let (found, heap) = read_file(input)?;
            for note in &found.profile.notes {
                say(format_args!("{}: {note}", input.display()));
            }
            add(&mut recordings, input, found, heap);
        }
    }
    Ok(recordings)
}

/// Reads all profiles in a folder. There can be thousands: what is wrong with them is said in a line each of its kind.
fn open_folder(folder: &Path, recordings: &mut Vec<Recording>) -> anyhow::Result<()> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    let (before, mut skipped, mut notes) = (recordings.len(), Vec::new(), 0);
    for file in files {
        match read_file(&file) {
            Ok((found, heap)) => {
                notes += found.profile.notes.len();
                add(recordings, &file, found, heap);
            }
            Err(error) => skipped.push(format!("{error:#}")),
        }
    }
    if recordings.len() == before {
        bail!("{}: no profile is in this folder", folder.display());
    }
    if let Some(first) = skipped.first() {
        let folder = folder.display();
        say(format_args!("{folder}: files skipped: {}; the first: {first}", skipped.len()));
    }
    if notes > 0 {
        let folder = folder.display();
        say(format_args!("{folder}: notes on what the files lack: {notes}, in the table notes"));
    }
    Ok(())
}

/// Reads the profile of a file. Its objects are read when they are asked.
fn read_file(file: &Path) -> anyhow::Result<(perk_open::Input, Option<HeapDump>)> {
    let has_objects = !perk_open::is_stream(file)
        && perk_open::content(file).is_ok_and(|content| content.has_objects);
    if !has_objects {
        return Ok((perk_open::profile(file, &Options::default())?, None));
    }
    let found = perk_open::profile_beside_heap(file, &Options::default())?;
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

fn add(
    recordings: &mut Vec<Recording>,
    file: &Path,
    found: perk_open::Input,
    heap: Option<HeapDump>,
) {
    let number = recordings.len() as u64 + 1;
    let name = perk_open::display_name(file);
    recordings.push(Recording::new(number, name, found.profile, heap));
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
