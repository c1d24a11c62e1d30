//! The roles of the JDK's methods for a program: its API, or the code that runs tasks.

use super::words::fits;

/// Classes and methods of the JDK that run the tasks of threads, the outermost frames of stacks.
const RUNNERS: [&str; 20] = [
    "java.lang.Thread#run",
    "java.lang.ThreadBuilders",
    "java.lang.VirtualThread",
    "java.lang.invoke.",
    "java.lang.reflect.",
    "java.security.AccessController",
    "java.util.TimerThread",
    "java.util.concurrent.CompletableFuture",
    "java.util.concurrent.Executors",
    "java.util.concurrent.ForkJoinPool",
    "java.util.concurrent.ForkJoinTask",
    "java.util.concurrent.ForkJoinWorkerThread",
    "java.util.concurrent.FutureTask",
    "java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask",
    "java.util.concurrent.ThreadPerTaskExecutor",
    "java.util.concurrent.ThreadPoolExecutor",
    "jdk.internal.misc.InnocuousThread",
    "jdk.internal.reflect.",
    "jdk.internal.vm.",
    "sun.reflect.",
];

/// Whether a method runs the tasks of threads.
pub(crate) fn is_runner(class: &str, method: &str) -> bool {
    RUNNERS.iter().any(|name| fits(name, class, method).is_some())
}

/// Whether programs can call a class of the JDK.
pub(super) fn is_api(class: &str) -> bool {
    class.starts_with("java.") || class.starts_with("javax.") || class.starts_with("org.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_and_the_api_are_known() {
        assert!(is_runner("java.lang.Thread", "run") && !is_runner("java.lang.Thread", "sleep"));
        assert!(is_runner("java.lang.ThreadBuilders$BoundVirtualThread", "run"));
        assert!(is_api("javax.crypto.Cipher") && !is_api("jdk.internal.misc.Unsafe"));
    }
}
