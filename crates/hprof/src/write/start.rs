//! The start of a thread, and of a file.

use perk_profile::{Profile, ThreadId, Timestamp};

/// The data that a file has of a thread's start. The names are here and not in a profile, as an
/// agent need not keep the names of threads that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStart<'a> {
    /// Its serial number.
    pub serial: u32,
    /// The id of its `java.lang.Thread` object.
    pub object_id: u64,
    /// Its name.
    pub name: &'a str,
    /// The name of its thread group, if it has one.
    pub group: Option<&'a str>,
    /// The name of that group's parent, if it has one.
    pub parent_group: Option<&'a str>,
}

impl<'a> ThreadStart<'a> {
    /// Returns the data of a thread of a profile.
    pub fn of(profile: &'a Profile, thread: ThreadId) -> Self {
        let thread = profile.get_thread(thread);
        let text = |name| profile.symbols.strings.get(name);
        Self {
            serial: thread.serial,
            object_id: thread.object_id,
            name: text(thread.name),
            group: thread.group.map(text),
            parent_group: thread.parent_group.map(text),
        }
    }
}

/// Returns `stamp`, or else the profile's date, or else the default.
pub(crate) fn date(stamp: Option<Timestamp>, profile: &Profile) -> Timestamp {
    stamp.or(profile.created).unwrap_or_default()
}
