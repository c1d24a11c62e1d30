/* A reader of heap dumps, made from the specification. It has nothing but CLASS_LOAD's data to decode
 * them with, and stops the program at the first thing that does not fit. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jvmpi.h>

typedef const unsigned char *Bytes;

/* A class by CLASS_LOAD. */
typedef struct {
    char *name;
    int interfaces, static_count, field_count, method_count;
    char **static_names, **field_names, **method_names;
    char *static_types, *field_types;
    jmethodID *methods;
} Class;

/* Values by pointer. */
typedef struct {
    size_t size, used;
    const void **keys, **values;
} Map;

/* A dump that is read. */
typedef struct {
    int level;
    Bytes begin, end;
    Map records; /* the records of objects by id */
    jint trace_count;
    JVMPI_CallTrace *traces;
    int is_shown;
    long counts[256];
} Dump;

static JVMPI_Interface *jvmpi;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Map classes; /* by id */

static void fail(const char *what) {
    printf("error=%s\n", what);
    fflush(stdout);
    abort();
}

static size_t map_place(const Map *map, const void *key) {
    size_t at = ((size_t)key >> 4) * 0x9e3779b97f4a7c15UL % map->size;
    while (map->keys[at] != NULL && map->keys[at] != key)
        at = (at + 1) % map->size;
    return at;
}

static const void *map_get(const Map *map, const void *key) {
    return map->size == 0 ? NULL : map->values[map_place(map, key)];
}

static void map_put(Map *map, const void *key, const void *value) {
    size_t at;
    if (map->used * 2 >= map->size) {
        Map bigger;
        bigger.size = map->size * 2 + 1023;
        bigger.used = 0;
        bigger.keys = calloc(bigger.size, sizeof(void *));
        bigger.values = calloc(bigger.size, sizeof(void *));
        for (at = 0; at < map->size; at++)
            if (map->keys[at] != NULL)
                map_put(&bigger, map->keys[at], map->values[at]);
        free(map->keys);
        free(map->values);
        *map = bigger;
    }
    at = map_place(map, key);
    map->used += map->keys[at] == NULL;
    map->keys[at] = key;
    map->values[at] = value;
}

static void map_free(Map *map) {
    free(map->keys);
    free(map->values);
    memset(map, 0, sizeof *map);
}

static const Class *class_of(jobjectID id) {
    const Class *found;
    pthread_mutex_lock(&lock);
    found = map_get(&classes, id);
    pthread_mutex_unlock(&lock);
    return found;
}

static void class_load(const JVMPI_Event *event) {
    int i;
    Class *class = calloc(1, sizeof *class);
    class->name = strdup(event->u.class_load.class_name);
    class->interfaces = event->u.class_load.num_interfaces;
    class->static_count = event->u.class_load.num_static_fields;
    class->field_count = event->u.class_load.num_instance_fields;
    class->method_count = event->u.class_load.num_methods;
    class->static_names = calloc(class->static_count + 1, sizeof(char *));
    class->static_types = calloc(class->static_count + 1, 1);
    class->field_names = calloc(class->field_count + 1, sizeof(char *));
    class->field_types = calloc(class->field_count + 1, 1);
    class->method_names = calloc(class->method_count + 1, sizeof(char *));
    class->methods = calloc(class->method_count + 1, sizeof(jmethodID));
    for (i = 0; i < class->static_count; i++) {
        class->static_names[i] = strdup(event->u.class_load.statics[i].field_name);
        class->static_types[i] = event->u.class_load.statics[i].field_signature[0];
    }
    for (i = 0; i < class->field_count; i++) {
        class->field_names[i] = strdup(event->u.class_load.instances[i].field_name);
        class->field_types[i] = event->u.class_load.instances[i].field_signature[0];
    }
    for (i = 0; i < class->method_count; i++) {
        class->method_names[i] = strdup(event->u.class_load.methods[i].method_name);
        class->methods[i] = event->u.class_load.methods[i].method_id;
    }
    pthread_mutex_lock(&lock);
    if (map_get(&classes, event->u.class_load.class_id) != NULL)
        fail("a second CLASS_LOAD");
    map_put(&classes, event->u.class_load.class_id, class);
    pthread_mutex_unlock(&lock);
}

