/* union.h: --union of evaluate and optimize: balls around several kernels. */
#ifndef NADIR_CLI_UNION_H
#define NADIR_CLI_UNION_H

#include "input.h"

/* To be cleared. */
typedef struct cli_union {
    cli_list files;       /* of --union; none: there is one ball */
    nadir_union *further; /* what they hold */
    int64_t count;        /* of members, the model of the command among them */
    nadir_model **models; /* [count], not owned */
    cli_ball *asked;      /* [count] */
    nadir_ball *balls;    /* [count] */
    nadir_robust *results;
    int64_t which; /* the worst member */
} cli_union;

cli_option cli_union_option(cli_union *self);
/* Complains about an option that does not go with --union: used[i] tells whether names[i], up to NULL, is given. */
bool cli_union_check(const cli_run *run, const cli_union *self, const char *const *names, const bool *used);
/* Reads the files; the members with their balls. asked: the options of the ball. */
nadir_status cli_union_read(cli_run *run, const nadir_read_settings *reading, nadir_model *model,
                            const cli_ball *asked, cli_union *self);
/* The path of a member; first: that of the model. */
const char *cli_union_member(const cli_union *self, const char *first, int64_t member);
void cli_union_text(const cli_union *self, const char *first);
/* "member": the worst, from 0, "members": [...] */
void cli_union_json(cli_json *json, const cli_union *self, const char *first);
void cli_union_clear(cli_run *run, cli_union *self);

#endif
