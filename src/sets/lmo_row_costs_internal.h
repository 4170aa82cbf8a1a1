/* lmo_row_costs_internal.h: one row of lmo_row_costs.h, and rows that share a radius. For its files and its
 * bound alone. */
#ifndef NADIR_SETS_LMO_ROW_COSTS_INTERNAL_H
#define NADIR_SETS_LMO_ROW_COSTS_INTERNAL_H

#include "core/round.h"
#include "sets/lmo_row_costs.h"

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

/* Domains simplex and support, p < inf. */
nadir_lmo_cost_step nadir_lmo_cost_group_solve(const nadir_lmo_row_costs *costs,
                                               const nadir_lmo_cost_group *group);

#endif