/* Returns the name of a method as Class.method. */
static const char *method_name(jmethodID method) {
    static __thread char text[512];
    size_t at;
    int i;
    strcpy(text, "?");
    pthread_mutex_lock(&lock);
    for (at = 0; at < classes.size; at++) {
        const Class *class = classes.keys[at] == NULL ? NULL : classes.values[at];
        for (i = 0; class != NULL && i < class->method_count; i++)
            if (class->methods[i] == method)
                sprintf(text, "%.200s.%.200s", class->name, class->method_names[i]);
    }
    pthread_mutex_unlock(&lock);
    return text;
}

static unsigned long big_endian(Bytes at, int bytes) {
    unsigned long value = 0;
    while (bytes-- > 0)
        value = value << 8 | *at++;
    return value;
}

static void *word(Bytes at) {
    void *value;
    memcpy(&value, at, sizeof value);
    return value;
}

static int type_bytes(char type) {
    switch (type) {
    case 'Z': case 'B': case JVMPI_BOOLEAN: case JVMPI_BYTE:
        return 1;
    case 'C': case 'S': case JVMPI_CHAR: case JVMPI_SHORT:
        return 2;
    case 'I': case 'F': case JVMPI_INT: case JVMPI_FLOAT:
        return 4;
    case 'J': case 'D': case JVMPI_LONG: case JVMPI_DOUBLE:
        return 8;
    }
    fail("an unknown type");
    return 0;
}

static int value_bytes(const Dump *dump, char type) {
    if (type == 'L' || type == '[')
        return sizeof(void *);
    return dump->level == JVMPI_DUMP_LEVEL_1 ? 0 : type_bytes(type);
}

static void *record(const Dump *dump, jobjectID id) {
    return (void *)map_get(&dump->records, id);
}

static jobjectID super_of(const Dump *dump, jobjectID class) {
    Bytes it = record(dump, class);
    if (it == NULL || *it != JVMPI_GC_CLASS_DUMP)
        fail("a class without a record");
    return word(it + 9);
}

/* Returns the end of a record and checks what can be checked before all are known. */
static Bytes end_of(const Dump *dump, Bytes at) {
    const int word_bytes = sizeof(void *);
    const Class *class;
    int i;
    switch (*at) {
    case JVMPI_GC_ROOT_UNKNOWN:
    case JVMPI_GC_ROOT_STICKY_CLASS:
    case JVMPI_GC_ROOT_MONITOR_USED:
        return at + 1 + word_bytes;
    case JVMPI_GC_ROOT_JNI_GLOBAL:
    case JVMPI_GC_ROOT_NATIVE_STACK:
    case JVMPI_GC_ROOT_THREAD_BLOCK:
        return at + 1 + 2 * word_bytes;
    case JVMPI_GC_ROOT_JNI_LOCAL:
    case JVMPI_GC_ROOT_JAVA_FRAME:
        return at + 1 + 2 * word_bytes + 4;
    case JVMPI_GC_CLASS_DUMP:
        class = class_of(word(at + 1));
        if (class == NULL)
            fail("a class record without CLASS_LOAD");
        if (word(at + 1 + 6 * word_bytes) != NULL)
            fail("the reserved word");
        at += 1 + 7 * word_bytes + 4 + class->interfaces * word_bytes;
        at += 2 + big_endian(at, 2) * (2 + 1 + word_bytes);
        for (i = 0; i < class->static_count; i++)
            at += value_bytes(dump, class->static_types[i]);
        return at;
    case JVMPI_GC_INSTANCE_DUMP:
        return at + 1 + 2 * word_bytes + 4 + big_endian(at + 1 + 2 * word_bytes, 4);
    case JVMPI_GC_OBJ_ARRAY_DUMP:
        return at + 1 + 2 * word_bytes + 4 + big_endian(at + 1 + word_bytes, 4) * word_bytes;
    case JVMPI_GC_PRIM_ARRAY_DUMP:
        i = dump->level == JVMPI_DUMP_LEVEL_1 ? 0 : type_bytes(at[1 + word_bytes + 4]);
        return at + 1 + word_bytes + 4 + 1 + big_endian(at + 1 + word_bytes, 4) * i;
    }
    fail("an unknown record");
    return at;
}

static int is_object(Bytes at) {
    return *at >= JVMPI_GC_CLASS_DUMP && *at <= JVMPI_GC_PRIM_ARRAY_DUMP;
}

