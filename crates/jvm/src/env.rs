//! JVMTI, as far as the agent needs it. The types of the arguments ensure that references are
//! valid, so the calls are sound. Failed calls return the JVM's error.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use perk_jvmti_sys::jni_sys::{JavaVM, jclass, jint, jmethodID, jobject};
use perk_jvmti_sys::{
    Capabilities, Capability, JVMTI_DISABLE, JVMTI_ENABLE, JVMTI_ERROR_NOT_AVAILABLE,
    JVMTI_PHASE_LIVE, JVMTI_PHASE_START, JVMTI_THREAD_MAX_PRIORITY, JVMTI_THREAD_STATE_ALIVE,
    JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, JVMTI_THREAD_STATE_WAITING, JVMTI_VERSION_11,
    JVMTI_VERSION_21, JvmtiEnv, call, jvmtiError, jvmtiEvent, jvmtiEventCallbacks,
    jvmtiExtensionFunction, jvmtiExtensionFunctionInfo, jvmtiFrameInfo, jvmtiLineNumberEntry,
    jvmtiStartFunction, jvmtiThreadGroupInfo, jvmtiThreadInfo,
};
use perk_profile::mutf8;

use crate::{Jni, Local, LongField, Reference};

/// The agent's JVMTI environment.
#[derive(Clone, Copy, Debug)]
pub struct Jvmti(JvmtiEnv);

// SAFETY: a JVMTI environment may be used from any thread attached to the JVM.
unsafe impl Send for Jvmti {}
// SAFETY: a JVMTI environment may be used from any thread attached to the JVM.
unsafe impl Sync for Jvmti {}

/// The JVM's id of a method. It stays a valid argument even after its class is unloaded; the JVM
/// then returns an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodRef(pub(super) jmethodID);

impl MethodRef {
    /// Returns the JVM's id.
    pub fn raw(self) -> jmethodID {
        self.0
    }

    /// Wraps a callback's argument.
    ///
    /// # Safety
    /// It must be a method of this JVM.
    pub unsafe fn from_raw(method: jmethodID) -> Self {
        Self(method)
    }
}

// SAFETY: only the JVM looks into a method id.
unsafe impl Send for MethodRef {}
// SAFETY: only the JVM looks into a method id.
unsafe impl Sync for MethodRef {}

/// One frame of a walked stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackFrame {
    /// The method that runs.
    pub method: MethodRef,
    /// The bytecode index; -1 in a native method.
    pub bci: i64,
}

/// The start of each line of a method, by bytecode index, ascending.
pub type LineTable = Vec<(i64, u32)>;

/// A thread's names.
#[derive(Clone, Debug, Default)]
pub struct ThreadInfo {
    /// Its name.
    pub name: String,
    /// The value of `Thread.threadId`; 0 if it is not known.
    pub java_id: u64,
    /// Its priority.
    pub priority: u32,
    /// The name of its group.
    pub group: Option<String>,
    /// The name of that group's parent.
    pub parent_group: Option<String>,
}

/// The group of virtual threads.
pub const VIRTUAL_THREAD_GROUP: &str = "VirtualThreads";

impl ThreadInfo {
    /// Whether the thread is virtual.
    pub fn is_of_virtual(&self) -> bool {
        self.group.as_deref() == Some(VIRTUAL_THREAD_GROUP)
    }
}

/// The bits of a thread's state that mean waiting; a thread in a native method has none of them.
const WAITING_STATES: jint =
    JVMTI_THREAD_STATE_WAITING | JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER;

type Result<T> = std::result::Result<T, jvmtiError>;

