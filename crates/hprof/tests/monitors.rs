//! Monitors: reading the files of the original agent, and the written text.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use perk_hprof::Format;
use perk_profile::{
    Event, LockKind, Monitor, MonitorDump, MonitorRow, MonitorTimes, Profile, Status, ThreadState,
    WaitEvent, WaitKind, Waits,
};

const MS_NS: u64 = 1_000_000;

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn waits(profile: &Profile) -> Vec<(WaitKind, &str, u64, u32)> {
    let waits = profile.events.iter().filter_map(|event| match event {
        Event::Wait(wait) => Some(wait),
        _ => None,
    });
    waits
        .map(|wait| {
            let class = profile.symbols.class_name(wait.class.unwrap());
            (wait.kind, class, wait.time_ms, wait.thread.unwrap())
        })
        .collect()
}

#[test]
fn the_original_s_waits_and_dump() {
    let profile = perk_hprof::read(&golden("monitor-threads.txt")[..]).unwrap();
    let (object, thread) = ("java.lang.Object", "java.lang.Thread");
    assert_eq!(
        waits(&profile),
        [
            (WaitKind::Wait, object, 2000, 200_006),
            (WaitKind::Wait, thread, 0, 200_001),
            (WaitKind::Waited, object, 100, 200_006),
            (WaitKind::Waited, thread, 301, 200_001),
            (WaitKind::Wait, thread, 0, 200_001),
            (WaitKind::Waited, thread, 51, 200_001),
            (WaitKind::Wait, object, 0, 200_009),
        ]
    );
    let dump = profile.monitor_dumps().next().unwrap();
    let states: Vec<_> = dump.threads.iter().map(|it| (it.serial, it.status)).collect();
    assert_eq!(states.len(), 10);
    assert_eq!(states[0], (200_001, Status::Ended));
    assert_eq!(
        states[6..],
        [
            (200_007, Status::Sleeping),
            (200_008, Status::Blocked),
            (200_009, Status::Waiting),
            (200_010, Status::Runnable),
        ]
    );
    let top = profile.frames(dump.threads[6].trace).next().unwrap();
    let method = profile.symbols.get_frame(top).method;
    assert_eq!(profile.symbols.method_name(method), "java.lang.Thread.sleep");
    let monitors: Vec<_> = dump
        .monitors
        .iter()
        .map(|it| {
            let class = profile.symbols.class_name(it.class);
            (class, it.owner, it.entry_count, &it.blocked[..], &it.waiting[..])
        })
        .collect();
    assert_eq!(
        monitors,
        [
            ("ThreadsMonitors$Lock", Some(200_007), 1, &[200_008][..], &[][..]),
            (object, Some(200_007), 2, &[], &[]),
        ]
    );
    assert_eq!(dump.deadlocks().len(), 0);
    // The original agent never wrote MONITOR TIME.
    assert_eq!(profile.monitor_times().count(), 0);
    assert_eq!(profile.notes.len(), 0);
}

#[test]
fn the_original_s_dump_is_written_as_it_was() {
    for name in ["monitor-threads.txt", "monitor-samples.txt", "monitor-cpu-nocontention.txt"] {
        let original = golden(name);
        let profile = perk_hprof::read(&original[..]).unwrap();
        let mut again = Vec::new();
        perk_hprof::write(&profile, Format::Ascii, &mut again).unwrap();
        // The original agent writes all traces. Those that are not used are not written again.
        let lines = |bytes: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let (_, body) = text.split_once("\n--------\n\n").unwrap();
            let is_trace = |line: &&str| line.starts_with("TRACE") || line.starts_with("\t<");
            let is_frame = |line: &&str| line.starts_with('\t') && line.ends_with(')');
            let lines = body.lines().filter(|line| !is_trace(line) && !is_frame(line));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(lines(&again), lines(&original), "{name}");
    }
}

