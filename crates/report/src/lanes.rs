//! What each thread did over time, as documents.

use perk_analysis::lanes::{Lanes, ThreadLanes, ThreadStates};
use perk_profile::units::printable;
use perk_profile::{Profile, StrId, WallState};
use perk_render::Json;

use crate::flame;

/// Numbers of metrics by thread and interval.
pub fn lanes(lanes: &Lanes, profile: &Profile) -> Vec<(&'static str, Json)> {
    let name = |id: StrId| printable(profile.symbols.strings.get(id));
    let of = |it: &ThreadLanes| {
        Json::object([
            ("name", it.name.map(name).into()),
            ("totals", Json::list(it.totals.iter().copied())),
            ("numbers", Json::list(it.numbers.iter().map(|it| Json::list(it.iter().copied())))),
        ])
    };
    let metrics = lanes.metrics.iter().map(|it| Json::object(flame::of_metric(it, profile)));
    vec![
        ("interval_ns", lanes.interval_ns.into()),
        ("recorded_ns", profile.recorded_ns().into()),
        ("metrics", Json::list(metrics)),
        ("all", of(&lanes.all)),
        ("threads", Json::list(lanes.threads.iter().map(of))),
        ("others", of(&lanes.others)),
        ("other_thread_count", lanes.other_count.into()),
    ]
}

/// The states of threads by interval: of each thread the states in which it was, each with its times.
pub fn states(threads: &[ThreadStates], interval_ns: u64) -> Vec<(&'static str, Json)> {
    let threads = threads.iter().map(|thread| {
        let states = WallState::ALL.iter().zip(&thread.numbers);
        let states = states.filter(|it| it.1.iter().any(|&ns| ns > 0));
        let states = states.map(|(state, numbers)| {
            let numbers = Json::list(numbers.iter().copied());
            Json::object([("state", Json::from(state.name())), ("ns", numbers)])
        });
        let serial = ("thread_serial", u64::from(thread.serial).into());
        Json::object([serial, ("states", Json::list(states))])
    });
    vec![("interval_ns", interval_ns.into()), ("threads", Json::list(threads))]
}
