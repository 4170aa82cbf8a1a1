/*
 * engine.c: engines found, loaded and let go; see engine.h.
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
