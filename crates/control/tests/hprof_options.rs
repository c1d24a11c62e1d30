//! A test of the parser with every recorded command line of the original agent.

use std::collections::BTreeSet;
use std::path::Path;

use perk_control::{
    AgentAction, Clock, FatalError, OptionError, Options, Output, OutputFormat, TimesForm,
    TimingMethod, options_markdown, resolve_file_name, usage,
};
use perk_profile::NamePattern;
use perk_testkit::golden::Golden;
use proptest::prelude::*;

/// The cases that parse.
const PARSED: &[&str] = &[
    "file-binary-default",
    "file-nosuffix-ascii",
    "force-n-absent",
    "force-n-binary",
    "force-n-default",
    "force-n-dump-tmp-exists",
    "force-n-txt",
    "force-y-overwrite",
    "opt-cpu-y",
    "opt-cutoff-2",
    "opt-dump-unwritable",
    "opt-env",
    "opt-env-only",
    "opt-file-unwritable",
    "opt-gcokay-ok",
    "opt-net-badhost",
    "opt-net-port0",
    "opt-net-refused",
    "opt-none-default",
    "opt-none-xrun",
    "opt-trailing-comma",
    "opt-twice",
    "opt-verbose-n",
];

const LIVE: &str = "live=n is only supported with heap=sites and format=p";

fn golden() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/hprof-options");
    Golden::load_all(&folder).unwrap()
}

fn parse(case: &Golden, agent_options: &str) -> Result<AgentAction, OptionError> {
    Options::parse(agent_options, case.env("_JAVA_HPROF_OPTIONS"))
}

fn run_options(text: &str) -> Options {
    match Options::parse(text, None) {
        Ok(AgentAction::Run(options)) => options,
        other => panic!("{text}: {other:?}"),
    }
}

fn error(text: &str) -> String {
    match Options::parse(text, None) {
        Err(error) => error.message,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn every_recorded_case_ends_as_recorded() {
    let mut parsed: BTreeSet<&str> = PARSED.iter().copied().collect();
    let cases = golden();
    assert!(cases.len() > 60, "only {} cases", cases.len());
    for case in &cases {
        let agent_options = case.agent_options();
        assert!(!agent_options.is_empty(), "{}: {:?}", case.name, case.command);
        for text in agent_options {
            match parse(case, text) {
                Ok(AgentAction::Help) => {
                    assert_eq!(case.exit_code, 0, "{}", case.name);
                    assert!(case.stdout.contains("hprof usage:"), "{}", case.name);
                }
                Ok(AgentAction::Run(_)) => {
                    assert!(!case.stderr.contains("option error"), "{}", case.name);
                    assert!(parsed.contains(case.name.as_str()), "{}", case.name);
                }
                Err(error) => {
                    assert_eq!(format!("{error}\n"), case.stderr, "{}", case.name);
                    assert_eq!(OptionError::EXIT_CODE, case.exit_code, "{}", case.name);
                }
            }
        }
    }
    for case in &cases {
        parsed.remove(case.name.as_str());
    }
    assert!(parsed.is_empty(), "not recorded: {parsed:?}");
}

#[test]
fn later_errors_read_as_recorded() {
    let cases = golden();
    for (name, fatal) in [
        ("opt-twice", FatalError::loaded_twice()),
        ("opt-file-unwritable", FatalError::cannot_create_file("/no/such/dir/x.txt")),
        ("opt-dump-unwritable", FatalError::cannot_create_temporary_file("/no/such/dir/x.txt.TMP")),
        ("opt-net-port0", FatalError::cannot_create_file("(null)")),
        ("opt-net-refused", FatalError::cannot_connect("127.0.0.1", 1)),
        ("opt-net-badhost", FatalError::cannot_connect("no.such.host.invalid", 4000)),
    ] {
        let case = cases.iter().find(|case| case.name == name).unwrap();
        assert_eq!(format!("{fatal}\n"), case.stderr, "{name}");
        assert_eq!(fatal.exit_code, case.exit_code, "{name}");
    }
}

#[test]
fn help_keeps_the_lines_of_the_original() {
    let usage = usage();
    let cases = golden();
    let help = cases.iter().find(|case| case.name == "opt-help").unwrap();
    let (_, kept) = help.stdout.split_once("hprof usage:").unwrap();
    let (kept, _) = kept.split_once("\nWarnings\n").unwrap();
    assert!(usage.contains(&format!("hprof usage:{kept}")), "{usage}");
    assert!(usage.starts_with("\n     perk"), "{usage}");
    assert!(!usage.to_lowercase().contains("demonstration"));
    assert!(usage.contains("classes=all|used       LOAD CLASS records (format=b)  all\n"));
    let (_, additions) = usage.split_once("\nperk's additions\n").unwrap();
    for row in additions.lines().skip(1).take_while(|row| !row.is_empty()) {
        let columns = row.get(21..23).zip(row.get(52..54).or(Some("  ")));
        let (option, default) = columns.unwrap_or_else(|| panic!("{row}"));
        assert!(option.ends_with(' ') && default.starts_with(' '), "out of its column: {row}");
    }
}

#[test]
fn documentation_matches_the_table() {
    for (name, written) in [
        ("../../docs/options.md", options_markdown()),
        ("src/options/help.txt", perk_control::options::written_usage()),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &written).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == written, "{name}: run UPDATE_EXPECT=1 cargo test -p perk-control");
    }
}

