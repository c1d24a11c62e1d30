//! Tests of the classes and methods that get probes and fields, and of those that are left alone.
#![forbid(unsafe_code)]

mod support;

use std::fs;

use perk_classfile::{ClassFile, Instruction, Operands, opcode};
use perk_instrument::{
    COUNTS_HELPER, ClassProbes, Error, Events, HELPER, MethodName, Methods, Names, Places, Probes,
    fields, instrument, leaves, with_record,
};
use perk_testkit::{fixture, jdk, workspace};
use support::{CounterNumbers, image};

const ALL: Probes = Probes { places: Places::Lines, heap: true, object_record: true, ..CALLS };
const CALLS: Probes = Probes {
    unwinding: true,
    timed: true,
    leaving: false,
    places: Places::None,
    heap: false,
    sites: false,
    object_record: false,
    accesses: false,
    extended: false,
    calls: true,
    blocks: false,
    entries: false,
    path_budget: false,
    events: Events::NONE,
    late: false,
    names: Names::PLAIN,
};

/// Compiles a class from source text.
fn compile(class: &str, text: &str) -> Vec<u8> {
    fs::read(fixture::compile_text(class, text).join(class).with_extension("class")).unwrap()
}

fn base_class(name: &str) -> Vec<u8> {
    let jdk = jdk::all().last().unwrap();
    image::read(jdk, &[format!("java.base/{name}.class")]).remove(0).bytes
}

fn place(bytes: &[u8], probes: Probes) -> ClassProbes {
    instrument(bytes, probes, &mut CounterNumbers::default()).unwrap()
}

/// Returns the names of the helper's methods that a method calls, in the order of its code; `line`
/// is a store of a position with a line, `store` one of another position.
fn calls(bytes: &[u8], method: &str) -> Vec<String> {
    let class = ClassFile::parse(bytes).unwrap();
    let mut methods = class.methods();
    let method = methods.find(|it| it.name() == Ok(method.as_bytes())).unwrap();
    let mut names = Vec::new();
    let mut last = opcode::NOP;
    for instruction in method.code().unwrap().unwrap().instructions() {
        let Instruction { opcode, .. } = instruction.unwrap();
        let before = std::mem::replace(&mut last, opcode);
        let Operands::Constant(index) = instruction.unwrap().operands() else { continue };
        if !matches!(opcode, opcode::INVOKESTATIC | opcode::PUTFIELD) {
            continue;
        }
        let member = class.pool().member_ref(index).unwrap();
        if [HELPER, COUNTS_HELPER].iter().any(|helper| member.class == helper.as_bytes()) {
            names.push(match opcode {
                opcode::INVOKESTATIC => String::from_utf8(member.name.to_vec()).unwrap(),
                _ if before == opcode::LOR => "line".to_owned(),
                _ => "store".to_owned(),
            });
        }
    }
    names
}

fn code_bytes(bytes: &[u8], method: &str) -> usize {
    let class = ClassFile::parse(bytes).unwrap();
    let mut methods = class.methods();
    let method = methods.find(|it| it.name() == Ok(method.as_bytes())).unwrap();
    method.code().unwrap().unwrap().bytes().len()
}

fn field_names(bytes: &[u8]) -> Vec<String> {
    let class = ClassFile::parse(bytes).unwrap();
    let names = class.fields().map(|field| String::from_utf8_lossy(field.name().unwrap()).into());
    names.collect()
}

/// Compiles a method of 9 bytes and 13 for each call. Each call is on a line of its own, in a
/// `try`.
fn long_method(calls: usize) -> Vec<u8> {
    let lines = "sum += f(sum);\n".repeat(calls);
    let text = format!(
        "public class Long {{
            static int sum;
            static int f(int n) {{ return n; }}
            static void longMethod() {{
                try {{
                    {lines}
                }} catch (RuntimeException e) {{
                    sum = 0;
                }}
            }}
        }}"
    );
    let bytes = compile("Long", &text);
    assert_eq!(code_bytes(&bytes, "longMethod"), 9 + 13 * calls);
    bytes
}

