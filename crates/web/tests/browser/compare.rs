//! Comparisons: of two files, and of two parts of one.

use std::path::Path;

use perk_formats::collapsed;
use perk_profile::{Column, Key, Metric, Section, SectionHead, Subject, WallState};
use serde_json::json;

use crate::{DOWN, ENTER, Page, RIGHT, api, place, testdata, write_profile};

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

/// Wall-clock time of a worker: `work_s` in the program, `idle_s` in which its pool has no work for it.
fn write_idle(path: &Path, work_s: u64, idle_s: u64) {
    let text = "java.lang.Thread.run;com.acme.Shop.list 1\n\
        java.lang.Thread.run;java.util.concurrent.ThreadPoolExecutor.runWorker;\
        java.util.concurrent.ThreadPoolExecutor.getTask;\
        java.util.concurrent.LinkedBlockingQueue.take;jdk.internal.misc.Unsafe.park 2\n";
    let mut profile = collapsed::read(text.as_bytes()).unwrap();
    let rows = Metric::Samples.rows(&profile).by_trace();
    let times = [(1, WallState::Running, work_s), (2, WallState::Parked, idle_s)];
    let rows: Vec<_> = times
        .iter()
        .map(|&(count, state, seconds)| {
            let trace = rows.iter().find(|row| row.1 == count).unwrap().0;
            (Key::new(trace, Subject::State(state)), [seconds * 1_000_000_000])
        })
        .collect();
    let head = SectionHead::new([Column::new(Metric::WallTime, (work_s + idle_s) * 1_000_000_000)]);
    profile.events = vec![Section::with_rows(head, rows).into()];
    write_profile(&profile, path);
}

#[test]
fn idle_threads_are_one_bar_of_a_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["before.hprof", "after.hprof"].map(|name| folder.path().join(name));
    write_idle(&before, 2, 8);
    write_idle(&after, 4, 6);
    let Some(page) = Page::open(&[&after, &before]) else { return };
    page.go("/s/s1/compare?with=s2");
    let detail = "return document.getElementById('detail').textContent";
    let named = |name: &str| {
        let begins = format!("{detail}.startsWith('{name} — ')");
        page.run("document.querySelector('.chart').focus()");
        page.browser.keys(DOWN);
        for _ in 0..3 {
            if page.run(&begins) == true {
                return;
            }
            page.browser.keys(RIGHT);
        }
        panic!("no {name}: {}", page.text(detail));
    };
    named("[idle threads]");
    let text = page.text(detail);
    assert!(text.contains("6.00 s (60.00 %)") && text.contains("shrank"), "{text}");
    // The bar opens, and its button folds all of it again.
    page.after(|page| page.browser.keys(ENTER));
    assert_eq!(page.address(), "/s/s1/compare?with=s2&fold=frames");
    page.run("document.querySelector('.chart').focus()");
    page.browser.keys(DOWN);
    let mut bars = vec![page.text(detail)];
    for _ in 0..2 {
        page.browser.keys(RIGHT);
        bars.push(page.text(detail));
    }
    assert!(bars.iter().any(|bar| bar.starts_with("java.lang.Thread.run — 6.00 s")), "{bars:?}");
    assert!(!bars.iter().any(|bar| bar.starts_with("[idle threads]")), "{bars:?}");
    page.assert_silent();
}
