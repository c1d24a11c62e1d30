//! The switch between the values of a page.

use perk_profile::{
    Allocations, Column, Event, Key, Metric, Profile, Section, SectionHead, Site, Sites, Subject,
    TraceId, WallState,
};
use serde_json::{Value, json};

use super::{BrowserPage, ESCAPE, known, times};

/// Samples with times, wall-clock time with a path of its own, and allocated bytes.
fn several() -> Profile {
    let mut profile = times::timed();
    let trace = |profile: &Profile, name: &str| -> TraceId {
        let rows = Metric::Samples.rows(profile).by_trace();
        let is_it = |trace: TraceId| {
            let frame = profile.frames(trace).next().unwrap();
            profile.symbols.method_name(profile.symbols.get_frame(frame).method) == name
        };
        rows.into_iter().map(|row| row.0).find(|&it| is_it(it)).unwrap()
    };
    let [main, a] = ["app.Main.main", "app.A.a"].map(|name| trace(&profile, name));
    let class = profile.symbols.class("app.Idle");
    let name = profile.symbols.strings.intern("idle");
    let method = perk_profile::Method { class, name, signature: None, source: None };
    let method = profile.symbols.method(method);
    let frame =
        profile.symbols.frame(perk_profile::Frame::new(method, perk_profile::Line::Unknown));
    let node = profile.get_trace(main).node;
    let node = profile.tree.insert_below(node, [frame]);
    let idle = profile.trace(node, None);
    let head = SectionHead::new([Column::new(Metric::WallTime, 3_000_000_000)]);
    let rows = [
        (a, WallState::Running, 1_000_000_000),
        (idle, WallState::Sleeping, 1_500_000_000),
        (idle, WallState::Parked, 500_000_000),
    ];
    let key = |trace, state| Key::new(trace, Subject::State(state));
    let rows = rows.map(|(trace, state, ns)| (key(trace, state), [ns]));
    profile.events.push(Event::Section(Section::with_rows(head, rows)));
    let objects = Allocations { allocated_bytes: 4096, allocated_count: 4, ..Default::default() };
    let class = profile.symbols.class("byte[]");
    let rows = vec![Site { class, trace: main, objects }];
    profile.events.push(Event::from(Sites { total: objects, rows, ..Sites::default() }));
    profile
}

/// Chooses a value as a user does.
fn choose(page: &BrowserPage, index: usize) {
    page.run(&format!(
        "const values = document.getElementById('values');
         values.value = {index};
         values.dispatchEvent(new Event('change'))"
    ));
}

const ZOOM: &str = "return perk.model.name(perk.chart.zoom)";
const STRIP: &str = "return document.getElementById('times').hidden";

