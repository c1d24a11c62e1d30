//! The faults of a query, each in one line with its place.

use anyhow::anyhow;
use datafusion::error::DataFusionError;

/// What stands before the text of a fault, and says nothing.
const PREFIXES: [&str; 8] = [
    "SQL error: ",
    "Error during planning: ",
    "Schema error: ",
    "Execution error: ",
    "Arrow error: ",
    "External error: ",
    "This feature is not implemented: ",
    "TokenizerError(",
];
/// What perk says in the place of words of DataFusion.
const WORDS: [(&str, &str); 9] = [
    (
        "Resources exhausted: ",
        "the query needs more memory than it may take, and --memory allows more: ",
    ),
    (
        "Not enough memory to continue external sort. ",
        "the query needs more memory to sort than it may take, and --memory allows more. ",
    ),
    ("DML not supported: COPY", "COPY writes a file, which --write allows"),
    ("DML not supported: ", "perk changes no table; not supported: "),
    ("DDL not supported: ", "the tables are those of the inputs; not supported: "),
    ("Statement not supported: ", "only queries are supported, and not: "),
    ("RecursionLimitExceeded", "the query has too many parts inside each other"),
    ("No SQL statements were provided", "there is no query"),
    (
        "The context currently only supports a single SQL statement",
        "the query has several statements: ask one after the other",
    ),
];
/// The longest text of a fault, in characters.
const LONGEST: usize = 500;

/// The fault of a query: what is wrong, and in which line and column if that is known.
pub(super) fn fault(query: &str, error: &DataFusionError) -> anyhow::Error {
    let place =
        error.diagnostic().and_then(|it| it.span).map(|it| (it.start.line, it.start.column));
    let text = error.find_root().strip_backtrace();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = text.as_str();
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest;
    }
    // The parser has its text in the notation of Rust.
    let text = text.strip_prefix("ParserError(").unwrap_or(text);
    let quoted = text.strip_prefix('"').and_then(|it| it.strip_suffix("\")"));
    let text = quoted.unwrap_or(text).replace("\\\"", "\"").replace("datafusion.public.", "");
    let words = WORDS.iter().find_map(|&(theirs, ours)| Some((text.strip_prefix(theirs)?, ours)));
    let mut text = match words {
        Some((rest, ours)) => format!("{ours}{rest}"),
        None if text.ends_with("found: EOF") => format!("{text}: the query ends too soon"),
        None => text,
    };
    let unknown = text.strip_prefix("No field named ").and_then(|it| it.split('.').next());
    if unknown.is_some_and(|name| query.contains(&format!("\"{name}\""))) {
        text.push_str(" Text is in single quotes, names in double quotes.");
    }
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    match place {
        Some(_) if text.contains(" at Line: ") => anyhow!("{text}"),
        Some((line, column)) if query.contains('\n') => {
            anyhow!("line {line}, column {column}: {text}")
        }
        Some((_, column)) => anyhow!("column {column}: {text}"),
        None => anyhow!("{text}"),
    }
}
