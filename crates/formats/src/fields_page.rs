//! Accesses to fields as one HTML page: a table by class and field that can be sorted and searched,
//! with what to do, and that needs no network.

use std::io::{self, Write};

use perk_analysis::objects::{self, ObjectsRow};
use perk_analysis::sharing::{AdviceKind, Sharing};
use perk_profile::{FieldCounts, KeyedMap, Metric, Profile, names, units};
use serde::Serialize;

use crate::file_format::{
    Depth, Detail, Document, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
    refusal,
};
use crate::page::{HtmlPage, Number};

const PAGE: HtmlPage = HtmlPage {
    html: "fields/page.html",
    styles: &["tables.css", "fields/fields.css", "fields/page.css"],
    module: "fields/page.js",
    data_begin: "<script type=\"application/json\" id=\"perk-fields\">",
};

pub(crate) struct FieldsPage;

impl FileFormat for FieldsPage {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "fields-html",
            title: "page of fields",
            about: "Table of the accesses to fields, one HTML file that needs no network",
            endings: &["fields.html"],
            page: "shared-fields.md",
            keeps: "field accesses by class and field",
            reading: Reading::Never,
            written: Some(FormatContent {
                metrics: Metrics::Table,
                detail: Detail::None,
                documents: &[Document::Fields],
                accounting: false,
                depth: Depth::Whole,
            }),
        }
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view, out)
    }

    fn holds(&self, metric: &Metric) -> bool {
        metric.is_of_fields()
    }
}

/// Whether HTML of this view is the page of fields: no metric is chosen, and the profile has none
/// but those of fields.
pub(crate) fn is_for(view: &View<'_>) -> bool {
    let is_of_fields = |metric: Metric| metric.is_of_fields();
    view.metric.is_none()
        && view.before.is_none()
        && view.profile.field_accesses().is_some()
        && Metric::first_of(view.profile).is_none_or(is_of_fields)
}

/// Writes the accesses to the fields of each class as a page.
///
/// # Errors
/// As `out` fails; of kind `InvalidInput` if the profile has no such accesses.
pub fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    PAGE.write(&view.heading(), &PageData::of(view.profile)?, out)
}

/// Writes the data of the page alone, as its modules read it.
///
/// # Errors
/// As [`write`].
pub fn write_data(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer(out, &PageData::of(profile)?)?)
}

/// The data of the page.
#[derive(Serialize)]
struct PageData {
    /// Numbers of all objects, in the order of the columns.
    total: Vec<Number>,
    /// The name and the meaning of each advice.
    advice: [(&'static str, &'static str); AdviceKind::ALL.len()],
    /// The strings of names.
    strings: Vec<String>,
    /// The class of the objects, the class that declares the field, its name and its type: indexes
    /// of strings.
    names: [Vec<usize>; 4],
    /// A bit for each advice on the row.
    todo: Vec<u8>,
    /// The numbers of each row: see [`numbers`].
    numbers: Vec<Vec<Number>>,
}

/// Objects, those of unknown site, the shared ones, those that others wrote, those that were only
/// read; reads by owner and by others, writes by owner and by others; accesses to objects of unknown
/// site. If they were counted, the last five again, of the accesses by other means.
fn numbers<K>(row: &ObjectsRow<K>, has_extended: bool) -> Vec<Number> {
    let objects = [
        row.object_count,
        row.unknown_count,
        row.shared_count,
        row.other_written_count,
        row.read_only_count,
    ];
    let counts = |known: FieldCounts, unknown: FieldCounts| {
        known.numbers().into_iter().chain([unknown.total()])
    };
    let direct = counts(row.counts.direct, row.unknown.direct);
    let extended = has_extended.then(|| counts(row.counts.extended, row.unknown.extended));
    let all = objects.into_iter().chain(direct).chain(extended.into_iter().flatten());
    all.map(Number).collect()
}

impl PageData {
    fn of(profile: &Profile) -> io::Result<Self> {
        let lacks = || {
            refusal("the page of fields shows accesses to objects' fields; the profile has none")
        };
        Self::new(profile).ok_or_else(lacks)
    }

    fn new(profile: &Profile) -> Option<Self> {
        let accesses = profile.field_accesses()?;
        let symbols = &profile.symbols;
        let sharing = Sharing::new(accesses, symbols);
        let has_extended = accesses.has_extended();
        let total = numbers(&objects::total(accesses), has_extended);
        let mut data = Self {
            numbers: vec![Vec::new(); total.len()],
            total,
            advice: AdviceKind::ALL.map(|it| (it.name(), it.meaning())),
            strings: Vec::new(),
            names: Default::default(),
            todo: Vec::new(),
        };
        let mut places: KeyedMap<String, usize> = KeyedMap::default();
        // Characters that hide or turn others are shown as what they are.
        let mut string = |text: &str| match places.get(text) {
            Some(&place) => place,
            None => {
                data.strings.push(units::printable(text));
                places.insert(text.to_owned(), data.strings.len() - 1);
                data.strings.len() - 1
            }
        };
        for row in objects::by_field(accesses) {
            let (class, field) = row.key;
            let text = |id| symbols.strings.get(id);
            let texts = [
                string(symbols.class_name(class)),
                string(&field.declaring_class(symbols)),
                string(text(field.name)),
                string(&names::from_signature(text(field.descriptor))),
            ];
            data.names.iter_mut().zip(texts).for_each(|(column, text)| column.push(text));
            data.todo.push(sharing.of_field(row.key).bits());
            let numbers = numbers(&row, has_extended);
            data.numbers.iter_mut().zip(numbers).for_each(|(column, it)| column.push(it));
        }
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{collapsed, shared_fields};

    fn page(text: &str, title: &str) -> String {
        let profile = shared_fields::read(text.as_bytes()).unwrap();
        let mut out = Vec::new();
        write(&View::new(&profile, title), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_page_asks_nothing_of_the_network() {
        let html = page("?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\n", "x");
        for word in ["http:", "https:", "src=", "@import", "url(", "fetch(", "{{"] {
            assert!(!html.contains(word), "{word}");
        }
    }

    #[test]
    fn names_are_text() {
        let name = "</script><script>alert(1)</script>\u{202e}";
        let html = page(&format!("?\tT\nT\x1c{name}\x1cI\t1\t2\t3\t4\n"), name);
        assert!(!html.contains("alert(1)</script>") && !html.contains('\u{202e}'), "{html:.300}");
        assert_eq!(html.matches("</script>").count(), 2);
        assert!(html.contains("\\u003c/script>\\\\u{202e}"), "{html}");
    }

    #[test]
    fn profiles_without_accesses_are_refused() {
        let profile = collapsed::read(&b"a.B.c 1\n"[..]).unwrap();
        let error = write(&View::new(&profile, ""), &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(!is_for(&View::new(&profile, "")));
    }
}
