/* Measures functions of the table, in nanoseconds of CPU time, medians of 9 rounds. */
#include "known.h"
#include <time.h>

#define ROUNDS 9

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
        printf("%s=%.1f\n", NAME, rounds[ROUNDS / 2]);               \
    } while (0)

JNIEXPORT void JNICALL Java_Speed_measure(JNIEnv *env, jclass type, jboolean is_real) {
    JVMPI_CallFrame frames[4];
    JVMPI_CallTrace trace;
    void *volatile word;
    (void)type;
    if (!is_real)
        return;
    trace.env_id = env;
    trace.frames = frames;
    MEASURE("enter.exit", 200000, jvmpi->RawMonitorEnter(monitor); jvmpi->RawMonitorExit(monitor));
    MEASURE("enter.again", 200000, jvmpi->RawMonitorEnter(monitor); jvmpi->RawMonitorEnter(monitor);
            jvmpi->RawMonitorExit(monitor); jvmpi->RawMonitorExit(monitor));
    MEASURE("storage", 500000, word = jvmpi->GetThreadLocalStorage(env); (void)word);
    MEASURE("cpu.time", 100000, (void)jvmpi->GetCurrentThreadCpuTime());
    MEASURE("trace", 50000, jvmpi->GetCallTrace(&trace, 4));
    printf("frames=%d\n", (int)trace.num_frames);
    MEASURE("status", 50000, (void)jvmpi->GetThreadStatus(env));
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    if (begin(vm, NULL) != JNI_OK)
        return JNI_ERR;
    monitor = jvmpi->RawMonitorCreate("measured");
    return JNI_OK;
}
