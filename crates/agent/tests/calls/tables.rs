//! The complete numbers of calls between the methods of the fixtures, by arithmetic.

use std::collections::BTreeMap;

/// Calls by callee and caller.
pub(crate) type Pairs = BTreeMap<(String, String), u64>;

/// Callee, caller, calls. Names are relative to the program's own class, or begin with its `$`; the
/// caller "" is code of the JDK, and `main` is that of `Calls`.
type Table = &'static [(&'static str, &'static str, u64)];

const N: u64 = 1000;
const FEW: u64 = 100;

/// Calls by all means of the language: `CallsLanguage`.
const LANGUAGE: Table = &[
    ("run", "main", 1),
    ("lambdas", "run", N),
    ("records", "run", N),
    ("interfaces", "run", N),
    ("locks", "run", N),
    ("generics", "run", N),
    ("natives", "run", N),
    ("varargs", "run", N),
    ("copies", "run", N),
    ("$Copied.<init>", "copies", N),
    ("$Copied.copy", "copies", N),
    ("reflection", "run", FEW),
    ("streams", "run", 1),
    ("iterators", "run", 1),
    ("sleeps", "run", 1),
    // Initialised by its first call.
    ("$Lazy.<clinit>", "run", 1),
    ("$Lazy.first", "$Lazy.<clinit>", 1),
    ("$Lazy.next", "run", N),
    ("$Op.<clinit>", "run", 1),
    ("$Op.$values", "$Op.<clinit>", 1),
    ("$Op$1.<init>", "$Op.<clinit>", 1),
    ("$Op$2.<init>", "$Op.<clinit>", 1),
    ("$Op.<init>", "$Op$1.<init>", 1),
    ("$Op.<init>", "$Op$2.<init>", 1),
    ("$Op.values", "run", N),
    ("$Op$1.apply", "run", N / 2),
    ("$Op$2.apply", "run", N / 2),
    ("$Outer.<init>", "run", N),
    ("$Outer$Inner.<init>", "run", N),
    ("$Outer$Inner.get", "run", N),
    // The classes of lambdas and method references are hidden: their callers count as callers.
    ("lambda$lambdas$0", "lambdas", N),
    ("lambda$lambdas$1", "lambdas", N),
    ("twice", "lambda$lambdas$0", N),
    ("twice", "lambda$lambdas$1", N),
    ("twice", "lambdas", N),
    ("$Point.name", "lambdas", N),
    ("$Point.x", "lambdas", N),
    ("$Point.y", "lambdas", N),
    ("$Point.<init>", "lambdas", 2 * N),
    ("$Point.<init>", "records", 2 * N),
    ("$Point.check", "$Point.<init>", 4 * N),
    ("$Point.equals", "records", N),
    ("$Point.hashCode", "records", N),
    ("$Point.toString", "records", N),
    // Squares and cubes in turn.
    ("$Shape.unit", "interfaces", N / 2),
    ("$Square.<init>", "$Shape.unit", N / 2),
    ("$Cube.<init>", "interfaces", N / 2),
    ("$Square.<init>", "$Cube.<init>", N / 2),
    ("$Shape.scaled", "interfaces", N / 2),
    ("$Cube.scaled", "interfaces", N / 2),
    ("$Shape.scaled", "$Cube.scaled", N / 2),
    ("$Shape.doubled", "$Shape.scaled", N),
    ("$Square.area", "$Shape.doubled", N / 2),
    ("$Cube.area", "$Shape.doubled", N / 2),
    ("$Square.area", "$Cube.area", N / 2),
    ("<init>", "locks", N),
    ("lockThis", "locks", N),
    ("lockClass", "lockThis", N),
    ("$Box.<init>", "generics", 2 * N),
    ("compare", "generics", N),
    // The bridge, and its callee.
    ("$Box.compareTo", "compare", N),
    ("$Box.compareTo", "$Box.compareTo", N),
    // Called by Method.invoke and by a method handle.
    ("target", "", 2 * FEW),
    ("lambda$reflection$2", "", FEW),
    ("handle", "lambda$reflection$2", FEW),
    ("$Square.<init>", "", FEW),
    ("lambda$streams$3", "", N),
    ("odd", "lambda$streams$3", N),
    ("twice", "", N / 2),
    ("$Steps.<init>", "iterators", 1),
    ("$Steps.hasNext", "iterators", N + 1),
    ("$Steps.next", "iterators", N),
    ("$Steps.next", "$Steps.next", N),
    ("$Steps.step", "$Steps.next", N),
    ("twice", "$Steps.step", N.div_ceil(3)),
    ("twice", "iterators", 3),
];

