//! Runs the browser on a terminal, and restores the terminal at the end.

use std::fs::File;
use std::io::{self, IsTerminal, stdin, stdout};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, size};
use perk_profile::{Metric, Profile};
use ratatui::layout::Rect;
use ratatui::{DefaultTerminal, Frame, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::live::{LiveSource, LiveView};
use crate::{App, Key, draw};

/// The screen of a terminal that does not know its size, as a serial console.
const UNKNOWN_SIZE: Rect = Rect { x: 0, y: 0, width: 80, height: 24 };
/// The longest time until the end of the terminal is noticed.
const PATIENCE: Duration = Duration::from_millis(500);
const GONE: &str = "the terminal is gone";
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Shows a running JVM on the terminal until the user leaves.
///
/// # Errors
/// As those of [`run`].
pub fn watch(watched: &LiveSource<'_>) -> anyhow::Result<()> {
    on_terminal("use perk attach instead", |colours, terminal, keyboard| {
        let mut view = LiveView::new();
        loop {
            let moment = view.moment(watched);
            let mut app = view.app(&moment);
            loop {
                let draw = |frame: &mut Frame<'_>| {
                    view.draw(watched, &moment, &mut app, colours, frame);
                };
                terminal.draw(draw).map_err(fault)?;
                let event = match next(keyboard, PATIENCE).map_err(fault)? {
                    Input::Gone => bail!(GONE),
                    Input::Event(event) => Some(event),
                    Input::Nothing => None,
                };
                match event {
                    Some(event) if is_for_a_new_screen(&event) => {
                        area().and_then(|area| terminal.resize(area)).map_err(fault)?;
                    }
                    Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                        let Some(key) = Key::of_event(key) else { continue };
                        if view.press(key, watched, &moment, &mut app) {
                            break;
                        }
                    }
                    _ => {}
                }
                if app.is_done() {
                    return Ok(());
                }
                let is_new = watched.recording.increment_count() != view.increment_count
                    || watched.recording.end().is_some();
                if view.follows() && is_new {
                    break;
                }
            }
            view.keep(&app);
        }
    })
}

/// Shows `profile` on the terminal until the user leaves; `metric` is the one to begin with.
///
/// # Errors
/// If stdout is not a terminal, or if the terminal fails or goes away.
pub fn run(profile: &Profile, title: &str, metric: Option<&Metric>) -> anyhow::Result<()> {
    let mut app = App::new(profile, title);
    metric.into_iter().for_each(|metric| app.choose(metric));
    on_terminal("use perk report instead", |colours, terminal, keyboard| {
        browse(&mut app, colours, terminal, keyboard)
    })
}

/// Runs `body` with colours or without, on the terminal, with its keyboard.
fn on_terminal(
    instead: &str,
    body: impl FnOnce(bool, &mut DefaultTerminal, &OwnedFd) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if !stdout().is_terminal() {
        bail!("stdout is not a terminal: {instead}");
    }
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    // The terminal is restored also if the program panics.
    let terminal = begin().context("cannot use the terminal");
    let result = terminal.and_then(|terminal| {
        // Dropped, it would complain on a terminal that is gone.
        let mut terminal = ManuallyDrop::new(terminal);
        let keyboard = keyboard().map_err(fault)?;
        let result = body(colours, &mut terminal, &keyboard);
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

fn browse(
    app: &mut App<'_>,
    colours: bool,
    terminal: &mut DefaultTerminal,
    keyboard: &OwnedFd,
) -> anyhow::Result<()> {
    while !app.is_done() {
        terminal.draw(|frame| draw(app, colours, frame)).map_err(fault)?;
        let event = match next(keyboard, PATIENCE).map_err(fault)? {
            Input::Gone => bail!(GONE),
            Input::Event(event) => event,
            Input::Nothing => continue,
        };
        match event {
            // The screen may have lost its content even if its size is as before.
            event if is_for_a_new_screen(&event) => {
                area().and_then(|area| terminal.resize(area)).map_err(fault)?;
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

/// The fault of a terminal in a sentence. The system has an input or output error of one that is gone.
fn fault(error: io::Error) -> anyhow::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::IO) => anyhow!(GONE),
        _ => anyhow::Error::new(error).context("the terminal failed"),
    }
}

/// What came within a time.
enum Input {
    Event(Event),
    Nothing,
    /// The terminal is gone.
    Gone,
}

/// Waits for the next event. crossterm waits for the keys of a terminal that is gone without an end.
fn next(keyboard: &OwnedFd, patience: Duration) -> io::Result<Input> {
    let mut polled = [PollFd::new(keyboard, PollFlags::IN)];
    match poll(&mut polled, Some(&AT_ONCE)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    if polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Ok(Input::Gone);
    }
    match event::poll(patience)? {
        true => event::read().map(Input::Event),
        false => Ok(Input::Nothing),
    }
}