fn profile() -> Profile {
    let mut profile = Profile::default();
    let trace = profile.system_trace();
    let class = profile.symbols.class("a.Lock");
    let sync = profile.symbols.class("java.util.concurrent.locks.ReentrantLock$NonfairSync");
    let row = |class, kind, blocked_count, blocked_ns, wait_count| {
        let waits = Waits { blocked_count, blocked_ns, wait_count, waited_ns: 0 };
        MonitorRow { trace, class, kind, waits }
    };
    let times = MonitorTimes {
        total_ns: 400 * MS_NS,
        rows: vec![
            row(class, LockKind::Monitor, 3, 300 * MS_NS, 0),
            row(sync, LockKind::Parking, 1, 100 * MS_NS, 0),
            row(class, LockKind::Monitor, 0, 0, 7),
        ],
        written: None,
    };
    let wait = WaitEvent { kind: WaitKind::Wait, class: Some(class), time_ms: 5, thread: None };
    let state = ThreadState {
        serial: 200_001,
        trace,
        status: Status::Blocked,
        is_suspended: true,
        is_interrupted: true,
        is_in_native: true,
    };
    let monitor = |class, kind, owner, waiting: &[u32]| Monitor {
        class,
        identity: Some(17),
        kind,
        owner,
        entry_count: 2,
        blocked: vec![200_001, 200_003],
        waiting: waiting.to_vec(),
    };
    let dump = MonitorDump {
        threads: vec![state],
        monitors: vec![
            monitor(class, LockKind::Monitor, Some(200_002), &[]),
            monitor(sync, LockKind::Parking, None, &[200_004]),
        ],
        written: None,
    };
    let events = [Event::Wait(wait), Event::MonitorDump(dump), Event::from(times)];
    profile.events.extend(events);
    profile
}

#[test]
fn text_is_as_the_manual_has_it() {
    let mut text = Vec::new();
    perk_hprof::write(&profile(), Format::Ascii, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let (_, body) = text.split_once("\n--------\n\n").unwrap();
    assert_eq!(
        body,
        "WAIT: MONITOR La/Lock;, timeout=5, <unknown thread>
TRACE 300000:
\t<empty>
MONITOR DUMP BEGIN
    THREAD 200001, trace 300000, status: S|intr|native|MW
    MONITOR La/Lock;
\towner: thread 200002, entry count: 2
\twaiting to enter: thread 200001, thread 200003
\twaiting to be notified:
    LOCK Ljava/util/concurrent/locks/ReentrantLock$NonfairSync; unowned
\twaiting to enter: thread 200001, thread 200003
\twaiting to be notified: thread 200004
MONITOR DUMP END
MONITOR TIME BEGIN (total = 400 ms) Thu Jan  1 00:00:00 1970
rank   self  accum   count trace monitor
   1 75.00% 75.00%       3 300000 a.Lock (Java)
   2 25.00% 100.00%       1 300000 java.util.concurrent.locks.ReentrantLock$NonfairSync (Parking)
MONITOR TIME END
"
    );
}

#[test]
fn extended_files_lose_nothing() {
    let profile = profile();
    let mut bytes = Vec::new();
    perk_hprof::write(&profile, Format::Extended, &mut bytes).unwrap();
    let read = perk_hprof::read(&bytes[..]).unwrap();
    let times = read.monitor_times().next().unwrap();
    assert_eq!(times.rows.len(), 3);
    assert_eq!(times.rows[2].waits.wait_count, 7);
    assert_eq!(read.symbols.class_name(times.rows[0].class), "a.Lock");
    assert_eq!(read.monitor_dumps().next().unwrap().monitors[1].identity, Some(17));
    for format in [Format::Binary, Format::Old] {
        let error = perk_hprof::write(&profile, format, Vec::new()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
}

#[test]
fn what_is_no_monitor_is_skipped() {
    let mut text = Vec::new();
    perk_hprof::write(&profile(), Format::Ascii, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for (from, to) in [
        ("status: S|", "status: Q|"),
        ("|MW", "|XX"),
        ("trace 300000, status", "trace x, status"),
        ("\towner: thread 200002, entry", "\towner: nobody, entry"),
        ("thread 200001, thread 200003", "thread 200001 thread 200003"),
        ("    MONITOR La/Lock;", "    MONSTER La/Lock;"),
        ("timeout=5", "timeout=x"),
        ("<unknown thread>", "unknown"),
        ("75.00% 75.00%", "75.00% nan%"),
        ("a.Lock (Java)", "a.Lock (Rare)"),
        ("MONITOR DUMP END", "MONITOR END"),
        ("total = 400 ms", "total = ms"),
    ] {
        assert!(text.contains(from), "{from}");
        // Only the part after the prose is changed, as the prose has some of the words as well.
        let (prose, body) = text.split_once("\n--------\n\n").unwrap();
        let broken = format!("{prose}\n--------\n\n{}", body.replacen(from, to, 1));
        let notes = perk_hprof::read(broken.as_bytes()).unwrap().notes;
        let is_noted = notes.iter().any(|note| note.starts_with("1 line skipped, line "));
        assert!(is_noted, "{from} -> {to}: {notes:?}");
    }
    assert_eq!(perk_hprof::read(text.as_bytes()).unwrap().monitor_dumps().count(), 1);
}
