//! Lines: the text of source files with the numbers of each line.

use std::fs;

use perk_web::Options;
use serde_json::json;

use crate::{ENTER, ESCAPE, Page, api, place, testdata};

/// Samples in two lines of a class, 7 in line 3 and 2 in line 5.
const TEXT: &str = "JAVA PROFILE 1.0.1, created Mon Jan  1 00:00:00 2024\n\nTHREAD START (obj=1, id = 200001, \
    name=\"main\", group=\"main\")\nTRACE 300001:\n\tcom.acme.Shop.list(Shop.java:3)\nTRACE 300002:\n\
    \tcom.acme.Shop.sum(Shop.java:5)\n\tcom.acme.Shop.list(Shop.java:3)\nCPU SAMPLES BEGIN (total = 9) Mon Jan  1 \
    00:00:01 2024\nrank   self  accum   count trace method\n   1 77.78% 77.78%       7 300001 com.acme.Shop.list\n   \
    2 22.22% 100.00%       2 300002 com.acme.Shop.sum\nCPU SAMPLES END\n";
const SOURCE: &str =
    "package com.acme;\nclass Shop {\n\tvoid list() { // <b>\u{202e}\n\t}\n\tvoid sum() {}\n}\n";

const CHOSEN: &str = "return document.querySelector('.source .chosen')?.innerText.replace(/\\s+/g, ' ').trim() ?? ''";

#[test]
fn the_text_of_a_file_has_the_numbers_of_each_line() {
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("src/com/acme");
    fs::create_dir_all(&sources).unwrap();
    fs::write(sources.join("Shop.java"), SOURCE).unwrap();
    let file = folder.path().join("a.txt");
    fs::write(&file, TEXT).unwrap();
    let source_folders = vec![folder.path().join("src")];
    let options = Options { inputs: vec![file], source_folders, ..Options::default() };
    let Some(page) = Page::open_with(options) else { return };
    page.go("/s/s1/lines?at=0");
    // The hottest line leads to its text.
    page.run("document.querySelector('.scroll').focus()");
    page.after(|page| page.browser.keys(ENTER));
    assert!(
        page.address().starts_with("/s/s1/lines?file=com%2Facme%2FShop.java&line=3"),
        "{}",
        page.address()
    );
    page.wait_for(CHOSEN, &json!("77.78 7 100.00 9 3 void list() { // <b>\\u{202e}"));
    // All lines are there, those without numbers, too.
    let lines = page.run(
        "return [...document.querySelectorAll('.source tbody tr')].map((it) => it.dataset.line)",
    );
    assert_eq!(lines, json!(["1", "2", "3", "4", "5", "6"]));
    // Keys go to the next hot line, and the address restores it.
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys("hh");
    page.wait_for(CHOSEN, &json!("22.22 2 22.22 2 5 void sum() {}"));
    page.wait_for("return location.search.endsWith('&line=5')", &json!(true));
    page.go(&page.address());
    page.wait_for(CHOSEN, &json!("22.22 2 22.22 2 5 void sum() {}"));
    page.run("document.querySelector('.scroll').focus()");
    page.after(|page| page.browser.keys(ESCAPE));
    assert_eq!(page.address(), "/s/s1/lines?form=files");
    let row = "return [...document.querySelectorAll('.grid tbody tr')].map((it) => it.innerText.replace(/\\s+/g, ' '))";
    let row = page.run(row);
    let path = sources.join("Shop.java");
    assert!(row[0].as_str().unwrap().starts_with("100.00 9 "), "{row} {path:?}");
    // A method's lines lead there, too; and files that are not below the folders are none.
    page.go("/s/s1/method?method=com.acme.Shop.sum");
    page.wait_for(
        "return document.querySelector('.short a')?.getAttribute('href')",
        &json!("/s/s1/lines?file=com%2Facme%2FShop.java&line=5"),
    );
    let none = api(&page, "/api/s1/files?file=..%2F..%2Fetc%2Fpasswd");
    assert!(none["error"].as_str().unwrap().contains("has no source file"), "{none}");
}

#[test]
fn bytecodes_and_coverage_have_a_view() {
    let Some(page) = Page::open(&[&testdata("jamaica/perk.prof")]) else { return };
    page.after(|page| {
        page.run("document.querySelector('#tabs a[href$=\"/bytecodes\"]').click()");
    });
    let cells = "return [...document.querySelectorAll('.grid tbody tr:not(.space)')]
        .map((row) => [row.cells[0].textContent, row.querySelector('.name').textContent])";
    page.wait_for(cells, &json!([["300", "A.main"], ["100", "B.fp"]]));
    // Of each method the instructions of its lines, and those of them that ran.
    let heads = page.text(
        "return [...document.querySelectorAll('.grid th')].map((it) => it.textContent).join()",
    );
    assert!(heads.contains("instructions,instructions run,method"), "{heads}");
    let table = api(&page, "/api/s1/report?view=methods&metric=bytecodes");
    let covered = ["instruction_count", "instruction_run_count"]
        .map(|id| table["rows"][0][place(&table, id)].clone());
    assert_eq!(covered, [17, 10], "{table}");
    page.after(|page| {
        page.run(
            "const list = document.querySelector('select[aria-label=Form]'); list.value = 'files';
            list.dispatchEvent(new Event('change'))",
        );
    });
    assert_eq!(page.address(), "/s/s1/bytecodes?form=files");
    // As the file has them: of three lines two ran, one of these in part.
    let lines = "return document.querySelector('.grid tbody tr').innerText.split(/\\s+/).join(' ')";
    let shown = page.text(lines);
    page.go("/s/s1/bytecodes?form=files");
    page.wait_for(lines, &json!(shown));
    assert!(shown.contains("66.67") && shown.ends_with("1 of 1 A.java"), "{shown}");
    page.assert_silent();
}
