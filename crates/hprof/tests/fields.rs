//! Accesses to fields in extended files: nothing is lost, and damage is an error or a note.

use perk_hprof::{Error, Format, binary};
use perk_profile::{
    AccessCounts, AllocationSite, Event, Field, FieldAccesses, FieldModifier, Metric, Profile,
};
use proptest::prelude::*;

/// The revision of EXTENDED follows the header, then FIELD ACCESSES follows CONTROL SETTINGS, the
/// system trace and names.
const TAG: u8 = 0xff;

type FieldRow = (String, FieldModifier, [u64; 8]);
/// A site if it is known, a class, the number of objects, and their fields.
type ObjectRow = (Option<(String, i32)>, String, u64, Vec<FieldRow>);

fn profile(objects: &[ObjectRow], has_extended: bool) -> Profile {
    let mut profile = Profile::default();
    let mut accesses = FieldAccesses::default();
    if has_extended {
        accesses.set_extended();
    }
    for (site, class, object_count, fields) in objects {
        let symbols = &mut profile.symbols;
        let site = site.as_ref().map(|(name, index)| AllocationSite {
            class: symbols.strings.intern(&format!("a/{name}")),
            method: symbols.strings.intern(name),
            descriptor: symbols.strings.intern("()V"),
            index: *index,
        });
        let declared = symbols.strings.intern(class);
        let descriptor = symbols.strings.intern("I");
        let class = symbols.class(class);
        let (mut all, mut counts) = (Vec::new(), Vec::new());
        for (name, modifier, numbers) in fields {
            let name = symbols.strings.intern(name);
            let field = Field { class: declared, name, descriptor };
            accesses.note_modifier(field, *modifier);
            all.push(field);
            let [direct, extended] = [0, 4].map(|at| <[u64; 4]>::try_from(&numbers[at..at + 4]));
            let extended = if has_extended { extended.unwrap() } else { [0; 4] };
            counts.push(AccessCounts { direct: direct.unwrap().into(), extended: extended.into() });
        }
        let layout = accesses.layout(class, all);
        accesses.push(site, layout, *object_count, counts);
    }
    let section = accesses.section(&mut profile);
    profile.events.push(Event::FieldAccesses(accesses));
    if !section.is_empty() {
        profile.events.push(section.into());
    }
    profile
}

/// Everything that a profile says of fields, by names.
fn summary(profile: &Profile) -> Vec<String> {
    let accesses = profile.field_accesses().unwrap();
    let text = |id| profile.symbols.strings.get(id);
    let mut lines = vec![format!("{}", accesses.has_extended())];
    for row in accesses.rows() {
        let site = row.site.map(|it| {
            [it.class, it.method, it.descriptor].map(text).join(" ") + &format!(" {}", it.index)
        });
        let class = profile.symbols.class_name(row.class);
        lines.push(format!("{site:?} {class} {} {}", row.object_count, row.layout));
        for (field, counts) in row.fields.iter().zip(row.accesses()) {
            let names = [field.class, field.name, field.descriptor].map(text).join(" ");
            lines.push(format!("{names} {counts:?} {:?}", accesses.modifier(*field)));
        }
    }
    for metric in [Metric::FieldAccesses, Metric::SharedFieldAccesses] {
        let rows = metric.rows(profile);
        lines.push(format!("{} {}", rows.total, rows.rows.len()));
    }
    lines
}

fn written(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    perk_hprof::write(profile, Format::Extended, &mut bytes).unwrap();
    bytes
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{1,2}", Just("p.A$$Lambda/0x7f".to_owned()), Just("é\0\u{1F600}".to_owned())]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..3_u64, any::<u64>(), Just(u64::MAX)]
}

fn objects() -> impl Strategy<Value = Vec<ObjectRow>> {
    let modifier = prop::sample::select(vec![
        FieldModifier::None,
        FieldModifier::Final,
        FieldModifier::Volatile,
        FieldModifier::Assigned,
    ]);
    let numbers = prop::array::uniform8(number());
    let fields = prop::collection::vec((name(), modifier, numbers), 0..4);
    let site = prop::option::of((name(), any::<i32>()));
    prop::collection::vec((site, name(), number(), fields), 0..8)
}

