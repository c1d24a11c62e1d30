//! The agent's options: the analyses of a command line, checked against each other.

use std::time::Duration;

use anyhow::{Error, bail};
use perk_control::options::{
    Classes, CommandLine, Measurement, Options, Output, OutputFormat, TimesForm, TimingMethod,
};
use perk_formats::xprof::XPROF;
use perk_profile::{
    Allocations, CallEdge, CallEdges, CallRow, CallTimes, CpuSamples, Event, Field, FieldAccesses,
    FieldCounts, LockKind, Metric, MonitorRow, MonitorTimes, Profile, Section, Site, Sites, Waits,
};

use crate::args::{MeasurementArgs, RunArgs};
use crate::file_format::has_ending;

/// The most time of a program that is lost if it is killed.
const FLUSH_NS: u64 = 5_000_000_000;

/// Sets what every recording has: all rows, and threads where they cost little.
fn complete(options: &mut Options) {
    options.cutoff = 0.0;
    options.classes = Classes::Used;
    options.verbose = false;
    // Samples and waits are kept by thread at little cost.
    let is_sampled = Measurement::SampledSites.is_on(options);
    let has_waits = options.wall_ns.is_some() || options.monitor;
    options.platform_threads = !options.thread && (options.cpu.samples || has_waits || is_sampled);
    options.thread |= options.platform_threads;
}

/// The requested analyses: there is at least one, and each argument has a meaning for it.
#[derive(Debug)]
pub(crate) struct Analyses<'a> {
    args: &'a MeasurementArgs,
    /// The agent's options, up to the file.
    options: Options,
}

impl<'a> Analyses<'a> {
    /// The analyses that `args` name, or those that they mean by naming none.
    ///
    /// # Errors
    /// An argument that would have no effect, or a contradiction, in one line.
    pub(crate) fn of(args: &'a MeasurementArgs) -> anyhow::Result<Self> {
        let this = Self::chosen(args)?;
        args.agent.0.check(&this.options).map_err(Error::msg)?;
        if this.options.xprof.is_some()
            && !this.are_xprof()
            && let Some(path) = args.output.iter().find(|path| has_ending(XPROF, path))
        {
            let path = path.display();
            bail!(
                "{path}: together with other measurements --xprof prints on stdout: use it alone with -o"
            );
        }
        Ok(this)
    }

    /// The analyses, in a program that runs already.
    ///
    /// # Errors
    /// As [`of`](Self::of), or an analysis that has to begin with the program, in one line.
    pub(crate) fn of_running(args: &'a MeasurementArgs) -> anyhow::Result<Self> {
        args.agent.0.check_attach(&args.agent.0.options).map_err(Error::msg)?;
        Self::of(args)
    }

    /// The analyses, with the options that every run has.
    fn chosen(args: &'a MeasurementArgs) -> anyhow::Result<Self> {
        let line = &args.agent.0;
        let mut options = line.options.clone();
        if options.are_idle() {
            if line.has("cpu") {
                bail!(
                    "--cpu off leaves nothing to measure: add --wall, --heap sites, --aprof or --monitor"
                );
            }
            CommandLine::measure_by_default(&mut options);
        }
        complete(&mut options);
        let mut this = Self { args, options };
        let can_flush = this.can_flush();
        this.options.flush_ns = can_flush.then_some(FLUSH_NS);
        this.options.format = match can_flush {
            // Other tools do not take the records of format=p.
            _ if this.dump_heap() => OutputFormat::Binary,
            true => OutputFormat::Extended,
            false => OutputFormat::Ascii,
        };
        let is_by_line = can_flush && this.options.can_count_by_line();
        this.options.paths |= !is_by_line;
        Ok(this)
    }

    /// The analyses without one of those that are measured by default, for each of these: its name, and the
    /// others.
    pub(crate) fn each_left_out(&self) -> impl Iterator<Item = (&'static str, Self)> {
        let others = self.options.each_left_out();
        others.map(|(name, options)| (name, Self { args: self.args, options }))
    }

    /// Has the agent collect garbage before it counts live objects, unless the arguments say otherwise.
    /// A program that runs on is not stopped for that.
    pub(crate) fn collecting(mut self) -> Self {
        let Options { heap_sites, live, .. } = self.options;
        self.options.gc |= heap_sites && live && !self.args.agent.0.has("no-gc");
        self
    }

