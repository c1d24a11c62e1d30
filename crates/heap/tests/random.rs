//! Heaps made at random against [`Truth`]. A failure names the seed and the size.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use perk_heap::{Content, Heap, Holder, NoWatch, Options, Reach, Refs, RootKind};

use crate::dump;
use crate::graph::{Body, Dice, Graph, known};
use crate::truth::Truth;

/// Calls a check with random heaps, first small ones.
fn each(first_seed: u64, count: u64, check: impl Fn(&Graph, u64)) {
    for number in 0..count {
        let seed = first_seed + number;
        // The last few have 300 objects.
        let size = 1
            + (number as usize * 40 / count as usize)
            + if number * 10 > count * 9 { Dice(seed).below(260) } else { 0 };
        let graph = Graph::random(seed, size);
        let checked = catch_unwind(AssertUnwindSafe(|| check(&graph, seed)));
        if let Err(failure) = checked {
            eprintln!("seed {seed}, size {size}, {} objects", graph.nodes.len());
            if let Ok(file) = std::env::var("PERK_HEAP_FAILED") {
                std::fs::write(file, graph.write()).unwrap();
            }
            resume_unwind(failure);
        }
    }
}

fn open(graph: &Graph, options: &Options) -> Heap {
    let (_folder, path) = dump::file(&graph.write());
    let heap = Heap::open(&path, options, &mut NoWatch).unwrap();
    let is_of_graph = |note: &&String| {
        note.contains("references to objects that the dump does not have")
            || note.contains("no class is a root") && !graph.assumed_roots().is_empty()
    };
    let others: Vec<&String> = heap.notes().iter().filter(|it| !is_of_graph(it)).collect();
    assert_eq!(others, [] as [&String; 0]);
    heap
}

fn options(refs: Refs, seed: u64) -> Options {
    Options { refs, thread_count: 1 + seed as usize % 3, ..Options::default() }
}

fn holders(refs: Refs, first_seed: u64) {
    each(first_seed, 700, |graph, seed| {
        let heap = open(graph, &options(refs, seed));
        assert_eq!(heap.refs(), refs);
        Truth::new(graph, refs, &[]).compare(&heap, 1 + seed as usize % 7);
    });
}

#[test]
fn strong_references_hold() {
    holders(Refs::Strong, 0);
}

#[test]
fn soft_references_hold() {
    holders(Refs::Soft, 100_000);
}

#[test]
fn all_references_hold() {
    holders(Refs::All, 200_000);
}

#[test]
fn garbage_hangs_on_roots_of_its_own() {
    each(300_000, 700, |graph, seed| {
        let refs = [Refs::Strong, Refs::Soft, Refs::All][seed as usize % 3];
        let heap = open(graph, &Options { keep_unreachable: true, ..options(refs, seed) });
        let of_garbage = heap.roots().iter().filter(|it| it.kind == RootKind::Unreachable);
        let more: Vec<usize> = of_garbage.map(|it| it.object.0 as usize).collect();
        // None is reachable without it, and nothing is unreachable with them.
        for (index, &root) in more.iter().enumerate() {
            let mut others = more.clone();
            others.remove(index);
            let reach = Truth::new(graph, refs, &others).reach();
            assert_ne!(reach[root], Reach::Held, "{root} is no root");
        }
        let truth = Truth::new(graph, refs, &more);
        assert!(truth.reach().iter().all(|&it| it == Reach::Held));
        truth.compare(&heap, 3);
    });
}

#[test]
fn references_have_labels() {
    each(400_000, 300, |graph, seed| {
        let refs = [Refs::Strong, Refs::Soft, Refs::All][seed as usize % 3];
        let heap = open(graph, &options(refs, seed));
        Truth::new(graph, refs, &[]).compare_references(&heap);
    });
}

