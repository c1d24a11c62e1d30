//! Takes the commands of the peer that receives the profile, on a thread of the agent.

use std::ffi::c_void;
use std::io::{self, BufReader};
use std::sync::OnceLock;

use perk_control::commands::{self, Command, PeerInput};
use perk_jvm::Jni;
use perk_jvm::guard::{Feature, guard};
use perk_jvm::os;
use perk_jvmti_sys::JvmtiEnv;
use perk_jvmti_sys::jni_sys::JNIEnv;

use crate::common::Common;
use crate::output::Connection;

/// The capacity for the local references of a command.
const LOCALS: u8 = 64;
/// The limit of complaints about one peer.
const MOST_COMPLAINTS: u32 = 10;

/// The receiver of commands; see the module.
pub(crate) struct Listener {
    connection: Connection,
    obedient: OnceLock<&'static dyn CommandReceiver>,
}

/// The receiver of decoded commands.
pub(crate) trait CommandReceiver: Send + Sync {
    /// Executes a command, and returns when it is done. Its answers have been handed over by then.
    fn obey(&'static self, jni: Jni<'_>, command: Command);
}

impl Listener {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, obedient: OnceLock::new() }
    }

    /// Begins to take commands.
    ///
    /// # Errors
    /// The JVM's refusal, for one line on stderr.
    pub(crate) fn start(
        &'static self,
        common: &Common,
        jni: Jni<'_>,
        obedient: &'static dyn CommandReceiver,
    ) -> Result<(), String> {
        let thread = common.threads.new_own(jni, c"HPROF listener thread")?;
        let _ = self.obedient.set(obedient);
        let started = common.jvmti.run_agent_thread(&*thread, listener_main, self);
        started.map_err(|error| format!("RunAgentThread: {error}"))
    }

    /// Obeys until no more commands can come.
    fn run(&self, obedient: &'static dyn CommandReceiver, jni: Jni<'_>) {
        let mut source = BufReader::new(&self.connection);
        let mut complaints = 0;
        let mut complain = |what: String| {
            complaints += 1;
            if complaints <= MOST_COMPLAINTS {
                os::say(&format!("HPROF ERROR: perk: {what}\n"));
            }
        };
        while !self.connection.is_lost() {
            match commands::read(&mut source) {
                Ok(PeerInput::Command(Command::Eof) | PeerInput::End) => return,
                Ok(PeerInput::Command(command)) => guard(Feature::Commands, || {
                    jni.with_room(LOCALS, || obedient.obey(jni, command));
                }),
                Ok(PeerInput::UnknownTag(tag)) => {
                    complain(format!("there is no command {tag}: it is skipped"));
                }
                Ok(PeerInput::UnknownControl(option)) => {
                    complain(format!("CONTROL has no option {option}: it is skipped"));
                }
                Ok(PeerInput::Garbage { tag, length }) => {
                    return complain(format!(
                        "{tag:#04x} with {length} bytes is not a command: the rest of the stream is \
                         ignored"
                    ));
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return complain("the peer's last command is cut off".to_owned());
                }
                // The loss of the connection is noticed where data is sent.
                Err(_) => return,
            }
        }
    }
}

/// The listener thread's entry.
unsafe extern "system" fn listener_main(_: JvmtiEnv, env: *mut JNIEnv, listener: *mut c_void) {
    // SAFETY: `start` passed a reference to a listener that lives as long as the process.
    let listener: &'static Listener = unsafe { &*listener.cast_const().cast() };
    // SAFETY: the JVM gives the agent thread its own environment, valid until we return.
    let jni = unsafe { Jni::from_raw(env) };
    if let Some(obedient) = listener.obedient.get() {
        listener.run(*obedient, jni);
    }
}
