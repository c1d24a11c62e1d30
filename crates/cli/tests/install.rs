//! Tests of `make install`: the program, its manual pages and completions.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::util::{Folder, PERK, assert_refused, shell_line, stdout};

const INSTALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/install.sh");

fn install(prefix: &Path) -> std::process::Output {
    Command::new(INSTALL).arg(PERK).arg(prefix).output().unwrap()
}

/// The commands of `perk --help`.
fn commands(folder: &Folder) -> Vec<String> {
    let help = stdout(&folder.run(&["--help"]));
    let commands = help.split("Commands:\n").nth(1).unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let words = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = words.map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| name != "help").collect()
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = Folder::new();
    let prefix = folder.join("usr");
    let output = install(&prefix);
    assert!(output.status.success(), "{output:?}");
    assert!(prefix.join("bin/perk").is_file());
    let mut pages: Vec<_> = fs::read_dir(prefix.join("share/man/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    let mut expected = vec!["perk.1".to_owned()];
    expected.extend(commands(&folder).iter().map(|name| format!("perk-{name}.1")));
    expected.sort();
    assert_eq!(pages, expected);
    assert!(expected.len() > 10, "{expected:?}");

    let run = fs::read_to_string(prefix.join("share/man/man1/perk-run.1")).unwrap();
    assert!(run.contains(".TH perk-run 1"), "{run}");
    assert!(run.contains(r"\-\-heap"), "{run}");
    let shown = folder.perk().args(["man", "run"]).output().unwrap();
    assert_eq!(stdout(&shown), run);
}

#[test]
fn completions_are_where_shells_look() {
    let folder = Folder::new();
    let prefix = folder.join("usr");
    assert!(install(&prefix).status.success());
    let read = |name: &str| fs::read_to_string(prefix.join("share").join(name)).unwrap();
    assert!(read("zsh/site-functions/_perk").starts_with("#compdef perk"));
    assert!(read("fish/vendor_completions.d/perk.fish").contains("complete -c perk"));
    // bash completes the commands by the script.
    let script = prefix.join("share/bash-completion/completions/perk");
    let complete = format!(
        "source {}; COMP_WORDS=(perk dif); COMP_CWORD=1; _perk perk dif perk; echo ${{COMPREPLY[@]}}",
        shell_line(&[script.display().to_string()])
    );
    let output = Command::new("bash").args(["-c", &complete]).output().unwrap();
    assert_eq!(stdout(&output), "diff\n", "{output:?}");
}

#[test]
fn a_prefix_that_cannot_be_written_to_is_reported() {
    let folder = Folder::new();
    let output = install(&folder.file("file", "").join("usr"));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("cannot be written to") && text.contains("PREFIX"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn an_unknown_page_is_refused() {
    let folder = Folder::new();
    assert_refused(&folder.run(&["man", "sing"]), &["perk man sing", "report"]);
}

#[test]
fn an_archive_of_the_same_files_has_the_same_bytes() {
    let folder = Folder::new();
    let pack = |place: &str, umask: &str| {
        let prefix = folder.join(place).join("perk-1");
        assert!(install(&prefix).status.success());
        fs::remove_file(prefix.join("bin/perk")).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/pack.sh");
        let line = format!("umask {umask} && touch -d {place} \"$2/LICENSE\" && \"$1\" \"$2\"");
        let mut command = Command::new("bash");
        command.args(["-c", &line, "pack", script]).arg(&prefix);
        let output = command.env("SOURCE_DATE_EPOCH", "1700000000").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let sums = fs::read_to_string(folder.join(place).join("SHA256SUMS")).unwrap();
        assert!(sums.ends_with("  perk-1.tar.gz\n"), "{sums}");
        let check = Command::new("sha256sum")
            .args(["--check", "SHA256SUMS"])
            .current_dir(folder.join(place))
            .output();
        assert!(check.unwrap().status.success());
        sums
    };
    assert_eq!(pack("2001-01-01", "022"), pack("2002-02-02", "077"));
}
