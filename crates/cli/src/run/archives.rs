//! Archives of classes that the JVM would make: it does not load agents then, or does not start with
//! one. With changed classes it cannot record for an AOT cache. (An archive that it would read is the
//! agent's matter.)

use std::ffi::OsString;
use std::path::Path;

use anyhow::bail;

use super::jvm_options::{JvmOptions, Sources};

/// The options of a JVM that matter for making archives.
#[derive(Debug, Default, PartialEq, Eq)]
struct Archives {
    /// `-XX:ArchiveClassesAtExit=`
    at_exit: bool,
    /// `-XX:+RecordDynamicDumpInfo`: an archive is made when `jcmd` asks for it.
    on_demand: bool,
    /// `-XX:+AutoCreateSharedArchive`: it is made if the file is not there or is of another JVM.
    by_itself: bool,
    /// `-XX:SharedArchiveFile=`
    file: String,
    /// `-Xshare:dump`
    dump: bool,
    /// `-XX:AOTMode=`
    mode: String,
    /// `-XX:AOTCacheOutput=`
    has_output: bool,
}

impl Archives {
    /// The options among these; the last of a kind counts.
    fn of(words: &[String]) -> Self {
        let mut all = Self::default();
        for word in words {
            if let Some(mode) = word.strip_prefix("-Xshare:") {
                all.dump = mode == "dump";
            }
            let Some(flag) = word.strip_prefix("-XX:") else { continue };
            let switched = flag.strip_prefix('+').map(|it| (it, true));
            let switched = switched.or_else(|| flag.strip_prefix('-').map(|it| (it, false)));
            match (switched, flag.split_once('=')) {
                (Some(("RecordDynamicDumpInfo", is_on)), _) => all.on_demand = is_on,
                (Some(("AutoCreateSharedArchive", is_on)), _) => all.by_itself = is_on,
                (Some(("DumpSharedSpaces", is_on)), _) => all.dump = is_on,
                (_, Some(("ArchiveClassesAtExit", file))) => all.at_exit = !file.is_empty(),
                (_, Some(("SharedArchiveFile", file))) => all.file = file.to_owned(),
                (_, Some(("AOTCacheOutput", file))) => all.has_output = !file.is_empty(),
                (_, Some(("AOTMode", mode))) => all.mode = mode.to_owned(),
                _ => {}
            }
        }
        all
    }
}

/// The options that a JVM gets so that it starts with an agent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The options.
    pub(super) options: Vec<&'static str>,
    /// The number of arguments before them.
    pub(super) place: usize,
    /// What the JVM then does not do, in one line.
    pub(super) line: Option<String>,
    /// The option with which the JVM records for an AOT cache.
    pub(super) recording: Option<&'static str>,
}

impl Changes {
    /// Returns the changes for `java` with these arguments, or for the JVMs that another command starts.
    ///
    /// # Errors
    /// The option with which a JVM does not run a program under an agent, in one line.
    pub(super) fn of(java: Option<&[OsString]>, sources: &Sources<'_>) -> anyhow::Result<Self> {
        let arguments = java.unwrap_or_default();
        let options = JvmOptions::of_java(arguments, sources);
        let archives = Archives::of(&options.words);
        let changes = Self { place: options.end, ..archives.changes()? };
        if !changes.options.is_empty() {
            let (before, behind) = arguments.split_at(changes.place);
            let new = changes.options.iter().map(OsString::from);
            let all: Vec<_> =
                before.iter().cloned().chain(new).chain(behind.iter().cloned()).collect();
            let changed = Archives::of(&JvmOptions::of_java(&all, sources).words);
            // A variable or a file is read behind them, or it is not known who reads them.
            if let Some(option) =
                changed.switched().or(archives.switched().filter(|_| java.is_none()))
            {
                bail!("the JVM does not start with {option} and an agent: leave the option out");
            }
        }
        Ok(changes)
    }
}

