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
    bool cautious;    /* no prior, and half a visit to the successor with the lowest y */
    double tolerance; /* of each return, relative to the deviation sqrt(f) */
} nadir_return_draws;

/* The returns of a policy under kernels of the posterior: returns, [count]. Each is known to the tolerance. The same
 * bits with any number of threads; the draws of a row depend on seed and row alone, not on the policy. */
nadir_status nadir_return_draw(nadir_context *context, const nadir_return_problem *problem,
                               const nadir_policy *policy, const nadir_return_measure *measure,
                               const nadir_return_draws *draws, double *returns);

/* ---- What is promised -------------------------------------------------------------------------------- */

/* The largest k such that the k-th smallest of `count` draws is above the quantile of `level` with a probability of at
 * most `risk`: P(Bin(count, level) <= k - 1) <= risk. 0: there is none. */
int64_t nadir_return_rank(int64_t count, double level, double risk);

/* The upper tail of the normal distribution, and where it has this probability. */
double nadir_normal_tail(double z);
double nadir_normal_quantile(double tail);

/* What choosing among rows that cannot be told apart costs: the level at which a quantile of one policy is to be
 * taken. *ties: rows that could have been chosen as well. */
nadir_status nadir_return_price(nadir_context *context, const nadir_return_problem *problem,
                                const nadir_policy *policy, const nadir_return_measure *measure, double z,
                                double level, uint64_t seed, double *level_used, double *z_used,
                                int64_t *ties);

#endif
