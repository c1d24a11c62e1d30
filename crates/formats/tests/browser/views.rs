//! The views of the tree: threads, reversed, merged, frames left out, methods with their callers and
//! callees, the copied stack.

use perk_formats::{View, collapsed, flamegraph};
use perk_profile::Profile;
use serde_json::{Value, json};

use super::{BrowserPage, DOWN, ESCAPE, known};

/// 100 samples on two threads; 80 of them end in the JDK; `a` calls itself in one stack.
const THREADED: &str = "[main];app.Main.main;app.A.a 10\n\
    [main];app.Main.main;app.A.a;java.util.HashMap.get 30\n\
    [main];app.Main.main;app.B.b;java.util.HashMap.get 50\n\
    [pool-1];app.Main.main;app.A.a;app.A.a;app.C.c 10\n";

/// The script that returns each node of the shown tree: level, name, total, self.
const NODES: &str = "const {model} = perk;
    return Array.from(model.level, (level, node) =>
      [level, model.name(node), model.total[node], model.self[node]])";
const CALLS: &str = r#"[[0, "all", 100, 0], [1, "app.Main.main", 100, 0], [2, "app.A.a", 50, 10],
    [3, "app.A.a", 10, 0], [4, "app.C.c", 10, 10], [3, "java.util.HashMap.get", 30, 30],
    [2, "app.B.b", 50, 0], [3, "java.util.HashMap.get", 50, 50]]"#;

fn threaded() -> Profile {
    collapsed::read(THREADED.as_bytes()).unwrap()
}

fn nodes(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Chooses an entry of a list as a user does.
fn choose(page: &BrowserPage, list: &str, value: &str) {
    page.run(&format!(
        "const list = document.getElementById('{list}');
         list.value = '{value}';
         list.dispatchEvent(new Event('change'))"
    ));
}

fn press(page: &BrowserPage, selector: &str) {
    page.run(&format!("document.querySelector('{selector}').click()"));
}

/// The script that returns the cells of a table's rows.
fn rows(table: &str) -> String {
    format!(
        "return [...document.querySelectorAll('#{table} tbody tr')]
           .map((row) => [...row.cells].map((cell) => cell.innerText.replace(/\\s+/g, ' ')))"
    )
}

fn assert_no_errors(page: &BrowserPage) {
    let log = page.browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn threads_are_merged_until_they_are_chosen() {
    let Some(page) = BrowserPage::open(&threaded()) else { return };
    page.wait_for(NODES, &nodes(CALLS));
    let options =
        page.run("return [...document.getElementById('threads').options].map((it) => it.text)");
    let expected =
        ["All threads, merged", "All threads, side by side", "main · 90.00 %", "pool-1 · 10.00 %"];
    assert_eq!(options, json!(expected));
    page.click("app.A.a");
    choose(&page, "threads", "t:pool-1");
    let pool = r#"[[0, "all", 10, 0], [1, "app.Main.main", 10, 0], [2, "app.A.a", 10, 0],
        [3, "app.A.a", 10, 0], [4, "app.C.c", 10, 10]]"#;
    page.wait_for(NODES, &nodes(pool));
    assert!(page.spans_all("app.A.a"), "the zoom stays");
    page.expect_hash("#t=t%3Apool-1&z=1.2");
    assert!(page.text("detail").contains("10 samples (100.00 %)"), "shares are of the thread");
    choose(&page, "threads", "each");
    let first = "const {model} = perk;
        return Array.from(model.level.keys()).filter((node) => model.level[node] === 1)
          .map((node) => [model.name(node), model.total[node]])";
    page.wait_for(first, &json!([["[main]", 90], ["[pool-1]", 10]]));
    page.run("history.back()");
    page.wait_for(NODES, &nodes(pool));
    page.run("location.reload()");
    page.wait_for(NODES, &nodes(pool));
    page.wait_for("return document.getElementById('threads').value", &json!("t:pool-1"));
    assert_no_errors(&page);
}

#[test]
fn processes_are_chosen_with_all_their_threads() {
    let stacks = "[app.Main (pid 7): main];a.A.a 3\n[app.Main (pid 7): worker];a.A.a 4\n\
        [app.Tool (pid 9)];a.A.a 2\n";
    let Some(page) = BrowserPage::open(&collapsed::read(stacks.as_bytes()).unwrap()) else {
        return;
    };
    let options = "return [...document.querySelectorAll('#threads optgroup')]
        .map((group) => [group.label, ...[...group.children].map((it) => it.value)])";
    let expected = json!([
        ["Processes", "p:app.Main (pid 7)", "p:app.Tool (pid 9)"],
        ["Threads", "t:app.Main (pid 7): worker", "t:app.Main (pid 7): main"],
    ]);
    page.wait_for(options, &expected);
    page.wait_for("return perk.model.total[perk.find('a.A.a')]", &json!(9));
    choose(&page, "threads", "p:app.Main (pid 7)");
    page.wait_for("return perk.model.total[perk.find('a.A.a')]", &json!(7));
    page.wait_for("return perk.model.count", &json!(2));
}

#[test]
fn pages_without_threads_have_no_choice_of_them() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    let shown = "return document.getElementById('threads').checkVisibility()";
    assert_eq!(page.run(shown), json!(false));
}

