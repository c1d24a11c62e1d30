//! The page of a served store in a real browser: what is on the screen is what HTTP and SQL say.

use std::io::Write as _;
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use perk_testkit::webdriver::Browser;
use serde_json::{Value, json};

use super::{OTHER, PageServer, SHOP, store_of_two_services, totals_of_sql};

/// A number that changes when another address is shown.
const SHOWN: &str = "return document.body.dataset.shown ?? '0'";
const METHODS: &str = "return [...document.querySelectorAll('.history-lanes li')].map((it) => [it.title, it.querySelector(':scope > small').textContent])";

/// The page of a server, in a browser.
struct Page {
    browser: Browser,
    origin: String,
    axe: Option<String>,
}

impl Page {
    /// Opens the address that the server prints; `None` if there is no browser.
    fn open(served: &PageServer) -> Option<Self> {
        let Some(browser) = Browser::start() else {
            assert!(
                env::var_os("PERK_REQUIRE_BROWSER").is_none(),
                "PERK_REQUIRE_BROWSER is set and chromedriver is not there"
            );
            let _ = writeln!(io::stderr(), "NOT TESTED: no chromedriver, the page was not opened");
            return None;
        };
        let axe = perk_testkit::peer("axe/axe.min.js", "axe");
        let axe = axe.map(|it| fs::read_to_string(it).unwrap());
        let origin = served.url.split("/#").next().unwrap().to_owned();
        let page = Self { browser, origin, axe };
        page.after(|page| page.browser.open(&served.url));
        Some(page)
    }

    fn run(&self, script: &str) -> Value {
        self.browser.run(script)
    }

    #[track_caller]
    fn text(&self, script: &str) -> String {
        let value = self.run(script);
        value.as_str().unwrap_or_else(|| panic!("{script}: {value}")).to_owned()
    }

    fn address(&self) -> String {
        self.text("return location.pathname + location.search")
    }

