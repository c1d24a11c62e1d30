//! Runs the browser on a terminal, and restores the terminal at the end.

use std::io::{self, IsTerminal, stdout};

use anyhow::{Context, bail};
use crossterm::event::{self, Event, KeyEventKind};
use perk_profile::{Metric, Profile};

use crate::{App, Key, draw};

/// Shows `profile` on the terminal until the user leaves; `metric` is the one to begin with.
///
/// # Errors
/// If stdout is not a terminal, or if the terminal fails.
pub fn run(profile: &Profile, title: &str, metric: Option<&Metric>) -> anyhow::Result<()> {
    if !stdout().is_terminal() {
        bail!("stdout is not a terminal: use perk report instead");
    }
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut app = App::new(profile, title);
    metric.into_iter().for_each(|metric| app.choose(metric));
    // The terminal is restored also if the program panics.
    let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
    let result = browse(&mut app, colours, &mut terminal);
    ratatui::restore();
    result.context("the terminal failed")
}

fn browse(
    app: &mut App<'_>,
    colours: bool,
    terminal: &mut ratatui::DefaultTerminal,
) -> io::Result<()> {
    while !app.is_done() {
        terminal.draw(|frame| draw(app, colours, frame))?;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                Key::of_event(key).into_iter().for_each(|key| app.press(key));
            }
            _ => {}
        }
    }
    Ok(())
}
