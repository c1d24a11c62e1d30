//! The page of a running JVM, in headless Chromium.

use std::io::Write as _;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use perk_testkit::webdriver::Browser;
use perk_testkit::{Jdk, jdk};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::Server;
use super::live::{program, signal};
use crate::util::Folder;

const SAMPLES: &str = "return document.getElementById('conditions').textContent";
const STATE: &str = "return document.querySelector('#live .state')?.textContent ?? ''";

/// Waits until a script gives what is wanted.
#[track_caller]
fn wait_for(browser: &Browser, script: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let begin = Instant::now();
    loop {
        let value = browser.run(script);
        if is_wanted(&value) {
            return value;
        }
        let text = || browser.run("return document.body.innerText");
        assert!(begin.elapsed() < Duration::from_secs(60), "{script}: {value}\n{}", text());
        thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn wait_for_other(browser: &Browser, script: &str, before: &Value) -> Value {
    wait_for(browser, script, |value| value != before && value.as_str() != Some(""))
}

/// No view of a running JVM is wider than a narrow window.
fn assert_narrow(browser: &Browser, origin: &str) {
    let size = json!({"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": false});
    browser.devtools("Emulation.setDeviceMetricsOverride", &size);
    let ready = "return document.getElementById('view').getAttribute('aria-busy') !== 'true'
        && document.getElementById('view').childElementCount > 0";
    for view in [
        "overview",
        "flame",
        "methods",
        "threads",
        "monitors",
        "time",
        "compare",
        "compare?before-thread=format-*&after-thread=monitor-*",
    ] {
        let part = if view.contains('?') { "&last=10s" } else { "?last=10s" };
        browser.open(&format!("{origin}/s/j1/{view}{part}"));
        wait_for(browser, STATE, |it| *it == json!("live"));
        wait_for(browser, ready, |it| *it == json!(true));
        wait_for(browser, SAMPLES, |it| it.as_str() != Some(""));
        let fault = browser.run("return document.getElementById('fault').textContent");
        assert_eq!(fault, json!(""), "{view}");
        let wide = browser.run("return document.documentElement.scrollWidth > innerWidth");
        assert_eq!(wide, json!(false), "{view} is wider than 400");
    }
    // What differs is said in words, and newly each second.
    let said = "return document.querySelector('.sentences .first')?.textContent ?? ''";
    wait_for(browser, said, |it| it.as_str() != Some(""));
    browser.devtools("Emulation.clearDeviceMetricsOverride", &json!({}));
}

#[test]
fn a_running_jvm_is_shown_newly_and_frozen() {
    jdk::each(is_shown_newly_and_frozen);
}

fn is_shown_newly_and_frozen(jdk: &Jdk) {
    let Some(browser) = Browser::start() else {
        assert!(
            std::env::var_os("PERK_REQUIRE_BROWSER").is_none(),
            "PERK_REQUIRE_BROWSER is set and chromedriver is not there"
        );
        let _ = writeln!(io::stderr(), "NOT TESTED: no chromedriver, the page was not opened");
        return;
    };
    let folder = Folder::new();
    let java = program(jdk, "300");
    let server = Server::new(&folder, &[&java.pid().to_string()]);
    browser.open(&server.url);
    let origin = server.url.split("/#").next().unwrap();
    let address = "return location.pathname + location.search";
    wait_for(&browser, address, |it| *it == json!("/s/j1/overview?last=10s"));
    // It changes by itself, in place.
    wait_for(&browser, STATE, |it| *it == json!("live"));
    let first = wait_for_other(&browser, SAMPLES, &json!(""));
    wait_for_other(&browser, SAMPLES, &first);
    let vitals = browser.run("return document.getElementById('vitals').textContent");
    for name in ["CPU", "GC", "JIT", "Heap", "Classes", "Allocation", "Lock waits", "Threads"] {
        assert!(vitals.as_str().unwrap().contains(name), "{name}: {vitals}");
    }
    // The row that is selected, the focus and the elements stay where they are.
    browser.open(&format!("{origin}/s/j1/threads?last=10s"));
    let rows = "return document.querySelectorAll('.grid tbody tr:not(.space)').length";
    wait_for(&browser, rows, |it| it.as_u64() > Some(8));
    browser.run("document.querySelector('.scroll').focus(); window.scroll1 = document.querySelector('.scroll')");
    browser.keys("\u{E015}");
    let selected = "return document.querySelector('#side h2')?.textContent ?? ''";
    let thread_name = wait_for_other(&browser, selected, &json!(""));
    let samples = browser.run(SAMPLES);
    wait_for_other(&browser, SAMPLES, &samples);
    assert_eq!(browser.run(selected), thread_name);
    let stays = "return document.activeElement === window.scroll1 && window.scroll1.isConnected";
    assert_eq!(browser.run(stays), json!(true));
    // A part that is frozen stays, and its address restores it.
    browser.keys("p");
    wait_for(&browser, STATE, |it| *it == json!("frozen"));
    let fixed = browser.run(address);
    assert!(
        fixed.as_str().unwrap().contains("from=") || fixed.as_str().unwrap().contains("to="),
        "{fixed}"
    );
    let frozen = wait_for_other(&browser, SAMPLES, &json!(""));
    let count =
        "return fetch('/api/j1/live').then((it) => it.json()).then((it) => it.increment_count)";
    let before = browser.run(count).as_u64().unwrap();
    wait_for(&browser, count, |it| it.as_u64() > Some(before + 1));
    assert_eq!(browser.run(SAMPLES), frozen);
    browser.open(&format!("{origin}{}", fixed.as_str().unwrap()));
    wait_for(&browser, SAMPLES, |it| *it == frozen);
    browser.keys("p");
    wait_for(&browser, STATE, |it| *it == json!("live"));
    browser.keys("r");
    wait_for(&browser, address, |it| it.as_str().unwrap().contains("last=1m"));
    if let Some(axe) = perk_testkit::peer("axe/axe.min.js", "axe") {
        let axe = fs::read_to_string(axe).unwrap();
        browser.run(&format!("{axe}\nreturn null"));
        let serious = browser.run(
            "return axe.run().then((it) => it.violations
                .filter((one) => ['serious', 'critical'].includes(one.impact))
                .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`))",
        );
        assert_eq!(serious, json!([]));
    }
    assert_narrow(&browser, origin);
    browser.open(&format!("{origin}/s/j1/threads?last=1m"));
    wait_for(&browser, STATE, |it| *it == json!("live"));
    let log = browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
    // The page says how it ends, and what was recorded stays.
    signal(&java, Signal::KILL);
    wait_for(&browser, STATE, |it| it.as_str().unwrap().ends_with(" was ended by signal 9"));
    wait_for(&browser, rows, |it| it.as_u64() > Some(8));
}
