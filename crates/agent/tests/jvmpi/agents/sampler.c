/* Samples the program's threads from a thread of its own, as profilers of the time did. */
#include "known.h"
#include <unistd.h>

static volatile int is_over;
static int counts[3], starts, ends, samples;

static void sample(JNIEnv *env) {
    JVMPI_CallFrame frames[16];
    JVMPI_CallTrace trace;
    int i;
    trace.env_id = env;
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, 16);
    for (i = 0; i < trace.num_frames; i++) {
        const char *name = method_name(frames[i].method_id);
        if (strcmp(name, "Shares.first") == 0) {
            counts[0]++;
            return;
        }
        if (strcmp(name, "Shares.second") == 0) {
            counts[1]++;
            return;
        }
    }
    counts[2]++;
}

static void run(void *argument) {
    JNIEnv *own = NULL, *envs[MOST_THREADS];
    int i, count, has_run = 0;
    printf("argument=%d\n", argument == NULL);
    while (!is_over) {
        usleep(2000);
        pthread_mutex_lock(&known_lock);
        count = thread_count;
        for (i = 0; i < count; i++) {
            envs[i] = threads[i].env;
            if (strcmp(threads[i].name, "sampler") == 0)
                own = envs[i];
        }
        pthread_mutex_unlock(&known_lock);
        jvmpi->DisableGC();
        for (i = 0; i < count; i++)
            if (envs[i] != own)
                jvmpi->SuspendThread(envs[i]);
        for (i = 0; i < count; i++)
            if (envs[i] != own && jvmpi->ThreadHasRun(envs[i])) {
                has_run++;
                if (strcmp(thread_name(envs[i]), "main") == 0)
                    sample(envs[i]);
            }
        for (i = 0; i < count; i++)
            if (envs[i] != own)
                jvmpi->ResumeThread(envs[i]);
        jvmpi->EnableGC();
        samples++;
    }
}

static void notify(JVMPI_Event *event) {
    know(event);
    switch (event->event_type) {
    case JVMPI_EVENT_THREAD_START:
        if (strcmp(event->u.thread_start.thread_name, "sampler") == 0) {
            printf("own.event=%d\n", event->env_id == event->u.thread_start.thread_env_id);
            starts++;
        }
        break;
    case JVMPI_EVENT_THREAD_END:
        ends++;
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        printf("created=%d\n", (int)jvmpi->CreateSystemThread("sampler", JVMPI_MAXIMUM_PRIORITY, run));
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        is_over = 1;
        printf("starts=%d\nfirst=%d\nsecond=%d\nother=%d\nsamples=%d\n", starts, counts[0],
               counts[1], counts[2], samples);
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    return begin(vm, notify);
}
