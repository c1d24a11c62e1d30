//! The instructions, and the rest of the class, after an edit, on bytes made by hand.
#![forbid(unsafe_code)]

mod support;

use perk_classfile::{
    ClassEditor, ClassFile, LocalType, MethodEdit, PoolError, Reach, SkipReason, access,
};
use support::{Assembler, Body, class_of, edit, edited, words};

fn code(code: Vec<u8>) -> Body {
    Body { code, max_stack: 2, max_locals: 3, ..Body::default() }
}

#[track_caller]
fn reason(body: &Body, change: impl FnOnce(&mut MethodEdit)) -> SkipReason {
    let bytes = class_of(body);
    let edited = edit(&bytes, change);
    assert_eq!(edited.bytes, bytes, "a method left alone is as it was");
    edited.skipped.into_iter().next().expect("it is skipped").reason
}

#[test]
fn what_is_inserted_at_one_pc_keeps_its_order() {
    let new = edited(&code(vec![0, 177]), |edit| {
        edit.insert(1, Reach::All, &[4]);
        edit.insert(1, Reach::FallThrough, &[5]);
        edit.insert(1, Reach::All, &[6]);
        edit.insert(0, Reach::All, &[7]);
        edit.insert(1, Reach::FallThrough, &[8]);
        edit.need_stack(3);
        edit.need_stack(1);
        edit.add_local(LocalType::Long);
    });
    assert_eq!(new.code, [7, 0, 5, 8, 4, 6, 177]);
    assert_eq!((new.max_stack, new.max_locals), (5, 5));
}

#[test]
fn jumps_pass_by_what_only_falls_through() {
    // 0: goto 4; 3: nop; 4: ifeq 3; 7: return
    let body = code(vec![167, 0, 4, 0, 153, 0xff, 0xff, 177]);
    let new = edited(&body, |edit| {
        edit.insert(4, Reach::FallThrough, &[1]);
        edit.insert(4, Reach::All, &[2, 2]);
    });
    // 0: goto 5; 3: nop; 4: [1]; 5: [2 2]; 7: ifeq 3; 10: return
    assert_eq!(new.code, [167, 0, 5, 0, 1, 2, 2, 153, 0xff, 0xfc, 177]);
    // A goto does not fall through: code for that path would have no frame.
    let new = edited(&body, |edit| {
        edit.insert(3, Reach::FallThrough, &[1]);
        edit.insert(3, Reach::All, &[2]);
    });
    assert_eq!(new.code, [167, 0, 5, 2, 0, 153, 0xff, 0xfe, 177]);
}

#[test]
fn switches_are_padded_anew() {
    for shift in 0_u8..9 {
        let at = usize::from(shift);
        let mut table = vec![3, 170, 0, 0];
        table.extend([23_i32, 5, 6, 24, 23].iter().flat_map(|it| it.to_be_bytes()));
        table.extend([177, 177]);
        let new = edited(&code(table), |edit| {
            edit.insert(1, Reach::FallThrough, &vec![0; at]);
            edit.insert(25, Reach::All, &[0]);
        });
        let switch = 1 + at;
        let padding = 3 - switch % 4;
        let end = switch + 1 + padding + 20;
        let offset = i32::try_from(end - switch).unwrap();
        let mut expected = [&[3][..], &vec![0; at], &[170], &vec![0; padding]].concat();
        let offsets = [offset, 5, 6, offset + 1, offset];
        expected.extend(offsets.iter().flat_map(|it| it.to_be_bytes()));
        expected.extend([177, 0, 177]);
        assert_eq!(new.code, expected, "shifted by {shift}");

        let mut lookup = vec![170 + 1, 0, 0, 0];
        lookup.extend([28_i32, 2, -9, 28, 900, 0].iter().flat_map(|it| it.to_be_bytes()));
        lookup.push(177);
        let new = edited(&code(lookup), |edit| edit.insert(0, Reach::FallThrough, &vec![0; at]));
        let padding = 3 - at % 4;
        let offset = i32::try_from(1 + padding + 24).unwrap();
        let mut expected = [&vec![0; at][..], &[171], &vec![0; padding]].concat();
        let offsets = [offset, 2, -9, offset, 900, 0];
        expected.extend(offsets.iter().flat_map(|it| it.to_be_bytes()));
        expected.push(177);
        assert_eq!(new.code, expected, "shifted by {shift}");
    }
}

#[test]
fn wide_and_long_instructions_are_copied() {
    let body = code(vec![
        196, 132, 0, 2, 1, 0, 196, 21, 0, 2, 87, 185, 0, 1, 1, 0, 186, 0, 1, 0, 0, 197, 0, 1, 2,
        87, 18, 9, 87, 177,
    ]);
    let new = edited(&body, |edit| edit.insert(6, Reach::All, &[0]));
    assert_eq!(new.code, [&body.code[..6], &[0], &body.code[6..]].concat());
}

