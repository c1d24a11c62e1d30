//! All ways in which Java code accesses fields and arrays, in each kind of JVM.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use perk_testkit::{JavaRun, Jdk, compiled_at_once, fixture, jdk};

use crate::{FILE, Record, counted, parse, read};

const PROGRAM: &str = "FieldAccesses";

/// The objects that `FieldAccesses` makes as often as its argument says: the method, the class, and
/// for each field the reads by the owner, the reads by others, the writes by the owner and by
/// others. Its own classes begin with `$`.
const EXPECTED: [&str; 38] = [
    "? $$Lambda, arg$2 0 1 0 1, arg$1 0 1 0 1",
    "? $Copied, value 0 0 0 2",
    "? [D, $arraylength 0 0 0 0, $components 0 3 0 3",
    "? [S, $arraylength 0 0 0 0, $components 0 0 0 1",
    "arrays [B, $arraylength 1 0 0 0, $components 0 0 1 0",
    "arrays [C, $arraylength 1 0 0 0, $components 1 0 2 0",
    "arrays [D, $arraylength 1 0 0 0, $components 0 0 2 0",
    "arrays [F, $arraylength 1 0 0 0, $components 0 0 1 0",
    "arrays [I, $arraylength 1 0 0 0, $components 1 0 1 0",
    "arrays [J, $arraylength 0 0 0 0, $components 2 0 2 0",
    "arrays [J, $arraylength 1 0 0 0, $components 0 0 3 0",
    "arrays [Ljava.lang.Object;, $arraylength 1 0 0 0, $components 1 0 1 0",
    "arrays [S, $arraylength 1 0 0 0, $components 1 0 1 0",
    "arrays [Z, $arraylength 1 0 0 0, $components 1 0 1 0",
    "clones $Copied, value 1 0 1 0",
    "clones [S, $arraylength 0 0 0 0, $components 1 0 2 0",
    "constructors $1, val$captured 3 0 1 0, more 2 0 1 0",
    "constructors $Inner, this$0 0 0 1 0, own 1 0 1 0",
    "constructors $Nested, second 1 0 1 0, first 1 0 2 0",
    "dimensions [[I, $arraylength 0 0 0 0, $components 0 0 1 0",
    "dimensions [[I, $arraylength 0 0 0 0, $components 0 0 2 0",
    "dimensions [[[I, $arraylength 0 0 0 0, $components 3 0 0 0",
    "exceptions $Failure, java.lang.Throwable.suppressedExceptions 0 0 2 0, \
     java.lang.Throwable.depth 0 0 0 0, java.lang.Throwable.stackTrace 0 0 2 0, \
     java.lang.Throwable.cause 0 0 2 0, java.lang.Throwable.detailMessage 0 0 1 0, \
     java.lang.Throwable.backtrace 0 0 0 0, code 1 0 1 0",
    "exceptions [C, $arraylength 0 0 0 0, $components 0 0 1 0",
    "exceptions [Ljava.lang.String;, $arraylength 0 0 0 0, $components 0 0 1 0",
    "headers $Locked, value 2 0 2 0",
    "headers [D, $arraylength 0 0 0 0, $components 3 0 3 0",
    "lambda$threads$0 $Handed, other 0 0 0 0, counter 0 1 0 1",
    "language $Pair, right 0 0 1 0, left 2 0 1 0",
    "newInstance $Reflected, value 1 0 1 0",
    "newInstance [F, $arraylength 0 0 0 0, $components 0 0 1 0",
    "newInstance [F, $arraylength 1 0 0 0, $components 0 0 1 0",
    "newInstance [[F, $arraylength 0 0 0 0, $components 1 0 0 0",
    "reflection $Reflected, value 0 0 1 0",
    "threads $Handed, other 1 0 0 1, counter 1 1 1 1",
    "threads [I, $arraylength 0 1 0 0, $components 0 1 1 0",
    "types $Types, $Base.wide 2 0 1 0, $Base.hidden 1 0 0 0, hidden 1 0 1 0, o 1 0 1 0, d 1 0 2 0, \
     f 1 0 1 0, i 1 0 1 0, s 1 0 1 0, c 1 0 1 0, b 1 0 1 0, z 1 0 1 0",
    "untouched $Handed, other 0 0 0 0, counter 0 0 0 0",
];

/// Objects that it makes in addition, with their numbers.
const BESIDES: [(&str, u64); 5] = [
    ("constructors FieldAccesses", 1),
    ("untouched [B, $arraylength 0 0 0 0, $components 0 0 0 0", 1),
    ("untouched [L$Types;, $arraylength 0 0 0 0, $components 0 0 0 0", 1),
    ("untouched [[L$Types;, $arraylength 0 0 0 0, $components 0 0 0 0", 1),
    ("newInstance [F, $arraylength 0 0 0 0, $components 0 0 0 0", 1),
];

