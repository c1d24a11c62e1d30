//! The way to a session: options, output file, environment, capabilities. An error before the program
//! starts ends the process, with HPROF's text and exit code.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Once};
use std::time::Duration;

use perk_control::jvmpi::{Jvmpi, JvmpiError};
use perk_control::messages::{FatalError, pause_line};
use perk_control::options::{
    AgentAction, Jamaica, OPTIONS_VARIABLE, OptionError, Options, Output as OutputOption,
    OutputFormat,
};
use perk_control::remote::Answer;
use perk_control::{resolve_file_name, usage};
use perk_files::Access;
use perk_jamaica::Flaw;
use perk_jvm::archive;
use perk_jvm::guard::{Feature, all_have_left, guard};
use perk_jvm::memory;
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Jvmti, Local};
use perk_jvmpi as jvmpi;
use perk_jvmti_sys::jni_sys::JavaVM;
use perk_profile::mutf8;

use crate::analyses::allocations::AllocationSampler;
use crate::analyses::books::sites::SiteBook;
use crate::analyses::bytecodes::Bytecodes;
use crate::analyses::census::Census;
use crate::analyses::counts::CallCounts;
use crate::analyses::exact::{Companion, ExactCalls, ExactEngine, ExactSites};
use crate::analyses::fields::SharedFields;
use crate::analyses::heap_dump::{HeapDumps, ObjectRecords};
use crate::analyses::monitors::Monitors;
use crate::analyses::samples::Samples;
use crate::analyses::wall::WallClock;
use crate::analyses::xprof::Xprof;
use crate::analyses::{Analysis, Event, Needs};
use crate::common::{Common, Life};
use crate::events;
use crate::listener::Listener;
use crate::names;
use crate::output::{Connection, Output, WatchOutput, Watcher};
use crate::recorder::{Book, Recorder};
use crate::session::{self, Session};
use crate::threads::is_own_thread;

static LOADED: AtomicBool = AtomicBool::new(false);

/// The time that the end of a session waits for callbacks of it. One that takes longer, in a debugger,
/// keeps the session's environment.
const CALLBACKS_TIMEOUT: Duration = Duration::from_secs(2);

/// The beginning of HPROF's errors.
const MARK: &str = "HPROF ERROR: ";

/// The oldest JDK that can run this agent.
const OLDEST_JDK: u32 = perk_control::jdk::OLDEST_VERSION;

/// The reason why the process ends now.
pub(crate) enum Stop {
    /// `help`
    Help,
    /// The line for stderr, and the exit code.
    Line(String, i32),
}

impl Stop {
    /// Prints it and ends the process.
    pub(crate) fn exit(self) -> ! {
        match self {
            Stop::Help => {
                use std::io::Write;
                let _ = std::io::stdout().write_all(usage().as_bytes());
                std::process::exit(0)
            }
            Stop::Line(line, code) => {
                os::say(&format!("{line}\n"));
                std::process::exit(code)
            }
        }
    }
}

impl Stop {
    /// Returns the reason, for a person.
    fn line(self) -> String {
        match self {
            Stop::Help => "there is no help here: see perk --help".to_owned(),
            Stop::Line(line, _) => line.trim_start_matches(MARK).to_owned(),
        }
    }
}

impl From<FatalError> for Stop {
    fn from(fatal: FatalError) -> Self {
        Stop::Line(fatal.to_string(), fatal.exit_code)
    }
}

impl From<OptionError> for Stop {
    fn from(error: OptionError) -> Self {
        Stop::Line(error.to_string(), OptionError::EXIT_CODE)
    }
}

/// Starts the bridge to a profiler of JVMPI, which does not analyse anything itself.
pub(crate) fn load_jvmpi(
    vm: *mut JavaVM,
    new_jvmti: impl Fn() -> Option<Jvmti>,
    options: Result<Jvmpi, JvmpiError>,
) -> Result<(), Stop> {
    if LOADED.swap(true, Relaxed) {
        return Err(FatalError::loaded_twice().into());
    }
    let options = options.map_err(|error| Stop::Line(error.to_string(), 1))?;
    let jvmti = running_jvmti(new_jvmti)?;
    // SAFETY: `vm` is the JVM that calls `Agent_OnLoad`.
    unsafe { jvmpi::start(vm, jvmti, options) }.map_err(refused)
}

