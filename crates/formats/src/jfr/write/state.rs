//! The states of sampled threads.

use perk_profile::WallState;

/// The state of a sampled thread: that of samples, or of wall-clock samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Runs,
    Sleeps,
    Wall(WallState),
}

impl State {
    /// All states, in the order of their keys.
    pub(super) const ALL: [State; 10] = [
        State::Runs,
        State::Sleeps,
        State::Wall(WallState::Running),
        State::Wall(WallState::Runnable),
        State::Wall(WallState::Blocked),
        State::Wall(WallState::Waiting),
        State::Wall(WallState::Parked),
        State::Wall(WallState::Sleeping),
        State::Wall(WallState::Native),
        State::Wall(WallState::Vm),
    ];

    /// Returns the name in recordings: those of the JDK, and those of perk for wall-clock samples.
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Runs => "STATE_RUNNABLE",
            State::Sleeps => "STATE_SLEEPING",
            State::Wall(state) => state.name(),
        }
    }

    /// Returns the key of its constant.
    pub(super) fn key(self) -> u64 {
        let place = Self::ALL.iter().position(|state| *state == self);
        place.map_or(0, |place| place as u64 + 1)
    }
}
