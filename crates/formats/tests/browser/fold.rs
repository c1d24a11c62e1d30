//! The page starts at the program's own code, and says first what limits the program.

use perk_formats::{Lead, LeadRow, View, collapsed, flamegraph};
use perk_profile::{
    Column, Event, Key, MethodId, Metric, NamePattern, Profile, Section, SectionHead, Subject,
    WallState,
};
use serde_json::json;

use super::BrowserPage;

/// 100 samples, 90 of them in the program's own code, below two ways of a server; and 10 s of wall-clock
/// time, of which a worker waits 8 s for work.
fn served() -> Profile {
    let text = "java.lang.Thread.run;org.apache.tomcat.Worker.run;com.acme.Shop.list 40\n\
        java.lang.Thread.run;org.apache.catalina.Filter.filter;com.acme.Shop.list 20\n\
        java.lang.Thread.run;org.apache.tomcat.Worker.run;com.acme.Shop.list;java.util.Map.get 30\n\
        java.lang.Thread.run;org.apache.tomcat.Poller.run 10\n\
        java.lang.Thread.run;java.util.concurrent.ThreadPoolExecutor.runWorker;\
        java.util.concurrent.ThreadPoolExecutor.getTask;\
        java.util.concurrent.LinkedBlockingQueue.take;jdk.internal.misc.Unsafe.park 1\n";
    let mut profile = collapsed::read(text.as_bytes()).unwrap();
    profile.app = vec![NamePattern::new("com.acme.*").unwrap()];
    let rows = Metric::Samples.rows(&profile).by_trace();
    let inner = |trace| {
        let frame = profile.frames(trace).next().unwrap();
        profile.symbols.method_name(profile.symbols.get_frame(frame).method)
    };
    let trace = |name: &str| rows.iter().map(|row| row.0).find(|&it| inner(it) == name).unwrap();
    let [list, park] = ["com.acme.Shop.list", "jdk.internal.misc.Unsafe.park"].map(trace);
    let key = |trace, state| Key::new(trace, Subject::State(state));
    let rows = [
        (key(list, WallState::Running), [2_000_000_000]),
        (key(park, WallState::Parked), [8_000_000_000]),
    ];
    let head = SectionHead::new([Column::new(Metric::WallTime, 10_000_000_000)]);
    profile.events.push(Event::Section(Section::with_rows(head, rows)));
    profile
}

fn open(profile: &Profile) -> Option<BrowserPage> {
    let is_list = |&id: &MethodId| profile.symbols.method_name(id) == "com.acme.Shop.list";
    let method = (0..profile.symbols.method_count()).map(MethodId::new).find(is_list);
    let row = LeadRow {
        share: "75 %".into(),
        reason: "uses the CPU".into(),
        place: "Shop.list line 7".into(),
        method,
        hint: "ask once".into(),
        metric: Metric::Samples,
    };
    let lead = Lead { summary: "1.0 threads worked.".into(), rows: vec![row], ..Lead::default() };
    let mut html = Vec::new();
    flamegraph::write(&View::new(profile, "shop").with_lead(Some(&lead)), &mut html).unwrap();
    BrowserPage::open_html(&html)
}

/// The names and totals of the first two levels.
const TOP: &str = "const {model} = perk; const rows = [];
    for (let node = 1; node < model.count; node++) {
      if (model.level[node] <= 2) rows.push(`${model.name(node)} ${model.total[node]}`);
    }
    return rows";
const ABOVE: &str = "[above your code]";

/// Whether a frame is in view without scrolling.
fn is_in_view(page: &BrowserPage, name: &str) -> bool {
    let [_, y, width, height] = page.place(name);
    let bottom = page.run(
        "return Math.min(innerHeight, document.getElementById('chart').getBoundingClientRect().bottom)",
    );
    width > 40.0 && y > 0.0 && y + height <= bottom.as_f64().unwrap()
}

