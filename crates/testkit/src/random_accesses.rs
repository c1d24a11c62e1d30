//! Randomly generated Java programs whose accesses to each object's fields can be computed. Threads
//! make objects and arrays, access their own and each other's, lock and hash them, and forget them.
//!
//! A program has phases, which all threads begin together. Each thread accesses what was made in
//! earlier phases, by any thread, and what it has made itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The reads by the owner, the reads by others, the writes by the owner, the writes by others.
type Counts = [u64; 4];

/// The types of fields and of the components of arrays, each with a value.
const TYPES: [(&str, &str); 9] = [
    ("boolean", "true"),
    ("byte", "(byte) 1"),
    ("char", "'c'"),
    ("short", "(short) 2"),
    ("int", "3"),
    ("long", "4L"),
    ("float", "5f"),
    ("double", "6.0"),
    ("Object", "\"seven\""),
];
const MODIFIERS: [&str; 5] = ["", "private ", "protected ", "volatile ", "public "];
/// The length of arrays.
const LENGTH: u64 = 4;

/// A random program.
#[derive(Debug, Clone)]
pub struct RandomAccesses {
    /// The main class. All other classes are nested in it.
    pub class: String,
    /// The source text, for Java 17.
    pub source: String,
    /// The number of objects by record: the method that makes the object, its class as
    /// `Class.getName()` returns it, and for each field the class that declares it, its name and its
    /// counts, as `method class, class.field 1 0 2 0, ...`.
    pub records: BTreeMap<String, u64>,
}

struct Class {
    superclass: Option<usize>,
    /// Their types, and whether they have an initial value.
    fields: Vec<(usize, bool)>,
}

/// The type of an object.
#[derive(Clone, Copy)]
enum Type {
    Class(usize),
    /// Of components of a type.
    Array(usize),
}

struct Object {
    made_by: Type,
    thread: u64,
    phase: u64,
    is_forgotten: bool,
    /// By field, in the order of the record.
    counts: Vec<Counts>,
}

/// A generator of Marsaglia's. Its quality suffices, and it is the same on all machines.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

impl RandomAccesses {
    /// Generates the program of a seed.
    pub fn new(seed: u64) -> RandomAccesses {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..16 {
            random.below(2);
        }
        let name = format!("RandomAccesses{seed}");
        let classes = random_classes(&mut random);
        let (threads, phases) = (2 + random.below(3), 2 + random.below(3));
        let mut objects: Vec<Object> = Vec::new();
        let mut methods = String::new();
        for phase in 0..phases {
            for thread in 0..threads {
                let _ = writeln!(methods, "    static void t{thread}p{phase}() {{");
                for _ in 0..5 + random.below(25) {
                    let statement = statement(&mut random, &classes, &mut objects, thread, phase);
                    let _ = writeln!(methods, "        {statement}");
                }
                methods += "    }\n";
            }
        }
        let mut records = BTreeMap::new();
        for object in &objects {
            *records.entry(record(&name, &classes, object)).or_default() += 1;
        }
        let source = source(&name, &classes, &objects, &methods, threads, phases);
        RandomAccesses { class: name, source, records }
    }
}

fn random_classes(random: &mut Random) -> Vec<Class> {
    let class = |at: usize, random: &mut Random| {
        let superclass = (at > 0 && random.below(3) > 0).then(|| random.index(at));
        let fields = 1 + random.below(5);
        // The first one always has a value: the constructor is the first that accesses the object.
        let fields =
            (0..fields).map(|at| (random.index(TYPES.len()), at == 0 || random.below(2) == 0));
        Class { superclass, fields: fields.collect() }
    };
    (0..2 + random.index(4)).map(|at| class(at, random)).collect()
}

/// Returns the fields of a class in the order of the record: those of superclasses first, and the
/// last of a class first. Each is the class that declares it and its index there.
fn fields_of(classes: &[Class], class: usize) -> Vec<(usize, usize)> {
    let mut fields = classes[class].superclass.map_or_else(Vec::new, |it| fields_of(classes, it));
    fields.extend((0..classes[class].fields.len()).rev().map(|at| (class, at)));
    fields
}

/// Returns a statement of a method, and counts what it does.
fn statement(
    random: &mut Random,
    classes: &[Class],
    objects: &mut Vec<Object>,
    thread: u64,
    phase: u64,
) -> String {
    let is_usable =
        |object: &Object| !object.is_forgotten && (object.phase < phase || object.thread == thread);
    let usable: Vec<usize> = (0..objects.len()).filter(|&at| is_usable(&objects[at])).collect();
    if usable.is_empty() || random.below(4) == 0 {
        let (number, made_by) = (
            objects.len(),
            match random.below(3) {
                0 => Type::Array(random.index(TYPES.len())),
                _ => Type::Class(random.index(classes.len())),
            },
        );
        let (value, counts) = match made_by {
            Type::Class(class) => {
                let fields = fields_of(classes, class);
                let initial = |&(class, at): &(usize, usize)| classes[class].fields[at].1;
                let counts = fields.iter().map(|it| [0, 0, u64::from(initial(it)), 0]);
                (format!("new C{class}()"), counts.collect())
            }
            Type::Array(component) => {
                (format!("new {}[{LENGTH}]", TYPES[component].0), vec![[0; 4]; 2])
            }
        };
        objects.push(Object { made_by, thread, phase, is_forgotten: false, counts });
        return format!("o{number} = {value};");
    }
    let number = usable[random.index(usable.len())];
    let object = &mut objects[number];
    let times = 1 + random.below(40);
    let column = usize::from(object.thread != thread);
    let what = random.below(10);
    match (what, object.made_by) {
        (0, _) => format!("synchronized (o{number}) {{ keep(o{number}); }}"),
        (1, _) => format!("keep(o{number}.hashCode());"),
        // Others may use it in this phase only if it is older.
        (2, _) if object.phase == phase => {
            object.is_forgotten = true;
            format!("o{number} = null;")
        }
        (_, Type::Class(class)) => {
            let fields = fields_of(classes, class);
            let place = random.index(fields.len());
            let (declaring, at) = fields[place];
            let (kind, value) = TYPES[classes[declaring].fields[at].0];
            let field = format!("((C{declaring}) o{number}).f{at}");
            access(random, &mut object.counts[place], column, (&field, kind, value), times)
        }
        (3, Type::Array(_)) => {
            object.counts[0][column] += times;
            loops(times, &format!("keep(o{number}.length);"))
        }
        (_, Type::Array(component)) => {
            let (kind, value) = TYPES[component];
            let component = format!("o{number}[{}]", random.below(LENGTH));
            access(random, &mut object.counts[1], column, (&component, kind, value), times)
        }
    }
}

