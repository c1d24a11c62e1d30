use proptest::prelude::*;

use super::*;

const SEED: &str = include_str!("../../../../testdata/shared-fields/seed.tsv");

fn written(profile: &Profile) -> String {
    let mut out = Vec::new();
    write(profile, false, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_sample_of_the_analysis_is_read() {
    let profile = read(SEED.as_bytes()).unwrap();
    let accesses = profile.field_accesses().unwrap();
    let text = |id| profile.symbols.strings.get(id);
    let rows: Vec<_> = accesses.rows().collect();
    assert_eq!(rows.len(), 2);
    let site = rows[0].site.unwrap();
    assert_eq!(
        (text(site.class), text(site.method), text(site.descriptor), site.index),
        ("java/nio/ByteBuffer", "wrap", "([BII)Ljava/nio/ByteBuffer;", 2)
    );
    assert_eq!(profile.symbols.class_name(rows[0].class), "java.nio.HeapByteBuffer");
    assert_eq!(rows[0].fields.len(), 10);
    assert_eq!(text(rows[0].fields[8].name), "offset");
    assert_eq!(rows[0].counts[8].owner_read_count, 3);
    let sum = rows[0].sum();
    assert_eq!((sum.owner_read_count, sum.owner_write_count), (29, 10));
    assert_eq!(profile.symbols.class_name(rows[1].class), "char[]");
    assert_eq!(rows[1].sum().total(), 107);
    assert_eq!(
        perk_analysis::objects::by_class(accesses).iter().map(|row| row.shared_count).sum::<u64>(),
        0
    );
    // The document itself is damaged: blanks replace a TAB.
    assert_eq!(profile.notes, ["1 lines with blanks in the place of a TAB"]);
    let again = written(&profile);
    assert_eq!(again, SEED.replace("       3", "\t3").replace('\u{241c}', "\x1c"));
}

#[test]
fn records_that_are_equal_are_kept_once() {
    let text =
        "?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\n\n".repeat(1000) + "?\tT\nT\x1ca\x1cI\t1\t2\t3\t5\n\n";
    let profile = read(text.as_bytes()).unwrap();
    let accesses = profile.field_accesses().unwrap();
    assert_eq!((accesses.rows().len(), accesses.object_count()), (2, 1001));
    // The site is not known, so neither is the owner.
    let total = perk_analysis::objects::total(accesses);
    assert_eq!((total.unknown.direct.total(), total.all().total()), (10 * 1000 + 11, 0));
    assert_eq!(written(&profile), text);
    assert_eq!(profile.notes, [""; 0]);
}

#[test]
fn sites_without_an_index_in_code() {
    let text = "java/lang/reflect/Array\x1cnewInstance\x1c(Ljava/lang/Class;I)Ljava/lang/Object;\
                \x1c-1\t[[Ljava.lang.String;\n[[Ljava.lang.String;\x1c$arraylength\x1cI\t0\t0\t0\t0\n\n";
    let profile = read(text.as_bytes()).unwrap();
    let row = profile.field_accesses().unwrap().rows().next().unwrap();
    assert_eq!(profile.symbols.class_name(row.class), "java.lang.String[][]");
    assert_eq!(row.site.unwrap().index, -1);
    assert_eq!(written(&profile), text);
}

#[test]
fn windows_line_ends_and_a_missing_last_line_end() {
    let profile =
        read(&b"\r\n?\tT\r\nT\x1ca\x1cI\t1\t0\t0\t0\r\n\r\n?\tT\r\nT\x1ca\x1cI\t1\t0\t0\t0"[..]);
    let profile = profile.unwrap();
    let accesses = profile.field_accesses().unwrap();
    assert_eq!((accesses.rows().len(), accesses.object_count()), (1, 2));
    assert_eq!(profile.notes, ["line 6 has no end: the file may be cut off there"]);
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    for (text, line, expected) in [
        ("T\x1ca\x1cI\t1\t0\t0\t0\n", 1, HEAD),
        ("?\tT\n\nA\x1cb\x1c()V\t\tT\n", 3, HEAD),
        ("A\x1cb\x1c()V\x1c99999999999\tT\n", 1, HEAD),
        ("?\tT\t\n", 1, HEAD),
        ("?\tT\t-1\n", 1, HEAD),
        ("?\tT\t1\t2\n", 1, HEAD),
        ("?\tT\n?\tT\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t0\t0\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t0\t0\t-1\n", 2, FIELD),
        ("?\tT\nT\x1ca\t1\t0\t0\t0\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t0\t0\t18446744073709551616\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t0\t0\t0\tstatic\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t0\t0\t0\tfinal\t5\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\t5\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\t5\t6\t7\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\t5\t6\t7\t8\t9\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\t5\t6\t7\tx\n", 2, FIELD),
        ("?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\nT\x1cb\x1cI\t1\t2\t3\t4\t0\t0\t0\t0\n", 3, FOUR),
        ("?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\n\n?\tU\nU\x1cb\x1cI\t1\t2\t3\t4\t0\t0\t0\t0\n", 5, FOUR),
        (
            "?\tT\n\n?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\t5\t6\t7\t8\n\n?\tT\nT\x1cb\x1cI\t1\t2\t3\t4\n",
            7,
            EIGHT,
        ),
    ] {
        let error = read(text.as_bytes()).unwrap_err();
        assert_eq!(error, Error::Line { line, expected }, "{text:?}");
    }
    assert_eq!(read(&b""[..]).unwrap().field_accesses().unwrap().object_count(), 0);
}

#[test]
fn modifiers_are_kept_in_the_form_of_alike_objects() {
    let text = "?\tT\t7\nT\x1ca\x1cI\t1\t2\t3\t4\tfinal\nT\x1cb\x1cI\t1\t2\t3\t4\tvolatile\n\
                T\x1cc\x1cI\t1\t2\t3\t4\n\n";
    let profile = read(text.as_bytes()).unwrap();
    let accesses = profile.field_accesses().unwrap();
    let row = accesses.rows().next().unwrap();
    assert_eq!(row.object_count, 7);
    let modifiers: Vec<_> = row.fields.iter().map(|it| accesses.modifier(*it).word()).collect();
    assert_eq!(modifiers, [Some("final"), Some("volatile"), None]);
    let mut again = Vec::new();
    write(&profile, true, &mut again).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), text);
    let by_object = written(&profile);
    assert!(!by_object.contains("final") && by_object.matches("?\tT\n").count() == 7);
}