/* Checks that an id is NULL or has a record. */
static void check_id(const Dump *dump, jobjectID id, const char *what) {
    if (id != NULL && record(dump, id) == NULL)
        fail(what);
}

static const JVMPI_CallTrace *trace_of(const Dump *dump, void *env) {
    jint i;
    for (i = 0; i < dump->trace_count; i++)
        if (dump->traces[i].env_id == env)
            return &dump->traces[i];
    return NULL;
}

/* Calls a function for each value of an instance's record, or each static value of a class's. */
typedef void (*Visit)(Dump *dump, const Class *class, const char *name, char type, Bytes value,
                      void *data);

static void instance_values(Dump *dump, Bytes at, Visit visit, void *data) {
    jobjectID id = word(at + 9);
    Bytes value = at + 21, end = value + big_endian(at + 17, 4);
    int i;
    while (id != NULL) {
        const Class *class = class_of(id);
        if (class == NULL)
            fail("an instance of a class without CLASS_LOAD");
        for (i = 0; i < class->field_count; i++) {
            int bytes = value_bytes(dump, class->field_types[i]);
            if (bytes > 0)
                visit(dump, class, class->field_names[i], class->field_types[i], value, data);
            value += bytes;
        }
        id = super_of(dump, id);
    }
    if (value != end)
        fail("the length of an instance's values");
}

static void static_values(Dump *dump, Bytes at, Visit visit, void *data) {
    const Class *class = class_of(word(at + 1));
    Bytes value = at + 1 + 56 + 4 + class->interfaces * 8;
    int i;
    value += 2 + big_endian(value, 2) * 11;
    for (i = 0; i < class->static_count; i++) {
        int bytes = value_bytes(dump, class->static_types[i]);
        if (bytes > 0)
            visit(dump, class, class->static_names[i], class->static_types[i], value, data);
        value += bytes;
    }
}

static void check_value(Dump *dump, const Class *class, const char *name, char type, Bytes value,
                        void *data) {
    (void)data;
    (void)class;
    (void)name;
    if (type == 'L' || type == '[')
        check_id(dump, word(value), "a value refers to nothing");
}

struct find {
    const char *class, *name;
    Bytes value;
};

static void find_value(Dump *dump, const Class *class, const char *name, char type, Bytes value,
                       void *data) {
    struct find *find = data;
    (void)dump;
    (void)type;
    if (strcmp(class->name, find->class) == 0 && strcmp(name, find->name) == 0)
        find->value = value;
}

static Bytes field(Dump *dump, Bytes instance, const char *class, const char *name) {
    struct find find;
    find.class = class;
    find.name = name;
    find.value = NULL;
    instance_values(dump, instance, find_value, &find);
    return find.value;
}

/* Returns the text of a string's record. */
static const char *text_of(Dump *dump, Bytes string) {
    static __thread char text[4096];
    Bytes coder = field(dump, string, "java.lang.String", "coder");
    Bytes value = record(dump, word(field(dump, string, "java.lang.String", "value")));
    unsigned long i, count = big_endian(value + 9, 4), step = *coder == 0 ? 1 : 2, at = 0;
    if (value[0] != JVMPI_GC_PRIM_ARRAY_DUMP || value[13] != JVMPI_BYTE)
        fail("a string's value");
    for (i = 0; i + step <= count && at < sizeof text - 8; i += step) {
        unsigned c = value[14 + i];
        if (step == 2)
            c |= value[15 + i] << 8;
        at += sprintf(text + at, c < 127 ? "%c" : "<%x>", c);
    }
    text[at] = 0;
    return text;
}

/* Returns the name of a class, or of an array class whose instance of java.lang.Class has one. */
static const char *class_name(Dump *dump, jobjectID id) {
    const Class *class = class_of(id);
    Bytes mirror = record(dump, id), name;
    if (class != NULL)
        return class->name;
    if (mirror == NULL || *mirror != JVMPI_GC_INSTANCE_DUMP)
        fail("an element class");
    if (dump->level == JVMPI_DUMP_LEVEL_1)
        return "?";
    name = field(dump, mirror, "java.lang.Class", "name");
    return word(name) == NULL ? "?" : text_of(dump, record(dump, word(name)));
}
