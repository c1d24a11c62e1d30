//! The names of the metrics of a Jamaica profile. All are [`Metric::other`](perk_profile::Metric::other).

/// Bytecodes executed in the method itself, by method and line.
pub const BYTECODES: &str = "bytecodes";
/// Processor cycles in the method and all that it called.
pub const CYCLES: &str = "cycles";
/// Calls of a native method.
pub const NATIVE_CALLS: &str = "native calls";
/// Executions of the line's most executed instruction, by method and line.
pub const LINE_EXECUTIONS: &str = "line executions";
/// The number of the line's instructions, by method and line.
pub const LINE_INSTRUCTIONS: &str = "line instructions";
/// The number of the line's instructions that ran at least once, by method and line.
pub const LINE_INSTRUCTIONS_RUN: &str = "line instructions run";
/// Arrays allocated, by method and bytecode position.
pub const ARRAY_ALLOCATIONS: &str = "array allocations";
/// 1 for each class that the program uses by reflection.
pub const REFLECTION: &str = "classes used via reflection";
/// Words of the fields of live objects that hold references, on the system trace.
pub const HEAP_REFERENCES: &str = "heap references";
/// Words of the fields of live objects, on the system trace.
pub const HEAP_WORDS: &str = "heap words";
/// The most threads that were alive at the same time, on the system trace.
pub const THREADS: &str = "threads at once";
/// Processor cycles of a thread, by its root trace, as the next ones.
pub const THREAD_CYCLES: &str = "thread cycles";
/// A thread's largest priority.
pub const THREAD_PRIORITY: &str = "thread priority";
/// Percent of a thread's time: interpreted, compiled, JNI and GC code.
pub const THREAD_SHARES: [&str; 4] = [
    "thread interpreted percent",
    "thread compiled percent",
    "thread JNI percent",
    "thread GC percent",
];
/// The most bytes of a thread's C stack.
pub const C_STACK: &str = "thread C stack bytes";
/// The most bytes of a thread's Java stack.
pub const JAVA_STACK: &str = "thread Java stack bytes";
/// Blocks of one object, by class.
pub const BLOCKS: &str = "blocks per object";
/// 1 for each class whose loader is known, by the class and, in place of a method, the loader's name.
pub const LOADERS: &str = "class loaders";

/// Whether this metric is by source line.
pub fn is_by_line(name: &str) -> bool {
    [BYTECODES, LINE_EXECUTIONS, LINE_INSTRUCTIONS, LINE_INSTRUCTIONS_RUN].contains(&name)
}

/// Whether the metric is counted, and not measured: two runs that do the same have the same number.
pub fn is_exact(name: &str) -> bool {
    is_by_line(name) || [NATIVE_CALLS, ARRAY_ALLOCATIONS].contains(&name)
}

/// Whether a Jamaica profile has a metric of this name.
pub fn is_own(name: &str) -> bool {
    const OTHERS: [&str; 13] = [
        CYCLES,
        NATIVE_CALLS,
        ARRAY_ALLOCATIONS,
        REFLECTION,
        HEAP_REFERENCES,
        HEAP_WORDS,
        THREADS,
        THREAD_CYCLES,
        THREAD_PRIORITY,
        C_STACK,
        JAVA_STACK,
        BLOCKS,
        LOADERS,
    ];
    is_by_line(name) || OTHERS.contains(&name) || THREAD_SHARES.contains(&name)
}
