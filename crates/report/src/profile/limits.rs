//! What limits the program: one list, most time first, each row with its reason and what to try.

mod words;

use perk_analysis::limits::{self, Cause, FEW_SAMPLES, Limit, Limits, Repeat, Verdict, Whole};
use perk_formats::{Lead, LeadRow};
use perk_profile::units::{duration, plural, printable, short_percent};
use perk_profile::{Line, Metric, Profile};
use perk_render::{Cell, Column, Json, LazyTable, Part, Rows, Screen, Section};

use super::content::Content;
use super::head::{Head, LIST_INDENT as INDENT, TITLE};
use words::Words;

/// Groups of idle threads that are named.
const GROUPS: usize = 4;
/// Repeated calls that are listed.
const REPEATS: usize = 3;
/// What is not in a list.
const HIDDEN: &str =
    "Virtual threads that wait without a carrier are not in it; --lock records them";
/// What was not measured where only CPU time was, and where locks were, too.
const UNMEASURED: &str = "what threads wait for was not measured";
const OTHERS_UNMEASURED: &str = "other waits were not measured";
/// What few samples are.
const TOO_FEW: &str = "too few for advice";
/// Rows up to which those of few samples are shown, and the fewest samples of such a row.
const FIRST: usize = 5;
const LEAST_SAMPLES: u64 = 3;
/// Rows that a list always has room for.
const ROWS: usize = 3;

/// The limits of a profile.
#[derive(Debug)]
pub(super) struct LimitsView<'a> {
    profile: &'a Profile,
    /// `None` without samples of wall-clock time.
    limits: Option<Limits>,
    repeats: Vec<Repeat>,
    /// Whether calls were counted.
    has_calls: bool,
}

/// The text of a row.
struct Text {
    reason: String,
    /// What follows the reason: a colon, the method and its line, or nothing.
    place: String,
    hint: String,
}

impl<'a> LimitsView<'a> {
    /// The limits; `None` where the profile shows none.
    pub(super) fn new(content: &Content<'a>) -> Option<Self> {
        let (profile, tree) = (content.profile, content.tree);
        if content.asked.is_some() {
            return None;
        }
        let limits = limits::limits(profile, tree, content.owners());
        // Functions of other languages have a table of their own.
        let limits = limits.filter(|it| it.whole == Whole::Work || content.is_of_java());
        let calls = content.calls.as_ref();
        let repeats = calls.map(|calls| limits::repeats(profile, content.owners(), &calls.table));
        let repeats = repeats.unwrap_or_default();
        let has_calls = calls.is_some();
        let has_rows = limits.is_some() || !repeats.is_empty();
        has_rows.then_some(Self { profile, limits, repeats, has_calls })
    }

    /// Whether perk could count calls in the program, and did not.
    fn can_count(&self) -> bool {
        self.profile.accounting.is_some() && !self.has_calls
    }

    /// Whether there is a list that has the place of the methods by kind.
    pub(super) fn is_list(&self) -> bool {
        self.limits.is_some()
    }

    /// Whether rows of the list have the numbers of the metric of a name.
    pub(super) fn covers(&self, metric: &str) -> bool {
        let is_of = |metrics: &[Metric]| metrics.iter().any(|it| it.name() == metric);
        match self.limits.as_ref().map(|limits| limits.whole) {
            None => false,
            Some(Whole::Work) => true,
            Some(Whole::Measured { has_locks, .. }) => {
                is_of(&[Metric::Samples]) || has_locks && is_of(&Metric::OF_LOCKS)
            }
            Some(Whole::Samples) => is_of(&[Metric::Samples]),
        }
    }

    /// The list, on at most `lines` lines where the first rows fit. Rows that `head` has of other numbers
    /// follow.
    pub(super) fn section(
        &self,
        head: Option<&Head<'_>>,
        (top, lines): (Option<usize>, usize),
        file: &str,
        screen: &Screen,
    ) -> Section {
        let Some(limits) = &self.limits else { return Section::new() };
        let first = vec![Part::Heading(TITLE.to_owned()), Part::Sentence(self.summary(limits))];
        let mut sections = vec![first];
        let length = |section: &Section| perk_render::text([section], screen).lines().count();
        let mut left = lines.saturating_sub(length(&sections[0]));
        let (rows, more) = shown(limits, top);
        let covers = |metric: &str| self.covers(metric);
        let others = head.map(|head| head.rows_of_others(&covers, top, screen)).unwrap_or_default();
        left = left.saturating_sub(others.iter().map(|row| row.lines()).sum());
        let mut count = 0;
        for (index, limit) in rows.iter().enumerate() {
            let Text { reason, place, hint } = self.text(limits, limit, Some(file));
            let share = short_percent(limit.ns, limits.total_ns);
            let mut line = format!("{:>2} {share:>6} %  {reason}{place}", index + 1);
            // Too few for advice.
            if limit.is_uncertain() {
                line += &format!(" ({} only)", plural(limit.sample_count, "sample"));
            }
            let mut row = vec![Part::Line(line, INDENT)];
            if is_advised(limits, limit) {
                row.push(Part::Line(" ".repeat(INDENT) + &hint, INDENT));
            }
            let used = length(&row);
            if used > left && index >= ROWS && top.is_none() {
                break;
            }
            left = left.saturating_sub(used);
            sections.push(row);
            count += 1;
        }
        sections.extend(others.iter().zip(count + 1..).map(|(row, rank)| row.section(rank)));
        if let Some(line) = more_rows(more) {
            sections.push(vec![Part::Line(" ".repeat(INDENT) + &line, INDENT)]);
        }
        sections.into_iter().flatten().collect()
    }

