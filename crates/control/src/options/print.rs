//! The conversion of options into the text that the agent takes.

use std::fmt;

use super::table::{OPTIONS, Options};
use super::types::Output;

impl fmt::Display for Options {
    /// Writes every option that differs from its default, in the syntax that [`Options::parse`]
    /// takes. A file's name must not contain a comma: the grammar cannot express one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        for option in &OPTIONS {
            let texts = option.value.texts(self);
            words.extend(texts.into_iter().map(|text| format!("{}={text}", option.name)));
        }
        match &self.output {
            Output::Default => {}
            Output::File(name) => words.push(format!("file={name}")),
            Output::Net { host, port } if host.contains(':') => {
                words.push(format!("net=[{host}]:{port}"));
            }
            Output::Net { host, port } => words.push(format!("net={host}:{port}")),
        }
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::AgentAction;
    use super::*;

    fn parse(text: &str) -> Options {
        match Options::parse(text, None) {
            Ok(AgentAction::Run(options)) => Options { raw: String::new(), ..options },
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
            &["start=y", "delay=10s", "duration=30s", "delay=1500ms,duration=250us"],
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
            "budget=cpu:waits:locks:alloc,format=p",
            "budget=locks,format=p",
            "wall=5ms,budget=y,format=p",
            "cpu=samples,wall=y,start=n,format=p",
            "heap=dump,start=n",
            "cpu=samples,flush=5s,delay=2s,format=p",
            "xprof=y",
            "xprof=inlined:tiers,cpu=samples,format=b,file=a.hprof",
            "xprof=all,interval=1ms,file=a.xprof",
            "cpu=samples,wall=1500us,wall-threads=http-*:main,wall-threads=*,format=p",
        ] {
            let options = parse(text);
            assert_eq!(parse(&options.to_string()), options, "{text}");
        }
    }
}
