//! Drives the pages in headless Chromium, with real clicks, keys and pictures.
//!
//! Without chromedriver the tests print a message and pass, unless `PERK_REQUIRE_BROWSER` is set.

#[path = "browser/calls.rs"]
mod calls;
#[path = "browser/fields.rs"]
mod fields;
#[path = "browser/fold.rs"]
mod fold;
#[path = "browser/source.rs"]
mod source;
#[path = "browser/times.rs"]
mod times;
#[path = "browser/units.rs"]
mod units;
#[path = "browser/values.rs"]
mod values;
#[path = "browser/views.rs"]
mod views;

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use perk_formats::{View, collapsed, flamegraph};
use perk_profile::{Accounting, Line, Method, Profile};
use perk_testkit::webdriver::Browser;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Allows one browser at a time, because each is several processes.
static TURN: Mutex<()> = Mutex::new(());
static SAID: Once = Once::new();

const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const LEFT: &str = "\u{E012}";
const UP: &str = "\u{E013}";
const RIGHT: &str = "\u{E014}";
const DOWN: &str = "\u{E015}";

/// 1000 samples: main 100 self, a 300 (120 of them in hot), b 600 (500 of them in hot).
const KNOWN: &str = "app.Main.main 100\napp.Main.main;app.A.a 180\napp.Main.main;app.A.a;lib.Hot.hot 120\n\
    app.Main.main;app.B.b 100\napp.Main.main;app.B.b;lib.Hot.hot 500\n";

struct BrowserPage {
    browser: Browser,
    _folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl BrowserPage {
    /// Opens the flame graph of `profile`; `None` if there is no browser.
    fn open(profile: &Profile) -> Option<Self> {
        let mut html = Vec::new();
        flamegraph::write(&View::new(profile, "cpu samples of app.Main"), &mut html).unwrap();
        Self::open_html(&html)
    }

    /// Opens a page; `None` if there is no browser.
    fn open_html(html: &[u8]) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(browser) = Browser::start() else {
            assert!(
                std::env::var_os("PERK_REQUIRE_BROWSER").is_none(),
                "PERK_REQUIRE_BROWSER is set and chromedriver is not there"
            );
            SAID.call_once(|| say("NOT TESTED: no chromedriver, the pages were not opened"));
            return None;
        };
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("graph.html");
        std::fs::write(&path, html).unwrap();
        browser.open("about:blank");
        // The requests of the browser's start page are not those of the page.
        browser.log("performance");
        browser.open(&format!("file://{}", path.display()));
        // Keys that come before the first picture are lost.
        browser
            .run("return new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))");
        Some(Self { browser, _folder: folder, _turn: turn })
    }

    fn run(&self, script: &str) -> Value {
        self.browser.run(script)
    }

    fn text(&self, id: &str) -> String {
        let text = self.run(&format!("return document.getElementById('{id}').innerText"));
        text.as_str().unwrap().to_owned()
    }

    /// Returns the left edge, top, width and height of the first frame of that name, in the window.
    fn place(&self, name: &str) -> [f64; 4] {
        let place = self.run(&format!(
            "const box = document.getElementById('canvas').getBoundingClientRect();
             const rect = perk.chart.rect(perk.find('{name}'));
             return [box.left + rect.x, box.top + rect.y, rect.width, rect.height]"
        ));
        [0, 1, 2, 3].map(|index| place[index].as_f64().unwrap())
    }

    /// Returns a point well inside a frame.
    fn point(&self, name: &str) -> (f64, f64) {
        let [x, y, width, height] = self.place(name);
        (x + width / 2.0, y + height / 2.0)
    }

    fn click(&self, name: &str) {
        let (x, y) = self.point(name);
        self.browser.click(x, y);
    }

    fn focused(&self) -> String {
        self.run("return perk.model.name(perk.chart.focus)").as_str().unwrap().to_owned()
    }

    /// Waits until an element has a text: keys and clicks reach a busy browser's page late.
    #[track_caller]
    fn expect_text(&self, id: &str, expected: &str) {
        let script = format!("return document.getElementById('{id}').innerText");
        self.wait_for(&script, &json!(expected));
    }

    #[track_caller]
    fn expect_hash(&self, expected: &str) {
        self.wait_for("return location.hash", &json!(expected));
    }

    fn hash(&self) -> String {
        self.run("return location.hash").as_str().unwrap().to_owned()
    }

    /// Whether a frame is as wide as the picture.
    fn spans_all(&self, name: &str) -> bool {
        let width = self.run("return perk.chart.width").as_f64().unwrap();
        (self.place(name)[2] - width).abs() < 0.01
    }

