//! A question as it is in an address: parameters with the names and values of the command line's options.

use std::fmt;
use std::str::FromStr;

use perk_analysis::{Filter, LabelPattern, Window};
use perk_profile::units::printable;
use perk_render::Excerpt;
use perk_report::parse;

use crate::fault::Fault;

/// The parameters of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    pairs: Vec<(String, String)>,
}

/// The parameters of a table that do not change its rows.
pub(crate) const OF_EXCERPT: [&str; 5] = ["sort", "order", "offset", "limit", "search"];
/// The parameters that select a part of a profile.
pub(crate) const OF_PART: [&str; 9] =
    ["from", "to", "focus", "ignore", "hide", "label", "thread", "by", "no-infer"];
/// The parameters of one side of a comparison, which replace those of both.
pub(crate) const SIDES: [&str; 16] = [
    "before-from",
    "before-to",
    "before-focus",
    "before-ignore",
    "before-hide",
    "before-label",
    "before-thread",
    "before-by",
    "after-from",
    "after-to",
    "after-focus",
    "after-ignore",
    "after-hide",
    "after-label",
    "after-thread",
    "after-by",
];
/// Rows of a table where nothing says how many.
const ROWS: usize = 200;
/// The most rows of a table at once.
const MOST_ROWS: usize = 10_000;

impl Question {
    /// The question of the part of an address that follows the question mark.
    pub(crate) fn of_query(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self { pairs: pairs.into_owned().collect() }
    }

    /// Fails if there is a parameter that none of these lists names, or one twice that can be there once.
    pub(crate) fn check(&self, known: &[&[&str]]) -> Result<(), Fault> {
        let is_list = |name: &str| {
            let name = name.strip_prefix("before-").or(name.strip_prefix("after-")).unwrap_or(name);
            ["focus", "ignore", "hide", "label", "thread"].contains(&name)
        };
        for (index, (name, _)) in self.pairs.iter().enumerate() {
            if !known.iter().any(|list| list.contains(&&**name)) {
                let names: Vec<_> = known.iter().flat_map(|it| it.iter()).copied().collect();
                let names = names.join(", ");
                return Err(Fault::question(format!("no parameter {name}: there are {names}")));
            }
            let is_again = self.pairs[..index].iter().any(|(before, _)| before == name);
            if is_again && !is_list(name) {
                return Err(Fault::question(format!("{name} is there twice")));
            }
        }
        Ok(())
    }

    /// The same question without a parameter.
    pub(crate) fn without(&self, name: &str) -> Self {
        self.without_all(&[name])
    }

    /// The same question without the parameters of these names.
    pub(crate) fn without_all(&self, names: &[&str]) -> Self {
        let is_left = |pair: &&(String, String)| !names.contains(&&*pair.0);
        Self { pairs: self.pairs.iter().filter(is_left).cloned().collect() }
    }

