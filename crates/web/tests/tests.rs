//! The server as browsers, scripts and attackers see it: by its bytes.

mod access;
mod client;
mod faults;
mod sources;
mod views;
