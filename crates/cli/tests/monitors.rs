//! Waits for locks: the results of `perk report`, and `perk run --monitor` of a real program.

use perk_profile::{
    Event, HolderRow, LockKind, Monitor, MonitorDump, MonitorRow, MonitorTimes, Profile, Status,
    Thread, ThreadState, Waits,
};
use perk_testkit::{fixture, jdk, workspace};
use serde_json::Value;

use crate::exact::{path, write};
use crate::util::{Folder, stderr, stdout};

const MS_NS: u64 = 1_000_000;

#[track_caller]
fn report(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["report"], arguments].concat());
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    stdout(&output)
}

/// Makes a profile of two threads that wait for each other, another one that waits for one of them,
/// and 400 ms of waits.
pub(crate) fn deadlock() -> Folder {
    let mut profile = Profile::default();
    for (serial, name) in [(200_001, "left"), (200_002, "right"), (200_003, "guest")] {
        let name = profile.symbols.strings.intern(name);
        let thread = Thread { serial, object_id: 1, name, group: None, parent_group: None };
        let id = profile.push_thread(thread);
        profile.events.push(Event::ThreadStart(id));
    }
    let class = profile.symbols.class("T$Fork");
    let node = path(&mut profile, "T.main;T.eat:7");
    let trace = profile.trace(node, None);
    let state = |serial| ThreadState {
        serial,
        trace,
        status: Status::Blocked,
        is_suspended: false,
        is_interrupted: false,
        is_in_native: false,
    };
    let monitor = |identity, owner, blocked: &[u32]| Monitor {
        class,
        identity: Some(identity),
        kind: LockKind::Monitor,
        owner: Some(owner),
        entry_count: 1,
        blocked: blocked.to_vec(),
        waiting: Vec::new(),
    };
    profile.events.push(Event::MonitorDump(MonitorDump {
        threads: [200_001, 200_002, 200_003].map(state).to_vec(),
        monitors: vec![
            monitor(0xa1, 200_001, &[200_002]),
            monitor(0xb2, 200_002, &[200_001, 200_003]),
        ],
        written: None,
    }));
    let waits = |blocked_count, blocked_ms, wait_count, waited_ms| Waits {
        blocked_count,
        blocked_ns: blocked_ms * MS_NS,
        wait_count,
        waited_ns: waited_ms * MS_NS,
    };
    let queue = profile.symbols.class("T$Queue");
    let row = |class, kind, waits| MonitorRow { trace, class, kind, waits };
    profile.events.push(Event::from(MonitorTimes {
        total_ns: 400 * MS_NS,
        rows: vec![
            row(class, LockKind::Monitor, waits(3, 300, 0, 0)),
            row(queue, LockKind::Parking, waits(1, 100, 2, 50)),
        ],
        written: None,
    }));
    let folder = Folder::new();
    write(&folder, "d.hprof", &profile);
    folder
}

#[test]
fn a_deadlock_is_named() {
    let text = report(&deadlock(), &["--all", "d.hprof"]);
    let first = "d.hprof: HPROF binary, blocked 4 times for 400 ms, waited 2 times for 50 ms; \
                 1 deadlock\n";
    assert!(text.starts_with(first), "{text}");
    let named = "
Deadlock 1 of 2 threads
  left waits for T$Fork@b2, which right has
      T.eat (T.java:7)
      T.main (T.java)
  right waits for T$Fork@a1, which left has
";
    assert!(text.contains(named), "{text}");
}

#[test]
fn locks_and_paths_are_tables() {
    let text = report(&deadlock(), &["--monitors", "d.hprof"]);
    let tables = "
Top locks by blocked time
#  blocked %  blocked  times  waited  times  lock
1      75.00   300 ms      3     0 s      0  T$Fork
2      25.00   100 ms      1   50 ms      2  T$Queue (parking)

Top waiting call paths, innermost frame first
#  blocked %  blocked  times  waited  times  lock
1      75.00   300 ms      3     0 s      0  T$Fork
        T.eat (T.java:7)
        T.main (T.java)
";
    assert!(text.contains(tables), "{text}");
    let dump = "
Threads at locks when it was dumped last
blocked  waiting  lock
      2        0  T$Fork@b2
        right has it
          in T.eat (T.java:7), blocked
        left wants it
        guest wants it
";
    assert!(text.contains(dump), "{text}");
}

