/*
 * fuzz.c: contexts, files and models for the fuzz targets.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 16, PATH_LENGTH = 256 };

/* Files of this process, one for each ending. */
static struct {
    char path[PATH_LENGTH];
    char ending[32];
} files[FILES];

static void remove_files(void)
{
    for (int i = 0; i < FILES && files[i].ending[0] != '\0'; i++) {
        unlink(files[i].path);
    }
}

void fuzz_fail(const char *what)
{
    fprintf(stderr, "fuzz: does not hold: %s\n", what);
    abort();
}

nadir_context *fuzz_context(void)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.memory_limit = (size_t)256 << 20;
    settings.threads = 1;
    nadir_context *context = NULL;
    fuzz_require(nadir_context_create(&settings, &context) == NADIR_OK, "a context can be made");
    return context;
}

static const char *path_for(const char *ending)
{
    int i = 0;
    while (i < FILES && files[i].ending[0] != '\0' && strcmp(files[i].ending, ending) != 0) {
        i++;
    }
    if (i == FILES) {
        fuzz_fail("there are not so many endings");
    }
    if (files[i].ending[0] == '\0') {
        if (i == 0) {
            atexit(remove_files);
        }
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(files[i].path, PATH_LENGTH, "%s/nadir-fuzz-%ld-%d%s", folder, (long)getpid(), i, ending);
        snprintf(files[i].ending, sizeof files[i].ending, "%s", ending);
    }
    return files[i].path;
}

const char *fuzz_file(const char *ending, const uint8_t *bytes, size_t size)
{
    const char *path = path_for(ending);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_require(file >= 0 && write(file, bytes, size) == (ssize_t)size, "a file can be written");
    close(file);
    return path;
}

nadir_model *fuzz_model(nadir_context *context)
{
    nadir_model *model = NULL;
    fuzz_require(nadir_model_generate(context, "riverswim", NULL, &model) == NADIR_OK, "a model can be made");
    return model;
}

nadir_policy *fuzz_policy(nadir_context *context, const nadir_model *model)
{
    nadir_policy *policy = NULL;
    fuzz_require(nadir_policy_create_uniform(context, model, &policy) == NADIR_OK, "a policy can be made");
    return policy;
}
