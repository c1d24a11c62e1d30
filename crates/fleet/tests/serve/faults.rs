//! What is not there, cannot be read, or is not for everybody.

use std::fs;
use std::process::Command;

use super::{OTHER, PageServer, add, encoded, store_of_two_services};
use crate::record::counterparts::wait_until;
use crate::store::StoreFolder;

/// The status and the line of an address that has no answer.
#[track_caller]
fn fault(served: &PageServer, path: &str) -> (u16, String) {
    let (status, answer) = served.get(path);
    let line = answer["error"].as_str().unwrap_or_else(|| panic!("{path}: {answer}")).to_owned();
    assert!(!line.contains('\n') && !line.contains("perk failed"), "{line}");
    (status, line)
}

#[test]
fn only_the_token_admits() {
    let store = StoreFolder::of_tools();
    let served = PageServer::start(&[&store.path()]);
    let id = served.id("shop");
    let paths = [
        "sources".to_owned(),
        format!("{id}/report"),
        format!("{id}/history"),
        format!("{id}/labels"),
        format!("{id}/export?as=pprof"),
        format!("diff?before={id}&after={id}"),
    ];
    let name = served.cookie.split('=').next().unwrap();
    for path in paths {
        let path = format!("/api/{path}");
        for cookie in [String::new(), format!("{name}="), format!("{name}={}", served.token)] {
            assert_eq!(served.get_as(&path, &cookie).0, 401, "{path} {cookie}");
        }
    }
    let wrong = "0".repeat(32);
    let head = "POST /api/session HTTP/1.1\r\ncontent-length: 32";
    let (head, _) = served.send(head, &wrong);
    assert!(head.starts_with("HTTP/1.1 401") && !head.contains("set-cookie"), "{head}");
}

#[test]
fn what_is_not_there_is_one_line() {
    let store = store_of_two_services();
    let served = PageServer::start(&[&store.path()]);
    let id = served.id(OTHER);
    let later = "from=2027-01-01T00:00:00Z&to=2027-01-02T00:00:00Z";
    for (address, status, words) in [
        (format!("{}/report", encoded("v1:none")), 404, "no such source"),
        ("v2:shop/report".to_owned(), 404, "no such source"),
        (format!("{id}/report?{later}"), 404, "nothing was recorded of this"),
        (format!("{id}/report?label=region%3Dnone"), 404, "nothing was recorded of this"),
        (format!("{id}/strip?label=none%3D1"), 404, "nothing was recorded of this"),
        (format!("{id}/history?label=none%3D1"), 404, "nothing was recorded of this"),
        (format!("{id}/flame?{later}"), 404, "nothing was recorded of this"),
        (format!("{id}/export?as=pprof&{later}"), 404, "nothing was recorded of this"),
        (
            format!("diff?before={id}&after={id}&after-label=region%3Dnone"),
            404,
            "nothing was recorded of this",
        ),
        (format!("{id}/report?from=soon"), 400, "use a time such as"),
        (format!("{id}/report?from=2027-01-01T00:00:00Z"), 400, "to is not later than from"),
        (format!("{id}/report?last=2"), 400, "needs a unit"),
        (format!("{id}/report?label=region"), 400, "label region"),
        (format!("{id}/history?metrik=x"), 400, "no parameter metrik"),
        (format!("{id}/none"), 404, "there is no none of a source"),
    ] {
        let (found, line) = fault(&served, &format!("/api/{address}"));
        assert!(found == status && line.contains(words), "{address}: {found} {line}");
    }
    // A time in which nothing was recorded has no labels.
    let labels = served.json(&format!("/api/{id}/labels?{later}"));
    assert_eq!(labels["labels"].as_array().unwrap().len(), 0);
}

#[test]
fn a_file_that_was_cut_is_named_and_others_are_shown() {
    let store = store_of_two_services();
    add(&store, "allocations", "cut", "2026-11-28T10:00:00Z", "n=1");
    let cut = store.samples().into_iter().find(|it| it.to_string_lossy().contains("service=cut"));
    let cut = cut.unwrap();
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let served = PageServer::start(&[&store.path()]);
    let id = served.id("cut");
    let name = cut.file_name().unwrap().to_str().unwrap();
    for view in ["report", "strip", "history", "labels", "flame"] {
        let (status, line) = fault(&served, &format!("/api/{id}/{view}"));
        assert!(status == 409 && line.contains(name), "{view}: {status} {line}");
    }
    served.json(&format!("/api/{}/report", served.id(OTHER)));
    // Once it is whole again, there is an answer.
    fs::write(&cut, bytes).unwrap();
    served.json(&format!("/api/{id}/report"));
}

#[test]
fn a_store_that_is_gone_says_so_and_comes_back() {
    let (store, other) = (StoreFolder::of_tools(), StoreFolder::new());
    add(&other, "allocations", "stays", "2026-11-28T10:00:00Z", "n=1");
    let served = PageServer::start(&[&store.path(), &other.path()]);
    let id = served.id("shop");
    let away = store.path().with_extension("away");
    fs::rename(store.path(), &away).unwrap();
    let words = "is no store: perk store add makes one";
    // At once for what was not asked before, and for the rest when the list is old.
    for view in ["report", "strip", "history"] {
        let (status, line) = fault(&served, &format!("/api/{id}/{view}"));
        assert!(status == 409 && line.contains(words), "{view}: {status} {line}");
    }
    wait_until("the fault of the store", || !served.sources().contains_key("shop"));
    let sources = served.sources();
    let gone = &sources[store.path().to_str().unwrap()];
    assert!(gone["error"].as_str().unwrap().contains(words), "{gone}");
    assert!(fault(&served, &format!("/api/{id}/labels")).1.contains(words));
    served.json(&format!("/api/{}/report", served.id("stays")));
    fs::rename(&away, store.path()).unwrap();
    wait_until("the store", || served.sources().contains_key("shop"));
    served.json(&format!("/api/{id}/report"));
}

#[test]
fn what_does_not_fit_the_memory_says_what_to_ask() {
    let store = store_of_two_services();
    let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
    let served = PageServer::of(command.args(["serve", "--memory", "1k"]).arg(store.path()));
    let id = served.id("Shop");
    for view in ["report", "flame", "history"] {
        let (status, line) = fault(&served, &format!("/api/{id}/{view}"));
        assert!(status == 400 && line.contains("ask for less time"), "{view}: {status} {line}");
    }
}

#[test]
fn a_folder_that_is_no_store_is_not_served_as_one() {
    let store = StoreFolder::new();
    for input in [store.path(), "s3://perk-test-none/x".into()] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
        let command =
            command.arg("serve").arg(&input).env("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
        let command = command.envs([
            ("AWS_ACCESS_KEY_ID", "a"),
            ("AWS_SECRET_ACCESS_KEY", "b"),
            ("AWS_ALLOW_HTTP", "true"),
        ]);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.lines().count() == 1 && said.contains(input.to_str().unwrap()), "{said}");
    }
}