/// A jump with `opcode` over `nops` nops to a return.
fn far(opcode: u8, nops: usize) -> Body {
    let offset = u16::try_from(nops + 3).unwrap().to_be_bytes();
    let mut bytes = vec![opcode, offset[0], offset[1]];
    bytes.resize(3 + nops, 0);
    bytes.push(177);
    Body { attributes: vec![("LineNumberTable", words(&[1, nops as u16 + 3, 1]))], ..code(bytes) }
}

#[test]
fn goto_and_jsr_become_wide_where_they_must() {
    for (opcode, wide) in [(167, 200), (168, 201)] {
        let body = far(opcode, 32_764);
        let new = edited(&body, |_| {});
        assert_eq!(new.code, body.code);
        let new = edited(&body, |edit| edit.insert(10, Reach::All, &[0]));
        assert_eq!(new.code[..5], [wide, 0, 0, 0x80, 0x02]);
        assert_eq!(new.code.len(), body.code.len() + 3);
        assert_eq!(new.attributes[0].1, words(&[1, 32_770, 1]));
    }
    // Three jumps that lead far, and one back that is out of reach only because those become wide.
    // 0: nop; 1, 4, 7: goto 32768; 32764: goto 0; 32767: nop; 32768: return
    let mut bytes = vec![0, 167, 0x7f, 0xff, 167, 0x7f, 0xfc, 167, 0x7f, 0xf9];
    bytes.resize(32_764, 0);
    bytes.extend([167, 0x80, 0x04, 0, 177]);
    let new = edited(&code(bytes), |edit| edit.insert(32_767, Reach::All, &[0; 7]));
    let far = [[200, 0, 0, 0x80, 0x0e], [200, 0, 0, 0x80, 0x09], [200, 0, 0, 0x80, 0x04]];
    assert_eq!(new.code[1..16], far.concat());
    assert_eq!(new.code[32_770..32_775], [200, 0xff, 0xff, 0x7f, 0xfe]);
}

#[test]
fn a_wide_goto_stays_wide() {
    let new = edited(&code(vec![200, 0, 0, 0, 6, 0, 177]), |edit| {
        edit.insert(6, Reach::All, &[0]);
        edit.insert(5, Reach::All, &[0]);
    });
    assert_eq!(new.code, [200, 0, 0, 0, 7, 0, 0, 0, 177]);
}

#[test]
fn a_method_whose_condition_is_too_far_is_left_alone() {
    let change = |edit: &mut MethodEdit| edit.insert(10, Reach::All, &[0]);
    assert_eq!(reason(&far(153, 32_764), change), SkipReason::BranchTooFar { pc: 0 });
    assert_eq!(reason(&far(198, 32_764), change), SkipReason::BranchTooFar { pc: 0 });
}

#[test]
fn a_method_that_would_be_too_long_is_left_alone() {
    let mut bytes = vec![0; 65_534];
    bytes.push(177);
    let body = code(bytes);
    assert_eq!(edited(&body, |_| {}).code, body.code);
    let too_large = |what, value| SkipReason::TooLarge { what, value, limit: 65_535 };
    assert_eq!(
        reason(&body, |edit| edit.insert(0, Reach::All, &[0])),
        too_large("bytes of code", 65_536)
    );
    let handler = |edit: &mut MethodEdit| {
        edit.catch_all(0, &[]);
        edit.cover(0..1);
    };
    assert_eq!(reason(&body, handler), too_large("bytes of code", 65_536));
    let small = Body { max_stack: 65_535, max_locals: 65_535, ..code(vec![177]) };
    assert_eq!(reason(&small, |edit| edit.need_stack(1)), too_large("max_stack", 65_536));
    assert_eq!(
        reason(&small, |edit| edit.add_local(LocalType::Object(1))),
        too_large("max_locals", 65_536)
    );
    let mut full = code(vec![177]);
    full.exceptions = vec![[0, 1, 0, 0]; 65_535];
    assert_eq!(reason(&full, handler), too_large("entries of the exception table", 65_536));
}

#[test]
fn an_edit_where_no_instruction_is_changes_nothing() {
    let body = code(vec![16, 1, 87, 177]);
    for pc in [1, 4, 60_000] {
        let not_there = SkipReason::NotAnInstruction { pc: pc.into() };
        assert_eq!(reason(&body, |edit| edit.insert(pc, Reach::All, &[0])), not_there);
        if pc != 4 {
            assert_eq!(reason(&body, |edit| edit.cover(0..pc)), not_there);
        }
    }
    for target in [4, 100] {
        let nowhere = code(vec![167, 0, target, 177]);
        let not_there = SkipReason::NotAnInstruction { pc: target.into() };
        assert_eq!(reason(&nowhere, |_| {}), not_there);
    }
    assert!(matches!(reason(&code(vec![0xfe]), |_| {}), SkipReason::Malformed(_)));
}

