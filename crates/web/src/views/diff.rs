//! Comparisons: of two sources, or of two parts of one.

use perk_profile::Profile;
use perk_render::{Json, Part};
use perk_report::{DiffRequest, NamedItem, View, Want};

use super::flame::{self, ViewedStacks, document};
use super::report;
use crate::app::App;
use crate::fault::Fault;
use crate::live;
use crate::question::{OF_EXCERPT, OF_PART, Question, SIDES};
use crate::reply::Reply;
use crate::sources::Source;

const KNOWN: [&str; 3] = ["view", "normalize", "top"];
/// The parameters that name the sources, and the part of the time of those that have no begin.
const OF_SOURCES: [&str; 3] = ["before", "after", "last"];

/// A side of a comparison: its source, and the question about it.
fn side(app: &App, question: &Question, name: &str) -> Result<(Source, Question), Fault> {
    let id = question.text(name);
    let id = id.ok_or_else(|| Fault::question(format!("name the source: {name}=s1")))?;
    let source = app.sources.find(id)?;
    if source.file().is_some() && question.text("last").is_some() {
        return Err(Fault::question(format!(
            "last: {} is a file, which has from and to",
            source.name
        )));
    }
    live::resolved(source, question.of_side(name))
}

fn request(question: &Question, want: Want) -> Result<DiffRequest, Fault> {
    Ok(DiffRequest {
        window: question.window()?,
        filter: question.filter()?,
        metric: question.text("metric").map(str::to_owned),
        top: question.number("top")?,
        normalizes: question.is_set("normalize"),
        limits: Vec::new(),
        want,
    })
}

/// The profile of a side, as it is in its file: without inferred callers.
fn profile(app: &App, source: &Source) -> Result<Profile, Fault> {
    let whole = app.profile(source)?;
    match whole.is_inferred() {
        true => Ok(app.input(source)?.profile),
        false => Ok(whole.profile().clone()),
    }
}

/// How sentences name the sides: by their files; and parts of one file by what selects them.
fn names(sides: &[(Source, Question); 2], question: &Question) -> [String; 2] {
    let [(before, _), (after, _)] = sides;
    if before.name != after.name {
        return [before, after].map(|source| source.name.clone());
    }
    if before.label() != after.label() {
        return [before, after].map(Source::label);
    }
    ["before", "after"].map(|side| match question.part_of_side(side) {
        part if part.is_empty() => format!("all of {}", before.name),
        part => part,
    })
}

/// What changed: the document of `perk diff --json`, its table, or its first sentences.
pub(crate) fn diff(app: &App, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&OF_SOURCES, &KNOWN, &["metric"], &OF_PART, &SIDES, &OF_EXCERPT])?;
    let view = question.text("view").unwrap_or("document");
    let want = match view {
        "document" => Want::DOCUMENT,
        "table" => Want::TABLE,
        "summary" => Want::TEXT,
        other => {
            return Err(Fault::nothing(format!(
                "no view {other}: there are document, table and summary"
            )));
        }
    };
    let sides = [side(app, question, "before")?, side(app, question, "after")?];
    let versions = sides.each_ref().map(|(source, _)| source.version);
    let ids = sides.each_ref().map(|(source, _)| &*source.id);
    let key = format!("diff {ids:?} {versions:?} {}", question.key(&OF_EXCERPT));
    let answer = app.answers.get(&key, || {
        let mut notes = Vec::new();
        let mut selected = Vec::new();
        let names = names(&sides, question);
        for ((source, question), name) in sides.iter().zip(names) {
            // The document has the paths, as that of the command line.
            let name = if view == "summary" { name } else { source.label() };
            let named = NamedItem::new(name, profile(app, source)?);
            selected.push(request(question, want)?.select(named, &mut notes)?);
        }
        let [before, after] = &mut selected[..] else { return Err(Fault::question("two sides")) };
        let mut answer = request(question, want)?.answer([before, after])?;
        answer.notes.splice(0..0, notes);
        Ok(answer)
    })?;
    if view != "summary" {
        return report::reply(&answer, versions[1], question);
    }
    let sentences = answer.sections.iter().flatten().filter_map(|part| match part {
        Part::Sentence(text) | Part::Fact(text) => Some(text.as_str()),
        _ => None,
    });
    let lines = |lines: &[String]| Json::list(lines.iter().map(String::as_str));
    let members = vec![
        ("sentences", Json::list(sentences)),
        ("differs", answer.differs.into()),
        ("notes", lines(&answer.notes)),
    ];
    document(members, versions[1])
}

/// Both profiles as one flame graph: widths are of the second, `before_` numbers of the first.
pub(crate) fn flame(app: &App, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&OF_SOURCES, &flame::KNOWN, &OF_PART, &SIDES])?;
    let sides = [side(app, question, "before")?, side(app, question, "after")?];
    let viewed = sides.iter().map(|(source, question)| ViewedStacks::new(app, source, question));
    let viewed = viewed.collect::<Result<Vec<_>, _>>()?;
    if viewed[0].asked.metric.unit() != viewed[1].asked.metric.unit() {
        return Err(Fault::question("choose a metric that both profiles have (metric=samples)"));
    }
    let mut members =
        vec![("versions", Json::list(sides.iter().map(|(source, _)| source.version)))];
    members.extend(flame::members(app, &viewed, question)?);
    document(members, sides[1].0.version)
}
