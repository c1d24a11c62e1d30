//! Comparisons of the sizes of objects and the offsets of fields with those of real JVMs.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use perk_classfile::{ClassFile, Member, access};
use perk_hotspot::layout::{FieldKind, Fields, Jvm, Layout};
use perk_testkit::{JavaRun, Jdk, fixture, jdk};
use tempfile::TempDir;

const COMPACT: &str = "-XX:+UseCompactObjectHeaders";
const FULL_CLASS_POINTERS: &str = "-XX:-UseCompressedClassPointers";
const FULL_OOPS: &str = "-XX:-UseCompressedOops";
const ALIGN_16: &str = "-XX:ObjectAlignmentInBytes=16";

/// The options that layouts depend on.
const OPTIONS: [&[&str]; 7] = [
    &[],
    &[FULL_OOPS],
    &[FULL_CLASS_POINTERS],
    &[FULL_CLASS_POINTERS, FULL_OOPS],
    &[ALIGN_16],
    &[COMPACT],
    &[COMPACT, FULL_OOPS],
];

/// Returns the properties that follow from options.
fn jvm(jdk: &Jdk, options: &[&str]) -> Jvm {
    let has = |option| options.contains(&option);
    let header_bytes = match (has(COMPACT), has(FULL_CLASS_POINTERS)) {
        (true, _) => 8,
        (false, true) => 16,
        (false, false) => 12,
    };
    let oop_bytes = if has(FULL_OOPS) { 8 } else { 4 };
    Jvm::new(jdk.version, header_bytes, oop_bytes, if has(ALIGN_16) { 16 } else { 8 })
}

/// A program that measures the JVM that it runs in. Its jar is also its agent.
struct Sizes {
    folder: TempDir,
}

impl Sizes {
    fn compile() -> Sizes {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let source = perk_testkit::workspace().join("crates/hotspot/tests/java/Sizes.java");
        let mut javac = Command::new(jdk::compiler().javac());
        javac.args(["--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED", "-d"]);
        assert!(javac.arg(path("classes")).arg(source).status().unwrap().success());
        fs::write(path("manifest"), "Premain-Class: Sizes\n").unwrap();
        let mut jar = Command::new(jdk::compiler().home.join("bin/jar"));
        jar.arg("cfm").args([path("sizes.jar"), path("manifest")]).arg("-C").arg(path("classes"));
        assert!(jar.arg(".").status().unwrap().success());
        Sizes { folder }
    }

    fn jar(&self) -> PathBuf {
        self.folder.path().join("sizes.jar")
    }

    /// Returns the class files of java.base and jdk.jfr.
    fn platform_classes(&self, jdk: &Jdk) -> Vec<Vec<u8>> {
        let file = self.folder.path().join(format!("classes-{}", jdk.version));
        let run = JavaRun::new(jdk).classes(self.jar()).main("Sizes");
        run.args([Path::new("dump"), &file]).run().assert_success();
        let bytes = fs::read(file).unwrap();
        let (mut classes, mut rest) = (Vec::new(), &bytes[..]);
        while let Some((length, behind)) = rest.split_first_chunk() {
            let (class, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
            classes.push(class.to_vec());
            rest = behind;
        }
        classes
    }

    /// Returns a line for each kind of array and each requested class.
    fn ask(&self, jdk: &Jdk, options: &[&str], class_path: &Path, query: &str) -> String {
        let jar = self.jar();
        let mut run = JavaRun::new(jdk)
            .classes(format!("{}:{}", jar.display(), class_path.display()))
            .jvm_arg(format!("-javaagent:{}", jar.display()))
            .jvm_arg("--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED")
            // Suppress the warnings about archives that were created with other options.
            .jvm_arg("-Xlog:disable")
            // Layouts do not depend on these, which make short runs cheaper.
            .jvm_arg("-XX:TieredStopAtLevel=1")
            .jvm_arg("-XX:+UseSerialGC")
            .timeout(Duration::from_secs(120));
        for option in options {
            run = run.jvm_arg(option);
        }
        let outcome = run.main("Sizes").file("query", query).args(["measure", "query"]).run();
        outcome.assert_success();
        outcome.stdout
    }
}

/// Classes that can be found by name, so that superclasses are known.
struct Classes<'a> {
    by_name: BTreeMap<&'a str, (ClassFile<'a>, bool)>,
}