impl Jvmti {
    /// Asks the JVM for an environment, of JDK 21's version if the JVM has it.
    ///
    /// # Safety
    /// `vm` must be the running JVM.
    pub unsafe fn new(vm: *mut JavaVM) -> Option<Self> {
        [JVMTI_VERSION_21, JVMTI_VERSION_11].into_iter().find_map(|version| {
            let mut env: *mut c_void = null_mut();
            // SAFETY: the caller's promise; `env` lives until the call returns.
            let result = unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, version) };
            (result == 0 && !env.is_null()).then_some(Self(env.cast()))
        })
    }

    /// Wraps a callback's environment.
    ///
    /// # Safety
    /// `env` must be the agent's environment.
    pub unsafe fn from_raw(env: JvmtiEnv) -> Self {
        Self(env)
    }

    /// Returns the environment as the JVM has it.
    pub fn raw(self) -> JvmtiEnv {
        self.0
    }

    /// Whether the agent was given the events of virtual threads.
    pub fn has_virtual_threads(self) -> bool {
        let mut given = Capabilities::default();
        // SAFETY: the environment is valid, `given` lives until the call returns.
        let result = unsafe { call!(self.0, GetCapabilities, &mut given) };
        result.ok().is_ok() && given.has(Capability::CanSupportVirtualThreads)
    }

    /// Returns the capabilities of `wanted` that the JVM can grant now.
    pub fn potential(self, wanted: Capabilities) -> Result<Capabilities> {
        let mut all = Capabilities::default();
        // SAFETY: the environment is valid, `all` lives until the call returns.
        unsafe { call!(self.0, GetPotentialCapabilities, &mut all).ok()? };
        Ok(wanted.iter().filter(|&it| all.has(it)).collect())
    }

    /// Adds capabilities to those of the environment.
    pub fn add_capabilities(self, wanted: Capabilities) -> Result<()> {
        // SAFETY: the environment is valid, `wanted` lives until the call returns.
        unsafe { call!(self.0, AddCapabilities, &wanted).ok() }
    }

    /// Sets the callbacks of all events.
    pub fn set_callbacks(self, callbacks: &jvmtiEventCallbacks) -> Result<()> {
        let size = size_of::<jvmtiEventCallbacks>() as jint;
        // SAFETY: the environment is valid; the JVM copies the table.
        unsafe { call!(self.0, SetEventCallbacks, callbacks, size).ok() }
    }

    /// Makes the JVM send an event on all threads.
    pub fn enable(self, event: jvmtiEvent) -> Result<()> {
        let all_threads: jobject = null_mut();
        // SAFETY: the environment is valid; null means all threads.
        unsafe { call!(self.0, SetEventNotificationMode, JVMTI_ENABLE, event, all_threads).ok() }
    }

    /// Ends an event on all threads.
    pub fn disable(self, event: jvmtiEvent) -> Result<()> {
        let all_threads: jobject = null_mut();
        // SAFETY: the environment is valid; null means all threads.
        unsafe { call!(self.0, SetEventNotificationMode, JVMTI_DISABLE, event, all_threads).ok() }
    }

    /// Gives the environment back, with its capabilities, tags and events. Nobody may use it any more.
    pub fn dispose(self) {
        // SAFETY: the environment is valid until now.
        unsafe { call!(self.0, DisposeEnvironment) };
    }

    /// Whether the JVM runs the program, or is about to.
    pub fn is_live(self) -> bool {
        let mut phase = JVMTI_PHASE_START;
        // SAFETY: the environment is valid, `phase` lives until the call returns.
        let result = unsafe { call!(self.0, GetPhase, &mut phase) };
        result.ok().is_ok() && phase == JVMTI_PHASE_LIVE
    }

    /// Sends the events of what the JVM has generated before.
    pub fn generate_events(self, event: jvmtiEvent) -> Result<()> {
        // SAFETY: the environment is valid.
        unsafe { call!(self.0, GenerateEvents, event).ok() }
    }

    /// Sets the average number of bytes between sampled allocations.
    pub fn set_heap_sampling_interval(self, bytes: u64) -> Result<()> {
        let bytes = jint::try_from(bytes).unwrap_or(jint::MAX);
        // SAFETY: the environment is valid.
        unsafe { call!(self.0, SetHeapSamplingInterval, bytes).ok() }
    }

    /// Collects garbage, and returns when that is done.
    pub fn force_garbage_collection(self) {
        // SAFETY: the environment is valid.
        unsafe { call!(self.0, ForceGarbageCollection) };
    }

    /// Copies `bytes` into memory of the JVM, which frees it.
    pub fn copy(self, bytes: &[u8]) -> Option<*mut u8> {
        let mut memory = null_mut();
        // SAFETY: the environment is valid; the memory has room for as many bytes as asked for.
        unsafe {
            call!(self.0, Allocate, bytes.len() as i64, &mut memory).ok().ok()?;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
        }
        Some(memory)
    }

    /// Returns a system property, as the JVM was given it.
    pub fn system_property(self, name: &CStr) -> Option<String> {
        let mut value = null_mut();
        // SAFETY: the environment is valid, the arguments live until the call returns; the value
        // is ours to free.
        unsafe {
            call!(self.0, GetSystemProperty, name.as_ptr(), &mut value).ok().ok()?;
            self.take_string(value)
        }
    }

    /// Returns the feature version of the JVM, as 17; 0 if that is not known.
    pub fn feature_version(self) -> u32 {
        let version = self.system_property(c"java.vm.specification.version");
        version.and_then(|version| version.parse().ok()).unwrap_or(0)
    }

    /// Returns a thread's name and groups.
    pub fn thread_info(
        self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Result<ThreadInfo> {
        // SAFETY: all fields are numbers and pointers; zeroes are valid.
        let mut info: jvmtiThreadInfo = unsafe { std::mem::zeroed() };
        // SAFETY: the environment and reference are valid; what is handed out is ours to free.
        unsafe {
            call!(self.0, GetThreadInfo, thread.raw(), &mut info).ok()?;
            let name = self.take_string(info.name).unwrap_or_default();
            let _loader = Local::from_raw(jni, info.context_class_loader);
            let group = Local::from_raw(jni, info.thread_group);
            let group = group.and_then(|group| self.group(jni, &group));
            let (group, parent) = group.map_or((None, None), |(name, parent)| (Some(name), parent));
            let parent_group = parent.and_then(|parent| self.group(jni, &parent));
            let java_id = self.java_id(jni, thread);
            let parent_group = parent_group.map(|(name, _)| name);
            let priority = info.priority.unsigned_abs();
            Ok(ThreadInfo { name, java_id, priority, group, parent_group })
        }
    }

    /// Returns the value of `Thread.threadId`, from the field that holds it on JDK 17 to 25.
    pub fn java_id(self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> u64 {
        static FIELD: OnceLock<Option<LongField>> = OnceLock::new();
        let field = FIELD.get_or_init(|| {
            let class = jni.find_class(c"java/lang/Thread")?;
            jni.long_field(&class, c"tid")
        });
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        field.map_or(0, |field| unsafe { jni.get_long(thread, field) }.unsigned_abs())
    }

    /// Returns a thread group's name and parent.
    fn group<'a>(
        self,
        jni: Jni<'a>,
        group: &(impl Reference + ?Sized),
    ) -> Option<(String, Option<Local<'a>>)> {
        // SAFETY: all fields are numbers and pointers; zeroes are valid.
        let mut info: jvmtiThreadGroupInfo = unsafe { std::mem::zeroed() };
        // SAFETY: the environment and reference are valid; what is handed out is ours to free.
        unsafe {
            call!(self.0, GetThreadGroupInfo, group.raw(), &mut info).ok().ok()?;
            let name = self.take_string(info.name).unwrap_or_default();
            Some((name, Local::from_raw(jni, info.parent)))
        }
    }

    /// Returns the top thread group, `system`.
    pub fn top_thread_group<'a>(self, jni: Jni<'a>) -> Option<Local<'a>> {
        let (mut count, mut groups) = (0, null_mut());
        // SAFETY: the environment is valid; the array and its references are ours to free.
        unsafe {
            call!(self.0, GetTopThreadGroups, &mut count, &mut groups).ok().ok()?;
            self.take_references(jni, count, groups).into_iter().next()
        }
    }

    /// Returns all live platform threads, except for agents' own.
    pub fn all_threads<'a>(self, jni: Jni<'a>) -> Result<Vec<Local<'a>>> {
        let (mut count, mut threads) = (0, null_mut());
        // SAFETY: the environment is valid; the array and its references are ours to free.
        unsafe {
            call!(self.0, GetAllThreads, &mut count, &mut threads).ok()?;
            Ok(self.take_references(jni, count, threads))
        }
    }

    /// Returns all loaded classes, array classes among them.
    pub fn loaded_classes<'a>(self, jni: Jni<'a>) -> Result<Vec<Local<'a>>> {
        let (mut count, mut classes) = (0, null_mut());
        // SAFETY: the environment is valid; the array and its references are ours to free.
        unsafe {
            call!(self.0, GetLoadedClasses, &mut count, &mut classes).ok()?;
            Ok(self.take_references(jni, count, classes))
        }
    }

    /// Returns the methods that a class declares.
    pub fn class_methods(self, class: &(impl Reference + ?Sized)) -> Result<Vec<MethodRef>> {
        let (mut count, mut methods) = (0, null_mut());
        // SAFETY: the environment and reference are valid; the array is ours to free.
        unsafe {
            call!(self.0, GetClassMethods, class.raw(), &mut count, &mut methods).ok()?;
            let found = self.slice(count, methods).iter().map(|&it| MethodRef(it)).collect();
            self.free(methods);
            Ok(found)
        }
    }

    /// Starts a thread of the agent's own, which the program does not see in its thread groups.
    pub fn run_agent_thread(
        self,
        thread: &(impl Reference + ?Sized),
        body: jvmtiStartFunction,
        argument: &'static impl Sync,
    ) -> Result<()> {
        let argument = std::ptr::from_ref(argument).cast();
        // SAFETY: the environment and reference are valid; the argument lives as long as the
        // process.
        unsafe {
            let thread = thread.raw();
            let priority = JVMTI_THREAD_MAX_PRIORITY;
            call!(self.0, RunAgentThread, thread, Some(body), argument, priority).ok()
        }
    }

    /// Returns the CPU time of a thread, in user and system mode.
    pub fn thread_cpu_ns(self, thread: &(impl Reference + ?Sized)) -> Option<u64> {
        let mut cpu_ns = 0;
        // SAFETY: the environment and reference are valid, `cpu_ns` lives until the call returns.
        let result = unsafe { call!(self.0, GetThreadCpuTime, thread.raw(), &mut cpu_ns) };
        result.ok().ok().and_then(|()| u64::try_from(cpu_ns).ok())
    }

    /// Whether a thread waits, in Java's sense: parked, asleep, in `Object.wait` or at a monitor.
    pub fn is_waiting(self, thread: &(impl Reference + ?Sized)) -> bool {
        self.thread_state(thread).is_some_and(|state| state & WAITING_STATES != 0)
    }

    /// Returns the bits of a thread's state, `JVMTI_THREAD_STATE_…`; `None` once it has ended.
    pub fn thread_state(self, thread: &(impl Reference + ?Sized)) -> Option<jint> {
        let mut state = 0;
        // SAFETY: the environment and reference are valid, `state` lives until the call returns.
        let result = unsafe { call!(self.0, GetThreadState, thread.raw(), &mut state) };
        result.ok().ok().map(|()| state).filter(|state| state & JVMTI_THREAD_STATE_ALIVE != 0)
    }

    /// Walks a thread's stack into `frames`, the innermost frame first, at most as many as
    /// `frames` has room for without growing.
    pub fn stack(
        self,
        thread: &(impl Reference + ?Sized),
        buffer: &mut [jvmtiFrameInfo],
        frames: &mut Vec<StackFrame>,
    ) -> Result<()> {
        frames.clear();
        let mut count = 0;
        let room = jint::try_from(buffer.len()).unwrap_or(jint::MAX);
        // SAFETY: the environment and reference are valid; the JVM writes at most `room` frames.
        unsafe {
            let buffer = buffer.as_mut_ptr();
            call!(self.0, GetStackTrace, thread.raw(), 0, room, buffer, &mut count).ok()?;
        }
        let walked = &buffer[..usize::try_from(count).unwrap_or(0)];
        frames.extend(
            walked
                .iter()
                .map(|frame| StackFrame { method: MethodRef(frame.method), bci: frame.location }),
        );
        Ok(())
    }

    /// Returns the method of a frame of the calling thread, the innermost being 0.
    pub fn frame_method(self, depth: jint) -> Option<jmethodID> {
        let (mut method, mut location) = (null_mut(), 0);
        // SAFETY: the environment is valid, null means the calling thread, and the arguments live until
        // the call returns.
        let result = unsafe {
            call!(self.0, GetFrameLocation, null_mut(), depth, &mut method, &mut location)
        };
        result.ok().ok().map(|()| method)
    }

    /// Returns the object of the method of a frame of the calling thread; `None` for a static method.
    pub fn receiver<'a>(self, jni: Jni<'a>, depth: jint) -> Option<Local<'a>> {
        let mut object: jobject = null_mut();
        // SAFETY: the environment is valid, null means the calling thread, and the new reference is
        // ours.
        unsafe {
            call!(self.0, GetLocalInstance, null_mut(), depth, &mut object).ok().ok()?;
            Local::from_raw(jni, object)
        }
    }

    /// Whether a class can be retransformed: it is no array, for example.
    pub fn is_modifiable(self, class: &(impl Reference + ?Sized)) -> bool {
        let mut is_modifiable = false;
        // SAFETY: the environment and reference are valid, the place lives until the call returns.
        let result = unsafe { call!(self.0, IsModifiableClass, class.raw(), &mut is_modifiable) };
        result.ok().is_ok() && is_modifiable
    }

    /// Passes loaded classes to the hooks of class files again, and takes what these make of them.
    ///
    /// # Safety
    /// They must be references to classes.
    pub unsafe fn retransform(self, classes: &[jclass]) -> Result<()> {
        let count = jint::try_from(classes.len()).unwrap_or(jint::MAX);
        // SAFETY: the environment is valid; the caller's promise.
        unsafe { call!(self.0, RetransformClasses, count, classes.as_ptr()).ok() }
    }

    /// Returns the signature of a class (`Ljava/lang/String;`).
    pub fn class_signature(self, class: &(impl Reference + ?Sized)) -> Result<String> {
        let mut signature = null_mut();
        // SAFETY: the environment and reference are valid; the string is ours to free.
        unsafe {
            call!(self.0, GetClassSignature, class.raw(), &mut signature, null_mut()).ok()?;
            Ok(self.take_string(signature).unwrap_or_default())
        }
    }

    /// Returns the name and signature of a method.
    pub fn method_name(self, method: MethodRef) -> Result<(String, String)> {
        let (mut name, mut signature) = (null_mut(), null_mut());
        // SAFETY: the environment is valid, the method id came from the JVM; the strings are ours
        // to free.
        unsafe {
            call!(self.0, GetMethodName, method.0, &mut name, &mut signature, null_mut()).ok()?;
            let name = self.take_string(name).unwrap_or_default();
            Ok((name, self.take_string(signature).unwrap_or_default()))
        }
    }

    /// Returns the access flags of a method, as in class files.
    pub fn method_modifiers(self, method: MethodRef) -> Result<u16> {
        let mut modifiers = 0;
        // SAFETY: the environment is valid, the method id came from the JVM.
        unsafe { call!(self.0, GetMethodModifiers, method.0, &mut modifiers).ok()? };
        Ok(modifiers as u16)
    }

    /// Returns the class that declares a method.
    pub fn declaring_class<'a>(self, jni: Jni<'a>, method: MethodRef) -> Result<Local<'a>> {
        let mut class: jclass = null_mut();
        // SAFETY: the environment is valid, the method id came from the JVM; the reference is ours.
        unsafe {
            call!(self.0, GetMethodDeclaringClass, method.0, &mut class).ok()?;
            Local::from_raw(jni, class).ok_or(JVMTI_ERROR_NOT_AVAILABLE)
        }
    }

    /// Returns the loader of a class; `None` if it is the bootstrap loader.
    pub fn class_loader<'a>(
        self,
        jni: Jni<'a>,
        class: &(impl Reference + ?Sized),
    ) -> Result<Option<Local<'a>>> {
        let mut loader: jobject = null_mut();
        // SAFETY: the environment and reference are valid; the new reference is ours.
        unsafe {
            call!(self.0, GetClassLoader, class.raw(), &mut loader).ok()?;
            Ok(Local::from_raw(jni, loader))
        }
    }

    /// Returns the source file of a class, if it names one.
    pub fn source_file(self, class: &(impl Reference + ?Sized)) -> Option<String> {
        let mut name = null_mut();
        // SAFETY: the environment and reference are valid; the string is ours to free.
        unsafe {
            call!(self.0, GetSourceFileName, class.raw(), &mut name).ok().ok()?;
            self.take_string(name)
        }
    }

    /// Returns the lines of a method, if it has them.
    pub fn line_table(self, method: MethodRef) -> Option<LineTable> {
        let (mut count, mut table): (_, *mut jvmtiLineNumberEntry) = (0, null_mut());
        // SAFETY: the environment is valid, the method id came from the JVM; the table has `count`
        // entries and is ours to free.
        unsafe {
            call!(self.0, GetLineNumberTable, method.0, &mut count, &mut table).ok().ok()?;
            let entries = self.slice(count, table).iter();
            let lines = entries.map(|it| (it.start_location, it.line_number.unsigned_abs()));
            let mut lines: LineTable = lines.collect();
            self.free(table);
            // Compilers may emit the entries in any order.
            lines.sort_unstable();
            Some(lines)
        }
    }

    /// Returns an object's tag; 0 for none.
    pub fn tag(self, object: &(impl Reference + ?Sized)) -> i64 {
        let mut tag = 0;
        // SAFETY: the environment and reference are valid, `tag` lives until the call returns.
        unsafe { call!(self.0, GetTag, object.raw(), &mut tag) };
        tag
    }

    /// Sets an object's tag; 0 takes it away.
    pub fn set_tag(self, object: &(impl Reference + ?Sized), tag: i64) {
        // SAFETY: the environment and reference are valid.
        unsafe { call!(self.0, SetTag, object.raw(), tag) };
    }

    /// HotSpot's extension that reports which virtual thread a carrier runs (JDK 21 and later).
    pub fn virtual_thread_function(self) -> Option<VirtualThreadFunction> {
        let (mut count, mut functions): (_, *mut jvmtiExtensionFunctionInfo) = (0, null_mut());
        // SAFETY: the environment is valid; the array has `count` entries, whose strings and
        // arrays are ours to free.
        unsafe {
            call!(self.0, GetExtensionFunctions, &mut count, &mut functions).ok().ok()?;
            let mut found = None;
            for function in self.slice(count, functions) {
                if CStr::from_ptr(function.id) == c"com.sun.hotspot.functions.GetVirtualThread" {
                    found = function.func.map(VirtualThreadFunction);
                }
                for index in 0..usize::try_from(function.param_count).unwrap_or(0) {
                    self.free((*function.params.add(index)).name);
                }
                self.free(function.params);
                self.free(function.errors);
                self.free(function.id);
                self.free(function.short_description);
            }
            self.free(functions);
            found
        }
    }

    /// Returns the virtual thread that `carrier` runs now, if it runs one.
    pub fn virtual_thread<'a>(
        self,
        jni: Jni<'a>,
        function: VirtualThreadFunction,
        carrier: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        let mut thread: jobject = null_mut();
        // SAFETY: the extension takes a thread and a place for a thread; the reference is ours.
        unsafe {
            (function.0)(self.0, carrier.raw(), &mut thread as *mut jobject).ok().ok()?;
            Local::from_raw(jni, thread)
        }
    }

    /// Decodes and frees a string.
    ///
    /// # Safety
    /// `text` must be null or a string that JVMTI allocated for us.
    pub(super) unsafe fn take_string(self, text: *mut c_char) -> Option<String> {
        if text.is_null() {
            return None;
        }
        // SAFETY: the caller's promise: a string that ends in NUL.
        let decoded = unsafe { mutf8::decode(CStr::from_ptr(text).to_bytes()).into_owned() };
        // SAFETY: the caller's promise: it is ours to free.
        unsafe { self.free(text) };
        Some(decoded)
    }

    /// Takes over an array of local references and frees the array.
    ///
    /// # Safety
    /// `array` must be an array of `count` local references that JVMTI allocated for us.
    pub unsafe fn take_references<'a>(
        self,
        jni: Jni<'a>,
        count: jint,
        array: *mut jobject,
    ) -> Vec<Local<'a>> {
        // SAFETY: the caller's promise.
        unsafe {
            let references = self.slice(count, array).iter();
            jni.expect_locals(references.len());
            let references = references.filter_map(|&it| Local::from_raw(jni, it)).collect();
            self.free(array);
            references
        }
    }

    /// # Safety
    /// `array` must be null or hold `count` entries for the lifetime chosen.
    pub unsafe fn slice<'a, T>(self, count: jint, array: *const T) -> &'a [T] {
        match usize::try_from(count) {
            // SAFETY: the caller's promise.
            Ok(count) if !array.is_null() => unsafe { std::slice::from_raw_parts(array, count) },
            _ => &[],
        }
    }

    /// # Safety
    /// `memory` must be null or allocated by JVMTI for us, and not be used any more.
    pub unsafe fn free<T>(self, memory: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { call!(self.0, Deallocate, memory.cast()) };
    }
}

/// See [`Jvmti::virtual_thread_function`].
#[derive(Clone, Copy, Debug)]
pub struct VirtualThreadFunction(jvmtiExtensionFunction);
