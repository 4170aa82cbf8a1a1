/*
 * costs.h: linear problems over the rows of a kernel where every row has an order of its own:
 *
 *     min sum_r c_r . X_r    over the X of the set,    c_r(t) = a_r x(t) - b_r y(t).
 *
 * That is the linear step for the difference of two policies, a = gamma d_A pi_A, b = gamma d_B pi_B, x =
 * v_A, y = v_B. Rows no longer share one order of values (rows.h), so that each is read in full: O(states)
 * for a row on the domains simplex and free, O(nominal successors) on support. With one step for all rows
 * that share a radius, alpha the scale of a row and one level omega for each,
 *
 *     p = 1         mass that lies by more than 1 / (alpha step) above the smallest cost goes there
 *     1 < p < inf   X = max(0, Phat + alpha change(alpha (omega - c))),   change(g) = sign(g) (step
 * |g|)^(q-1) for p <= 2, sign(g) step |g|^(q-1) for p > 2; free: without the maximum, in closed form p = inf
 * as much as radius and domain allow, cheapest successors first
 */
#ifndef NADIR_ADVERSARY_COSTS_H
#define NADIR_ADVERSARY_COSTS_H

#include "adversary/problem.h"
#include "kernel/kernel.h"

/* Rows that can have more entries than the model's are written out up to this many. */
#define NADIR_LMO_ROW_COSTS_LIMIT 50000000

/* The set, and all costs. A struct of zeros holds nothing. */
typedef struct nadir_lmo_row_costs {
    const nadir_model *model;
    const nadir_uncertainty *set;
    double *a, *b; /* [rows] of any sign */
    double *x, *y; /* [states] values from their smallest on, over `scale` */
    double scale;  /* 0: all are constant */
    double x_min, y_min;
    /* Of the last linear step: */
    double *omega; /* [rows] level above the smallest cost of the row */
    double *step;  /* [rows]; 0: the row is as it was; p = inf: the radius */
    double *norms; /* [rows] |Delta|_p / alpha */
    double gain;   /* sum_r c_r . (Phat_r - X_r) in units of the return, 0 or more */
    double tau;    /* non-rectangular, p = 2: multiplier of sum (|Delta| / alpha)^2; 0: the ball is idle */
    nadir_changed_rows changed; /* X, pointing into what follows */
    int64_t *rows;
    int64_t *starts;
    int32_t *columns;
    double *values;
    size_t columns_capacity, values_capacity;
    struct nadir_cost_rooms *rooms; /* owned: where threads work */
} nadir_lmo_row_costs;

/* NADIR_ERROR_UNSUPPORTED when rows would have to be written out that are too many and too long. */
nadir_status nadir_lmo_row_costs_make(nadir_context *context, const nadir_model *model,
                                      const nadir_uncertainty *set, nadir_lmo_row_costs *costs);
void nadir_lmo_row_costs_clear(nadir_context *context, nadir_lmo_row_costs *costs);

/* a = gamma d_A pi_A and so on; every array is [states] or [rows] and copied. NADIR_ERROR_NOT_CONVERGED when
 * a number is not finite. */
nadir_status nadir_lmo_row_costs_set(nadir_context *context, nadir_lmo_row_costs *costs, double gamma,
                                     const double *d_a, const double *pi_a, const double *v_a,
                                     const double *d_b, const double *pi_b, const double *v_b);

/* The linear step. Rows of no cost become nominal. */
nadir_status nadir_lmo_row_costs_solve(nadir_context *context, nadir_lmo_row_costs *costs);

/* The same with a price on the way: the X of the set that makes sum_r c_r . X_r + bend / 2 |X - from|^2
 * smallest, where |.| is over 1 / alpha; `from` lies in the set. bend > 0, in units of the return. *length:
 * |X - from|^2. Other than with the linear step, omega and step are not set. */
nadir_status nadir_lmo_row_costs_proximal(nadir_context *context, nadir_lmo_row_costs *costs,
                                          const nadir_kernel *from, double bend, double *length);

/*
 * At least the gain of every kernel of the set, in units of the return, by weak duality from omega and step,
 * whatever these are: for every row and every split c - omega = e1 + e2 with e2 >= 0 (free: e2 = 0)
 *
 *     c . (Phat - X) <= e2 . Phat + |e1|_q |Delta|_p,
 *
 * and Hölder's inequality over the rows that share a radius. Rounding is included.
 */
nadir_status nadir_lmo_row_costs_bound(nadir_context *context, const nadir_lmo_row_costs *costs,
                                       double *gain);

#endif
