//! The counted calls of methods, beside samples.

use perk_profile::{Metric, Profile, Section, TraceId};

use super::BrowserPage;

/// 5 samples of `T.leaf` below `T.main`, and calls that were counted: 40 of `T.leaf` by `T.main`, 10 of which are an
/// estimate, and 2 by `T.other`, which no sample met.
fn counted() -> Profile {
    let mut profile = perk_hprof::read(
        include_bytes!("../../../../testdata/hprof/samples-and-calls.txt").as_slice(),
    )
    .unwrap();
    let leaf = |profile: &Profile, trace: TraceId| profile.frames(trace).count() == 2;
    let rows = Metric::Calls.rows(&profile).rows;
    let trace = rows.iter().find(|row| row.1 == 40 && leaf(&profile, row.0.trace)).unwrap().0.trace;
    profile.events.push(Section::of(Metric::EstimatedCalls, 10, [(trace, 10)]).into());
    profile
}

#[test]
fn the_tooltip_has_the_counted_calls() {
    let Some(page) = BrowserPage::open(&counted()) else { return };
    let tip = |name: &str| {
        let (x, y) = page.point(name);
        page.browser.move_to(x, y);
        page.text("tip").lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(tip("T.leaf"), "42 calls counted, about 40 of them by the caller");
    assert_eq!(tip("T.main"), "1 call counted");
    // The line below the graph has the same.
    page.click("T.leaf");
    let detail = page.text("detail");
    assert!(detail.contains("42 calls counted, about 40 of them by the caller"), "{detail}");
}
