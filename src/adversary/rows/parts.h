/* parts.h: what the row problems of the various norms have in common. For this folder alone. */
#ifndef NADIR_ADVERSARY_ROWS_PARTS_H
#define NADIR_ADVERSARY_ROWS_PARTS_H

#include "adversary/rows/rows.h"
#include "linalg/distributed.h"
#include "linalg/norm.h"

#include <float.h>

/* A row's allowed nominal successors as plain arrays. */
typedef struct nadir_row_view {
    int64_t count;
    const double *phat; /* [count] */
    const double *x;    /* [count] from the smallest allowed one on, which so is 0 */
    double base;        /* that one: 0 for domain simplex */
    bool spread;        /* all other states are allowed too: domain simplex, list of transitions */
    double alpha;
} nadir_row_view;

/* room: [2 * longest row] where the arrays may be put. */
nadir_row_view nadir_row_view_make(const nadir_rows *rows, int64_t row, double *room);

static inline double nadir_rows_scale(const nadir_rows *rows, int64_t row)
{
    return rows->scales != NULL ? rows->scales[row] : 1;
}

/* The smallest allowed x of a row. */
double nadir_row_base(const nadir_rows *rows, const nadir_row *row);

/* All mass on the states of the smallest x that are allowed, as little of it moved as that takes. */
typedef struct nadir_row_settled {
    double count; /* of those states */
    double moved; /* mass that comes from others */
    double gain;  /* in units of x */
    double norm;  /* |Delta|_p / alpha */
} nadir_row_settled;

nadir_row_settled nadir_row_settle(const nadir_rows *rows, const nadir_row_view *view);

/* The answer of step infinity, gain in units of x. */
void nadir_row_answer_settle(const nadir_rows *rows, const nadir_row_view *view, nadir_row_answer *answer);

/* The rows of a budget. */
typedef struct nadir_row_group {
    const nadir_rows *rows;
    int64_t first, end;
    const double *weights; /* [end - first] */
    double unit;           /* the largest alpha w */
    double beta;           /* a little less: rounding must not leave the ball */
    int threads;
    double *room;               /* [threads * room_each] */
    int64_t room_each;          /* 3 * longest row */
    double *scratch;            /* [nadir_rows_scratch] */
    int64_t *moving;            /* [end - first] the rows that can move, rising: */
    int64_t moving_count;       /* so many */
    nadir_row_answer *answers;  /* [end - first] */
    const nadir_context *whole; /* of a budget that rows of other processes share too; NULL: none do */
    nadir_context *context;     /* of passes that can be interrupted, NULL: none */
    nadir_status *stopped;      /* see nadir_progress_team */
} nadir_row_group;

/* Over the rows of all processes that share the budget. */
static inline double nadir_row_group_sum(const nadir_row_group *group, double own)
{
    return group->whole != NULL ? nadir_allreduce_sum(group->whole, own) : own;
}
static inline double nadir_row_group_largest(const nadir_row_group *group, double own)
{
    return group->whole != NULL ? nadir_allreduce_maximum(group->whole, own) : own;
}

/* The ball is made smaller by this much, so that rounding does not leave it. */
#define NADIR_ROWS_WITHIN (1 - 16 * (DBL_EPSILON / 2))

/* Numbers of scratch for each row at p = 2. */
#define NADIR_ROW_PIECE 8

/* (sum over the rows of norm^p)^(1/p). */
double nadir_row_group_norm(const nadir_row_group *group);
/* Answers every row with all mass at the smallest v. */
void nadir_row_group_settle(const nadir_row_group *group);
/* The same; whether that is within the budget. If not, answers may be anything. */
bool nadir_row_group_settles(const nadir_row_group *group);

/* alpha w / unit in [0, 1]: what a row's step is relative to the others'. */
static inline double nadir_row_group_share(const nadir_row_group *group, int64_t row)
{
    const double weight = group->weights[row - group->first];
    return weight > 0 && group->unit > 0 ? nadir_rows_scale(group->rows, row) * weight / group->unit : 0;
}

/* Numbers of scratch for rows first .. end - 1, without the list of those that move. */
int64_t nadir_rows_scratch(const nadir_rows *rows, int64_t first, int64_t end);

/* Calls work(group, row, room, data) for every row that can move, on the threads of the group. */
typedef void (*nadir_row_work)(const nadir_row_group *group, int64_t row, double *room, void *data);
void nadir_row_group_run(const nadir_row_group *group, nadir_row_work work, void *data);

/* Each fills the answers with omega, step, share, pivot, gain (in units of x) and norm, and returns what
 * budget->step and tau say, in units of x and `unit`. start: the step to start from; 0: none. */
typedef struct nadir_row_common {
    double step, tau;
} nadir_row_common;
nadir_row_common nadir_rows_quadratic(const nadir_row_group *group, double start);
nadir_row_common nadir_rows_threshold(const nadir_row_group *group);
nadir_row_common nadir_rows_capped(const nadir_row_group *group);
nadir_row_common nadir_rows_power(const nadir_row_group *group, double start);

/* One row with its step given, finite and positive: omega, share, gain and norm. */
void nadir_rows_quadratic_row(const nadir_rows *rows, const nadir_row_view *view, nadir_row_answer *answer);
void nadir_rows_power_row(const nadir_rows *rows, const nadir_row_view *view, nadir_row_answer *answer);
/* p = 1, from the threshold: of entries with scale x above it everything moves, of those at it a
 * share; answer->step stays. */
void nadir_rows_threshold_row(const nadir_row_view *view, double scale, double threshold, double share,
                              nadir_row_answer *answer);

/* change(g) of rows.h for g >= 0; 1 < p < infinity. */
static inline double nadir_rows_change(double p, double step, double g)
{
    if (!(g > 0)) {
        return 0;
    }
    return p <= 2 ? nadir_power(step * g, 1 / (p - 1)) : step * nadir_power(g, 1 / (p - 1));
}

/* p other than 1, 2 and infinity: Delta / alpha of an entry of Phat = phat at x. */
double nadir_rows_mixture(double p, const nadir_row_answer *answer, double alpha, double phat, double x);

/* What states that are no nominal successors get in a row: a line over the first of the order, and a number
 * for one more. */
typedef struct nadir_row_rest {
    double omega, slope;
    int32_t length;
    int32_t extra; /* -1: none */
    double amount;
} nadir_row_rest;

/* values: [entries of the row] of its nominal successors. */
nadir_row_rest nadir_row_write(const nadir_rows *rows, int64_t row, const nadir_row_answer *answer,
                               double *values);

/* The same for every p: how many states of the order may get something, and what the one at a place gets if
 * it is no nominal successor; without the extra one. */
int64_t nadir_row_elsewhere_count(const nadir_rows *rows, int64_t row, const nadir_row_answer *answer,
                                  const nadir_row_rest *rest);
double nadir_row_elsewhere(const nadir_rows *rows, int64_t row, const nadir_row_answer *answer,
                           const nadir_row_rest *rest, int64_t place);

#endif
