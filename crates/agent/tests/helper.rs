//! The helper class that the agent carries is the compiled form of its source, and has the methods
//! that probes call.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::Command;

use perk_classfile::{ClassFile, access};
use perk_instrument::{
    COUNTS_HELPER, COUNTS_HELPER_METHODS, EVENTS_HELPER, EVENTS_HELPER_METHODS, FIELDS_HELPER,
    FIELDS_HELPER_METHODS, HELPER, HELPER_METHODS, STATE_FIELDS,
};
use perk_testkit::{jdk, workspace};

/// Access flags of a method (JVM specification table 4.6-A).
const PUBLIC: u16 = 0x0001;
const SYNCHRONIZED: u16 = 0x0020;
/// One of a field (table 4.5-A).
const VOLATILE: u16 = 0x0040;

/// The classes, with the folders in which they are.
const CLASSES: [(&str, &str); 5] = [
    ("PerkProbes", "agent/src/analyses/exact"),
    ("PerkFields", "agent/src/analyses/fields"),
    ("PerkCounts", "agent/src/analyses/counters"),
    ("PerkEvents", "jvmpi/src/methods"),
    ("PerkHeaders", "jvm/src/probes"),
];

fn carried((class, folder): (&str, &str)) -> Vec<u8> {
    let folder = workspace().join("crates").join(folder);
    let file = folder.join(class).with_extension("class");
    std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

#[test]
fn the_classes_are_their_sources_compiled() {
    let out = tempfile::tempdir().unwrap();
    let helper = workspace().join("java/helper");
    let mut javac = Command::new(jdk::compiler().javac());
    javac.args(["-source", "17", "-target", "17", "-nowarn", "-g:none"]);
    javac.args(["--patch-module", "java.base=.", "-d"]).arg(out.path());
    let folder: PathBuf = ["java", "lang"].iter().collect();
    javac.args(CLASSES.map(|(class, _)| folder.join(class).with_extension("java")));
    let output = javac.current_dir(helper).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for class in CLASSES {
        let compiled = out.path().join(&folder).join(class.0).with_extension("class");
        let compiled = std::fs::read(compiled).unwrap();
        assert!(carried(class) == compiled, "compile {} again: see java/helper/README.md", class.0);
    }
}

#[test]
fn the_class_for_programs_is_its_source_compiled() {
    let out = tempfile::tempdir().unwrap();
    let mut javac = Command::new(jdk::compiler().javac());
    javac.args(["-source", "17", "-target", "17", "-nowarn", "-g:none", "-d"]).arg(out.path());
    javac.arg("perk/Profiler.java").current_dir(workspace().join("java/api"));
    let output = javac.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let compiled = std::fs::read(out.path().join("perk/Profiler.class")).unwrap();
    assert!(
        carried(("Profiler", "agent/src/api")) == compiled,
        "compile it again: see java/api/README.md"
    );
}

#[test]
fn they_have_the_methods_that_probes_call() {
    let [probes, fields, counts, events, _] = CLASSES.map(carried);
    has_methods(&probes, HELPER, &HELPER_METHODS);
    has_methods(&fields, FIELDS_HELPER, &FIELDS_HELPER_METHODS);
    has_methods(&counts, COUNTS_HELPER, &COUNTS_HELPER_METHODS);
    has_methods(&events, EVENTS_HELPER, &EVENTS_HELPER_METHODS);
}

/// The state has the fields that probes use. Only that which is a fence is volatile, and is so.
#[test]
fn the_state_has_the_fields_that_probes_use() {
    let bytes = carried(CLASSES[0]);
    let class = ClassFile::parse(&bytes).unwrap();
    for (name, descriptor) in STATE_FIELDS {
        let field = class.fields().find(|it| it.name().unwrap() == name.as_bytes()).unwrap();
        assert_eq!(field.descriptor().unwrap(), descriptor.as_bytes(), "{name}");
        let flags = field.access_flags() & !VOLATILE;
        assert_eq!(flags, PUBLIC, "{name}");
        assert_eq!(field.access_flags() & VOLATILE != 0, name == "fence", "{name}");
    }
}

#[track_caller]
fn has_methods(bytes: &[u8], name: &str, called: &[(&str, &str)]) {
    let class = ClassFile::parse(bytes).unwrap();
    assert_eq!(class.name().unwrap(), name.as_bytes());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut public: Vec<(String, String)> = Vec::new();
    for method in class.methods() {
        let (name, flags) = (text(method.name().unwrap()), method.access_flags());
        // A lock in a probe could conflict with any lock of the program.
        assert_eq!(flags & SYNCHRONIZED, 0, "{name}");
        if flags & PUBLIC != 0 {
            assert_eq!(flags & (access::STATIC | access::NATIVE), access::STATIC, "{name}");
            public.push((name, text(method.descriptor().unwrap())));
        }
    }
    let mut called: Vec<_> = called
        .iter()
        .map(|(name, descriptor)| (name.to_string(), descriptor.to_string()))
        .collect();
    public.sort_unstable();
    called.sort_unstable();
    assert_eq!(public, called);
}
