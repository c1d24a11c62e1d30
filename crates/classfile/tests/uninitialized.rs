//! Tests of the calls of constructors: the objects, and their places after the calls.
#![forbid(unsafe_code)]

mod support;

use perk_classfile::Place::{Dropped, Local, Top};
use perk_classfile::UninitializedObject::{New, This};
use perk_classfile::{
    ClassFile, EarlyWrite, Initialization, Initializations, Place, UninitializedObject, opcode,
};
use support::{Assembler, Body};

const ACONST_NULL: u8 = 0x01;
const ILOAD_0: u8 = opcode::ILOAD_0;
const ALOAD_2: u8 = opcode::ALOAD_0 + 2;
const ASTORE_2: u8 = opcode::ASTORE_0 + 2;
const DUP: u8 = opcode::DUP;
const POP: u8 = opcode::POP;

/// A part of a method's code.
#[derive(Clone, Copy)]
enum CodePart {
    Code(&'static [u8]),
    /// `new`, of 3 bytes.
    Make,
    /// A call of a constructor without parameters, with an object, or with a `long`; of 3 bytes.
    Init,
    InitObject,
    InitLong,
    /// `putfield` of an `int`, of 3 bytes.
    Put,
}
use CodePart::{Code, Init, InitLong, InitObject, Make, Put};

/// Assembles a method that ends with `pop` and `return`, and finds its calls.
fn find(parts: &[CodePart], exceptions: &[[u16; 4]], is_constructor: bool) -> Initializations {
    try_find(parts, exceptions, is_constructor).unwrap()
}

fn try_find(
    parts: &[CodePart],
    exceptions: &[[u16; 4]],
    is_constructor: bool,
) -> Option<Initializations> {
    let mut class = Assembler::new(49, "Some");
    let some = class.class("Some");
    let [none, object, long] = ["()V", "(Ljava/lang/Object;)V", "(J)V"]
        .map(|descriptor| class.method_ref("Some", "<init>", descriptor));
    let field = class.field_ref("Some", "field", "I");
    let mut code = Vec::new();
    for part in parts {
        let (opcode, index) = match *part {
            Code(bytes) => {
                code.extend(bytes);
                continue;
            }
            Make => (opcode::NEW, some),
            Init => (opcode::INVOKESPECIAL, none),
            InitObject => (opcode::INVOKESPECIAL, object),
            InitLong => (opcode::INVOKESPECIAL, long),
            Put => (opcode::PUTFIELD, field),
        };
        code.push(opcode);
        code.extend(index.to_be_bytes());
    }
    code.extend([POP, opcode::RETURN]);
    let exceptions = exceptions.to_vec();
    let body = Body { max_stack: 9, max_locals: 9, code, exceptions, attributes: vec![] };
    class.method("method", "()V", &body);
    let bytes = class.finish();
    let class = ClassFile::parse(&bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    code.initializations(is_constructor).unwrap()
}

/// Returns the objects and places of the calls in a method.
fn places(parts: &[CodePart]) -> Vec<(UninitializedObject, Place)> {
    find(parts, &[], false).calls.iter().map(|it| (it.object, it.place)).collect()
}

#[test]
fn an_object_is_where_its_duplicate_is() {
    assert_eq!(places(&[Make, Code(&[DUP]), Init]), [(New(0), Top)]);
    let long = Code(&[opcode::LCONST_0]);
    assert_eq!(places(&[Make, Code(&[DUP]), long, InitLong]), [(New(0), Top)]);
    let call = Initialization { next_pc: 7, object: New(0), place: Top };
    assert_eq!(find(&[Make, Code(&[DUP]), Init], &[], false).calls, [call]);
    // The argument is there before the object.
    let (null, below) = (Code(&[ACONST_NULL]), Code(&[opcode::DUP_X1, opcode::SWAP]));
    assert_eq!(places(&[null, Make, below, InitObject]), [(New(1), Top)]);
    let stored = Code(&[ASTORE_2, ALOAD_2]);
    assert_eq!(places(&[Make, stored, Init]), [(New(0), Local(2))]);
}

#[test]
fn an_object_without_a_duplicate_can_be_duplicated_in_straight_code() {
    assert_eq!(places(&[Make, Init]), [(New(0), Dropped { held: 1 })]);
    let null = Code(&[ACONST_NULL]);
    let nested = [Make, Make, Code(&[DUP]), null, InitObject, InitObject];
    assert_eq!(places(&nested), [(New(3), Top), (New(0), Dropped { held: 1 })]);
    let nested = [Make, Make, Init, null, InitObject];
    assert_eq!(places(&nested), [(New(3), Dropped { held: 2 }), (New(0), Dropped { held: 1 })]);
    // The object is moved, overwritten, or its `new` is on one of several paths.
    let swapped = [null, Make, Code(&[opcode::SWAP]), InitObject];
    assert_eq!(places(&swapped), [(New(1), Place::Unknown)]);
    let overwritten = Code(&[DUP, ASTORE_2, ACONST_NULL, ASTORE_2]);
    assert_eq!(places(&[Make, overwritten, Init]), [(New(0), Place::Unknown)]);
    let branch = Code(&[ILOAD_0, opcode::IFEQ, 0, 3]);
    assert_eq!(places(&[Make, branch, Init]), [(New(0), Place::Unknown)]);
    let branch = [Make, Code(&[DUP]), branch, Init];
    assert_eq!(places(&branch), [(New(0), Top)]);
}

#[test]
fn paths_meet() {
    // 0 if_eq 11; 4 new, goto 14; 11 new; 14 <init>
    let either = [
        Code(&[ILOAD_0, opcode::IFEQ, 0, 10]),
        Make,
        Code(&[DUP, opcode::GOTO, 0, 7]),
        Make,
        Code(&[DUP]),
        Init,
    ];
    assert_eq!(places(&either), [(UninitializedObject::Unknown, Place::Unknown)]);
    // 0 goto 11; 3 new dup <init> pop; 11 if_ne 3: the loop begins with its end.
    let turned = [
        Code(&[opcode::GOTO, 0, 11]),
        Make,
        Code(&[DUP]),
        Init,
        Code(&[POP, ILOAD_0, opcode::IFEQ + 1, 0xff, 0xf7, ACONST_NULL]),
    ];
    assert_eq!(places(&turned), [(New(3), Top)]);
    // 0 new dup; 4 if_ne 4; <init>: the object stays over a loop.
    let over = [Make, Code(&[DUP, ILOAD_0, opcode::IFEQ + 1, 0xff, 0xff]), Init];
    assert_eq!(places(&over), [(New(0), Top)]);
    // Code that no path reaches.
    let dead = [Code(&[opcode::RETURN]), Make, Code(&[DUP]), Init];
    assert_eq!(places(&dead), []);
}

#[test]
fn the_operand_stack_is_empty_at_a_handler() {
    // 0 new dup astore_2; 5 iload_0 pop; 7 <init> ... handler at 13: aload_2 <init>
    let parts = [
        Make,
        Code(&[DUP, ASTORE_2]),
        Code(&[ILOAD_0, POP]),
        Init,
        Code(&[opcode::GOTO, 0, 8]),
        Code(&[POP, ALOAD_2]),
        Init,
        Code(&[ACONST_NULL]),
    ];
    let found = find(&parts, &[[5, 7, 13, 0]], false);
    let expected = [
        Initialization { next_pc: 10, object: New(0), place: Local(2) },
        Initialization { next_pc: 18, object: New(0), place: Local(2) },
    ];
    assert_eq!(found.calls, expected);
}

#[test]
fn writes_of_a_constructor_before_its_call() {
    let write = [Code(&[opcode::ALOAD_0, ILOAD_0]), Put];
    // 0 write; 5 if_eq 14; 9 write; 14 aload_0 <init>; 18 write
    let mut parts = write.to_vec();
    parts.push(Code(&[ILOAD_0, opcode::IFEQ, 0, 8]));
    parts.extend(write);
    parts.extend([Code(&[opcode::ALOAD_0]), Init]);
    parts.extend(write);
    parts.push(Code(&[ACONST_NULL]));
    let found = find(&parts, &[], true);
    let call = Initialization { next_pc: 18, object: This, place: Local(0) };
    assert_eq!(found.calls, [call]);
    let early = |pc, is_certain| EarlyWrite { pc, is_certain };
    assert_eq!(found.early_writes, [early(2, true), early(11, false)]);
    assert_eq!(find(&parts, &[], false).early_writes, []);
}

#[test]
fn many_objects_on_many_paths_do_not_take_much() {
    // 10,000 objects, and 8,000 branches with all of them on the operand stack.
    let mut parts = vec![Make; 10_000];
    parts.extend(vec![Code(&[ILOAD_0, opcode::IFEQ, 0, 3]); 8_000]);
    parts.push(Init);
    let begin = std::time::Instant::now();
    let found = find(&parts, &[], false);
    assert_eq!(found.calls.len(), 1);
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
}

#[test]
fn code_that_jumps_back_too_often_is_given_up() {
    // 0 goto the last; 3 goto <init>; and then `count` times: goto the one before.
    let find = |count: u16| {
        let init = 6 + 3 * count;
        let [high, low] = (3 + 3 * count).to_be_bytes();
        let last = vec![opcode::GOTO, high, low];
        let [high, low] = (init - 3).to_be_bytes();
        let first = vec![opcode::GOTO, high, low];
        let back = [opcode::GOTO, 0xff, 0xfd].repeat(count.into());
        let body = [last, first, back].concat().leak();
        try_find(&[Code(body), Make, Code(&[DUP]), Init], &[], false)
    };
    let calls = find(100).map(|found| found.calls.len());
    assert_eq!(calls, Some(1));
    assert_eq!(find(300), None);
}
