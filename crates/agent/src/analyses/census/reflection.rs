//! The classes that the program uses by reflection: those that a program needs although no code
//! names them.
//!
//! perk replaces the native methods that all uses come to ([`natives`]). The stack shows who uses a
//! class. A use counts if the code that calls reflection is the program's, or if the class is.
//! What the JVM itself does to link code, such as lambdas, does not count.

mod natives;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use perk_jvm::guard::{is_guarded, is_unheard};
use perk_jvm::sync::lock;
use perk_jvm::{Image, Jni, MethodRef, ObjectField, ObjectRef, StackFrame, Walker};
use perk_profile::{Frame, Line, Method, TraceId, names};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::common::Common;

/// The frames that are looked at. Class loaders that ask each other need most.
const MOST_FRAMES: u32 = 100;

/// The beginnings of the names of the JDK's classes through which reflection is used.
const REFLECTION: [&str; 11] = [
    "java/lang/Class",
    "java/lang/Module",
    "java/lang/System$",
    "java/lang/invoke/",
    "java/lang/reflect/",
    "java/net/URLClassLoader",
    "java/security/AccessController",
    "java/util/ServiceLoader",
    "jdk/internal/loader/",
    "jdk/internal/reflect/",
    "sun/invoke/",
];

/// The beginnings of the names of the JDK's classes that class loaders use to load a class.
const LOADING: [&str; 3] =
    ["java/net/URLClassLoader", "java/security/AccessController", "jdk/internal/loader/"];

/// The beginnings of the names of classes that use reflection whatever the program does: those with
/// which the JVM starts the main class, and the one that makes proxy classes.
const IMPLIED: [&str; 4] = [
    "java/lang/reflect/ProxyGenerator",
    "jdk/internal/misc/MainMethodFinder",
    "jdk/internal/misc/MethodFinder",
    "sun/launcher/",
];

/// The method by which class loaders are asked for a class.
const LOAD: &str = "loadClass";

/// The beginnings of the names of classes with which the JDK makes method handles. They look up each
/// other, and members of the JDK's other classes of its own.
const METHOD_HANDLES: [&str; 2] = ["java/lang/invoke/", "sun/invoke/"];
const OWN: &str = "jdk/internal/";

/// The classes; see the module.
#[derive(Debug)]
pub(super) struct ReflectionCensus {
    common: &'static Common,
    has_begun: AtomicBool,
    image: OnceLock<Option<&'static Image>>,
    walker: Walker,
    methods: Mutex<FxHashMap<MethodRef, Arc<StackMethod>>>,
    /// `MemberName.clazz`
    member_class: OnceLock<Option<ObjectField>>,
    classes: Mutex<Classes>,
}

/// The names of classes, with slashes.
#[derive(Debug, Default)]
struct Classes {
    used: FxHashSet<String>,
    /// The names that class loaders were asked for: whether they have such a class shows later.
    wanted: FxHashSet<String>,
    traces: FxHashMap<String, TraceId>,
}

/// A method on a stack.
#[derive(Debug)]
struct StackMethod {
    class: String,
    name: String,
    is_of_program: bool,
    /// Whether it is a method of a class loader, or of a class with which class loaders load.
    loads: bool,
}

/// A frame of a stack.
#[derive(Debug)]
struct StackPlace {
    method: Arc<StackMethod>,
    frame: StackFrame,
}

/// The code that calls reflection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Program,
    Jdk,
    /// The JVM, to link an instruction or to start the program, or the maker of proxies.
    Jvm,
}

impl ReflectionCensus {
    pub(super) fn new(common: &'static Common) -> Self {
        Self {
            common,
            has_begun: AtomicBool::new(false),
            image: OnceLock::new(),
            walker: Walker::default(),
            methods: Mutex::default(),
            member_class: OnceLock::new(),
            classes: Mutex::default(),
        }
    }

    /// Begins to note uses.
    pub(super) fn begin(&self, jni: Jni<'_>) {
        let class = jni.find_class(c"java/lang/invoke/MemberName");
        let field = |class| jni.object_field(&class, c"clazz", c"Ljava/lang/Class;");
        let _ = self.member_class.set(class.and_then(field));
        let _ = self.image.set(Image::of(self.common.jvmti));
        self.has_begun.store(true, Relaxed);
    }

