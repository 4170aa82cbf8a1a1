/*
 * rectangular_optimum.h: the best policy against a rectangular set, by the robust Bellman operator
 *
 *     (Tv)(s) = max over pi_s of min over the rows of s, within ball and domain, of
 *               sum_a pi(a|s) (R(s, a) + gamma P_sa . v),
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

/*
 * Set s: the best mixture of the actions of one state against one budget for all of them.
 *
 * With q_a the value of action a, and gain_a(r) what the adversary takes from it within radius r, concave,
 *
 *     max over pi of min over |r|_p <= beta of  sum_a pi_a (q_a - gamma gain_a(r_a))
 *         = the least x to which every action can be brought:  |c(x)|_p <= beta,
 *
 * c_a(x) the radius that brings q_a down to x. There pi_a is proportional to the derivative of c_a(x)^p:
 * c_a^(p-1) over the slope of the gain. Actions with q_a <= x have probability zero.
 */

/* What the adversary takes from an action within a radius. */
typedef struct nadir_srect_response {
    double gain;  /* 0 or more */
    double slope; /* of the gain in the radius; 0: more radius gains nothing */
    double norm;  /* the radius used, at most the one given */
} nadir_srect_response;

/* The last call for an action is made with the radius of the solution. */
typedef nadir_srect_response (*nadir_srect_oracle)(void *user, int64_t action, double radius);

enum { NADIR_SRECT_TANGENTS = 8 };

/* What is known of the gain of an action. */
typedef struct nadir_srect_action {
    nadir_srect_response most; /* within beta */
    nadir_srect_response now;
    int tangents; /* of the gain, which lies below all of them */
    double touch[NADIR_SRECT_TANGENTS];
    double start[NADIR_SRECT_TANGENTS];
    double slope[NADIR_SRECT_TANGENTS];
} nadir_srect_action;

typedef struct nadir_srect_update {
    int64_t count;   /* of actions */
    const double *q; /* [count] */
    double gamma;    /* 0 or more */
    double beta;     /* 0 or more */
    double p;        /* 1 to infinity */
    nadir_srect_oracle oracle;
    void *user;
    nadir_srect_action *actions; /* [count] work space */
} nadir_srect_update;

/* Returns x; pi: [count]. With p = infinity every action has a budget of its own, and the best one is
 * taken. */
double nadir_srect_update_solve(const nadir_srect_update *self, double *pi);

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

typedef struct nadir_rectangular_optimum_result {
    double lower, upper; /* proven bounds on the best worst return; infinite: not known */
    double J;            /* worst return of the policy, about */
    int64_t evaluations; /* policies whose worst kernel was looked for */
    int64_t iterations;
    const char *stop_reason; /* "tolerance", "stable", "iterations", "time", "interrupted" */
} nadir_rectangular_optimum_result;

typedef struct nadir_rectangular_optimum_settings {
    const char *backend;      /* NULL: auto */
    double tolerance;         /* relative to the largest value */
    int64_t iterations_limit; /* at least one is made */
    /* Time limit, progress and checkpoints; NULL: none of them, and the rest is not used. */
    const nadir_robust_optimum_settings *search;
    const nadir_checkpoint_store *store;
    const char *identity; /* of checkpoints: model, ball and method */
    double nominal_optimum;
} nadir_rectangular_optimum_settings;

/* value: [states], out, or NULL; policy: a new one. The ball's set, once settled, is s or sa (also the
 * non-rectangular one of p = infinity). NADIR_ERROR_NOT_CONVERGED: a limit; the best so far is returned with
 * its bounds. NADIR_ERROR_INTERRUPTED: the same without bounds, if there was a step. */
nadir_status nadir_rectangular_optimum(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                       const nadir_rectangular_optimum_settings *settings, double *value,
                                       nadir_policy **policy, nadir_rectangular_optimum_result *result);

#endif
