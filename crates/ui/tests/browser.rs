//! The browser without a terminal: keys in, screens out.

use perk_formats::collapsed;
use perk_profile::{
    Allocations, Event, HeapClassRow, HeapHistogram, HolderRow, LockKind, Monitor, MonitorDump,
    MonitorRow, MonitorTimes, Profile, Site, Sites, Waits,
};
use perk_ui::{App, Key, draw};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Modifier;

const STACKS: &str = "\
[main];T.main;T.parse;Lexer.next 60
[main];T.main;T.parse 10
[main];T.main;T.check;Lexer.next 20
[worker];W.run;Types.of;Types.of;Types.of 10
";

fn profile() -> Profile {
    collapsed::read(STACKS.as_bytes()).unwrap()
}

/// The lines of a screen, without blanks at their ends.
fn screen(app: &mut App<'_>, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(app, false, frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned()).collect()
}

/// The screen after some keys.
fn after(app: &mut App<'_>, keys: &str) -> Vec<String> {
    keys.chars().for_each(|c| app.press(Key::Char(c)));
    screen(app, 80, 24)
}

#[test]
fn methods_come_first() {
    let profile = profile();
    let mut app = App::new(&profile, "app.hprof");
    let screen = screen(&mut app, 80, 24);
    assert_eq!(
        &screen[..8],
        [
            "app.hprof                                                           samples: 100",
            " 1 Methods  2 Tree  3 Callers  4 Method  5 Threads  6 Flame",
            " self %▾ total %          name",
            "  80.00    80.00 ████▊    Lexer.next",
            "  10.00    70.00 ▋        T.parse",
            "  10.00    10.00 ▋        Types.of",
            "   0.00    90.00          T.main",
            "   0.00    20.00          T.check",
        ]
    );
    assert_eq!(
        &screen[20..],
        [
            "",
            "self 80 (80.00 %), total 80 (80.00 %)                                  your code",
            "Lexer.next",
            "? help  q leave  / find  & only  Enter callers  f focus  s sort",
        ]
    );
}

#[test]
fn absolute_numbers_are_on_wide_screens() {
    let profile = profile();
    let mut app = App::new(&profile, "app.hprof");
    let screen = screen(&mut app, 120, 24);
    assert_eq!(
        &screen[2..5],
        [
            " self %▾     self   total %     total               name",
            "  80.00        80     80.00        80  ████████     Lexer.next",
            "  10.00        10     70.00        70  █            T.parse",
        ]
    );
}

#[test]
fn own_code_stands_out_and_long_names_are_whole_below() {
    let stacks = "com.acme.Main.main;java.util.concurrent.ConcurrentHashMap.computeIfAbsent;\
                  com.acme.warehouse.replenishment.planning.ReplenishmentPlanningServiceImplementation.\
                  computeTheQuantity 3\n";
    let profile = collapsed::read(stacks.as_bytes()).unwrap();
    let mut app = App::new(&profile, "x");
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(&mut app, true, frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let is = |y, modifier| buffer[(30, y)].style().add_modifier.contains(modifier);
    let rows = screen(&mut app, 80, 24);
    let of = |name: &str| rows.iter().take(20).position(|row| row.contains(name)).unwrap() as u16;
    assert!(is(of("Main.main"), Modifier::BOLD), "{rows:?}");
    assert!(is(of("computeIfAbsent"), Modifier::DIM), "{rows:?}");
    assert!(rows[20].ends_with("your code"), "{rows:?}");
    let whole = "com.acme.warehouse.replenishment.planning.\
                 ReplenishmentPlanningServiceImplementation.computeTheQuantity";
    assert_eq!(rows[21].clone() + &rows[22], whole);
    assert_eq!(
        rows[3].split_whitespace().last(),
        Some("ReplenishmentPlanningServiceImplem….computeTheQuantity")
    );
}

#[test]
fn a_filter_leaves_the_rows_with_a_text() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    assert_eq!(after(&mut app, "&t.")[23], "&t.█");
    app.press(Key::Enter);
    let shown = screen(&mut app, 80, 24);
    assert_eq!(shown[2], "only rows with \"t.\" (Esc: everything)");
    assert!(shown[4].ends_with("T.parse") && shown[6].ends_with("T.check"), "{shown:?}");
    assert_eq!(shown[7], "");
    // The trees and the numbers are those of the whole profile.
    assert!(after(&mut app, "2")[4].ends_with("▸ W.run"));
    assert!(after(&mut app, "1&nowhere")[0].ends_with("samples: 100"));
    app.press(Key::Enter);
    assert_eq!(screen(&mut app, 80, 24)[4], "no rows here (Esc: everything)");
    app.press(Key::Escape);
    assert!(screen(&mut app, 80, 24)[3].ends_with("Lexer.next"));
}

