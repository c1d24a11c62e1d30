use perk_profile::{CpuSamples, Event, Frame, FrameKind, Line, Method, Metric, Profile, TraceId};
use proptest::prelude::*;

use super::wire::Encoder;
use super::*;
use crate::{Error, fixture};

mod damage;
mod labels;

fn written(profile: &Profile) -> Vec<u8> {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
    out
}

/// Returns a file of the fields that `fill` writes, with `strings` from index 1 on.
fn file(strings: &[&str], fill: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut file = Encoder::default();
    fill(&mut file);
    file.bytes(6, b"");
    strings.iter().for_each(|text| file.bytes(6, text.as_bytes()));
    file.bytes
}

fn value_type(file: &mut Encoder, name: u64, unit: u64) {
    file.message(1, |value_type| {
        value_type.number(1, name);
        value_type.number(2, unit);
    });
}

fn sample(file: &mut Encoder, locations: &[u64], values: &[i64]) {
    file.message(2, |sample| {
        locations.iter().for_each(|&location| sample.number(1, location));
        sample.packed(2, values.iter().map(|value| value.cast_unsigned()));
    });
}

/// Writes function `id` with string `id` as its name, and location `id` on line 10 of it.
fn function(file: &mut Encoder, id: u64) {
    file.message(4, |location| {
        location.number(1, id);
        location.message(4, |line| {
            line.number(1, id);
            line.number(2, 10);
        });
    });
    file.message(5, |function| {
        function.number(1, id);
        function.number(2, id);
    });
}

#[test]
fn cpu_time_gives_the_interval() {
    let strings = ["a.x", "b.y", "samples", "count", "cpu", "nanoseconds"];
    let bytes = |second: i64| {
        file(&strings, |file| {
            value_type(file, 3, 4);
            value_type(file, 5, 6);
            sample(file, &[2, 1], &[3, 30_000_000]);
            sample(file, &[1], &[1, second]);
            sample(file, &[2, 1], &[1, 10_000_000]);
            function(file, 1);
            function(file, 2);
        })
    };
    assert!(recognise(&bytes(1)));
    let profile = read(&bytes(10_000_000)[..]).unwrap();
    assert_eq!(fixture::text(&profile), "# samples Count\na.x 1\na.x;b.y 4\n");
    assert_eq!(profile.sample_interval_ns(), Some(10_000_000));
    assert!(profile.notes.is_empty(), "{:?}", profile.notes);
    let frame = profile.frames(profile.total_cpu_samples().rows[0].0).next().unwrap();
    assert_eq!(profile.symbols.get_frame(frame).line, Line::Number(10));
    // Times that do not belong to the samples remain.
    let profile = read(&bytes(7)[..]).unwrap();
    assert_eq!(profile.sample_interval_ns(), None);
    let stacks = "# samples Count\na.x 1\na.x;b.y 4\n# cpu Nanoseconds\na.x 7\na.x;b.y 40000000\n";
    assert_eq!(fixture::text(&profile), stacks);
}

#[test]
fn cpu_time_alone_is_samples_where_it_is_whole_periods() {
    let strings = ["a.x", "cpu", "ms"];
    let bytes = |value: i64| {
        file(&strings, |file| {
            value_type(file, 2, 3);
            sample(file, &[1], &[value]);
            function(file, 1);
            file.message(11, |period| {
                period.number(1, 2);
                period.number(2, 3);
            });
            file.number(12, 20);
        })
    };
    let profile = read(&bytes(60)[..]).unwrap();
    assert_eq!(fixture::text(&profile), "# samples Count\na.x 3\n");
    assert_eq!(profile.sample_interval_ns(), Some(20_000_000));
    assert_eq!(fixture::text(&read(&bytes(50)[..]).unwrap()), "# cpu Nanoseconds\na.x 50000000\n");
}

#[test]
fn a_count_without_its_size_leads() {
    for (name, metric) in [
        ("alloc_objects", Metric::AllocatedObjects),
        ("inuse_objects", Metric::LiveObjects),
        ("contentions", Metric::BlockedCount),
    ] {
        let bytes = file(&["main.f", name, "count"], |file| {
            value_type(file, 2, 3);
            sample(file, &[1], &[12]);
            function(file, 1);
        });
        let profile = read(&bytes[..]).unwrap();
        assert_eq!(Metric::leading_of(&profile).collect::<Vec<_>>(), std::slice::from_ref(&metric));
        if let Some(sites) = profile.sites() {
            assert_eq!(sites.leading(), metric);
        }
    }
}

