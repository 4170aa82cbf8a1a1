/*
 * check.h: bounds on the value of a policy from the rows of the kernel alone.
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
#ifndef NADIR_NOMINAL_CHECK_H
#define NADIR_NOMINAL_CHECK_H

#include "kernel/kernel.h"
#include "model/policy.h"

typedef struct nadir_value_check {
    double residual;     /* max |r|, rounding included */
    double low, high;    /* v + low <= V^pi <= v + high */
    double lower, upper; /* bounds on mu . V^pi; infinite where there are none */
    double minimum;      /* the smallest entry of the kernel */
} nadir_value_check;

/* v: [states]. NADIR_ERROR_NOT_CONVERGED when a number is not finite. */
nadir_status nadir_value_check_rows(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, double gamma, const double *v,
                                    nadir_value_check *check);

/* c with c (1 - gamma rho) >= r for every rho in [rho_low, rho_high], as small as that allows; infinity when
 * there is none. -nadir_check_offset(-r, ...) is the largest c with c (1 - gamma rho) <= r. */
double nadir_check_offset(double r, double gamma, double rho_low, double rho_high);

#endif
