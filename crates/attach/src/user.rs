//! The rights of a JVM's user.

use std::{io, thread};

use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use crate::jvms::Jvm;

/// The user of a JVM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) uid: u32,
    gid: u32,
}

impl User {
    pub(crate) fn of(jvm: &Jvm) -> Self {
        Self { uid: jvm.status.uid, gid: jvm.status.gid }
    }

    /// Runs `work` with the rights of the user, where perk has those of root. Files are the user's
    /// then, and a JVM in a user namespace, in which root of the outside is nobody, knows the peer.
    pub(crate) fn act<T: Send>(self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        if !geteuid().is_root() || self.uid == 0 {
            return Ok(work());
        }
        thread::scope(|scope| {
            // The rights are those of a thread, which ends with the work.
            let done = scope.spawn(|| {
                set_thread_res_gid(None, Gid::from_raw(self.gid), None)?;
                set_thread_res_uid(None, Uid::from_raw(self.uid), None)?;
                Ok(work())
            });
            done.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_as_the_user_and_the_rights_come_back() {
        let own = geteuid();
        let user = User { uid: 65534, gid: 65534 };
        let expected = if own.is_root() { user.uid } else { own.as_raw() };
        // That of the thread, which is not that of `/proc/self`.
        assert_eq!(user.act(|| geteuid().as_raw()).unwrap(), expected);
        assert_eq!(geteuid(), own);
    }
}
