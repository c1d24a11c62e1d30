//! Comparisons: of two files, and of two parts of one.

use serde_json::json;

use crate::{DOWN, Page, RIGHT, api, place, testdata};

const FIRST: &str = "return document.querySelector('.sentences strong')?.textContent ?? ''";

#[test]
fn files_and_windows_are_compared() {
    let files = ["jfr/jdk17.jfr.gz", "hprof/samples-b-cpu.hprof"].map(testdata);
    let Some(page) = Page::open(&[&files[0], &files[1]]) else { return };
    page.go("/s/s1/compare");
    let choose = |list: &str, value: &str| {
        page.after(|page| {
            page.run(&format!(
                "const list = document.querySelector('select[aria-label=\"{list}\"]'); list.value = '{value}'; list.dispatchEvent(new Event('change'))"
            ));
        });
    };
    choose("File before", "s2");
    assert_eq!(page.address(), "/s/s1/compare?with=s2");
    let sentence = "return fetch('/api/diff?before=s2&after=s1&view=summary').then((it) => it.json()).then((it) => it.sentences[0])";
    let sentence = page.run(sentence);
    assert!(sentence.as_str().unwrap().starts_with("jdk17.jfr.gz "), "{sentence}");
    page.wait_for(FIRST, &sentence);
    // The table has the numbers of the command line, and what changed most comes first.
    let table = api(&page, "/api/diff?before=s2&after=s1&view=table&limit=1");
    let row = &table["rows"][0];
    let shown = page.run(
        "return [...document.querySelector('.grid tbody tr').cells].map((it) => it.textContent.replaceAll(',', ''))",
    );
    for (cell, id) in [(2, "before"), (3, "after")] {
        assert_eq!(shown[cell], json!(row[place(&table, id)].to_string()), "{shown}");
    }
    let change = row[place(&table, "change")].as_str().unwrap().replace('-', "−");
    assert_eq!(shown[4].as_str().unwrap().trim_start_matches('+'), change, "{shown}");
    // The selected frame says in words and with a sign what changed.
    let legend = page.text("return document.querySelector('.legend').innerText");
    assert!(legend.contains("shrank") && legend.contains("grew"), "{legend}");
    page.run("document.querySelector('.chart').focus()");
    page.browser.keys(&format!("{DOWN}{RIGHT} "));
    let detail = page.text("return document.getElementById('detail').textContent");
    let has_word = ["grew", "shrank", "new", "the same share"].iter().any(|it| detail.contains(it));
    assert!(has_word && detail.ends_with("percentage points"), "{detail}");
    page.wait_for(
        "return document.querySelector('#side dl').innerText.includes('change')",
        &json!(true),
    );
    // Two windows of one file, by the lists alone.
    choose("File before", "s1");
    choose("Part before", "window");
    choose("Part after", "window");
    let address = page.address();
    assert!(address.contains("before-to=") && address.contains("after-from="), "{address}");
    let sentence = page.text(FIRST);
    assert!(sentence.contains("–end ") && sentence.contains(" start–"), "{sentence}");
    page.go(&address);
    page.wait_for(FIRST, &json!(sentence));
    let count = page.text("return document.querySelector('.bar output').textContent");
    assert!(count.ends_with(" rows"), "{count}");
    page.after(|page| {
        page.run("[...document.querySelectorAll('.grid th button')].find((it) => it.textContent === 'after').click()");
    });
    assert!(page.address().contains("sort=after&order=desc"), "{}", page.address());
    page.assert_silent();
}
