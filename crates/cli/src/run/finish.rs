//! Shows and writes the profiles of a recording that has ended.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, fs, io, io::ErrorKind};

use anyhow::{Context, anyhow, bail};
use perk_files::{Access, Destination};
use perk_formats::View;
use perk_formats::hprof::{BINARY, TEXT};
use perk_formats::shared_fields::ALIKE;
use perk_formats::xprof::XPROF;
use perk_open::Format;
use perk_profile::units::{plural, printable};
use perk_profile::{Accounting, Metric, Profile, secrets};
use perk_render::Screen;
use perk_report::words::quoted;
use perk_report::{EndOfRun, View as _, accounting, merges_threads};

use super::append;
use super::options::Analyses;
use super::outcome::{Fault, Folder, JvmOutcome, Outcome, short_name};
use super::unmatched;
use crate::args::MeasurementArgs;
use crate::output::{self, Target};
use crate::packing;
use crate::talk;
use crate::talk::say;

/// The requested files; fails if one of them could not be written, or not hold a profile such as
/// `sketch`.
pub(crate) fn targets(paths: &[PathBuf], sketch: &Profile) -> anyhow::Result<Vec<Target>> {
    if paths.is_empty() {
        Destination::check(Path::new("./perk")).map_err(|error| {
            let folder = env::current_dir().unwrap_or_default();
            let folder = folder.display();
            anyhow!("cannot write the profile to the folder {folder}: {error}; name a file with -o")
        })?;
    }
    let mut seen = BTreeSet::new();
    let mut targets = Vec::new();
    for path in paths {
        let target = Target::of_path(path)?;
        target.check()?;
        // Of a heap dump there is none.
        if !sketch.events.is_empty() {
            let held = target.format.write_view(&View::new(sketch, ""), &mut io::sink());
            held.with_context(|| format!("cannot write {}", path.display()))?;
        }
        if !seen.insert(path) {
            bail!("{}: named twice with -o", path.display());
        }
        targets.push(target);
    }
    Ok(targets)
}

/// What is left to do when the recording has ended.
pub(crate) struct Finish<'a> {
    args: &'a MeasurementArgs,
    analyses: Analyses<'a>,
    targets: Vec<Target>,
    folder: &'a Folder,
    /// What was started or attached to, for profiles without the name of the program.
    command: String,
    /// Whether the folder holds something that is still needed.
    pub(crate) keep: bool,
    /// Whether a requested file is not written.
    pub(crate) failed: bool,
    /// Whether each JVM has files of its own.
    per_process: bool,
    /// The time for which nothing was measured.
    delay: Option<Duration>,
    has_written: bool,
}

/// The end of a JVM that left no whole profile.
#[derive(Clone, Debug)]
pub(crate) struct JvmEnd {
    /// The signal that killed it, if one did.
    pub(crate) signal: Option<i32>,
    /// Its exit code, if it ended with one.
    pub(crate) code: Option<i32>,
    pub(crate) at: SystemTime,
}

/// Says which of the numbers are in no file.
fn say_lost(target: &Target, profile: &Profile, lost: &[Metric]) {
    let kinds = [
        ("CPU samples", &[Metric::Samples][..]),
        ("waits", &[Metric::WallTime]),
        ("locks", &Metric::OF_LOCKS),
        ("allocations", &Metric::OF_OBJECTS),
    ];
    let is_lost = |metrics: &[Metric]| {
        let mut known = metrics.iter().filter(|it| it.is_in(profile)).peekable();
        known.peek().is_some() && known.all(|it| lost.contains(it))
    };
    let lost: Vec<_> = kinds.into_iter().filter(|it| is_lost(it.1)).map(|it| it.0).collect();
    if !lost.is_empty() {
        let (path, format) = (target.path.display(), target.format.title());
        say(format_args!(
            "left out of {path}, as {format} cannot hold it: {}; a second -o FILE.hprof holds all",
            lost.join(", ")
        ));
    }
}

impl<'a> Finish<'a> {
    pub(crate) fn new(
        args: &'a MeasurementArgs,
        analyses: Analyses<'a>,
        targets: Vec<Target>,
        folder: &'a Folder,
        command: String,
    ) -> Self {
        let command = if args.agent.0.options.secrets { command } else { secrets::mask(&command) };
        Self {
            args,
            analyses,
            targets,
            folder,
            command,
            keep: false,
            failed: false,
            per_process: false,
            delay: None,
            has_written: false,
        }
    }

    /// Sets whether each JVM has files of its own, and the time for which nothing was measured.
    pub(crate) fn of_command(self, per_process: bool, delay: Option<Duration>) -> Self {
        Self { per_process, delay, ..self }
    }

