/* Passes what means nothing to every function: on a thread of Java's, on one that the JVM does not know, in
   JVM_OnLoad, in the handler of JVM_SHUT_DOWN, and after it. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jvmpi.h>

#define BAD 10

static JVMPI_Interface *jvmpi;
static volatile int is_over;
static int wrong, dumped;
static long rounds;
static JNIEnv *dead_env;
static jobjectID dead_thread, freed_object;
static JVMPI_RawMonitor destroyed;
static jobject deleted;
static volatile jobjectID awaited;
static volatile int is_freed, has_ended, in_dump;
/* The number of dumps in whose handlers threads may have ended. */
static volatile int may_end;
static const char *place = "";

static void check(int is_right, const char *what, int number) {
    if (!is_right) {
        wrong++;
        printf("wrong.%s=%s %d\n", place, what, number);
        fflush(stdout);
    }
}

/* Things that are nothing. */
static void *bad(int number) {
    static char memory[256];
    switch (number) {
    case 0: return NULL;
    case 1: return (void *)1;
    case 2: return (void *)16;
    case 3: return (void *)-16;
    case 4: return (void *)0x7ffffffffffffff0;
    case 5: return (void *)0x5555555555555550;
    case 6: return memory + 16;
    case 7: return dead_env;
    case 8: return dead_thread;
    default: return freed_object;
    }
}

static void use_envs(int number) {
    JNIEnv *env = bad(number);
    JNIEnv *list[2];
    jint results[2];
    JVMPI_CallFrame frame;
    JVMPI_CallTrace trace;
    list[0] = list[1] = env;
    results[0] = results[1] = 77;
    jvmpi->SuspendThread(env);
    jvmpi->ResumeThread(env);
    jvmpi->SuspendThreadList(2, list, results);
    check(results[0] != 0 && results[0] != 77 && results[1] != 0, "suspend", number);
    jvmpi->ResumeThreadList(2, list, results);
    check(results[0] != 0 && results[1] != 0, "resume", number);
    check(jvmpi->GetThreadStatus(env) == 0, "status", number);
    check(jvmpi->ThreadHasRun(env) == JNI_FALSE, "run", number);
    check(jvmpi->GetThreadObject(env) == NULL, "object", number);
    jvmpi->SetThreadLocalStorage(env, &frame);
    check(jvmpi->GetThreadLocalStorage(env) == NULL, "storage", number);
    trace.env_id = env;
    trace.num_frames = 77;
    trace.frames = &frame;
    jvmpi->GetCallTrace(&trace, 1);
    check(trace.num_frames == 0, "trace", number);
}

static void use_ids(int number) {
    jobjectID id = bad(number);
    JVMPI_RawMonitor monitor = bad(number);
    jint (*request)(jint, void *) = jvmpi->RequestEvent;
    /* 16 may be the id of an object, and that of an ended thread still is one. */
    if (number != 2)
        check(request(JVMPI_EVENT_THREAD_START, id) == JVMPI_FAIL, "thread", number);
    if (number != 2 && number != 8) {
        check(request(JVMPI_EVENT_CLASS_LOAD, id) == JVMPI_FAIL, "class", number);
        check(request(JVMPI_EVENT_OBJECT_ALLOC, id) == JVMPI_FAIL, "alloc", number);
        check(request(JVMPI_EVENT_OBJECT_DUMP, id) == JVMPI_FAIL, "dump", number);
        check(jvmpi->jobjectID2jobject(id) == NULL, "jobject", number);
    }
    check(jvmpi->GetMethodClass((jmethodID)id) == NULL, "method", number);
    check(jvmpi->jobject2jobjectID((jobject)id) == NULL, "id", number);
    jvmpi->RawMonitorEnter(monitor);
    jvmpi->RawMonitorWait(monitor, 1);
    jvmpi->RawMonitorNotifyAll(monitor);
    jvmpi->RawMonitorExit(monitor);
    jvmpi->RawMonitorDestroy(monitor);
}

static void use_kinds(void) {
    static const int kinds[] = { 0, -1, 6, 10, 32, 36, 62, 63, 64, 65, 1000, -2147483647,
                                 JVMPI_REQUESTED_EVENT, JVMPI_REQUESTED_EVENT | 4 };
    int i;
    for (i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); i++) {
        jint expected = kinds[i] == 6 ? JVMPI_SUCCESS : JVMPI_NOT_AVAILABLE;
        check(jvmpi->EnableEvent(kinds[i], NULL) == expected, "enable", kinds[i]);
        check(jvmpi->DisableEvent(kinds[i], NULL) == expected, "disable", kinds[i]);
        check(jvmpi->RequestEvent(kinds[i], NULL) == JVMPI_NOT_AVAILABLE, "request", kinds[i]);
    }
}

