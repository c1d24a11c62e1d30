use perk_profile::{
    Event, HeapHistogram, LockKind, MonitorDump, MonitorRow, MonitorTimes, Pause, PauseKind,
    SeriesSubject, TimeSeries, Unit, Waits,
};

use super::*;
use crate::{FORMATS, fixture};

#[test]
fn files_hold_what_their_format_says() {
    let mut profile = fixture::everything();
    // This is pprof's name for the time of waits for locks.
    profile.events.retain(|event| match event {
        Event::Section(it) => it.head.column(&Metric::other("delay", Unit::Nanoseconds)).is_none(),
        _ => true,
    });
    for event in &mut profile.events {
        // The text has milliseconds.
        if let Event::Section(section) = event
            && let Some(place) = section.head.place(&Metric::SelfTime)
        {
            section.change(|_, numbers| numbers[place] *= 1_000_000);
            section.head.columns[place].total *= 1_000_000;
        }
    }
    let class = profile.symbols.class("T");
    let trace = profile.total_cpu_samples().rows[0].0;
    let waits =
        Waits { blocked_count: 1, blocked_ns: 5_000_000, wait_count: 2, waited_ns: 3_000_000 };
    let rows = vec![MonitorRow { trace, class, kind: LockKind::Monitor, waits }];
    let times = MonitorTimes { total_ns: 5_000_000, rows, written: None };
    profile.events.push(times.into());
    profile.events.push(Event::MonitorDump(MonitorDump::default()));
    profile.events.push(Event::Heap(HeapHistogram::default()));
    let view = View::new(&profile, "");
    let mut refused = Vec::new();
    for format in FORMATS.into_iter().filter(|format| format.is_read()) {
        let Some(holds) = &format.facts().written else { continue };
        let mut file = Vec::new();
        if format.write_view(&view, &mut file).is_err() {
            refused.push(format.name());
            continue;
        }
        let read = format.read(&mut &file[..]).unwrap();
        let metrics = Metric::all_of(&read);
        for metric in Metric::all_of(&profile) {
            let is_shown = metric == Metric::Samples || !format.has_one_metric();
            let is_held = format.holds(&metric) && is_shown;
            assert_eq!(metrics.contains(&metric), is_held, "{format:?}: {metric:?}");
        }
        for document in Document::all_of(&profile) {
            let is_held = holds.documents.contains(&document);
            assert_eq!(document.is_in(&read), is_held, "{format:?}: {document:?}");
        }
        assert_eq!(read.accounting.is_some(), holds.accounting, "{format:?}");
        assert!(
            has_paths(&read, |_| false) || matches!(holds.detail, Detail::Methods | Detail::None)
        );
    }
    assert_eq!(refused, ["prof", "tsv", "fields"]);
}

