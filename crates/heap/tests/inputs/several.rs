//! Several dumps in a file, and lengths that are wrong.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::slice::from_ref;

use perk_heap::{Error, Input, NoWatch, Options};
use perk_hprof::heap::{FieldType, Record, Stream};

use super::{begin, classes, content, list, open_bytes};
use crate::dump::{self, Dump, HEAP_DUMP, SEGMENT};

const DUMP_END: u8 = 0x2C;

/// The numbers of the nodes in a dump.
fn numbers(bytes: &[u8]) -> Vec<i32> {
    let (_, mut stream) = Stream::new(bytes).unwrap();
    let mut numbers = Vec::new();
    let mut dump_count = 0;
    while let Some(record) = stream.next().unwrap() {
        match record {
            Record::Instance { values, .. } => {
                numbers.push(i32::from_be_bytes(*values.first_chunk().unwrap()));
            }
            Record::DumpEnd => dump_count += 1,
            Record::Header(_) => panic!("a second file"),
            _ => {}
        }
    }
    assert!(dump_count <= 1);
    numbers
}

#[track_caller]
fn choose(bytes: &[u8], dump_number: Option<usize>) -> Result<Input, Error> {
    open_bytes(bytes, &Options { dump_number, ..Options::default() })
}

/// Checks that a file has dumps of nodes with these numbers.
#[track_caller]
fn check(bytes: &[u8], dumps: &[Range<i32>]) {
    for (index, expected) in dumps.iter().enumerate() {
        let input = choose(bytes, Some(index + 1)).unwrap();
        assert_eq!((input.dump_number(), input.dump_count()), (index + 1, dumps.len()));
        assert_eq!(numbers(&content(&input)), expected.clone().collect::<Vec<_>>());
    }
    let last = choose(bytes, None).unwrap();
    assert_eq!(numbers(&content(&last)), dumps[dumps.len() - 1].clone().collect::<Vec<_>>());
    let note = format!(
        "the file has {0} heap dumps, and this is number {0}; --dump N chooses another",
        dumps.len()
    );
    let notes = if dumps.len() > 1 { vec![note] } else { vec![] };
    assert_eq!(last.notes(), notes);
    for wrong in [0, dumps.len() + 1] {
        let message = choose(bytes, Some(wrong)).unwrap_err().to_string();
        let count = perk_profile::units::plural(dumps.len() as u64, "heap dump");
        assert_eq!(message, format!("it has {count}, so --dump {wrong} names none"));
    }
}

/// A file of a dump.
fn file(numbers: Range<i32>, id_bytes: usize) -> Vec<u8> {
    let mut dump = begin("JAVA PROFILE 1.0.2", id_bytes);
    list(&mut dump, numbers);
    dump.finish()
}

/// A file that has names and classes once for all dumps, as the files of agents.
fn agent(dumps: &[Range<i32>]) -> Vec<u8> {
    let mut dump = begin("JAVA PROFILE 1.0.1", 4);
    for (index, numbers) in dumps.iter().enumerate() {
        if index > 0 {
            dump.end_segment();
            dump.record(DUMP_END, &[]);
            // A record between dumps.
            dump.name(&format!("name {index}"));
            classes(&mut dump);
        }
        list(&mut dump, numbers.clone());
    }
    dump.finish()
}

/// The offset of each record after the head, with its tag.
fn records(file: &[u8]) -> Vec<(usize, u8)> {
    let mut at = file.iter().position(|&byte| byte == 0).unwrap() + 1 + 4 + 8;
    let mut records = Vec::new();
    while at < file.len() {
        records.push((at, file[at]));
        at += 9 + u32::from_be_bytes(*file[at + 5..].first_chunk().unwrap()) as usize;
    }
    records
}

/// The same file with a HEAP DUMP for each dump.
fn without_segments(mut file: Vec<u8>) -> Vec<u8> {
    for (at, tag) in records(&file).into_iter().rev() {
        match tag {
            SEGMENT => file[at] = HEAP_DUMP,
            DUMP_END => drop(file.drain(at..at + 9)),
            _ => {}
        }
    }
    file
}