    /// The list in sentences, the summary first.
    pub(super) fn sentences(&self, count: usize, file: &str) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(limits) = &self.limits {
            sentences.push(format!("limits: {}", self.summary(limits)));
            sentences.extend(shown(limits, None).0.iter().take(count).map(|limit| {
                let Text { reason, place, hint } = self.text(limits, limit, Some(file));
                let share = short_percent(limit.ns, limits.total_ns);
                format!("{share} %: {reason}{place}; {hint}")
            }));
        }
        sentences
    }

    /// The list for the head of a page.
    pub(super) fn lead(&self, file: &str) -> Lead {
        let mut lead = Lead { repeats: self.repeated(), ..Lead::default() };
        let Some(limits) = &self.limits else { return lead };
        lead.summary = self.summary(limits);
        let row = |limit: &Limit| {
            let Text { reason, hint, .. } = self.text(limits, limit, Some(file));
            let short = |method| perk_render::short_method(&self.profile.symbols, method);
            let line = limit.line.map_or(String::new(), |line| format!(" line {line}"));
            let is_of_cpu = limit.cause == Cause::Cpu && Metric::Samples.is_in(self.profile);
            LeadRow {
                share: format!("{} %", short_percent(limit.ns, limits.total_ns)),
                reason,
                place: limit.method.map_or(String::new(), |method| short(method) + &line),
                method: limit.method,
                hint,
                metric: match limits.whole {
                    _ if is_of_cpu => Metric::Samples,
                    Whole::Work => Metric::WallTime,
                    _ => Metric::BlockedTime,
                },
            }
        };
        let (rows, more) = split(limits);
        lead.rows = rows.into_iter().map(row).collect();
        lead.more_title = more_rows(more.len()).unwrap_or_default();
        lead.more = more.into_iter().map(row).collect();
        lead
    }

    /// The calls that are made again and again, a line each.
    pub(super) fn repeated(&self) -> Vec<String> {
        let name = |method| printable(&self.profile.symbols.method_name(method));
        let short = |method| perk_render::short_method(&self.profile.symbols, method);
        let line = |it: &Repeat| {
            format!(
                "{}: {} per call of {} ({}): ask once for all",
                name(it.callee),
                plural(it.each, "call"),
                short(it.caller),
                it.kind,
            )
        };
        self.repeats.iter().take(REPEATS).map(line).collect()
    }

    /// The rows for other programs.
    pub(super) fn report<'t>(&'t self, file: &'t str) -> Option<LazyTable<'t>> {
        let limits = self.limits.as_ref()?;
        Some(self.rows(limits, limits.rows.iter().collect(), Some(file)).table())
    }

    /// The rows that a list of them begins with, and those of too few samples: each with the question whose
    /// answer explains it.
    pub(super) fn overview(&self) -> [Option<LazyTable<'_>>; 2] {
        let Some(limits) = &self.limits else { return [None, None] };
        let (rows, more) = split(limits);
        [rows, more].map(|rows| Some(self.with_links(limits, rows)))
    }

    /// What the rows of too few samples are, in words.
    pub(super) fn more_rows(&self) -> Option<String> {
        self.limits.as_ref().and_then(|limits| more_rows(split(limits).1.len()))
    }

    fn with_links<'t>(&'t self, limits: &'t Limits, rows: Vec<&'t Limit>) -> LazyTable<'t> {
        let symbols = &self.profile.symbols;
        let rows = self.rows(limits, rows, None).column(Column::other("link"), move |limit| {
            let metric = match limit.cause {
                Cause::Wait(_) => Metric::WallTime,
                Cause::Gc { .. } => Metric::AllocatedBytes,
                _ => Metric::Samples,
            };
            let of_lock = limit.lock.filter(|_| self.profile.has(&[Metric::BlockedTime]));
            let link = match (of_lock, limit.method) {
                (Some(_), _) => Json::object([("view", "monitors".into())]),
                (None, Some(method)) => Json::object([
                    ("view", Json::from("method")),
                    ("method", symbols.method_name(method).into()),
                    ("metric", metric.name().to_owned().into()),
                ]),
                (None, None) if matches!(limit.cause, Cause::Gc { .. }) => {
                    Json::object([("view", "sites".into())])
                }
                (None, None) => Json::object([("view", "accounting".into())]),
            };
            Cell::Json(link)
        });
        rows.table()
    }

    fn rows<'t>(
        &'t self,
        limits: &'t Limits,
        rows: Vec<&'t Limit>,
        file: Option<&'t str>,
    ) -> Rows<'t, &'t Limit> {
        let symbols = &self.profile.symbols;
        let text = move |limit: &&Limit| self.text(limits, limit, file);
        LazyTable::of(symbols, "", rows)
            .column(Column::other("kind"), |it| it.cause.name())
            .column(Column::other("percent"), move |it| Cell::Share(it.ns, limits.total_ns))
            .column(Column::other("ns"), |it| it.ns)
            .column(Column::other("sample_count"), |it| {
                Some(it.sample_count).filter(|&count| count < u64::MAX)
            })
            .column(Column::method_name("method"), |it| it.method)
            .column(Column::other("line"), |it| it.line.map(u64::from))
            .column(Column::other("reason"), move |it| text(it).reason)
            .column(Column::other("advice"), move |it| text(it).hint)
    }

    /// What the rows are of, for other programs.
    pub(super) fn working(&self) -> Json {
        let Some(limits) = &self.limits else { return Json::Null };
        let threads = limits.working_threads;
        let group = |it: &limits::IdleGroup| {
            Json::object([("name", it.name.as_str().into()), ("count", it.count.into())])
        };
        Json::object([
            ("ns", limits.total_ns.into()),
            ("of", whole_name(limits.whole).into()),
            ("threads", threads.map_or(Json::Null, Json::Float)),
            ("thread_count", limits.idle.thread_count.into()),
            ("idle_thread_count", limits.idle.idle_count.into()),
            ("idle_threads", Json::list(limits.idle.groups.iter().map(group))),
            ("verdict", verdict_name(limits.verdict).into()),
            ("summary", self.summary(limits).into()),
        ])
    }

    /// The repeated calls, for other programs.
    pub(super) fn repeated_calls(&self) -> LazyTable<'_> {
        LazyTable::of(&self.profile.symbols, "", &self.repeats)
            .column(Column::method_name("callee"), |it| it.callee)
            .column(Column::method_name("caller"), |it| it.caller)
            .column(Column::other("kind"), |it| it.kind)
            .column(Column::count("calls_per_call"), |it| it.each)
            .column(Column::count("call_count"), |it| it.count)
            .table()
    }

    /// How much the threads work, and which do not.
    fn summary(&self, limits: &Limits) -> String {
        let threads = limits.working_threads.map(|threads| match threads {
            threads if threads < 9.95 => format!("{threads:.1}"),
            threads => format!("{threads:.0}"),
        });
        let all = duration(limits.total_ns);
        let worked = match (limits.whole, threads) {
            (Whole::Work, Some(threads)) => {
                format!("{threads} threads worked on average; shares are of their time")
            }
            (Whole::Work, None) => format!("shares are of {all} of threads that work"),
            (Whole::Samples, _) => {
                format!("shares are of {}; {UNMEASURED}", plural(limits.total_ns, "sample"))
            }
            (Whole::Measured { has_cpu, has_locks }, _) => {
                let (of, rest) = match (has_cpu, has_locks) {
                    (true, true) => ("CPU time and of waits for locks", OTHERS_UNMEASURED),
                    (true, false) => ("CPU time", UNMEASURED),
                    (false, _) => ("waits for locks", OTHERS_UNMEASURED),
                };
                format!("shares are of {all} of {of}; {rest}")
            }
        };
        let text = match limits.verdict {
            Verdict::Clear => capitalized(&worked),
            Verdict::Idle => {
                let of = limits.working_threads.map(|it| short_percent((it * 1000.0) as u64, 1000));
                let much = of.map_or_else(String::new, |of| {
                    format!(": {of} % of one thread's time was work")
                });
                format!("Nothing stands out: the threads have next to nothing to do{much}")
            }
            Verdict::Few => {
                let exact =
                    if self.can_count() { ", or count the calls (--cpu times)" } else { "" };
                let worked = capitalized(&worked);
                format!(
                    "Fewer than {FEW_SAMPLES} samples are {TOO_FEW}: record for longer{exact}. {worked}"
                )
            }
            Verdict::Flat => {
                let first = limits.rows.first().map(|it| short_percent(it.ns, limits.total_ns));
                let most = first.map(|share| format!(" has more than {share} %"));
                let waits = (limits.whole == Whole::Work).then(|| " waits for much".to_owned());
                let none: Vec<_> = most.into_iter().chain(waits).collect();
                format!(
                    "Nothing stands out: the time is spread over many methods, and none{}. {}",
                    none.join(" or"),
                    capitalized(&worked)
                )
            }
        };
        let text = match limits.hides_virtual_waits {
            true => format!("{text}. {HIDDEN}"),
            false => text,
        };
        let idle = &limits.idle;
        if idle.idle_count == 0 {
            return text + ".";
        }
        let groups = idle.groups.iter().take(GROUPS).map(|group| {
            let name = printable(&group.name);
            if group.count == 1 { name } else { format!("{name} {}", group.count) }
        });
        let groups: Vec<_> = groups.collect();
        let more = if idle.groups.len() > GROUPS { ", …" } else { "" };
        let of = plural(idle.thread_count as u64, "thread");
        let verb = if idle.idle_count == 1 { "was" } else { "were" };
        format!("{text}. {} of {of} {verb} idle ({}{more}).", idle.idle_count, groups.join(", "))
    }

    fn text(&self, limits: &Limits, limit: &Limit, file: Option<&str>) -> Text {
        let is_starved = limits.rows.iter().any(|it| it.cause == Cause::OtherProcesses);
        let (profile, total_ns) = (self.profile, limits.total_ns);
        let words = Words { profile, total_ns, is_starved, can_count: self.can_count(), file };
        let hint = match (is_advised(limits, limit), limits.verdict) {
            (true, _) => words.hint(limit),
            (false, Verdict::Few) => format!("{TOO_FEW}; record for longer"),
            (false, _) => {
                let samples = plural(limit.sample_count, "sample");
                format!("only {samples}: too few for advice; record for longer")
            }
        };
        let place = limit.method.map_or(String::new(), |method| {
            let line = limit.line.map_or(Line::Unknown, Line::Number);
            let symbols = &self.profile.symbols;
            let name = printable(&symbols.method_name(method));
            format!(": {name}{}", perk_render::place(symbols, method, line))
        });
        Text { reason: words.reason(limit), place, hint }
    }
}

