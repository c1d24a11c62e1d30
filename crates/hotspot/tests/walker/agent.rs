//! An agent that walks the stacks of all Java threads in a signal handler, every millisecond or
//! two, and prints totals at the end. Options: the file to write, then `,compare` to compare the
//! walks of threads that allocate with those of JVMTI.
//!
//! rustc compiles it without cargo, so it includes the module that it tests.
#![allow(missing_docs, dead_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::fmt::Write as _;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::SeqCst};

#[path = "../../src"]
mod src {
    #[allow(unused_imports)]
    pub mod vm;
}
#[path = "../support/process.rs"]
mod process;
use process::{Exports, dlopen, getpid};
use src::vm::{
    WalkError, Code, End, InterpreterRegisters, Memory, Registers, ThreadState,
    VirtualThreadFields, Vm, VmFrame,
};

const MAX_FRAMES: usize = 2048;
const SIGNAL: c_int = 40;
const SYS_GETTID: c_long = 186;
const SYS_TGKILL: c_long = 234;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn sigaction(signal: c_int, new: *const c_void, old: *mut c_void) -> c_int;
    fn __errno_location() -> *mut c_int;
}

/// Reads pages with a system call that cannot fault, and keeps the last ones.
struct Pages {
    numbers: [usize; 64],
    bytes: [[u8; 4096]; 64],
}

struct PageReader(*mut Pages);

impl PageReader {
    fn clear(&self) {
        unsafe { (*self.0).numbers = [0; 64] };
    }

    fn byte(&self, address: usize) -> Option<u8> {
        let number = address >> 12;
        let slot = number & 63;
        unsafe {
            let pages = self.0;
            if (*pages).numbers[slot] != number || number == 0 {
                (*pages).numbers[slot] = 0;
                if !process::copy(number << 12, &mut (*pages).bytes[slot]) {
                    return None;
                }
                (*pages).numbers[slot] = number;
            }
            Some((*pages).bytes[slot][address & 4095])
        }
    }
}

impl Memory for PageReader {
    fn word(&self, address: usize) -> Option<usize> {
        let mut bytes = [0; 8];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = self.byte(address.wrapping_add(index))?;
        }
        Some(usize::from_le_bytes(bytes))
    }
    fn u8(&self, address: usize) -> Option<u8> {
        self.byte(address)
    }
    fn word_now(&self, address: usize) -> Option<usize> {
        process::word(address)
    }
}

// What the handler uses, under BUSY.
static BUSY: AtomicBool = AtomicBool::new(false);
static mut PAGES: Pages = Pages { numbers: [0; 64], bytes: [[0; 4096]; 64] };
static mut FRAMES: [VmFrame; MAX_FRAMES] = [VmFrame::EMPTY; MAX_FRAMES];
static mut VM: Option<Vm> = None;
static mut JVMTI: usize = 0;
static READY: AtomicBool = AtomicBool::new(false);
static COMPARE: AtomicBool = AtomicBool::new(false);
static mut OUTPUT: String = String::new();

// Java threads by kernel id.
const SLOTS: usize = 8192;
static TIDS: [AtomicI32; SLOTS] = [const { AtomicI32::new(0) }; SLOTS];
static THREADS: [AtomicUsize; SLOTS] = [const { AtomicUsize::new(0) }; SLOTS];

// The counts, by state of the thread and end of the walk.
const STATES: [&str; 6] = ["java", "native", "vm", "blocked", "other", "none"];
const ENDS: [&str; 10] = [
    "complete", "truncated", "nojava", "unknownblob", "badframe", "badmethod", "unreadable",
    "leftcode", "noanchor", "toolong",
];
static COUNTS: [[AtomicU64; 10]; 6] = [const { [const { AtomicU64::new(0) }; 10] }; 6];
static SKIPPED: AtomicU64 = AtomicU64::new(0);
static BORDERS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
static FRAMES_TOTAL: AtomicU64 = AtomicU64::new(0);
static UNKNOWN_BCI: AtomicU64 = AtomicU64::new(0);
static UNKNOWN_TOP: AtomicU64 = AtomicU64::new(0);

