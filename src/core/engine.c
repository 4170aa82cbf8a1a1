/*
 * engine.c: the communication table of a process that is alone, and engines found, loaded and let go; see
 * communication.h and engine.h.
 *
 * An engine NAME is the file nadir_engine_NAME.so: in the folder that NADIR_ENGINES names, beside the command
 * or library that is running, or where `make install` puts it.
 */
#include "core/engine.h"

#include "core/context.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static nadir_status alone_sum(void *self, nadir_context *context, int64_t count, double *values)
{
    (void)self, (void)context, (void)count, (void)values;
    return NADIR_OK;
}

static nadir_status alone_reduce(void *self, nadir_context *context, int64_t count,
                                 const nadir_reduction *operations, double *values)
{
    (void)self, (void)context, (void)count, (void)operations, (void)values;
    return NADIR_OK;
}

static void alone_reduce_few(void *self, int count, const nadir_reduction *operations, double *values)
{
    (void)self, (void)count, (void)operations, (void)values;
}

static nadir_status alone_maximum(void *self, nadir_context *context, int64_t count, nadir_indexed *values)
{
    (void)self, (void)context, (void)count, (void)values;
    return NADIR_OK;
}

static nadir_status alone_scan(void *self, nadir_context *context, int64_t count, double *values)
{
    (void)self, (void)context;
    memset(values, 0, (size_t)count * sizeof *values);
    return NADIR_OK;
}

/* Hoare's selection: afterwards values[rank] is in its sorted place, nothing greater before it and nothing
 * smaller after it, within [low, high]. The middle element as pivot keeps sorted input linear. */
static void select_rank(double *values, int64_t low, int64_t high, int64_t rank)
{
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        int64_t left = low;
        int64_t right = high;
        while (left <= right) {
            while (values[left] < pivot) {
                left++;
            }
            while (values[right] > pivot) {
                right--;
            }
            if (left <= right) {
                const double swap = values[left];
                values[left++] = values[right];
                values[right--] = swap;
            }
        }
        if (rank <= right) {
            high = right;
        } else if (rank >= left) {
            low = left;
        } else {
            return;
        }
    }
}

static nadir_status alone_order_statistics(void *self, nadir_context *context, int64_t count, double *values,
                                           int64_t wanted, const int64_t *ranks, double *results)
{
    (void)self;
    for (int64_t j = 0; j < wanted; j++) {
        if (ranks[j] < 0 || ranks[j] >= count) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT, "order statistic %lld of %lld values",
                              (long long)ranks[j], (long long)count);
        }
        select_rank(values, 0, count - 1, ranks[j]);
        results[j] = values[ranks[j]];
    }
    return NADIR_OK;
}

/* Whether a ranks below b: smaller, or equal and at a higher place. */
static bool below(nadir_indexed a, nadir_indexed b)
{
    return a.value < b.value || (a.value == b.value && a.place > b.place);
}

/* Restores the heap whose root, the lowest of `size` elements, was replaced. */
static void sift_down(nadir_indexed *heap, int64_t size, int64_t root)
{
    for (;;) {
        int64_t lowest = root;
        for (int64_t child = 2 * root + 1; child <= 2 * root + 2 && child < size; child++) {
            if (below(heap[child], heap[lowest])) {
                lowest = child;
            }
        }
        if (lowest == root) {
            return;
        }
        const nadir_indexed swap = heap[root];
        heap[root] = heap[lowest];
        heap[lowest] = swap;
        root = lowest;
    }
}

static nadir_status alone_top(void *self, nadir_context *context, int64_t count, nadir_indexed *values,
                              int64_t wanted, nadir_indexed *results, int64_t *found)
{
    (void)self, (void)context;
    const int64_t size = wanted < count ? wanted : count;
    memcpy(results, values, (size_t)size * sizeof *results);
    for (int64_t i = size / 2; i-- > 0;) {
        sift_down(results, size, i);
    }
    for (int64_t i = size; i < count && size > 0; i++) {
        if (below(results[0], values[i])) {
            results[0] = values[i];
            sift_down(results, size, 0);
        }
    }
    for (int64_t last = size - 1; last > 0; last--) { /* lowest to the end, so the largest comes first */
        const nadir_indexed swap = results[0];
        results[0] = results[last];
        results[last] = swap;
        sift_down(results, last, 0);
    }
    *found = size;
    return NADIR_OK;
}

static nadir_status alone_gather(void *self, nadir_context *context, int64_t count, const double *values,
                                 double *all)
{
    (void)self, (void)context;
    memmove(all, values, (size_t)count * sizeof *all);
    return NADIR_OK;
}

/* Nobody else owns anything: there is nothing to plan. */
static nadir_status alone_plan(void *self, nadir_context *context, int64_t first, int64_t count,
                               int64_t wanted, const int64_t *places, void **plan)
{
    (void)self, (void)first, (void)count;
    *plan = NULL;
    return wanted == 0 ? NADIR_OK
                       : nadir_fail(context, NADIR_ERROR_ARGUMENT, "place %lld is owned by no other process",
                                    (long long)places[0]);
}

static void alone_fetch(void *self, void *plan, const double *values, double *ghosts)
{
    (void)self, (void)plan, (void)values, (void)ghosts;
}

static void alone_add(void *self, void *plan, const double *ghosts, double *values)
{
    (void)self, (void)plan, (void)ghosts, (void)values;
}

static const double *alone_publish(void *self, void *plan, const double *values)
{
    (void)self, (void)plan, (void)values;
    return NULL;
}

