//! The results of perk for inputs that are packed, cut off, endless, or made to do harm.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use perk_testkit::protobuf::{bytes, number};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::util::{Folder, PERK, assert_refused, stderr, stdout, wait_for};

const STACKS: &str = "Main.main;Lexer.next 60\nMain.main;Types.of 25\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 0).unwrap()
}

/// Returns the report on a file without the line that names it.
#[track_caller]
fn report(folder: &Folder, arguments: &[&str]) -> String {
    let arguments: Vec<_> = ["report", "--all"].iter().chain(arguments).copied().collect();
    let output = folder.run(&arguments);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{arguments:?}");
    stdout(&output).split_once('\n').unwrap().1.to_owned()
}

#[test]
fn packed_files_are_read_as_what_they_hold() {
    let folder = Folder::new();
    folder.file("plain", STACKS);
    folder.file("gzip", gzip(STACKS.as_bytes()));
    folder.file("zstd", zstd(STACKS.as_bytes()));
    folder.file("twice", gzip(&gzip(STACKS.as_bytes())));
    folder.file("both", zstd(&gzip(STACKS.as_bytes())));
    let (first, second) = STACKS.split_at(STACKS.find('\n').unwrap() + 1);
    folder.file("members", [gzip(first.as_bytes()), gzip(second.as_bytes())].concat());
    let plain = report(&folder, &["plain"]);
    for file in ["gzip", "zstd", "twice", "both", "members"] {
        assert_eq!(report(&folder, &[file]), plain, "{file}");
    }
    folder.file("deep", gzip(&gzip(&gzip(&gzip(STACKS.as_bytes())))));
    assert_refused(&folder.run(&["report", "deep"]), &["deep is not in a format", r"\x1f\x8b"]);
}

#[test]
fn an_ending_packs_what_is_written() {
    let folder = Folder::new();
    folder.file("plain.folded", STACKS);
    let plain = report(&folder, &["plain.folded"]);
    for (name, magic) in [
        ("x.pb.gz", &[0x1F, 0x8B][..]),
        ("x.txt.gz", &[0x1F, 0x8B]),
        ("x.hprof.zst", &[0x28, 0xB5, 0x2F, 0xFD]),
        ("x.speedscope.json.gz", &[0x1F, 0x8B]),
        ("x.collapsed", b"Main"),
    ] {
        let output = folder.run(&["convert", "plain.folded", "-o", name]);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{name}");
        assert!(fs::read(folder.join(name)).unwrap().starts_with(magic), "{name}");
        assert_eq!(report(&folder, &[name]), plain, "{name}");
    }
    std::os::unix::fs::symlink("/dev/full", folder.join("full.txt.gz")).unwrap();
    let output = folder.run(&["convert", "plain.folded", "-o", "full.txt.gz"]);
    assert_refused(&output, &["cannot write full.txt.gz", "No space left"]);
}

#[test]
fn a_profile_survives_pprof_and_speedscope() {
    let folder = Folder::new();
    folder.file("a.folded", format!("{STACKS}[main];A.b;C.d 7\n[no stack] 2\n[below cutoff] 3\n"));
    for name in ["x.pb", "x.speedscope.json"] {
        folder.run(&["convert", "a.folded", "-o", name]);
        let collapsed = ["convert", name, "--output-format", "collapsed", "-o", "-"];
        let merged = folder.run(&collapsed);
        assert!(stdout(&merged).contains("\nA.b;C.d 7\n") || stdout(&merged).starts_with("A.b;"));
        assert!(stderr(&merged).contains("all threads are one in collapsed stacks"));
        let output = folder.run(&[&collapsed[..], &["--threads"]].concat());
        let mut lines: Vec<_> = stdout(&output).lines().map(str::to_owned).collect();
        lines.sort();
        let expected = [
            "Main.main;Lexer.next 60",
            "Main.main;Types.of 25",
            "[below cutoff] 3",
            "[main];A.b;C.d 7",
            "[no stack] 2",
        ];
        assert_eq!(lines, expected, "{name}: {}", stderr(&output));
    }
}