    /// Measures the part of the run that the arguments give.
    ///
    /// # Errors
    /// The argument that has no effect, in one line.
    pub(crate) fn of_part(mut self, args: &RunArgs) -> anyhow::Result<Self> {
        self.options.start = !args.paused;
        self.options.delay_ns = args.delay.map(nanoseconds);
        self.options.duration_ns = args.duration.map(nanoseconds);
        self.args.agent.0.check(&self.options).map_err(Error::msg)?;
        if args.delay.is_some() && !self.have_profile() {
            bail!("--delay has no effect on --heap dump, which perk writes at the end");
        }
        Ok(self)
    }

    /// Whether the tables of `-Xprof` are printed, and nothing else is measured.
    pub(crate) fn are_xprof(&self) -> bool {
        self.options.has_only_xprof()
    }

    /// Whether the program prints everything on its stdout.
    pub(crate) fn are_printed(&self) -> bool {
        self.are_xprof() && self.args.output.is_empty()
    }

    /// Whether the agent's file holds a heap dump, and is itself the output.
    pub(crate) fn dump_heap(&self) -> bool {
        self.options.heap_dump
    }

    /// Whether there is a profile beside the heap dump.
    pub(crate) fn have_profile(&self) -> bool {
        let Options { heap_dump, heap_sites, cpu, .. } = &self.options;
        !heap_dump || *heap_sites || cpu.samples || cpu.times.is_some()
    }

    /// Whether the profile is one of samples alone, and not of everything the program did.
    pub(crate) fn are_samples(&self) -> bool {
        self.options.cpu.samples && !self.have_locks() && !self.have_objects() && !self.have_wall()
    }

    fn have_locks(&self) -> bool {
        self.options.monitor
    }

    fn have_objects(&self) -> bool {
        self.options.heap_dump || self.options.heap_sites || self.options.aprof
    }

    fn have_wall(&self) -> bool {
        self.options.wall_ns.is_some()
    }

    /// Whether accesses to fields are counted, and nothing else.
    pub(crate) fn have_fields(&self) -> bool {
        self.options.fields
    }

    /// Whether the agent's file is JamaicaVM's profile.
    pub(crate) fn are_of_jamaica(&self) -> bool {
        self.options.jamaica.is_some()
    }

