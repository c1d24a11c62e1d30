//! `perk view`, driven in a pseudo-terminal.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use perk_testkit::{fixture, jdk};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::util::{Folder, PERK, assert_refused, stderr};

const STACKS: &str = "\
T.main;T.parse;Lexer.next 60
T.main;T.parse 10
T.main;T.check;Lexer.next 30
";

/// perk on a terminal of 80 columns and 24 lines.
pub(crate) struct Session {
    child: Child,
    keyboard: File,
    terminal: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Session {
    pub(crate) fn start(folder: &Folder, script: &str) -> Self {
        Self::sized(folder, script, [80, 24])
    }

    /// On a terminal that says that it has this size.
    fn sized(folder: &Folder, script: &str, size: [u16; 2]) -> Self {
        let (master, terminal) = open(size);
        let child = spawn(folder, script, &terminal);
        let keyboard = master;
        let mut output = keyboard.try_clone().unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(24, 80, 0)));
        let parser = Arc::clone(&screen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                parser.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self { child, keyboard, terminal, screen }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen shows `text`.
    pub(crate) fn await_text(&self, text: &str) -> String {
        self.await_screen(text, |shown| shown.contains(text))
    }

    /// Waits until the screen is as `is_it` says, and whole: a screen comes in parts, so it must have been
    /// the same for a while.
    pub(crate) fn await_screen(&self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + Duration::from_secs(30);
        let (mut last, mut same_count) = (String::new(), 0);
        loop {
            let shown = self.screen.lock().unwrap().screen().contents();
            same_count = if shown == last { same_count + 1 } else { 0 };
            if same_count >= 5 && is_it(&shown) {
                return shown;
            }
            assert!(Instant::now() < end, "\"{what}\" does not come: {shown}");
            last = shown;
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Session {
    /// Waits for the end of the program. Returns its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// The two ends of a pseudo-terminal: that of the person, and that of programs.
fn open(size: [u16; 2]) -> (File, File) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = File::options().read(true).write(true).open(name).unwrap();
    resize(&terminal, size);
    (master.into(), terminal)
}

/// Runs a shell on a terminal.
fn spawn(folder: &Folder, script: &str, terminal: &File) -> Child {
    Command::new("setsid")
        .args(["--ctty", "--wait", "sh", "-c", script])
        .current_dir(folder.path())
        .env("PERK", PERK)
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", "1")
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal.try_clone().unwrap())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

fn resize(terminal: &File, [ws_col, ws_row]: [u16; 2]) {
    tcsetwinsize(terminal, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

#[test]
fn a_profile_is_browsed() {
    let folder = Folder::new();
    folder.file("p.collapsed", STACKS);
    let mut session = Session::start(&folder, "exec \"$PERK\" view p.collapsed");
    let before = tcgetattr(&session.terminal).unwrap().local_modes;
    let first = session.await_text("Lexer.next");
    assert!(first.lines().next().unwrap().ends_with("samples: 100"), "{first}");
    assert!(first.lines().nth(3).unwrap().starts_with("  90.00    90.00 █████▍ "), "{first}");
    // Opens the tree with the arrow key.
    session.press("2");
    session.await_text("▸ T.main");
    session.press("\x1b[C");
    session.await_text("▸ T.check");
    session.press("6");
    session.await_text("self 0 (0.00 %), total 100 (100.00 %)");
    session.press("1/parse\r");
    session.press("m");
    session.await_text("Callers of T.parse");
    session.press("q");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
    // The terminal is restored: the normal screen, with echo and lines.
    let end = Instant::now() + Duration::from_secs(10);
    while session.screen.lock().unwrap().screen().alternate_screen() {
        assert!(Instant::now() < end, "the browser's screen stays");
        thread::sleep(Duration::from_millis(20));
    }
    let after = tcgetattr(&session.terminal).unwrap().local_modes;
    assert!(after.bits() & before.bits() == before.bits(), "{before:?} {after:?}");
    assert!(
        after.contains(rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ICANON)
    );
}

/// A terminal that is made small and large again has lost its content. perk sees only that the size was
/// changed.
#[test]
fn a_screen_that_has_lost_its_content_is_drawn_again() {
    let folder = Folder::new();
    folder.file("p.collapsed", STACKS);
    let script = "echo $$ > pid; exec \"$PERK\" view p.collapsed";
    let mut session = Session::start(&folder, script);
    session.await_text("q leave");
    let pid = fs::read_to_string(folder.join("pid")).unwrap().trim().parse().unwrap();
    let perk = Pid::from_raw(pid).unwrap();
    let clear = || session.screen.lock().unwrap().process(b"\x1b[2J");
    kill_process(perk, Signal::STOP).unwrap();
    resize(&session.terminal, [20, 5]);
    resize(&session.terminal, [80, 24]);
    clear();
    kill_process(perk, Signal::CONT).unwrap();
    session.await_text("q leave");
    let whole = session.await_text("Lexer.next");
    assert!(whole.lines().next().unwrap().ends_with("samples: 100"), "{whole}");
    // Somebody else may have written on it.
    let clear = || session.screen.lock().unwrap().process(b"\x1b[2J");
    clear();
    session.press("\x0c");
    session.await_text("q leave");
    // A key that comes together with a change of the size counts, and so does the change.
    kill_process(perk, Signal::STOP).unwrap();
    resize(&session.terminal, [60, 12]);
    session.press("2");
    kill_process(perk, Signal::CONT).unwrap();
    session.await_screen("a tree of 12 lines", |shown| {
        shown.contains("▸ T.main")
            && shown.lines().nth(11).is_some_and(|line| line.contains("q leave"))
    });
    session.press("q");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_terminal_without_a_size_counts_as_a_common_one() {
    let folder = Folder::new();
    folder.file("p.collapsed", STACKS);
    let script = "exec \"$PERK\" view p.collapsed";
    let mut session = Session::sized(&folder, script, [0, 0]);
    let shown = session.await_text("q leave");
    assert!(shown.lines().nth(23).unwrap().contains("q leave"), "{shown}");
    session.press("q");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}

/// SIGHUP ends perk, unless it was started by something that ignores it, as `nohup` does.
#[test]
fn the_end_of_the_terminal_is_the_end() {
    let folder = Folder::new();
    folder.file("p.collapsed", STACKS);
    for errors in ["message", "/dev/tty"] {
        let (mut master, terminal) = open([80, 24]);
        let script = format!("trap '' HUP; \"$PERK\" view p.collapsed 2> {errors}; echo $? > code");
        let mut child = spawn(&folder, &script, &terminal);
        let mut screen = vt100::Parser::new(24, 80, 0);
        let mut bytes = [0; 4096];
        while !screen.screen().contents().contains("q leave") {
            let count = master.read(&mut bytes).unwrap();
            screen.process(&bytes[..count]);
        }
        drop((master, terminal));
        child.wait().unwrap();
        let read = |name| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!((&*read("code"), &*read("message")), ("2\n", "perk: the terminal is gone\n"));
    }
}

#[test]
fn keys_come_from_the_terminal_where_the_profile_comes_on_stdin() {
    let folder = Folder::new();
    folder.file("p.collapsed", STACKS);
    let mut session = Session::start(&folder, "cat p.collapsed | \"$PERK\" view -");
    session.await_text("stdin");
    session.press("3");
    session.await_text("▸ Lexer.next");
    session.press("\x03");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}

/// Runs a fixture under perk.
fn run(folder: &Folder, options: &[&str], program: &[&str]) {
    let java = jdk::compiler().java().to_str().unwrap().to_owned();
    let classes = fixture::fixtures().to_str().unwrap().to_owned();
    let java = ["--", &java, "-cp", &classes];
    let output = folder.run(&[&["run"], options, &java, program].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn the_classes_of_a_heap_dump_are_browsed() {
    let folder = Folder::new();
    run(&folder, &["--heap", "all", "-o", "heap.hprof"], &["Sleeper", "0"]);
    let mut session = Session::start(&folder, "exec \"$PERK\" view heap.hprof");
    let first = session.await_text("q leave");
    let tabs = first.lines().nth(1).unwrap();
    let number = tabs.split("Heap").next().unwrap().trim_end().chars().last().unwrap();
    session.press(&number.to_string());
    let is_whole = |shown: &str| shown.contains("heap dump: ") && shown.contains(" each");
    let first = session.await_screen("heap dump", is_whole);
    let lines: Vec<_> = first.lines().collect();
    assert!(lines[0].starts_with("heap.hprof "), "{first}");
    assert!(lines[2].contains("bytes %▾") && lines[3].contains("byte[]"), "{first}");
    assert!(lines[21].contains(" each") && lines[22].starts_with("byte[]"), "{first}");
    session.press("&HashMap\r");
    session.await_screen("only rows with \"hashmap\"", |shown| {
        let mut rows = shown.lines().skip(4).take(15).map(str::trim).peekable();
        let has_rows = rows.peek().is_some_and(|row| row.contains("HashMap"));
        has_rows && rows.all(|row| row.is_empty() || row.contains("HashMap"))
    });
    session.press("\x1bs");
    session.await_text("objects %▾");
    session.press("q");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_locks_of_a_program_are_browsed() {
    let folder = Folder::new();
    run(&folder, &["--locks", "-o", "l.hprof"], &["Holding", "object", "2", "200", "100", "1"]);
    let mut session = Session::start(&folder, "exec \"$PERK\" view l.hprof");
    let first = session.await_text("q leave");
    let tabs = first.lines().nth(1).unwrap();
    let number = tabs.split("Locks").next().unwrap().trim_end().chars().last().unwrap();
    assert!(!tabs.contains("Heap"), "{tabs}");
    session.press(&number.to_string());
    let closed = session.await_text("▸ Holding$Lock");
    assert!(closed.lines().next().unwrap().contains("blocked "), "{closed}");
    session.press("\r");
    session.await_text("held in Holding.sleep");
    let open = session.await_text("blocked in Holding.");
    assert!(open.contains("▾ Holding$Lock"), "{open}");
    session.press("q");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}

#[test]
fn without_a_terminal_it_says_so() {
    let folder = Folder::new();
    folder.file("p.collapsed", STACKS);
    assert_refused(
        &folder.run(&["view", "p.collapsed"]),
        &["stdout is not a terminal", "perk report"],
    );
}