/// What a file has, and what is said to be lost, is what the profile has.
#[test]
fn sums_are_written_or_said_to_be_lost() {
    let mut profiles = vec![fixture::everything(), Profile::default(), Profile::default()];
    for (profile, text) in profiles[1..].iter_mut().zip([
        &b"2 A.f()V A.main()V 3\n1 A.main()V (unknown caller) 5\n"[..],
        b"PROFILE: 10 (90%) A.f()V\nPROFILE_INVOKE: 2 @ 3 A.f()V -> A.g()V\n\
          INSTANTIATION_COUNT: 3 * 1 = 3 blocks 96 bytes trees: 0 (0%) boot A\n",
    ]) {
        let title = "count callee caller time\n";
        let old = [title.as_bytes(), text].concat();
        let by = if text.starts_with(b"PROFILE") { ("jamaica", text) } else { ("prof", &*old) };
        *profile = crate::by_name(by.0).unwrap().read(&mut &*by.1).unwrap();
    }
    // Numbers that no row has, and rows without a stack.
    let mut unlisted = profiles.clone();
    for profile in &mut unlisted {
        let root = profile.tree.root();
        let trace = profile.trace(root, None);
        for event in &mut profile.events {
            if let Event::Section(section) = event {
                for column in &mut section.head.columns {
                    // Of calls all rows are listed.
                    if matches!(column.metric, Metric::Calls | Metric::TotalTime) {
                        continue;
                    }
                    let is_time = column.metric.unit() == Unit::Nanoseconds;
                    column.total += if is_time { 7_000_000_000 } else { 7 };
                }
            }
        }
        profile
            .events
            .push(Section::of(Metric::other("events", Unit::Count), 5, [(trace, 3)]).into());
    }
    profiles.extend(unlisted);
    let mut pairs = 0;
    for (index, profile) in profiles.iter().enumerate() {
        for format in FORMATS.into_iter().filter(|it| it.is_read() && it.is_written()) {
            let chosen = format.has_one_metric().then(|| Metric::all_of(profile));
            let chosen =
                chosen.map_or_else(|| vec![None], |all| all.into_iter().map(Some).collect());
            for metric in &chosen {
                let view = View { metric: metric.as_ref(), ..View::new(profile, "") };
                let mut file = Vec::new();
                if format.write_view(&view, &mut file).is_err() {
                    continue;
                }
                let read = match format.read(&mut &file[..]) {
                    // A page of another metric is not read back.
                    Err(_) if format.name() == "html" => continue,
                    read => read.unwrap(),
                };
                let losses = format.losses(&view);
                let is_shown = |it: &Metric| metric.as_ref().is_none_or(|shown| shown == it);
                for held in Metric::all_of(profile).iter().filter(|it| is_shown(it)) {
                    if !format.holds(held) {
                        continue;
                    }
                    pairs += 1;
                    let what = format!("{index}: {format:?}: {held:?}: {losses:?}");
                    let total = held.rows(profile).total;
                    let written = format.written_total(profile, held);
                    // A file of one metric has it as its own.
                    let found = match metric {
                        Some(_) => Metric::first_of(&read).map_or(0, |it| it.rows(&read).total),
                        None => held.rows(&read).total,
                    };
                    let digits = format!("digits of the metric {} (", held.name());
                    let is_rounded = losses.iter().any(|it| it.starts_with(&digits));
                    let tolerance = if is_rounded { 1_000_000 } else { 0 };
                    assert!(found.abs_diff(written) <= tolerance, "{what}: {written} {found}");
                    let begin = format!("{} of {total}", total - written);
                    let end = format!(" of the metric {}", held.name());
                    let is_of_it = |it: &String| it.starts_with(&begin) && it.ends_with(&end);
                    assert_eq!(losses.iter().any(is_of_it), written < total, "{what}");
                }
                let is_other = metric.as_ref().is_some_and(|it| *it != Metric::Samples);
                if is_other || !Metric::Samples.is_in(&read) {
                    continue;
                }
                let interval_ns = profile.sample_interval_ns();
                let is_kept = read.sample_interval_ns() == interval_ns;
                let is_said = losses.iter().any(|it| it.starts_with("the interval"));
                let what = format!("{index}: {format:?}: {metric:?}: {losses:?}");
                assert!(is_kept != is_said || interval_ns.is_none(), "{what}");
            }
        }
    }
    assert!(pairs > 60, "{pairs}");
}

/// Pauses and numbers over time are lost where there is no place for them, and are no profile alone.
#[test]
fn what_has_times_alone_is_lost_by_name_and_no_profile() {
    let pause = Pause { begin_ns: 5, duration_ns: 7, kind: PauseKind::Collection };
    let (metric, numbers) = (Metric::BlockedTime, [((0, SeriesSubject::default()), 9)].into());
    let series = TimeSeries { metric, tick_ns: 1, begin_ns: 0, numbers };
    let events = [Event::Pauses(vec![pause]), Event::TimeSeries(series)];
    let mut alone = Profile::default();
    alone.events.extend(events.clone());
    let mut profile = fixture::everything();
    profile.events.extend(events);
    let lost = ["single pauses", "allocations, waits and states over time"];
    for format in FORMATS.into_iter().filter(|it| it.is_written()) {
        assert!(format.is_empty_of(&View::new(&alone, "")), "{}", format.name());
        let losses = format.losses(&View::new(&profile, ""));
        let named = lost.iter().filter(|it| losses.iter().any(|loss| loss == *it)).count();
        assert_eq!(
            named,
            if format.name() == "hprof" { 0 } else { 2 },
            "{} {losses:?}",
            format.name()
        );
    }
}
