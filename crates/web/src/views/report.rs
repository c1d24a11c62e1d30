//! The views of a profile: tables, the overview, and the document of `perk report --json`.

use std::sync::Arc;

use perk_formats::fields_page;
use perk_render::{Excerpt, Json};
use perk_report::{
    Answer, NamedItem, ProfileRequest, ProfileView, Selection, SourcePart, TreeOrder, View, Want,
    parse,
};

use crate::app::App;
use crate::fault::Fault;
use crate::question::{OF_EXCERPT, OF_PART, Question};
use crate::reply::{JSON, Reply};
use crate::sources::Source;

/// The parameters of views of a profile.
const KNOWN: [&str; 9] =
    ["view", "metric", "method", "field", "tree", "top", "min", "whole", "version"];

/// The most rows of a table that is kept for sorting and scrolling.
const MOST_ROWS: usize = 200_000;

/// The part of a source's profile that a question is about.
fn selection(app: &App, source: &Source, question: &Question) -> Result<Arc<Selection>, Fault> {
    let (selection, is_part) = whole_or_part(app, source, question)?;
    let request = part(question)?;
    let is_whole = request.window.is_whole() && request.filter.is_empty() && request.by.is_none();
    if is_part || is_whole {
        return Ok(selection);
    }
    let key = format!("{} {} {}", source.id, source.version, question.key_of(&OF_PART));
    app.parts.get(&key, || Ok(selection.part(&request)?))
}

/// The whole profile of a source; or, where callers are inferred with all that the file has and the question is
/// about other ones, the part that it is about, and that it is one.
pub(crate) fn whole_or_part(
    app: &App,
    source: &Source,
    question: &Question,
) -> Result<(Arc<Selection>, bool), Fault> {
    let whole = app.profile(source)?;
    let request = part(question)?;
    if !whole.is_inferred() || request.window.is_whole() && request.infers_callers {
        return Ok((whole, false));
    }
    let key = format!("{} {} {}", source.id, source.version, question.key_of(&OF_PART));
    let part = app.parts.get(&key, || {
        let input = app.input(source)?;
        Ok(request.select(NamedItem::new(whole.name(), input))?)
    })?;
    Ok((part, true))
}

/// The request for a part of a profile.
fn part(question: &Question) -> Result<ProfileRequest, Fault> {
    Ok(ProfileRequest {
        window: question.window()?,
        filter: question.filter()?,
        by: question.text("by").map(str::to_owned),
        infers_callers: !question.is_set("no-infer"),
        ..ProfileRequest::default()
    })
}

/// The view of that name; `None` for the whole document or the overview.
fn view(question: &Question) -> Result<Option<ProfileView>, Fault> {
    let name = |parameter: &str| {
        let name = question.value(parameter, parse::name_pattern)?;
        name.ok_or_else(|| Fault::question(format!("name the {parameter}: {parameter}=bar")))
    };
    Ok(Some(match question.text("view").unwrap_or("document") {
        "document" | "summary" => return Ok(None),
        "advice" => ProfileView::Advice,
        "methods" => ProfileView::Methods,
        "threads" => ProfileView::Threads,
        "lines" => ProfileView::Lines,
        "tree" => ProfileView::Tree(match question.text("tree").unwrap_or("top-down") {
            "top-down" => TreeOrder::TopDown,
            "bottom-up" => TreeOrder::BottomUp,
            other => {
                return Err(Fault::question(format!("tree {other}: use top-down or bottom-up")));
            }
        }),
        "edges" => ProfileView::Edges,
        "method" => ProfileView::Callers(name("method")?),
        "field" => ProfileView::Field(name("field")?),
        "label" => match question.text("by") {
            Some(key) => ProfileView::Label(key.to_owned()),
            None => return Err(Fault::question("name the label: by=request")),
        },
        "sites" => ProfileView::Sites,
        "classes" => ProfileView::Classes,
        "monitors" => ProfileView::Monitors,
        "locks" => ProfileView::Locks,
        "holders" => ProfileView::Holders,
        "states" => ProfileView::States,
        "source" => ProfileView::Source,
        other => {
            return Err(Fault::nothing(format!(
                "no view {other}: there are summary, document, advice, methods, threads, lines, tree, edges, \
                 method, field, label, sites, classes, monitors, locks, holders, states and source"
            )));
        }
    }))
}