// What is on top: (method or name or 0, kind).
const TOPS: usize = 16384;
static TOP_KEYS: [AtomicUsize; TOPS] = [const { AtomicUsize::new(0) }; TOPS];
static TOP_KINDS: [AtomicUsize; TOPS] = [const { AtomicUsize::new(0) }; TOPS];
static TOP_COUNTS: [AtomicU64; TOPS] = [const { AtomicU64::new(0) }; TOPS];
// The first Java method, under whatever is on top.
static JAVA_KEYS: [AtomicUsize; TOPS] = [const { AtomicUsize::new(0) }; TOPS];
static JAVA_COUNTS: [AtomicU64; TOPS] = [const { AtomicU64::new(0) }; TOPS];

/// A walk that failed.
#[derive(Clone, Copy)]
struct Failure {
    state: usize,
    end: End,
    registers: Registers,
    bytes: [u8; 24],
    stack: [usize; 64],
    count: usize,
    frames: [VmFrame; 6],
}
const NO_FAILURE: Failure = Failure {
    state: 0,
    end: End::NoJava,
    registers: Registers { pc: 0, sp: 0, fp: 0 },
    bytes: [0; 24],
    stack: [0; 64],
    count: 0,
    frames: [VmFrame::EMPTY; 6],
};
static mut FAILURES: [Failure; 60] = [NO_FAILURE; 60];
static FAILED: AtomicUsize = AtomicUsize::new(0);

fn end_index(end: End) -> usize {
    match end {
        End::Complete => 0,
        End::Truncated => 1,
        End::NoJava => 2,
        End::Broken(WalkError::UnknownBlob) => 3,
        End::Broken(WalkError::BadFrame) => 4,
        End::Broken(WalkError::BadMethod) => 5,
        End::Broken(WalkError::Unreadable) => 6,
        End::Broken(WalkError::LeftCode) => 7,
        End::Broken(WalkError::NoAnchor) => 8,
        End::Broken(WalkError::TooLong) => 9,
    }
}

fn tid() -> c_int {
    unsafe { syscall(SYS_GETTID) as c_int }
}

fn register(thread: usize) {
    let tid = tid();
    for probe in 0..SLOTS {
        let slot = (tid as usize + probe) % SLOTS;
        let free = TIDS[slot].compare_exchange(0, tid, SeqCst, SeqCst);
        if free.is_ok() || free == Err(tid) {
            THREADS[slot].store(thread, SeqCst);
            return;
        }
    }
}

fn thread_of(tid: c_int) -> usize {
    for probe in 0..64 {
        let slot = (tid as usize + probe) % SLOTS;
        match TIDS[slot].load(SeqCst) {
            0 => return 0,
            it if it == tid => return THREADS[slot].load(SeqCst),
            _ => {}
        }
    }
    0
}

fn count_top(keys: &[AtomicUsize], counts: &[AtomicU64], key: usize, kind: usize) {
    for probe in 0..TOPS {
        let slot = (key / 8 + kind * 7 + probe) % TOPS;
        let key = key * 16 + kind + 1;
        let free = keys[slot].compare_exchange(0, key, SeqCst, SeqCst);
        if free.is_ok() || free == Err(key) {
            counts[slot].fetch_add(1, SeqCst);
            return;
        }
    }
}

extern "C" fn on_signal(_: c_int, _: *mut c_void, context: *mut c_void) {
    unsafe {
        let errno = *__errno_location();
        if BUSY.swap(true, SeqCst) {
            SKIPPED.fetch_add(1, SeqCst);
        } else {
            sample(context as usize);
            BUSY.store(false, SeqCst);
        }
        *__errno_location() = errno;
    }
}

