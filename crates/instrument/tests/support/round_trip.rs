//! Round trips of the classes of a JDK: read and written, and linked by its JVM with probes.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use perk_classfile::{ClassEditor, ClassFile, MethodEdit, Reach, opcode};
use perk_instrument::{
    COUNTS_HELPER, ClassProbes, EVENTS_HELPER, Error, Events, FIELDS_HELPER, HELPER, HELPER_BASE,
    Leaves, MethodName, Methods, Names, Places, Probes, SitePlace, instrument, leaves,
};
use perk_testkit::{JavaRun, Jdk, workspace};

use super::image::ImageClass;

/// A combination of the agent's requests for a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestKind {
    pub(crate) name: &'static str,
    pub(crate) probes: Probes,
    calls: Calls,
}

/// The classes whose calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calls {
    None,
    /// The calls of classes that are not in `java.*`. Calls from these to `java.*` are leaves.
    Some,
    All,
}

const NONE: Probes = Probes::least(Names::PLAIN);

/// Calls, lines, unwinding, allocations, and the field for an object's record.
pub(crate) const EVERYTHING: RequestKind = RequestKind {
    name: "everything",
    probes: Probes {
        unwinding: true,
        timed: true,
        leaving: true,
        places: Places::Lines,
        heap: true,
        sites: false,
        object_record: true,
        accesses: false,
        extended: false,
        calls: true,
        blocks: false,
        entries: false,
        path_budget: false,
        events: Events::NONE,
        late: false,
        names: Names::PLAIN,
    },
    calls: Calls::All,
};

/// Calls of classes not in `java.*`, lines and unwinding, as with `include` and `exclude`.
pub(crate) const CALLS_OF_SOME: RequestKind = RequestKind {
    name: "calls of some classes, with lines",
    probes: Probes { unwinding: true, timed: true, places: Places::Lines, ..NONE },
    calls: Calls::Some,
};

/// Accesses and allocation sites, and the field for an object's record.
pub(crate) const ACCESSES: RequestKind = RequestKind {
    name: "accesses",
    probes: Probes { object_record: true, accesses: true, extended: true, ..NONE },
    calls: Calls::All,
};

/// Executions of basic blocks.
pub(crate) const BLOCKS: RequestKind = RequestKind {
    name: "blocks",
    probes: Probes { calls: false, blocks: true, ..NONE },
    calls: Calls::All,
};

/// Entries of methods, and the calls that they make.
pub(crate) const ENTRIES: RequestKind = RequestKind {
    name: "entries",
    probes: Probes { calls: false, entries: true, ..NONE },
    calls: Calls::All,
};

/// Calls, positions, allocations and executions of basic blocks.
pub(crate) const CALLS_AND_BLOCKS: RequestKind = RequestKind {
    name: "calls-and-blocks",
    probes: Probes {
        unwinding: true,
        timed: true,
        places: Places::Positions,
        heap: true,
        blocks: true,
        ..NONE
    },
    calls: Calls::Some,
};

/// Entries and exits of methods, and releases of monitors.
pub(crate) const BRACKETS: RequestKind = RequestKind {
    name: "brackets",
    probes: Probes {
        calls: false,
        events: Events { brackets: true, steps: false, monitors: true },
        ..NONE
    },
    calls: Calls::All,
};

/// All events.
pub(crate) const EVENTS: RequestKind = RequestKind {
    name: "events",
    probes: Probes {
        calls: false,
        events: Events { brackets: true, steps: true, monitors: true },
        ..NONE
    },
    calls: Calls::All,
};

/// The combinations that are tested with whole JDKs: each kind of probe with few others, and all.
pub(crate) const KINDS: [RequestKind; 11] = [
    RequestKind { name: "calls", probes: NONE, calls: Calls::All },
    CALLS_OF_SOME,
    RequestKind { name: "allocations", probes: Probes { heap: true, ..NONE }, calls: Calls::None },
    RequestKind {
        name: "allocations with the numbers of sites",
        probes: Probes { heap: true, sites: true, object_record: true, ..NONE },
        calls: Calls::None,
    },
    EVERYTHING,
    ACCESSES,
    BLOCKS,
    ENTRIES,
    CALLS_AND_BLOCKS,
    BRACKETS,
    EVENTS,
];

/// The methods that cannot be counted inside, by class.
pub(crate) type LeafTable = HashMap<Vec<u8>, Leaves>;

/// Collects the leaves of classes.
pub(crate) fn leaf_table<'a>(classes: impl IntoIterator<Item = &'a ImageClass>) -> LeafTable {
    let named =
        |class: &ImageClass| (class.name.clone().into_bytes(), leaves(&class.bytes).unwrap());
    classes.into_iter().map(named).collect()
}