/// Returns the number of probes of each name in the method, and its length in bytes.
fn place_long(calls_count: usize) -> ([usize; 4], usize, ClassProbes) {
    let placed = place(&long_method(calls_count), Probes { places: Places::Lines, ..CALLS });
    let bytes = placed.bytes.as_deref().unwrap();
    let names = calls(bytes, "longMethod");
    let count = |wanted| names.iter().filter(|name| *name == wanted).count();
    (["enter", "line", "store", "touch"].map(count), code_bytes(bytes, "longMethod"), placed)
}

#[test]
fn a_method_stays_short_enough_to_be_compiled() {
    // Of 3909 bytes: it has all probes.
    let (probes, _, placed) = place_long(300);
    assert_eq!(probes, [1, 300, 3, 0]);
    assert_eq!((placed.method_count, placed.skipped), (3, vec![]));
    // Of 4312, 7952 and 7978 bytes: without lines, without the repair after exceptions, and without
    // an exit.
    for (count, expected) in [
        (330, [1, 330, 3, 0]),
        (331, [1, 0, 3, 0]),
        (610, [1, 0, 3, 0]),
        (611, [1, 0, 1, 0]),
        (613, [0, 0, 0, 1]),
    ] {
        let (probes, length, placed) = place_long(count);
        assert_eq!((probes, placed.method_count), (expected, 3), "{count}");
        assert!(length <= 8000, "{length}");
    }
}

/// Compiles a method of 2 bytes, 12 for two arrays, 6 for each of `n` sums, and 10 for a loop.
fn making_method(n: usize, with_loop: bool) -> Vec<u8> {
    let adds = "i += i + i;\n".repeat(n);
    let some_loop = if with_loop { "while (i > 0) i--;" } else { "" };
    let text = format!(
        "public class Making {{
            static Object made;
            static int longMethod(int i) {{
                made = new int[1];
                made = new int[1];
                {adds} {some_loop}
                return i;
            }}
        }}"
    );
    let bytes = compile("Making", &text);
    assert_eq!(code_bytes(&bytes, "longMethod"), 14 + 6 * n + if with_loop { 10 } else { 0 });
    bytes
}

#[test]
fn a_method_without_room_keeps_the_probes_of_allocations() {
    const ENOUGH: [&str; 5] = ["enter", "array", "array", "store", "store"];
    let names = |n, with_loop| {
        let probes = Probes { places: Places::None, ..ALL };
        calls(&place(&making_method(n, with_loop), probes).bytes.unwrap(), "longMethod")
    };
    // Of 7944, 7950 and 7962 bytes.
    assert_eq!(names(1320, true), ENOUGH);
    assert_eq!(names(1321, true), ENOUGH[..4]);
    assert_eq!(names(1323, true), ["touch", "array", "array"]);
    // Of 7992 bytes.
    let placed = place(&making_method(1328, true), ALL);
    let reason = "its code could have 8006 bytes, and HotSpot compiles none of more than 8000";
    assert_eq!(placed.skipped, [(b"longMethod(I)I".to_vec(), reason.to_owned())]);
    // Without a loop, of 7982 bytes, and of 7988, which cannot be compiled with probes.
    assert_eq!(names(1328, false), ["touch", "array", "array"]);
    assert_eq!(names(1329, false), ENOUGH);
}

/// Where a clock reads positions, the stores that end a callee's time are followed by a fence.
#[test]
fn stores_are_fenced_where_a_clock_reads_them() {
    let bytes = long_method(2);
    let stores_and_fences = |timed, leaving| {
        let placed = place(&bytes, Probes { timed, leaving, ..CALLS }).bytes.unwrap();
        let class = ClassFile::parse(&placed).unwrap();
        let mut methods = class.methods();
        let method = methods.find(|it| it.name() == Ok(b"longMethod")).unwrap();
        let code = method.code().unwrap().unwrap();
        let fields = code.instructions().filter_map(|instruction| {
            let instruction = instruction.unwrap();
            let Operands::Constant(index) = instruction.operands() else { return None };
            let member = class.pool().member_ref(index).ok()?;
            let name = String::from_utf8_lossy(member.name).into_owned();
            let is_store = instruction.opcode == opcode::PUTFIELD;
            (is_store || name == "fence").then_some(name)
        });
        fields.collect::<Vec<_>>()
    };
    assert_eq!(stores_and_fences(true, false), ["context", "fence"].repeat(3));
    assert_eq!(stores_and_fences(false, false), ["context"; 3]);
    assert!(stores_and_fences(true, true).is_empty());
}

