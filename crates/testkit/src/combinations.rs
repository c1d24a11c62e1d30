//! Every combination of HPROF's analyses in text and binary, and the ending of a JVM with each: its
//! exit code, the sections of the file, and the messages of the agent. `xtask conform
//! --combinations` records the endings of the original, and tests compare perk with them.

use std::fmt;

use anyhow::{Context, Result};

use crate::hprof::Recording;

/// The name of the program's class.
pub const CLASS: &str = "Combined";

/// A program that has data for each analysis, but no contention, which the original never prints.
/// It does not use lambdas, because `cpu=times` and `cpu=old` of the original end when they meet one.
pub const SOURCE: &str = "\
public class Combined {
    static Object kept;
    static synchronized int work(int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) { sum += i * 31 ^ sum; }
        return sum;
    }
    public static void main(String[] args) {
        kept = new int[1000];
        int sum = 0;
        long end = System.nanoTime() + 5000000L;
        while (System.nanoTime() < end) { sum += work(1000); }
        System.out.println(sum == 7 ? \"\" : \"end\");
    }
}
";

/// The file that the agent writes.
pub const FILE: &str = "o";

const HEAPS: [&str; 4] = ["", "heap=dump", "heap=sites", "heap=all"];
/// The values of `cpu`. `times` and `old` replace each other, so the last one counts.
const CPUS: [&str; 7] = [
    "",
    "cpu=samples",
    "cpu=times",
    "cpu=old",
    "cpu=samples,cpu=times",
    "cpu=samples,cpu=old",
    "cpu=times,cpu=old",
];
const MONITORS: [&str; 2] = ["", "monitor=y"];
const FORMATS: [&str; 2] = ["format=a", "format=b"];
const THREADS: [&str; 2] = ["thread=n", "thread=y"];

/// Returns the options of all combinations, without the file: 4 of heap, 7 of CPU, with and without
/// monitors, in text and in binary, with and without threads in traces.
pub fn all() -> Vec<String> {
    let mut all = vec![Vec::new()];
    for values in [&HEAPS[..], &CPUS, &MONITORS, &FORMATS, &THREADS] {
        let with = |value: &&'static str| {
            let value = *value;
            let add = move |before: &Vec<&'static str>| [&before[..], &[value]].concat();
            all.iter().map(add).collect::<Vec<_>>()
        };
        all = values.iter().flat_map(with).collect();
    }
    let joined = |mut values: Vec<&str>| {
        values.retain(|value| !value.is_empty());
        values.join(",")
    };
    all.into_iter().map(joined).collect()
}

/// The ending of a JVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The exit code.
    pub code: i32,
    /// The titles of the sections of the file, in their order; `None` without a file.
    pub sections: Option<Vec<String>>,
    /// The messages of the agent on stderr.
    pub stderr: String,
}

impl Ending {
    /// Returns the ending of a run with this file and this text on stderr.
    ///
    /// # Errors
    /// Returns the first error in the file.
    pub fn of(code: i32, file: Option<&[u8]>, stderr: &str) -> Result<Ending> {
        let titles = |bytes: &[u8]| {
            let recording = Recording::read(bytes).map_err(anyhow::Error::msg)?;
            let titles = recording.sections.iter().map(|section| section.title().to_owned());
            anyhow::Ok(titles.collect())
        };
        Ok(Ending {
            code,
            sections: file.map(titles).transpose()?,
            stderr: without_progress(stderr),
        })
    }

    /// Parses a line of the table: the options, followed by the form that [`fmt::Display`] writes.
    ///
    /// # Errors
    /// Returns an error if the line does not have this form.
    pub fn parse(line: &str) -> Result<(String, Ending)> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [options, code, sections, stderr] = cells[..] else {
            anyhow::bail!("a line of {} columns", cells.len())
        };
        let sections = match sections {
            "-" => None,
            _ => {
                Some(sections.split(", ").filter(|it| !it.is_empty()).map(str::to_owned).collect())
            }
        };
        let code = code.parse().with_context(|| format!("no exit code: {code}"))?;
        Ok((options.to_owned(), Ending { code, sections, stderr: stderr.replace("\\n", "\n") }))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sections = self.sections.as_ref().map_or("-".to_owned(), |titles| titles.join(", "));
        write!(f, "{}\t{sections}\t{}", self.code, self.stderr.replace('\n', "\\n"))
    }
}

/// Removes the progress that a heap dump of perk reports if it takes seconds.
fn without_progress(stderr: &str) -> String {
    let mut text = String::new();
    let mut rest = stderr;
    while let Some((before, after)) = rest.split_once(" MB ...") {
        text += before.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_224() {
        let all = all();
        assert_eq!(all.len(), 224);
        assert_eq!(all[0], "format=a,thread=n");
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let file = b"count callee caller time\n1 A.b()V <unknown caller> 0\n";
        let ending = Ending::of(0, Some(file), "Dumping Java heap ... 12 MB ... done.\n").unwrap();
        assert_eq!(ending.stderr, "Dumping Java heap ... done.\n");
        for ending in [ending, Ending { code: 1, sections: None, stderr: String::new() }] {
            let read = Ending::parse(&format!("cpu=old\t{ending}")).unwrap();
            assert_eq!(read, ("cpu=old".to_owned(), ending));
        }
        assert!(Ending::parse("cpu=old\t0").is_err());
    }
}
