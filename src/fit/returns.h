/*
 * returns.h: what data say of the return of one policy.
 *
 * Rows have independent Dirichlet posteriors of mean m and total N + A; a policy pi has values v, occupancies d and
 * return J on the mean kernel. With y_t = r_t + gamma v_t, x = d(s) pi(a|s) and the variance of what a row pays,
 *
 *     U = Var_m(y) / (N + A + 1) + variance of its mean rewards,        f = sum of x^2 U,
 *
 * sqrt(f) is to first order the standard deviation of the return over the posterior. docs/fit.md says what is
 * promised on these grounds.
 */
#ifndef NADIR_FIT_RETURNS_H
#define NADIR_FIT_RETURNS_H

#include "fit/fit.h"
#include "solve/occupancy.h"

/* ---- The posterior of rows, and one policy on its mean ----------------------------------------------- */

typedef struct nadir_return_problem {
    const nadir_fit *fit;
    nadir_model *model; /* the nominal one, kept by the fit */
    nadir_kernel *kernel;
    double *shrink; /* [rows] 1 / (N + A + 1); 0: the row is known */
    double *noise;  /* [rows] variance of the mean reward of the row */
    double *
        noise_square; /* [rows] sum of squares behind the rewards' means, prior included; 0: rewards do not vary */
    double *noise_freedom; /* [rows] degrees of freedom, prior included */
    bool *taken;    /* [rows] may be taken by a policy that is chosen: there are data, or none in its state */
    int64_t barred; /* rows without data beside rows that have some */
    double reward_deviation;    /* pooled, of one reward; 0: they do not vary */
    nadir_occupancy *occupancy; /* of the policy looked at last */
} nadir_return_problem;

/* The fit has counts, rewards and a discount. */
nadir_status nadir_return_problem_make(nadir_context *context, const nadir_fit *fit,
                                       nadir_return_problem *problem);
void nadir_return_problem_clear(nadir_context *context, nadir_return_problem *problem);

/* What entry i of a row of the mean kernel pays. */
double nadir_return_pays(const nadir_model *model, int64_t row, const nadir_row *entries, int64_t i);

/* A policy on the mean kernel. */
typedef struct nadir_return_measure {
    double J, f;
    double *v, *d; /* [states] */
    double *U;     /* [rows] */
    double *Q;     /* [rows] m . y */
} nadir_return_measure;

nadir_status nadir_return_measure_make(nadir_context *context, const nadir_return_problem *problem,
                                       nadir_return_measure *measure);
void nadir_return_measure_clear(nadir_context *context, nadir_return_measure *measure);
/* Fills a measure that nadir_return_measure_make has made. */
nadir_status nadir_return_measure_take(nadir_context *context, nadir_return_problem *problem,
                                       const nadir_policy *policy, nadir_return_measure *measure);
/* slope: [rows] the derivative of J - z sqrt(f) by pi(a|s). The measure is the one taken last. */
nadir_status nadir_return_slope(nadir_context *context, nadir_return_problem *problem,
                                const nadir_policy *policy, const nadir_return_measure *measure, double z,
                                double *slope);

/* Maximises J - z sqrt(f) by projected ascent from `policy`, which it changes. */
nadir_status nadir_return_ascend(nadir_context *context, nadir_return_problem *problem, double z,
                                 nadir_policy *policy);
/* The best policy on the mean kernel among those that take no barred row. */
nadir_status nadir_return_nominal(nadir_context *context, nadir_return_problem *problem,
                                  nadir_policy **policy);
/* n_sa / n_s; uniform over the rows of states without data. */
nadir_status nadir_return_behaviour(nadir_context *context, const nadir_return_problem *problem,
                                    nadir_policy **policy);

/* ---- Draws ------------------------------------------------------------------------------------------- */

typedef struct nadir_return_draws {
    int64_t count;
    uint64_t seed;
    const int32_t *worst_of; /* [states] NULL: of the posterior; else cautious ones, see below */
    const bool *tied;        /* [rows] rows that could have been chosen; NULL: all are known equally well */
    double tolerance;        /* of each return, relative to the deviation sqrt(f) */
} nadir_return_draws;

/*
 * Cautious draws answer for a policy that was chosen on the data. If luck alone chose among k rows, what was chosen is the
 * luckiest of k: so each row of a state is the worst of k draws, by the values of the mean kernel. Where a rival is better
 * known, with a deviation of only a share of the row's, the draw that stands for it counts for that share: a row that is
 * little known was chosen because it was lucky, where the others can hardly have been. Such draws have no prior, but up to
 * half a visit more of each row, at its successor with the lowest y. First order, measured, no theorem; docs/fit.md.
 */

/* The returns of a policy under kernels of the posterior: returns, [count]. Each is known to the tolerance. The same
 * bits with any number of threads; the draws of a row depend on seed and row alone, not on the policy. */
nadir_status nadir_return_draw(nadir_context *context, const nadir_return_problem *problem,
                               const nadir_policy *policy, const nadir_return_measure *measure,
                               const nadir_return_draws *draws, double *returns);

/* ---- What is promised -------------------------------------------------------------------------------- */

/* Whether the fit, and the policy (or NULL), are such that a return can be promised. */
nadir_status nadir_return_check(nadir_context *context, const nadir_fit *fit, const nadir_policy *policy);

/* The largest k such that the k-th smallest of `count` draws is above the quantile of `level` with a probability of at
 * most `risk`: P(Bin(count, level) <= k - 1) <= risk. 0: there is none. */
int64_t nadir_return_rank(int64_t count, double level, double risk);

/* The upper tail of the normal distribution, and where it has this probability. */
double nadir_normal_tail(double z);
double nadir_normal_quantile(double tail);

/* Of how many rows what a policy takes may be the luckiest: tied, [states]. k rows of a state, those that the policy takes
 * included, cannot be told apart from those; a policy that takes m of them evenly has chosen each among k - m + 1, m being
 * 1 / (sum of pi^2), rounded down. z is the weight of the deviation with which the policy was chosen. Returns how many rows
 * could have been chosen besides, the sum of k - 1; rivals, [rows]: which cannot be told apart. */
int64_t nadir_return_ties(const nadir_return_problem *problem, const nadir_policy *policy,
                          const nadir_return_measure *measure, double z, int32_t *tied, bool *rivals);

#endif