unsafe fn sample(context: usize) {
    // ucontext_t: the registers r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip from byte 40.
    let register = |index: usize| *((context + 40 + index * 8) as *const usize);
    let registers = Registers { pc: register(16), sp: register(15), fp: register(10) };
    let interpreter = InterpreterRegisters { bytecode: register(5), method: register(11) };
    let thread = thread_of(tid());
    let reader = PageReader(&raw mut PAGES);
    reader.clear();
    let Some(vm) = &*(&raw const VM) else { return };
    let frames = &mut *(&raw mut FRAMES);
    let state = match thread {
        0 => 5,
        _ => match vm.in_java(&reader, thread) {
            Some(ThreadState::InJava) => 0,
            Some(ThreadState::InNative) => 1,
            Some(ThreadState::InVm) => 2,
            Some(ThreadState::Blocked) => 3,
            _ => 4,
        },
    };
    let walk = vm.walk(&reader, thread, registers, interpreter, 0..0, frames);
    COUNTS[state][end_index(walk.end)].fetch_add(1, SeqCst);
    FRAMES_TOTAL.fetch_add(walk.count as u64, SeqCst);
    let walked = &frames[..walk.count];
    for frame in walked {
        match frame.kind {
            Code::Continuation if frame.method == 0 => _ = BORDERS[2].fetch_add(1, SeqCst),
            Code::Continuation => _ = BORDERS[0].fetch_add(1, SeqCst),
            Code::FrozenContinuation if state == 0 => {
                BORDERS[3].fetch_add(1, SeqCst);
                fail(&reader, state, walk.end, registers, walked);
            }
            Code::FrozenContinuation => _ = BORDERS[1].fetch_add(1, SeqCst),
            Code::C1 | Code::C2 | Code::Inlined | Code::Interpreted if frame.bci < 0 => {
                UNKNOWN_BCI.fetch_add(1, SeqCst);
                if std::ptr::eq(frame, &walked[0]) {
                    UNKNOWN_TOP.fetch_add(1, SeqCst);
                }
            }
            _ => {}
        }
    }
    if state == 0 {
        if let Some(top) = walked.first() {
            count_top(&TOP_KEYS, &TOP_COUNTS, top.method | top.name, top.kind as usize);
        }
        if let Some(java) = walked.iter().find(|frame| frame.method != 0) {
            count_top(&JAVA_KEYS, &JAVA_COUNTS, java.method, java.kind as usize);
        }
        if matches!(walk.end, End::Broken(_) | End::NoJava) {
            fail(&reader, state, walk.end, registers, walked);
        }
    } else if matches!(walk.end, End::Broken(_)) {
        fail(&reader, state, walk.end, registers, walked);
    }
}

unsafe fn fail(
    reader: &PageReader,
    state: usize,
    end: End,
    registers: Registers,
    walked: &[VmFrame],
) {
    let index = FAILED.fetch_add(1, SeqCst);
    let Some(failure) = (*(&raw mut FAILURES)).get_mut(index) else { return };
    *failure = Failure { state, end, registers, count: walked.len(), ..NO_FAILURE };
    for (at, byte) in failure.bytes.iter_mut().enumerate() {
        *byte = reader.u8((registers.pc - 12).wrapping_add(at)).unwrap_or(0);
    }
    for (at, word) in failure.stack.iter_mut().enumerate() {
        *word = reader.word(registers.sp.wrapping_add(at * 8)).unwrap_or(0);
    }
    let from = walked.len().saturating_sub(6);
    for (frame, walked) in failure.frames.iter_mut().zip(&walked[from..]) {
        *frame = *walked;
    }
}

fn name_of(vm: &Vm, reader: &PageReader, frame: &VmFrame) -> String {
    if frame.name != 0 {
        return vm.text(reader, frame.name);
    }
    if frame.method == 0 {
        return format!("{:#x}", frame.pc);
    }
    match vm.names(reader, frame.method) {
        Some(names) => format!(
            "{}.{}",
            String::from_utf8_lossy(&names.class),
            String::from_utf8_lossy(&names.name)
        ),
        None => "?".to_owned(),
    }
}

// JVMTI and JNI, by the numbers of their functions.
unsafe fn function<F: Copy>(table: usize, index: usize) -> F {
    let entry = *(table as *const *const usize);
    std::mem::transmute_copy::<usize, F>(&*entry.add(index))
}

unsafe fn java_thread(env: usize, thread: usize) -> usize {
    let find: unsafe extern "C" fn(usize, *const c_char) -> usize = function(env, 6);
    let field: unsafe extern "C" fn(usize, usize, *const c_char, *const c_char) -> usize =
        function(env, 94);
    let long: unsafe extern "C" fn(usize, usize, usize) -> i64 = function(env, 101);
    let class = find(env, c"java/lang/Thread".as_ptr());
    long(env, thread, field(env, class, c"eetop".as_ptr(), c"J".as_ptr())) as usize
}

