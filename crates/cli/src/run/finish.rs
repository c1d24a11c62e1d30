//! Shows and writes the profiles of a recording that has ended.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, bail};
use perk_formats::View;
use perk_formats::hprof::{BINARY, TEXT};
use perk_formats::shared_fields::ALIKE;
use perk_formats::xprof::XPROF;
use perk_profile::Profile;
use perk_profile::units::printable;
use perk_render::Screen;

use super::append;
use super::options::Analyses;
use super::outcome::{Folder, Jvm, Outcome, short_name};
use crate::args::Measured;
use crate::file_format::Format;
use crate::output::{self, Target};
use crate::talk::say;
use crate::{accounting, report, talk};

/// The files asked for; fails if one of them could not be written, or not hold a profile such as
/// `sketch`.
pub(crate) fn targets(paths: &[PathBuf], sketch: &Profile) -> anyhow::Result<Vec<Target>> {
    if paths.is_empty() {
        output::check(Path::new("./perk")).context("name a file with -o")?;
    }
    let mut seen = BTreeSet::new();
    let mut targets = Vec::new();
    for path in paths {
        let target = Target::of_path(path)?;
        target.check()?;
        let held = target.form.write_view(&View::new(sketch, ""), &mut io::sink());
        held.with_context(|| format!("cannot write {}", path.display()))?;
        if !seen.insert(path) {
            bail!("{}: named twice with -o", path.display());
        }
        targets.push(target);
    }
    Ok(targets)
}

/// What is left to do when the recording has ended.
pub(crate) struct Finish<'a> {
    args: &'a Measured,
    analyses: Analyses<'a>,
    targets: Vec<Target>,
    folder: &'a Folder,
    /// What was started or attached to, for profiles without the name of the program.
    command: String,
    /// Whether the folder holds something that is still needed.
    pub(crate) keep: bool,
    /// Whether a profile could not be written.
    pub(crate) failed: bool,
}

impl<'a> Finish<'a> {
    pub(crate) fn new(
        args: &'a Measured,
        analyses: Analyses<'a>,
        targets: Vec<Target>,
        folder: &'a Folder,
        command: String,
    ) -> Self {
        Self { args, analyses, targets, folder, command, keep: false, failed: false }
    }

    /// Shows and writes what there is. `why_gone` has the reason for which a JVM left no whole profile.
    pub(crate) fn report(&mut self, outcome: &Outcome, why_gone: &dyn Fn(u32) -> String) {
        let (idle, busy): (Vec<&Jvm>, Vec<&Jvm>) =
            outcome.complete.iter().partition(|jvm| jvm.is_empty() && !self.analyses.dump_heap());
        let (shown, passed_over) = if busy.is_empty() { (idle, busy) } else { (busy, idle) };
        for jvm in &shown {
            let targets = self.targets_of(jvm, shown.len() > 1);
            self.show(jvm, &targets);
            self.write(jvm, &targets);
        }
        for jvm in passed_over {
            let why = self.why_empty();
            say(format_args!("the JVM {} ({}) has no profile: {why}", jvm.pid, jvm.name()));
        }
        for (pid, error) in &outcome.unreadable {
            let file = self.folder.file_of(*pid);
            say(format_args!(
                "the JVM {pid} left a profile that is kept as {}: {error:#}",
                file.display()
            ));
            (self.keep, self.failed) = (true, true);
        }
        for &pid in &outcome.incomplete {
            let why = why_gone(pid);
            say(format_args!(
                "the JVM {pid} died before its profile was complete{why}: no part of it is left"
            ));
        }
        for &pid in &outcome.running {
            let file = self.folder.file_of(pid);
            say(format_args!(
                "the JVM {pid} is still running; its profile comes to {}",
                file.display()
            ));
            self.keep = true;
        }
        if outcome.is_empty() {
            say(format_args!("no JVM started under this command: there is no profile"));
        }
    }

    /// The files of a JVM.
    fn targets_of(&self, jvm: &Jvm, is_one_of_several: bool) -> Vec<Target> {
        let default = || {
            let form = match &self.analyses {
                analyses if analyses.are_samples() => TEXT,
                analyses if analyses.have_fields() => ALIKE,
                _ => BINARY,
            };
            let (name, ending) = (short_name(jvm.program()), form.ending());
            let packing = if form == ALIKE { ".gz" } else { "" };
            let path = format!("perk-{name}-{}.{ending}{packing}", jvm.pid);
            Target { path: PathBuf::from(path), form }
        };
        match &self.targets[..] {
            [] => vec![default()],
            targets if is_one_of_several => {
                targets.iter().map(|target| target.with_infix(&jvm.pid.to_string())).collect()
            }
            targets => targets.to_vec(),
        }
    }

    /// The table, for which `targets` have more, and the accounting.
    fn show(&self, jvm: &Jvm, targets: &[Target]) {
        if self.args.quiet {
            return;
        }
        let screen = Screen::of_stderr();
        let pid = format!(" (pid {})", jvm.pid);
        // Not every form has the name of the program.
        let command = || printable(&self.command);
        let name = if jvm.program().is_empty() { command() } else { jvm.name() };
        let program = screen.cut_end(&name, pid.len());
        let mut text = format!("\n{}\n", screen.heading(&(program + &pid)));
        let holds_fields = |form: Format| form.holds_fields() && form.is_read();
        let file = targets.iter().find(|target| holds_fields(target.form));
        let file = file.map(|target| &*target.path);
        match report::summary(&jvm.profile, file, self.args.top, &screen) {
            Some(summary) => text += &summary,
            None if self.analyses.dump_heap() => {}
            None => text += &format!("nothing to show: {}\n", self.why_empty()),
        }
        if self.analyses.dump_heap() {
            let bytes = fs::metadata(&jvm.file).map_or(0, |metadata| metadata.len());
            text += &format!("heap dump: {} MB\n", bytes.div_ceil(1_000_000));
        }
        if let Some(accounting) = &jvm.profile.accounting {
            text.push('\n');
            for line in accounting::lines(accounting) {
                text += &format!("{line}\n");
            }
        }
        talk::print(format_args!("{text}"));
    }

    fn why_empty(&self) -> &'static str {
        if self.analyses.are_samples() {
            "it used too little CPU time for a sample"
        } else {
            "none of the events asked for happened in it"
        }
    }

    /// The files; where one cannot be written, the agent's own is kept.
    fn write(&mut self, jvm: &Jvm, targets: &[Target]) {
        for target in targets {
            let path = target.path.display();
            let written = if self.analyses.are_of_jamaica() {
                append::write(&jvm.file, target, self.args.force)
            } else if self.analyses.are_xprof() && target.form == XPROF {
                // As the agent writes it, and not as perk writes a profile that was read.
                target.write_with(&|out| io::copy(&mut fs::File::open(&jvm.file)?, out).map(|_| ()))
            } else if self.analyses.dump_heap() && target.form == BINARY {
                perk_files::give(&jvm.file, &target.path)
                    .with_context(|| format!("cannot write {path}"))
            } else {
                target.write(&View::new(&jvm.profile, &jvm.name()))
            };
            match written {
                Ok(()) if self.args.quiet => {}
                Ok(()) => {
                    talk::print(format_args!("{:<9} {}\n", "written", printable(&path.to_string())))
                }
                Err(error) => {
                    say(format_args!(
                        "{error:#}; the profile is kept: perk convert {} -o {path}",
                        jvm.file.display()
                    ));
                    (self.keep, self.failed) = (true, true);
                }
            }
        }
    }
}
