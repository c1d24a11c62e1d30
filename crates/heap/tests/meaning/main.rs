//! The meanings of objects: of a program that knows them, on each JDK, and of dumps made here.

mod dump;
mod made;

use std::path::Path;

use perk_heap::{Content, Heap, Limits, NoWatch, ObjectId, Options, Value};
use perk_testkit::{JavaRun, fixture, jdk};

const PROGRAM: &str = include_str!("Meanings.java");

pub(crate) fn open(path: &Path) -> Heap {
    Heap::open(path, &Options::default(), &mut NoWatch).unwrap()
}

pub(crate) fn meaning(heap: &Heap, object: ObjectId) -> Option<String> {
    heap.meaning(object, Limits::default()).unwrap().map(|meaning| meaning.text())
}

/// The value of a static field of the program.
fn static_of(heap: &Heap, name: &str) -> ObjectId {
    let class = heap.class(heap.classes_named("Meanings")[0]);
    let field = class.statics.iter().find(|it| it.name == name).unwrap();
    let Value::Reference(address) = field.value else { panic!("{name}: {:?}", field.value) };
    heap.find(address).unwrap()
}

/// A meaning with its elements sorted.
fn sorted(meaning: &str) -> String {
    let (size, items) = meaning.split_once(": ").unwrap();
    let mut items: Vec<_> = items.split(", ").collect();
    items.sort_unstable();
    format!("{size}: {}", items.join(", "))
}

#[test]
fn objects_mean_what_the_program_says() {
    let classes = fixture::compile_text("Meanings", PROGRAM);
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.hprof");
        let run = JavaRun::new(jdk).classes(&classes).main("Meanings").args([&path]);
        let outcome = run.jvm_arg("-Xmx128m").run();
        outcome.assert_success();
        let mut expected: Vec<_> = outcome.stdout.lines().collect();
        assert_eq!(expected.pop(), Some("end"));
        let heap = open(&path);
        let list = static_of(&heap, "OBJECTS");
        let Some(Value::Reference(array)) =
            heap.field(list, "elementData").unwrap().map(|it| it.value)
        else {
            panic!("no list")
        };
        let content = heap.content(heap.find(array).unwrap(), expected.len() as u64).unwrap();
        let Content::Objects(objects) = content else { panic!("{content:?}") };
        assert_eq!(objects.len(), expected.len());
        let mut wrong = Vec::new();
        for (address, expected) in objects.into_iter().zip(expected) {
            let object = heap.find(address).unwrap();
            let found = meaning(&heap, object).unwrap_or_else(|| "nothing".to_owned());
            let is_right = match (expected.strip_suffix('*'), expected.strip_prefix('~')) {
                (Some(start), _) => found.starts_with(start),
                (None, Some(sorted)) => self::sorted(&found) == sorted,
                (None, None) => found == expected,
            };
            if !is_right {
                let class = &heap.class(heap.class_of(object)).name;
                wrong.push(format!("{class}: {found}\n  not {expected}"));
            }
        }
        assert!(wrong.is_empty(), "JDK {}\n{}", jdk.version, wrong.join("\n"));
    });
}