static void misuse(const char *where) {
    int i;
    place = where;
    for (i = 0; i < BAD; i++) {
        use_envs(i);
        use_ids(i);
    }
    use_kinds();
    jvmpi->GetCallTrace(NULL, 1);
    jvmpi->SuspendThreadList(1, NULL, NULL);
    jvmpi->ResumeThreadList(-1, NULL, NULL);
    check(jvmpi->CreateSystemThread(NULL, 77, NULL) == JNI_ERR, "create", 0);
    /* The JVM may have used the reference again. */
    if (deleted != NULL)
        jvmpi->jobject2jobjectID(deleted);
    jvmpi->RawMonitorEnter(destroyed);
    jvmpi->RawMonitorExit(destroyed);
    jvmpi->EnableGC();
    jvmpi->EnableGC();
    check(jvmpi->GetCurrentThreadCpuTime() > 0, "time", 0);
}

/* A thread that the JVM does not know also calls what is right. */
static void *outside(void *env) {
    JVMPI_HeapDumpArg level;
    JVMPI_RawMonitor own = jvmpi->RawMonitorCreate("own");
    misuse("outside");
    level.heap_dump_level = 0;
    check(jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) == JVMPI_FAIL, "heap", 0);
    check(jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL) == JVMPI_FAIL, "monitors", 0);
    check(jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, jvmpi->GetThreadObject(env)) == JVMPI_FAIL,
          "request", 0);
    jvmpi->SuspendThread(env);
    jvmpi->ResumeThread(env);
    jvmpi->GetThreadStatus(env);
    jvmpi->ThreadHasRun(env);
    jvmpi->SetThreadLocalStorage(env, &level);
    check(jvmpi->GetThreadLocalStorage(env) == &level, "word", 0);
    jvmpi->RunGC();
    jvmpi->DisableGC();
    jvmpi->EnableGC();
    jvmpi->RawMonitorEnter(own);
    jvmpi->RawMonitorWait(own, 1);
    jvmpi->RawMonitorNotifyAll(own);
    jvmpi->RawMonitorExit(own);
    jvmpi->RawMonitorDestroy(own);
    check(jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL) == JVMPI_FAIL, "enable", 1);
    check(jvmpi->EnableEvent(JVMPI_EVENT_GC_START, NULL) == JVMPI_FAIL, "enable", 60);
    check(jvmpi->DisableEvent(JVMPI_EVENT_OBJECT_FREE, NULL) == JVMPI_FAIL, "disable", 5);
    check(jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL) == JVMPI_SUCCESS, "enable", 33);
    check(jvmpi->DisableEvent(JVMPI_EVENT_THREAD_START, NULL) == JVMPI_SUCCESS, "disable", 33);
    return NULL;
}

/* Continues until the process has ended. */
static void *for_ever(void *unused) {
    for (;;) {
        misuse("end");
        rounds++;
    }
    return unused;
}

/* Lets a thread end while the dump's handler runs. */
static void let_end(void) {
    int i;
    may_end++;
    for (i = 0; i < 10000 && !has_ended; i++)
        usleep(1000);
    check(has_ended, "end", 0);
    dumped++;
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_THREAD_END:
        if (in_dump || event->env_id == dead_env)
            has_ended = 1;
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        if (event->u.obj_free.obj_id == awaited)
            is_freed = 1;
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        if (in_dump)
            let_end();
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN: {
        pthread_t thread;
        misuse("shut.down");
        printf("wrong=%d\ndumped=%d\n", wrong, dumped);
        fflush(stdout);
        pthread_create(&thread, NULL, for_ever, NULL);
        while (*(volatile long *)&rounds < 3)
            usleep(1000);
        break;
    }
    }
}

/* What the program calls. */

JNIEXPORT void JNICALL Java_Misuse_dead(JNIEnv *env, jclass type) {
    (void)type;
    dead_env = env;
    dead_thread = jvmpi->GetThreadObject(env);
}

JNIEXPORT void JNICALL Java_Misuse_watch(JNIEnv *env, jclass type, jobject object) {
    (void)env; (void)type;
    awaited = jvmpi->jobject2jobjectID(object);
}

JNIEXPORT jboolean JNICALL Java_Misuse_isFreed(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    jvmpi->RunGC();
    if (is_freed)
        freed_object = awaited;
    return is_freed && has_ended;
}

JNIEXPORT void JNICALL Java_Misuse_misuse(JNIEnv *env, jclass type) {
    pthread_t thread;
    jobject global = (*env)->NewGlobalRef(env, type);
    (*env)->DeleteGlobalRef(env, global);
    deleted = global;
    misuse("java");
    pthread_create(&thread, NULL, outside, env);
    pthread_join(thread, NULL);
}

JNIEXPORT void JNICALL Java_Misuse_awaitDump(JNIEnv *env, jclass type, jint number) {
    (void)env; (void)type;
    while (may_end <= number)
        usleep(1000);
}

JNIEXPORT void JNICALL Java_Misuse_dump(JNIEnv *env, jclass type, jint number) {
    JVMPI_HeapDumpArg level;
    (void)env; (void)type;
    level.heap_dump_level = number;
    has_ended = 0;
    in_dump = 1;
    check(jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) == JVMPI_SUCCESS, "dump", number);
    in_dump = 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    destroyed = jvmpi->RawMonitorCreate("destroyed");
    jvmpi->RawMonitorDestroy(destroyed);
    jvmpi->NotifyEvent = notify;
    misuse("loading");
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_END, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_FREE, NULL);
    return JNI_OK;
}
