//! The conversion of options into the text that the agent takes.

use std::fmt;

use super::table::interval_ns;
use super::{
    Classes, Clock, Format, Jamaica, Options, Output, SampleEngine, SiteIndex, TimesForm,
    TimingMethod, WALL_INTERVAL_NS, Xprof,
};

impl fmt::Display for Options {
    /// Writes every option that differs from its default, in the form that [`Options::parse`]
    /// takes. A file's name must not contain a comma: the grammar cannot express one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(","))
    }
}

impl Options {
    fn words(&self) -> Vec<String> {
        let default = Options::default();
        let mut words = Vec::new();
        let mut word = |is_said: bool, text: String| words.extend(is_said.then_some(text));
        let switch = |name: &str, value: bool| format!("{name}={}", if value { 'y' } else { 'n' });
        word(self.cpu.samples, "cpu=samples".to_owned());
        word(self.cpu.times == Some(TimesForm::Times), "cpu=times".to_owned());
        word(self.cpu.times == Some(TimesForm::Old), "cpu=old".to_owned());
        let heap = match (self.heap_dump, self.heap_sites) {
            (true, true) => "all",
            (true, false) => "dump",
            _ => "sites",
        };
        word(self.heap_dump || self.heap_sites, format!("heap={heap}"));
        let aprof = if self.aprof_between { "between" } else { "y" };
        word(self.aprof, format!("aprof={aprof}"));
        let Xprof { tiers, inlined, all } = self.xprof.unwrap_or_default();
        let kinds = [(tiers, "tiers"), (inlined, "inlined"), (all, "all")];
        let kinds: Vec<_> = kinds.iter().filter(|kind| kind.0).map(|kind| kind.1).collect();
        let kinds = if kinds.is_empty() { "y".to_owned() } else { kinds.join(":") };
        word(self.xprof.is_some(), format!("xprof={kinds}"));
        for (name, value, default) in [
            ("monitor", self.monitor, default.monitor),
            ("locks", self.locks, default.locks),
            ("gc", self.gc, default.gc),
            ("live", self.live, default.live),
            ("lineno", self.lineno, default.lineno),
            ("thread", self.thread, default.thread),
            ("doe", self.doe, default.doe),
            ("force", self.force, default.force && !self.replace),
            ("verbose", self.verbose, default.verbose),
            ("primfields", self.prim_fields, default.prim_fields),
            ("primarrays", self.prim_arrays, default.prim_arrays),
            ("pause", self.pause, default.pause),
            ("cache", self.cache, default.cache),
            ("start", self.start, default.start),
            ("secrets", self.secrets, default.secrets),
        ] {
            word(value != default, switch(name, value));
        }
        word(self.platform_threads, "thread-kinds=platform".to_owned());
        let engine = match self.engine {
            SampleEngine::Auto => "auto",
            SampleEngine::Signal => "signal",
            SampleEngine::Polling => "polling",
        };
        word(self.engine != default.engine, format!("engine={engine}"));
        word(self.native, "native=y".to_owned());
        let timing = match self.timing {
            TimingMethod::Tick => "tick",
            TimingMethod::Exact => "exact",
            TimingMethod::None => "none",
        };
        word(self.timing != default.timing, format!("timing={timing}"));
        let clock = |clock| if clock == Clock::Cpu { "cpu" } else { "wall" };
        word(self.clock.is_some(), format!("clock={}", self.clock.map_or("", clock)));
        word(
            self.interval_ns != default.interval_ns,
            format!("interval={}", interval(self.interval_ns)),
        );
        let wall = match self.wall_ns {
            Some(ns) if ns != WALL_INTERVAL_NS => interval(ns),
            _ => "y".to_owned(),
        };
        word(self.wall_ns.is_some(), format!("wall={wall}"));
        self.wall_threads.iter().for_each(|it| word(true, format!("wall-threads={}", it.as_str())));
        for (name, ns) in
            [("delay", self.delay_ns), ("duration", self.duration_ns), ("flush", self.flush_ns)]
        {
            word(ns.is_some(), format!("{name}={}", ns.map_or_else(String::new, interval)));
        }
        let jamaica = if self.jamaica == Some(Jamaica::All) { "y" } else { "bytecodes" };
        word(self.jamaica.is_some(), format!("jamaica={jamaica}"));
        word(self.fields, "fields=shared".to_owned());
        word(self.aggregate, "aggregate=site".to_owned());
        let index = match self.site_index {
            SiteIndex::Instruction => "instruction",
            SiteIndex::Bci => "bci",
            SiteIndex::Disl2012 => "disl2012",
        };
        word(self.site_index != default.site_index, format!("site-index={index}"));
        word(self.extended_accesses, "accesses=extended".to_owned());
        let limit = self.memory_limit_bytes;
        word(limit.is_some(), format!("memlimit={}", scaled(limit.unwrap_or_default())));
        word(self.max_nodes != default.max_nodes, format!("max-nodes={}", scaled(self.max_nodes)));
        let sample = self.heap_sample_bytes;
        word(sample.is_some(), format!("sample={}", scaled(sample.unwrap_or_default())));
        // One pattern per option, because the agent limits the length of a value.
        self.include.iter().for_each(|it| word(true, format!("include={}", it.as_str())));
        self.exclude.iter().for_each(|it| word(true, format!("exclude={}", it.as_str())));
        self.app.iter().for_each(|it| word(true, format!("app={}", it.as_str())));
        word(self.depth != default.depth, format!("depth={}", self.depth));
        word(self.cutoff != default.cutoff, format!("cutoff={}", self.cutoff));
        word(self.short_ids, "idsize=4".to_owned());
        word(self.version_1_0_1, "version=1.0.1".to_owned());
        word(self.classes == Classes::Used, "classes=used".to_owned());
        let format = match self.format {
            Format::Ascii => 'a',
            Format::Binary => 'b',
            Format::Extended => 'p',
        };
        word(self.format != default.format, format!("format={format}"));
        match &self.output {
            Output::Default => {}
            Output::File(name) => word(true, format!("file={name}")),
            Output::Net { host, port } if host.contains(':') => {
                word(true, format!("net=[{host}]:{port}"));
            }
            Output::Net { host, port } => word(true, format!("net={host}:{port}")),
        }
        words
    }
}

