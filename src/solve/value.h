/*
 * value.h: what a policy is worth on a kernel.
 *
 *     v = D R^pi,    d = D^T mu,    J = mu . v = d . R^pi,    Q(s, a) = R(s, a) + gamma P(.|s, a) . v
 *
 * with D = (I - gamma P^pi)^-1. The model of the kernel has rewards.
 */
#ifndef NADIR_SOLVE_VALUE_H
#define NADIR_SOLVE_VALUE_H

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

/* NADIR_ERROR_MODEL, with a sentence that tells what to do, unless the model has rewards and a discount. */
nadir_status nadir_value_check_model(nadir_context *context, const nadir_model *model);

#endif
