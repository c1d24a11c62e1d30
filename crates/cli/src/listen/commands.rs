//! Sends commands to the agent: those of the command line, and those typed.

use std::io::{Write, stdin};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use perk_control::Command;

use crate::talk;

/// The end of the connection that commands go to.
pub(super) struct Sender {
    /// With the number of the next command.
    connection: Mutex<(TcpStream, u32)>,
}

impl Sender {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { connection: Mutex::new((stream, 1)) }
    }

    /// Sends each command after a pause, unless the agent is gone.
    pub(super) fn send_all(&self, commands: &[Command], pause: Duration) {
        for &command in commands {
            thread::sleep(pause);
            if !self.send(command) {
                return;
            }
        }
    }

    /// Sends the commands that the user types, each followed by a line end or a comma.
    pub(super) fn send_typed(&self) {
        for line in stdin().lines() {
            let Ok(line) = line else { return };
            for name in line.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                match name.parse() {
                    _ if name == "help" => print_names(),
                    Ok(command) if !self.send(command) => return,
                    Ok(_) => {}
                    Err(what) => talk::say(format_args!("{what}; help lists the commands")),
                }
            }
        }
    }

    /// Whether it could be sent.
    fn send(&self, command: Command) -> bool {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, serial) = &mut *connection;
        let sent = stream.write_all(&command.encode(*serial));
        *serial = serial.wrapping_add(1);
        sent.is_ok()
    }
}

fn print_names() {
    for (name, about) in Command::names() {
        talk::print(format_args!("  {name}\n      {about}\n"));
    }
}
