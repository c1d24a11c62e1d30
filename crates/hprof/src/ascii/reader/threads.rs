//! THREAD START and THREAD END.

use perk_profile::{Event, Thread, ThreadId};

use super::contents::{Contents, narrow};
use crate::lines::{number, text};

impl Contents {
    /// Parses `obj=%x, id = %d, name="%s", group="%s")`. The names may hold quotes.
    pub(super) fn thread_start(&mut self, rest: &[u8]) -> Result<(), String> {
        let line = text(rest);
        let parts = (|| {
            let rest = line.strip_prefix("obj=")?;
            let (object, rest) = rest.split_once(", id = ")?;
            let (serial, rest) = rest.split_once(", name=\"")?;
            let (name, group) = rest.strip_suffix("\")")?.rsplit_once("\", group=\"")?;
            let object_id = u64::from_str_radix(object, 16).ok()?;
            Some((object_id, serial.parse::<u32>().ok()?, name, group))
        })();
        let (object_id, serial, name, group) =
            parts.ok_or("expected THREAD START (obj=…, id = …, name=\"…\", group=\"…\")")?;
        let strings = &mut self.profile.symbols.strings;
        let name = strings.intern(name);
        let group = (!group.is_empty()).then(|| strings.intern(group));
        let thread = Thread { serial, object_id, name, group, parent_group: None };
        let id = self.profile.push_thread(thread);
        self.threads.insert(serial, id);
        self.profile.events.push(Event::ThreadStart(id));
        Ok(())
    }

    /// Parses `id = %d)`.
    pub(super) fn thread_end(&mut self, rest: &[u8]) -> Result<(), String> {
        let serial = rest.strip_prefix(b"id = ").and_then(|rest| rest.strip_suffix(b")"));
        let serial = serial.and_then(number).ok_or("expected THREAD END (id = …)")?;
        self.profile.events.push(Event::ThreadEnd(narrow(serial)?));
        Ok(())
    }

    /// Returns the thread with that serial number.
    pub(super) fn thread(&mut self, serial: u32) -> ThreadId {
        *self.threads.entry(serial).or_insert_with(|| {
            // Threads that started before the agent have no THREAD START line.
            let name = self.profile.symbols.strings.intern(&format!("thread {serial}"));
            let thread = Thread { serial, object_id: 0, name, group: None, parent_group: None };
            self.profile.push_thread(thread)
        })
    }
}