proptest! {
    #[test]
    fn nothing_is_lost(objects in objects(), has_extended in any::<bool>()) {
        let profile = profile(&objects, has_extended);
        let bytes = written(&profile);
        let read = binary::read(&bytes[..]).unwrap();
        prop_assert_eq!(summary(&read), summary(&profile));
        prop_assert_eq!(&read.notes, &[""; 0]);
        prop_assert_eq!(summary(&binary::read(&written(&read)[..]).unwrap()), summary(&profile));
    }

    #[test]
    fn damage_does_no_harm(
        objects in objects(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = written(&profile(&objects, true));
        let mut broken = bytes.clone();
        for (at, byte) in flips {
            let at = at.index(broken.len());
            broken[at] = byte;
        }
        for bytes in [&broken[..], &bytes[..cut.index(bytes.len())]] {
            if let Err(error) = binary::read(bytes) {
                prop_assert_eq!(error.to_string().lines().count(), 1);
            }
        }
    }
}

#[test]
fn large_sections_are_several_records() {
    let numbers = |index: u64| [index, 1, 2, 3, 4, 5, 6, index << 40];
    let object = |index: u64| {
        let site = (format!("m{}", index % 1000), 7);
        let fields = vec![("x".to_owned(), FieldModifier::None, numbers(index)); 2];
        (Some(site), format!("C{}", index % 100), index, fields)
    };
    let all: Vec<ObjectRow> = (0..200_000).map(object).collect();
    let profile = profile(&all, true);
    let bytes = written(&profile);
    let read = binary::read(&bytes[..]).unwrap();
    assert!(summary(&read) == summary(&profile));
    // A file that ends inside the section has what came before, and says so.
    let cut = binary::read(&bytes[..bytes.len() - 10]).unwrap();
    let count = cut.field_accesses().unwrap().rows().len();
    assert!((1000..200_000).contains(&count), "{count}");
    assert!(cut.notes.iter().any(|note| note.contains("rows are missing")), "{:?}", cut.notes);
}

#[test]
fn only_extended_files_hold_them() {
    let object: ObjectRow =
        (None, "T".to_owned(), 1, vec![("x".to_owned(), FieldModifier::None, [0; 8])]);
    let profile = profile(&[object], false);
    let refused =
        "HPROF binary has no place for field accesses by object; perk's extended HPROF has";
    assert_eq!(Format::Binary.holds(&profile).unwrap_err(), refused);
    let error = perk_hprof::write(&profile, Format::Binary, Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), refused);
    assert_eq!(Format::Ascii.holds(&profile), Ok(()));
}

/// An extended file with one record FIELD ACCESSES, and the error of reading it.
fn error_of(body: &[u8]) -> String {
    let mut bytes = written(&Profile::default());
    let offset = bytes.len() + 9;
    bytes.push(TAG);
    bytes.extend([0; 4]);
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    match binary::read(&bytes[..]) {
        Err(Error::Binary { offset: at, what }) => format!("{} {what}", at - offset),
        other => panic!("{body:?}: {other:?}"),
    }
}

#[test]
fn damaged_records_say_where_and_what() {
    const MOST: u8 = 0xff;
    for (body, error) in [
        (&[1, 9][..], "2 9 is not a kind of entry"),
        (&[1, 2, 0, 0, 1], "3 no layout 0 comes before its objects"),
        (&[1, 2], "2 the data ends inside the number of a layout: 1 bytes expected, 0 left"),
        (
            &[1, 2, MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST, 2],
            "12 the number of a layout has more than 64 bits",
        ),
        (&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0], "10 a class's name has the id 0"),
        (&[1, 0, 0, 0, 0, 0, 0, 0, 0, 5], "10 no UTF8 record gives a class's name, id 0x5"),
        (&[1, 1, 0, 0], "2 the data ends inside the name of a class: 8 bytes expected, 2 left"),
    ] {
        assert_eq!(error_of(body), error, "{body:?}");
    }
}