#[test]
fn a_profile_without_numbers_is_empty() {
    let bytes = |types: u64, samples: &[i64]| {
        file(&["a.x"], |file| {
            (0..types).for_each(|_| value_type(file, 0, 0));
            sample(file, &[1], samples);
            function(file, 1);
        })
    };
    assert_eq!(fixture::text(&read(&bytes(1, &[0])[..]).unwrap()), "");
    assert_eq!(fixture::text(&read(&bytes(1, &[7])[..]).unwrap()), "# _ Count\na.x 7\n");
    assert_eq!(fixture::text(&read(&bytes(0, &[])[..]).unwrap()), "");
    let error = read(&bytes(0, &[7])[..]).unwrap_err();
    assert!(matches!(error, Error::Offset { .. }), "{error}");
}

#[test]
fn slashes_in_names_of_classes_become_dots() {
    let names = [
        "java/util/HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;",
        "Lcom/acme/App;.main",
        "com/acme/App$$Lambda/0x00007f.run",
        "github.com/acme/App.Run",
        "net/http.Get",
    ];
    let strings: Vec<_> = names.into_iter().chain(["samples", "count"]).collect();
    let bytes = file(&strings, |file| {
        value_type(file, 6, 7);
        sample(file, &[1, 2, 3, 4, 5], &[1]);
        (1..=5).for_each(|id| function(file, id));
    });
    let profile = read(&bytes[..]).unwrap();
    let stack = "net/http.Get;github.com/acme/App.Run;com.acme.App$$Lambda.run;com.acme.App.main;\
        java.util.HashMap.get";
    assert_eq!(fixture::text(&profile), format!("# samples Count\n{stack} 1\n"));
    let frame = profile.frames(profile.total_cpu_samples().rows[0].0).next().unwrap();
    let method = profile.symbols.get_method(profile.symbols.get_frame(frame).method);
    let signature = profile.symbols.strings.get(method.signature.unwrap());
    assert_eq!(signature, "(Ljava/lang/Object;)Ljava/lang/Object;");
}

#[test]
fn inlined_functions_are_frames_and_bare_addresses_have_names() {
    let strings = ["C.outer", "C.inner", "samples", "count", "/lib/libc.so.6", "[native]"];
    let bytes = file(&strings, |file| {
        value_type(file, 3, 4);
        sample(file, &[3, 7, 9], &[1]);
        sample(file, &[4], &[2]);
        for (id, mapping, address) in [(3, 5, 0x7F10), (4, 0, 0x1234), (7, 0, 1), (9, 6, 0)] {
            file.message(4, |location| {
                location.number(1, id);
                location.number(2, mapping);
                location.number(3, address);
                let functions: &[u64] = match id {
                    7 => &[2, 1],
                    9 => &[1],
                    _ => &[],
                };
                for &function in functions {
                    location.message(4, |line| line.number(1, function));
                }
            });
        }
        for (id, start, file_offset, name) in [(5, 0x7F00, 0x100, 5), (6, 0, 0, 6)] {
            file.message(3, |mapping| {
                mapping.number(1, id);
                mapping.number(2, start);
                mapping.number(4, file_offset);
                mapping.number(5, name);
            });
        }
        for id in [1, 2] {
            file.message(5, |function| {
                function.number(1, id);
                function.number(2, id);
            });
        }
    });
    let profile = read(&bytes[..]).unwrap();
    let expected = "# samples Count\n0x1234 2\nC.outer;C.outer;C.inner;libc.so.6+0x110 1\n";
    assert_eq!(fixture::text(&profile), expected);
    let rows = profile.total_cpu_samples().rows;
    let frames: Vec<_> = profile.frames(rows[0].0).collect();
    assert_eq!(profile.symbols.get_frame(frames[3]).line, Line::Native);
}

/// Returns the numbers of the fields of a message that hold a number, and the messages of others.
fn fields(mut message: Message<'_>) -> Vec<(u64, u64, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some((number, field)) = message.next().unwrap() {
        match field {
            WireField::Varint(value) => all.push((number, value, Vec::new())),
            WireField::Bytes(inner) => all.push((number, 0, inner.bytes.to_vec())),
            _ => {}
        }
    }
    all
}