fn run(jdk: &Jdk, options: &str, n: u64) -> JavaRun {
    counted(jdk, options).main(PROGRAM).args([n.to_string()])
}

/// Returns the text of a record, as in [`EXPECTED`].
fn text(record: &Record) -> String {
    let short = |class: &str| class.replace(&format!("{PROGRAM}$"), "$");
    // Without the number of a lambda's class.
    let class = record.class.split_inclusive("$$Lambda").next().unwrap_or_default();
    let mut text = format!("{} {}", record.method(), short(class));
    for ([class, name, _], [own_reads, other_reads, own_writes, other_writes]) in &record.fields {
        let name = match class == &record.class {
            true => name.clone(),
            false => format!("{}.{name}", short(class)),
        };
        let counts = format!("{own_reads} {other_reads} {own_writes} {other_writes}");
        let _ = write!(text, ", {name} {counts}");
    }
    text
}

/// Checks the records of the program's classes, and those of the arrays that its methods make.
#[track_caller]
fn assert_counted(jdk: &Jdk, run: &JavaRun, n: u64, what: &str) {
    let outcome = run.run();
    outcome.assert_success();
    assert_eq!(outcome.stderr, "", "{}", outcome.report());
    let mut found = BTreeMap::<String, u64>::new();
    for (record, count) in parse(outcome.bytes(FILE)).unwrap() {
        *found.entry(text(&record)).or_default() += count;
    }
    let mut expected: BTreeMap<String, u64> =
        EXPECTED.into_iter().map(|text| (text.to_owned(), n)).collect();
    for (text, count) in BESIDES {
        let count = if text.starts_with("constructors") { 1 } else { count * n };
        expected.insert(text.to_owned(), count);
    }
    let hash = if jdk.version < 21 { "" } else { "java.lang.Enum.hash 0 0 0 0, " };
    for weight_reads in [0, n] {
        let text = format!(
            "<clinit> $Level, {hash}java.lang.Enum.ordinal 1 0 1 0, java.lang.Enum.name 0 0 1 0, \
             weight {weight_reads} 0 1 0"
        );
        expected.insert(text, 1);
    }
    let has_virtual = outcome.value("virtual") == "yes";
    let lambdas = if has_virtual { 2 * n } else { n };
    expected.insert("? $$Lambda, arg$1 0 1 0 1".to_owned(), lambdas);
    if has_virtual {
        expected.insert("hops $Handed, other 0 1 0 1, counter 10 0 10 0".to_owned(), n);
    }
    for (text, count) in &expected {
        let known = found.get(text).copied().unwrap_or(0);
        assert_eq!(known, *count, "{} {what}: {text}\n{found:#?}", jdk.version);
    }
    let is_of_program = |text: &str| {
        let class = text.split([' ', ',']).nth(1).unwrap_or_default();
        class.starts_with('$') || class == PROGRAM
    };
    let others: Vec<_> =
        found.keys().filter(|&text| is_of_program(text) && !expected.contains_key(text)).collect();
    assert!(others.is_empty(), "{} {what}: {others:#?}", jdk.version);
}

/// Checks a run with options of the JVM, unless this JVM does not have them.
fn assert_counted_with(jdk: &Jdk, n: u64, flags: &[&str]) {
    let mut plain = JavaRun::new(jdk).main("ExitBySystemExit");
    let mut run = run(jdk, "", n);
    for flag in flags {
        (plain, run) = (plain.jvm_arg(flag), run.jvm_arg(flag));
    }
    if !plain.run().stderr.contains("VM option") {
        assert_counted(jdk, &run, n, &flags.join(" "));
    }
}

#[test]
fn every_access_is_counted() {
    jdk::each(|jdk| {
        assert_counted(jdk, &run(jdk, "", 5), 5, "");
        assert_counted(jdk, &run(jdk, ",aggregate=site", 5), 5, "aggregate=site");
        assert_counted(jdk, &run(jdk, ",memlimit=16m", 5), 5, "memlimit=16m");
    });
}

#[test]
fn with_every_collector() {
    jdk::each(|jdk| {
        for collector in ["Serial", "Parallel", "G1", "Z", "Shenandoah"] {
            assert_counted_with(jdk, 20, &[&format!("-XX:+Use{collector}GC")]);
        }
    });
}

#[test]
fn with_every_layout_of_objects() {
    jdk::each(|jdk| {
        for flags in [
            &["-XX:-UseCompressedOops"][..],
            &["-XX:ObjectAlignmentInBytes=16"],
            &["-XX:+UseCompactObjectHeaders"],
            &["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"],
        ] {
            assert_counted_with(jdk, 20, flags);
        }
    });
}

#[test]
fn by_every_compiler() {
    let program = compiled_at_once("Field*");
    jdk::each(|jdk| {
        for flag in ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"] {
            assert_counted_with(jdk, 50, &[flag]);
        }
        for flag in ["-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"] {
            let flags: Vec<&str> = program.iter().map(String::as_str).chain([flag]).collect();
            assert_counted_with(jdk, 20, &flags);
        }
    });
}