/// A lock with two places that wait for it and two that had it meanwhile, and waits of the JDK.
fn held() -> Folder {
    let mut profile = Profile::default();
    let class = profile.symbols.class("com.acme.Cache");
    let queue = profile.symbols.class("java.lang.ref.ReferenceQueue$Lock");
    let unknown = perk_profile::monitors::UNKNOWN_HOLDER;
    let mut trace = |stack: &str| {
        let node = path(&mut profile, stack);
        profile.trace(node, None)
    };
    let get = trace("com.acme.Main.main;com.acme.Cache.get:12");
    let put = trace("com.acme.Main.main;com.acme.Cache.put:20");
    let load = trace("com.acme.Main.main;com.acme.Cache.load:30;java.lang.Thread.sleep");
    let cleaner = trace("java.lang.Thread.run;java.lang.ref.ReferenceQueue.remove");
    let method = perk_profile::Method {
        class: profile.symbols.class(""),
        name: profile.symbols.strings.intern(unknown),
        signature: None,
        source: None,
    };
    let method = profile.symbols.method(method);
    let frame =
        profile.symbols.frame(perk_profile::Frame::new(method, perk_profile::Line::Unknown));
    let node = profile.tree.insert([frame]);
    let unknown = profile.trace(node, None);
    let waits = |blocked_count, blocked_ms, wait_count, waited_ms| Waits {
        blocked_count,
        blocked_ns: blocked_ms * MS_NS,
        wait_count,
        waited_ns: waited_ms * MS_NS,
    };
    let row = |trace, class, waits| MonitorRow { trace, class, kind: LockKind::Monitor, waits };
    profile.events.push(Event::from(MonitorTimes {
        total_ns: 400 * MS_NS,
        rows: vec![
            row(get, class, waits(3, 300, 0, 0)),
            row(put, class, waits(1, 100, 0, 0)),
            row(cleaner, queue, waits(0, 0, 2, 9000)),
        ],
        written: None,
    }));
    let row = |trace, blocking_ms, sample_count| HolderRow {
        trace,
        class,
        kind: LockKind::Monitor,
        blocking_ns: blocking_ms * MS_NS,
        sample_count,
    };
    let rows = [row(load, 380, 25), row(unknown, 20, 0)];
    profile.events.push(HolderRow::section(&rows, None).into());
    let folder = Folder::new();
    write(&folder, "h.hprof", &profile);
    folder
}

