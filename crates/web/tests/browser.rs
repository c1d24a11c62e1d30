//! Drives the page of `perk serve` in headless Chromium.
//!
//! Without chromedriver the tests print a message and pass, unless `PERK_REQUIRE_BROWSER` is set.

#[path = "browser/accessible.rs"]
mod accessible;
#[path = "browser/compare.rs"]
mod compare;
#[path = "browser/faults.rs"]
mod faults;
#[path = "browser/fields.rs"]
mod fields;
#[path = "browser/filters.rs"]
mod filters;
#[path = "browser/lines.rs"]
mod lines;
#[path = "browser/questions.rs"]
mod questions;
#[path = "browser/sizes.rs"]
mod sizes;
#[path = "browser/waits.rs"]
mod waits;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use perk_formats::View;
use perk_profile::Profile;
use perk_testkit::webdriver::Browser;
use perk_web::{Options, Server};
use serde_json::{Value, json};

/// Allows one browser at a time, because each is several processes.
static TURN: Mutex<()> = Mutex::new(());

const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const DOWN: &str = "\u{E015}";
const RIGHT: &str = "\u{E014}";
const END: &str = "\u{E010}";

/// What says that the page shows what its address says.
const SHOWN: &str = "return document.body.dataset.shown ?? '0'";
const ROWS: &str = "return document.querySelector('.bar output')?.textContent";

/// The page in a browser.
struct Page {
    browser: Browser,
    origin: String,
    token: String,
    _turn: MutexGuard<'static, ()>,
}

fn testdata(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(file)
}

/// Writes a profile as perk's own format.
fn write_profile(profile: &Profile, path: &Path) {
    let mut file = Vec::new();
    let format = perk_formats::by_name("hprof").unwrap();
    format.write_view(&View::new(profile, "profile"), &mut file).unwrap();
    fs::write(path, file).unwrap();
}

impl Page {
    /// Serves files, and opens the address that the server prints; `None` if there is no browser.
    fn open(inputs: &[&Path]) -> Option<Self> {
        let inputs = inputs.iter().map(|path| path.to_path_buf()).collect();
        Self::open_with(Options { inputs, ..Options::default() })
    }

    /// The same with other options of the server.
    fn open_with(options: Options) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(browser) = Browser::start() else {
            assert!(
                std::env::var_os("PERK_REQUIRE_BROWSER").is_none(),
                "PERK_REQUIRE_BROWSER is set and chromedriver is not there"
            );
            let _ = writeln!(io::stderr(), "NOT TESTED: no chromedriver, the page was not opened");
            return None;
        };
        let server = Server::bind(options).unwrap();
        let url = server.url();
        thread::spawn(move || server.run().unwrap());
        let (origin, token) = url.split_once("/#").unwrap();
        let (origin, token) = (origin.to_owned(), token.to_owned());
        browser.open(&url);
        let page = Self { browser, origin, token, _turn: turn };
        page.settle("0");
        Some(page)
    }

    fn run(&self, script: &str) -> Value {
        self.browser.run(script)
    }

    fn text(&self, script: &str) -> String {
        self.run(script).as_str().unwrap_or_default().to_owned()
    }

    /// Opens an address of the server anew.
    fn go(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.origin));
        self.settle("0");
    }

    /// Waits until the page shows another address than at `before`.
    #[track_caller]
    fn settle(&self, before: &str) {
        let begin = Instant::now();
        while self.text(SHOWN) == before && begin.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(20));
        }
        assert_ne!(self.text(SHOWN), before, "{}", self.text("return document.body.innerText"));
    }

    /// Does something, and waits until the page shows another address.
    #[track_caller]
    fn after(&self, action: impl FnOnce(&Self)) {
        let before = self.text(SHOWN);
        action(self);
        self.settle(&before);
    }

    #[track_caller]
    fn wait_for(&self, script: &str, expected: &Value) {
        let begin = Instant::now();
        let mut value = self.run(script);
        while value != *expected && begin.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(20));
            value = self.run(script);
        }
        assert_eq!(value, *expected);
    }

    /// Clicks on a link to an address.
    fn click_link(&self, address: &str) {
        self.run(&format!(
            "const link = document.createElement('a');
             link.href = {};
             document.body.append(link);
             link.click();
             link.remove()",
            json!(address)
        ));
    }

    fn address(&self) -> String {
        self.text("return location.pathname + location.search")
    }

    /// Fails if the page has said anything in the browser's log.
    #[track_caller]
    fn assert_silent(&self) {
        let log = self.browser.log("browser");
        assert!(log.is_empty(), "{log:?}");
    }
}

