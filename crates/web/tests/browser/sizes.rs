//! Windows of all sizes, colours of all kinds, and the keyboard alone.

use std::fs;

use serde_json::{Value, json};

use crate::{DOWN, END, Page, testdata, views};

const TAB: char = '\u{E004}';
const SERIOUS: &str =
    "return axe.run({resultTypes: ['violations'], preload: false}).then((it) => it.violations
    .filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3)}`))";

impl Page {
    /// Shows an address of this file or another, as a link of the page does.
    #[track_caller]
    fn follow(&self, address: &str) {
        if self.address() == address {
            return;
        }
        self.after(|page| page.click_link(address));
    }

    /// A window of this width, in these colours.
    pub(crate) fn look(&self, width: u32, scheme: &str, forced: &str) {
        let parameters =
            json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.browser.devtools("Emulation.setDeviceMetricsOverride", &parameters);
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "forced-colors", "value": forced},
        ]);
        self.browser.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
        // Charts are drawn anew in the frame that follows.
        self.run("return new Promise((ok) => requestAnimationFrame(() => requestAnimationFrame(() => ok(0))))");
    }
}

#[test]
fn every_view_is_accessible_at_any_width_in_any_colours() {
    let Some(axe) = perk_testkit::peer("axe/axe.min.js", "axe") else { return };
    let axe = fs::read_to_string(axe).unwrap();
    let files = [
        "jfr/jdk17.jfr.gz",
        "hprof/all-b-alloc.hprof.gz",
        "hprof/samples-b-cpu.hprof",
        "hprof/times-cpu.txt",
    ];
    let files = files.map(testdata);
    let Some(page) = Page::open(&files.each_ref().map(|it| &**it)) else { return };
    let mut all: Vec<_> = ["/s/s1/overview", "/s/s2/overview", "/s/s4/overview"]
        .into_iter()
        .flat_map(|file| {
            page.go(file);
            views(&page)
        })
        .collect();
    // What is linked beside an object and a class: it, its paths and references, the objects of a class.
    let links = "return [...document.querySelectorAll('#side .links a')].map((it) => it.getAttribute('href'))";
    for place in ["/s/s2/biggest?at=0", "/s/s2/classes?at=0"] {
        page.go(place);
        let links = page.run(links);
        all.extend(links.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()));
    }
    for hidden in ["object", "paths", "refs-of", "refs-to", "instances"] {
        let is_it = |view: &&String| view.contains(&format!("/s2/{hidden}?"));
        assert!(all.iter().any(|view| is_it(&view)), "{hidden}: {all:?}");
    }
    assert!(all.iter().any(|view| view.starts_with("/s/s4/edges")), "{all:?}");
    let others =
        ["/", "/s/s1/methods?at=0&from=0.10s&to=0.50s", "/s/s2/tree?at=1", "/s/s1/flame?with=s3"];
    all.extend(others.map(str::to_owned));
    // Views follow each other in one page, which has the checks once.
    page.run(&format!("{axe}\nreturn null"));
    for view in &all {
        page.look(1280, "light", "none");
        page.follow(view);
        let looks = [
            (1280, "light", "none"),
            (360, "dark", "none"),
            (1280, "dark", "active"),
            (360, "light", "active"),
        ];
        for (width, scheme, forced) in looks {
            page.look(width, scheme, forced);
            let found = page.run(SERIOUS);
            assert_eq!(found, json!([]), "{view} at {width}, {scheme}, {forced}");
        }
        // 640 is 1280 at 200 %.
        for width in [360, 640, 2560] {
            page.look(width, "light", "none");
            let wide = page.run("return document.documentElement.scrollWidth > innerWidth");
            assert_eq!(wide, json!(false), "{view} is wider than {width}");
            let view_height = page.run("return document.getElementById('view').clientHeight");
            assert!(view_height.as_u64() > Some(200), "{view} at {width}: {view_height}");
        }
    }
}

#[test]
fn what_has_the_focus_is_seen_and_everything_is_reached_by_keys() {
    let files = ["jfr/jdk17.jfr.gz", "hprof/all-b-alloc.hprof.gz"].map(testdata);
    let Some(page) = Page::open(&[&files[0], &files[1]]) else { return };
    for view in [
        "/s/s1/flame?from=0.10s&to=0.50s",
        "/s/s1/methods?at=0",
        "/s/s2/tree?at=0",
        "/s/s2/overview",
    ] {
        page.go(view);
        let wanted = page.run(
            "window.all = [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex=\"0\"]')]
               .filter((it) => it.checkVisibility() && it.tabIndex >= 0);
             document.activeElement.blur();
             return all.length",
        );
        let mut reached = 0;
        let mut unseen = Vec::new();
        for _ in 0..wanted.as_u64().unwrap() + 2 {
            page.browser.keys(&TAB.to_string());
            let at = page.run(
                "const it = document.activeElement;
                 const { outlineStyle, outlineWidth, borderStyle } = getComputedStyle(it);
                 const place = all.indexOf(it);
                 if (place >= 0) all[place] = null;
                 return [place >= 0, outlineStyle !== 'none' && outlineWidth !== '0px', it.outerHTML.slice(0, 120)]",
            );
            reached += u64::from(at[0] == true);
            if at[0] == true && at[1] == false {
                unseen.push(at[2].clone());
            }
        }
        // What draws its focus itself: the charts.
        unseen.retain(|it| !it.as_str().unwrap().contains("class=\"chart"));
        assert_eq!(unseen, Vec::<Value>::new(), "{view}");
        let left = page.run("return all.filter(Boolean).map((it) => it.outerHTML.slice(0, 120))");
        assert_eq!((reached, &left), (wanted.as_u64().unwrap(), &json!([])), "{view}");
    }
}

#[test]
fn a_table_of_many_rows_has_few_in_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.collapsed");
    let lines: String = (0..100_000).map(|at| format!("a.B.m{at} {}\n", 1 + at % 7)).collect();
    fs::write(&file, lines).unwrap();
    let Some(page) = Page::open(&[&file]) else { return };
    page.go("/s/s1/methods");
    let facts = "const grid = document.querySelector('.grid');
        return [grid.getAttribute('aria-rowcount'), grid.rows.length < 100]";
    page.wait_for(facts, &json!(["100001", true]));
    // Rows that stay in view are not made anew, and no column moves.
    let widths = "return [...document.querySelectorAll('.grid th')].map((it) => it.clientWidth)";
    let before = page.run(widths);
    page.run(
        "window.row = document.querySelector('[aria-rowindex=\"30\"]');
         document.querySelector('.scroll').scrollTop = 700",
    );
    page.wait_for("return document.querySelector('[aria-rowindex=\"60\"]') !== null", &json!(true));
    page.wait_for("return row === document.querySelector('[aria-rowindex=\"30\"]')", &json!(true));
    assert_eq!(page.run(widths), before);
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys(END);
    let last = "return document.querySelector('tr.selected')?.ariaRowIndex";
    page.wait_for(last, &json!("100001"));
    page.wait_for(facts, &json!(["100001", true]));
    // A reader hears the selected row.
    let heard =
        "const active = document.querySelector('.scroll').getAttribute('aria-activedescendant');
        return document.getElementById(active)?.ariaRowIndex";
    page.wait_for(heard, &json!("100001"));
    page.browser.keys(&DOWN.repeat(2));
    page.wait_for(last, &json!("100001"));
    page.assert_silent();
}
