//! The terminal browser of profiles: `perk view`.
//!
//! [`App`] is the view model: keys change it, and it gives the contents of each line of the screen.
//! It does not depend on a terminal: `draw` draws it on one, and `terminal` runs one.
#![forbid(unsafe_code)]

mod app;
mod details;
mod draw;
mod flame;
mod heap;
mod keys;
mod label;
mod lazy;
mod list;
mod live;
mod locks;
mod outline;
mod terminal;
mod view;

pub use app::App;
pub use draw::draw;
pub use keys::Key;
pub use live::{Jvm, LiveSource};
pub use terminal::{run, watch};