#[test]
fn native_functions_are_in_the_mappings_of_their_libraries() {
    let mut profile = Profile::default();
    let symbols = &mut profile.symbols;
    let mut frame = |name: &str, source: Option<&str>, kind: FrameKind| {
        let class = symbols.class(if source == Some("A.java") { "A" } else { "" });
        let (name, source) =
            (symbols.strings.intern(name), source.map(|it| symbols.strings.intern(it)));
        let method = symbols.method(Method { class, name, signature: None, source });
        let line = if kind == FrameKind::Unknown { Line::Number(7) } else { Line::Native };
        symbols.frame(Frame { kind, ..Frame::new(method, line) })
    };
    let frames = [
        frame("run", Some("A.java"), FrameKind::Unknown),
        frame("Java_A_read", Some("libnio.so"), FrameKind::Native),
        frame("read", Some("libc.so.6"), FrameKind::Native),
        frame("vfs_read", None, FrameKind::Kernel),
    ];
    let group = frame("[GC Thread]", None, FrameKind::Native);
    let mut rows = Vec::new();
    for (frames, count) in [(&frames[..], 3), (&[group], 1)] {
        let node = profile.tree.insert(frames.iter().copied());
        rows.push((profile.trace(node, None), count));
    }
    profile.events.push(Event::from(CpuSamples { total: 4, rows, ..CpuSamples::default() }));
    let bytes = written(&profile);
    let file = fields(Message { bytes: &bytes, offset: 0 });
    let messages = |number: u64| file.iter().filter(move |it| it.0 == number).map(|it| &it.2);
    let strings: Vec<_> = messages(6).map(|text| String::from_utf8_lossy(text)).collect();
    let inside = |bytes: &Vec<u8>| fields(Message { bytes, offset: 0 });
    let number = |all: &[(u64, u64, Vec<u8>)], of: u64| {
        all.iter().find(|it| it.0 == of).map_or(0, |it| it.1) as usize
    };
    let mappings: Vec<_> =
        messages(3).map(|it| strings[number(&inside(it), 5)].to_string()).collect();
    let places: Vec<_> = messages(4).map(inside).collect();
    let files = places.iter().map(|it| mappings[number(it, 2) - 1].as_str());
    let mut files: Vec<&str> = files.collect();
    files.sort_unstable();
    assert_eq!(files, ["[kernel.kallsyms]", "[native]", "java", "libc.so.6", "libnio.so"]);
    let again = read(&bytes[..]).unwrap();
    assert_eq!(fixture::text(&again), fixture::text(&profile));
    let kinds = |profile: &Profile| {
        let rows = profile.total_cpu_samples().rows;
        let frames = rows.iter().flat_map(|row| profile.frames(row.0)).map(|id| {
            let frame = profile.symbols.get_frame(id);
            let source = profile.symbols.get_method(frame.method).source;
            let source = source.map(|it| profile.symbols.strings.get(it).to_owned());
            (frame.kind, frame.line, source)
        });
        frames.collect::<Vec<_>>()
    };
    assert_eq!(kinds(&again), kinds(&profile));
}

/// Reads a file of `testdata/pprof`, after unpacking it.
fn real(packed: &[u8]) -> Profile {
    use std::io::Read;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    assert!(recognise(&bytes[..bytes.len().min(500)]));
    let profile = read(&bytes[..]).unwrap();
    let again = read(&written(&profile)[..]).unwrap();
    assert_eq!(fixture::text(&again), fixture::text(&profile));
    profile
}

#[test]
fn files_of_the_go_runtime_have_the_numbers_that_its_own_tool_shows() {
    let cpu = real(include_bytes!("../../../../testdata/pprof/cpu.pb.gz"));
    let samples = cpu.total_cpu_samples();
    assert_eq!((samples.total, cpu.sample_interval_ns()), (66, Some(10_000_000)));
    let method = |id| cpu.symbols.method_name(cpu.symbols.get_frame(id).method);
    let is_get = |&&(trace, _): &&(TraceId, u64)| {
        cpu.frames(trace).next().map(method).as_deref() == Some("main.(*M[...]).Get")
    };
    assert_eq!(samples.rows.iter().filter(is_get).map(|row| row.1).sum::<u64>(), 17);
    assert!(cpu.created.is_some() && cpu.notes.is_empty(), "{:?}", cpu.notes);

    let heap = real(include_bytes!("../../../../testdata/pprof/heap.pb.gz"));
    let sites = heap.sites().unwrap();
    assert_eq!(sites.total.allocated_bytes, 909_406_365);
    assert_eq!(sites.sample_interval_bytes, Some(512 << 10));
    let stacks = fixture::text(&heap);
    assert!(stacks.contains("\nruntime.main;main.main;[unknown] 907144837\n"), "{stacks}");
    assert_eq!((heap.notes.len(), heap.labels.len()), (0, 10), "{:?}", heap.labels);

    let mutex = real(include_bytes!("../../../../testdata/pprof/mutex.pb.gz"));
    let expected = "# blocked Nanoseconds\nmain.main.func1;sync.(*Mutex).Unlock;[unknown] 91999024\n\
        # contentions Count\nmain.main.func1;sync.(*Mutex).Unlock;[unknown] 79\n";
    assert_eq!(fixture::text(&mutex), expected);
}

