//! Reading of class files: those of javac, and broken ones.
#![forbid(unsafe_code)]

mod support;

use std::fs;

use perk_classfile::{ClassFile, Error, Operands, access, opcode, tag};
use perk_testkit::fixture;
use support::{Assembler, Body, class_of};

const SOURCE: &str = "public abstract class Read extends Thread implements Runnable, Cloneable {
    static final long BIG = 5_000_000_000L;
    private transient int field;
    abstract void none();
    native void other();
    static String text(int n) {
        Runnable r = () -> System.out.println(n);
        r.run();
        return switch (n) {
            case 1 -> \"h\\u00e9\\u0000\";
            case 900 -> String.valueOf(BIG + 700_000);
            default -> throw new IllegalStateException();
        };
    }
}";

#[test]
fn a_class_of_javac_is_read() {
    let bytes = fs::read(fixture::compile_text("Read", SOURCE).join("Read.class")).unwrap();
    let class = ClassFile::parse(&bytes).unwrap();
    assert_eq!(class.version(), (61, 0));
    assert_eq!(class.access_flags() & access::ABSTRACT, access::ABSTRACT);
    assert_eq!(class.name(), Ok(&b"Read"[..]));
    assert_eq!(class.super_name(), Ok(Some(&b"java/lang/Thread"[..])));
    let interfaces: Vec<_> = class.interfaces().map(Result::unwrap).collect();
    assert_eq!(interfaces, [&b"java/lang/Runnable"[..], b"java/lang/Cloneable"]);
    let fields: Vec<_> = class.fields().map(|it| it.name().unwrap()).collect();
    assert_eq!(fields, [&b"BIG"[..], b"field"]);
    assert!(class.attributes().any(|it| it.name == b"SourceFile" && it.contents.len() == 2));
    for (name, flag) in [("none", access::ABSTRACT), ("other", access::NATIVE)] {
        let method = class.methods().find(|it| it.name() == Ok(name.as_bytes())).unwrap();
        assert_eq!(method.access_flags() & flag, flag);
        assert!(method.code().unwrap().is_none());
    }
}

#[test]
fn constants_of_instructions_are_read() {
    let bytes = fs::read(fixture::compile_text("Read", SOURCE).join("Read.class")).unwrap();
    let class = ClassFile::parse(&bytes).unwrap();
    let pool = class.pool();
    let method = class.methods().find(|it| it.name() == Ok(b"text")).unwrap();
    assert_eq!(method.descriptor(), Ok(&b"(I)Ljava/lang/String;"[..]));
    let code = method.code().unwrap().unwrap();
    let mut seen = Vec::new();
    for instruction in code.instructions() {
        let instruction = instruction.unwrap();
        let Operands::Constant(index) = instruction.operands() else { continue };
        match (instruction.opcode, pool.tag(index).unwrap()) {
            (opcode::INVOKEDYNAMIC, _) => seen.push(pool.dynamic(index).unwrap().0.to_vec()),
            (opcode::NEW, _) => seen.push(pool.class_name(index).unwrap().to_vec()),
            (opcode::LDC, tag::STRING) => seen.push(pool.string(index).unwrap().to_vec()),
            (opcode::LDC2_W, _) => seen.push(pool.long(index).unwrap().to_string().into()),
            (_, _) if instruction.is_invoke() => {
                let callee = pool.member_ref(index).unwrap();
                let is_interface = instruction.opcode == opcode::INVOKEINTERFACE;
                assert_eq!(callee.is_interface, is_interface);
                seen.push([callee.class, b".", callee.name, callee.descriptor].concat());
            }
            other => panic!("{other:?}"),
        }
    }
    // Modified UTF-8: no byte is 0.
    let expected: [&[u8]; 7] = [
        b"run",
        b"java/lang/Runnable.run()V",
        b"h\xc3\xa9\xc0\x80",
        b"5000700000",
        b"java/lang/String.valueOf(J)Ljava/lang/String;",
        b"java/lang/IllegalStateException",
        b"java/lang/IllegalStateException.<init>()V",
    ];
    assert_eq!(seen, expected);
    let lines: Vec<_> = code.line_numbers().unwrap().map(|it| (it.start_pc, it.line)).collect();
    assert_eq!(lines.first(), Some(&(0, 7)));
    assert!(lines.is_sorted() && lines.len() >= 5, "{lines:?}");
}

#[test]
fn a_wrong_index_is_an_error_that_says_what_is_expected() {
    let bytes = class_of(&Body { code: vec![177], ..Body::default() });
    let class = ClassFile::parse(&bytes).unwrap();
    let pool = class.pool();
    // Constant 1 is the name of the class, constant 2 the class.
    let wrong = |offset, index, expected| Error::Constant { offset, index, expected };
    assert_eq!(pool.class_name(1), Err(wrong(10, 1, "a class")));
    assert_eq!(pool.utf8(2), Err(wrong(17, 2, "a string")));
    let end = bytes.windows(6).position(|it| it == [0, 0x21, 0, 2, 0, 4]).unwrap();
    for index in [0, 100] {
        assert_eq!(pool.member_ref(index), Err(wrong(end, index, "a field or method")));
    }
    assert_eq!(
        pool.long(2).unwrap_err().to_string(),
        "offset 17: constant 2 is not a long constant"
    );
}

#[test]
fn broken_files_are_errors_with_their_offsets() {
    let unexpected = |offset, expected, found| Error::Unexpected { offset, expected, found };
    let error = |bytes: &[u8]| ClassFile::parse(bytes).unwrap_err();
    assert_eq!(error(b"PK\x03\x04"), unexpected(0, "a class file", 0x504b_0304));
    assert_eq!(error(b""), Error::Truncated { offset: 0, expected: "a class file" });
    let head = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52];
    let file = |rest: &[u8]| [&head[..], rest].concat();
    assert_eq!(error(&file(&[0, 2, 2])), unexpected(10, "a constant's tag", 2));
    let count = "the count of constants and one";
    assert_eq!(error(&file(&[0, 0])), unexpected(8, count, 0));
    // A long whose second index would be the count.
    assert_eq!(error(&file(&[0, 2, 5, 0, 0, 0, 0, 0, 0, 0, 1])), unexpected(8, count, 2));
}

#[test]
fn code_that_cannot_be_is_an_error() {
    let error = |bytes: &[u8]| {
        let class = ClassFile::parse(bytes).unwrap();
        class.method(0).unwrap().code().unwrap_err().to_string()
    };
    let empty = error(&class_of(&Body::default()));
    assert!(empty.ends_with("expected a length of code from 1 to 65535, found 0x0"), "{empty}");
    let long = error(&class_of(&Body { code: vec![0; 65_536], ..Body::default() }));
    assert!(long.ends_with("expected a length of code from 1 to 65535, found 0x10000"), "{long}");
}

#[test]
fn two_codes_of_one_method_are_an_error() {
    let mut class = Assembler::new(52, "Twice");
    class.method("run", "()V", &Body { code: vec![177], ..Body::default() });
    let mut bytes = class.finish();
    // The attribute, found from the end of the file: the class has no attributes. Its length is 12.
    let attribute = bytes[bytes.len() - 2 - 19..bytes.len() - 2].to_vec();
    let count_at = bytes.len() - 2 - 19 - 2;
    assert_eq!(bytes[count_at..count_at + 2], [0, 1]);
    bytes[count_at + 1] = 2;
    let at = bytes.len() - 2;
    bytes.splice(at..at, attribute);
    let error = ClassFile::parse(&bytes).unwrap_err().to_string();
    assert!(error.contains("expected one attribute Code at most"), "{error}");
}