#[test]
fn holders_are_beside_those_who_wait() {
    let folder = held();
    let text = report(&folder, &["--monitors", "h.hprof"]);
    let table = "
Top locks by blocked time
#  blocked %  blocked  times  waited  times  lock
1     100.00   400 ms      4     0 s      0  com.acme.Cache
         75.00 % blocked in com.acme.Cache.get (T.java:12)
         25.00 % blocked in com.acme.Cache.put (T.java:20)
         95.00 % held in com.acme.Cache.load (T.java:30): java.lang.Thread.sleep
          5.00 % held in [holder not known]
        holder known for 95.00 % of the time, from 25 samples
JDK housekeeping";
    assert!(text.contains(table), "{text}");
    let paths = "
Top call paths that had locks which others waited for, innermost frame first
#  blocking %  blocking  samples  lock
1       95.00    380 ms       25  com.acme.Cache
        java.lang.Thread.sleep";
    assert!(text.contains(paths), "{text}");
    assert!(!text.contains("ReferenceQueue$Lock"), "{text}");
    let all = report(&folder, &["--monitors", "--all", "h.hprof"]);
    assert!(all.contains("ReferenceQueue$Lock") && !all.contains("JDK housekeeping"), "{all}");
    let first = report(&folder, &["h.hprof"]);
    assert!(first.contains("blocked 4 times for 400 ms, waited 0 times for 0 s"), "{first}");
    // The metric is one as any other.
    for form in ["pb.gz", "speedscope.json", "hprof"] {
        let file = format!("c.{form}");
        let output = folder.run(&["convert", "h.hprof", "-o", &file]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let collapsed = stacks_or_none(&folder, &file, "blocking");
        assert_eq!(collapsed, stacks_or_none(&folder, "h.hprof", "blocking"), "{form}");
        assert!(collapsed.contains("com.acme.Cache.load"), "{form}: {collapsed}");
    }
    let tree = report(&folder, &["h.hprof", "--metric", "blocking", "--tree"]);
    assert!(tree.contains("com.acme.Cache.load"), "{tree}");
    let diff = folder.run(&["diff", "h.hprof", "c.pb.gz", "--fail-on", "blocking>+0"]);
    assert_eq!(diff.status.code(), Some(0), "{diff:?}");
    let json: Value = serde_json::from_str(&report(&folder, &["--json", "h.hprof"])).unwrap();
    let row = &json["monitors"]["holding_paths"][0];
    assert_eq!(row["blocking_ns"], 380 * MS_NS);
    assert_eq!(row["blocking_sample_count"], 25);
}

/// A program's contention is a flame graph of those who wait; another is of the holders.
#[test]
fn a_run_writes_a_flame_graph_of_locks() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = jdk.java().to_str().unwrap().to_owned();
        let classes = fixture::fixtures().to_str().unwrap().to_owned();
        let program = ["--", &java, "-cp", &classes, "Holding", "lock", "2", "200", "100", "1"];
        let run = ["run", "--locks", "-o", "lk.html", "-o", "lk.hprof"];
        let output = folder.run(&[&run[..], &program].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = report(&folder, &["--monitors", "lk.hprof"]);
        assert!(text.contains("held in Holding.sleep"), "{text}");
        let page = std::fs::read_to_string(folder.path().join("lk.html")).unwrap();
        for part in
            ["\"value\":\"blocked\"", "\"value\":\"blocking\"", "enterLock", "whileOthersWait"]
        {
            assert!(page.contains(part), "{part}");
        }
        let blocking = stacks_or_none(&folder, "lk.hprof", "blocking");
        assert!(blocking.contains("Holding.work"), "{blocking}");
    });
}

#[test]
fn json_has_all_of_it() {
    let report: Value = serde_json::from_str(&report(&deadlock(), &["--json", "d.hprof"])).unwrap();
    let monitors = &report["monitors"];
    assert_eq!(monitors["blocked_ns"], 400 * MS_NS);
    assert_eq!(monitors["locks"][1]["class"], "T$Queue");
    assert_eq!(monitors["locks"][1]["kind"], "parking");
    assert_eq!(monitors["paths"][0]["frames"][0]["line"], 7);
    assert_eq!(monitors["dumps"][0]["threads"][2]["name"], "guest");
    assert_eq!(monitors["dumps"][0]["monitors"][1]["blocked_serials"][1], 200_003);
    assert_eq!(monitors["deadlocks"][0][1]["thread"], "right");
    assert_eq!(monitors["deadlocks"][0][1]["owner_serial"], 200_001);
}

#[test]
fn files_of_the_original_tell_their_waits() {
    let folder = Folder::new();
    let file = workspace().join("testdata/hprof/monitor-threads.txt");
    let text = report(&folder, &["--monitors", file.to_str().unwrap()]);
    assert!(text.contains("waited 4 times for 452 ms"), "{text}");
    assert!(text.contains("  352 ms      2  java.lang.Thread\n"), "{text}");
    assert!(text.contains("blocked wants it"), "{text}");
}

#[test]
fn what_other_forms_leave_out_is_said() {
    let folder = deadlock();
    let output = folder.run(&["convert", "d.hprof", "-o", "d.txt"]);
    assert!(stderr(&output).contains("the metrics waited, waits"), "{output:?}");
    let text = report(&folder, &["--all", "d.txt"]);
    assert!(text.contains("blocked 4 times for 400 ms, waited 0 times"), "{text}");
    assert!(text.contains("left waits for T$Fork, which right has"), "{text}");
}

