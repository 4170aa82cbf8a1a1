/*
 * lmo_row_costs.h: the linear minimisation oracle where every row has its own costs:
 *
 *     min sum_r c_r . X_r    over the X of the set,    c_r(t) = a_r x(t) - b_r y(t) + (a_r - b_r) landing e_r(t).
 *
 * For the difference of two policies a = gamma d_A pi_A, b = gamma d_B pi_B, x = v_A, y = v_B; e are rewards
 * paid on landing (model/landing.h). Rows do not
 * share one order of values: each is the problem of lmo.h with values (c_r - min c_r) / w_r of its own and the
 * weight w_r = max c_r - min c_r, solved by the oracle there. Each is read in full: O(states) for a row on the
 * domains simplex and free, O(nominal successors) on support. p = infinity: as much as radius and domain
 * allow, cheapest successors first. On the free domain X has a closed form.
 *
 * Or c_r are any numbers at all: nadir_lmo_row_costs_give.
 */
#ifndef NADIR_SETS_LMO_ROW_COSTS_H
#define NADIR_SETS_LMO_ROW_COSTS_H

#include "sets/lmo.h"

/* Rows that can have more entries than the model's are written out up to this many entries. */
#define NADIR_LMO_ROW_COSTS_LIMIT 50000000

/* The set, and all costs. A struct of zeros holds nothing. */
typedef struct nadir_lmo_row_costs {
    nadir_model *model;
    const nadir_uncertainty *set;
    double *a, *b;           /* [rows] of any sign */
    double *x, *y;           /* [states] values less their smallest, over `scale` */
    double scale;            /* 0: all are constant */
    double landing;          /* factor of e, over `scale`: at most 1 in size with any e; 0: there is none */
    const double *given;     /* [entries] costs, used instead of a, b, x, y; NULL: none */
    const int64_t *starts;   /* [rows] where those of a row start */
    double *weights;         /* [rows] w; 0: the row cannot move, or its costs are all equal */
    nadir_value_order order; /* of the oracle; only its range, `scale`, is there */
    /* Of the last solution: */
    nadir_lmo_solution *solutions; /* [rows]; free domain: omega and norm alone */
    double gain;                   /* sum_r c_r . (Phat_r - X_r) in units of the return, 0 or more */
    double tau;             /* non-rectangular, p = 2: multiplier of sum (|Delta| / alpha)^2; 0: inactive */
    nadir_row_list changed; /* X */
    double *work;           /* for one row at a time, and for rows that share a radius */
    int32_t *columns;       /* [states] of one row */
} nadir_lmo_row_costs;

/* NADIR_ERROR_UNSUPPORTED when rows to be written out are too many and too long. */
nadir_status nadir_lmo_row_costs_make(nadir_context *context, nadir_model *model,
                                      const nadir_uncertainty *set, nadir_lmo_row_costs *costs);
void nadir_lmo_row_costs_clear(nadir_context *context, nadir_lmo_row_costs *costs);

/* a = gamma d_A pi_A and so on; landing: as in nadir_problem; d, v: [states], pi: [rows], all copied. NADIR_ERROR_NOT_CONVERGED when a
 * number is not finite. */
nadir_status nadir_lmo_row_costs_set(nadir_context *context, nadir_lmo_row_costs *costs, double gamma,
                                     double landing, const double *d_a, const double *pi_a, const double *v_a,
                                     const double *d_b, const double *pi_b, const double *v_b);

/* Costs c of any form: those of row r are given[starts[r]] and so on, one for each allowed successor (support:
 * of positive nominal probability; else all states). Both arrays are kept, not copied. Not for bounds. */
nadir_status nadir_lmo_row_costs_give(nadir_context *context, nadir_lmo_row_costs *costs,
                                      const int64_t *starts, const double *given);

/* The linear step. Rows without costs become nominal. */
nadir_status nadir_lmo_row_costs_solve(nadir_context *context, nadir_lmo_row_costs *costs);

/* The proximal step: min sum_r c_r . X_r + curvature / 2 |X - from|^2 over the set, |.| over 1 / alpha;
 * `from` lies in the set, curvature > 0 in units of the return. *length: |X - from|^2. Solutions are not
 * set. */
nadir_status nadir_lmo_row_costs_proximal(nadir_context *context, nadir_lmo_row_costs *costs,
                                          const nadir_kernel *from, double curvature, double *length);

/* The oracle of lmo.h with these costs, also for bounds; costs->work holds what these want. */
static inline nadir_lmo nadir_lmo_row_costs_oracle(const nadir_lmo_row_costs *costs)
{
    return (nadir_lmo){.model = costs->model,
                       .order = &costs->order,
                       .scales = costs->set->scales,
                       .domain = costs->set->domain,
                       .lower = costs->set->lower,
                       .upper = costs->set->upper,
                       .weights = costs->set->weights,
                       .p = costs->set->p,
                       .q = costs->set->q,
                       .costs = costs};
}

/* Rows first .. end - 1 that share a radius. */
typedef struct nadir_lmo_cost_group {
    int64_t first, end;
    double radius;
} nadir_lmo_cost_group;

/* The group that begins at this row; the first begins at row 0. */
nadir_lmo_cost_group nadir_lmo_cost_group_from(const nadir_lmo_row_costs *costs, int64_t row);

#endif
