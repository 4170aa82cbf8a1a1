/*
 * robust_bellman.h: the robust Bellman operator of a rectangular set, with the best mixture of actions of
 * every state,
 *
 *     (Tv)(s) = max over pi_s of min over the rows of s, within ball and domain, of
 *               sum_a pi(a|s) (R(s, a) + gamma P_sa . v).
 *
 * Set sa: the action whose own worst is best. Set s: see srect_update.h. On the free domain a row loses alpha r
 * sigma_q(v) within radius r, and T is no monotone operator.
 */
#ifndef NADIR_POLICY_ROBUST_BELLMAN_H
#define NADIR_POLICY_ROBUST_BELLMAN_H

#include "policy/rectangular_optimum.h"
#include "sets/lmo.h"
#include "sets/uncertainty.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_robust_bellman {
    const nadir_kernel *kernel;   /* nominal */
    const nadir_uncertainty *set; /* s or sa */
    nadir_model *model;
    double gamma;
    nadir_value_order order;     /* of v; domains simplex and support */
    nadir_lmo rows;              /* likewise */
    nadir_lmo_solution *answers; /* [rows] likewise: the worst rows, of actions that have no part too */
    double sigma;                /* sigma_q(v); domain free */
    double *q;                   /* [rows] R + gamma Phat v */
    double *policy;              /* [rows] the best mixture */
    double *value;               /* [states] Tv */
    double *room;
    nadir_srect_action *actions;
    int64_t room_each, actions_each; /* of a thread */
    int threads;
} nadir_robust_bellman;

/* rows.order points into the struct: it must stay where it is. kernel, set: must outlive it. */
nadir_status nadir_robust_bellman_make(nadir_context *context, nadir_model *model, const nadir_kernel *kernel,
                                       const nadir_uncertainty *set, nadir_robust_bellman *bellman);
void nadir_robust_bellman_clear(nadir_context *context, nadir_robust_bellman *bellman);

/* Fills in value, policy and answers. v: [states]. Threaded; the same bits with any number of threads. */
nadir_status nadir_robust_bellman_apply(nadir_context *context, nadir_robust_bellman *bellman,
                                        const double *v);

#endif