/// Looks up the fields of virtual threads, when the first thread starts.
unsafe fn describe_virtual_threads(env: usize) {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    let Some(vm) = &*(&raw const VM) else { return };
    if !READY.load(SeqCst) || IS_DONE.swap(true, SeqCst) {
        return;
    }
    let find: unsafe extern "C" fn(usize, *const c_char) -> usize = function(env, 6);
    let clear: unsafe extern "C" fn(usize) = function(env, 17);
    let id: unsafe extern "C" fn(usize, usize, *const c_char, *const c_char) -> usize =
        function(env, 94);
    let fields = VirtualThreadFields::new(|class, name, kind| {
        let class = find(env, class.as_ptr());
        let id = match class {
            0 => 0,
            class => id(env, class, name.as_ptr(), kind.as_ptr()),
        };
        clear(env);
        (id != 0).then_some(id >> 2)
    });
    if let Some(fields) = fields {
        vm.describe_virtual_threads(fields);
    }
}

unsafe extern "C" fn vm_init(_: usize, env: usize, thread: usize) {
    let reader = PageReader(Box::leak(Box::new(Pages { numbers: [0; 64], bytes: [[0; 4096]; 64] })));
    let library = dlopen(c"libjvm.so".as_ptr(), 1 | 4);
    let begin = std::time::Instant::now();
    match Vm::new(&reader, &Exports(library)) {
        Ok(vm) => VM = Some(vm),
        Err(missing) => {
            eprintln!("walker: {missing}");
            std::process::exit(3);
        }
    }
    eprintln!("walker: tables read in {:?}", begin.elapsed());
    register(java_thread(env, thread));
    let mut action = [0usize; 19];
    action[0] = on_signal as *const () as usize;
    // SA_SIGINFO | SA_RESTART | SA_ONSTACK, after the mask of 128 bytes.
    action[17] = 0x4 | 0x1000_0000 | 0x0800_0000;
    sigaction(SIGNAL, action.as_ptr().cast(), null_mut());
    READY.store(true, SeqCst);
    std::thread::spawn(|| {
        while READY.load(SeqCst) {
            std::thread::sleep(std::time::Duration::from_micros(1500));
            for slot in 0..SLOTS {
                let tid = TIDS[slot].load(SeqCst);
                if tid > 0 && THREADS[slot].load(SeqCst) != 0 {
                    syscall(SYS_TGKILL, getpid(), tid, SIGNAL);
                    if BUSY.load(SeqCst) {
                        std::thread::sleep(std::time::Duration::from_micros(200));
                    }
                }
            }
        }
    });
}

unsafe extern "C" fn thread_start(_: usize, env: usize, thread: usize) {
    register(java_thread(env, thread));
    describe_virtual_threads(env);
}

unsafe extern "C" fn thread_end(_: usize, _: usize, _: usize) {
    register(0);
}

// The comparison with JVMTI.
static COMPARED: AtomicU64 = AtomicU64::new(0);
static COMPARED_THAWED: AtomicU64 = AtomicU64::new(0);
static EQUAL: AtomicU64 = AtomicU64::new(0);
static mut DIFFERENCES: Vec<String> = Vec::new();