    /// Shows and writes what there is. `gone` has the end of a JVM that left no whole profile, if it is
    /// known, and `no_jvm` is the message if no JVM has loaded the agent.
    pub(crate) fn report(
        &mut self,
        mut outcome: Outcome,
        gone: &dyn Fn(u32) -> Option<JvmEnd>,
        no_jvm: &str,
    ) {
        for jvm in &outcome.complete {
            if let Some(flushed) = jvm.flushed {
                let gone = gone(jvm.pid);
                let fault = self.fault_of(jvm.pid, gone.as_ref()).map(|fault| fault.error);
                say(format_args!("{}", of_flush(jvm, flushed, gone, fault)));
            }
        }
        let jvms = std::mem::take(&mut outcome.complete);
        let is_asked_for = !self.args.output.is_empty();
        let is_alone = jvms.len() == 1;
        let is_idle = |jvm: &JvmOutcome| match is_alone && is_asked_for {
            true => jvm.is_empty(),
            false => jvm.is_idle(),
        };
        let dumps_heap = self.analyses.dump_heap();
        let (idle, mut busy): (Vec<JvmOutcome>, Vec<JvmOutcome>) =
            jvms.into_iter().partition(|jvm| !dumps_heap && is_idle(jvm));
        if busy.len() > 1 && !self.per_process && self.analyses.can_merge() {
            busy = JvmOutcome::merged(busy).into_iter().collect();
        }
        let has_several = busy.len() > 1;
        for (index, jvm) in busy.iter().enumerate() {
            let targets = self.targets_of(jvm, has_several);
            self.show(jvm, &targets);
            self.write(jvm, &targets, index > 0);
        }
        if has_several && !self.per_process && !self.analyses.are_of_jamaica() && !self.args.quiet {
            say(format_args!("{} have one JVM each and cannot be merged", self.unmergeable()));
        }
        self.skip(&idle, !busy.is_empty());
        for (pid, error) in &outcome.unreadable {
            let file = self.folder.file_of(*pid);
            say(format_args!(
                "the JVM {pid} left an unreadable profile, which is kept as {}: {error:#}",
                file.display()
            ));
            (self.keep, self.failed) = (true, true);
        }
        // Also with --quiet: it may be why there are no numbers.
        let profiles: Vec<_> = busy.iter().chain(&idle).map(|jvm| &jvm.profile).collect();
        for line in unmatched::lines(&self.args.agent.0.options, &profiles) {
            say(format_args!("{line}"));
        }
        let mut reasons: Vec<String> = self.why_idle(&idle).into_iter().collect();
        reasons.extend(outcome.incomplete.iter().map(|&pid| self.lost(pid, gone(pid).as_ref())));
        for &pid in &outcome.running {
            let file = self.folder.file_of(pid);
            say(format_args!(
                "the JVM {pid} is still running; it writes its profile to {}",
                file.display()
            ));
            self.keep = true;
            reasons.push(format!("the JVM {pid} is still running"));
        }
        if outcome.is_empty() && busy.is_empty() && idle.is_empty() {
            reasons.push(no_jvm.to_owned());
        }
        if busy.is_empty() && !self.has_written && !self.failed {
            self.say_unwritten(&reasons.join("; "));
        }
    }

    /// Says that there is no file, whatever else is said, and why.
    fn say_unwritten(&mut self, why: &str) {
        let names: Vec<_> =
            self.targets.iter().map(|target| target.path.display().to_string()).collect();
        match self.args.output.is_empty() {
            true => say(format_args!("no file is written: {why}")),
            false => {
                say(format_args!("not written: {}: {why}", names.join(", ")));
                self.failed = true;
            }
        }
    }

    /// The reason why JVMs that did nothing that was measured have no file; `None` if there are none.
    fn why_idle(&self, idle: &[JvmOutcome]) -> Option<String> {
        let why = self.why_empty();
        Some(match idle {
            [] => return None,
            [jvm] if jvm.is_empty() => format!("nothing was measured: {why}"),
            [_] => "the JVM ran no program".to_owned(),
            _ => format!("{} JVMs ran, and nothing was measured: {why}", idle.len()),
        })
    }

    /// The reason why a JVM could not write to its file any more, if that is so and it was not killed.
    fn fault_of(&self, pid: u32, gone: Option<&JvmEnd>) -> Option<Fault> {
        let is_killed = gone.is_some_and(|gone| gone.signal.is_some());
        self.folder.fault_of(pid).filter(|_| !is_killed)
    }

