/* Lets threads call everything at once, while another suspends and resumes them. */
#include "known.h"
#include <unistd.h>

static JVMPI_RawMonitor locks[4];
static volatile int is_over;
static int events, suspensions, suspender_count;
static JNIEnv *suspenders[2];
static volatile int inside[4];
static int faults;

/* Copies the environment of some thread; those that suspend others must not suspend each other. */
static JNIEnv *any(unsigned *seed) {
    JNIEnv *env = NULL;
    pthread_mutex_lock(&known_lock);
    if (thread_count > 0)
        env = threads[rand_r(seed) % thread_count].env;
    if (env == suspenders[0] || env == suspenders[1])
        env = NULL;
    pthread_mutex_unlock(&known_lock);
    return env;
}

static void use(unsigned *seed) {
    int which = rand_r(seed) % 4;
    jvmpi->RawMonitorEnter(locks[which]);
    if (inside[which]++ != 0)
        faults++;
    if (rand_r(seed) % 8 == 0)
        jvmpi->RawMonitorNotifyAll(locks[which]);
    inside[which]--;
    if (rand_r(seed) % 8 == 0)
        jvmpi->RawMonitorWait(locks[which], 1);
    jvmpi->RawMonitorExit(locks[which]);
}

static void trace(unsigned *seed) {
    JVMPI_CallFrame frames[8];
    JVMPI_CallTrace trace;
    trace.env_id = any(seed);
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, 8);
    if (trace.num_frames < 0 || trace.num_frames > 8)
        faults++;
}

static void notify(JVMPI_Event *event) {
    static unsigned seed;
    know(event);
    if (event->event_type == JVMPI_EVENT_THREAD_START
        && strcmp(event->u.thread_start.thread_name, "suspender") == 0)
        suspenders[__sync_fetch_and_add(&suspender_count, 1)] = event->env_id;
    __sync_fetch_and_add(&events, 1);
    if (event->event_type >= JVMPI_EVENT_MONITOR_CONTENDED_ENTER
        && event->event_type <= JVMPI_EVENT_MONITOR_WAITED) {
        use(&seed);
        trace(&seed);
    }
}

static void suspend(void *argument) {
    unsigned seed = 7;
    jint results[8];
    JNIEnv *list[8];
    int i;
    (void)argument;
    while (suspender_count < 2)
        usleep(1000);
    while (!is_over) {
        JNIEnv *env = any(&seed);
        jvmpi->DisableGC();
        if (rand_r(&seed) % 2 == 0) {
            jvmpi->SuspendThread(env);
            jvmpi->ThreadHasRun(env);
            trace(&seed);
            jvmpi->ResumeThread(env);
        } else {
            for (i = 0; i < 8; i++)
                list[i] = any(&seed);
            jvmpi->SuspendThreadList(8, list, results);
            jvmpi->ResumeThreadList(8, list, results);
        }
        jvmpi->EnableGC();
        suspensions++;
        if (suspensions % 16 == 0)
            usleep(100);
    }
}

JNIEXPORT void JNICALL Java_Storm_turn(JNIEnv *env, jclass type, jobject fresh, jint turn) {
    unsigned seed = (unsigned)turn;
    jobjectID id = jvmpi->jobject2jobjectID(fresh);
    (void)type;
    use(&seed);
    trace(&seed);
    jvmpi->GetThreadStatus(any(&seed));
    jvmpi->SetThreadLocalStorage(env, &seed);
    if (jvmpi->GetThreadLocalStorage(env) != &seed || id == NULL)
        faults++;
    if (turn % 64 == 0)
        jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, jvmpi->GetThreadObject(env));
    if (turn % 1024 == 0)
        jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);
}

JNIEXPORT void JNICALL Java_Storm_begin(JNIEnv *env, jclass type) {
    jint kind;
    (void)env; (void)type;
    for (kind = JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER; kind <= JVMPI_EVENT_MONITOR_WAITED; kind++)
        jvmpi->EnableEvent(kind, NULL);
    jvmpi->CreateSystemThread("suspender", JVMPI_NORMAL_PRIORITY, suspend);
    jvmpi->CreateSystemThread("suspender", JVMPI_NORMAL_PRIORITY, suspend);
}

JNIEXPORT void JNICALL Java_Storm_end(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    is_over = 1;
    usleep(50000);
    printf("faults=%d\nevents=%d\nsuspensions=%d\n", faults, events, suspensions);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    int i;
    (void)options; (void)reserved;
    if (begin(vm, notify) != JNI_OK)
        return JNI_ERR;
    for (i = 0; i < 4; i++)
        locks[i] = jvmpi->RawMonitorCreate("lock");
    return JNI_OK;
}
