//! Every kind of file in every format that perk writes: what is read back is what was there, or the
//! losses say what is not.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use perk_formats::{FORMATS, FileFormat, View};
use perk_profile::{Metric, Profile, Unit};

/// The maximum length of a file.
const MOST_BYTES: usize = 50_000;

/// Returns all files below the folder `testdata` that perk reads, and their profiles.
fn inputs() -> Vec<(String, Profile)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let list = if path.is_dir() { &mut folders } else { &mut files };
            list.push(path);
        }
    }
    files.sort();
    let mut inputs = Vec::new();
    for path in files {
        let mut bytes = fs::read(&path).unwrap();
        if path.extension().is_some_and(|it| it == "gz") {
            let packed = std::mem::take(&mut bytes);
            // One of the recordings is cut off.
            let _ = MultiGzDecoder::new(&packed[..]).read_to_end(&mut bytes);
        }
        if bytes.len() > MOST_BYTES {
            continue;
        }
        let Some(format) = perk_formats::recognise(&bytes) else { continue };
        if let Ok(profile) = format.read(&mut &bytes[..]) {
            inputs.push((path.file_name().unwrap().to_string_lossy().into_owned(), profile));
        }
    }
    inputs
}

/// Checks one file of a profile. Returns the number of metrics that were compared, and adds what is
/// wrong with them.
fn check(
    name: &str,
    profile: &Profile,
    format: &'static dyn FileFormat,
    wrong: &mut Vec<String>,
) -> usize {
    let view = View::new(profile, name);
    let mut file = Vec::new();
    if let Err(refusal) = format.write_view(&view, &mut file) {
        let refusal = refusal.to_string();
        assert!(!refusal.is_empty() && !refusal.contains('\n'), "{name}: {format:?}: {refusal}");
        return 0;
    }
    if format.instead(&view).is_some() {
        return 0;
    }
    // A text of calls by callee and caller is that of `cpu=old`.
    let reader = perk_formats::recognise(&file).unwrap_or(format);
    let read = match reader.read(&mut &file[..]) {
        // A page of another metric is not read back.
        Err(_) if format.name() == "html" && !Metric::Samples.is_in(profile) => return 0,
        read => read.unwrap_or_else(|error| panic!("{name}: {format:?}: {error}")),
    };
    let losses = format.losses(&view);
    let mut compared = 0;
    for metric in Metric::all_of(profile) {
        let what = format!("{name}: {format:?}: {metric:?}: {losses:?}");
        let total = metric.rows(profile).total;
        let lists = |it: &String| {
            let names = it.strip_prefix("the metrics ").or_else(|| it.strip_prefix("the metric "));
            names.is_some_and(|names| names.split(", ").any(|it| it == metric.name()))
        };
        let begin = format!("digits of the metric {} (", metric.name());
        let end = format!(" of the metric {}", metric.name());
        let lost = losses.iter().find_map(|it| it.strip_suffix(&end)?.split(' ').next());
        let is_only = format.has_one_metric() && Metric::first_of(profile) == Some(metric.clone());
        // A page shows all leading metrics and is read back by the one that it shows first.
        if format.has_one_metric() && !is_only {
            continue;
        }
        let found = if is_only && Metric::all_of(&read).len() == 1 {
            Metric::all_of(&read)[0].rows(&read).total
        } else {
            Metric::find(&read, metric.name()).map_or(0, |it| it.rows(&read).total)
        };
        if losses.iter().any(lists) {
            continue;
        }
        compared += 1;
        let lost: u64 = lost.map_or(0, |it| it.parse().unwrap());
        let is_rounded = losses.iter().any(|it| it.starts_with(&begin));
        // A row of a text is half a unit off at most, and hundredths of seconds are the largest.
        let rows = 1 + metric.rows(profile).rows.len() as u64;
        let tolerance = match metric.unit() {
            _ if !is_rounded => 0,
            Unit::Nanoseconds => rows * 5_000_000,
            _ => total / 100,
        };
        if found.abs_diff(total - lost) > tolerance {
            wrong.push(format!("{what}: {total}, read {found}"));
        }
    }
    compared
}

#[test]
fn what_is_read_is_written_or_said_to_be_lost() {
    let inputs = inputs();
    let (mut compared, mut wrong) = (0, Vec::new());
    for (name, profile) in &inputs {
        for format in FORMATS.into_iter().filter(|it| it.is_read() && it.is_written()) {
            // Samples and objects become up to millions of events there: small files are enough.
            let has_objects = Metric::OF_OBJECTS.iter().any(|metric| metric.is_in(profile));
            let is_large = has_objects && !name.ends_with(".jfr.gz")
                || Metric::Samples.rows(profile).total > 20_000;
            if format.name() == "jfr" && is_large {
                continue;
            }
            compared += check(name, profile, format, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(inputs.len() > 40 && compared > 300, "{} files, {compared} sums", inputs.len());
}