#[test]
fn many_stacks_and_names_of_a_megabyte() {
    let name = "n".repeat(1 << 20);
    let bytes = file(&["samples", "count", &name], |file| {
        value_type(file, 1, 2);
        for stack in 0..50_000 {
            file.message(2, |sample| {
                sample.packed(1, [3, 4 + stack % 1_000, 4 + stack / 1_000]);
                sample.packed(2, [1]);
            });
        }
        for id in 3..1_004 {
            file.message(4, |location| {
                location.number(1, id);
                location.message(4, |line| {
                    line.number(1, 3);
                    line.number(2, id);
                });
            });
        }
        file.message(5, |function| {
            function.number(1, 3);
            function.number(2, 3);
        });
    });
    let profile = read(&bytes[..]).unwrap();
    assert_eq!((profile.total_cpu_samples().total, profile.traces().len()), (50_000, 50_001));
}

#[test]
fn everything_survives() {
    let mut profile = fixture::everything();
    profile.notes = vec!["comment: from elsewhere".into()];
    let read = read(&written(&profile)[..]).unwrap();
    assert_eq!(fixture::text(&read), fixture::text(&profile));
    assert_eq!(read.accounting, profile.accounting);
    assert_eq!(read.created, profile.created);
    assert_eq!(read.notes, profile.notes);
    assert_eq!(read.cpu_samples().next().unwrap().interval_ns, Some(1_000_000));
    let (sites, of) = (read.sites().unwrap(), profile.sites().unwrap());
    assert_eq!((sites.total, sites.sample_interval_bytes), (of.total, Some(512)));
    let class = sites.rows[0].class;
    assert_eq!(read.symbols.class_name(class), "java.util.Map$Entry[]");
    assert_eq!(written(&read), written(&profile));
}

/// Returns the numbers of the strings that comments refer to, and all strings.
fn comments_and_strings(bytes: &[u8]) -> (Vec<u64>, Vec<String>) {
    let mut message = Message { bytes, offset: 0 };
    let (mut comments, mut strings) = (Vec::new(), Vec::new());
    while let Some((number, field)) = message.next().unwrap() {
        match (number, field) {
            (13, WireField::Varint(comment)) => comments.push(comment),
            (13, WireField::Bytes(mut packed)) => {
                while !packed.bytes.is_empty() {
                    comments.push(packed.varint().unwrap());
                }
            }
            (6, WireField::Bytes(text)) => {
                strings.push(String::from_utf8(text.bytes.to_vec()).unwrap());
            }
            _ => {}
        }
    }
    (comments, strings)
}

/// `go tool pprof` prints all comments at the head of each table.
#[test]
fn the_accounting_is_no_comment() {
    let mut profile = fixture::everything();
    let (comments, strings) = comments_and_strings(&written(&profile));
    assert_eq!(comments, [0; 0]);
    assert_eq!(strings.iter().filter(|text| text.starts_with("perk run\n")).count(), 1);
    assert_eq!(strings[0], "");
    profile.notes = vec!["comment: from elsewhere".into()];
    let (comments, strings) = comments_and_strings(&written(&profile));
    assert_eq!(comments.len(), 1);
    assert_eq!(strings[comments[0] as usize], "from elsewhere");
    // A profile without such data has no such string.
    let samples = read(
        &file(&["a.x", "samples", "count"], |file| {
            value_type(file, 2, 3);
            sample(file, &[1], &[1]);
            function(file, 1);
        })[..],
    );
    let (_, strings) = comments_and_strings(&written(&samples.unwrap()));
    assert!(strings.iter().all(|text| !text.contains("perk run")), "{strings:?}");
}

#[test]
fn comments_of_older_files_are_read() {
    let comments = [
        "perk sample_count=3",
        "perk program=Main",
        "perk sites.sample_interval_bytes=512",
        "perk is fast",
        "by hand",
    ];
    let strings =
        [&["a.x", "alloc_space", "bytes", "alloc_objects", "count"], &comments[..]].concat();
    let profile = read(
        &file(&strings, |file| {
            value_type(file, 2, 3);
            value_type(file, 4, 5);
            sample(file, &[1], &[96, 2]);
            function(file, 1);
            file.packed(13, 6..=10);
        })[..],
    )
    .unwrap();
    let accounting = profile.accounting.as_ref().unwrap();
    assert_eq!((accounting.sample_count, accounting.program.as_str()), (3, "Main"));
    assert_eq!(profile.sites().unwrap().sample_interval_bytes, Some(512));
    assert_eq!(profile.notes, ["comment: perk is fast", "comment: by hand"]);
}
