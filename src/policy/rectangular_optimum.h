/*
 * rectangular_optimum.h: the best policy against a rectangular set, where the robust Bellman operator
 *
 *     (Tv)(s) = max over pi_s of min over the rows of s, within ball and domain, of
 *               sum_a pi(a|s) (R(s, a) + gamma P_sa . v)
 *
 * is a contraction (domains simplex and support; on the free domain below breakdown of every policy that is
 * met). Set sa: the best action alone, so that the policy is deterministic; set s: a mixture of the actions
 * above a threshold.
 */
#ifndef NADIR_POLICY_RECTANGULAR_OPTIMUM_H
#define NADIR_POLICY_RECTANGULAR_OPTIMUM_H

#include "sets/uncertainty.h"

typedef struct nadir_rectangular_optimum_result {
    double lower, upper; /* the best worst return lies between them, rounding included; infinite: not known */
    double J;            /* about what the policy is worth in the worst case */
    int64_t evaluations; /* policies whose worst kernel was looked for */
    int64_t iterations;
    const char *stop_reason; /* "tolerance", "stable", "iterations", "time", "interrupted" */
} nadir_rectangular_optimum_result;

/* Where the iteration stands: with the arrays of nadir_rectangular_pause, all that it takes to go on as if
 * nothing had been. */
typedef struct nadir_rectangular_state {
    int64_t iterations;
    int64_t evaluations;
    int64_t waited; /* steps that have not come closer */
    int64_t sure;   /* 1: values of policies by the adversary's own iteration */
    double least;   /* smallest residual */
    double J;       /* free domain: mu . v of the best policy */
} nadir_rectangular_state;

/* The iteration between two steps, for those who watch it. */
typedef struct nadir_rectangular_pause {
    nadir_rectangular_state *state;
    double *v;      /* [states] */
    double *best;   /* [states] free domain: the value of the best policy */
    double *policy; /* [rows] free domain: the best one */
    double J;       /* mu . v */
    double gap;     /* an estimate of what is left to gain */
    bool is_cut;    /* the iteration ends here, interrupted */
    bool is_over;   /* out: the time is up */
} nadir_rectangular_pause;

/* Every function may be NULL. */
typedef struct nadir_rectangular_optimum_settings {
    const char *backend;      /* NULL: auto */
    double tolerance;         /* relative to the largest value */
    int64_t iterations_limit; /* at least one is made */
    /* Before the first step; may fill state and arrays with those of an earlier iteration. */
    nadir_status (*begin)(void *user, nadir_rectangular_pause *pause);
    /* Before every step. */
    nadir_status (*pause)(void *user, nadir_rectangular_pause *pause);
    void *user;
} nadir_rectangular_optimum_settings;

/* value: [states], out; policy: a new one. The ball's set, once settled, is s or sa (also the non-rectangular
 * one of p = infinity). NADIR_ERROR_NOT_CONVERGED: a limit; the best so far is there, with its bounds.
 * NADIR_ERROR_INTERRUPTED: the same without bounds, if there was a step. */
nadir_status nadir_rectangular_optimum(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                       const nadir_rectangular_optimum_settings *settings, double *value,
                                       nadir_policy **policy, nadir_rectangular_optimum_result *result);

#endif
