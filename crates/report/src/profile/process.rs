//! Where the CPU time of the whole process went: the program's code, the JDK, the JVM's own threads, and
//! perk; and how long threads waited.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use perk_analysis::{Charges, Naming, Owner, Work};
use perk_profile::units::{duration, plural, printable, short_percent};
use perk_profile::{
    Accounting, CpuGroup, KeyedMap, Metric, Subject, ThreadId, TraceId, Unit, metric,
};
use perk_render::{Json, Part, Screen, Section, bar};

use super::content::Content;

/// Columns of the bar of everything.
const CELLS: usize = 10;
const GAP: &str = "  ";
/// The name of the JVM's first thread of Java code.
const MAIN: &str = "main";
/// A process that uses less of a CPU than this for so long may wait for the most part.
const BUSY: f64 = 0.5;
const LONG_NS: u64 = 2_000_000_000;
/// Parts of less than this have no bar.
const PART: f64 = 0.001;
/// The share of the CPU time from which on the JVM's start is much.
const MUCH: f64 = 0.05;
/// The part that neither samples nor the collector have: the JVM's other threads, native code, and
/// code between samples.
const REST: &str = "not sampled";

/// What the parts add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeBase {
    /// The CPU time of the process, as the system measured it.
    Process,
    /// The samples alone: the file does not have the time of the process.
    Samples,
}

/// The parts of the process's CPU time.
#[derive(Debug)]
pub(super) struct WholeProcess {
    /// Each part with its name, in nanoseconds.
    parts: Vec<(&'static str, u64)>,
    whole: TimeBase,
    total_ns: u64,
    /// The time on the clock; 0 if it is not known.
    wall_ns: u64,
    /// The time for which the process let processors be idle, of all of theirs, and their number.
    idle: Option<(u64, u64, u64)>,
    /// What the threads waited for, in a sentence for other programs.
    waiting: Option<String>,
    /// Whether wall-clock time was measured.
    has_wall: bool,
}

impl WholeProcess {
    /// The process of a profile; `None` where the profile does not have it, or not all of it is shown.
    pub(super) fn of(content: &Content<'_>) -> Option<Self> {
        if content.window.is_some() || content.filtered.is_some() || content.asked.is_some() {
            return None;
        }
        let waiting = waiting(content);
        let accounting = content.profile.accounting.as_ref().filter(|it| it.process_cpu_ns > 0);
        let mut parts: Vec<(&'static str, u64)> = Vec::new();
        let mut whole = TimeBase::Process;
        match accounting {
            Some(accounting) => {
                for (name, ns) in groups(accounting) {
                    match name == CpuGroup::Java.title() {
                        true => parts.extend(java_parts(content, ns)),
                        false => parts.push((name, ns)),
                    }
                }
            }
            None => {
                let samples = content.samples();
                let cpu_ns = samples.and_then(|view| view.cpu_ns(view.all));
                let measured = |name| {
                    let metric = Metric::other(name, Unit::Nanoseconds);
                    metric.total(content.profile)
                };
                let (process_ns, gc_ns) = (measured(metric::PROCESS_CPU), measured(metric::GC_CPU));
                if process_ns == 0 {
                    whole = TimeBase::Samples;
                    // The functions of other languages do not say whose they are.
                    let of_java = cpu_ns.filter(|_| content.is_of_java());
                    parts.extend(of_java.into_iter().flat_map(|ns| java_parts(content, ns)));
                } else {
                    // Each is measured in its own way, and the process's time ends with a load.
                    let gc_ns = gc_ns.min(process_ns);
                    let java_ns = cpu_ns.unwrap_or(0).min(process_ns - gc_ns);
                    parts.extend(java_parts(content, java_ns));
                    parts.push((CpuGroup::Gc.title(), gc_ns));
                    parts.push((REST, process_ns - gc_ns - java_ns));
                }
            }
        }
        parts.retain(|part| part.1 > 0);
        let total_ns = parts.iter().map(|it| it.1).fold(0, u64::saturating_add);
        let wall_ns = accounting.map_or(0, |it| it.wall_ns);
        let idle = accounting.and_then(|it| {
            let all_ns = it.wall_ns.saturating_mul(it.cpu_count);
            Some((it.idle_ns()?, all_ns, it.cpu_count)).filter(|_| all_ns > 0)
        });
        (total_ns > 0 || waiting.is_some()).then_some(Self {
            parts,
            whole,
            total_ns,
            wall_ns,
            idle,
            waiting,
            has_wall: accounting.is_some_and(|it| it.engine.contains("wall-clock")),
        })
    }

    /// The bars.
    pub(super) fn section(&self, screen: &Screen) -> Section {
        let mut section = Vec::new();
        if self.total_ns > 0 {
            let what = match self.whole {
                TimeBase::Process => "The whole process",
                TimeBase::Samples => "The samples",
            };
            section.push(Part::Heading(format!("{what}: {}", self.total())));
            let items = self.shown().map(|&(name, ns)| {
                let bar = bar(ns, self.total_ns, CELLS);
                format!("{name} {bar} {} %", short_percent(ns, self.total_ns))
            });
            section.extend(lines(items, screen).into_iter().map(Part::Sentence));
        }
        section.extend(self.advice().map(Part::Sentence));
        section
    }

    /// The parts, in words.
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.total_ns > 0 {
            let part = |&(name, ns): &(&str, u64)| {
                format!("{name} {} %", short_percent(ns, self.total_ns))
            };
            let parts: Vec<_> = self.shown().map(part).collect();
            let what = match self.whole {
                TimeBase::Process => "process",
                TimeBase::Samples => "samples",
            };
            sentences.push(format!("{what}: {}: {}", self.total(), parts.join(", ")));
        }
        sentences.extend(self.advice());
        sentences
    }

