//! The help text and the documentation. Both are generated from the table.

use std::fmt::Write;

use super::table::{Section, Spec, TABLE};

/// Returns the text that the option `help` prints on stdout.
///
/// The lines on the original's options, the examples and the notes are taken from the original.
pub fn usage() -> String {
    let mut text = String::from(
        "
     perk: a profiler for the JVM that takes HPROF's options

hprof usage: java -agentlib:hprof=[help]|[<option>=<value>, ...]

Option Name and Value  Description                    Default
---------------------  -----------                    -------
",
    );
    for spec in section(Section::Main) {
        push_row(&mut text, &written(spec), spec.about, spec.default);
    }
    text.push_str("\nObsolete Options\n----------------\n");
    for spec in section(Section::Obsolete) {
        text = text + &written(spec) + "\n";
    }
    text.push_str(
        "
Examples
--------
  - Get sample cpu information every 20 millisec, with a stack depth of 3:
      java -agentlib:hprof=cpu=samples,interval=20,depth=3 classname
  - Get heap usage information based on the allocation sites:
      java -agentlib:hprof=heap=sites classname

Notes
-----
  - The option format=b cannot be used with monitor=y.
  - The option format=b cannot be used with cpu=old|times.
  - Use of the -Xrunhprof interface can still be used, e.g.
       java -Xrunhprof:[help]|[<option>=<value>, ...]
    will behave exactly the same as:
       java -agentlib:hprof=[help]|[<option>=<value>, ...]

perk's additions
----------------
",
    );
    for spec in section(Section::Perk) {
        push_row(&mut text, &written(spec), spec.about, spec.default);
    }
    for spec in TABLE {
        for addition in spec.additions {
            let written = format!("{}={}", spec.name, addition.values);
            push_row(&mut text, &written, addition.about, "");
        }
    }
    push_row(&mut text, "jvmpi[=<lib>[=...]]", "run a profiler of JVMPI", "");
    text.push_str("\nWarnings\n--------\n");
    text.push_str("  - Samples are estimates; a method with only a few samples may be chance.\n");
    text
}

