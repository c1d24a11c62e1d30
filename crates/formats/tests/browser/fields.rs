//! The page of fields.

use std::fmt::Write as _;

use perk_formats::{View, fields_page, shared_fields};
use serde_json::json;

use crate::{BrowserPage, say};

fn open(text: &str) -> Option<BrowserPage> {
    let profile = shared_fields::read(text.as_bytes()).unwrap();
    let mut html = Vec::new();
    fields_page::write(&View::new(&profile, "a <b> & {{title}}"), &mut html).unwrap();
    BrowserPage::open_html(&html)
}

fn record(site: &str, class: &str, field: &str, numbers: [u64; 4]) -> String {
    let site = if site == "?" { "?" } else { "app/Main\x1cmain\x1c()V\x1c4" };
    let [a, b, c, d] = numbers;
    format!("{site}\t{class}\n{class}\x1c{field}\x1cI\t{a}\t{b}\t{c}\t{d}\n\n")
}

/// A field of each of four advice, and one of an object of unknown site.
fn known() -> String {
    record("Main", "app.Own", "x", [7, 0, 2, 0])
        + &record("Main", "app.Lock", "guarded", [1, 5, 2, u64::MAX])
        + &record("Main", "app.Once", "name</script><script>alert(1)</script>", [0, 4, 1, 0])
        + &record("Main", "app.Half", "state", [1, 0, 1, 1])
        + &record("?", "app.Late", "z", [0, 60, 0, 0])
}

/// The names of the shown fields.
const NAMES: &str = "return [...document.querySelectorAll('tr[data-row] td:nth-child(3)')]
    .map((cell) => cell.textContent)";

fn set(page: &BrowserPage, id: &str, event: &str, value: &str) {
    page.run(&format!(
        "const it = document.getElementById('{id}');
         it.value = '{value}'; it.dispatchEvent(new Event('{event}'))"
    ));
}

#[test]
fn the_table_sorts_and_searches() {
    let Some(page) = open(&known()) else { return };
    let name = "name</script><script>alert(1)</script>";
    assert_eq!(page.run(NAMES), json!(["guarded", name, "state", "x", "z"]));
    page.expect_text("found", "5 of 5 fields");
    assert!(
        page.text("total").starts_with("5 objects, 3 of them shared between threads (75.00 %);")
    );
    assert!(
        page.text("unknown").starts_with("Not judged: 1 object of unknown site"),
        "{}",
        page.text("unknown")
    );
    let click = |heading: u32| {
        page.run(&format!("document.querySelectorAll('th button')[{heading}].click()"));
    };
    click(2);
    assert_eq!(page.run(NAMES), json!(["guarded", name, "state", "x", "z"]));
    click(2);
    assert_eq!(page.run(NAMES), json!(["z", "x", "state", name, "guarded"]));
    click(8);
    assert_eq!(page.run(NAMES), json!(["x", "guarded", "state", name, "z"]));
    let sorts = page.run(
        "return [...document.querySelectorAll('th')].map((th) => th.ariaSort)
           .filter((sort) => sort !== 'none')",
    );
    assert_eq!(sorts, json!(["descending"]));
    set(&page, "search", "input", "app. LOCK");
    assert_eq!(page.run(NAMES), json!(["guarded"]));
    page.expect_text("found", "1 of 5 fields");
    set(&page, "search", "input", "app. -LOCK -");
    page.expect_text("found", "4 of 5 fields");
    set(&page, "search", "input", "nothing");
    assert_eq!(page.run(NAMES), json!([]));
    set(&page, "search", "input", "");
    set(&page, "todo", "change", "shared");
    assert_eq!(page.run(NAMES), json!(["guarded", "state", name]));
    set(&page, "todo", "change", "1");
    assert_eq!(page.run(NAMES), json!(["state"]));
    assert!(page.text("meaning").contains("make it volatile"), "{}", page.text("meaning"));
}

