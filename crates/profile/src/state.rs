//! The states of threads in wall-clock samples.

/// The state of a thread at the moment of a wall-clock sample, by the JVM and the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WallState {
    /// On a CPU.
    Running,
    /// Ready, and waiting for a CPU.
    Runnable,
    /// Waiting to enter a monitor (`synchronized`).
    Blocked,
    /// In `Object.wait`.
    Waiting,
    /// In `LockSupport.park`: waiting for a lock, a queue or a task of `java.util.concurrent`.
    Parked,
    /// In `Thread.sleep`.
    Sleeping,
    /// Asleep in a native method: a read from a socket, a pipe or a file, or a wait of a library.
    Native,
    /// Asleep inside the JVM: for a safepoint, memory, the initialization of a class.
    Vm,
}

/// A state's fixed facts.
struct StateFacts {
    /// Its name in files and on the command line.
    name: &'static str,
    /// Its name among the frames of a stack.
    label: &'static str,
    /// A thread in this state, in a sentence.
    title: &'static str,
}

impl WallState {
    /// All states, in the order of their numbers in files.
    pub const ALL: [WallState; 8] = [
        WallState::Running,
        WallState::Runnable,
        WallState::Blocked,
        WallState::Waiting,
        WallState::Parked,
        WallState::Sleeping,
        WallState::Native,
        WallState::Vm,
    ];

    /// Whether a thread in this state waits for something: it needs no CPU, and the JVM does not hold it up.
    pub fn is_waiting(self) -> bool {
        !matches!(self, WallState::Running | WallState::Runnable | WallState::Vm)
    }

    fn facts(self) -> StateFacts {
        let (name, label, title) = match self {
            WallState::Running => ("running", "[running]", "running on a CPU"),
            WallState::Runnable => ("runnable", "[runnable]", "ready, without a CPU"),
            WallState::Blocked => ("blocked", "[blocked]", "blocked by a monitor"),
            WallState::Waiting => ("waiting", "[waiting]", "waiting to be notified"),
            WallState::Parked => ("parked", "[parked]", "parked"),
            WallState::Sleeping => ("sleeping", "[sleeping]", "sleeping"),
            WallState::Native => ("native", "[native]", "in native I/O"),
            WallState::Vm => ("vm", "[vm]", "stopped by the JVM"),
        };
        StateFacts { name, label, title }
    }

    /// Its name in files: `parked`, `native`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Its name among the frames of a stack: `[parked]`.
    pub fn label(self) -> &'static str {
        self.facts().label
    }

    /// A thread in this state, in a sentence: `blocked by a monitor`.
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// Its number in files.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The state of that number.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The state of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// The state of that label.
    pub fn of_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.label() == label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_numbers_and_names() {
        for state in WallState::ALL {
            assert_eq!(WallState::of_number(state.number()), Some(state));
            assert_eq!(WallState::of_name(state.name()), Some(state));
            assert_eq!(WallState::of_label(state.label()), Some(state));
        }
        assert_eq!(WallState::of_number(8), None);
        assert_eq!(WallState::of_name("asleep"), None);
    }
}
