//! A window of the recording.

use anyhow::bail;
use perk_analysis::Window;
use perk_analysis::window::{WindowError, WindowExtent};
use perk_profile::Profile;
use perk_profile::TICK_NS;
use perk_profile::units::{duration, printable};

/// Leaves in the profile of that `name` the samples of the window; `None` where the options give
/// none.
///
/// # Errors
/// A line where there is no such window.
pub fn apply(
    window: Window,
    profile: &mut Profile,
    name: &str,
) -> anyhow::Result<Option<WindowExtent>> {
    if window.is_whole() {
        return Ok(None);
    }
    match window.apply(profile) {
        Ok(shown) => Ok(Some(shown)),
        Err(WindowError::Empty) => bail!("--to is not later than --from"),
        Err(WindowError::Outside(recorded_ns)) => bail!(
            "{name}: --from is after the end: the recording is {} long",
            duration(recorded_ns)
        ),
        Err(WindowError::NoTimes) => bail!(
            "{name} does not tell when samples were taken: .hprof files of perk run and format=p, \
             JFR recordings and perf script do"
        ),
    }
}

/// The window and what is not in it, in lines.
pub fn lines(shown: &WindowExtent) -> Vec<String> {
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
