//! What is served, and what is not.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::thread::sleep;
use std::time::Duration;

use perk_web::{Options, Server};

use crate::client::{Served, encoded, testdata, write_stacks};

#[test]
fn a_folder_lists_what_perk_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("below")).unwrap();
    write_stacks(&at("below/old.collapsed"), "main;a 1\n");
    fs::copy(testdata().join("pprof/cpu.pb.gz"), at("cpu.any")).unwrap();
    fs::write(at("notes.md"), "# no profile").unwrap();
    fs::write(at("empty"), "").unwrap();
    let outside = tempfile::tempdir().unwrap();
    write_stacks(&outside.path().join("secret.collapsed"), "secret;s 1\n");
    symlink(outside.path().join("secret.collapsed"), at("link.collapsed")).unwrap();
    symlink(outside.path(), at("folder")).unwrap();
    symlink(at("below/old.collapsed"), at("inside.collapsed")).unwrap();
    symlink("/dev/zero", at("endless")).unwrap();
    let served = Served::new(&[folder.path()]);
    let mut ids = served.ids();
    ids.sort();
    assert_eq!(ids, ["s1:below/old.collapsed", "s1:cpu.any", "s1:inside.collapsed"]);
    for id in &ids {
        served.json(&format!("/api/{}/report?view=methods", encoded(id)));
    }
    for id in [
        "s1:link.collapsed",
        "s1:folder/secret.collapsed",
        "s1:../secret.collapsed",
        "s1:notes.md",
        "s1:/etc/passwd",
        "s1",
        "s2",
        "../../etc/passwd",
    ] {
        assert_eq!(served.error(&format!("/api/{}/report", encoded(id))).0, 404, "{id}");
    }
    for path in
        ["/assets/../../Cargo.toml", "/assets/%2e%2e/%2e%2e/Cargo.toml", "/assets//etc/passwd"]
    {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
    // A file that comes later is found, and one that a link replaces is not served any more.
    fs::remove_file(at("cpu.any")).unwrap();
    symlink(outside.path().join("secret.collapsed"), at("cpu.any")).unwrap();
    write_stacks(&at("new.collapsed"), "main;b 2\n");
    assert_eq!(served.error("/api/s1:cpu.any/report").0, 404);
    sleep(Duration::from_millis(2100));
    assert_eq!(served.ids()[0], "s1:new.collapsed");
    assert!(!served.ids().contains(&"s1:cpu.any".to_owned()));
}

#[test]
fn hostile_names_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = [
        &b"</script><img src=x onerror=alert(1)>.collapsed"[..],
        b"\x1b[2J\x07.collapsed",
        "a\u{202e}b\"'&%2f.collapsed".as_bytes(),
        b"not\xff\xfeunicode.collapsed",
        b"line\nbreak\r.collapsed",
    ];
    for (name, byte) in hostile.iter().zip(b'a'..) {
        let text = format!("main;</script>{};\u{1b}[31m\u{202e}x 1\n", char::from(byte));
        // The name of a file has no slash.
        let name: Vec<u8> = name.iter().map(|&it| if it == b'/' { b'_' } else { it }).collect();
        write_stacks(&folder.path().join(OsStr::from_bytes(&name)), &text);
    }
    let served = Served::new(&[folder.path()]);
    let list = served.get("/api/sources");
    assert_eq!(list.header("content-type"), Some("application/json"));
    let ids = served.ids();
    assert_eq!(ids.len(), hostile.len());
    assert!(ids.iter().any(|id| id == "s1:not%FF%FEunicode.collapsed"), "{ids:?}");
    for id in &ids {
        let path = format!("/api/{}/report?view=methods", encoded(id));
        let table = served.json(&path);
        assert_eq!(table["total_rows"], 3, "{id}");
        assert_eq!(served.get(&path).header("content-type"), Some("application/json"));
    }
    for source in served.json("/api/sources")["sources"].as_array().unwrap() {
        let name = source["name"].as_str().unwrap();
        assert!(!name.contains(['\u{1b}', '\u{202e}', '\n', '\r']), "{name:?}");
    }
}

/// The beginning of a text can look like that of stacks.
#[test]
fn texts_are_no_profiles() {
    let served = Served::new(&[&testdata()]);
    let ids = served.ids();
    assert!(ids.len() > 50 && !ids.iter().any(|id| id.ends_with(".md")), "{ids:?}");
}

#[test]
fn a_file_is_known_by_its_content() {
    let data = testdata();
    let inputs = [&*data.join("hprof/samples-b-cpu.hprof"), &*data.join("jfr/jdk17.jfr.gz")];
    let served = Served::new(&inputs);
    let list = served.json("/api/sources");
    let [first, second] = [0, 1].map(|index| &list["sources"][index]);
    assert_eq!((&first["id"], &second["id"]), (&"s1".into(), &"s2".into()));
    assert_eq!(first["kind"], "profile");
    assert_eq!(second["format"], "JFR recording");
    assert_eq!(second["bytes"], fs::metadata(inputs[1]).unwrap().len());
    assert_eq!(second["state"], "ok");
}

#[test]
fn inputs_that_cannot_be_served_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("text"), "no profile").unwrap();
    let refusal = |path| {
        let options = Options { inputs: vec![path], ..Options::default() };
        format!("{:#}", Server::bind(options).unwrap_err())
    };
    assert!(refusal(at("none")).contains("No such file"), "{}", refusal(at("none")));
    assert!(refusal(at("text")).contains("not in a format"), "{}", refusal(at("text")));
    assert!(refusal("/dev/null".into()).contains("neither a file nor a folder"));
    assert!(refusal("-".into()).contains("stdin"));
}