#[test]
fn methods_can_be_ordered() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    assert!(after(&mut app, "s")[3].ends_with("T.main"));
    assert!(after(&mut app, "s")[3].ends_with("Lexer.next"));
    let by_name = screen(&mut app, 80, 24);
    assert!(by_name[2].contains("name▾") && by_name[4].ends_with("T.check"), "{by_name:?}");
}

#[test]
fn the_tree_opens_and_closes() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    let closed = after(&mut app, "2");
    assert!(closed[3].ends_with("▸ T.main") && closed[4].ends_with("▸ W.run"), "{closed:?}");
    assert_eq!(closed[5], "");
    app.press(Key::Right);
    let open = screen(&mut app, 80, 24);
    assert_eq!(open[3], "   0.00    90.00 █████▍ ▾ T.main");
    assert_eq!(open[4], "  10.00    70.00 ████▎    ▸ T.parse");
    assert_eq!(open[5], "   0.00    20.00 █▎       ▸ T.check");
    app.press(Key::Down);
    app.press(Key::Right);
    assert!(screen(&mut app, 80, 24)[5].ends_with("      Lexer.next"));
    // The keys close the node, go to its parent and close that: the screen is as before.
    app.press(Key::Left);
    app.press(Key::Left);
    app.press(Key::Left);
    assert_eq!(screen(&mut app, 80, 24), closed);
    let heaviest = after(&mut app, "e");
    assert!(heaviest[5].ends_with("Lexer.next"), "{heaviest:?}");
}

#[test]
fn callers_are_under_what_they_call() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    after(&mut app, "3");
    app.press(Key::Enter);
    let screen = screen(&mut app, 80, 24);
    assert!(screen[3].ends_with("▾ Lexer.next"), "{screen:?}");
    assert_eq!(screen[4], "  60.00 ███▋     ▸ T.parse");
    assert_eq!(screen[5], "  20.00 █▎       ▸ T.check");
}

#[test]
fn a_method_stands_between_its_callers_and_callees() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    app.press(Key::Down);
    app.press(Key::Enter);
    let screen = screen(&mut app, 80, 24);
    assert!(screen[3].starts_with("Callers of T.parse"), "{screen:?}");
    assert!(screen[4].ends_with("▾ T.parse") && screen[5].ends_with("T.main"), "{screen:?}");
    assert!(screen[6].starts_with("Called by T.parse"), "{screen:?}");
    assert!(screen[7].ends_with("▾ T.parse") && screen[8].ends_with("Lexer.next"), "{screen:?}");
    assert!(screen[8].trim_start().starts_with("60.00    60.00"), "{screen:?}");
}

#[test]
fn threads_and_focus_leave_the_rest_out() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    let threads = after(&mut app, "5");
    assert!(threads[3].ends_with("main") && threads[4].ends_with("worker"), "{threads:?}");
    app.press(Key::Down);
    app.press(Key::Enter);
    let of_thread = screen(&mut app, 80, 24);
    assert!(of_thread[0].ends_with("samples: 10 of 100"), "{of_thread:?}");
    assert!(of_thread[4].ends_with("Types.of") && of_thread[5].ends_with("W.run"));
    assert_eq!(of_thread[2], "only thread worker (Esc: everything)");
    app.press(Key::Escape);
    app.press(Key::Down);
    let focus = after(&mut app, "f2");
    assert_eq!(focus[2], "only through T.parse (Esc: everything)");
    assert!(focus[0].ends_with("samples: 70 of 100") && focus[5].is_empty(), "{focus:?}");
}

