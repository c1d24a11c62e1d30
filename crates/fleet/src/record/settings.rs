//! What is asked for: arguments, the file of `--config`, and defaults.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, bail};
use rustix::process::geteuid;

use super::args::{Format, LabelArg, RecordArgs};
use super::deliver::{Place, PlaceKind};
use super::machine;
use super::triggers::Trigger;

/// The time of a file, unless another one is asked for.
const EVERY: Duration = Duration::from_secs(60);
/// The share of a JVM's CPU time, in percent.
const BUDGET_PERCENT: f64 = 1.0;
/// The limit of each trigger, in each JVM.
const TRIGGERS_PER_HOUR: u32 = 4;
const SPOOL_BYTES: u64 = 1 << 30;

/// All that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) jvms: Vec<String>,
    pub(crate) places: Vec<Place>,
    /// The certificates of authorities that are trusted, too.
    pub(crate) ca: Option<PathBuf>,
    pub(crate) every: Duration,
    pub(crate) budget_percent: f64,
    pub(crate) format: Format,
    pub(crate) keep: Option<Duration>,
    pub(crate) most_bytes: Option<u64>,
    pub(crate) service: Option<String>,
    pub(crate) labels: Vec<LabelArg>,
    pub(crate) spool: PathBuf,
    pub(crate) spool_bytes: u64,
    pub(crate) metrics: Option<std::net::SocketAddr>,
    pub(crate) is_once: bool,
    pub(crate) triggers: Vec<Trigger>,
    /// How often each may fire in each JVM and hour.
    pub(crate) triggers_per_hour: u32,
}

impl Settings {
    /// The settings of arguments and of their file.
    ///
    /// # Errors
    /// The file cannot be read, or something is missing or cannot be, in one line.
    pub(crate) fn of(args: &RecordArgs) -> anyhow::Result<Self> {
        let args = match &args.config {
            Some(path) => args.clone().or(read(path)?),
            None => args.clone(),
        };
        if args.to.is_empty() {
            bail!("there is no destination: add --to FOLDER");
        }
        let places = args.to.iter().map(|to| Place::of(to, &args.headers));
        let places: Vec<_> = places.collect::<anyhow::Result<_>>()?;
        let mut keys = HashSet::new();
        if let Some(place) = places.iter().find(|it| !keys.insert(it.key())) {
            bail!("--to {} is there twice", place.name);
        }
        check_use(&args, &places)?;
        if args.when.len() != args.then.len() {
            bail!(
                "there are {} --when and {} --then: each condition needs its measurement",
                args.when.len(),
                args.then.len()
            );
        }
        let triggers = args.when.into_iter().zip(args.then);
        let triggers = triggers.map(|(condition, action)| Trigger { condition, action }).collect();
        Ok(Self {
            places,
            ca: args.ca,
            jvms: args.jvms,
            every: args.every.map_or(EVERY, |it| it.0),
            budget_percent: args.budget.map_or(BUDGET_PERCENT, |it| it.0),
            format: args.format.unwrap_or_default(),
            keep: args.keep.map(|it| it.0),
            most_bytes: args.max_size.map(|it| it.0),
            service: args.service,
            labels: args.labels,
            spool: args.spool.unwrap_or_else(default_spool),
            spool_bytes: args.spool_size.map_or(SPOOL_BYTES, |it| it.0),
            metrics: args.metrics,
            is_once: args.once,
            triggers,
            triggers_per_hour: args.triggers_per_hour.unwrap_or(TRIGGERS_PER_HOUR),
        })
    }
}

/// Refuses options that none of the places needs.
fn check_use(args: &RecordArgs, places: &[Place]) -> anyhow::Result<()> {
    let any = |is_it: fn(&PlaceKind) -> bool| places.iter().any(|place| is_it(&place.kind));
    let has_folder = any(|it| matches!(it, PlaceKind::Folder(_)));
    let has_server = any(|it| matches!(it, PlaceKind::Server(..)));
    let has_files = any(|it| matches!(it, PlaceKind::Folder(_) | PlaceKind::Objects(_)));
    for (option, is_given, is_used, what) in [
        ("keep", args.keep.is_some(), has_folder, "a folder"),
        ("max-size", args.max_size.is_some(), has_folder, "a folder"),
        ("format", args.format.is_some(), has_files, "a folder or an object store"),
        ("header", !args.headers.is_empty(), has_server, "Pyroscope or a receiver of OTLP"),
    ] {
        if is_given && !is_used {
            bail!("--{option} works only with {what} as a destination");
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<RecordArgs> {
    let cannot = || format!("cannot read {}", path.display());
    let text = fs::read_to_string(path).with_context(cannot)?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
        anyhow::anyhow!("{}, line {line}: {}", path.display(), error.message())
    })
}

/// `/var/lib/perk/record` for root, otherwise a folder of the user's.
fn default_spool() -> PathBuf {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = || {
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|it| it.join(".local/state")))
    };
    let base = match geteuid().is_root() {
        true => Some(PathBuf::from("/var/lib")),
        false => state(),
    };
    base.unwrap_or_else(|| env::temp_dir().join(machine::user())).join("perk/record")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, RecordArgs) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.toml");
        fs::write(&path, text).unwrap();
        (folder, RecordArgs { config: Some(path), ..RecordArgs::default() })
    }

    #[test]
    fn a_file_has_the_options_and_arguments_have_precedence() {
        let text = "to = [\"/a\"]\nevery = \"30s\"\nkeep = \"7d\"\nmax-size = \"20g\"\nlabel = [\"team=a\"]\n";
        let (_folder, mut args) = file(text);
        let settings = Settings::of(&args).unwrap();
        assert_eq!(settings.every, Duration::from_secs(30));
        assert_eq!(settings.keep, Some(Duration::from_secs(7 * 24 * 3600)));
        assert_eq!(settings.most_bytes, Some(20 << 30));
        assert_eq!(settings.labels[0].key, "team");
        args.every = Some("5s".parse().unwrap());
        assert_eq!(Settings::of(&args).unwrap().every, Duration::from_secs(5));
    }

    #[test]
    fn a_fault_of_a_file_has_its_line() {
        for (text, message) in [
            ("to = \"/a\"\nheader = \"A: secret\"", "--header works only with Pyroscope"),
            ("to = \"s3://a\"\nkeep = \"7d\"", "--keep works only with a folder as a destination"),
            ("to = \"/a\"\nlabel = \"service=a\"", "record.toml, line 2: the label service is one"),
            ("to = [\"/a\"]\nevery = \"x\"\n", "record.toml, line 2: "),
            ("to = [\"/a\"]\nevry = \"1s\"\n", "record.toml, line 2: unknown field `evry`"),
            ("", "there is no destination: add --to FOLDER"),
            ("to = [\"http://a\"]", "--to http://a: use a folder, s3://"),
            ("to = [\"/a\", \"/a\"]", "--to /a is there twice"),
            ("to = [{ adress = \"/a\" }]", "record.toml, line 1: a path or an address, or a table"),
        ] {
            let error = Settings::of(&file(text).1).unwrap_err().to_string();
            assert!(error.contains(message) || error.starts_with("cannot"), "{error}");
        }
    }
}
