//! Charges: the method to which a path's numbers count, and the work that is done for that method
//! there.
//!
//! Numbers of the JDK, of libraries and of the JVM count to the nearest frame of the program's own
//! code. A path without such a frame counts to the nearest frame of a library; one that is of the JDK
//! alone to the method of its public API by which it was entered, below those that run tasks of
//! threads. A change of `Unsafe.allocateInstance` is not possible, so it is never a row. The object
//! of a lambda passes calls on: where the nearest own method further out is of its class, that one
//! pays.

mod jdk;
mod words;

use perk_profile::{MethodId, PathId, Profile, Symbols, names};

use crate::{MethodTree, Owner, Owners};
pub(crate) use jdk::is_runner;
use words::Word;
pub(crate) use words::{FILES, MESSAGES, NETWORK, OTHER_DATABASES, SQL, STREAMS, fits};

/// What is done for a method on a path below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// The method's own code.
    Own,
    /// Work of a kind that has a name in plain words: `sorting`, `JSON`.
    Named(&'static str),
    /// The work of a method that it calls.
    Called(MethodId),
}

/// How the work below a method is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// In plain words where the JDK's or a library's work has some.
    Words,
    /// By the method that is called: the name of the method that waits.
    Callees,
}

/// The charge of each path of a tree.
#[derive(Debug)]
pub struct Charges {
    charges: Vec<Charge>,
}

/// The charge of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The path that ends in the method that pays; the root where there is none.
    pub payer: PathId,
    /// What is done for the payer.
    pub work: Work,
    rank: Rank,
    /// Whether a word closer to the top of the stack takes the place of the work's.
    is_vague: bool,
}

/// How well a method represents a path; the higher takes the place of the lower, and of libraries
/// and the program's own the inner one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It runs tasks, as each thread of a pool does; or there is no method.
    Runner,
    /// Inside the JDK or the JVM.
    Inner,
    /// Of the JDK's public API.
    Api,
    Library,
    Yours,
}

impl Charge {
    /// Whether the program or a library pays: what is of the JDK alone is no work of the program.
    pub fn is_of_program(self) -> bool {
        self.rank >= Rank::Library
    }

    /// Whether the program's own code pays.
    pub fn is_yours(self) -> bool {
        self.rank == Rank::Yours
    }
}

impl Charges {
    /// Finds the charge of each path.
    pub fn new(profile: &Profile, tree: &MethodTree, owners: &Owners, naming: Naming) -> Self {
        let methods = (0..profile.symbols.method_count()).map(MethodId::new);
        let facts: Vec<_> =
            methods.map(|method| Facts::of(profile, owners, method, naming)).collect();
        let root = tree.root();
        let nobody = Charge { payer: root, work: Work::Own, rank: Rank::Runner, is_vague: false };
        let mut charges = vec![nobody];
        // A parent's index is below its children's.
        for index in 1..tree.len() {
            let path = PathId::new(index);
            let above: Charge = charges[tree.parent(path).index()];
            let charge = match tree.method(path) {
                Some(method) if passes_on(&profile.symbols, &facts, tree, above, method) => {
                    Charge { work: Work::Own, is_vague: false, ..above }
                }
                Some(method) => next(above, path, method, &facts, tree, &charges),
                None => above,
            };
            charges.push(charge);
        }
        Self { charges }
    }

    /// The charge of a path.
    pub fn of(&self, path: PathId) -> Charge {
        self.charges[path.index()]
    }

    /// Keeps the rows of waits that are charged to the program's own code; if there are none, those
    /// of libraries. Threads of pools that wait for work are charged to no method.
    pub fn keep_program<R>(&self, rows: &mut Vec<R>, path: impl Fn(&R) -> PathId) {
        let has_yours = rows.iter().any(|row| self.of(path(row)).is_yours());
        rows.retain(|row| match self.of(path(row)) {
            charge if has_yours => charge.is_yours(),
            charge => charge.is_of_program(),
        });
    }

    /// The path that ends in the caller of a payer: the next payer of the program or of a library further
    /// out that is another method.
    pub fn caller(&self, tree: &MethodTree, payer: PathId) -> Option<PathId> {
        let mut at = tree.parent(payer);
        loop {
            let charge = self.of(at);
            if !charge.is_of_program() {
                return None;
            }
            if tree.method(charge.payer) != tree.method(payer) {
                return Some(charge.payer);
            }
            at = tree.parent(charge.payer);
        }
    }
}

