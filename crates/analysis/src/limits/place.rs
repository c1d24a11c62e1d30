//! Where a thread is: the method that pays for its time, what it waits for there, and how the method
//! came to be called.

use perk_profile::{
    ClassId, KeyedSet, Line, MethodId, NodeId, PathId, Profile, Symbols, WallState, names,
};

use super::waits::{Wait, Waits};
use crate::{Charges, MethodTree, Owner, Owners};

/// Methods with such names wait for something that others hold, wherever they are called.
const ACQUIRE: [&str; 7] = ["acquire", "borrow", "checkout", "enter", "lease", "lock", "reserve"];
/// So many methods of the program can be between a thread's beginning and its wait for work.
const WORKER_DEPTH: usize = 2;

/// Where a thread is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The method that pays; `None` where the stack is not known.
    pub(super) method: Option<MethodId>,
    /// The path that ends in it.
    pub(super) payer: PathId,
    /// The line in it.
    pub(super) line: Option<u32>,
    /// Whether the method is the program's.
    pub(super) is_program: bool,
    /// What the thread waits for, if it waits.
    pub(super) wait: Option<Wait>,
    /// The method that waits.
    pub(super) callee: Option<MethodId>,
    /// Whether the program's method calls others, which wait.
    pub(super) is_through_library: bool,
    /// Whether nobody asked for the wait as a part of work.
    pub(super) is_idle: bool,
    /// Whether a thread of an executor runs the task of a method that may wait for its result.
    pub(super) is_task: bool,
}

/// How the program's outermost method on a path came to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// A thread begins with it.
    Thread,
    /// A thread of an executor runs it.
    Executor,
    /// A library or the JDK calls it: for a request.
    Request,
}

/// Finds places.
pub(super) struct Places<'a> {
    profile: &'a Profile,
    tree: &'a MethodTree,
    owners: &'a Owners,
    charges: &'a Charges,
    waits: Waits,
    depths: Vec<u32>,
    /// Whether any of the profile's methods is the program's own; else those of libraries represent it.
    has_yours: bool,
}

