/* union.c: --union of evaluate and optimize; see union.h. */
#include "union.h"

#include "robust.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

cli_option cli_union_option(cli_union *self)
{
    return (cli_option){"--union",
                        CLI_LIST,
                        "MODEL2",
                        NULL,
                        &self->files,
                        "the kernel may also be in a ball around that of MODEL2; again for further ones.\n"
                        "MODEL2 may be a table with the columns model and, if need be, radius. With\n"
                        "--radius 0: one of these kernels"};
}

bool cli_union_check(const cli_run *run, const cli_union *self, const char *const *names, const bool *used)
{
    char reason[200];
    for (int i = 0; self->files.count > 0 && names[i] != NULL; i++) {
        if (used[i]) {
            (void)snprintf(reason, sizeof reason,
                           "--union and %s cannot both be given: that is for a single ball", names[i]);
            return cli_wrong(run, reason);
        }
    }
    return true;
}

const char *cli_union_member(const cli_union *self, const char *first, int64_t member)
{
    return member == 0 ? first : nadir_union_member(self->further, member - 1);
}

nadir_status cli_union_read(cli_run *run, const nadir_read_settings *reading, nadir_model *model,
                            const cli_ball *asked, cli_union *self)
{
    nadir_status status =
        nadir_union_read(run->context, self->files.count, self->files.values, reading, &self->further);
    if (status != NADIR_OK) {
        return status;
    }
    const size_t count = (size_t)nadir_union_count(self->further) + 1;
    self->models = calloc(count, sizeof *self->models); /* NOLINT(bugprone-sizeof-expression) */
    self->asked = calloc(count, sizeof *self->asked);
    self->balls = calloc(count, sizeof *self->balls);
    self->results = calloc(count, sizeof *self->results);
    if (self->models == NULL || self->asked == NULL || self->balls == NULL || self->results == NULL) {
        return cli_fail(run, NADIR_ERROR_MEMORY, "there is no memory for %zu members", count);
    }
    for (size_t k = 0; k < count && status == NADIR_OK; k++) {
        const double radius = k > 0 ? nadir_union_radius(self->further, (int64_t)k - 1) : NAN;
        self->models[k] = k > 0 ? nadir_union_model(self->further, (int64_t)k - 1) : model;
        self->results[k].size = sizeof *self->results;
        self->asked[k] = *asked;
        self->asked[k].radii = NULL;
        self->asked[k].scales = NULL;
        self->asked[k].radius_text = isnan(radius) ? asked->radius_text : "0"; /* that of the list, below */
        self->count = (int64_t)k + 1;
        status = cli_ball_get(run, self->models[k], &self->asked[k], &self->balls[k]);
        self->asked[k].radius = isnan(radius) ? self->asked[k].radius : radius;
    }
    return status;
}

/* The proof of a member in a word. */
static const char *proof_of(const nadir_robust *robust)
{
    return !robust->certified ? "no" : robust->certificate[0] == 'r' ? "yes" : "numerically";
}

void cli_union_text(const cli_union *self, const char *first)
{
    enum { SHOWN = 20 };
    char number[4][32];
    cli_block_line("member", "%" PRId64 " of %" PRId64 " is the worst: %s", self->which + 1, self->count,
                   cli_union_member(self, first, self->which));
    printf("\n  member                    radius  guaranteed       found     nominal  proven\n");
    for (int64_t k = 0; k < self->count && k < SHOWN; k++) {
        const nadir_robust *each = &self->results[k];
        printf("  %-22s %9s %11s %11s %11s  %s\n", cli_union_member(self, first, k),
               cli_short(each->radius, number[0]), cli_short_down(each->lower_bound, number[1]),
               cli_short(each->robust_return, number[2]), cli_short(each->nominal_return, number[3]),
               proof_of(each));
    }
    if (self->count > SHOWN) {
        printf("  ... %" PRId64 " more; --json has all\n", self->count - SHOWN);
    }
}

void cli_union_json(cli_json *json, const cli_union *self, const char *first)
{
    cli_json_integer(json, "member", self->which);
    cli_json_array(json, "members");
    for (int64_t k = 0; k < self->count; k++) {
        cli_json_object(json, NULL);
        cli_json_text(json, "model", cli_union_member(self, first, k));
        cli_json_double(json, "radius", self->results[k].radius);
        cli_json_double(json, "nominal_return", self->results[k].nominal_return);
        cli_bounds_json(json, &self->results[k]);
        cli_json_object_end(json);
    }
    cli_json_array_end(json);
}

void cli_union_clear(cli_run *run, cli_union *self)
{
    for (int64_t k = 0; k < self->count; k++) {
        cli_ball_clear(run, &self->asked[k]);
    }
    nadir_union_free(self->further);
    free(self->models);
    free(self->asked);
    free(self->balls);
    free(self->results);
    *self = (cli_union){.files = self->files};
}
