/*
 * lmo_row_costs.h: the linear minimisation oracle where every row has its own costs:
 *
 *     min sum_r c_r . X_r    over the X of the set,    c_r(t) = a_r x(t) - b_r y(t).
 *
 * For the difference of two policies a = gamma d_A pi_A, b = gamma d_B pi_B, x = v_A, y = v_B. Rows do not
 * share one order of values (lmo.h), so that each is read in full: O(states) for a row on the domains simplex
 * and free, O(nominal successors) on support. With one step for all rows that share a radius, alpha the scale
 * of a row and one level omega for each,
 *
 *     p = 1         mass at costs of more than 1 / (alpha step) above the smallest goes to the smallest
 *     1 < p < inf   X = max(0, Phat + alpha change(alpha (omega - c))), where
 *                   change(g) = sign(g) (step |g|)^(q-1)   for p <= 2,
 *                   change(g) = sign(g) step |g|^(q-1)     for p > 2
 *     p = inf       as much as radius and domain allow, cheapest successors first
 *
 * On the free domain there is no maximum, and X has a closed form.
 */
#ifndef NADIR_SETS_LMO_ROW_COSTS_H
#define NADIR_SETS_LMO_ROW_COSTS_H

#include "model/kernel.h"
#include "sets/uncertainty.h"

/* Rows that can have more entries than the model's are written out up to this many entries. */
#define NADIR_LMO_ROW_COSTS_LIMIT 50000000

/* The set, and all costs. A struct of zeros holds nothing. */
typedef struct nadir_lmo_row_costs {
    const nadir_model *model;
    const nadir_uncertainty *set;
    double *a, *b; /* [rows] of any sign */
    double *x, *y; /* [states] values less their smallest, over `scale` */
    double scale;  /* 0: all are constant */
    /* Of the last solution: */
    double *omega; /* [rows] level above the smallest cost of the row */
    double *step;  /* [rows]; 0: the row is nominal; p = inf: the radius */
    double *norms; /* [rows] |Delta|_p / alpha */
    double gain;   /* sum_r c_r . (Phat_r - X_r) in units of the return, 0 or more */
    double tau;    /* non-rectangular, p = 2: multiplier of sum (|Delta| / alpha)^2; 0: inactive */
    nadir_changed_rows changed; /* X, pointing into what follows */
    int64_t *rows;
    int64_t *starts;
    int32_t *columns;
    double *values;
    size_t columns_capacity, values_capacity;
    struct nadir_lmo_cost_works *works; /* owned: working space of threads */
} nadir_lmo_row_costs;

/* NADIR_ERROR_UNSUPPORTED when rows to be written out are too many and too long. */
nadir_status nadir_lmo_row_costs_make(nadir_context *context, const nadir_model *model,
                                      const nadir_uncertainty *set, nadir_lmo_row_costs *costs);
void nadir_lmo_row_costs_clear(nadir_context *context, nadir_lmo_row_costs *costs);

/* a = gamma d_A pi_A and so on; d, v: [states], pi: [rows], all copied. NADIR_ERROR_NOT_CONVERGED when a
 * number is not finite. */
nadir_status nadir_lmo_row_costs_set(nadir_context *context, nadir_lmo_row_costs *costs, double gamma,
                                     const double *d_a, const double *pi_a, const double *v_a,
                                     const double *d_b, const double *pi_b, const double *v_b);

/* The linear step. Rows without costs become nominal. */
nadir_status nadir_lmo_row_costs_solve(nadir_context *context, nadir_lmo_row_costs *costs);

/* The proximal step: min sum_r c_r . X_r + curvature / 2 |X - from|^2 over the set, |.| over 1 / alpha;
 * `from` lies in the set, curvature > 0 in units of the return. *length: |X - from|^2. omega and step are not
 * set. */
nadir_status nadir_lmo_row_costs_proximal(nadir_context *context, nadir_lmo_row_costs *costs,
                                          const nadir_kernel *from, double curvature, double *length);

#endif
