//! The agent's options: the analyses of a command line, checked against each other.

use anyhow::bail;
use perk_control::options::{
    Classes, Clock as AgentClock, Cpu as AgentCpu, Format, Jamaica as AgentJamaica, Options,
    Output, SampleEngine, TimesForm, TimingMethod, Xprof as AgentXprof,
};
use perk_formats::xprof::XPROF;
use perk_profile::{
    Allocations, CallEdge, CallEdges, CallRow, CallTimes, CpuSamples, Event, Field, FieldAccesses,
    FieldCounts, LockKind, Metric, MonitorRow, MonitorTimes, Profile, Section, Site, Sites, Waits,
};

use crate::args::{Accesses, Clock, Cpu, Engine, Heap, Jamaica, Measured, Timing, Xprof};
use crate::file_format::has_ending;

/// The most time of a program that is lost if it is killed.
const FLUSH_NS: u64 = 5_000_000_000;

/// The analyses asked for: something is measured, and each argument has a meaning for it.
#[derive(Debug)]
pub(crate) struct Analyses<'a> {
    args: &'a Measured,
    cpu: Cpu,
    /// Whether garbage is collected before live objects are counted, even if nobody asks for it.
    collects: bool,
}

impl<'a> Analyses<'a> {
    /// The analyses that `args` name, or those that they mean by naming none.
    ///
    /// # Errors
    /// An argument that would have no effect, or a contradiction, in one line.
    pub(crate) fn of(args: &'a Measured) -> anyhow::Result<Self> {
        let has_heap = heap_of(args).is_some();
        let has_wall = args.wall.is_some();
        let has_monitors = args.monitor || args.locks;
        let has_fields = args.fields.is_some();
        let has_xprof = args.xprof.is_some();
        let measures = has_heap || args.aprof || has_monitors || has_wall || args.cpu.is_some();
        let measures = measures || has_xprof;
        if has_fields && measures {
            bail!("--fields shared measures alone: run once with it and once with the others");
        }
        let has_jamaica = args.jamaica.is_some();
        if has_jamaica && (measures || has_fields) {
            bail!("--jamaica measures alone: run once with it and once with the others");
        }
        let has_other =
            has_heap || args.aprof || has_monitors || has_wall || has_fields || has_jamaica;
        let has_other = has_other || has_xprof;
        let default = if has_other { Cpu::Off } else { Cpu::Samples };
        let cpu = args.cpu.unwrap_or(default);
        if cpu == Cpu::Off && !has_other {
            bail!(
                "--cpu off leaves nothing to measure: add --wall, --heap sites, --aprof or --monitor"
            );
        }
        let times_calls = matches!(cpu, Cpu::Times | Cpu::Old);
        let has_sites = matches!(heap_of(args), Some(Heap::Sites | Heap::All));
        let has_tree = times_calls || has_sites || args.jamaica == Some(Jamaica::All);
        let are_counted = args.heap == Some(Heap::Sites) && args.sample.is_none();
        let are_sampled = has_sites && (args.alloc.is_some() || args.sample.is_some());
        let has_samples = cpu == Cpu::Samples || has_wall || has_monitors || are_sampled;
        let has_limit = has_samples || has_fields || has_tree;
        const LIMITED: &str = "--cpu, --wall, --heap sites, --alloc, --sample, --monitor, --locks, \
                               --fields or --jamaica";
        const CALLS: &str = "--cpu times or --cpu old";
        let has_probes = has_tree || has_fields || has_jamaica;
        const PROBES: &str = "--cpu times, --cpu old, --heap sites, --fields or --jamaica";
        const TREE: &str = "--cpu times, --cpu old, --heap sites or --jamaica";
        for (name, is_given, is_needed, by) in [
            (
                "interval",
                args.interval.is_some(),
                cpu == Cpu::Samples || has_xprof,
                "--cpu samples or --xprof",
            ),
            ("wall-threads", !args.wall_threads.is_empty(), has_wall, "--wall"),
            ("engine", args.engine.is_some(), cpu == Cpu::Samples, "--cpu samples"),
            ("native", args.native, cpu == Cpu::Samples, "--cpu samples"),
            ("timing", args.timing.is_some(), times_calls, CALLS),
            ("clock", args.clock.is_some(), times_calls, CALLS),
            ("include", !args.include.is_empty(), has_probes, PROBES),
            ("exclude", !args.exclude.is_empty(), has_probes, PROBES),
            ("accesses", args.accesses.is_some(), has_fields, "--fields"),
            ("force", args.force, has_jamaica, "--jamaica"),
            ("max-nodes", args.max_nodes.is_some(), has_tree, TREE),
            ("memlimit", args.memlimit.is_some(), has_limit, LIMITED),
            ("no-cache", args.no_cache, has_tree, TREE),
            ("sample", args.sample.is_some(), has_sites, "--heap sites"),
            ("gc", args.gc, has_heap, "--heap"),
            ("no-gc", args.no_gc, has_sites, "--heap sites, --heap all or --alloc"),
            ("no-live", args.no_live, are_counted, "--heap sites, without --sample"),
            ("from-signal", args.from_signal, args.aprof, "--aprof"),
        ] {
            if is_given && !is_needed {
                bail!("--{name} works only with {by}");
            }
        }
        if matches!(args.heap, Some(Heap::Dump | Heap::All))
            && (times_calls || args.aprof || has_monitors || has_wall)
        {
            bail!(
                "a heap dump that other tools read has no place for --cpu times or old, --wall, \
                 --aprof, --monitor and --locks: run twice"
            );
        }
        if (args.timing, args.clock) == (Some(Timing::Exact), Some(Clock::Cpu)) {
            bail!("--timing exact reads a wall clock: use --clock wall or --timing tick");
        }
        let this = Self { args, cpu, collects: false };
        if has_xprof
            && !this.are_xprof()
            && let Some(path) = args.output.iter().find(|path| has_ending(XPROF, path))
        {
            let path = path.display();
            bail!("{path}: with other measurements --xprof prints on stdout: run it alone with -o");
        }
        Ok(this)
    }