/// Whether a method is never a leaf: its calls are a few instructions wherever they are, or it is
/// part of the probes.
fn is_never_leaf(owner: &[u8], name: &[u8]) -> bool {
    matches!(
        (owner, name),
        (b"java/lang/Thread", b"currentThread")
            | (b"java/lang/Object", b"getClass")
            | (b"jdk/internal/misc/Unsafe", _)
    )
}

/// Whether calls of a method are counted at the call: see [`Leaves`].
pub(crate) fn is_leaf(
    table: &LeafTable,
    owner: &[u8],
    name: &[u8],
    descriptor: &[u8],
    is_virtual: bool,
) -> bool {
    if is_never_leaf(owner, name) {
        return false;
    }
    let mut class = table.get(owner);
    while let Some(leaves) = class {
        let mut methods = leaves.methods.iter();
        if let Some(leaf) = methods.find(|it| it.name == name && it.descriptor == descriptor) {
            return !(is_virtual && leaf.is_virtual);
        }
        let is_it = |other: &Vec<u8>| other.strip_prefix(name) == Some(descriptor);
        if name == b"<init>" || leaves.others.iter().any(is_it) {
            return false;
        }
        class = leaves.super_class.as_ref().and_then(|name| table.get(name));
    }
    false
}

/// Adds probes to classes as the agent does, and numbers their methods from 1 on.
#[derive(Debug)]
pub(crate) struct Prober<'a> {
    kind: RequestKind,
    leaves: &'a LeafTable,
    number: u32,
}

impl<'a> Prober<'a> {
    pub(crate) fn new(kind: RequestKind, leaves: &'a LeafTable) -> Self {
        Self { kind, leaves, number: 0 }
    }

    pub(crate) fn instrument(&mut self, bytes: &[u8]) -> Result<ClassProbes, Error> {
        instrument(bytes, self.kind.probes, self)
    }
}

impl Methods for Prober<'_> {
    fn number(&mut self, _: &MethodName<'_>) -> u32 {
        self.number += 1;
        self.number
    }

    fn leaf(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8], is_virtual: bool) -> bool {
        if self.kind.calls == Calls::None || is_never_leaf(owner, name) {
            return false;
        }
        !self.selected(owner, name) || is_leaf(self.leaves, owner, name, descriptor, is_virtual)
    }

    fn selected(&mut self, class: &[u8], _: &[u8]) -> bool {
        match self.kind.calls {
            Calls::None => false,
            Calls::Some => !class.starts_with(b"java/"),
            Calls::All => true,
        }
    }

    fn field(&mut self, _: &[u8], _: &[u8], _: &[u8]) -> u32 {
        self.number += 1;
        self.number
    }

    fn counters(&mut self, _: &MethodName<'_>, count: usize) -> Option<u32> {
        self.number += count as u32;
        Some(self.number)
    }

    fn site(&mut self, _: &MethodName<'_>, _: Option<SitePlace>) -> u32 {
        self.number += 1;
        self.number
    }
}

/// Classes with probes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProbeResult {
    /// The changed classes.
    pub(crate) classes: Vec<ImageClass>,
    pub(crate) method_count: usize,
    /// The number of bytes by which the changed classes are longer.
    pub(crate) added_bytes: usize,
    /// The methods that lack probes, with the reasons.
    pub(crate) skipped: Vec<String>,
}

impl ProbeResult {
    pub(crate) fn new(classes: &[ImageClass], kind: RequestKind, leaves: &LeafTable) -> Self {
        let mut probed = Self::default();
        let mut prober = Prober::new(kind, leaves);
        for ImageClass { module, name, bytes } in classes {
            let result = prober.instrument(bytes);
            let instrumented = result.unwrap_or_else(|error| panic!("{module}/{name}: {error}"));
            probed.method_count += instrumented.method_count;
            for (method, reason) in instrumented.skipped {
                let method = String::from_utf8_lossy(&method);
                probed.skipped.push(format!("{name}.{method}: {reason}"));
            }
            if let Some(changed) = instrumented.bytes {
                probed.added_bytes += changed.len() - bytes.len();
                let (module, name) = (module.clone(), name.clone());
                probed.classes.push(ImageClass { module, name, bytes: changed });
            }
        }
        probed
    }

