/*
 * explain.h: which rows do the damage: the answer of nadir_worst_explain as a table, as JSON and as a
 * picture.
 */
#ifndef NADIR_CLI_EXPLAIN_H
#define NADIR_CLI_EXPLAIN_H

#include "cli.h"
#include "gnuplot.h"
#include "input.h"

typedef struct cli_explain {
    bool wanted;           /* --explain */
    const char *plot_path; /* --explain-plot */
    int64_t limit;         /* --explain-rows: of the list; -1: 10 in text, all in JSON */
    bool optimistic;       /* the best case: what is called a gain is a negative penalty */
    bool difference;       /* of two policies */
    nadir_damage *damages; /* [shown] owned, largest share first */
    int64_t shown;         /* rows that were asked for and changed */
    int64_t changed;       /* rows */
    double penalty;        /* of all of them */
} cli_explain;

/* Rows that tell what a verdict rests on. */
enum { CLI_EXPLAIN_FIRST = 100 };
/* Whether the verdict names rows: it takes a pass over all transitions. */
bool cli_explain_names(const cli_run *run, const cli_input *input);
/* At most `count` rows. */
nadir_status cli_explain_get(cli_run *run, const nadir_worst *worst, int64_t count, cli_explain *explain);
void cli_explain_clear(cli_explain *explain);

/* The row that does most, as a line of the verdict; nothing where no row is known. */
void cli_explain_most(const nadir_model *model, const cli_explain *explain);
/* What new landings are assumed to pay, where rows rely on it and the assumption does not fit the rewards that are given; as a
 * line of the verdict. */
void cli_explain_assumed(const nadir_model *model, const cli_rewards *rewards, const cli_explain *explain);
void cli_explain_text(const nadir_model *model, const cli_explain *explain);
void cli_explain_json(cli_json *json, const nadir_model *model, const cli_explain *explain);

/* What a picture of it shows besides. */
typedef struct cli_explain_view {
    nadir_model *model;
    const char *model_path, *policy_name, *backend;
    const nadir_robust *robust;
} cli_explain_view;

/* A bar for each row, or a map where the states are the cells of a grid. */
nadir_status cli_explain_draw(cli_run *run, const cli_explain_view *view, const cli_explain *explain);
/* The map; *is_grid: whether there is one. */
nadir_status cli_explain_map(cli_run *run, const cli_explain_view *view, const cli_explain *explain,
                             bool *is_grid);
void cli_explain_title(const cli_explain_view *view, const cli_explain *explain, const cli_gnuplot *plot);

/* "r0c1" or "state 1"; "right" or "action 1": at most `size` bytes, the end included. */
const char *cli_explain_state(const nadir_model *model, int64_t state, size_t size, char *text);
/* Whether the data of a fitted model never showed the transition that gains most; false where nothing is known of that. */
bool cli_explain_never_observed(const nadir_model *model, const nadir_damage *damage);
const char *cli_explain_action(const nadir_model *model, const nadir_damage *damage, size_t size, char *text);

#endif
