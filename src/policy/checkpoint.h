/*
 * checkpoint.h: where a search for the robust policy stands, as a file: for the same program on the same
 * machine, to go on after an interruption as if there had been none. Written whole or not at all; a changed
 * byte shows.
 */
#ifndef NADIR_POLICY_CHECKPOINT_H
#define NADIR_POLICY_CHECKPOINT_H

#include "adversary/uncertainty.h"
#include "policy/secants.h"

/* An array of the file. */
typedef struct nadir_checkpoint_part {
    void *bytes;
    size_t size;
} nadir_checkpoint_part;

/* Parts that are always there. */
enum { NADIR_CHECKPOINT_FIXED = 5 };

/* What the file is to hold: `fixed` parts, then two for each pair. */
typedef struct nadir_checkpoint {
    const char *identity; /* of model, ball and method: what it is good for */
    int64_t pairs;
    int64_t pairs_most;
    int fixed;
    nadir_checkpoint_part parts[NADIR_CHECKPOINT_FIXED + 2 * NADIR_SECANTS_MOST];
} nadir_checkpoint;

nadir_status nadir_checkpoint_write(nadir_context *context, const nadir_checkpoint *checkpoint,
                                    const char *path);

/* Fills the parts, of which there must be those of all pairs that may be, and `pairs`. NADIR_ERROR_FORMAT: no
 * checkpoint, a damaged one, or one of another model, ball or method. */
nadir_status nadir_checkpoint_read(nadir_context *context, nadir_checkpoint *checkpoint, const char *path);

/* For numbers of a checkpoint whose digest is right but which no search has: they need not come from one.
 * Counts grow from zero, one at a time. */
bool nadir_checkpoint_is_count(int64_t number);
bool nadir_checkpoint_are_finite(int64_t count, const double *numbers);
nadir_status nadir_checkpoint_refuse(nadir_context *context, const char *path);

/* Model, ball and method as one word. method: any number that tells methods apart. */
nadir_status nadir_search_identify(nadir_context *context, const nadir_model *model,
                                   const nadir_uncertainty *set, int64_t method, char identity[65]);

#endif
