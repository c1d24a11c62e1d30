//! Downloads: the table or the document of a view, or the filtered profile in another format.

use std::time::UNIX_EPOCH;

use perk_profile::Timestamp;
use perk_report::Conversion;

use super::report;
use crate::app::App;
use crate::fault::Fault;
use crate::question::{OF_EXCERPT, OF_PART, Question};
use crate::reply::{JSON, Reply};
use crate::sources::Source;

/// What the file of a view is called before its ending.
const NAME: &str = "perk";

/// The file of a question in the form that it names.
pub(crate) fn export(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    let form = question.text("as");
    let form = form
        .ok_or_else(|| Fault::question("name the format: as=csv, json or one of perk formats"))?;
    let reply = match form {
        "csv" | "json" => of_view(app, source, &question.without("as"), form)?,
        other => in_format(app, source, question, other)?,
    };
    Ok(reply.version(source.version))
}

/// The table or the document of a view of the profile.
fn of_view(app: &App, source: &Source, question: &Question, form: &str) -> Result<Reply, Fault> {
    let view = question.text("view").unwrap_or("document");
    let is_document = ["document", "summary"].contains(&view);
    let question = match form {
        "csv" if is_document => question.with("view", "methods"),
        "json" if !is_document => question.with("view", "document"),
        _ => question.clone(),
    };
    let answer = report::answer(app, source, &question)?;
    let mut bytes = Vec::new();
    match (&answer.table, &answer.document) {
        (Some(table), _) => table.csv(&mut bytes).map_err(anyhow::Error::from)?,
        (None, Some(document)) => document.write(&mut bytes).map_err(anyhow::Error::from)?,
        (None, None) => return Err(Fault::nothing(answer.missing.join("; "))),
    }
    let mime = if form == "csv" { "text/csv; charset=utf-8" } else { JSON };
    let name = question.text("view").unwrap_or("profile");
    Ok(Reply::of(bytes, mime).file(format!("{NAME}-{name}.{form}")))
}

/// The part of the profile that a question is about in a format that perk writes.
fn in_format(app: &App, source: &Source, question: &Question, name: &str) -> Result<Reply, Fault> {
    question.check(&[&["as", "metric", "view", "threads", "version"], &OF_PART, &OF_EXCERPT])?;
    let format = perk_formats::by_name(name).filter(|format| format.is_written());
    let format = format.ok_or_else(|| {
        Fault::question(format!("as {name}: perk writes no such format (`perk formats`)"))
    })?;
    let whole = app.profile(source)?;
    // As perk convert: callers are not inferred.
    let profile = match whole.is_inferred() {
        true => app.input(source)?.profile,
        false => whole.profile().clone(),
    };
    let modified = source.file().and_then(|it| std::fs::metadata(&it.path).ok()?.modified().ok());
    let modified = modified.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let conversion = Conversion {
        format,
        window: question.window()?,
        filter: &question.filter()?,
        // Several files are served, and one may have none of these.
        app: &[],
        by: question.text("by"),
        metric: question.text("metric").filter(|_| format.has_one_metric()),
        threads: question.is_set("threads"),
        date: modified.and_then(|date| {
            Some(Timestamp { unix_ms: u64::try_from(date.as_millis()).ok()?, utc_offset_s: 0 })
        }),
    };
    let converted = conversion.apply(profile, whole.name(), &mut Vec::new())?;
    let mut bytes = Vec::new();
    format.write_view(&converted.view(), &mut bytes).map_err(anyhow::Error::from)?;
    let file = format!("{NAME}-profile.{}", format.ending());
    Ok(Reply::of(bytes, "application/octet-stream").file(file))
}
