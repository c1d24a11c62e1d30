//! What threads wait for, by the methods that they wait in.

use perk_profile::{MethodId, Symbols, WallState};

use crate::charges::{self, fits};

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// The monitor of an object, to enter it.
    Monitor,
    /// A lock of `java.util.concurrent`.
    Lock,
    /// A permit of a semaphore.
    Permit,
    /// An object of a pool, such as a connection.
    Pool,
    /// Room in a queue.
    Room,
    /// An element of a queue.
    Element,
    /// The result or the end of what another thread does.
    Result,
    /// A notification.
    Notice,
    /// The end of a sleep.
    Sleep,
    /// Another machine or process, over the network.
    Network,
    /// A database.
    Database,
    /// A message.
    Message,
    /// The disk.
    File,
    /// A process that it has started.
    Process,
    /// Clients, events or tasks: whoever waits for them has nothing to do.
    Clients,
    /// Native code.
    Native,
}

impl Wait {
    /// Its name for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Wait::Monitor => "monitor",
            Wait::Lock => "lock",
            Wait::Permit => "semaphore",
            Wait::Pool => "pool",
            Wait::Room => "full_queue",
            Wait::Element => "empty_queue",
            Wait::Result => "other_thread",
            Wait::Notice => "notification",
            Wait::Sleep => "sleep",
            Wait::Network => "network",
            Wait::Database => "database",
            Wait::Message => "message",
            Wait::File => "file",
            Wait::Process => "process",
            Wait::Clients => "clients",
            Wait::Native => "native",
        }
    }

    /// Whether another thread of the program has what the thread waits for.
    pub fn is_held(self) -> bool {
        matches!(self, Wait::Monitor | Wait::Lock | Wait::Permit | Wait::Pool)
    }
}

/// The methods that hand out the objects of pools.
const POOLS: &[&str] = &[
    "com.alibaba.druid.pool.DruidDataSource#getConnection",
    "com.jolbox.bonecp.BoneCP#getConnection",
    "com.mchange.v2.c3p0.impl.AbstractPoolBackedDataSource#getConnection",
    "com.mchange.v2.resourcepool.BasicResourcePool#awaitAvailable",
    "com.mchange.v2.resourcepool.BasicResourcePool#checkoutResource",
    "com.zaxxer.hikari.HikariDataSource#getConnection",
    "com.zaxxer.hikari.pool.HikariPool#getConnection",
    "io.agroal.pool.DataSource#getConnection",
    "io.r2dbc.pool.ConnectionPool#create",
    "oracle.ucp.jdbc.PoolDataSourceImpl#getConnection",
    "org.apache.commons.dbcp.BasicDataSource#getConnection",
    "org.apache.commons.dbcp2.BasicDataSource#getConnection",
    "org.apache.commons.dbcp2.PoolingDataSource#getConnection",
    "org.apache.commons.pool.impl.GenericKeyedObjectPool#borrowObject",
    "org.apache.commons.pool.impl.GenericObjectPool#borrowObject",
    "org.apache.commons.pool2.impl.GenericKeyedObjectPool#borrowObject",
    "org.apache.commons.pool2.impl.GenericObjectPool#borrowObject",
    "org.apache.hc.core5.pool.",
    "org.apache.http.impl.conn.PoolingHttpClientConnectionManager#leaseConnection",
    "org.apache.http.pool.",
    "org.apache.tomcat.dbcp.dbcp2.BasicDataSource#getConnection",
    "org.apache.tomcat.dbcp.pool2.impl.GenericObjectPool#borrowObject",
    "org.apache.tomcat.jdbc.pool.ConnectionPool#borrowConnection",
    "org.h2.jdbcx.JdbcConnectionPool#getConnection",
    "org.vibur.objectpool.",
    "redis.clients.jedis.JedisPool#getResource",
];

/// Queues between threads.
const QUEUES: &[&str] = &[
    "java.util.concurrent.ArrayBlockingQueue",
    "java.util.concurrent.BlockingDeque",
    "java.util.concurrent.BlockingQueue",
    "java.util.concurrent.DelayQueue",
    "java.util.concurrent.LinkedBlockingDeque",
    "java.util.concurrent.LinkedBlockingQueue",
    "java.util.concurrent.LinkedTransferQueue",
    "java.util.concurrent.PriorityBlockingQueue",
    "java.util.concurrent.SynchronousQueue",
];