    /// Waits until a script returns `expected`: the browser reports some changes a frame later.
    #[track_caller]
    fn wait_for(&self, script: &str, expected: &Value) {
        let begin = Instant::now();
        let mut value = self.run(script);
        while value != *expected && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
            value = self.run(script);
        }
        assert_eq!(value, *expected);
    }

    /// Gives the window the width of a phone's.
    fn narrow(&self, width: u32) {
        let parameters =
            json!({"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": true});
        self.browser.devtools("Emulation.setDeviceMetricsOverride", &parameters);
        self.browser.devtools("Emulation.setTouchEmulationEnabled", &json!({"enabled": true}));
        self.run("location.reload()");
    }

    fn scheme(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.browser.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
    }
}

/// Prints past the test harness, which withholds the macros' output of passing tests.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn known() -> Profile {
    collapsed::read(KNOWN.as_bytes()).unwrap()
}

#[test]
fn opens_without_errors_and_without_the_network() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    assert!(page.run("return perk.redraw()").as_f64().is_some());
    let log = page.browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
    let requests: Vec<String> = page
        .browser
        .log("performance")
        .iter()
        .filter_map(|entry| serde_json::from_str::<Value>(entry["message"].as_str()?).ok())
        .filter(|event| event["message"]["method"] == "Network.requestWillBeSent")
        .map(|event| event["message"]["params"]["request"]["url"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("file://"), "{requests:?}");
}

#[test]
fn an_empty_profile_says_so() {
    let Some(page) = BrowserPage::open(&Profile::default()) else { return };
    page.expect_text("detail", "This profile has no samples.");
    page.browser.keys("/x");
    page.expect_text("found", "0.00 % · 0 of 0 samples · 0 frame names");
    let log = page.browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn numbers_without_a_stack_are_counted() {
    let profile =
        collapsed::read(&b"[main];a.B.c 3\n[pool-1];a.B.c 1\n[no stack] 1\n"[..]).unwrap();
    let Some(page) = BrowserPage::open(&profile) else { return };
    assert!(page.text("summary").contains("1 without a stack (20.00 %)"));
    assert!(page.text("summary").contains("profiler's cost and losses not recorded"));
}

#[test]
fn search_counts_and_highlights() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    page.browser.keys("/hot");
    page.expect_text("found", "62.00 % · 620 of 1,000 samples · 1 frame name");
    page.expect_hash("#s=hot");
    let matched = "const {model, chart} = perk;
        return model.names.filter((name, frame) => chart.matched[frame]).map((name) => name.full)";
    assert_eq!(page.run(matched), json!(["lib.Hot.hot"]));
    // Nested matches count once: a frame with its matched callers is 1000, not more.
    let set = |text: &str| {
        page.run(&format!(
            "const search = document.getElementById('search');
             search.value = '{text}'; search.dispatchEvent(new Event('input'))"
        ));
    };
    set("app.");
    page.expect_text("found", "100.00 % · 1,000 of 1,000 samples · 3 frame names");
    set("app.[AB]");
    page.expect_text("found", "0.00 % · 0 of 1,000 samples · 0 frame names");
    page.run("document.getElementById('regex').click()");
    page.expect_text("found", "90.00 % · 900 of 1,000 samples · 2 frame names");
    set("(");
    page.expect_text("found", "not a regular expression");
    page.click("app.A.a");
    set("hot");
    page.expect_text("found", "40.00 % · 120 of 300 samples in zoom · 1 frame name");
}

#[test]
fn highlighted_frames_have_their_colour() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    let colour = || {
        let [x, y, ..] = page.place("app.A.a");
        let script = format!(
            "perk.redraw();
             const {{chart}} = perk;
             const box = document.getElementById('canvas').getBoundingClientRect();
             const at = [({x} + 2 - box.left) * chart.ratio, ({y} + 2 - box.top) * chart.ratio];
             return [...chart.context.getImageData(...at, 1, 1).data].join()"
        );
        page.run(&script)
    };
    let plain = colour();
    page.browser.keys("/app.A.a");
    let found = colour();
    assert_ne!(found, plain);
    page.browser.keys("nothing");
    assert_ne!(colour(), found);
    assert_ne!(colour(), plain);
}

#[test]
fn click_zooms_and_escape_resets() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    assert!(!page.spans_all("app.B.b"));
    page.click("app.B.b");
    assert!(page.spans_all("app.B.b"));
    assert!(page.spans_all("app.Main.main"), "callers stay, at full width");
    assert_eq!(page.text("crumbs").replace('\n', " "), "all › Main.main › B.b");
    let zoomed = page.hash();
    assert!(zoomed.starts_with("#z="), "{zoomed}");
    page.browser.keys(ESCAPE);
    assert!(!page.spans_all("app.B.b"));
    page.expect_hash("");
    page.run("history.back()");
    page.wait_for("return location.hash", &json!(zoomed));
    assert!(page.spans_all("app.B.b"), "the back button zooms again");
    // Tests a link to the zoomed page, and the button.
    page.run(&format!("location.hash = '{zoomed}&s=hot'; location.reload()"));
    assert!(page.spans_all("app.B.b"));
    page.expect_text("found", "83.33 % · 500 of 600 samples in zoom · 1 frame name");
    page.run("document.getElementById('reset').click()");
    assert!(!page.spans_all("app.B.b"));
    page.expect_text("found", "");
}

