//! Collapsed stacks as async-profiler wrote them.

mod util;

use perk_formats::{View, collapsed};
use perk_profile::Profile;

fn file(name: &str) -> String {
    String::from_utf8(util::testdata(&format!("collapsed/{name}.collapsed"))).unwrap()
}

fn written(profile: &Profile) -> String {
    let mut out = Vec::new();
    collapsed::write(&View::new(profile, ""), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn files_of_async_profiler() {
    for name in ["threads-annotated", "signatures", "allocations"] {
        let text = file(name);
        let counts = text.lines().map(|line| line.rsplit_once(' ').unwrap().1);
        let total: u64 = counts.map(|count| count.parse::<u64>().unwrap()).sum();
        let profile = collapsed::read(text.as_bytes()).unwrap();
        assert_eq!(profile.total_cpu_samples().total, total, "{name}");
        assert!(profile.notes.is_empty(), "{name}: {:?}", profile.notes);
        assert!(collapsed::recognise(text.as_bytes()), "{name}");
        // async-profiler's marks, slashes and signatures are in the profile, and not in the names.
        let own = written(&profile);
        assert!(own.contains("java.util.concurrent.ThreadPoolExecutor$Worker.run;"), "{own}");
        assert!(!own.contains("_["), "{own}");
        assert!(!own.contains("java/"), "{own}");
        assert_eq!(written(&collapsed::read(own.as_bytes()).unwrap()), own, "{name}");
    }
}

#[test]
fn threads_have_their_numbers() {
    let profile = collapsed::read(file("threads-annotated").as_bytes()).unwrap();
    let workers = profile
        .threads
        .iter()
        .filter(|thread| profile.symbols.strings.get(thread.name) == "Wörker #1");
    let mut ids: Vec<_> = workers.map(|thread| thread.object_id).collect();
    ids.sort_unstable();
    assert_eq!(ids.len(), 2);
    assert!(ids[0] > 0 && ids[0] != ids[1]);
}