/// What a method of the JDK or of a library does, in plain words.
pub(crate) fn word(class: &str, method: &str) -> Option<&'static str> {
    words::find(class, method).map(|word| word.text)
}

/// Where the callers and callees of a profile without paths are charged.
#[derive(Debug)]
pub(crate) struct Callees {
    facts: Vec<Facts>,
}

impl Callees {
    pub(crate) fn new(profile: &Profile, owners: &Owners) -> Self {
        let methods = (0..profile.symbols.method_count()).map(MethodId::new);
        let facts = methods.map(|method| Facts::of(profile, owners, method, Naming::Words));
        Self { facts: facts.collect() }
    }

    /// Whether a method is the program's or a library's.
    pub(crate) fn is_of_program(&self, method: MethodId) -> bool {
        self.facts[method.index()].rank >= Rank::Library
    }

    /// The work of a callee.
    pub(crate) fn work(&self, callee: MethodId) -> Work {
        match self.facts[callee.index()].word {
            Some(word) => Work::Named(word.text),
            None => Work::Called(callee),
        }
    }
}

/// What there is to know of a method.
#[derive(Clone, Copy, Debug)]
struct Facts {
    rank: Rank,
    word: Option<Word>,
    is_constructor: bool,
    /// It makes the object of an exception.
    makes_exception: bool,
    /// It is a method of the object of a lambda.
    is_proxy: bool,
    /// It is one of the JVM's own threads.
    thread: Option<Word>,
}

impl Facts {
    fn of(profile: &Profile, owners: &Owners, id: MethodId, naming: Naming) -> Self {
        let symbols = &profile.symbols;
        let method = symbols.get_method(id);
        let (class, name) = (symbols.class_name(method.class), symbols.strings.get(method.name));
        let rank = match owners.of(id) {
            Owner::Yours => Rank::Yours,
            Owner::Library => Rank::Library,
            Owner::Jdk if jdk::is_runner(class, name) => Rank::Runner,
            Owner::Jdk if jdk::is_api(class) => Rank::Api,
            Owner::Jdk | Owner::Jvm => Rank::Inner,
        };
        let is_constructor = name == "<init>";
        let word = match (naming, rank) {
            (Naming::Callees, _) | (_, Rank::Yours) => None,
            (Naming::Words, _) => words::find(class, name),
        };
        let makes_exception =
            is_constructor && rank < Rank::Library && words::is_of_exceptions(class);
        let is_proxy = names::lambda_class(class).is_some();
        let thread = words::of_thread(class, name);
        Self { rank, word, is_constructor, makes_exception, is_proxy, thread }
    }
}

/// Whether a method is one of the object of a lambda, below a method of the class that has the lambda.
fn passes_on(
    symbols: &Symbols,
    facts: &[Facts],
    tree: &MethodTree,
    above: Charge,
    method: MethodId,
) -> bool {
    let class = |method| symbols.class_name(symbols.get_method(method).class);
    let payer = || tree.method(above.payer).map(class);
    facts[method.index()].is_proxy && payer() == names::lambda_class(class(method))
}

