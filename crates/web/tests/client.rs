//! A server in this process, and a client that shares nothing with it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use perk_web::{Options, Server};
use serde_json::Value;

/// The folder of the sample files.
pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// A server that runs until the tests end.
pub(crate) struct Served {
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) cookie: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Served {
    /// Serves these files and folders.
    pub(crate) fn new(inputs: &[&Path]) -> Self {
        let inputs = inputs.iter().map(|path| path.to_path_buf()).collect();
        Self::with(Options { inputs, ..Options::default() })
    }

    pub(crate) fn with(options: Options) -> Self {
        let server = Server::bind(options).unwrap();
        let url = server.url();
        let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#").unwrap();
        let (address, token) = (address.to_owned(), token.to_owned());
        thread::spawn(move || server.run().unwrap());
        let mut served = Self { address, token, cookie: String::new() };
        let session = served.post("/api/session", &served.token.clone());
        assert_eq!(session.status, 204, "{session:?}");
        let cookie = session.header("set-cookie").unwrap();
        served.cookie = cookie.split(';').next().unwrap().to_owned();
        served
    }

    /// A connection to the server.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes, and reads until the server ends the connection.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connect();
        // The server may answer, and end, before it has read all.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Response::of(&answer)
    }

    /// A request with these lines as its head, and the host and the cookie.
    pub(crate) fn get_with(&self, path: &str, lines: &str) -> Response {
        let Self { address, cookie, .. } = self;
        self.raw(
            format!(
                "GET {path} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\nconnection: close\r\n{lines}\r\n"
            )
            .as_bytes(),
        )
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.get_with(path, "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        let (address, length) = (&self.address, body.len());
        self.raw(
            format!(
                "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .as_bytes(),
        )
    }

    /// The JSON of an answer that is one.
    pub(crate) fn json(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.json()
    }

    /// The line of an answer that is none, and its status.
    pub(crate) fn error(&self, path: &str) -> (u16, String) {
        let response = self.get(path);
        let line = response.json()["error"].as_str().unwrap().to_owned();
        (response.status, line)
    }

    /// The ids of all sources, in their order.
    pub(crate) fn ids(&self) -> Vec<String> {
        let sources = self.json("/api/sources");
        let sources = sources["sources"].as_array().unwrap();
        sources.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    }
}

impl Response {
    fn of(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {}", bytes.escape_ascii()));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|it| it.1).next()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }
}

/// A source as a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    text.bytes()
        .map(
            |byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") },
        )
        .collect()
}

/// A small profile: collapsed stacks.
pub(crate) fn write_stacks(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}
