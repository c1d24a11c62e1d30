//! Plain words for the work of the JDK's and of libraries' packages, classes and methods.

/// What a method does, in plain words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: &'static str,
    /// It forwards calls: a word for the method that it calls says more.
    pub(super) is_vague: bool,
}

/// The word for making exceptions.
pub(super) const EXCEPTIONS: &str = "exceptions";
/// The words for the input and output that threads also wait for.
pub(crate) const FILES: &str = "files";
pub(crate) const NETWORK: &str = "network";
pub(crate) const STREAMS: &str = "reading and writing";

/// What runs statements of SQL, and waits for the database meanwhile.
pub(crate) const SQL: &[&str] = &[
    "com.microsoft.sqlserver.",
    "com.mysql.",
    "com.zaxxer.hikari.",
    "io.r2dbc.",
    "jakarta.persistence.",
    "java.sql.",
    "javax.persistence.",
    "javax.sql.",
    "oracle.jdbc.",
    "org.apache.derby.",
    "org.apache.ibatis.",
    "org.eclipse.persistence.",
    "org.h2.",
    "org.hibernate.",
    "org.hsqldb.",
    "org.jdbi.",
    "org.jooq.",
    "org.mariadb.",
    "org.mybatis.",
    "org.postgresql.",
    "org.springframework.data.jpa.",
    "org.springframework.jdbc.",
    "org.sqlite.",
];

/// The same for other databases.
pub(crate) const OTHER_DATABASES: &[&str] = &[
    "co.elastic.clients.",
    "com.couchbase.",
    "com.datastax.",
    "com.mongodb.",
    "io.lettuce.",
    "org.elasticsearch.",
    "org.neo4j.",
    "org.opensearch.",
    "org.rocksdb.",
    "redis.clients.",
];

/// What sends messages, and waits for some.
pub(crate) const MESSAGES: &[&str] = &[
    "com.rabbitmq.",
    "jakarta.jms.",
    "javax.jms.",
    "org.apache.activemq.",
    "org.apache.kafka.",
    "software.amazon.awssdk.services.sqs.",
];

