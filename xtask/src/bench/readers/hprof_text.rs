//! HPROF text: dumps of allocation sites, CPU samples and call times, with their traces.

use std::io::{self, Write};

use super::stacks::{Frame, Stacks};

/// The number of traces that a dump adds.
const TRACES: u64 = 20_000;
const DATE: &str = "Fri Nov 20 19:00:31 2026";

/// Writes dumps until there are `bytes`.
pub(super) fn generate(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    let mut text = Text { out, written: 0, stacks: Stacks::new(), tops: Vec::new() };
    text.line(&format!("JAVA PROFILE 1.0.1, created {DATE}\n\nGenerated.\n\n--------\n"))?;
    for thread in 200_001..200_010 {
        text.line(&format!(
            "THREAD START (obj=50000{thread}, id = {thread}, name=\"worker-{thread}\", \
             group=\"main\")"
        ))?;
    }
    while text.written < bytes {
        text.dump(bytes)?;
    }
    Ok(())
}

struct Text<'a> {
    out: &'a mut dyn Write,
    written: u64,
    stacks: Stacks,
    /// The innermost frames of all traces. The serial numbers of traces start at 300001.
    tops: Vec<Frame>,
}

impl Text<'_> {
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.written += line.len() as u64 + 1;
        self.out.write_all(line.as_bytes())?;
        self.out.write_all(b"\n")
    }

    fn dump(&mut self, bytes: u64) -> io::Result<()> {
        let first = self.tops.len();
        let mut frames = Vec::new();
        for _ in 0..TRACES {
            self.stacks.next(&mut frames);
            self.tops.extend(frames.last());
            self.line(&format!("TRACE {}:", 300_000 + self.tops.len()))?;
            for frame in frames.iter().rev() {
                let (class, method) = (frame.class(), frame.method());
                let (source, line) = (frame.source(), frame.line());
                self.line(&format!("\t{class}.{method}({source}:{line})"))?;
            }
            if self.written >= bytes {
                break;
            }
        }
        let rows = self.tops.len() - first;
        self.line(&format!("SITES BEGIN (ordered by live bytes) {DATE}"))?;
        self.line("          percent          live          alloc'ed  stack class")?;
        self.line(" rank   self  accum     bytes objs     bytes  objs trace name")?;
        let objects: Vec<_> = (0..rows).map(|_| self.stacks.number(500)).collect();
        let total = objects.iter().sum::<u64>().max(1) as f64;
        let mut sum = 0;
        for (row, objects) in objects.into_iter().enumerate() {
            let (rank, trace, class) = (row + 1, 300_001 + first + row, self.tops[row].class());
            let [live, bytes] = [objects * 24, objects * 96];
            sum += objects;
            let [own, accumulated] = [objects, sum].map(|it| 100.0 * it as f64 / total);
            self.line(&format!(
                "{rank:5} {own:5.2}% {accumulated:5.2}% {live:9} {objects:4} {bytes:9} {:5} {trace:5} \
                 {class}",
                objects * 4
            ))?;
        }
        self.line("SITES END")?;
        for (title, end) in [
            ("CPU SAMPLES BEGIN (total = 1000000)", "CPU SAMPLES END"),
            ("CPU TIME (ms) BEGIN (total = 1000000)", "CPU TIME (ms) END"),
        ] {
            self.line(&format!("{title} {DATE}"))?;
            self.line("rank   self  accum   count trace method")?;
            for row in 0..rows {
                let (rank, trace, top) = (row + 1, 300_001 + first + row, self.tops[first + row]);
                let (count, class, method) =
                    (1 + self.stacks.number(99), top.class(), top.method());
                self.line(&format!("{rank:4}  0.01%  0.01% {count:7} {trace:5} {class}.{method}"))?;
            }
            self.line(end)?;
        }
        Ok(())
    }
}
