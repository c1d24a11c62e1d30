//! Randomly generated Java programs whose numbers of calls and allocations can be computed. They
//! use threads, recursion, locks, exceptions that unwind frames, objects and arrays.
//!
//! Methods call only themselves, with an argument smaller by one, and methods after them in order.
//! So the number of runs of each method per argument follows from the numbers of the methods before
//! it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::hprof::{Recording, Section};

/// The agent's options for a file that [`RandomProgram::recorded_calls`] can read. The original
/// lists all calls only in this form: in the other form it omits calls of less than a millisecond.
pub const CALLS_OPTIONS: &str = "cpu=old";
/// The options for the other form, in which perk lists all calls, too.
pub const TIMES_OPTIONS: &str = "cpu=times,depth=2,cutoff=0";
/// The agent's options for a file that [`RandomProgram::recorded_objects`] can read.
pub const OBJECTS_OPTIONS: &str = "heap=sites,depth=8,cutoff=0";

/// The types of the elements of arrays.
const ELEMENTS: [&str; 4] = ["int", "byte", "double", "java.lang.Object"];

/// The largest argument of a method.
const MAX_ARGUMENT: usize = 4;
/// The maximum number of frames that an exception unwinds.
const MAX_UNWOUND: u64 = 5;

/// A random program.
#[derive(Debug, Clone)]
pub struct RandomProgram {
    /// The main class. All other classes are nested in it.
    pub class: String,
    /// The source text, for Java 8.
    pub source: String,
    /// The number of calls by callee and caller, as `class.method`. Threads begin in a `run`
    /// method, which the program itself does not call.
    pub calls: BTreeMap<(String, String), u64>,
    /// The number of allocated objects by class, in source form, and by the method that makes them.
    pub objects: BTreeMap<(String, String), u64>,
}

/// A statement of a method.
#[derive(Debug, Clone, Copy)]
enum Statement {
    /// Calls a later method `count` times, with an argument smaller by `less`.
    Call { callee: usize, count: u64, less: usize },
    /// Calls the method itself `count` times with an argument smaller by one, unless it is 0.
    Recurse { count: u64 },
    /// Makes `count` instances of a class.
    New { class: usize, count: u64 },
    /// Makes `count` arrays of a type and length.
    Array { element: &'static str, count: u64, length: u64 },
    /// Has a method throw at a depth, and catches the exception.
    Throw { depth: u64 },
}

/// A method, and whether it runs its statements in a lock.
#[derive(Debug)]
struct Method {
    statements: Vec<Statement>,
    locks: bool,
}

/// A generator of Marsaglia's. Its quality suffices, and it is the same on all machines.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

impl RandomProgram {
    /// Generates the program of a seed.
    pub fn new(seed: u64) -> RandomProgram {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..16 {
            random.below(2);
        }
        let class = format!("Random{seed}");
        let classes = 1 + random.below(4) as usize;
        let methods = 3 + random.below(8) as usize;
        let methods: Vec<Method> =
            (0..methods).map(|at| Method::random(&mut random, at, methods, classes)).collect();
        // The main thread does the work of thread 0.
        let threads: Vec<Vec<(usize, usize)>> = (0..=random.below(4))
            .map(|_| {
                let mut work = || {
                    let method = random.below(methods.len().min(3) as u64) as usize;
                    (method, random.below(MAX_ARGUMENT as u64 + 1) as usize)
                };
                vec![work(), work()]
            })
            .collect();
        let source = source(&class, &methods, &threads, classes);
        let mut program =
            RandomProgram { class, source, calls: BTreeMap::new(), objects: BTreeMap::new() };
        program.count(&methods, &threads);
        program
    }

