/* outputs.c: what a run has left in the folder "out"; see sweep.h. */
#include "sweep.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void output_path(const study *s, int i, char path[128])
{
    (void)snprintf(path, 128, "out/%s", s->names[i]);
}

static int64_t files; /* counted by the calls of nftw below */
static int64_t temporaries;

static int count_one(const char *path, const struct stat *facts, int type, struct FTW *at)
{
    (void)facts;
    (void)type;
    const char *name = path + at->base;
    files += at->level > 0;
    temporaries += strstr(name, ".tmp") != NULL || strstr(name, "trial.") != NULL;
    return 0;
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *at)
{
    (void)facts;
    (void)type;
    return at->level > 0 ? remove(path) : 0;
}

void outputs_count(int64_t *all, int64_t *passing)
{
    files = temporaries = 0;
    (void)nftw("out", count_one, 8, FTW_PHYS);
    *all = files;
    *passing = temporaries;
}

void outputs_set(const study *s, bool old)
{
    (void)nftw("out", remove_one, 8, FTW_DEPTH | FTW_PHYS);
    for (int i = 0; i < s->outputs && old; i++) {
        char path[128];
        output_path(s, i, path);
        write_whole(path, OLD);
    }
}

/* The same but for rounding: a search that goes on from a checkpoint ends at the same place, not at the same
 * bits. */
static bool is_close(char *a, char *b)
{
    char *rest[2] = {NULL, NULL};
    char *one = strtok_r(a, ",\n", &rest[0]);
    char *other = strtok_r(b, ",\n", &rest[1]);
    while (one != NULL && other != NULL) {
        if (strcmp(one, other) != 0 && !(fabs(strtod(one, NULL) - strtod(other, NULL)) <= 1e-9)) {
            return false;
        }
        one = strtok_r(NULL, ",\n", &rest[0]);
        other = strtok_r(NULL, ",\n", &rest[1]);
    }
    return one == NULL && other == NULL;
}

static bool is_as_wanted(const study *s, int i, char *text, size_t size)
{
    if (s->varies[i] || (size == s->sizes[i] && memcmp(text, s->wanted[i], size) == 0)) {
        return size > 0;
    }
    char *copy = s->of->again != NULL ? strdup(s->wanted[i]) : NULL;
    const bool close = copy != NULL && is_close(text, copy);
    free(copy);
    return close;
}

found output_look(const study *s, int i)
{
    char path[128];
    size_t size;
    output_path(s, i, path);
    char *text = read_whole(path, &size);
    found result = WRONG;
    if (text == NULL) {
        result = ABSENT;
    } else if (strcmp(text, OLD) == 0) {
        result = STALE;
    } else if (is_as_wanted(s, i, text, size)) {
        result = WHOLE;
    }
    free(text);
    return result;
}

/* A folder of reproduce: the page is there with its section. */
static bool folder_whole(const study *s)
{
    size_t size;
    char *report = read_whole("out/all/report.html", &size);
    const bool whole = report != NULL && strstr(report, "<section id=") != NULL &&
                       strstr(report, "</html>") != NULL && size + 200 > s->report_size &&
                       size < s->report_size + 200;
    free(report);
    return whole && access("out/all/notation/SHA256SUMS", R_OK) == 0;
}

bool outputs_whole(const study *s)
{
    for (int i = 0; i < s->outputs; i++) {
        if (output_look(s, i) != WHOLE) {
            return false;
        }
    }
    return !s->folder || folder_whole(s);
}
