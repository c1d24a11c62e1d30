//! The controls of the filter, and what can be done with a method.

use std::path::Path;

use perk_profile::{
    Column, Frame, Key, Label, LabelValue, Line, Method, Metric, Profile, Section, SectionHead,
};
use serde_json::json;

use crate::{DOWN, ENTER, ESCAPE, Page, api, place, testdata, write_profile};

/// Samples of two requests: 3 of `GET /a` in `load`, 5 of `POST` in `save`, both called by `run`.
fn write_requests(path: &Path) {
    let mut profile = Profile::default();
    let class = profile.symbols.class("com.acme.Orders");
    let mut frame = |name: &str| {
        let name = profile.symbols.strings.intern(name);
        let method = profile.symbols.method(Method { class, name, signature: None, source: None });
        profile.symbols.frame(Frame::new(method, Line::Number(7)))
    };
    let [run, load, save] = ["run", "load", "save"].map(&mut frame);
    let mut samples = Section::new(SectionHead::new([Column::new(Metric::Samples, 8)]));
    for (method, request, number) in [(load, "GET /a", 3), (save, "POST", 5)] {
        let node = profile.tree.insert([run, method]);
        let trace = profile.trace(node, None);
        let [key, value] = ["request", request].map(|text| profile.symbols.strings.intern(text));
        let labels = profile.labels.set(vec![Label { key, value: LabelValue::Text(value) }]);
        samples.push(Key { labels, ..Key::from(trace) }, &[number]);
    }
    profile.events.push(samples.into());
    write_profile(&profile, path);
}

const CHIPS: &str =
    "return [...document.querySelectorAll('.chip span')].map((it) => it.textContent)";
const VALUES: &str = "return [...document.querySelectorAll('.values button')].map((it) => it.innerText.replace(/\\s+/g, ' ').trim())";
const DETAIL: &str = "return document.getElementById('detail').textContent";

#[test]
fn labels_and_packages_are_chosen_without_typing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("requests.hprof");
    write_requests(&file);
    let Some(page) = Page::open(&[&file]) else { return };
    page.go("/s/s1/flame");
    // The lists are opened by a key, and have the part of each value of all numbers.
    page.run("document.querySelector('.chart').focus()");
    page.browser.keys("+");
    page.wait_for(VALUES, &json!(["com.acme 100.00 %"]));
    let choose = |list: &str, value: &str| {
        page.run(&format!(
            "const list = document.querySelector('#filter-panel select[aria-label={list}]');
             list.value = '{value}'; list.dispatchEvent(new Event('change'))"
        ));
    };
    choose("What", "label:request");
    page.wait_for(VALUES, &json!(["POST 62.50 %", "GET /a 37.50 %"]));
    page.run("document.querySelector('#filter-panel input').focus()");
    page.browser.keys(&format!("{DOWN}{DOWN}"));
    page.after(|page| page.browser.keys(ENTER));
    assert_eq!(page.address(), "/s/s1/flame?label=request%3DGET+%2Fa");
    assert_eq!(page.run(CHIPS), json!(["request: GET /a"]));
    page.wait_for(DETAIL, &json!("all — 3 samples (100.00 %), self 0 samples"));
    // The address restores it, and a chip is removed by its button.
    page.go(&page.address());
    page.wait_for(DETAIL, &json!("all — 3 samples (100.00 %), self 0 samples"));
    page.after(|page| {
        page.run("document.querySelector('.chip button').click()");
    });
    assert_eq!(page.address(), "/s/s1/flame");
    // A method that is left out.
    page.run("document.getElementById('add-filter').click()");
    choose("How", "ignore");
    choose("What", "method");
    page.wait_for(
        VALUES,
        &json!([
            "com.acme.Orders.save 62.50 %",
            "com.acme.Orders.load 37.50 %",
            "com.acme.Orders.run 0.00 %"
        ]),
    );
    page.after(|page| {
        page.run("document.querySelector('.values button').click()");
    });
    assert_eq!(page.run(CHIPS), json!(["without com.acme.Orders.save"]));
    page.wait_for(DETAIL, &json!("all — 3 samples (100.00 %), self 0 samples"));
    // Groups are at the root; those of a label hold in all views.
    page.go("/s/s1/flame");
    page.after(|page| {
        page.run("const list = document.getElementById('group'); list.value = 'label:request'; list.dispatchEvent(new Event('change'))");
    });
    assert_eq!(page.address(), "/s/s1/flame?by=request");
    page.run("document.querySelector('.chart').focus()");
    page.browser.keys(DOWN);
    page.wait_for(
        "return document.getElementById('detail').textContent.split(',')[0]",
        &json!("POST — 5 samples (62.50 %)"),
    );
    // Escape closes the lists and changes nothing.
    page.browser.keys("+");
    page.browser.keys(ESCAPE);
    page.wait_for(
        "return document.getElementById('filter-panel').matches(':popover-open')",
        &json!(false),
    );
    assert_eq!(page.address(), "/s/s1/flame?by=request");
    page.assert_silent();
}