/// Returns the contents of `docs/options.md`. A test compares them with the file.
pub fn options_markdown() -> String {
    let mut text = String::from(
        "# Options of the agent

<!-- Written from the table in crates/control/src/options/table.rs:
     UPDATE_EXPECT=1 cargo test -p perk-control -->

`java -agentlib:hprof=<option>=<value>,<option>=<value>,...` or `-agentpath:<libperk.so>=...`.
The names, values, defaults and messages are those of HPROF, the agent that JDK 8 and older came
with. `help` as the whole string prints a summary on stdout. The environment variable
`_JAVA_HPROF_OPTIONS` is appended to the options after a comma.

Blanks are kept and case matters. An option given twice has its last value, except that
`heap`, `cpu`, `include` and `exclude` add up, and that `file` and `net` may appear only once
between them. Without any analysis (`heap`, `cpu`, `monitor`, `aprof`, `xprof`) the default is `heap=all`.
`cpu=times|old` and `monitor=y` cannot be used with `format=b`.

A wrong option is one line on stderr and exit code 1, before the program starts:

```
HPROF ERROR: hprof option error: Unknown option: foo (foo=bar) [hprof_init.c:495]
```

",
    );
    push_table(&mut text, "Options", section(Section::Main));
    text.push('\n');
    push_table(&mut text, "perk's additions", section(Section::Perk));
    for spec in TABLE {
        for addition in spec.additions {
            push_markdown_row(&mut text, spec.name, addition.values, addition.about, "");
        }
    }
    text.push_str(
        "
A unit in `interval` is `us`, `ms` or `s`; a number without one is in milliseconds. `k` is 1024,
`m` 1024 * 1024 and `g` 1024 * 1024 * 1024. With `force=n` a file that exists is not overwritten: the process id goes into
the name, before a `.txt` ending of text output and at the end of the name of binary output.

- `engine=signal` interrupts threads where they run (Linux on x86-64). `engine=polling` walks their
  stacks at their next safepoint, a method or two after the place where the time went.
  `engine=auto` is `signal` where that works, and else `polling`, with a warning; with `net`, whose
  commands are for single threads, it is `polling`.
- `native=y` adds the functions of native code and the JVM's stubs to CPU samples by signals, above
  the Java method that called them (`format=p`), and above these the functions of the kernel, if the
  system permits it (`kernel.perf_event_paranoid` below 2, or `CAP_PERFMON`; the names need
  `kernel.kptr_restrict=0`, or are `[kernel]`). A stub has the JVM's name for it, such as
  `jbyte_disjoint_arraycopy`. Without `native=y` its time is that of its caller, as in all forms.
- `timing=tick` has a thread of the agent look, every 250 us, where each thread is, at no cost in the
  calls; `timing=exact` reads `System.nanoTime` at each entry and exit, about 40 ns per call;
  `timing=none` only counts.
- `clock=cpu` is the CPU time of the thread, `clock=wall` the wall-clock time, including time
  blocked and asleep. With `timing=exact` the clock is `wall`, and `clock=cpu` is refused.
- `include` and `exclude` take names of classes and methods, separated by a colon as a comma would end
  the value, with `*` for any characters, such as `com.acme.*:Parser:HashMap.put`. A name that begins
  with a package is compared from the beginning (`java.*` is not `com.acme.java.Foo`), any other also
  from the name of a class or method on. A class stands for all its methods and for its inner classes.
  A method that is left out is counted at the call, and its allocations are counted. A name that no
  class or method has is reported on stderr at the end.
- `app` takes the same names, of the classes that are the program's own: reports charge the time in others to
  these. Without it they are the packages of the main class and of the class path's folders. Only
  `format=p` keeps it.
- `sample` makes `heap=sites` an estimate from one sample per so many bytes allocated, on average;
  without it every allocation is counted. It is refused without `heap=sites`.
- `thread-kinds=platform` has `thread=y` tell platform threads apart, and only in samples and waits: all
  virtual threads are one, and exact counts are those of all threads. It is refused without `thread=y`.
- `gc=y` collects garbage before a dump, so that `heap=sites` counts no dead object as live.
- `live=n` counts allocated objects alone: no object gets a field or an identity hash, and no walk of
  the heap looks for those that live, whose numbers the file then says are not known. It is refused
  without `heap=sites` and `format=p`.
- `locks=y` makes `monitor=y` measure also how long threads park for the locks and queues of
  `java.util.concurrent`. It is refused without `monitor=y`.
- `aprof=y` counts the objects and bytes allocated for each class over the whole run, as the JVM's
  `-Xaprof` did, and prints the table on stdout at exit; with `format=p` it is only in the file.
- `aprof=between` prints that table on stdout at each dump, with the allocations since the dump
  before, or since the start. Send SIGQUIT when the period to measure begins and when it ends. A line
  above each table gives its period. The file has the whole run, as with `aprof=y`.
- `xprof=y` prints the tables of the JVM's `-Xprof` on stdout, as the original did: those of a thread when it
  has ended, all others and a summary when the program ends. Without another analysis, `file` names a
  file for them, and no other file is written. `xprof=tiers` lists what C1 and C2 have compiled in
  tables of their own, `xprof=inlined` the methods that were inlined instead of those that they were
  inlined into, `xprof=all` every method and not only the first 10 of each table; a colon joins them, as
  in `xprof=tiers:inlined`. It needs the signals of `engine=signal`, whatever samples `cpu=samples`
  takes. [xprof.md](xprof.md) describes the tables.
- `max-nodes` limits the call trees: calls on paths beyond it are counted by method alone.
- `memlimit` is a number of bytes; `k`, `m` and `g` after it mean KiB, MiB and GiB. It limits the memory of the call
  traces of samples (`cpu=samples`, `wall`, `heap=sites` with `sample`) and of waits (`monitor=y`), which
  grows with each new stack; the default is for them. At the limit, a sample with a new stack is booked
  below those of its outermost frames that are known, on a frame `perk.[memory limit reached]`: no sample
  and no time is lost, and the totals of threads stay right. The number of such samples is in a warning
  at the end and in reports. The times of samples (`format=p`) take another eighth of the limit at most.
  Names and threads are not limited. It also limits the call trees and sites of exact counts (`cpu=times`,
  `heap=sites`), with what a dump makes of them: a call on a path that has no room is counted by method
  alone, below `<folded>`, a new site by class alone, and a warning says so. With `max-nodes` alone there
  are as many nodes as it says. With `fields=shared`
  `memlimit` limits the records of objects, and its default is `4096m`.
- `start=n` measures nothing until `perk start PID`; `perk stop PID` pauses it. What is counted
  exactly cannot be paused.
- `delay=10s` and `duration=30s` measure a part of the run: they begin that long after the program's start,
  and end the recording and its file that long after its beginning. The program goes on. What is counted
  exactly (`cpu=times|old`, `heap=sites`) has its probes from the start on until the program ends; the
  counts begin from zero after `delay`, and end with `duration`. Of a site with objects that lived before,
  no more live objects are counted than were allocated since.
- `flush=5s` shows the profile so far under the file's name at least that often, from the first second on,
  so that it is there if the program is killed (`format=p`). Each flush that takes long makes the next ones
  rarer: all of them together take at most 2 % of the time. Live objects are not counted for it.
- `secrets=n` writes `***` in place of passwords, tokens and keys of the program's command line, which the
  file has as the name of the program: where an option or parameter is called so (`--password=…`,
  `--api-key …`, `?token=…`), and in URLs with a user. The options of the JVM itself are not in the file.
- `cache=y` keeps the classes of the JDK that every program loads, with their probes, in
  `perk/classes` in the user's cache folder, for `cpu=times|old` and `heap=sites` without `include`
  and `exclude`; a later JVM starts faster with them. `cache=n` neither reads nor writes there.
- `jvmpi` runs a profiler library of JVMPI instead of perk's own analyses, and has options of its own:
  [jvmpi.md](jvmpi.md).
- `format=p` is HPROF binary with records of perk's own, which keep the full depth of every analysis;
  `perk report` and `perk convert` read it.

",
    );
    push_table(&mut text, "Unlisted options of HPROF", section(Section::Undocumented));
    text.push('\n');
    push_table(&mut text, "Accepted without effect", section(Section::Obsolete));
    text.push_str("\n## Removed from HPROF itself\n\n");
    for spec in section(Section::Removed) {
        let _ = writeln!(text, "- `{}`: refused, with a hint at `-XX:OnError`", spec.name);
    }
    text
}

fn section(section: Section) -> impl Iterator<Item = &'static Spec> {
    TABLE.iter().filter(move |spec| spec.section == section)
}

fn written(spec: &Spec) -> String {
    format!("{}={}", spec.name, spec.values)
}

fn push_row(text: &mut String, option: &str, about: &str, default: &str) {
    let row = format!("{option:<22} {about:<30} {default}");
    text.push_str(row.trim_end());
    text.push('\n');
}

fn push_table(text: &mut String, title: &str, specs: impl Iterator<Item = &'static Spec>) {
    let _ =
        write!(text, "## {title}\n\n| option | values | default | meaning |\n|---|---|---|---|\n");
    for spec in specs {
        push_markdown_row(text, spec.name, spec.values, spec.about, spec.default);
    }
}

fn push_markdown_row(text: &mut String, name: &str, values: &str, about: &str, default: &str) {
    let values = values.replace('|', "\\|");
    let about = about.replace('<', "\\<");
    let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
    let _ = writeln!(text, "| `{name}` | `{values}` | {default} | {about} |");
}