#[test]
fn the_rest_of_the_class_stays() {
    let mut class = Assembler::new(52, "Three");
    for name in ["a", "b", "c"] {
        class.method(name, "()V", &code(vec![0, 177]));
    }
    let bytes = class.finish();
    let class = ClassFile::parse(&bytes).unwrap();
    assert_eq!(class.name(), Ok(&b"Three"[..]));
    assert_eq!(class.super_name(), Ok(Some(&b"java/lang/Object"[..])));
    assert_eq!((class.version(), class.access_flags()), ((52, 0), 0x21));
    let mut editor = ClassEditor::new(&class);
    let mut change = MethodEdit::new();
    change.insert(0, Reach::All, &[9]);
    // The edits are out of order; one is repeated, one is of a missing method, and one is wrong.
    assert!(editor.edit_method(2, &change));
    assert!(editor.edit_method(0, &MethodEdit::new()));
    assert!(editor.edit_method(0, &change));
    assert!(!editor.edit_method(3, &change));
    change.insert(9, Reach::All, &[9]);
    assert!(!editor.edit_method(1, &change));
    editor.add_field(access::PUBLIC | access::TRANSIENT, "$perk", "J").unwrap();
    let edited = editor.finish();
    let skipped: Vec<_> = edited.skipped.iter().map(|it| (it.method, &it.reason)).collect();
    let not_there = SkipReason::NotAnInstruction { pc: 9 };
    assert_eq!(skipped, [(3, &SkipReason::NoCode), (1, &not_there)]);
    let new = ClassFile::parse(&edited.bytes).unwrap();
    let codes: Vec<_> =
        new.methods().map(|it| it.code().unwrap().unwrap().bytes().to_vec()).collect();
    assert_eq!(codes, [vec![9, 0, 177], vec![0, 177], vec![9, 0, 177]]);
    let field = new.fields().next().unwrap();
    assert_eq!((field.name(), field.descriptor()), (Ok(&b"$perk"[..]), Ok(&b"J"[..])));
    assert_eq!((field.access_flags(), field.attributes().count()), (0x81, 0));
}

#[test]
fn a_full_pool_is_reported() {
    let bytes = class_of(&code(vec![177]));
    let class = ClassFile::parse(&bytes).unwrap();
    let mut editor = ClassEditor::new(&class);
    let mut value = 0;
    while editor.pool().integer(value).is_ok() {
        value += 1;
    }
    let mut change = MethodEdit::new();
    change.catch_all(0, &[]);
    assert!(!editor.edit_method(0, &change));
    let edited = editor.finish();
    assert_eq!(edited.skipped[0].reason, SkipReason::Pool(PoolError::Full));
    let new = ClassFile::parse(&edited.bytes).unwrap();
    assert_eq!(new.pool().count(), 65_535);
}

/// Returns the result of `after_this_call` for the first constructor of a class. `body` makes its
/// code from the constants `Made.<init>`, `Object.<init>` and the class Object.
fn after_this_call(body: impl FnOnce(u8, u8, u8) -> Body) -> Option<u16> {
    let mut class = Assembler::new(52, "Made");
    let own = class.method_ref("Made", "<init>", "()V");
    let object = class.method_ref("java/lang/Object", "<init>", "()V");
    let name = class.class("java/lang/Object");
    let body = body(own as u8, object as u8, name as u8);
    class.method_with(1, "<init>", "()V", &body);
    let bytes = class.finish();
    let class = ClassFile::parse(&bytes).unwrap();
    class.method(0).unwrap().code().unwrap().unwrap().after_this_call()
}

#[test]
fn the_call_that_initialises_this_is_found() {
    let after = after_this_call(|_, object, _| code(vec![42, 183, 0, object, 177]));
    assert_eq!(after, Some(4));
    let after = after_this_call(|own, _, _| code(vec![42, 183, 0, own, 177]));
    assert_eq!(after, Some(4));
    // Two nested new objects are made before.
    let after = after_this_call(|_, object, name| {
        let new = [187, 0, name, 89];
        let init = [183, 0, object];
        code([&new[..], &new, &init, &[87], &init, &[87, 42], &init, &[177]].concat())
    });
    assert_eq!(after, Some(20));
}

#[test]
fn a_call_that_cannot_be_decided_is_none() {
    assert_eq!(after_this_call(|_, _, _| code(vec![177])), None);
    assert_eq!(after_this_call(|_, _, _| code(vec![183, 0, 99, 177])), None);
    // 0: iconst_0; 1: ifeq 8; 4: aload_0; 5: invokespecial; 8: return
    let over = [3, 153, 0, 7, 42, 183, 0];
    let after = after_this_call(|_, object, _| code([&over[..], &[object, 177]].concat()));
    assert_eq!(after, None);
    // A handler after the call covers the code before it.
    let after = after_this_call(|_, object, _| Body {
        exceptions: vec![[0, 1, 4, 0]],
        ..code(vec![42, 183, 0, object, 177])
    });
    assert_eq!(after, None);
    // The frames have `this` uninitialised after the call, or initialised before it.
    for (frame, expected) in [
        ([0, 1, 255, 0, 4, 0, 1, 6, 0, 0], None),
        ([0, 1, 255, 0, 4, 0, 1, 0, 0, 0], Some(4)),
        ([0, 1, 255, 0, 1, 0, 1, 0, 0, 0], None),
    ] {
        let after = after_this_call(|_, object, _| Body {
            attributes: vec![("StackMapTable", frame.to_vec())],
            ..code(vec![42, 183, 0, object, 177])
        });
        assert_eq!(after, expected);
    }
}
