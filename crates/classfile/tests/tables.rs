//! The tables of a method's code after an edit, on bytes made by hand.
#![forbid(unsafe_code)]

mod support;

use perk_classfile::{ClassFile, Error, MethodEdit, Reach, SkipReason};
use support::{Assembler, Body, class_of, edit, edited, words};

/// Two bytes that do nothing.
const PROBE: [u8; 2] = [0, 0];

/// `iconst_0; pop; iconst_0; pop; return` with an attribute.
fn straight(name: &'static str, contents: Vec<u8>) -> Body {
    let attributes = vec![(name, contents)];
    Body { max_stack: 1, code: vec![3, 87, 3, 87, 177], attributes, ..Body::default() }
}

/// Inserts a probe for the fall-through to pc 2, and a longer one for all paths to it.
fn at_2(edit: &mut MethodEdit) {
    edit.insert(2, Reach::FallThrough, &PROBE);
    edit.insert(2, Reach::All, &[0, 0, 0]);
}

fn contents(body: &Body) -> &[u8] {
    &body.attributes[0].1
}

#[test]
fn line_numbers_point_behind_what_only_falls_through() {
    let body = straight("LineNumberTable", words(&[3, 2, 11, 0, 10, 4, 12]));
    let new = edited(&body, |edit| {
        edit.insert(0, Reach::FallThrough, &PROBE);
        at_2(edit);
    });
    assert_eq!(new.code, [0, 0, 3, 87, 0, 0, 0, 0, 0, 3, 87, 177]);
    assert_eq!(contents(&new), words(&[3, 6, 11, 0, 10, 11, 12]));
}