    /// The parts for other programs.
    pub(super) fn report(&self) -> Json {
        let part = |&(name, ns): &(&'static str, u64)| {
            Json::object([("name", name.into()), ("cpu_ns", ns.into())])
        };
        Json::object([
            ("cpu_ns", Some(self.total_ns).filter(|_| self.whole == TimeBase::Process).into()),
            ("wall_ns", Some(self.wall_ns).filter(|&ns| ns > 0).into()),
            ("parts", Json::list(self.parts.iter().map(part))),
            ("waiting", self.waiting.clone().into()),
        ])
    }

    fn shown(&self) -> impl Iterator<Item = &(&'static str, u64)> {
        self.parts.iter().filter(|part| part.1 as f64 >= self.total_ns as f64 * PART)
    }

    /// `17.4 s of CPU time in 10.9 s, 80 % of 2 CPUs`. Where much of the CPU time is the JVM's start, a sentence of its own has
    /// the time of the program, as that begins later.
    fn total(&self) -> String {
        let mut text = format!("{} of CPU time", duration(self.total_ns));
        let start = |part: &&(&str, u64)| part.0 == CpuGroup::Start.title();
        let start_ns = self.parts.iter().find(start).map_or(0, |part| part.1);
        let has_start = start_ns as f64 >= self.total_ns as f64 * MUCH;
        let words = if has_start { ["; the program ran for", " and used"] } else { [" in", ","] };
        if self.wall_ns > 0 {
            text += &format!("{} {}", words[0], duration(self.wall_ns));
        }
        if let Some((idle_ns, all_ns, count)) = self.idle {
            let used = short_percent(all_ns.saturating_sub(idle_ns), all_ns);
            text += &format!("{} {used} % of {}", words[1], plural(count, "CPU"));
        }
        text
    }

    fn cpus(&self) -> Option<f64> {
        (self.wall_ns > 0).then(|| self.total_ns as f64 / self.wall_ns as f64)
    }

