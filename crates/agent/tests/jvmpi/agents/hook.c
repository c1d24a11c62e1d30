/* Changes a constant in the class files of the program. Options: "constant", "same", "null",
 * "garbage", "length", "static" or "count", which is what becomes of the file. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static const char *mode;
static long hooks, magic, hooks_at_init;
static JNIEnv *hook_env;
static int same_thread;
static unsigned char file[65536];

static int has(const unsigned char *data, int length, const char *text) {
    int size = (int)strlen(text), i;
    for (i = 0; i + size <= length; i++)
        if (memcmp(data + i, text, size) == 0)
            return i;
    return -1;
}

static void hook(JVMPI_Event *event) {
    const unsigned char *data = event->u.class_load_hook.class_data;
    int length = event->u.class_load_hook.class_data_len;
    int at = has(data, length, "before the hook");
    unsigned char *changed;
    hooks++;
    magic += length > 4 && data[0] == 0xca && data[1] == 0xfe;
    event->u.class_load_hook.new_class_data = event->u.class_load_hook.class_data;
    event->u.class_load_hook.new_class_data_len = length;
    if (at < 0)
        return;
    hook_env = event->env_id;
    if (strcmp(mode, "same") == 0 || strcmp(mode, "count") == 0)
        return;
    if (strcmp(mode, "null") == 0) {
        event->u.class_load_hook.new_class_data = NULL;
        event->u.class_load_hook.new_class_data_len = 0;
        return;
    }
    if (strcmp(mode, "static") == 0)
        changed = file;
    else
        changed = event->u.class_load_hook.malloc_f((unsigned)length);
    memcpy(changed, data, length);
    memcpy(changed + at, "after the hook!", 15);
    if (strcmp(mode, "garbage") == 0)
        memset(changed, 0x5a, length);
    event->u.class_load_hook.new_class_data = changed;
    if (strcmp(mode, "length") == 0)
        event->u.class_load_hook.new_class_data_len = 0x7fffffff;
    if (strcmp(mode, "negative") == 0)
        event->u.class_load_hook.new_class_data_len = -5;
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_JVM_INIT_DONE:
        hooks_at_init = hooks;
        break;
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        hook(event);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        if (strcmp(event->u.class_load.class_name, "Hooked$Target") == 0)
            same_thread = event->env_id == hook_env;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        printf("hooks=%ld\nhooks.init=%ld\nmagic=%ld\nsame.thread=%d\n", hooks,
               hooks_at_init, magic, same_thread);
        fflush(stdout);
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    mode = options == NULL ? "" : strdup(options);
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD_HOOK, NULL);
    return JNI_OK;
}