#[test]
fn the_verifier_and_the_checks_of_jni_find_nothing() {
    jdk::each(|jdk| {
        for flags in [
            &["-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal"][..],
            &["-Xcheck:jni"],
            &["-Xshare:off"],
        ] {
            assert_counted_with(jdk, 5, flags);
        }
    });
}

#[test]
fn a_packed_file_has_the_same() {
    jdk::each(|jdk| {
        let options = "fields=shared,file=o.tsv.gz";
        let packed = JavaRun::new(jdk).agent(options).main(PROGRAM).args(["5"]).run();
        packed.assert_success();
        let file = packed.bytes("o.tsv.gz");
        assert_eq!(file[..2], [0x1f, 0x8b]);
        let of_program = |records: BTreeMap<Record, u64>| {
            let records = records.into_iter().filter(|(record, _)| {
                record.class.contains(PROGRAM) && !record.is_of_hidden_class()
            });
            records.collect::<Vec<_>>()
        };
        let plain = of_program(read(&run(jdk, "", 5).run()));
        assert_eq!(of_program(parse(file).unwrap()), plain);
        assert!(plain.len() > 10);
    });
}

/// The two records of the sample that describes the analysis.
#[test]
fn the_records_of_the_sample() {
    let text = "\
        import java.nio.*; import java.util.*;
        public class Sample {
            static int sink;
            public static void main(String[] arguments) {
                ByteBuffer buffer = ByteBuffer.wrap(new byte[64], 0, 16);
                buffer.putInt(7);
                char[] array = Arrays.copyOf(new char[] {'a'}, 53);
                for (int i = 0; i < array.length; i++) { array[i] = 'x'; }
            }
        }";
    let classes = fixture::compile_text("Sample", text);
    jdk::each(|jdk| {
        let run = counted(jdk, ",site-index=disl2012").classes(&classes).main("Sample").run();
        run.assert_success();
        // Later versions have instructions for arrays of the same length before it.
        let index = if jdk.version < 21 { 2 } else { 11 };
        let expected = format!(
            "java/util/Arrays\x1ccopyOf\x1c([CI)[C\x1c{index}\t[C\n\
             [C\x1c$arraylength\x1cI\t54\t0\t0\t0\n\
             [C\x1c$components\x1c?\t0\t0\t53\t0\n\n"
        );
        let file = run.text(FILE);
        assert_eq!(file.matches(&expected).count(), 1, "{}", jdk.version);
        let head = "java/nio/ByteBuffer\x1cwrap\x1c([BII)Ljava/nio/ByteBuffer;\x1c2\t\
                    java.nio.HeapByteBuffer\n";
        let (_, record) = file.split_once(head).expect("a buffer");
        let (record, _) = record.split_once("\n\n").unwrap();
        let fields: Vec<&str> =
            record.lines().map(|line| line.split(['\x1c', '\t']).nth(1).unwrap()).collect();
        let mut expected = vec!["address", "capacity", "limit", "position", "mark"];
        // JDK 14 has added a field.
        expected.insert(0, "segment");
        expected.extend(["nativeByteOrder", "bigEndian", "isReadOnly", "offset", "hb"]);
        assert_eq!(fields, expected);
        let line = |field: &str| record.lines().find(|line| line.contains(field)).unwrap();
        for (field, counts) in
            [("\x1ccapacity\x1cI", "\t0\t1\t0"), ("\x1coffset\x1cI", "\t0\t1\t0")]
        {
            assert!(line(field).ends_with(counts), "{}", line(field));
        }
    });
}

#[test]
fn the_index_of_a_site() {
    let text = "\
        public class Places {
            static Object kept;
            public static void main(String[] arguments) {
                long wide = 5000;
                if (wide == arguments.length) { return; }
                kept = new Object[(int) wide];
            }
        }";
    let classes = fixture::compile_text("Places", text);
    // 0 ldc2_w, 3 lstore_1, 4 lload_1, 5 aload_0, 6 arraylength, 7 i2l, 8 lcmp, 9 ifne, 12 return,
    // 13 lload_1, 14 l2i, 15 anewarray; the target of the branch is a label.
    jdk::on(17, |jdk| {
        for (option, index) in [("", 11), ("instruction", 11), ("bci", 15), ("disl2012", 13)] {
            let option = if option.is_empty() { "" } else { &format!(",site-index={option}") };
            let records = read(&counted(jdk, option).classes(&classes).main("Places").run());
            let sites: Vec<_> = records.keys().filter(|it| it.is_of("Places")).collect();
            let site = sites[0].site.as_ref().unwrap();
            assert_eq!(
                (sites.len(), site[3].as_str()),
                (1, index.to_string().as_str()),
                "{option}"
            );
        }
    });
}