#[test]
fn a_method_too_long_to_be_compiled_gets_what_a_class_file_can_hold() {
    let (probes, ..) = place_long(700);
    assert_eq!(probes, [1, 700, 3, 0]);
    // Of 65,503 and 65,516 bytes.
    for (count, expected) in [(5038, [1, 0, 1, 0]), (5039, [0, 0, 0, 1])] {
        let (probes, length, placed) = place_long(count);
        assert_eq!((probes, placed.skipped), (expected, vec![]));
        assert!(length <= 65_535, "{length}");
    }
}

#[test]
fn a_class_that_is_not_selected_reports_allocations_only() {
    let text = "public class Made {
        static int[] make() { return new int[Math.abs(1)]; }
    }";
    let bytes = compile("Made", text);
    let mut numbers = CounterNumbers { selected: vec!["other/"], ..CounterNumbers::default() };
    let heap = instrument(&bytes, ALL, &mut numbers).unwrap();
    assert_eq!(calls(&heap.bytes.unwrap(), "make"), ["array"]);
    assert_eq!((heap.method_count, numbers.names.len()), (1, 0));
    assert_eq!(instrument(&bytes, CALLS, &mut numbers).unwrap().bytes, None);
    let selected = place(&bytes, ALL).bytes.unwrap();
    assert_eq!(calls(&selected, "make"), ["enter", "line", "array", "store", "store"]);
}

#[test]
fn constructors_of_classes_not_selected_are_leaves() {
    let text = "public class Maker {
        static Object make() { return new StringBuilder(1); }
        static Object root() { return new Object(); }
    }";
    let bytes = compile("Maker", text);
    let mut numbers = CounterNumbers { selected: vec!["Maker"], ..CounterNumbers::default() };
    let bytes = instrument(&bytes, CALLS, &mut numbers).unwrap().bytes.unwrap();
    assert_eq!(calls(&bytes, "make"), ["enter", "enterLeaf", "store", "store", "store"]);
    assert_eq!(calls(&bytes, "root"), ["enter", "store", "store"]);
    assert!(numbers.names.contains(&"StringBuilder.<init>".to_owned()));
}

#[test]
fn the_classes_of_the_jvm_get_their_fields() {
    let added = |class: &str, probes| {
        let bytes = base_class(class);
        let known = field_names(&bytes);
        let mut names = place(&bytes, probes).bytes.map_or(known.clone(), |it| field_names(&it));
        // The added fields come before the class's own.
        assert_eq!(names.split_off(names.len() - known.len()), known);
        names
    };
    let record = fields::OBJECT_RECORD;
    assert_eq!(added("java/lang/Thread", CALLS), [fields::THREAD_STATE]);
    assert_eq!(added("java/lang/Thread", ALL), [record, fields::THREAD_STATE]);
    assert!(added("java/lang/Thread", Probes { late: true, ..CALLS }).is_empty());
    assert_eq!(added("java/lang/Class", CALLS), [fields::CLASS_RECORDS]);
    assert_eq!(added("java/lang/Class", ALL), [record, fields::CLASS_RECORDS]);
    for class in ["java/lang/String", "java/lang/Throwable", "java/math/BigInteger"] {
        assert_eq!(added(class, ALL), [record], "{class}");
        assert_eq!(added(class, CALLS), [""; 0], "{class}");
    }
    // A superclass has the field already, or the JVM or its JIT compiler depends on the class's
    // fields, or the class does not have objects.
    for class in [
        "java/lang/Object",
        "java/lang/Exception",
        "java/lang/Runnable",
        "java/lang/Number",
        "java/lang/Integer",
        "java/lang/Boolean",
        "jdk/internal/vm/StackChunk",
        "jdk/internal/vm/Continuation",
        "jdk/internal/vm/vector/VectorSupport$VectorPayload",
        "jdk/internal/vm/vector/VectorSupport$Vector",
        "jdk/internal/event/Event",
    ] {
        assert_eq!(added(class, ALL), [""; 0], "{class}");
    }
}

