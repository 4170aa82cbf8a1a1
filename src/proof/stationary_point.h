/*
 * stationary_point.h: a candidate P* with all that proofs by kappa start from: its expansion point, what its
 * rows can do, its KKT data and its displacement from the nominal kernel.
 */
#ifndef NADIR_PROOF_STATIONARY_POINT_H
#define NADIR_PROOF_STATIONARY_POINT_H

#include "proof/kkt.h"

/* Where the occupancy of P* comes from. */
typedef enum nadir_occupancy_source {
    NADIR_OCCUPANCY_NEAR,   /* v and d of the candidate, corrected with the factors of the nominal kernel */
    NADIR_OCCUPANCY_OWN,    /* solves with an operator of its own */
    NADIR_OCCUPANCY_COLUMNS /* all columns of D, of an operator of its own */
} nadir_occupancy_source;

/* A struct of zeros holds nothing. It must stay where it is. */
typedef struct nadir_stationary_point {
    nadir_expansion_point point;
    nadir_sensitivity sensitivity;
    nadir_kkt kkt;
    nadir_displacement displacement;
    bool *unvisited; /* [states] by P* */
} nadir_stationary_point;

/* The expansion point, with rows of unvisited states nominal, and its sensitivities. With NEAR the attack
 * must outlive it. */
nadir_status nadir_stationary_point_make(nadir_context *context, const nadir_problem *problem,
                                         const nadir_perturbable_rows *perturbable,
                                         const nadir_candidate *candidate, nadir_occupancy_source source,
                                         nadir_stationary_point *self);
void nadir_stationary_point_clear(nadir_context *context, nadir_stationary_point *self);

/* KKT data and displacement for the multiplier tau > 0; again, in place. bounds: on the occupancies of all
 * kernels of the set. */
nadir_status nadir_stationary_point_kkt(nadir_context *context, const nadir_occupancy_bounds *bounds,
                                        double beta, double tau, nadir_stationary_point *self);

/* J* - error: no kernel of the set has a smaller return where kappa <= 1/2. */
double nadir_stationary_point_level(const nadir_stationary_point *self);

#endif
