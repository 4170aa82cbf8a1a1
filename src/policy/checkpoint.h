/*
 * checkpoint.h: progress and checkpoints of a search for the robust policy. A checkpoint lets the same
 * program on the same machine continue after an interruption with the same numbers. Its file format is in
 * io/checkpoint_file.c.
 */
#ifndef NADIR_POLICY_CHECKPOINT_H
#define NADIR_POLICY_CHECKPOINT_H

#include "sets/uncertainty.h"

/* Most L-BFGS pairs. */
enum { NADIR_LBFGS_PAIRS = 30 };

/* One array. */
typedef struct nadir_checkpoint_part {
    void *bytes;
    size_t size;
} nadir_checkpoint_part;

/* Most parts besides those of pairs. */
enum { NADIR_CHECKPOINT_FIXED = 5 };

/* `fixed` parts, then two for each pair. */
typedef struct nadir_checkpoint {
    const char *identity; /* of model, ball and method */
    int64_t pairs;
    int64_t pairs_most;
    int fixed;
    nadir_checkpoint_part parts[NADIR_CHECKPOINT_FIXED + 2 * NADIR_LBFGS_PAIRS];
} nadir_checkpoint;

/* Writes and reads checkpoints; io makes one of files. A struct of zeros does neither. */
typedef struct nadir_checkpoint_store {
    nadir_status (*write)(void *user, nadir_context *context, const nadir_checkpoint *checkpoint);
    /* Fills the parts, which must have memory for pairs_most pairs, and `pairs`. NADIR_ERROR_FORMAT: no
     * checkpoint, a damaged one, or one of another model, ball or method. */
    nadir_status (*read)(void *user, nadir_context *context, nadir_checkpoint *checkpoint);
    void *user;
    const char *name; /* of the file that is read, for messages */
} nadir_checkpoint_store;

/* What all methods share: the settings, the clock and the checkpoints. */
typedef struct nadir_search {
    nadir_context *context;
    const nadir_robust_optimum_settings *settings;
    double nominal_optimum; /* as the user sees it */
    nadir_checkpoint_store store;
    char identity[65]; /* of checkpoints: model, ball and method */
    double begun;      /* seconds on the clock */
    double saved;      /* when the last checkpoint was written */
} nadir_search;

/* Writes a checkpoint, if the store writes any and it is time for one or `now`. Called by all processes at
 * once. */
nadir_status nadir_search_save(nadir_search *search, const nadir_checkpoint *checkpoint, bool now);

/* After an iteration: a checkpoint if it is time for one, the user's watch function, and limits: *stop_reason
 * becomes "evaluations" or "time" at one. J: as the user sees it; gap: of J, absolute. NADIR_ERROR_INTERRUPTED: the user says so. */
nadir_status nadir_search_report(nadir_search *search, const nadir_checkpoint *checkpoint, int64_t iteration,
                                 int64_t evaluations, double J, double gap, nadir_stop *stop);

/* A checkpoint with a correct digest may still hold numbers that no search produces. */
bool nadir_checkpoint_is_count(int64_t number);
bool nadir_checkpoint_are_finite(int64_t count, const double *numbers);
nadir_status nadir_checkpoint_refuse(const nadir_search *search);

/* Sets the identity. method: a number that differs between methods. */
void nadir_search_identify(nadir_search *search, const nadir_model *model, const nadir_uncertainty *set,
                           int64_t method);

/* nadir_robust_optimum with checkpoints in a store; the file names of the settings are not used. */
nadir_status nadir_robust_optimum_run(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                      const nadir_robust_optimum_settings *settings,
                                      const nadir_checkpoint_store *store, nadir_policy **policy,
                                      nadir_robust_optimum_result *result, nadir_robust *evaluation,
                                      nadir_worst **worst);

#endif
