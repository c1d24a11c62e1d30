/* Calls Java, and functions of the interface, from handlers. The options are letters: "j" for calls of
   Java, "e" for one that recurses without end, "k" to keep the exception of that one, "f" for functions of
   the interface; "2" enables METHOD_ENTRY2, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jvmpi.h>

#define KINDS (JVMPI_MAX_EVENT_TYPE_VAL + 1)
#define CALLS 200
#define OVERFLOWS 3

static JVMPI_Interface *jvmpi;
static const char *letters;
static jclass callers;
static jmethodID helper, endless;
static volatile int is_armed;
static int events[KINDS], requested[KINDS], overflows, failures, refused;
static const int handlers[] = {
    JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT,
    JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START,
    JVMPI_EVENT_THREAD_END, JVMPI_EVENT_CLASS_LOAD_HOOK, JVMPI_EVENT_OBJECT_FREE,
    JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_MONITOR_WAIT,
    JVMPI_EVENT_MONITOR_WAITED, JVMPI_EVENT_JNI_GLOBALREF_ALLOC
};
#define HANDLERS ((int)(sizeof handlers / sizeof handlers[0]))

static int has(char letter) {
    return strchr(letters, letter) != NULL;
}

static int is_on(int kind) {
    return kind != JVMPI_EVENT_METHOD_ENTRY2 || has('2');
}

static void count(int *number) {
    __sync_fetch_and_add(number, 1);
}

static void call_java(JNIEnv *env, int number) {
    jclass found;
    jobject global;
    if ((*env)->PushLocalFrame(env, 8) != 0) {
        /* There is no stack for it. */
        (*env)->ExceptionClear(env);
        return;
    }
    found = (*env)->FindClass(env, "java/util/ArrayList");
    global = found == NULL ? NULL : (*env)->NewGlobalRef(env, found);
    if (global != NULL)
        (*env)->DeleteGlobalRef(env, global);
    if (!(*env)->ExceptionCheck(env))
        (*env)->CallStaticVoidMethod(env, callers, helper);
    if ((*env)->ExceptionCheck(env)) {
        count(&failures);
        (*env)->ExceptionClear(env);
    }
    if (has('e') && number <= OVERFLOWS) {
        (*env)->CallStaticVoidMethod(env, callers, endless);
        if ((*env)->ExceptionCheck(env))
            count(&overflows);
        if (!has('k'))
            (*env)->ExceptionClear(env);
    }
    (*env)->PopLocalFrame(env, NULL);
}

static void expect(jint answer) {
    if (answer != JVMPI_SUCCESS)
        count(&refused);
}

static void call_functions(JVMPI_Event *event, int kind, int number) {
    JNIEnv *env = event->env_id;
    jobjectID thread = jvmpi->GetThreadObject(env);
    JVMPI_CallFrame frames[4];
    JVMPI_CallTrace trace;
    trace.env_id = env;
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, 4);
    if (trace.num_frames > 0 &&
        jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, jvmpi->GetMethodClass(frames[0].method_id)) !=
            JVMPI_SUCCESS)
        count(&refused);
    if (kind != JVMPI_EVENT_THREAD_END)
        expect(jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, thread));
    expect(jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, thread));
    expect(jvmpi->DisableEvent(JVMPI_EVENT_MONITOR_WAIT, NULL));
    expect(jvmpi->EnableEvent(JVMPI_EVENT_MONITOR_WAIT, NULL));
    if (number == 1) {
        JVMPI_HeapDumpArg level;
        level.heap_dump_level = kind % 3;
        expect(jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level));
        expect(jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, thread));
        expect(jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL));
        expect(jvmpi->DisableEvent(kind, NULL));
        jvmpi->RunGC();
        expect(jvmpi->EnableEvent(kind, NULL));
    }
}

static void notify(JVMPI_Event *event) {
    int i, kind = event->event_type & ~JVMPI_REQUESTED_EVENT;
    if (event->event_type & JVMPI_REQUESTED_EVENT) {
        count(&requested[kind]);
        return;
    }
    if (is_armed) {
        int number = __sync_add_and_fetch(&events[kind], 1);
        for (i = 0; i < HANDLERS && number <= CALLS; i++)
            if (handlers[i] == kind) {
                if (has('j'))
                    call_java(event->env_id, number);
                if (has('f'))
                    call_functions(event, kind, number);
            }
    }
    if (kind == JVMPI_EVENT_JVM_SHUT_DOWN) {
        int silent = 0;
        for (i = 0; i < HANDLERS; i++)
            silent += is_on(handlers[i]) && events[handlers[i]] == 0;
        printf("silent=%d\noverflows=%d\nfailures=%d\nrefused=%d\n", silent, overflows, failures,
               refused);
        printf("dumps=%d,%d,%d\n", requested[JVMPI_EVENT_HEAP_DUMP] > 0,
               requested[JVMPI_EVENT_OBJECT_DUMP] > 0, requested[JVMPI_EVENT_MONITOR_DUMP] > 0);
        fflush(stdout);
    }
}

/* What the program calls. */

JNIEXPORT void JNICALL Java_Callers_arm(JNIEnv *env, jclass type) {
    callers = (*env)->NewGlobalRef(env, type);
    helper = (*env)->GetStaticMethodID(env, type, "helper", "()V");
    endless = (*env)->GetStaticMethodID(env, type, "endless", "()V");
    is_armed = 1;
}

JNIEXPORT void JNICALL Java_Callers_natives(JNIEnv *env, jclass type, jobject object) {
    (void)type;
    (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, object));
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    static char all[16];
    int i;
    (void)reserved;
    letters = strncpy(all, options, sizeof all - 1);
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    for (i = 0; i < HANDLERS; i++)
        if (is_on(handlers[i]))
            jvmpi->EnableEvent(handlers[i], NULL);
    return JNI_OK;
}
