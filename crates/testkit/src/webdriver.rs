//! The part of a WebDriver client that the tests need: chromedriver speaks HTTP with JSON bodies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A headless Chromium with its own profile folder. It ends when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _user_data: TempDir,
}

impl Browser {
    /// Starts a browser; `None` if there is no chromedriver.
    pub fn start() -> Option<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let port = announced_port(&mut driver);
        let user_data = TempDir::new().expect("a temporary folder");
        let mut browser = Self { driver, port, session: String::new(), _user_data: user_data };
        let user_data = format!("--user-data-dir={}", browser._user_data.path().display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,800",
            &user_data,
        ];
        // The page that a new profile begins with takes longer to draw than most pages of the tests.
        let blank = json!({"restore_on_startup": 4, "startup_urls": ["about:blank"]});
        let created = browser.request(
            "POST",
            "/session",
            &json!({"capabilities": {"alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": {"args": arguments, "prefs": {"session": blank}},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }}}),
        );
        browser.session = created["sessionId"].as_str().expect("a session id").to_owned();
        Some(browser)
    }

    /// Opens an address, and waits until it is there.
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    /// Returns the value that the body of a function returns in the page.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Moves the mouse.
    pub fn move_to(&self, x: f64, y: f64) {
        self.point("mouse", &[move_to(x, y)]);
    }

    /// Clicks with the mouse.
    pub fn click(&self, x: f64, y: f64) {
        self.press("mouse", x, y);
    }

    /// Touches a place.
    pub fn tap(&self, x: f64, y: f64) {
        self.press("touch", x, y);
    }

    /// Presses the mouse button at a place, and releases it at another.
    pub fn drag(&self, from: (f64, f64), to: (f64, f64)) {
        let down = json!({"type": "pointerDown", "button": 0});
        let up = json!({"type": "pointerUp", "button": 0});
        self.point("mouse", &[move_to(from.0, from.1), down, move_to(to.0, to.1), up]);
    }

    fn press(&self, kind: &str, x: f64, y: f64) {
        let down = json!({"type": "pointerDown", "button": 0});
        let up = json!({"type": "pointerUp", "button": 0});
        self.point(kind, &[move_to(x, y), down, up]);
    }

    /// Presses and releases each of the keys, which are WebDriver's codes or characters.
    pub fn keys(&self, keys: &str) {
        let press =
            |key: char| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key}));
        let actions: Vec<_> = keys.chars().flat_map(press).collect();
        self.post(
            "/actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    /// Executes a command of the Chrome DevTools Protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// Returns the entries of the log `kind` since the last call.
    pub fn log(&self, kind: &str) -> Vec<Value> {
        let entries = self.post("/se/log", &json!({"type": kind}));
        entries.as_array().expect("a list of log entries").clone()
    }

    fn point(&self, kind: &str, actions: &[Value]) {
        let parameters = json!({"pointerType": kind});
        let source =
            json!({"type": "pointer", "id": kind, "parameters": parameters, "actions": actions});
        self.post("/actions", &json!({"actions": [source]}));
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.request("POST", &format!("/session/{}{path}", self.session), body)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.exchange(method, path, body).expect("chromedriver answers");
        let value = answer["value"].clone();
        assert_eq!(status, 200, "{method} {path}: {value}");
        value
    }

    fn exchange(&self, method: &str, path: &str, body: &Value) -> std::io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let body = body.to_string();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        )?;
        let mut answer = BufReader::new(stream);
        let mut line = String::new();
        answer.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            line.clear();
            if answer.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut content = Vec::new();
        answer.take(length).read_to_end(&mut content)?;
        Ok((status, serde_json::from_slice(&content)?))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.exchange("DELETE", &format!("/session/{}", self.session), &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn move_to(x: f64, y: f64) -> Value {
    json!({"type": "pointerMove", "duration": 0, "x": x.round(), "y": y.round()})
}

/// Returns the port that chromedriver chose and prints in `… started successfully on port 12345.`
fn announced_port(driver: &mut Child) -> u16 {
    let output = driver.stdout.take().expect("the output is piped");
    BufReader::new(output)
        .lines()
        .map_while(Result::ok)
        .find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        })
        .expect("chromedriver says its port")
}