fn refused(what: String) -> Stop {
    Stop::Line(format!("{MARK}{what}"), 1)
}

/// Returns the environment of a JVM that perk knows.
fn running_jvmti(new_jvmti: impl Fn() -> Option<Jvmti>) -> Result<Jvmti, Stop> {
    let none = || refused(format!("perk needs a JVM of JDK {OLDEST_JDK} or later, with JVMTI"));
    let jvmti = new_jvmti().ok_or_else(none)?;
    check_jvm(jvmti).map_err(refused)?;
    Ok(jvmti)
}

/// Begins the session of a program that the JVM is about to start.
pub(crate) fn load(new_jvmti: impl Fn() -> Option<Jvmti>, options: &str) -> Result<(), Stop> {
    memory::be_sparing();
    if LOADED.swap(true, Relaxed) {
        return Err(FatalError::loaded_twice().into());
    }
    let environment = std::env::var_os(OPTIONS_VARIABLE);
    let environment = environment.as_deref().map(|value| decode(value.as_bytes()));
    let options = match Options::parse(options, environment.as_deref())? {
        AgentAction::Help => return Err(Stop::Help),
        AgentAction::Run(options) => options,
    };
    install(new_jvmti, options, Life::Program, None).map(drop)
}

/// Begins a session in a program that runs, on a thread of perk's own or of the program's. With a watcher it
/// is sent there instead of to a file.
///
/// # Errors
/// The answer with the reason why it cannot begin.
pub(crate) fn start(
    jni: Jni<'_>,
    options: &str,
    watcher: Option<Arc<Watcher>>,
) -> Result<&'static Session, Answer> {
    let options = match Options::parse(options, None) {
        Ok(AgentAction::Run(options)) => options,
        Ok(AgentAction::Help) => return Err(Answer::error(Stop::Help.line())),
        Err(error) => return Err(Answer::error(Stop::from(error).line())),
    };
    if let Some(refusal) = options.refusal_to_attach() {
        return Err(Answer::error(refusal.for_agent(&options)));
    }
    if watcher.is_some() && (options.format != OutputFormat::Extended || options.heap_dump) {
        return Err(Answer::error("watch sends format=p, which it needs, and no heap dump"));
    }
    // The classes that the program itself asks for may come later.
    if is_own_thread()
        && let Some(jvmti) = jni.new_jvmti()
    {
        let checked = names::check(&options, jvmti, jni);
        jvmti.dispose();
        checked?;
    }
    let session = install(|| jni.new_jvmti(), options, Life::Attached, watcher);
    let session = session.map_err(|stop| Answer::error(stop.line()))?;
    // As at VMInit, the events precede the lists of what is there.
    events::enable_live(session).map_err(|error| {
        session.uninstall();
        lock(session.common().recorder).discard_unbegun();
        Answer::error(format!("the JVM refused events: {error}"))
    })?;
    let caller = session.jvmti().current_thread(jni);
    let caller = caller.filter(|caller| !is_own_thread() && !jni.is_virtual(caller));
    let began = session.begin(jni, caller.as_ref().map(Local::borrowed));
    if let Err(reason) = began {
        stop(jni, session);
        // It has nothing of what was asked for.
        if let Ok(file) = session.file() {
            let _ = std::fs::remove_file(file);
        }
        return Err(Answer::error(reason));
    }
    Ok(session)
}

/// Ends a session in a program that runs: the file is written, and the JVM is as it was before, but for
/// the names of methods that it has made.
pub(crate) fn stop(jni: Jni<'_>, session: &Session) {
    session.end_work(jni);
    events::unregister(session);
    session.end(Some(jni));
    session.uninstall();
    if all_have_left(CALLBACKS_TIMEOUT) {
        session.release(jni);
    }
}