    /// What to ask for where nothing says what the threads waited for.
    fn advice(&self) -> Option<String> {
        let is_idle = !self.has_wall
            && self.wall_ns >= LONG_NS
            && self.cpus().is_some_and(|cpus| cpus < BUSY);
        let advice = "The process used little of a CPU: --wall records what its threads wait for.";
        is_idle.then(|| advice.to_owned())
    }
}

/// The numbers of the code that ran, by its owner: samples, or times of calls.
fn owners(content: &Content<'_>) -> Vec<(Owner, u64)> {
    let view = content.samples().or_else(|| content.view(&Metric::SelfTime));
    let Some(view) = view else { return Vec::new() };
    let (profile, owners) = (content.profile, content.owners());
    let mut sums: BTreeMap<Owner, u64> = BTreeMap::new();
    for &(trace, number) in &view.numbers().rows {
        if let Some(frame) = profile.frames(trace).next() {
            let owner = owners.of(profile.symbols.get_frame(frame).method);
            let sum = sums.entry(owner).or_default();
            *sum = sum.saturating_add(number);
        }
    }
    sums.into_iter().collect()
}

/// The CPU time of Java threads by the owner of the code that ran.
fn java_parts(content: &Content<'_>, ns: u64) -> Vec<(&'static str, u64)> {
    let owners = owners(content);
    let all: u64 = owners.iter().map(|it| it.1).fold(0, u64::saturating_add);
    if all == 0 {
        return vec![(CpuGroup::Java.title(), ns)];
    }
    let part = |number: u64| (ns as f64 * number as f64 / all as f64) as u64;
    owners.into_iter().map(|(owner, number)| (owner.label(), part(number))).collect()
}

/// The CPU time of the process by group of threads; in files that do not have it, of the whole JVM.
fn groups(accounting: &Accounting) -> Vec<(&'static str, u64)> {
    if let Some(groups) = accounting.cpu_groups() {
        return groups.map(|(group, ns)| (group.title(), ns)).to_vec();
    }
    if accounting.java_cpu_ns == 0 {
        // The clocks of Java threads were not read.
        return Vec::new();
    }
    let (java_ns, perk_ns) = (accounting.java_cpu_ns, accounting.perk_cpu_ns);
    let jvm_ns = accounting.process_cpu_ns.saturating_sub(java_ns).saturating_sub(perk_ns);
    vec![(CpuGroup::Java.title(), java_ns), ("JVM", jvm_ns), (CpuGroup::Perk.title(), perk_ns)]
}

/// `92 % of main's time waiting: Thread.sleep in Waity.db`; of all threads where they are not
/// distinguished.
fn waiting(content: &Content<'_>) -> Option<String> {
    content.view(&Metric::WallTime)?;
    let (profile, tree) = (content.profile, content.tree);
    let mut rows = Metric::WallTime.rows(profile).rows;
    let thread_of = |trace: TraceId| profile.get_trace(trace).thread;
    let is_main = |thread: &ThreadId| profile.thread_name(*thread) == MAIN;
    let main = rows.iter().filter_map(|row| thread_of(row.0.trace)).find(is_main);
    let charges = Charges::new(profile, tree, content.owners(), Naming::Callees);
    match main {
        Some(_) => rows.retain(|row| thread_of(row.0.trace) == main),
        None => charges.keep_program(&mut rows, |row| content.path(row.0.trace)),
    }
    let mut all = 0_u64;
    let mut waits = 0_u64;
    let mut places: KeyedMap<_, u64> = KeyedMap::default();
    for (key, ns) in rows {
        all = all.saturating_add(ns);
        if matches!(key.subject, Subject::State(state) if state.is_waiting()) {
            waits = waits.saturating_add(ns);
            let charge = charges.of(content.path(key.trace));
            let sum = places.entry((tree.method(charge.payer), charge.work)).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|&(place, ns)| (Reverse(ns), place));
    let ((method, work), _) = *places.first()?;
    let method = method.map(|method| printable(&profile.symbols.method_name(method)));
    let place = match (work, method) {
        (Work::Called(callee), Some(method)) => {
            format!("{} in {method}", perk_render::short_method(&profile.symbols, callee))
        }
        (_, method) => method.unwrap_or_default(),
    };
    let of = if main.is_some() { "main's time" } else { "the threads' time" };
    Some(format!("{} % of {of} waiting: {place}", short_percent(waits, all)))
}

/// The items on lines that fit.
fn lines(items: impl Iterator<Item = String>, screen: &Screen) -> Vec<String> {
    let width = screen.width.unwrap_or(usize::MAX);
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        let length = item.chars().count() + GAP.len();
        match lines.last_mut().filter(|line| line.chars().count() + length <= width) {
            Some(line) => *line += &(GAP.to_owned() + &item),
            None => lines.push(item),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use perk_analysis::{InferredCallers, MethodTree};
    use perk_profile::{Column, Key, Profile, Section, SectionHead, Thread, WallState};

    use super::*;
    use crate::profile::fixture::trace;

    fn sentences(profile: &Profile) -> Vec<String> {
        let (tree, joined) = (MethodTree::new(profile), InferredCallers::default());
        let content = Content::of_metric(profile, &tree, &joined, None);
        WholeProcess::of(&content).map(|it| it.sentences()).unwrap_or_default()
    }

    const MAIN: &str = "com.acme.Main.main";

    #[test]
    fn the_parts_are_those_of_the_process() {
        let mut profile = Profile::default();
        let own = trace(&mut profile, &[MAIN], None);
        let jdk = trace(&mut profile, &[MAIN, "java.util.HashMap.get"], None);
        profile.events.push(Section::of(Metric::Samples, 40, [(own, 30), (jdk, 10)]).into());
        assert_eq!(sentences(&profile), [""; 0]);
        let mut accounting = Accounting {
            process_cpu_ns: 1000,
            java_cpu_ns: 400,
            perk_cpu_ns: 50,
            wall_ns: 2000,
            ..Accounting::default()
        };
        profile.accounting = Some(accounting.clone());
        let text =
            "process: 1 us of CPU time in 2 us: your code 30 %, JDK 10 %, JVM 55 %, perk 5 %";
        assert_eq!(sentences(&profile), [text]);
        (accounting.cpu_count, accounting.gc_cpu_ns, accounting.jit_c2_cpu_ns) = (2, 100, 200);
        (accounting.jvm_cpu_ns, accounting.perk_thread_cpu_ns) = (250, 50);
        profile.accounting = Some(accounting);
        let text = "process: 1 us of CPU time in 2 us, 25 % of 2 CPUs: your code 30 %, \
                    JDK 10 %, GC 10 %, JIT C2 20 %, other JVM threads 25 %, perk 5 %";
        assert_eq!(sentences(&profile), [text]);
        // The clock of the program begins after the JVM's start.
        let accounting = profile.accounting.as_mut().unwrap();
        (accounting.start_cpu_ns, accounting.process_cpu_ns) = (4000, 5000);
        let text = "process: 5 us of CPU time; the program ran for 2 us and used 25 % of 2 CPUs: \
                    your code 6 %, JDK 2 %, GC 2 %, JIT C2 4 %, JVM start 80 %, other JVM threads 5 %, perk 1 %";
        assert_eq!(sentences(&profile), [text]);
    }

    #[test]
    fn wall_clock_samples_are_advised_where_there_are_none() {
        let mut profile = Profile::default();
        let mut accounting = Accounting {
            process_cpu_ns: 100_000_000,
            java_cpu_ns: 90_000_000,
            wall_ns: 5_000_000_000,
            engine: "signal".to_owned(),
            ..Accounting::default()
        };
        let advises = |profile: &Profile| sentences(profile).concat().contains("--wall");
        profile.accounting = Some(accounting.clone());
        assert!(advises(&profile));
        // No thread was met, though it was asked for.
        accounting.engine += ", wall-clock sampling";
        profile.accounting = Some(accounting);
        assert!(!advises(&profile));
    }

    #[test]
    fn samples_are_the_whole_process_only_where_its_time_is_known() {
        let mut profile = Profile::default();
        let own = trace(&mut profile, &[MAIN], None);
        let jdk = trace(&mut profile, &[MAIN, "java.util.HashMap.get"], None);
        let column = Column { period: Some(10), ..Column::new(Metric::Samples, 40) };
        let rows = [(own.into(), [30]), (jdk.into(), [10])];
        profile.events.push(Section::with_rows(SectionHead::new([column]), rows).into());
        let text = "samples: 400 ns of CPU time: your code 75 %, JDK 25 %";
        assert_eq!(sentences(&profile), [text]);
        let system = profile.system_trace();
        for (name, ns) in [(metric::PROCESS_CPU, 1000), (metric::GC_CPU, 100)] {
            let metric = Metric::other(name, Unit::Nanoseconds);
            profile.events.push(Section::of(metric, ns, [(system, ns)]).into());
        }
        let text = "process: 1 us of CPU time: your code 30 %, JDK 10 %, GC 10 %, not sampled 50 %";
        assert_eq!(sentences(&profile), [text]);
    }

    #[test]
    fn waits_are_those_of_main_or_of_the_program() {
        let mut profile = Profile::default();
        let thread = |profile: &mut Profile, name: &str| {
            let name = profile.symbols.strings.intern(name);
            let serial = 200_001 + profile.threads.len() as u32;
            let thread = Thread { serial, object_id: 1, name, group: None, parent_group: None };
            profile.push_thread(thread)
        };
        let sleep = [MAIN, "com.acme.Db.get", "java.lang.Thread.sleep", "java.lang.Thread.sleep0"];
        let idle = ["java.lang.Thread.run", "java.util.concurrent.LinkedBlockingQueue.take"];
        let wall = |profile: &mut Profile, threads: [Option<ThreadId>; 2]| {
            let traces = [
                (trace(profile, &[MAIN], threads[0]), WallState::Running, 1),
                (trace(profile, &sleep, threads[0]), WallState::Sleeping, 3),
                (trace(profile, &sleep, threads[1]), WallState::Sleeping, 4),
                (trace(profile, &idle, threads[1]), WallState::Parked, 90),
            ];
            let mut section = Section::new(SectionHead::new([Column::new(Metric::WallTime, 98)]));
            for (trace, state, ns) in traces {
                section.push(Key::new(trace, Subject::State(state)), &[ns]);
            }
            profile.events = vec![section.into()];
        };
        let waiting = |profile: &Profile| {
            let (tree, joined) = (MethodTree::new(profile), InferredCallers::default());
            let content = Content::of_metric(profile, &tree, &joined, None);
            WholeProcess::of(&content).and_then(|it| it.waiting)
        };
        wall(&mut profile, [None, None]);
        let text = "% of the threads' time waiting: Thread.sleep in com.acme.Db.get";
        assert_eq!(waiting(&profile), Some(format!("87.5 {text}")));
        let threads = [thread(&mut profile, "main"), thread(&mut profile, "other")];
        wall(&mut profile, threads.map(Some));
        let text = "75 % of main's time waiting: Thread.sleep in com.acme.Db.get";
        assert_eq!(waiting(&profile).as_deref(), Some(text));
    }

    #[test]
    fn items_stay_whole() {
        let screen = Screen { width: Some(20), ..Screen::default() };
        let items = ["your code █ 41 %", "JDK █ 5 %", "GC ▏ 1 %"].map(str::to_owned);
        assert_eq!(
            lines(items.clone().into_iter(), &screen),
            ["your code █ 41 %", "JDK █ 5 %  GC ▏ 1 %"]
        );
        assert_eq!(lines(items.into_iter(), &Screen::default()).len(), 1);
    }
}
