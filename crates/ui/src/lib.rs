//! The terminal browser of profiles: `perk view`.
//!
//! [`App`] is the view model: keys change it, and it says what each line of the screen shows. It
//! knows no terminal; `draw` puts it on one, and `terminal` runs one.
#![forbid(unsafe_code)]

mod app;
mod draw;
mod flame;
mod keys;
mod label;
mod lazy;
mod list;
mod terminal;

pub use app::App;
pub use draw::draw;
pub use keys::Key;
pub use terminal::run;
