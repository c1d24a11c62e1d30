//! Profiles that are pushed, as recordings of the store.

use std::io::Cursor;

use perk_open::{Format, Options, Source};
use perk_profile::Profile;
use perk_store::{Origin, Piece, service_name};

use super::api::Api;
use super::fault::Fault;
use super::limits::{
    AHEAD_MS, MOST_HOURS, MOST_LABELS, MOST_SAMPLE_LABELS, NAME_BYTES, READING_BYTES,
    UNPACKED_BYTES, VALUE_BYTES,
};
use crate::series_names::{SERVICE, SERVICE_NAME};
use crate::store::args::now_ms;

/// The service of what names none.
const UNKNOWN_SERVICE: &str = "unknown_service";
/// What stands for a file in a store.
const PUSHED: &str = "pushed";

/// The labels of a push as perk has them.
///
/// # Errors
/// There are too many, or one is too long.
pub(super) fn checked_labels(
    given: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<(String, String)>, Fault> {
    let mut labels: Vec<(String, String)> = Vec::new();
    for (name, value) in given {
        // Names with two underscores are what Pyroscope says of series itself.
        if name.starts_with("__") || value.is_empty() {
            continue;
        }
        if name.is_empty() || name.len() > NAME_BYTES || name.chars().any(char::is_control) {
            let line = format!("{name:?} is no name of a label: use 1 to {NAME_BYTES} letters");
            return Err(Fault::argument(line));
        }
        if value.len() > VALUE_BYTES {
            let line = format!("the label {name} has more than {VALUE_BYTES} bytes");
            return Err(Fault::argument(line));
        }
        let name = if name == SERVICE_NAME { SERVICE.to_owned() } else { name };
        if labels.iter().any(|it| it.0 == name) {
            return Err(Fault::argument(format!("the label {name} is there twice")));
        }
        // Folders have its name.
        if name == SERVICE && service_name(&value) != value {
            return Err(Fault::argument("the name of the service is too long"));
        }
        labels.push((name, value));
    }
    if labels.len() > MOST_LABELS {
        return Err(Fault::argument(format!("more than {MOST_LABELS} labels: leave some out")));
    }
    if !labels.iter().any(|it| it.0 == SERVICE) {
        labels.push((SERVICE.to_owned(), UNKNOWN_SERVICE.to_owned()));
    }
    labels.sort();
    Ok(labels)
}

/// Reads a profile that was pushed, packed or not.
///
/// # Errors
/// It is none of the format, or too large.
pub(super) fn read(bytes: Vec<u8>, format: Format) -> Result<Profile, Fault> {
    let options = Options {
        format: Some(format),
        max_bytes: UNPACKED_BYTES as u64,
        max_memory_bytes: Some(READING_BYTES),
        ..Options::default()
    };
    let input = Source::stream(Cursor::new(bytes), "the profile").profile(&options);
    input.map(|it| it.profile).map_err(|error| Fault::argument(format!("{error:#}")))
}

impl Api {
    /// Adds the profiles that `read` makes, which have these labels and this time, if they say none.
    ///
    /// # Errors
    /// A profile is wrong, there are too many sets of labels, or the store cannot be written.
    pub(super) async fn add(
        &self,
        labels: Vec<(String, String)>,
        created_ms: Option<i64>,
        read: impl FnOnce() -> Result<Vec<Profile>, Fault> + Send + 'static,
    ) -> Result<(), Fault> {
        self.label_sets.count(&labels)?;
        let created_ms = Some(created_ms.unwrap_or_else(now_ms));
        let origin = Origin { file: PUSHED.to_owned(), labels, created_ms };
        let made = tokio::task::spawn_blocking(move || pieces(&read()?, &origin)).await;
        let pieces = made.map_err(|error| Fault::store(&error.into()))??;
        for piece in &pieces {
            self.store.add(piece).await.map_err(|error| Fault::store(&error))?;
        }
        Ok(())
    }
}

/// The pieces of profiles.
fn pieces(profiles: &[Profile], origin: &Origin) -> Result<Vec<Piece>, Fault> {
    let mut pieces = Vec::new();
    for profile in profiles {
        if profile.sections().all(|it| it.is_empty()) {
            continue;
        }
        if profile.labels.len() > MOST_SAMPLE_LABELS {
            let line = format!("more than {MOST_SAMPLE_LABELS} sets of labels in a profile");
            return Err(Fault::rate(line));
        }
        let created_ms = profile.created.and_then(|it| i64::try_from(it.unix_ms).ok());
        let created_ms = created_ms.or(origin.created_ms).unwrap_or_default();
        if created_ms > now_ms().saturating_add(AHEAD_MS) {
            return Err(Fault::argument(
                "the profile is of the future: its time is in another unit",
            ));
        }
        let made = Piece::all_of(profile, origin);
        let made = made.map_err(|error| Fault::argument(format!("{error:#}")))?;
        if made.len() > MOST_HOURS {
            let line = format!("the profile reaches over more than {MOST_HOURS} hours");
            return Err(Fault::argument(line));
        }
        pieces.extend(made);
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Result<Vec<(String, String)>, Fault> {
        checked_labels(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())))
    }

    #[test]
    fn labels_are_those_of_perk() {
        let found =
            labels(&[("service_name", "shop"), ("__name__", "memory"), ("a", "1"), ("b", "")]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.unwrap(), [pair("a", "1"), pair("service", "shop")]);
        assert_eq!(labels(&[]).unwrap(), [pair("service", UNKNOWN_SERVICE)]);
    }

    #[test]
    fn labels_are_limited() {
        let (long, names): (_, Vec<_>) =
            ("x".repeat(2000), (0..31).map(|it| format!("n{it}")).collect());
        let many: Vec<_> = names.iter().map(|it| (&**it, "1")).collect();
        for (given, words) in [
            (&[("a", &*long)][..], "more than 1024 bytes"),
            (&[(&*long, "1")], "no name of a label"),
            (&[("", "1")], "no name of a label"),
            (&[("a", "1"), ("a", "2")], "twice"),
            (&[("service_name", &long[..200])], "service is too long"),
            (&many, "more than 30 labels"),
        ] {
            let fault = labels(given).unwrap_err();
            assert!(fault.line.contains(words), "{}", fault.line);
        }
    }
}