#[test]
fn contents_are_those_of_the_file() {
    each(500_000, 300, |graph, seed| {
        let heap = open(graph, &options(Refs::Soft, seed));
        assert_eq!(heap.unix_ms(), dump::UNIX_MS);
        assert_eq!(heap.title(), "JAVA PROFILE 1.0.2");
        let mut traces = vec![None; graph.nodes.len()];
        let mut put = |object: perk_heap::ObjectId, trace| {
            assert_eq!(traces[object.0 as usize].replace(trace), None);
        };
        heap.each_trace(&mut put).unwrap();
        for (object, node) in heap.objects().zip(&graph.nodes) {
            assert_eq!(heap.address(object), node.address);
            assert_eq!(heap.find(node.address), Some(object));
            assert_eq!(heap.allocation_trace(object).unwrap(), node.trace);
            assert_eq!(traces[object.0 as usize], Some(node.trace));
            let (content, length) = (heap.content(object, u64::MAX), heap.length(object).unwrap());
            let class = match (&node.body, content.unwrap()) {
                (Body::Class(class), Content::Class(found)) => {
                    assert_eq!(heap.as_class(object), Some(found));
                    assert_eq!(heap.class(found).object, Some(object));
                    assert_eq!(heap.class_at(node.address), Some(found));
                    let name = graph.classes[*class].name.clone();
                    assert_eq!(heap.class(found).name, source_form(&name));
                    known::CLASS
                }
                (Body::Instance { class, values }, Content::Instance(found)) => {
                    let fields = graph.fields(*class);
                    assert_eq!(found.len(), fields.len());
                    for ((field, name), value) in found.iter().zip(&fields).zip(values) {
                        assert_eq!(field.value, *value);
                        let declarer = heap.class(field.class);
                        assert_eq!(declarer.name, source_form(&graph.classes[name.0].name));
                        assert_eq!(declarer.fields[field.index].name, name.1);
                        // The first from the class upwards.
                        let first = fields.iter().position(|it| it.1 == name.1).unwrap();
                        let by_name = heap.field(object, &name.1).unwrap().unwrap();
                        assert_eq!(by_name.value, values[first]);
                    }
                    assert_eq!(heap.field(object, "none").unwrap(), None);
                    *class
                }
                (Body::Objects { class, elements }, Content::Objects(found)) => {
                    assert_eq!((&found, length), (elements, elements.len() as u64));
                    let Content::Objects(first) = heap.content(object, 2).unwrap() else {
                        panic!()
                    };
                    assert_eq!(first, elements[..elements.len().min(2)]);
                    *class
                }
                (Body::Primitives(element, bytes), Content::Primitives(found, of_file)) => {
                    assert_eq!((found, &of_file), (*element, bytes));
                    assert_eq!(length, (bytes.len() / element.bytes(8)) as u64);
                    known::array_of(*element)
                }
                (expected, found) => panic!("{found:?}, expected {expected:?}"),
            };
            let found = heap.class(heap.class_of(object));
            assert_eq!(found.name, source_form(&graph.classes[class].name));
        }
        let mut arrays = Vec::new();
        for part in 0..heap.part_count() {
            heap.each_array(part, &mut |object, length| arrays.push((object, length))).unwrap();
        }
        arrays.sort();
        let is_array = |it: &(perk_heap::ObjectId, _)| {
            let body = &graph.nodes[it.0.0 as usize].body;
            matches!(body, Body::Objects { .. } | Body::Primitives(..))
        };
        let expected = heap.objects().map(|it| (it, heap.length(it).unwrap()));
        assert_eq!(arrays, expected.filter(is_array).collect::<Vec<_>>());
        for class in heap.classes() {
            let of = heap.objects().filter(|it| heap.class(heap.class_of(*it)) == class);
            let bytes: Vec<u64> = of.map(|it| heap.shallow_bytes(it)).collect();
            assert_eq!(class.instance_count, bytes.len() as u64, "{}", class.name);
            assert_eq!(class.shallow_bytes, bytes.iter().sum::<u64>(), "{}", class.name);
        }
    });
}

#[test]
fn sizes_are_known_without_holders() {
    each(700_000, 300, |graph, seed| {
        let whole = open(graph, &options(Refs::Soft, seed));
        let (_folder, path) = dump::file(&graph.write());
        let options = Options { holders: false, ..options(Refs::Soft, seed) };
        let heap = Heap::open(&path, &options, &mut NoWatch).unwrap();
        assert!(whole.has_holders() && !heap.has_holders());
        assert_eq!(heap.object_count(), whole.object_count());
        for object in heap.objects() {
            assert_eq!(heap.class_of(object), whole.class_of(object));
            assert_eq!(heap.shallow_bytes(object), whole.shallow_bytes(object));
            assert_eq!(heap.content(object, 100).unwrap(), whole.content(object, 100).unwrap());
            let held = (heap.reach(object), heap.holder(object), heap.retained_bytes(object));
            assert_eq!(held, (Reach::Unreachable, Holder::Nothing, 0));
        }
        assert_eq!((heap.classes(), heap.roots()), (whole.classes(), whole.roots()));
        let addresses = heap.addresses(0..heap.object_count() as u32);
        let expected = whole.objects().map(|it| (it, whole.address(it)));
        assert!(addresses.eq(expected));
        assert_eq!(heap.held_by(None), []);
        let error = heap.shortest_paths().unwrap_err().to_string();
        assert!(error.contains("an analysis with holders"), "{error}");
    });
}

#[test]
fn threads_have_their_locals() {
    each(600_000, 300, |graph, seed| {
        let heap = open(graph, &options(Refs::Soft, seed));
        for thread in heap.threads() {
            let node = graph.thread(thread.serial);
            assert_eq!(thread.object.map(|it| it.0 as usize), node);
            let mut expected: Vec<_> = graph
                .roots
                .iter()
                .filter_map(|&(kind, id)| {
                    let (serial, frame) = crate::graph::thread_of(kind)?;
                    (serial == thread.serial).then_some((frame, graph.find(id)?))
                })
                .collect();
            expected.sort();
            expected.dedup();
            let mut found: Vec<_> =
                thread.locals.iter().map(|it| (it.frame, it.object.0 as usize)).collect();
            found.sort();
            assert_eq!(found, expected, "thread {}", thread.serial);
        }
        let methods = |serial| -> Vec<(String, i32)> {
            let frames = &heap.trace(serial).unwrap().frames;
            frames.iter().map(|it| (format!("{}.{}", it.class, it.method), it.line)).collect()
        };
        let frame = |method: &str, line| (format!("java.lang.Thread.{method}"), line);
        assert_eq!(methods(11), [frame("run", 10), frame("call", 20), frame("main", 30)]);
        assert_eq!(methods(3), [frame("main", 30)]);
        assert!(heap.trace(99).is_none());
    });
}

/// Returns a class's name in source form.
fn source_form(name: &str) -> String {
    match name {
        "[I" => "int[]".to_owned(),
        "[B" => "byte[]".to_owned(),
        _ => match name.strip_prefix("[L") {
            Some(element) => element.replace('/', ".").replace(';', "[]"),
            None => name.replace('/', "."),
        },
    }
}
