/* Looks at the stack in the handlers of a method's entry and exit. */
#include "known.h"

static void append_trace(JNIEnv *env, char *text) {
    JVMPI_CallFrame frames[3];
    JVMPI_CallTrace trace;
    int i;
    trace.env_id = env;
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, 3);
    for (i = 0; i < trace.num_frames; i++)
        sprintf(text + strlen(text), "%s%s:%d", i == 0 ? "" : ",", method_name(frames[i].method_id),
                (int)frames[i].lineno);
}

static void notify(JVMPI_Event *event) {
    char text[1024] = "";
    know(event);
    if (event->event_type != JVMPI_EVENT_METHOD_ENTRY && event->event_type != JVMPI_EVENT_METHOD_EXIT)
        return;
    if (strcmp(method_name(event->u.method.method_id), "Traced.target") != 0)
        return;
    append_trace(event->env_id, text);
    printf("%s=%s\n", event->event_type == JVMPI_EVENT_METHOD_ENTRY ? "entry" : "exit", text);
}

JNIEXPORT void JNICALL Java_Traced_probe(JNIEnv *env, jclass type, jboolean on) {
    (void)env; (void)type;
    (on ? jvmpi->EnableEvent : jvmpi->DisableEvent)(JVMPI_EVENT_METHOD_ENTRY, NULL);
    (on ? jvmpi->EnableEvent : jvmpi->DisableEvent)(JVMPI_EVENT_METHOD_EXIT, NULL);
}

JNIEXPORT jstring JNICALL Java_Traced_trace(JNIEnv *env, jclass type) {
    char text[1024] = "";
    (void)type;
    append_trace(env, text);
    return (*env)->NewStringUTF(env, text);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    return begin(vm, notify);
}