    /// The same question with another value of a parameter.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut question = self.without(name);
        question.pairs.push((name.to_owned(), value.to_owned()));
        question
    }

    /// The question about one side of a comparison: its own parameters have the place of those of both.
    pub(crate) fn of_side(&self, side: &str) -> Self {
        let own = |name: &str| name.strip_prefix(side)?.strip_prefix('-').map(str::to_owned);
        let owned: Vec<_> = self.pairs.iter().filter_map(|pair| own(&pair.0)).collect();
        let common =
            self.pairs.iter().filter(|pair| !SIDES.contains(&&*pair.0) && !owned.contains(&pair.0));
        let owned = self.pairs.iter().filter_map(|(name, value)| Some((own(name)?, value.clone())));
        Self { pairs: common.cloned().chain(owned).collect() }
    }

    /// What selects the part of one side alone, in words: `2s–end`, `request=GET /a`.
    pub(crate) fn part_of_side(&self, side: &str) -> String {
        let own = self.pairs.iter().filter_map(|(name, value)| {
            Some((name.strip_prefix(side)?.strip_prefix('-')?, value.as_str()))
        });
        let own: Vec<_> = own.collect();
        let time = |name| own.iter().find(|pair| pair.0 == name).map(|pair| pair.1);
        let window = match (time("from"), time("to")) {
            (None, None) => None,
            (from, to) => Some(format!("{}–{}", from.unwrap_or("start"), to.unwrap_or("end"))),
        };
        let others = own.iter().filter(|pair| !["from", "to"].contains(&pair.0));
        let others = others.map(|&(name, value)| match name {
            "label" | "by" => printable(value),
            name => format!("{name} {}", printable(value)),
        });
        window.into_iter().chain(others).collect::<Vec<_>>().join(", ")
    }

    /// The text of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|pair| pair.0 == name).map(|pair| &*pair.1)
    }

    /// Whether a parameter is there and does not say no.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| !["0", "false", "n", "no"].contains(&value))
    }

    /// The value of a parameter.
    pub(crate) fn value<T, E: fmt::Display>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Fault> {
        let fault = |text: &str, error| Fault::question(format!("{name} {text}: {error}"));
        self.text(name).map(|text| parse(text).map_err(|error| fault(text, error))).transpose()
    }

    /// All values of a parameter.
    pub(crate) fn values<T, E: fmt::Display>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<T>, Fault> {
        let fault = |text: &str, error| Fault::question(format!("{name} {text}: {error}"));
        let texts = self.pairs.iter().filter(|pair| pair.0 == name).map(|pair| &*pair.1);
        texts.map(|text| parse(text).map_err(|error| fault(text, error))).collect()
    }

    /// The number of a parameter.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Fault> {
        self.value(name, |text| text.parse().map_err(|_| "use a number"))
    }

    /// The window of the recording.
    pub(crate) fn window(&self) -> Result<Window, Fault> {
        let time = |name| {
            let time = self.value(name, parse::time)?;
            Ok::<_, Fault>(time.map(|it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX)))
        };
        Ok(Window { from_ns: time("from")?, to_ns: time("to")? })
    }

    /// The traces that count.
    pub(crate) fn filter(&self) -> Result<Filter, Fault> {
        let patterns = |name| self.values(name, parse::name_pattern);
        Ok(Filter {
            focus: patterns("focus")?,
            ignore: patterns("ignore")?,
            hide: patterns("hide")?,
            labels: self.values("label", str::parse::<LabelPattern>)?,
            threads: self.values("thread", parse::whole_pattern)?,
        })
    }

    /// The part of a table.
    pub(crate) fn excerpt(&self) -> Result<Excerpt, Fault> {
        let is_ascending = self.value("order", |order| match order {
            "asc" => Ok(true),
            "desc" => Ok(false),
            _ => Err("use asc or desc"),
        });
        Ok(Excerpt {
            sort: self.text("sort").map(str::to_owned),
            is_ascending: is_ascending?,
            only: None,
            search: self.text("search").filter(|it| !it.is_empty()).map(str::to_owned),
            offset: self.number("offset")?.unwrap_or(0),
            limit: self.number("limit")?.unwrap_or(ROWS).min(MOST_ROWS),
        })
    }

    /// The question without the parameters of these names, in a fixed order: equal keys have equal answers.
    pub(crate) fn key(&self, without: &[&str]) -> String {
        self.sorted(|name| !without.contains(&name))
    }

    /// The parameters of these names alone, in a fixed order.
    pub(crate) fn key_of(&self, names: &[&str]) -> String {
        self.sorted(|name| names.contains(&name))
    }

    fn sorted(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let mut pairs: Vec<_> = self.pairs.iter().filter(|pair| is_taken(&pair.0)).collect();
        pairs.sort();
        let mut key = form_urlencoded::Serializer::new(String::new());
        pairs.into_iter().for_each(|(name, value)| {
            key.append_pair(name, value);
        });
        key.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(query: &str) -> Question {
        Question::of_query(Some(query))
    }

    #[test]
    fn parameters_have_the_values_of_options() {
        let it = question("from=1.5s&focus=a.B&focus=c&label=k%3Dv+w&offset=3&order=asc&no-infer");
        it.check(&[&OF_EXCERPT, &OF_PART]).unwrap();
        assert_eq!(it.window().unwrap().from_ns, Some(1_500_000_000));
        let filter = it.filter().unwrap();
        assert_eq!((filter.focus.len(), filter.labels.len()), (2, 1));
        let grid = it.excerpt().unwrap();
        assert_eq!((grid.offset, grid.limit, grid.is_ascending), (3, ROWS, Some(true)));
        assert!(it.is_set("no-infer") && !question("no-infer=false").is_set("no-infer"));
        assert_eq!(question("b=1&a=2&sort=x").key(&["sort"]), question("a=2&b=1").key(&[]));
    }

    #[test]
    fn a_side_has_its_own_parameters() {
        let it = question("from=1s&focus=a&before-from=2s&after-to=3s&after-focus=b&after-focus=c");
        assert_eq!(it.of_side("before"), question("focus=a&from=2s"));
        assert_eq!(it.of_side("after"), question("from=1s&to=3s&focus=b&focus=c"));
        it.check(&[&OF_PART, &SIDES]).unwrap();
        assert_eq!(it.part_of_side("before"), "2s–end");
        assert_eq!(it.part_of_side("after"), "start–3s, focus b, focus c");
    }

    #[test]
    fn wrong_parameters_are_named() {
        let line = |query: &str| {
            let it = question(query);
            let checked = it.check(&[&OF_EXCERPT, &OF_PART]).and_then(|()| {
                it.window()?;
                it.filter()?;
                it.excerpt().map(drop)
            });
            checked.unwrap_err().line
        };
        assert_eq!(
            line("from=2"),
            "from 2: a time needs a unit: us, ms, s, m or h, such as 500ms or 2s"
        );
        assert_eq!(line("order=up"), "order up: use asc or desc");
        assert_eq!(line("offset=-1"), "offset -1: use a number");
        assert_eq!(line("from=1s&from=2s"), "from is there twice");
        assert!(line("label=x").starts_with("label x: "), "{}", line("label=x"));
        assert!(line("metrik=x").starts_with("no parameter metrik: there are sort, "));
    }
}
