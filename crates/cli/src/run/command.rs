//! How the agent gets into the JVM that a command starts.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use anyhow::{Context, bail};
use perk_control::intrinsics::{self, CodeMetric};
use perk_control::jdk::{self, JavaHome, OLDEST_VERSION, Vm};
use perk_control::options::{Argument, arguments};

use super::archives::Changes;
use super::jvm_options::Sources;
use crate::args::advice;

/// The variable from which every JVM takes options.
const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// The first version that has an AOT cache.
const OLDEST_WITH_AOT: u32 = 24;

/// A command that can be profiled.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    program: &'a OsStr,
    arguments: &'a [OsString],
    route: Route,
    is_java: bool,
    /// The version of a `java` executable, if its folder gives it.
    feature_version: Option<u32>,
    changes: Changes,
}

/// The agent's way into the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// An argument right behind a `java` executable.
    Argument {
        /// Its version, if its folder gives it.
        feature_version: Option<u32>,
    },
    /// `JAVA_TOOL_OPTIONS`, for whatever starts a JVM.
    Environment,
}

impl<'a> Plan<'a> {
    /// Inspects the program to start; fails if it cannot be started or profiled.
    pub(super) fn new(command: &'a [OsString]) -> anyhow::Result<Self> {
        let (program, arguments) = command.split_first().context("no command")?;
        let file = find(command, &env::var_os("PATH").unwrap_or_default())?;
        let route = route(&file)?;
        let (is_java, feature_version) = match route {
            Route::Argument { feature_version } => (true, feature_version),
            Route::Environment => (false, None),
        };
        let changes = Changes::of(is_java.then_some(arguments), &Sources::new())?;
        Ok(Self { program, arguments, route, is_java, feature_version, changes })
    }

    /// The same, where the JVMs that `java` itself starts are profiled if `with_children` is set.
    pub(super) fn with_children(self, with_children: bool) -> Self {
        let route = if with_children { Route::Environment } else { self.route };
        Self { route, ..self }
    }

    /// Checks that the JVM can run with changed classes.
    ///
    /// # Errors
    /// The option with which it cannot, in one line.
    pub(super) fn check_probes(&self) -> anyhow::Result<()> {
        // Others do not know the option, and say so.
        let may_know = self.feature_version.is_none_or(|version| version >= OLDEST_WITH_AOT);
        if let Some(option) = self.changes.recording.filter(|_| may_know) {
            bail!(
                "{option}: a JVM that records for an AOT cache crashes at its end if its classes have \
                 probes: leave the option out, or measure without probes (--cpu samples, --wall, --alloc, \
                 --monitor)"
            );
        }
        Ok(())
    }

    /// Whether the command is `java` itself.
    pub(super) fn is_java(&self) -> bool {
        self.is_java
    }

    /// What the JVM does not do because of the agent, in one line.
    pub(super) fn change(&self) -> Option<&str> {
        self.changes.line.as_deref()
    }

    /// Whether JVMs that the command starts are not profiled.
    pub(super) fn leaves_out_children(&self) -> bool {
        self.route != Route::Environment
    }

    pub(super) fn route(&self) -> Route {
        self.route
    }

    /// The program's name, for messages.
    pub(super) fn program(&self) -> String {
        Path::new(self.program).display().to_string()
    }

    /// The options of the JVM that switch off the intrinsics in which something is not counted; none
    /// if its version is not known. JVMs that the program starts may be of other versions, and get none.
    pub(super) fn without_intrinsics(&self, counted: CodeMetric) -> Vec<String> {
        let options = self.feature_version.map(|version| intrinsics::jvm_options(version, counted));
        options.unwrap_or_default()
    }

    /// The command that starts the program with the agent at `library`.
    pub(super) fn command(&self, library: &Path, options: &str, jvm_options: &[String]) -> Command {
        let mut agent = OsString::from("-agentpath:");
        agent.push(library);
        agent.push("=");
        agent.push(options);
        let mut command = Command::new(self.program);
        match self.route {
            Route::Argument { .. } => {
                command.args(jvm_options).arg(agent);
            }
            Route::Environment => {
                let present = env::var_os(TOOL_OPTIONS).unwrap_or_default();
                command.env(TOOL_OPTIONS, appended(present, &agent)).args(jvm_options);
            }
        }
        let (before, behind) = self.arguments.split_at(self.changes.place);
        command.args(before).args(&self.changes.options).args(behind);
        command
    }
}

/// The file that the shell would start for `command`.
fn find(command: &[OsString], path: &OsStr) -> anyhow::Result<PathBuf> {
    let program = &*command[0];
    if let Some(file) = jdk::find_in_path(program, path) {
        return Ok(file);
    }
    let name = Path::new(program).display();
    let metadata = fs::metadata(program);
    if let Some(advice) = advice::of_no_program(command).filter(|_| !is_folder(&metadata)) {
        bail!("cannot start {name}: it is no program; {advice}");
    }
    if let Some(option) = option_before(program) {
        bail!(
            "cannot start {name}: no folder of PATH has such a program; write {option}={name} as one word"
        );
    }
    match metadata {
        Ok(metadata) if metadata.is_dir() => bail!("cannot start {name}: it is a folder"),
        Ok(_) => bail!("cannot start {name}: it is not executable (chmod +x)"),
        Err(_) if !program.as_bytes().contains(&b'/') => {
            bail!("cannot find {name}: no folder of PATH has such a program")
        }
        Err(error) => Err(error).with_context(|| format!("cannot start {name}")),
    }
}

