//! The function of the agent that receives the events.

use crate::state::STATE;
use crate::state::entries::Notify;

/// Returns the agent's function, if it has set one.
pub(super) fn notify_event() -> Option<Notify> {
    let table = STATE.interface.table.get()?;
    // SAFETY: the table lives as long as the process; the agent writes a whole word.
    unsafe { (&raw const (*table.0.get()).NotifyEvent).read_volatile() }
}
