/* lmo_internal.h: what the solvers of the various norms (lmo_l1_linf.c, lmo_l2.c, lmo_lp.c) have in common. For
 * this folder alone. */
#ifndef NADIR_SETS_LMO_INTERNAL_H
#define NADIR_SETS_LMO_INTERNAL_H

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "sets/lmo.h"

/* Where the entries of a row start among those of all rows; row = rows: their number. */
static inline int64_t nadir_lmo_row_start(const nadir_lmo *lmo, int64_t row)
{
    const bool full =
        lmo->model->dense != NULL || (lmo->costs != NULL && lmo->domain != NADIR_DOMAIN_SUPPORT);
    return full ? row * lmo->model->states : lmo->model->row_starts[row];
}

/* The largest number of entries of rows first .. end - 1. */
int64_t nadir_lmo_longest_row(const nadir_lmo *lmo, int64_t first, int64_t end);

/* Whether rows may reach other states than those that they list: sparse model, domain simplex. */
static inline bool nadir_lmo_has_tail(const nadir_lmo *lmo)
{
    return lmo->model->dense == NULL && lmo->domain == NADIR_DOMAIN_SIMPLEX && lmo->costs == NULL;
}

/* A row's allowed nominal successors as plain arrays. */
typedef struct nadir_lmo_row_view {
    int64_t count;
    const double *phat; /* [count] */
    const double *x;    /* [count] less the smallest allowed one, so that the smallest is 0 */
    double base;        /* that one: 0 for domain simplex without rewards on landing */
    bool off_support;   /* nadir_lmo_has_tail */
    double alpha;
    const double *low, *high; /* [count] in a box; otherwise NULL */
    const double *weight;     /* [count]; NULL: all one */
    double *scratch;          /* [2 * count] work space, in a box or with weights */
    /* Rows with a tail and rewards on landing; otherwise NULL: */
    const double *plain;    /* [count] x of the order */
    const int32_t *columns; /* [count] rising */
} nadir_lmo_row_view;

/* The weights of a row, in the order of its view; those of a dense row are gathered. work: as below, and start: of the
 * entries of the row. */
void nadir_lmo_row_view_weigh(const double *weights, int64_t start, const nadir_row *raw, double *work,
                              nadir_lmo_row_view *view);

/* Whether rows are those of a box, which those with weights are, too: entries of weight 0 stay where they are. */
static inline bool nadir_lmo_row_view_is_boxed(const nadir_lmo_row_view *view)
{
    return view->low != NULL || view->weight != NULL;
}

static inline double nadir_lmo_row_view_low(const nadir_lmo_row_view *view, int64_t i)
{
    return view->weight != NULL && view->weight[i] == 0 ? view->phat[i]
           : view->low != NULL                          ? view->low[i]
                                                        : 0;
}

static inline double nadir_lmo_row_view_high(const nadir_lmo_row_view *view, int64_t i)
{
    return view->weight != NULL && view->weight[i] == 0 ? view->phat[i]
           : view->high != NULL                         ? view->high[i]
           : view->phat[i] > 1                          ? view->phat[i]
                                                        : 1;
}

/* work: [5 * longest row], which may hold the arrays. */
nadir_lmo_row_view nadir_lmo_row_view_make(const nadir_lmo *lmo, int64_t row, double *work);

/* The same with the costs of the row as x. weights[row] = 0: not scaled. */
nadir_lmo_row_view nadir_lmo_row_costs_view(const struct nadir_lmo_row_costs *costs, int64_t row,
                                            double *work);
/* columns: [states] of its entries. */
void nadir_lmo_row_costs_columns(const struct nadir_lmo_row_costs *costs, int64_t row, int32_t *columns);
/* All rows nominal. */
void nadir_lmo_row_costs_begin(struct nadir_lmo_row_costs *costs);
/* Appends X to the changed rows, and its gain; X: [view->count], lost. */
nadir_status nadir_lmo_row_costs_append(nadir_context *context, struct nadir_lmo_row_costs *costs,
                                        int64_t row, const nadir_lmo_row_view *view, double *X);