#[test]
fn the_keyboard_reaches_every_frame() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    page.run("document.getElementById('chart').focus()");
    assert_eq!(page.focused(), "all");
    page.browser.keys(DOWN);
    page.browser.keys(DOWN);
    assert_eq!(page.focused(), "app.B.b", "down goes to the widest");
    page.browser.keys(LEFT);
    assert_eq!(page.focused(), "app.A.a");
    assert!(page.text("detail").starts_with("app.A.a — 300 samples (30.00 %), self 180 (18.00 %)"));
    page.browser.keys(RIGHT);
    page.browser.keys(DOWN);
    assert_eq!(page.focused(), "lib.Hot.hot");
    page.browser.keys(UP);
    page.browser.keys(ENTER);
    assert!(page.spans_all("app.B.b"));
    page.browser.keys(ESCAPE);
    assert!(!page.spans_all("app.B.b"));
    page.browser.keys("?");
    assert_eq!(page.run("return document.getElementById('help').open"), json!(true));
    page.browser.keys(ESCAPE);
    assert_eq!(page.run("return document.getElementById('help').open"), json!(false));
    page.browser.keys("/");
    assert_eq!(page.run("return document.activeElement.id"), "search");
    page.run("document.getElementById('flip').click(); document.getElementById('chart').focus()");
    page.browser.keys(UP);
    assert_eq!(page.focused(), "app.Main.main", "in a flame, callees are above");
}

#[test]
fn the_tooltip_has_exact_numbers() {
    let mut profile = known();
    profile.accounting = Some(Accounting {
        interval_ns: 10_000_000,
        jvm: "Test VM 25".into(),
        process_cpu_ns: 1_000_000_000,
        perk_cpu_ns: 5_000_000,
        ..Accounting::default()
    });
    let Some(page) = BrowserPage::open(&profile) else { return };
    let (x, y) = page.point("app.B.b");
    page.browser.move_to(x, y);
    let tip =
        |page: &BrowserPage| page.text("tip").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        tip(&page),
        "app.B b your code samples of all CPU time total 600 60.00 % 6.00 s self 100 10.00 % 1.00 s"
    );
    page.click("app.A.a");
    page.click("lib.Hot.hot");
    let (x, y) = page.point("app.A.a");
    page.browser.move_to(x + 3.0, y);
    assert_eq!(
        tip(&page),
        "app.A a your code samples of all of zoomed CPU time total 300 30.00 % 250.00 % 3.00 s \
         self 180 18.00 % 150.00 % 1.80 s"
    );
    let summary = page.text("summary");
    assert!(summary.contains("1,000 samples · one per 10 ms of CPU time"), "{summary}");
    assert!(summary.contains("profiler's own cost 0.50 % of CPU · Test VM 25"), "{summary}");
}

#[test]
fn the_tooltip_has_the_signature() {
    let mut profile = Profile::default();
    let class = profile.symbols.class("app.A");
    let name = profile.symbols.strings.intern("<init>");
    let signature = Some(profile.symbols.strings.intern("(I[Ljava/lang/String;)V"));
    let method = profile.symbols.method(Method { class, name, signature, source: None });
    let frame = perk_profile::Frame::new(method, Line::Number(3));
    let frame = profile.symbols.frame(frame);
    let node = profile.tree.insert([frame]);
    let trace = profile.trace(node, None);
    profile.events.push(perk_profile::Event::from(perk_profile::CpuSamples {
        total: 1,
        rows: vec![(trace, 1)],
        ..Default::default()
    }));
    let Some(page) = BrowserPage::open(&profile) else { return };
    let (x, y) = page.point("app.A.<init>");
    page.browser.move_to(x, y);
    let tip = page.text("tip");
    assert!(tip.contains("<init>\n(int, java.lang.String[]): void"), "{tip}");
}

