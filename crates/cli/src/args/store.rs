//! Arguments that name a part of a store.

use std::str::FromStr;

use clap::Args;

/// The part of a store to read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of a store")]
pub(crate) struct PartArgs {
    /// Only this service of the store
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// Only numbers of the store from this time on: an age such as 24h or 7d, or 2026-11-29T10:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only numbers of the store up to this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Let a cluster of perk-fleet add up the numbers of the store
    #[arg(long, value_name = "ballista://HOST:PORT")]
    pub(crate) cluster: Option<String>,
}

impl PartArgs {
    /// The options that are given, with their values.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let cluster = self.cluster.as_deref().map(|it| ("--cluster", it));
        self.selecting().chain(cluster)
    }

    /// Those of them that select numbers.
    fn selecting(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let options =
            [("--service", &self.service), ("--since", &self.since), ("--until", &self.until)];
        options.into_iter().filter_map(|(option, value)| Some((option, value.as_deref()?)))
    }

    /// What it selects, for people.
    pub(crate) fn words(&self) -> Vec<String> {
        let words = self.selecting().map(|(option, value)| match option {
            "--service" => value.to_owned(),
            _ => format!("{} {value}", option.trim_start_matches('-')),
        });
        words.collect()
    }
}

/// A side of a comparison within a store: numbers with a label, or of a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SidePattern {
    /// `KEY=VALUE`.
    Label(String),
    /// `FROM..TO`; either can be missing.
    Time(Option<String>, Option<String>),
}

impl FromStr for SidePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.split_once('=').is_some_and(|(key, _)| !key.is_empty()) {
            return Ok(Self::Label(text.to_owned()));
        }
        let time = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        match text.split_once("..") {
            Some((from, to)) if !from.is_empty() || !to.is_empty() => {
                Ok(Self::Time(time(from), time(to)))
            }
            _ => Err("use KEY=VALUE such as version=1.4.2, or FROM..TO such as 14d..7d".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_label_or_a_time() {
        let time = |from: &str, to: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Ok(SidePattern::Time(some(from), some(to)))
        };
        assert_eq!("version=1..2".parse(), Ok(SidePattern::Label("version=1..2".to_owned())));
        assert_eq!("14d..7d".parse(), time("14d", "7d"));
        assert_eq!("7d..".parse(), time("7d", ""));
        assert_eq!("..2026-11-29".parse(), time("", "2026-11-29"));
        for wrong in ["", "..", "7d", "=x"] {
            assert!(wrong.parse::<SidePattern>().is_err(), "{wrong}");
        }
    }
}
