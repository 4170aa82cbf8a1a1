/*
 * lmo_rectangular.h: the answers of all rows of a rectangular set to a value, state by state, threaded.
 */
#ifndef NADIR_SETS_LMO_RECTANGULAR_H
#define NADIR_SETS_LMO_RECTANGULAR_H

#include "adversary/problem.h"
#include "adversary/rows/lmo.h"
#include "adversary/rows/lmo_device.h"

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
    nadir_lmo_device remote; /* a device answers; NULL step: none does */
    bool moves;              /* it moves anything */
} nadir_lmo_rectangular;

/* rows.order points into the struct: it must stay where it is. */
nadir_status nadir_lmo_rectangular_make(nadir_context *context, const nadir_problem *problem, double factor,
                                        nadir_lmo_rectangular *worst);
/* The same for who wants gains and kernels alone, which a device can make: domain support, or p = infinity.
 * There are no answers then, and no bounds. */
nadir_status nadir_lmo_rectangular_make_remote(nadir_context *context, const nadir_problem *problem,
                                               double factor, nadir_lmo_rectangular *worst);
/* The answers to v, made here from now on: for who finds that the device has no room for their kernel. */
nadir_status nadir_lmo_rectangular_recall(nadir_context *context, nadir_lmo_rectangular *worst,
                                          const double *v);
void nadir_lmo_rectangular_clear(nadir_context *context, nadir_lmo_rectangular *worst);

/* Answers to v: [states], from the last answers on. Rows of pi = 0 stay nominal. */
nadir_status nadir_lmo_rectangular_answer(nadir_context *context, nadir_lmo_rectangular *worst,
                                          const double *v);

/* The kernel of the answers; see nadir_lmo_kernel. */
nadir_status nadir_lmo_rectangular_kernel(nadir_context *context, const nadir_lmo_rectangular *worst,
                                          nadir_kernel **kernel);

/* Instead of the gains, what they can be at most in any case: by weak duality from the answers, whatever
 * these are, rounding of the products with pi included. gain: [states]. */
nadir_status nadir_lmo_rectangular_bound(nadir_context *context, const nadir_lmo_rectangular *worst,
                                         double *gain);

#endif
