//! `threads`: the threads of a recording.

use perk_profile::ThreadId;

use crate::table::{Column, TableOf, Values};

pub(super) fn threads() -> TableOf<ThreadId> {
    TableOf {
        name: "threads",
        about: "the threads of each recording",
        rows: Box::new(|it| (0..it.profile.threads.len()).map(ThreadId::new).collect()),
        columns: vec![
            Column::recording(),
            Column::new(
                "thread_serial",
                Values::Number(|it, &id| Some(it.profile.get_thread(id).serial.into())),
                "its number in the recording",
            ),
            Column::new(
                "thread",
                Values::Text(|it, &id| Some(it.profile.thread_name(id))),
                "its name",
            ),
            Column::new(
                "thread_group",
                Values::Text(|it, &id| {
                    Some(it.profile.symbols.strings.get(it.profile.get_thread(id).group?))
                }),
                "the name of its group; null if it is not known",
            ),
        ],
    }
}
