use perk_profile::{
    Accounting, Column, Key, Metric, Profile, Section, SectionHead, Subject, ThreadId, WallState,
    WallState::*,
};

use super::*;
use crate::fixture::{push_monitor_times, push_samples, push_sites, stack, thread, waits};

/// Where the stacks of requests begin.
const SERVE: &str = "a.Web.handle<org.eclipse.jetty.Server.run<java.lang.Thread.run";
const MAIN: &str = "a.Main.main";
const PARK: &str = "jdk.internal.misc.Unsafe.park<java.util.concurrent.locks.LockSupport.park";
const TASK: &str = "java.util.concurrent.FutureTask.run<java.util.concurrent.ThreadPoolExecutor.\
                    runWorker<java.lang.Thread.run";

/// A row of wall-clock time: the name of the thread, the stack, the state, the time.
type Row<'a> = (&'a str, &'a str, WallState, u64);

/// A profile of rows, with samples of 1 ms in 1 s.
fn profile(rows: &[Row<'_>]) -> Profile {
    let mut profile = Profile::default();
    push_wall(&mut profile, rows);
    profile
}

fn push_wall(profile: &mut Profile, rows: &[Row<'_>]) {
    let mut threads: Vec<(&str, ThreadId)> = Vec::new();
    let mut section = Section::new(SectionHead::new([Column::new(Metric::WallTime, 0)]));
    // The class of `main` shows which packages are the program's.
    stack(profile, MAIN);
    for &(name, path, state, ms) in rows {
        let known = threads.iter().find(|it| it.0 == name).map(|it| it.1);
        let id = known.unwrap_or_else(|| thread(profile, name));
        threads.push((name, id));
        let node = stack(profile, path);
        let trace = profile.trace(node, Some(id));
        section.push(Key::new(trace, Subject::State(state)), &[ms * 1_000_000]);
    }
    profile.events.push(section.into());
    let ms = rows.iter().map(|row| row.3).sum::<u64>();
    profile.accounting = Some(Accounting {
        wall_ns: 1_000_000_000,
        wall_sample_count: ms,
        wall_thread_ns: ms * 1_000_000,
        cpu_count: 2,
        process_cpu_ns: 2_000_000_000,
        ..Accounting::default()
    });
}

fn of(profile: &Profile) -> Limits {
    let tree = MethodTree::new(profile);
    limits(profile, &tree, &Owners::new(profile)).unwrap()
}

/// The rows of the limits: kind, method, milliseconds.
fn shown(profile: &Profile) -> Vec<(&'static str, String, u64)> {
    let row = |limit: &Limit| {
        let method = limit.method.map(|it| profile.symbols.method_name(it));
        (limit.cause.name(), method.unwrap_or_default(), limit.ns / 1_000_000)
    };
    of(profile).rows.iter().map(row).collect()
}

fn row(kind: &'static str, method: &str, ms: u64) -> (&'static str, String, u64) {
    (kind, method.to_owned(), ms)
}

#[test]
fn rows_of_all_kinds_are_in_one_list() {
    let under = |inner: &str| format!("{inner}<{SERVE}");
    let sleep = under("java.lang.Thread.sleep<a.Web.retry");
    let park = under(&format!("{PARK}<java.util.concurrent.locks.ReentrantLock.lock<a.Cache.get"));
    let read =
        under("sun.nio.ch.NioSocketImpl.read<java.net.Socket$SocketInputStream.read<a.Rates.ask");
    let query = under("sun.nio.ch.NioSocketImpl.read<org.postgresql.Stream.read<a.Db.load");
    let pool = under(&format!("{PARK}<com.zaxxer.hikari.pool.HikariPool.getConnection<a.Db.open"));
    let sync = under("java.io.FileDescriptor.sync<a.Log.append");
    let child = under("java.lang.Object.wait<java.lang.ProcessImpl.waitFor<a.Shell.run");
    let put = under(&format!("{PARK}<java.util.concurrent.ArrayBlockingQueue.put<a.Out.send"));
    let monitor = under("a.Stock.reserve");
    let cpu = under("java.util.Formatter.format<a.Price.line");
    let profile = profile(&[
        ("w-1", &sleep, Sleeping, 90),
        ("w-1", &park, Parked, 80),
        ("w-1", &read, Native, 75),
        ("w-2", &query, Native, 70),
        ("w-2", &pool, Parked, 65),
        ("w-2", &sync, Native, 60),
        ("w-2", &child, Waiting, 55),
        ("w-3", &put, Parked, 50),
        ("w-3", &monitor, Blocked, 200),
        ("w-3", &cpu, Running, 40),
        ("w-3", &cpu, Runnable, 260),
    ]);
    assert_eq!(
        shown(&profile),
        [
            row("cpu", "a.Price.line", 300),
            row("monitor", "a.Stock.reserve", 200),
            row("sleep", "a.Web.retry", 90),
            row("lock", "a.Cache.get", 80),
            row("network", "a.Rates.ask", 75),
            row("database", "a.Db.load", 70),
            row("pool", "a.Db.open", 65),
            row("file", "a.Log.append", 60),
            row("process", "a.Shell.run", 55),
            row("full_queue", "a.Out.send", 50),
        ]
    );
    assert_eq!(of(&profile).verdict, Verdict::Clear);
    assert_eq!(
        of(&profile).rows[4].callee.map(|it| profile.symbols.method_name(it)).as_deref(),
        Some("java.net.Socket$SocketInputStream.read")
    );
}

#[test]
fn threads_that_wait_for_work_are_idle() {
    let take = format!("{PARK}<java.util.concurrent.LinkedBlockingQueue.take");
    let get_task = "java.util.concurrent.ThreadPoolExecutor.getTask<java.lang.Thread.run";
    let profile = profile(&[
        ("http-1", &format!("{take}<{get_task}"), Parked, 1000),
        ("http-2", &format!("{take}<{get_task}"), Parked, 1000),
        (
            "selector",
            "sun.nio.ch.EPoll.wait<sun.nio.ch.SelectorImpl.select<a.Loop.run",
            Native,
            1000,
        ),
        (
            "worker",
            &format!("{take}<a.Worker.next<a.Worker.run<java.lang.Thread.run"),
            Parked,
            1000,
        ),
        ("acceptor", "sun.nio.ch.Net.accept<java.net.ServerSocket.accept<a.Net.run", Native, 1000),
        ("cron", "java.lang.Thread.sleep<a.Cron.run<java.lang.Thread.run", Sleeping, 1000),
        (
            "library",
            "java.lang.Thread.sleep<org.h2.Writer.run<java.lang.Thread.run",
            Sleeping,
            1000,
        ),
        // A server that it has started; it has also computed a little.
        (
            "main",
            &format!("java.lang.Thread.sleep<org.apache.catalina.Server.await<{MAIN}"),
            Sleeping,
            980,
        ),
        ("main", MAIN, Running, 5),
        ("request", &format!("a.Web.page<{SERVE}"), Running, 500),
    ]);
    let limits = of(&profile);
    let idle: Vec<_> = limits.idle.groups.iter().map(|it| (it.name.as_str(), it.count)).collect();
    let one = ["acceptor", "cron", "library", "main", "selector", "worker"].map(|name| (name, 1));
    assert_eq!(idle, [&[("http-*", 2)][..], &one].concat());
    assert_eq!((limits.idle.thread_count, limits.idle.idle_count), (9, 8));
    assert_eq!(shown(&profile), [row("cpu", "a.Web.page", 500)]);
    // Whoever waits for a lock works, wherever it is.
    let lock = "java.util.concurrent.locks.ReentrantLock.lock<java.util.concurrent.\
                LinkedBlockingQueue.take";
    let profile =
        super::tests::profile(&[("http-1", &format!("{PARK}<{lock}<{get_task}"), Parked, 1000)]);
    assert_eq!(of(&profile).rows[0].cause, Cause::Wait(Wait::Lock));
}

#[test]
fn a_wait_in_a_request_is_work() {
    let take = format!("{PARK}<java.util.concurrent.LinkedBlockingQueue.take");
    let profile = profile(&[
        ("w-1", &format!("{take}<a.Bus.reply<{SERVE}"), Parked, 300),
        // The same method sleeps in a task of an executor, where it is not a timer.
        ("w-2", &format!("java.lang.Thread.sleep<a.Job.run<{TASK}"), Sleeping, 200),
        (
            "w-3",
            "java.lang.Object.wait<a.Pool.acquire<a.Worker.run<java.lang.Thread.run",
            Waiting,
            100,
        ),
    ]);
    let rows = [
        row("empty_queue", "a.Bus.reply", 300),
        row("sleep", "a.Job.run", 200),
        row("notification", "a.Pool.acquire", 100),
    ];
    assert_eq!(shown(&profile), rows);
}

#[test]
fn waits_for_results_are_those_that_nobody_works_for() {
    let get = format!("{PARK}<java.util.concurrent.FutureTask.get<a.Client.ask<{SERVE}");
    let sleep = format!("java.lang.Thread.sleep<a.Report.make<{TASK}");
    // Eight requests wait for two threads.
    let clients: Vec<_> = (0..8).map(|index| format!("http-{index}")).collect();
    let mut rows: Vec<Row<'_>> =
        clients.iter().map(|it| (it.as_str(), &*get, Parked, 1000)).collect();
    rows.extend([("pool-1", &*sleep, Sleeping, 1000), ("pool-2", &*sleep, Sleeping, 1000)]);
    let profile = profile(&rows);
    let expected = [row("other_thread", "a.Client.ask", 6000), row("sleep", "a.Report.make", 2000)];
    assert_eq!(shown(&profile), expected);
    let meanwhile = of(&profile).rows[0].meanwhile.clone().unwrap();
    assert_eq!(meanwhile.pool, Some(("pool-*".to_owned(), 2)));
    assert_eq!(meanwhile.wait, Some(Wait::Sleep));
    // Each has a thread: what the threads do is the limit.
    let profile = super::tests::profile(&rows[7..9]);
    assert_eq!(shown(&profile), [row("sleep", "a.Report.make", 1000)]);
}

#[test]
fn the_holder_of_a_lock_is_named() {
    let sleep = format!("java.lang.Thread.sleep<a.Stock.write<a.Stock.reserve:7<{SERVE}");
    let blocked = format!("a.Stock.reserve:5<{SERVE}");
    let rows: [Row<'_>; 2] = [("w-1", &blocked, Blocked, 700), ("w-2", &sleep, Sleeping, 100)];
    // By the stacks alone.
    let mut profile = profile(&rows);
    let name = |profile: &Profile, limit: &Limit| {
        let meanwhile = limit.meanwhile.as_ref().unwrap();
        (profile.symbols.method_name(meanwhile.method), meanwhile.wait)
    };
    let first = of(&profile).rows[0].clone();
    assert_eq!(first.line, Some(5));
    assert_eq!(name(&profile, &first), ("a.Stock.write".to_owned(), Some(Wait::Sleep)));
    // With the lock.
    push_monitor_times(&mut profile, &[("a.Stock", &blocked, waits(9, 700_000_000, 0, 0))]);
    let first = of(&profile).rows[0].clone();
    let class = first.lock.map(|class| profile.symbols.class_name(class).to_owned());
    assert_eq!(class.as_deref(), Some("a.Stock"));
    // Few visits met it, but more of the waits were measured.
    let count = |profile: &mut Profile, wall_sample_count, sampled_wait_count| {
        let accounting = profile.accounting.clone().unwrap();
        profile.accounting =
            Some(Accounting { wall_sample_count, sampled_wait_count, ..accounting });
        let limits = of(profile);
        (limits.rows[0].sample_count, limits.verdict)
    };
    assert_eq!(count(&mut profile, 10, 0), (9, Verdict::Few));
    push_monitor_times(&mut profile, &[("a.Stock", &blocked, waits(81, 700_000_000, 10, 0))]);
    assert_eq!(count(&mut profile, 10, 0), (90, Verdict::Clear));
    assert_eq!(count(&mut profile, 10, 50), (45, Verdict::Clear));
    assert_eq!(count(&mut profile, 10, 9), (8, Verdict::Few));
}

#[test]
fn cpu_time_is_divided_by_cpu_samples() {
    let write = format!("sun.nio.ch.SocketDispatcher.write<a.Web.reply<{SERVE}");
    let mut profile = profile(&[
        ("w-1", &write, Runnable, 800),
        ("w-2", &format!("java.lang.Thread.sleep<a.Web.retry<{SERVE}"), Sleeping, 200),
    ]);
    push_samples(&mut profile, &[(&format!("a.Price.line<{SERVE}"), 75), (&write, 25)]);
    let expected = [
        row("cpu", "a.Price.line", 600),
        row("cpu", "a.Web.reply", 200),
        row("sleep", "a.Web.retry", 200),
    ];
    assert_eq!(shown(&profile), expected);
}

#[test]
fn the_collection_of_garbage_has_its_part_of_the_cpu() {
    let open = format!("a.Session.open:3<{SERVE}");
    let mut profile = profile(&[("w-1", &open, Running, 1000)]);
    push_sites(&mut profile, &[("byte[]", &open, [900, 9, 0, 0]), ("a.B", MAIN, [100, 1, 0, 0])]);
    let mut accounting = profile.accounting.clone().unwrap();
    (accounting.gc_cpu_ns, accounting.gc_pause_ns) = (600_000_000, 700_000_000);
    profile.accounting = Some(accounting);
    assert_eq!(
        shown(&profile),
        [row("gc", "a.Session.open", 700), row("cpu", "a.Session.open", 300)]
    );
    let gc = of(&profile).rows[0].clone();
    assert_eq!((gc.cause, gc.line), (Cause::Gc { share: 0.9 }, Some(3)));
    // Its garbage comes before the method that makes it, unless it is little.
    for (pause_ms, first) in [(400, "gc"), (300, "cpu")] {
        let mut accounting = profile.accounting.clone().unwrap();
        (accounting.gc_cpu_ns, accounting.gc_pause_ns) = (0, pause_ms * 1_000_000);
        profile.accounting = Some(accounting);
        assert_eq!(shown(&profile)[0].0, first, "{pause_ms}");
    }
}

#[test]
fn what_takes_the_cpu_away_is_named() {
    let cpu = format!("a.Hash.of<{SERVE}");
    let mut profile = profile(&[("w-1", &cpu, Running, 200), ("w-1", &cpu, Runnable, 800)]);
    let with = |profile: &mut Profile, change: fn(&mut Accounting)| {
        let mut accounting = profile.accounting.clone().unwrap();
        change(&mut accounting);
        profile.accounting = Some(accounting);
        shown(profile)
    };
    // The threads of the program have all CPUs.
    assert_eq!(shown(&profile), [row("cpu", "a.Hash.of", 1000)]);
    let rows = with(&mut profile, |it| it.process_cpu_ns = 400_000_000);
    assert_eq!(rows, [row("cpu", "a.Hash.of", 1000), row("other_processes", "", 800)]);
    let rows = with(&mut profile, |it| (it.cpu_period_count, it.throttled_count) = (100, 90));
    assert_eq!(rows, [row("throttled", "", 800), row("cpu", "a.Hash.of", 200)]);
    // No method of its own uses so much that it is the answer.
    let [a, b, c] = ["A", "B", "C"].map(|name| format!("a.{name}.run<{SERVE}"));
    let rows: [Row<'_>; 5] = [
        ("w", &a, Runnable, 340),
        ("w", &b, Runnable, 330),
        ("w", &c, Runnable, 120),
        ("w", &c, Running, 110),
        ("w", &a, Blocked, 100),
    ];
    let mut profile = super::tests::profile(&rows);
    let rows = with(&mut profile, |it| it.process_cpu_ns = 400_000_000);
    assert_eq!(rows[..2], [row("other_processes", "", 790), row("cpu", "a.A.run", 340)]);
    assert_eq!(of(&profile).verdict, Verdict::Clear);
}

#[test]
fn input_and_output_is_one_row_whether_it_waits_or_not() {
    let write = format!("java.io.FileOutputStream.write<a.Log.append<{SERVE}");
    let send =
        format!("sun.nio.ch.SocketDispatcher.write<java.net.Socket.send<a.Web.reply<{SERVE}");
    let profile = profile(&[
        ("w", &write, Native, 200),
        ("w", &write, Running, 400),
        ("w", &format!("a.Log.append<{SERVE}"), Running, 150),
        ("w", &send, Running, 300),
    ]);
    let expected = [
        row("file", "a.Log.append", 600),
        row("cpu", "a.Web.reply", 300),
        row("cpu", "a.Log.append", 150),
    ];
    assert_eq!(shown(&profile), expected);
    assert_eq!(of(&profile).rows[0].cpu_ns, 400_000_000);
}

#[test]
fn waits_of_virtual_threads_without_a_carrier_are_in_the_list() {
    let begin = "java.lang.VirtualThread.run";
    let read = format!(
        "java.lang.VirtualThread.park<sun.nio.ch.Poller.poll<sun.nio.ch.NioSocketImpl.read<a.Rates.ask<{begin}"
    );
    let pinned =
        format!("{PARK}<java.util.concurrent.locks.ReentrantLock.lock<a.Cache.get<{begin}");
    let mut profile = profile(&[
        ("virtual", &format!("a.Web.page<{begin}"), Running, 50),
        ("virtual", &pinned, Parked, 100),
        ("carrier", "java.util.concurrent.ForkJoinPool.awaitWork", Parked, 900),
    ]);
    profile.threads[0].group = Some(profile.symbols.strings.intern("VirtualThreads"));
    assert!(of(&profile).hides_virtual_waits);
    let class = profile.symbols.class("java.util.concurrent.locks.LockSupport");
    let mut times = perk_profile::MonitorTimes::default();
    for (path, waited_ms) in [(&read, 900), (&pinned, 100)] {
        let node = stack(&mut profile, path);
        let trace = profile.trace(node, Some(ThreadId::new(0)));
        let waits = waits(0, 0, 1, waited_ms * 1_000_000);
        let kind = perk_profile::LockKind::Parking;
        times.rows.push(perk_profile::MonitorRow { trace, class, kind, waits });
    }
    profile.events.push(times.into());
    // The pinned thread is in both, and each counts for a part of all.
    let rows = [
        row("network", "a.Rates.ask", 810),
        row("lock", "a.Cache.get", 190),
        row("cpu", "a.Web.page", 50),
    ];
    assert_eq!(shown(&profile), rows);
    let limits = of(&profile);
    assert!(!limits.hides_virtual_waits);
    assert_eq!((limits.total_ns, limits.idle.idle_count), (1_050_000_000, 1));
}

#[test]
fn without_wall_clock_samples_all_shares_are_of_what_was_measured() {
    let (line, blocked) = (format!("a.Price.line<{SERVE}"), format!("a.Stock.reserve:5<{SERVE}"));
    let mut profile = Profile::default();
    stack(&mut profile, MAIN);
    push_samples(&mut profile, &[(&line, 60)]);
    // Of unknown length.
    let limits = of(&profile);
    assert_eq!((limits.whole, limits.total_ns), (Whole::Samples, 60));
    profile.accounting = Some(Accounting {
        wall_ns: 2_000_000_000,
        cpu_count: 2,
        process_cpu_ns: 1_000_000_000,
        interval_ns: 10_000_000,
        sample_count: 60,
        gc_cpu_ns: 100_000_000,
        jit_c2_cpu_ns: 300_000_000,
        ..Accounting::default()
    });
    let rows = [row("cpu", "a.Price.line", 600), row("jit", "", 300), row("gc", "", 100)];
    let sorted = |profile: &Profile| {
        let mut rows = shown(profile);
        rows.sort_by_key(|it| Reverse(it.2));
        rows
    };
    assert_eq!(sorted(&profile), rows);
    assert_eq!(of(&profile).total_ns, 1_000_000_000);
    push_monitor_times(&mut profile, &[("a.Stock", &blocked, waits(9, 1_000_000_000, 0, 0))]);
    let limits = of(&profile);
    assert_eq!(limits.whole, Whole::Measured { has_cpu: true, has_locks: true });
    assert_eq!((limits.total_ns, limits.working_threads), (2_000_000_000, None));
    assert_eq!(shown(&profile)[0], row("monitor", "a.Stock.reserve", 1000));
    // What the holder does is not known: it may sleep.
    assert_eq!(limits.rows[0].meanwhile, None);
    // The account is not that of a part.
    let mut accounting = profile.accounting.clone().unwrap();
    accounting.sample_count = 600;
    profile.accounting = Some(accounting);
    assert_eq!(of(&profile).total_ns, 1_600_000_000);
}

#[test]
fn little_and_even_numbers_do_not_stand_out() {
    let cpu = |name: &str| format!("a.{name}.run<{SERVE}");
    let [a, b, c] = ["A", "B", "C"].map(cpu);
    let verdict = |rows: &[Row<'_>]| of(&profile(rows)).verdict;
    assert_eq!(verdict(&[("w", &a, Running, 50)]), Verdict::Idle);
    let even: [Row<'_>; 3] =
        [("w", &a, Running, 350), ("w", &b, Running, 330), ("w", &c, Running, 320)];
    assert_eq!(verdict(&even), Verdict::Flat);
    assert_eq!(verdict(&[even[0], even[1], even[2], ("w", &a, Blocked, 200)]), Verdict::Clear);
    assert_eq!(verdict(&[("w", &a, Running, 500), ("w", &b, Running, 400)]), Verdict::Clear);
    // As many milliseconds, but each sample represents 100.
    let mut profile = profile(&[("w", &a, Running, 1000)]);
    let mut accounting = profile.accounting.clone().unwrap();
    accounting.wall_sample_count = 10;
    profile.accounting = Some(accounting);
    let limits = of(&profile);
    assert_eq!((limits.verdict, limits.rows[0].sample_count), (Verdict::Few, 10));
    // A program that ends at once is not idle.
    let mut profile = self::profile(&[("w", &a, Running, 1)]);
    assert_eq!(of(&profile).verdict, Verdict::Idle);
    let accounting = profile.accounting.clone().unwrap();
    profile.accounting = Some(Accounting { wall_ns: 12_000_000, ..accounting });
    assert_eq!(of(&profile).verdict, Verdict::Few);
}

#[test]
fn calls_in_a_loop_are_found_where_calls_were_counted() {
    let page = "a.Shop.page<a.Main.main";
    let query = |inner: &str| format!("{inner}<a.Db.load<{page}");
    let profile = crate::fixture::times(&[
        (page, 2, 10),
        (&format!("a.Db.load<{page}"), 99, 10),
        (&query("java.sql.Statement.execute"), 99, 500),
        (&format!("a.Price.line<{page}"), 500, 10),
        (&format!("java.lang.String.format<a.Price.line<{page}"), 500, 10),
        // Work that few of the calls do, and names of files.
        (&format!("a.Cache.get<{page}"), 500, 10),
        (&format!("java.sql.Statement.execute<a.Cache.get<{page}"), 3, 500),
        (&format!("a.Names.find<{page}"), 500, 10),
        (&format!("sun.nio.fs.UnixPath.hashCode<a.Names.find<{page}"), 500, 10),
    ]);
    let tree = MethodTree::new(&profile);
    let columns = crate::calls::CallColumns::new(&profile, &tree, None);
    let calls = crate::calls::CallTable::of_tree(&profile, &tree, &columns);
    let found = repeats(&profile, &Owners::new(&profile), &calls);
    let name = |method| profile.symbols.method_name(method);
    let found: Vec<_> =
        found.iter().map(|it| (name(it.callee), name(it.caller), it.kind, it.each)).collect();
    assert_eq!(found, [("a.Db.load".to_owned(), "a.Shop.page".to_owned(), "SQL", 50)]);
}
