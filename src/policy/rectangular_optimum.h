/*
 * rectangular_optimum.h: the best policy against a rectangular set, by the robust Bellman operator
 *
 *     (Tv)(s) = max over pi_s of min over the rows of s, within ball and domain, of
 *               sum_a pi(a|s) (R_P(s, a) + gamma P_sa . v),
 *
 * a contraction on the domains simplex and support; on the free domain below breakdown of every policy met.
 * Set sa: the best action is the one with the best worst case, so the policy is deterministic. Set s: a
 * mixture of the actions above a threshold. On the free domain a row loses alpha r sigma_q(v) within radius
 * r, and T is not monotone.
 */
#ifndef NADIR_POLICY_RECTANGULAR_OPTIMUM_H
#define NADIR_POLICY_RECTANGULAR_OPTIMUM_H

#include "policy/checkpoint.h"
#include "sets/lmo.h"

/* What is known of an action of a state; see robust_bellman.c. */
typedef struct nadir_srect_action nadir_srect_action;

/* The operator T. A struct of zeros holds nothing. */
typedef struct nadir_robust_bellman {
    const nadir_kernel *kernel;   /* nominal */
    const nadir_uncertainty *set; /* s or sa */
    nadir_model *model;
    double gamma;
    nadir_value_order order;       /* of v; domains simplex and support */
    nadir_lmo rows;                /* the same */
    nadir_lmo_solution *solutions; /* [rows] the same: the worst rows, also of actions of probability zero */
    double sigma;                  /* sigma_q(v); domain free */
    double *sigmas;                /* [rows] sigma_q(v + e / gamma), where that differs by row; or NULL */
    double *q;                     /* [rows] R + gamma Phat v */
    double *policy;                /* [rows] the best mixture */
    double *value;                 /* [states] Tv */
    double *work;
    nadir_srect_action *actions;
    int64_t work_each, actions_each; /* of a thread */
    int threads;
} nadir_robust_bellman;

/* rows.order points into the struct: do not move it. kernel, set: must outlive it. */
nadir_status nadir_robust_bellman_make(nadir_context *context, nadir_model *model, const nadir_kernel *kernel,
                                       const nadir_uncertainty *set, nadir_robust_bellman *bellman);
void nadir_robust_bellman_clear(nadir_context *context, nadir_robust_bellman *bellman);

/* Computes value, policy and solutions. v: [states]. Threaded; the same bits with any number of threads. */
nadir_status nadir_robust_bellman_apply(nadir_context *context, nadir_robust_bellman *bellman,
                                        const double *v);

/* Returns are those of shaped rewards (model/landing.h). */
typedef struct nadir_rectangular_optimum_result {
    double upper;        /* proven: no policy has a higher worst return; infinite: not known */
    double J;            /* worst return of the policy, about */
    int64_t evaluations; /* policies whose worst kernel was looked for */
    int64_t iterations;
    nadir_stop stop; /* by gap, evaluations, time or interruption */
} nadir_rectangular_optimum_result;

typedef struct nadir_rectangular_optimum_settings {
    const char *backend;      /* NULL: auto */
    double tolerance;         /* relative to the largest value */
    int64_t iterations_limit; /* at least one is made */
    nadir_search *search;     /* limits, progress and checkpoints; NULL: none of them */
    nadir_policy *start;      /* without a discount: the first policy */
    bool start_given;         /* by the user; otherwise the uniform policy is tried as well */
} nadir_rectangular_optimum_settings;

/* policy: a new one. The ball's set, once settled, is s or sa (also the
 * non-rectangular one of p = infinity). NADIR_ERROR_NOT_CONVERGED: a limit; the best so far is returned with
 * the bound. NADIR_ERROR_INTERRUPTED: the same without a bound, if there was a step. */
nadir_status nadir_rectangular_optimum(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                       const nadir_rectangular_optimum_settings *settings,
                                       nadir_policy **policy, nadir_rectangular_optimum_result *result);

#endif
