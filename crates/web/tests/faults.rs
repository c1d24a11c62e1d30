//! Files that change, clients that misbehave.

use std::fs;
use std::io::{Read, Write};
use std::thread;

use perk_web::{Options, Server};

use crate::client::{Served, testdata, write_stacks};

#[test]
fn a_file_that_changes_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.collapsed");
    write_stacks(&file, "main;a 1\n");
    let served = Served::new(&[&file]);
    let path = "/api/s1/report?view=methods";
    let first = served.json(path);
    assert_eq!((&first["version"], &first["total_rows"]), (&1.into(), &2.into()));
    // Replaced.
    write_stacks(&folder.path().join("b"), "main;a 1\nmain;b 1\n");
    fs::rename(folder.path().join("b"), &file).unwrap();
    let second = served.json(path);
    assert_eq!((&second["version"], &second["total_rows"]), (&2.into(), &3.into()));
    let (status, line) = served.error(&format!("{path}&version=1"));
    assert_eq!((status, &*line), (409, "a.collapsed has changed: load it again"));
    // Grown.
    let mut open = fs::OpenOptions::new().append(true).open(&file).unwrap();
    open.write_all(b"main;c 1\n").unwrap();
    assert_eq!(served.json(path)["total_rows"], 4);
    // Cut to nothing, then to something else.
    write_stacks(&file, "");
    let (status, line) = served.error(path);
    assert_eq!(status, 409);
    assert!(line.contains("is empty"), "{line}");
    write_stacks(&file, "main;z 7\n");
    assert_eq!(served.json(path)["total_rows"], 2);
    // Removed, and back.
    fs::remove_file(&file).unwrap();
    let (status, line) = served.error(path);
    assert_eq!((status, &*line), (404, "a.collapsed is no file any more"));
    fs::create_dir(&file).unwrap();
    assert_eq!(served.error(path).0, 404);
    fs::remove_dir(&file).unwrap();
    write_stacks(&file, "main;a 1\n");
    assert_eq!(served.json(path)["total_rows"], 2);
}

/// The content of a sample file, without gzip where it is packed.
fn unpacked(file: &str) -> Vec<u8> {
    let bytes = fs::read(testdata().join(file)).unwrap();
    if !file.ends_with(".gz") {
        return bytes;
    }
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut plain).unwrap();
    plain
}

/// What is cut off in the middle is read as far as it goes, or gives one line; what had been read is not shown for
/// it, and the whole file is there again when it is whole.
#[test]
fn a_file_that_is_cut_is_what_is_left_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app");
    for (name, views) in [
        ("jfr/jdk17.jfr.gz", ["report", "flame"]),
        ("pprof/cpu.pb.gz", ["report?view=methods", "flame?tree=bottom-up"]),
        ("hprof/samples-b-cpu.hprof", ["report", "search?q=a"]),
        ("hprof/all-b-alloc.hprof.gz", ["heap/overview", "heap/classes?as=table"]),
    ] {
        // pprof is packed as it is written.
        let whole = match name {
            "pprof/cpu.pb.gz" => fs::read(testdata().join(name)).unwrap(),
            _ => unpacked(name),
        };
        fs::write(&file, &whole).unwrap();
        let served = Served::new(&[&file]);
        let paths = views.map(|view| format!("/api/s1/{view}"));
        let first = paths.each_ref().map(|path| served.get(path));
        assert!(first.iter().all(|it| it.status == 200), "{name}: {first:?}");
        // Each shorter than the one before.
        for part in [2, 3, 50] {
            let open = fs::OpenOptions::new().write(true).open(&file).unwrap();
            open.set_len((whole.len() / part) as u64).unwrap();
            for path in &paths {
                let cut = served.get(path);
                match cut.status {
                    200 => assert_ne!(cut.header("perk-version"), first[0].header("perk-version")),
                    status => {
                        let line = cut.json()["error"].as_str().unwrap().to_owned();
                        assert!(
                            [400, 404, 409].contains(&status),
                            "{name} {path}: {status} {line}"
                        );
                        assert!(line.lines().count() == 1, "{line}");
                    }
                }
            }
        }
        fs::write(&file, &whole).unwrap();
        for (path, first) in paths.iter().zip(&first) {
            let again = served.get(path);
            assert_eq!(again.status, 200, "{name} {path}");
            // Compact answers have the version of the file in them.
            if !path.contains(['=', '?']) && path.ends_with("report") {
                assert!(again.body == first.body, "{name} {path}");
            }
        }
    }
}

