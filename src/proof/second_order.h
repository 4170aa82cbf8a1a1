/*
 * second_order.h: proofs that a candidate P* is the worst kernel of the ball, p = 2: kappa <= 1/2 (kkt.h) by
 * Lanczos iterations, without columns of D, and for many radii from columns that are computed once.
 */
#ifndef NADIR_PROOF_SECOND_ORDER_H
#define NADIR_PROOF_SECOND_ORDER_H

#include "proof/certificate.h"
#include "proof/kkt.h"
#include "proof/occupancy_bounds.h"

/* kappa as the norm of an operator, estimated by Lanczos iterations: a proof by it is `numerical`. What the
 * radius alone proves is rigorous. bounds: on the occupancies of all kernels of the set; tau > 0. */
nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_perturbable_rows *perturbable,
                                            const nadir_occupancy_bounds *bounds, double beta,
                                            const nadir_candidate *candidate, nadir_certificate *proof);

/*
 * Kappa for many radii of one problem, p = 2, from what is expensive and done once.
 *
 * What a change of a row can do to an occupancy is known from the columns of the nominal D, whatever kernel
 * it is a change of: see second_order.c. They serve all radii up to the largest one, for which occupancies
 * are bounded. A proof takes two vectors y >= b + A y as witness; search/second_order_search.c looks for them.
 */

typedef struct nadir_kappa_path {
    const nadir_problem *problem;
    double beta; /* the largest radius */
    nadir_perturbable_rows perturbable;
    nadir_occupancy_bounds bounds; /* of all kernels of the largest ball */
    double *root;                  /* [states * states] at least gamma k(s, t), t after t */
    double *slope;                 /* [states] g */
    double *off;                   /* [states] what columns are off by, twice */
} nadir_kappa_path;

/* beta: the largest radius. */
nadir_status nadir_kappa_path_create(nadir_context *context, const nadir_problem *problem, double beta,
                                     nadir_kappa_path **kappa_path);
void nadir_kappa_path_free(nadir_context *context, nadir_kappa_path *kappa_path);

/* Whether y >= b + A y, A_ts = gamma k(s, t) change_s, rounding included. change, b, y: [states] >= 0; work:
 * [2 states], of which the second half becomes at least b + A y. */
bool nadir_kappa_path_majorizes(const nadir_context *context, const nadir_kappa_path *kappa_path,
                                const double *change, const double *b, const double *y, double *work);

/* Offers J* - error for the candidate of a radius up to the largest where y majorizes `slope` and y_off
 * majorizes `off`, [states] each with change = star->displacement.n, and kappa = |(y_t w_t)_t| <= 1/2. */
nadir_status nadir_kappa_path_prove(nadir_context *context, const nadir_kappa_path *kappa_path,
                                    const nadir_stationary_point *star, const double *y, const double *y_off,
                                    nadir_certificate *proof);

#endif
