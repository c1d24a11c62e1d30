//! Tests of the probes for accesses and allocation sites: the instructions and methods that get
//! them.
#![forbid(unsafe_code)]

mod support;

use std::fs;

use perk_classfile::{Instruction, Operands, opcode};
use perk_instrument::{
    ClassFile, ClassProbes, FIELDS_HELPER, Names, Probes, SitePlace, fields, instrument,
};
use perk_testkit::{fixture, jdk};
use support::{CounterNumbers, image};

const PROBES: Probes = Probes { accesses: true, ..Probes::least(Names::PLAIN) };

fn compile(class: &str, text: &str) -> Vec<u8> {
    fs::read(fixture::compile_text(class, text).join(class).with_extension("class")).unwrap()
}

fn base_class(name: &str) -> Vec<u8> {
    let jdk = jdk::all().last().unwrap();
    image::read(jdk, &[format!("java.base/{name}.class")]).remove(0).bytes
}

fn place(bytes: &[u8]) -> (ClassProbes, CounterNumbers) {
    let mut numbers = CounterNumbers::default();
    (instrument(bytes, PROBES, &mut numbers).unwrap(), numbers)
}

/// Returns the methods of the helper that the methods of a name call, with the names of the fields
/// and sites, in the order of the code.
fn calls(bytes: &[u8], numbers: &CounterNumbers, method: &str) -> Vec<String> {
    let class = ClassFile::parse(bytes).unwrap();
    let mut calls = Vec::new();
    for method in class.methods().filter(|it| it.name() == Ok(method.as_bytes())) {
        let mut number = 0;
        for instruction in method.code().unwrap().unwrap().instructions() {
            let Instruction { opcode, .. } = instruction.unwrap();
            match instruction.unwrap().operands() {
                Operands::Constant(index) if opcode == opcode::INVOKESTATIC => {
                    let member = class.pool().member_ref(index).unwrap();
                    if member.class != FIELDS_HELPER.as_bytes() {
                        continue;
                    }
                    let mut call = String::from_utf8(member.name.to_vec()).unwrap();
                    if member.descriptor.ends_with(b"I)V") {
                        let name: &String = &numbers.names[number - 1];
                        call += &format!(" {name}");
                    }
                    calls.push(call);
                }
                Operands::Value(value) => number = value as usize,
                _ => number = usize::from(opcode.wrapping_sub(opcode::ICONST_0)),
            }
        }
    }
    calls
}

fn calls_of(class: &str, text: &str, method: &str) -> Vec<String> {
    let (placed, numbers) = place(&compile(class, text));
    assert_eq!(placed.skipped, []);
    calls(&placed.bytes.unwrap(), &numbers, method)
}

fn code_bytes(bytes: &[u8], method: &str) -> usize {
    let class = ClassFile::parse(bytes).unwrap();
    let mut methods = class.methods();
    let method = methods.find(|it| it.name() == Ok(method.as_bytes())).unwrap();
    method.code().unwrap().unwrap().bytes().len()
}

#[test]
fn each_instruction_has_its_probe() {
    let text = "public class Each {
        int x; long y; static int z;
        int read(Each it) { z = it.x; return (int) it.y; }
        void write(Each it) { it.x = z; it.y = z; it.x++; }
        static int load(byte[] b, char[] c, double[] d, float[] f, int[] i, long[] l, short[] s) {
            return b[0] + c[0] + (int) d[0] + (int) f[0] + i[0] + (int) l[0] + s[0];
        }
        static Object loadObject(Object[] a) { return a[a.length - 1]; }
        static void store(byte[] b, char[] c, double[] d, float[] f, int[] i, long[] l, short[] s,
            Object[] a) {
            b[0] = 1; c[0] = 1; d[0] = 1; f[0] = 1; i[0] = 1; l[0] = 1; s[0] = 1; a[0] = null;
        }
        static Object make() {
            Object made = new int[1];
            made = new Object[1];
            made = new int[1][1];
            return new Each();
        }
        static Object copy(int[] from) { return from.clone(); }
    }";
    let calls = |method| calls_of("Each", text, method);
    assert_eq!(calls("read"), ["read Each.x", "read Each.y"]);
    let written = ["write Each.x", "write Each.y", "read Each.x", "write Each.x"];
    assert_eq!(calls("write"), written);
    assert_eq!(calls("load"), ["readComponent"; 7]);
    assert_eq!(calls("loadObject"), ["readLength", "readComponent"]);
    assert_eq!(calls("store"), ["writeComponent"; 8]);
    let made = [
        "array Each.make at 1",
        "array Each.make at 4",
        "arrays Each.make at 8",
        "created Each.make at 10",
    ];
    assert_eq!(calls("make"), made);
    assert_eq!(calls("copy"), ["cloned"]);
    assert_eq!(calls("<init>"), [""; 0]);
}

