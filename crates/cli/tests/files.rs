//! `perk report` and `perk convert`: their output, and their handling of files that are not
//! profiles.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::util::{Folder, PERK, assert_refused, stderr, stdout};

const STACKS: &str = "\
Main.main;Main.parse;Lexer.next 60
Main.main;Main.parse 10
Main.main;Main.check;Lexer.next 25
Main.main;Main.check;Types.of;Types.of;Types.of 5
";

const FORMS: [&str; 4] = ["txt", "hprof", "collapsed", "html"];

/// Makes a folder with the same profile in all forms, as `p.<ending>`.
fn profiles() -> Folder {
    let folder = Folder::new();
    folder.file("in.collapsed", STACKS);
    for form in FORMS {
        let output = folder.run(&["convert", "in.collapsed", "-o", &format!("p.{form}")]);
        assert!(output.status.success(), "{form}: {}", stderr(&output));
    }
    folder
}

#[test]
fn every_form_says_the_same() {
    let folder = profiles();
    let reports: Vec<_> = FORMS
        .iter()
        .map(|form| {
            let output = folder.run(&["report", "--all", &format!("p.{form}")]);
            assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{form}");
            let text = stdout(&output);
            text.split_once('\n').unwrap().1.to_owned()
        })
        .collect();
    for (form, report) in FORMS.iter().zip(&reports) {
        assert_eq!(report, &reports[0], "{form}");
    }
    assert!(reports[0].contains("1   85.00    85    85.00     85  Lexer.next"), "{}", reports[0]);
    assert!(reports[0].contains("   5.00     5     5.00      5  Types.of"), "{}", reports[0]);
}

#[test]
fn converting_there_and_back_changes_nothing() {
    let folder = profiles();
    for form in FORMS {
        let input = format!("p.{form}");
        let output = folder.run(&["convert", &input, "--output-format", "collapsed", "-o", "-"]);
        assert!(output.status.success(), "{form}: {}", stderr(&output));
        let mut lines: Vec<_> = stdout(&output).lines().map(str::to_owned).collect();
        lines.sort();
        let mut expected: Vec<_> = STACKS.lines().collect();
        expected.sort();
        assert_eq!(lines, expected, "{form}");
    }
}

#[test]
fn the_content_decides_the_format_and_stdin_is_accepted() {
    let folder = profiles();
    for form in FORMS {
        let bytes = fs::read(folder.join(&format!("p.{form}"))).unwrap();
        folder.file("no-ending", &bytes);
        assert_eq!(folder.run(&["report", "no-ending"]).status.code(), Some(0), "{form}");
        let output = folder.perk().args(["report", "-"]).write_stdin(bytes).output().unwrap();
        assert!(stdout(&output).starts_with("stdin: "), "{form}: {}", stderr(&output));
    }
}

