/* context.c: the context: memory, errors, messages, progress, threads; see context.h and memory.h. */
#include "core/context.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_INTERVAL 0.1 /* seconds */

/* Before each block: its size, in a space that keeps the alignment of malloc. */
#define HEADER 16

/* Blocks of this size or more are aligned to huge pages. */
#define HUGE_PAGE ((size_t)1 << 21)

struct nadir_memory {
    atomic_size_t references;
    atomic_size_t used;
    atomic_size_t peak;
    size_t limit;
    nadir_allocator hooks;
};

/* Asks the system for huge pages within [raw, raw + bytes). A product with a sparse matrix reads a long
 * vector in random order: with pages of 4 kB most of these reads also miss the TLB (a million states: 3.4
 * instead of 2.0 ns for each entry). */
static void prefer_huge_pages(void *raw, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t first = ((uintptr_t)raw + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    const uintptr_t end = ((uintptr_t)raw + bytes) / HUGE_PAGE * HUGE_PAGE;
    if (raw != NULL && first < end) {
        (void)madvise((char *)raw + (first - (uintptr_t)raw), end - first, MADV_HUGEPAGE);
    }
#else
    (void)raw;
    (void)bytes;
#endif
}

static void *default_allocate(void *user, size_t bytes)
{
    (void)user;
    if (bytes < HUGE_PAGE) {
        return malloc(bytes);
    }
    void *raw = NULL;
    if (posix_memalign(&raw, HUGE_PAGE, bytes) != 0) {
        return NULL;
    }
    prefer_huge_pages(raw, bytes);
    return raw;
}

static void *default_reallocate(void *user, void *pointer, size_t bytes)
{
    (void)user;
    void *raw = realloc(pointer, bytes);
    prefer_huge_pages(raw, bytes);
    return raw;
}

static void default_release(void *user, void *pointer)
{
    (void)user;
    free(pointer);
}

static size_t machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) {
        return SIZE_MAX;
    }
    return (size_t)pages * (size_t)page;
}

/* limit 0: the memory of the machine. NULL when the hooks have none to give. */
static nadir_memory *create_memory(const nadir_allocator *hooks, size_t limit)
{
    nadir_allocator use = {default_allocate, default_reallocate, default_release, NULL};
    if (hooks != NULL && hooks->allocate != NULL) {
        use = *hooks;
    }
    nadir_memory *memory = use.allocate(use.user, sizeof *memory);
    if (memory == NULL) {
        return NULL;
    }
    atomic_init(&memory->references, 1);
    atomic_init(&memory->used, 0);
    atomic_init(&memory->peak, 0);
    memory->limit = limit != 0 ? limit : machine_memory();
    memory->hooks = use;
    return memory;
}

nadir_memory *nadir_memory_retain(nadir_memory *memory)
{
    atomic_fetch_add(&memory->references, 1);
    return memory;
}

void nadir_memory_free(nadir_memory *memory)
{
    if (memory != NULL && atomic_fetch_sub(&memory->references, 1) == 1) {
        const nadir_allocator hooks = memory->hooks;
        hooks.release(hooks.user, memory);
    }
}

/* Books `bytes` more; false when the limit forbids it. */
static bool book(nadir_memory *memory, size_t bytes)
{
    size_t used = atomic_load(&memory->used);
    do {
        if (bytes > memory->limit || used > memory->limit - bytes) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&memory->used, &used, used + bytes));
    used += bytes;
    size_t peak = atomic_load(&memory->peak);
    while (peak < used && !atomic_compare_exchange_weak(&memory->peak, &peak, used)) {
    }
    return true;
}

static void unbook(nadir_memory *memory, size_t bytes)
{
    atomic_fetch_sub(&memory->used, bytes);
}

/* The size of a block with its header; false: it overflows. */
static bool total(size_t count, size_t size, size_t *bytes)
{
    if (size != 0 && count > (SIZE_MAX - HEADER) / size) {
        return false;
    }
    *bytes = count * size + HEADER;
    return true;
}

static size_t block_bytes(const void *block)
{
    size_t bytes;
    memcpy(&bytes, (const char *)block - HEADER, sizeof bytes);
    return bytes;
}

static void *sign(void *raw, size_t bytes)
{
    memcpy(raw, &bytes, sizeof bytes);
    return (char *)raw + HEADER;
}

void *nadir_memory_get(nadir_memory *memory, size_t count, size_t size)
{
    size_t bytes;
    if (!total(count, size, &bytes) || !book(memory, bytes)) {
        return NULL;
    }
    void *raw = memory->hooks.allocate(memory->hooks.user, bytes);
    if (raw == NULL) {
        unbook(memory, bytes);
        return NULL;
    }
    return sign(raw, bytes);
}

