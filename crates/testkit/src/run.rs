//! A runner that starts a JVM with the agent, in a folder of its own and with a time limit.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub use rustix::process::Signal;
use tempfile::TempDir;

use crate::{Jdk, agent, fixture, jdk};

/// The interval at which a running program is checked for its end or for output.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A JVM to be started.
///
/// ```no_run
/// # use perk_testkit::{JavaRun, jdk};
/// jdk::each(|jdk| {
///     let outcome = JavaRun::new(jdk).agent("cpu=samples,file=o.txt").main("CpuBound").run();
///     outcome.assert_success();
///     assert!(outcome.text("o.txt").contains("CpuBound.heavy"));
/// });
/// ```
#[derive(Debug, Clone)]
pub struct JavaRun {
    java: PathBuf,
    agents: Vec<String>,
    load: Load,
    jvm_args: Vec<OsString>,
    classes: Option<PathBuf>,
    main: Option<String>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    files: Vec<(PathBuf, Vec<u8>)>,
    dir: Option<PathBuf>,
    timeout: Duration,
}

/// Returns the options of a JVM that compiles the methods of classes, and those of perk's own classes,
/// before they first run. (To compile the JDK as well takes ten times the time of most tests.)
pub fn compiled_at_once(classes: &str) -> Vec<String> {
    let only = |classes: &str| format!("-XX:CompileCommand=compileonly,{classes}::*");
    let quiet = "-XX:CompileCommand=quiet".to_owned();
    vec!["-Xcomp".to_owned(), quiet, only(classes), only("java.lang.Perk*")]
}

/// The way in which the agent is named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    Path,
    AgentlibHprof,
    Xrunhprof,
}

impl JavaRun {
    /// Creates a run of `jdk` without agent, program or arguments.
    pub fn new(jdk: &Jdk) -> JavaRun {
        JavaRun {
            java: jdk.java(),
            agents: Vec::new(),
            load: Load::Path,
            jvm_args: Vec::new(),
            classes: None,
            main: None,
            args: Vec::new(),
            env: Vec::new(),
            files: Vec::new(),
            dir: None,
            timeout: Duration::from_secs(60),
        }
    }

    /// Loads the agent with the options. If this is called twice, the agent is on the command line
    /// twice.
    #[must_use]
    pub fn agent(mut self, options: &str) -> Self {
        self.agents.push(options.to_owned());
        self
    }

    /// Loads the agent by `-agentlib:hprof` instead of `-agentpath`.
    #[must_use]
    pub fn agentlib_hprof(mut self) -> Self {
        self.load = Load::AgentlibHprof;
        self
    }

    /// Loads the agent by `-Xrunhprof` instead of `-agentpath`.
    #[must_use]
    pub fn xrunhprof(mut self) -> Self {
        self.load = Load::Xrunhprof;
        self
    }

