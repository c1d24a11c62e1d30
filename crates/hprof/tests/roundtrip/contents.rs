//! The contents of profiles as text, to compare them.

use perk_profile::{
    CallRow, Event, HeapClassRow, MethodId, Profile, Section, SectionView, StrId, ThreadId, TraceId,
};

/// Returns the contents of a profile's events, with names instead of ids.
pub(crate) fn contents(profile: &Profile) -> Vec<String> {
    let text = |id: StrId| profile.symbols.strings.get(id);
    let thread = |id: ThreadId| {
        let thread = profile.get_thread(id);
        (
            thread.serial,
            thread.object_id,
            text(thread.name),
            thread.group.map(text),
            thread.parent_group.map(text),
        )
    };
    let row = |&(id, count): &(TraceId, u64)| {
        let trace = profile.get_trace(id);
        let frames: Vec<_> = profile
            .frames(id)
            .map(|id| {
                let frame = profile.symbols.get_frame(id);
                let method = profile.symbols.get_method(frame.method);
                (
                    profile.symbols.class_name(method.class).to_owned(),
                    text(method.name),
                    method.signature.map(text),
                    method.source.map(text),
                    frame.line,
                )
            })
            .collect();
        (count, trace.serial, trace.thread.map(thread), frames)
    };
    let section = |section: &Section| match section.view(profile) {
        SectionView::CpuSamples(samples) => {
            let rows: Vec<_> = samples.rows.iter().map(row).collect();
            format!("{} {} {:?} {rows:?}", samples.total, samples.is_interim, samples.written)
        }
        SectionView::CallTimes(times) => {
            let rows: Vec<_> = times
                .rows
                .iter()
                .map(|call| (row(&(call.trace, call.count)), call.self_ns))
                .collect();
            format!("{} ns {:?} {rows:?}", times.total_ns, times.written)
        }
        SectionView::CallEdges(edges) => {
            let method = |id: MethodId| {
                let method = profile.symbols.get_method(id);
                let source = method.source.map(text);
                (profile.symbols.method_name(id), method.signature.map(text), source)
            };
            let rows: Vec<_> = edges
                .rows
                .iter()
                .map(|edge| {
                    let thread = edge.thread.map(thread);
                    let methods = (edge.callee.map(method), edge.caller.map(method));
                    (methods, thread, edge.count, edge.total_ns)
                })
                .collect();
            format!("{:?} {rows:?}", edges.written)
        }
        SectionView::Sites(sites) => {
            let rows: Vec<_> = sites
                .rows
                .iter()
                .map(|site| {
                    let class = profile.symbols.class_name(site.class);
                    (class, row(&(site.trace, 0)), site.objects)
                })
                .collect();
            let interval = sites.sample_interval_bytes;
            let selection = sites.selection;
            format!("{:?} {interval:?} {selection:?} {:?} {rows:?}", sites.total, sites.written)
        }
        SectionView::MonitorTimes(times) => {
            let rows: Vec<_> = times
                .rows
                .iter()
                .map(|it| {
                    (profile.symbols.class_name(it.class), it.kind, row(&(it.trace, 0)), it.waits)
                })
                .collect();
            format!("{} ns {:?} {rows:?}", times.total_ns, times.written)
        }
        SectionView::Other => {
            let rows = section.of_metrics([section.head.columns[0].metric.clone()]);
            let rows: Vec<_> = rows.map(|(key, [number])| row(&(key.trace, number))).collect();
            format!("{:?} {rows:?}", section.head.columns)
        }
    };
    let event = |event: &Event| match event {
        Event::ThreadStart(id) => format!("start {:?}", thread(*id)),
        Event::ThreadEnd(serial) => format!("end {serial}"),
        Event::Section(it) => section(it),
        Event::ClassUnload(class) => format!("unload {}", profile.symbols.class_name(*class)),
        Event::HeapSummary(summary) => format!("{summary:?}"),
        Event::Wait(wait) => {
            let class = wait.class.map(|class| profile.symbols.class_name(class));
            format!("{:?} {class:?} {} {:?}", wait.kind, wait.time_ms, wait.thread)
        }
        Event::Timeline(timeline) => {
            let rows: Vec<_> = timeline
                .rows
                .iter()
                .map(|it| (it.tick, it.thread.map(thread), row(&(it.trace, it.count))))
                .collect();
            format!("{:?} {rows:?}", timeline.head)
        }
        Event::Pauses(pauses) => format!("{pauses:?}"),
        Event::TimeSeries(series) => format!("{series:?}"),
        Event::FieldAccesses(accesses) => format!("{accesses:?}"),
        Event::Heap(heap) => {
            let class = |row: &HeapClassRow| {
                let name = profile.symbols.class_name(row.class);
                (name.to_owned(), row.instance_count, row.shallow_bytes)
            };
            let rows: Vec<_> = heap.rows.iter().map(class).collect();
            format!(
                "{rows:?} {:?} {:?} {} {:?}",
                heap.roots, heap.layout, heap.is_cut, heap.written
            )
        }
        Event::MonitorDump(dump) => {
            let threads: Vec<_> = dump
                .threads
                .iter()
                .map(|it| {
                    let flags = [it.is_suspended, it.is_interrupted, it.is_in_native];
                    (it.serial, row(&(it.trace, 0)), it.status, flags)
                })
                .collect();
            let monitors: Vec<_> = dump
                .monitors
                .iter()
                .map(|it| {
                    let class = profile.symbols.class_name(it.class);
                    let owned = (it.owner, it.entry_count);
                    (class, it.identity, it.kind, owned, &it.blocked, &it.waiting)
                })
                .collect();
            format!("{:?} {threads:?} {monitors:?}", dump.written)
        }
    };
    profile.events.iter().map(event).collect()
}

/// Returns the numbers of a text's sections.
pub(crate) fn numbers(profile: &Profile) -> Vec<String> {
    let serial = |id: TraceId| profile.get_trace(id).serial;
    let section = |section: &Section| match section.view(profile) {
        SectionView::CallTimes(times) => {
            let row = |row: &CallRow| (serial(row.trace), row.count, row.self_ns, row.total_ns);
            let rows: Vec<_> = times.rows.iter().map(row).collect();
            Some(format!("{} ns {rows:?}", times.total_ns))
        }
        SectionView::Sites(sites) => {
            let rows: Vec<_> =
                sites.rows.iter().map(|row| (serial(row.trace), row.objects)).collect();
            Some(format!("{:?} {rows:?}", sites.sample_interval_bytes))
        }
        _ => None,
    };
    profile.sections().filter_map(section).collect()
}
