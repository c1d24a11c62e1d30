//! `perk serve` as a process: its address, its answers, its end.

mod live;
mod page;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::util::{Folder, PERK, assert_refused, stdout};

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    /// The line on stdout.
    url: String,
}

impl Server {
    pub(crate) fn new(folder: &Folder, arguments: &[&str]) -> Self {
        Self::by(&mut Command::new(PERK), folder, arguments)
    }

    fn by(command: &mut Command, folder: &Folder, arguments: &[&str]) -> Self {
        command.current_dir(folder.path()).arg("serve").args(arguments);
        // It needs no folder for temporary files.
        command.env("TMPDIR", folder.join("none")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim_end().to_owned() }
    }

    /// The host with its port, and the token.
    fn parts(&self) -> (&str, &str) {
        self.url.strip_prefix("http://").unwrap().split_once("/#").unwrap()
    }

    /// The head and the body of an answer.
    fn ask(&self, first: &str, body: &str, lines: &str) -> (String, Vec<u8>) {
        let (host, length) = (self.parts().0, body.len());
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!("{first} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{lines}");
        write!(stream, "{head}content-length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        (String::from_utf8(answer[..end].to_vec()).unwrap(), answer[end + 4..].to_vec())
    }

    /// The line with a cookie for the token.
    fn cookie(&self) -> String {
        let (head, _) = self.ask("POST /api/session", self.parts().1, "");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        format!("cookie: {}\r\n", cookie.split(';').next().unwrap())
    }

    /// Sends a signal. Returns the exit code, and what was said.
    pub(crate) fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let code = self.child.wait().unwrap().code();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_profile_is_served_until_ctrl_c() {
    let folder = Folder::new();
    let file = folder.file("app.collapsed", "main;com.acme.A.a 5\nmain;com.acme.A.b 3\n");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let server = Server::new(&folder, &["app.collapsed"]);
    let (host, token) = server.parts();
    assert!(host.starts_with("127.0.0.1:"), "{}", server.url);
    assert!(token.len() == 32 && token.bytes().all(|it| it.is_ascii_hexdigit()), "{token}");
    let (_, served) = server.ask("GET /api/s1/report", "", &server.cookie());
    let reported = folder.run(&["report", "--json", "app.collapsed"]);
    assert_eq!(String::from_utf8(served).unwrap(), stdout(&reported));
    let (head, _) = server.ask("GET /api/s1/report", "", "");
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    let port = host.split(':').next_back().unwrap().to_owned();
    assert_refused(
        &folder.run(&["serve", "--port", &port, "app.collapsed"]),
        &["cannot listen on port", &port],
    );
    assert_eq!(server.end(Signal::INT), (Some(0), String::new()));
    // Nothing is written.
    assert_eq!(folder.names(), ["app.collapsed"]);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
    let other = Server::new(&folder, &["."]);
    assert_eq!(other.end(Signal::TERM), (Some(0), String::new()));
}

/// A server that can write no byte to any file, as on a full disk, answers everything.
#[test]
fn a_full_disk_does_not_matter() {
    let folder = Folder::new();
    folder.file("app.collapsed", "main;com.acme.A.a 5\nmain;com.acme.A.b 3\n");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let dump = data.join("hprof/all-b-alloc.hprof.gz");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 0 && exec \"$@\"", "sh", PERK]);
    let server = Server::by(&mut limited, &folder, &["app.collapsed", dump.to_str().unwrap()]);
    let cookie = server.cookie();
    for question in [
        "s1/report",
        "s1/report?view=methods&focus=a",
        "s1/flame",
        "s1/export?as=pprof",
        "s1/export?as=html",
        "s2/report",
    ] {
        let (head, _) = server.ask(&format!("GET /api/{question}"), "", &cookie);
        assert!(head.starts_with("HTTP/1.1 200 "), "{question}: {head}");
    }
    // The heap of a packed dump needs a file, and one line says so.
    let (head, body) = server.ask("GET /api/s2/heap/overview", "", &cookie);
    let body = String::from_utf8(body).unwrap();
    assert!(head.starts_with("HTTP/1.1 409 ") && body.contains("scratch file"), "{body}");
    assert_eq!(server.end(Signal::INT), (Some(0), String::new()));
    assert_eq!(folder.names(), ["app.collapsed"]);
}

#[test]
fn wrong_arguments_are_one_line() {
    let folder = Folder::new();
    folder.file("text", "no profile");
    folder.file("app.collapsed", "main;a 5\n");
    for (arguments, parts) in [
        (&["serve"][..], &["FILE|FOLDER|STORE|PID|NAME"][..]),
        (&["serve", "none"], &["cannot read none", "No such file", "no JVM has this name"]),
        (&["serve", "text"], &["text is not in a format that perk can read"]),
        (&["serve", "-"], &["stdin can be read only once"]),
        (&["serve", "/dev/null"], &["/dev/null is neither a file nor a folder"]),
        (&["serve", "--host", "0.0.0.0", "app.collapsed"], &["--token-file"]),
        (&["serve", "--host", "evil.com", "app.collapsed"], &["use an IP address"]),
        (&["serve", "--token-file", "none", "app.collapsed"], &["cannot read none"]),
        (&["serve", "--source", "none", "app.collapsed"], &["--source none is no folder"]),
        (&["serve", "--port", "99999", "app.collapsed"], &["99999"]),
        (&["serve", "--memory", "1g", "app.collapsed"], &["--memory", "no input is a store"]),
        (&["serve", "--push-rate", "1", "app.collapsed"], &["--pyroscope-api"]),
        (
            &["serve", "--host", "192.0.2.1", "--token-file", "token", "app.collapsed"],
            &["others may read"],
        ),
    ] {
        folder.file("token", "0".repeat(32));
        assert_refused(&folder.run(arguments), parts);
    }
}
