//! The class files of the JDK itself, read through the JDK's own `libjimage`, whose few functions
//! have been the same since JDK 9.

use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::OnceLock;

use perk_hotspot::layout::{Fields, Jvm};
use perk_instrument::ClassFile;

use crate::Jvmti;
use crate::os;

type OpenFunction = unsafe extern "C" fn(*const c_char, *mut c_int) -> *mut c_void;
type PackageToModule = unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_char;
type FindResource = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    *const c_char,
    *const c_char,
    *mut c_longlong,
) -> c_longlong;
type GetResource =
    unsafe extern "C" fn(*mut c_void, c_longlong, *mut c_char, c_longlong) -> c_longlong;

/// The image of the JDK's modules.
#[derive(Debug)]
pub struct Image {
    file: NonNull<c_void>,
    build: String,
    package_to_module: PackageToModule,
    find_resource: FindResource,
    get_resource: GetResource,
}

// SAFETY: the image is mapped once and only read; the library keeps no thread-local state.
unsafe impl Send for Image {}
// SAFETY: the image is mapped once and only read; the library keeps no thread-local state.
unsafe impl Sync for Image {}

/// A limit that no class file comes near.
const MAX_CLASS_BYTES: c_longlong = 64 << 20;

impl Image {
    /// Returns the image of the JDK that runs; `None` if it has none that can be read.
    pub fn of(jvmti: Jvmti) -> Option<&'static Self> {
        static IMAGE: OnceLock<Option<Image>> = OnceLock::new();
        let open = || {
            let home = jvmti.system_property(c"java.home")?;
            let jvm = [c"java.vm.name", c"java.vm.version"].map(|it| jvmti.system_property(it));
            Self::open(Path::new(&home), &format!("{jvm:?}"))
        };
        IMAGE.get_or_init(open).as_ref()
    }

    fn open(java_home: &Path, jvm: &str) -> Option<Self> {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
        let library = java_home.join("lib/libjimage.so");
        let modules = java_home.join("lib/modules");
        let build = format!("{jvm} {}", os::build_of(&modules)?);
        let modules = text(&modules)?;
        // SAFETY: the library is the one the JVM itself uses; loading it again has no effect.
        let library = unsafe { os::Library::open(&library, os::Binding::Now) }.ok()?;
        let symbol = |name: &CStr| library.symbol(name);
        // SAFETY: these are the types under which the library exports these functions.
        unsafe {
            let open: OpenFunction = std::mem::transmute(symbol(c"JIMAGE_Open")?);
            let mut error = 0;
            let file = NonNull::new(open(modules.as_ptr(), &mut error))?;
            Some(Self {
                file,
                build,
                package_to_module: std::mem::transmute::<NonNull<c_void>, PackageToModule>(symbol(
                    c"JIMAGE_PackageToModule",
                )?),
                find_resource: std::mem::transmute::<NonNull<c_void>, FindResource>(symbol(
                    c"JIMAGE_FindResource",
                )?),
                get_resource: std::mem::transmute::<NonNull<c_void>, GetResource>(symbol(
                    c"JIMAGE_GetResource",
                )?),
            })
        }
    }

    /// Returns the fields that a class of the JDK declares for its instances, and how they are laid
    /// out.
    pub fn fields(&self, class: &[u8], jvm: &Jvm) -> Option<Fields> {
        let bytes = self.class(class)?;
        Fields::of_class(&ClassFile::parse(&bytes).ok()?, jvm, true).ok()
    }

    /// Whether a class is one of the JDK's, by its internal name.
    pub fn has(&self, name: &[u8]) -> bool {
        self.place(name).is_some()
    }

    /// Returns the identity of the JDK: its JVM's version, and the image's path, size and time.
    pub fn build(&self) -> &str {
        &self.build
    }

    /// Whether a class is in a package of the module `java.base`, by its internal name.
    pub fn is_of_base(&self, name: &[u8]) -> bool {
        let package = name.iter().rposition(|&byte| byte == b'/').map(|slash| &name[..slash]);
        package.and_then(|package| self.module(package)) == Some(c"java.base")
    }

    /// Returns the bytes of a class of the JDK, by its internal name.
    pub fn class(&self, name: &[u8]) -> Option<Vec<u8>> {
        let (place, bytes_count) = self.place(name)?;
        let mut bytes = vec![0; usize::try_from(bytes_count).ok()?];
        // SAFETY: the image is open, and the buffer has room for as many bytes as the image said.
        unsafe {
            let buffer = bytes.as_mut_ptr().cast();
            (self.get_resource)(self.file.as_ptr(), place, buffer, bytes_count);
        }
        Some(bytes)
    }

    /// Returns the location and the size in bytes of a class in the image.
    fn place(&self, name: &[u8]) -> Option<(c_longlong, c_longlong)> {
        let slash = name.iter().rposition(|&byte| byte == b'/')?;
        let module = self.module(&name[..slash])?;
        let resource = CString::new([name, b".class"].concat()).ok()?;
        let file = self.file.as_ptr();
        // SAFETY: the image is open, and all strings end in NUL.
        unsafe {
            let mut size = 0;
            let version = c"9.0".as_ptr();
            let place =
                (self.find_resource)(file, module.as_ptr(), version, resource.as_ptr(), &mut size);
            (place != 0 && (1..=MAX_CLASS_BYTES).contains(&size)).then_some((place, size))
        }
    }

    /// Returns the module of a package.
    fn module(&self, package: &[u8]) -> Option<&CStr> {
        let package = CString::new(package).ok()?;
        // SAFETY: the image is open, and the name ends in NUL. The module's name is a part of the
        // image.
        unsafe {
            let module = (self.package_to_module)(self.file.as_ptr(), package.as_ptr());
            (!module.is_null()).then(|| CStr::from_ptr(module))
        }
    }
}
