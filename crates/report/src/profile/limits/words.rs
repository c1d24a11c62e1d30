//! The reasons of limits, and what to try, in words.

use perk_analysis::Work;
use perk_analysis::limits::{Cause, Limit, Meanwhile, Wait};
use perk_profile::units::{plural, short_percent};
use perk_profile::{MethodId, Metric, Profile, names::package};

/// Parts of less than this share of everything have no name.
const PART: f64 = 0.005;
/// Parts that are named.
const PARTS: usize = 4;
/// Represents the code of the method itself.
const OWN: &str = "its own code";
/// What to try where much of a method's CPU time is of a kind.
const TRIES: &[(&str, &str)] = &[
    ("SQL", "run fewer statements: one query for all"),
    ("XML", "parse less, or once"),
    ("JSON", "convert less, or once"),
    ("files", "read or write more at once, or keep what was read"),
    ("cryptography", "do it less often, or keep the result"),
    ("compression", "compress less, or at a lower level"),
    ("dates and times", "make formatters once"),
    ("exceptions", "use no exceptions where nothing is wrong"),
    ("class loading", "load once; the start of a program loads much"),
    ("logging", "log less, or test the level first"),
    ("numbers from and to text", "convert less, or keep the result"),
    ("reflection", "look members up once"),
    ("regular expressions", "compile patterns once, or match without them"),
    ("serialization", "write less, or in another form"),
    ("sorting", "sort once, or keep the order"),
    ("string building", "append to one StringBuilder"),
    ("text formatting", "append to a StringBuilder in place of formatting"),
];

/// Makes the words.
pub(super) struct Words<'a> {
    pub(super) profile: &'a Profile,
    pub(super) total_ns: u64,
    /// Whether other processes have the CPUs that the program wants.
    pub(super) is_starved: bool,
    /// Whether perk could count calls in the program, and did not.
    pub(super) can_count: bool,
    /// The file, as a word of a command line; `None` where rows have links in place of commands.
    pub(super) file: Option<&'a str>,
}

