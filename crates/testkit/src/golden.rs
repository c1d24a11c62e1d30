//! Recorded runs of the original agent, as text files: command line, environment, exit code,
//! stdout and stderr.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// One recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    /// The case's name.
    pub name: String,
    /// The words of the command line, without quotes.
    pub command: Vec<String>,
    /// The environment variables of the run.
    pub environment: Vec<(String, String)>,
    /// The exit code; if a signal ended the run, its negated number.
    pub exit_code: i32,
    /// The output on stdout.
    pub stdout: String,
    /// The output on stderr.
    pub stderr: String,
}

impl Golden {
    /// Reads the text of one case.
    pub fn parse(name: &str, text: &str) -> Result<Golden> {
        let (head, streams) = text.split_once("--- stdout ---\n").context("no stdout")?;
        let (stdout, stderr) = streams.split_once("--- stderr ---\n").context("no stderr")?;
        let field = |key: &str| {
            let mut lines = head.lines();
            lines.find_map(|line| line.strip_prefix(key)).with_context(|| format!("no {key}"))
        };
        Ok(Golden {
            name: name.to_owned(),
            command: words(field("command: ")?),
            environment: quoted_pairs(field("env: ")?),
            exit_code: field("exit code: ")?.trim().parse()?,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        })
    }

    /// Reads every `.txt` file of `folder`, in the order of their names.
    pub fn load_all(folder: &Path) -> Result<Vec<Golden>> {
        let mut cases = Vec::new();
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                let text = fs::read_to_string(&path)?;
                cases
                    .push(Golden::parse(&name, &text).with_context(|| path.display().to_string())?);
            }
        }
        ensure!(!cases.is_empty(), "no cases in {}", folder.display());
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(cases)
    }

    /// Returns the value of an environment variable of the run.
    pub fn env(&self, name: &str) -> Option<&str> {
        let mut variables = self.environment.iter();
        variables.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the option string of each HPROF agent on the command line.
    pub fn agent_options(&self) -> Vec<&str> {
        let options = |word: &'_ String| -> Option<usize> {
            let start =
                ["-agentlib:hprof", "-Xrunhprof"].iter().find(|start| word.starts_with(**start))?;
            Some((start.len() + 1).min(word.len()))
        };
        self.command.iter().filter_map(|word| options(word).map(|start| &word[start..])).collect()
    }
}

/// Splits a line at blanks outside double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().expect("never empty").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Parses the pairs of `{'name': 'value', ...}`.
fn quoted_pairs(text: &str) -> Vec<(String, String)> {
    let strings: Vec<&str> = text.split('\'').skip(1).step_by(2).collect();
    strings.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_read_whole() {
        let text = "command: java -Xmx64m \"-agentlib:hprof=heap=sites, file=o.txt\" Main\n\
                    env: {'A': 'b', 'C': 'd=e'}\nexit code: -9\nwall: 0.1 s\n\
                    --- stdout ---\n\nout\n--- stderr ---\nerr\n";
        let case = Golden::parse("case", text).unwrap();
        assert_eq!(case.command.len(), 4);
        assert_eq!(case.agent_options(), ["heap=sites, file=o.txt"]);
        assert_eq!((case.env("A"), case.env("C"), case.env("B")), (Some("b"), Some("d=e"), None));
        assert_eq!(case.exit_code, -9);
        assert_eq!((case.stdout.as_str(), case.stderr.as_str()), ("\nout\n", "err\n"));
    }

    #[test]
    fn an_agent_without_options_has_empty_ones() {
        let text = "command: java -agentlib:hprof -Xrunhprof:help Main\nenv: \nexit code: 0\n\
                    --- stdout ---\n--- stderr ---\n";
        assert_eq!(Golden::parse("case", text).unwrap().agent_options(), ["", "help"]);
    }

    #[test]
    fn a_broken_case_is_an_error() {
        assert!(Golden::parse("case", "command: java\n").is_err());
    }
}
