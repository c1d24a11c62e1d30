//! Names of events and their fields in queries, as recordings have them: without quotes.

use std::collections::HashSet;

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

/// The names that need no quotes: SQL would take `jdk.GarbageCollection` for a table `garbagecollection` of a schema.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The names of tables with dots.
    tables: HashSet<String>,
    /// The names of columns with capital letters.
    columns: HashSet<String>,
    /// The most dots of a table's name.
    most_dots: usize,
}

impl Names {
    /// These names of tables and columns.
    pub(super) fn new<'a>(
        tables: impl IntoIterator<Item = &'a str>,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let tables: HashSet<String> = tables.into_iter().map(str::to_owned).collect();
        let columns = columns.into_iter().filter(|it| it.contains(char::is_uppercase));
        let most_dots = tables.iter().map(|it| it.matches('.').count()).max().unwrap_or(0);
        Self { columns: columns.map(str::to_owned).collect(), tables, most_dots }
    }

    /// Parses a query, with these names in quotes.
    ///
    /// # Errors
    /// The query has a fault, or it is not one.
    pub fn parse(&self, query: &str) -> Result<Statement> {
        let tokens = Tokenizer::new(&GenericDialect {}, query).tokenize_with_location();
        let tokens = self.quote(tokens.map_err(ParserError::from)?);
        let mut statements = DFParserBuilder::new(tokens).build()?.parse_statements()?;
        match (statements.pop_front(), statements.is_empty()) {
            (Some(statement), true) => Ok(statement),
            _ => Err(DataFusionError::Plan("there is not one query".to_owned())),
        }
    }

    /// Whether there are tables of all types of events that a text names.
    pub(super) fn has_all(&self, text: &str) -> bool {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
        words.filter(|it| it.starts_with("jdk.")).all(|it| self.tables.contains(it))
    }

    fn quote(&self, tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
        let mut quoted = Vec::with_capacity(tokens.len());
        let mut rest = &tokens[..];
        while let [first, ..] = rest {
            let (name, count) = match self.table(rest) {
                Some((name, count)) => (Some(name), count),
                None => (word(first).filter(|it| self.columns.contains(*it)).map(str::to_owned), 1),
            };
            let token = match name {
                Some(value) => {
                    let quote_style = Some('"');
                    Token::Word(Word { value, quote_style, keyword: Keyword::NoKeyword })
                }
                None => first.token.clone(),
            };
            quoted.push(TokenWithSpan { token, span: first.span });
            rest = &rest[count..];
        }
        quoted
    }

    /// The table whose name the tokens begin with, and the number of these.
    fn table(&self, tokens: &[TokenWithSpan]) -> Option<(String, usize)> {
        let mut name = word(tokens.first()?)?.to_owned();
        let mut found = None;
        for (dots, pair) in (1..=self.most_dots).zip(tokens[1..].chunks_exact(2)) {
            let [dot, part] = pair else { break };
            let Some(part) = word(part).filter(|_| dot.token == Token::Period) else { break };
            name = format!("{name}.{part}");
            if self.tables.contains(&name) {
                found = Some((name.clone(), 1 + 2 * dots));
            }
        }
        found
    }
}

/// A word without quotes.
fn word(token: &TokenWithSpan) -> Option<&str> {
    match &token.token {
        Token::Word(Word { value, quote_style: None, .. }) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_events_are_quoted() {
        let names = Names {
            tables: ["jdk.GCHeapSummary".into(), "com.acme.shop.Order".into()].into(),
            columns: ["gcId".into()].into(),
            most_dots: 3,
        };
        for (query, quoted) in [
            (
                "SELECT gcId, x.gcId FROM jdk.GCHeapSummary AS x",
                r#"SELECT "gcId", x."gcId" FROM "jdk.GCHeapSummary" AS x"#,
            ),
            (
                "SELECT jdk.GCHeapSummary.gcId FROM jdk.GCHeapSummary",
                r#"SELECT "jdk.GCHeapSummary"."gcId" FROM "jdk.GCHeapSummary""#,
            ),
            ("SELECT 1 FROM com.acme.shop.Order", r#"SELECT 1 FROM "com.acme.shop.Order""#),
            (
                r#"SELECT 'gcId', "gcId", gcid FROM jdk.x"#,
                r#"SELECT 'gcId', "gcId", gcid FROM jdk.x"#,
            ),
        ] {
            assert_eq!(names.parse(query).unwrap().to_string(), quoted);
        }
        assert!(names.parse("SELECT gcId FROM").is_err());
    }
}