/// What each method waits for: names as those of the kinds of work.
const WAITS: &[(Wait, &[&str])] = &[
    (
        Wait::Clients,
        &[
            "java.lang.ref.ReferenceQueue",
            "java.net.ServerSocket",
            "java.nio.channels.Selector",
            "java.nio.channels.ServerSocketChannel",
            "java.nio.file.WatchService",
            "java.util.TimerThread",
            "java.util.concurrent.ForkJoinPool#awaitWork",
            "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue",
            "java.util.concurrent.ThreadPoolExecutor#getTask",
            "sun.nio.ch.AbstractPollSelectorImpl",
            "sun.nio.ch.EPollSelectorImpl",
            "sun.nio.ch.PollSelectorImpl",
            "sun.nio.ch.SelectorImpl",
            "sun.nio.ch.ServerSocketAdaptor",
            "sun.nio.ch.ServerSocketChannelImpl",
            "sun.nio.fs.AbstractWatchService",
            "sun.nio.fs.LinuxWatchService",
        ],
    ),
    (Wait::Sleep, &["java.lang.Thread#sleep", "java.util.concurrent.TimeUnit#sleep"]),
    (
        Wait::Lock,
        &[
            "java.util.concurrent.locks.Lock",
            "java.util.concurrent.locks.ReentrantLock",
            "java.util.concurrent.locks.ReentrantReadWriteLock",
            "java.util.concurrent.locks.StampedLock",
        ],
    ),
    (Wait::Permit, &["java.util.concurrent.Semaphore"]),
    (
        Wait::Result,
        &[
            "com.google.common.util.concurrent.AbstractFuture#get",
            "com.google.common.util.concurrent.Futures#get",
            "io.netty.util.concurrent.DefaultPromise#await",
            "io.netty.util.concurrent.DefaultPromise#sync",
            "java.lang.Thread#join",
            "java.util.concurrent.AbstractExecutorService#invoke",
            "java.util.concurrent.CompletableFuture#get",
            "java.util.concurrent.CompletableFuture#join",
            "java.util.concurrent.CompletableFuture#waitingGet",
            "java.util.concurrent.CountDownLatch",
            "java.util.concurrent.CyclicBarrier",
            "java.util.concurrent.Exchanger",
            "java.util.concurrent.ExecutorCompletionService",
            "java.util.concurrent.ExecutorService",
            "java.util.concurrent.ForkJoinPool#awaitTermination",
            "java.util.concurrent.ForkJoinPool#close",
            "java.util.concurrent.ForkJoinPool#invoke",
            "java.util.concurrent.ForkJoinTask",
            "java.util.concurrent.Future",
            "java.util.concurrent.FutureTask#awaitDone",
            "java.util.concurrent.FutureTask#get",
            "java.util.concurrent.Phaser",
            "java.util.concurrent.StructuredTaskScope",
            "java.util.concurrent.ThreadPerTaskExecutor#awaitTermination",
            "java.util.concurrent.ThreadPoolExecutor#awaitTermination",
            "java.util.concurrent.ThreadPoolExecutor#close",
            "reactor.core.publisher.BlockingSingleSubscriber",
            "scala.concurrent.Await",
        ],
    ),
    (
        Wait::Notice,
        &[
            "java.lang.Object#wait",
            "java.util.concurrent.locks.AbstractQueuedLongSynchronizer$ConditionObject",
            "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject",
            "java.util.concurrent.locks.Condition",
            "java.util.concurrent.locks.LockSupport",
        ],
    ),
    (
        Wait::Process,
        &[
            "java.lang.Process",
            "java.lang.ProcessBuilder",
            "java.lang.ProcessImpl",
            "java.lang.Runtime#exec",
        ],
    ),
    (Wait::Database, charges::SQL),
    (Wait::Database, charges::OTHER_DATABASES),
    (Wait::Message, charges::MESSAGES),
    (
        Wait::Network,
        &[
            "feign.",
            "io.grpc.",
            "java.net.",
            "java.nio.channels.DatagramChannel",
            "java.nio.channels.SocketChannel",
            "jdk.internal.net.http.",
            "okhttp3.",
            "okio.",
            "org.apache.hc.",
            "org.apache.http.",
            "org.glassfish.jersey.client.",
            "org.springframework.web.client.",
            "org.springframework.web.reactive.function.client.",
            "reactor.netty.http.client.",
            "retrofit2.",
            "sun.net.",
            "sun.nio.ch.DatagramChannelImpl",
            "sun.nio.ch.Net",
            "sun.nio.ch.NioSocketImpl",
            "sun.nio.ch.SocketAdaptor",
            "sun.nio.ch.SocketChannelImpl",
            "sun.nio.ch.SocketDispatcher",
            "sun.security.ssl.",
        ],
    ),
    (
        Wait::File,
        &[
            "java.io.File",
            "java.io.FileDescriptor",
            "java.io.FileInputStream",
            "java.io.FileOutputStream",
            "java.io.RandomAccessFile",
            "java.io.UnixFileSystem",
            "java.nio.MappedByteBuffer",
            "java.nio.MappedMemoryUtils",
            "java.nio.channels.FileChannel",
            "java.nio.file.",
            "jdk.nio.zipfs.",
            "sun.nio.ch.FileChannelImpl",
            "sun.nio.ch.FileDispatcherImpl",
            "sun.nio.ch.UnixFileDispatcherImpl",
            "sun.nio.fs.",
        ],
    ),
];

