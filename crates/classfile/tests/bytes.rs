//! Any bytes: errors, never a panic.
#![forbid(unsafe_code)]

mod support;

use std::fs;

use perk_classfile::{ClassEditor, ClassFile, MethodEdit, Reach};
use perk_testkit::fixture;
use proptest::prelude::*;
use support::{Body, class_of, probe_all};

/// A class of javac with some of everything.
fn real() -> Vec<u8> {
    let source = perk_testkit::workspace().join("crates/classfile/tests/java/Everything.java");
    fs::read(fixture::compile_files(&[&source]).join("Everything.class")).unwrap()
}

/// Reads all parts of a class.
fn read_all(class: &ClassFile<'_>) {
    let _ = (class.name(), class.super_name(), class.interfaces().count());
    let _ = class.attributes().count();
    for index in 0..=class.pool().count() {
        let pool = class.pool();
        let _ = (pool.class_name(index), pool.string(index), pool.member_ref(index));
        let _ = (pool.dynamic(index), pool.name_and_type(index), pool.integer(index));
        let _ = (pool.utf8(index), pool.long(index), pool.tag(index));
    }
    for member in class.fields().chain(class.methods()) {
        let _ = (member.name(), member.descriptor(), member.attributes().count());
        let Ok(Some(code)) = member.code() else { continue };
        let _ = (code.after_this_call(), code.exception_table().count());
        let _ = [false, true].map(|is_constructor| code.initializations(is_constructor).is_ok());
        let _ = code.line_numbers().map(Iterator::count);
        for instruction in code.instructions().flatten() {
            if let perk_classfile::Operands::Switch(switch) = instruction.operands() {
                let _ = switch.cases().count();
            }
        }
    }
}

/// Reads and edits any bytes; the result of an edit must be a class file.
fn try_all(bytes: &[u8]) {
    if let Ok(class) = ClassFile::parse(bytes) {
        read_all(&class);
        assert_eq!(ClassEditor::new(&class).finish().bytes, bytes);
    }
    if let Ok(edited) = probe_all(bytes) {
        ClassFile::parse(&edited.bytes).unwrap();
    }
}

#[test]
fn a_real_class_cut_anywhere_is_an_error() {
    let real = real();
    for end in 0..real.len() {
        let error = ClassFile::parse(&real[..end]).unwrap_err();
        assert!(error.to_string().starts_with("offset "), "{error}");
    }
    let mut longer = real;
    longer.push(0);
    let error = ClassFile::parse(&longer).unwrap_err().to_string();
    assert!(error.ends_with("expected the end of the class file, found 0x0"), "{error}");
}

#[test]
fn every_byte_of_a_real_class_can_be_wrong() {
    let text = "public class Small<T extends Runnable> {
        int field;
        Small(int n) { super(); field = n > 1 ? new Object().hashCode() : n; }
        static String text(Object o) {
            try {
                switch (o.hashCode()) { case 1: return \"a\"; case 3: break; case 900: return null; }
                Runnable r = () -> System.out.println(o);
                r.run();
                return \"x\" + o;
            } catch (RuntimeException e) { return e.getMessage(); }
        }
    }";
    let real = fs::read(fixture::compile_text("Small", text).join("Small.class")).unwrap();
    for at in 0..real.len() {
        let mut changed = real.clone();
        for byte in [0, 0xff, real[at] ^ 1, real[at] ^ 0x80] {
            changed[at] = byte;
            if let Ok(class) = ClassFile::parse(&changed) {
                read_all(&class);
            }
        }
        try_all(&changed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        try_all(&bytes);
        try_all(&[&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52][..], &bytes].concat());
    }

    #[test]
    fn several_wrong_bytes(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut bytes = real();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        try_all(&bytes);
    }

    #[test]
    fn any_code(
        code in prop::collection::vec(any::<u8>(), 1..60),
        exceptions in prop::collection::vec(prop::array::uniform4(0_u16..64), 0..3),
        table in prop::collection::vec(any::<u8>(), 0..40),
        name in prop::sample::select(vec![
            "StackMapTable", "LineNumberTable", "LocalVariableTable", "RuntimeVisibleTypeAnnotations",
        ]),
        insertions in prop::collection::vec((0_u16..60, any::<bool>()), 0..6),
    ) {
        let attributes = vec![(name, table)];
        let bytes = class_of(&Body { code, exceptions, attributes, ..Body::default() });
        try_all(&bytes);
        let class = ClassFile::parse(&bytes).unwrap();
        let mut editor = ClassEditor::new(&class);
        let mut edit = MethodEdit::new();
        for (pc, all) in insertions {
            edit.insert(pc, if all { Reach::All } else { Reach::FallThrough }, &[0, 0]);
        }
        editor.edit_method(0, &edit);
        ClassFile::parse(&editor.finish().bytes).unwrap();
    }

    /// For code of branches and instructions that do nothing: inserted code does not change the
    /// targets of branches.
    #[test]
    fn branches_lead_where_they_led(
        shape in prop::collection::vec((0_usize..4, any::<prop::sample::Index>()), 2..60),
        insertions in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..5, any::<bool>()), 0..20),
    ) {
        // A nop, a goto, an ifeq or a goto_w; pcs first, then targets.
        let lengths = [1, 3, 3, 5];
        let mut pcs = vec![0_usize];
        for (kind, _) in &shape {
            pcs.push(pcs[pcs.len() - 1] + lengths[*kind]);
        }
        let count = shape.len();
        let mut code = Vec::new();
        for (at, (kind, target)) in shape.iter().enumerate() {
            let offset = pcs[target.index(count)] as i32 - pcs[at] as i32;
            let wide = offset.to_be_bytes();
            match kind {
                0 => code.push(4),
                1 => code.extend([167, wide[2], wide[3]]),
                2 => code.extend([153, wide[2], wide[3]]),
                _ => code.extend([&[200][..], &wide].concat()),
            }
        }
        let new = support::edited(&Body { code, ..Body::default() }, |edit| {
            for (at, length, all) in &insertions {
                let reach = if *all { Reach::All } else { Reach::FallThrough };
                edit.insert(pcs[at.index(count)] as u16, reach, &vec![0; *length]);
            }
        });
        let bytes = class_of(&new);
        let class = ClassFile::parse(&bytes).unwrap();
        let code = class.method(0).unwrap().code().unwrap().unwrap();
        // The instructions that are not inserted, by new pc.
        let kept: Vec<_> = code.instructions().map(Result::unwrap).filter(|it| it.opcode != 0).collect();
        prop_assert_eq!(kept.len(), count);
        for (at, instruction) in kept.iter().enumerate() {
            let perk_classfile::Operands::Branch(target) = instruction.operands() else { continue };
            let old_target = shape[at].1.index(count);
            let expected = i32::from(kept[old_target].pc);
            let inserted: usize = insertions.iter()
                .filter(|(at, _, all)| *all && at.index(count) == old_target)
                .map(|(_, length, _)| length)
                .sum();
            prop_assert_eq!(target, expected - inserted as i32);
        }
    }
}
