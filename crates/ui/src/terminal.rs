//! Runs the browser on a terminal, and restores the terminal at the end.

use std::fs::File;
use std::io::{self, IsTerminal, stdin, stdout};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use anyhow::{Context, bail};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, size};
use perk_profile::{Metric, Profile};
use ratatui::layout::Rect;
use ratatui::{DefaultTerminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::{App, Key, draw};

/// The screen of a terminal that does not know its size, as a serial console.
const UNKNOWN_SIZE: Rect = Rect { x: 0, y: 0, width: 80, height: 24 };
/// The longest time until the end of the terminal is noticed.
const PATIENCE: Duration = Duration::from_millis(500);
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Shows `profile` on the terminal until the user leaves; `metric` is the one to begin with.
///
/// # Errors
/// If stdout is not a terminal, or if the terminal fails or goes away.
pub fn run(profile: &Profile, title: &str, metric: Option<&Metric>) -> anyhow::Result<()> {
    if !stdout().is_terminal() {
        bail!("stdout is not a terminal: use perk report instead");
    }
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut app = App::new(profile, title);
    metric.into_iter().for_each(|metric| app.choose(metric));
    // The terminal is restored also if the program panics.
    let terminal = begin().context("cannot use the terminal");
    let result = terminal.and_then(|terminal| {
        // Dropped, it would complain on a terminal that is gone.
        let mut terminal = ManuallyDrop::new(terminal);
        let result = browse(&mut app, colours, &mut terminal);
        let _ = terminal.show_cursor();
        result
    });
    // One that is gone cannot be restored.
    let _ = ratatui::try_restore();
    result
}

fn begin() -> io::Result<DefaultTerminal> {
    let viewport = Viewport::Fixed(area()?);
    let terminal = ratatui::try_init_with_options(TerminalOptions { viewport })?;
    execute!(stdout(), EnterAlternateScreen)?;
    // From here on a change of the size is an event.
    event::poll(Duration::ZERO)?;
    Ok(terminal)
}

/// The size of the screen.
fn area() -> io::Result<Rect> {
    Ok(match size()? {
        (0, _) | (_, 0) => UNKNOWN_SIZE,
        (width, height) => Rect { width, height, ..Rect::ZERO },
    })
}

fn browse(app: &mut App<'_>, colours: bool, terminal: &mut DefaultTerminal) -> anyhow::Result<()> {
    const FAILED: &str = "the terminal failed";
    let keyboard = keyboard().context(FAILED)?;
    while !app.is_done() {
        terminal.draw(|frame| draw(app, colours, frame)).context(FAILED)?;
        let Some(event) = next(&keyboard).context(FAILED)? else {
            bail!("the terminal is gone");
        };
        match event {
            // The screen may have lost its content even if its size is as before.
            event if is_for_a_new_screen(&event) => {
                area().and_then(|area| terminal.resize(area)).context(FAILED)?;
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                Key::of_event(key).into_iter().for_each(|key| app.press(key));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether everything has to be drawn again.
fn is_for_a_new_screen(event: &Event) -> bool {
    match event {
        Event::Resize(..) => true,
        Event::Key(key) => {
            key.code == KeyCode::Char('l') && key.modifiers.contains(KeyModifiers::CONTROL)
        }
        _ => false,
    }
}

/// The terminal that the keys come from.
fn keyboard() -> io::Result<OwnedFd> {
    match stdin().is_terminal() {
        true => stdin().as_fd().try_clone_to_owned(),
        false => Ok(File::open("/dev/tty")?.into()),
    }
}

/// Waits for the next event. `None` if the terminal is gone: crossterm waits for its keys without an end.
fn next(keyboard: &OwnedFd) -> io::Result<Option<Event>> {
    loop {
        let mut polled = [PollFd::new(keyboard, PollFlags::IN)];
        match poll(&mut polled, Some(&AT_ONCE)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Ok(None);
        }
        if event::poll(PATIENCE)? {
            return event::read().map(Some);
        }
    }
}