/// The heap of a dump that was read is not asked after the dump was exchanged.
#[test]
fn a_heap_dump_that_is_replaced_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.hprof");
    let whole = unpacked("hprof/all-b-alloc.hprof.gz");
    fs::write(&file, &whole).unwrap();
    let served = Served::new(&[&file]);
    let biggest = served.json("/api/s1/heap/biggest?top=1").to_string();
    let at = biggest.find("0x").expect("an address");
    let address: String = biggest[at..].chars().take_while(char::is_ascii_alphanumeric).collect();
    let object = format!("/api/s1/heap/object?id={address}");
    assert_eq!(served.get(&object).status, 200);
    fs::write(folder.path().join("other"), "main;a 1\n").unwrap();
    fs::rename(folder.path().join("other"), &file).unwrap();
    let (status, line) = served.error(&object);
    assert_eq!((status, line.lines().count()), (409, 1), "{line}");
    fs::remove_file(&file).unwrap();
    assert_eq!(served.error(&object).0, 404);
    fs::write(&file, &whole).unwrap();
    assert_eq!(served.get(&object).status, 200);
}

#[test]
fn a_port_in_use_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::new(&[folder.path()]);
    let port = served.address.split(':').next_back().unwrap().parse().unwrap();
    let error = Server::bind(Options { port, ..Options::default() }).unwrap_err();
    let line = format!("{error:#}");
    let start = format!("cannot listen on port {port} of 127.0.0.1 (--port 0 takes a free one): ");
    assert!(line.starts_with(&start) && line.lines().count() == 1, "{line}");
}

#[test]
fn a_thousand_connections_do_not_keep_others_out() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::new(&[folder.path()]);
    let mut idle = Vec::new();
    for index in 0..1000 {
        let mut stream = served.connect();
        // Some begin a request and never end it.
        if index % 2 == 0 {
            let _ = stream.write_all(b"GET /api/sources HTTP/1.1\r\nhost: ");
        }
        idle.push(stream);
    }
    assert_eq!(served.get("/api/sources").status, 200);
    // The oldest ones have ended for the newer ones.
    let mut byte = [0];
    assert!(matches!(idle[0].read(&mut byte), Ok(0) | Err(_)));
}

#[test]
fn clients_that_never_read_do_not_keep_others_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.collapsed");
    let stacks = (0..30_000).map(|index| format!("main;m{index} 1\n"));
    write_stacks(&file, &stacks.collect::<String>());
    let served = Served::new(&[&file]);
    let deaf: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = served.connect();
            let (address, cookie) = (&served.address, &served.cookie);
            let request = format!(
                "GET /api/s1/report?view=methods&limit=10000 HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(served.json("/api/s1/report?view=methods&limit=1")["total_rows"], 30_001);
    drop(deaf);
}

#[test]
fn broken_requests_get_an_answer_or_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::new(&[folder.path()]);
    let (address, cookie) = (&served.address, &served.cookie);
    let head = format!("host: {address}\r\ncookie: {cookie}\r\nconnection: close\r\n");
    let length = "content-length: 10485760\r\n\r\n";
    let body = "x".repeat(10 << 20);
    assert_eq!(
        served.raw(format!("GET /api/sources HTTP/1.1\r\n{head}{length}{body}").as_bytes()).status,
        413
    );
    let long = "a".repeat(10 << 20);
    for request in [
        format!("GET /{long} HTTP/1.1\r\n{head}\r\n"),
        format!("GET /api/sources HTTP/1.1\r\nx: {long}\r\n{head}\r\n"),
        "\0\u{1}\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
    ] {
        let status = served.raw(request.as_bytes()).status;
        assert!((400..500).contains(&status), "{status}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let request = format!("{method} /api/sources HTTP/1.1\r\n{head}content-length: 0\r\n\r\n");
        assert_eq!(served.raw(request.as_bytes()).status, 405, "{method}");
    }
    assert_eq!(served.get("/api/sources").status, 200);
}

#[test]
fn two_browsers_see_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.collapsed");
    write_stacks(&file, &(0..2000).map(|it| format!("main;a;m{it} {it}\n")).collect::<String>());
    let served = Served::new(&[&file]);
    let ask = |query: &str| served.get(&format!("/api/s1/report?view=methods&{query}")).body;
    let alone: Vec<_> = ["", "sort=name", "search=m1", "focus=m7"].map(ask).into();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let again: Vec<_> = ["", "sort=name", "search=m1", "focus=m7"].map(ask).into();
                    assert_eq!(again, alone);
                }
            });
        }
    });
}