/* X of a row with costs, p < infinity: [view->count]. */
void nadir_lmo_row_write(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                         const nadir_lmo_solution *solution, double *X);

static inline double nadir_lmo_scale(const nadir_lmo *lmo, int64_t row)
{
    return lmo->scales != NULL ? lmo->scales[row] : 1;
}

/* The smallest allowed x of a row, without rewards on landing. */
double nadir_lmo_row_base(const nadir_lmo *lmo, const nadir_row *row);

/* The first of the order that a row does not list; the number of states: it lists all. */
int64_t nadir_lmo_first_other(const nadir_value_order *order, const nadir_row *row);

/* Rewards on landing: x <- (v - min v + landing e) / range of the entries of a row, [count], less the smallest
 * allowed one of all states, which is returned. */
double nadir_lmo_own_costs(const nadir_lmo *lmo, int64_t row, const nadir_row *raw, double *x);

/* Whether a row lists a state; columns: [count] rising. */
static inline bool nadir_lmo_lists(int64_t count, const int32_t *columns, int32_t state)
{
    int64_t low = 0;
    for (int64_t high = count; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (columns[middle] < state) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && columns[low] == state;
}

/* How many states have x - base < omega: the first so many of the order. */
int64_t nadir_value_order_count(const nadir_value_order *order, double base, double omega);

/* A row with a tail and rewards on landing: over the states below omega that the row does not list. Relative
 * error of 8 roundings. */
nadir_value_order_sums nadir_lmo_others_below(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                                              double omega);
/* Any row with a tail: the same, or over all states below omega. */
static inline nadir_value_order_sums nadir_lmo_tail_below(const nadir_lmo *lmo,
                                                          const nadir_lmo_row_view *view, double omega)
{
    return view->plain == NULL ? nadir_value_order_below(lmo->order, omega)
                               : nadir_lmo_others_below(lmo, view, omega);
}

/* The solution of step infinity, gain in units of x: all mass on the allowed states of smallest x, with as
 * little of it moved as that takes. */
void nadir_lmo_solution_concentrate(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                                    nadir_lmo_solution *solution);

/* The rows of a budget. */
typedef struct nadir_lmo_group {
    const nadir_lmo *lmo;
    int64_t first, end;
    const double *weights; /* [end - first] */
    double unit;           /* the largest alpha w */
    double beta;           /* times NADIR_LMO_INSIDE */
    int threads;
    double *work;                  /* [threads * work_each] */
    int64_t work_each;             /* NADIR_LMO_ROW_WORK * longest row */
    double *scratch;               /* [scratch_size] */
    int64_t *moving;               /* [end - first] the rows that can move, rising: */
    int64_t moving_count;          /* so many */
    nadir_lmo_solution *solutions; /* [end - first] */
    const nadir_context *global;   /* set where rows of other processes share the budget; else NULL */
    nadir_context *context;        /* set where passes can be interrupted; else NULL */
    nadir_status *stopped;         /* see nadir_progress_team */
} nadir_lmo_group;

/* Over the rows of all processes that share the budget. */
static inline double nadir_lmo_group_sum(const nadir_lmo_group *group, double own)
{
    return group->global != NULL ? nadir_allreduce_sum(group->global, own) : own;
}
static inline double nadir_lmo_group_largest(const nadir_lmo_group *group, double own)
{
    return group->global != NULL ? nadir_allreduce_maximum(group->global, own) : own;
}

/* The ball is made smaller by this factor, so that rounding does not leave it. */
#define NADIR_LMO_INSIDE (1 - 16 * NADIR_ROUND_UNIT)

/* p = infinity with rewards on landing: larger changes of entries are not looked at. None is larger than 1. */
#define NADIR_LMO_RADIUS_MOST 2.0

/* Doubles of work space for each entry of a row. */
#define NADIR_LMO_ROW_WORK 5

/* Doubles of scratch for each row at p = 2. */
#define NADIR_LMO_PIECE_SIZE 8

/* (sum over the rows of norm^p)^(1/p). */
double nadir_lmo_group_norm(const nadir_lmo_group *group);
/* Solutions with all mass at the smallest v in every row. */
void nadir_lmo_group_concentrate(const nadir_lmo_group *group);
/* The same; whether that lies within the budget, which then is inactive. If not, solutions are undefined. */
bool nadir_lmo_group_is_inactive(const nadir_lmo_group *group);

/* alpha w / unit in [0, 1]: a row's step relative to the others'. */
static inline double nadir_lmo_group_weight(const nadir_lmo_group *group, int64_t row)
{
    const double weight = group->weights[row - group->first];
    return weight > 0 && group->unit > 0 ? nadir_lmo_scale(group->lmo, row) * weight / group->unit : 0;
}

/* Calls function(group, row, work, data) for every row that can move, on the threads of the group. */
typedef void (*nadir_lmo_row_work)(const nadir_lmo_group *group, int64_t row, double *work, void *data);
void nadir_lmo_group_run(const nadir_lmo_group *group, nadir_lmo_row_work function, void *data);

/* Each fills the solutions with omega, step, share, pivot, gain (in units of x) and norm, and returns step
 * and tau of the budget in units of x and `unit`. start: the step to start from; 0: none. */
typedef struct nadir_lmo_common {
    double step, tau;
} nadir_lmo_common;
typedef nadir_lmo_common (*nadir_lmo_norm_solver)(const nadir_lmo_group *group, double start);
nadir_lmo_common nadir_lmo_l1(const nadir_lmo_group *group, double start);
nadir_lmo_common nadir_lmo_l2(const nadir_lmo_group *group, double start);
nadir_lmo_common nadir_lmo_lp(const nadir_lmo_group *group, double start);
nadir_lmo_common nadir_lmo_linf(const nadir_lmo_group *group, double start);

/* One row with its step given, finite and positive: omega, share, gain and norm. */
void nadir_lmo_l2_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution);
void nadir_lmo_lp_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution);
/* p = 1, from the threshold: all mass at scale x above it moves, and a share of the mass at it;
 * solution->step stays. */
