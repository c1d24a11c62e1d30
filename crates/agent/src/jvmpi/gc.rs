//! Collections of garbage as the agent sees them.

/// `DisableGC`
pub(super) unsafe extern "C" fn disable() {}

/// `EnableGC`
pub(super) unsafe extern "C" fn enable() {}

/// `RunGC`
pub(super) unsafe extern "C" fn run() {}