/// Makes a session, opens its output and asks the JVM for what it needs.
fn install(
    new_jvmti: impl Fn() -> Option<Jvmti>,
    mut options: Options,
    life: Life,
    watcher: Option<Arc<Watcher>>,
) -> Result<&'static Session, Stop> {
    let jvmti = running_jvmti(&new_jvmti)?;
    if options.pause {
        pause();
    }
    let target = resolve_file_name(&options, std::process::id(), 1, |path| path.exists());
    // Relative names refer to the current folder: the program may change it.
    let target = std::path::absolute(&target).unwrap_or(target);
    if options.every_ns.is_some()
        && let OutputOption::File(name) = &mut options.output
        && let Some(path) =
            std::path::absolute(&*name).ok().and_then(|it| it.into_os_string().into_string().ok())
    {
        *name = path;
    }
    let is_printed = options.has_only_xprof() && options.output == OutputOption::Default;
    let (output, connection) = match &watcher {
        Some(watcher) => (Some(Output::Watch(WatchOutput(Arc::clone(watcher)))), None),
        None if is_printed => (None, None),
        None => create(&options, &target).map(|(output, connection)| (Some(output), connection))?,
    };
    // These analyses write a file of their own.
    let (output, own_output) = match options.fields || options.has_only_xprof() {
        true => (None, output),
        false => (output, None),
    };
    let recorder = Recorder::new(&options, output);
    let common: &'static Common =
        Box::leak(Box::new(Common::new(jvmti, life, options, watcher, recorder)));
    let began = begin(common, &target, own_output, connection, new_jvmti);
    let session = began.map_err(|reason| {
        lock(common.recorder).discard_unbegun();
        refused(reason)
    })?;
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| os::at_exit(end_behind_the_jvm));
    Ok(session)
}

/// Makes the session and asks the JVM for its needs.
fn begin(
    common: &'static Common,
    target: &Path,
    own_output: Option<Output>,
    connection: Option<Connection>,
    new_jvmti: impl Fn() -> Option<Jvmti>,
) -> Result<&'static Session, String> {
    let sites = site_book(&common.options);
    let analyses = analyses(common, target, own_output, sites)?;
    let mut needs = vec![session::needs(&common.options)];
    needs.extend(analyses.iter().map(|analysis| analysis.needs()));
    let changes_classes = |needs: &Needs| needs.events.contains(&Event::ClassFile);
    if common.life == Life::Program && needs.iter().any(changes_classes) {
        archive::leave()?;
    }
    events::add_capabilities(common, &needs)
        .map_err(|error| format!("the JVM refused perk's capabilities: {error}"))?;
    analyses.iter().try_for_each(|analysis| analysis.loaded())?;
    let books = sites.map(|it| it as &dyn Book).into_iter().collect();
    let session = Session::install(common, analyses, books, connection.map(Listener::new));
    let session = session.ok_or("perk measures already")?;
    events::register(session, new_jvmti).map_err(|error| {
        session.uninstall();
        format!("the JVM refused perk's events: {error}")
    })?;
    Ok(session)
}

/// The least average number of bytes between samples of the callers of counted sites.
const CALLERS_INTERVAL_BYTES: u64 = 64 << 10;

/// Returns the book of allocation sites, if an analysis fills it or a peer may ask for it.
fn site_book(options: &Options) -> Option<&'static SiteBook> {
    let is_filled = options.heap_sites
        || options.heap_sample_bytes.is_some()
        || options.aprof
        || options.jamaica == Some(Jamaica::All);
    let book = || &*Box::leak(Box::new(SiteBook::new(options)));
    (is_filled || options.has_peer()).then(book)
}