/// The calls from `CallsLanguage` and `CallsThrowing` to methods of the JDK that are native, or for
/// which the JIT has code of its own: callee, caller, calls.
pub(crate) const LEAVES: [(&str, &str, u64); 7] = [
    ("java.lang.System.arraycopy", "CallsLanguage.natives", N),
    ("java.lang.System.identityHashCode", "CallsLanguage.natives", 2 * N),
    ("java.lang.System.nanoTime", "CallsLanguage.natives", N),
    ("java.lang.Math.max", "CallsLanguage.natives", N),
    ("java.lang.Thread.sleep", "CallsLanguage.sleeps", 5),
    ("java.lang.System.arraycopy", "CallsThrowing.fromNative", N),
    // Not a leaf: it hides one.
    ("java.util.ArrayList.clone", "CallsLanguage$Copied.copy", N),
];

/// The depth of the recursions.
const LEVELS: u64 = 20;

/// Exceptions: `CallsThrowing`. The callers of `caught` are the methods that caught them.
const THROWING: Table = &[
    ("run", "main", 1),
    ("everyLevel", "run", N),
    ("level", "everyLevel", N),
    ("level", "level", LEVELS * N),
    ("$Failure.<init>", "level", N),
    ("caught", "level", LEVELS * N),
    ("caught", "everyLevel", N),
    // Even levels from 20 to 0, odd ones from 19 to -1; caught at 1, 3, 5, 7, 9 and 11.
    ("mutual", "run", N),
    ("even", "mutual", N),
    ("even", "odd", LEVELS / 2 * N),
    ("odd", "even", (LEVELS / 2 + 1) * N),
    ("$Failure.<init>", "odd", N),
    ("caught", "odd", 6 * N),
    // Each way once: before super(...), in it, after it, not at all.
    ("constructs", "run", 4 * N),
    ("$Derived.<init>", "constructs", 4 * N),
    ("$Derived.before", "$Derived.<init>", 4 * N),
    ("raise", "$Derived.before", N),
    ("$Base.<init>", "$Derived.<init>", 3 * N),
    ("raise", "$Base.<init>", N),
    ("$Derived.after", "$Derived.<init>", 2 * N),
    ("raise", "$Derived.after", N),
    ("caught", "constructs", 3 * N),
    // Five nested constructors; caught 1, 2, 3 and 4 times.
    ("chains", "run", 4 * N),
    ("$Chain.<init>", "chains", 4 * N),
    ("$Chain.<init>", "$Chain.<init>", 16 * N),
    ("raise", "$Chain.<init>", 4 * N),
    ("caught", "$Chain.<init>", 10 * N),
    ("beforeSuper", "run", N),
    ("$Nest.<init>", "beforeSuper", N),
    ("$Nest.inner", "$Nest.<init>", 5 * N),
    ("$Nest.<init>", "$Nest.inner", 5 * N),
    ("$Nest.deepest", "$Nest.<init>", N),
    ("raise", "$Nest.deepest", N),
    ("caught", "beforeSuper", N),
    ("finallyReturns", "run", N),
    ("raise", "finallyReturns", N),
    ("reach", "finallyReturns", N),
    ("finallyThrows", "run", N),
    ("raise", "finallyThrows", 2 * N),
    ("reach", "finallyThrows", N),
    ("caught", "finallyThrows", N),
    ("nested", "run", N),
    ("raise", "nested", 2 * N),
    ("reach", "nested", 2 * N),
    ("caught", "nested", N),
    ("implicit", "run", 6 * N),
    ("caught", "implicit", 6 * N),
    ("fromNative", "run", N),
    ("caught", "fromNative", N),
    ("locked", "run", N),
    ("lockedAndRaises", "locked", N),
    ("lockedAndRaises", "lockedAndRaises", 3 * N),
    ("raise", "lockedAndRaises", N),
    ("caught", "locked", N),
    ("fromLambda", "run", N),
    ("call", "fromLambda", N),
    ("lambda$fromLambda$0", "call", N),
    ("raise", "lambda$fromLambda$0", N),
    ("caught", "fromLambda", N),
    ("fromReflection", "run", FEW),
    ("raise", "", FEW),
    ("caught", "fromReflection", FEW),
    ("fromLibrary", "run", FEW),
    ("caught", "fromLibrary", 2 * FEW),
    ("throughLibrary", "run", FEW),
    ("lambda$throughLibrary$1", "", FEW),
    ("raise", "lambda$throughLibrary$1", FEW),
    ("caught", "throughLibrary", FEW),
    ("stack", "run", 1),
    ("raise", "stack", 1),
    ("caught", "stack", 1),
    // The sum of the calls of `raise`.
    ("$Failure.<init>", "raise", 15 * N + 2 * FEW + 1),
];

pub(crate) const DEPTH: u64 = 10_000;