#[test]
fn hidden_classes_get_the_field_for_records_only() {
    let bytes = compile("Simple", "public class Simple { int x; int get() { return x; } }");
    let names = Names::numbered(0x2a);
    let added = with_record(&bytes, names).unwrap().unwrap();
    let field = names.of("$perkRecord");
    assert_eq!(field_names(&added), [&*field, "x"]);
    assert_eq!(calls(&added, "get"), [""; 0]);
    assert!(names.is_field(&field));
    assert!(!names.is_field("$perkRecord"));
    for class in ["java/lang/Runnable", "java/lang/Error", "java/lang/Long"] {
        assert_eq!(with_record(&base_class(class), names).unwrap(), None, "{class}");
    }
}

#[test]
fn the_helper_gets_its_name() {
    let helper = workspace().join("crates/agent/src/analyses/exact/PerkProbes.class");
    let names = Names::numbered(u64::MAX);
    let suffix = names.of("");
    let helper = names.give_to(&fs::read(helper).unwrap()).unwrap();
    let class = ClassFile::parse(&helper).unwrap();
    assert_eq!(class.name(), Ok(format!("java/lang/PerkProbes{suffix}").as_bytes()));
    assert!(names.is_class(class.name().unwrap()));
    let texts = (1..class.pool().count()).filter_map(|index| class.pool().utf8(index).ok());
    let texts: Vec<_> = texts.map(String::from_utf8_lossy).collect();
    let mut ours: Vec<_> = texts.iter().filter(|text| text.starts_with("$perk")).collect();
    ours.sort_unstable();
    let plain = ["$perkRecord", "$perkRecords", "$perkState"];
    assert_eq!(ours, plain.map(|name| format!("{name}{suffix}")).each_ref());
    assert!(!texts.iter().any(|text| text.contains("PerkProbes;")));
}

#[test]
fn the_root_of_all_constructors_reports_objects_only() {
    let object = base_class("java/lang/Object");
    let heap = place(&object, ALL).bytes.unwrap();
    assert_eq!(calls(&heap, "<init>"), ["allocated"]);
    assert_eq!(calls(&heap, "finalize"), [""; 0]);
    assert_eq!(calls(&heap, "toString")[0], "enter");
    assert_eq!(calls(&place(&object, CALLS).bytes.unwrap(), "<init>"), [""; 0]);
}

#[test]
fn code_below_the_probes_is_left_alone() {
    for class in ["jdk/internal/misc/Unsafe", "module-info"] {
        assert_eq!(place(&base_class(class), ALL).bytes, None, "{class}");
    }
    // `abs` does not have probes, because the JIT's code replaces it.
    let math = place(&base_class("java/lang/Math"), ALL).bytes.unwrap();
    assert_eq!(calls(&math, "abs"), [""; 0]);
    assert_eq!(calls(&math, "floorMod"), ["touch"]);
    assert_eq!(calls(&math, "random")[0], "enter");
}

#[test]
fn virtual_threads_tell_of_their_carriers() {
    if jdk::all().last().unwrap().version < 21 {
        return;
    }
    let bytes = place(&base_class("java/lang/VirtualThread"), CALLS).bytes.unwrap();
    assert_eq!(calls(&bytes, "mount"), ["mounted"]);
    assert_eq!(calls(&bytes, "unmount"), ["unmounted"]);
    assert_eq!(calls(&bytes, "runContinuation"), [""; 0]);
    assert_eq!(calls(&bytes, "afterYield")[0], "enter");
}

#[test]
fn leaves_are_native_or_what_the_jit_replaces() {
    let of = |class: &str| leaves(&base_class(class)).unwrap();
    let object = of("java/lang/Object");
    assert_eq!((&object.class[..], &object.super_class), (&b"java/lang/Object"[..], &None));
    let flags = |name: &str, descriptor: &str| {
        let mut methods = object.methods.iter();
        let found =
            methods.find(|it| it.name == name.as_bytes() && it.descriptor == descriptor.as_bytes());
        found.map(|it| (it.is_native, it.is_virtual))
    };
    assert_eq!(flags("hashCode", "()I"), Some((true, true)));
    assert_eq!(flags("getClass", "()Ljava/lang/Class;"), Some((true, false)));
    assert_eq!(flags("<init>", "()V"), Some((false, false)));
    assert_eq!(flags("equals", "(Ljava/lang/Object;)Z"), None);
    let math = of("java/lang/Math");
    assert_eq!(math.super_class.as_deref(), Some(&b"java/lang/Object"[..]));
    assert!(math.methods.iter().any(|it| it.name == b"abs" && !it.is_native && !it.is_virtual));
}

