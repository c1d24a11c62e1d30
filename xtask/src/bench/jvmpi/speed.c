/* Measures functions of the table, and lets java/bench/JvmpiSpeed.java measure events, whose handler is
 * empty. Times are nanoseconds of the thread's CPU time, and printed as name=ns. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <jvmpi.h>

#define ROUNDS 9

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor monitor;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Prints the median of some rounds. */
#define MEASURE(NAME, COUNT, CODE)                                   \
    do {                                                             \
        double rounds[ROUNDS];                                       \
        int round;                                                   \
        long i;                                                      \
        for (round = 0; round < ROUNDS; round++) {                   \
            double begin = now_ns();                                 \
            for (i = 0; i < (COUNT); i++) {                          \
                CODE;                                                \
            }                                                        \
            rounds[round] = (now_ns() - begin) / (COUNT);            \
        }                                                            \
        qsort(rounds, ROUNDS, sizeof *rounds, order);                \
        printf("%s=%.3f\n", NAME, rounds[ROUNDS / 2]);               \
    } while (0)

JNIEXPORT void JNICALL Java_JvmpiSpeed_functions(JNIEnv *env, jclass type, jobject object) {
    JVMPI_CallFrame frames[4];
    JVMPI_CallTrace trace;
    jobjectID id;
    void *volatile word;
    (void)type;
    if (object == NULL)
        return;
    id = jvmpi->jobject2jobjectID(object);
    trace.env_id = env;
    trace.frames = frames;
    MEASURE("RawMonitor", 200000, jvmpi->RawMonitorEnter(monitor); jvmpi->RawMonitorExit(monitor));
    MEASURE("DisableGC", 200000, jvmpi->DisableGC(); jvmpi->EnableGC());
    MEASURE("GetThreadLocalStorage", 500000, word = jvmpi->GetThreadLocalStorage(env); (void)word);
    MEASURE("GetCallTrace", 50000, jvmpi->GetCallTrace(&trace, 4));
    MEASURE("RequestEvent", 100000, jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, id));
    printf("frames=%d\n", (int)trace.num_frames);
    fflush(stdout);
}

JNIEXPORT void JNICALL Java_JvmpiSpeed_enable(JNIEnv *env, jclass type, jint kind, jboolean on) {
    jint result = on ? jvmpi->EnableEvent(kind, NULL) : jvmpi->DisableEvent(kind, NULL);
    if (result != JVMPI_SUCCESS)
        (*env)->FatalError(env, "the event cannot be switched");
    (void)type;
}

JNIEXPORT jlong JNICALL Java_JvmpiSpeed_cpuNs(JNIEnv *env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)now_ns();
}

static void notify(JVMPI_Event *event) {
    (void)event;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    monitor = jvmpi->RawMonitorCreate("measured");
    return JNI_OK;
}