    /// Adds an option of the JVM.
    #[must_use]
    pub fn jvm_arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.jvm_args.push(arg.as_ref().to_owned());
        self
    }

    /// Sets the class path. The default is that of the programs in `java/fixtures`.
    #[must_use]
    pub fn classes(mut self, folder: impl Into<PathBuf>) -> Self {
        self.classes = Some(folder.into());
        self
    }

    /// Sets the main class.
    #[must_use]
    pub fn main(mut self, class: &str) -> Self {
        self.main = Some(class.to_owned());
        self
    }

    /// Adds arguments of the program.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Puts a file into the working folder before the start.
    #[must_use]
    pub fn file(mut self, name: impl Into<PathBuf>, contents: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.into(), contents.into()));
        self
    }

    /// Sets the working folder. By default each run has a new folder, which is removed with its
    /// outcome.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Sets the time limit. The default is 60 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs the JVM to its end.
    ///
    /// # Panics
    ///
    /// Panics if it does not start, or does not end within the time limit.
    pub fn run(&self) -> Outcome {
        self.spawn().wait()
    }

    /// Starts the JVM.
    ///
    /// # Panics
    ///
    /// Panics if it does not start.
    pub fn spawn(&self) -> RunningJava {
        let folders = tempfile::tempdir().expect("a folder for the run");
        let dir = self.dir.clone().unwrap_or_else(|| folders.path().join("work"));
        fs::create_dir_all(&dir).expect("the working folder");
        for (name, contents) in &self.files {
            fs::write(dir.join(name), contents).expect("a file in the working folder");
        }
        let stream = |name: &str| File::create(folders.path().join(name)).expect("a file");
        let mut command = self.command(folders.path());
        command.current_dir(&dir).stdin(Stdio::null());
        command.stdout(stream("stdout")).stderr(stream("stderr"));
        let child = command.spawn().unwrap_or_else(|e| panic!("{}: {e}", self.java.display()));
        let deadline = Instant::now() + self.timeout;
        RunningJava { command: format!("{command:?}"), child, folders, dir, deadline }
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.java);
        // The settings that the tests' own environment has for JVMs and agents must not apply here.
        for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            command.env_remove(variable);
        }
        command.env_remove(perk_control::options::OPTIONS_VARIABLE);
        // The user's own cache is none of the tests'.
        command.env("XDG_CACHE_HOME", agent::target_folder().join("tmp/cache"));
        let mut agent = match self.load {
            Load::Path => OsString::from("-agentpath:"),
            Load::AgentlibHprof => OsString::from("-agentlib:hprof"),
            Load::Xrunhprof => OsString::from("-Xrunhprof"),
        };
        let separator = if self.load == Load::Xrunhprof { ":" } else { "=" };
        if !self.agents.is_empty() {
            match self.load {
                Load::Path => agent.push(agent::agent_so()),
                _ => drop(command.env("LD_LIBRARY_PATH", agent::hprof_folder(folder))),
            }
        }
        for options in &self.agents {
            let mut arg = agent.clone();
            if !options.is_empty() {
                arg.push(separator);
                arg.push(options);
            }
            command.arg(arg);
        }
        command.args(&self.jvm_args);
        if let Some(main) = &self.main {
            let classes = self.classes.clone().unwrap_or_else(fixture::fixtures);
            command.arg("-cp").arg(classes).arg(main);
        }
        command.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A JVM that has been started. It is killed when this is dropped.
#[derive(Debug)]
pub struct RunningJava {
    command: String,
    child: Child,
    folders: TempDir,
    dir: PathBuf,
    deadline: Instant,
}

