/*
 * lmo_by_state.h: linear minimisation state by state, threaded: min over the rows of s of sum_a pi P_sa . v, in
 * a ball for each state, or with a penalty on the change of rows.
 */
#ifndef NADIR_SETS_LMO_BY_STATE_H
#define NADIR_SETS_LMO_BY_STATE_H

#include "sets/lmo.h"
#include "sets/uncertainty.h"

/* ------------------------------------------------------------------------------- rectangular balls
 *
 * Linear minimisation over the rows of a rectangular set, state by state, threaded:
 * min over the rows of s, within ball and domain, of sum_a pi(a|s) P_sa . v.
 */

/* A struct of zeros holds nothing. */
typedef struct nadir_lmo_rectangular {
    const nadir_problem *problem;
    double factor; /* of all radii */
    nadir_lmo rows;
    nadir_value_order order;
    nadir_lmo_solution *solutions; /* [rows] */
    double *gain;                  /* [states] sum over a of pi(a|s) (Phat_sa - X_sa) . v */
    double *work;
    int64_t work_each;
    int threads;
    nadir_lmo_device device_lmo; /* a device solves; NULL step: none does */
    bool moves;                  /* some row of its solution is not nominal */
} nadir_lmo_rectangular;

/* rows.order points into the struct: it must stay where it is. */
nadir_status nadir_lmo_rectangular_make(nadir_context *context, const nadir_problem *problem, double factor,
                                        nadir_lmo_rectangular *lmo);
/* The same for gains and kernels alone, which a device can compute: domain support, or p = infinity. Neither
 * solutions nor bounds are available then. */
nadir_status nadir_lmo_rectangular_make_on_device(nadir_context *context, const nadir_problem *problem,
                                                  double factor, nadir_lmo_rectangular *lmo);
/* Solves for v again, and from now on, on the processor: where the device has no memory for the kernel. */
nadir_status nadir_lmo_rectangular_leave_device(nadir_context *context, nadir_lmo_rectangular *lmo,
                                                const double *v);
void nadir_lmo_rectangular_clear(nadir_context *context, nadir_lmo_rectangular *lmo);

/* The minimising rows for v: [states], from the last ones. Rows of pi = 0 stay nominal. */
nadir_status nadir_lmo_rectangular_solve(nadir_context *context, nadir_lmo_rectangular *lmo, const double *v);

/* The kernel of these rows; see nadir_lmo_kernel. */
nadir_status nadir_lmo_rectangular_kernel(nadir_context *context, const nadir_lmo_rectangular *lmo,
                                          nadir_kernel **kernel);

/* gain: [states] at least the true gains, by weak duality from the solutions, whatever these are; rounding is
 * included. */
nadir_status nadir_lmo_rectangular_bound(nadir_context *context, const nadir_lmo_rectangular *lmo,
                                         double *gain);

/* --------------------------------------------------------------------------------------- penalised
 *
 * Linear minimisation with a penalty on the change of rows, state by state, threaded:
 *
 *     min over the rows of s of  gamma sum_a pi P_sa . v + tau / d_bar(s) x_s,
 *     x_s = sum_a (|Delta_sa|_p / alpha_sa)^p <= beta^p
 *
 * 1 <= p < infinity, domains simplex and support. Rows of pi = 0, of alpha = 0, and of states with d_bar = 0
 * stay nominal.
 */

/* A struct of zeros holds nothing. */
typedef struct nadir_lmo_penalized {
    const nadir_problem *problem;
    double beta;
    const double *d_bar; /* [states] */
    const double *caps;  /* [states] in place of beta, where they are less; NULL: nowhere */
    nadir_lmo rows;
    nadir_value_order order;
    nadir_lmo_solution *solutions; /* [rows]; NULL where rows are solved faster tha solutions are kept */
    double *taken;                 /* [states] gamma Phat^pi v less the minimum, 0 or more */
    double *norms;                 /* [states] x_s^(1/p) */
    double *work;
    int64_t work_each;
    int threads;
} nadir_lmo_penalized;

/* rows.order points into the struct: it must stay where it is. */
nadir_status nadir_lmo_penalized_make(nadir_context *context, const nadir_problem *problem, double beta,
                                      const double *d_bar, nadir_lmo_penalized *lmo);
void nadir_lmo_penalized_clear(nadir_context *context, nadir_lmo_penalized *lmo);

/* The minimising rows for v: [states], from the last ones. */
nadir_status nadir_lmo_penalized_solve(nadir_context *context, nadir_lmo_penalized *lmo, double tau,
                                       const double *v);

/* The kernel of these rows, for the same tau; as nadir_lmo_kernel. */
nadir_status nadir_lmo_penalized_kernel(nadir_context *context, nadir_lmo_penalized *lmo, double tau,
                                        nadir_kernel **kernel);

/* taken: [states] at least gamma Phat^pi v less the minimum, by weak duality from the solutions, whatever these
 * are; rounding of weights, penalties and sums is included. */
void nadir_lmo_penalized_bound(const nadir_lmo_penalized *lmo, double tau, double *taken);

/* tau / d_bar norm^p in a state. */
double nadir_lmo_penalized_cost(const nadir_lmo_penalized *lmo, double tau, int64_t state, double norm);

#endif