void nadir_lmo_l1_row(const nadir_lmo_row_view *view, double scale, double threshold, double share,
                      nadir_lmo_solution *solution);

/* Rows of a box (lmo_box.c), as the functions above: the solution of step infinity; of finite steps, 1 < p <
 * infinity; of p = 1; of p = infinity, where *size is |g1|_1. */
void nadir_lmo_box_concentrate(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                               nadir_lmo_solution *solution);
void nadir_lmo_box_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution);
void nadir_lmo_box_l1_row(const nadir_lmo_row_view *view, double scale, double threshold, double share,
                          nadir_lmo_solution *solution);
void nadir_lmo_box_linf_row(const nadir_lmo_row_view *view, double radius, nadir_lmo_solution *solution,
                            double *size);
/* p = 1: what can move in a row, largest rise first, as pairs of a rise and of mass: pairs[2 * most], most = 2 count.
 * Returns how many pairs. */
int64_t nadir_lmo_box_l1_pairs(const nadir_lmo_row_view *view, double *pairs);
/* All rows of a group at p = 2. */
nadir_lmo_common nadir_lmo_box_l2(const nadir_lmo_group *group, double start);
/* X of a solution of step > 0: [count], may be x of the view. */
void nadir_lmo_box_write(const nadir_lmo *lmo, const nadir_lmo_solution *solution,
                         const nadir_lmo_row_view *view, double *X);

/* p other than 1, 2 and infinity: Delta / alpha of an entry of Phat = phat at x. */
double nadir_lmo_lp_displacement(double p, const nadir_lmo_solution *solution, double alpha, double phat,
                                 double x);

#endif
