//! The shell: queries line by line, with history and completion.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use perk_tables::{ColumnInfo, TableInfo};
use reedline::{
    ColumnarMenu, Completer, CompletionResult, Emacs, FileBackedHistory, KeyCode, KeyModifiers,
    MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent,
    ReedlineMenu, Signal, Span, Suggestion, ValidationResult, Validator, default_emacs_keybindings,
};
use tokio::runtime::Runtime;

use super::fault::fault;
use super::output::Form;
use super::{SqlSession, check};
use crate::talk::say;

/// The lines that are remembered.
const HISTORY_LINES: usize = 10_000;
const MENU: &str = "names";
const HELP: &str = "\
\\d          list the tables
\\d TABLE    list the columns of a table
\\q          leave (also exit and Ctrl-D)
A query ends with ; and can have several lines. Ctrl-C cancels it.";
/// What queries are made of besides tables and columns.
const WORDS: [&str; 28] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "JOIN",
    "USING",
    "DESC",
    "AND",
    "OR",
    "NOT",
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "stack_contains",
    "frames",
    "leaf",
    "root",
    "owner",
    "field",
    "text",
    "hex",
    "address",
    "WITH",
    "HAVING",
];

/// Reads and runs queries until the end of the input.
pub(super) fn run(asked: &SqlSession, runtime: &Runtime) -> anyhow::Result<ExitCode> {
    let mut line_editor = editor(&asked.tables)?;
    show("\\d lists the tables, \\? the commands. A query ends with ;");
    loop {
        match line_editor.read_line(&SqlPrompt)? {
            Signal::Success(text) => {
                let text = text.trim();
                match text.trim_end_matches(';').split_whitespace().collect::<Vec<_>>()[..] {
                    [] => {}
                    ["\\q" | "quit" | "exit"] => return Ok(ExitCode::SUCCESS),
                    ["\\?" | "help"] => show(HELP),
                    ["\\d"] => list_tables(&asked.tables),
                    ["\\d", name] => list_columns(asked, runtime, name),
                    _ if text.starts_with('\\') => {
                        say(format_args!("{text} is no command: \\? lists them"))
                    }
                    _ => runtime.block_on(answer(asked, text)),
                }
            }
            Signal::CtrlD => return Ok(ExitCode::SUCCESS),
            _ => {}
        }
    }
}

/// Prints lines. Nobody may be listening: that is no error.
fn show(lines: &str) {
    let _ = writeln!(io::stdout(), "{lines}");
}

/// Runs a query until its end or Ctrl-C.
async fn answer(asked: &SqlSession, text: &str) {
    let answered = match check(text) {
        Ok(()) => asked.run(text, Form::Text, None).await,
        Err(error) => Err(error),
    };
    if let Err(error) = answered {
        say(format_args!("{error:#}"));
    }
}

fn list_tables(tables: &[TableInfo]) {
    let width = tables.iter().map(|it| it.name.len()).max().unwrap_or(0);
    for TableInfo { name, about, .. } in tables {
        show(&format!("{name:<width$}  {about}"));
    }
}

fn list_columns(asked: &SqlSession, runtime: &Runtime, name: &str) {
    let name = name.trim_matches('"');
    let is_meant = |it: &&TableInfo| it.name.split('(').next() == Some(name);
    let Some(table) = asked.tables.iter().find(is_meant) else {
        say(format_args!("no table {name}: \\d lists them"));
        return;
    };
    for ColumnInfo { name, kind, about } in &table.columns {
        show(&format!("{name:<16}  {kind:<13}  {about}"));
    }
    // The columns of a view are those of its query.
    if table.columns.is_empty() {
        match runtime.block_on(asked.context.table(&*table.name)) {
            Ok(view) => view.schema().fields().iter().for_each(|it| show(it.name())),
            Err(error) => say(format_args!("{}", fault(name, &error))),
        }
    }
}

fn editor(tables: &[TableInfo]) -> anyhow::Result<Reedline> {
    let mut keys = default_emacs_keybindings();
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(vec![
            ReedlineEvent::Menu(MENU.to_owned()),
            ReedlineEvent::MenuNext,
        ]),
    );
    let menu = ReedlineMenu::EngineCompleter(Box::new(ColumnarMenu::default().with_name(MENU)));
    let editor = Reedline::create()
        .with_completer(Box::new(Names::new(tables)))
        .with_menu(menu)
        .with_validator(Box::new(Ends))
        .with_edit_mode(Box::new(Emacs::new(keys)));
    // Without a folder for it there is no history, and no fault.
    let history = history().and_then(|path| FileBackedHistory::with_file(HISTORY_LINES, path).ok());
    Ok(match history {
        Some(history) => editor.with_history(Box::new(history)),
        None => editor,
    })
}

fn history() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    let folder = state.or_else(home)?.join("perk");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join("sql_history"))
}

/// A query ends with `;`, a command with its line.
struct Ends;

impl Validator for Ends {
    fn validate(&self, text: &str) -> ValidationResult {
        let text = text.trim();
        let is_word = matches!(text, "" | "quit" | "exit" | "help");
        match is_word || text.starts_with('\\') || text.ends_with(';') {
            true => ValidationResult::Complete,
            false => ValidationResult::Incomplete,
        }
    }
}

/// Completes the names of tables, columns and functions, and words of SQL.
struct Names(Vec<String>);

impl Names {
    fn new(tables: &[TableInfo]) -> Self {
        let mut names: Vec<String> = WORDS.map(str::to_owned).to_vec();
        for table in tables {
            names.extend(table.name.split('(').next().map(str::to_owned));
            names.extend(table.columns.iter().map(|it| it.name.to_string()));
        }
        names.sort();
        names.dedup();
        Self(names)
    }
}

impl Completer for Names {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let before = &line[..position];
        // The names of tables of events have dots; other dots separate a table and its column.
        let found = |dots: &str| {
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || dots.contains(c);
            let start = before.rfind(|c| !is_part(c)).map_or(0, |at| at + 1);
            let word = before[start..].to_lowercase();
            let span = Span::new(start, position);
            let fitting = self.0.iter().filter(|it| it.to_lowercase().starts_with(&word));
            let suggestion = |it: &String| Suggestion {
                value: it.clone(),
                span,
                append_whitespace: true,
                ..Suggestion::default()
            };
            if word.is_empty() { Vec::new() } else { fitting.map(suggestion).collect() }
        };
        let suggestions = Some(found(".")).filter(|it| !it.is_empty()).unwrap_or_else(|| found(""));
        CompletionResult::fresh(suggestions)
    }
}

struct SqlPrompt;

impl Prompt for SqlPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        "perk".into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "    > ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        format!("(search: {}) ", search.term).into()
    }
}
