/*
 * checkpoint.h: where a search for the robust policy stands: for the same program on the same machine, to
 * go on after an interruption as if there had been none. The file of it is io/checkpoint_file.c.
 */
#ifndef NADIR_POLICY_CHECKPOINT_H
#define NADIR_POLICY_CHECKPOINT_H

#include "policy/ascent.h"
#include "sets/uncertainty.h"

/* An array of it. */
typedef struct nadir_checkpoint_part {
    void *bytes;
    size_t size;
} nadir_checkpoint_part;

/* Parts that are always there. */
enum { NADIR_CHECKPOINT_FIXED = 5 };

/* What it holds: `fixed` parts, then two for each pair. */
typedef struct nadir_checkpoint {
    const char *identity; /* of model, ball and method: what it is good for */
    int64_t pairs;
    int64_t pairs_most;
    int fixed;
    nadir_checkpoint_part parts[NADIR_CHECKPOINT_FIXED + 2 * NADIR_LBFGS_PAIRS];
} nadir_checkpoint;

/* Where checkpoints are kept; io makes one of files. A struct of zeros keeps none and resumes none. */
typedef struct nadir_checkpoint_store {
    nadir_status (*write)(void *user, nadir_context *context, const nadir_checkpoint *checkpoint);
    /* Fills the parts, of which there must be those of all pairs that may be, and `pairs`.
     * NADIR_ERROR_FORMAT: no checkpoint, a damaged one, or one of another model, ball or method. */
    nadir_status (*read)(void *user, nadir_context *context, nadir_checkpoint *checkpoint);
    void *user;
    const char *name; /* of what is read, for messages */
} nadir_checkpoint_store;

/* For numbers of a checkpoint whose digest is right but which no search has: they need not come from one.
 * Counts grow from zero, one at a time. */
bool nadir_checkpoint_is_count(int64_t number);
bool nadir_checkpoint_are_finite(int64_t count, const double *numbers);
nadir_status nadir_checkpoint_refuse(nadir_context *context, const nadir_checkpoint_store *store);

/* Model, ball and method as one word. method: any number that tells methods apart. */
nadir_status nadir_search_identify(nadir_context *context, const nadir_model *model,
                                   const nadir_uncertainty *set, int64_t method, char identity[65]);

/* nadir_robust_optimum with checkpoints in a store: the file names of the settings are not looked at. */
nadir_status nadir_robust_optimum_run(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                      const nadir_robust_optimum_settings *settings,
                                      const nadir_checkpoint_store *store, nadir_policy **policy,
                                      nadir_robust_optimum_result *result, nadir_robust *evaluation,
                                      nadir_worst **worst);

#endif