/// Each kind of work, and those that do it: a package with a dot at its end, a class with those inside of
/// it, or methods of a class that begin so, after `#`. Of several that fit the longest counts.
const WORDS: &[(&str, &[&str])] = &[
    (
        "sorting",
        &[
            "java.util.ArrayList#sort",
            "java.util.Arrays#legacyMergeSort",
            "java.util.Arrays#parallelSort",
            "java.util.Arrays#sort",
            "java.util.ArraysParallelSortHelpers",
            "java.util.Collections#sort",
            "java.util.ComparableTimSort",
            "java.util.DualPivotQuicksort",
            "java.util.List#sort",
            "java.util.TimSort",
            "java.util.Vector#sort",
            "java.util.stream.SortedOps",
        ],
    ),
    ("binary search", &["java.util.Arrays#binarySearch", "java.util.Collections#binarySearch"]),
    (
        "hash maps",
        &[
            "com.google.common.collect.HashBiMap",
            "com.google.common.collect.RegularImmutableMap",
            "it.unimi.dsi.fastutil.",
            "java.util.EnumMap",
            "java.util.HashMap",
            "java.util.HashSet",
            "java.util.Hashtable",
            "java.util.IdentityHashMap",
            "java.util.ImmutableCollections$MapN",
            "java.util.ImmutableCollections$SetN",
            "java.util.LinkedHashMap",
            "java.util.LinkedHashSet",
            "java.util.Properties",
            "java.util.WeakHashMap",
            "java.util.concurrent.ConcurrentHashMap",
        ],
    ),
    (
        "sorted maps",
        &[
            "java.util.TreeMap",
            "java.util.TreeSet",
            "java.util.concurrent.ConcurrentSkipListMap",
            "java.util.concurrent.ConcurrentSkipListSet",
        ],
    ),
    ("priority queues", &["java.util.PriorityQueue"]),
    (
        "string building",
        &[
            "java.lang.AbstractStringBuilder",
            "java.lang.String#concat",
            "java.lang.String#join",
            "java.lang.String#repeat",
            "java.lang.StringBuffer",
            "java.lang.StringBuilder",
            "java.lang.StringConcatHelper",
            "java.util.StringJoiner",
        ],
    ),
    (
        "text formatting",
        &[
            "java.io.PrintStream#format",
            "java.io.PrintStream#printf",
            "java.io.PrintWriter#format",
            "java.io.PrintWriter#printf",
            "java.lang.String#format",
            "java.text.",
            "java.util.Formatter",
        ],
    ),
    (
        "numbers from and to text",
        &[
            "java.lang.Double#parse",
            "java.lang.Double#toString",
            "java.lang.Double#valueOf",
            "java.lang.Float#parse",
            "java.lang.Float#toString",
            "java.lang.FloatingDecimal",
            "java.lang.Integer#getChars",
            "java.lang.Integer#parse",
            "java.lang.Integer#toString",
            "java.lang.Long#getChars",
            "java.lang.Long#parse",
            "java.lang.Long#toString",
            "jdk.internal.math.",
            "sun.misc.FloatingDecimal",
        ],
    ),
    ("big numbers", &["java.math."]),
    ("mathematics", &["java.lang.Math", "java.lang.StrictMath", "java.lang.FdLibm"]),
    (
        "random numbers",
        &[
            "java.util.Random",
            "java.util.SplittableRandom",
            "jdk.internal.util.random.",
            "jdk.random.",
        ],
    ),
    (
        "regular expressions",
        &[
            "com.google.re2j.",
            "java.lang.String#matches",
            "java.lang.String#replaceAll",
            "java.lang.String#replaceFirst",
            "java.lang.String#split",
            "java.util.regex.",
        ],
    ),
    (
        "text encoding",
        &[
            "java.lang.String#decode",
            "java.lang.String#encode",
            "java.lang.String#getBytes",
            "java.lang.StringCoding",
            "java.nio.charset.",
            "java.util.Base64",
            "sun.nio.cs.",
        ],
    ),
    (
        "array copies",
        &[
            "java.lang.Object#clone",
            "java.lang.System#arraycopy",
            "java.util.Arrays#copyOf",
            "java.util.Arrays#fill",
        ],
    ),
    (
        "JSON",
        &[
            "com.alibaba.fastjson.",
            "com.alibaba.fastjson2.",
            "com.dslplatform.json.",
            "com.fasterxml.jackson.",
            "com.google.gson.",
            "com.jayway.jsonpath.",
            "com.squareup.moshi.",
            "groovy.json.",
            "io.vertx.core.json.",
            "jakarta.json.",
            "javax.json.",
            "kotlinx.serialization.json.",
            "net.minidev.json.",
            "org.codehaus.jackson.",
            "org.eclipse.yasson.",
            "org.json.",
            "play.api.libs.json.",
        ],
    ),
    (
        "XML",
        &[
            "com.ctc.wstx.",
            "com.fasterxml.jackson.dataformat.xml.",
            "com.sun.org.apache.xalan.",
            "com.sun.org.apache.xerces.",
            "com.sun.org.apache.xml.",
            "com.sun.org.apache.xpath.",
            "com.sun.xml.bind.",
            "com.thoughtworks.xstream.",
            "jakarta.xml.",
            "javax.xml.",
            "jdk.xml.",
            "nu.xom.",
            "org.apache.xerces.",
            "org.dom4j.",
            "org.glassfish.jaxb.",
            "org.jdom.",
            "org.jdom2.",
            "org.w3c.dom.",
            "org.xml.sax.",
        ],
    ),
    ("YAML", &["com.fasterxml.jackson.dataformat.yaml.", "org.snakeyaml.", "org.yaml."]),
    ("HTML", &["org.jsoup."]),
    (
        "serialization",
        &[
            "com.caucho.hessian.",
            "com.esotericsoftware.",
            "com.google.protobuf.",
            "java.io.ObjectInputStream",
            "java.io.ObjectOutputStream",
            "java.io.ObjectStreamClass",
            "org.apache.avro.",
            "org.apache.thrift.",
            "org.msgpack.",
        ],
    ),
    (
        FILES,
        &[
            "java.io.File",
            "java.io.FileInputStream",
            "java.io.FileOutputStream",
            "java.io.FileReader",
            "java.io.FileWriter",
            "java.io.RandomAccessFile",
            "java.io.UnixFileSystem",
            "java.nio.channels.FileChannel",
            "java.nio.file.",
            "jdk.nio.zipfs.",
            "sun.nio.ch.FileChannelImpl",
            "sun.nio.ch.FileDispatcherImpl",
            "sun.nio.ch.UnixFileDispatcherImpl",
            "sun.nio.fs.",
        ],
    ),
    ("printing", &["java.io.PrintStream"]),
    (
        NETWORK,
        &[
            "io.grpc.",
            "io.netty.",
            "java.net.",
            "java.net.http.",
            "java.nio.channels.",
            "javax.net.",
            "jdk.internal.net.",
            "okhttp3.",
            "okio.",
            "org.apache.hc.",
            "org.apache.http.",
            "reactor.netty.",
            "sun.net.",
            "sun.nio.ch.",
        ],
    ),
    (
        "web server",
        &[
            "com.sun.net.httpserver.",
            "io.undertow.",
            "org.apache.catalina.",
            "org.apache.coyote.",
            "org.apache.tomcat.",
            "org.eclipse.jetty.",
            "org.xnio.",
        ],
    ),
    (
        "URLs",
        &["java.net.URI", "java.net.URL#<init>", "java.net.URLDecoder", "java.net.URLEncoder"],
    ),
    (
        "cryptography",
        &[
            "com.sun.crypto.",
            "java.security.",
            "java.util.UUID#randomUUID",
            "javax.crypto.",
            "javax.net.ssl.",
            "org.bouncycastle.",
            "org.conscrypt.",
            "sun.security.",
        ],
    ),
    (
        "compression",
        &[
            "com.github.luben.zstd.",
            "java.util.jar.",
            "java.util.zip.",
            "net.jpountz.",
            "org.apache.commons.compress.",
            "org.iq80.snappy.",
            "org.tukaani.xz.",
            "org.xerial.snappy.",
        ],
    ),
    (
        "logging",
        &[
            "ch.qos.logback.",
            "java.lang.System$Logger",
            "java.util.logging.",
            "org.apache.commons.logging.",
            "org.apache.log4j.",
            "org.apache.logging.",
            "org.jboss.logging.",
            "org.jboss.logmanager.",
            "org.slf4j.",
            "org.tinylog.",
        ],
    ),
    ("SQL", SQL),
    ("other databases", OTHER_DATABASES),
    ("messages", MESSAGES),
    (
        "templates",
        &["com.github.mustachejava.", "freemarker.", "org.apache.velocity.", "org.thymeleaf."],
    ),
    (
        "dates and times",
        &[
            "java.text.DateFormat",
            "java.text.SimpleDateFormat",
            "java.time.",
            "java.util.Calendar",
            "java.util.Date",
            "java.util.GregorianCalendar",
            "java.util.TimeZone",
            "org.joda.time.",
            "sun.util.calendar.",
        ],
    ),
    (
        "class loading",
        &[
            "java.lang.Class#forName",
            "java.lang.ClassLoader",
            "java.lang.Module",
            "java.lang.module.",
            "java.net.URLClassLoader",
            "java.util.ServiceLoader",
            "jdk.internal.loader.",
            "jdk.internal.module.",
            "org.springframework.boot.loader.",
        ],
    ),
    (
        "linking of lambdas",
        &[
            "java.lang.invoke.BootstrapMethodInvoker",
            "java.lang.invoke.CallSite",
            "java.lang.invoke.InnerClassLambdaMetafactory",
            "java.lang.invoke.LambdaMetafactory",
            "java.lang.invoke.MethodHandleNatives",
            "java.lang.invoke.StringConcatFactory",
        ],
    ),
    (
        "reflection",
        &["java.lang.Class#get", "java.lang.Class#is", "java.lang.Class#reflectionData"],
    ),
    (EXCEPTIONS, &["java.lang.Throwable"]),
    (
        "stack traces",
        &["java.lang.StackTraceElement", "java.lang.StackWalker", "java.lang.Thread#getStackTrace"],
    ),
    (
        "locks",
        &[
            "java.lang.Object#notify",
            "java.lang.Object#wait",
            "java.util.concurrent.CountDownLatch",
            "java.util.concurrent.CyclicBarrier",
            "java.util.concurrent.Exchanger",
            "java.util.concurrent.Phaser",
            "java.util.concurrent.Semaphore",
            "java.util.concurrent.locks.",
        ],
    ),
    (
        "queues between threads",
        &[
            "com.lmax.disruptor.",
            "java.util.concurrent.ArrayBlockingQueue",
            "java.util.concurrent.ConcurrentLinkedDeque",
            "java.util.concurrent.ConcurrentLinkedQueue",
            "java.util.concurrent.DelayQueue",
            "java.util.concurrent.LinkedBlockingDeque",
            "java.util.concurrent.LinkedBlockingQueue",
            "java.util.concurrent.LinkedTransferQueue",
            "java.util.concurrent.PriorityBlockingQueue",
            "java.util.concurrent.SynchronousQueue",
            "org.jctools.",
        ],
    ),
    ("atomics", &["java.util.concurrent.atomic.", "java.lang.invoke.VarHandle"]),
    (
        "starting of threads",
        &["java.lang.Thread#start", "java.util.concurrent.ThreadPoolExecutor#addWorker"],
    ),
    (
        "starting of processes",
        &["java.lang.Process", "java.lang.ProcessBuilder", "java.lang.Runtime#exec"],
    ),
    ("garbage collection", &["java.lang.Runtime#gc", "java.lang.System#gc"]),
    (
        "compilation",
        &["com.sun.tools.javac.", "javax.tools.", "org.eclipse.jdt.internal.compiler."],
    ),
    (
        "graphics and windows",
        &["java.awt.", "javafx.", "javax.imageio.", "javax.swing.", "sun.awt.", "sun.java2d."],
    ),
    (
        "bean wiring",
        &["com.google.inject.", "org.springframework.beans.", "org.springframework.context."],
    ),
];