/// Whether a row says what to try.
fn is_advised(limits: &Limits, limit: &Limit) -> bool {
    limits.verdict != Verdict::Few && !limit.is_uncertain()
}

/// The rows that are shown, and the number of the others: those of too few samples, unless somebody asks for a
/// number of rows.
fn shown(limits: &Limits, top: Option<usize>) -> (Vec<&Limit>, usize) {
    match top {
        Some(top) => (limits.rows.iter().take(top).collect(), 0),
        None => {
            let (rows, more) = split(limits);
            (rows, more.len())
        }
    }
}

/// What rows of too few samples are, in words.
fn more_rows(count: usize) -> Option<String> {
    let each = if count == 1 { "" } else { " each" };
    let rows = plural(count as u64, "more row");
    (count > 0).then(|| format!("{rows} of fewer than {FEW_SAMPLES} samples{each}"))
}

/// The rows that a list begins with, and the others. Rows with too few samples for advice are among the first
/// where there are few of those.
fn split(limits: &Limits) -> (Vec<&Limit>, Vec<&Limit>) {
    let rows = &limits.rows;
    let mut left = match limits.verdict {
        Verdict::Idle => 0,
        _ => FIRST.saturating_sub(rows.iter().filter(|it| !it.is_uncertain()).count()),
    };
    let is_shown = |limit: &&Limit| {
        let is_shown = !limit.is_uncertain() || left > 0 && limit.sample_count >= LEAST_SAMPLES;
        left -= usize::from(is_shown && limit.is_uncertain());
        is_shown
    };
    rows.iter().partition(is_shown)
}

fn whole_name(whole: Whole) -> &'static str {
    match whole {
        Whole::Work => "threads_that_work",
        Whole::Measured { has_cpu: true, has_locks: true } => "cpu_time_and_locks",
        Whole::Measured { has_cpu: true, has_locks: false } => "cpu_time",
        Whole::Measured { .. } => "locks",
        Whole::Samples => "samples",
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Clear => "clear",
        Verdict::Idle => "idle",
        Verdict::Few => "few_samples",
        Verdict::Flat => "flat",
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