/// Returns the analyses that the options ask for, in the order in which they are called. Those of objects
/// fill the book of sites.
fn analyses(
    common: &'static Common,
    target: &Path,
    mut own_output: Option<Output>,
    sites: Option<&'static SiteBook>,
) -> Result<Vec<&'static dyn Analysis>, String> {
    fn leak<T: Analysis>(analysis: T) -> &'static T {
        Box::leak(Box::new(analysis))
    }
    let options = &common.options;
    // The peer may ask for samples and dumps later.
    let has_peer = options.has_peer();
    let mut analyses: Vec<&'static dyn Analysis> = Vec::new();
    let xprof = options.xprof.map(|tables| {
        let output = own_output.take_if(|_| options.has_only_xprof());
        leak(Xprof::new(common, tables, output))
    });
    let takes_samples = options.cpu.samples || has_peer;
    if takes_samples || xprof.is_some() {
        analyses.push(leak(Samples::new(common, takes_samples, xprof)));
    }
    // It has the last ticks after the samples are settled.
    analyses.extend(xprof.map(|xprof| xprof as &dyn Analysis));
    if let Some(interval_ns) = options.wall_ns {
        analyses.push(leak(WallClock::new(common, interval_ns)));
    }
    if let Some(output) = own_output {
        analyses.push(leak(SharedFields::new(common, output)?));
    }
    let calls = options.cpu.counts.then(|| CallCounts::new(common)).transpose()?.map(leak);
    analyses.extend(calls.map(|it| it as &dyn Analysis));
    let bytecodes =
        options.jamaica.map(|counts| Bytecodes::new(common, counts, sites)).transpose()?;
    let bytecodes = bytecodes.map(leak);
    analyses.extend(bytecodes.map(|it| it as &dyn Analysis));
    let with_calls = options.jamaica == Some(Jamaica::All);
    let guest = bytecodes.filter(|_| with_calls).map(Companion::Bytecodes);
    let companion = guest.or(calls.map(Companion::Calls));
    let exact = ExactEngine::new(common, companion, sites)?;
    let exact = exact.map(leak);
    if let Some(bytecodes) = bytecodes.filter(|_| with_calls) {
        analyses.push(leak(Census::new(common, bytecodes.book())));
    }
    let mut records: Option<&dyn ObjectRecords> = None;
    if let Some(exact) = exact {
        analyses.push(exact);
        if options.cpu.times.is_some() || with_calls {
            analyses.push(leak(ExactCalls(exact)));
        }
        if exact.counts_allocations() {
            let has_samples = exact.has_numbered_sites();
            let sampler = || leak(AllocationSampler::new(common, CALLERS_INTERVAL_BYTES, None));
            let samples = has_samples.then(sampler);
            analyses.extend(samples.map(|it| it as &dyn Analysis));
            let sites = leak(ExactSites::new(exact, samples));
            records = (options.heap_sites && options.live).then_some(sites);
            analyses.push(sites);
        }
    }
    if let (Some(interval_bytes), Some(book)) = (options.heap_sample_bytes, sites) {
        analyses.push(leak(AllocationSampler::new(common, interval_bytes, Some(book))));
    }
    if options.monitor {
        analyses.push(leak(Monitors::new(common, exact.is_none())));
    }
    if options.heap_dump || has_peer {
        let folder = target.parent().map_or_else(std::env::temp_dir, Path::to_owned);
        analyses.push(leak(HeapDumps::new(common, records, &folder)));
    }
    Ok(analyses)
}

/// Checks the JVM. Another JVM's JVMTI may support most of what is needed, but the numbers were not
/// checked on it.
fn check_jvm(jvmti: Jvmti) -> Result<(), String> {
    let version = jvmti.system_property(c"java.vm.specification.version").unwrap_or_default();
    match version.parse::<u32>() {
        Ok(version) if version < OLDEST_JDK => {
            Err(format!("perk needs JDK {OLDEST_JDK} or later; this is JDK {version}"))
        }
        // JDK 8 reports 1.8.
        Err(_) if version.starts_with("1.") => {
            Err(format!("perk needs JDK {OLDEST_JDK} or later; this is JDK {version}"))
        }
        _ => {
            let name = jvmti.system_property(c"java.vm.name").unwrap_or_default();
            let is_other = name.contains("OpenJ9");
            if is_other { Err(format!("perk needs HotSpot; this is {name}")) } else { Ok(()) }
        }
    }
}

