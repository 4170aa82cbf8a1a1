/* cost_row.h: one row of costs.h. For this folder alone. */
#ifndef NADIR_ADVERSARY_COST_ROW_H
#define NADIR_ADVERSARY_COST_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* The allowed successors of a row that can move. */
typedef struct nadir_cost_row {
    int64_t count;
    int32_t *columns; /* [count] */
    double *phat;     /* [count] */
    double *cost;     /* [count] from the smallest on, which so is 0 */
    double largest;   /* of the costs */
    double alpha;
} nadir_cost_row;

/* What one thread works with. */
typedef struct nadir_cost_room {
    nadir_cost_row row;
    double *X, *other; /* [states] answers */
    double *work;      /* [states] */
    int32_t *places;   /* [states] */
} nadir_cost_room;

/* X, [count], and its |Delta|_p / alpha, for a step > 0 (p = inf: the radius of the row, alpha included);
 * domains simplex and support. places, work: [count] working space. */
double nadir_cost_row_answer(const nadir_cost_row *row, double p, double step, int32_t *places, double *X,
                             double *work, double *omega);

/* |X - Phat|_p / alpha. work: [count] */
double nadir_cost_row_norm(const nadir_cost_row *row, double p, const double *X, double *work);

/* e2 . Phat and |e1|_q of costs.h for this omega and step, rounded up; free: e2 = 0. work: [count] */
void nadir_cost_row_bound(const nadir_cost_row *row, double p, double q, bool free_domain, double omega,
                          double step, double *work, double *fixed, double *slope);

#endif