#[test]
fn the_graph_starts_at_the_programs_own_code() {
    let Some(page) = open(&served()) else { return };
    let folded = json!([
        "[above your code] 90",
        "com.acme.Shop.list 90",
        "java.lang.Thread.run 11",
        "java.util.concurrent.ThreadPoolExecutor.runWorker 1",
        "org.apache.tomcat.Poller.run 10",
    ]);
    page.wait_for(TOP, &folded);
    assert!(is_in_view(&page, "com.acme.Shop.list"));
    // The numbers do not change by folding.
    let total_of_run = "return [...document.querySelectorAll('#methods tr')]
        .find((row) => row.textContent.includes('Thread.run'))?.children[1].textContent";
    page.wait_for(total_of_run, &json!("100.00 %"));
    page.browser.keys("/Thread.run");
    page.expect_text("found", "100.00 % · 101 of 101 samples · 1 frame name");
    page.run("document.getElementById('reset').click()");
    // The bar opens, and a link keeps it open.
    page.click(ABOVE);
    page.expect_hash("#o=a");
    page.wait_for(
        "const {model} = perk; return [model.name(1), model.total[1]]",
        &json!(["java.lang.Thread.run", 101]),
    );
    page.run("location.reload()");
    page.wait_for("return typeof perk === 'object' && perk.find('[above your code]')", &json!(-1));
    page.wait_for(total_of_run, &json!("100.00 %"));
    page.browser.keys("o");
    page.expect_hash("");
    page.wait_for(TOP, &folded);
    // A zoom is kept, whatever is folded.
    page.click("com.acme.Shop.list");
    let zoomed = page.hash();
    page.run("location.reload()");
    page.wait_for(
        "return typeof perk === 'object' && perk.model.name(perk.chart.zoom)",
        &json!("com.acme.Shop.list"),
    );
    assert_eq!(page.hash(), zoomed);
    assert!(page.browser.log("browser").is_empty());
}

#[test]
fn idle_threads_are_one_bar() {
    let Some(page) = open(&served()) else { return };
    page.run("location.hash = '#v=wall'; location.reload()");
    let folded = json!([
        "[above your code] 2000000000",
        "com.acme.Shop.list 2000000000",
        "[idle threads] 8000000000",
    ]);
    page.wait_for(&format!("if (typeof perk !== 'object') return 0; {TOP}"), &folded);
    assert_eq!(page.run("return perk.model.total[0]"), json!(10_000_000_000_u64));
    let legend = page.text("legend");
    assert!(legend.contains("[parked] 80.00 %"), "{legend}");
    page.click("[idle threads]");
    page.expect_hash("#v=wall&o=i");
    page.wait_for(
        "return perk.model.total[perk.find('jdk.internal.misc.Unsafe.park')]",
        &json!(8_000_000_000_u64),
    );
    assert_eq!(page.run("return perk.model.total[0]"), json!(10_000_000_000_u64));
}

#[test]
fn what_limits_the_program_leads_to_its_methods() {
    let Some(page) = open(&served()) else { return };
    page.wait_for("return document.querySelectorAll('#limits li').length", &json!(1));
    let limits = page.text("limits");
    assert!(
        limits.contains("uses the CPU: Shop.list line 7") && limits.contains("75 %"),
        "{limits}"
    );
    page.run("document.querySelector('#limits li button').click()");
    page.wait_for(
        "return document.querySelector('.method-head .method')?.textContent",
        &json!("list"),
    );
    assert_eq!(page.focused(), "com.acme.Shop.list");
    // On a phone a line leads to the list, and the first frame of the program is in view.
    page.narrow(400);
    page.wait_for("return typeof perk === 'object' && perk.chart.width < 400", &json!(true));
    assert!(is_in_view(&page, "com.acme.Shop.list"));
    page.expect_text("begin", "Where to begin: 75 % uses the CPU: Shop.list line 7");
    page.run("document.getElementById('begin').click()");
    page.wait_for("return document.querySelectorAll('#limits li').length", &json!(1));
    page.wait_for("return document.getElementById('begin').hidden", &json!(true));
    assert!(page.browser.log("browser").is_empty());
}
