//! The live objects, the threads and the classes used by reflection in JamaicaVM's profile
//! (`jamaica=y`), compared with arithmetic and with the JVM's own numbers.

#![forbid(unsafe_code)]

use std::time::Duration;

use perk_testkit::{JavaRun, Jdk, Outcome, Signal, jdk};

const FILE: &str = "Main.prof";

fn run(jdk: &Jdk, program: &str) -> JavaRun {
    JavaRun::new(jdk).main(program).agent(&format!("jamaica=y,file={FILE}"))
}

/// Returns the words of the lines with a keyword, without it.
#[track_caller]
fn lines<'a>(outcome: &'a Outcome, keyword: &str) -> Vec<Vec<&'a str>> {
    outcome.assert_success();
    assert!(!outcome.stderr.contains("ERROR"), "{}", outcome.report());
    let text = std::str::from_utf8(outcome.bytes(FILE)).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix(keyword)?.strip_prefix(": "));
    lines.map(|line| line.split_whitespace().collect()).collect()
}

/// Returns the number and the bytes of the live objects of a class.
#[track_caller]
fn live(outcome: &Outcome, class: &str) -> (u64, u64) {
    let lines = lines(outcome, "HEAP_USE");
    let line = lines.iter().find(|words| words.last() == Some(&class));
    let words = line.unwrap_or_else(|| panic!("{class} in {lines:?}"));
    let mut after = words.iter().skip_while(|word| !word.starts_with("bytes"));
    let bytes = after.find_map(|word| word.parse().ok()).unwrap();
    (words[0].parse().unwrap(), bytes)
}

/// Returns the same of the histogram that the program has printed.
fn printed(stdout: &str, class: &str) -> (u64, u64) {
    let mut rows = stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.get(3) == Some(&class)).unwrap();
    (row[1].parse().unwrap(), row[2].parse().unwrap())
}

/// Returns the references and the words in fields of live objects.
fn references(outcome: &Outcome) -> [i64; 2] {
    let lines = lines(outcome, "HEAP_REFS");
    [0, 2].map(|place| lines[0][place].parse().unwrap())
}

#[test]
fn live_objects_are_those_of_the_jvms_histogram() {
    const PROGRAM: &str = "CensusHeap";
    let all = ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC", "-XX:+UseZGC"];
    jdk::each(|jdk| {
        for flag in all {
            let plain = JavaRun::new(jdk).main(PROGRAM).jvm_arg(flag).args(["1000", "print"]).run();
            plain.assert_success();
            let few = run(jdk, PROGRAM).jvm_arg(flag).args(["1000"]).run();
            let many = run(jdk, PROGRAM).jvm_arg(flag).args(["101000"]).run();
            for class in ["CensusHeap$Plain", "CensusHeap$Extended", "CensusHeap$Empty"] {
                let (count, bytes) = live(&few, class);
                assert_eq!((count, bytes), printed(&plain.stdout, class), "{flag} {class}");
                assert_eq!(count, 1000);
                assert_eq!(live(&many, class), (101_000, bytes * 101), "{flag} {class}");
            }
            let arrays = live(&many, "[I").0 - live(&few, "[I").0;
            assert!(arrays.abs_diff(100_000) < 200, "{flag}: {arrays}");
            // References are words: of 4 bytes, or of 8 with ZGC.
            let words = if flag == "-XX:+UseZGC" { 4 + 5 } else { 5 + 7 };
            let more = [2 + 3, words].map(|it| it * 100_000);
            let [few, many] = [few, many].map(|it| references(&it));
            for place in [0, 1] {
                let found = many[place] - few[place];
                assert!((found - more[place]).abs() < 2000, "{flag} {place}: {found} {more:?}");
            }
        }
    });
}

/// Returns the priority, the cycles and the bytes of the stack of a thread.
#[track_caller]
fn thread(outcome: &Outcome, name: &str) -> (u64, u64, u64) {
    let name = format!("({name})");
    let lines = lines(outcome, "PROFILE_THREAD");
    let is_it = |words: &&Vec<&str>| words.join(" ").ends_with(&name);
    let words = lines.iter().find(is_it).unwrap_or_else(|| panic!("{name} in {lines:?}"));
    let after = |word| words.iter().skip_while(|it| **it != word).nth(1).unwrap().parse().unwrap();
    (words[0].parse().unwrap(), words[1].parse().unwrap(), after("C"))
}

#[test]
fn threads_are_counted() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "CensusThreads").args(["3000"]).run();
        let most = lines(&outcome, "PROFILE_THREADS");
        let printed = outcome.stdout.trim().strip_prefix("peak ").unwrap();
        assert_eq!(most, [[printed]]);
        for (priority, letter) in (1..=10).zip('a'..='j') {
            assert_eq!(thread(&outcome, &format!("crowd{letter}")).0, priority);
        }
        // This one works for 600 ms.
        let (_, cycles, little_stack) = thread(&outcome, "crowdf");
        let hz = cycles as f64 / 0.6;
        let known = cpu_hz().unwrap_or(hz);
        assert!((0.5..2.0).contains(&(hz / known)), "{hz} {known}");
        assert!(thread(&outcome, "crowda").1 < cycles / 2);
        // This one calls 20,000 methods deep; a frame has 16 bytes at least.
        let (_, _, much_stack) = thread(&outcome, "crowdc");
        assert!(little_stack > 4096 && little_stack < 300_000, "{little_stack}");
        assert!((320_000 + little_stack..64 << 20).contains(&much_stack), "{much_stack}");
        // Threads without number do not make the file large without bound.
        let threads = lines(&outcome, "PROFILE_THREAD");
        assert!(threads.len() < 1100, "{}", threads.len());
        assert!(threads.iter().any(|words| words.last() == Some(&"(short-*)")));
    });
}

