//! What to do about the fields: the advice, with the commands that show what each is made of.

use perk_analysis::sharing::{Advice, AdviceKind, Subject};
use perk_profile::units::printable;
use perk_render::{Cell, Column, LazyTable, Part, Rows, Section};

use super::Fields;
use crate::words::quoted;

/// The limit of all advice, in a sentence.
const LIMIT: &str = "Candidates: the file has the numbers of accesses to each object and not their \
                     order, so check each in the source. The owner is the thread that made the \
                     object.";

impl Fields<'_> {
    /// The advice on the program's own classes: how much of each kind there is, and the first `top` of
    /// each with the command that shows its numbers in `file`.
    pub(in crate::profile) fn advice_sections(&self, file: &str, top: usize) -> Vec<Section> {
        let count = |kind| self.sharing.of_kind(kind).count() as u64;
        let counts = AdviceKind::ALL.map(|kind| (kind, count(kind)));
        let counts: Vec<_> = counts.into_iter().filter(|it| it.1 > 0).collect();
        let parts: Vec<_> = counts.iter().map(|&(kind, count)| self.amount(kind, count)).collect();
        let mut sentence = match &parts[..] {
            [] => "Nothing was found".to_owned(),
            parts => parts.join(", "),
        };
        match self.sharing.advice.iter().filter(|it| it.is_of_jdk).count() {
            0 => sentence.push('.'),
            count => {
                sentence += &format!(
                    "; {count} more in the JDK's own classes, which a program cannot change, are in \
                     --json."
                );
            }
        }
        let mut head = vec![Part::Heading("What to do".to_owned()), Part::Sentence(sentence)];
        head.extend((!counts.is_empty()).then(|| Part::Sentence(LIMIT.to_owned())));
        let of_kind = |&(kind, count): &(AdviceKind, u64)| {
            let table = self.advice_with_commands(kind, file).top(top);
            let more = (count as usize).saturating_sub(top);
            let table =
                if more > 0 { table.note(format!("and {more} more (--top)")) } else { table };
            vec![Part::Remark(kind.name(), kind.meaning()), Part::table(table)]
        };
        std::iter::once(head).chain(counts.iter().map(of_kind)).collect()
    }

    /// `3 to make final (1 of them shared)`
    fn amount(&self, kind: AdviceKind, count: u64) -> String {
        match kind {
            AdviceKind::Lock => format!("{count} to guard by a lock"),
            AdviceKind::Volatile => format!("{count} to make volatile"),
            AdviceKind::Pad => format!("{count} to pad"),
            AdviceKind::Confine => format!("{count} to confine to one thread"),
            AdviceKind::Final => {
                let shared =
                    self.sharing.of_kind(kind).filter(|it| it.counts.all().by_others() > 0);
                format!("{count} to make final ({} of them shared)", shared.count())
            }
            AdviceKind::NoLock if count == 1 => "1 class needs no lock".to_owned(),
            AdviceKind::NoLock => format!("{count} classes need no lock"),
        }
    }

    /// The advice of one kind, each with the command below it.
    fn advice_with_commands<'t>(&'t self, kind: AdviceKind, file: &str) -> LazyTable<'t> {
        let symbols = &self.profile.symbols;
        let command = format!("perk report {file} --field");
        let rows: Vec<_> = self.sharing.of_kind(kind).collect();
        self.advice_rows(rows)
            .each(move |advice, row| {
                let name = |place: usize| Some(symbols.strings.get(advice.apart?[place].name));
                let apart = name(0).zip(name(1));
                row.below.extend(apart.map(|(owners, others)| {
                    printable(&format!("the owner writes {owners}, others write {others}"))
                }));
                if let Subject::Site(_, site) = advice.subject {
                    row.below.push(self.place(Some(site)));
                }
                let pattern = advice.subject.pattern(symbols);
                row.below.push(printable(&format!("{command} {}", quoted(&pattern))));
            })
            .table()
            .ranked()
    }

    /// The advice as data.
    pub(super) fn advice<'t>(&'t self, advice: impl Iterator<Item = &'t Advice>) -> LazyTable<'t> {
        self.advice_rows(advice.collect()).table()
    }

    fn advice_rows<'t>(&'t self, advice: Vec<&'t Advice>) -> Rows<'t, &'t Advice> {
        let symbols = &self.profile.symbols;
        let name = |place: usize| {
            move |it: &&Advice| Some(symbols.strings.get(it.apart?[place].name).to_owned())
        };
        let heading = match advice.first().map(|it| it.subject) {
            Some(Subject::Class(_) | Subject::Site(..)) => "class",
            _ => "field",
        };
        let share = |it: &&Advice| Cell::Share(it.object_count, it.known_count);
        let rows = LazyTable::of(symbols, "", advice)
            .column(Column::other("advice"), |it| it.kind.name())
            .column(Column::other("name"), |it| it.subject.name(symbols))
            // What `--field` takes.
            .column(Column::other("field_pattern").name(heading), |it| it.subject.pattern(symbols))
            .column(Column::count("object_count").at(0, "objects"), |it| it.object_count)
            .column(Column::count("known_count"), |it| it.known_count)
            .column(Column::words().at(1, "of all %"), share);
        super::counts(rows, self.accesses.has_extended(), |it| it.counts)
            .column(Column::other("is_of_jdk"), |it| it.is_of_jdk)
            .column(Column::other("owner_written_field"), name(0))
            .column(Column::other("other_written_field"), name(1))
    }
}
