/* context.c: the context: memory, errors, messages, progress, threads; see context.h. */
#include "core/context.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PROGRESS_INTERVAL 0.1 /* seconds */

const char *nadir_version(void)
{
#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
    return TEXT(NADIR_VERSION_MAJOR) "." TEXT(NADIR_VERSION_MINOR) "." TEXT(NADIR_VERSION_PATCH);
#undef TEXT
#undef TEXT_OF
}

const char *nadir_status_name(nadir_status status)
{
    switch (status) {
#define CASE(name, code, sentence)                                                                           \
    case name:                                                                                               \
        return #name;
        NADIR_STATUS_LIST(CASE)
#undef CASE
    }
    return "NADIR_ERROR_UNKNOWN";
}

const char *nadir_status_sentence(nadir_status status)
{
    switch (status) {
#define CASE(name, code, sentence)                                                                           \
    case name:                                                                                               \
        return sentence;
        NADIR_STATUS_LIST(CASE)
#undef CASE
    }
    return "unknown status";
}

static int32_t available_processors(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    const int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

void nadir_context_settings_fill(nadir_context_settings *settings, size_t size)
{
    nadir_context_settings made = {0};
    nadir_settings_give(settings, size, &made, sizeof made);
}

nadir_status nadir_context_create(const nadir_context_settings *settings, nadir_context **context)
{
    nadir_context_settings use;
    nadir_context_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return NADIR_ERROR_ARGUMENT;
    }
    const nadir_allocator *hooks = &use.allocator;
    const int given = (hooks->allocate != NULL) + (hooks->reallocate != NULL) + (hooks->release != NULL);
    if (use.threads < 0 || (given != 0 && given != 3)) {
        return NADIR_ERROR_ARGUMENT;
    }
    nadir_memory *memory = nadir_memory_create(hooks, use.memory_limit);
    if (memory == NULL) {
        return NADIR_ERROR_MEMORY;
    }
    nadir_context *made = nadir_memory_get(memory, 1, sizeof *made);
    if (made == NULL) {
        nadir_memory_free(memory);
        return NADIR_ERROR_MEMORY;
    }
    memset(made, 0, sizeof *made);
    made->memory = memory;
    made->log = use.log;
    made->log_user = use.log_user;
    made->progress = use.progress;
    made->progress_user = use.progress_user;
    made->progress_time = -INFINITY;
    nadir_random_seed(&made->random, use.seed);
    made->threads = use.threads > 0 ? use.threads : available_processors();
    made->communication = &nadir_communication_alone;
    *context = made;
    return NADIR_OK;
}

void nadir_context_free(nadir_context *context)
{
    if (context != NULL) {
        nadir_memory *memory = context->memory;
        nadir_memory_release(memory, context);
        nadir_memory_free(memory);
    }
}

const char *nadir_context_error(const nadir_context *context)
{
    return context->error;
}

int32_t nadir_context_threads(const nadir_context *context)
{
    return context->threads;
}

size_t nadir_context_memory(const nadir_context *context)
{
    return nadir_memory_used(context->memory);
}

size_t nadir_context_memory_peak(const nadir_context *context)
{
    return nadir_memory_peak(context->memory);
}

/* A message is one line and moves no cursor, whatever the names in it hold. */
static void put_message(char text[NADIR_ERROR_LENGTH], const char *format, va_list arguments)
{
    vsnprintf(text, NADIR_ERROR_LENGTH, format, arguments);
    for (char *character = text; *character != '\0'; character++) {
        if ((unsigned char)*character < ' ' || *character == 0x7f) {
            *character = '?';
        }
    }
}

nadir_status nadir_fail(nadir_context *context, nadir_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_message(context->error, format, arguments);
    va_end(arguments);
    return status;
}

void nadir_log(nadir_context *context, nadir_log_level level, const char *format, ...)
{
    if (context->log == NULL) {
        return;
    }
    char message[NADIR_ERROR_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    put_message(message, format, arguments);
    va_end(arguments);
    context->log(context->log_user, level, message);
}

double nadir_clock_seconds(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* every system that nadir is built on has this clock */
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

nadir_status nadir_progress(nadir_context *context, const char *task, double share)
{
    if (context->progress == NULL) {
        return NADIR_OK;
    }
    const double now = nadir_clock_seconds();
    if (now - context->progress_time < PROGRESS_INTERVAL) {
        return NADIR_OK;
    }
    context->progress_time = now;
    if (context->progress(context->progress_user, task, share) != 0) {
        return nadir_fail(context, NADIR_ERROR_INTERRUPTED, "interrupted while %s", task);
    }
    return NADIR_OK;
}

static void *no_memory(nadir_context *context, size_t count, size_t size)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    nadir_fail(context, NADIR_ERROR_MEMORY,
               "out of memory: %.4g GiB more were needed, %.4g GiB are in use, the limit is %.4g GiB",
               (double)count * (double)size / gib, (double)nadir_memory_used(context->memory) / gib,
               (double)nadir_memory_limit(context->memory) / gib);
    return NULL;
}

void *nadir_allocate(nadir_context *context, size_t count, size_t size)
{
    void *block = nadir_memory_get(context->memory, count, size);
    return block != NULL ? block : no_memory(context, count, size);
}

void *nadir_allocate_zero(nadir_context *context, size_t count, size_t size)
{
    void *block = nadir_allocate(context, count, size);
    if (block != NULL) {
        memset(block, 0, count * size);
    }
    return block;
}

void *nadir_reallocate(nadir_context *context, void *block, size_t count, size_t size)
{
    void *moved = nadir_memory_resize(context->memory, block, count, size);
    return moved != NULL ? moved : no_memory(context, count, size);
}

void nadir_release(nadir_context *context, void *block)
{
    nadir_memory_release(context->memory, block);
}

size_t nadir_grown_capacity(size_t capacity, size_t need)
{
    size_t grown = capacity + capacity / 2;
    if (grown < need) {
        grown = need;
    }
    return grown < 16 ? 16 : grown;
}

void nadir_settings_give(void *into, size_t size, const void *from, size_t known)
{
    const size_t given = size < known ? size : known;
    memcpy(into, from, given);
    memcpy(into, &given, sizeof given);
}

bool nadir_settings_copy(void *into, size_t known, const void *from)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > known) {
        return false;
    }
    memcpy(into, from, size);
    memcpy(into, &known, sizeof known);
    return true;
}

bool nadir_result_copy(void *into, const void *found, size_t known)
{
    size_t size;
    memcpy(&size, into, sizeof size);
    if (size < sizeof size) {
        return false;
    }
    nadir_settings_give(into, size, found, known);
    return true;
}