    /// Computes the number of calls and objects.
    fn count(&mut self, methods: &[Method], threads: &[Vec<(usize, usize)>]) {
        let class = self.class.clone();
        let main = format!("{class}.main");
        let run = format!("{class}$Worker.run");
        // The number of runs of each method with each argument.
        let mut runs = vec![[0_u64; MAX_ARGUMENT + 1]; methods.len()];
        for (thread, work) in threads.iter().enumerate() {
            let caller = if thread == 0 { &main } else { &run };
            for (method, argument) in work {
                runs[*method][*argument] += 1;
                self.call(&format!("{class}.m{method}"), caller, 1);
            }
        }
        let workers = threads.len() as u64 - 1;
        self.call(&format!("{class}$Worker.<init>"), &main, workers);
        self.make(&format!("{class}$Worker"), &main, workers);
        for (at, method) in methods.iter().enumerate() {
            let name = format!("{class}.m{at}");
            for argument in (0..=MAX_ARGUMENT).rev() {
                let times = runs[at][argument];
                for statement in &method.statements {
                    match *statement {
                        Statement::Call { callee, count, less } => {
                            runs[callee][argument.saturating_sub(less)] += times * count;
                            self.call(&format!("{class}.m{callee}"), &name, times * count);
                        }
                        Statement::Recurse { count } if argument > 0 => {
                            runs[at][argument - 1] += times * count;
                            self.call(&name, &name, times * count);
                        }
                        Statement::Recurse { .. } => {}
                        Statement::New { class: made, count } => {
                            let made = format!("{class}$C{made}");
                            self.call(&format!("{made}.<init>"), &name, times * count);
                            self.make(&made, &name, times * count);
                        }
                        Statement::Array { element, count, .. } => {
                            self.make(&format!("{element}[]"), &name, times * count);
                        }
                        Statement::Throw { depth } => self.throw(&name, depth, times),
                    }
                }
            }
        }
        self.calls.retain(|_, count| *count > 0);
        self.objects.retain(|_, count| *count > 0);
    }

    fn throw(&mut self, caller: &str, depth: u64, times: u64) {
        let (thrower, failure) =
            (format!("{}.thrower", self.class), format!("{}$Failure", self.class));
        self.call(&thrower, caller, times);
        self.call(&thrower, &thrower, times * depth);
        self.call(&format!("{failure}.<init>"), &thrower, times);
        self.make(&failure, &thrower, times);
    }

    fn call(&mut self, callee: &str, caller: &str, count: u64) {
        *self.calls.entry((callee.to_owned(), caller.to_owned())).or_default() += count;
    }

    fn make(&mut self, class: &str, method: &str, count: u64) {
        *self.objects.entry((class.to_owned(), method.to_owned())).or_default() += count;
    }

    /// Returns the calls in a file whose callee and caller are the program's own.
    pub fn recorded_calls(&self, recording: &Recording) -> BTreeMap<(String, String), u64> {
        let mut calls = BTreeMap::new();
        let mut add = |callee: &str, caller: &str, count: u64| {
            if self.is_own(callee) && self.is_own(caller) {
                *calls.entry((callee.to_owned(), caller.to_owned())).or_default() += count;
            }
        };
        let name = |method: &str| method.split('(').next().unwrap_or_default().to_owned();
        for section in &recording.sections {
            match section {
                Section::CallTimes(times) => {
                    for row in &times.rows {
                        if let [callee, caller, ..] = recording.frames(row.trace) {
                            add(&callee.method, &caller.method, row.count);
                        }
                    }
                }
                Section::Calls(rows) => {
                    for row in rows {
                        add(&name(&row.callee), &name(&row.caller), row.count);
                    }
                }
                _ => {}
            }
        }
        calls
    }

    /// Returns the objects in a file that the program's own methods make.
    pub fn recorded_objects(&self, recording: &Recording) -> BTreeMap<(String, String), u64> {
        let mut objects = BTreeMap::new();
        for section in &recording.sections {
            let Section::Sites(sites) = section else { continue };
            for row in &sites.rows {
                let is_array =
                    row.class.strip_suffix("[]").is_some_and(|it| ELEMENTS.contains(&it));
                let frames = recording.frames(row.trace).iter();
                let mut frames =
                    frames.skip_while(|it| !is_array && it.method.ends_with(".<init>"));
                let Some(maker) = frames.next().filter(|frame| self.is_own(&frame.method)) else {
                    continue;
                };
                if is_array || row.class.starts_with(&format!("{}$", self.class)) {
                    *objects.entry((row.class.clone(), maker.method.clone())).or_default() +=
                        row.numbers[3];
                }
            }
        }
        objects
    }

    /// Whether a method is one of the program's own that are counted.
    fn is_own(&self, method: &str) -> bool {
        let rest = method.strip_prefix(&self.class);
        rest.is_some_and(|it| it.starts_with(['.', '$']) && !it.ends_with(".<clinit>"))
    }
}

impl Method {
    fn random(random: &mut Random, at: usize, methods: usize, classes: usize) -> Method {
        let statements =
            (0..1 + random.below(4)).map(|_| Statement::random(random, at, methods, classes));
        let mut statements: Vec<Statement> = statements.collect();
        // Two recursions in one method would multiply the number of calls.
        let mut is_first = true;
        statements.retain(|statement| {
            let is_recursion = matches!(statement, Statement::Recurse { .. });
            !is_recursion || std::mem::take(&mut is_first)
        });
        Method { statements, locks: random.below(3) == 0 }
    }
}

impl Statement {
    fn random(random: &mut Random, at: usize, methods: usize, classes: usize) -> Statement {
        match random.below(6) {
            0 | 1 if at + 1 < methods => Statement::Call {
                callee: at + 1 + random.below((methods - at - 1) as u64) as usize,
                count: 1 + random.below(3),
                less: random.below(3) as usize,
            },
            2 => Statement::Recurse { count: 1 + random.below(2) },
            3 => Statement::Array {
                element: ELEMENTS[random.below(4) as usize],
                count: 1 + random.below(3),
                length: random.below(20),
            },
            4 => Statement::Throw { depth: random.below(MAX_UNWOUND + 1) },
            _ => Statement::New {
                class: random.below(classes as u64) as usize,
                count: 1 + random.below(4),
            },
        }
    }