#[test]
fn faults_of_packed_files_are_named() {
    let folder = Folder::new();
    let stacks: String = (0..20_000).map(|i| format!("Main.main;C{i}.m{i} {i}\n")).collect();
    let (gz, zst) = (gzip(stacks.as_bytes()), zstd(stacks.as_bytes()));
    let mut damaged = gz.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0x55);
    folder.file("nothing.gz", gzip(b""));
    folder.file("nothing.zst", zstd(b""));
    folder.file("head.gz", &gz[..5]);
    folder.file("head.zst", &zst[..40]);
    folder.file("damaged.gz", damaged);
    for (file, parts) in [
        ("nothing.gz", &["nothing.gz is empty"][..]),
        ("nothing.zst", &["nothing.zst is empty"]),
        ("head.gz", &["cannot read head.gz: the gzip data is cut off"]),
        ("head.zst", &["cannot read head.zst: the zstd data is cut off"]),
        ("damaged.gz", &["cannot read damaged.gz: the gzip data is damaged"]),
    ] {
        assert_refused(&folder.run(&["report", file]), parts);
    }
}

/// Zeros after packed data are those of a tape or a block device.
#[test]
fn what_follows_packed_data_is_skipped() {
    let folder = Folder::new();
    folder.file("plain", STACKS);
    let plain = report(&folder, &["plain"]);
    let skippable = [&[0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0][..], b"perk"].concat();
    let (first, second) = STACKS.split_at(STACKS.find('\n').unwrap() + 1);
    for (name, pack) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("zstd", zstd)] {
        let whole = pack(STACKS.as_bytes());
        folder.file("zeros", [&whole[..], &[0; 10_240]].concat());
        let parts = [&pack(first.as_bytes())[..], &[0; 512], &pack(second.as_bytes()), &[0; 9]];
        folder.file("members", parts.concat());
        assert_eq!(report(&folder, &["zeros"]), plain, "{name}");
        assert_eq!(report(&folder, &["members"]), plain, "{name}");
        folder.file("tail", [&whole[..], b"\0\0other"].concat());
        let output = folder.run(&["report", "--all", "tail"]);
        let note = format!("perk: tail: 5 bytes after the {name} data are skipped\n");
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), note));
        assert_eq!(stdout(&output).split_once('\n').unwrap().1, plain, "{name}");
    }
    // Parallel zstd marks its frames.
    folder.file("marked", [&skippable[..], &zstd(STACKS.as_bytes()), &skippable].concat());
    assert_eq!(report(&folder, &["marked"]), plain);
}

/// Returns the stacks of a file, and the messages about it.
#[track_caller]
fn as_stacks(folder: &Folder, file: &str) -> (Vec<String>, String) {
    let output = folder.run(&["convert", file, "--output-format", "collapsed", "-o", "-"]);
    assert_eq!(output.status.code(), Some(0), "{file}: {}", stderr(&output));
    let mut lines: Vec<_> = stdout(&output).lines().map(str::to_owned).collect();
    lines.sort();
    (lines, stderr(&output))
}