    /// The reason why a run has no numbers, for people.
    pub(crate) fn why_empty(&self) -> &'static str {
        const SEVERAL: &str = "none of the measured events happened in it";
        let options = &self.options;
        let kinds = (self.have_locks(), self.have_objects(), self.have_wall());
        if options.cpu.samples {
            let is_alone = self.are_samples();
            return if is_alone { "it used too little CPU time for a sample" } else { SEVERAL };
        }
        if options.cpu.times.is_some() {
            let is_alone = kinds == (false, false, false);
            return if is_alone { "no call was counted" } else { SEVERAL };
        }
        match kinds {
            (true, false, false) => "no thread waited for a lock or to be notified",
            (false, true, false) if options.aprof || options.heap_sample_bytes.is_none() => {
                "no allocation was counted"
            }
            (false, true, false) => "it allocated too little for a sample (--alloc=16k takes more)",
            (false, false, true) => "its threads ended before a sample",
            _ if self.are_of_jamaica() => "no bytecode was counted",
            _ if self.are_xprof() => "it used too little CPU time for a sample",
            _ if self.have_fields() => "no access to a field was counted",
            _ => SEVERAL,
        }
    }

    /// Whether the profiles of several JVMs can be one. Heap dumps and accesses object by object have
    /// no sum; JamaicaVM's profiles stand one after the other in one file; -Xprof's tables are those
    /// of one JVM.
    pub(crate) fn can_merge(&self) -> bool {
        self.can_flush()
    }

    /// A profile with the sections that these analyses fill, and next to nothing in them: what can
    /// be done with it can be done with the one to come.
    pub(crate) fn sketch(&self) -> Profile {
        let mut profile = Profile::default();
        if self.options.cpu.samples || self.are_xprof() {
            let samples = CpuSamples { total: 1, ..CpuSamples::default() };
            profile.events.push(samples.into());
        }
        match self.options.cpu.times {
            Some(TimesForm::Times) => {
                let self_ns = u64::from(self.options.timing != TimingMethod::None);
                let trace = profile.system_trace();
                let row = CallRow { trace, count: 1, self_ns, total_ns: self_ns };
                let times = CallTimes { total_ns: self_ns, rows: vec![row], written: None };
                profile.events.push(times.into());
            }
            Some(TimesForm::Old) => {
                let edge =
                    CallEdge { callee: None, caller: None, thread: None, count: 1, total_ns: 0 };
                let edges = CallEdges { rows: vec![edge], written: None };
                let section = edges.section(&mut profile);
                profile.events.push(section.into());
            }
            None => {}
        }
        if self.have_wall() {
            let trace = profile.system_trace();
            profile.events.push(Section::of(Metric::WallTime, 1, [(trace, 1)]).into());
        }
        if self.options.heap_sites || self.options.aprof {
            let class = profile.symbols.class("java.lang.Object");
            let trace = profile.system_trace();
            let objects =
                Allocations { allocated_bytes: 16, allocated_count: 1, ..Allocations::default() };
            let rows = vec![Site { class, trace, objects }];
            profile.events.push(Sites { total: objects, rows, ..Sites::default() }.into());
        }
        if self.have_fields() {
            let class = profile.symbols.class("T");
            let name = profile.symbols.strings.intern("T");
            let field = Field { class: name, name, descriptor: name };
            let counts = FieldCounts { owner_read_count: 1, ..FieldCounts::default() };
            let mut accesses = FieldAccesses::default();
            let layout = accesses.layout(class, vec![field]);
            accesses.push(None, layout, 1, [counts.into()]);
            let section = accesses.section(&mut profile);
            profile.events.extend([Event::FieldAccesses(accesses), section.into()]);
        }
        if self.have_locks() {
            let class = profile.symbols.class("java.lang.Object");
            let waits = Waits { blocked_count: 1, blocked_ns: 1, wait_count: 1, waited_ns: 1 };
            let trace = profile.system_trace();
            let rows = vec![MonitorRow { trace, class, kind: LockKind::Monitor, waits }];
            profile.events.push(MonitorTimes { total_ns: 1, rows, written: None }.into());
        }
        profile
    }

    /// Whether the agent's file shows what was measured so far.
    fn can_flush(&self) -> bool {
        !self.dump_heap() && !self.have_fields() && !self.are_of_jamaica() && !self.are_xprof()
    }

    /// The options of the agent for a recording that it sends while it is made.
    pub(crate) fn watched_options(&self) -> Options {
        Options { output: Output::Default, flush_ns: None, ..self.options.clone() }
    }

    /// The options of the agent: the requested ones, and its own defaults for the rest.
    /// `file` is the value of the option of that name.
    pub(crate) fn agent_options(&self, file: String) -> Options {
        let output = match self.are_printed() {
            true => Output::Default,
            false => Output::File(file),
        };
        Options { output, ..self.options.clone() }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;
    use perk_control::AgentAction;

    use super::*;
    use crate::args::{Cli, Command};
    use crate::run::outcome::Folder;

    fn run_args(arguments: &str) -> MeasurementArgs {
        let line = ["perk", "run"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(line.chain(["--", "java"])).map(|cli| cli.command) {
            Ok(Command::Run(args)) => args.measured,
            other => panic!("{arguments}: {other:?}"),
        }
    }

    /// The agent's options, up to what every run has.
    #[track_caller]
    fn printed(arguments: &str) -> BTreeSet<String> {
        let args = run_args(arguments);
        let folder = Folder::new().unwrap();
        let options = Analyses::of(&args).unwrap().collecting().agent_options(folder.file_option());
        let text = options.to_string();
        // The text format is the agent's default.
        let threads_count = if options.platform_threads { 2 } else { 0 };
        let always_count = threads_count
            + match &options {
                it if it.has_only_xprof() && it.output == Output::Default => 3,
                it if it.fields || it.jamaica.is_some() || it.has_only_xprof() => 4,
                it if it.heap_dump => 5,
                _ => 6,
            };
        let Ok(AgentAction::Run(parsed)) = Options::parse(&text, None) else { panic!("{text}") };
        // Two fields follow from the others when they are read.
        let Options { raw, timing_depth, .. } = parsed.clone();
        assert_eq!(parsed, Options { raw, timing_depth, ..options }, "{text}");
        let words: Vec<&str> = text.split(',').collect();
        let is_always = |word: &&&str| {
            let always = ["verbose=n", "cutoff=0", "classes=used", "format=", "file=/", "flush=5s"];
            let is_of_threads = options.platform_threads && word.starts_with("thread");
            !is_of_threads && !always.iter().any(|it| word.starts_with(it))
        };
        let shown: BTreeSet<String> =
            words.iter().filter(is_always).map(|it| (*it).to_owned()).collect();
        assert_eq!(words.len() - shown.len(), always_count, "{text}");
        shown
    }

    /// The options of what is measured by default, and others.
    fn with_defaults(others: &str) -> &'static str {
        let text = format!(
            "cpu=samples,wall=y,monitor=y,locks=y,heap=sites,sample=512k,live=n,\
             budget=cpu:waits:locks:alloc,{others}"
        );
        text.leak()
    }

    #[test]
    fn the_agent_gets_everything() {
        for (arguments, options) in [
            ("", with_defaults("depth=2048")),
            (
                "--threads --depth 7 --interval 500us",
                with_defaults("thread=y,interval=500us,depth=7"),
            ),
            ("--engine signal", with_defaults("engine=signal,depth=2048")),
            ("--wall-threads main", with_defaults("wall-threads=main,depth=2048")),
            ("--only cpu", "cpu=samples,budget=cpu,depth=2048"),
            ("--only cpu,waits", "cpu=samples,wall=y,budget=cpu:waits,depth=2048"),
            ("--only locks --depth 9", "monitor=y,locks=y,budget=locks,depth=9"),
            ("--only alloc", "heap=sites,sample=512k,live=n,budget=alloc,depth=2048"),
            ("--wall --memlimit 64m", "wall=y,memlimit=64m,depth=2048"),
            ("--cpu samples --native", "cpu=samples,native=y,depth=2048"),
            ("--cpu times", "cpu=times,depth=2048"),
            ("--cpu times --memlimit 64m", "cpu=times,memlimit=64m,depth=2048"),
            ("--heap dump --gc", "heap=dump,gc=y,depth=2048"),
            ("--heap all --cpu samples", "cpu=samples,heap=all,gc=y,depth=2048"),
            ("--heap dump", "heap=dump,depth=2048"),
            ("--heap sites", "heap=sites,paths=n,gc=y,depth=2048"),
            ("--heap sites --paths", "heap=sites,gc=y,depth=2048"),
            ("--heap sites --cpu counts", "cpu=counts,heap=sites,paths=n,gc=y,depth=2048"),
            ("--heap sites --no-gc", "heap=sites,paths=n,depth=2048"),
            ("--alloc --no-gc", "heap=sites,sample=512k,depth=2048"),
            ("--heap sites --no-live", "heap=sites,paths=n,live=n,depth=2048"),
            ("--wall", "wall=y,depth=2048"),
            (
                "--wall=5ms --wall-threads main,http-*",
                "wall=5ms,wall-threads=main,wall-threads=http-*,depth=2048",
            ),
            (
                "--cpu samples --wall --alloc --lock",
                "cpu=samples,heap=sites,monitor=y,locks=y,gc=y,wall=y,sample=512k,depth=2048",
            ),
            ("--alloc=1m", "heap=sites,gc=y,sample=1m,depth=2048"),
            ("--aprof", "aprof=y,depth=2048"),
            ("--monitor", "monitor=y,depth=2048"),
            ("--xprof", "xprof=y,depth=2048"),
            (
                "--xprof=tiers,all --interval 1ms -o x.xprof",
                "xprof=tiers:all,interval=1ms,depth=2048",
            ),
            ("--xprof=inlined --cpu samples", "cpu=samples,xprof=inlined,depth=2048"),
            ("--locks", "monitor=y,locks=y,depth=2048"),
            ("--cpu samples --monitor", "cpu=samples,monitor=y,depth=2048"),
            ("--aprof --from-signal", "aprof=between,depth=2048"),
            (
                "--cpu samples --heap sites --gc --sample 512k",
                "cpu=samples,heap=sites,gc=y,sample=512k,depth=2048",
            ),
            (
                "--cpu old --timing exact --clock wall --max-nodes 16m",
                "cpu=old,timing=exact,clock=wall,max-nodes=16m,depth=2048",
            ),
            ("--fields shared", "fields=shared,aggregate=site,depth=2048"),
            (
                "--fields shared --accesses extended",
                "fields=shared,aggregate=site,accesses=extended,depth=2048",
            ),
            ("--fields shared --accesses instructions", "fields=shared,aggregate=site,depth=2048"),
            ("--jamaica --force --include a.*", "jamaica=y,include=a.*,depth=2048"),
            ("--jamaica=bytecodes", "jamaica=bytecodes,depth=2048"),
            ("--jamaica --no-cache", "cache=n,jamaica=y,depth=2048"),
            ("--cpu times --no-cache", "cpu=times,cache=n,depth=2048"),
            ("--app a.*,b.*", with_defaults("app=a.*,app=b.*,depth=2048")),
            (
                "--cpu times --include a.*,b.C --exclude *Test --include $D",
                "cpu=times,include=a.*,include=b.C,include=$D,exclude=*Test,depth=2048",
            ),
        ] {
            let words: BTreeSet<String> = options.split(',').map(str::to_owned).collect();
            assert_eq!(printed(arguments), words, "{arguments}");
        }
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        const NO_LIVE: &str = "--no-live works only with --heap sites, without --sample";
        for (arguments, message) in [
            (
                "--cpu off",
                "--cpu off leaves nothing to measure: add --wall, --heap sites, --aprof or --monitor",
            ),
            ("--cpu samples --wall-threads main", "--wall-threads works only with --wall"),
            ("--gc", "--gc works only with --heap"),
            (
                "--wall --fields shared",
                "--fields shared measures alone: run once with it and once with the others",
            ),
            (
                "--wall --heap dump",
                "a heap dump that other tools read has no place for --cpu times, --cpu old, \
                 --cpu counts, --monitor, --locks, --aprof and --wall: run twice",
            ),
            ("--cpu times --interval 1ms", "--interval works only with --cpu samples or --xprof"),
            ("--aprof --interval 1ms", "--interval works only with --cpu samples or --xprof"),
            (
                "--xprof --aprof -o x.xprof",
                "x.xprof: together with other measurements --xprof prints on stdout: use it alone with -o",
            ),
            (
                "--xprof --jamaica",
                "--jamaica measures alone: run once with it and once with the others",
            ),
            ("--cpu times --engine signal", "--engine works only with --cpu samples"),
            ("--timing none", "--timing works only with --cpu times or --cpu old"),
            ("--heap sites --clock wall", "--clock works only with --cpu times or --cpu old"),
            (
                "--include a.*",
                "--include works only with --cpu times, --cpu old, --cpu counts, --heap sites, --fields or \
                 --jamaica",
            ),
            (
                "--fields shared --cpu samples",
                "--fields shared measures alone: run once with it and once with the others",
            ),
            (
                "--fields shared --heap sites",
                "--fields shared measures alone: run once with it and once with the others",
            ),
            (
                "--jamaica --cpu times",
                "--jamaica measures alone: run once with it and once with the others",
            ),
            (
                "--cpu counts --heap sites --paths",
                "--cpu counts does not work with --aprof, --heap all and --heap sites --paths, which count by \
                 call path: use --cpu times with them",
            ),
            ("--aprof --force", "--force works only with --jamaica"),
            (
                "--aprof --max-nodes 1m",
                "--max-nodes works only with --cpu times, --cpu old, --heap sites or --jamaica",
            ),
            (
                "--aprof --memlimit 1m",
                "--memlimit works only with --cpu samples, --cpu times, --cpu old, --wall, --heap sites, \
                 --alloc, --monitor, --locks, --fields or --jamaica",
            ),
            ("--wall --sample 512k", "--sample works only with --heap sites"),
            ("--aprof --gc", "--gc works only with --heap"),
            ("--heap dump --no-gc", "--no-gc works only with --heap sites, --heap all or --alloc"),
            ("--accesses extended", "--accesses works only with --fields"),
            ("--heap all --no-live", NO_LIVE),
            ("--heap sites --sample 1m --no-live", NO_LIVE),
            ("--heap sites --from-signal", "--from-signal works only with --aprof"),
            (
                "--cpu times --timing exact --clock cpu",
                "--timing exact reads a wall clock: use --clock wall or --timing tick",
            ),
        ] {
            let error = Analyses::of(&run_args(arguments)).unwrap_err();
            assert_eq!(error.to_string(), message, "{arguments}");
        }
    }
}