#[test]
fn values_are_switched_and_the_zoom_stays() {
    let Some(page) = BrowserPage::open(&several()) else { return };
    let options =
        page.run("return [...document.getElementById('values').options].map((it) => it.text)");
    let expected = ["Show: samples", "Show: wall-clock time", "Show: allocated bytes"];
    assert_eq!(options, json!(expected));
    page.click("app.A.a");
    page.wait_for(ZOOM, &json!("app.A.a"));
    choose(&page, 1);
    page.wait_for(ZOOM, &json!("app.A.a"));
    page.wait_for("return perk.model.total[0]", &json!(3_000_000_000_u64));
    assert!(page.hash().starts_with("#v=wall&z="), "{}", page.hash());
    assert!(page.text("detail").contains("1.00 s (33.33 %)"), "{}", page.text("detail"));
    assert!(page.text("summary").starts_with("3.00 s (wall-clock time)"));
    assert_eq!(page.run(STRIP), json!(true));
    page.expect_text("legend", "your code 100.00 %\n[running] 100.00 %");
    // The search finds what this value has.
    page.browser.keys("/app.");
    page.expect_text("found", "100.00 % · 1.00 s of 1.00 s in zoom · 3 frame names");
    page.browser.keys(ESCAPE);
    page.wait_for(ZOOM, &json!("all"));
    page.expect_hash("#v=wall");
    let legend = page.text("legend");
    assert!(legend.contains("[sleeping] 50.00 %") && !legend.contains(" 0.00 %"), "{legend}");
    page.click("app.Idle.idle");
    page.wait_for(ZOOM, &json!("app.Idle.idle"));
    // Samples do not have the path: what there is of it stays.
    choose(&page, 0);
    page.wait_for(ZOOM, &json!("app.Main.main"));
    page.wait_for("return perk.model.total[0]", &json!(1000));
    assert_eq!(page.run(STRIP), json!(false));
    page.run("history.back()");
    page.wait_for(ZOOM, &json!("app.Idle.idle"));
    page.wait_for("return document.getElementById('values').value", &json!("1"));
    choose(&page, 2);
    page.wait_for(ZOOM, &json!("app.Main.main"));
    assert!(page.text("detail").contains("4.1 kB (100.00 %)"), "{}", page.text("detail"));
    // A link shows the same.
    page.run("location.reload()");
    page.wait_for("return typeof perk === 'object' && perk.model.total[0]", &json!(4096));
    assert_eq!(page.run(ZOOM), json!("app.Main.main"));
    choose(&page, 0);
    page.wait_for("return perk.model.total[0]", &json!(1000));
    assert_eq!(page.run(STRIP), json!(false));
    assert!(page.browser.log("browser").is_empty());
}

#[test]
fn methods_have_the_numbers_of_their_states_and_classes() {
    let Some(page) = BrowserPage::open(&several()) else { return };
    choose(&page, 1);
    let rows = "return [...document.querySelectorAll('#methods tbody tr')]
        .map((row) => [...row.cells].map((cell) => cell.innerText))";
    let methods = json!([
        ["66.67 %", "66.67 %", "Idle.idle app"],
        ["33.33 %", "33.33 %", "A.a app"],
        ["0.00 %", "100.00 %", "Main.main app"],
    ]);
    page.wait_for(rows, &methods);
    page.run("document.getElementById('subjects').click()");
    let states =
        json!([["50.00 %", "[sleeping]"], ["33.33 %", "[running]"], ["16.67 %", "[parked]"]]);
    page.wait_for(rows, &states);
    // The parked time is that of an idle thread.
    page.browser.keys("o");
    page.click("app.Idle.idle");
    assert!(page.text("detail").contains("self 2.00 s (66.67 %)"), "{}", page.text("detail"));
    page.browser.keys("r");
    page.wait_for("return perk.model.name(1)", &json!("[sleeping]"));
    let legend = "your code 100.00 %\n[sleeping] 50.00 %\n[running] 33.33 %\n[parked] 16.67 %";
    page.expect_text("legend", legend);
    assert!(page.browser.log("browser").is_empty());
}

#[test]
fn the_window_stays_with_its_value() {
    let Some(page) = BrowserPage::open(&several()) else { return };
    const TOTAL: &str = "return perk.model.total[0]";
    page.run("perkTimes.select(100, 400)");
    page.wait_for(TOTAL, &json!(300));
    choose(&page, 1);
    page.wait_for(TOTAL, &json!(3_000_000_000_u64));
    choose(&page, 0);
    page.wait_for("return perkTimes.window", &json!([100, 400]));
    page.wait_for(TOTAL, &json!(300));
    // Reset also forgets a window that is not shown.
    choose(&page, 1);
    page.browser.keys(ESCAPE);
    page.wait_for("return perkTimes.kept", &Value::Null);
    choose(&page, 0);
    page.wait_for(TOTAL, &json!(1000));
    assert_eq!(page.run("return perkTimes.window"), Value::Null);
    assert!(page.browser.log("browser").is_empty());
}

#[test]
fn one_value_has_no_switch() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    assert_eq!(page.run("return document.getElementById('values')"), Value::Null);
}