#[test]
fn search_goes_from_match_to_match() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    let typing = after(&mut app, "/t.");
    assert_eq!(typing[23], "/t.█");
    app.press(Key::Enter);
    assert!(after(&mut app, "m")[3].starts_with("Callers of T.parse"));
    assert!(after(&mut app, "1nm")[3].starts_with("Callers of T.main"));
    assert!(after(&mut app, "1nm")[3].starts_with("Callers of T.check"));
    assert!(after(&mut app, "1Nm")[3].starts_with("Callers of T.main"));
    after(&mut app, "1/nowhere");
    app.press(Key::Enter);
    assert_eq!(screen(&mut app, 80, 24)[23], "no line here has \"nowhere\"");
}

#[test]
fn metrics_take_turns() {
    let alone = after(&mut App::new(&profile(), "x"), "v");
    assert_eq!(alone[23], "the profile has only samples");
    let profile = profile_with_allocations();
    let mut app = App::new(&profile, "x");
    let allocated = after(&mut app, "v");
    assert!(allocated[0].ends_with("allocated: 4 MB"), "{allocated:?}");
    assert!(allocated[3].ends_with("byte[]"), "{allocated:?}");
    assert!(after(&mut app, "v")[0].ends_with("objects: 2"));
    assert!(after(&mut app, "v")[0].ends_with("samples: 100"));
}

/// A profile of samples, and of allocations in one method.
fn profile_with_allocations() -> Profile {
    let mut profile = profile();
    let class = profile.symbols.class("byte[]");
    let objects =
        Allocations { allocated_bytes: 4_000_000, allocated_count: 2, ..Allocations::default() };
    let trace = profile.total_cpu_samples().rows[0].0;
    let rows = vec![Site { class, trace, objects }];
    profile.events.push(Event::from(Sites { total: objects, rows, ..Sites::default() }));
    profile
}

#[test]
fn the_method_stays_chosen_where_it_has_no_numbers() {
    let profile = profile_with_allocations();
    let mut app = App::new(&profile, "x");
    let search = |app: &mut App<'_>, text: &str| {
        after(app, &format!("1/{text}"));
        app.press(Key::Enter);
    };
    search(&mut app, "check");
    assert!(after(&mut app, "m")[3].starts_with("Callers of T.check"));
    // No object was allocated below it.
    let empty = after(&mut app, "v");
    assert_eq!(empty[3], "no allocated here (v: the next metric): T.check");
    assert_eq!(empty[4], "");
    assert!(after(&mut app, "v")[3].starts_with("no objects here"));
    let shown = after(&mut app, "v");
    assert!(shown[0].ends_with("samples: 100"), "{shown:?}");
    assert!(shown[3].starts_with("Callers of T.check"), "{shown:?}");
    assert!(shown[5].ends_with("T.main") && shown[8].ends_with("Lexer.next"), "{shown:?}");
    // A method of the new metric can be chosen from another view.
    assert!(after(&mut app, "v14")[3].starts_with("Callers of byte[]"));
    assert!(after(&mut app, "V")[3].starts_with("no samples here"));
    assert!(after(&mut app, "V")[3].starts_with("Callers of byte[]"));
    after(&mut app, "v");
    // A selection without the method; the selected method is the new one.
    search(&mut app, "check");
    after(&mut app, "m");
    search(&mut app, "types");
    let around = |lines: &[String], name: &str| lines.contains(&format!("Callers of {name}"));
    assert!(around(&after(&mut app, "f4"), "Types.of"));
    assert!(around(&after(&mut app, "F"), "Types.of"));
}

#[test]
fn the_flame_graph_is_as_wide_as_the_screen() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    let flame = after(&mut app, "6");
    assert!(flame[2].starts_with("▏T.main"), "{flame:?}");
    // 90 of 100 in 80 columns, and the bar before the name.
    assert_eq!(flame[2].chars().position(|c| c == 'W'), Some(73));
    assert!(flame[21].starts_with("self 0 (0.00 %), total 90 (90.00 %)"), "{flame:?}");
    app.press(Key::Down);
    app.press(Key::Enter);
    let zoomed = screen(&mut app, 80, 24);
    assert!(zoomed[3].starts_with("▏T.parse"), "{zoomed:?}");
    assert!(zoomed[4].starts_with("▏Lexer.next"), "{zoomed:?}");
    assert_eq!(zoomed[2].matches('▏').count(), 1);
}

