//! Views that an address alone opens: axe-core finds nothing serious in them, and none is wider than the window.

use std::fs;

use perk_web::Options;
use serde_json::json;

use crate::{Page, testdata};

#[test]
fn views_of_an_address_are_accessible() {
    let Some(axe) = perk_testkit::peer("axe/axe.min.js", "axe") else { return };
    let axe = fs::read_to_string(axe).unwrap();
    let inputs = [
        "hprof/samples-b-cpu.hprof",
        "shared-fields/seed.tsv",
        "jamaica/perk.prof",
        "jfr/jdk17.jfr.gz",
    ];
    let inputs = inputs.map(testdata).to_vec();
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("A.java"),
        "class A {\n  static void main() {\n\n\n    f();\n  }\n}\n",
    )
    .unwrap();
    let source_folders = vec![folder.path().to_owned()];
    let Some(page) = Page::open_with(Options { inputs, source_folders, ..Options::default() })
    else {
        return;
    };
    let views = [
        "/s/s1/method?method=CpuRecursion.main&node=callees.0",
        "/s/s1/compare?before-focus=CpuRecursion.callerA&after-focus=CpuRecursion.callerB&at=0",
        "/s/s1/flame?focus=CpuRecursion.main&group=package",
        "/s/s2/field?at=1",
        "/s/s3/lines?form=files",
        "/s/s3/lines?file=A.java",
        "/s/s4/monitors?at=0",
        "/s/s4/sites?at=0",
        "/s/s4/classes?at=0",
        "/s/s4/threads?at=0",
        "/s/s4/overview",
    ];
    for (width, scheme) in [(1280, "light"), (400, "dark")] {
        page.look(width, scheme, "none");
        for view in views {
            page.go(view);
            page.wait_for("return document.getElementById('fault').textContent", &json!(""));
            let wide = page.run("return document.documentElement.scrollWidth > innerWidth");
            assert_eq!(wide, json!(false), "{view} is wider than {width}");
            page.run(&format!("{axe}\nreturn null"));
            let found = page.run(
                "return axe.run().then((it) => it.violations
                   .filter((one) => ['serious', 'critical'].includes(one.impact))
                   .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3)}`))",
            );
            assert_eq!(found, json!([]), "{view} at {width}, {scheme}");
        }
    }
    // The lists of the filter, too.
    page.go("/s/s1/flame");
    page.browser.keys("+");
    page.wait_for("return document.querySelectorAll('.values button').length > 0", &json!(true));
    page.run(&format!("{axe}\nreturn null"));
    let found = page
        .run("return axe.run('#filter-panel').then((it) => it.violations.map((one) => one.id))");
    assert_eq!(found, json!([]));
}