#[test]
fn analyses_add_up() {
    let options = run_options("heap=dump,heap=sites,cpu=samples,cpu=times,cpu=old,depth=7");
    assert!(options.heap_dump && options.heap_sites && options.cpu.samples);
    assert_eq!(options.cpu.times, Some(TimesForm::Old));
    assert_eq!((options.depth, options.timing_depth), (7, 2));
    let options = run_options("cpu=old,cpu=times,depth=7");
    assert_eq!(options.cpu.times, Some(TimesForm::Times));
    assert_eq!(options.timing_depth, 7);
    assert!(!options.heap_dump && !options.cpu.samples);
}

#[test]
fn the_last_value_wins() {
    let options = run_options("cpu=y,depth=2,depth=3,lineno=n,lineno=y,format=b,format=a");
    assert_eq!((options.depth, options.lineno), (3, true));
    assert_eq!(options.format, OutputFormat::Ascii);
}

#[test]
fn the_environment_comes_last() {
    let Ok(AgentAction::Run(options)) = Options::parse("cpu=y,depth=1", Some("depth=2")) else {
        panic!("does not parse");
    };
    assert_eq!((options.depth, options.raw.as_str()), (2, "cpu=y,depth=1,depth=2"));
    assert_eq!(Options::parse("help", Some("depth=x")), Ok(AgentAction::Help));
    assert_eq!(Options::parse("cpu=y", Some("")), Options::parse("cpu=y", None));
}