#[test]
fn reversed_begins_where_the_numbers_end() {
    let Some(page) = BrowserPage::open(&threaded()) else { return };
    page.browser.keys("r");
    let reversed = r#"[[0, "all", 100, 0],
        [1, "java.util.HashMap.get", 80, 0], [2, "app.B.b", 50, 0], [3, "app.Main.main", 50, 50],
            [2, "app.A.a", 30, 0], [3, "app.Main.main", 30, 30],
        [1, "app.A.a", 10, 0], [2, "app.Main.main", 10, 10],
        [1, "app.C.c", 10, 0], [2, "app.A.a", 10, 0], [3, "app.A.a", 10, 0],
            [4, "app.Main.main", 10, 10]]"#;
    page.wait_for(NODES, &nodes(reversed));
    page.expect_hash("#w=reversed");
    assert!(page.text("legend").contains("your code 20.00 %"), "{}", page.text("legend"));
    page.click("java.util.HashMap.get");
    page.wait_for("return perk.chart.zoom", &json!(1));
    let detail = page.text("detail");
    assert_eq!(detail, "java.util.HashMap.get — 80 samples (80.00 %)", "callers have no self");
    assert_eq!(page.text("legend").trim(), "JDK 100.00 %");
    choose(&page, "threads", "t:pool-1");
    page.wait_for("return perk.model.count", &json!(5));
    page.run("location.reload()");
    page.wait_for("return perk.model.isUpward && perk.model.count", &json!(5));
    page.browser.keys("r");
    page.wait_for("return perk.model.isUpward", &json!(false));
    assert_no_errors(&page);
}

