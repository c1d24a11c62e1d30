//! The accesses to fields.

use serde_json::json;

use crate::{DOWN, ENTER, Page, api, place, testdata};

#[test]
fn fields_have_advice_and_lead_to_their_sites() {
    let Some(page) = Page::open(&[&testdata("shared-fields/seed.tsv")]) else { return };
    page.go("/s/s1/field");
    let table = api(&page, "/api/s1/report?view=methods&limit=10000");
    let count = table["total_rows"].as_u64().unwrap();
    page.wait_for(
        "return document.querySelector('.bar output').textContent",
        &json!(format!("{count} of {count} fields")),
    );
    // Each row has the numbers of the table of the command line.
    let cells = "return [...document.querySelectorAll('.grid tbody tr:not(.space)')].map((row) => [...row.cells].map((it) => it.querySelector('.name')?.title ?? it.textContent))";
    let shown = page.run(cells);
    for row in table["rows"].as_array().unwrap() {
        let of = |id: &str| &row[place(&table, id)];
        let [class, field, objects] = ["class", "field", "object_count"].map(of);
        let numbers =
            ["owner_read_count", "other_read_count", "owner_write_count", "other_write_count"];
        let expected: Vec<_> = numbers.iter().map(|id| json!(of(id).to_string())).collect();
        let is_it = |cells: &&serde_json::Value| {
            cells[1] == *class && cells[2].as_str().unwrap().ends_with(field.as_str().unwrap())
        };
        let cells = shown.as_array().unwrap().iter().find(is_it);
        let cells = cells.unwrap_or_else(|| panic!("{class} {field}: {shown}"));
        assert_eq!(cells[3], json!(objects.to_string()), "{cells}");
        assert_eq!(cells.as_array().unwrap()[8..12], expected[..], "{cells}");
    }
    page.run("document.querySelector('.scroll').focus()");
    page.browser.keys(DOWN);
    page.wait_for("return location.search", &json!("?at=0"));
    let name = page.text("return document.querySelector('#side h2 .name').title");
    page.go("/s/s1/field?at=0");
    page.wait_for("return document.querySelector('#side h2 .name')?.title", &json!(name));
    page.run("document.querySelector('.scroll').focus()");
    page.after(|page| page.browser.keys(ENTER));
    assert!(page.address().starts_with("/s/s1/field?field="), "{}", page.address());
    page.wait_for("return document.querySelector('.grid').rows.length > 1", &json!(true));
    page.assert_silent();
}