#[test]
fn a_program_s_locks_are_measured() {
    jdk::each(|jdk| {
        for (option, kind, class) in [
            ("--monitor", "object", "Contention$Lock"),
            ("--locks", "lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync (parking)"),
        ] {
            let folder = Folder::new();
            let java = jdk.java().to_str().unwrap().to_owned();
            let classes = fixture::fixtures().to_str().unwrap().to_owned();
            let program = ["--", &java, "-cp", &classes, "Contention", kind, "4", "20"];
            let output = folder.run(&[&["run", option, "-o", "o.hprof"][..], &program].concat());
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let name = class.trim_end_matches(" (parking)").rsplit('.').next().unwrap();
            assert!(stderr(&output).contains(name), "{}", stderr(&output));
            let text = report(&folder, &["--monitors", "o.hprof"]);
            let row = text.lines().find(|line| line.trim_end().ends_with(class)).unwrap();
            assert!(row.trim_start().starts_with("1  "), "{row}");
        }
    });
}

/// The tree of a program's lock times is in every form that has metrics by call path. It is the
/// same when it is read back from the forms that hold all of them.
#[test]
fn lock_times_are_in_every_view_and_form() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = jdk.java().to_str().unwrap().to_owned();
        let classes = fixture::fixtures().to_str().unwrap().to_owned();
        let program = ["--", &java, "-cp", &classes, "Contention", "object", "4", "20"];
        let run = ["run", "--cpu", "off", "--monitor", "-o", "o.hprof"];
        let output = folder.run(&[&run[..], &program].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));

        let stacks = |file: &str, metric: &str| {
            let convert =
                ["convert", file, "--metric", metric, "--output-format", "collapsed", "-o", "-"];
            let output = folder.run(&convert);
            assert_eq!(output.status.code(), Some(0), "{file}: {}", stderr(&output));
            stdout(&output)
        };
        let blocked = stacks("o.hprof", "blocked");
        let is_of_lock =
            |line: &str| line.contains("Contention") && line.contains(";Contention$Lock ");
        assert!(blocked.lines().any(is_of_lock), "{blocked}");
        for form in ["pb.gz", "speedscope.json"] {
            let file = format!("o.{form}");
            let output = folder.run(&["convert", "o.hprof", "-o", &file]);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            for metric in ["blocked", "contentions", "waited", "waits"] {
                let has = !stacks_or_none(&folder, "o.hprof", metric).is_empty();
                if has {
                    assert_eq!(stacks(&file, metric), stacks("o.hprof", metric), "{form} {metric}");
                }
            }
        }
        let page = folder.run(&[
            "convert",
            "o.hprof",
            "--metric",
            "blocked",
            "--output-format",
            "html",
            "-o",
            "-",
        ]);
        assert!(stdout(&page).contains(r#""value":"blocked","unit":"nanoseconds""#));
        for view in ["--tree", "--lines", "--edges", "--csv", "--json"] {
            let text = report(&folder, &["o.hprof", "--metric", "blocked", view]);
            assert!(text.contains("Contention"), "{view}: {text}");
        }
        let diff = folder.run(&["diff", "o.hprof", "o.hprof", "--metric", "blocked"]);
        let same = "o.hprof has as much blocked time as o.hprof\n";
        assert!(stdout(&diff).starts_with(same), "{diff:?}");
        let limit = ["diff", "o.hprof", "o.pb.gz", "--fail-on", "blocked>+0"];
        assert_eq!(folder.run(&limit).status.code(), Some(0));
    });
}

/// Returns the collapsed stacks of a metric; empty if the file does not have it.
fn stacks_or_none(folder: &Folder, file: &str, metric: &str) -> String {
    let output = folder.run(&[
        "convert",
        file,
        "--metric",
        metric,
        "--output-format",
        "collapsed",
        "-o",
        "-",
    ]);
    stdout(&output)
}