#[test]
fn a_hundred_thousand_stacks_draw_quickly() {
    let mut text = String::new();
    for index in 0..100_000_u32 {
        // A mixer of bits makes the tree broad and uneven, and the same at each run.
        let mixed = index.wrapping_mul(2_654_435_761) ^ (index >> 3);
        text.push_str("app.Main.main");
        for depth in 0..24 {
            let branch =
                if depth < 5 { index / 8_u32.pow(5 - depth) % 8 } else { mixed >> depth & 1 };
            write!(text, ";org.example.p{}.Type{depth}.method{branch}", depth % 14).unwrap();
        }
        writeln!(text, ";leaf.L.l{index} {}", 1 + mixed % 7).unwrap();
    }
    let Some(page) = BrowserPage::open(&collapsed::read(text.as_bytes()).unwrap()) else { return };
    let opened = page.run("return performance.now()").as_f64().unwrap();
    let nodes = page.run("return perk.model.count");
    let times = page.run("return Array.from({length: 9}, perk.redraw).sort((a, b) => a - b)");
    let drawn = page.run("return perk.chart.drawn");
    say(&format!(
        "100,000 stacks, {nodes} nodes: open after {opened:.0} ms, {drawn} frames drawn, \
         redraw {:.1} ms (median of 9)",
        times[4].as_f64().unwrap()
    ));
    assert!(times[4].as_f64().unwrap() < 5000.0);
}

#[test]
fn fits_a_phone() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    page.narrow(400);
    let width = "return [innerWidth, document.documentElement.scrollWidth, perk.chart.width]";
    page.wait_for(width, &json!([400, 400, 384]));
    assert_eq!(page.run("return perk.chart.rowHeight"), 28, "rows are as high as a finger needs");
    let (x, y) = page.point("app.B.b");
    page.browser.tap(x, y);
    page.wait_for("return perk.chart.zoom === perk.find('app.B.b')", &json!(true));
    assert!(page.spans_all("app.B.b"));
    assert_eq!(page.run("return document.getElementById('tip').hidden"), true);
    let sides = "return [...document.querySelectorAll('header *')]
        .filter((element) => element.getBoundingClientRect().right > innerWidth).length";
    assert_eq!(page.run(sides), 0);
}

#[test]
fn follows_the_colour_scheme() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    let sample = "perk.redraw();
        const {context, ratio, width, height} = perk.chart;
        const corner = context.getImageData(width * ratio - 2, height * ratio - 2, 1, 1).data;
        return [getComputedStyle(document.body).backgroundColor, [...corner.slice(0, 3)].join(', ')]";
    page.scheme("light");
    page.wait_for(sample, &json!(["rgb(255, 255, 255)", "255, 255, 255"]));
    assert_readable(&page);
    page.scheme("dark");
    page.wait_for(sample, &json!(["rgb(19, 22, 27)", "19, 22, 27"]));
    assert_readable(&page);
}

/// Asserts that all text has the contrast that WCAG requires at level AA, 4.5 to 1.
#[track_caller]
fn assert_readable(page: &BrowserPage) {
    let worst = page.run(
        "const canvas = document.createElement('canvas').getContext('2d');
         const luminance = (colour) => {
           canvas.fillStyle = colour;
           canvas.fillRect(0, 0, 1, 1);
           const linear = (part) => part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4;
           const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(linear);
           return 0.2126 * r + 0.7152 * g + 0.0722 * b;
         };
         const contrast = (...colours) => {
           const [dark, light] = colours.map(luminance).sort((a, b) => a - b);
           return (light + 0.05) / (dark + 0.05);
         };
         const {bright, brightText, faint, faintText, match, matchText} = perk.chart.palette;
         const style = getComputedStyle(document.documentElement);
         const [page, raised, text, muted, accent] = ['page', 'raised', 'text', 'muted', 'accent']
           .map((name) => style.getPropertyValue('--' + name));
         return Math.min(
           ...bright.map((fill) => contrast(fill, brightText)),
           ...faint.map((fill) => contrast(fill, faintText)),
           contrast(match, matchText),
           ...[text, muted, accent].flatMap((ink) => [contrast(ink, page), contrast(ink, raised)]),
         )",
    );
    assert!(worst.as_f64().unwrap() >= 4.5, "{worst}");
}

#[test]
fn names_are_text_and_never_markup() {
    let name = "x</script><img/onerror=alert(1)>'\"&";
    let Some(page) = BrowserPage::open(&collapsed::read(format!("{name} 1").as_bytes()).unwrap())
    else {
        return;
    };
    assert_eq!(page.run("return perk.model.name(1)"), name);
    let top = page.run("return document.getElementById('canvas').getBoundingClientRect().top");
    let (x, y) = (200.0, top.as_f64().unwrap() + 30.0);
    page.browser.click(x, y);
    page.browser.move_to(x + 1.0, y);
    assert!(page.text("tip").contains(name));
    assert!(page.text("crumbs").contains(name));
    assert_eq!(page.run("return document.images.length"), 0);
    assert!(page.browser.log("browser").is_empty());
}