impl<'a> Places<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        tree: &'a MethodTree,
        owners: &'a Owners,
        charges: &'a Charges,
    ) -> Self {
        let waits = Waits::new(&profile.symbols);
        let has_yours = owners.has_yours();
        Self { profile, tree, owners, charges, waits, depths: tree.depths(), has_yours }
    }

    /// The place of a stack in a state; a holder of a lock has none.
    pub(super) fn of(&self, node: NodeId, state: Option<WallState>) -> Place {
        let path = self.tree.path(node);
        let charge = self.charges.of(path);
        let methods: Vec<_> = self.tree.methods(path).collect();
        let payer = charge.payer;
        let depth = |path: PathId| self.depths[path.index()] as usize;
        let above = depth(path) - depth(payer);
        let is_program = if self.has_yours { charge.is_yours() } else { charge.is_of_program() };
        // Of the program's own method only what it calls says what it waits for.
        let inner = &methods[..(above + usize::from(!charge.is_yours())).min(methods.len())];
        let is_active =
            matches!(state, Some(WallState::Running | WallState::Runnable | WallState::Vm));
        let found = if is_active { None } else { self.waits.find(inner, state) };
        let (wait, callee) = found.map_or((None, None), |(wait, callee)| (Some(wait), callee));
        let called = above.checked_sub(1).and_then(|at| methods.get(at)).copied();
        let is_through_library = callee.is_some() && callee != called;
        let callee = callee.or(called);
        let outer = &methods[(above + 1).min(methods.len())..];
        let (begin, count) = self.begin(outer);
        let method = self.tree.method(payer);
        let at = At { is_program, begin, count: count + 1, method, callee };
        Place {
            method: self.tree.method(payer),
            payer,
            line: self.line(node, above),
            is_program,
            wait,
            callee,
            is_through_library,
            is_idle: wait.is_some_and(|wait| self.is_idle(wait, at)),
            is_task: self.is_task(&methods),
        }
    }

    /// Whether any of some methods is on a stack.
    pub(super) fn has_any(&self, node: NodeId, methods: &KeyedSet<MethodId>) -> bool {
        self.tree.methods(self.tree.path(node)).any(|method| methods.contains(&method))
    }

    /// The method of the program that calls a payer.
    pub(super) fn caller(&self, payer: PathId) -> Option<MethodId> {
        self.charges.caller(self.tree, payer).and_then(|path| self.tree.method(path))
    }

    /// Whether a class is the program's.
    pub(super) fn is_program_class(&self, class: ClassId) -> bool {
        let symbols = &self.profile.symbols;
        let name = symbols.get_class(class).name;
        let methods = (0..symbols.method_count()).map(MethodId::new);
        let mut its =
            methods.filter(|it| symbols.get_class(symbols.get_method(*it).class).name == name);
        its.any(|it| self.owners.of(it) == Owner::Yours)
    }

    fn line(&self, node: NodeId, above: usize) -> Option<u32> {
        let frame = self.profile.tree.frames(node).nth(above)?;
        match self.profile.symbols.get_frame(frame).line {
            Line::Number(line) => Some(line),
            _ => None,
        }
    }

    /// How the outermost method of the program came to be called, and how many methods of the program are
    /// on a stack, without those that only pass calls on.
    fn begin(&self, outer: &[MethodId]) -> (Begin, usize) {
        let symbols = &self.profile.symbols;
        let is_yours = |it: &MethodId| match self.owners.of(*it) {
            Owner::Yours => true,
            Owner::Library => !self.has_yours,
            Owner::Jdk | Owner::Jvm => false,
        };
        let passes_on = |it: &MethodId| {
            let class = symbols.class_name(symbols.get_method(*it).class);
            names::lambda_class(class).is_some()
        };
        let count = outer.iter().filter(|it| is_yours(it) && !passes_on(it)).count();
        // What is further out than the outermost method of the program.
        let last = outer.iter().rposition(is_yours).map_or(0, |place| place + 1);
        let callers = &outer[last..];
        let class = |it: &MethodId| symbols.class_name(symbols.get_method(*it).class);
        let is_executor = callers.iter().any(|it| is_executor(class(it)));
        let is_request = callers.iter().any(|it| !self.is_runner(symbols, *it));
        let begin = match (is_request, is_executor) {
            (true, _) => Begin::Request,
            (_, true) => Begin::Executor,
            _ => Begin::Thread,
        };
        (begin, count)
    }

    /// Whether a method only runs what a thread begins with.
    fn is_runner(&self, symbols: &Symbols, method: MethodId) -> bool {
        let id = symbols.get_method(method);
        let (class, name) = (symbols.class_name(id.class), symbols.strings.get(id.name));
        class.is_empty() || crate::charges::is_runner(class, name) || self.owners.is_launcher(class)
    }

    /// Whether a thread of an executor runs a task whose result others can wait for.
    fn is_task(&self, methods: &[MethodId]) -> bool {
        let symbols = &self.profile.symbols;
        let class = |it: &MethodId| symbols.class_name(symbols.get_method(*it).class);
        methods.iter().any(|it| {
            let class = class(it);
            TASKS.contains(&class) || class.starts_with(ASYNC)
        })
    }

    /// Whether no method of the program asked for a wait as a part of its work.
    fn is_idle(&self, wait: Wait, at: At) -> bool {
        let is_outermost = at.count <= 1;
        match wait {
            Wait::Monitor | Wait::Lock => false,
            Wait::Clients => true,
            _ if !at.is_program => wait != Wait::File,
            _ if at.begin == Begin::Request => false,
            // A thread that does something from time to time.
            Wait::Sleep => is_outermost && at.begin == Begin::Thread,
            Wait::Element | Wait::Message => at.count <= WORKER_DEPTH,
            Wait::Notice => at.count <= WORKER_DEPTH && !self.acquires(at.method),
            Wait::Result => {
                let is_end = self.name(at.method) == "main" || self.waits_for_end(at.callee);
                is_outermost && at.begin == Begin::Thread && is_end
            }
            Wait::Room
            | Wait::Permit
            | Wait::Pool
            | Wait::Network
            | Wait::Database
            | Wait::File
            | Wait::Process
            | Wait::Native => false,
        }
    }

    fn name(&self, method: Option<MethodId>) -> &str {
        let symbols = &self.profile.symbols;
        method.map_or("", |method| symbols.strings.get(symbols.get_method(method).name))
    }

    fn acquires(&self, method: Option<MethodId>) -> bool {
        let name = self.name(method).to_lowercase();
        ACQUIRE.iter().any(|begin| name.starts_with(begin))
    }

    /// Whether a method waits for the end of others, or for their begin, and not for a result.
    fn waits_for_end(&self, method: Option<MethodId>) -> bool {
        let symbols = &self.profile.symbols;
        let class = method.map_or("", |it| symbols.class_name(symbols.get_method(it).class));
        ENDS.contains(&class) || self.name(method) == "awaitTermination"
    }
}

/// Where a wait is on its stack.
#[derive(Clone, Copy)]
struct At {
    is_program: bool,
    begin: Begin,
    /// Methods of the program on the stack.
    count: usize,
    method: Option<MethodId>,
    callee: Option<MethodId>,
}

/// Classes whose methods wait for threads, and for no result.
const ENDS: [&str; 4] = [
    "java.lang.Thread",
    "java.util.concurrent.CountDownLatch",
    "java.util.concurrent.CyclicBarrier",
    "java.util.concurrent.Phaser",
];

/// What runs tasks with a result.
const TASKS: [&str; 3] = [
    "java.util.concurrent.ForkJoinTask",
    "java.util.concurrent.FutureTask",
    "java.util.concurrent.ForkJoinTask$AdaptedCallable",
];
const ASYNC: &str = "java.util.concurrent.CompletableFuture$Async";

/// Whether a class is one of the threads of executors.
fn is_executor(class: &str) -> bool {
    [
        "java.util.concurrent.ThreadPoolExecutor",
        "java.util.concurrent.ForkJoinWorkerThread",
        "java.util.concurrent.ForkJoinPool",
    ]
    .iter()
    .any(|name| class.starts_with(name))
}
