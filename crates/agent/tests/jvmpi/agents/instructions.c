/* Prints the instructions that a thread runs in methods of the class Path: method, offset, and what decides
   where it goes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static struct {
    jmethodID id;
    char name[64];
} methods[64];
static int method_count;
static long elsewhere;
static char *text;
static size_t length, room;

static void add(const char *more) {
    size_t needed = length + strlen(more) + 1;
    if (needed > room) {
        room = 2 * needed;
        text = realloc(text, room);
    }
    strcpy(text + length, more);
    length += strlen(more);
}

static void run(JVMPI_Event *event) {
    int i;
    char line[160];
    for (i = 0; i < method_count; i++) {
        if (methods[i].id != event->u.instruction.method_id)
            continue;
        sprintf(line, "%s:%d:%d,%d,%d ", methods[i].name, (int)event->u.instruction.offset,
                (int)event->u.instruction.u.tableswitch_info.key,
                (int)event->u.instruction.u.tableswitch_info.low,
                (int)event->u.instruction.u.tableswitch_info.hi);
        add(line);
        return;
    }
    elsewhere++;
}

static void notify(JVMPI_Event *event) {
    int i;
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        if (strcmp(event->u.class_load.class_name, "Path") != 0)
            break;
        for (i = 0; i < event->u.class_load.num_methods && method_count < 64; i++) {
            methods[method_count].id = event->u.class_load.methods[i].method_id;
            sprintf(methods[method_count].name, "%.60s", event->u.class_load.methods[i].method_name);
            method_count++;
        }
        break;
    case JVMPI_EVENT_INSTRUCTION_START:
        run(event);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        printf("path=%s\nelsewhere=%d\n", text == NULL ? "" : text, elsewhere > 1000);
        fflush(stdout);
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    printf("enabled=%d\n", (int)jvmpi->EnableEvent(JVMPI_EVENT_INSTRUCTION_START, NULL));
    return JNI_OK;
}
