/*
 * derivation_record.h: the steps of a derivation as a list of numbers, which is what a witness has.
 *
 * A step is its code and its numbers; v and `answered` are vectors of [states] numbers.
 */
#ifndef NADIR_PROOF_DERIVATION_RECORD_H
#define NADIR_PROOF_DERIVATION_RECORD_H

#include "proof/derivation.h"

typedef enum nadir_step {
    NADIR_STEP_SET_PASSES = 1,        /* passes */
    NADIR_STEP_LAGRANGIAN = 2,        /* tau, v */
    NADIR_STEP_BY_NORMS = 3,          /* */
    NADIR_STEP_LARGE = 4,             /* */
    NADIR_STEP_EXPAND = 5,            /* */
    NADIR_STEP_TABULATE = 6,          /* coarse */
    NADIR_STEP_USE_WEIGHTS = 7,       /* */
    NADIR_STEP_BEGIN = 8,             /* */
    NADIR_STEP_MEASURE = 9,           /* */
    NADIR_STEP_PASS = 10,             /* */
    NADIR_STEP_LAGRANGIAN_BELOW = 11, /* tau, v */
    NADIR_STEP_PASS_AROUND = 12,      /* tau, v, answered */
    NADIR_STEP_CONCLUDE = 13,         /* */
    NADIR_STEP_MATRIX = 14,           /* shared */
    NADIR_STEP_CONCLUDE_KAPPA = 15    /* kappa (0: none), theta, theta_unvisited */
} nadir_step;

/* Appends a step with its first `count` numbers, and a vector of it. */
nadir_status nadir_derivation_record(nadir_context *context, nadir_derivation *self, nadir_step step,
                                     int64_t count, const double *numbers);
nadir_status nadir_derivation_record_vector(nadir_context *context, nadir_derivation *self,
                                            const double *vector);

#endif