#[test]
fn a_dump_on_request_has_the_time_since_the_one_before() {
    jdk::each(|jdk| {
        let mut running = run(jdk, "SpinUntilStop").spawn();
        running.wait_for_stdout("ready");
        std::thread::sleep(Duration::from_secs(1));
        running.signal(Signal::QUIT);
        running.wait_until("the dump", |running| {
            let text = std::fs::read_to_string(running.dir().join(FILE)).unwrap_or_default();
            text.contains("PROFILE_THREADS: ")
        });
        std::fs::write(running.dir().join("stop"), "").unwrap();
        let outcome = running.wait();
        for keyword in ["HEAP_REFS", "PROFILE_THREADS"] {
            assert_eq!(lines(&outcome, keyword).len(), 2, "{keyword} on {}", jdk.version);
        }
        let threads = lines(&outcome, "PROFILE_THREAD");
        let of_main = threads.iter().filter(|words| words.last() == Some(&"(main)"));
        let cycles: Vec<u64> = of_main.map(|words| words[1].parse().unwrap()).collect();
        assert!(cycles.len() == 2 && cycles[0] > cycles[1], "{cycles:?}");
    });
}

/// Returns the percentages of a thread's time in interpreted, compiled and native code.
#[track_caller]
fn shares(outcome: &Outcome, name: &str) -> [u64; 3] {
    let name = format!("({name})");
    let lines = lines(outcome, "PROFILE_THREAD");
    let words = lines.iter().find(|words| words.join(" ").ends_with(&name)).unwrap();
    ["int", "comp", "jni"].map(|kind| {
        let share = words.iter().skip_while(|it| **it != kind).nth(1).unwrap();
        share.trim_end_matches('%').parse().unwrap()
    })
}

#[test]
fn time_is_that_of_interpreted_compiled_and_native_code() {
    jdk::each(|jdk| {
        for (flag, place) in [("-Xint", 0), ("-XX:TieredStopAtLevel=1", 1), ("-Xmixed", 1)] {
            let outcome = run(jdk, "CensusModes").jvm_arg(flag).args(["800"]).run();
            let java = shares(&outcome, "works in Java");
            assert!(java[place] >= 60, "{} {flag}: {java:?}", jdk.version);
            let natives = shares(&outcome, "works in C");
            assert!(natives[2] >= 50, "{} {flag}: {natives:?}", jdk.version);
            for shares in [java, natives] {
                assert!((98..=100).contains(&shares.iter().sum::<u64>()), "{shares:?}");
            }
        }
    });
}

/// Returns the processor's rate as the system knows it.
fn cpu_hz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    Some(line.rsplit(' ').next()?.parse::<f64>().ok()? * 1e6)
}

#[test]
fn collectors_are_threads_of_their_own() {
    for flag in ["-XX:+UseSerialGC", "-XX:+UseG1GC"] {
        let jdk = jdk::compiler();
        let outcome = run(jdk, "CensusHeap").jvm_arg(flag).args(["100000", "print"]).run();
        let (priority, cycles, _) = thread(&outcome, "GC threads");
        assert_eq!(priority, 0);
        assert!(cycles > 1_000_000, "{flag}: {cycles}");
        let of_program = lines(&outcome, "PROFILE_THREAD");
        let main = of_program.iter().find(|words| words.last() == Some(&"(main)")).unwrap();
        assert!(main.windows(2).any(|pair| pair == ["gc", "0%"]), "{main:?}");
    }
}

#[test]
fn classes_used_by_reflection_are_known() {
    const PROGRAM: &str = "CensusReflection";
    let expected = [
        "Array",
        "Constructor",
        "EnumSet",
        "Field",
        "FindClass",
        "Handle",
        "Loader",
        "Method",
        "Name",
        "NewInstance",
        "OwnLoader",
        "Proxy",
        "Unreflected",
        "ValueOf",
    ];
    jdk::each(|jdk| {
        let outcome = run(jdk, PROGRAM).run();
        let classes = lines(&outcome, "PROFILE_CLASS_USED_VIA_REFLECTION").concat();
        let own: Vec<_> = classes.iter().filter(|name| name.starts_with(PROGRAM)).collect();
        let expected: Vec<_> = expected.iter().map(|it| format!("{PROGRAM}$By{it}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>(), "{}", jdk.version);
        for of_jdk in ["java/util/concurrent/Phaser", "java/util/zip/Adler32"] {
            assert!(classes.contains(&of_jdk), "{classes:?}");
        }
        assert!(classes.iter().any(|name| name.ends_with("FileSystemProvider")), "{classes:?}");
        // What the JDK does for itself is not in it.
        assert!(classes.len() < expected.len() + 10, "{classes:?}");
    });
}