#[test]
fn line_numbers_are_those_of_the_file() {
    let body = straight("LineNumberTable", words(&[2, 2, 11, 0, 10]));
    let bytes = class_of(&body);
    let class = ClassFile::parse(&bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    let lines: Vec<_> = code.line_numbers().unwrap().map(|it| (it.start_pc, it.line)).collect();
    assert_eq!(lines, [(2, 11), (0, 10)]);
    let bytes = class_of(&straight("LineNumberTable", words(&[2, 2, 11])));
    let class = ClassFile::parse(&bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    assert!(matches!(code.line_numbers().err(), Some(Error::Truncated { .. })));
}

#[test]
fn local_variables_keep_what_they_cover() {
    for name in ["LocalVariableTable", "LocalVariableTypeTable"] {
        let table = words(&[3, 0, 2, 7, 8, 0, 2, 3, 7, 8, 1, 2, 0, 7, 8, 2]);
        let body = Body { max_locals: 3, ..straight(name, table) };
        let new = edited(&body, at_2);
        let expected = words(&[3, 0, 2, 7, 8, 0, 2, 8, 7, 8, 1, 2, 0, 7, 8, 2]);
        assert_eq!(contents(&new), expected, "{name}");
        // A JVM refuses a variable that the method does not have.
        let fewer = Body { max_locals: 2, ..body };
        let skipped = edit(&class_of(&fewer), at_2).skipped;
        assert!(matches!(skipped[0].reason, SkipReason::Malformed(_)), "{name}: {skipped:?}");
    }
}

#[test]
fn exception_ranges_leave_out_what_is_inserted_at_their_end() {
    let mut body = straight("LineNumberTable", words(&[0]));
    body.exceptions = vec![[0, 2, 2, 0], [2, 5, 4, 9]];
    let new = edited(&body, |edit| {
        at_2(edit);
        edit.insert(4, Reach::All, &PROBE);
    });
    // The second covers its own handler, but not the code inserted there.
    assert_eq!(new.exceptions, [[0, 2, 4, 0], [4, 9, 9, 9], [11, 12, 9, 9]]);
}

#[test]
fn frames_of_each_form_are_shifted() {
    // same, same_locals_1, chop, append (int), same_extended, full; each at the next pc.
    let mut frames = words(&[6]);
    frames.extend([1, 64, 1]);
    frames.extend([250, 0, 0, 252, 0, 0, 1, 251, 0, 0, 255, 0, 0, 0, 1, 5, 0, 2, 2, 7, 0, 9]);
    let attributes = vec![("StackMapTable", frames)];
    let code = vec![0, 0, 0, 0, 0, 0, 0, 177];
    let body = Body { code, attributes, ..Body::default() };
    let new = edited(&body, |edit| (1..7).for_each(|pc| edit.insert(pc, Reach::All, &PROBE)));
    let mut expected = words(&[6]);
    expected.extend([1, 66, 1]);
    expected.extend([250, 0, 2, 252, 0, 2, 1, 251, 0, 2, 255, 0, 2, 0, 1, 5, 0, 2, 2, 7, 0, 9]);
    assert_eq!(contents(&new), expected);
    let new = edited(&body, |edit| {
        edit.insert(1, Reach::FallThrough, &[0; 70]);
        edit.insert(1, Reach::All, &[0; 70]);
    });
    assert_eq!(contents(&new)[2..10], [251, 0, 71, 247, 0, 70, 1, 250]);
}

#[test]
fn a_frame_at_pc_0_stays_the_first() {
    // The loop `0: goto 0`; `3: return`.
    let attributes = vec![("StackMapTable", [&words(&[2])[..], &[0, 2]].concat())];
    let body = Body { code: vec![167, 0, 0, 177], attributes, ..Body::default() };
    assert_eq!(contents(&edited(&body, |_| {})), contents(&body));
    let new = edited(&body, |edit| edit.insert(0, Reach::FallThrough, &PROBE));
    assert_eq!(new.code, [0, 0, 167, 0, 0, 177]);
    assert_eq!(contents(&new), [0, 2, 2, 2]);
    let new = edited(&body, |edit| edit.insert(0, Reach::All, &PROBE));
    assert_eq!(new.code, [0, 0, 167, 0xff, 0xfe, 177]);
    assert_eq!(contents(&new), [0, 2, 0, 4]);
}

#[test]
fn uninitialized_objects_are_named_by_their_new() {
    // 0: new; 3: return, with a frame at 3 that has the object made at 0 on the stack, and in a
    // local.
    let frame = [&words(&[1])[..], &[255, 0, 3, 0, 2, 1, 8, 0, 0, 0, 1, 8, 0, 0]].concat();
    let code = vec![187, 0, 1, 177];
    let attributes = vec![("StackMapTable", frame)];
    let body = Body { code, attributes, ..Body::default() };
    let new = edited(&body, |edit| {
        edit.insert(0, Reach::All, &PROBE);
        edit.insert(3, Reach::FallThrough, &PROBE);
    });
    assert_eq!(contents(&new)[2..], [255, 0, 7, 0, 2, 1, 8, 0, 2, 0, 1, 8, 0, 2]);
}

#[test]
fn the_handler_of_all_comes_last_with_its_frame() {
    let body = straight("StackMapTable", [&words(&[1])[..], &[2]].concat());
    let handler = |edit: &mut MethodEdit| {
        at_2(edit);
        edit.catch_all_contained(7, &[0]);
        edit.cover(0..2);
        edit.cover(2..5);
    };
    let new = edited(&body, handler);
    // The exception is in a local variable while the code runs, also if the code itself throws.
    assert_eq!(new.code, [3, 87, 0, 0, 0, 0, 0, 3, 87, 177, 75, 0, 42, 191, 87, 42, 191]);
    assert_eq!(new.exceptions, [[11, 12, 14, 0], [0, 2, 10, 0], [4, 10, 10, 0]]);
    assert_eq!((new.max_stack, new.max_locals), (7, 1));
    assert_eq!(contents(&new)[..11], [0, 3, 4, 255, 0, 5, 0, 0, 0, 1, 7]);
    assert_eq!(contents(&new)[13..20], [255, 0, 3, 0, 1, 7, contents(&new)[11]]);

    let body = straight("LineNumberTable", words(&[0]));
    let new = edited(&body, handler);
    let names: Vec<_> = new.attributes.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["LineNumberTable", "StackMapTable"]);
    assert_eq!(new.attributes[1].1[..10], [0, 2, 255, 0, 10, 0, 0, 0, 1, 7]);
}

#[test]
fn what_contained_code_throws_is_dropped_before_a_return() {
    let ways: [(u8, &str, u16, u8, u8); 6] = [
        (172, "()I", 1, 59, 26),
        (173, "()J", 2, 63, 30),
        (174, "()F", 1, 67, 34),
        (175, "()D", 2, 71, 38),
        (176, "()[I", 1, 75, 42),
        (177, "()V", 0, 0, 0),
    ];
    for (returns, descriptor, words, store, load) in ways {
        let mut class = Assembler::new(61, "Returns");
        class.method("run", descriptor, &Body { code: vec![0, returns], ..Body::default() });
        let edited = edit(&class.finish(), |edit| edit.insert_contained(1, &PROBE));
        let new = support::body_of(&edited.bytes);
        let kept = |code: &[u8]| if words == 0 { Vec::new() } else { code.to_vec() };
        let parts =
            [&[0][..], &kept(&[store]), &PROBE, &kept(&[load]), &[returns, 87], &kept(&[load])];
        assert_eq!(new.code, [&parts.concat()[..], &[returns]].concat(), "{descriptor}");
        let (at, handler) = (1 + kept(&[0]).len() as u16, 4 + 2 * kept(&[0]).len() as u16);
        assert_eq!(new.exceptions, [[at, at + 2, handler, 0]], "{descriptor}");
        assert_eq!(new.max_locals, words, "{descriptor}");
    }
}

/// A local variable that a handler of the return needs is not written: the value gets a local
/// variable of its own.
#[test]
fn a_return_that_is_covered_keeps_the_local_variables() {
    let body = Body {
        code: vec![3, 172, 172],
        max_locals: 1,
        exceptions: vec![[0, 2, 2, 0]],
        ..Body::default()
    };
    let new = edited(&body, |edit| edit.insert_contained(1, &PROBE));
    assert_eq!(new.code, [3, 60, 0, 0, 27, 172, 172, 87, 27, 172]);
    assert_eq!(new.exceptions, [[2, 4, 7, 0], [0, 6, 6, 0]]);
    assert_eq!(new.max_locals, 2);
}

/// At a handler, its locals and its exception are known after the code as they are before it.
#[test]
fn what_contained_code_throws_is_dropped_at_a_handler() {
    // 0: iconst_0, istore_0; 2: goto 6; 5: athrow, the handler, with an int in local 0; 6: return.
    let frames = [&words(&[2])[..], &[255, 0, 5, 0, 1, 1, 0, 1, 7, 0, 2, 250, 0, 0]].concat();
    let body = Body {
        code: vec![3, 59, 167, 0, 4, 191, 177],
        max_locals: 1,
        exceptions: vec![[0, 5, 5, 0]],
        attributes: vec![("StackMapTable", frames)],
        ..Body::default()
    };
    let new = edited(&body, |edit| edit.insert_contained(5, &PROBE));
    assert_eq!(new.code, [3, 59, 167, 0, 8, 76, 0, 0, 43, 191, 177, 87, 43, 167, 0xff, 0xfc]);
    assert_eq!(new.exceptions, [[6, 8, 11, 0], [0, 5, 5, 0]]);
    assert_eq!(new.max_locals, 2);
    let frames = contents(&new);
    // The frame of the handler, the same where its own code begins, that of the return, and that of
    // the handler that drops exceptions.
    assert_eq!(frames[..12], [0, 4, 255, 0, 5, 0, 1, 1, 0, 1, 7, 0]);
    assert_eq!(frames[12..22], [2, 247, 0, 3, 7, 0, 2, 250, 0, 0]);
    assert_eq!(frames[22..32], [255, 0, 0, 0, 2, 1, 7, 0, 2, 0]);
}

#[test]
fn old_classes_get_no_frame() {
    let mut class = Assembler::new(49, "Old");
    class.method("run", "()V", &Body { code: vec![177], ..Body::default() });
    let edited = edit(&class.finish(), |edit| edit.catch_all(0, &[]));
    let body = support::body_of(&edited.bytes);
    assert_eq!((body.code, body.attributes), (vec![177, 191], vec![]));
}

#[test]
fn type_annotations_follow_their_instructions() {
    let mut annotations = words(&[5]);
    let rest = |target: &[u8]| [target, &[1, 3, 0], &words(&[7, 0])].concat();
    annotations.extend(rest(&[&[0x40, 0, 1][..], &words(&[2, 3, 1])].concat()));
    annotations.extend(rest(&[0x42, 0, 3]));
    annotations.extend(rest(&[0x44, 0, 2]));
    annotations.extend(rest(&[0x47, 0, 4, 1]));
    // An annotation with an int, an enum, an annotation and an array.
    annotations.extend([0x43, 0, 0, 0]);
    annotations.extend(words(&[7, 4, 1]));
    annotations.extend([b'I', 0, 9, 0, 2, b'e', 0, 1, 0, 2, 0, 3, b'@', 0, 7, 0, 0]);
    annotations.extend([0, 4, b'[', 0, 2, b's', 0, 1, b'c', 0, 2]);
    for name in ["RuntimeVisibleTypeAnnotations", "RuntimeInvisibleTypeAnnotations"] {
        let new = edited(&straight(name, annotations.clone()), at_2);
        let mut expected = annotations.clone();
        expected[8] = 8; // the local's count of bytes
        expected[30] = 7; // behind the probes at pc 2
        expected[40] = 9; // pc 4
        assert_eq!(contents(&new), expected, "{name}");
    }
}

#[test]
fn annotations_in_annotations_end_somewhere() {
    let mut deep = words(&[1]);
    deep.extend([0x43, 0, 0, 0]);
    deep.extend(words(&[7, 1, 1]));
    deep.extend([b'[', 0, 1].repeat(100_000));
    let body = straight("RuntimeVisibleTypeAnnotations", deep);
    let edited = edit(&class_of(&body), at_2);
    let [skipped] = &edited.skipped[..] else { panic!("not skipped") };
    assert!(matches!(skipped.reason, SkipReason::Malformed(Error::Unexpected { .. })));
}

#[test]
fn attributes_that_no_jvm_reads_are_left_out() {
    for name in ["StackMap", "CharacterRangeTable", "CoverageTable", "Mystery"] {
        let mut body = straight(name, vec![0, 2]);
        body.attributes.push(("LineNumberTable", words(&[1, 2, 10])));
        let edited = edit(&class_of(&body), at_2);
        assert_eq!(edited.skipped, [], "{name}");
        let class = ClassFile::parse(&edited.bytes).unwrap();
        let code = class.method(0).unwrap().code().unwrap().unwrap();
        let names: Vec<_> = code.attributes().map(|it| it.name.to_vec()).collect();
        assert_eq!(names, [b"LineNumberTable"], "{name}");
    }
}

#[test]
fn tables_that_name_no_instruction_are_reported() {
    let code = vec![16, 5, 87, 177];
    for (name, contents) in [
        ("LineNumberTable", words(&[1, 1, 10])),
        ("LocalVariableTable", words(&[1, 0, 1, 1, 1, 0])),
        ("StackMapTable", vec![0, 1, 1]),
        ("RuntimeVisibleTypeAnnotations", vec![0, 1, 0x43, 0, 1, 0, 0, 1, 0, 0]),
    ] {
        let attributes = vec![(name, contents)];
        let body = Body { code: code.clone(), attributes, max_stack: 1, ..Body::default() };
        let edited = edit(&class_of(&body), |edit| edit.insert(2, Reach::All, &PROBE));
        assert_eq!(edited.skipped[0].reason, SkipReason::NotAnInstruction { pc: 1 }, "{name}");
    }
    let body = Body { code, exceptions: vec![[0, 3, 1, 0]], max_stack: 1, ..Body::default() };
    let edited = edit(&class_of(&body), |_| {});
    assert_eq!(edited.skipped[0].reason, SkipReason::NotAnInstruction { pc: 1 });
}
