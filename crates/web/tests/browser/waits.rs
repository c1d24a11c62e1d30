//! Threads with their states, locks with those who wait for them, allocations, and where the overview leads.

use perk_profile::{
    Column, Event, Frame, Key, Line, Method, Metric, Profile, Section, SectionHead, SeriesSubject,
    Subject, Thread, ThreadId, TimeSeries, WallState,
};
use serde_json::{Value, json};

use crate::{DOWN, Page, api, place, testdata, write_profile};

const SECOND: u64 = 1_000_000_000;

/// Two threads: `worker` runs for 1 s and is blocked for 3 s, `timer` sleeps for 4 s.
fn states() -> Profile {
    let mut profile = Profile::default();
    let class = profile.symbols.class("com.acme.Orders");
    let name = profile.symbols.strings.intern("run");
    let method = profile.symbols.method(Method { class, name, signature: None, source: None });
    let run = profile.symbols.frame(Frame::new(method, Line::Number(7)));
    let node = profile.tree.insert([run]);
    let mut wall = Section::new(SectionHead::new([Column::new(Metric::WallTime, 8 * SECOND)]));
    for (serial, name, states) in [
        (200_001, "worker", &[(WallState::Running, 1), (WallState::Blocked, 3)][..]),
        (200_002, "timer", &[(WallState::Sleeping, 4)]),
    ] {
        let name = profile.symbols.strings.intern(name);
        let thread =
            Thread { serial, object_id: u64::from(serial), name, group: None, parent_group: None };
        let thread = profile.push_thread(thread);
        profile.events.push(Event::ThreadStart(thread));
        let trace = profile.trace(node, Some(thread));
        for &(state, seconds) in states {
            let key = Key { subject: Subject::State(state), ..Key::from(trace) };
            wall.push(key, &[seconds * SECOND]);
        }
    }
    profile.events.push(wall.into());
    // Over time: `worker` runs first, and then is blocked.
    let number = |tick, thread, state| {
        let (thread, state) = (Some(thread), Some(state));
        ((tick, SeriesSubject { thread, state }), SECOND)
    };
    let of_timer = (0..4).map(|tick| number(tick, 200_002, WallState::Sleeping));
    let of_worker = (1..4).map(|tick| number(tick, 200_001, WallState::Blocked));
    let begin = number(0, 200_001, WallState::Running);
    profile.events.push(Event::TimeSeries(TimeSeries {
        metric: Metric::WallTime,
        tick_ns: SECOND,
        begin_ns: 0,
        numbers: of_timer.chain(of_worker).chain([begin]).collect(),
    }));
    profile
}

#[test]
fn threads_have_their_states() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("states.hprof");
    write_profile(&states(), &file);
    let Some(page) = Page::open(&[&file]) else { return };
    page.go("/s/s1/threads");
    let bars = "return [...document.querySelectorAll('.states')].map((it) => it.ariaLabel)";
    page.wait_for(bars, &json!(["blocked 75.0 %, running 25.0 %", "sleeping 100.0 %"]));
    // Over time each state has its colour and, where there is room, its letter; the pointer says the rest.
    let strip = page.run(
        "const strip = document.querySelector('.state-strip[data-thread=worker]');
         const at = (x) => {
           const box = strip.getBoundingClientRect();
           strip.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x * box.width, clientY: box.top + 4 }));
           return strip.title;
         };
         return [at(0.1), at(0.9)]",
    );
    let [first, last] = [0, 1].map(|at| strip[at].as_str().unwrap());
    assert!(first.contains("running on a CPU 100.0 %"), "{strip}");
    assert!(last.contains("blocked by a monitor 100.0 %"), "{strip}");
    let legend = page.text("return document.querySelector('.legend').innerText");
    assert!(legend.contains('R') && legend.contains('B') && legend.contains('S'), "{legend}");
    // The times of each state add up to the numbers of the table.
    let table = api(&page, "/api/s1/report?view=states");
    let over_time = api(&page, "/api/s1/thread-states");
    for row in table["rows"].as_array().unwrap() {
        let is_its = |it: &&Value| it["thread_serial"] == row[place(&table, "thread_serial")];
        let thread = over_time["threads"].as_array().unwrap().iter().find(is_its).unwrap();
        for state in WallState::ALL {
            let its = thread["states"].as_array().unwrap().iter();
            let its = its.filter(|it| it["state"] == state.name());
            let numbers = its.flat_map(|it| it["ns"].as_array().unwrap());
            let sum: u64 = numbers.map(|ns| ns.as_u64().unwrap()).sum();
            assert_eq!(row[place(&table, &format!("{}_ns", state.name()))], sum, "{thread}");
        }
    }
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys(DOWN);
    let words = "return document.getElementById('side').innerText.replace(/\\s+/g, ' ')";
    let words = page.text(words);
    assert!(
        words.contains("worker") && words.contains("blocked by a monitor 3.00 s (75.0 %)"),
        "{words}"
    );
    page.go("/s/s1/threads?at=0");
    page.wait_for("return document.querySelector('#side h2')?.textContent", &json!("worker"));
    // One thread alone: its graph, its chip, and a comparison of two.
    page.after(|page| page.browser.keys("g"));
    assert_eq!(page.address(), "/s/s1/flame?thread=worker");
    page.wait_for(
        "return document.getElementById('detail').textContent.split(',')[0]",
        &json!("all — 4.00 s (100.00 %)"),
    );
    assert_eq!(
        page.run("return document.querySelector('.chip span').textContent"),
        json!("thread worker")
    );
    let report = api(&page, "/api/s1/report?view=methods&thread=work*");
    assert_eq!(report["rows"][0][place(&report, "self_ns")], json!(4 * SECOND), "{report}");
    let none = api(&page, "/api/s1/report?view=methods&thread=wurker");
    assert_eq!(none["total_rows"], json!(0), "{none}");
    page.go("/s/s1/compare?before-thread=worker&after-thread=timer");
    let first = page.text("return document.querySelector('.sentences strong').textContent");
    assert!(first.contains("thread timer") && first.contains("thread worker"), "{first}");
    page.assert_silent();
}

