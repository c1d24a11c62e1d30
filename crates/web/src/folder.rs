//! The files of a folder that perk can read.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::{FileFacts, Fingerprint};

/// Folders below each other that are looked into.
const DEPTH: usize = 8;
/// The most files that are read of a folder.
const FILES: usize = 10_000;

/// A file of at most this size is small.
const SMALL_BYTES: u64 = 64 << 10;

/// A folder, and what its files held when they were last looked at.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Its path without links.
    path: PathBuf,
    known: HashMap<PathBuf, (Fingerprint, Option<FileFacts>)>,
}

/// A file of a folder.
#[derive(Debug)]
pub(crate) struct FolderFile {
    /// Its path below the folder.
    pub(crate) below: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) facts: FileFacts,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, known: HashMap::new() }
    }

    /// The files that perk can read, newest first. Links are followed as far as they stay in the folder.
    pub(crate) fn files(&mut self) -> Vec<FolderFile> {
        let mut paths = Vec::new();
        walk(&self.path, DEPTH, &mut paths);
        let mut known = HashMap::new();
        let mut files = Vec::new();
        for path in paths {
            let Some(fingerprint) = Fingerprint::of(&path) else { continue };
            let before = self.known.remove(&path).filter(|it| it.0 == fingerprint);
            let facts = match before {
                Some((_, facts)) => facts,
                None => self.facts(&path, fingerprint),
            };
            known.insert(path.clone(), (fingerprint, facts.clone()));
            let below = path.strip_prefix(&self.path).map(Path::to_path_buf);
            files.extend(facts.zip(below.ok()).map(|(facts, below)| FolderFile {
                below,
                path,
                facts,
            }));
        }
        self.known = known;
        files.sort_by(|a, b| {
            let modified = |it: &FolderFile| it.facts.fingerprint.modified_ns;
            modified(b).cmp(&modified(a)).then_with(|| a.below.cmp(&b.below))
        });
        files
    }
}

impl Folder {
    /// What a file holds; `None` if perk cannot read it. The beginning of a text can look like a profile's: small
    /// files are read to their end.
    fn facts(&self, path: &Path, fingerprint: Fingerprint) -> Option<FileFacts> {
        if !is_below(path, &self.path) {
            return None;
        }
        let facts = FileFacts::of(path, fingerprint).ok()?;
        let is_small = fingerprint.bytes <= SMALL_BYTES;
        let is_read = || perk_open::profile(path, &perk_open::Options::default()).is_ok();
        (!is_small || is_read()).then_some(facts)
    }
}

/// Whether a path leads to a file below the folder, links and all.
pub(crate) fn is_below(path: &Path, folder: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|it| it.starts_with(folder))
}

/// Adds the files below a folder; links to folders are not followed, as they can go in circles.
fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if files.len() >= FILES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => walk(&entry.path(), depth - 1, files),
            Ok(kind) if kind.is_file() || kind.is_symlink() => files.push(entry.path()),
            _ => {}
        }
    }
}
