//! The faults of a query, each in one line with its place.

use anyhow::anyhow;
use datafusion::error::DataFusionError;

/// What stands before the text of a fault, and says nothing.
const PREFIXES: [&str; 6] = [
    "SQL error: ",
    "Error during planning: ",
    "Schema error: ",
    "Execution error: ",
    "Arrow error: ",
    "This feature is not implemented: ",
];
/// What perk says in the place of words of DataFusion.
const WORDS: [(&str, &str); 5] = [
    (
        "Resources exhausted: ",
        "the query needs more memory than it may take, and --memory allows more: ",
    ),
    ("DML not supported: COPY", "COPY writes a file, which --write allows"),
    ("DDL not supported: ", "the tables are those of the inputs; not supported: "),
    ("Statement not supported: ", "only queries are supported, and not: "),
    (
        "The context currently only supports a single SQL statement",
        "the query has several statements: ask one after the other",
    ),
];

/// The fault of a query: what is wrong, and in which line and column if that is known.
pub(super) fn fault(query: &str, error: &DataFusionError) -> anyhow::Error {
    let place =
        error.diagnostic().and_then(|it| it.span).map(|it| (it.start.line, it.start.column));
    let text = error.strip_backtrace();
    let mut text = text.lines().next().unwrap_or_default();
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest;
    }
    // The parser has its text in the notation of Rust.
    let parsed = text.strip_prefix("ParserError(\"").and_then(|it| it.strip_suffix("\")"));
    let text = parsed.unwrap_or(text).replace("\\\"", "\"").replace("datafusion.public.", "");
    let words = WORDS.iter().find_map(|&(theirs, ours)| Some((text.strip_prefix(theirs)?, ours)));
    let text = match words {
        Some((rest, ours)) => format!("{ours}{rest}"),
        None if text.ends_with("found: EOF") => format!("{text}: the query ends too soon"),
        None => text,
    };
    match place {
        Some((line, column)) if query.contains('\n') => {
            anyhow!("line {line}, column {column}: {text}")
        }
        Some((_, column)) => anyhow!("column {column}: {text}"),
        None => anyhow!("{text}"),
    }
}
