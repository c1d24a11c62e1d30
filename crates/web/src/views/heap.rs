//! The views of a heap dump, and its objects.

use perk_report::{Answer, HeapRequest, HeapView, NamedItem, View, Want, parse};

use super::report::reply;
use crate::app::App;
use crate::fault::Fault;
use crate::question::{OF_EXCERPT, Question};
use crate::reply::Reply;
use crate::sources::Source;

const KNOWN: [&str; 5] = ["what", "class", "id", "top", "version"];
/// Rows of a tree or a list in a document where nothing says how many.
const ROWS: usize = 1000;
/// The instances of a class in a table, those that retain most.
const INSTANCES: usize = 10_000;

/// The view of that name.
fn view(name: &str, question: &Question) -> Result<HeapView, Fault> {
    let need = |name: &str| Fault::question(format!("name the object or the class: {name}="));
    let what = || question.value("what", parse::what);
    let some = || what()?.ok_or_else(|| need("what"));
    Ok(match name {
        "overview" => HeapView::Overview,
        "classes" => HeapView::Classes,
        "packages" => HeapView::Packages,
        "loaders" => HeapView::Loaders,
        "threads" => HeapView::Threads,
        "sites" => HeapView::Sites,
        "roots" => HeapView::Roots,
        "biggest" => HeapView::Biggest,
        "unreachable" => HeapView::Unreachable { are_kept: false },
        "instances" => {
            let class = question.value("class", parse::class)?;
            HeapView::Instances(class.ok_or_else(|| need("class"))?)
        }
        "tree" => HeapView::Tree(what()?),
        "paths" => HeapView::Paths(some()?),
        "refs-of" => HeapView::ReferencesOf(some()?),
        "refs-to" => HeapView::ReferencesTo(some()?),
        "object" => {
            let address = question.value("id", parse::address)?;
            HeapView::Object(address.ok_or_else(|| need("id"))?)
        }
        other => {
            return Err(Fault::nothing(format!(
                "no view {other} of a heap: there are overview, classes, packages, loaders, threads, sites, roots, \
                 biggest, unreachable, instances, tree, paths, refs-of, refs-to and object"
            )));
        }
    })
}

/// A view of a heap: the document of `perk heap --json`, or with a parameter of tables its table.
pub(crate) fn heap(
    app: &App,
    source: &Source,
    name: &str,
    question: &Question,
) -> Result<Reply, Fault> {
    question.check(&[&KNOWN, &["as"], &OF_EXCERPT])?;
    let is_table = match question.text("as") {
        Some("table") => true,
        Some("json") => false,
        Some(other) => return Err(Fault::question(format!("as {other}: use table or json"))),
        None => OF_EXCERPT.iter().any(|name| question.text(name).is_some()),
    };
    let want = if is_table { Want::TABLE } else { Want::DOCUMENT };
    let view = view(name, question)?;
    let top = question.number("top")?.or((!is_table).then_some(ROWS));
    let key = format!(
        "heap {} {} {name} {}",
        source.id,
        source.version,
        question.key(&["offset", "limit", "sort", "order", "search"])
    );
    let answer = app.answers.get(&format!("{key} {is_table}"), || {
        let heap = app.heap(source)?;
        let request = HeapRequest { view, top, most_rows: Some(INSTANCES), want };
        let mut answer: Answer = request.answer(NamedItem::new(source.label(), &*heap))?;
        answer.notes.extend(heap.notes().iter().map(|note| format!("{}: {note}", source.name)));
        Ok(answer)
    })?;
    reply(&answer, source.version, question)
}
