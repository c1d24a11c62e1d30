//! The browser of a running JVM: the state of the JVM in a few lines, and the views of its last seconds.

mod status;

use std::time::Duration;

use perk_live::{End, JvmState, LiveRecording, Moment, Range, exit_text};
use perk_profile::Profile;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::app::{Choice, Mode};
use crate::draw::draw_in;
use crate::{App, Key};

/// The most lines of the JVM's state.
const STATUS_LINES: u16 = 7;
/// The lines that the browser has at least.
const APP_LINES: u16 = 12;
/// The keys beside those of the browser of a file.
const KEYS: &str = "r range  p freeze  < > moment  S save  D threads";

/// What the browser asks of the JVM, beside the recording.
pub trait Jvm: perk_live::Jvm {
    /// Writes a profile to a file. Returns the name.
    ///
    /// # Errors
    /// It cannot be written; the reason in one line.
    fn save(&self, profile: &Profile) -> anyhow::Result<String>;

    /// Writes the JVM's own thread dump to a file. Returns the name.
    ///
    /// # Errors
    /// The JVM does not give one; the reason in one line.
    fn dump_threads(&self) -> anyhow::Result<String>;
}

/// A JVM and its recording.
#[derive(Clone, Copy)]
pub struct LiveSource<'a> {
    /// The recording.
    pub recording: &'a LiveRecording,
    /// The JVM.
    pub jvm: &'a dyn Jvm,
}

impl std::fmt::Debug for LiveSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveSource").field("recording", &self.recording).finish_non_exhaustive()
    }
}

/// The part of the recording that is chosen, and whether more comes.
#[derive(Debug)]
pub(crate) struct LiveView {
    range: usize,
    /// The end of the range, if it does not move with time.
    frozen_at: Option<Duration>,
    choice: Option<Choice>,
    end: Option<End>,
    facts: String,
    pub(crate) increment_count: u64,
}

impl LiveView {
    pub(crate) fn new() -> Self {
        Self {
            range: 0,
            frozen_at: None,
            choice: None,
            end: None,
            facts: String::new(),
            increment_count: 0,
        }
    }

    fn range(&self) -> Range {
        Range::OFFERED[self.range]
    }

    /// Whether newer increments change what is shown.
    pub(crate) fn follows(&self) -> bool {
        self.frozen_at.is_none() && self.end.is_none()
    }

    /// The part of the recording that is shown now.
    pub(crate) fn moment(&mut self, watched: &LiveSource<'_>) -> Moment {
        self.increment_count = watched.recording.increment_count();
        self.end = watched.recording.end();
        if self.end.is_none() {
            self.facts = watched.jvm.counters().map_or(String::new(), |it| it.line());
        }
        let stretch = watched.recording.stretch(self.range(), self.frozen_at);
        // What is added up meanwhile is not there by itself any more.
        let moment = watched.recording.moment(stretch).or_else(|_| {
            watched.recording.moment(watched.recording.stretch(Range::OFFERED[0], None))
        });
        moment.unwrap_or_default()
    }

    /// The browser of a moment, which shows what was chosen before.
    pub(crate) fn app<'m>(&self, moment: &'m Moment) -> App<'m> {
        let title = self.range().title();
        match &self.choice {
            Some(choice) => App::with_choice(&moment.profile, &title, choice),
            None => App::new(&moment.profile, &title),
        }
    }

    /// Keeps what is chosen.
    pub(crate) fn keep(&mut self, app: &App<'_>) {
        self.choice = Some(app.choice());
    }

    /// Executes the action of a key. Returns whether another moment is to be shown.
    pub(crate) fn press(
        &mut self,
        key: Key,
        watched: &LiveSource<'_>,
        moment: &Moment,
        app: &mut App<'_>,
    ) -> bool {
        if app.mode != Mode::Browse {
            app.press(key);
            return false;
        }
        let now = Duration::from_nanos(moment.accounting.wall_ns);
        let outcome = |made: anyhow::Result<String>| match made {
            Ok(name) => format!("written to {name}"),
            Err(error) => format!("{error:#}"),
        };
        match key {
            Key::Char('r') => self.range = (self.range + 1) % Range::OFFERED.len(),
            Key::Char('p') if self.frozen_at.is_some() => self.frozen_at = None,
            Key::Char('p') => self.frozen_at = Some(now),
            Key::Char(key @ ('<' | '>')) => {
                let step = match self.range() {
                    Range::Last(time) => time,
                    Range::All => Duration::from_secs(10),
                };
                self.frozen_at = match key {
                    '<' => Some(now.saturating_sub(step).max(Duration::from_secs(1))),
                    _ => self.frozen_at.map(|at| at + step),
                };
            }
            Key::Char('S') => {
                app.message = outcome(watched.jvm.save(&moment.profile));
                return false;
            }
            Key::Char('D') => {
                app.message = outcome(watched.jvm.dump_threads());
                return false;
            }
            key => {
                app.press(key);
                return false;
            }
        }
        true
    }

    /// Draws the state of the JVM and the browser.
    pub(crate) fn draw(
        &self,
        watched: &LiveSource<'_>,
        moment: &Moment,
        app: &mut App<'_>,
        colours: bool,
        frame: &mut Frame<'_>,
    ) {
        let area = frame.area();
        let mut lines = status::lines(moment, &self.facts, usize::from(area.width));
        let state = match (&self.end, self.frozen_at, watched.jvm.state()) {
            (Some(_), _, JvmState::Ended(status)) => format!("the JVM{}", exit_text(status)),
            (Some(End::Ended), ..) => "the recording has ended".to_owned(),
            (Some(End::Lost(_)), ..) => "the recording is lost".to_owned(),
            (None, Some(at), _) => format!("frozen at {} s", at.as_secs()),
            (None, None, JvmState::Stopped) => "the JVM is stopped by a signal".to_owned(),
            (None, None, _) => "live".to_owned(),
        };
        lines.insert(0, format!("{} · {state}    {KEYS}", watched.jvm.title()));
        let most = STATUS_LINES.min(area.height.saturating_sub(APP_LINES));
        let shown = most.min(lines.len() as u16);
        for (y, text) in (0..shown).zip(lines) {
            let place = Rect { y: area.y + y, height: 1, ..area };
            let style =
                if y == 0 { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
            frame.render_widget(Paragraph::new(Line::styled(text, style)), place);
        }
        let rest = Rect { y: area.y + shown, height: area.height - shown, ..area };
        draw_in(app, colours, rest, frame);
    }
}
