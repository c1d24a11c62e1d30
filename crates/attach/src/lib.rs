//! Running JVMs, from outside: finds them, has them load the agent, and talks to it. `perk` and `perk-fleet` share it.
//!
//! [`jvms`] finds and describes JVMs by `/proc` alone. [`load_agent`] has one load the agent's library, which this
//! crate carries ([`agent`]), over HotSpot's attach protocol. [`Control`] sends requests to the agent. Files of
//! the JVM are reached through its root, and with the rights of its user ([`JvmFolder`]).
#![forbid(unsafe_code)]

pub mod agent;
mod agent_option;
mod control;
mod hotspot;
mod inside;
pub mod jvms;
mod library;
pub mod litter;
mod load;
mod recording;
mod socket;
mod user;

pub use agent_option::{checked_path, literal_text, option_of_file};
pub use control::{Control, PATIENCE};
pub use inside::{JvmFolder, bases, first, has_ended, open_file};
pub use load::{is_refusal_of_jvm, load_agent, may_ask, thread_dump};
pub use recording::Recording;
pub use socket::Deadline;
