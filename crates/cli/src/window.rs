//! The options `--from` and `--to`: a window of the recording.

use anyhow::bail;
use perk_analysis::Window;
use perk_analysis::window::{NoWindow, Shown};
use perk_profile::Profile;
use perk_profile::TICK_NS;
use perk_profile::units::{duration, printable};

use crate::talk;

/// A time on the command line, in nanoseconds: `2s`, `1.5s`, `500ms`, `2m`.
pub(crate) fn time(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] =
        [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];
    let split = UNITS.iter().find_map(|&(unit, ns)| Some((text.strip_suffix(unit)?, ns)));
    let is_number = |it: &&str| {
        it.starts_with(|first: char| first.is_ascii_digit())
            && it.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let time_ns = split.and_then(|(number, unit_ns)| {
        let number: f64 = Some(number).filter(is_number)?.parse().ok()?;
        Some(number * unit_ns as f64).filter(|&it| it < u64::MAX as f64)
    });
    time_ns
        .map(|it| it.round() as u64)
        .ok_or_else(|| "use a number and us, ms, s or m, such as 2s or 500ms".to_owned())
}

/// Leaves in the profile of that `name` the samples of the window; `None` where the options give
/// none.
///
/// # Errors
/// A line where there is no such window.
pub(crate) fn apply(
    window: Window,
    profile: &mut Profile,
    name: &str,
) -> anyhow::Result<Option<Shown>> {
    if window.is_whole() {
        return Ok(None);
    }
    match window.apply(profile) {
        Ok(shown) => Ok(Some(shown)),
        Err(NoWindow::Empty) => bail!("--to is not later than --from"),
        Err(NoWindow::Outside(recorded_ns)) => bail!(
            "{name}: --from is after the end: the recording is {} long",
            duration(recorded_ns)
        ),
        Err(NoWindow::NoTimes) => bail!(
            "{name} does not tell when samples were taken: .hprof files of perk run and format=p, \
             JFR recordings and perf script do"
        ),
    }
}

/// As [`apply`], for output that has no place for the window: says it on stderr, and notes it in the
/// profile.
pub(crate) fn apply_and_say(
    window: Window,
    profile: &mut Profile,
    name: &str,
) -> anyhow::Result<()> {
    let Some(shown) = apply(window, profile, name)? else { return Ok(()) };
    for line in lines(&shown) {
        talk::say(format_args!("{name}: {line}"));
        profile.notes.push(line);
    }
    Ok(())
}

/// The window and what is not in it, in lines.
pub(crate) fn lines(shown: &Shown) -> Vec<String> {
    let [from, to, recorded] = [shown.from_ns, shown.to_ns, shown.recorded_ns].map(duration);
    let precision = match shown.tick_ns {
        ..=TICK_NS => String::new(),
        tick_ns => format!(", known to {}", duration(tick_ns)),
    };
    let mut lines = vec![format!(
        "window: {from} to {to} of {recorded}{precision}; numbers and shares are of the window"
    )];
    if !shown.left_out.is_empty() {
        let names = printable(&shown.left_out.join(", "));
        lines.push(format!("left out, as it is of the whole run: {names}"));
    }
    if !shown.without_time.is_empty() {
        let numbers = printable(&shown.without_time.join(", "));
        lines.push(format!("left out, as the time is not known: {numbers}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, ns) in [
            ("0s", 0),
            ("2s", 2_000_000_000),
            ("1.5s", 1_500_000_000),
            ("500ms", 500_000_000),
            ("20us", 20_000),
            ("2m", 120_000_000_000),
        ] {
            assert_eq!(time(text), Ok(ns), "{text}");
        }
        for text in ["", "2", "s", ".5s", "-1s", "1e3s", "1..2s", "2h", "1 s", "99999999999999m"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
