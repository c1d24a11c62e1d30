//! References against those of jhat, the reader of heap dumps in JDK 8.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use perk_heap::{Heap, Label, NoWatch, ObjectId, Options, Value};
use perk_testkit::{JavaRun, jdk};

use crate::inputs::testdata;
use crate::real::ProgramDump;

/// Prints each reference as jhat's pages of objects have them: forward (`>`) by the object that has
/// it, and back (`<`) by the object at its end.
const PROGRAM: &str = "
import com.sun.tools.hat.internal.model.*;
import com.sun.tools.hat.internal.parser.Reader;
import java.io.*;
import java.util.*;
public class References {
    public static void main(String[] args) throws Exception {
        Snapshot snapshot = Reader.readFile(args[0], true, 0);
        snapshot.resolve(true);
        PrintWriter out = new PrintWriter(new BufferedWriter(new FileWriter(args[1])));
        for (Enumeration<JavaHeapObject> all = snapshot.getThings(); all.hasMoreElements();) {
            JavaHeapObject object = all.nextElement();
            out.println(\"= \" + object.getId() + \" \" + object.getId());
            object.visitReferencedObjects(new AbstractJavaHeapObjectVisitor() {
                public void visit(JavaHeapObject other) {
                    out.println(\"> \" + object.getId() + \" \" + other.getId());
                }
            });
            for (Enumeration<?> from = object.getReferers(); from.hasMoreElements();) {
                JavaHeapObject other = (JavaHeapObject) from.nextElement();
                out.println(\"< \" + other.getId() + \" \" + object.getId());
            }
        }
        out.close();
    }
}
";

/// References from one address to another.
type Pairs = BTreeSet<(u64, u64)>;

/// The objects and references of a dump.
#[derive(Default)]
struct References {
    objects: BTreeSet<u64>,
    forward: Pairs,
    back: Pairs,
}

/// Has jhat's classes read a dump.
fn of_jhat(jar: &Path, dump: &Path) -> References {
    let folder = tempfile::tempdir().unwrap();
    let [source, out] = ["References.java", "out.txt"].map(|name| folder.path().join(name));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut java = Command::new(jdk::compiler().java());
    let output = java.arg("-cp").arg(jar).arg(&source).arg(dump).arg(&out).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut references = References::default();
    for line in std::fs::read_to_string(out).unwrap().lines() {
        let mut words = line.split(' ');
        let kind = words.next().unwrap();
        let mut id = || words.next().unwrap().parse::<i64>().unwrap().cast_unsigned();
        let pair = (id(), id());
        match kind {
            "=" => drop(references.objects.insert(pair.0)),
            ">" => drop(references.forward.insert(pair)),
            _ => drop(references.back.insert(pair)),
        }
    }
    references
}

/// Compares all references of a dump, but those of objects to their classes: perk has them only
/// where no root holds the class. Returns the number that are equal, and of others by reason.
fn compare(heap: &Heap, jhat: References) -> (usize, BTreeMap<&'static str, usize>) {
    let objects: Vec<ObjectId> = heap.objects().collect();
    let address = |object: ObjectId| heap.address(object);
    let found: BTreeSet<u64> = objects.iter().map(|&it| address(it)).collect();
    assert_eq!(found, jhat.objects);
    let class_address = |from: u64| {
        let class = heap.class_of(heap.find(from).unwrap());
        heap.class(class).object.map(address)
    };
    let is_listed = |&(from, to): &(u64, u64)| class_address(from) != Some(to);
    let (mut forward, mut back) = (Pairs::new(), Pairs::new());
    let mut reasons = BTreeMap::<(u64, u64), &str>::new();
    for &object in &objects {
        for edge in heap.references(object).unwrap() {
            let pair = (address(edge.from), address(edge.to));
            match edge.label {
                Label::Local(_) => drop(reasons.insert(pair, "local variable of a thread")),
                Label::Constant(_) => drop(reasons.insert(pair, "entry of a constant pool")),
                _ => {}
            }
            forward.insert(pair);
        }
        if let Some(field) = heap.field(object, "discovered").unwrap()
            && let Value::Reference(to) = field.value
            && heap.class(field.class).name == "java.lang.ref.Reference"
        {
            reasons.insert((address(object), to), "list of the collector");
        }
    }
    for edge in heap.referrers(&objects).unwrap() {
        back.insert((address(edge.from), address(edge.to)));
    }
    let mut differ = BTreeMap::new();
    for (ours, theirs) in [(forward, jhat.forward), (back, jhat.back)] {
        let ours: Pairs = ours.into_iter().filter(is_listed).collect();
        let theirs: Pairs = theirs.into_iter().filter(is_listed).collect();
        for pair @ (from, to) in ours.symmetric_difference(&theirs) {
            let name = |id: u64| &heap.class(heap.class_of(heap.find(id).unwrap())).name;
            let reason = reasons
                .get(pair)
                .copied()
                .unwrap_or_else(|| panic!("{} {from:#x} -> {} {to:#x}", name(*from), name(*to)));
            *differ.entry(reason).or_default() += 1;
        }
        differ.insert("equal", ours.intersection(&theirs).count());
    }
    (differ.remove("equal").unwrap(), differ)
}

#[test]
fn references_of_a_jvm_s_dump_are_those_of_jhat() {
    let Some(jar) = perk_testkit::peer("jhat/tools.jar", "jhat") else { return };
    let run = JavaRun::new(jdk::compiler()).jvm_arg("-Xmx256m");
    let dumped = ProgramDump::new(run.main("RetainedSizes").args(["2000"]), "ready");
    let heap = Heap::open(&dumped.path, &Options::default(), &mut NoWatch).unwrap();
    let (equal_count, differ) = compare(&heap, of_jhat(&jar, &dumped.path));
    eprintln!("{equal_count} are equal, others: {differ:?}");
    assert!(equal_count > 50_000, "{equal_count}");
}

#[test]
fn references_of_the_original_agent_s_dump_are_those_of_jhat() {
    let Some(jar) = perk_testkit::peer("jhat/tools.jar", "jhat") else { return };
    let packed = std::fs::File::open(testdata("all-b-alloc.hprof.gz")).unwrap();
    let mut dump = tempfile::NamedTempFile::new().unwrap();
    std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut dump).unwrap();
    let heap = Heap::open(dump.path(), &Options::default(), &mut NoWatch).unwrap();
    let (equal_count, differ) = compare(&heap, of_jhat(&jar, dump.path()));
    eprintln!("{equal_count} are equal, others: {differ:?}");
    assert!(equal_count > 14_000, "{equal_count}");
}
