//! Agent_OnLoad: options, output file, environment, capabilities. Whatever is wrong here ends the
//! process before the program starts, with HPROF's text and exit code.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perk_control::messages::{Fatal, pause_line};
use perk_control::options::{
    Format, OPTIONS_VARIABLE, OptionError, Options, Output as OutputOption, Parsed,
};
use perk_control::{resolve_file_name, usage};
use perk_files::Access;
use perk_jvmti_sys::jni_sys::{JNI_OK, JavaVM, jint};
use perk_jvmti_sys::{Capabilities, Capability};
use perk_profile::mutf8;

use crate::engine::{AllocationSampler, Engine, Monitors, PollingEngine};
use crate::exact::ExactEngine;
use crate::guard::{Feature, guard, install_panic_line};
use crate::heap_dump::HeapDumps;
use crate::jvm::Jvmti;
use crate::listener::Listener;
use crate::output::{Connection, Output};
use crate::recorder::Recorder;
use crate::session::{Parts, Session};
use crate::{callbacks, os};

static LOADED: AtomicBool = AtomicBool::new(false);

/// The first JDK whose agents this one can be.
const OLDEST_JDK: u32 = perk_control::jdk::OLDEST_VERSION;

/// The JVM's call when `-agentpath`, `-agentlib` or `-Xrun` names this library.
///
/// # Safety
/// Only the JVM calls this, with the JVM it is and the options as a string that ends in NUL, or
/// null.
#[expect(unreachable_pub, reason = "the JVM finds it by its symbol")]
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    install_panic_line();
    let options = if options.is_null() {
        String::new()
    } else {
        // SAFETY: the JVM passes a string that ends in NUL.
        decode(unsafe { CStr::from_ptr(options) }.to_bytes())
    };
    // SAFETY: `vm` is the JVM that calls.
    let jvmti = || unsafe { Jvmti::new(vm) };
    let mut loaded = Ok(());
    guard(Feature::Starting, || loaded = load(jvmti, &options));
    match loaded {
        // After a fault the program runs without a profile, and the line is on stderr.
        Ok(()) => JNI_OK,
        Err(stop) => stop.exit(),
    }
}

/// Why the process ends now.
enum Stop {
    /// `help`
    Help,
    /// The line for stderr, and the exit code.
    Line(String, i32),
}