/// The whole part is read: a line that is cut off is ignored.
#[test]
fn packed_files_that_are_cut_off_are_read_as_far_as_they_go() {
    let folder = Folder::new();
    // Each count differs from those of all other lines, and from their beginnings.
    let line = |i: usize| format!("Main.main;C{i}.m{i} {}", 1_000_000 + i);
    let lines: Vec<_> = (0..8_000).map(line).collect();
    folder.file("whole.collapsed", lines.join("\n") + "\n");
    let names = ["whole.collapsed", "whole.txt", "whole.hprof", "whole.perf"];
    for name in &names[1..3] {
        assert!(folder.run(&["convert", names[0], "-o", name]).status.success());
    }
    let sample = |i: usize| format!("main 1 {i}.0: 1 cycles:\n\t00 m{i} (C{i})\n\n");
    folder.file(names[3], (0..8_000).map(sample).collect::<String>());
    for name in names {
        let whole = std::fs::read(folder.join(name)).unwrap();
        let (all, said) = as_stacks(&folder, name);
        assert!(!said.contains("cut off"), "{said}");
        for (ending, packed) in [("gz", gzip(&whole)), ("zst", zstd(&whole))] {
            for part in [packed.len() * 2 / 3, packed.len() - 5] {
                let file = format!("{name}.{ending}");
                folder.file(&file, &packed[..part]);
                // HPROF's rows come after all stacks.
                if name.ends_with("xt") || name.ends_with("hprof") {
                    let output = folder.run(&["report", &file]);
                    assert!(stderr(&output).contains("cut off"), "{file}: {}", stderr(&output));
                    continue;
                }
                let (stacks, said) = as_stacks(&folder, &file);
                let packing = if ending == "gz" { "gzip" } else { "zstd" };
                let note =
                    format!("{file}: the {packing} data is cut off; it is read as far as it goes");
                assert!(said.contains(&note), "{said}");
                assert!(stacks.len() > all.len() / 3, "{file}: {} stacks", stacks.len());
                assert!(stacks.iter().all(|it| all.binary_search(it).is_ok()), "{file}");
            }
        }
    }
}

/// Runs perk with so little memory that the contents of a bomb do not fit.
fn run_bounded(folder: &Folder, arguments: &[&str]) -> Output {
    let script = r#"ulimit -v 400000; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script, PERK]).args(arguments).current_dir(folder.path());
    command.output().unwrap()
}