    /// Returns the function to bind in place of a native method's function.
    pub(super) fn native_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        let class = self.common.jvmti.declaring_class(jni, method).ok()?;
        let class = self.common.jvmti.class_signature(&class).ok()?;
        let (name, signature) = self.common.jvmti.method_name(method).ok()?;
        natives::replacement(self, (&class, &name, &signature), function)
    }

    /// Returns the traces that represent the classes used so far.
    pub(super) fn classes(&self, jni: Jni<'_>) -> Vec<TraceId> {
        let Common { jvmti, recorder, .. } = self.common;
        let wanted = std::mem::take(&mut lock(&self.classes).wanted);
        let loaded = if wanted.is_empty() { None } else { jvmti.loaded_classes(jni).ok() };
        let signatures = loaded.iter().flatten().filter_map(|it| jvmti.class_signature(it).ok());
        let names = signatures.filter_map(|signature| class_name(&signature).map(str::to_owned));
        let found: Vec<_> = names.filter(|name| wanted.contains(name)).collect();
        let mut classes = lock(&self.classes);
        let Classes { used, traces, .. } = &mut *classes;
        used.extend(found);
        let mut names: Vec<_> = used.iter().collect();
        names.sort_unstable();
        let trace = |name: &String| {
            *traces.entry(name.clone()).or_insert_with(|| {
                let mut recorder = lock(recorder);
                let symbols = &mut recorder.profile.symbols;
                let class = symbols.class(&names::from_signature(&format!("L{name};")));
                let name = symbols.strings.intern("");
                let method = symbols.method(Method { class, name, signature: None, source: None });
                let frame = symbols.frame(Frame::new(method, Line::Unknown));
                recorder.trace(None, &[frame])
            })
        };
        names.into_iter().map(trace).collect()
    }

    /// Whether the calling thread's use of reflection may be the program's.
    fn is_heard(&self) -> bool {
        self.has_begun.load(Relaxed) && !is_guarded() && !is_unheard()
    }

    /// Notes a use of a class by the calling thread, which is in a native method.
    fn used(&self, jni: Jni<'_>, class: ObjectRef<'_>) {
        let jvmti = self.common.jvmti;
        let Ok(signature) = jvmti.class_signature(&class) else { return };
        let Some(name) = class_name(&signature).filter(|name| !self.is_known(name)) else { return };
        if METHOD_HANDLES.iter().any(|it| name.starts_with(it)) {
            return;
        }
        // The loader of an array is that of its elements.
        let is_of_jdk = || jvmti.is_of_boot_loader(jni, &class) || self.is_of_jdk(name);
        let counts = match user(&self.stack(jni)) {
            User::Program => true,
            User::Jdk => !is_of_jdk(),
            User::Jvm => false,
        };
        if counts {
            lock(&self.classes).used.insert(name.to_owned());
        }
    }

    /// Notes that a class loader looks for a class, if code asks it to do so, and not the JVM.
    fn sought(&self, jni: Jni<'_>, name: &str) {
        let name = name.replace('.', "/");
        if is_generated(&name) || self.is_known(&name) {
            return;
        }
        let stack = self.stack(jni);
        let loading = stack.iter().take_while(|at| at.method.loads).count();
        let (Some(asked), Some(asks)) = (stack[..loading].last(), stack.get(loading)) else {
            return;
        };
        if asked.method.name != LOAD {
            return;
        }
        // The JVM calls the same method of a class loader to link an instruction: another one, or
        // this one, for the class that it names.
        let called = self.common.jvmti.called_method(jni, asks.frame);
        if !called.is_some_and(|[class, method]| method == LOAD && class != name) {
            return;
        }
        let counts = match user(&stack[loading..]) {
            User::Program => true,
            User::Jdk => !self.is_of_jdk(&name),
            User::Jvm => false,
        };
        if counts {
            lock(&self.classes).wanted.insert(name);
        }
    }

    /// Notes the class of a method or field that somebody looks up for a method handle.
    fn resolved(&self, jni: Jni<'_>, member: ObjectRef<'_>) {
        let Some(Some(field)) = self.member_class.get() else { return };
        // SAFETY: by the native method's signature this is a MemberName, which has the field.
        let Some(class) = (unsafe { jni.get_object(&member, *field) }) else { return };
        let signature = self.common.jvmti.class_signature(&class).unwrap_or_default();
        if class_name(&signature).is_some_and(|name| !name.starts_with(OWN)) {
            self.used(jni, class.borrowed());
        }
    }

    /// Notes the interfaces of a proxy class.
    fn proxied(&self, jni: Jni<'_>, class: ObjectRef<'_>) {
        for interface in self.common.jvmti.interfaces(jni, &class).unwrap_or_default() {
            self.used(jni, interface.borrowed());
        }
    }

    fn is_known(&self, name: &str) -> bool {
        let classes = lock(&self.classes);
        classes.used.contains(name) || classes.wanted.contains(name)
    }

    fn is_of_jdk(&self, name: &str) -> bool {
        let image = self.image.get().copied().flatten();
        image.is_some_and(|image| image.has(name.as_bytes()))
    }

    /// Returns the calling thread's innermost frames.
    fn stack(&self, jni: Jni<'_>) -> Vec<StackPlace> {
        let jvmti = self.common.jvmti;
        let Some(thread) = jvmti.current_thread(jni) else { return Vec::new() };
        let frames =
            self.walker.walk(jvmti, &thread, MOST_FRAMES, |frames| frames.map(<[_]>::to_vec));
        let at = |frame: StackFrame| StackPlace { method: self.method(jni, frame.method), frame };
        frames.unwrap_or_default().into_iter().map(at).collect()
    }

    fn method(&self, jni: Jni<'_>, method: MethodRef) -> Arc<StackMethod> {
        if let Some(known) = lock(&self.methods).get(&method) {
            return Arc::clone(known);
        }
        let jvmti = self.common.jvmti;
        let (name, _) = jvmti.method_name(method).unwrap_or_default();
        let class = jvmti.declaring_class(jni, method).ok();
        let signature = class.as_ref().and_then(|class| jvmti.class_signature(class).ok());
        let signature = signature.unwrap_or_default();
        let class_name = signature.trim_start_matches('L').trim_end_matches(';').to_owned();
        let is_of_boot_loader =
            || class.as_ref().is_some_and(|it| jvmti.is_of_boot_loader(jni, it));
        let is_of_program = !self.is_of_jdk(&class_name) && !is_of_boot_loader();
        let is_loader = || {
            let loader = jni.find_class(c"java/lang/ClassLoader");
            loader
                .zip(class.as_ref())
                .is_some_and(|(loader, class)| jni.is_subclass(class, &loader))
        };
        let helps = LOADING.iter().any(|it| class_name.starts_with(it));
        let loads = helps || is_loader();
        let known = Arc::new(StackMethod { class: class_name, name, is_of_program, loads });
        lock(&self.methods).insert(method, Arc::clone(&known));
        known
    }
}