#[inline(never)]
unsafe extern "C" fn allocated(jvmti: usize, env: usize, thread: usize, _: usize, _: usize, _: i64) {
    let java = thread_of(tid());
    if java == 0 || BUSY.swap(true, SeqCst) {
        return;
    }
    let reader = PageReader(&raw mut PAGES);
    reader.clear();
    let vm = (&raw const VM).as_ref().unwrap().as_ref().unwrap();
    let (sp, fp): (usize, usize);
    std::arch::asm!("mov {}, rsp", "mov {}, rbp", out(reg) sp, out(reg) fp);
    let registers = Registers { pc: allocated as *const () as usize, sp, fp };
    let frames = &mut *(&raw mut FRAMES);
    let walk = vm.walk(&reader, java, registers, InterpreterRegisters::default(), 0..0, frames);
    let get: unsafe extern "C" fn(usize, usize, c_int, c_int, *mut [usize; 2], *mut c_int) -> c_int =
        function(jvmti, 103);
    let mut theirs = vec![[0usize; 2]; MAX_FRAMES];
    let mut count = 0;
    let error = get(jvmti, 0, 0, MAX_FRAMES as c_int, theirs.as_mut_ptr(), &mut count);
    let _ = (env, thread);
    if error == 0 && walk.end != End::Truncated {
        reader.clear();
        COMPARED.fetch_add(1, SeqCst);
        let border = frames[..walk.count]
            .iter()
            .position(|it| matches!(it.kind, Code::Continuation | Code::FrozenContinuation));
        let ours: Vec<&VmFrame> =
            frames[..border.unwrap_or(walk.count)].iter().filter(|it| it.method != 0).collect();
        let theirs = &theirs[..count as usize];
        let is_frozen = border.is_some_and(|at| frames[at].kind == Code::FrozenContinuation);
        let is_thawed = border.is_some_and(|at| !is_frozen && frames[at].method == 0);
        COMPARED_THAWED.fetch_add(u64::from(is_thawed), SeqCst);
        let same = ours.iter().zip(theirs).all(|(ours, theirs)| {
            let bci = theirs[1] as i64 as i32;
            vm.method_id(&reader, ours.method) == Some(theirs[0])
                && (ours.bci == bci || (ours.kind == Code::NativeMethod && bci == -1))
        });
        if same && (ours.len() == theirs.len() || is_frozen) {
            EQUAL.fetch_add(1, SeqCst);
        } else if (*(&raw const DIFFERENCES)).len() < 12 {
            let mut text = format!("{:?} {} of {}\n", walk.end, ours.len(), theirs.len());
            let at = ours.iter().zip(theirs).position(|(ours, theirs)| {
                vm.method_id(&reader, ours.method) != Some(theirs[0])
                    || ours.bci != theirs[1] as i64 as i32
            });
            let at = at.unwrap_or(ours.len().min(theirs.len()));
            for index in at.saturating_sub(2)..(at + 3) {
                let mine = ours.get(index).map(|it| {
                    format!("{:?} {} {}", it.kind, name_of(vm, &reader, it), it.bci)
                });
                let other = theirs.get(index).map(|it| {
                    let name = name_of(vm, &reader, &VmFrame { method: *(it[0] as *const usize), ..VmFrame::EMPTY });
                    format!("{name} {}", it[1] as i64)
                });
                let _ = writeln!(text, "   {index}: {mine:?} / {other:?}");
            }
            (*(&raw mut DIFFERENCES)).push(text);
        }
    }
    BUSY.store(false, SeqCst);
}

