/*
 * bellman.h: one pass over the rows of a kernel, with what every state makes of its rows.
 *
 *     q(s, a) = R(s, a) + gamma P(.|s, a) . v
 *
 * Threaded over states, each row that counts read once; the same bits with any number of threads.
 */
#ifndef NADIR_SOLVE_BELLMAN_H
#define NADIR_SOLVE_BELLMAN_H

#include "model/kernel.h"
#include "model/policy.h"

/* What a pass saw. Residuals are against v. */
typedef struct nadir_bellman_pass {
    double lowest;         /* min_s of (value - v)(s) */
    double highest;        /* max_s of (Tv - v)(s) */
    double smallest_value; /* min_s and max_s of value(s) */
    double largest_value;
    int64_t changed; /* states with a new choice */
    bool finite;     /* every value is; otherwise the rest means nothing */
} nadir_bellman_pass;

/*
 * (Tv)(s) = max over a of q(s, a). v, value: [states], not overlapping; choice: [states], in: the row chosen
 * so far, out: a row whose q is within `tie` of the largest, the old one if possible; value(s): q of that
 * row. known: [rows], q(row) <= known[row] + rise as it would be computed: rows for which that is below q of
 * the row chosen so far are not read; NULL: all are.
 */
void nadir_bellman_maximise(const nadir_context *context, const nadir_kernel *kernel, double gamma,
                            const double *v, double tie, const double *known, double rise, int64_t *choice,
                            double *value, nadir_bellman_pass *pass);

/* value(s) = sum over a of pi(a|s) q(s, a); `highest` is of value, too, and `changed` is 0. */
void nadir_bellman_average(const nadir_context *context, const nadir_kernel *kernel, double gamma,
                           const nadir_policy *policy, const double *v, double *value,
                           nadir_bellman_pass *pass);

/*
 * By how much a value of either pass, or its difference from v, may be off: rounding of products, sums and of
 * an average over up to `actions` rows (1 for a maximum).
 */
double nadir_bellman_rounding(const nadir_kernel_size *size, double gamma, int64_t actions,
                              double largest_reward, double largest_v);

#endif