/// Opens the file, or connects to the peer, that the options name.
fn create(options: &Options, target: &Path) -> Result<(Output, Option<Connection>), Stop> {
    let Options { output: OutputOption::Net { host, port }, .. } = options else {
        // The strings and arrays of a heap are private to the owner.
        let access = if options.heap_dump { Access::Owner } else { Access::Usual };
        let appends = options.jamaica.is_some() && !options.replace;
        if appends && let Err(reason) = check_profile(target) {
            let name = target.display();
            return Err(Stop::Line(
                format!(
                    "HPROF ERROR: perk cannot append to {name}: {reason}; choose another file, or \
                     replace it by force=y"
                ),
                1,
            ));
        }
        let created = Output::create(target, access).map_err(|error| {
            // The message gives the file's name as it was in the options.
            let name = resolve_file_name(options, std::process::id(), 1, |path| path.exists());
            let name = name.display().to_string();
            // The original could write to this file, so the message gives the reason.
            if let Some(reason) = error.get_ref().filter(|_| !target.is_dir()) {
                return Stop::Line(format!("HPROF ERROR: perk cannot write {name}: {reason}"), 1);
            }
            let temporary = format!("{name}.TMP");
            match options.heap_dump && !can_be_made(Path::new(&temporary)) {
                true => FatalError::cannot_create_temporary_file(&temporary).into(),
                false => FatalError::cannot_create_file(&name).into(),
            }
        });
        let mut output = created?;
        if appends {
            output.append();
        }
        return Ok((output, None));
    };
    if *port == 0 {
        // The original took this for a missing port.
        return Err(FatalError::cannot_create_file("(null)").into());
    }
    let port_number = u16::try_from(*port).map_err(io::Error::other);
    let connected = port_number.and_then(|port| Connection::open(host, port));
    let opened = connected.and_then(|it| Ok((Output::Net(it.outbox(output_lost)?), Some(it))));
    opened.map_err(|_| FatalError::cannot_connect(host, *port).into())
}

/// Checks that JamaicaVM's profile can be appended to a file, if it is there.
///
/// # Errors
/// The reason why it cannot.
fn check_profile(name: &Path) -> Result<(), &'static str> {
    let read = || {
        let file = File::open(name)?;
        if file.metadata()?.is_file() { perk_jamaica::flaw(&file) } else { Ok(None) }
    };
    match read() {
        Ok(Some(Flaw::Foreign)) => Err("it is not a profile of JamaicaVM"),
        Ok(Some(Flaw::Cut)) => Err("its last line is cut off"),
        // What else is wrong is reported when the file is opened.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Whether a file of that name exists or can be made. The original begins with such a file for
/// `heap=dump`, and reports it if it cannot.
fn can_be_made(name: &Path) -> bool {
    match File::create_new(name) {
        Ok(_) => std::fs::remove_file(name).is_ok(),
        Err(error) => error.kind() == io::ErrorKind::AlreadyExists,
    }
}

/// `pause=y`: gives a debugger ten minutes to attach, as HPROF did.
fn pause() {
    os::say(&format!("{}\n", pause_line(std::process::id())));
    std::thread::sleep(Duration::from_secs(600));
}

/// Stops the measurement, as nobody reads the output any more.
fn output_lost() {
    if let Some(session) = Session::current() {
        session.stop();
    }
}

/// Saves the record if native code calls `exit`, which skips the JVM's death.
extern "C" fn end_behind_the_jvm() {
    guard(Feature::Dumping, || {
        if let Some(session) = Session::current() {
            session.end(None);
        }
    });
}

/// Decodes options, which are in the platform's encoding: UTF-8 on any current Linux.
pub(crate) fn decode(bytes: &[u8]) -> String {
    match OsStr::from_bytes(bytes).to_str() {
        Some(text) => text.to_owned(),
        None => mutf8::decode(bytes).into_owned(),
    }
}