#[test]
fn a_row_has_exact_numbers_and_its_advice() {
    let Some(page) = open(&known()) else { return };
    let cells = page.run(
        "return [...document.querySelector('tr[data-row]').children].map((cell) => cell.textContent)",
    );
    let largest = "18,446,744,073,709,551,615";
    assert_eq!(
        cells,
        json!([
            "lock", "app.Lock", "guarded", "1", "100.00", "100.00", "0.00", "", "1", "5", "2",
            largest
        ])
    );
    page.run("document.querySelector('tr[data-row] td').click()");
    let detail = page.text("detail");
    assert!(detail.starts_with("app.Lock: int guarded. lock: "), "{detail}");
    let widths = page.run(
        "return [...document.querySelectorAll('tr[data-row]:nth-child(5) .accesses span')]
           .map((part) => part.style.width)",
    );
    assert_eq!(widths, json!(["77.7778%", "0%", "22.2222%", "0%"]));
    assert_eq!(page.run("return document.querySelector('h1').textContent"), "a <b> & {{title}}");
    let log = page.browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn accesses_by_other_means_have_columns_of_their_own() {
    let text = "app/Main\x1cmain\x1c()V\x1c4\tapp.A\napp.A\x1cvalue\x1cI\t2\t0\t1\t0\t0\t10\t20\t30\n\
                app.A\x1cother\x1cI\t2\t1\t1\t0\t0\t0\t0\t0\n\n?\tL\nL\x1cz\x1cI\t0\t5\t0\t0\t0\t2\t0\t7\n";
    let Some(page) = open(text) else { return };
    assert_eq!(page.run(NAMES), json!(["value", "other", "z"]));
    let cells = page.run(
        "return [...document.querySelector('tr[data-row]').children].map((cell) => cell.textContent)",
    );
    let expected = [
        "lock", "app.A", "value", "1", "100.00", "100.00", "0.00", "", "2", "0", "1", "0", "0",
        "10", "20", "30",
    ];
    assert_eq!(cells, json!(expected));
    let text = page.text("extended");
    assert!(text.starts_with("By other means (arraycopy, clone, reflection, VarHandle, Unsafe, JNI): 60 accesses, 40 of"), "{text}");
    assert!(page.text("unknown").contains("with 14 accesses:"), "{}", page.text("unknown"));
    drop(page);
    let Some(page) = open(&known()) else { return };
    page.expect_text("extended", "");
    assert_eq!(page.run("return document.querySelectorAll('th').length"), 12);
    let log = page.browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn a_profile_without_objects_says_so() {
    let Some(page) = open("") else { return };
    page.expect_text("found", "0 of 0 fields");
    let total = page.text("total");
    assert!(total.starts_with("0 objects, 0 of them shared between threads (0.00 %); 0 accesses,"));
    page.run("document.querySelector('th button').click()");
    let log = page.browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn fifty_thousand_rows_are_quick() {
    let mut text = String::new();
    for index in 0..50_000_u64 {
        let class = format!("org.example.p{}.Type{}", index % 90, index / 5);
        write!(
            text,
            "{}",
            record("Main", &class, &format!("field{index}"), [index, 1, 1, index % 7])
        )
        .unwrap();
    }
    let Some(page) = open(&text) else { return };
    page.expect_text("found", "50,000 of 50,000 fields");
    let rows = page.run("return document.querySelectorAll('tr').length").as_u64().unwrap();
    assert!(rows < 100, "{rows}");
    let opened = page.run("return performance.now()").as_f64().unwrap();
    let time = |script: &str| {
        let script =
            format!("const begin = performance.now(); {script}; return performance.now() - begin");
        page.run(&script).as_f64().unwrap()
    };
    let sort = time("document.querySelectorAll('th button')[1].click()");
    let search = time(
        "const it = document.getElementById('search');
         it.value = 'type77 field'; it.dispatchEvent(new Event('input'))",
    );
    set(&page, "search", "input", "");
    let scroll = time("view.scrollTop = 1e9; draw()");
    assert_eq!(page.run("return found.length"), 50_000);
    let last =
        page.run("return [...document.querySelectorAll('tr[data-row]')].at(-1).ariaRowIndex");
    assert_eq!(last, "50001");
    say(&format!(
        "50,000 rows: open after {opened:.0} ms, sort {sort:.0} ms, search {search:.0} ms, \
         scroll {scroll:.1} ms"
    ));
    assert!(sort.max(search).max(scroll) < 5000.0);
}