/// Returns a statement that reads, writes or changes a variable.
fn access(
    random: &mut Random,
    counts: &mut Counts,
    column: usize,
    (variable, kind, value): (&str, &str, &str),
    times: u64,
) -> String {
    let (reads, writes, body) = match random.below(3) {
        0 => (1, 0, format!("keep({variable});")),
        1 if kind != "boolean" && kind != "Object" => (1, 1, format!("{variable}++;")),
        1 => (1, 1, format!("{variable} = {variable};")),
        _ => (0, 1, format!("{variable} = {value};")),
    };
    counts[column] += reads * times;
    counts[2 + column] += writes * times;
    loops(times, &body)
}

fn loops(times: u64, body: &str) -> String {
    format!("for (int i = 0; i < {times}; i++) {{ {body} }}")
}

fn record(name: &str, classes: &[Class], object: &Object) -> String {
    let mut text = format!("t{}p{} ", object.thread, object.phase);
    let fields: Vec<String> = match object.made_by {
        Type::Class(class) => {
            let _ = write!(text, "{name}$C{class}");
            let fields = fields_of(classes, class).into_iter();
            fields.map(|(class, at)| format!("{name}$C{class}.f{at}")).collect()
        }
        Type::Array(component) => {
            let class = match TYPES[component].0 {
                "boolean" => "[Z",
                "byte" => "[B",
                "char" => "[C",
                "short" => "[S",
                "int" => "[I",
                "long" => "[J",
                "float" => "[F",
                "double" => "[D",
                _ => "[Ljava.lang.Object;",
            };
            text += class;
            ["$arraylength", "$components"].map(|field| format!("{class}.{field}")).into()
        }
    };
    for (field, [own_reads, other_reads, own_writes, other_writes]) in
        fields.iter().zip(&object.counts)
    {
        let _ = write!(text, ", {field} {own_reads} {other_reads} {own_writes} {other_writes}");
    }
    text
}

fn source(
    name: &str,
    classes: &[Class],
    objects: &[Object],
    methods: &str,
    threads: u64,
    phases: u64,
) -> String {
    let mut text = format!("public class {name} extends Thread {{\n");
    for (number, class) in classes.iter().enumerate() {
        let above = class.superclass.map_or(String::new(), |it| format!(" extends C{it}"));
        let _ = writeln!(text, "    static class C{number}{above} {{");
        for (at, &(kind, has_value)) in class.fields.iter().enumerate() {
            let (kind, value) = TYPES[kind];
            let modifier = MODIFIERS[(number + at) % MODIFIERS.len()];
            let value = if has_value { format!(" = {value}") } else { String::new() };
            let _ = writeln!(text, "        {modifier}{kind} f{at}{value};");
        }
        text += "    }\n";
    }
    for (number, object) in objects.iter().enumerate() {
        let kind = match object.made_by {
            Type::Class(class) => format!("C{class}"),
            Type::Array(component) => format!("{}[]", TYPES[component].0),
        };
        let _ = writeln!(text, "    static volatile {kind} o{number};");
    }
    text += "    static int kept;\n";
    for (kind, value) in
        [("int", "it"), ("long", "(int) it"), ("double", "(int) it"), ("boolean", "it ? 1 : 0")]
    {
        let _ = writeln!(text, "    static void keep({kind} it) {{ kept += {value}; }}");
    }
    text += "    static void keep(Object it) { kept += it == null ? 1 : 0; }\n";
    text += methods;
    let _ = writeln!(
        text,
        "    static final java.util.concurrent.CyclicBarrier BARRIER =\n        \
             new java.util.concurrent.CyclicBarrier({threads});\n    \
         final int number;\n    \
         {name}(int number) {{ this.number = number; }}\n    \
         @Override public void run() {{\n        \
             try {{"
    );
    for phase in 0..phases {
        let _ = writeln!(text, "            BARRIER.await();\n            switch (number) {{");
        for thread in 0..threads {
            let _ = writeln!(text, "                case {thread}: t{thread}p{phase}(); break;");
        }
        text += "            }\n";
    }
    let _ = writeln!(
        text,
        "        }} catch (Exception error) {{ throw new RuntimeException(error); }}\n    \
         }}\n    \
         public static void main(String[] arguments) throws Exception {{\n        \
             {name}[] threads = new {name}[{threads}];\n        \
             for (int i = 0; i < {threads}; i++) {{ threads[i] = new {name}(i); threads[i].start(); }}\n        \
             for ({name} thread : threads) {{ thread.join(); }}\n        \
             System.out.println(\"end\");\n    \
         }}\n\
         }}"
    );
    text
}
