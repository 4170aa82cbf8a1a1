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

#include "core/round.h"
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

/* ----------------------------------------------------------- one row, and rows that share a radius
 *
 * One row of lmo_row_costs.h, and rows that share a radius. For its files and its
 * bound alone.
 */

/* The ball is made smaller by this factor, so that rounding does not leave it. */
#define NADIR_LMO_COST_INSIDE (1 - 64 * NADIR_ROUND_UNIT)

/* The allowed successors of a row that can move. */
typedef struct nadir_lmo_cost_row {
    int64_t count;
    int32_t *columns; /* [count] */
    double *phat;     /* [count] */
    double *cost;     /* [count] less the smallest, so that the smallest is 0 */
    double largest;   /* of the costs */
    double alpha;
} nadir_lmo_cost_row;

/* Working space of one thread. */
typedef struct nadir_lmo_cost_work {
    nadir_lmo_cost_row row;
    double *X, *second; /* [states] solutions */
    double *work;       /* [states] */
    int32_t *indices;   /* [states] */
} nadir_lmo_cost_work;

/* Of all threads, in two blocks. */
typedef struct nadir_lmo_cost_works {
    int threads;
    nadir_lmo_cost_work *each; /* [threads] */
    double *numbers;
    int32_t *indices;
} nadir_lmo_cost_works;

/* Reads a row into work->row; false: it cannot move, alpha = 0. */
bool nadir_lmo_cost_row_read(const nadir_lmo_row_costs *costs, int64_t row, nadir_lmo_cost_work *work);
/* The same; false: moreover, where its costs are all equal. */
bool nadir_lmo_cost_row_read_active(const nadir_lmo_row_costs *costs, int64_t row, nadir_lmo_cost_work *work);

/* X, [count], and its |Delta|_p / alpha, for a step > 0 (p = inf: the radius of the row, alpha included);
 * domains simplex and support. indices, work: [count] working space. */
double nadir_lmo_cost_row_solve(const nadir_lmo_cost_row *row, double p, double step, int32_t *indices,
                                double *X, double *work, double *omega);

/* |X - Phat|_p / alpha. work: [count] */
double nadir_lmo_cost_row_norm(const nadir_lmo_cost_row *row, double p, const double *X, double *work);

/* All rows nominal. */
void nadir_lmo_row_costs_begin(nadir_lmo_row_costs *costs);
/* Appends work->X to the changed rows, and its gain. */
nadir_status nadir_lmo_row_costs_append(nadir_context *context, nadir_lmo_row_costs *costs, int64_t row,
                                        const nadir_lmo_cost_work *work);

/* Rows first .. end - 1 that share a radius. */
typedef struct nadir_lmo_cost_group {
    int64_t first, end;
    double radius;
} nadir_lmo_cost_group;

/* The group that begins at this row; the first begins at row 0. */
nadir_lmo_cost_group nadir_lmo_cost_group_from(const nadir_lmo_row_costs *costs, int64_t row);

/* The step of a group: X is (1 - share) of the solution at `low` and the rest at `high`. */
typedef struct nadir_lmo_cost_step {
    double low, high, share;
    bool active; /* the ball constrains the solution */
} nadir_lmo_cost_step;

#endif