#[test]
fn writes_before_the_super_call_are_counted_after_it() {
    let text = "public class Outer {
        int x;
        class Inner {
            Inner(int n) { super(); }
            int get() { return x; }
        }
        static Object local(int n, long m) {
            class Local extends Exception {
                Local(boolean is) { super(is ? \"a\" : \"b\"); }
                long get() { return n + m; }
            }
            return new Local(n > 0);
        }
    }";
    let folder = fixture::compile_text("Outer", text);
    let calls = |class: &str| {
        let bytes = fs::read(folder.join(class).with_extension("class")).unwrap();
        let (placed, numbers) = place(&bytes);
        assert_eq!(placed.skipped, []);
        calls(&placed.bytes.unwrap(), &numbers, "<init>")
    };
    assert_eq!(calls("Outer$Inner"), ["write Outer$Inner.this$0"]);
    let mut local = calls("Outer$1Local");
    local.sort();
    assert_eq!(local, ["write Outer$1Local.val$m", "write Outer$1Local.val$n"]);
}

#[test]
fn a_write_in_a_branch_before_the_super_call_is_reported() {
    let Some(jdk) = jdk::all().iter().find(|it| it.version >= 25 && it.has_javac) else { return };
    let text = "public class Early {
        int x, y, z;
        Early(int n) {
            x = 1;
            if (n > 0) y = 2;
            super();
            z = 3;
        }
    }";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Early.java");
    fs::write(&file, text).unwrap();
    let mut javac = std::process::Command::new(jdk.javac());
    assert!(javac.arg("-d").arg(folder.path()).arg(&file).status().unwrap().success());
    let bytes = fs::read(folder.path().join("Early.class")).unwrap();
    let (placed, numbers) = place(&bytes);
    let reason = "writes before super(...) that are not counted: 1".to_owned();
    assert_eq!(placed.skipped, [(b"<init>(I)V".to_vec(), reason)]);
    let written = calls(&placed.bytes.unwrap(), &numbers, "<init>");
    assert_eq!(written, ["write Early.x", "write Early.z"]);
}

#[test]
fn an_object_that_is_dropped_has_a_site_unless_paths_part() {
    let text = "public class Drops {
        Drops(int n) {}
        static void dropped(int n) { new Drops(n); }
        static void droppedIf(int n) { new Drops(n > 0 ? 1 : 2); }
    }";
    let mut bytes = compile("Drops", text);
    support::drop_objects(&mut bytes);
    let (placed, numbers) = place(&bytes);
    let reason = "calls of constructors without a site: 1".to_owned();
    assert_eq!(placed.skipped, [(b"droppedIf(I)V".to_vec(), reason)]);
    let bytes = placed.bytes.unwrap();
    assert_eq!(calls(&bytes, &numbers, "dropped"), ["created Drops.dropped at 0"]);
    // `dup`, and after the call a push and the call of the probe.
    assert_eq!(code_bytes(&bytes, "dropped"), 10 + 1 + 4);
    assert_eq!(calls(&bytes, &numbers, "droppedIf"), [""; 0]);
}

