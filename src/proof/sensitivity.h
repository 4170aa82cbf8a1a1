/*
 * sensitivity.h: how far a change of rows can move an occupancy.
 *
 * sigma_i(g) is the most that a change of perturbable row i of length one, with sum zero and within the
 * domain, adds to X_i . g; entries of X that are zero may only grow:
 *
 *     sigma_i(g)^2 = min over c of  sum where X > 0 of (g - c)^2 + sum where X = 0 of max(0, g - c)^2,
 *
 * so that every c gives an upper bound. For a state, k(s, g)^2 = sum over its rows of (alpha pi sigma(g))^2.
 */
#ifndef NADIR_PROOF_SENSITIVITY_H
#define NADIR_PROOF_SENSITIVITY_H

#include "proof/perturbable_rows.h"
#include "sets/lmo.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_sensitivity {
    const nadir_perturbable_rows *perturbable;
    const double *X;   /* [entries] */
    int64_t *starts;   /* [count + 1] of the lists below; NULL: they are empty */
    int32_t *positive; /* [starts[count]] successors with X > 0, of rows that allow all states and have few */
    double *full;      /* [states] sum of (alpha pi)^2 over rows that count as positive everywhere */
    bool symmetric;    /* all rows do: k(s, g) = k(s, -g) */
    int threads;
    nadir_value_order *rising, *falling; /* [threads] of a column and of its negative */
    double *negative;                    /* [threads * states] */
} nadir_sensitivity;

/* X is kept, not copied. */
nadir_status nadir_sensitivity_make(nadir_context *context, const nadir_perturbable_rows *perturbable,
                                    const double *X, nadir_sensitivity *sensitivity);
void nadir_sensitivity_clear(nadir_context *context, nadir_sensitivity *sensitivity);

/* up[t * states + s] = k(s, g_t)^2 and down = k(s, -g_t)^2 for columns g: [count * states], of mean about
 * zero. Rounding is included: no true number is above. down: may be NULL if it is symmetric. */
nadir_status nadir_sensitivity_tables(nadir_context *context, nadir_sensitivity *sensitivity, int64_t count,
                                      const double *g, double *up, double *down);

/* A bound of the same, for both signs, that is cheap: all entries count as positive. Rows allow all states.
 */
void nadir_sensitivity_coarse(const nadir_perturbable_rows *perturbable, int64_t count, const double *g,
                              double *both);

/*
 * The same for both signs with weights omega >= 1 on the entries, lengths being sqrt(sum omega delta^2):
 * both[t * states + s] is at least sum over rows of (alpha pi)^2 min over c of sum of (g - c)^2 / omega.
 * inverse: [entries] 1 / omega.
 */
nadir_status nadir_sensitivity_weighted(nadir_context *context, const nadir_perturbable_rows *perturbable,
                                        const double *inverse, int64_t count, const double *g, double *both);

#endif