#[test]
fn json_is_complete() {
    let folder = profiles();
    let output = folder.run(&["report", "p.hprof", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["sample_count"], 100);
    let metric = &json["metrics"][0];
    assert_eq!((&metric["metric"], &metric["total"]), (&"samples".into(), &100.into()));
    assert_eq!(metric["methods"].as_array().unwrap().len(), 5);
    assert_eq!(metric["methods"][0]["method"], "next");
    assert_eq!(metric["methods"][0]["self"], 85);
    assert_eq!(metric["methods"][0]["self_percent"], 85.0);
    assert_eq!(metric["paths"].as_array().unwrap().len(), 4);
    assert_eq!(metric["paths"][0]["frames"].as_array().unwrap().len(), 3);
    let few = folder.run(&["report", "p.hprof", "--json", "--top", "1"]);
    let json: serde_json::Value = serde_json::from_slice(&few.stdout).unwrap();
    assert_eq!(json["metrics"][0]["methods"].as_array().unwrap().len(), 1);
}

#[test]
fn options_of_the_report() {
    let folder = profiles();
    let output = folder.run(&["report", "p.txt", "--top", "1", "--traces", "--threads"]);
    let text = stdout(&output);
    assert!(text.contains("60 samples in trace 3"), "{text}");
    assert!(text.contains("25 samples in 1 more trace"), "{text}");
    assert!(text.contains("does not distinguish threads"), "{text}");
    assert!(!text.contains("Types.of"), "{text}");
}

#[test]
fn what_is_no_profile_is_refused() {
    let folder = Folder::new();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let random: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
    .take(100_000)
    .collect();
    folder.file("random", random);
    folder.file("empty", "");
    folder.file("text", "# Notes\n\nnothing of interest\n");
    folder.file("page.html", "<!doctype html><title>x</title>");
    fs::create_dir(folder.join("folder")).unwrap();
    for (file, parts) in [
        ("random", &["random is not in a format that perk can read", "perk formats"][..]),
        ("empty", &["empty is empty"]),
        ("text", &["text is not in a format"]),
        ("page.html", &["page.html is an HTML page, which perk does not read"]),
        ("folder", &["cannot read folder: it is a folder"]),
        ("missing", &["cannot read missing", "No such file"]),
        ("/dev/zero", &["/dev/zero is not in a format"]),
    ] {
        assert_refused(&folder.run(&["report", file]), parts);
        assert_refused(&folder.run(&["convert", file, "-o", "out.txt"]), parts);
        assert!(!folder.join("out.txt").exists(), "{file}");
    }
}

#[test]
fn cut_and_damaged_files_are_errors_with_a_place() {
    let folder = profiles();
    for form in FORMS {
        let name = format!("p.{form}");
        let bytes = fs::read(folder.join(&name)).unwrap();
        let mut refused = 0;
        for twentieth in 1..20 {
            let at = bytes.len() * twentieth / 20;
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            for content in [&bytes[..at], &damaged] {
                folder.file("bad", content);
                let output = folder.run(&["report", "bad"]);
                let text = stderr(&output);
                match output.status.code() {
                    // Some cuts leave a shorter profile; some damage is in a name.
                    Some(0 | 1) => {}
                    Some(2) => {
                        refused += 1;
                        assert_refused(&output, &["bad"]);
                    }
                    code => panic!("{form} at {at}: {code:?} {text}"),
                }
            }
        }
        assert!(refused > 0 || form == "collapsed", "{form}");
    }
    let bytes = fs::read(folder.join("p.hprof")).unwrap();
    folder.file("bad", &bytes[..bytes.len() - 5]);
    let cut = folder.run(&["report", "bad"]);
    assert!(cut.status.code() != Some(2), "what is whole of a binary file is read");
    assert!(stderr(&cut).contains("bad: offset "), "{}", stderr(&cut));
    assert!(stderr(&cut).contains(": the file is cut off in CPU SAMPLES"), "{}", stderr(&cut));
    let bytes = fs::read(folder.join("p.txt")).unwrap();
    folder.file("bad", &bytes[..bytes.len() - 25]);
    let cut = folder.run(&["report", "bad"]);
    assert_eq!(cut.status.code(), Some(0), "what there is of a text is read");
    assert!(stderr(&cut).contains("bad: the file is cut off in line "), "{}", stderr(&cut));
}

#[test]
fn outputs_that_cannot_be() {
    let folder = profiles();
    let before = fs::read(folder.join("p.txt")).unwrap();
    for (arguments, parts) in [
        (
            &["p.txt", "-o", "x.class"][..],
            &["x.class", "use .txt, .hprof, .prof, .jfr, .aprof, .fields.html, .html, ", " or .pb"]
                [..],
        ),
        (&["p.txt", "-o", "no/x.txt"], &["cannot write no/x.txt", "No such file"]),
        (&["p.txt", "-o", "p.txt"], &["p.txt is both input and output"]),
        (&["./p.txt", "-o", "p.txt", "--output-format", "html"], &["both input and output"]),
        (&["p.txt", "-o", "-"], &["--output-format"]),
    ] {
        let arguments: Vec<_> = ["convert"].iter().chain(arguments).copied().collect();
        assert_refused(&folder.run(&arguments), parts);
    }
    assert_eq!(fs::read(folder.join("p.txt")).unwrap(), before);
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let folder = profiles();
    std::os::unix::fs::symlink("/dev/full", folder.join("full.txt")).unwrap();
    assert_refused(
        &folder.run(&["convert", "p.hprof", "-o", "full.txt"]),
        &["cannot write full.txt", "No space left"],
    );
}

#[test]
fn a_device_stays_a_device() {
    let folder = profiles();
    let output =
        folder.run(&["convert", "p.txt", "--output-format", "collapsed", "-o", "/dev/stdout"]);
    assert_eq!(stdout(&output).lines().count(), 4, "{}", stderr(&output));
}

#[test]
fn nothing_to_report_is_1() {
    let folder = profiles();
    let text = fs::read_to_string(folder.join("p.txt")).unwrap();
    let (header, _) = text.split_once("--------\n").unwrap();
    folder.file("none.txt", format!("{header}--------\n\n"));
    let output = folder.run(&["report", "none.txt"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "perk: none.txt has nothing to report: no samples, calls, allocation sites, monitors, heap dumps or field accesses\n"
    );
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new();
    let stacks: String = (0..20_000).map(|i| format!("Main.main;C{i}.method{i} 1\n")).collect();
    folder.file("big.collapsed", stacks);
    for arguments in [
        &["report", "big.collapsed", "--json"][..],
        &["report", "big.collapsed", "--top", "20000"],
        &["convert", "big.collapsed", "--output-format", "html", "-o", "-"],
        &["completions", "bash"],
        &["run", "--help"],
    ] {
        let mut child = Command::new(PERK)
            .args(arguments)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0]).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), stderr(&output).as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn names_cannot_play_with_the_terminal() {
    let folder = Folder::new();
    let long = "x".repeat(60_000);
    folder.file("odd.collapsed", format!("Main.a\tb\x1b[2J;\"q\".été$日本 3\n{long}.m 2\n"));
    for arguments in [&["report", "odd.collapsed"][..], &["report", "odd.collapsed", "--traces"]] {
        let output = folder.run(arguments);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(!text.contains('\x1b') && !text.contains('\t'), "{text}");
        assert!(text.contains("été$日本"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < 1200));
    }
}

#[test]
fn other_commands() {
    let folder = Folder::new();
    let formats = stdout(&folder.run(&["formats"]));
    assert!(FORMS.iter().all(|form| formats.contains(form)), "{formats}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&folder.run(&["completions", shell])).contains("convert"), "{shell}");
    }
    assert!(stdout(&folder.run(&["--version"])).starts_with("perk "));
    for command in ["run", "report", "diff", "convert", "formats", "agent-path", "completions"] {
        let help = stdout(&folder.run(&[command, "--help"]));
        assert!(help.contains("Example"), "{command}: {help}");
    }
    assert_refused(&folder.run(&[]), &["subcommand"]);
    assert_refused(&folder.run(&["report"]), &["<FILE>"]);
    assert_refused(&folder.run(&["report", "--tops", "3", "x"]), &["--tops", "'--top'"]);
}

#[test]
fn the_agent_is_unpacked_for_its_user_alone() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new();
    let cache = folder.join("cache");
    let path = |arguments: &[&str]| {
        let output = folder.perk().env("XDG_CACHE_HOME", &cache).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        std::path::PathBuf::from(stdout(&output).trim_end())
    };
    let library = path(&["agent-path"]);
    assert!(library.starts_with(&cache) && library.ends_with("libperk.so"));
    let hprof = path(&["agent-path", "--hprof"]).join("libhprof.so");
    assert_eq!(fs::read(&library).unwrap(), fs::read(hprof).unwrap());
    assert_eq!(fs::metadata(library.parent().unwrap()).unwrap().mode() & 0o777, 0o700);

    // If the cache cannot be written, the folder for temporary files is used.
    let blocked = folder.file("file", "");
    let output = folder
        .perk()
        .env("XDG_CACHE_HOME", &blocked)
        .env("TMPDIR", folder.path())
        .arg("agent-path")
        .output()
        .unwrap();
    assert!(stdout(&output).contains("/perk-"), "{}", stderr(&output));
}