/// Returns a time in the largest unit of which it is a whole number.
fn interval(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let (unit, unit_ns) =
        units.into_iter().find(|unit| ns.is_multiple_of(unit.1)).unwrap_or(units[2]);
    let text = format!("{}{unit}", ns / unit_ns);
    debug_assert_eq!(interval_ns(&text), Some(ns));
    text
}

/// Returns a number in the largest unit of which it is a whole number.
fn scaled(number: u64) -> String {
    let units = [("m", 1 << 20), ("k", 1 << 10), ("", 1)];
    let (unit, of) =
        units.into_iter().find(|unit| number.is_multiple_of(unit.1)).unwrap_or(units[2]);
    format!("{}{unit}", number / of)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Parsed, pattern};
    use super::*;

    fn parse(text: &str) -> Options {
        match Options::parse(text, None) {
            Ok(Parsed::Run(options)) => Options { raw: String::new(), ..options },
            other => panic!("{text}: {other:?}"),
        }
    }

    /// Generates a text of options that the table accepts, each at most once.
    fn text() -> impl Strategy<Value = String> {
        const WORDS: [&[&str]; 29] = [
            &["cpu=samples", "cpu=times", "cpu=old", "cpu=y"],
            &["heap=sites", "heap=dump", "heap=all"],
            &["monitor=y", "monitor=y,locks=y", "monitor=n"],
            &["aprof=y", "aprof=between"],
            &["format=a", "format=p"],
            &["depth=1", "depth=0", "depth=2147483647"],
            &["interval=7", "interval=500us", "interval=3s", "interval=1500ms"],
            &["cutoff=0", "cutoff=0.25", "cutoff=1e-9", "cutoff=inf", "cutoff=0x1p-4"],
            &["lineno=n", "lineno=y"],
            &["thread=y"],
            &["doe=n"],
            &["force=n"],
            &["verbose=n"],
            &["primfields=n"],
            &["primarrays=n"],
            &["gc=y"],
            &["cache=n", "cache=y"],
            &["start=n", "start=y", "delay=10s", "duration=30s", "delay=1500ms,duration=250us"],
            &["classes=used", "classes=all"],
            &["cpu=samples,engine=polling"],
            &["timing=none", "timing=exact", "timing=tick,clock=cpu"],
            &["clock=wall"],
            &["include=com.acme.*:Foo.bar", "include=a,include=$D"],
            &["app=com.acme.*:net.foo.*"],
            &["exclude=*Test", "exclude=HashMap.put:b.C"],
            &["memlimit=1", "memlimit=4096m"],
            &["max-nodes=1", "max-nodes=1025", "max-nodes=16m", "max-nodes=3k"],
            &["heap=sites,sample=512k", "heap=all,sample=1"],
            &["file=a b%p.txt", "net=host:7", "net=[::1]:65535"],
        ];
        let words = WORDS.map(|words| prop::option::of(prop::sample::select(words)));
        Vec::from(words).prop_map(|words| words.into_iter().flatten().collect::<Vec<_>>().join(","))
    }

    proptest! {
        #[test]
        fn what_is_printed_means_the_same(text in text()) {
            let options = parse(&text);
            let printed = options.to_string();
            prop_assert_eq!(parse(&printed), options, "{} became {}", text, printed);
        }
    }

    #[test]
    fn binary_output_has_options_of_its_own() {
        for text in [
            "heap=dump,format=b",
            "heap=all,format=b,idsize=4,version=1.0.1",
            "heap=sites,live=n,format=p",
            "wall=y,format=p",
            "cpu=samples,flush=5s,delay=2s,format=p",
            "xprof=y",
            "xprof=inlined:tiers,cpu=samples,format=b,file=a.hprof",
            "xprof=all,interval=1ms,file=a.xprof",
            "cpu=samples,wall=1500us,wall-threads=http-*:main,wall-threads=*,format=p",
        ] {
            let options = parse(text);
            assert_eq!(parse(&options.to_string()), options, "{text}");
        }
        assert_eq!(pattern("a..b"), None);
    }
}
