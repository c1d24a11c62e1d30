/* Changes a constant in the class files of the program, and looks whether each class had the hook. Options:
 * "constant", "same", "null", "garbage", "length", "pointer", "empty", "static" or "count", which is what
 * becomes of the file; "random" puts random bytes into it, which are to have events of methods, too; "late"
 * numbers the changes, and enables METHOD_ENTRY once the class Late is loaded. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static const char *mode;
static long hooks, magic, hooks_at_init;
static JNIEnv *hook_env;
static int same_thread;
static jmethodID targets[2];
static int target_count, changes, target_entries;
static unsigned char file[65536];

#define NAMES 65536
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *names[NAMES];
static long unhooked, own;

/* Returns the place of a name in the table: it is there, or the place is free. */
static char **place(const char *name, int length) {
    unsigned long hash = 5381;
    int i;
    for (i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)(name[i] == '/' ? '.' : name[i]);
    for (;; hash++) {
        char **at = &names[hash % NAMES];
        if (*at == NULL || (strncmp(*at, name, length) == 0 && (*at)[length] == 0))
            return at;
    }
}

#define U2(at) ((at)[0] << 8 | (at)[1])

/* Enters the name that a class file has. */
static void enter(const unsigned char *data) {
    static const unsigned char *entries[65536];
    int count = U2(data + 8), i, length;
    const unsigned char *at = data + 10;
    char **name, *dot;
    for (i = 1; i < count; i++) {
        entries[i] = at;
        switch (*at) {
        case 1: at += 3 + U2(at + 1); break;
        case 5: case 6: at += 9; i++; break;
        case 7: case 8: case 16: case 19: case 20: at += 3; break;
        case 15: at += 4; break;
        default: at += 5;
        }
    }
    at = entries[U2(entries[U2(at + 2)] + 1)];
    length = U2(at + 1);
    dot = malloc(length + 1);
    for (i = 0; i < length; i++)
        dot[i] = at[3 + i] == '/' ? '.' : (char)at[3 + i];
    dot[length] = 0;
    own += strncmp(dot, "java.lang.Perk", 14) == 0;
    name = place(dot, length);
    if (*name == NULL)
        *name = dot;
}

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
    pthread_mutex_lock(&lock);
    enter(data);
    pthread_mutex_unlock(&lock);
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
    if (strcmp(mode, "random") == 0)
        for (at = 8; at < length; at++)
            changed[at] = (unsigned char)(rand() >> 8);
    if (strcmp(mode, "late") == 0)
        changed[at + 14] = (unsigned char)('0' + ++changes);
    event->u.class_load_hook.new_class_data = changed;
    if (strcmp(mode, "length") == 0)
        event->u.class_load_hook.new_class_data_len = 0x7fffffff;
    if (strcmp(mode, "negative") == 0)
        event->u.class_load_hook.new_class_data_len = -5;
    if (strcmp(mode, "empty") == 0)
        event->u.class_load_hook.new_class_data_len = 0;
    if (strcmp(mode, "pointer") == 0)
        event->u.class_load_hook.new_class_data = (unsigned char *)0x5555555555555550;
}

static void loaded(JVMPI_Event *event) {
    const char *name = event->u.class_load.class_name;
    int i;
    pthread_mutex_lock(&lock);
    /* A hidden class has no file. */
    if (strchr(name, '/') == NULL && *place(name, (int)strlen(name)) == NULL && unhooked++ < 3)
        printf("unhooked.class=%s\n", name);
    pthread_mutex_unlock(&lock);
    if (strcmp(name, "Hooked$Target") == 0)
        same_thread = event->env_id == hook_env;
    for (i = 0; i < event->u.class_load.num_methods && target_count < 2; i++)
        if (strcmp(event->u.class_load.methods[i].method_name, "hooked") == 0)
            targets[target_count++] = event->u.class_load.methods[i].method_id;
    if (strcmp(name, "HookedLate$Late") == 0)
        jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
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
        loaded(event);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        target_entries += event->u.method.method_id == targets[0] ||
                          event->u.method.method_id == targets[1];
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        printf("hooks=%ld\nhooks.init=%ld\nmagic=%ld\nsame.thread=%d\ntarget.entries=%d\n", hooks,
               hooks_at_init, magic, same_thread, target_entries);
        printf("unhooked=%ld\nown=%ld\n", unhooked, own);
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
    if (strcmp(mode, "random") == 0)
        jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
    return JNI_OK;
}