#[test]
fn help_and_leaving() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    assert!(after(&mut app, "?").iter().any(|line| line.contains("leave")));
    assert!(after(&mut app, "q")[0].starts_with("x "), "a key closes the help");
    assert!(!app.is_done());
    app.press(Key::Char('q'));
    assert!(app.is_done());
}

#[test]
fn an_empty_profile_has_a_view_too() {
    let profile = Profile::default();
    let mut app = App::new(&profile, "x");
    for view in ["1", "2", "\t"] {
        let screen = after(&mut app, view);
        assert_eq!(screen[1], " 1 Methods");
        assert_eq!(screen[3], "the profile has nothing to show here");
    }
}

/// A heap of two classes.
fn heap() -> Profile {
    let mut profile = Profile::default();
    let mut row = |class: &str, instance_count, shallow_bytes| {
        let class = profile.symbols.class(class);
        HeapClassRow { class, instance_count, shallow_bytes }
    };
    let rows = vec![row("com.acme.Order", 100, 4_000), row("byte[]", 20, 6_000)];
    profile.events.push(Event::Heap(HeapHistogram { rows, ..HeapHistogram::default() }));
    profile
}

#[test]
fn a_heap_dump_has_its_classes_alone() {
    let profile = heap();
    let mut app = App::new(&profile, "heap.hprof");
    let shown = screen(&mut app, 80, 24);
    assert_eq!(
        &shown[..5],
        [
            "heap.hprof                                        heap dump: 120 objects = 10 kB",
            " 1 Heap",
            " bytes %▾ objects %          class",
            "   60.00      16.67 ███▋     byte[]",
            "   40.00      83.33 ██▍      com.acme.Order",
        ]
    );
    assert_eq!(
        &shown[21..],
        [
            "6 kB (60.00 %), 20 objects (16.67 %), 300 B each",
            "byte[]",
            "? help  q leave  / find  & only  s sort",
        ]
    );
    let by_count = after(&mut app, "s");
    assert!(by_count[2].contains("objects %▾") && by_count[3].ends_with("com.acme.Order"));
}

/// 40 ms in which threads were blocked by Cache.load, and two threads that wait for each other.
fn locks() -> Profile {
    let mut profile =
        collapsed::read("T.main;Cache.get 1\nT.main;Cache.load 1\n".as_bytes()).unwrap();
    let rows: Vec<_> = profile.total_cpu_samples().rows.iter().map(|row| row.0).collect();
    profile.events.clear();
    let class = profile.symbols.class("Cache");
    let kind = LockKind::Monitor;
    let waits = Waits { blocked_count: 4, blocked_ns: 40_000_000, ..Waits::default() };
    let times = MonitorRow { trace: rows[0], class, kind, waits };
    let times = MonitorTimes { total_ns: waits.blocked_ns, rows: vec![times], written: None };
    profile.events.push(Event::from(times));
    let holder =
        HolderRow { trace: rows[1], class, kind, blocking_ns: 38_000_000, sample_count: 25 };
    profile.events.push(HolderRow::section(&[holder], None).into());
    let monitor = |identity, owner, blocked| Monitor {
        class,
        identity: Some(identity),
        kind,
        owner: Some(owner),
        entry_count: 1,
        blocked: vec![blocked],
        waiting: Vec::new(),
    };
    let monitors = vec![monitor(0xa1, 1, 2), monitor(0xb2, 2, 1)];
    profile.events.push(Event::MonitorDump(MonitorDump { monitors, ..MonitorDump::default() }));
    profile
}