impl Archives {
    /// Returns a switch with which the JVM does not start, or only if the archive is good.
    fn switched(&self) -> Option<&'static str> {
        let all = [
            ("-XX:+RecordDynamicDumpInfo", self.on_demand),
            ("-XX:+AutoCreateSharedArchive", self.by_itself),
        ];
        all.iter().find(|it| it.1).map(|it| it.0)
    }

    /// Returns the option with which the JVM records for an AOT cache.
    fn recording(&self) -> Option<&'static str> {
        match &*self.mode {
            "record" => Some("-XX:AOTMode=record"),
            "" | "auto" if self.has_output => Some("-XX:AOTCacheOutput"),
            _ => None,
        }
    }

    fn changes(&self) -> anyhow::Result<Changes> {
        let none = [("-Xshare:dump", self.dump), ("-XX:AOTMode=create", self.mode == "create")];
        if let Some((option, _)) = none.iter().find(|it| it.1) {
            bail!("{option} writes an archive and runs no program: there is nothing to measure");
        }
        if self.at_exit {
            bail!(
                "the JVM does not start with -XX:ArchiveClassesAtExit and an agent: leave the option \
                 out, and make the archive in a run without perk"
            );
        }
        let mut changes = Changes { recording: self.recording(), ..Changes::default() };
        if self.on_demand {
            changes.options.push("-XX:-RecordDynamicDumpInfo");
            changes.line = Some(
                "with an agent the JVM does not start with -XX:+RecordDynamicDumpInfo: perk switches \
                 it off, and jcmd cannot make an archive of this run"
                    .to_owned(),
            );
        }
        if self.by_itself {
            changes.options.push("-XX:-AutoCreateSharedArchive");
            let file = &self.file;
            if !file.is_empty() && !Path::new(file).exists() {
                // The JVM complains on stdout if it is to read a file that is not there.
                changes.options.push("-XX:SharedArchiveFile=");
                changes.line = Some(format!(
                    "with an agent the JVM does not start with -XX:+AutoCreateSharedArchive: perk \
                     switches it off, and this run does not make {file}"
                ));
            }
        }
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the changes for a command, which is `java` or not, with variables.
    fn of(command: &str, variables: &[(&str, &str)]) -> Result<(String, Option<String>), String> {
        let find = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.into());
        let sources = Sources { variable: &find, file: &|_| None };
        let words: Vec<_> = command.split(' ').map(OsString::from).collect();
        let java = (words[0] == "java").then_some(&words[1..]);
        let changes = Changes::of(java, &sources).map_err(|error| error.to_string())?;
        let options = changes.options.join(" ");
        Ok((format!("{} {options}", changes.place), changes.line))
    }

    #[track_caller]
    fn assert_refused(command: &str, variables: &[(&str, &str)], option: &str) {
        let reason = of(command, variables).unwrap_err();
        assert!(reason.contains(option) && !reason.contains('\n'), "{reason}");
    }

    #[test]
    fn archives_are_not_made_under_an_agent() {
        assert_eq!(of("java -Xshare:on -XX:AOTMode=on Main", &[]), Ok(("2 ".to_owned(), None)));
        let at_exit = "-XX:ArchiveClassesAtExit";
        assert_refused("java -XX:ArchiveClassesAtExit=x Main", &[], at_exit);
        let off = of("java -XX:ArchiveClassesAtExit=x -XX:ArchiveClassesAtExit= Main", &[]);
        assert_eq!(off, Ok(("2 ".to_owned(), None)));
        assert!(of("java Main -XX:ArchiveClassesAtExit=x", &[]).is_ok());
        for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            let variables = [(name, "-Xint -XX:ArchiveClassesAtExit=x")];
            assert_refused("java Main", &variables, at_exit);
            assert_refused("mvn test", &variables, at_exit);
        }
        assert_refused("java -Xshare:dump", &[], "-Xshare:dump");
        assert_refused("java -XX:AOTMode=create -XX:AOTCache=x", &[], "-XX:AOTMode=create");
    }

    #[test]
    fn a_recording_for_a_cache_is_known() {
        let find = |_: &str| Some("-Xint".into());
        let sources = Sources { variable: &find, file: &|_| None };
        for (line, option) in [
            ("-XX:AOTMode=record -XX:AOTConfiguration=x", Some("-XX:AOTMode=record")),
            ("-XX:AOTCacheOutput=x", Some("-XX:AOTCacheOutput")),
            ("-XX:AOTMode=auto -XX:AOTCacheOutput=x", Some("-XX:AOTCacheOutput")),
            ("-XX:AOTMode=record -XX:AOTMode=off", None),
            ("-XX:AOTCacheOutput=x -XX:AOTCacheOutput=", None),
            ("-XX:AOTCache=x", None),
        ] {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            let changes = Changes::of(Some(&words), &sources).unwrap();
            assert_eq!(changes.recording, option, "{line}");
        }
    }

    #[test]
    fn switches_are_set_back_where_that_is_possible() {
        let (options, line) = of("java -XX:+RecordDynamicDumpInfo -jar a.jar", &[]).unwrap();
        assert_eq!(options, "1 -XX:-RecordDynamicDumpInfo");
        assert!(line.unwrap().contains("jcmd"));
        let (options, line) =
            of("java -XX:+AutoCreateSharedArchive -XX:SharedArchiveFile=/no/file Main", &[])
                .unwrap();
        assert_eq!(options, "2 -XX:-AutoCreateSharedArchive -XX:SharedArchiveFile=");
        assert!(line.unwrap().contains("/no/file"));
        let there = "java -XX:+AutoCreateSharedArchive -XX:SharedArchiveFile=/proc/self/exe Main";
        assert_eq!(of(there, &[]), Ok(("2 -XX:-AutoCreateSharedArchive".to_owned(), None)));
        let switch = "-XX:+RecordDynamicDumpInfo";
        assert!(of("java Main", &[("JAVA_TOOL_OPTIONS", switch)]).is_ok());
        assert_refused("java Main", &[("_JAVA_OPTIONS", switch)], switch);
        assert_refused("mvn test", &[("JAVA_TOOL_OPTIONS", switch)], switch);
    }
}
