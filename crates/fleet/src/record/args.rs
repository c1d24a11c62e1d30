//! The arguments of `perk record`, which a file can have, too.

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use perk_report::parse;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::deliver::{PlaceArg, Secret};
use super::triggers::{Action, Condition};
use crate::values::{Age, KeyValue, Size};

/// Record all JVMs of this machine, all the time
///
/// Records each JVM that this user may attach to (root: all, also in containers), and those that start later, until
/// Ctrl-C. Each file has a minute of one JVM: CPU samples, waits, locks and sampled allocations.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[command(after_help = "\
Examples:
  perk record --to /var/perk
  perk record --to /var/perk --keep 7d --max-size 20g
  perk record shop.jar 4711 --to profiles --format pprof
  perk record --once --to profiles
  perk record --to pyroscope+http://localhost:4040 --to s3://profiles/perk
  perk record --to store+s3://profiles/store
  perk record --config /etc/perk/record.toml

WHERE is a folder, s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH, which get
service=NAME/date=YYYY-MM-DD/hour=HH/FILE; or pyroscope+https://HOST:PORT (with /ingest for that of older servers)
or otlp+https://HOST:PORT, also with http. ${NAME} is a variable of the environment. The file of --config has the same
options, such as to = [\"/var/perk\"] and every = \"60s\"; an argument has precedence. SIGHUP reads it again.")]
pub(crate) struct RecordArgs {
    /// The JVMs to record: process ids, main classes or jars, or parts of these [default: all]
    #[arg(value_name = "PID|NAME")]
    #[serde(default, deserialize_with = "one_or_more")]
    pub(crate) jvms: Vec<String>,
    /// Deliver the files to a folder, an object store, Pyroscope or a receiver of OTLP (repeatable)
    #[arg(long, value_name = "WHERE")]
    #[serde(default, deserialize_with = "one_or_more")]
    pub(crate) to: Vec<PlaceArg>,
    /// Send this header to Pyroscope and receivers of OTLP, such as 'X-Scope-OrgID: shop' (repeatable)
    #[arg(long = "header", value_name = "NAME: VALUE")]
    #[serde(default, rename = "header", deserialize_with = "one_or_more")]
    pub(crate) headers: Vec<Secret>,
    /// Trust the authorities of this file, in PEM, besides those of the system
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// The time of a file, aligned to the clock [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) every: Option<Time>,
    /// The most of a JVM's CPU time that perk may take: it samples more rarely then [default: 1%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) budget: Option<Percent>,
    /// The format of the files: hprof (packed by zstd), jfr or pprof [default: hprof]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Remove files of a folder that are older
    #[arg(long, value_name = "TIME")]
    pub(crate) keep: Option<Age>,
    /// Remove the oldest files of a folder that has more
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<Size>,
    /// The name of the service, if all JVMs are of one
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// A label of all files (repeatable)
    #[arg(long = "label", value_name = "KEY=VALUE")]
    #[serde(default, rename = "label", deserialize_with = "one_or_more")]
    pub(crate) labels: Vec<LabelArg>,
    /// Keep the files that are not delivered yet in this folder [default: perk/record in the state folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) spool: Option<PathBuf>,
    /// The most that wait there for a destination: the oldest are dropped, and counted [default: 1g]
    #[arg(long, value_name = "SIZE")]
    pub(crate) spool_size: Option<Size>,
    /// Serve Prometheus metrics at this address, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Measure more while this is so, such as cpu>90% for 30s: cpu, heap after a collection, pause, threads, blocked
    /// (repeatable, each with --then)
    #[arg(long, value_name = "CONDITION")]
    #[serde(default, deserialize_with = "one_or_more")]
    pub(crate) when: Vec<Condition>,
    /// What to measure then and for how long, such as cpu=samples,interval=1ms,wall 30s
    #[arg(long, value_name = "MEASUREMENT")]
    #[serde(default, deserialize_with = "one_or_more")]
    pub(crate) then: Vec<Action>,
    /// How often a condition may do so in each JVM and hour [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) triggers_per_hour: Option<u32>,
    /// Record each JVM that runs now once, for the time of a file, and end
    #[arg(long)]
    #[serde(default)]
    pub(crate) once: bool,
    /// Read options from this file
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
}

impl RecordArgs {
    /// These arguments, and those of a file for what they do not name.
    pub(crate) fn or(self, file: Self) -> Self {
        fn list<T>(own: Vec<T>, its: Vec<T>) -> Vec<T> {
            if own.is_empty() { its } else { own }
        }
        Self {
            jvms: list(self.jvms, file.jvms),
            to: list(self.to, file.to),
            headers: list(self.headers, file.headers),
            ca: self.ca.or(file.ca),
            every: self.every.or(file.every),
            budget: self.budget.or(file.budget),
            format: self.format.or(file.format),
            keep: self.keep.or(file.keep),
            max_size: self.max_size.or(file.max_size),
            service: self.service.or(file.service),
            labels: list(self.labels, file.labels),
            spool: self.spool.or(file.spool),
            spool_size: self.spool_size.or(file.spool_size),
            metrics: self.metrics.or(file.metrics),
            when: list(self.when, file.when),
            then: list(self.then, file.then),
            triggers_per_hour: self.triggers_per_hour.or(file.triggers_per_hour),
            once: self.once || file.once,
            config: self.config,
        }
    }
}

/// Reads a list, or a value for a list of one. A fault does not show the value, which may be secret.
fn one_or_more<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Values<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text in quotes, or a list of them")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
            T::deserialize(text.to_owned().into_deserializer()).map(|value| vec![value])
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(|value| vec![value])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq))
        }
    }

    deserializer.deserialize_any(Values(PhantomData))
}

/// Makes a value of an argument and of a file from its text.
macro_rules! from_text {
    ($($type:ident)*) => { $(
        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )* };
}

from_text!(Time Age Size Percent Format LabelArg Condition Action);

/// The time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Time(pub(crate) Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = Duration::from_secs(1)..=Duration::from_secs(3600);
        match parse::time(text)? {
            time if range.contains(&time) => Ok(Self(time)),
            _ => Err("use a time from 1s to 60m, such as 60s".to_owned()),
        }
    }
}

/// A share.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Percent(pub(crate) f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match parse::share(text)? {
            share if share > 0.0 => Ok(Self(share)),
            _ => Err("use a share above 0, such as 1%".to_owned()),
        }
    }
}

/// The format of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Format {
    /// perk's own, packed by zstd.
    #[default]
    Hprof,
    /// Java Flight Recorder's.
    Jfr,
    /// pprof, packed by gzip.
    Pprof,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "hprof" => Ok(Self::Hprof),
            "jfr" => Ok(Self::Jfr),
            "pprof" => Ok(Self::Pprof),
            _ => Err("use hprof, jfr or pprof".to_owned()),
        }
    }
}

/// The keys of labels that perk itself sets, also by the names that others have for them.
const OWN_KEYS: [&str; 11] = [
    "service",
    "service_name",
    "service.name",
    "service.version",
    "service.instance.id",
    "host.name",
    "container.id",
    "k8s.pod.name",
    "k8s.namespace.name",
    "file",
    "trigger",
];

/// A label that was given.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct LabelArg {
    /// The key.
    pub(crate) key: String,
    /// The value.
    pub(crate) value: String,
}

impl FromStr for LabelArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let KeyValue { key, value } = text.parse()?;
        if key.starts_with("__") || OWN_KEYS.contains(&&*key) {
            return Err(format!(
                "the label {key} is one of perk's own (--service has that of the service)"
            ));
        }
        Ok(Self { key, value })
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}