/// Work that passes calls on.
const VAGUE: &[(&str, &[&str])] = &[
    (
        "streams",
        &[
            "java.lang.Iterable",
            "java.util.Optional",
            "java.util.Spliterator",
            "java.util.Spliterators",
            "java.util.function.",
            "java.util.stream.",
        ],
    ),
    (STREAMS, &["java.io."]),
    (
        "reflection",
        &["java.lang.invoke.", "java.lang.reflect.", "jdk.internal.reflect.", "sun.reflect."],
    ),
    (
        "tasks of threads",
        &[
            "java.security.AccessController",
            "java.util.concurrent.AbstractExecutorService",
            "java.util.concurrent.CompletableFuture",
            "java.util.concurrent.Executors",
            "java.util.concurrent.ForkJoinPool",
            "java.util.concurrent.ForkJoinTask",
            "java.util.concurrent.FutureTask",
            "java.util.concurrent.ThreadPoolExecutor",
        ],
    ),
    (
        "proxies",
        &[
            "com.sun.proxy.",
            "jdk.proxy1.",
            "jdk.proxy2.",
            "jdk.proxy3.",
            "org.springframework.aop.",
            "org.springframework.cglib.",
        ],
    ),
];

/// The word for the work of a method that is not the program's.
pub(super) fn find(class: &str, method: &str) -> Option<Word> {
    if class.is_empty() {
        if method.starts_with('[') {
            return None;
        }
        // Of native code, only copies have a well-known name.
        let is_copy = ["arraycopy", "memcpy", "memmove"].iter().any(|it| method.contains(it));
        let text = if is_copy { "array copies" } else { "native code" };
        return Some(Word { text, is_vague: false });
    }
    if is_of_exceptions(class) {
        return Some(Word { text: EXCEPTIONS, is_vague: false });
    }
    let longest = |words: &[(&'static str, &[&str])]| {
        let lengths = words.iter().flat_map(|(text, names)| {
            let lengths = names.iter().filter_map(|name| fits(name, class, method));
            lengths.map(move |length| (length, *text))
        });
        lengths.max_by_key(|&(length, _)| length)
    };
    let clear = longest(WORDS).map(|(length, text)| (length, Word { text, is_vague: false }));
    let vague = longest(VAGUE).map(|(length, text)| (length, Word { text, is_vague: true }));
    let word = clear.into_iter().chain(vague).max_by_key(|&(length, _)| length);
    word.map(|(_, word)| word)
}

/// Begins of the names of the JVM's own threads, which are the outermost frames of their stacks, and what
/// these threads do.
const THREADS: &[(&str, &[&str])] = &[
    ("compilation of bytecode", &["C1 CompilerThread", "C2 CompilerThread", "JVMCI"]),
    (
        "garbage collection",
        &[
            "Concurrent Mark",
            "G1 ",
            "GC Thread",
            "Shenandoah",
            "XDriver",
            "XWorker",
            "ZDriver",
            "ZWorker",
        ],
    ),
];

/// What a thread of the JVM does, for the frame that represents it.
pub(super) fn of_thread(class: &str, method: &str) -> Option<Word> {
    let name = method.strip_prefix('[').filter(|_| class.is_empty())?;
    let is_it = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
    let text = THREADS.iter().find(|(_, names)| is_it(names))?.0;
    Some(Word { text, is_vague: false })
}

/// Whether a class of the JDK is that of an exception.
pub(super) fn is_of_exceptions(class: &str) -> bool {
    let is_jdk = class.starts_with("java.") || class.starts_with("javax.");
    is_jdk && ["Exception", "Error", "Throwable"].iter().any(|end| class.ends_with(end))
}

/// The length of a name of the lists, if it fits a method.
pub(crate) fn fits(name: &str, class: &str, method: &str) -> Option<usize> {
    let fits = match name.split_once('#') {
        Some((of, begin)) => class == of && method.starts_with(begin),
        None => class.strip_prefix(name).is_some_and(|rest| {
            name.ends_with('.') || rest.is_empty() || rest.starts_with(['$', '.'])
        }),
    };
    fits.then_some(name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_counts() {
        for (class, method, word) in [
            ("java.util.HashMap$TreeNode", "find", Some("hash maps")),
            ("java.util.HashMapper", "find", None),
            ("java.util.Arrays", "sort", Some("sorting")),
            ("java.util.Arrays", "asList", None),
            ("java.net.URI", "create", Some("URLs")),
            ("java.net.Socket", "connect", Some("network")),
            ("org.apache.catalina.startup.Tomcat", "start", Some("web server")),
            ("sun.nio.ch.FileChannelImpl", "read", Some("files")),
            ("java.io.BufferedReader", "readLine", Some("reading and writing")),
            ("java.io.FileReader", "read", Some("files")),
            ("java.text.SimpleDateFormat", "format", Some("dates and times")),
            ("java.lang.IllegalStateException", "getMessage", Some("exceptions")),
            ("", "jbyte_disjoint_arraycopy", Some("array copies")),
            ("", "Parse::do_call", Some("native code")),
            ("", "[kernel]", None),
        ] {
            assert_eq!(find(class, method).map(|it| it.text), word, "{class}.{method}");
        }
    }

    #[test]
    fn each_name_is_in_one_list() {
        let mut names: Vec<_> = WORDS.iter().chain(VAGUE).flat_map(|(_, names)| *names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
