//! Files that are not whole, and files that are no profiles.

use super::*;

#[test]
fn says_what_is_wrong() {
    #[track_caller]
    fn check(bytes: &[u8], message: &str) {
        assert_eq!(read(bytes).unwrap_err().to_string(), message);
    }
    let strings = ["a.x", "samples", "count"];
    check(b"\x0B", "byte 1: expected a field of type 0, 1, 2 or 5");
    check(b"\0\0", "byte 0: expected a field's number, from 1");
    check(b"\x10\0", "byte 0: expected a field of the type that pprof gives it");
    let cut =
        "byte 0: expected the rest of the file: it is cut off before the names of its metrics";
    check(b"x", cut);
    check(b"\x12\x05\x0A\x09", cut);
    check(b"\x12\x02\x0A\x09", "byte 3: expected a length within the message");
    let bytes = file(&strings, |file| {
        value_type(file, 2, 3);
        sample(file, &[1], &[1]);
        sample(file, &[1], &[1, 2]);
    });
    check(&bytes, "byte 15: expected as many values as in the first sample");
    let bytes = file(&strings, |file| sample(file, &[1], &[1]));
    check(&bytes, "byte 2: expected a value for each of the sample types");
    let bytes = file(&strings, |file| {
        value_type(file, 2, 3);
        sample(file, &[1], &[1]);
    });
    check(&bytes, "location[1]: expected an entry of this id, as samples name it");
    let bytes = file(&[], |file| {
        value_type(file, 2, 3);
        sample(file, &[1], &[1]);
        function(file, 1);
    });
    check(&bytes, "sample_type[2]: expected indexes of the string table");
    assert_eq!(fixture::text(&read(&b""[..]).unwrap()), "");
}

#[test]
fn only_profiles_are_recognised() {
    for head in [
        &b""[..],
        b"\n",
        b"\n\nmain;a;b 12\n",
        b"main;a 1\n",
        b"JAVA PROFILE 1.0.1",
        b"{\"$schema\": 1}",
        b"\x7FELF\x02\x01\x01\0\0\0",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"%PDF-1.7\n",
        b"FLR\0\0\x02",
        &[0; 4096],
        &[0xFF; 64],
    ] {
        assert!(!recognise(head), "{head:?}");
    }
    let bytes = written(&fixture::everything());
    // A file that is cut off after the types of its values is still recognised.
    assert!((200..bytes.len()).all(|end| recognise(&bytes[..end])));
}

#[test]
fn a_cut_file_is_read_as_far_as_it_is_whole() {
    let bytes = file(&["a.x", "samples", "count", "b.y"], |file| {
        value_type(file, 2, 3);
        sample(file, &[4, 1], &[3]);
        sample(file, &[1], &[1]);
        function(file, 1);
        function(file, 4);
    });
    let whole = "# samples Count\na.x 1\na.x;b.y 3\n";
    assert_eq!(fixture::text(&read(&bytes[..]).unwrap()), whole);
    // The last name is five bytes of the file.
    for end in bytes.len() - 4..bytes.len() {
        let profile = read(&bytes[..end]).unwrap();
        assert_eq!(fixture::text(&profile), whole.replace("b.y", "[unknown]"));
        let note = format!("cut off at byte {}: lost names are [unknown]", bytes.len() - 5);
        assert_eq!(profile.notes, [note]);
    }
    let error = read(&bytes[..bytes.len() - 6]).unwrap_err().to_string();
    assert!(error.ends_with("it is cut off before the names of its metrics"), "{error}");
}

#[test]
fn cut_anywhere_it_reads_or_says_why_not() {
    let bytes = written(&fixture::everything());
    for end in 0..bytes.len() {
        match read(&bytes[..end]) {
            Ok(profile) => drop(written(&profile)),
            Err(error) => assert!(!matches!(error, Error::Input { .. }), "{error}"),
        }
    }
}

#[test]
fn flipped_bits_do_no_harm() {
    let mut profile = fixture::everything();
    profile.accounting = None;
    let bytes = written(&profile);
    for at in (0..bytes.len() * 8).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        if let Ok(profile) = read(&damaged[..]) {
            written(&profile);
        }
    }
}

proptest! {
    #[test]
    fn frames_survive(stacks in fixture::stacks()) {
        let profile = fixture::of_stacks(&stacks);
        let read = read(&written(&profile)[..]).unwrap();
        prop_assert_eq!(fixture::frames(&read), fixture::frames(&profile));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        recognise(&bytes);
        let _ = read(&bytes[..]);
    }
}
