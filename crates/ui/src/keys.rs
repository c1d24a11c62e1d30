//! The keys to which the browser reacts.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character, as typed with Shift.
    Char(char),
    /// The arrow up.
    Up,
    /// The arrow down.
    Down,
    /// The arrow to the left.
    Left,
    /// The arrow to the right.
    Right,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the first line.
    Home,
    /// To the last line.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Control and C.
    Interrupt,
}

impl Key {
    /// Returns the key of a terminal's event; `None` if the browser does not use it.
    pub fn of_event(event: KeyEvent) -> Option<Self> {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        Some(match event.code {
            KeyCode::Char('c' | 'd') if control => Key::Interrupt,
            KeyCode::Char('b') if control => Key::PageUp,
            KeyCode::Char('f') if control => Key::PageDown,
            KeyCode::Char(_) if control => return None,
            KeyCode::Char(c) => Key::Char(c),
            KeyCode::Up => Key::Up,
            KeyCode::Down => Key::Down,
            KeyCode::Left => Key::Left,
            KeyCode::Right => Key::Right,
            KeyCode::PageUp => Key::PageUp,
            KeyCode::PageDown => Key::PageDown,
            KeyCode::Home => Key::Home,
            KeyCode::End => Key::End,
            KeyCode::Enter => Key::Enter,
            KeyCode::Esc => Key::Escape,
            KeyCode::Backspace => Key::Backspace,
            KeyCode::Tab => Key::Tab,
            KeyCode::BackTab => Key::BackTab,
            _ => return None,
        })
    }
}