#[test]
fn a_bomb_stops_at_max_bytes() {
    const MEMBER_BYTES: usize = 4 << 20;
    const MEMBERS: usize = 256;
    let folder = Folder::new();
    let zeros = gzip(&vec![0; MEMBER_BYTES]);
    let line = b"Main.main;Lexer.next 1\n";
    let lines = gzip(&line.repeat(MEMBER_BYTES / line.len()));
    // 1 GB each; and 1 GB of packed data that unpacks to nothing.
    folder.file("zeros.gz", zeros.repeat(MEMBERS));
    folder.file("lines.gz", lines.repeat(MEMBERS));
    folder.file("lines.gz.gz", gzip(&lines.repeat(MEMBERS)));
    let empty = gzip(b"");
    let empty = gzip(&empty.repeat(MEMBER_BYTES / empty.len()));
    folder.file("nothing.gz.gz", empty.repeat(MEMBERS));
    let limit = "more than 1048576 bytes; --max-bytes allows more";
    for (file, parts) in [
        (
            "zeros.gz",
            &[r#"zeros.gz is not in a format that perk can read: it begins with "\x00\x00"#][..],
        ),
        ("lines.gz", &["cannot read lines.gz", limit]),
        ("lines.gz.gz", &["cannot read lines.gz.gz", limit]),
        ("nothing.gz.gz", &["cannot read nothing.gz.gz: more than", "--max-bytes allows more"]),
    ] {
        assert_refused(&run_bounded(&folder, &["report", file, "--max-bytes", "1m"]), parts);
    }
    for form in ["collapsed", "txt", "pprof", "speedscope"] {
        let output = run_bounded(
            &folder,
            &["report", "zeros.gz", "--max-bytes", "1m", "--input-format", form],
        );
        assert_refused(&output, &["zeros.gz"]);
    }
}

/// Small files whose contents are large: deep stacks, many names, long lines, many records.
#[test]
fn bombs_stop_at_max_memory() {
    let folder = Folder::new();
    let names: String = (0..20_000).map(|i| format!("Main{i}.run;A.b{} 1\n", i + 1)).collect();
    folder.file("names.collapsed", &names);
    for form in ["txt", "hprof", "pprof", "speedscope", "html", "jfr"] {
        let output =
            folder.run(&["convert", "names.collapsed", "--output-format", form, "-o", form]);
        assert_eq!(output.status.code(), Some(0), "{form}: {}", stderr(&output));
        folder.file(&format!("{form}.gz"), gzip(&fs::read(folder.join(form)).unwrap()));
    }
    folder.file("names.gz", gzip(names.as_bytes()));
    folder.file("deep.gz", gzip(("a;".repeat(500_000) + "a 1\n").as_bytes()));
    folder.file("long.zst", zstd(("x".repeat(20_000_000) + " 1\n").as_bytes()));
    let frames = "\t0 a\n".repeat(400_000);
    folder.file("perf.gz", gzip(format!("java 1 5.1: 1 cycles:\n{frames}\n").as_bytes()));
    let stack = "0,".repeat(300_000);
    let json = format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":
        [{{"name":"a"}}]}},"profiles":[{{"type":"sampled","name":"x","unit":"none","startValue":0,
        "endValue":1,"samples":[[{stack}0]],"weights":[1]}}]}}"#
    );
    folder.file("stack.gz", gzip(json.as_bytes()));
    let chunk = |body: &[u8]| {
        let mut chunk = b"FLR\0\0\x02\0\0".to_vec();
        for number in [68 + body.len() as u64, 0, 0, 1, 1, 0, 1_000_000] {
            chunk.extend(number.to_be_bytes());
        }
        chunk.extend([0, 0, 0, 1]);
        zstd(&[&chunk[..], body].concat())
    };
    folder.file("zeros.jfr.zst", chunk(&vec![0; 50_000_000]));
    folder.file("checkpoints.jfr.zst", chunk(&b"\x02\x01".repeat(1_000_000)));
    folder.file("inline.pb", inlined(300, 20_000));
    for (file, most) in [
        ("names.gz", "8m"),
        ("txt.gz", "8m"),
        ("hprof.gz", "8m"),
        ("pprof.gz", "8m"),
        ("speedscope.gz", "8m"),
        ("html.gz", "8m"),
        ("jfr.gz", "8m"),
        ("deep.gz", "16m"),
        ("long.zst", "16m"),
        ("perf.gz", "16m"),
        ("stack.gz", "16m"),
        ("zeros.jfr.zst", "32m"),
        ("checkpoints.jfr.zst", "16m"),
        ("inline.pb", "32m"),
    ] {
        let output = run_bounded(&folder, &["report", file, "--max-memory", most]);
        let begin = format!("perk: cannot read {file}: more memory than ");
        assert_refused(&output, &[&begin, " MB is needed at byte ", "; --max-memory allows more"]);
    }
    let output = run_bounded(&folder, &["report", "names.gz", "--max-memory", "300m"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Without the option the size of the file decides.
    folder.file("more.jfr.zst", chunk(&vec![0; 300_000_000]));
    let output = run_bounded(&folder, &["report", "more.jfr.zst"]);
    let why = "more memory than 268.4 MB (the least that files may take) is needed at byte ";
    assert_refused(&output, &[why]);
}

/// Returns a pprof file of one stack: `depth` times a place with as many methods in each other.
fn inlined(methods: u64, depth: usize) -> Vec<u8> {
    let line = |line: u64| bytes(4, &[number(1, 1), number(2, line)].concat());
    let lines: Vec<u8> = (0..methods).flat_map(line).collect();
    let sample = [bytes(1, &vec![1; depth]), bytes(2, &[1])].concat();
    let mut file = bytes(1, &[number(1, 1), number(2, 2)].concat());
    file.extend(bytes(2, &sample));
    file.extend(bytes(4, &[number(1, 1), lines].concat()));
    file.extend(bytes(5, &[number(1, 1), number(2, 3)].concat()));
    for text in ["", "samples", "count", "f"] {
        file.extend(bytes(6, text.as_bytes()));
    }
    file
}

#[test]
fn an_endless_pipe_stops_at_max_bytes() {
    let folder = Folder::new();
    for (text, parts) in [
        ("y", &[r#"stdin is not in a format that perk can read: it begins with "y\ny\ny"#][..]),
        ("a;b 1", &["cannot read stdin: more than 1048576 bytes; --max-bytes allows more"]),
    ] {
        let mut yes = Command::new("yes").arg(text).stdout(Stdio::piped()).spawn().unwrap();
        let output = Command::new(PERK)
            .args(["report", "-", "--max-bytes", "1m"])
            .current_dir(folder.path())
            .stdin(yes.stdout.take().unwrap())
            .output()
            .unwrap();
        // It ends by itself: nobody reads its output.
        yes.wait().unwrap();
        assert_refused(&output, parts);
    }
}

#[test]
fn a_file_that_just_fits_is_read() {
    let folder = Folder::new();
    folder.file("a", STACKS);
    let length = STACKS.len();
    report(&folder, &["a", "--max-bytes", &length.to_string()]);
    let less = (length - 1).to_string();
    assert_refused(&folder.run(&["report", "a", "--max-bytes", &less]), &["more than"]);
    // Packed data with little content is longer than that, and does no harm.
    folder.file("b", gzip(b"a 1\n"));
    report(&folder, &["b", "--max-bytes", "4"]);
}

#[test]
fn from_names_the_form() {
    let folder = Folder::new();
    folder.file("a", STACKS);
    // A title hides the form of stacks of one frame.
    folder.file("b", "all:\nLexer.next 60\nTypes.of 25\n");
    folder.file("c", "Dear all,\nthe profile is late.\n");
    let plain = report(&folder, &["a"]);
    assert_eq!(report(&folder, &["a", "--input-format", "collapsed"]), plain);
    assert_refused(&folder.run(&["report", "b"]), &["b is not in a format that perk can read"]);
    let output = folder.run(&["report", "--all", "b", "--input-format", "collapsed"]);
    let note = "perk: b: line 1 skipped: expected";
    assert!(stderr(&output).starts_with(note), "{output:?}");
    assert!(stdout(&output).contains("Lexer.next"), "{output:?}");
    for (file, form, parts) in [
        ("c", "collapsed", &["c: bad collapsed stacks file: line 1: expected"][..]),
        ("a", "hprof", &["a: bad HPROF binary file"]),
        ("a", "html", &["a: bad flame graph file"]),
        ("a", "pprof", &["a: bad pprof file: byte 0: expected"]),
        ("a", "speedscope", &["a: bad speedscope file: not speedscope's JSON", "line 1 column 1"]),
        ("a", "svg", &["svg", "possible values"]),
        ("a", "nothing", &["nothing", "possible values"]),
    ] {
        let output = folder.run(&["report", file, "--input-format", form]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{form}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{form}: {text}");
    }
}

#[test]
fn files_of_other_kinds_are_named_by_their_first_bytes() {
    let folder = Folder::new();
    for (name, content, begin) in [
        ("text", &b"Dear all,\nthe profile is late.\n"[..], r"Dear all,\nthe pr"),
        ("binary", b"\x89QOI\r\n\x1A\n\0\0\0\r", r"\x89QOI\r\n\x1a\n"),
        ("one", b"x", "x"),
        ("zero", b"\0", r"\x00"),
        ("gz", b"\x1F", r"\x1f"),
    ] {
        folder.file(name, content);
        let begin =
            format!("{name} is not in a format that perk can read: it begins with \"{begin}");
        assert_refused(&folder.run(&["report", name]), &[&begin, "perk formats"]);
    }
}

/// The first bytes of a file.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    fs::File::open(path).unwrap().take(4096).read_to_end(&mut head).unwrap();
    head
}

#[test]
fn files_of_other_tools_are_named_with_what_to_do() {
    let folder = Folder::new();
    let java = perk_testkit::jdk::compiler();
    let classes = perk_testkit::fixture::fixtures();
    let long = format!("{{\"nodes\":[{}1]}}", "1,".repeat(100_000));
    for (name, content, what) in [
        ("perk", fs::read(PERK).unwrap(), "an ELF program or library"),
        ("a.class", fs::read(classes.join("Sleeper.class")).unwrap(), "a Java class file"),
        ("modules", head(&java.home.join("lib/modules")), "the modules of"),
        ("long.json", long.into_bytes(), "JSON of another tool"),
        ("trace.json", b"{\"traceEvents\": []}\n".to_vec(), "a trace in Chrome's JSON"),
        ("jmh.json", b"[\n  {\"jmhVersion\": 5\n".to_vec(), "results of JMH in JSON"),
        ("a.svg", b"<svg xmlns=\"x\" width=\"5\">\n</svg> 5\n".to_vec(), "an SVG image"),
        ("perf.data", b"PERFILE2h\0\0\0\0\0\0\0".to_vec(), "data of perf record"),
        ("a.phd", b"\0\x12portable heap dump\0\0\0\x06".to_vec(), "a portable heap dump of OpenJ9"),
    ] {
        folder.file(name, content);
        let what = format!("{name} is {what}");
        let parts = [what.as_str(), ", which perk does not read: "];
        assert_refused(&folder.run(&["report", name]), &parts);
        assert_refused(&folder.run(&["convert", name, "-o", "o.txt"]), &parts);
        // Of dumps of other JVMs perk heap has names of its own.
        let shown =
            if name == "a.phd" { "OpenJ9, which perk does not read" } else { &what[name.len()..] };
        assert_refused(&folder.run(&["heap", name]), &[shown]);
    }
    // Whoever says the form gets the error of its reader.
    let output = folder.run(&["report", "--input-format", "collapsed", "trace.json"]);
    assert_refused(&output, &["bad collapsed stacks"]);
}

#[test]
fn folders_and_files_without_permission() {
    let folder = Folder::new();
    fs::create_dir(folder.join("folder")).unwrap();
    assert_refused(
        &folder.run(&["report", "folder"]),
        &["cannot read folder: it is a folder; name a file in it"],
    );
    let path = folder.file("secret", STACKS);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(PERK);
    command.args(["report", "secret"]).current_dir(folder.path());
    // The superuser may read everything.
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    assert_refused(&command.output().unwrap(), &["cannot read secret: Permission denied"]);
}

#[test]
fn windows_line_ends_change_nothing() {
    let folder = Folder::new();
    folder.file("a.folded", STACKS);
    let plain = report(&folder, &["a.folded"]);
    for name in ["x.txt", "x.collapsed", "x.speedscope.json"] {
        folder.run(&["convert", "a.folded", "-o", name]);
        let text = fs::read_to_string(folder.join(name)).unwrap();
        folder.file("windows", text.replace('\n', "\r\n"));
        assert_eq!(report(&folder, &["windows"]), plain, "{name}");
    }
}

/// A terminal, and the text that was written on it.
pub(crate) struct Terminal {
    pub(crate) file: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let file = File::options().read(true).write(true).open(name).unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut master, seen) = (File::from(master), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = master.read(&mut buffer) {
                seen.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { file, shown }
    }

    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }
}

/// Starts `perk report -`, with its messages on `stderr`.
fn start_report(stderr: impl Into<Stdio>) -> Child {
    Command::new(PERK)
        .args(["report", "-"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .unwrap()
}

#[test]
fn long_reading_shows_its_progress_on_a_terminal_alone() {
    let terminal = Terminal::new();
    let mut child = start_report(terminal.file.try_clone().unwrap());
    let mut pipe = child.stdin.take().unwrap();
    let begun = Instant::now();
    wait_for("progress", || {
        writeln!(pipe, "Main.main;Lexer.next 1").unwrap();
        terminal.shown().contains("stdin").then_some(())
    });
    assert!(begun.elapsed() > Duration::from_secs(1));
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output).contains("Lexer.next"), "{}", terminal.shown());
    wait_for("the bar to go", || {
        terminal.shown().trim_end_matches('\r').ends_with("\x1b[2K").then_some(())
    });

    let mut child = start_report(Stdio::piped());
    let mut pipe = child.stdin.take().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1500) {
        writeln!(pipe, "Main.main;Lexer.next 1").unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn short_reading_shows_no_progress() {
    let terminal = Terminal::new();
    let mut child = start_report(terminal.file.try_clone().unwrap());
    child.stdin.take().unwrap().write_all(STACKS.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), terminal.shown().as_str()), (Some(0), ""));
}