    /// Has the agent collect garbage before it counts live objects, unless the arguments say otherwise.
    /// A program that runs on is not stopped for that.
    pub(crate) fn collecting(self) -> Self {
        let Measured { no_gc, no_live, .. } = *self.args;
        let has_sites = matches!(heap_of(self.args), Some(Heap::Sites | Heap::All));
        Self { collects: has_sites && !no_gc && !no_live, ..self }
    }

    /// Fails if a part of the run cannot be measured.
    ///
    /// # Errors
    /// The argument that has no effect, in one line.
    pub(crate) fn check_times(&self, has_delay: bool, has_duration: bool) -> anyhow::Result<()> {
        let name = match (has_delay, has_duration) {
            (true, _) => "--delay",
            (_, true) => "--duration",
            (false, false) => return Ok(()),
        };
        if self.have_fields() || self.are_of_jamaica() || self.args.xprof.is_some() {
            bail!("{name}: --fields, --jamaica and --xprof measure the whole run");
        }
        if has_delay && !self.have_profile() {
            bail!("--delay has no effect on --heap dump, which is made at the end");
        }
        Ok(())
    }

    /// Whether the tables of `-Xprof` are printed, and nothing else is measured.
    pub(crate) fn are_xprof(&self) -> bool {
        let args = self.args;
        let has_monitors = args.monitor || args.locks;
        let has_heap = heap_of(args).is_some();
        let has_other = has_heap || args.aprof || has_monitors || args.wall.is_some();
        args.xprof.is_some() && self.cpu == Cpu::Off && !has_other
    }

    /// Whether the program prints everything on its stdout.
    pub(crate) fn are_printed(&self) -> bool {
        self.are_xprof() && self.args.output.is_empty()
    }

    /// Whether the agent's file holds a heap dump, and is what is wanted.
    pub(crate) fn dump_heap(&self) -> bool {
        matches!(self.args.heap, Some(Heap::Dump | Heap::All))
    }