    /// Does something, and waits until the page shows another address.
    #[track_caller]
    fn after(&self, action: impl FnOnce(&Self)) {
        let before = self.run(SHOWN);
        action(self);
        let end = Instant::now() + Duration::from_secs(30);
        while self.run(SHOWN) == before || self.run(SHOWN) == "0" {
            let seen = "return document.body.innerText";
            assert!(Instant::now() < end, "{}: {}", self.address(), self.text(seen));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Opens an address of the server anew.
    #[track_caller]
    fn go(&self, path: &str) {
        self.browser.open("about:blank");
        self.after(|page| page.browser.open(&format!("{}{path}", page.origin)));
    }

    #[track_caller]
    fn wait_for(&self, script: &str, expected: &Value) {
        let end = Instant::now() + Duration::from_secs(20);
        let mut found = self.run(script);
        while found != *expected && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
            found = self.run(script);
        }
        assert_eq!(found, *expected, "{script}");
    }

    #[track_caller]
    fn click(&self, selector: &str) {
        self.after(|page| {
            _ = page.run(&format!("document.querySelector({}).click()", json!(selector)))
        });
    }

    #[track_caller]
    fn choose(&self, list: &str, value: &str) {
        let list = json!(format!("select[aria-label=\"{list}\"]"));
        self.after(|page| {
            page.run(&format!(
                "const list = document.querySelector({list}); list.value = {}; list.dispatchEvent(new Event('change'))",
                json!(value)
            ));
        });
    }

    /// Fails if something is wrong with what is shown: a fault, a line in the console, or what axe-core finds.
    #[track_caller]
    fn assert_sound(&self) {
        let fault = self.text("return document.getElementById('fault').textContent");
        assert_eq!(fault, "", "{}", self.address());
        let log = self.browser.log("browser");
        assert!(log.is_empty(), "{}: {log:?}", self.address());
        let Some(axe) = &self.axe else { return };
        self.run(&format!("{axe}\nreturn null"));
        let found = self.run(
            "return axe.run().then((it) => it.violations
               .filter((one) => ['serious', 'critical'].includes(one.impact))
               .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3)}`))",
        );
        assert_eq!(found, json!([]), "{}", self.address());
    }
}

/// A share as the page writes it.
fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all as f64
}

fn sum(numbers: &Value) -> u64 {
    numbers.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum()
}

#[test]
fn services_are_shown_as_http_and_sql_say() {
    let store = store_of_two_services();
    let served = PageServer::start(&[&store.path()]);
    let Some(page) = Page::open(&served) else { return };
    // The list, and the way to a service.
    let names = page.run("return [...document.querySelectorAll('.files tbody tr')].map((it) => it.cells[0].textContent)");
    assert_eq!(names, json!([SHOP, OTHER]));
    page.assert_sound();
    page.click(".files tbody tr:nth-child(2) a");
    let other = served.id(OTHER);
    assert_eq!(page.address(), format!("/s/{other}/overview?last=24h"));
    assert_eq!(page.text("return document.querySelector('.page h2').textContent"), OTHER);
    // The last 24 hours leave out the first file.
    let evening = "time BETWEEN '2026-11-27T12:00:00Z' AND '2026-11-28T00:00:00Z'";
    let noon = "2026-11-27T12:00:00Z";
    let samples = |filter: &str| {
        totals_of_sql(&store, &format!("service = '{OTHER}' AND {filter}"))["samples"]
    };
    let conditions = "return document.getElementById('conditions').textContent";
    let has_samples = |count: i64| {
        page.wait_for(&format!("{conditions}.split(' · ')[0]",), &json!(format!("{count} samples")))
    };
    has_samples(samples(&format!("time >= '{noon}'")));
    page.assert_sound();
    page.choose("Time", "");
    assert_eq!(page.address(), format!("/s/{other}/overview"));
    has_samples(samples("TRUE"));
    // A drag over a part of the strip leaves the evening of the first day.
    page.wait_for("return document.querySelectorAll('#strip .lanes li').length", &json!(1));
    let place = |name: &str| {
        let over = "document.querySelector('#strip .u-over').getBoundingClientRect()";
        page.run(&format!("return {over}.{name}")).as_f64().unwrap()
    };
    let (left, width, top) = (place("left"), place("width"), place("top") + 8.0);
    page.after(|page| page.browser.drag((left + width / 10.0, top), (left + width / 2.0, top)));
    let (view, window) =
        page.address().split_once('?').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(view, format!("/s/{other}/overview"));
    let document = served.json(&format!("/api/{other}/report?{window}"));
    assert_eq!(document["sample_count"], samples(evening));
    has_samples(samples(evening));
    page.assert_sound();

    // The flame graph of the window begins with all of its samples.
    page.go(&format!("/s/{other}/flame?{window}"));
    page.run("document.querySelector('.chart').focus()");
    let detail = page.text("return document.getElementById('detail').textContent").replace(',', "");
    assert!(detail.contains(&samples(evening).to_string()), "{detail}");
    page.assert_sound();

    // Methods over time, and one of them.
    let shop = served.id(SHOP);
    page.go(&format!("/s/{shop}/history?metric=samples"));
    let answer = served.json(&format!("/api/{shop}/history?metric=samples&top=10"));
    let shown = page.run(METHODS);
    let (all, methods) = (sum(&answer["all"]), answer["methods"].as_array().unwrap());
    assert_eq!(shown.as_array().unwrap().len(), methods.len());
    for (method, lane) in methods.iter().zip(shown.as_array().unwrap()) {
        let (title, text) = (lane[0].as_str().unwrap(), lane[1].as_str().unwrap());
        assert!(title.starts_with(method["name"].as_str().unwrap()), "{lane} {method}");
        let shares: Vec<f64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        let expected = [&method["self"], &method["total"]].map(|it| percent(sum(it), all));
        let is_near = shares.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.051);
        assert!(shares.len() == 2 && is_near, "{lane} {expected:?}");
    }
    page.assert_sound();
    page.click(".history-lanes li a");
    assert!(page.address().contains("method="), "{}", page.address());
    let one = page.run(METHODS);
    assert_eq!(one.as_array().unwrap().len(), 1);
    let of_first = shown[0][1].as_str().unwrap().split(" · ").last().unwrap();
    assert!(one[0][1].as_str().unwrap().ends_with(of_first), "{one} {shown}");
    page.assert_sound();

    // A comparison of versions, by the lists alone.
    page.go(&format!("/s/{shop}/compare?metric=samples"));
    page.assert_sound();
    page.choose("Part before", "label:version");
    page.choose("Part after", "label:version");
    // The lists begin with two values.
    for (side, version) in [("before", "1.4.1"), ("after", "1.4.2")] {
        if !page.address().contains(&format!("{side}-label=version%3D{version}")) {
            page.choose(&format!("Value {side}"), &format!("version={version}"));
        }
    }
    let question = page.address().split_once('?').unwrap().1.to_owned();
    let asked = format!("/api/diff?before={shop}&after={shop}&{question}");
    let said = served.json(&format!("{asked}&view=summary"));
    assert!(said["sentences"][0].as_str().unwrap().contains("version=1.4.1"), "{said}");
    page.wait_for(
        "return document.querySelector('.sentences strong').textContent",
        &said["sentences"][0],
    );
    let table = served.json(&format!("{asked}&view=table&limit=100"));
    let place = |id: &str| {
        table["columns"].as_array().unwrap().iter().position(|it| it["id"] == id).unwrap()
    };
    let shown = page.run("return [...document.querySelectorAll('.grid tbody tr')].map((row) => [...row.cells].map((it) => it.textContent.replaceAll(',', '')))");
    let mut checked = 0;
    for (cells, row) in shown.as_array().unwrap().iter().zip(table["rows"].as_array().unwrap()) {
        // Bytes and times are rounded.
        if !cells[1].as_str().unwrap().contains("samples") {
            continue;
        }
        for (cell, id) in [(2, "before"), (3, "after")] {
            assert_eq!(cells[cell], row[place(id)].to_string(), "{cells} {row}");
        }
        checked += 1;
    }
    assert!(checked > 0, "{shown} {table}");
    let flame = served.json(&format!("/api/diff/flame?before={shop}&after={shop}&{question}"));
    assert_eq!(flame["total"], totals_of_sql(&store, "labels['version'] = '1.4.2'")["samples"]);
    page.assert_sound();
}