#[test]
fn threads_that_only_wait_or_allocate_are_listed() {
    let mut profile = states();
    let worker = profile.threads.iter().position(|it| it.serial == 200_001).map(ThreadId::new);
    let node = profile.traces()[0].node;
    let name = profile.symbols.strings.intern("maker");
    let thread = Thread { serial: 200_003, object_id: 3, name, group: None, parent_group: None };
    let maker = profile.push_thread(thread);
    profile.events.push(Event::ThreadStart(maker));
    for (metric, thread, number) in
        [(Metric::Samples, worker, 5), (Metric::AllocatedBytes, Some(maker), 64)]
    {
        let trace = profile.trace(node, thread);
        let mut section = Section::new(SectionHead::new([Column::new(metric, number)]));
        section.push(Key::from(trace), &[number]);
        profile.events.push(section.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("threads.hprof");
    write_profile(&profile, &file);
    let Some(page) = Page::open(&[&file]) else { return };
    page.go("/s/s1/threads");
    let rows = "return [...document.querySelectorAll('.grid tbody tr:not(.space)')].map((row) =>
        [row.cells[0].textContent, ['worker', 'timer', 'maker'].find((name) => row.textContent.includes(name)), row.querySelector('.states')?.ariaLabel ?? ''])";
    page.wait_for(
        rows,
        &json!([
            ["5", "worker", "blocked 75.0 %, running 25.0 %"],
            ["0", "timer", "sleeping 100.0 %"],
            ["0", "maker", ""],
        ]),
    );
    // Of a metric that is chosen, those that have numbers of it.
    let names = |metric: &str| {
        let table = api(&page, &format!("/api/s1/report?view=threads&metric={metric}"));
        let place = place(&table, "thread");
        let rows = table["rows"].as_array().unwrap();
        rows.iter().map(|row| row[place].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("samples"), ["worker"]);
    assert_eq!(names("allocated"), ["maker"]);
    page.assert_silent();
}

#[test]
fn a_lock_has_those_who_wait_and_the_overview_leads_there() {
    let Some(page) = Page::open(&[&testdata("jfr/jdk17.jfr.gz")]) else { return };
    // Each row of the overview leads to a view that is there.
    let links = page.run(
        "return [...document.querySelectorAll('#view a')].map((it) => it.getAttribute('href'))",
    );
    let links: Vec<_> = links.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    for view in ["/monitors", "/method?", "/flame", "/sites"] {
        assert!(links.iter().any(|it| it.contains(view)), "{view}: {links:?}");
    }
    let locks = api(&page, "/api/s1/report?view=locks&limit=1000");
    let waits = api(&page, "/api/s1/report?view=monitors&limit=1000");
    let row = &locks["rows"][0];
    page.go("/s/s1/monitors");
    // The first lock is explained at once: the shares of its paths are of all waits for it.
    let [class, kind] = ["class", "kind"].map(|id| (&row[place(&locks, id)], place(&waits, id)));
    let its = waits["rows"].as_array().unwrap().iter();
    let its: Vec<&Value> =
        its.filter(|it| it[class.1] == *class.0 && it[kind.1] == *kind.0).collect();
    let blocked = |row: &Value| row[place(&waits, "blocked_ns")].as_u64().unwrap_or(0);
    let total: u64 = its.iter().map(|row| blocked(row)).sum();
    let mut shares: Vec<_> = its.iter().map(|row| blocked(row)).filter(|&ns| ns > 0).collect();
    shares.sort_unstable_by(|a, b| b.cmp(a));
    let shares: Vec<_> =
        shares.iter().map(|&ns| format!("{:.1} %", 100.0 * ns as f64 / total as f64)).collect();
    assert!(!shares.is_empty());
    let shown = page.run("return [...document.querySelectorAll('.ways summary strong')].map((it) => it.textContent.trim())");
    assert_eq!(shown.as_array().unwrap()[..shares.len()], json!(shares).as_array().unwrap()[..]);
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys(&format!("{DOWN}{DOWN}"));
    page.wait_for("return location.search", &json!("?at=1"));
    let heading = page.text("return document.querySelector('.ways h3 .name').title");
    page.go("/s/s1/monitors?at=1");
    page.wait_for("return document.querySelector('.ways h3 .name')?.title", &json!(heading));
    // Sites and classes are two tables of one view.
    page.go("/s/s1/sites");
    page.after(|page| {
        page.run("document.querySelector('.switch a:not([aria-current])').click()");
    });
    assert_eq!(page.address(), "/s/s1/classes");
    let current = "return document.querySelector('#tabs [aria-current]').textContent";
    page.wait_for(current, &json!("Allocations"));
    page.assert_silent();
}

#[test]
fn rows_of_few_samples_are_shown_when_they_are_asked_for() {
    let Some(page) = Page::open(&[&testdata("collapsed/signatures.collapsed")]) else { return };
    let summary = "return document.querySelector('.more summary').innerText";
    page.wait_for(summary, &json!("4 more rows of fewer than 20 samples each"));
    let seen = "return [...document.querySelectorAll('.limits tr')].filter((it) => it.checkVisibility()).length";
    page.wait_for(seen, &json!(3));
    page.run("document.querySelector('.more summary').focus()");
    page.browser.keys(crate::ENTER);
    page.wait_for(seen, &json!(7));
}