#[test]
fn the_selected_method_is_focused_ignored_hidden_and_followed() {
    let Some(page) = Page::open(&[&testdata("hprof/samples-b-cpu.hprof")]) else { return };
    page.go("/s/s1/methods?at=1");
    let name = page.text("return document.querySelector('#side h2 .name').title");
    let name = name.split('(').next().unwrap().to_owned();
    let links = page.run("return [...document.querySelectorAll('#side .links > *')].map((it) => [it.ariaKeyShortcuts ?? it.getAttribute('aria-keyshortcuts'), it.textContent])");
    let expected = [
        ("m", "Callers and callees"),
        ("f", "Focus on this"),
        ("i", "Ignore"),
        ("x", "Hide"),
        ("l", "Lines"),
        ("y", "Copy name"),
    ];
    assert_eq!(links, json!(expected));
    for (key, parts) in [
        ("f", format!("/methods?focus={name}")),
        ("i", format!("/methods?ignore={name}")),
        ("x", format!("/methods?hide={name}")),
        ("m", format!("/method?method={name}")),
        ("l", format!("/lines?search={name}")),
    ] {
        page.go("/s/s1/methods?at=1");
        page.run("document.querySelector('.scroll').focus()");
        page.after(|page| page.browser.keys(key));
        let address = page.address().replace("%24", "$").replace("%3C", "<").replace("%3E", ">");
        assert_eq!(address, format!("/s/s1{parts}"), "{key}");
    }
    page.go("/s/s1/methods?at=1");
    page.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }; document.querySelector('.scroll').focus()");
    page.browser.keys("y");
    page.wait_for("return window.copied?.split('(')[0]", &json!(name));
    page.assert_silent();
}

#[test]
fn a_method_is_between_its_callers_and_callees() {
    let file = testdata("hprof/samples-b-cpu.hprof");
    let Some(page) = Page::open(&[&file]) else { return };
    let methods = api(&page, "/api/s1/report?view=methods&sort=total_count&order=desc");
    let of = |id: &str| place(&methods, id);
    // One that calls others and has lines.
    let rows = methods["rows"].as_array().unwrap().iter();
    let row =
        rows.clone().find(|row| row[of("total_count")].as_u64() > row[of("self_count")].as_u64());
    let row = row.unwrap();
    let name = row[of("name")].as_str().unwrap().split('(').next().unwrap();
    page.go(&format!("/s/s1/method?method={}", name.replace('$', "%24")));
    let head = page.text("return document.querySelector('.bar output').textContent");
    let expected = format!("{} samples (", row[of("total_count")]);
    assert!(head.starts_with(&expected), "{head}: {expected}");
    assert!(head.ends_with(&format!(", self {} samples", row[of("self_count")])), "{head}");
    assert_eq!(page.run("return document.querySelectorAll('.chart').length"), json!(2));
    // Its lines have the numbers of the view of lines.
    let lines = api(&page, "/api/s1/report?view=lines&limit=10000");
    let at = |id: &str| place(&lines, id);
    let is_its = |row: &&serde_json::Value| {
        let full = format!(
            "{}.{}",
            row[at("class")].as_str().unwrap(),
            row[at("method")].as_str().unwrap()
        );
        full == name && row[at("line")].is_u64()
    };
    let mut totals: Vec<_> = lines["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_its)
        .map(|row| (row[at("line")].as_u64().unwrap(), row[at("total_count")].to_string()))
        .collect();
    totals.sort();
    let totals: Vec<_> = totals.into_iter().map(|it| it.1).collect();
    assert!(!totals.is_empty());
    page.wait_for(
        "return [...document.querySelectorAll('.short tbody tr')].map((row) => row.cells[2].textContent)",
        &json!(totals),
    );
    // Keys lead to a callee, which is in the address, and Enter puts it into the middle.
    page.run("document.querySelectorAll('.chart')[1].focus()");
    page.browser.keys(&format!("{DOWN} "));
    page.wait_for("return location.search.includes('node=callees.')", &json!(true));
    let callee = page.text("return document.querySelector('#side h2 .name').title");
    page.go(&page.address());
    page.wait_for("return document.querySelector('#side h2 .name')?.title", &json!(callee.clone()));
    page.run("document.querySelectorAll('.chart')[1].focus()");
    page.after(|page| page.browser.keys(ENTER));
    let middle = page.text("return document.querySelector('.bar strong .name').title");
    assert_eq!(middle, callee.split('(').next().unwrap());
    page.after(|page| {
        page.run("const list = document.querySelector('.bar select'); list.value = 'table'; list.dispatchEvent(new Event('change'))");
    });
    assert!(page.address().ends_with("&as=table"), "{}", page.address());
    page.wait_for("return document.querySelector('.grid').rows.length > 1", &json!(true));
    page.assert_silent();
}