impl<'a> Classes<'a> {
    /// Parses classes of the bootstrap loader and of the application.
    fn parse(platform: &'a [Vec<u8>], application: &'a [Vec<u8>]) -> Classes<'a> {
        let platform = platform.iter().map(|file| (file, true));
        let all = platform.chain(application.iter().map(|file| (file, false)));
        let parse = |(file, is_privileged): (&'a Vec<u8>, bool)| {
            let class = ClassFile::parse(file).unwrap();
            (text(class.name().unwrap()), (class, is_privileged))
        };
        Classes { by_name: all.map(parse).collect() }
    }

    fn fields(&self, name: &str, jvm: &Jvm) -> Fields {
        let (class, is_privileged) = &self.by_name[name];
        Fields::of_class(class, jvm, *is_privileged).unwrap()
    }

    /// Returns the layout of a class's superclass, if it has one.
    fn superclass(&self, name: &str, jvm: &Jvm) -> Option<Layout> {
        let (class, _) = &self.by_name[name];
        let superclass = text(class.super_name().unwrap()?);
        Some(match self.superclass(superclass, jvm) {
            Some(above) => above.subclass(jvm, &self.fields(superclass, jvm)),
            None => Layout::object(jvm),
        })
    }

    /// Returns the names of classes, each with those of its instance fields.
    fn query(&self, of_platform: bool) -> String {
        let mut query = String::new();
        for (name, (class, is_privileged)) in &self.by_name {
            if *is_privileged == of_platform && class.access_flags() & access::INTERFACE == 0 {
                query.push_str(name);
                for field in class.fields().filter(is_in_instances) {
                    write!(query, " {}", text(field.name().unwrap())).unwrap();
                }
                query.push('\n');
            }
        }
        query
    }
}

fn is_in_instances(field: &Member<'_>) -> bool {
    field.access_flags() & access::STATIC == 0
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Compares the answers of a JVM about classes. Returns the number of compared sizes of instances,
/// and the classes that do not have instances, by reason.
fn compare<'t>(
    classes: &Classes<'_>,
    jvm: &Jvm,
    said: &'t str,
) -> (usize, BTreeMap<&'t str, Vec<&'t str>>) {
    let (mut count, mut without) = (0, BTreeMap::<_, Vec<_>>::new());
    let mut differences = Vec::new();
    for line in said.lines() {
        let (name, values) = line.split_once(' ').unwrap();
        if !classes.by_name.contains_key(name) {
            let element = FieldKind::of_descriptor(name.as_bytes()).unwrap();
            let computed = (0..20).map(|length| jvm.array_bytes(element, length).to_string());
            let computed = computed.collect::<Vec<_>>().join(" ");
            if values != computed {
                differences.push(format!("arrays of {name}: {values}, computed {computed}"));
            }
            continue;
        }
        let (layout, offsets) = match classes.superclass(name, jvm) {
            None => (Layout::object(jvm), Vec::new()),
            Some(superclass) => {
                let fields = classes.fields(name, jvm);
                (superclass.subclass(jvm, &fields), superclass.offsets(jvm, &fields))
            }
        };
        let mut values = values.split(' ');
        let size = values.next().unwrap();
        match size.parse::<u64>() {
            Err(_) => without.entry(size).or_default().push(name),
            Ok(_) => count += 1,
        }
        if size.parse().is_ok_and(|size: u64| size != layout.instance_bytes()) {
            differences.push(format!("{name}: {size} bytes, computed {}", layout.instance_bytes()));
        }
        let (class, _) = &classes.by_name[name];
        for ((field, said), computed) in
            class.fields().filter(is_in_instances).zip(values).zip(offsets)
        {
            if said != computed.to_string() {
                let field = text(field.name().unwrap());
                differences.push(format!("{name}.{field}: at {said}, computed {computed}"));
            }
        }
    }
    assert!(differences.is_empty(), "{jvm:?}:\n{}", differences.join("\n"));
    (count, without)
}

