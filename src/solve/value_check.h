/*
 * value_check.h: bounds on the value of a policy from the rows of the kernel alone.
 *
 * Whoever computed v, and however: the residual r = R^pi + gamma P^pi v - v, made here from the rows, proves
 * (P >= 0, rows of P^pi summing to rho)
 *
 *     v + min r / (1 - gamma rho)  <=  V^pi  <=  v + max r / (1 - gamma rho)      in every state,
 *
 * since w = v + c 1 with c (1 - gamma rho) >= max r has T^pi w <= w. Where P has negative entries only
 * |V^pi - v| <= max |r| / (1 - gamma |P|) holds. Rounding is part of r, and rho is the end of its range that
 * makes the bound weaker.
 */
#ifndef NADIR_SOLVE_VALUE_CHECK_H
#define NADIR_SOLVE_VALUE_CHECK_H

#include "model/kernel.h"
#include "model/policy.h"

typedef struct nadir_value_check {
    double residual;     /* max |r|, rounding included */
    double low, high;    /* v + low <= V^pi <= v + high */
    double lower, upper; /* bounds on mu . V^pi; infinite where there are none */
    double minimum;      /* the smallest entry of the kernel */
} nadir_value_check;

/* What the bounds of all policies of a kernel share. */
typedef struct nadir_value_terms {
    nadir_kernel_size size;
    double minimum; /* the smallest entry of the kernel */
    double reward;  /* max |R| */
    double mass;    /* of mu */
} nadir_value_terms;

/* O(entries). */
void nadir_value_terms_compute(const nadir_context *context, const nadir_kernel *kernel,
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

/* c with c (1 - gamma rho) >= r for every rho in [rho_low, rho_high], as small as that allows; infinity when
 * there is none. -nadir_check_offset(-r, ...) is the largest c with c (1 - gamma rho) <= r. */
double nadir_check_offset(double r, double gamma, double rho_low, double rho_high);

#endif