impl Stop {
    fn exit(self) -> ! {
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

impl From<Fatal> for Stop {
    fn from(fatal: Fatal) -> Self {
        Stop::Line(fatal.to_string(), fatal.exit_code)
    }
}

impl From<OptionError> for Stop {
    fn from(error: OptionError) -> Self {
        Stop::Line(error.to_string(), OptionError::EXIT_CODE)
    }
}

fn load(new_jvmti: impl Fn() -> Option<Jvmti>, options: &str) -> Result<(), Stop> {
    if LOADED.swap(true, Relaxed) {
        return Err(Fatal::loaded_twice().into());
    }
    let environment = std::env::var_os(OPTIONS_VARIABLE);
    let environment = environment.as_deref().map(|value| decode(value.as_bytes()));
    let options = match Options::parse(options, environment.as_deref())? {
        Parsed::Help => return Err(Stop::Help),
        Parsed::Run(options) => options,
    };
    let refused = |what: String| Stop::Line(format!("HPROF ERROR: {what}"), 1);
    let none = || refused(format!("perk needs a JVM of JDK {OLDEST_JDK} or later, with JVMTI"));
    let jvmti = new_jvmti().ok_or_else(none)?;
    check_jvm(jvmti).map_err(refused)?;
    if options.pause {
        pause();
    }
    let exact = ExactEngine::new(jvmti, &options).map_err(refused)?;
    let exact = exact.map(|engine| &*Box::leak(Box::new(engine)));
    let sampling = options.heap_sample_bytes.is_some();
    let tells_unloads = options.format == Format::Binary;
    let of_monitors = Monitors::capabilities(&options);
    add_capabilities(jvmti, exact, sampling, of_monitors, tells_unloads).map_err(refused)?;
    let sampler = |interval_bytes| AllocationSampler::new(jvmti, interval_bytes, options.depth);
    let allocations = options.heap_sample_bytes.map(sampler).transpose().map_err(refused)?;
    let target = resolve_file_name(&options, std::process::id(), |path| path.exists());
    // Relative names mean the folder of now: the program may go elsewhere.
    let target = std::path::absolute(&target).unwrap_or(target);
    let folder = target.parent().map_or_else(std::env::temp_dir, Path::to_owned);
    let heap_dumps = HeapDumps::new(&options, &folder);
    let (output, connection) = create(&options, &target)?;
    // Where it takes no samples it keeps track of threads.
    let (depth, samples) = (options.depth, options.cpu.samples);
    let engine = PollingEngine::new(jvmti, options.interval_ns, depth, samples);
    let engine: &'static dyn Engine = Box::leak(Box::new(engine));
    let monitors = Monitors::new(jvmti, &options);
    let with_locks = monitors.is_some() && options.locks;
    // Hidden classes get their field where a native method defines them.
    let with_natives = with_locks || exact.is_some_and(ExactEngine::with_records);
    let recorder = Recorder::new(&options, output);
    let listener = connection.map(Listener::new);
    let parts = Parts { engine, exact, allocations, monitors, heap_dumps, listener };
    if Session::install(jvmti, options, parts, recorder).is_none() {
        return Err(Fatal::loaded_twice().into());
    }
    os::at_exit(end_behind_the_jvm);
    let hook = exact.map(|_| new_jvmti().ok_or_else(none)).transpose()?;
    callbacks::register(jvmti, hook, with_natives)
        .map_err(|error| refused(format!("the JVM refused perk's events: {error}")))
}

/// Another JVM's JVMTI may do most of what is needed, but is not what the numbers were checked on.
fn check_jvm(jvmti: Jvmti) -> Result<(), String> {
    let version = jvmti.system_property(c"java.vm.specification.version").unwrap_or_default();
    match version.parse::<u32>() {
        Ok(version) if version < OLDEST_JDK => {
            Err(format!("perk needs JDK {OLDEST_JDK} or later; this is JDK {version}"))
        }
        // JDK 8's answer is 1.8.
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

/// Takes what the analysis needs, and what makes it better where the JVM has it.
fn add_capabilities(
    jvmti: Jvmti,
    exact: Option<&ExactEngine>,
    sampling_allocations: bool,
    of_monitors: Vec<Capability>,
    tells_unloads: bool,
) -> Result<(), String> {
    let mut needed = vec![
        Capability::CanGetSourceFileName,
        Capability::CanGetLineNumbers,
        Capability::CanGetThreadCpuTime,
        Capability::CanTagObjects,
    ];
    if let Some(exact) = exact {
        needed.extend([
            Capability::CanGenerateEarlyVmstart,
            Capability::CanGenerateNativeMethodBindEvents,
        ]);
        if exact.counts_allocations() {
            needed.push(Capability::CanGenerateVmObjectAllocEvents);
            needed.push(Capability::CanGenerateGarbageCollectionEvents);
        }
    }
    if sampling_allocations {
        needed.push(Capability::CanGenerateSampledObjectAllocEvents);
    }
    needed.extend(of_monitors);
    if tells_unloads {
        needed.push(Capability::CanGenerateObjectFreeEvents);
    }
    let wished = [Capability::CanSupportVirtualThreads];
    let refused = |error| format!("the JVM refused perk's capabilities: {error}");
    jvmti.add_capabilities(needed.into_iter().collect()).map_err(refused)?;
    let wished: Capabilities = jvmti.potential(wished.into_iter().collect()).map_err(refused)?;
    jvmti.add_capabilities(wished).map_err(refused)
}

/// Opens the file, or connects to the peer, that the options name.
fn create(options: &Options, target: &Path) -> Result<(Output, Option<Connection>), Stop> {
    let Options { output: OutputOption::Net { host, port }, .. } = options else {
        // Its strings and arrays are nobody else's.
        let access = if options.heap_dump { Access::Owner } else { Access::Usual };
        let created = Output::create(target, access).map_err(|error| {
            // The message names the file as it was given.
            let name = resolve_file_name(options, std::process::id(), |path| path.exists());
            let name = name.display().to_string();
            // What the original wrote to all the same has a reason.
            if let Some(reason) = error.get_ref().filter(|_| !target.is_dir()) {
                return Stop::Line(format!("HPROF ERROR: perk cannot write {name}: {reason}"), 1);
            }
            let temporary = format!("{name}.TMP");
            match options.heap_dump && !can_be_made(Path::new(&temporary)) {
                true => Fatal::cannot_create_temporary_file(&temporary).into(),
                false => Fatal::cannot_create_file(&name).into(),
            }
        });
        return Ok((created?, None));
    };
    if *port == 0 {
        // The original took this for no port at all.
        return Err(Fatal::cannot_create_file("(null)").into());
    }
    let port_number = u16::try_from(*port).map_err(io::Error::other);
    let connected = port_number.and_then(|port| Connection::open(host, port));
    let opened = connected.and_then(|it| Ok((Output::Net(it.outbox()?), Some(it))));
    opened.map_err(|_| Fatal::cannot_connect(host, *port).into())
}

/// Whether a file of that name is there or can be made. The original, with `heap=dump`, begins with
/// such a file, and says so if it cannot.
fn can_be_made(name: &Path) -> bool {
    match std::fs::File::create_new(name) {
        Ok(_) => std::fs::remove_file(name).is_ok(),
        Err(error) => error.kind() == io::ErrorKind::AlreadyExists,
    }
}

/// `pause=y`: gives a debugger ten minutes to attach, as HPROF did.
fn pause() {
    os::say(&format!("{}\n", pause_line(std::process::id())));
    std::thread::sleep(std::time::Duration::from_secs(600));
}

/// Native code that calls `exit` skips the JVM's death: what was recorded is saved all the same.
extern "C" fn end_behind_the_jvm() {
    guard(Feature::Dumping, || {
        if let Some(session) = Session::current() {
            session.end(None);
        }
    });
}

/// Options come in the platform's encoding, UTF-8 on any Linux of today.
fn decode(bytes: &[u8]) -> String {
    match OsStr::from_bytes(bytes).to_str() {
        Some(text) => text.to_owned(),
        None => mutf8::decode(bytes).into_owned(),
    }
}
