//! JFR: the output of Flight Recorder for a program with deep stacks, with one event and stack for
//! each buffer of a few objects.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use perk_testkit::{fixture, jdk};

use crate::workspace;

/// The events that are recorded.
const SETTINGS: &str = r#"<configuration version="2.0">
<event name="jdk.ExecutionSample"><setting name="enabled">true</setting><setting name="period">1 ms</setting></event>
<event name="jdk.ObjectAllocationInNewTLAB"><setting name="enabled">true</setting><setting name="stackTrace">true</setting></event>
</configuration>"#;
/// The maximum depth of the nested calls.
const DEPTH: u64 = 300;
/// The approximate number of bytes of the recording per descent.
const DESCENT_BYTES: u64 = 7_000;

/// Records about `bytes` bytes, with the JDK that compiles the tests' programs.
pub(super) fn generate(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let [settings, recording] = ["settings.jfc", "deep.jfr"].map(|name| folder.path().join(name));
    fs::write(&settings, SETTINGS)?;
    let source = workspace::root().join("java/bench/DeepStacks.java");
    let start = format!(
        "-XX:StartFlightRecording=settings={},filename={},maxsize=0",
        settings.display(),
        recording.display()
    );
    let status = Command::new(jdk::compiler().java())
        .args(["-Xmx1g", "-XX:TLABSize=4k", "-XX:MinTLABSize=2k", "-XX:-ResizeTLAB"])
        .args(["-XX:FlightRecorderOptions=stackdepth=1024", &start, "-cp"])
        .arg(fixture::compile_files(&[&source]))
        .args(["DeepStacks", &DEPTH.to_string(), &(bytes / DESCENT_BYTES).to_string()])
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(io::Error::other(format!("java: {status}")));
    }
    io::copy(&mut fs::File::open(&recording)?, out).map(drop)
}
