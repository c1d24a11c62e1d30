//! The views of `jfr view` as queries over tables of events.

/// A view: its name with underscores, what it shows, and its query.
#[derive(Debug)]
pub(super) struct View {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) query: &'static str,
}

const fn view(name: &'static str, about: &'static str, query: &'static str) -> View {
    View { name, about, query }
}

/// All views, in the order of their names.
pub(super) const VIEWS: [View; 78] = [
    view(
        "active_recordings",
        "the recordings that ran",
        "SELECT recording, id, last_value(recordingStart ORDER BY startTime) AS started,
         last_value(recordingDuration ORDER BY startTime) AS duration_ns, last_value(name ORDER BY startTime) AS
         name, last_value(destination ORDER BY startTime) AS destination, last_value(maxAge ORDER BY startTime) AS
         maximum_age_ns, last_value(maxSize ORDER BY startTime) AS maximum_bytes FROM jdk.ActiveRecording GROUP BY
         1, 2 ORDER BY 1, 2",
    ),
    view(
        "active_settings",
        "the settings of types of events, by the ids of these",
        "SELECT recording, id, last_value(value ORDER BY startTime) FILTER (WHERE name = 'enabled') AS enabled,
         last_value(value ORDER BY startTime) FILTER (WHERE name = 'threshold') AS threshold, last_value(value
         ORDER BY startTime) FILTER (WHERE name = 'stackTrace') AS stack_trace, last_value(value ORDER BY
         startTime) FILTER (WHERE name = 'period') AS period, last_value(value ORDER BY startTime) FILTER (WHERE
         name = 'cutoff') AS cutoff, last_value(value ORDER BY startTime) FILTER (WHERE name = 'throttle') AS
         throttle FROM jdk.ActiveSetting GROUP BY 1, 2 ORDER BY 1, 2",
    ),
    view(
        "allocation_by_class",
        "the classes of which most is allocated",
        "SELECT objectClass AS class, sum(weight) AS bytes, round(100.0 * sum(weight) / sum(sum(weight)) OVER (),
         2) AS percent FROM jdk.ObjectAllocationSample GROUP BY 1 ORDER BY 2 DESC LIMIT 25",
    ),
    view(
        "allocation_by_site",
        "the methods that allocate most",
        "SELECT leaf(stackTrace) AS method, sum(weight) AS bytes, round(100.0 * sum(weight) / sum(sum(weight)) OVER
         (), 2) AS percent FROM jdk.ObjectAllocationSample GROUP BY 1 ORDER BY 2 DESC LIMIT 25",
    ),
    view(
        "allocation_by_thread",
        "the threads that allocate most",
        "SELECT coalesce(nullif(eventThread['javaName'], ''), eventThread['osName']) AS thread, sum(weight) AS
         bytes, round(100.0 * sum(weight) / sum(sum(weight)) OVER (), 2) AS percent FROM jdk.ObjectAllocationSample
         GROUP BY 1 ORDER BY 2 DESC LIMIT 25",
    ),
    view(
        "blocked_by_system_gc",
        "the longest calls of System.gc()",
        "SELECT startTime AS time, duration AS duration_ns, leaf(stackTrace) AS method FROM jdk.SystemGC WHERE NOT
         invokedConcurrent ORDER BY duration DESC LIMIT 25",
    ),
    view(
        "class_loaders",
        "the loaders of classes, with what they loaded",
        "SELECT recording, coalesce(classLoader['type'], '(bootstrap)') AS loader, sum(last_hidden) AS
         hidden_classes, sum(last_classes) AS classes FROM ( SELECT recording, classLoader, classLoaderData,
         last_value(hiddenClassCount ORDER BY startTime) AS last_hidden, last_value(classCount ORDER BY startTime)
         AS last_classes FROM jdk.ClassLoaderStatistics GROUP BY 1, 2, 3) GROUP BY 1, 2 ORDER BY 4 DESC LIMIT 25",
    ),
    view(
        "class_modifications",
        "classes that were redefined or retransformed",
        "SELECT duration AS duration_ns, stackTrace AS stack, leaf(stackTrace) AS method, classCount AS classes
         FROM (SELECT duration, stackTrace, classCount FROM jdk.RetransformClasses UNION ALL SELECT duration,
         stackTrace, classCount FROM jdk.RedefineClasses) ORDER BY 1 DESC",
    ),
    view(
        "compiler_configuration",
        "how the compilers are set",
        "SELECT recording, last_value(threadCount ORDER BY startTime) AS threads,
         last_value(dynamicCompilerThreadCount ORDER BY startTime) AS dynamic_threads, last_value(tieredCompilation
         ORDER BY startTime) AS tiered FROM jdk.CompilerConfiguration GROUP BY 1",
    ),
    view(
        "compiler_phases",
        "the phases of compilers that ran beside the program",
        "SELECT phaseLevel AS level, phase, avg(duration) AS average_ns, percentile_cont(0.95) WITHIN GROUP (ORDER
         BY duration) AS p95_ns, max(duration) AS longest_ns, count(*) AS count, sum(duration) AS total_ns FROM
         jdk.CompilerPhase GROUP BY 1, 2 ORDER BY 1, 7",
    ),
    view(
        "compiler_statistics",
        "what the compilers did, at the end of each recording",
        "SELECT recording, last_value(compileCount ORDER BY startTime) AS compiled, last_value(peakTimeSpent ORDER
         BY startTime) AS peak_ns, last_value(totalTimeSpent ORDER BY startTime) AS total_ns,
         last_value(bailoutCount ORDER BY startTime) AS bailouts, last_value(osrCompileCount ORDER BY startTime) AS
         osr_compiled, last_value(standardCompileCount ORDER BY startTime) AS standard_compiled,
         last_value(osrBytesCompiled ORDER BY startTime) AS osr_bytes, last_value(standardBytesCompiled ORDER BY
         startTime) AS standard_bytes, last_value(nmethodsSize ORDER BY startTime) AS code_bytes,
         last_value(nmethodCodeSize ORDER BY startTime) AS code_only_bytes FROM jdk.CompilerStatistics GROUP BY 1",
    ),
    view(
        "container_configuration",
        "the limits of the container",
        "SELECT recording, last_value(containerType ORDER BY startTime) AS type, last_value(cpuSlicePeriod ORDER BY
         startTime) AS cpu_period_ns, last_value(cpuQuota ORDER BY startTime) AS cpu_quota_ns, last_value(cpuShares
         ORDER BY startTime) AS cpu_shares, last_value(effectiveCpuCount ORDER BY startTime) AS cpus,
         last_value(memorySoftLimit ORDER BY startTime) AS memory_soft_limit_bytes, last_value(memoryLimit ORDER BY
         startTime) AS memory_limit_bytes, last_value(swapMemoryLimit ORDER BY startTime) AS swap_limit_bytes,
         last_value(hostTotalMemory ORDER BY startTime) AS host_memory_bytes FROM jdk.ContainerConfiguration GROUP
         BY 1",
    ),
    view(
        "container_cpu_throttling",
        "how the container's CPU time was held back",
        "SELECT recording, last_value(cpuElapsedSlices ORDER BY startTime) AS elapsed_slices,
         last_value(cpuThrottledSlices ORDER BY startTime) AS throttled_slices, last_value(cpuThrottledTime ORDER
         BY startTime) AS throttled_ns FROM jdk.ContainerCPUThrottling GROUP BY 1",
    ),
    view(
        "container_cpu_usage",
        "the CPU time of the container",
        "SELECT recording, last_value(cpuTime ORDER BY startTime) AS cpu_ns, last_value(cpuUserTime ORDER BY
         startTime) AS user_ns, last_value(cpuSystemTime ORDER BY startTime) AS system_ns FROM
         jdk.ContainerCPUUsage GROUP BY 1",
    ),
    view(
        "container_io_usage",
        "what the container read and wrote",
        "SELECT recording, last_value(serviceRequests ORDER BY startTime) AS requests, last_value(dataTransferred
         ORDER BY startTime) AS bytes FROM jdk.ContainerIOUsage GROUP BY 1",
    ),
    view(
        "container_memory_usage",
        "the memory of the container",
        "SELECT recording, last_value(memoryFailCount ORDER BY startTime) AS failures, last_value(memoryUsage ORDER
         BY startTime) AS memory_bytes, last_value(swapMemoryUsage ORDER BY startTime) AS swap_bytes FROM
         jdk.ContainerMemoryUsage GROUP BY 1",
    ),
    view(
        "contention_by_address",
        "the monitors that threads waited for, by address",
        "SELECT address, monitorClass AS class, count(DISTINCT eventThread['javaThreadId']) AS threads,
         max(duration) AS longest_ns FROM jdk.JavaMonitorEnter GROUP BY 1, 2 ORDER BY 4 DESC",
    ),
    view(
        "contention_by_class",
        "the waits for monitors, by class",
        "SELECT monitorClass AS class, count(*) AS count, avg(duration) AS average_ns, percentile_cont(0.9) WITHIN
         GROUP (ORDER BY duration) AS p90_ns, max(duration) AS longest_ns FROM jdk.JavaMonitorEnter GROUP BY 1
         ORDER BY 5 DESC",
    ),
    view(
        "contention_by_site",
        "the waits for monitors, by method",
        "SELECT leaf(stackTrace) AS method, count(*) AS count, avg(duration) AS average_ns, percentile_cont(0.9)
         WITHIN GROUP (ORDER BY duration) AS p90_ns, max(duration) AS longest_ns FROM jdk.JavaMonitorEnter GROUP BY
         1 ORDER BY 5 DESC",
    ),
    view(
        "contention_by_thread",
        "the waits for monitors, by thread",
        "SELECT coalesce(nullif(eventThread['javaName'], ''), eventThread['osName']) AS thread, count(*) AS count,
         avg(duration) AS average_ns, percentile_cont(0.9) WITHIN GROUP (ORDER BY duration) AS p90_ns,
         max(duration) AS longest_ns FROM jdk.JavaMonitorEnter GROUP BY 1 ORDER BY 5 DESC",
    ),
    view(
        "cpu_load",
        "the load of the CPUs, in sum: 1 is all CPUs",
        "SELECT min(jvmUser) AS jvm_user_minimum, avg(jvmUser) AS jvm_user_average, max(jvmUser) AS
         jvm_user_maximum, min(jvmSystem) AS jvm_system_minimum, avg(jvmSystem) AS jvm_system_average,
         max(jvmSystem) AS jvm_system_maximum, min(machineTotal) AS machine_minimum, avg(machineTotal) AS
         machine_average, max(machineTotal) AS machine_maximum FROM jdk.CPULoad",
    ),
    view(
        "cpu_load_samples",
        "the load of the CPUs over time: 1 is all CPUs",
        "SELECT recording, startTime AS time, jvmUser AS jvm_user, jvmSystem AS jvm_system, machineTotal AS machine
         FROM jdk.CPULoad ORDER BY 1, 2",
    ),
    view(
        "cpu_time_hot_methods",
        "the methods that use the CPU, by samples of CPU time",
        "SELECT leaf(stackTrace) AS method, count(*) AS samples, round(100.0 * count(*) / sum(count(*)) OVER (), 2)
         AS percent FROM jdk.CPUTimeSample GROUP BY 1 ORDER BY 2 DESC LIMIT 25",
    ),
    view(
        "cpu_time_statistics",
        "the samples of CPU time",
        "SELECT s.*, l.lost FROM (SELECT count(*) FILTER (WHERE NOT failed) AS successful, count(*) FILTER (WHERE
         failed) AS failed, count(*) FILTER (WHERE biased) AS biased, count(*) AS total FROM jdk.CPUTimeSample) s
         CROSS JOIN (SELECT coalesce(sum(lostSamples), 0) AS lost FROM jdk.CPUTimeSamplesLost) l",
    ),
    view(
        "cpu_tsc",
        "the clock of the CPU",
        "SELECT recording, last_value(fastTimeAutoEnabled ORDER BY startTime) AS is_enabled_by_itself,
         last_value(fastTimeEnabled ORDER BY startTime) AS is_enabled, last_value(fastTimeFrequency ORDER BY
         startTime) AS ticks_per_second, last_value(osFrequency ORDER BY startTime) AS os_ticks_per_second FROM
         jdk.CPUTimeStampCounter GROUP BY 1",
    ),
    view(
        "deoptimizations_by_reason",
        "why code was given up",
        "SELECT reason, count(*) AS count FROM jdk.Deoptimization GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "deoptimizations_by_site",
        "where code was given up",
        "SELECT method['type'] || '.' || method['name'] AS method, min(lineNumber) AS line, min(bci) AS bci,
         count(*) AS count FROM jdk.Deoptimization GROUP BY 1 ORDER BY 4 DESC",
    ),
    view(
        "deprecated_methods_for_removal",
        "calls of methods that will be removed",
        "SELECT method['type'] || '.' || method['name'] AS method, leaf(stackTrace) AS caller FROM
         jdk.DeprecatedInvocation WHERE forRemoval GROUP BY 1, 2 ORDER BY 1, 2",
    ),
    view(
        "environment_variables",
        "the environment of the JVM",
        "SELECT recording, key, last_value(value ORDER BY startTime) AS value FROM jdk.InitialEnvironmentVariable
         GROUP BY 1, 2 ORDER BY 1, 2",
    ),
    view(
        "events_by_count",
        "the types of events, by number",
        "SELECT label, sum(events) AS events FROM event_types WHERE events > 0 GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "events_by_name",
        "the types of events, by name",
        "SELECT label, sum(events) AS events FROM event_types WHERE events > 0 GROUP BY 1 ORDER BY 1",
    ),
    view(
        "exception_by_message",
        "the messages of what was thrown",
        "SELECT message, count(message) AS count FROM (SELECT message FROM jdk.JavaErrorThrow UNION ALL SELECT
         message FROM jdk.JavaExceptionThrow) GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "exception_by_site",
        "the methods that threw, without the constructors of what they threw",
        r"SELECT regexp_replace(regexp_replace(array_to_string(frames(stackTrace), ';'), '(;[^;]*\.<init>)+$', ''),
         '^.*;', '') AS method, count(*) AS count FROM (SELECT stackTrace FROM jdk.JavaErrorThrow UNION ALL SELECT
         stackTrace FROM jdk.JavaExceptionThrow) GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "exception_by_type",
        "the classes of what was thrown",
        "SELECT thrownClass AS class, count(thrownClass) AS count FROM (SELECT thrownClass FROM jdk.JavaErrorThrow
         UNION ALL SELECT thrownClass FROM jdk.JavaExceptionThrow) GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "exception_count",
        "the number of exceptions during each recording",
        "SELECT recording, max(throwables) - min(throwables) AS thrown FROM jdk.ExceptionStatistics GROUP BY 1",
    ),
    view(
        "file_reads_by_path",
        "what was read, by path",
        "SELECT path, count(*) AS count, sum(bytesRead) AS bytes FROM jdk.FileRead GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "file_writes_by_path",
        "what was written, by path",
        "SELECT path, count(*) AS count, sum(bytesWritten) AS bytes FROM jdk.FileWrite GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "finalizers",
        "the classes with finalizers",
        "SELECT recording, finalizableClass AS class, last_value(objects ORDER BY startTime) AS objects,
         last_value(totalFinalizersRun ORDER BY startTime) AS run FROM jdk.FinalizerStatistics GROUP BY 1, 2 ORDER
         BY 4 DESC",
    ),
    view(
        "gc",
        "the collections of garbage",
        r#"SELECT g.recording, g.startTime AS time, g.gcId AS gc_id, g.name, b.heapUsed AS heap_before_bytes,
         a.heapUsed AS heap_after_bytes, g.longestPause AS longest_pause_ns FROM jdk.GarbageCollection g LEFT JOIN
         (SELECT * FROM jdk.GCHeapSummary WHERE "when" = 'Before GC') b ON g.recording = b.recording AND g.gcId =
         b.gcId LEFT JOIN (SELECT * FROM jdk.GCHeapSummary WHERE "when" = 'After GC') a ON g.recording =
         a.recording AND g.gcId = a.gcId ORDER BY 1, 2"#,
    ),
    view(
        "gc_concurrent_phases",
        "the phases of collections that ran beside the program",
        "SELECT name, avg(duration) AS average_ns, percentile_cont(0.95) WITHIN GROUP (ORDER BY duration) AS
         p95_ns, max(duration) AS longest_ns, count(*) AS count, sum(duration) AS total_ns FROM
         jdk.GCPhaseConcurrent GROUP BY 1 ORDER BY 6",
    ),
    view(
        "gc_configuration",
        "how the collector is set",
        "SELECT recording, last_value(youngCollector ORDER BY startTime) AS young, last_value(oldCollector ORDER BY
         startTime) AS old, last_value(parallelGCThreads ORDER BY startTime) AS parallel_threads,
         last_value(concurrentGCThreads ORDER BY startTime) AS concurrent_threads, last_value(usesDynamicGCThreads
         ORDER BY startTime) AS has_dynamic_threads, last_value(isExplicitGCConcurrent ORDER BY startTime) AS
         is_explicit_concurrent, last_value(isExplicitGCDisabled ORDER BY startTime) AS is_explicit_disabled,
         last_value(pauseTarget ORDER BY startTime) AS pause_target_ns, last_value(gcTimeRatio ORDER BY startTime)
         AS time_ratio FROM jdk.GCConfiguration GROUP BY 1",
    ),
    view(
        "gc_cpu_time",
        "the CPU time of collections",
        "SELECT sum(userTime) AS user_ns, sum(systemTime) AS system_ns, sum(realTime) AS wall_ns,
         CAST(max(startTime) AS BIGINT) - CAST(min(startTime) AS BIGINT) AS total_ns, count(*) AS collections FROM
         jdk.GCCPUTime",
    ),
    view(
        "gc_parallel_phases",
        "the phases of collections that several threads ran at once",
        "SELECT name, avg(duration) AS average_ns, percentile_cont(0.95) WITHIN GROUP (ORDER BY duration) AS
         p95_ns, max(duration) AS longest_ns, count(*) AS count, sum(duration) AS total_ns FROM jdk.GCPhaseParallel
         GROUP BY 1 ORDER BY 6",
    ),
    view(
        "gc_pause_phases",
        "the pauses of collections, and their phases by level",
        "SELECT level, name, avg(duration) AS average_ns, percentile_cont(0.95) WITHIN GROUP (ORDER BY duration) AS
         p95_ns, max(duration) AS longest_ns, count(*) AS count, sum(duration) AS total_ns FROM ( SELECT 0 AS
         level, name, duration FROM jdk.GCPhasePause UNION ALL SELECT 1 AS level, name, duration FROM
         jdk.GCPhasePauseLevel1 UNION ALL SELECT 2 AS level, name, duration FROM jdk.GCPhasePauseLevel2 UNION ALL
         SELECT 3 AS level, name, duration FROM jdk.GCPhasePauseLevel3 UNION ALL SELECT 4 AS level, name, duration
         FROM jdk.GCPhasePauseLevel4) GROUP BY 1, 2 ORDER BY 1, 7",
    ),
    view(
        "gc_pauses",
        "the pauses of collections, in sum",
        "SELECT sum(duration) AS total_ns, count(duration) AS pauses, min(duration) AS minimum_ns, median(duration)
         AS median_ns, avg(duration) AS average_ns, percentile_cont(0.9) WITHIN GROUP (ORDER BY duration) AS
         p90_ns, percentile_cont(0.95) WITHIN GROUP (ORDER BY duration) AS p95_ns, percentile_cont(0.99) WITHIN
         GROUP (ORDER BY duration) AS p99_ns, percentile_cont(0.999) WITHIN GROUP (ORDER BY duration) AS p999_ns,
         max(duration) AS maximum_ns FROM jdk.GCPhasePause",
    ),
    view(
        "gc_references",
        "the references that collections found, by kind",
        "SELECT recording, min(startTime) AS time, gcId AS gc_id, sum(count) FILTER (WHERE type = 'Soft reference')
         AS soft, sum(count) FILTER (WHERE type = 'Weak reference') AS weak, sum(count) FILTER (WHERE type =
         'Phantom reference') AS phantom, sum(count) FILTER (WHERE type = 'Final reference') AS final, sum(count)
         AS total FROM jdk.GCReferenceStatistics GROUP BY recording, gcId ORDER BY 1, 3",
    ),
    view(
        "heap_configuration",
        "how the heap is set",
        "SELECT recording, last_value(initialSize ORDER BY startTime) AS initial_bytes, last_value(minSize ORDER BY
         startTime) AS minimum_bytes, last_value(maxSize ORDER BY startTime) AS maximum_bytes,
         last_value(usesCompressedOops ORDER BY startTime) AS has_compressed_oops, last_value(compressedOopsMode
         ORDER BY startTime) AS compressed_oops FROM jdk.GCHeapConfiguration GROUP BY 1",
    ),
    view(
        "hot_methods",
        "the methods that ran most",
        "SELECT leaf(stackTrace) AS method, count(*) AS samples, round(100.0 * count(*) / sum(count(*)) OVER (), 2)
         AS percent FROM jdk.ExecutionSample GROUP BY 1 ORDER BY 2 DESC LIMIT 25",
    ),
    view(
        "jvm_flags",
        "the flags of the JVM",
        "SELECT recording, name, last_value(value ORDER BY startTime) AS value FROM ( SELECT recording, startTime,
         name, CAST(value AS TEXT) AS value FROM jdk.IntFlag UNION ALL SELECT recording, startTime, name,
         CAST(newValue AS TEXT) FROM jdk.IntFlagChanged UNION ALL SELECT recording, startTime, name, CAST(value AS
         TEXT) AS value FROM jdk.UnsignedIntFlag UNION ALL SELECT recording, startTime, name, CAST(newValue AS
         TEXT) FROM jdk.UnsignedIntFlagChanged UNION ALL SELECT recording, startTime, name, CAST(value AS TEXT) AS
         value FROM jdk.BooleanFlag UNION ALL SELECT recording, startTime, name, CAST(newValue AS TEXT) FROM
         jdk.BooleanFlagChanged UNION ALL SELECT recording, startTime, name, CAST(value AS TEXT) AS value FROM
         jdk.LongFlag UNION ALL SELECT recording, startTime, name, CAST(newValue AS TEXT) FROM jdk.LongFlagChanged
         UNION ALL SELECT recording, startTime, name, CAST(value AS TEXT) AS value FROM jdk.UnsignedLongFlag UNION
         ALL SELECT recording, startTime, name, CAST(newValue AS TEXT) FROM jdk.UnsignedLongFlagChanged UNION ALL
         SELECT recording, startTime, name, CAST(value AS TEXT) AS value FROM jdk.DoubleFlag UNION ALL SELECT
         recording, startTime, name, CAST(newValue AS TEXT) FROM jdk.DoubleFlagChanged UNION ALL SELECT recording,
         startTime, name, CAST(value AS TEXT) AS value FROM jdk.StringFlag UNION ALL SELECT recording, startTime,
         name, CAST(newValue AS TEXT) FROM jdk.StringFlagChanged) GROUP BY 1, 2 ORDER BY 1, 2",
    ),
    view(
        "jvm_information",
        "the JVM and its arguments",
        "SELECT recording, last_value(pid ORDER BY startTime) AS pid, last_value(jvmStartTime ORDER BY startTime)
         AS started, last_value(jvmName ORDER BY startTime) AS name, last_value(jvmVersion ORDER BY startTime) AS
         version, last_value(jvmArguments ORDER BY startTime) AS jvm_arguments, last_value(javaArguments ORDER BY
         startTime) AS program_arguments FROM jdk.JVMInformation GROUP BY 1",
    ),
    view(
        "latencies_by_type",
        "the events in which threads waited, by type",
        "SELECT event, count(*) AS count, avg(duration) AS average_ns, percentile_cont(0.99) WITHIN GROUP (ORDER BY
         duration) AS p99_ns, max(duration) AS longest_ns, sum(duration) AS total_ns FROM ( SELECT
         'jdk.JavaMonitorWait' AS event, duration FROM jdk.JavaMonitorWait UNION ALL SELECT 'jdk.JavaMonitorEnter'
         AS event, duration FROM jdk.JavaMonitorEnter UNION ALL SELECT 'jdk.ThreadPark' AS event, duration FROM
         jdk.ThreadPark UNION ALL SELECT 'jdk.ThreadSleep' AS event, duration FROM jdk.ThreadSleep UNION ALL SELECT
         'jdk.SocketRead' AS event, duration FROM jdk.SocketRead UNION ALL SELECT 'jdk.SocketWrite' AS event,
         duration FROM jdk.SocketWrite UNION ALL SELECT 'jdk.FileWrite' AS event, duration FROM jdk.FileWrite UNION
         ALL SELECT 'jdk.FileRead' AS event, duration FROM jdk.FileRead) GROUP BY 1 ORDER BY 6 DESC",
    ),
    view(
        "longest_class_loading",
        "the classes that took longest to load",
        "SELECT startTime AS time, loadedClass AS class, duration AS duration_ns FROM jdk.ClassLoad ORDER BY 3 DESC
         LIMIT 25",
    ),
    view(
        "longest_compilations",
        "the compilations that took longest",
        "SELECT startTime AS time, duration AS duration_ns, method['type'] || '.' || method['name'] AS method,
         compileLevel AS level, succeded AS has_succeeded FROM jdk.Compilation ORDER BY 2 DESC LIMIT 25",
    ),
    view(
        "memory_leaks_by_class",
        "classes of objects that may be leaks: those that lived longest",
        "SELECT object['type'] AS class, min(allocationTime) AS allocated, max(objectAge) AS age_ns,
         max(lastKnownHeapUsage) AS heap_bytes, count(*) AS objects FROM jdk.OldObjectSample GROUP BY 1 ORDER BY 2",
    ),
    view(
        "memory_leaks_by_site",
        "methods that allocated objects that may be leaks: those that lived longest",
        "SELECT leaf(stackTrace) AS method, min(allocationTime) AS allocated, max(objectAge) AS age_ns,
         max(lastKnownHeapUsage) AS heap_bytes, count(*) AS objects FROM jdk.OldObjectSample GROUP BY 1 ORDER BY 2",
    ),
    view(
        "method_calls",
        "the calls of traced methods, with their callers",
        "SELECT method['type'] || '.' || method['name'] AS method, leaf(stackTrace) AS caller, count(*) AS calls
         FROM jdk.MethodTrace GROUP BY 1, 2 ORDER BY 3 DESC",
    ),
    view(
        "method_timing",
        "the times of methods that are timed",
        "SELECT method['type'] || '.' || method['name'] AS method, last_value(invocations ORDER BY startTime) AS
         calls, last_value(minimum ORDER BY startTime) AS minimum_ns, last_value(average ORDER BY startTime) AS
         average_ns, last_value(maximum ORDER BY startTime) AS maximum_ns FROM jdk.MethodTiming GROUP BY 1 ORDER BY
         4 DESC",
    ),
    view(
        "modules",
        "the modules that were loaded",
        "SELECT DISTINCT source['name'] AS name FROM jdk.ModuleRequire WHERE source['name'] IS NOT NULL ORDER BY 1",
    ),
    view(
        "monitor_inflation",
        "the monitors that became heavy ones",
        "SELECT leaf(stackTrace) AS method, monitorClass AS class, count(*) AS count, sum(duration) AS total_ns
         FROM jdk.JavaMonitorInflate GROUP BY stackTrace, 1, 2 ORDER BY 4 DESC",
    ),
    view(
        "native_library_failures",
        "native libraries that were not loaded or unloaded",
        "SELECT operation, name, error FROM (SELECT 'load' AS operation, name, errorMessage AS error, success FROM
         jdk.NativeLibraryLoad UNION ALL SELECT 'unload', name, errorMessage, success FROM jdk.NativeLibraryUnload)
         WHERE NOT success",
    ),
    view(
        "native_memory_committed",
        "the native memory that is committed, by kind",
        "SELECT type, first_value(committed ORDER BY startTime) AS first_bytes, avg(committed) AS average_bytes,
         last_value(committed ORDER BY startTime) AS last_bytes, max(committed) AS maximum_bytes FROM
         jdk.NativeMemoryUsage GROUP BY 1 ORDER BY 5 DESC",
    ),
    view(
        "native_memory_reserved",
        "the native memory that is reserved, by kind",
        "SELECT type, first_value(reserved ORDER BY startTime) AS first_bytes, avg(reserved) AS average_bytes,
         last_value(reserved ORDER BY startTime) AS last_bytes, max(reserved) AS maximum_bytes FROM
         jdk.NativeMemoryUsage GROUP BY 1 ORDER BY 5 DESC",
    ),
    view(
        "native_methods",
        "the native methods in which threads wait or run",
        "SELECT leaf(stackTrace) AS method, count(*) AS samples FROM jdk.NativeMethodSample GROUP BY 1 ORDER BY 2
         DESC",
    ),
    view(
        "network_utilization",
        "the traffic of the network, by interface",
        "SELECT networkInterface AS interface, avg(readRate) AS average_read_bits_per_s, max(readRate) AS
         maximum_read_bits_per_s, avg(writeRate) AS average_write_bits_per_s, max(writeRate) AS
         maximum_write_bits_per_s FROM jdk.NetworkUtilization GROUP BY 1 ORDER BY 1",
    ),
    view(
        "object_statistics",
        "the classes that take most of the heap",
        "SELECT recording, objectClass AS class, last_value(count ORDER BY startTime) AS count,
         last_value(totalSize ORDER BY startTime) AS bytes, last_value(totalSize ORDER BY startTime) -
         first_value(totalSize ORDER BY startTime) AS change_bytes FROM ( SELECT recording, startTime, objectClass,
         count, totalSize FROM jdk.ObjectCount UNION ALL SELECT recording, startTime, objectClass, count, totalSize
         FROM jdk.ObjectCountAfterGC) GROUP BY 1, 2 ORDER BY 4 DESC",
    ),
    view(
        "pinned_threads",
        "what held virtual threads on their carriers",
        "SELECT leaf(stackTrace) AS method, count(*) AS count, percentile_cont(0.95) WITHIN GROUP (ORDER BY
         duration) AS p95_ns, max(duration) AS longest_ns, sum(duration) AS total_ns FROM jdk.VirtualThreadPinned
         GROUP BY 1 ORDER BY 5 DESC",
    ),
    view(
        "safepoints",
        "the safepoints",
        "SELECT b.recording, b.startTime AS time, CAST(e.startTime AS BIGINT) - CAST(b.startTime AS BIGINT) AS
         duration_ns, s.duration AS synchronization_ns, b.jniCriticalThreadCount AS jni_critical_threads,
         b.totalThreadCount AS threads FROM jdk.SafepointBegin b LEFT JOIN jdk.SafepointEnd e ON b.recording =
         e.recording AND b.safepointId = e.safepointId LEFT JOIN jdk.SafepointStateSynchronization s ON b.recording
         = s.recording AND b.safepointId = s.safepointId ORDER BY 1, 2",
    ),
    view(
        "socket_reads_by_host",
        "what was read, by host",
        "SELECT host, count(*) AS count, sum(bytesRead) AS bytes FROM jdk.SocketRead GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "socket_writes_by_host",
        "what was written, by host",
        "SELECT host, count(*) AS count, sum(bytesWritten) AS bytes FROM jdk.SocketWrite GROUP BY 1 ORDER BY 2 DESC",
    ),
    view(
        "system_information",
        "the machine",
        r#"SELECT c.recording, m.totalSize AS memory_bytes, o.osVersion AS os, v.name AS virtualization, c.cpu,
         c.cores, c.hwThreads AS hardware_threads, c.sockets, c.description FROM jdk.CPUInformation c LEFT JOIN
         (SELECT recording, max(totalSize) AS "totalSize" FROM jdk.PhysicalMemory GROUP BY 1) m ON c.recording =
         m.recording LEFT JOIN (SELECT recording, min(osVersion) AS "osVersion" FROM jdk.OSInformation GROUP BY 1)
         o ON c.recording = o.recording LEFT JOIN (SELECT recording, min(name) AS name FROM
         jdk.VirtualizationInformation GROUP BY 1) v ON c.recording = v.recording"#,
    ),
    view(
        "system_processes",
        "the processes of the machine",
        "SELECT min(startTime) AS first_seen, max(startTime) AS last_seen, pid, first_value(commandLine ORDER BY
         startTime) AS command FROM jdk.SystemProcess GROUP BY recording, pid ORDER BY 1, 3",
    ),
    view(
        "system_properties",
        "the system properties at the start",
        "SELECT recording, key, last_value(value ORDER BY startTime) AS value FROM jdk.InitialSystemProperty GROUP
         BY 1, 2 ORDER BY 1, 2",
    ),
    view(
        "thread_allocation",
        "the bytes that threads have allocated since they began",
        "SELECT thread, bytes, round(100.0 * bytes / sum(bytes) OVER (), 2) AS percent FROM ( SELECT recording,
         coalesce(nullif(thread['javaName'], ''), thread['osName']) AS thread, last_value(allocated ORDER BY
         startTime) AS bytes FROM jdk.ThreadAllocationStatistics GROUP BY recording, thread['javaThreadId'],
         thread['osThreadId'], 2) ORDER BY 2 DESC",
    ),
    view(
        "thread_count",
        "the number of threads over time",
        "SELECT recording, startTime AS time, activeCount AS active, daemonCount AS daemons, accumulatedCount AS
         started, peakCount AS peak FROM jdk.JavaThreadStatistics ORDER BY 1, 2",
    ),
    view(
        "thread_cpu_load",
        "the load of threads at their last look: 1 is all CPUs",
        r#"SELECT coalesce(nullif(eventThread['javaName'], ''), eventThread['osName']) AS thread, last_value(system
         ORDER BY startTime) AS system, last_value("user" ORDER BY startTime) AS user_load FROM jdk.ThreadCPULoad
         GROUP BY recording, eventThread['javaThreadId'], eventThread['osThreadId'], 1 ORDER BY 3 DESC"#,
    ),
    view(
        "thread_start",
        "the threads that began, and how long they ran",
        "SELECT s.recording, s.startTime AS time, leaf(s.stackTrace) AS method, s.thread['javaName'] AS thread,
         CAST(e.startTime AS BIGINT) - CAST(s.startTime AS BIGINT) AS duration_ns FROM jdk.ThreadStart s LEFT JOIN
         jdk.ThreadEnd e ON s.recording = e.recording AND s.thread['javaThreadId'] = e.thread['javaThreadId'] ORDER
         BY 5 DESC NULLS LAST",
    ),
    view(
        "tlabs",
        "the buffers of threads for allocation, and the objects inside and outside",
        "SELECT i.count AS inside_count, i.minimum AS inside_minimum_bytes, i.average AS inside_average_bytes,
         i.maximum AS inside_maximum_bytes, i.total AS inside_total_bytes, o.count AS outside_count, o.minimum AS
         outside_minimum_bytes, o.average AS outside_average_bytes, o.maximum AS outside_maximum_bytes, o.total AS
         outside_total_bytes FROM (SELECT count(*) AS count, min(tlabSize) AS minimum, avg(tlabSize) AS average,
         max(tlabSize) AS maximum, sum(tlabSize) AS total FROM jdk.ObjectAllocationInNewTLAB) i CROSS JOIN (SELECT
         count(*) AS count, min(allocationSize) AS minimum, avg(allocationSize) AS average, max(allocationSize) AS
         maximum, sum(allocationSize) AS total FROM jdk.ObjectAllocationOutsideTLAB) o",
    ),
    view(
        "vm_operations",
        "the operations of the JVM",
        "SELECT operation, avg(duration) AS average_ns, max(duration) AS longest_ns, count(*) AS count,
         sum(duration) AS total_ns FROM jdk.ExecuteVMOperation GROUP BY 1 ORDER BY 5 DESC",
    ),
];
