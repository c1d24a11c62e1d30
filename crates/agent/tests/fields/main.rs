//! The Shared Fields Analysis of programs whose accesses are known: by arithmetic, by the field
//! watches of JVMTI, and by what a program prints about itself; and its behaviour in difficult
//! programs and after faults.

#![forbid(unsafe_code)]

mod compiled;
mod extended;
mod faults;
mod hidden;
mod kinds;
mod oracle;
mod storm;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use perk_control::intrinsics::{self, CodeMetric};
use perk_testkit::{JavaRun, Jdk, Outcome};

const FILE: &str = "o.tsv";

/// The reads by the owner, the reads by others, the writes by the owner, the writes by others.
type Counts = [u64; 4];

/// Objects of a file with the same record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Record {
    /// Class, method, descriptor and index; `None` if it is not known.
    site: Option<[String; 4]>,
    class: String,
    /// Declaring class, name, descriptor.
    fields: Vec<([String; 3], Counts)>,
    /// The same numbers of the accesses without an instruction, if they are in the file.
    extended: Option<Vec<Counts>>,
}

impl Record {
    /// Returns the name of the method that made the object; `?` if it is not known.
    fn method(&self) -> &str {
        self.site.as_ref().map_or("?", |site| &site[1])
    }

    /// Whether the class is a hidden one: its name has an address, which is another in each run.
    fn is_of_hidden_class(&self) -> bool {
        self.class.contains('/')
    }

    /// Whether the class is that of a program or nested in it, or the method that made it is.
    fn is_of(&self, program: &str) -> bool {
        let is_of = |class: &str| {
            let rest = class.strip_prefix(program);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
        };
        is_of(&self.class) || self.site.as_ref().is_some_and(|[class, ..]| is_of(class))
    }
}

/// Returns a run that writes [`FILE`], with more options, which begin with a comma. With all accesses
/// the JVM gets the options that these need.
fn counted(jdk: &Jdk, options: &str) -> JavaRun {
    let run = JavaRun::new(jdk).agent(&format!("fields=shared,file={FILE}{options}"));
    let off = match options.contains("accesses=extended") {
        true => intrinsics::jvm_options(jdk.version, CodeMetric::Accesses),
        false => Vec::new(),
    };
    off.iter().fold(run, JavaRun::jvm_arg)
}

/// Reads the file of a run that has succeeded. Returns the records with the number of objects.
#[track_caller]
fn read(outcome: &Outcome) -> BTreeMap<Record, u64> {
    outcome.assert_success();
    assert_eq!(outcome.stderr, "", "{}", outcome.report());
    parse(outcome.bytes(FILE)).unwrap_or_else(|line| panic!("not a record: {line}"))
}

/// Returns the text of a file that is perhaps packed, or the part of it before an error.
fn unpack(file: &[u8]) -> (io::Result<usize>, String) {
    let mut text = Vec::new();
    let read = match file.starts_with(&[0x1f, 0x8b]) {
        true => MultiGzDecoder::new(file).read_to_end(&mut text),
        false => { file }.read_to_end(&mut text),
    };
    (read, String::from_utf8_lossy(&text).into_owned())
}

/// Reads a file. Returns the records with the number of objects, or the first wrong line.
fn parse(file: &[u8]) -> Result<BTreeMap<Record, u64>, String> {
    let (unpacked, text) = unpack(file);
    unpacked.map_err(|error| error.to_string())?;
    let mut records = BTreeMap::new();
    let mut rest = text.as_str();
    while let Some((record, after)) = rest.split_once("\n\n") {
        rest = after;
        let mut lines = record.lines();
        let head = lines.next().unwrap_or_default();
        let (record, count) = parse_record(head, lines).ok_or_else(|| head.to_owned())?;
        *records.entry(record).or_default() += count;
    }
    if rest.is_empty() { Ok(records) } else { Err(rest.to_owned()) }
}

fn parse_record<'a>(head: &str, lines: impl Iterator<Item = &'a str>) -> Option<(Record, u64)> {
    let mut columns = head.split('\t');
    let site = match columns.next()? {
        "?" => None,
        site => Some(parts(site)?),
    };
    let class = columns.next()?.to_owned();
    let count = columns.next().map_or(Some(1), |count| count.parse().ok())?;
    let field = |line: &str| {
        let (field, counts) = line.split_once('\t')?;
        let counts: Vec<u64> = counts.split('\t').map_while(|it| it.parse().ok()).collect();
        let (direct, extended) = counts.split_first_chunk()?;
        Some(((parts(field)?, *direct), Counts::try_from(extended).ok()))
    };
    let (fields, extended): (_, Vec<_>) =
        lines.map(field).collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let extended = extended.into_iter().collect();
    columns.next().is_none().then_some((Record { site, class, fields, extended }, count))
}

fn parts<const N: usize>(name: &str) -> Option<[String; N]> {
    name.split('\x1c').map(str::to_owned).collect::<Vec<_>>().try_into().ok()
}

/// Adds the counts of objects to a sum.
fn add(sum: &mut Counts, counts: Counts, objects: u64) {
    sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count * objects);
}