#[test]
fn accesses_by_other_means_are_columns_of_their_own() {
    let text = "?\tU\t1\n\n?\tT\t7\nT\x1ca\x1cI\t1\t2\t3\t4\t5\t6\t7\t8\tfinal\n\
                T\x1cb\x1cI\t1\t2\t3\t4\t0\t0\t0\t0\n\n";
    let profile = read(text.as_bytes()).unwrap();
    let accesses = profile.field_accesses().unwrap();
    assert!(accesses.has_extended());
    let numbers: Vec<_> = accesses.rows().flat_map(|it| it.accesses()).collect();
    assert_eq!(numbers[0].direct.numbers(), [1, 2, 3, 4]);
    assert_eq!(numbers[0].extended.numbers(), [5, 6, 7, 8]);
    assert_eq!(numbers[1].extended.numbers(), [0; 4]);
    let mut again = Vec::new();
    write(&profile, true, &mut again).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), text);
    let record =
        "?\tT\nT\x1ca\x1cI\t1\t2\t3\t4\t5\t6\t7\t8\nT\x1cb\x1cI\t1\t2\t3\t4\t0\t0\t0\t0\n\n";
    assert_eq!(written(&profile), format!("?\tU\n\n{}", record.repeat(7)));
    // The metrics are of the accesses of instructions.
    assert_eq!(Metric::FieldAccesses.rows(&profile).total, 7 * 2 * 10);
    // A file without the columns says nothing about them.
    let text = text.replace("\t5\t6\t7\t8", "").replace("\t0\t0\t0\t0", "");
    let plain = read(text.as_bytes()).unwrap();
    assert!(!plain.field_accesses().unwrap().has_extended());
    assert_ne!(plain.field_accesses(), profile.field_accesses());
}

#[test]
fn its_files_are_recognised() {
    assert_eq!(form(SEED.as_bytes()), Some(false));
    assert_eq!(form(b"?\t[C\n"), Some(false));
    assert_eq!(form(b"?\t[C\t12\n"), Some(true));
    for head in [&b""[..], b"?", b"main;a;b\t12\n", b"a\tb\n", b"A\x1cb\x1cc\x1cd\tT\n"] {
        assert_eq!(form(head), None, "{}", head.escape_ascii());
    }
}

#[test]
fn a_file_cut_anywhere_is_read_or_refused() {
    let whole = read(SEED.as_bytes()).unwrap().field_accesses().unwrap().object_count();
    for end in 0..SEED.len() {
        if let Ok(profile) = read(&SEED.as_bytes()[..end]) {
            assert!(profile.field_accesses().unwrap().object_count() <= whole);
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z$_é][a-zA-Z0-9$_é]{0,8}"
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        rows in prop::collection::vec(
            (
                prop::option::of((name(), name(), name(), -1..70_000_i32)),
                name(),
                0..3_usize,
                1..4_u64,
                prop::collection::vec((name(), name(), any::<[u64; 8]>()), 0..4),
            ),
            0..8,
        ),
        count in prop::sample::select(vec![4_usize, 8]),
    ) {
        let mut text = String::new();
        for (site, class, dimensions, times, fields) in &rows {
            let mut record = match site {
                None => "?".to_owned(),
                Some((a, b, c, index)) => format!("x/{a}\x1c{b}\x1c({c})V\x1c{index}"),
            };
            let class = match dimensions {
                0 => format!("p.{class}"),
                _ => format!("{}Lp.{class};", "[".repeat(*dimensions)),
            };
            record += &format!("\t{class}\n");
            for (name, descriptor, numbers) in fields {
                record += &format!("{class}\x1c{name}\x1cL{descriptor};");
                numbers[..count].iter().for_each(|it| record += &format!("\t{it}"));
                record += "\n";
            }
            text += &(record + "\n").repeat(*times as usize);
        }
        let profile = read(text.as_bytes()).unwrap();
        let records = |text: &str| {
            let mut records: Vec<_> = text.split("\n\n").map(str::to_owned).collect();
            records.sort();
            records
        };
        prop_assert_eq!(records(&written(&profile)), records(&text));
        let again = read(written(&profile).as_bytes()).unwrap();
        prop_assert_eq!(again.field_accesses(), profile.field_accesses());
        let mut alike = Vec::new();
        write(&profile, true, &mut alike).unwrap();
        let again = read(&alike[..]).unwrap();
        prop_assert_eq!(again.field_accesses(), profile.field_accesses());
        // Records of objects that are alike add up.
        alike.extend(alike.clone());
        let twice = read(&alike[..]).unwrap().field_accesses().map(FieldAccesses::object_count);
        let once = profile.field_accesses().map(FieldAccesses::object_count);
        prop_assert_eq!(twice, once.map(|count| 2 * count));
    }

    #[test]
    fn any_bytes_are_taken(flips in prop::collection::vec((0..2_000_usize, any::<u8>()), 1..9)) {
        let mut bytes = SEED.as_bytes().to_vec();
        for (at, byte) in flips {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let _ = read(&bytes[..]);
        let _ = form(&bytes);
    }
}