    /// Has a JVM link all classes under its verifier, with the helper that the agent carries, and
    /// compile a class. Returns the failures.
    pub(crate) fn link(&self, jdk: &Jdk) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (patched, programs) = (folder.join("patched"), folder.join("programs"));
        // This must happen before anything is patched: the compiler does not read classes newer
        // than its own.
        super::program(&patched, &programs, "LinkAll.java");
        let helpers = [
            (HELPER, "analyses/exact/PerkProbes.class"),
            (FIELDS_HELPER, "analyses/fields/PerkFields.class"),
            (COUNTS_HELPER, "analyses/counters/PerkCounts.class"),
            (EVENTS_HELPER, "jvmpi/methods/PerkEvents.class"),
            (HELPER_BASE, "probes/PerkHeaders.class"),
        ];
        let helpers = helpers.map(|(name, file)| ImageClass {
            module: "java.base".into(),
            name: name.into(),
            bytes: fs::read(workspace().join("crates/agent/src").join(file)).unwrap(),
        });
        let broken = broken();
        let mut list = String::new();
        for class in self.classes.iter().chain(&helpers).chain([&broken]) {
            class.write(&patched);
            let constants = ClassFile::parse(&class.bytes).unwrap().pool().count();
            let name = class.name.replace('/', ".");
            list += &format!("{} {name} {constants}\n", class.module);
        }
        let run = super::EXPORTS.iter().fold(self.jvm(jdk, &patched), JavaRun::jvm_arg);
        let run = run.classes(programs).main("LinkAll").file("classes.txt", list);
        let outcome = run.args(["classes.txt"]).run();
        outcome.assert_success();
        let failed = outcome.stdout.lines().filter_map(|line| line.strip_prefix("failed "));
        let mut failed: Vec<String> = failed.map(str::to_owned).collect();
        let all = self.classes.len() + helpers.len() + 1;
        assert_eq!(outcome.number("linked") as usize + failed.len(), all);
        let expected = format!("{}: java.lang.VerifyError", broken.name.replace('/', "."));
        match failed.iter().position(|line| line.starts_with(&expected)) {
            Some(at) => drop(failed.remove(at)),
            None => failed.push(format!("{} is broken, and no error was found in it", broken.name)),
        }
        failed.extend(self.compile(jdk, &patched).err());
        failed
    }

    /// Has javac run with probes, and compares its output with that of a run without probes.
    fn compile(&self, jdk: &Jdk, patched: &Path) -> Result<(), String> {
        if !jdk.has_javac {
            return Ok(());
        }
        let without = tempfile::tempdir().unwrap();
        let file = super::source("DumpClasses.java");
        super::run(Command::new(jdk.javac()).arg("-d").arg(without.path()).arg(&file));
        let javac = self.jvm(jdk, patched).args(["-m", "jdk.compiler/com.sun.tools.javac.Main"]);
        let outcome = javac.args(["-d", "."]).args([&file]).run();
        outcome.assert_success();
        let without = fs::read(without.path().join("DumpClasses.class")).unwrap();
        match outcome.bytes("DumpClasses.class") == without {
            true => Ok(()),
            false => Err("javac writes something else".into()),
        }
    }

    /// Returns a JVM that has the classes of a folder in place of its own.
    fn jvm(&self, jdk: &Jdk, patched: &Path) -> JavaRun {
        let run = JavaRun::new(jdk).jvm_arg("-Xverify:all").jvm_arg("-Xshare:off");
        let run = run.timeout(Duration::from_secs(600));
        let mut modules: BTreeSet<_> = self.classes.iter().map(|it| it.module.as_str()).collect();
        // java.base contains the helper.
        modules.insert("java.base");
        modules.into_iter().fold(run, |run, module| {
            let folder = patched.join(module);
            run.jvm_arg(format!("--add-modules={module}"))
                .jvm_arg(format!("--patch-module={module}={}", folder.display()))
        })
    }
}

/// Returns a class of java.base that takes a word from an empty operand stack.
fn broken() -> ImageClass {
    let folder = tempfile::tempdir().unwrap();
    let name = "java/lang/PerkBroken";
    super::compile_into_base(folder.path(), "PerkBroken.java");
    let bytes = fs::read(folder.path().join(name).with_extension("class")).unwrap();
    let class = ClassFile::parse(&bytes).unwrap();
    let mut editor = ClassEditor::new(&class);
    let mut edit = MethodEdit::new();
    edit.insert(0, Reach::All, &[opcode::POP]);
    let index = class.methods().position(|method| method.name() == Ok(b"answer")).unwrap();
    assert!(editor.edit_method(index, &edit));
    ImageClass { module: "java.base".into(), name: name.into(), bytes: editor.finish().bytes }
}

/// Returns an error unless a class that is written is the class that was read. With `all_code`, the
/// code of all methods is written anew.
pub(crate) fn identical(bytes: &[u8], all_code: bool) -> Result<(), String> {
    let class = ClassFile::parse(bytes).map_err(|error| error.to_string())?;
    let mut editor = ClassEditor::new(&class);
    if all_code {
        let nothing = MethodEdit::new();
        for (index, method) in class.methods().enumerate() {
            if method.code().map_err(|error| error.to_string())?.is_some() {
                editor.edit_method(index, &nothing);
            }
        }
    }
    let edited = editor.finish();
    if let Some(skipped) = edited.skipped.first() {
        return Err(format!("method {} is skipped: {}", skipped.method, skipped.reason));
    }
    match edited.bytes == bytes {
        true => Ok(()),
        false => Err("it is not written as it was read".into()),
    }
}
