//! Who calls whom, by the numbers of any value: for all methods, or for those of a name.

use perk_analysis::columns::{Edge, MethodRow};
use perk_profile::{MethodId, NamePattern};

use super::Content;
use super::numbers::View;
use super::table::{Row, Table};
use crate::show::Screen;

/// Stands for the caller of a thread's first method.
const NO_CALLER: &str = "[thread start, or not known]";

/// Methods and edges of one value.
#[derive(Debug)]
pub(super) struct Callers<'a> {
    view: &'a View<'a>,
    pub(super) methods: Vec<MethodRow>,
    /// By total, descending.
    pub(super) edges: Vec<Edge>,
}

impl<'a> Callers<'a> {
    pub(super) fn new(content: &Content<'_>, view: &'a View<'a>) -> Self {
        Self { view, methods: view.methods(), edges: view.columns().edges(content.tree) }
    }

    /// Who calls whom, most first; empty where nobody does.
    pub(super) fn all(&self, top: usize, screen: &Screen) -> String {
        let edges: Vec<_> = self.edges.iter().take(top).copied().collect();
        if edges.is_empty() {
            return String::new();
        }
        let known = edges.iter().flat_map(|edge| [edge.caller, Some(edge.callee)]);
        let labels = self.view.labels(known.flatten());
        let table = self.table(&edges, "caller → callee", screen, |edge| {
            let caller = edge.caller.map_or(NO_CALLER, |method| &labels[&method]);
            format!("{caller} → {}", labels[&edge.callee])
        });
        let heading = screen.heading(&self.view.title("Top call edges by total"));
        format!("{heading}\n{table}")
    }

    /// The methods that `pattern` means.
    pub(super) fn matching(&self, pattern: &NamePattern) -> Vec<MethodRow> {
        let symbols = &self.view.profile.symbols;
        let is_meant = |row: &&MethodRow| pattern.matches_method(symbols, row.method);
        self.methods.iter().filter(is_meant).copied().collect()
    }

    pub(super) fn callers(&self, method: MethodId) -> Vec<Edge> {
        self.edges.iter().filter(|edge| edge.callee == method).copied().collect()
    }

    pub(super) fn callees(&self, method: MethodId) -> Vec<Edge> {
        self.edges.iter().filter(|edge| edge.caller == Some(method)).copied().collect()
    }

    /// For each method that `pattern` means, at most `top` of them: its numbers, its callers and
    /// its callees. Empty where there is none.
    pub(super) fn butterflies(&self, pattern: &NamePattern, top: usize, screen: &Screen) -> String {
        let rows = self.matching(pattern);
        super::blocks(&rows, top, |row| self.butterfly(row, top, screen))
    }

    fn butterfly(&self, row: &MethodRow, top: usize, screen: &Screen) -> String {
        let mut callers = self.callers(row.method);
        let mut callees = self.callees(row.method);
        callers.truncate(top);
        callees.truncate(top);
        let known = callers.iter().chain(&callees);
        let known = known.flat_map(|edge| [edge.caller, Some(edge.callee)]).flatten();
        let labels = self.view.labels(known.chain([row.method]));
        let heading = format!(
            "{}: self {}, total {}",
            labels[&row.method],
            self.view.amount(row.own),
            self.view.amount(row.total)
        );
        let mut text = screen.heading(&heading) + "\n";
        text += &self.table(&callers, "caller", screen, |edge| {
            edge.caller.map_or(NO_CALLER, |method| &labels[&method]).to_owned()
        });
        if !callees.is_empty() {
            text += &self.table(&callees, "callee", screen, |edge| labels[&edge.callee].clone());
        }
        text
    }

    fn table(
        &self,
        edges: &[Edge],
        title: &'static str,
        screen: &Screen,
        name: impl Fn(&Edge) -> String,
    ) -> String {
        let view = self.view;
        let rows = edges.iter().map(|edge| Row {
            cells: vec![
                view.percent(edge.total),
                view.number(edge.total),
                view.number(edge.own),
                name(edge),
            ],
            below: Vec::new(),
        });
        Table { titles: vec!["total %", "total", "self", title], rows: rows.collect() }
            .render(screen)
    }
}