/// What the methods of a symbol table wait for, each.
#[derive(Debug)]
pub(super) struct Waits {
    waits: Vec<Option<Wait>>,
    is_pool: Vec<bool>,
    /// The method waits for the lock of a condition or a queue, or on the condition.
    is_condition: Vec<bool>,
}

impl Waits {
    pub(super) fn new(symbols: &Symbols) -> Self {
        let names = |index| {
            let method = symbols.get_method(MethodId::new(index));
            (symbols.class_name(method.class), symbols.strings.get(method.name))
        };
        let count = symbols.method_count();
        let waits = (0..count).map(|index| of_method(names(index)));
        let is_in = |list: &[&str], (class, method): (&str, &str)| {
            list.iter().any(|name| fits(name, class, method).is_some())
        };
        let is_condition = |(class, _): (&str, &str)| class.ends_with("$ConditionObject");
        Self {
            waits: waits.collect(),
            is_pool: (0..count).map(|index| is_in(POOLS, names(index))).collect(),
            is_condition: (0..count).map(|index| is_condition(names(index))).collect(),
        }
    }

    /// What a thread in `state` waits for in `methods`, the innermost first, and the method that says so:
    /// the outermost one that waits for anything, but pools, which are further in.
    pub(super) fn find(
        &self,
        methods: &[MethodId],
        state: Option<WallState>,
    ) -> Option<(Wait, Option<MethodId>)> {
        if state == Some(WallState::Blocked) {
            return Some((Wait::Monitor, None));
        }
        let is_native = state == Some(WallState::Native);
        let outward = || methods.iter().rev().copied();
        let pool = outward().find(|it| self.is_pool[it.index()]);
        if let Some(pool) = pool.filter(|_| !is_native) {
            return Some((Wait::Pool, Some(pool)));
        }
        let of = |method: MethodId| self.waits[method.index()];
        let found = outward().find_map(|method| Some((of(method)?, method)));
        match (found, state) {
            (Some((Wait::Room | Wait::Element, method)), _) if self.waits_for_lock(methods) => {
                Some((Wait::Lock, Some(method)))
            }
            (Some((wait, method)), _) => Some((wait, Some(method))),
            (None, Some(WallState::Sleeping)) => Some((Wait::Sleep, methods.first().copied())),
            (None, Some(WallState::Native)) => Some((Wait::Native, methods.first().copied())),
            (None, Some(WallState::Parked | WallState::Waiting)) => {
                Some((Wait::Notice, methods.first().copied()))
            }
            (None, _) => None,
        }
    }

    /// Whether a thread at a queue waits for the queue's lock, and not for elements or room.
    fn waits_for_lock(&self, methods: &[MethodId]) -> bool {
        let has_lock = methods.iter().any(|it| self.waits[it.index()] == Some(Wait::Lock));
        has_lock && !methods.iter().any(|it| self.is_condition[it.index()])
    }
}

/// What a method waits for.
fn of_method((class, method): (&str, &str)) -> Option<Wait> {
    if QUEUES.iter().any(|name| fits(name, class, method).is_some()) {
        let is_put = ["put", "offer", "add", "transfer"].iter().any(|it| method.starts_with(it));
        return Some(if is_put { Wait::Room } else { Wait::Element });
    }
    let lengths = WAITS.iter().flat_map(|(wait, names)| {
        names.iter().filter_map(move |name| Some((fits(name, class, method)?, *wait)))
    });
    lengths.max_by_key(|&(length, _)| length).map(|(_, wait)| wait)
}