    /// Says that a JVM has left no profile, and returns the reason.
    fn lost(&mut self, pid: u32, gone: Option<&JvmEnd>) -> String {
        if let Some(Fault { error, part }) = self.fault_of(pid, gone) {
            let reason = format!("the JVM {pid} could not write its profile: {error}");
            let way_out = way_out(&error);
            self.keep |= part.is_some();
            let rest = part.map_or("no part of it is left".to_owned(), |part| {
                format!("the part written is kept as {}", part.display())
            });
            say(format_args!("{reason}{way_out}; {rest}"));
            return reason;
        }
        let how = match gone {
            Some(JvmEnd { signal: Some(signal), .. }) => format!("killed by signal {signal}"),
            Some(JvmEnd { code: Some(code), .. }) => {
                format!(
                    "it ended with exit code {code} in native code, or its messages have the reason"
                )
            }
            _ => "its end is unknown".to_owned(),
        };
        let reason = format!("the JVM {pid} died before its profile was complete");
        say(format_args!("{reason} ({how}): no part of it is left"));
        reason
    }

    /// The reason why there are no numbers, for people.
    fn why_empty(&self) -> String {
        let why = self.analyses.why_empty();
        match self.delay {
            Some(delay) => format!("after the delay of {delay:?}, {why}"),
            None => why.to_owned(),
        }
    }