fn is_folder(metadata: &io::Result<fs::Metadata>) -> bool {
    metadata.as_ref().is_ok_and(fs::Metadata::is_dir)
}

/// The option of perk that has `word` behind it as if that were its value, which needs a `=`.
fn option_before(word: &OsStr) -> Option<String> {
    let given: Vec<_> = env::args_os().collect();
    let at = given.iter().position(|it| it == word)?;
    let option = given.get(at.checked_sub(1)?)?.to_str()?;
    let is_optional = |it: &&Argument| it.is_optional && option.strip_prefix("--") == Some(it.long);
    arguments().into_iter().find(is_optional).map(|_| option.to_owned())
}

/// The route into the JVM that `file` starts; fails if perk cannot profile that JVM.
fn route(file: &Path) -> anyhow::Result<Route> {
    let Ok(java) = JavaHome::of(file) else { return Ok(Route::Environment) };
    let name = file.display();
    if let Some(version) = java.feature_version.filter(|&version| version < OLDEST_VERSION) {
        bail!("{name} is Java {version}: perk needs Java {OLDEST_VERSION} or later");
    }
    match java.vm {
        Vm::OpenJ9 => bail!("{name} starts an OpenJ9 JVM: perk needs HotSpot (OpenJDK's own JVM)"),
        Vm::HotSpot if is_java(file) => {
            Ok(Route::Argument { feature_version: java.feature_version })
        }
        // A program of a JDK other than `java`, or a script of that name.
        Vm::HotSpot | Vm::Unknown => Ok(Route::Environment),
    }
}

/// Whether `file` leads to a JDK's `java`: `java`, or a link to it such as `java17`.
fn is_java(file: &Path) -> bool {
    let target = fs::canonicalize(file);
    target.is_ok_and(|target| target.file_name() == Some(OsStr::new("java")))
}

/// `present` and one more option, in the JVM's own quoting: blanks separate options, quotes of
/// either kind keep the text between them together; nothing escapes a quote.
fn appended(present: OsString, option: &OsStr) -> OsString {
    let mut value = present.into_vec();
    if !value.is_empty() {
        value.push(b' ');
    }
    let bytes = option.as_bytes();
    let is_special = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0x0b | b'"' | b'\'');
    if bytes.iter().any(is_special) {
        for (index, part) in bytes.split(|&byte| byte == b'"').enumerate() {
            if index > 0 {
                value.extend(b"'\"'");
            }
            value.push(b'"');
            value.extend(part);
            value.push(b'"');
        }
    } else {
        value.extend(bytes);
    }
    OsString::from_vec(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_quoted_as_the_jvm_reads_them() {
        for (present, option, value) in [
            ("", "-a:/x=b", "-a:/x=b"),
            ("-Dx=1", "-a", "-Dx=1 -a"),
            ("", "-a:/my dir/x", "\"-a:/my dir/x\""),
            ("", "it's", "\"it's\""),
            ("", "a \"b\"", "\"a \"'\"'\"b\"'\"'\"\""),
        ] {
            assert_eq!(appended(present.into(), OsStr::new(option)), value);
        }
    }

    #[test]
    fn the_agent_goes_behind_java() {
        let arguments = [OsString::from("-jar"), OsString::from("app.jar")];
        let route = Route::Argument { feature_version: Some(21) };
        let plan = Plan {
            program: OsStr::new("java"),
            arguments: &arguments,
            route,
            is_java: true,
            feature_version: Some(21),
            changes: Changes { options: vec!["-X"], place: 0, line: None, recording: None },
        };
        let command = plan.command(Path::new("/x/libperk.so"), "cpu=samples", &[]);
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["-agentpath:/x/libperk.so=cpu=samples", "-X", "-jar", "app.jar"]);
        let jvm_options = plan.without_intrinsics(CodeMetric::Accesses);
        assert_eq!(jvm_options, intrinsics::jvm_options(21, CodeMetric::Accesses));
        let command = plan.command(Path::new("/x/libperk.so"), "fields=shared", &jvm_options);
        assert_eq!(command.get_args().next().unwrap(), "-XX:+UnlockDiagnosticVMOptions");
        assert_eq!(command.get_args().len(), 7);
        // With children the agent comes another way; java still has its options.
        let command = plan.with_children(true);
        let command = command.command(Path::new("/x/libperk.so"), "fields=shared", &jvm_options);
        assert_eq!(command.get_args().next().unwrap(), "-XX:+UnlockDiagnosticVMOptions");
        assert_eq!(command.get_args().len(), 6);
    }

    #[test]
    fn a_launcher_keeps_its_arguments() {
        let arguments = [OsString::from("test")];
        let plan = Plan {
            is_java: false,
            program: OsStr::new("mvn"),
            arguments: &arguments,
            route: Route::Environment,
            feature_version: None,
            changes: Changes::default(),
        };
        assert_eq!(plan.without_intrinsics(CodeMetric::Accesses), [""; 0]);
        let command = plan.command(Path::new("/x/libperk.so"), "cpu=samples", &[]);
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["test"]);
        let (name, value) = command.get_envs().next().unwrap();
        assert_eq!(name, TOOL_OPTIONS);
        assert!(value.unwrap().as_bytes().ends_with(b"-agentpath:/x/libperk.so=cpu=samples"));
    }
}