/// The charge of a path below `above` that ends in `method`.
fn next(
    above: Charge,
    path: PathId,
    method: MethodId,
    facts: &[Facts],
    tree: &MethodTree,
    charges: &[Charge],
) -> Charge {
    let fact = facts[method.index()];
    let is_inner_of_its_kind = fact.rank >= Rank::Library && fact.rank == above.rank;
    if fact.rank > above.rank || is_inner_of_its_kind || above.payer == tree.root() {
        return Charge { payer: path, work: Work::Own, rank: fact.rank, is_vague: false };
    }
    if fact.makes_exception && above.work == Work::Own {
        // The method that throws pays, and not the constructor of the program's exception.
        let is_constructor = |charge: Charge| {
            let method = tree.method(charge.payer);
            charge.is_of_program() && method.is_some_and(|it| facts[it.index()].is_constructor)
        };
        let mut thrower = above;
        while is_constructor(thrower) {
            let outer = charges[tree.parent(thrower.payer).index()];
            if !outer.is_of_program() {
                break;
            }
            thrower = outer;
        }
        let work = Work::Named(words::EXCEPTIONS);
        return Charge { payer: thrower.payer, rank: thrower.rank, work, is_vague: false };
    }
    // The functions below say less than the thread does: the first is one of the library of threads.
    if above.work == Work::Own
        && let Some(word) = tree.method(above.payer).and_then(|it| facts[it.index()].thread)
    {
        return Charge { work: Work::Named(word.text), ..above };
    }
    match (above.work, fact.word) {
        (Work::Own, Some(word)) => {
            Charge { work: Work::Named(word.text), is_vague: word.is_vague, ..above }
        }
        (Work::Own, None) => Charge { work: Work::Called(method), ..above },
        (_, Some(word)) if above.is_vague && !word.is_vague => {
            Charge { work: Work::Named(word.text), is_vague: false, ..above }
        }
        (_, None) if above.is_vague && fact.rank == Rank::Library => {
            Charge { work: Work::Called(method), is_vague: false, ..above }
        }
        _ => above,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::method;
    use perk_profile::{Frame, Line};

    const MAIN: &str = "com.acme.Main.main";

    /// The payer and the work of a stack, outermost method first, of a program of `com.acme.*`.
    fn charge(stack: &[&str], naming: Naming) -> (String, String) {
        let mut profile = Profile::default();
        let mut frame = |name: &str| {
            let method = method(&mut profile, name);
            let line = if name.starts_with('.') { Line::Native } else { Line::Unknown };
            profile.symbols.frame(Frame::new(method, line))
        };
        let main = frame(MAIN);
        let frames: Vec<_> = stack.iter().map(|name| frame(name)).collect();
        profile.tree.insert([main]);
        let node = profile.tree.insert(frames);
        let tree = MethodTree::new(&profile);
        let charges = Charges::new(&profile, &tree, &Owners::new(&profile), naming);
        let charge = charges.of(tree.path(node));
        let name = |method| profile.symbols.method_name(method);
        let work = match charge.work {
            Work::Own => "own".to_owned(),
            Work::Named(word) => word.to_owned(),
            Work::Called(method) => name(method),
        };
        (tree.method(charge.payer).map(name).unwrap_or_default(), work)
    }

    #[track_caller]
    fn check(stack: &[&str], payer: &str, work: &str) {
        assert_eq!(charge(stack, Naming::Words), (payer.to_owned(), work.to_owned()), "{stack:?}");
    }

    #[test]
    fn the_nearest_own_frame_pays_for_work_with_a_name() {
        for (inner, work) in [
            (&[][..], "own"),
            (&["java.util.ArrayList.sort", "java.util.TimSort.sort"], "sorting"),
            (&["java.util.HashMap.get", "java.util.HashMap.getNode"], "hash maps"),
            (&["java.util.ArrayList.add", "java.util.Arrays.copyOf"], "java.util.ArrayList.add"),
            // The outer work counts, not its means.
            (&["com.google.gson.Gson.toJson", "java.util.HashMap.get"], "JSON"),
            (&["java.lang.String.format", "java.util.HashMap.get"], "text formatting"),
            (&["net.other.Tool.run", "java.util.HashMap.get"], "net.other.Tool.run"),
            // Streams and reflection only pass on.
            (&["java.util.stream.ReferencePipeline.sorted", "java.util.TimSort.sort"], "sorting"),
            (&["java.util.stream.ReferencePipeline.sorted", "java.util.Spliterators.x"], "streams"),
            (&["java.lang.reflect.Method.invoke", "net.other.Tool.run"], "net.other.Tool.run"),
            (&["java.lang.System.arraycopy", ".memcpy"], "array copies"),
        ] {
            let stack = [&[MAIN, "com.acme.shop.Cart.list"][..], inner].concat();
            check(&stack, "com.acme.shop.Cart.list", work);
        }
        let native = [".[libc]", ".thread_native_entry", ".Compile::Optimize"];
        check(
            &[&[".[C2 CompilerThread]"], &native[..]].concat(),
            "[C2 CompilerThread]",
            "compilation of bytecode",
        );
        let lambda = ["com.acme.A.f", "java.util.TimSort.sort", "com.acme.A.lambda$f$0"];
        check(&lambda, "com.acme.A.lambda$f$0", "own");
    }

    #[test]
    fn the_method_around_a_lambda_pays_for_its_object() {
        let streams = "java.util.stream.ReferencePipeline.forEach";
        let proxy = "com.acme.A$$Lambda.apply";
        check(&["com.acme.A.f", streams, proxy], "com.acme.A.f", "own");
        let reference = ["com.acme.A.f", streams, proxy, "java.lang.String.format"];
        check(&reference, "com.acme.A.f", "text formatting");
        let body = ["com.acme.A.f", streams, proxy, "com.acme.A.lambda$f$0"];
        check(&body, "com.acme.A.lambda$f$0", "own");
        // Where the class shows in this frame alone, it stays.
        check(&["com.acme.B.f", streams, proxy], proxy, "own");
        let thread = ["java.lang.Thread.run", proxy, "java.util.TimSort.sort"];
        check(&thread, proxy, "sorting");
    }

    #[test]
    fn who_throws_pays_for_the_exception() {
        let mut stack = vec![MAIN, "com.acme.A.f", "com.acme.Bad.<init>", "com.acme.Base.<init>"];
        check(&stack, "com.acme.Base.<init>", "own");
        stack.extend(["java.lang.RuntimeException.<init>", "java.lang.Throwable.<init>"]);
        stack.push("java.lang.Throwable.fillInStackTrace");
        check(&stack, "com.acme.A.f", "exceptions");
        check(&["com.acme.A.<init>", "java.lang.Error.<init>"], "com.acme.A.<init>", "exceptions");
    }

    #[test]
    fn paths_without_own_code_are_of_a_library_or_of_the_api() {
        check(
            &["java.lang.Thread.run", "io.netty.Loop.run", "sun.nio.ch.EPoll.wait"],
            "io.netty.Loop.run",
            "network",
        );
        check(
            &[
                "java.lang.Thread.run",
                "java.util.concurrent.ThreadPoolExecutor.getTask",
                "java.util.concurrent.LinkedBlockingQueue.take",
                "jdk.internal.misc.Unsafe.park",
            ],
            "java.util.concurrent.LinkedBlockingQueue.take",
            "jdk.internal.misc.Unsafe.park",
        );
        check(
            &["java.lang.String.valueOf", "java.lang.Double.toString", "sun.misc.X.dtoa"],
            "java.lang.String.valueOf",
            "numbers from and to text",
        );
        let inner = ["jdk.internal.A.b", "jdk.internal.misc.Unsafe.allocateInstance"];
        check(&inner, inner[0], inner[1]);
        check(&["java.lang.Thread.run"], "java.lang.Thread.run", "own");
        check(&[], "", "own");
    }

    #[test]
    fn waits_have_the_name_of_the_method_that_waits() {
        let stack = [MAIN, "com.acme.Db.get", "java.lang.Thread.sleep", "java.lang.Thread.sleep0"];
        let expected = ("com.acme.Db.get".to_owned(), "java.lang.Thread.sleep".to_owned());
        assert_eq!(charge(&stack, Naming::Callees), expected);
    }

    #[test]
    fn waits_are_the_programs_or_those_of_libraries() {
        let mut profile = Profile::default();
        let mut add = |stack: &[&str]| {
            let frames: Vec<_> = stack
                .iter()
                .map(|name| {
                    let method = method(&mut profile, name);
                    profile.symbols.frame(Frame::new(method, Line::Unknown))
                })
                .collect();
            profile.tree.insert(frames)
        };
        let own = add(&[MAIN, "java.lang.Thread.sleep"]);
        let library = add(&["java.lang.Thread.run", "io.netty.Loop.run", "sun.nio.ch.EPoll.wait"]);
        let pool = add(&["java.lang.Thread.run", "java.util.concurrent.LinkedBlockingQueue.take"]);
        let tree = MethodTree::new(&profile);
        let charges = Charges::new(&profile, &tree, &Owners::new(&profile), Naming::Callees);
        for (mut rows, kept) in
            [(vec![own, library, pool], vec![own]), (vec![library, pool], vec![library])]
        {
            charges.keep_program(&mut rows, |&node| tree.path(node));
            assert_eq!(rows, kept);
        }
    }

    #[test]
    fn callers_are_the_programs() {
        let mut profile = Profile::default();
        let mut frame = |name: &str| {
            let method = method(&mut profile, name);
            profile.symbols.frame(Frame::new(method, Line::Unknown))
        };
        let stack = [MAIN, "com.acme.A.f", "java.util.TimSort.sort", "com.acme.A.compare"];
        let frames = stack.map(&mut frame);
        let node = profile.tree.insert(frames);
        let tree = MethodTree::new(&profile);
        let charges = Charges::new(&profile, &tree, &Owners::new(&profile), Naming::Words);
        let caller = |path| charges.caller(&tree, path);
        let f = caller(charges.of(tree.path(node)).payer).unwrap();
        assert_eq!(tree.method(f), Some(profile.symbols.get_frame(frames[1]).method));
        assert_eq!(caller(caller(f).unwrap()), None);
    }
}
