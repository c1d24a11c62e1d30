//! The states of sampled threads.

use perk_profile::WallState;

/// The state of a sampled thread: that of samples, or of wall-clock samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleState {
    Runs,
    Sleeps,
    Wall(WallState),
}

impl SampleState {
    /// All states, in the order of their keys.
    pub(super) const ALL: [SampleState; 10] = [
        SampleState::Runs,
        SampleState::Sleeps,
        SampleState::Wall(WallState::Running),
        SampleState::Wall(WallState::Runnable),
        SampleState::Wall(WallState::Blocked),
        SampleState::Wall(WallState::Waiting),
        SampleState::Wall(WallState::Parked),
        SampleState::Wall(WallState::Sleeping),
        SampleState::Wall(WallState::Native),
        SampleState::Wall(WallState::Vm),
    ];

    /// Returns the name in recordings: those of the JDK, and those of perk for wall-clock samples.
    pub(super) fn name(self) -> &'static str {
        match self {
            SampleState::Runs => "STATE_RUNNABLE",
            SampleState::Sleeps => "STATE_SLEEPING",
            SampleState::Wall(state) => state.name(),
        }
    }

    /// Returns the key of its constant.
    pub(super) fn key(self) -> u64 {
        let place = Self::ALL.iter().position(|state| *state == self);
        place.map_or(0, |place| place as u64 + 1)
    }
}