unsafe extern "C" fn vm_death(_: usize, _: usize) {
    READY.store(false, SeqCst);
    while BUSY.swap(true, SeqCst) {
        std::thread::yield_now();
    }
    let reader = PageReader(&raw mut PAGES);
    reader.clear();
    let Some(vm) = &*(&raw const VM) else { return };
    let mut text = String::new();
    for (state, counts) in STATES.iter().zip(&COUNTS) {
        for (end, count) in ENDS.iter().zip(counts) {
            let count = count.load(SeqCst);
            if count > 0 {
                let _ = writeln!(text, "{state}.{end} {count}");
            }
        }
    }
    let numbers = [
        ("skipped", &SKIPPED),
        ("frames", &FRAMES_TOTAL),
        ("unknown_bci", &UNKNOWN_BCI),
        ("unknown_top", &UNKNOWN_TOP),
        ("borders", &BORDERS[0]),
        ("frozen", &BORDERS[1]),
        ("thawed", &BORDERS[2]),
        ("java_frozen", &BORDERS[3]),
        ("compared_thawed", &COMPARED_THAWED),
        ("compared", &COMPARED),
        ("equal", &EQUAL),
    ];
    for (name, number) in numbers {
        let _ = writeln!(text, "{name} {}", number.load(SeqCst));
    }
    let kinds = ["Interpreted", "C1", "C2", "Inlined", "NativeMethod", "Stub", "Native"];
    for (title, keys, counts) in
        [("top", &TOP_KEYS, &TOP_COUNTS), ("method", &JAVA_KEYS, &JAVA_COUNTS)]
    {
        let mut rows: BTreeMap<String, u64> = BTreeMap::new();
        for (key, count) in keys.iter().zip(counts) {
            let key = key.load(SeqCst);
            if key == 0 {
                continue;
            }
            let (address, kind) = ((key - 1) / 16, (key - 1) % 16);
            let is_stub = kind == Code::Stub as usize;
            let frame = VmFrame {
                method: if is_stub { 0 } else { address },
                name: if is_stub { address } else { 0 },
                ..VmFrame::EMPTY
            };
            let kind = kinds.get(kind).unwrap_or(&"Continuation");
            let row = format!("{kind} {}", name_of(vm, &reader, &frame));
            *rows.entry(row).or_default() += count.load(SeqCst);
        }
        let mut rows: Vec<(String, u64)> = rows.into_iter().collect();
        rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (row, count) in rows.iter().take(40) {
            let _ = writeln!(text, "{title} {count} {row}");
        }
    }
    let failures = &*(&raw const FAILURES);
    for failure in failures.iter().take(FAILED.load(SeqCst)) {
        let Failure { state, end, registers, count, bytes, stack, .. } = failure;
        let _ = writeln!(
            text,
            "failure {} {end:?} {registers:x?} after {count}: {}",
            STATES[*state],
            failure.frames.iter().take(*count).map(|it| format!("{:?} {}", it.kind, name_of(vm, &reader, it))).collect::<Vec<_>>().join(", "),
        );
        let _ = writeln!(text, "   bytes {:02x?} | {:02x?}", &bytes[..12], &bytes[12..]);
        let _ = writeln!(text, "   stack {stack:x?}");
        for word in stack {
            if let Some(name) = vm.code_name(&reader, *word) {
                let _ = writeln!(text, "   {word:x}: {}", vm.text(&reader, name));
            }
        }
    }
    for difference in &*(&raw const DIFFERENCES) {
        let _ = writeln!(text, "difference {difference}");
    }
    let _ = std::fs::write(&*(&raw const OUTPUT), text);
    let _ = null::<u8>();
}

/// # Safety
///
/// Called by the JVM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnLoad(java: usize, options: *const c_char, _: *mut c_void) -> c_int {
    let options = CStr::from_ptr(options).to_str().unwrap_or_default();
    let (file, flags) = options.split_once(',').unwrap_or((options, ""));
    OUTPUT = file.to_owned();
    let get: unsafe extern "C" fn(usize, *mut usize, c_int) -> c_int = function(java, 6);
    let mut jvmti = 0usize;
    if get(java, &mut jvmti, 0x3001_0200) != 0 {
        return 1;
    }
    JVMTI = jvmti;
    let compares = flags == "compare";
    COMPARE.store(compares, SeqCst);
    let mut capabilities = [0u8; 16];
    if compares {
        capabilities[43 / 8] |= 1 << (43 % 8);
    }
    let add: unsafe extern "C" fn(usize, *const [u8; 16]) -> c_int = function(jvmti, 141);
    let error = add(jvmti, &capabilities);
    if error != 0 {
        eprintln!("walker: capabilities {error}");
        return 1;
    }
    let mut callbacks = [0usize; 40];
    callbacks[0] = vm_init as *const () as usize;
    callbacks[1] = vm_death as *const () as usize;
    callbacks[2] = thread_start as *const () as usize;
    callbacks[3] = thread_end as *const () as usize;
    callbacks[36] = allocated as *const () as usize;
    let set: unsafe extern "C" fn(usize, *const usize, c_int) -> c_int = function(jvmti, 121);
    set(jvmti, callbacks.as_ptr(), size_of_val(&callbacks) as c_int);
    let mode: unsafe extern "C" fn(usize, c_int, c_int, usize) -> c_int = function(jvmti, 1);
    for event in 50..54 {
        mode(jvmti, 1, event, 0);
    }
    if compares {
        let interval: unsafe extern "C" fn(usize, c_int) -> c_int = function(jvmti, 155);
        interval(jvmti, 64 << 10);
        mode(jvmti, 1, 86, 0);
    }
    0
}
