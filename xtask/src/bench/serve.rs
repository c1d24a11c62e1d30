//! `xtask bench serve`: the CPU time and the memory of `perk serve` on a profile of many distinct stacks, which this
//! makes, or on another file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use procfs::process::Process;

use super::report::{head, machine, row};
use super::statistics::Spread;
use crate::{arguments, workspace};

/// The questions after the first one, and the most CPU time of each in ms.
const QUESTIONS: [(&str, &str); 8] = [
    ("zoom", "flame?root={root}"),
    ("bottom up", "flame?tree=bottom-up"),
    ("filter", "flame?focus=com.acme.p1.*"),
    ("hidden frames", "flame?hide=com.acme.p3.*"),
    ("search", "search?q=m17"),
    ("sorted table", "report?view=methods&sort=name"),
    ("scrolled table", "report?view=methods&sort=name&offset=500"),
    ("searched table", "report?view=methods&search=m17"),
];
const QUESTION_MS: f64 = 100.0;
/// The most time until the first graph, by that of `perk convert` to a page.
const READY: f64 = 1.2;
/// The most memory of flame graphs, by that of the profile.
const MEMORY: f64 = 1.5;

/// The arguments of `xtask bench serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArguments {
    /// The distinct stacks of the profile
    #[arg(long, default_value = "1000000", value_name = "N")]
    stacks: u64,
    /// The profile, instead of a new one
    #[arg(long, value_name = "FILE", conflicts_with = "stacks")]
    file: Option<PathBuf>,
    /// The number of runs
    #[arg(long, default_value = "5", value_name = "N", value_parser = arguments::positive())]
    rounds: usize,
}

/// Runs `xtask bench serve`.
pub(super) fn run(ServeArguments { stacks, file, rounds }: &ServeArguments) -> Result<()> {
    let perk = workspace::root().join("target/release/perk");
    ensure!(perk.is_file(), "no {}: run make build", perk.display());
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let file = match file {
        Some(file) => file.clone(),
        None => {
            let path = work.path().join("stacks.collapsed");
            write_stacks(&path, *stacks).context("cannot write the profile")?;
            path
        }
    };
    let mut runs = Vec::new();
    for _ in 0..*rounds {
        runs.push(round(&perk, &file, work.path())?);
    }
    let spread = |number: &dyn Fn(&Round) -> f64, decimals| {
        Spread::of(runs.iter().map(number)).text(decimals)
    };
    let mut text = machine();
    text += &head(&["what", "median (min to max)", "bar"]);
    let mut line = |what: &str, number: String, bar: String| {
        text += &row(&[what.to_owned(), number, bar]);
    };
    line(
        "CPU until the first graph / CPU of perk convert",
        spread(&|it| it.ready_s / it.convert_s, 2),
        format!("{READY}"),
    );
    line(
        "memory after graphs / memory of the profile",
        spread(&|it| it.graphs_bytes / it.profile_bytes, 2),
        format!("{MEMORY}"),
    );
    for (index, (what, _)) in QUESTIONS.iter().enumerate() {
        line(
            &format!("{what}: ms of CPU time"),
            spread(&|it| it.questions_ms[index], 0),
            format!("{QUESTION_MS}"),
        );
    }
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// What one run takes.
struct Round {
    convert_s: f64,
    ready_s: f64,
    profile_bytes: f64,
    graphs_bytes: f64,
    questions_ms: Vec<f64>,
}

fn round(perk: &Path, file: &Path, work: &Path) -> Result<Round> {
    let mut convert = Command::new(perk);
    convert.arg("convert").arg(file).arg("-o").arg(work.join("page.html")).stderr(Stdio::null());
    let convert_s = cpu_of(convert)?;
    let server = Server::start(perk, file)?;
    server.ask("collections")?;
    let profile_bytes = server.resident_bytes()?;
    let graph = server.ask("flame")?;
    let ready_s = server.cpu_s()?;
    let graph: serde_json::Value = serde_json::from_slice(&graph).context("no graph")?;
    let root = graph["ids"][0].to_string();
    server.ask("report?view=methods")?;
    let mut questions_ms = Vec::new();
    let mut graphs_bytes = 0.0_f64;
    for (_, question) in QUESTIONS {
        let before = server.cpu_s()?;
        server.ask(&question.replace("{root}", &root))?;
        questions_ms.push((server.cpu_s()? - before) * 1000.0);
        if question.starts_with("flame") {
            graphs_bytes = graphs_bytes.max(server.resident_bytes()?);
        }
    }
    Ok(Round { convert_s, ready_s, profile_bytes, graphs_bytes, questions_ms })
}

/// The CPU time of a command.
fn cpu_of(mut command: Command) -> Result<f64> {
    let children = || -> Result<f64> {
        let stat = Process::myself()?.stat()?;
        Ok((stat.cutime + stat.cstime) as f64 / procfs::ticks_per_second() as f64)
    };
    let before = children()?;
    let status = command.status().context("cannot start perk")?;
    ensure!(status.success(), "perk failed: {status}");
    Ok(children()? - before)
}

/// A server that ends with this.
struct Server {
    child: Child,
    host: String,
    cookie: String,
}

impl Server {
    fn start(perk: &Path, file: &Path) -> Result<Self> {
        let mut child = Command::new(perk).arg("serve").arg(file).stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        let out = child.stdout.as_mut().context("no stdout")?;
        BufReader::new(out).read_line(&mut url)?;
        let parts = url.trim().strip_prefix("http://").and_then(|it| it.split_once("/#"));
        let (host, token) = parts.context("perk serve printed no address")?;
        let mut server = Self { child, host: host.to_owned(), cookie: String::new() };
        let (head, _) = server.send("POST /api/session", token)?;
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|it| it.split(';').next()).context("no cookie")?;
        server.cookie = cookie.to_owned();
        Ok(server)
    }

    /// The body of an answer about the file.
    fn ask(&self, question: &str) -> Result<Vec<u8>> {
        let (head, body) = self.send(&format!("GET /api/s1/{question}"), "")?;
        ensure!(
            head.starts_with("HTTP/1.1 200 "),
            "{question}: {}",
            String::from_utf8_lossy(&body)
        );
        Ok(body)
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

    fn cpu_s(&self) -> Result<f64> {
        let stat = self.process()?.stat()?;
        Ok((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
    }

    fn resident_bytes(&self) -> Result<f64> {
        Ok((self.process()?.stat()?.rss * procfs::page_size()) as f64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes distinct stacks of about 12 methods out of 3,000: few beginnings, many ends.
fn write_stacks(path: &Path, count: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        // Steele and Vigna's mixer of a counter.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    };
    let name = |index: u64| format!("com.acme.p{}.C{}.m{index}", index % 40, index % 500);
    for index in 0..count {
        write!(out, "java.lang.Thread.run")?;
        // A few beginnings have most of the stacks.
        let begin = random(40) * random(50);
        for level in 0..6 {
            write!(out, ";{}", name((begin * 31 + level * 7) % 3000))?;
        }
        for _ in 0..3 {
            write!(out, ";{}", name(random(3000)))?;
        }
        // Each stack is another one.
        write!(out, ";{};{}", name(index % 3000), name(index / 3000 % 3000))?;
        writeln!(out, " {}", 1 + random(9))?;
    }
    out.flush()
}