#[test]
fn record_is_run_by_a_program_that_may_be_missing() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let perk = folder.join("perk");
    fs::copy(PERK, &perk).unwrap();
    let record = |arguments: &[&str]| {
        let mut command = Command::new(&perk);
        command.arg("record").args(arguments).env("PATH", folder.join("bin"));
        command.output().unwrap()
    };
    let output = record(&["--to", "x"]);
    assert_refused(&output, &["perk record needs the program perk-fleet", "make install"]);
    fs::create_dir(folder.join("bin")).unwrap();
    let script = folder.file("bin/perk-fleet", "#!/bin/sh\necho \"$@\"\nexit 7\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let output = record(&["--to", "a b", "-x", "--help"]);
    assert_eq!((output.status.code(), &*stdout(&output)), (Some(7), "record --to a b -x --help\n"));
}

#[test]
fn who_reads_a_part_alone_is_no_error() {
    let folder = Folder::new();
    let stacks: String = (0..20_000).map(|index| format!("T.method{index} 1\n")).collect();
    folder.file("p.collapsed", stacks);
    for view in ["--csv", "--json", "--top 20000", "--tree --min 0"] {
        let script = format!("set -o pipefail; \"$PERK\" report {view} p.collapsed | head -1");
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).env("PERK", PERK).current_dir(folder.path());
        let output = bash.output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{view}");
    }
}