#[test]
fn sites_are_counted_in_three_ways() {
    let text = "public class Sites {
        static Object wrap(int n) {
            try { return new StringBuilder(n); } catch (RuntimeException e) { throw e; }
        }
        static char[] copy(char[] from, int n) { char[] copy = new char[n]; return copy; }
        static Object last(int n) {
            int i = 0;
            while (i < n) i++;
            return n > 1 ? new int[n] : null;
        }
    }";
    let (_, numbers) = place(&compile("Sites", text));
    let place = |name: &str| {
        let at = numbers
            .names
            .iter()
            .filter(|it| it.contains(" at "))
            .position(|it| it.starts_with(name));
        numbers.places[at.unwrap()].unwrap()
    };
    let expected = |bci, instruction, disl2012| SitePlace { bci, instruction, disl2012 };
    assert_eq!(place("Sites.wrap"), expected(0, 0, 2));
    assert_eq!(place("Sites.copy"), expected(1, 1, 2));
    // iconst_0, istore; L iload, iload, if_icmpge; iinc, goto; L iload, iconst_1, if_icmple; iload.
    assert_eq!(place("Sites.last"), expected(19, 11, 14));
}

#[test]
fn a_method_without_room_only_reports_allocations() {
    // Each array takes 3 to 5 bytes, 4 or 5 per store, and 7 more per store with its probe.
    let text = |n: usize| {
        let stores = "a[0] = 1;\n".repeat(n);
        format!(
            "public class Full {{
                static void full() {{ int[] a = new int[1]; {stores} }}
            }}"
        )
    };
    let calls = |n| {
        let (placed, numbers) = place(&compile("Full", &text(n)));
        (calls(&placed.bytes.unwrap(), &numbers, "full"), placed.skipped, placed.method_count)
    };
    let (all, skipped, _) = calls(5000);
    assert_eq!((all.len(), skipped), (5001, vec![]));
    let (least, skipped, count) = calls(8000);
    assert_eq!((least, count), (vec!["array Full.full at 1".to_owned()], 1));
    assert_eq!(skipped.len(), 1);
    assert_eq!(skipped[0].0, b"full()V");
    assert!(skipped[0].1.starts_with("bytes of code would be "), "{}", skipped[0].1);
}

#[test]
fn only_selected_methods_have_probes() {
    let text = "public class Some { int x; int get() { return x; } }";
    let mut numbers = CounterNumbers { selected: vec!["other/"], ..CounterNumbers::default() };
    assert_eq!(instrument(&compile("Some", text), PROBES, &mut numbers).unwrap().bytes, None);
    let object = instrument(&base_class("java/lang/Object"), PROBES, &mut numbers).unwrap();
    assert_eq!(calls(&object.bytes.unwrap(), &numbers, "<init>"), ["allocated"]);
    assert_eq!((object.method_count, numbers.names.len()), (1, 0));
}

#[test]
fn the_jvm_s_own_classes_have_their_probes_and_fields() {
    for class in ["jdk/internal/misc/Unsafe", "module-info"] {
        assert_eq!(place(&base_class(class)).0.bytes, None, "{class}");
    }
    let thread = place(&base_class("java/lang/Thread")).0.bytes.unwrap();
    let thread = ClassFile::parse(&thread).unwrap();
    let state = thread.fields().next().unwrap();
    assert_eq!(state.name(), Ok(fields::THREAD_STATE.as_bytes()));
    assert_eq!(state.descriptor(), Ok(format!("L{FIELDS_HELPER};").as_bytes()));
    let of = |class: &str, method: &str, probe: &str| {
        let (placed, numbers) = place(&base_class(class));
        let mut calls = calls(&placed.bytes.unwrap(), &numbers, method);
        calls.retain(|it| it.starts_with(probe));
        calls
    };
    let constructor = of("java/lang/reflect/Constructor", "newInstanceWithCaller", "reflected");
    assert_eq!(constructor, ["reflected Constructor.newInstance by reflection"]);
    let site = "Array.newInstance by reflection";
    let arrays = of("java/lang/reflect/Array", "newInstance", "reflected");
    assert_eq!(arrays, [format!("reflected {site}"), format!("reflectedArrays {site}")]);
    // The JIT compilers may replace this method's code. It has probes nevertheless.
    assert_ne!(of("java/lang/StringLatin1", "equals", "readLength"), [""; 0]);
    if jdk::all().last().unwrap().version >= 21 {
        assert_eq!(of("java/lang/VirtualThread", "mount", ""), [""; 0]);
        assert_ne!(of("java/lang/VirtualThread", "afterYield", ""), [""; 0]);
    }
}
