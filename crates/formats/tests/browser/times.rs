//! The time strip above the flame graph.

use perk_profile::{
    Event, Metric, Profile, TICK_NS, Thread, ThreadId, Timeline, TimelineHead, TimelineRow,
};
use serde_json::{Value, json};

use super::{BrowserPage, ENTER, ESCAPE, LEFT, RIGHT, known};

const END: &str = "\u{E010}";

/// The samples of [`known`] over ten seconds: a tick has one sample, path after path, so `a` runs from
/// 1 s to 4 s and `b` from 4 s to 10 s.
pub(super) fn timed() -> Profile {
    let mut profile = known();
    let mut threads = Vec::new();
    for (serial, name) in [(1, "main"), (2, "worker")] {
        let name = profile.symbols.strings.intern(name);
        let thread = Thread { serial, object_id: 0, name, group: None, parent_group: None };
        threads.push(profile.push_thread(thread));
    }
    let mut tick = 0;
    let mut rows = Vec::new();
    for (trace, count) in Metric::Samples.rows(&profile).by_trace() {
        for _ in 0..count {
            let thread: Option<ThreadId> = Some(threads[usize::from(tick >= 400)]);
            rows.push(TimelineRow { tick, thread, trace, count: 1 });
            tick += 1;
        }
    }
    let end_ns = tick * TICK_NS;
    let head = TimelineHead { metric: Metric::Samples, tick_ns: TICK_NS, begin_ns: 0, end_ns };
    profile.events.push(Event::Timeline(Timeline { head, rows: rows.into() }));
    profile
}

/// The script that returns the samples of everything, of `a` and of `b`.
const TOTALS: &str = "const {model, find} = perk;
    return [0, find('app.A.a'), find('app.B.b')].map((node) => model.total[node])";
const WINDOW: &str = "return perkTimes.window";

/// Waits until the window has these bins.
#[track_caller]
fn expect_window(page: &BrowserPage, window: &Value) {
    page.wait_for(WINDOW, window);
}

/// Opens the strip, which is closed at first; a link keeps it open.
fn open_strip(page: &BrowserPage) {
    assert_eq!(page.run("return perkTimes.isOpen"), json!(false));
    page.run("document.getElementById('times-caption').click()");
    page.expect_hash("#i=1");
}

/// The place of the strip at a share of its width.
fn at(page: &BrowserPage, share: f64) -> (f64, f64) {
    let place = page.run(
        "const box = document.querySelector('#times-strip canvas').getBoundingClientRect();
         return [box.left, box.width, box.top + 10]",
    );
    let [left, width, y] = [0, 1, 2].map(|index| place[index].as_f64().unwrap());
    (left + share * width, y)
}

#[test]
fn a_dragged_window_is_what_the_graph_shows() {
    let Some(page) = BrowserPage::open(&timed()) else { return };
    open_strip(&page);
    page.wait_for(TOTALS, &json!([1000, 300, 600]));
    page.expect_text("times-window", "all of 10.00 s");
    let strip = page.run("return document.getElementById('times-caption').firstChild.textContent");
    assert_eq!(strip, "samples by thread, times to 10 ms · drag to select a window");
    page.browser.drag(at(&page, 0.2), at(&page, 0.5));
    page.wait_for("return perkTimes.window !== null", &json!(true));
    let window = page.run(WINDOW);
    let [from, to] = [0, 1].map(|index| window[index].as_u64().unwrap());
    assert!(from.abs_diff(200) <= 2 && to.abs_diff(500) <= 2, "{window}");
    page.wait_for(TOTALS, &json!([to - from, 400 - from, to - 400]));
    assert!(page.spans_all("app.Main.main"));
    let text = page.text("times-window");
    assert!(text.contains(&format!("{} samples of 1,000", to - from)), "{text}");
    assert!(page.text("summary").starts_with(&format!("{} samples", to - from)));
    // Shares are of the window.
    page.browser.keys("/A.a");
    let (part, whole) = (400 - from, to - from);
    let share = part as f64 * 100.0 / whole as f64;
    page.expect_text("found", &format!("{share:.2} % · {part} of {whole} samples · 1 frame name"));
    page.click("app.A.a");
    page.wait_for("return perk.chart.zoom === perk.find('app.A.a')", &json!(true));
    assert!(page.spans_all("app.A.a"));
    // A click beside the window shows everything again.
    let (x, y) = at(&page, 0.9);
    page.browser.click(x, y);
    expect_window(&page, &Value::Null);
    page.wait_for(TOTALS, &json!([1000, 300, 600]));
    page.browser.drag(at(&page, 0.95), at(&page, 0.6));
    page.wait_for(&format!("{}[1]", TOTALS), &json!(0));
    page.browser.keys(ESCAPE);
    page.wait_for(TOTALS, &json!([1000, 300, 600]));
    page.wait_for("return perk.chart.zoom", &json!(0));
    assert!(page.browser.log("browser").is_empty());
}

#[test]
fn the_keyboard_selects_a_window() {
    let Some(page) = BrowserPage::open(&timed()) else { return };
    open_strip(&page);
    page.run("document.getElementById('times-strip').focus()");
    page.browser.keys(RIGHT);
    expect_window(&page, &json!([0, 100]));
    page.wait_for(TOTALS, &json!([100, 0, 0]));
    page.browser.keys(RIGHT);
    expect_window(&page, &json!([1, 101]));
    page.browser.keys(LEFT);
    page.browser.keys(END);
    expect_window(&page, &json!([900, 1000]));
    page.wait_for(TOTALS, &json!([100, 0, 100]));
    page.run(
        "for (const key of ['ArrowLeft', 'ArrowLeft']) {
           const event = new KeyboardEvent('keydown', {key, shiftKey: true, bubbles: true});
           document.getElementById('times-strip').dispatchEvent(event);
         }",
    );
    expect_window(&page, &json!([900, 998]));
    page.browser.keys(ENTER);
    expect_window(&page, &json!([900, 998]));
    page.browser.keys(ESCAPE);
    expect_window(&page, &Value::Null);
}

#[test]
fn threads_that_only_the_times_tell_apart_are_chosen() {
    let Some(page) = BrowserPage::open(&timed()) else { return };
    open_strip(&page);
    let choose = |choice: &str| {
        page.run(&format!(
            "const list = document.getElementById('threads');
             list.value = '{choice}';
             list.dispatchEvent(new Event('change'))"
        ));
    };
    let options =
        page.run("return [...document.getElementById('threads').options].map((it) => it.text)");
    let expected = ["All threads, merged", "worker · 60.00 %", "main · 40.00 %"];
    assert_eq!(options, json!(expected));
    choose("t:main");
    page.wait_for(TOTALS, &json!([400, 300, 0]));
    page.run("perkTimes.select(0, 200)");
    page.wait_for(TOTALS, &json!([200, 100, 0]));
    choose("t:worker");
    page.wait_for(TOTALS, &json!([0, 0, 0]));
    page.run("perkTimes.clear()");
    page.wait_for(TOTALS, &json!([600, 0, 600]));
    page.run("location.reload()");
    page.wait_for("return typeof perk === 'object' && perk.model.total[0]", &json!(600));
    choose("");
    page.wait_for(TOTALS, &json!([1000, 300, 600]));
    assert!(page.browser.log("browser").is_empty());
}

#[test]
fn without_times_there_is_no_strip() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    assert_eq!(page.run("return document.getElementById('times')"), Value::Null);
    assert_eq!(page.run("return typeof perkTimes"), "undefined");
}