    fn source(self, out: &mut String, at: usize) {
        let times =
            |count: u64, what: &str| format!("for (int i = 0; i < {count}; i++) {{ {what} }}");
        let line = match self {
            Statement::Call { callee, count, less } => {
                times(count, &format!("m{callee}(Math.max(n - {less}, 0));"))
            }
            Statement::Recurse { count } => times(count, &format!("if (n > 0) m{at}(n - 1);")),
            Statement::New { class, count } => times(count, &format!("sink = new C{class}(n);")),
            Statement::Array { element, count, length } => {
                times(count, &format!("sink = new {element}[{length}];"))
            }
            Statement::Throw { depth } => {
                format!("try {{ thrower({depth}); }} catch (Failure failure) {{ sink = failure; }}")
            }
        };
        let _ = writeln!(out, "        {line}");
    }
}

/// Returns the source text of the program.
fn source(
    class: &str,
    methods: &[Method],
    threads: &[Vec<(usize, usize)>],
    classes: usize,
) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("public class {class} {{"));
    line("    static volatile Object sink;".to_owned());
    line("    static final Object LOCK = new Object();".to_owned());
    for at in 0..classes {
        let fields = ["long a;", "Object b; byte c;", "double d; short e; Object f;"][at % 3];
        line(format!(
            "    static class C{at} {{ int n; {fields} C{at}(int n) {{ this.n = n; }} }}"
        ));
    }
    line("    static class Failure extends RuntimeException { }".to_owned());
    line(
        "    static void thrower(int n) { if (n == 0) throw new Failure(); thrower(n - 1); }"
            .to_owned(),
    );
    for (at, method) in methods.iter().enumerate() {
        line(format!("    static void m{at}(int n) {{"));
        if method.locks {
            line("        synchronized (LOCK) {".to_owned());
        }
        let mut body = String::new();
        for statement in &method.statements {
            statement.source(&mut body, at);
        }
        line(body);
        line(if method.locks { "        } }".to_owned() } else { "    }".to_owned() });
    }
    let calls = |work: &[(usize, usize)]| {
        work.iter().map(|(method, argument)| format!("m{method}({argument}); ")).collect::<String>()
    };
    line("    static class Worker implements Runnable {".to_owned());
    line("        int which; Worker(int which) { this.which = which; }".to_owned());
    line("        public void run() { switch (which) {".to_owned());
    for (at, work) in threads.iter().enumerate().skip(1) {
        line(format!("            case {at}: {}break;", calls(work)));
    }
    line("            default: } } }".to_owned());
    line("    public static void main(String[] args) throws Exception {".to_owned());
    let count = threads.len();
    line(format!("        Thread[] threads = new Thread[{count}];"));
    line(format!("        for (int i = 1; i < {count}; i++) {{"));
    line("            threads[i] = new Thread(new Worker(i), \"worker-\" + i); threads[i].start(); }".to_owned());
    line(format!("        {}", calls(&threads[0])));
    line(format!("        for (int i = 1; i < {count}; i++) threads[i].join();"));
    line("        System.out.println(\"end\"); } }".to_owned());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_one_program() {
        let (one, again) = (RandomProgram::new(7), RandomProgram::new(7));
        assert_eq!((&one.source, &one.calls), (&again.source, &again.calls));
        assert_ne!(one.source, RandomProgram::new(8).source.replace("Random8", "Random7"));
    }

    #[test]
    fn programs_end_soon_and_differ() {
        let programs: Vec<RandomProgram> = (1..200).map(RandomProgram::new).collect();
        let calls = programs.iter().map(|program| program.calls.values().sum::<u64>());
        assert!(calls.clone().all(|calls| calls < 20_000_000), "{:?}", calls.max());
        for text in ["synchronized", "if (n > 0)", "thrower(5)", "new C3", "case 3", "new double["]
        {
            assert!(programs.iter().any(|program| program.source.contains(text)), "{text}");
        }
    }
}