/// The answer of an address, with the page's cookie.
fn api(page: &Page, path: &str) -> Value {
    page.run(&format!("return fetch('{path}').then((it) => it.json())"))
}

/// The place of a column of a table.
fn place(table: &Value, id: &str) -> usize {
    table["columns"].as_array().unwrap().iter().position(|column| column["id"] == id).unwrap()
}

/// The addresses of all views.
fn views(page: &Page) -> Vec<String> {
    let links = page.run(
        "return [...document.querySelectorAll('#tabs a')].map((it) => it.getAttribute('href'))",
    );
    links.as_array().unwrap().iter().map(|link| link.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_view_of_a_profile_opens_and_its_address_restores_it() {
    assert_views_open("hprof/samples-b-cpu.hprof");
}

#[test]
fn every_view_of_a_heap_opens_and_its_address_restores_it() {
    assert_views_open("hprof/all-b-alloc.hprof.gz");
}

fn assert_views_open(file: &str) {
    let Some(page) = Page::open(&[&testdata(file)]) else { return };
    assert!(page.address().starts_with("/s/s1/overview"), "{}", page.address());
    assert_eq!(page.run("return location.hash"), json!(""), "the token is not in the address");
    let views = views(&page);
    assert!(views.len() >= 5, "{views:?}");
    for view in &views {
        if page.address() != *view {
            page.after(|page| {
                page.run(&format!("document.querySelector('#tabs a[href=\"{view}\"]').click()"));
            });
        }
        assert_eq!(page.address(), *view);
        let shown = page.text("return document.getElementById('view').innerText");
        assert!(!shown.is_empty(), "{view} is empty");
        page.go(view);
        page.wait_for("return document.getElementById('view').innerText", &json!(shown));
        page.wait_for("return document.getElementById('fault').hidden", &json!(true));
    }
    page.assert_silent();
}

#[test]
fn tables_are_sorted_searched_and_read_by_keys() {
    let Some(page) = Page::open(&[&testdata("hprof/samples-b-cpu.hprof")]) else { return };
    page.after(|page| page.browser.keys("3"));
    assert!(page.address().ends_with("/methods"), "{}", page.address());
    let count = page.text(ROWS);
    // The selected row is in the address, and beside the table.
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys(&format!("{DOWN}{DOWN}"));
    page.wait_for("return location.search", &json!("?at=1"));
    let name = page.text("return document.querySelector('#side h2').innerText");
    page.after(|page| page.browser.open(&format!("{}{}", page.origin, page.address())));
    page.wait_for("return document.querySelector('#side h2')?.innerText", &json!(name));
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys(END);
    page.wait_for("return document.querySelector('.grid').rows.length > 2 && document.querySelector('tr.selected')?.ariaRowIndex === document.querySelector('.grid').getAttribute('aria-rowcount')", &json!(true));
    // A heading sorts; the order is the server's.
    page.after(|page| {
        page.run("[...document.querySelectorAll('.grid th button')].find((it) => it.textContent === 'total').click()");
    });
    assert!(page.address().contains("sort=total_count&order=desc"), "{}", page.address());
    let totals = page.run(
        "return [...document.querySelectorAll('.grid tbody tr:not(.space)')].map((row) => Number(row.cells[2].textContent.replaceAll(',', '')))",
    );
    let totals: Vec<u64> =
        totals.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    assert!(totals.is_sorted_by(|a, b| a >= b) && totals.len() > 3, "{totals:?}");
    // The search is the server's, too, and stays in the field while it is typed.
    page.after(|page| page.browser.keys("/main"));
    page.wait_for("return document.getElementById('search').value", &json!("main"));
    assert_ne!(page.text(ROWS), count);
    page.browser.keys(ESCAPE);
    page.after(|page| page.browser.keys(ESCAPE));
    page.wait_for(ROWS, &json!(count));
    // A method leads to its callers and callees.
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys(DOWN);
    page.after(|page| page.browser.keys(ENTER));
    assert!(page.address().contains("/method?method="), "{}", page.address());
    page.after(|page| {
        page.run("history.back()");
    });
    assert!(page.address().contains("/methods?"), "{}", page.address());
    page.assert_silent();
}

#[test]
fn the_flame_graph_is_zoomed_by_keys_and_by_its_address() {
    let Some(page) = Page::open(&[&testdata("hprof/samples-b-cpu.hprof")]) else { return };
    page.go("/s/s1/flame");
    let crumbs = "return document.querySelectorAll('.crumbs a').length";
    assert_eq!(page.run(crumbs), json!(0));
    page.run("document.querySelector('.chart').focus()");
    page.browser.keys(&format!("{DOWN}{DOWN}"));
    let detail = page.text("return document.getElementById('detail').textContent");
    page.after(|page| page.browser.keys(ENTER));
    assert!(page.address().contains("root="), "{}", page.address());
    assert_eq!(page.run(crumbs), json!(2));
    let name = detail.split(" — ").next().unwrap().to_owned();
    page.wait_for(
        "return document.getElementById('detail').textContent.split(' — ')[0]",
        &json!(name),
    );
    let zoomed = page.address();
    page.go(&zoomed);
    assert_eq!(page.run(crumbs), json!(2));
    let last = page.text("return document.querySelector('.crumbs strong span').title");
    assert_eq!(last, name);
    page.run("document.querySelector('.chart').focus()");
    page.after(|page| page.browser.keys(ESCAPE));
    assert_eq!(page.run(crumbs), json!(1));
    page.browser.keys("/main");
    page.wait_for(
        "return document.querySelector('.bar output').textContent.includes(' %')",
        &json!(true),
    );
    page.assert_silent();
}

#[test]
fn frames_have_the_counted_calls_of_their_methods() {
    let Some(page) = Page::open(&[&testdata("hprof/samples-and-calls.txt")]) else { return };
    page.go("/s/s1/flame");
    page.run("document.querySelector('.chart').focus()");
    page.browser.keys(&format!("{DOWN}{DOWN}"));
    let words = "42 calls counted, 40 of them by the caller";
    let detail = page.text("return document.getElementById('detail').textContent");
    assert!(detail.starts_with("T.leaf — ") && detail.contains(words), "{detail}");
    page.browser.keys(" ");
    let side = "return [...document.querySelectorAll('dt')].find((it) => it.textContent === 'calls')?.nextSibling.textContent ?? ''";
    page.wait_for(side, &json!(words));
    page.assert_silent();
}

#[test]
fn times_select_a_window() {
    let Some(page) = Page::open(&[&testdata("jfr/jdk17.jfr.gz")]) else { return };
    page.go("/s/s1/time");
    // Each thread has its lanes, with the numbers of the answer.
    let lanes = api(&page, "/api/s1/lanes?threads=8");
    let metrics = lanes["metrics"].as_array().unwrap();
    assert!(metrics.len() >= 3, "{metrics:?}");
    let groups = "return [...document.querySelectorAll('.time-lanes .of-thread')].map((it) => it.textContent)";
    let names = lanes["threads"].as_array().unwrap().iter().map(|it| it["name"].clone());
    let groups = page.run(groups);
    let of_threads: Vec<_> = groups.as_array().unwrap()[2..].to_vec();
    let names: Vec<_> = names.collect();
    assert_eq!(of_threads[..names.len()], names[..]);
    let label = page.text("return document.querySelector('.time-plot .plot').ariaLabel");
    assert!(label.contains("CPU") && label.contains(names[0].as_str().unwrap()), "{label}");
    // Pauses have a lane, and a legend with their number.
    let legend = page.text("return document.querySelector('.legend.pauses').textContent");
    assert!(legend.starts_with("2 garbage collections, 7.3 ms, longest "), "{legend}");
    let labels = page.text("return document.querySelector('.time-lanes').textContent");
    assert!(labels.contains("Pauses7.3 ms"), "{labels}");
    // More threads are shown, also by the address.
    page.go("/s/s1/time?threads=1");
    let others = api(&page, "/api/s1/lanes?threads=1")["other_thread_count"].as_u64();
    assert_eq!(others, Some(names.len() as u64 - 1));
    page.after(|page| {
        page.run("[...document.querySelectorAll('.page button')].at(-1).click()");
    });
    assert_eq!(page.address(), "/s/s1/time?threads=60");
    let all = "return document.querySelectorAll('.time-lanes .of-thread').length";
    assert_eq!(page.run(all), groups.as_array().unwrap().len());
    page.go("/s/s1/time");
    // The keys select the first column, which is the window of all views.
    page.run("document.querySelector('.time-plot .plot').focus()");
    page.browser.keys(RIGHT);
    page.after(|page| page.browser.keys(ENTER));
    assert!(page.address().starts_with("/s/s1/time?from=0.00s&to="), "{}", page.address());
    let tab = page.text("return document.querySelectorAll('#tabs a')[1].getAttribute('href')");
    assert!(tab.starts_with("/s/s1/flame?from=0.00s&to="), "{tab}");
    // A drag selects a part, and a click a column.
    page.go("/s/s1/time");
    let place = |name: &str| {
        let over = "document.querySelector('.time-plot .u-over').getBoundingClientRect()";
        page.run(&format!("return {over}.{name}")).as_f64().unwrap()
    };
    let (left, width, top) = (place("left"), place("width"), place("top") + 30.0);
    page.after(|page| page.browser.drag((left + 2.0, top), (left + width / 2.0, top)));
    let address = page.address();
    let to = address.split("&to=").nth(1).unwrap().trim_end_matches('s');
    let recorded_s = lanes["recorded_ns"].as_u64().unwrap() as f64 / 1e9;
    assert!((to.parse::<f64>().unwrap() - recorded_s / 2.0).abs() < 0.02, "{address}");
    page.go("/s/s1/time");
    page.after(|page| page.browser.click(left + width / 2.0, top));
    assert!(page.address().starts_with("/s/s1/time?from=0.00s&to="), "{}", page.address());
    page.assert_silent();
}

#[test]
fn a_metric_without_times_leads_to_one_that_has_them() {
    let Some(page) = Page::open(&[&testdata("jfr/jdk17.jfr.gz")]) else { return };
    page.go("/s/s1/time?metric=allocated");
    let line = page.text("return document.querySelector('#view .page').innerText");
    let expected = "jdk17.jfr.gz does not tell when its allocated bytes were measured. It does for its samples.";
    assert_eq!(line.trim(), expected);
    page.after(|page| {
        page.run("document.querySelector('#view .page a').click()");
    });
    assert_eq!(page.address(), "/s/s1/time?metric=samples");
    page.wait_for("return document.querySelectorAll('.time-lanes li').length > 3", &json!(true));
}

#[test]
fn the_strip_selects_a_window_by_mouse_and_by_keys() {
    let Some(page) = Page::open(&[&testdata("jfr/jdk17.jfr.gz")]) else { return };
    page.go("/s/s1/methods");
    // CPU time, allocations, waits to enter and for notice, and pauses.
    page.wait_for("return document.querySelectorAll('#strip .lanes li').length", &json!(5));
    let label = page.text("return document.querySelector('#strip .plot').ariaLabel");
    assert!(label.contains("2 garbage collections, 7.3 ms"), "{label}");
    let count = page.text(ROWS);
    // Each step is a hundredth of the recording; a window of the keys is one of all views.
    page.browser.keys("t");
    page.browser.keys(&RIGHT.repeat(50));
    page.after(|page| page.browser.keys(ENTER));
    assert_eq!(page.address(), "/s/s1/methods?from=0.46s&to=0.47s");
    let tab = page.text("return document.querySelectorAll('#tabs a')[1].getAttribute('href')");
    assert_eq!(tab, "/s/s1/flame?from=0.46s&to=0.47s");
    assert_ne!(page.text(ROWS), count);
    page.browser.keys("t");
    page.after(|page| page.browser.keys(ESCAPE));
    assert_eq!(page.address(), "/s/s1/methods");
    // A drag over the left half of the plot.
    let place = |name: &str| {
        let script = format!(
            "return document.querySelector('#strip .u-over').getBoundingClientRect().{name}"
        );
        page.run(&script).as_f64().unwrap()
    };
    let (left, width, top) = (place("left"), place("width"), place("top") + 8.0);
    page.after(|page| page.browser.drag((left + 2.0, top), (left + width / 2.0, top)));
    assert!(page.address().starts_with("/s/s1/methods?from=0.0"), "{}", page.address());
    let shown = "return document.querySelector('#strip .u-select').clientWidth > 100";
    page.wait_for(shown, &json!(true));
    // The key that leaves leads back to all of the time, from the view as well.
    page.run("document.querySelector('.scroll').focus()");
    page.after(|page| page.browser.keys(ESCAPE));
    assert_eq!(page.address(), "/s/s1/methods");
    page.assert_silent();
}

#[test]
fn views_are_saved_by_a_menu() {
    let Some(page) = Page::open(&[&testdata("hprof/samples-b-cpu.hprof")]) else { return };
    page.go("/s/s1/flame");
    // Nothing is downloaded; what would be is noted.
    page.run(NOTE_DOWNLOADS);
    page.browser.keys("s");
    let items = "return [...document.querySelectorAll('#save-menu [role=menuitem]')].map((it) => it.textContent)";
    let items = page.run(items);
    let items: Vec<_> = items.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(items[0], "picture (PNG)");
    assert!(items.contains(&"pprof") && !items.contains(&"table (CSV)"), "{items:?}");
    page.browser.keys(&format!("{DOWN}{DOWN}"));
    let at = "return document.activeElement.textContent";
    assert_eq!(page.text(at), items[2]);
    page.browser.keys(ESCAPE);
    assert_eq!(page.text("return document.activeElement.id"), "save");
    page.browser.keys(ENTER);
    page.browser.keys(ENTER);
    page.wait_for("return saved.length", &json!(1));
    // The picture has the frames' colours, and all rows.
    assert_picture(&page, "perk-flame.png", 60);
    page.assert_silent();
}

/// Notes what would be downloaded, in place of a download.
const NOTE_DOWNLOADS: &str = "window.saved = [];
    HTMLAnchorElement.prototype.click = function () { saved.push([this.download, this.href]) }";

/// Fails unless the picture that was saved has this name, is at least so high, and has several colours.
#[track_caller]
fn assert_picture(page: &Page, name: &str, height: u64) {
    assert_eq!(page.text("return saved[0][0]"), name);
    let picture = page.run(
        "const image = new Image();
         image.src = saved[0][1];
         return image.decode().then(() => {
           const canvas = new OffscreenCanvas(image.width, image.height);
           const context = canvas.getContext('2d');
           context.drawImage(image, 0, 0);
           const { data } = context.getImageData(0, 0, image.width, image.height);
           const colours = new Set();
           for (let at = 0; at < data.length; at += 4) colours.add(data.slice(at, at + 3).join());
           return [image.width, image.height, colours.size];
         })",
    );
    let number = |at: usize| picture[at].as_u64().unwrap();
    assert!(number(0) > 400 && number(1) > height && number(2) > 4, "{name}: {picture}");
}

#[test]
fn lanes_and_tree_maps_are_saved_as_pictures() {
    let files = ["jfr/jdk17.jfr.gz", "hprof/all-b-alloc.hprof.gz"].map(testdata);
    let Some(page) = Page::open(&[&files[0], &files[1]]) else { return };
    for (view, name, height) in
        [("/s/s1/time", "perk-time.png", 300), ("/s/s2/tree", "perk-tree.png", 100)]
    {
        for scheme in ["light", "dark"] {
            page.look(1280, scheme, "none");
            page.go(view);
            page.run(NOTE_DOWNLOADS);
            page.browser.keys("s");
            page.browser.keys(ENTER);
            page.wait_for("return saved.length", &json!(1));
            assert_picture(&page, name, height);
        }
    }
    page.assert_silent();
}

#[test]
fn the_tree_of_a_heap_is_a_picture_and_a_list() {
    let Some(page) = Page::open(&[&testdata("hprof/all-b-alloc.hprof.gz")]) else { return };
    page.go("/s/s1/tree");
    let detail = "return document.getElementById('detail').textContent";
    let first = page.text(detail);
    assert!(first.contains(" — keeps "), "{first}");
    page.run("document.querySelector('.map').focus()");
    page.browser.keys(RIGHT);
    page.wait_for("return location.search.startsWith('?at=')", &json!(true));
    let second = page.text(detail);
    assert_ne!(second, first);
    // The list beside it and the address have the same row; its name is that of the area.
    page.wait_for("return document.querySelectorAll('tr.selected').length", &json!(1));
    let class = page.text("return document.querySelector('tr.selected .name').title");
    assert!(second.contains(&class), "{second} is not of {class}");
    let address = page.address();
    page.go(&address);
    page.wait_for(detail, &json!(second));
    // A click on the middle selects what is drawn there.
    let box_ = |name: &str| {
        let script =
            format!("return document.querySelector('.map canvas').getBoundingClientRect().{name}");
        page.run(&script).as_f64().unwrap()
    };
    page.browser.click(box_("left") + box_("width") - 5.0, box_("top") + box_("height") / 3.0);
    page.wait_for(&format!("{detail} !== {}", json!(second)), &json!(true));
    // A thread opens its stack, whose locals lead to objects.
    page.go("/s/s1/threads");
    page.run("[...document.querySelectorAll('#view summary')].forEach((it) => it.click())");
    page.wait_for("return document.querySelectorAll('#view .path li').length > 3", &json!(true));
    page.wait_for(
        "return document.querySelector('#view .path a').href.includes('/object?id=')",
        &json!(true),
    );
    page.browser.keys("/finalizer");
    page.wait_for(
        "return document.querySelector('.bar output').textContent.startsWith('1 thread ')",
        &json!(true),
    );
    // Objects lead to each other, and back.
    page.go("/s/s1/biggest");
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys(DOWN);
    page.after(|page| page.browser.keys(ENTER));
    let one = page.address();
    assert!(one.contains("/object?id="), "{one}");
    let held = page.text("return document.querySelector('.path, .page .hint').textContent");
    assert!(!held.is_empty());
    page.after(|page| {
        page.run("document.querySelector('.page .files a, .page .path a').click()");
    });
    let two = page.address();
    assert_ne!(two, one);
    let button =
        |index: usize| format!("document.querySelectorAll('#view .bar button')[{index}].click()");
    page.after(|page| drop(page.run(&button(0))));
    assert_eq!(page.address(), one);
    page.after(|page| drop(page.run(&button(1))));
    assert_eq!(page.address(), two);
    page.assert_silent();
}

#[test]
fn files_are_a_list_and_their_names_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let name = "<img src=x onerror=alert(1)> \u{202e}.collapsed";
    fs::write(folder.path().join(name), "app.<script>;app.M.m\u{202e} 3\n").unwrap();
    fs::write(folder.path().join("b.collapsed"), "b.B.b 1\n").unwrap();
    let Some(page) = Page::open(&[folder.path()]) else { return };
    let list = page.text("return document.getElementById('view').innerText");
    assert!(list.contains("<img src=x onerror=alert(1)> \\u{202e}.collapsed"), "{list}");
    page.after(|page| {
        page.run("[...document.querySelectorAll('.files a')].find((it) => it.textContent.includes('img')).click()");
    });
    page.after(|page| page.browser.keys("3"));
    let rows = page.text("return document.querySelector('.grid').innerText");
    assert!(rows.contains("<script>") && !rows.contains('\u{202e}'), "{rows}");
    assert_eq!(page.run("return document.querySelectorAll('img, #view script').length"), json!(0));
    // A question that the server refuses is a line, and the page continues.
    page.go("/s/nothing/methods");
    page.wait_for("return document.getElementById('fault').textContent.length > 0", &json!(true));
}