/// Returns who calls reflection on a stack.
fn user(stack: &[StackPlace]) -> User {
    for StackPlace { method, .. } in stack {
        let StackMethod { class, name, is_of_program, .. } = &**method;
        if class == "java/lang/invoke/MethodHandleNatives"
            && (name.starts_with("link") || name == "findMethodHandleType")
            || IMPLIED.iter().any(|implied| class.starts_with(implied))
        {
            return User::Jvm;
        }
        if *is_of_program {
            return User::Program;
        }
        if !REFLECTION.iter().any(|reflection| class.starts_with(reflection)) {
            return User::Jdk;
        }
    }
    User::Jdk
}

/// Returns the name of the class that a class file must have for a class with this signature: for
/// arrays that of their elements. `None` for primitive types and for classes that are made at run
/// time.
fn class_name(signature: &str) -> Option<&str> {
    let name = signature.trim_start_matches('[').strip_prefix('L')?.strip_suffix(';')?;
    (!is_generated(name)).then_some(name)
}

/// Whether a class has no file: it is a hidden one, a proxy, or a part of reflection in JDK 17.
fn is_generated(name: &str) -> bool {
    let simple = name.rsplit('/').next().unwrap_or_default();
    let is_accessor = name.starts_with("jdk/internal/reflect/Generated");
    simple.contains('.') || simple.starts_with("$Proxy") || is_accessor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(class: &str, name: &str, is_of_program: bool) -> StackPlace {
        let (class, name) = (class.to_owned(), name.to_owned());
        let method = Arc::new(StackMethod { class, name, is_of_program, loads: false });
        // SAFETY: nobody asks the JVM about it.
        let unknown = unsafe { MethodRef::from_raw(std::ptr::null_mut()) };
        StackPlace { method, frame: StackFrame { method: unknown, bci: 0 } }
    }

    #[test]
    fn the_user_is_the_caller_of_reflection() {
        let class = || at("java/lang/Class", "forName", false);
        let main = || at("p/Main", "main", true);
        assert_eq!(user(&[class(), class(), main()]), User::Program);
        assert_eq!(user(&[class(), at("java/util/Properties", "load", false), main()]), User::Jdk);
        let lambda = at("java/lang/invoke/MethodHandleNatives", "linkCallSite", false);
        assert_eq!(user(&[class(), lambda, main()]), User::Jvm);
        assert_eq!(
            user(&[class(), at("sun/launcher/LauncherHelper", "checkAndLoadMain", false)]),
            User::Jvm
        );
        assert_eq!(user(&[class()]), User::Jdk);
    }

    #[test]
    fn classes_of_files_have_names() {
        assert_eq!(class_name("Lp/A$B;"), Some("p/A$B"));
        assert_eq!(class_name("[[Lp/A;"), Some("p/A"));
        for other in ["[I", "J", "Lp/A$$Lambda.0x0001;", "Ljdk/proxy1/$Proxy3;", "L$Proxy0;"] {
            assert_eq!(class_name(other), None, "{other}");
        }
    }
}