/// Deep recursion, and one chain of calls by two ways: `CallsDeep`.
const DEEP: Table = &[
    ("run", "main", 1),
    ("inThread", "run", 1),
    ("calls", "", 1),
    ("down", "calls", 10),
    ("down", "down", 10 * DEPTH),
    ("ping", "calls", 10),
    ("pong", "ping", 10 * DEPTH / 2),
    ("ping", "pong", 10 * DEPTH / 2),
    ("x", "calls", N),
    ("y", "calls", 2 * N),
    ("a", "x", N),
    ("a", "y", 2 * N),
    ("b", "a", 3 * N),
    ("c", "b", 3 * N),
    ("d", "c", 3 * N),
    ("e", "d", 3 * N),
    ("f", "e", 3 * N),
    ("g", "f", 3 * N),
];

/// A program that continues after its stack overflowed: `CallsOverflow`, without the methods that
/// overflow it.
const OVERFLOW: Table = &[
    ("run", "main", 1),
    ("rounds", "", 1),
    ("overflows", "rounds", 10),
    ("cleansUp", "rounds", 10),
    ("caught", "overflows", 10),
    ("caught", "cleansUp", 10),
    ("after", "rounds", 20),
    ("inner", "after", 20 * N),
];

const THREADS: u64 = 3000;
/// Fibonacci numbers: F(18 + 1), the leaves of the tree of tasks, and all its nodes.
const LEAF_TASKS: u64 = 4181;
const TASKS: u64 = 2 * LEAF_TASKS - 1;

/// Threads and tasks: `CallsThreads`.
const OF_THREADS: Table = &[
    ("<clinit>", "main", 1),
    ("run", "main", 1),
    ("wave", "run", THREADS / 50),
    ("lambda$wave$1", "", THREADS),
    ("body", "lambda$wave$1", THREADS),
    ("call", "body", 10 * THREADS),
    ("dies", "body", THREADS / 3),
    ("dies", "dies", 10 * THREADS / 3),
    ("lambda$wave$2", "", THREADS / 3),
    ("died", "lambda$wave$2", THREADS / 3),
    // The root and the left branches are run by the pool, by a bridge; the right ones are called.
    ("$Fib.<init>", "run", 1),
    ("$Fib.<init>", "$Fib.compute", TASKS - 1),
    ("$Fib.compute", "", LEAF_TASKS),
    ("$Fib.compute", "$Fib.compute", TASKS),
    ("$Fib.leaf", "$Fib.compute", LEAF_TASKS),
    ("lambda$run$0", "", THREADS),
    ("mapped", "lambda$run$0", THREADS),
    ("hands", "run", 1),
    ("taken", "hands", 500),
    ("lambda$hands$3", "", 1),
    ("answers", "lambda$hands$3", 1),
    ("answer", "answers", 500),
];

const VIRTUAL_THREADS: u64 = 500;
const HOPS: u64 = 20 * VIRTUAL_THREADS;

/// Virtual threads that leave their carriers: `CallsVirtual`.
const OF_VIRTUAL_THREADS: Table = &[
    ("<clinit>", "main", 1),
    ("run", "main", 1),
    ("lambda$run$1", "", VIRTUAL_THREADS),
    ("travels", "lambda$run$1", VIRTUAL_THREADS),
    ("hops", "travels", HOPS),
    ("hops", "hops", 5 * HOPS),
    ("landed", "hops", 5 * HOPS),
    ("note", "travels", HOPS),
    // Every tenth dies.
    ("lambda$run$0", "", VIRTUAL_THREADS / 10),
];

/// Returns a key of [`Pairs`].
pub(crate) fn pair(callee: &str, caller: &str) -> (String, String) {
    (callee.to_owned(), caller.to_owned())
}

/// Returns the calls of a run of `Calls` with these parts.
pub(crate) fn expected(parts: &[&str]) -> Pairs {
    let mut pairs = Pairs::from([(pair("Calls.main", ""), 1)]);
    for part in parts {
        let table = match *part {
            "Language" => LANGUAGE,
            "Throwing" => THROWING,
            "Deep" => DEEP,
            "Overflow" => OVERFLOW,
            "Threads" => OF_THREADS,
            "Virtual" => OF_VIRTUAL_THREADS,
            _ => panic!("no part {part}"),
        };
        let name = |name: &str| match name {
            "" => String::new(),
            "main" => "Calls.main".to_owned(),
            nested if nested.starts_with('$') => format!("Calls{part}{nested}"),
            method => format!("Calls{part}.{method}"),
        };
        for (callee, caller, count) in table {
            let known = pairs.insert((name(callee), name(caller)), *count);
            assert_eq!(known, None, "{part}: {callee} <- {caller} is there twice");
        }
    }
    pairs
}
