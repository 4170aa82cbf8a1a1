/*
 * lmo_rectangular.h: linear minimisation over the rows of a rectangular set, state by state, threaded:
 * min over the rows of s, within ball and domain, of sum_a pi(a|s) P_sa . v.
 */
#ifndef NADIR_SETS_LMO_RECTANGULAR_H
#define NADIR_SETS_LMO_RECTANGULAR_H

#include "sets/lmo.h"
#include "sets/uncertainty.h"

/* Numbers that the bound of a row takes. */
#define NADIR_LMO_BOUND_ROOM ((int64_t)(sizeof(nadir_lmo_row_bound) / sizeof(double)))

/* A struct of zeros holds nothing. */
typedef struct nadir_lmo_rectangular {
    const nadir_problem *problem;
    double factor; /* of all radii */
    nadir_lmo rows;
    nadir_value_order order;
    nadir_lmo_solution *answers; /* [rows] */
    double *gain;                /* [states] sum over a of pi(a|s) (Phat_sa - X_sa) . v */
    double *room;
    int64_t room_each;
    int threads;
    nadir_lmo_device remote; /* a device solves; NULL step: none does */
    bool moves;              /* some row of its solution is not nominal */
} nadir_lmo_rectangular;

/* rows.order points into the struct: it must stay where it is. */
nadir_status nadir_lmo_rectangular_make(nadir_context *context, const nadir_problem *problem, double factor,
                                        nadir_lmo_rectangular *lmo);
/* The same for gains and kernels alone, which a device can compute: domain support, or p = infinity. Neither
 * answers nor bounds are available then. */
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

/* gain: [states] at least the true gains, by weak duality from the answers, whatever these are; rounding is
 * included. */
nadir_status nadir_lmo_rectangular_bound(nadir_context *context, const nadir_lmo_rectangular *lmo,
                                         double *gain);

#endif
