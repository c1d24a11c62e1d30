//! The browser without a terminal: keys in, screens out.

use perk_formats::collapsed;
use perk_profile::{Allocations, Event, Profile, Site, Sites};
use perk_ui::{App, Key, draw};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

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
            "  self %      self▾  total %     total   name",
            "   80.00        80     80.00        80     Lexer.next",
            "   10.00        10     70.00        70     T.parse",
            "   10.00        10     10.00        10     Types.of",
            "    0.00         0     90.00        90     T.main",
            "    0.00         0     20.00        20     T.check",
        ]
    );
    assert!(screen[23].starts_with("? help"), "{}", screen[23]);
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
    assert_eq!(open[3], "    0.00         0     90.00        90   ▾ T.main");
    assert_eq!(open[4], "   10.00        10     70.00        70     ▸ T.parse");
    assert_eq!(open[5], "    0.00         0     20.00        20     ▸ T.check");
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
    assert_eq!(screen[4], "   60.00        60     60.00        60     ▸ T.parse");
    assert_eq!(screen[5], "   20.00        20     20.00        20     ▸ T.check");
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
    assert!(screen[8].trim_start().starts_with("60.00"), "{screen:?}");
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
    assert!(of_thread[3].ends_with("Types.of") && of_thread[4].ends_with("W.run"));
    assert_eq!(of_thread[23], "only thread worker (Esc: everything)");
    app.press(Key::Escape);
    app.press(Key::Down);
    let focus = after(&mut app, "f2");
    assert_eq!(focus[23], "only through T.parse (Esc: everything)");
    assert!(focus[0].ends_with("samples: 70 of 100") && focus[4].is_empty(), "{focus:?}");
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
    let mut profile = profile();
    let alone = after(&mut App::new(&profile, "x"), "v");
    assert_eq!(alone[23], "the profile has only samples");
    let class = profile.symbols.class("byte[]");
    let objects =
        Allocations { allocated_bytes: 4_000_000, allocated_count: 2, ..Allocations::default() };
    let trace = profile.total_cpu_samples().rows[0].0;
    let rows = vec![Site { class, trace, objects }];
    profile.events.push(Event::from(Sites { total: objects, rows, ..Sites::default() }));
    let mut app = App::new(&profile, "x");
    let allocated = after(&mut app, "v");
    assert!(allocated[0].ends_with("allocated: 4 MB"), "{allocated:?}");
    assert!(allocated[3].ends_with("byte[]"), "{allocated:?}");
    assert!(after(&mut app, "v")[0].ends_with("objects: 2"));
    assert!(after(&mut app, "v")[0].ends_with("samples: 100"));
}

#[test]
fn the_flame_graph_is_as_wide_as_the_screen() {
    let profile = profile();
    let mut app = App::new(&profile, "x");
    let flame = after(&mut app, "6");
    assert!(flame[2].starts_with("▏T.main"), "{flame:?}");
    // 90 of 100 in 80 columns, and the bar before the name.
    assert_eq!(flame[2].chars().position(|c| c == 'W'), Some(73));
    assert!(flame[22].starts_with("90.00 % total, 0.00 % self: T.main"), "{flame:?}");
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
fn an_empty_profile_has_views_too() {
    let profile = Profile::default();
    let mut app = App::new(&profile, "x");
    for view in ["1", "2", "3", "4", "5", "6"] {
        let screen = after(&mut app, view);
        let says =
            |line: &String| line.contains("nothing to show") || line.contains("not distinguish");
        assert!(screen.iter().any(says), "{screen:?}");
    }
}

fn key() -> impl Strategy<Value = Key> {
    let letters: Vec<char> = "123456vsVmfFejklhgGnN/?T. ".chars().collect();
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
    ) {
        let profile = profile();
        let mut app = App::new(&profile, "a profile");
        for (index, key) in keys.into_iter().enumerate() {
            app.press(key);
            let (width, height) = sizes[index % sizes.len()];
            let lines = screen(&mut app, width, height);
            prop_assert_eq!(lines.len(), usize::from(height));
        }
    }
}