impl RunningJava {
    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the working folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Sends a signal.
    ///
    /// # Panics
    ///
    /// Panics if the process has ended.
    pub fn signal(&mut self, signal: Signal) {
        // The id of a process that has been waited for may belong to another process now.
        if let Some(status) = self.try_wait() {
            panic!("{status} before {signal:?}\n{}", self.report());
        }
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal)
            .unwrap_or_else(|e| panic!("{signal:?} to {}: {e}", self.command));
    }

    /// Has the JVM load the agent now, with options. Returns the output of jcmd.
    ///
    /// # Panics
    ///
    /// Panics if jcmd does not start.
    pub fn load_agent(&self, options: &str) -> String {
        let mut jcmd = Command::new(jdk::compiler().jcmd());
        let command = jcmd.arg(self.pid().to_string()).arg("JVMTI.agent_load");
        let output = command.arg(agent::agent_so()).arg(options).output().expect("jcmd starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the text printed on stdout so far.
    pub fn stdout(&self) -> String {
        self.stream("stdout")
    }

    /// Returns the text printed on stderr so far.
    pub fn stderr(&self) -> String {
        self.stream("stderr")
    }

    /// Waits until the program has printed `text` on stdout.
    ///
    /// # Panics
    ///
    /// Panics if the program ends, or the time is up, before it does.
    pub fn wait_for_stdout(&mut self, text: &str) {
        self.wait_until(text, |run| run.stdout().contains(text));
    }

    /// Waits until `condition` holds; `what` describes it in the message of a panic.
    ///
    /// # Panics
    ///
    /// Panics if the program ends, or the time is up, before the condition holds.
    pub fn wait_until(&mut self, what: &str, condition: impl Fn(&RunningJava) -> bool) {
        loop {
            // The end is checked before the condition, so that the last action of the program
            // counts.
            let ended = self.try_wait();
            if condition(self) {
                return;
            }
            if let Some(status) = ended {
                panic!("{status} before {what:?}\n{}", self.report());
            }
            self.check_time(what);
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    ///
    /// Panics if the time is up before; the program is then killed.
    pub fn wait(mut self) -> Outcome {
        let status = loop {
            if let Some(status) = self.try_wait() {
                break status;
            }
            self.check_time("the end");
            thread::sleep(POLL_INTERVAL);
        };
        Outcome {
            command: self.command.clone(),
            pid: self.pid(),
            status,
            stdout: self.stream("stdout"),
            stderr: self.stream("stderr"),
            files: read_files(&self.dir).unwrap_or_else(|e| panic!("{}: {e}", self.dir.display())),
        }
    }

    fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    fn check_time(&mut self, what: &str) {
        if Instant::now() >= self.deadline {
            panic!("time is up, waiting for {what:?}\n{}", self.report());
        }
    }

    fn stream(&self, name: &str) -> String {
        let bytes = fs::read(self.folders.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn report(&self) -> String {
        report(&self.command, &self.stream("stdout"), &self.stream("stderr"))
    }
}

impl Drop for RunningJava {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The outcome of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The command line.
    pub command: String,
    /// The process id.
    pub pid: u32,
    /// The exit code or signal.
    pub status: ExitStatus,
    /// The output on stdout.
    pub stdout: String,
    /// The output on stderr.
    pub stderr: String,
    /// The files in its working folder, without those in subfolders.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Outcome {
    /// Returns the exit code, unless a signal ended the program.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Returns the number of the signal that ended the program, if one did.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Fails unless the exit code was 0.
    ///
    /// # Panics
    ///
    /// Panics with the command line and all output.
    #[track_caller]
    pub fn assert_success(&self) {
        self.assert_code(0);
    }

    /// Fails unless the exit code was `code`.
    ///
    /// # Panics
    ///
    /// Panics with the command line and all output.
    #[track_caller]
    pub fn assert_code(&self, code: i32) {
        assert!(self.code() == Some(code), "{}, not {code}\n{}", self.status, self.report());
    }

    /// Returns the text of a file in the working folder.
    ///
    /// # Panics
    ///
    /// Panics if there is no such file.
    #[track_caller]
    pub fn text(&self, file: &str) -> String {
        String::from_utf8_lossy(self.bytes(file)).into_owned()
    }

    /// Returns the bytes of a file in the working folder.
    ///
    /// # Panics
    ///
    /// Panics if there is no such file.
    #[track_caller]
    pub fn bytes(&self, file: &str) -> &[u8] {
        let names: Vec<_> = self.files.keys().collect();
        let contents = self.files.get(file);
        contents.unwrap_or_else(|| panic!("no {file} in {names:?}\n{}", self.report()))
    }

    /// Returns the value of a `name=value` line on stdout.
    ///
    /// # Panics
    ///
    /// Panics if there is no such line.
    #[track_caller]
    pub fn value(&self, name: &str) -> &str {
        let mut pairs = self.stdout.lines().filter_map(|line| line.split_once('='));
        let value = pairs.find(|(key, _)| *key == name).map(|(_, value)| value);
        value.unwrap_or_else(|| panic!("no {name}=\n{}", self.report()))
    }

    /// Returns the number of a `name=number` line on stdout.
    ///
    /// # Panics
    ///
    /// Panics if there is no such line.
    #[track_caller]
    pub fn number(&self, name: &str) -> u64 {
        let value = self.value(name);
        value.parse().unwrap_or_else(|e| panic!("{name}={value}: {e}"))
    }

    /// Returns the command line and output, for a test's message.
    pub fn report(&self) -> String {
        report(&self.command, &self.stdout, &self.stderr)
    }
}

fn report(command: &str, stdout: &str, stderr: &str) -> String {
    format!("command: {command}\n--- stdout ---\n{stdout}\n--- stderr ---\n{stderr}")
}

fn read_files(dir: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(files)
}
