//! A view that shows another question keeps its place, and shows what the address shows when it is opened.

use serde_json::{Value, json};

use super::{Page, api, testdata};

/// What a reader sees and can do: texts, links, values of fields, and the picture of a graph.
const SEEN: &str = "
document.activeElement.blur();
const nextFrame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
return nextFrame().then(nextFrame).then(() => ({
  texts: [...document.querySelectorAll('#view .bar, #view .crumbs, #view .legend, #view thead, #view tbody')].map((it) => it.innerText),
  sides: document.getElementById('side').hidden ? '' : document.getElementById('side').innerText,
  links: [...document.querySelectorAll('#tabs a, #view a')].map((it) => it.getAttribute('href')),
  fields: [...document.querySelectorAll('header input, header select, #view select')].map((it) => it.value),
  order: [...document.querySelectorAll('#view th')].map((it) => it.ariaSort),
  chips: [...document.querySelectorAll('.chip')].map((it) => it.innerText),
  conditions: document.getElementById('conditions').textContent,
  title: document.title,
  picture: document.querySelector('#view canvas')?.toDataURL() ?? '',
}))";
const MARK: &str = "for (const part of ['#view .chart, #view .scroll', '#tabs a'])
    document.querySelector(part).dataset.mark = 'is the same'";
const MARKED: &str = "return document.querySelector('#view .chart, #view .scroll')?.dataset.mark";
const MARKED_TAB: &str = "return document.querySelector('#tabs a').dataset.mark";

/// Shows the questions of a view one after the other in its place, all at once, and each anew.
#[track_caller]
fn assert_same_in_place(page: &Page, view: &str, questions: &[String]) {
    let addresses: Vec<String> = questions.iter().map(|it| format!("{view}?{it}")).collect();
    let opened: Vec<Value> = addresses
        .iter()
        .map(|address| {
            page.go(address);
            page.run(SEEN)
        })
        .collect();
    for (at, answer) in opened.iter().enumerate() {
        assert!(!opened[..at].contains(answer), "{}: has the answer of another", addresses[at]);
    }
    page.go(view);
    page.run(MARK);
    let assert_is = |address: &str, opened: &Value| {
        let seen = page.run(SEEN);
        for (part, of_opened) in opened.as_object().unwrap() {
            assert_eq!(seen[part], *of_opened, "{address}: {part}");
        }
        assert_eq!(page.run(MARKED), json!("is the same"), "{address}");
    };
    for (at, (address, opened)) in addresses.iter().zip(&opened).enumerate() {
        page.after(|page| page.click_link(address));
        assert_is(address, opened);
        // What is around the view is for all orders, and changes with the part that is shown.
        if at == 0 {
            assert_eq!(page.run(MARKED_TAB), json!("is the same"), "{address}");
        }
    }
    // What is asked last is shown, whatever is answered last.
    let last = addresses.len() - 2;
    page.after(|page| addresses[..=last].iter().for_each(|address| page.click_link(address)));
    assert_is(&addresses[last], &opened[last]);
    page.assert_silent();
}

fn questions(of: &[&str]) -> Vec<String> {
    of.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn a_view_shows_another_question_in_its_place() {
    let files = [testdata("jfr/jdk17.jfr.gz"), testdata("hprof/all-b-alloc.hprof.gz")];
    let Some(page) = Page::open(&files.each_ref().map(|it| it.as_path())) else { return };
    let flame = api(&page, "/api/s1/flame?fold=start");
    let id = |level: u64| {
        let at = flame["level"].as_array().unwrap().iter().position(|it| *it == level).unwrap();
        let name = usize::try_from(flame["frame"][at].as_u64().unwrap()).unwrap();
        flame["ids"][name].to_string()
    };
    let mut of_flame =
        questions(&["tree=bottom-up", "fold=nothing", "group=package", "focus=java.*", "search=a"]);
    of_flame.push(format!("root={}", id(1)));
    of_flame.push(format!("root={}&node={0}.{}", id(1), id(2)));
    assert_same_in_place(&page, "/s/s1/flame", &of_flame);
    assert_same_in_place(
        &page,
        "/s/s1/methods",
        &questions(&[
            "sort=name&order=asc",
            "sort=name&order=desc",
            "search=a",
            "focus=java.*",
            "at=1",
        ]),
    );
    assert_same_in_place(
        &page,
        "/s/s1/tree",
        &questions(&["tree=bottom-up", "at=2", "focus=java.*"]),
    );
    assert_same_in_place(
        &page,
        "/s/s2/classes",
        &questions(&["sort=class&order=asc", "search=String", "at=3", "sort=class&order=desc"]),
    );
}