#[test]
fn what_hides_a_leaf_is_no_leaf() {
    let text = "public class Sub extends Base {
            static void hidden() { Base.fixed(); }
            static void found() { Top.fixed(); }
            void free() { super.free(); }
            void own() { super.own(); }
            static void inherited(Base base) { base.last(); }
            static void overridden(Top top) { top.free(); }
        }
        class Top {
            native static void fixed();
            native void free();
            private native void own();
            native final void last();
        }
        class Base extends Top {
            static void fixed() {}
            void free() {}
            void own() {}
        }
        class Other extends Top {
            void free() { super.free(); }
        }
        class List extends java.util.ArrayList<String> {
            public Object clone() { return super.clone(); }
        }
        class Cell implements Cloneable {
            public Object clone() throws CloneNotSupportedException { return super.clone(); }
        }";
    let folder = fixture::compile_text("Sub", text);
    let read = |name: &str| fs::read(folder.join(name).with_extension("class")).unwrap();
    let mut numbers = CounterNumbers::default();
    let own = ["Sub", "Base", "Top"].map(read);
    let list = ["ArrayList", "AbstractList", "AbstractCollection"].map(|it| format!("util/{it}"));
    let base = list.iter().map(String::as_str).chain(["lang/Object"]);
    let base = base.map(|it| base_class(&format!("java/{it}")));
    for bytes in own.into_iter().chain(base) {
        let found = leaves(&bytes).unwrap();
        numbers.leaves.insert(found.class.clone(), found);
    }
    let mut is_leaf = |class: &str, method: &str| {
        let bytes = instrument(&read(class), CALLS, &mut numbers).unwrap().bytes.unwrap();
        calls(&bytes, method).contains(&"enterLeaf".to_owned())
    };
    for counted_inside in ["hidden", "free", "own", "overridden"] {
        assert!(!is_leaf("Sub", counted_inside), "{counted_inside}");
    }
    for leaf in ["found", "inherited"] {
        assert!(is_leaf("Sub", leaf), "{leaf}");
    }
    assert!(is_leaf("Other", "free"));
    assert!(!is_leaf("List", "clone"));
    assert!(is_leaf("Cell", "clone"));
}

#[test]
fn what_is_no_class_file_is_an_error() {
    let bytes = compile("Small", "public class Small { int f() { return 1; } }");
    for length in 0..bytes.len() {
        let part = &bytes[..length];
        assert!(instrument(part, ALL, &mut CounterNumbers::default()).is_err(), "{length}");
        assert!(leaves(part).is_err(), "{length}");
    }
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 0xff;
        let _: Result<_, Error> = instrument(&broken, ALL, &mut CounterNumbers::default());
    }
}

