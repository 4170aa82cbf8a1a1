/* parts.h: what the row problems of the various norms have in common. For this folder alone. */
#ifndef NADIR_ADVERSARY_ROWS_PARTS_H
#define NADIR_ADVERSARY_ROWS_PARTS_H

#include "adversary/rows/lmo.h"
#include "linalg/distributed.h"
#include "linalg/norm.h"

#include <float.h>

/* A row's allowed nominal successors as plain arrays. */
typedef struct nadir_lmo_row_view {
    int64_t count;
    const double *phat; /* [count] */
    const double *x;    /* [count] from the smallest allowed one on, which so is 0 */
    double base;        /* that one: 0 for domain simplex */
    bool spread;        /* all other states are allowed too: domain simplex, list of transitions */
    double alpha;
} nadir_lmo_row_view;

/* room: [2 * longest row] where the arrays may be put. */
nadir_lmo_row_view nadir_lmo_row_view_make(const nadir_lmo *rows, int64_t row, double *room);

static inline double nadir_lmo_scale(const nadir_lmo *rows, int64_t row)
{
    return rows->scales != NULL ? rows->scales[row] : 1;
}

/* The smallest allowed x of a row. */
double nadir_lmo_row_base(const nadir_lmo *rows, const nadir_row *row);

/* All mass on the states of the smallest x that are allowed, as little of it moved as that takes. */
typedef struct nadir_lmo_concentrated {
    double count; /* of those states */
    double moved; /* mass that comes from others */
    double gain;  /* in units of x */
    double norm;  /* |Delta|_p / alpha */
} nadir_lmo_concentrated;

nadir_lmo_concentrated nadir_lmo_concentrate(const nadir_lmo *rows, const nadir_lmo_row_view *view);

/* The answer of step infinity, gain in units of x. */
void nadir_lmo_solution_concentrate(const nadir_lmo *rows, const nadir_lmo_row_view *view,
                                    nadir_lmo_solution *answer);

/* The rows of a budget. */
typedef struct nadir_lmo_group {
    const nadir_lmo *rows;
    int64_t first, end;
    const double *weights; /* [end - first] */
    double unit;           /* the largest alpha w */
    double beta;           /* a little less: rounding must not leave the ball */
    int threads;
    double *room;                /* [threads * room_each] */
    int64_t room_each;           /* 3 * longest row */
    double *scratch;             /* [nadir_lmo_scratch_size] */
    int64_t *moving;             /* [end - first] the rows that can move, rising: */
    int64_t moving_count;        /* so many */
    nadir_lmo_solution *answers; /* [end - first] */
    const nadir_context *whole;  /* of a budget that rows of other processes share too; NULL: none do */
    nadir_context *context;      /* of passes that can be interrupted, NULL: none */
    nadir_status *stopped;       /* see nadir_progress_team */
} nadir_lmo_group;

/* Over the rows of all processes that share the budget. */
static inline double nadir_lmo_group_sum(const nadir_lmo_group *group, double own)
{
    return group->whole != NULL ? nadir_allreduce_sum(group->whole, own) : own;
}
static inline double nadir_lmo_group_largest(const nadir_lmo_group *group, double own)
{
    return group->whole != NULL ? nadir_allreduce_maximum(group->whole, own) : own;
}

/* The ball is made smaller by this much, so that rounding does not leave it. */
#define NADIR_LMO_INSIDE (1 - 16 * (DBL_EPSILON / 2))

/* Numbers of scratch for each row at p = 2. */
#define NADIR_LMO_PIECE_SIZE 8

/* (sum over the rows of norm^p)^(1/p). */
double nadir_lmo_group_norm(const nadir_lmo_group *group);
/* Answers every row with all mass at the smallest v. */
void nadir_lmo_group_concentrate(const nadir_lmo_group *group);
/* The same; whether that is within the budget. If not, answers may be anything. */
bool nadir_lmo_group_is_inactive(const nadir_lmo_group *group);

/* alpha w / unit in [0, 1]: what a row's step is relative to the others'. */
static inline double nadir_lmo_group_weight(const nadir_lmo_group *group, int64_t row)
{
    const double weight = group->weights[row - group->first];
    return weight > 0 && group->unit > 0 ? nadir_lmo_scale(group->rows, row) * weight / group->unit : 0;
}

/* Numbers of scratch for rows first .. end - 1, without the list of those that move. */
int64_t nadir_lmo_scratch_size(const nadir_lmo *rows, int64_t first, int64_t end);

/* Calls work(group, row, room, data) for every row that can move, on the threads of the group. */
typedef void (*nadir_lmo_row_work)(const nadir_lmo_group *group, int64_t row, double *room, void *data);
void nadir_lmo_group_run(const nadir_lmo_group *group, nadir_lmo_row_work work, void *data);

/* Each fills the answers with omega, step, share, pivot, gain (in units of x) and norm, and returns what
 * budget->step and tau say, in units of x and `unit`. start: the step to start from; 0: none. */
typedef struct nadir_lmo_common {
    double step, tau;
} nadir_lmo_common;
nadir_lmo_common nadir_lmo_l2(const nadir_lmo_group *group, double start);
nadir_lmo_common nadir_lmo_l1(const nadir_lmo_group *group);
nadir_lmo_common nadir_lmo_linf(const nadir_lmo_group *group);
nadir_lmo_common nadir_lmo_lp(const nadir_lmo_group *group, double start);

/* One row with its step given, finite and positive: omega, share, gain and norm. */
void nadir_lmo_l2_row(const nadir_lmo *rows, const nadir_lmo_row_view *view, nadir_lmo_solution *answer);
void nadir_lmo_lp_row(const nadir_lmo *rows, const nadir_lmo_row_view *view, nadir_lmo_solution *answer);
/* p = 1, from the threshold: of entries with scale x above it everything moves, of those at it a
 * share; answer->step stays. */
void nadir_lmo_l1_row(const nadir_lmo_row_view *view, double scale, double threshold, double share,
                      nadir_lmo_solution *answer);

/* change(g) of rows.h for g >= 0; 1 < p < infinity. */
static inline double nadir_lmo_lp_change(double p, double step, double g)
{
    if (!(g > 0)) {
        return 0;
    }
    return p <= 2 ? nadir_power(step * g, 1 / (p - 1)) : step * nadir_power(g, 1 / (p - 1));
}

/* p other than 1, 2 and infinity: Delta / alpha of an entry of Phat = phat at x. */
double nadir_lmo_lp_displacement(double p, const nadir_lmo_solution *answer, double alpha, double phat,
                                 double x);

/* What states that are no nominal successors get in a row: a line over the first of the order, and a number
 * for one more. */
typedef struct nadir_lmo_tail {
    double omega, slope;
    int32_t length;
    int32_t extra; /* -1: none */
    double amount;
} nadir_lmo_tail;

/* values: [entries of the row] of its nominal successors. */
nadir_lmo_tail nadir_lmo_write_row(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                                   double *values);

/* The same for every p: how many states of the order may get something, and what the one at a place gets if
 * it is no nominal successor; without the extra one. */
int64_t nadir_lmo_tail_count(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                             const nadir_lmo_tail *rest);
double nadir_lmo_tail_value(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                            const nadir_lmo_tail *rest, int64_t place);

#endif