#[test]
fn a_dump_of_several_is_chosen() {
    check(&file(0..9, 8), from_ref(&(0..9)));
    check(&without_segments(file(0..9, 4)), from_ref(&(0..9)));
    // One after the other, by `cat`.
    let both = [file(0..50, 8), file(100..101, 4), without_segments(file(7..400, 8))].concat();
    check(&both, &[0..50, 100..101, 7..400]);
    let dumps = [0..5, 10..30, 40..41];
    check(&agent(&dumps), &dumps);
    check(&without_segments(agent(&dumps)), &dumps);
    check(&[agent(&dumps[..2]), file(60..70, 8)].concat(), &[0..5, 10..30, 60..70]);
}

/// Its writer could not go back to set it.
#[test]
fn heap_dump_without_a_length_goes_to_the_end() {
    let plain = without_segments(file(3..300, 8));
    let (at, tag) = *records(&plain).last().unwrap();
    assert_eq!(tag, HEAP_DUMP);
    let mut zero = plain;
    zero[at + 5..at + 9].fill(0);
    check(&zero, from_ref(&(3..300)));
}

/// The length in the record is that modulo 2^32. The file has holes.
#[test]
fn heap_dump_of_more_than_4_gib_has_its_true_length() {
    let (mut first, second) = (without_segments(file(3..300, 8)), file(0..7, 8));
    let (at, _) = *records(&first).last().unwrap();
    let content_bytes = first.len() - at - 9;
    // An array of 2^32 bytes begins the dump: its content is a hole.
    let mut array = Dump::with_title("", 8);
    array.primitives(0x9999, 1, FieldType::Long, &[]);
    let mut array = array.finish();
    let (array_at, _) = (1 + 4 + 8 + 9, ());
    let mut array = array.split_off(array_at);
    array.truncate(1 + 8 + 4 + 4 + 1);
    array[13..17].copy_from_slice(&(1_u32 << 29).to_be_bytes());
    let length = (content_bytes + array.len()) as u32;
    first[at + 5..at + 9].copy_from_slice(&length.to_be_bytes());
    let rest = first.split_off(at + 9);
    let (_folder, path) = dump::file(&[&first[..], &array].concat());
    let file = File::options().write(true).open(&path).unwrap();
    let begin = (first.len() + array.len()) as u64 + (1 << 32);
    file.write_all_at(&rest, begin).unwrap();
    file.write_all_at(&second, begin + rest.len() as u64).unwrap();
    let open = |dump_number| {
        let options = Options { dump_number, ..Options::default() };
        Input::open(&path, &options, &mut NoWatch).unwrap()
    };
    assert_eq!(open(None).dump_count(), 2);
    assert_eq!(open(Some(1)).len(), begin + rest.len() as u64);
    assert_eq!(content(&open(Some(2))), second);
}

/// A file that is cut off anywhere has the dumps that begin before.
#[test]
fn files_that_are_cut_off_have_their_dumps() {
    let (first, second) = (file(0..20, 8), file(100..120, 8));
    let whole = [first.clone(), second].concat();
    for cut in first.len()..whole.len() {
        let input = choose(&whole[..cut], Some(1)).unwrap();
        assert_eq!(content(&input).len(), first.len(), "{cut}");
        assert!((1..=2).contains(&input.dump_count()));
    }
    let input = choose(&whole[..whole.len() - 40], None).unwrap();
    assert_eq!((input.dump_number(), input.dump_count()), (2, 2));
    for cut in 0..first.len() {
        match choose(&first[..cut], None) {
            Ok(input) => assert_eq!(input.len(), cut as u64),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn what_is_no_record_belongs_to_the_dump_at_hand() {
    let mut bytes = file(0..20, 8);
    bytes.extend([0x77; 5000]);
    let (_folder, path) = dump::file(&bytes);
    let input = Input::open(&path, &Options::default(), &mut NoWatch).unwrap();
    assert_eq!((input.dump_count(), input.len()), (1, bytes.len() as u64));
    assert!(input.is_in_place());
}