fn options_of(jdk: &Jdk) -> impl Iterator<Item = &'static [&'static str]> {
    let has_compact = jdk.version >= 25;
    OPTIONS.into_iter().filter(move |options| has_compact || !options.contains(&COMPACT))
}

#[test]
fn classes_of_the_platform() {
    let sizes = Sizes::compile();
    jdk::each(|jdk| {
        let files = sizes.platform_classes(jdk);
        let classes = Classes::parse(&files, &[]);
        let query = classes.query(true);
        for options in options_of(jdk) {
            let said = sizes.ask(jdk, options, sizes.folder.path(), &query);
            let (count, mut without) = compare(&classes, &jvm(jdk, options), &said);
            assert!(count > 5000, "{count}");
            without.remove("abstract");
            // Unsafe refuses the former; the others fail in their initializers.
            assert_eq!(without.remove("IllegalAccessException"), Some(vec!["java/lang/Class"]));
            let failed: Vec<_> = without.values().flatten().collect();
            assert!(failed.len() < 20, "{without:?}");
        }
    });
}

/// Returns the source of a tree of classes with all kinds of fields, of events of Flight Recorder,
/// and of threads, whose superclass has contended fields.
fn made_classes() -> String {
    let mut state = 7_u32;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let mut source = String::from(
        "public class Made {
            static class Event1 extends jdk.jfr.Event { int a; Object b; }
            static abstract class Event2 extends jdk.jfr.Event { byte a; }
            static class Event3 extends Event2 { long b; }
            static class Event4 extends Event1 { short c; }
            static class Thread1 extends Thread { int a; }
            static class Thread2 extends Thread1 { long b; int c; }
            static class Thread3 extends Thread2 { byte d; Object e; }
            static class Thread4 extends Thread3 { Object f; long g; int h; }
            static class Thread5 extends Thread3 { Object f; Object g; long h; int i; }
            static class Thread6 extends Thread { long a; int b; byte c; Object d; }
            static class Made0 {}\n",
    );
    for class in 1..=400 {
        // The tree is deep rather than broad.
        let superclass = class - 1 - random(6.min(class));
        write!(source, "static class Made{class} extends Made{superclass} {{").unwrap();
        for field in 0..random(5) {
            let types = ["byte", "boolean", "char", "short", "int", "float", "long", "double"];
            let of_object = ["Object", "int[]"];
            let kind = random(12) as usize;
            let kind = types.get(kind).unwrap_or(&of_object[kind % 2]);
            write!(source, " {kind} f{field};").unwrap();
        }
        source.push_str(" }\n");
    }
    source.push('}');
    source
}

#[test]
fn classes_of_an_application() {
    let sizes = Sizes::compile();
    let folder = fixture::compile_text("Made", &made_classes());
    let files = fs::read_dir(&folder).unwrap();
    let files: Vec<_> = files.map(|it| fs::read(it.unwrap().path()).unwrap()).collect();
    jdk::each(|jdk| {
        let platform = sizes.platform_classes(jdk);
        let classes = Classes::parse(&platform, &files);
        let query = classes.query(false);
        for options in options_of(jdk) {
            let said = sizes.ask(jdk, options, &folder, &query);
            let (count, without) = compare(&classes, &jvm(jdk, options), &said);
            assert_eq!(count, 411);
            assert_eq!(without, BTreeMap::from([("abstract", vec!["Made$Event2"])]));
        }
    });
}