    /// What cannot be merged, for people.
    fn unmergeable(&self) -> &'static str {
        match () {
            () if self.analyses.dump_heap() => "heap dumps",
            () if self.analyses.have_fields() => "accesses to the fields of objects",
            () => "the tables of -Xprof",
        }
    }

    /// Says that JVMs have no profile: they did nothing that was measured.
    fn skip(&self, idle: &[JvmOutcome], are_others_shown: bool) {
        if self.args.quiet {
            return;
        }
        match idle {
            [] => {}
            [jvm] if !are_others_shown => self.show(jvm, &[]),
            _ if are_others_shown => {
                let jvms = plural(idle.len() as u64, "more JVM");
                say(format_args!("{jvms} did no measured work"));
            }
            _ => {}
        }
    }

    /// The files of a JVM.
    fn targets_of(&self, jvm: &JvmOutcome, is_one_of_several: bool) -> Vec<Target> {
        let default = || {
            let format = match &self.analyses {
                analyses if analyses.are_samples() => TEXT,
                analyses if analyses.have_fields() => ALIKE,
                _ => BINARY,
            };
            let (name, ending) = (short_name(jvm.program()), format.ending());
            let packing = if format == ALIKE { ".gz" } else { "" };
            let path = format!("perk-{name}-{}.{ending}{packing}", jvm.pid);
            Target { path: PathBuf::from(path), format }
        };
        match &self.targets[..] {
            [] => vec![default()],
            // Each run is added to the file.
            targets if self.analyses.are_of_jamaica() && !self.per_process => targets.to_vec(),
            targets if is_one_of_several => {
                targets.iter().map(|target| target.with_infix(&jvm.pid.to_string())).collect()
            }
            targets => targets.to_vec(),
        }
    }

    /// The table, for which `targets` have more, and the accounting.
    fn show(&self, jvm: &JvmOutcome, targets: &[Target]) {
        if self.args.quiet {
            return;
        }
        let screen = Screen::of_stderr();
        let pid = match jvm.count() {
            1 => format!(" (pid {})", jvm.pid),
            _ => String::new(),
        };
        // Not every format has the name of the program.
        let command = || printable(&self.command);
        let name = if jvm.program().is_empty() { command() } else { jvm.name() };
        let program = screen.cut_end(&name, pid.len());
        let mut text = format!("\n{}\n", screen.heading(&(program + &pid)));
        let holds_fields = |format: Format| format.holds_fields() && format.is_read();
        let file = targets.iter().find(|target| holds_fields(target.format));
        let file = file.map(|target| &*target.path);
        let request = EndOfRun { path: file.map(Path::to_owned), top: self.args.top, screen };
        match request.answer(&jvm.profile) {
            Ok(answer) => text += &answer.text(&screen),
            Err(error) => say(format_args!("{error:#}")),
        }
        if self.analyses.dump_heap() && jvm.profile.heaps().next().is_some() {
            let bytes = fs::metadata(&jvm.file).map_or(0, |metadata| metadata.len());
            text += &format!("heap dump: {} MB\n", bytes.div_ceil(1_000_000));
        }
        if let Some(accounting) = &jvm.profile.accounting {
            text.push('\n');
            // Names that nothing had are lines of their own.
            let accounting = Accounting { unmatched_patterns: String::new(), ..accounting.clone() };
            for line in accounting::lines(&accounting) {
                text += &format!("{line}\n");
            }
        }
        talk::print(format_args!("{text}"));
    }

    /// The files; where one cannot be written, the agent's own is kept. `is_next` is whether another
    /// JVM has been written before.
    fn write(&mut self, jvm: &JvmOutcome, targets: &[Target], is_next: bool) {
        let merged = OnceCell::new();
        let name = jvm.name();
        let lost = |target: &Target| target.format.lost_metrics(&View::new(&jvm.profile, &name));
        // What another file has is not lost.
        let is_whole = targets.iter().any(|target| lost(target).is_empty());
        for target in targets {
            let path = target.path.display();
            let is_copy = self.analyses.are_of_jamaica()
                || self.analyses.are_xprof() && target.format == XPROF
                || self.analyses.dump_heap() && target.format == BINARY;
            let profile: &Profile =
                match merges_threads(target.format) && !self.args.agent.0.has("threads") {
                    true => merged.get_or_init(|| jvm.profile.without_threads()),
                    false => &jvm.profile,
                };
            let lead = || perk_report::lead(profile, &target.path.display().to_string());
            let lead = target.format.has_lead().then(lead).flatten();
            let view = View::new(profile, &name).with_lead(lead.as_ref());
            if !is_copy && target.format.is_empty_of(&view) {
                say(format_args!("{path} is not written: {}", self.why_empty()));
                self.failed = true;
                continue;
            }
            let lacks_heap = self.analyses.dump_heap() && jvm.profile.heaps().next().is_none();
            if lacks_heap && target.format == BINARY {
                let has_profile = self.analyses.have_profile();
                let what = if has_profile { "has no heap dump" } else { "is not written" };
                say(format_args!(
                    "{path} {what}: the JVM {} could not dump its heap, see above",
                    jvm.pid
                ));
                self.failed = true;
                if !has_profile {
                    continue;
                }
            }
            let written = if self.analyses.are_of_jamaica() {
                append::write(&jvm.file, target, self.args.agent.0.has("force") && !is_next)
            } else if self.analyses.are_xprof() && target.format == XPROF {
                // As the agent writes it, and not as perk writes a profile that was read.
                target.write_with(&|out| io::copy(&mut fs::File::open(&jvm.file)?, out).map(|_| ()))
            } else if self.analyses.dump_heap() && target.format == BINARY {
                match packing::split(&target.path) {
                    (_, None) => perk_files::give(&jvm.file, &target.path)
                        .with_context(|| format!("cannot write {path}")),
                    _ => output::write_file(&target.path, Access::Owner, &|out| {
                        io::copy(&mut fs::File::open(&jvm.file)?, out).map(|_| ())
                    }),
                }
            } else {
                target.write(&view)
            };
            self.has_written |= written.is_ok();
            match written {
                Ok(()) if self.args.quiet => {}
                Ok(()) => {
                    talk::print(format_args!(
                        "{:<9} {}\n",
                        "written",
                        printable(&path.to_string())
                    ));
                    let lost = if is_copy || is_whole { Vec::new() } else { lost(target) };
                    say_lost(target, &jvm.profile, &lost);
                }
                Err(error) => {
                    let target = quoted(&path.to_string());
                    let kept = jvm.files().map(|file| match is_copy {
                        true => file.display().to_string(),
                        false => format!("perk convert {} -o {target}", file.display()),
                    });
                    let kept = kept.collect::<Vec<_>>().join(", ");
                    say(format_args!("{error:#}; the profile is kept: {kept}"));
                    (self.keep, self.failed) = (true, true);
                }
            }
        }
    }
}

/// The line on a JVM whose profile is that of its last flush.
fn of_flush(
    jvm: &JvmOutcome,
    flushed: SystemTime,
    gone: Option<JvmEnd>,
    fault: Option<io::Error>,
) -> String {
    let label = jvm.label();
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let missing = gone.as_ref().and_then(|gone| gone.at.duration_since(flushed).ok());
    let missing = match (missing, &jvm.profile.accounting) {
        (Some(missing), _) => format!("its last {} may be missing", seconds(missing)),
        (None, Some(it)) => {
            format!(
                "what followed its first {} is missing",
                seconds(Duration::from_nanos(it.wall_ns))
            )
        }
        (None, None) => "what followed is missing".to_owned(),
    };
    let how = match (gone.and_then(|gone| gone.signal), fault) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(error)) => {
            format!("could not write its last dump ({error}{})", way_out(&error))
        }
        (None, None) => "ended without a last dump".to_owned(),
    };
    format!("{label} {how}: the profile is that of its last flush; {missing}")
}

/// What to do about an error of writing to the agent's folder, for people.
fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::FileTooLarge => ", the limit of ulimit -f",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem => {
            "; set TMPDIR to a folder with more room"
        }
        _ => "",
    }
}