    /// Whether there is a profile beside the heap dump.
    pub(crate) fn have_profile(&self) -> bool {
        self.cpu != Cpu::Off || self.args.heap != Some(Heap::Dump)
    }

    /// Whether the profile is one of samples alone, and not of everything the program did.
    pub(crate) fn are_samples(&self) -> bool {
        let args = self.args;
        let has_monitors = args.monitor || args.locks;
        let has_other = args.wall.is_some() || args.aprof || has_monitors;
        self.cpu == Cpu::Samples && heap_of(args).is_none() && !has_other
    }

    /// Whether accesses to fields are counted, and nothing else.
    pub(crate) fn have_fields(&self) -> bool {
        self.args.fields.is_some()
    }

    /// Whether the agent's file is JamaicaVM's profile.
    pub(crate) fn are_of_jamaica(&self) -> bool {
        self.args.jamaica.is_some()
    }

    /// Whether there are samples or waits, which are kept by thread at little cost.
    fn keep_threads(&self) -> bool {
        let args = self.args;
        let is_sampled = args.alloc.is_some() || args.sample.is_some();
        self.cpu == Cpu::Samples || args.wall.is_some() || args.monitor || args.locks || is_sampled
    }

    /// The reason why a run has no numbers, for people.
    pub(crate) fn why_empty(&self) -> &'static str {
        let args = self.args;
        let has_locks = args.monitor || args.locks;
        let has_heap = heap_of(args).is_some() || args.aprof;
        let has_wall = args.wall.is_some();
        match self.cpu {
            Cpu::Samples if self.are_samples() => "it used too little CPU time for a sample",
            Cpu::Off if has_locks && !has_heap && !has_wall => {
                "no thread waited for a lock or to be notified"
            }
            Cpu::Off if has_heap && !has_locks && !has_wall => {
                match args.aprof || args.alloc.is_none() && args.sample.is_none() {
                    true => "no allocation was counted",
                    false => "it allocated too little for a sample (--alloc=16k takes more)",
                }
            }
            Cpu::Off if has_wall && !has_heap && !has_locks => "its threads ended before a sample",
            Cpu::Off if self.are_of_jamaica() => "no bytecode was counted",
            Cpu::Off if self.are_xprof() => "it used too little CPU time for a sample",
            Cpu::Off if self.have_fields() => "no access to a field was counted",
            Cpu::Times | Cpu::Old if !has_locks && !has_heap && !has_wall => "no call was counted",
            _ => "none of the events asked for happened in it",
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
        match self.cpu {
            Cpu::Samples => {
                let samples = CpuSamples { total: 1, ..CpuSamples::default() };
                profile.events.push(samples.into());
            }
            Cpu::Times => {
                let self_ns = u64::from(self.args.timing != Some(Timing::None));
                let trace = profile.system_trace();
                let row = CallRow { trace, count: 1, self_ns, total_ns: self_ns };
                let times = CallTimes { total_ns: self_ns, rows: vec![row], written: None };
                profile.events.push(times.into());
            }
            Cpu::Old => {
                let edge =
                    CallEdge { callee: None, caller: None, thread: None, count: 1, total_ns: 0 };
                let edges = CallEdges { rows: vec![edge], written: None };
                let section = edges.section(&mut profile);
                profile.events.push(section.into());
            }
            Cpu::Off if self.are_xprof() => {
                let samples = CpuSamples { total: 1, ..CpuSamples::default() };
                profile.events.push(samples.into());
            }
            Cpu::Off => {}
        }
        if self.args.wall.is_some() {
            let trace = profile.system_trace();
            profile.events.push(Section::of(Metric::WallTime, 1, [(trace, 1)]).into());
        }
        if matches!(heap_of(self.args), Some(Heap::Sites | Heap::All)) || self.args.aprof {
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
        if self.args.monitor || self.args.locks {
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

    /// The options of the agent: what was asked for, and for the rest its own defaults.
    /// `file` is the value of the option of that name.
    pub(crate) fn agent_options(&self, file: String) -> Options {
        let args = self.args;
        let default = Options::default();
        Options {
            cpu: AgentCpu {
                samples: self.cpu == Cpu::Samples,
                times: match self.cpu {
                    Cpu::Times => Some(TimesForm::Times),
                    Cpu::Old => Some(TimesForm::Old),
                    Cpu::Samples | Cpu::Off => None,
                },
            },
            heap_dump: self.dump_heap(),
            heap_sites: matches!(heap_of(args), Some(Heap::Sites | Heap::All)),
            aprof: args.aprof,
            aprof_between: args.aprof && args.from_signal,
            monitor: args.monitor || args.locks,
            locks: args.locks,
            gc: args.gc || self.collects,
            live: !args.no_live,
            engine: match args.engine {
                None | Some(Engine::Auto) => SampleEngine::Auto,
                Some(Engine::Signal) => SampleEngine::Signal,
                Some(Engine::Polling) => SampleEngine::Polling,
            },
            native: args.native,
            timing: match args.timing {
                None | Some(Timing::Tick) => TimingMethod::Tick,
                Some(Timing::Exact) => TimingMethod::Exact,
                Some(Timing::None) => TimingMethod::None,
            },
            clock: args.clock.map(|clock| match clock {
                Clock::Cpu => AgentClock::Cpu,
                Clock::Wall => AgentClock::Wall,
            }),
            interval_ns: args.interval.unwrap_or(default.interval_ns),
            memory_limit_bytes: args.memlimit,
            max_nodes: args.max_nodes.unwrap_or(default.max_nodes),
            cache: !args.no_cache,
            heap_sample_bytes: args.sample.or(args.alloc),
            wall_ns: args.wall,
            wall_threads: args.wall_threads.clone(),
            include: args.include.clone(),
            app: args.app.clone(),
            exclude: args.exclude.clone(),
            depth: args.depth,
            thread: args.threads || self.keep_threads(),
            platform_threads: !args.threads && self.keep_threads(),
            cutoff: 0.0,
            classes: Classes::Used,
            xprof: args.xprof.as_deref().map(|kinds| AgentXprof {
                tiers: kinds.contains(&Xprof::Tiers),
                inlined: kinds.contains(&Xprof::Inlined),
                all: kinds.contains(&Xprof::All),
            }),
            format: match self {
                // Other tools do not take the records of format=p.
                _ if self.dump_heap() => Format::Binary,
                _ if self.can_flush() => Format::Extended,
                _ => Format::Ascii,
            },
            secrets: args.keep_secrets,
            flush_ns: self.can_flush().then_some(FLUSH_NS),
            fields: self.have_fields(),
            aggregate: self.have_fields(),
            jamaica: args.jamaica.map(|counts| match counts {
                Jamaica::All => AgentJamaica::All,
                Jamaica::Bytecodes => AgentJamaica::Bytecodes,
            }),
            extended_accesses: args.accesses == Some(Accesses::Extended),
            verbose: false,
            output: match self.are_printed() {
                true => Output::Default,
                false => Output::File(file),
            },
            ..default
        }
    }
}

/// The measurement of objects: `--alloc` is sampled sites.
fn heap_of(args: &Measured) -> Option<Heap> {
    args.heap.or(args.alloc.map(|_| Heap::Sites))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use perk_control::Parsed;

    use super::*;
    use crate::args::{Cli, Command};
    use crate::run::outcome::Folder;

    fn run_args(arguments: &str) -> Measured {
        let line = ["perk", "run"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(line.chain(["--", "java"])).map(|cli| cli.command) {
            Ok(Command::Run(args)) => args.measured,
            other => panic!("{arguments}: {other:?}"),
        }
    }

    /// The agent's options, up to what every run has.
    #[track_caller]
    fn printed(arguments: &str) -> String {
        let args = run_args(arguments);
        let folder = Folder::new().unwrap();
        let options = Analyses::of(&args).unwrap().collecting().agent_options(folder.file_option());
        let text = options.to_string();
        // The text form is the agent's default.
        let threads_count = if options.platform_threads { 2 } else { 0 };
        let always_count = threads_count
            + match &options {
                it if it.has_only_xprof() && it.output == Output::Default => 3,
                it if it.fields || it.jamaica.is_some() || it.has_only_xprof() => 4,
                it if it.heap_dump => 5,
                _ => 6,
            };
        let Ok(Parsed::Run(parsed)) = Options::parse(&text, None) else { panic!("{text}") };
        // Two fields follow from the others when they are read.
        let Options { raw, timing_depth, .. } = parsed.clone();
        assert_eq!(parsed, Options { raw, timing_depth, ..options }, "{text}");
        let words: Vec<&str> = text.split(',').collect();
        let is_always = |word: &&&str| {
            let always = ["verbose=n", "cutoff=0", "classes=used", "format=", "file=/", "flush=5s"];
            let is_of_threads = options.platform_threads && word.starts_with("thread");
            !is_of_threads && !always.iter().any(|it| word.starts_with(it))
        };
        let shown: Vec<&str> = words.iter().filter(is_always).copied().collect();
        assert_eq!(words.len() - shown.len(), always_count, "{text}");
        shown.join(",")
    }

    #[test]
    fn the_agent_gets_everything() {
        for (arguments, options) in [
            ("", "cpu=samples,depth=2048"),
            ("--threads --depth 7 --interval 500us", "cpu=samples,thread=y,interval=500us,depth=7"),
            ("--engine signal", "cpu=samples,engine=signal,depth=2048"),
            ("--wall --memlimit 64m", "wall=y,memlimit=64m,depth=2048"),
            ("--native", "cpu=samples,native=y,depth=2048"),
            ("--cpu times", "cpu=times,depth=2048"),
            ("--cpu times --memlimit 64m", "cpu=times,memlimit=64m,depth=2048"),
            ("--heap dump --gc", "heap=dump,gc=y,depth=2048"),
            ("--heap all --cpu samples", "cpu=samples,heap=all,gc=y,depth=2048"),
            ("--heap dump", "heap=dump,depth=2048"),
            ("--heap sites", "heap=sites,gc=y,depth=2048"),
            ("--heap sites --no-gc", "heap=sites,depth=2048"),
            ("--alloc --no-gc", "heap=sites,sample=512k,depth=2048"),
            ("--heap sites --no-live", "heap=sites,live=n,depth=2048"),
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
            ("--app a.*,b.*", "cpu=samples,app=a.*,app=b.*,depth=2048"),
            (
                "--cpu times --include a.*,b.C --exclude *Test --include $D",
                "cpu=times,include=a.*,include=b.C,include=$D,exclude=*Test,depth=2048",
            ),
        ] {
            assert_eq!(printed(arguments), options, "{arguments}");
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
            ("--wall-threads main", "--wall-threads works only with --wall"),
            (
                "--wall --fields shared",
                "--fields shared measures alone: run once with it and once with the others",
            ),
            (
                "--wall --heap dump",
                "a heap dump that other tools read has no place for --cpu times or old, --wall, \
                 --aprof, --monitor and --locks: run twice",
            ),
            ("--cpu times --interval 1ms", "--interval works only with --cpu samples or --xprof"),
            ("--aprof --interval 1ms", "--interval works only with --cpu samples or --xprof"),
            (
                "--xprof --aprof -o x.xprof",
                "x.xprof: with other measurements --xprof prints on stdout: run it alone with -o",
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
                "--include works only with --cpu times, --cpu old, --heap sites, --fields or --jamaica",
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
            ("--aprof --force", "--force works only with --jamaica"),
            (
                "--aprof --max-nodes 1m",
                "--max-nodes works only with --cpu times, --cpu old, --heap sites or --jamaica",
            ),
            (
                "--aprof --memlimit 1m",
                "--memlimit works only with --cpu, --wall, --heap sites, --alloc, --sample, --monitor, \
                 --locks, --fields or --jamaica",
            ),
            ("--sample 512k", "--sample works only with --heap sites"),
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
