//! The name of the file that the agent writes.

use std::path::{Path, PathBuf};

use super::table::Options;
use super::types::{Output, OutputFormat};

/// Returns the file to write, for a process with the id `pid`.
///
/// In a file name from the options, `%p` becomes the process id, `%%` a percent sign, and with `every` `%n`
/// the `number` of the file. With
/// `force=n`, a name that `exists` is replaced by one with the process id in it: before a `.txt`
/// ending of text output, at the end of binary output. With `net` the default name is returned, and
/// temporary files are created beside it.
pub fn resolve_file_name(
    options: &Options,
    pid: u32,
    number: u64,
    exists: impl Fn(&Path) -> bool,
) -> PathBuf {
    let name = match (&options.output, options.format) {
        (Output::File(name), _) => expand(name, pid, options.every_ns.map(|_| number)),
        _ if options.jamaica.is_some() => "java.prof".to_owned(),
        _ if options.fields => "java.fields.tsv.gz".to_owned(),
        (_, OutputFormat::Ascii) => "java.hprof.txt".to_owned(),
        (_, OutputFormat::Binary | OutputFormat::Extended) => "java.hprof".to_owned(),
    };
    if options.force || !exists(Path::new(&name)) {
        return PathBuf::from(name);
    }
    let (prefix, suffix) = match options.format {
        OutputFormat::Ascii if !options.fields && options.jamaica.is_none() => {
            split_text_suffix(&name)
        }
        _ => (name.as_str(), ""),
    };
    let first = PathBuf::from(format!("{prefix}.{pid}{suffix}"));
    if !exists(&first) {
        return first;
    }
    let mut others = (2u32..).map(|n| PathBuf::from(format!("{prefix}.{pid}.{n}{suffix}")));
    others.find(|name| !exists(name)).unwrap_or(first)
}

/// Splits off the last extension if it starts with `.txt`; a name without one gets `.txt`.
fn split_text_suffix(name: &str) -> (&str, &str) {
    let file_start = name.rfind('/').map_or(0, |slash| slash + 1);
    let dot = name[file_start..].rfind('.').map(|dot| file_start + dot);
    match dot.map(|dot| name.split_at(dot)) {
        Some((prefix, suffix))
            if suffix.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(".txt")) =>
        {
            (prefix, suffix)
        }
        _ => (name, ".txt"),
    }
}

fn expand(name: &str, pid: u32, number: Option<u64>) -> String {
    let mut expanded = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(percent) = rest.find('%') {
        expanded.push_str(&rest[..percent]);
        let escape = &rest[percent..];
        if let Some(after) = escape.strip_prefix("%p") {
            expanded.push_str(&pid.to_string());
            rest = after;
        } else if let (Some(after), Some(number)) = (escape.strip_prefix("%n"), number) {
            expanded.push_str(&number.to_string());
            rest = after;
        } else {
            expanded.push('%');
            rest = escape.strip_prefix("%%").unwrap_or(&escape[1..]);
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::AgentAction;

    /// Returns the name that is chosen for `options` in a folder that holds `existing`.
    fn resolved(options: &str, existing: &[&str]) -> String {
        let Ok(AgentAction::Run(options)) = Options::parse(options, None) else {
            panic!("{options}");
        };
        let exists = |path: &Path| existing.iter().any(|name| Path::new(name) == path);
        resolve_file_name(&options, 77, 3, exists).to_str().unwrap().to_owned()
    }

    #[test]
    fn default_names_depend_on_the_format() {
        assert_eq!(resolved("", &[]), "java.hprof.txt");
        assert_eq!(resolved("format=b", &[]), "java.hprof");
        assert_eq!(resolved("net=h:1,format=b", &[]), "java.hprof");
        assert_eq!(resolved("file=plain", &[]), "plain");
    }

    #[test]
    fn percent_p_is_the_process_id() {
        assert_eq!(resolved("file=o-%p.txt", &[]), "o-77.txt");
        assert_eq!(resolved("file=%%p%p%%", &[]), "%p77%");
        assert_eq!(resolved("file=100%", &[]), "100%");
        assert_eq!(resolved("file=%p-%n", &[]), "77-%n");
        assert_eq!(resolved("file=%p-%n,cpu=samples,format=p,every=60s", &[]), "77-3");
        assert_eq!(resolved("file=%dé%é", &[]), "%dé%é");
    }

    #[test]
    fn force_n_moves_out_of_the_way_of_a_file() {
        let files = ["java.hprof.txt", "java.hprof", "mine", "mine.txt", "mine.TXT", "d.txt/mine"];
        for (options, expected) in [
            ("force=n", "java.hprof.77.txt"),
            ("force=n,format=b", "java.hprof.77"),
            ("force=n,file=mine", "mine.77.txt"),
            ("force=n,file=mine.txt", "mine.77.txt"),
            ("force=n,file=mine.TXT", "mine.77.TXT"),
            ("force=n,file=mine.txt,format=b", "mine.txt.77"),
            ("force=n,file=d.txt/mine", "d.txt/mine.77.txt"),
            ("force=n,file=absent.txt", "absent.txt"),
            ("force=y,file=mine.txt", "mine.txt"),
        ] {
            assert_eq!(resolved(options, &files), expected, "{options}");
        }
    }

    #[test]
    fn force_n_never_overwrites() {
        let files = ["mine.txt", "mine.77.txt", "mine.77.2.txt"];
        assert_eq!(resolved("force=n,file=mine.txt", &files), "mine.77.3.txt");
    }
}