impl Words<'_> {
    /// Why a row is there.
    pub(super) fn reason(&self, limit: &Limit) -> String {
        match limit.cause {
            Cause::Cpu if self.is_starved => "uses the CPU, and waits for it".to_owned(),
            Cause::Cpu => "uses the CPU".to_owned(),
            Cause::Wait(wait) => self.wait(wait, limit),
            Cause::Gc { share } if share > 0.0 => "collects garbage, most of it from".to_owned(),
            Cause::Gc { .. } => "collects garbage".to_owned(),
            Cause::Jit => "the JIT compilers use the CPU".to_owned(),
            Cause::Throttled => "no CPU: the quota of the cgroup is used up".to_owned(),
            Cause::OtherProcesses => "no CPU: other processes use it".to_owned(),
        }
    }

    fn wait(&self, wait: Wait, limit: &Limit) -> String {
        let callee = limit.callee.map_or(String::new(), |it| format!(" ({})", self.short(it)));
        let of_lock = limit.lock.map(|class| {
            let name = perk_render::class(&self.profile.symbols, class);
            name[package(&name).len()..].trim_start_matches('.').to_owned()
        });
        match wait {
            Wait::Monitor => match of_lock {
                Some(class) => format!("waits for a lock, the monitor of {class}"),
                None => "waits for a lock (monitor)".to_owned(),
            },
            Wait::Lock => match of_lock.as_deref().map(|it| it.split('$').next().unwrap_or(it)) {
                Some(class) => format!("waits for a lock ({class})"),
                None => format!("waits for a lock{callee}"),
            },
            Wait::Permit => format!("waits for a permit of a semaphore{callee}"),
            Wait::Pool => format!("waits for a free connection of a pool{callee}"),
            Wait::Room => format!("waits for room in a full queue{callee}"),
            Wait::Element => format!("waits for an element of an empty queue{callee}"),
            Wait::Result => match limit.meanwhile.as_ref().and_then(|it| it.pool.as_ref()) {
                Some((name, _)) => format!("waits for a thread of the pool {name}{callee}"),
                None => format!("waits for another thread{callee}"),
            },
            Wait::Notice => format!("waits to be notified{callee}"),
            Wait::Sleep => format!("sleeps{callee}"),
            Wait::Network if limit.cpu_ns > limit.ns / 2 => {
                format!("uses the network, mostly on the CPU{callee}")
            }
            Wait::Network => format!("waits for an answer over the network{callee}"),
            Wait::Database => format!("waits for a database{callee}"),
            Wait::Message => format!("waits for a message{callee}"),
            Wait::File if limit.cpu_ns > limit.ns / 2 => format!(
                "reads or writes files, mostly on the CPU (file I/O{})",
                self.after_comma(limit.callee)
            ),
            Wait::File => {
                format!("waits for the disk (file I/O{})", self.after_comma(limit.callee))
            }
            Wait::Process => format!("waits for another process{callee}"),
            Wait::Clients => format!("waits for clients{callee}"),
            Wait::Native => format!("waits in native code{callee}"),
        }
    }

    /// Whether a method may read from a pipe: the output of another process, or the standard input.
    fn reads_stream(&self, callee: Option<MethodId>) -> bool {
        let symbols = &self.profile.symbols;
        let class = callee.map_or("", |it| symbols.class_name(symbols.get_method(it).class));
        class == "java.io.FileInputStream"
    }

    fn after_comma(&self, callee: Option<MethodId>) -> String {
        callee.map_or(String::new(), |it| format!(", {}", self.short(it)))
    }

    /// What is known of a row, and what to try.
    pub(super) fn hint(&self, limit: &Limit) -> String {
        match limit.cause {
            Cause::Cpu => self.cpu(limit),
            Cause::Wait(wait) => {
                let meanwhile = limit.meanwhile.as_ref();
                let fact = meanwhile.map(|it| self.meanwhile(wait, it, limit.method) + "; ");
                fact.unwrap_or_default() + &self.try_for(wait, limit)
            }
            Cause::Gc { share } => {
                let method = limit.method.map(|it| self.short(it));
                let Some(method) = method else {
                    let is_measured = Metric::AllocatedBytes.is_in(self.profile);
                    return match is_measured {
                        true => "allocate less: no method allocates most of it".to_owned(),
                        false => "allocate less; --alloc records where".to_owned(),
                    };
                };
                let classes = limit.classes.iter().take(PARTS).map(|&(class, share)| {
                    let name = perk_render::class(&self.profile.symbols, class);
                    let name = name[package(&name).len()..].trim_start_matches('.').to_owned();
                    format!("{name} {:.0} %", share * 100.0)
                });
                let classes: Vec<_> = classes.collect();
                let classes = if classes.is_empty() {
                    String::new()
                } else {
                    format!(": {}", classes.join(", "))
                };
                format!(
                    "{:.0} % of all bytes are allocated there{classes}; allocate less in {method}, or raise -Xmx",
                    share * 100.0
                )
            }
            Cause::Jit => {
                "less once the code has run for a while: measure later, or for longer".to_owned()
            }
            Cause::Throttled => "raise the quota, or use less CPU in the methods below".to_owned(),
            Cause::OtherProcesses => {
                "a part of the rows that use the CPU; stop what runs beside it, or use less CPU"
                    .to_owned()
            }
        }
    }

    /// `text formatting 35 %, its own code 2 %; what to try`
    fn cpu(&self, limit: &Limit) -> String {
        let is_worth_it = |ns: u64| ns as f64 >= PART * self.total_ns as f64;
        let parts = limit.works.iter().filter(|it| is_worth_it(it.1)).take(PARTS);
        let part = |&(work, ns): &(Work, u64)| {
            let name = match work {
                Work::Own => OWN.to_owned(),
                Work::Named(words) => words.to_owned(),
                Work::Called(method) => self.short(method),
            };
            format!("{name} {} %", short_percent(ns, self.total_ns))
        };
        let parts: Vec<_> = parts.map(part).collect();
        let first = limit.works.first().map(|it| it.0);
        let tries = match first {
            Some(Work::Named(name)) => TRIES.iter().find(|it| it.0 == name),
            _ => None,
        };
        let tries = tries.map(|&(name, text)| match name {
            "SQL" => text.to_owned() + &self.count_calls(limit),
            _ => text.to_owned(),
        });
        let method = limit.method.map_or(String::new(), |it| self.short(it));
        let command = || {
            let (file, method) = (self.file?, crate::words::quoted(&method));
            Some(format!("perk report {file} --method {method} shows its lines and callers"))
        };
        let tries = tries.or_else(command).map_or_else(String::new, |tries| format!("; {tries}"));
        parts.join(", ") + &tries
    }

    /// `held by Inventory.reserve, which sleeps (line 14)`
    fn meanwhile(&self, wait: Wait, meanwhile: &Meanwhile, waiter: Option<MethodId>) -> String {
        let method = self.short(meanwhile.method);
        let line = meanwhile.line.map_or(String::new(), |line| format!("line {line}"));
        let callee = meanwhile.callee.map(|it| self.short(it));
        let place: Vec<_> =
            callee.into_iter().chain(Some(line).filter(|it| !it.is_empty())).collect();
        let place =
            if place.is_empty() { String::new() } else { format!(" ({})", place.join(", ")) };
        let does = match meanwhile.wait {
            None => "uses the CPU",
            Some(Wait::Sleep) => "sleeps",
            Some(Wait::Network) => "waits for the network",
            Some(Wait::Database) => "waits for a database",
            Some(Wait::File) => "waits for the disk",
            Some(Wait::Monitor | Wait::Lock) => "waits for a lock",
            Some(Wait::Pool) => "waits for a pool",
            Some(Wait::Permit) => "waits for a semaphore",
            Some(Wait::Process) => "waits for another process",
            Some(_) => "waits",
        };
        let who = if Some(meanwhile.method) == waiter { "it".to_owned() } else { method.clone() };
        match wait {
            Wait::Monitor | Wait::Lock => format!("held by {method}, which {does}{place}"),
            Wait::Room | Wait::Notice => format!("meanwhile {method} {does}{place}"),
            Wait::Permit | Wait::Pool => {
                format!("all are in use, mostly while {who} {does}{place}")
            }
            _ => {
                let pool = meanwhile.pool.as_ref();
                let threads = pool.map_or(String::new(), |(name, count)| {
                    format!("{} of {name} busy: ", plural(*count as u64, "thread"))
                });
                format!("{threads}{method} {does}{place}")
            }
        }
    }

    fn try_for(&self, wait: Wait, limit: &Limit) -> String {
        let count = match wait {
            Wait::Network | Wait::Database => self.count_calls(limit),
            _ => String::new(),
        };
        self.usual_try(wait, limit).to_owned() + &count
    }

    /// How to see whether the method of a row is called too often.
    fn count_calls(&self, limit: &Limit) -> String {
        limit.method.filter(|_| self.can_count).map_or(String::new(), |method| {
            let classes = crate::words::quoted(&self.neighbours(method));
            format!("; --cpu times --include {classes} counts its calls")
        })
    }

    /// A pattern of the classes of a method's package.
    fn neighbours(&self, method: MethodId) -> String {
        let symbols = &self.profile.symbols;
        let class = symbols.class_name(symbols.get_method(method).class);
        match package(class) {
            "" => format!("{}*", class.split('$').next().unwrap_or(class)),
            package => format!("{package}.*"),
        }
    }

    fn usual_try(&self, wait: Wait, limit: &Limit) -> &'static str {
        let meanwhile = limit.meanwhile.as_ref();
        let holder_waits = meanwhile.is_some_and(|it| it.wait.is_some());
        match wait {
            Wait::Monitor | Wait::Lock if holder_waits => "do not wait while you hold the lock",
            Wait::Monitor | Wait::Lock => "do less under the lock, or use several locks",
            Wait::Permit => "hold permits for less time, or allow more",
            Wait::Pool => "give connections back sooner, or raise the size of the pool",
            Wait::Room => "let more threads take from the queue, or make them faster",
            Wait::Element => "the threads that fill the queue are too slow",
            Wait::Result => match meanwhile.and_then(|it| it.pool.as_ref()) {
                Some(_) => "use more threads, or make the tasks shorter",
                None => "see what the other thread does",
            },
            Wait::Notice => "see which thread notifies it, and what that waits for",
            Wait::Sleep => "wait for the event itself, or for less time",
            Wait::Network => "ask less often, for several at once, or keep the answer",
            Wait::Database => "run fewer or faster statements",
            Wait::Message => "receive in a thread of its own",
            Wait::File if self.reads_stream(limit.callee) => {
                "do it in a thread of its own, or read more at once"
            }
            Wait::File => "write or read more at once, and sync less often",
            Wait::Process => "do it in this process, or at the same time as other work",
            Wait::Clients => "receive in a thread of its own",
            Wait::Native => "see the stack: perk report --tree",
        }
    }

    fn short(&self, method: MethodId) -> String {
        perk_render::short_method(&self.profile.symbols, method)
    }
}
