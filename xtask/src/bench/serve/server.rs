//! A server that is measured, and a client of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use procfs::process::Process;

/// A server that ends with this.
pub(super) struct Server {
    child: Child,
    url: String,
    host: String,
    cookie: String,
}

impl Server {
    pub(super) fn start(perk: &Path, file: &Path) -> Result<Self> {
        let mut child = Command::new(perk).arg("serve").arg(file).stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        let out = child.stdout.as_mut().context("no stdout")?;
        BufReader::new(out).read_line(&mut url)?;
        let parts = url.trim().strip_prefix("http://").and_then(|it| it.split_once("/#"));
        let (host, token) = parts.context("perk serve printed no address")?;
        let host = host.to_owned();
        let mut server = Self { child, url: url.trim().to_owned(), host, cookie: String::new() };
        let (head, _) = server.send("POST /api/session", token)?;
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|it| it.split(';').next()).context("no cookie")?;
        server.cookie = cookie.to_owned();
        Ok(server)
    }

    /// The address of the page.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The body of an answer about the file.
    pub(super) fn ask(&self, question: &str) -> Result<Vec<u8>> {
        let (head, body) = self.send(&format!("GET /api/s1/{question}"), "")?;
        ensure!(
            head.starts_with("HTTP/1.1 200 "),
            "{question}: {}",
            String::from_utf8_lossy(&body)
        );
        Ok(body)
    }

    /// The CPU time of an answer, in ms.
    pub(super) fn cpu_ms(&self, question: &str) -> Result<f64> {
        let before = (self.running_s()?, self.cpu_s()?);
        self.ask(question)?;
        let (running_s, all_s) = (self.running_s()? - before.0, self.cpu_s()? - before.1);
        // What threads used that have ended is in the time of the process alone, which is in ticks.
        let has_ended = all_s > running_s + 2.0 / procfs::ticks_per_second() as f64;
        Ok(if has_ended { all_s } else { running_s } * 1000.0)
    }

    fn send(&self, first: &str, body: &str) -> Result<(String, Vec<u8>)> {
        let Self { host, cookie, .. } = self;
        let mut stream = TcpStream::connect(host)?;
        write!(
            stream,
            "{first} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").context("no head")?;
        Ok((String::from_utf8_lossy(&answer[..end]).into_owned(), answer.split_off(end + 4)))
    }

    fn process(&self) -> Result<Process> {
        Ok(Process::new(i32::try_from(self.child.id())?)?)
    }

    /// The CPU time of the threads that there are, in nanoseconds exactly.
    fn running_s(&self) -> Result<f64> {
        let tasks = self.process()?.tasks()?;
        let times = tasks.map(|task| Ok(task?.schedstat()?.sum_exec_runtime));
        Ok(times.sum::<Result<u64>>()? as f64 / 1e9)
    }

    /// The CPU time of all threads that there were.
    pub(super) fn cpu_s(&self) -> Result<f64> {
        let stat = self.process()?.stat()?;
        Ok((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
    }

    pub(super) fn resident_bytes(&self) -> Result<f64> {
        Ok((self.process()?.stat()?.rss * procfs::page_size()) as f64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