#[test]
fn all_places_of_a_method_are_merged() {
    let Some(page) = BrowserPage::open(&threaded()) else { return };
    page.click("java.util.HashMap.get");
    page.browser.keys("m");
    page.wait_for(NODES, &nodes(r#"[[0, "java.util.HashMap.get", 80, 80]]"#));
    let upper = NODES.replace("const {model} = perk;", "const {model} = perk.upper;");
    let callers = r#"[[0, "java.util.HashMap.get", 80, 0], [1, "app.B.b", 50, 0],
        [2, "app.Main.main", 50, 50], [1, "app.A.a", 30, 0], [2, "app.Main.main", 30, 30]]"#;
    page.wait_for(&upper, &nodes(callers));
    assert!(page.text("detail").contains("80 samples (80.00 %), self 80 (80.00 %)"));
    // A recursive method's calls of itself are inside of its outermost ones.
    page.wait_for("return document.querySelectorAll('#callers tbody button').length", &json!(2));
    press(&page, "#callers tbody button");
    page.expect_text("crumbs", "HashMap.get");
    page.wait_for("return document.getElementById('merge')?.disabled", &json!(false));
    press(&page, "#merge");
    page.wait_for("return perk.model.name(0)", &json!("app.B.b"));
    page.run("location.hash = ''");
    page.wait_for(NODES, &nodes(CALLS));
    page.click("app.A.a");
    press(&page, "#views [value=merged]");
    let callees = r#"[[0, "app.A.a", 50, 10], [1, "app.A.a", 10, 0], [2, "app.C.c", 10, 10],
        [1, "java.util.HashMap.get", 30, 30]]"#;
    page.wait_for(NODES, &nodes(callees));
    page.wait_for(&upper, &nodes(r#"[[0, "app.A.a", 50, 0], [1, "app.Main.main", 50, 50]]"#));
    let link = page.hash();
    page.run(&format!("location.hash = '{link}'; location.reload()"));
    page.wait_for(NODES, &nodes(callees));
    // Both graphs are used alike: the callers are above the method.
    let up = page.run(
        "const {upper} = perk;
         const box = document.getElementById('upper-canvas').getBoundingClientRect();
         const rect = upper.rect(1);
         return [box.left + rect.x + rect.width / 2, box.top + rect.y + rect.height / 2,
           rect.y < upper.rect(0).y]",
    );
    assert_eq!(up[2], json!(true));
    page.browser.click(up[0].as_f64().unwrap(), up[1].as_f64().unwrap());
    page.wait_for("return perk.upper.zoom", &json!(1));
    assert!(page.text("detail").starts_with("app.Main.main — 50 samples (50.00 %)"));
    page.browser.keys(ESCAPE);
    page.wait_for(NODES, &nodes(CALLS));
    assert_no_errors(&page);
}

#[test]
fn the_legend_leaves_frames_out_and_follows_the_zoom() {
    let Some(page) = BrowserPage::open(&threaded()) else { return };
    assert_eq!(page.text("legend").replace('\n', " "), "your code 20.00 % JDK 80.00 %");
    page.click("app.A.a");
    page.expect_text("legend", "your code 40.00 %\nJDK 60.00 %");
    press(&page, "#legend [value=JDK]");
    let own = r#"[[0, "all", 100, 0], [1, "app.Main.main", 100, 0], [2, "app.A.a", 50, 40],
        [3, "app.A.a", 10, 0], [4, "app.C.c", 10, 10], [2, "app.B.b", 50, 50]]"#;
    page.wait_for(NODES, &nodes(own));
    assert!(page.spans_all("app.A.a"), "the zoom stays");
    page.expect_text("legend", "your code 100.00 %\nJDK left out\nShow all");
    page.expect_hash("#z=1.2&h=JDK");
    page.run("location.reload()");
    page.wait_for(NODES, &nodes(own));
    page.browser.keys("r");
    page.wait_for("return perk.find('java.util.HashMap.get')", &json!(-1));
    page.browser.keys("r");
    press(&page, "#show-all");
    page.wait_for(NODES, &nodes(CALLS));
    page.run(
        "document.querySelector('#legend [value=JDK]')
           .dispatchEvent(new MouseEvent('click', {shiftKey: true, bubbles: true}))",
    );
    page.wait_for(NODES, &nodes(r#"[[0, "all", 100, 20], [1, "java.util.HashMap.get", 80, 80]]"#));
    assert_no_errors(&page);
}

#[test]
fn the_legend_leaves_packages_out() {
    let Some(page) = BrowserPage::open(&threaded()) else { return };
    choose(&page, "colours", "package");
    page.expect_text("legend", "java.util 80.00 %\napp 20.00 %");
    press(&page, "#legend [value=app]");
    page.wait_for(NODES, &nodes(r#"[[0, "all", 100, 20], [1, "java.util.HashMap.get", 80, 80]]"#));
    // Other colours have other groups.
    choose(&page, "colours", "owner");
    page.wait_for(NODES, &nodes(CALLS));
}

#[test]
fn own_code_has_a_strong_colour() {
    let Some(page) = BrowserPage::open(&threaded()) else { return };
    let saturation = |name: &str| {
        let [x, y, ..] = page.place(name);
        let script = format!(
            "perk.redraw();
             const {{chart}} = perk;
             const box = document.getElementById('canvas').getBoundingClientRect();
             const at = [({x} + 2 - box.left) * chart.ratio, ({y} + 2 - box.top) * chart.ratio];
             const [r, g, b] = chart.context.getImageData(...at, 1, 1).data;
             return (Math.max(r, g, b) - Math.min(r, g, b)) / 255"
        );
        page.run(&script).as_f64().unwrap()
    };
    for scheme in ["light", "dark"] {
        page.scheme(scheme);
        let (own, jdk) = (saturation("app.B.b"), saturation("java.util.HashMap.get"));
        assert!(own > 1.5 * jdk, "{scheme}: {own} {jdk}");
    }
}

#[test]
fn the_panel_has_methods_and_their_neighbours() {
    let Some(page) = BrowserPage::open(&threaded()) else { return };
    let methods = json!([
        ["80.00 %", "80.00 %", "HashMap.get java.util"],
        ["10.00 %", "50.00 %", "A.a app"],
        ["10.00 %", "10.00 %", "C.c app"],
        ["0.00 %", "100.00 %", "Main.main app"],
        ["0.00 %", "50.00 %", "B.b app"],
    ]);
    page.wait_for(&rows("methods"), &methods);
    press(&page, "#methods th:nth-child(2) button");
    let first = "return document.querySelector('#methods tbody button')?.title";
    page.wait_for(first, &json!("app.Main.main"));
    press(&page, "#methods th:last-child button");
    page.wait_for(first, &json!("app.A.a"));
    page.browser.keys("/hash");
    page.wait_for(&rows("methods"), &json!([methods[0]]));
    page.browser.keys(ESCAPE);
    page.click("app.A.a");
    let facts = "return document.querySelector('#panel .facts')?.innerText";
    page.wait_for(facts, &json!("total 50 (50.00 %) · self 10 (10.00 %) · 2 places"));
    let callers = json!([["100.00 %", "Main.main app"], ["20.00 %", "A.a app"]]);
    page.wait_for(&rows("callers"), &callers);
    let callees = json!([
        ["60.00 %", "HashMap.get java.util"],
        ["20.00 %", "A.a app"],
        ["20.00 %", "[self]"],
        ["20.00 %", "C.c app"],
    ]);
    page.wait_for(&rows("callees"), &callees);
    press(&page, "#callees tbody button");
    let callers = json!([["62.50 %", "B.b app"], ["37.50 %", "A.a app"]]);
    page.wait_for(&rows("callers"), &callers);
    press(&page, "#back");
    let title = "return document.querySelector('#panel h2')?.innerText";
    page.wait_for(title, &json!("Methods in A.a 3"));
    page.browser.keys("p");
    assert_eq!(page.run("return document.getElementById('panel').hidden"), json!(true));
    assert_no_errors(&page);
}

#[test]
fn the_stack_is_copied() {
    let Some(page) = BrowserPage::open(&threaded()) else { return };
    page.click("app.C.c");
    page.run(
        "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {
           writeText: async (text) => { window.copied = text; }}})",
    );
    page.browser.keys("c");
    let stack = "10 samples (10.00 %)\n    at app.C.c\n    at app.A.a\n    at app.A.a\n    \
        at app.Main.main\n";
    page.wait_for("return window.copied", &json!(stack));
    page.expect_text("said", "Copied the stack: 4 frames");
    // Without a clipboard that scripts may write.
    page.run(
        "window.copied = '';
         Object.defineProperty(navigator, 'clipboard', {configurable: true, value: undefined});
         document.addEventListener('copy', () => { window.copied = document.activeElement.value; })",
    );
    press(&page, "#copy");
    page.wait_for("return window.copied", &json!(stack));
    page.run("document.getElementById('chart').focus()");
    page.browser.keys("r");
    page.browser.keys(DOWN);
    page.browser.keys(DOWN);
    page.browser.keys("c");
    let stack = "50 samples (50.00 %)\n    at java.util.HashMap.get\n    at app.B.b\n";
    page.wait_for("return window.copied", &json!(stack));
}

#[test]
fn comparisons_have_all_views() {
    let before = collapsed::read(&b"[main];a.M.main;a.A.a 60\n[main];a.M.main;a.B.b 40\n"[..]);
    let after = collapsed::read(&b"[main];a.M.main;a.A.a 20\n[main];a.M.main;a.B.b 60\n"[..]);
    let (before, after) = (before.unwrap(), after.unwrap());
    let earlier = View::new(&before, "before");
    let view = View { before: Some(&earlier), ..View::new(&after, "after") };
    let mut html = Vec::new();
    flamegraph::write(&view, &mut html).unwrap();
    let Some(page) = BrowserPage::open_html(&html) else { return };
    let numbers = "const {model} = perk; return Array.from(model.level, (_, node) =>
        [model.name(node), model.total[node], model.totalBefore[node]])";
    let calls =
        json!([["all", 80, 100], ["a.M.main", 80, 100], ["a.A.a", 20, 60], ["a.B.b", 60, 40]]);
    page.wait_for(numbers, &calls);
    assert!(page.text("legend").contains("grew or new"));
    let methods = json!([
        ["75.00 %", "75.00 %", "+35.00", "B.b a"],
        ["25.00 %", "25.00 %", "−35.00", "A.a a"],
        ["0.00 %", "100.00 %", "+0.00", "M.main a"],
    ]);
    page.wait_for(&rows("methods"), &methods);
    page.browser.keys("r");
    let reversed = json!([
        ["all", 80, 100],
        ["a.B.b", 60, 40],
        ["a.M.main", 60, 40],
        ["a.A.a", 20, 60],
        ["a.M.main", 20, 60]
    ]);
    page.wait_for(numbers, &reversed);
    page.click("a.B.b");
    assert!(page.text("detail").contains("before 40 (40.00 %), +35.00 points"));
    page.browser.keys("m");
    page.wait_for(numbers, &json!([["a.B.b", 60, 40]]));
    choose(&page, "colours", "owner");
    page.expect_text("legend", "your code 100.00 %");
    assert_no_errors(&page);
}
