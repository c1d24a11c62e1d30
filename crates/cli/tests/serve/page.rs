//! The page of a running JVM, in headless Chromium.

use std::io::Write as _;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use perk_testkit::jdk;
use perk_testkit::webdriver::Browser;
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

#[test]
fn a_running_jvm_is_shown_newly_and_frozen() {
    let Some(browser) = Browser::start() else {
        assert!(
            std::env::var_os("PERK_REQUIRE_BROWSER").is_none(),
            "PERK_REQUIRE_BROWSER is set and chromedriver is not there"
        );
        let _ = writeln!(io::stderr(), "NOT TESTED: no chromedriver, the page was not opened");
        return;
    };
    let folder = Folder::new();
    let java = program(&jdk::all()[0], "300");
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
    let log = browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
    // The page says how it ends, and what was recorded stays.
    signal(&java, Signal::KILL);
    wait_for(&browser, STATE, |it| it.as_str().unwrap().ends_with(" was ended by signal 9"));
    wait_for(&browser, rows, |it| it.as_u64() > Some(8));
}