/* Grows or shrinks a block (NULL: a new one); on failure returns NULL and leaves the block as it was. */
static void *resize(nadir_memory *memory, void *block, size_t count, size_t size)
{
    if (block == NULL) {
        return nadir_memory_get(memory, count, size);
    }
    const size_t before = block_bytes(block);
    size_t bytes;
    if (!total(count, size, &bytes)) {
        return NULL;
    }
    if (bytes > before && !book(memory, bytes - before)) {
        return NULL;
    }
    void *raw = memory->hooks.reallocate(memory->hooks.user, (char *)block - HEADER, bytes);
    if (raw == NULL) {
        if (bytes > before) {
            unbook(memory, bytes - before);
        }
        return NULL;
    }
    if (bytes < before) {
        unbook(memory, before - bytes);
    }
    return sign(raw, bytes);
}

void nadir_memory_release(nadir_memory *memory, void *block)
{
    if (block != NULL) {
        unbook(memory, block_bytes(block));
        memory->hooks.release(memory->hooks.user, (char *)block - HEADER);
    }
}

void nadir_memory_release_all(nadir_memory *memory, size_t count, void *const *blocks)
{
    for (size_t i = 0; i < count; i++) {
        nadir_memory_release(memory, blocks[i]);
    }
}

bool nadir_memory_is_hooked(const nadir_memory *memory)
{
    return memory->hooks.allocate != default_allocate;
}

size_t nadir_memory_used(const nadir_memory *memory)
{
    return atomic_load(&memory->used);
}

size_t nadir_memory_limit(const nadir_memory *memory)
{
    return memory->limit;
}

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
    nadir_memory *memory = create_memory(hooks, use.memory_limit);
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
    made->progress_whole = -1;
    made->until = INFINITY;
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
    return atomic_load(&context->memory->peak);
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
    if (!context->interrupted) {
        const double now = nadir_clock_seconds();
        if (now - context->progress_time < PROGRESS_INTERVAL) {
            return NADIR_OK;
        }
        context->progress_time = now;
        const bool news = *context->progress_news != '\0';
        const double told = context->progress_whole >= 0 ? context->progress_whole
                            : news                       ? context->progress_share
                                                         : share;
        context->interrupted =
            context->progress(context->progress_user, news ? context->progress_news : task, told) != 0;
    }
    return !context->keeps && nadir_interrupt_take(context)
               ? nadir_fail(context, NADIR_ERROR_INTERRUPTED, "interrupted while %s", task)
               : NADIR_OK;
}

void nadir_progress_news(nadir_context *context, const char *text, double share)
{
    (void)snprintf(context->progress_news, sizeof context->progress_news, "%s", text != NULL ? text : "");
    context->progress_share = share;
}

void nadir_progress_estimate(nadir_context *context, const char *task, double begun, double share)
{
    const double timed = 1; /* seconds that tell a pace */
    const double long_time = 10;
    const double taken = nadir_clock_seconds() - begun;
    char text[sizeof context->progress_news];
    if (!(taken >= timed && share > 0 && share <= 1)) {
        return;
    }
    const double left = taken * (1 - share) / share;
    if (left >= long_time && context->estimated != task) {
        nadir_log(context, NADIR_LOG_NOTICE, "%s: about %.0f s more", task, left);
        context->estimated = task;
    }
    (void)snprintf(text, sizeof text, "%s: about %.0f s left", task, ceil(left));
    nadir_progress_news(context, text, share);
}

void nadir_deadline_set(nadir_context *context, double until)
{
    context->until = until;
    context->keeps = true;
}

void nadir_deadline_clear(nadir_context *context)
{
    context->until = INFINITY;
    context->keeps = false;
}

bool nadir_time_is_up(const nadir_context *context)
{
    return context->keeps && (context->interrupted || nadir_clock_seconds() >= context->until);
}

bool nadir_interrupt_take(nadir_context *context)
{
    const bool interrupted = context->interrupted;
    context->interrupted = false;
    return interrupted;
}

void nadir_progress_whole(nadir_context *context, double share)
{
    context->progress_whole = share;
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
    void *moved = resize(context->memory, block, count, size);
    return moved != NULL ? moved : no_memory(context, count, size);
}

void nadir_release(nadir_context *context, void *block)
{
    nadir_memory_release(context->memory, block);
}

void nadir_numbers_free(nadir_context *context, double *numbers)
{
    nadir_release(context, numbers);
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

const char *nadir_stop_name(nadir_stop stop)
{
    static const char *const names[] = {
        [NADIR_STOP_NONE] = NULL,
        [NADIR_STOP_TOLERANCE] = "tolerance",
        [NADIR_STOP_STABLE] = "stable",
        [NADIR_STOP_STALLED] = "stalled",
        [NADIR_STOP_SLOW] = "slow",
        [NADIR_STOP_ITERATIONS] = "iterations",
        [NADIR_STOP_SOLVED] = "solved",
        [NADIR_STOP_GAP] = "gap",
        [NADIR_STOP_STATIONARY] = "stationary",
        [NADIR_STOP_EVALUATIONS] = "evaluations",
        [NADIR_STOP_TIME] = "time",
        [NADIR_STOP_SAMPLES] = "samples",
        [NADIR_STOP_FAILED] = "failed",
        [NADIR_STOP_INTERRUPTED] = "interrupted",
        [NADIR_STOP_BREAKDOWN] = "breakdown",
        [NADIR_STOP_DOMAIN] = "domain",
    };
    return names[stop];
}
