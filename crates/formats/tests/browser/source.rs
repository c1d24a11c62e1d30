//! The page of annotated sources.

use perk_analysis::source::{AnnotatedFile, LineCounts, SourceFile, SourceLine, SourceText};
use perk_formats::source_page::SourcePage;
use serde_json::json;

use crate::BrowserPage;

fn line(line: u32, own: u64, [executions, instructions, run]: [u64; 3]) -> SourceLine {
    SourceLine { line, own, total: own + 1, counts: LineCounts { executions, instructions, run } }
}

fn annotated(path: &str, text: &str, lines: Vec<SourceLine>) -> AnnotatedFile {
    let own = lines.iter().map(|it| it.own).sum();
    let file = SourceFile { own, method_count: 2, methods_run: 1, lines, ..SourceFile::default() };
    AnnotatedFile { file, path: path.to_owned(), text: SourceText::new(text.as_bytes()) }
}

fn open(has_coverage: bool) -> Option<BrowserPage> {
    let code = "class A {\n\tf(\"<b>\"); // {{data}}\n  g();\n}\n";
    let covered = vec![line(2, 6000, [3000, 2, 2]), line(3, 0, [0, 5, 0]), line(4, 1, [1, 4, 3])];
    let files = [
        annotated("src/A B:1.java", code, covered),
        annotated("src/C.java", "x\n", vec![line(1, 4000, [1, 1, 1]), line(7, 1, [1, 1, 1])]),
    ];
    let page = SourcePage {
        title: "a <b> & {{title}}",
        metric: "bytecodes".to_owned(),
        facts: &["2 files".to_owned(), "</script>".to_owned()],
        files: &files,
        total: 10_002,
        hottest: 6000,
        amount: Box::new(|number| number.to_string()),
        has_totals: !has_coverage,
        has_coverage,
    };
    let mut html = Vec::new();
    page.write(&mut html).unwrap();
    BrowserPage::open_html(&html)
}

/// The cells of all rows.
const CELLS: &str = "return [...document.querySelectorAll('#body tr')].map((row) =>
    [...row.children].map((cell) => cell.textContent).join('|'))";

#[test]
fn the_files_sort_and_lead_to_their_lines() {
    let Some(page) = open(true) else { return };
    assert_eq!(
        page.run(CELLS),
        json!([
            "60.00|6,001|66.67||2|1|1|1 of 2|src/A B:1.java",
            "40.00|4,001|100.00||2|0|0|1 of 2|src/C.java",
        ])
    );
    page.expect_text("facts", "2 files\n\n</script>");
    let widths = "return [...document.querySelectorAll('.meter i')].map((it) => it.style.width)";
    assert_eq!(page.run(widths), json!(["33.3333%", "33.3333%", "33.3333%", "100%", "0%", "0%"]));
    page.run("document.querySelectorAll('th button')[2].click()");
    let first = "return document.querySelector('#body a').textContent";
    assert_eq!(page.run(first), "src/C.java");
    page.run(
        "const it = document.getElementById('search');
         it.value = 'a b'; it.dispatchEvent(new Event('input'))",
    );
    page.expect_text("found", "1 of 2 files");
    page.run("document.querySelector('#body a').click()");
    let lines = json!([
        "||||1|class A {",
        "59.99|6,000|3,000||2|\tf(\"<b>\"); // {{data}}",
        "||0|all 5|3|  g();",
        "0.01|1|1|1 of 4|4|}",
    ]);
    page.wait_for(CELLS, &lines);
    assert_eq!(
        page.text("place"),
        "src/A B:1.java: 60.00 % of bytecodes, 2 of 3 lines run (66.67 %)"
    );
    let classes =
        page.run("return [...document.querySelectorAll('#body tr')].map((row) => row.className)");
    assert_eq!(classes, json!(["", "whole", "never", "part"]));
    let chosen = "return document.querySelector('.chosen')?.dataset.line ?? ''";
    page.browser.keys("h");
    page.wait_for(chosen, &json!("2"));
    page.browser.keys("h");
    page.wait_for(chosen, &json!("4"));
    page.browser.keys("n");
    page.wait_for(chosen, &json!("3"));
    page.expect_hash("#src%2FA%20B%3A1.java:3");
    page.run("location.reload()");
    page.wait_for(chosen, &json!("3"));
    page.browser.keys("\u{E00C}");
    page.wait_for("return document.querySelectorAll('#body a').length", &json!(2));
    let log = page.browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn a_profile_without_coverage_has_totals() {
    let Some(page) = open(false) else { return };
    assert_eq!(page.run(CELLS), json!(["60.00|6,001|src/A B:1.java", "40.00|4,001|src/C.java"]));
    page.run("document.querySelectorAll('#body a')[1].click()");
    let lines =
        json!(["39.99|4,000|40.00|4,001|1|x", "0.01|1|0.02|2|7|[after the end of the file]"]);
    page.wait_for(CELLS, &lines);
    assert_eq!(page.run("return document.getElementById('never').hidden"), true);
    let place = page.text("place");
    assert!(place.starts_with("src/C.java: 40.00 % of bytecodes. Not the source"), "{place}");
    let log = page.browser.log("browser");
    assert!(log.is_empty(), "{log:?}");
}
