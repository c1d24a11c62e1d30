//! The selected row in whole, the columns of each view, and the totals of the header.

use perk_analysis::label_tree::ROOT;
use perk_profile::units::{duration, percent, plural};
use perk_profile::{Metric, Unit, units};

use crate::App;
use crate::view::{Column, Columns, RowDetail, View, ViewRow};

/// The metric that counts what `metric` measures, and the noun of its numbers.
pub(crate) fn counted(metric: &Metric) -> Option<(Metric, &'static str)> {
    Some(match metric {
        Metric::Samples | Metric::SelfTime => (Metric::Calls, "call"),
        Metric::AllocatedBytes => (Metric::AllocatedObjects, "object"),
        Metric::LiveBytes => (Metric::LiveObjects, "object"),
        Metric::BlockedTime => (Metric::BlockedCount, "time"),
        Metric::WaitedTime => (Metric::WaitCount, "time"),
        Metric::BlockingTime => (Metric::BlockingSamples, "sample"),
        _ => return None,
    })
}

impl App<'_> {
    /// The columns of the view.
    pub(crate) fn columns(&self) -> Columns {
        let metric = |title| Column { title, unit: self.shown_metric().unit(), whole: self.whole };
        let [blocked, waited] = self.locks.wholes;
        let [bytes, objects] = self.heap.wholes;
        let number = |title, unit, whole| Column { title, unit, whole };
        let (numbers, name, order) = match self.view {
            View::Methods => ([metric("self"), metric("total")], "name", Some(self.order)),
            View::Tree | View::Method | View::Flame => {
                ([metric("self"), metric("total")], "name", None)
            }
            View::Callers => ([metric(""), metric("self")], "name", None),
            View::Threads => ([metric(""), metric("total")], "thread", None),
            View::Locks => {
                let blocked = number("blocked", Unit::Nanoseconds, blocked);
                ([blocked, number("waited", Unit::Nanoseconds, waited)], "lock", None)
            }
            View::Heap => {
                let bytes = number("bytes", Unit::Bytes, bytes);
                let objects = number("objects", Unit::Count, objects);
                ([bytes, objects], "class", Some(self.heap.order))
            }
        };
        let by_second = order.is_none_or(|order| order == crate::view::Order::Second);
        let bar = usize::from(by_second && self.view != View::Locks);
        Columns { numbers, name, order, bar }
    }

    /// Formats `count` with its unit; for samples with their time, too, if it is known.
    pub(crate) fn amount(&self, count: u64) -> String {
        let amount = units::amount(count, self.shown_metric().unit());
        match (self.shown_metric(), self.profile.sample_interval_ns()) {
            (Metric::Samples, Some(ns)) => {
                format!("{amount} = {}", duration(count.saturating_mul(ns)))
            }
            _ => amount,
        }
    }

    /// The totals of what the view shows.
    pub(crate) fn totals(&self) -> String {
        match self.view {
            View::Heap => self.heap.total(),
            View::Locks => {
                let [blocked, waited] = self.locks.wholes.map(duration);
                format!("blocked {blocked}, waited {waited}")
            }
            _ => {
                let shown = self.ranked.total();
                let mut text = format!("{}: {}", self.shown_metric().name(), self.amount(shown));
                if shown != self.whole {
                    text += &format!(" of {}", self.amount(self.whole));
                }
                text
            }
        }
    }

    /// The selected row in whole.
    pub(crate) fn detail(&self) -> Option<RowDetail> {
        if self.view == View::Flame {
            let selected = self.flame.selected;
            return (selected != ROOT).then(|| {
                let node = self.ranked_of_view().node(selected);
                let numbers = self.numbers([Some(node.own), Some(node.total)]);
                let name = self.ranked_of_view().label(node.label).clone();
                let owner = self.owner_of(&name);
                RowDetail { name, numbers, owner }
            });
        }
        let ViewRow { prefix, text, numbers, owner, is_heading, .. } = self.selected_line()?;
        let numbers = match self.view {
            _ if is_heading => String::new(),
            View::Locks => self.locks.entry(self.at()).detail.clone(),
            View::Heap => self.heap.detail(self.at()),
            View::Methods => self.numbers(numbers) + &self.count(&text),
            _ => self.numbers(numbers),
        };
        Some(RowDetail { name: prefix.to_owned() + &text, numbers, owner })
    }

    /// `self 762 = 7.62 s (61.75 %), total 886 = 8.86 s (71.80 %)`
    fn numbers(&self, numbers: [Option<u64>; 2]) -> String {
        let columns = self.columns().numbers;
        let parts = numbers.iter().zip(columns).filter_map(|(number, column)| {
            let (amount, share) = (self.amount((*number)?), percent((*number)?, column.whole));
            Some(format!("{} {amount} ({share} %)", column.title))
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    /// `, 12 calls`, where the profile has their number.
    fn count(&self, label: &str) -> String {
        let count = self.counts.get(label).copied().filter(|&count| count > 0);
        match (count, counted(self.shown_metric())) {
            (Some(count), Some((_, noun))) => format!(", {}", plural(count, noun)),
            _ => String::new(),
        }
    }
}
