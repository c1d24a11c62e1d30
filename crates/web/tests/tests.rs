//! The server as browsers, scripts and attackers see it: by its bytes.

mod access;
mod client;
mod equal;
mod faults;
mod flame;
mod heap;
mod sources;
mod views;
