//! What is shown while a dump is analysed, on a terminal: the classes as soon as they are known, and how
//! far the analysis is.

use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use perk_profile::{HeapHistogram, Profile, units};
use perk_render::{Part, Screen};
use perk_report::heap_classes;

use crate::talk;

/// Shorter work shows no progress.
const PROGRESS_AFTER: Duration = Duration::from_secs(1);
/// The classes that are shown.
const CLASSES: usize = 10;

/// Watches an analysis.
pub(super) struct HeapProgress {
    bar: ProgressBar,
    /// The name of the dump.
    name: String,
    begun: Instant,
    phase: &'static str,
    is_hidden: bool,
    shows_classes: bool,
}

impl HeapProgress {
    /// Watches the analysis of a dump of this name; shows its classes where `shows_classes`.
    pub(super) fn new(name: &str, shows_classes: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{wide_bar}] {percent} % {eta}") {
            bar.set_style(style.progress_chars("=> "));
        }
        let is_terminal = stderr().is_terminal();
        Self {
            bar,
            name: name.to_owned(),
            begun: Instant::now(),
            phase: "",
            is_hidden: true,
            shows_classes: shows_classes && is_terminal,
        }
    }
}

impl perk_heap::Watch for HeapProgress {
    fn progress(&mut self, phase: &'static str, done: u64, total: u64) {
        if self.is_hidden && self.begun.elapsed() > PROGRESS_AFTER && stderr().is_terminal() {
            self.is_hidden = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
        if self.phase != phase {
            self.phase = phase;
            self.bar.set_prefix(phase);
            self.bar.reset_eta();
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    fn histogram(&mut self, profile: &Profile, heap: &HeapHistogram) {
        if !self.shows_classes {
            return;
        }
        let heading = "Classes by their own size; their holders follow".to_owned();
        let heaps = [(0, heap.clone())];
        let table = heap_classes(profile, heading, heaps, heap.object_bytes()).top(CLASSES);
        let text = perk_render::text([&vec![Part::table(table)]], &Screen::of_stderr());
        self.bar.suspend(|| talk::print(format_args!("{text}\n")));
    }

    fn little_memory(&mut self, needed_bytes: u64, limit_bytes: u64, folder: &Path) {
        let (needed, limit) = (units::bytes(needed_bytes), units::bytes(limit_bytes));
        let (name, folder) = (&self.name, units::printable(&folder.display().to_string()));
        self.bar.suspend(|| {
            talk::say(format_args!(
                "{name}: needs about {needed} of memory and may take {limit}: the rest goes to scratch files in \
                 {folder}"
            ));
        });
    }
}

impl Drop for HeapProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