static double *alone_buffer(void *self, void *plan)
{
    (void)self, (void)plan;
    return NULL;
}

static void alone_release(void *self, void *plan)
{
    (void)self, (void)plan;
}

const nadir_communication nadir_communication_alone = {
    .name = "alone",
    .rank = 0,
    .members = 1,
    .self = NULL,
    .sum = alone_sum,
    .reduce = alone_reduce,
    .reduce_few = alone_reduce_few,
    .maximum = alone_maximum,
    .scan = alone_scan,
    .order_statistics = alone_order_statistics,
    .top = alone_top,
    .gather = alone_gather,
    .collect = alone_gather,
    .plan = alone_plan,
    .fetch = alone_fetch,
    .add = alone_add,
    .publish = alone_publish,
    .buffer = alone_buffer,
    .release = alone_release,
};

#ifndef NADIR_ENGINE_FOLDER
#define NADIR_ENGINE_FOLDER "lib/nadir"
#endif

enum { PATH_LENGTH = 4096 };

struct nadir_engine {
    const nadir_engine_table *table;
    void *self;
    nadir_context *context;
};

/* The folder of the command or library that this code is in; "" when that cannot be told. */
static void own_folder(char folder[PATH_LENGTH])
{
    Dl_info facts;
    char resolved[PATH_LENGTH] = "";
    if (dladdr((const void *)&nadir_communication_alone, &facts) == 0 || facts.dli_fname == NULL ||
        realpath(facts.dli_fname, resolved) == NULL) {
        const ssize_t length = readlink("/proc/self/exe", resolved, sizeof resolved - 1);
        resolved[length > 0 ? length : 0] = '\0';
    }
    char *slash = strrchr(resolved, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    (void)snprintf(folder, PATH_LENGTH, "%s", resolved);
}

/* The first place where the engine's file is; false: none. */
static bool find_file(const char *name, char path[PATH_LENGTH])
{
    char folder[PATH_LENGTH];
    const char *named = getenv("NADIR_ENGINES"); /* NOLINT(concurrency-mt-unsafe): nothing here sets it */
    own_folder(folder);
    const struct {
        const char *folder;
        const char *below;
    } places[] = {{named, "/"}, {folder, "/"}, {folder, "/nadir/"}, {folder, "/../" NADIR_ENGINE_FOLDER "/"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].folder != NULL && *places[i].folder != '\0') {
            const int length = snprintf(path, PATH_LENGTH, "%s%snadir_engine_%s.so", places[i].folder,
                                        places[i].below, name);
            if (length > 0 && length < PATH_LENGTH && access(path, R_OK) == 0) {
                return true;
            }
        }
    }
    return false;
}

static nadir_status load(nadir_context *context, const char *name, const nadir_engine_table **table)
{
    char path[PATH_LENGTH];
    if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(name) || !find_file(name, path)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "there is no engine %.40s here: nadir_engine_%.40s.so was not found beside the "
                          "command, in its %s folder, or where NADIR_ENGINES says; it is built where its "
                          "libraries are found (docs/scaling.md, docs/gpu.md)",
                          name, name, NADIR_ENGINE_FOLDER);
    }
    /* What the engine's libraries load in turn looks for their symbols. */
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (object == NULL) {
        return nadir_fail(context, NADIR_ERROR_FILE, "the engine cannot be loaded: %s",
                          dlerror()); /* NOLINT(concurrency-mt-unsafe) */
    }
    const nadir_engine_table *found = dlsym(object, NADIR_ENGINE_SYMBOL);
    if (found == NULL || found->version != NADIR_ENGINE_VERSION) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "%s: version %d of an engine; expected %d: it was built with another nadir", path,
                          found != NULL ? found->version : 0, NADIR_ENGINE_VERSION);
    }
    *table = found;
    return NADIR_OK;
}

nadir_status nadir_engine_open(nadir_context *context, const char *name, const char *options,
                               bool share_threads, nadir_engine **engine)
{
    static const nadir_engine_host host = {nadir_fail, &nadir_communication_alone, nadir_progress};
    nadir_status status = NADIR_OK;
    nadir_engine *made = NULL;
    const nadir_communication *communication;
    NADIR_NEW_ZERO(context, made, 1);
    NADIR_CHECK(load(context, name, &made->table));
    NADIR_CHECK(
        made->table->start(&host, context, options != NULL ? options : "", &communication, &made->self));
    made->context = context;
    context->communication = communication;
    if (made->table->device == NULL) {
        context->engine = made->table;
        context->engine_self = made->self;
    } else {
        context->device = made->table->device;
        context->device_self = made->self;
    }
    if (share_threads) {
        const int32_t share = context->threads / made->table->neighbours(made->self);
        context->threads = share > 1 ? share : 1;
    }
    *engine = made;
    made = NULL;
cleanup:
    nadir_release(context, made);
    return status;
}

int32_t nadir_engine_rank(const nadir_engine *engine)
{
    return engine->context->communication->rank;
}

int32_t nadir_engine_members(const nadir_engine *engine)
{
    return engine->context->communication->members;
}

void nadir_engine_close(nadir_engine *engine, int exit_status, const char *sentence)
{
    if (engine != NULL) {
        nadir_context *context = engine->context;
        engine->table->finish(engine->self, exit_status, sentence != NULL ? sentence : "");
        context->communication = &nadir_communication_alone;
        context->engine = NULL;
        context->engine_self = NULL;
        context->device = NULL;
        context->device_self = NULL;
        nadir_release(context, engine);
    }
}