#[test]
fn locks_have_those_who_wait_and_those_who_hold() {
    let profile = locks();
    let mut app = App::new(&profile, "locks.hprof");
    assert_eq!(
        screen(&mut app, 80, 24)[1],
        " 1 Methods  2 Tree  3 Callers  4 Method  5 Flame  6 Locks"
    );
    let closed = after(&mut app, "6");
    assert_eq!(
        &closed[..8],
        [
            "locks.hprof                                            blocked 40 ms, waited 0 s",
            " 1 Methods  2 Tree  3 Callers  4 Method  5 Flame  6 Locks",
            " blocked %  waited %          lock",
            "Deadlock of 2 threads",
            "  thread 1 waits for Cache@b2, which thread 2 has",
            "  thread 2 waits for Cache@a1, which thread 1 has",
            "Locks by blocked time",
            "    100.00      0.00 ██████ ▸ Cache",
        ]
    );
    after(&mut app, "jj");
    app.press(Key::Enter);
    let open = screen(&mut app, 80, 24);
    assert_eq!(open[7], "    100.00      0.00 ██████ ▾ Cache");
    assert_eq!(open[8], "    100.00      0.00 ██████   ▸ blocked in Cache.get");
    assert_eq!(open[9], "     95.00           █████▊   ▸ held in Cache.load");
    assert!(open[21].starts_with("blocked 4 times for 40 ms"), "{open:?}");
    assert!(
        after(&mut app, "jj")[21].starts_with("others were blocked for 38 ms, from 25 samples")
    );
    // A place has its paths, each with the innermost frame, and a path its frames.
    app.press(Key::Right);
    app.press(Key::Down);
    app.press(Key::Right);
    let path = screen(&mut app, 80, 24);
    assert_eq!(path[10], "     95.00           █████▊     ▾ Cache.load");
    assert!(path[11].ends_with("Cache.load") && path[12].ends_with("T.main"), "{path:?}");
    assert_eq!(path[13], "Threads at locks when it was dumped last");
    assert!(path[14].ends_with("▸ Cache@a1: 1 blocked, 0 waiting"), "{path:?}");
}

fn key() -> impl Strategy<Value = Key> {
    let letters: Vec<char> = "12345678vsVmfFejklhgGnN/&\\?T. ".chars().collect();
    prop_oneof![
        4 => prop::sample::select(letters).prop_map(Key::Char),
        3 => prop::sample::select(vec![
            Key::Up, Key::Down, Key::Left, Key::Right, Key::PageUp, Key::PageDown, Key::Home,
            Key::End, Key::Enter, Key::Escape, Key::Backspace, Key::Tab, Key::BackTab,
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_keys_on_any_screen(
        keys in prop::collection::vec(key(), 0..60),
        sizes in prop::collection::vec((1..200_u16, 1..60_u16), 4),
        which in 0..3_usize,
    ) {
        let profile = [profile, heap, locks][which]();
        let mut app = App::new(&profile, "a profile");
        for (index, key) in keys.into_iter().enumerate() {
            app.press(key);
            let (width, height) = sizes[index % sizes.len()];
            let lines = screen(&mut app, width, height);
            prop_assert_eq!(lines.len(), usize::from(height));
        }
    }
}

#[test]
fn stacks_start_at_the_programs_own_code() {
    let text = "java.lang.Thread.run;org.apache.tomcat.Worker.run;com.acme.Shop.list 60\n\
        java.lang.Thread.run;org.apache.tomcat.Worker.run;com.acme.Shop.list;java.util.Map.get 30\n\
        java.lang.Thread.run;org.apache.tomcat.Poller.run 10\n";
    let mut profile = collapsed::read(text.as_bytes()).unwrap();
    profile.app = vec![perk_profile::NamePattern::new("com.acme.*").unwrap()];
    let mut app = App::new(&profile, "shop");
    let folded = [
        "   0.00    90.00 █████▍ ▾ [above your code]",
        "  60.00    90.00 █████▍   ▸ com.acme.Shop.list",
        "   0.00    10.00 ▋      ▸ java.lang.Thread.run",
    ];
    assert_eq!(&after(&mut app, "2")[3..6], folded);
    // The numbers of methods are those of all stacks.
    let methods = after(&mut app, "1");
    assert!(
        methods
            .iter()
            .any(|line| line.contains("0.00   100.00") && line.ends_with("java.lang.Thread.run")),
        "{methods:?}"
    );
    let whole = after(&mut app, "2o");
    assert_eq!(whole[3], "   0.00   100.00 ██████ ▸ java.lang.Thread.run");
    assert_eq!(&after(&mut app, "o")[3..6], folded);
    // In the flame graph the bar opens, too.
    let flame = after(&mut app, "5");
    assert!(
        flame[2].starts_with("▏[above your code]") && flame[3].starts_with("▏com.acme.Shop.list"),
        "{flame:?}"
    );
    app.press(Key::Enter);
    assert!(screen(&mut app, 80, 24)[2].starts_with("▏java.lang.Thread.run"));
}