/// What a question asks of a profile.
fn request(app: &App, question: &Question) -> Result<ProfileRequest, Fault> {
    question.check(&[&KNOWN, &OF_PART, &OF_EXCERPT])?;
    let view = view(question)?;
    let want = match view {
        Some(_) => Want::TABLE,
        None if question.text("view") == Some("summary") => Want::OVERVIEW,
        None => Want::DOCUMENT,
    };
    let sources = match view {
        Some(ProfileView::Source) if app.source_folders.is_empty() => {
            return Err(Fault::nothing("start perk serve with --source to see source files"));
        }
        Some(ProfileView::Source) => app.source_folders.clone(),
        // It names the view if there are folders.
        None if want.overview => app.source_folders.clone(),
        _ => Vec::new(),
    };
    Ok(ProfileRequest {
        metric: question.text("metric").map(str::to_owned),
        views: view.into_iter().collect(),
        top: question.number("top")?,
        most_rows: MOST_ROWS,
        min_percent: question.value("min", parse::share)?.unwrap_or(0.5),
        sources,
        whole_sources: question.is_set("whole"),
        want,
        ..part(question)?
    })
}

/// The answer of a question.
pub(crate) fn answer(
    app: &App,
    source: &Source,
    question: &Question,
) -> Result<Arc<Answer>, Fault> {
    let request = request(app, question)?;
    let key = format!("report {} {} {}", source.id, source.version, question.key(&OF_EXCERPT));
    app.answers.get(&key, || {
        let selection = selection(app, source, question)?;
        Ok(request.answer(&*selection)?)
    })
}

/// A view of a profile.
pub(crate) fn report(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    let answer = answer(app, source, question)?;
    reply(&answer, source.version, question)
}

/// The source files with the numbers of each line: those that are hot, or one file, whole.
pub(crate) fn source(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    let file = question.text("file").map(str::to_owned);
    let mut asked = question.without("file").with("view", "source");
    if let Some(file) = &file {
        asked = asked.with("whole", "1");
        let answer = answer(app, source, &asked)?;
        return reply_of(&answer, source.version, &asked, Some(("path", file)));
    }
    report(app, source, &asked)
}

/// The source files with coverage and numbers; or with `file` the lines and the text of one: what a page of
/// sources has.
pub(crate) fn files(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&["file", "metric", "version"], &OF_PART])?;
    let part = match question.text("file") {
        Some(file) => SourcePart::File(file.to_owned()),
        None => SourcePart::List,
    };
    let key = format!("files {} {} {}", source.id, source.version, question.key(&["version"]));
    let answer = app.answers.get(&key, || {
        let selection = selection(app, source, question)?;
        let request = ProfileRequest {
            metric: question.text("metric").map(str::to_owned),
            sources: app.source_folders.clone(),
            source_part: Some(part),
            want: Want::PAGE,
            ..self::part(question)?
        };
        Ok(request.answer(&*selection)?)
    })?;
    match &answer.page {
        Some(page) => Ok(Reply::of(page.clone(), JSON).version(source.version)),
        None => Err(Fault::nothing(answer.missing.join("; "))),
    }
}

/// The accesses to fields: what a page of fields has.
pub(crate) fn fields(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&["version"], &OF_PART])?;
    let selection = selection(app, source, question)?;
    let mut bytes = Vec::new();
    match fields_page::write_data(selection.profile(), &mut bytes) {
        Ok(()) => Ok(Reply::of(bytes, JSON).version(source.version)),
        Err(error) => Err(Fault::nothing(error.to_string())),
    }
}

/// The document of an answer, or the part of its table that is asked for.
pub(crate) fn reply(answer: &Answer, version: u64, question: &Question) -> Result<Reply, Fault> {
    reply_of(answer, version, question, None)
}

/// The same, with the rows alone that have this text in a column.
fn reply_of(
    answer: &Answer,
    version: u64,
    question: &Question,
    only: Option<(&str, &str)>,
) -> Result<Reply, Fault> {
    let mut bytes = Vec::new();
    if let Some(document) = &answer.document {
        document.write(&mut bytes).map_err(anyhow::Error::from)?;
        return Ok(Reply::of(bytes, JSON).version(version));
    }
    let only = only.map(|(column, text)| (column.to_owned(), text.to_owned()));
    let excerpt = Excerpt { only, ..question.excerpt()? };
    let mut members = vec![("version", Json::from(version))];
    match &answer.table {
        Some(table) => members.extend(table.excerpt(&excerpt).map_err(Fault::question)?),
        None => members.extend([
            ("columns", Json::List(Vec::new())),
            ("rows", Json::List(Vec::new())),
            ("total_rows", 0_u64.into()),
        ]),
    }
    let lines = |lines: &[String]| Json::list(lines.iter().map(String::as_str));
    members.extend([("notes", lines(&answer.notes)), ("missing", lines(&answer.missing))]);
    Json::object(members).write_compact(&mut bytes).map_err(anyhow::Error::from)?;
    Ok(Reply::of(bytes, JSON).version(version))
}