#[test]
fn a_clone_is_that_of_object_unless_code_declares_it() {
    let text = "class Copies extends Parent implements Trait {
            public Object clone() { return super.clone(); }
            Object virtual() { return this.clone(); }
            Object ofTrait() { return Trait.super.clone(); }
            static Object ofArray(int[] from) { return from.clone(); }
            static Object ofInterface(Trait from) { return from.clone(); }
        }
        class Parent { public Object clone() { return null; } }
        class Cell implements Cloneable {
            Object own() throws CloneNotSupportedException { return super.clone(); }
            Object virtual() throws CloneNotSupportedException { return this.clone(); }
        }
        class Below extends Cell {
            Object own() throws CloneNotSupportedException { return super.clone(); }
            Object virtual() throws CloneNotSupportedException { return this.clone(); }
        }
        interface Trait { default Object clone() { return null; } }
        interface Further extends Trait { default Object clone() { return Trait.super.clone(); } }";
    let folder = fixture::compile_text("Copies", text);
    let read = |name: &str| fs::read(folder.join(name).with_extension("class")).unwrap();
    let probe = |bytes: &[u8], method: &str| {
        let bytes = place(bytes, ALL).bytes.unwrap();
        calls(&bytes, method).into_iter().find(|it| it.starts_with("clone") || it == "made")
    };
    for (class, method, expected) in [
        ("Copies", "clone", Some("clonedAbove")),
        ("Copies", "virtual", Some("cloned")),
        ("Copies", "ofTrait", None),
        ("Copies", "ofArray", Some("made")),
        ("Copies", "ofInterface", None),
        ("Cell", "own", Some("made")),
        ("Below", "own", Some("clonedAbove")),
        ("Further", "clone", None),
    ] {
        assert_eq!(probe(&read(class), method).as_deref(), expected, "{class}.{method}");
    }
    // The JVM looks for a method of the class itself in this class first.
    for (class, method, from, expected) in [
        ("Copies", "clone", "virtual", None),
        ("Below", "own", "virtual", Some("clonedAbove")),
        ("Cell", "own", "virtual", Some("made")),
    ] {
        let mut bytes = read(class);
        let callee = call_at(&bytes, from);
        let callee = [bytes[callee + 1], bytes[callee + 2]];
        let at = call_at(&bytes, method);
        bytes[at + 1..at + 3].copy_from_slice(&callee);
        assert_eq!(probe(&bytes, method).as_deref(), expected, "{class}.{method} of itself");
    }
}

/// Returns the offset in a class file of the call in a method that is `aload_0`, the call and
/// `areturn`.
fn call_at(bytes: &[u8], method: &str) -> usize {
    let class = ClassFile::parse(bytes).unwrap();
    let mut methods = class.methods();
    let method = methods.find(|it| it.name() == Ok(method.as_bytes())).unwrap();
    let code = method.code().unwrap().unwrap();
    assert_eq!(code.bytes().len(), 5);
    code.bytes().as_ptr() as usize - bytes.as_ptr() as usize + 1
}

/// Methods that are all over budget, with the time as a leaf.
#[derive(Default)]
struct AllOverBudget {
    names: Vec<Vec<u8>>,
    gave_up: Vec<Vec<u8>>,
    counted: Vec<Vec<u8>>,
}

impl Methods for AllOverBudget {
    fn number(&mut self, method: &MethodName<'_>) -> u32 {
        self.names.push(method.name.to_vec());
        self.names.len() as u32 - 1
    }

    fn is_over_budget(&mut self, _: u32) -> bool {
        true
    }

    fn gave_up_position(&mut self, number: u32) {
        self.gave_up.push(self.names[number as usize].clone());
    }

    fn counter(&mut self, number: u32) -> Option<u32> {
        self.counted.push(self.names[number as usize].clone());
        Some(number)
    }

    fn leaf(&mut self, _: &[u8], name: &[u8], _: &[u8], _: bool) -> bool {
        name == b"nanoTime"
    }

    fn selected(&mut self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

#[test]
fn a_method_over_budget_has_counters_and_no_other_probe() {
    let text = "public class Over {
        static long f() { g(); return System.nanoTime(); }
        static void g() {}
        static void h() { try { g(); } catch (RuntimeException e) { f(); } }
    }";
    let class = compile("Over", text);
    let mut methods = AllOverBudget::default();
    let placed = instrument(&class, Probes { path_budget: true, ..CALLS }, &mut methods).unwrap();
    let bytes = placed.bytes.unwrap();
    assert_eq!(calls(&bytes, "f"), ["count", "count"]);
    assert_eq!(calls(&bytes, "g"), ["count"]);
    // It has to restore its position where it catches an exception.
    assert_eq!(calls(&bytes, "h")[0], "enter");
    let of = ["<init>", "f", "nanoTime", "g"].map(|it| it.as_bytes().to_vec());
    let [constructor, f, nano_time, g] = of;
    assert_eq!(methods.gave_up, [constructor.clone(), f.clone(), g.clone()]);
    assert_eq!(methods.counted, [constructor, f, nano_time, g]);
    // Threads have a place for the address of counters.
    let thread = place(&base_class("java/lang/Thread"), Probes { path_budget: true, ..CALLS });
    assert!(field_names(&thread.bytes.unwrap()).contains(&fields::THREAD_COUNTERS.to_owned()));
}
