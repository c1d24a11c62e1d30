//! Recorded runs of the original agent. Each is a folder with `cmd.txt` and the files that the run
//! left, some of them compressed by gzip. The conditions that the recording does not state (signals
//! sent, files that existed before) follow from these files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use perk_control::{AgentAction, Options, Output};
use perk_testkit::golden::Golden;
use perk_testkit::workspace;

/// A variable with more folders of recorded runs, separated by colons.
const MORE_FOLDERS: &str = "PERK_RECORDED";

/// A recorded run.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) command: Golden,
    /// The parsed options; `None` if they are refused.
    pub(crate) parsed: Option<AgentAction>,
    /// The files left, as they were before compression.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The names of files that were left but are not in the folder.
    pub(crate) missing_files: Vec<String>,
    /// The commands of a run with `net`, in order.
    pub(crate) session: Option<Vec<Exchange>>,
}

/// A command sent to the agent of a recorded run.
pub(crate) struct Exchange {
    pub(crate) command: Vec<u8>,
}

/// Returns the folders of recorded runs.
fn folders() -> Vec<PathBuf> {
    let mut folders = vec![workspace().join("testdata/hprof/recorded")];
    if let Some(more) = env::var_os(MORE_FOLDERS) {
        folders.extend(env::split_paths(&more));
    }
    folders
}

/// Returns all recorded runs with an agent, in the order of their names.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = BTreeMap::new();
    for folder in folders() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
            let case = load(&path).unwrap_or_else(|what| panic!("{}: {what}", path.display()));
            if !case.command.agent_options().is_empty() {
                cases.insert(case.name.clone(), case);
            }
        }
    }
    cases.into_values().collect()
}

