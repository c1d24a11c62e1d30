//! The search for source files below folders.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use perk_analysis::source::{AnnotatedFile, SourceFile, SourceText};

/// The largest source file that is read.
const MAX_BYTES: u64 = 64 << 20;

/// A file that may be the source of classes.
struct Candidate {
    /// The path as it is shown.
    path: PathBuf,
    /// The path without links.
    real: PathBuf,
}

/// The result of a search.
pub(super) struct SourceMatches {
    pub(super) found: Vec<AnnotatedFile>,
    /// The files that are nowhere.
    pub(super) missing: Vec<SourceFile>,
    /// The paths of those that were found more than once.
    pub(super) ambiguous: Vec<String>,
}

/// Looks for each of `files` below `folders`.
///
/// # Errors
/// One of `folders` cannot be read, or is not a folder.
pub(super) fn find(
    folders: &[PathBuf],
    files: Vec<SourceFile>,
    notes: &mut Vec<String>,
) -> anyhow::Result<SourceMatches> {
    let mut by_name: HashMap<&str, Vec<Candidate>> = HashMap::new();
    by_name.extend(files.iter().map(|file| (&*file.name, Vec::new())));
    for folder in folders {
        search(folder, &mut by_name, notes)
            .with_context(|| format!("--source {}: cannot read it", folder.display()))?;
    }
    for candidates in by_name.values_mut() {
        candidates.sort_by(|a, b| a.real.cmp(&b.real));
        // One folder may be below another.
        candidates.dedup_by(|a, b| a.real == b.real);
    }
    let texts: Vec<_> =
        files.iter().map(|file| text_of(file, &by_name[file.name.as_str()])).collect();
    let mut all = SourceMatches { found: Vec::new(), missing: Vec::new(), ambiguous: Vec::new() };
    for (file, text) in files.into_iter().zip(texts) {
        let Some((path, text, is_ambiguous)) = text else {
            all.missing.push(file);
            continue;
        };
        let path = path.display().to_string();
        all.ambiguous.extend(is_ambiguous.then(|| path.clone()));
        all.found.push(AnnotatedFile { file, path, text });
    }
    Ok(all)
}

/// Adds the files below `root` that have one of the names. Hidden folders (`.git`) and links to
/// folders are skipped.
fn search(
    root: &Path,
    by_name: &mut HashMap<&str, Vec<Candidate>>,
    notes: &mut Vec<String>,
) -> anyhow::Result<()> {
    let real = fs::canonicalize(root)?;
    if !real.is_dir() {
        bail!("not a folder");
    }
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(real.join(&folder)) {
            Err(error) if !folder.as_os_str().is_empty() => {
                let path = root.join(folder);
                notes.push(format!("{} is skipped: {error}", path.display()));
                continue;
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let path = folder.join(&name);
            if entry.file_type()?.is_dir() {
                if !name.as_encoded_bytes().starts_with(b".") {
                    folders.push(path);
                }
            } else if let Some(candidates) = name.to_str().and_then(|it| by_name.get_mut(it)) {
                candidates.push(Candidate { path: root.join(&path), real: real.join(path) });
            }
        }
    }
    Ok(())
}

/// A file among those of its name, and whether there are others: one in the folders of its package,
/// or that declares the package. One that does both is preferred.
fn text_of(file: &SourceFile, candidates: &[Candidate]) -> Option<(PathBuf, SourceText, bool)> {
    let rated = candidates.iter().filter_map(|candidate| {
        let text = read(&candidate.real)?;
        let is_in_package = !file.package.is_empty() && candidate.real.ends_with(file.path());
        let declares = text.package() == file.package;
        (is_in_package || declares).then_some((is_in_package && declares, candidate, text))
    });
    let mut rated: Vec<_> = rated.collect();
    let best = rated.iter().any(|it| it.0);
    rated.retain(|it| it.0 == best);
    let is_ambiguous = rated.len() > 1;
    let (_, Candidate { path, .. }, text) = rated.into_iter().next()?;
    Some((path.clone(), text, is_ambiguous))
}

/// The text of a file; `None` if it cannot be read, or is too large for a source.
fn read(path: &Path) -> Option<SourceText> {
    let metadata = fs::metadata(path).ok()?;
    let is_source = metadata.is_file() && metadata.len() <= MAX_BYTES;
    Some(SourceText::new(&is_source.then(|| fs::read(path))?.ok()?))
}
