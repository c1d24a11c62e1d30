/* Counts new and ended objects, in a process that gets little more address space when the program asks for
   that. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/resource.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static long allocs, frees;

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_OBJECT_ALLOC:
        __sync_fetch_and_add(&allocs, 1);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        __sync_fetch_and_add(&frees, 1);
        break;
    }
}

JNIEXPORT void JNICALL Java_Space_limit(JNIEnv *env, jclass type, jlong more) {
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    (void)env; (void)type;
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return;
    fclose(file);
    limit.rlim_cur = limit.rlim_max = pages * 4096 + (unsigned long)more;
    if (setrlimit(RLIMIT_AS, &limit))
        perror("setrlimit");
}

JNIEXPORT void JNICALL Java_Space_report(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    jvmpi->RunGC();
    printf("allocs=%ld\nfrees=%ld\n", allocs, frees);
    fflush(stdout);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) != JNI_OK)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_FREE, NULL);
    return JNI_OK;
}