fn load(folder: &Path) -> Result<Case, String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files = BTreeMap::new();
    for path in fs::read_dir(folder).map_err(|e| e.to_string())?.flatten().map(|it| it.path()) {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match file.strip_suffix(".gz") {
            Some(plain) => files.insert(plain.to_owned(), gunzip(&path)?),
            None => files.insert(file, fs::read(&path).map_err(|e| e.to_string())?),
        };
    }
    // The recorder made this file, not the agent.
    files.remove("records.txt");
    let text = |name: &str, files: &mut BTreeMap<String, Vec<u8>>| {
        files.remove(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut missing_files = Vec::new();
    let (command, session) = match text("session.txt", &mut files) {
        Some(session) => (
            session_command(&name, &session)?,
            Some(session.lines().filter_map(exchange).collect()),
        ),
        None => {
            let text = text("cmd.txt", &mut files).ok_or("no cmd.txt")?;
            let mut lines = text.lines();
            let listed = lines.find_map(|it| it.strip_prefix("new files in the working folder: "));
            let listed = listed.unwrap_or_default().split(", ").filter(|it| !it.is_empty());
            missing_files.extend(listed.filter(|it| !files.contains_key(*it)).map(str::to_owned));
            (Golden::parse(&name, &text).map_err(|e| format!("{e:#}"))?, None)
        }
    };
    let env = command.env("_JAVA_HPROF_OPTIONS");
    let options = command.agent_options().first().copied().unwrap_or_default().to_owned();
    let parsed = Options::parse(&options, env).ok();
    Ok(Case { name, command, parsed, files, missing_files, session })
}

fn gunzip(path: &Path) -> Result<Vec<u8>, String> {
    let output = Command::new("gzip").arg("-dc").arg(path).output().map_err(|e| e.to_string())?;
    if output.status.success() { Ok(output.stdout) } else { Err("gzip fails".to_owned()) }
}

/// Returns the command line of a session, whose layout differs from that of `cmd.txt`.
fn session_command(name: &str, session: &str) -> Result<Golden, String> {
    let field = |key: &str| session.lines().find_map(|line| line.strip_prefix(key));
    let command = field("command: ").ok_or("no command")?;
    let code = field("exit code: ").ok_or("no exit code")?;
    let code = code.split(';').next().unwrap_or_default();
    let quoted = |key: &str| {
        let text = field(key).unwrap_or("''");
        text.trim_matches('\'').replace("\\n", "\n").replace("\\t", "\t")
    };
    let text = format!(
        "command: {command}\nenv: \nexit code: {code}\n--- stdout ---\n{}--- stderr ---\n{}",
        quoted("stdout: "),
        quoted("stderr: ")
    );
    Golden::parse(name, &text).map_err(|e| format!("{e:#}"))
}

/// Parses `-- TITLE [hex] -> ...`
fn exchange(line: &str) -> Option<Exchange> {
    let (_, rest) = line.strip_prefix("-- ")?.split_once(" [")?;
    let (hex, _) = rest.split_once("] ->")?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let command = (0..hex.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>()?;
    Some(Exchange { command })
}

impl Case {
    /// Returns the options, if they are accepted.
    pub(crate) fn options(&self) -> Option<&Options> {
        match &self.parsed {
            Some(AgentAction::Run(options)) => Some(options),
            _ => None,
        }
    }

    pub(crate) fn is_help(&self) -> bool {
        self.parsed == Some(AgentAction::Help)
    }

    /// Returns the main class, if the command line has one.
    pub(crate) fn main(&self) -> Option<&str> {
        self.words().find(|word| !word.starts_with('-'))
    }

    /// Returns the words of the command line that are options of the JVM, without class path and
    /// agent.
    pub(crate) fn jvm_args(&self) -> impl Iterator<Item = &str> {
        let is_agent = |word: &str| word.starts_with("-agentlib:") || word.starts_with("-Xrun");
        self.words().take_while(|word| word.starts_with('-')).filter(move |word| !is_agent(word))
    }

    /// Returns the words after the main class.
    pub(crate) fn args(&self) -> impl Iterator<Item = &str> {
        self.words().skip_while(|word| word.starts_with('-')).skip(1)
    }

    /// Returns the words of the command line without `java` and the class path.
    fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.command.command.iter().map(String::as_str);
        let class_path = self.command.command.iter().position(|word| word == "-cp");
        words.enumerate().skip(1).filter_map(move |(at, word)| {
            let is_class_path = class_path.is_some_and(|it| at == it || at == it + 1);
            (!is_class_path).then_some(word)
        })
    }

    /// Returns how often SIGQUIT was sent: the JVM prints its threads each time.
    pub(crate) fn quits(&self) -> usize {
        self.command.stdout.matches("Full thread dump").count()
    }

    /// Whether a dump was made at some moment of the run: the program's progress by then is chance.
    pub(crate) fn is_timed(&self) -> bool {
        self.quits() > 0 || self.session.is_some() || ![0, 1].contains(&self.command.exit_code)
    }

    /// Returns the files that are neither the agent's nor empty: they existed before.
    pub(crate) fn foreign_files(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        self.files.iter().filter(|(_, bytes)| is_foreign(bytes))
    }

    /// Returns the name of a file that existed and was overwritten: among runs that left files from
    /// before, the one with `force=y`.
    pub(crate) fn overwritten(&self) -> Option<&str> {
        let options = self.options().filter(|options| options.force)?;
        let Output::File(name) = &options.output else { return None };
        self.foreign_files().next().map(|_| name.as_str())
    }

    /// Whether the original itself ended the program although it accepted the options.
    pub(crate) fn agent_ended_it(&self) -> bool {
        self.command.exit_code == 9
            && self.command.stderr.contains("HPROF TERMINATED PROCESS")
            && self.command.stderr.starts_with("Dumping")
    }

    /// Whether a class belongs to the program itself.
    pub(crate) fn is_own(&self, class: &str) -> bool {
        let rest = self.main().and_then(|main| class.strip_prefix(main));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['$', '[', '.']))
    }
}

/// Whether a file is not one of the agent's.
pub(crate) fn is_foreign(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 2] = [b"JAVA PROFILE", b"count callee"];
    (1..100).contains(&bytes.len()) && !starts.iter().any(|start| bytes.starts_with(start))
}
