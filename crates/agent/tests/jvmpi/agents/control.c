/* Lets the program control threads and look at their stacks, by native methods. */
#include "known.h"

#define ENV(it) ((JNIEnv *)(size_t)(it))

JNIEXPORT jlong JNICALL Java_Control_env(JNIEnv *env, jclass type) {
    (void)type;
    return (jlong)(size_t)env;
}

JNIEXPORT jlong JNICALL Java_Control_cpuNs(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    return jvmpi->GetCurrentThreadCpuTime();
}

JNIEXPORT jint JNICALL Java_Control_status(JNIEnv *env, jclass type, jlong thread) {
    (void)env; (void)type;
    return jvmpi->GetThreadStatus(ENV(thread));
}

JNIEXPORT void JNICALL Java_Control_suspend(JNIEnv *env, jclass type, jlong thread) {
    (void)env; (void)type;
    jvmpi->SuspendThread(ENV(thread));
}

JNIEXPORT void JNICALL Java_Control_resume(JNIEnv *env, jclass type, jlong thread) {
    (void)env; (void)type;
    jvmpi->ResumeThread(ENV(thread));
}

JNIEXPORT jboolean JNICALL Java_Control_hasRun(JNIEnv *env, jclass type, jlong thread) {
    (void)env; (void)type;
    return jvmpi->ThreadHasRun(ENV(thread));
}

static jstring list(JNIEnv *env, jlongArray given, void (*function)(jint, JNIEnv **, jint *)) {
    jint count = (*env)->GetArrayLength(env, given), results[16], i;
    JNIEnv *envs[16];
    jlong values[16];
    char text[64] = "";
    (*env)->GetLongArrayRegion(env, given, 0, count, values);
    for (i = 0; i < count; i++) {
        envs[i] = ENV(values[i]);
        results[i] = 77;
    }
    function(count, envs, results);
    for (i = 0; i < count; i++)
        strcat(text, results[i] == 0 ? "0" : results[i] == 77 ? "?" : "1");
    return (*env)->NewStringUTF(env, text);
}

JNIEXPORT jstring JNICALL Java_Control_suspendAll(JNIEnv *env, jclass type, jlongArray given) {
    (void)type;
    return list(env, given, jvmpi->SuspendThreadList);
}

JNIEXPORT jstring JNICALL Java_Control_resumeAll(JNIEnv *env, jclass type, jlongArray given) {
    (void)type;
    return list(env, given, jvmpi->ResumeThreadList);
}

/* Returns a stack as name:line,name:line. */
JNIEXPORT jstring JNICALL Java_Control_trace(JNIEnv *env, jclass type, jlong thread, jint depth) {
    JVMPI_CallFrame frames[64];
    JVMPI_CallTrace trace;
    char text[8192] = "";
    int i;
    (void)type;
    trace.env_id = ENV(thread);
    trace.num_frames = 77;
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, depth);
    for (i = 0; i < trace.num_frames; i++)
        sprintf(text + strlen(text), "%s%s:%d", i == 0 ? "" : ",", method_name(frames[i].method_id),
                (int)frames[i].lineno);
    return (*env)->NewStringUTF(env, text);
}

static void nothing(void *argument) {
    printf("started=%d\n", argument == NULL);
}

/* Calls the functions with arguments that mean nothing. */
JNIEXPORT void JNICALL Java_Control_misuse(JNIEnv *env, jclass type) {
    JVMPI_CallFrame frame;
    JVMPI_CallTrace trace;
    JNIEnv *bad[4];
    jint results[4], i;
    (void)type;
    bad[0] = NULL;
    bad[1] = (JNIEnv *)1;
    bad[2] = (JNIEnv *)&trace;
    bad[3] = (JNIEnv *)-1;
    for (i = 0; i < 4; i++) {
        jvmpi->SuspendThread(bad[i]);
        jvmpi->ResumeThread(bad[i]);
        printf("bad.status=%d\n", (int)jvmpi->GetThreadStatus(bad[i]));
        printf("bad.run=%d\n", (int)jvmpi->ThreadHasRun(bad[i]));
        trace.env_id = bad[i];
        trace.num_frames = 77;
        trace.frames = &frame;
        jvmpi->GetCallTrace(&trace, 1);
        printf("bad.frames=%d\n", (int)trace.num_frames);
        jvmpi->SetThreadLocalStorage(bad[i], &trace);
        printf("bad.storage=%d\n", jvmpi->GetThreadLocalStorage(bad[i]) != NULL);
    }
    jvmpi->GetCallTrace(NULL, 1);
    trace.env_id = env;
    trace.num_frames = 77;
    trace.frames = NULL;
    jvmpi->GetCallTrace(&trace, 1);
    printf("no.frames=%d\n", (int)trace.num_frames);
    trace.num_frames = 77;
    trace.frames = &frame;
    jvmpi->GetCallTrace(&trace, -1);
    printf("no.depth=%d\n", (int)trace.num_frames);
    jvmpi->SuspendThreadList(4, NULL, results);
    jvmpi->SuspendThreadList(4, bad, NULL);
    jvmpi->SuspendThreadList(-1, bad, results);
    jvmpi->ResumeThreadList(0, NULL, NULL);
    printf("no.function=%d\n", (int)jvmpi->CreateSystemThread("x", JVMPI_NORMAL_PRIORITY, NULL));
    printf("no.priority=%d\n", (int)jvmpi->CreateSystemThread("x", 77, nothing));
    printf("no.name=%d\n", (int)jvmpi->CreateSystemThread(NULL, JVMPI_MINIMUM_PRIORITY, nothing));
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    if (begin(vm, NULL) != JNI_OK)
        return JNI_ERR;
    printf("too.early=%d\n", (int)jvmpi->CreateSystemThread("x", JVMPI_NORMAL_PRIORITY, nothing));
    return JNI_OK;
}
