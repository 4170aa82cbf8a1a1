/* union_file.c: the models of a union: files of one model each, lists of such files with their radii, and tables with a model
 * for each outcome. */
#include "io/csv_cells.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct entry {
    nadir_model *model;
    char *name;
    double radius;
} entry;

struct nadir_union {
    nadir_memory *memory;
    int64_t count;
    size_t capacity;
    entry *members;
};

enum { MODEL, RADIUS, COLUMNS };
static const nadir_csv_column columns[COLUMNS] = {
    [MODEL] = {.names = {"model"}},
    [RADIUS] = {.names = {"radius"}, .optional = true},
};

void nadir_union_free(nadir_union *self)
{
    if (self == NULL) {
        return;
    }
    nadir_memory *memory = self->memory;
    for (int64_t i = 0; i < self->count; i++) {
        nadir_model_free(self->members[i].model);
        NADIR_MEMORY_RELEASE(memory, self->members[i].name);
    }
    NADIR_MEMORY_RELEASE(memory, self->members);
    NADIR_MEMORY_RELEASE(memory, self);
    nadir_memory_free(memory);
}

int64_t nadir_union_count(const nadir_union *self)
{
    return self->count;
}

nadir_model *nadir_union_model(const nadir_union *self, int64_t member)
{
    return self->members[member].model;
}

double nadir_union_radius(const nadir_union *self, int64_t member)
{
    return self->members[member].radius;
}

const char *nadir_union_member(const nadir_union *self, int64_t member)
{
    return self->members[member].name;
}

/* One model more. */
static nadir_status add_model(nadir_context *context, nadir_union *self, const char *path, const char *name,
                              double radius, const nadir_read_settings *settings)
{
    nadir_status status = NADIR_OK;
    const size_t length = strlen(name) + 1;
    NADIR_RESERVE(context, self->members, (size_t)self->count + 1, self->capacity);
    entry *made = &self->members[self->count];
    *made = (entry){.radius = radius};
    NADIR_NEW(context, made->name, length);
    self->count++; /* freed from now on */
    memcpy(made->name, name, length);
    NADIR_CHECK(nadir_model_read(context, path, settings, &made->model));
cleanup:
    return status;
}

/* The model of a file, or those of its outcomes. */
static nadir_status add(nadir_context *context, nadir_union *self, const char *path, double radius,
                        const nadir_read_settings *settings)
{
    nadir_status status = NADIR_OK;
    int64_t count = 0;
    int64_t *ids = NULL;
    nadir_read_settings use;
    nadir_read_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the read settings is not set");
    }
    use.outcome = NULL;
    NADIR_CHECK(nadir_csv_outcomes(context, path, &count, &ids));
    if (count == 0) {
        NADIR_CHECK(add_model(context, self, path, path, radius, &use));
    }
    for (int64_t i = 0; i < count; i++) {
        char id[24];
        char name[4200];
        (void)snprintf(id, sizeof id, "%lld", (long long)ids[i]);
        (void)snprintf(name, sizeof name, "%.4096s, outcome %s", path, id);
        use.outcome = id;
        NADIR_CHECK(add_model(context, self, path, name, radius, &use));
    }
cleanup:
    nadir_release(context, ids);
    return status;
}

/* Whether a file is a list of models: the first cell of its first line is `model`. */
static nadir_status is_list(nadir_context *context, const char *path, bool *list)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char head[256];
    size_t length = 0;
    nadir_cursor line;
    nadir_cursor cell;
    bool open;
    *list = false;
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read(context, &input, head, sizeof head, &length));
    nadir_cursor rest = {head, head + length};
    *list = nadir_cursor_take_content(&rest, "#", &line) && nadir_csv_next_cell(&line, &cell, &open) &&
            nadir_cursor_equals_nocase(cell, "model");
cleanup:
    nadir_input_close(&input);
    return status;
}

/* The path of a cell, relative to the folder of the list. */
static nadir_status join(nadir_text *text, const char *list, nadir_cursor cell, char *path, size_t size)
{
    const char *slash = strrchr(list, '/');
    const size_t folder =
        slash != NULL && cell.at < cell.end && *cell.at != '/' ? (size_t)(slash - list) + 1 : 0;
    const size_t length = (size_t)(cell.end - cell.at);
    if (length == 0 || folder + length >= size) {
        return nadir_text_fail(text, "%s; expected the path of a model",
                               length == 0 ? "an empty cell" : "a path that is too long");
    }
    memcpy(path, list, folder);
    memcpy(path + folder, cell.at, length);
    path[folder + length] = '\0';
    return NADIR_OK;
}

static nadir_status read_list(nadir_context *context, const char *list, const nadir_read_settings *settings,
                              nadir_union *self)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_csv_header header;
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    char path[4096];
    bool more;
    const int64_t before = self->count;
    NADIR_CHECK(nadir_text_open(context, list, &text));
    NADIR_CHECK(nadir_csv_read_header(&text, COLUMNS, columns, true, &header));
    NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
    while (more) {
        double radius = NAN;
        NADIR_CHECK(join(&text, list, cells[MODEL], path, sizeof path));
        if (header.positions[RADIUS] >= 0) {
            NADIR_CHECK(nadir_csv_double(&text, &header, cells, RADIUS, &radius));
            if (!(radius >= 0)) {
                NADIR_CHECK(nadir_text_fail(&text, "radius %g; expected 0 or more", radius));
            }
        }
        NADIR_CHECK(add(context, self, path, radius, settings));
        NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
    }
    if (self->count == before) {
        status = nadir_text_fail(&text, "no models follow the header");
    }
cleanup:
    nadir_text_close(&text);
    return status;
}

nadir_status nadir_union_read(nadir_context *context, int64_t files, const char *const *paths,
                              const nadir_read_settings *settings, nadir_union **made)
{
    nadir_status status = NADIR_OK;
    nadir_union *self = NULL;
    NADIR_NEW_ZERO(context, self, 1);
    self->memory = nadir_memory_retain(context->memory);
    for (int64_t i = 0; i < files; i++) {
        bool list;
        NADIR_CHECK(is_list(context, paths[i], &list));
        NADIR_CHECK(list ? read_list(context, paths[i], settings, self)
                         : add(context, self, paths[i], NAN, settings));
    }
    *made = self;
    self = NULL;
cleanup:
    nadir_union_free(self);
    return status;
}
