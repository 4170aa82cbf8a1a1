/*
 * value.h: what a policy is worth on a kernel.
 *
 *     v = D R^pi,    d = D^T mu,    J = mu . v = d . R^pi,    Q(s, a) = R(s, a) + gamma P(.|s, a) . v
 *
 * with D = (I - gamma P^pi)^-1. The model of the kernel has rewards.
 */
#ifndef NADIR_SOLVE_VALUE_H
#define NADIR_SOLVE_VALUE_H

#include "model/kernel.h"
#include "model/policy.h"
#include "solve/occupancy.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_value {
    double *v;       /* [states] owned */
    double *d;       /* [states] owned */
    double J;        /* mu . v */
    double J_dual;   /* d . R^pi: equal to J but for the errors of both */
    double v_error;  /* in the maximum norm; infinity: no such bound (kernels with negative entries) */
    double d_error;  /* in the 1-norm */
    double J_error;  /* of J */
    double residual; /* of v, as the backend's system has it */
} nadir_value;

/* `occupancy` is that of this kernel and policy. */
nadir_status nadir_value_solve(nadir_context *context, const nadir_kernel *kernel, const nadir_policy *policy,
                               nadir_occupancy *occupancy, nadir_value *value);
void nadir_value_clear(nadir_context *context, nadir_value *value);

/* q: [rows]; v: [states]. */
void nadir_value_q(const nadir_context *context, const nadir_kernel *kernel, double gamma, const double *v,
                   double *q);

/* NADIR_ERROR_MODEL, with a sentence that tells what to do, unless the model has rewards and a discount, which may be 1. */
nadir_status nadir_value_check_given(nadir_context *context, const nadir_model *model);
/* The same; and NADIR_ERROR_ILL_POSED unless the discount is less than 1. */
nadir_status nadir_value_check_model(nadir_context *context, const nadir_model *model);

/*
 * One pass over the rows of a kernel, with what every state makes of its rows.
 *
 *     q(s, a) = R(s, a) + gamma P(.|s, a) . v
 *
 * Threaded over states, each row that counts read once; the same bits with any number of threads.
 */

/* What a pass saw. Residuals are against v. */
typedef struct nadir_bellman_pass {
    double lowest;         /* min_s of (value - v)(s) */
    double highest;        /* max_s of (Tv - v)(s) */
    double smallest_value; /* min_s and max_s of value(s) */
    double largest_value;
    int64_t changed; /* states with a new choice */
    bool finite;     /* every value is; otherwise the rest means nothing */
} nadir_bellman_pass;

/*
 * (Tv)(s) = max over a of q(s, a). v, value: [states], not overlapping; choice: [states], in: the row chosen
 * so far, out: a row whose q is within `tie` of the largest, the old one if possible; value(s): q of that
 * row. known: [rows], q(row) <= known[row] + rise as it would be computed: rows for which that is below q of
 * the row chosen so far are not read; NULL: all are.
 */
void nadir_bellman_maximise(const nadir_context *context, const nadir_kernel *kernel, double gamma,
                            const double *v, double tie, const double *known, double rise, int64_t *choice,
                            double *value, nadir_bellman_pass *pass);

/*
 * largest_reward: nadir_landing_reward_size. By how much a value of either pass, or its difference from v, may be off: rounding of products, sums and of
 * an average over up to `actions` rows (1 for a maximum).
 */
double nadir_bellman_rounding(const nadir_kernel_size *size, double gamma, int64_t actions,
                              double largest_reward, double largest_v);

/*
 * Bounds on the value of a policy from the rows of the kernel alone.
 *
 * Whoever computed v, and however: the residual r = R^pi + gamma P^pi v - v, made here from the rows, proves
 * (P >= 0, rows of P^pi summing to rho)
 *
 *     v + min r / (1 - gamma rho)  <=  V^pi  <=  v + max r / (1 - gamma rho)      in every state,
 *
 * since w = v + c 1 with c (1 - gamma rho) >= max r has T^pi w <= w. Where P has negative entries only
 * |V^pi - v| <= max |r| / (1 - gamma |P|) holds. Without a discount D 1 takes the place of 1 / (1 - gamma rho). Rounding is part of r, and rho is the end of its range that
 * makes the bound weaker.
 */

typedef struct nadir_value_check {
    double residual;     /* max |r|, rounding included */
    double low, high;    /* v + low <= V^pi <= v + high */
    double lower, upper; /* bounds on mu . V^pi; infinite where there are none */
    double minimum;      /* the smallest entry of the kernel */
    double gap;          /* without a discount: nadir_occupancy_gap of the kernel */
} nadir_value_check;

/* What the bounds of all policies of a kernel share. */
typedef struct nadir_value_terms {
    nadir_kernel_size size;
    double minimum; /* the smallest entry of the kernel */
    double reward;  /* max |R| */
    double mass;    /* of mu */
} nadir_value_terms;

/* O(entries). */
nadir_status nadir_value_terms_compute(nadir_context *context, const nadir_kernel *kernel,
                                       nadir_value_terms *terms);

/* What was seen of a v, by whoever made the pass over the rows, finite numbers; what products with rows lose
 * is in the terms. */
typedef struct nadir_value_residual {
    double lowest, highest; /* of r */
    double largest;         /* max |v| */
    double mean;            /* mu . v */
    double rounding;        /* by which that may be off */
} nadir_value_residual;

/* One pass over the rows. work: [states]; v: [states]. NADIR_ERROR_NOT_CONVERGED as below. */
nadir_status nadir_value_residual_compute(nadir_context *context, const nadir_kernel *kernel,
                                          const nadir_policy *policy, double gamma, const double *v,
                                          double *work, nadir_value_residual *seen);

/* probabilities: [rows]. */
void nadir_value_bounds(const nadir_context *context, const nadir_model *model,
                        const nadir_value_terms *terms, const double *probabilities, double gamma,
                        const nadir_value_residual *seen, nadir_value_check *check);

/* All of these for one policy. v: [states]. NADIR_ERROR_NOT_CONVERGED when a number is not finite. */
nadir_status nadir_value_check_rows(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, double gamma, const double *v,
                                    nadir_value_check *check);

/* Narrows lower and upper of a check of the same kernel, policy and v by d: [states], about the occupancy
 * (return_check.c). Nothing is done for kernels with negative entries, and for those that are large or spread over
 * processes. */
nadir_status nadir_value_check_return(nadir_context *context, const nadir_kernel *kernel,
                                      const nadir_policy *policy, double gamma, const double *v,
                                      const double *d, nadir_value_check *check);

/* c with c (1 - gamma rho) >= r for every rho in [rho_low, rho_high], as small as that allows; infinity when
 * there is none. Without a discount: c >= r D 1, where D 1 <= 1 / least. -nadir_check_offset(-r, ...) is the largest c with c (1 - gamma rho) <= r. */
double nadir_check_offset(double r, double gamma, double rho_low, double rho_high, double least);

#endif