#[test]
fn intervals_take_units() {
    for (text, interval_ns) in [
        ("1", 1_000_000),
        ("20", 20_000_000),
        ("500us", 500_000),
        ("2ms", 2_000_000),
        ("1s", 1_000_000_000),
        ("1.5s", 1_500_000_000),
        ("2m", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("2147483647s", 2_147_483_647_000_000_000),
    ] {
        let options = run_options(&format!("interval={text}"));
        assert_eq!(options.sample_interval_ns(), interval_ns, "{text}");
    }
    for (text, interval_ns) in [
        ("cpu=samples", 10_000_000),
        ("budget=cpu:waits,format=p", 20_000_000),
        ("interval=10,budget=cpu:waits,format=p", 10_000_000),
    ] {
        assert_eq!(run_options(text).sample_interval_ns(), interval_ns, "{text}");
    }
    for text in ["0", "0us", "-1", "-1ms", "us", "1d", "1 s", "1.5", "2147483648", "1msus"] {
        let error = error(&format!("interval={text}"));
        assert_eq!(error, "interval option value must be decimal and > 0", "{text}");
    }
}

#[test]
fn net_takes_names_and_addresses() {
    for (text, host, port) in [
        ("localhost:4000", "localhost", 4000),
        ("127.0.0.1:80,cpu=y", "127.0.0.1", 80),
        ("[::1]:4000,cpu=y", "::1", 4000),
        ("[fe80::1%eth0]:70000", "fe80::1%eth0", 70_000),
        ("h:x", "h", 0),
    ] {
        let net = Output::Net { host: host.to_owned(), port };
        assert_eq!(run_options(&format!("net={text}")).output, net, "{text}");
    }
    let fatal = FatalError::cannot_connect("::1", 4000);
    assert_eq!(fatal.to_string(), "HPROF ERROR: can't connect to [::1]:4000 [hprof_init.c:827]");
}

/// The values follow C's `strtod` and `strtol`, and the agent of JDK 8.
#[test]
fn numbers_are_those_of_c() {
    for (text, cutoff) in [
        ("0x1p-4", 0.0625),
        ("inf", f64::INFINITY),
        ("1e400", f64::INFINITY),
        ("-0", 0.0),
        // No share is below NaN.
        ("nan", 0.0),
        ("-nan(1)", 0.0),
    ] {
        assert_eq!(run_options(&format!("cutoff={text}")).cutoff, cutoff, "{text}");
    }
    for name in ["logflags", "debugflags", "X"] {
        for value in ["4", "0x1f", "abc", "1x", "-3", "99999999999"] {
            let options = run_options(&format!("cpu=y,{name}={value}"));
            let without = run_options("cpu=y");
            assert_eq!(Options { raw: without.raw.clone(), ..options }, without, "{name}={value}");
        }
    }
}

#[test]
fn errors_without_a_recorded_case() {
    for (text, message) in [
        ("net=", "net option missing ':'"),
        ("net=:80", "net option missing ':'"),
        ("net=[]:80", "net option missing ':'"),
        ("net=[::1]:", "net option missing port"),
        ("net=localhost,depth=1", "net option missing port"),
        ("net=h:1,file=a", "file or net options should only appear once"),
        ("interval=", "syntax error parsing interval=DECIMAL"),
        ("cutoff=", "syntax error parsing cutoff=DOUBLE"),
        ("cutoff=-0.1", "cutoff option value must be floating point and >= 0"),
        ("cutoff=-0x1p-4", "cutoff option value must be floating point and >= 0"),
        ("cutoff=0x", "cutoff option value must be floating point and >= 0"),
        ("doe=", "doe option value must be y|n"),
        ("lineno", "lineno option value must be y|n"),
        ("monitor=Y", "monitor option value must be y|n"),
        ("logflags=", "logflags option value must be numeric"),
        ("X=", "X option value must be numeric"),
        ("cpu=n", "cpu option value must be y|samples|times|old"),
        ("classes=", "syntax error parsing classes=all|used"),
        ("classes=none", "classes option value must be all|used"),
        ("depth=1,,", "Unknown option: ,"),
        ("precrash=", "The precrash option was removed, use -XX:OnError='precrash -p %%p'"),
        ("foo=1,format=c", "Unknown option: foo"),
        ("format=b,monitor=y,cpu=old", "cpu=times|old is not supported with format=b"),
        ("format=P", "format option value must be a|b"),
        ("timing=", "syntax error parsing timing=tick|exact|none"),
        ("timing=y", "timing option value must be tick|exact|none"),
        ("clock=", "syntax error parsing clock=cpu|wall"),
        ("clock=real", "clock option value must be cpu|wall"),
        ("include=", "syntax error parsing include=<name>:<name>"),
        ("include=a.*:", "include option value must be class or method names with : between them"),
        ("exclude=a::b", "exclude option value must be class or method names with : between them"),
        ("max-nodes=", "syntax error parsing max-nodes=DECIMAL"),
        ("max-nodes=0", "max-nodes option value must be decimal and > 0"),
        ("heap=sites,sample=2g", "sample option value must be decimal, > 0 and below 2048m"),
        ("heap=sites,sample=2048m", "sample option value must be decimal, > 0 and below 2048m"),
        ("gc=1", "gc option value must be y|n"),
        ("aprof=", "aprof option value must be y|n|between"),
        ("aprof=dump", "aprof option value must be y|n|between"),
        ("cpu=y,sample=512k", "sample is only supported with heap=sites"),
        ("sample=512k", "sample is only supported with heap=sites"),
        ("heap=sites,live=n", LIVE),
        ("heap=all,live=n,format=p", LIVE),
        ("cpu=times,live=n,format=p", LIVE),
    ] {
        assert_eq!(error(text), message, "{text}");
    }
    let long = format!("file={}", "x".repeat(4097));
    assert_eq!(error(&long), "syntax error parsing file=filename");
    assert_eq!(error("sixteen_letters_=1"), "general syntax error parsing options");
    assert_eq!(error("fifteen_letters=1"), "Unknown option: fifteen_letters");
}

#[test]
fn calls_have_a_clock() {
    for (text, timing, clock) in [
        ("cpu=times", TimingMethod::Tick, Clock::Cpu),
        ("cpu=times,clock=wall", TimingMethod::Tick, Clock::Wall),
        ("cpu=times,timing=exact", TimingMethod::Exact, Clock::Wall),
        ("cpu=times,clock=wall,timing=exact", TimingMethod::Exact, Clock::Wall),
        ("cpu=old,timing=exact,timing=none,clock=cpu", TimingMethod::None, Clock::Cpu),
    ] {
        let options = run_options(text);
        assert_eq!((options.timing, options.clock()), (timing, clock), "{text}");
    }
    for text in ["timing=exact,clock=cpu", "cpu=times,clock=cpu,timing=exact"] {
        assert_eq!(
            error(text),
            "clock=cpu is not supported with timing=exact, which reads nanoTime, a wall clock: \
             use clock=wall or timing=tick"
        );
    }
}

#[test]
fn globs_add_up() {
    let options = run_options("cpu=times,include=a.*,exclude=a.b.*:*Test,include=c.D:*$E");
    let names = |patterns: &[NamePattern]| -> Vec<String> {
        patterns.iter().map(|it| it.as_str().to_owned()).collect()
    };
    assert_eq!(names(&options.include), ["a.*", "c.D", "*$E"]);
    assert_eq!(names(&options.exclude), ["a.b.*", "*Test"]);
    assert!(run_options("cpu=times").include.is_empty());
}

#[test]
fn the_exact_engine_has_limits() {
    let options = run_options("heap=sites,sample=512k,gc=y,max-nodes=16m");
    assert_eq!(options.heap_sample_bytes, Some(512 << 10));
    assert_eq!((options.gc, options.max_nodes), (true, 16 << 20));
    let options = run_options("heap=sites");
    assert_eq!(options.heap_sample_bytes, None);
    assert_eq!((options.gc, options.max_nodes), (false, 8_388_608));
    assert!(options.live && !run_options("heap=sites,live=n,format=p").live);
    assert!(!run_options("heap=sites,sample=1m,live=n,format=p").live);
}

#[test]
fn aprof_is_an_analysis() {
    let options = run_options("aprof=y");
    assert!(options.aprof && !options.aprof_between && !options.heap_dump);
    assert!(!options.heap_dump && !options.heap_sites);
    let options = run_options("aprof=between");
    assert!(options.aprof && options.aprof_between && !options.heap_dump);
    let options = run_options("aprof=between,aprof=y");
    assert!(options.aprof && !options.aprof_between);
    assert!(run_options("aprof=n").heap_dump);
}

#[test]
fn the_extended_format_holds_call_times() {
    for text in ["cpu=times,format=p", "cpu=old,format=b,format=p"] {
        let options = run_options(text);
        assert_eq!(options.format, OutputFormat::Extended, "{text}");
        let name = resolve_file_name(&options, 1, 1, |_| false);
        assert_eq!(name, Path::new("java.hprof"), "{text}");
    }
}

proptest! {
    #[test]
    fn any_string_parses_or_is_refused(text in any::<String>(), env in any::<Option<String>>()) {
        let _ = Options::parse(&text, env.as_deref());
    }

    #[test]
    fn anything_like_options_parses_or_is_refused(
        text in "((heap|cpu|net|file|depth|interval|cutoff|doe|X)=?[-+ :0-9a-zµ.]{0,6},?){0,6}",
    ) {
        if let Ok(AgentAction::Run(options)) = Options::parse(&text, None) {
            prop_assert!(options.sample_interval_ns() > 0 && options.cutoff >= 0.0);
            resolve_file_name(&options, 1, 1, |_| false);
        }
    }
}

#[test]
fn locks_go_with_monitors() {
    let options = run_options("monitor=y,locks=y,format=p");
    assert!(options.monitor && options.locks && !options.heap_dump);
    assert!(!run_options("monitor=y").locks);
    for text in ["locks=y", "cpu=samples,locks=y", "monitor=n,locks=y"] {
        assert_eq!(error(text), "locks=y is only supported with monitor=y");
    }
    assert_eq!(error("locks=x"), "locks option value must be y|n");
}

#[test]
fn what_is_counted_from_the_start_cannot_begin_later() {
    for (options, name) in [
        ("cpu=times,start=n", "cpu=times|old"),
        ("cpu=samples,aprof=y,start=n", "aprof"),
        ("monitor=y,xprof=y,start=n", "xprof"),
        ("start=n,fields=shared", "fields=shared"),
        ("start=n,jamaica=y", "jamaica"),
        ("heap=all,start=n", "heap=sites"),
        // The default is heap=all.
        ("start=n", "heap=sites"),
    ] {
        let message =
            format!("start=n does not work with measurements that begin with the program: {name}");
        assert_eq!(error(options), message, "{options}");
    }
    for options in ["cpu=samples", "heap=sites,sample=1m", "heap=dump", "monitor=y", "net=h:1"] {
        assert!(!run_options(&format!("{options},start=n,cpu=samples")).start, "{options}");
    }
}

/// Each measurement that measures alone is refused with each other, and names all of them.
#[test]
fn some_measure_alone() {
    const OTHERS: [&str; 9] = [
        "cpu=samples",
        "cpu=old",
        "heap=dump",
        "heap=sites",
        "monitor=y",
        "aprof=y",
        "xprof=y",
        "wall=y",
        "heap=sites,sample=1m",
    ];
    for other in OTHERS {
        assert_eq!(
            error(&format!("{other},fields=shared")),
            "fields=shared cannot be used with cpu, heap, monitor, aprof, xprof, wall or jamaica: run \
             the program once for each",
            "{other}"
        );
        for format in ["a", "b", "p"] {
            assert_eq!(
                error(&format!("jamaica=bytecodes,{other},format={format}")),
                "jamaica cannot be used with cpu, heap, monitor, aprof, xprof, wall or fields: run the \
                 program once for each",
                "{other}"
            );
        }
    }
    assert!(error("jamaica=y,fields=shared").starts_with("jamaica cannot be used with"));
}

#[test]
fn each_measurement_has_its_places() {
    const FILE: &str = "writes text to a file; it is not supported with format and net";
    for (options, message) in [
        ("cpu=old,format=b", "cpu=times|old is not supported with format=b"),
        ("monitor=y,format=b", "monitor=y is not supported with format=b"),
        ("wall=y", "wall is only supported with format=p: HPROF has no record for it"),
        ("wall=y,format=b", "wall is only supported with format=p: HPROF has no record for it"),
        ("fields=shared,format=p", &format!("fields=shared {FILE}")),
        ("jamaica=y,net=h:1", &format!("jamaica {FILE}")),
        ("xprof=y,format=p", "xprof prints text; format is only supported with another analysis"),
        (
            "xprof=y,net=h:1",
            "xprof prints text on stdout or to a file; it is not supported with net",
        ),
        (
            "fields=shared,doe=n",
            "fields=shared is not supported with doe=n: most objects are written on exit",
        ),
        ("xprof=y,doe=n", "xprof is not supported with doe=n: most tables are printed on exit"),
        (
            "xprof=y,delay=1s",
            "delay and duration are not supported with xprof, jamaica and fields, which measure the \
             whole run",
        ),
        ("accesses=extended", "accesses=extended is only supported with fields=shared"),
        ("site-index=bci", "site-index is only supported with fields=shared"),
        ("idsize=4", "idsize=4 is only supported with format=b"),
        ("thread-kinds=platform", "thread-kinds=platform is only supported with thread=y"),
        ("flush=1s", "flush is only supported with format=p and a file"),
        ("cpu=samples,native=y", "native=y is only supported with cpu=samples and format=p"),
        ("wall-threads=a", "wall-threads is only supported with wall"),
        ("engine=polling", "engine is only supported with cpu=samples"),
    ] {
        assert_eq!(error(options), message, "{options}");
    }
    for options in ["aprof=y,format=b", "xprof=y,heap=dump,format=b", "heap=all,format=b"] {
        run_options(options);
    }
}

#[test]
fn some_measurements_need_the_start_of_the_program() {
    for (options, what) in [
        ("cpu=times", Some("calls of all methods (cpu=times and cpu=old without include=)")),
        ("cpu=old,include=a.*", None),
        ("heap=sites", Some("heap=sites without sample=")),
        ("heap=sites,sample=1m", None),
        ("heap=dump", None),
        ("aprof=y", Some("aprof")),
        ("xprof=all", Some("xprof")),
        ("jamaica=y", Some("jamaica")),
        ("fields=shared", Some("fields=shared")),
        ("cpu=samples,net=h:1", Some("net")),
        ("cpu=samples,wall=y,monitor=y,locks=y,format=p", None),
    ] {
        let options = run_options(options);
        let refusal = options.refusal_to_attach().map(|it| it.for_agent(&options));
        let expected = what.map(|what| {
            format!(
                "{what} can only be measured from the program's start: start the program with it, by \
                 perk run or -agentpath"
            )
        });
        assert_eq!(refusal, expected);
    }
    let exact = run_options("cpu=times,monitor=y");
    let refusal = exact.refusal_to_pause().unwrap().for_agent(&exact);
    assert_eq!(refusal, "perk cannot pause exact counts: cpu=times|old");
    assert!(run_options("cpu=samples,monitor=y").refusal_to_pause().is_none());
}
