/* direct_solver.h: what the direct backends share: which systems and sizes they refuse, and predicted fill. */
#ifndef NADIR_SOLVE_DIRECT_SOLVER_H
#define NADIR_SOLVE_DIRECT_SOLVER_H

#include "linalg/matrix.h"

#include <math.h>

/*
 * What one pass over A = I - gamma M tells of it. With slack > 0 the rows of A are diagonally dominant and
 * (Varah 1975)
 *
 *     |A^-1|_inf <= 1 / slack,      so that the condition number is at most norm / slack.
 *
 * M >= 0 with rows summing to 1 has slack 1 - gamma: there the condition need not be estimated.
 */
typedef struct nadir_dominance {
    double norm;    /* |A|_inf = max over s of sum over t of |A(s, t)| */
    double slack;   /* min over s of |A(s, s)| - sum over the other t of |A(s, t)| */
    int64_t broken; /* the first state with a number that is not finite; INT64_MAX: none */
} nadir_dominance;

#define NADIR_DOMINANCE_START ((nadir_dominance){.norm = 0, .slack = INFINITY, .broken = INT64_MAX})

/* Takes a row in: |A(s, s)| and the sum of all |A(s, t)|. */
void nadir_dominance_add(nadir_dominance *dominance, int64_t state, double diagonal, double sum);
void nadir_dominance_join(nadir_dominance *dominance, const nadir_dominance *other);
#pragma omp declare reduction(join:nadir_dominance                                                           \
                              : nadir_dominance_join(&omp_out, &omp_in))                                     \
    initializer(omp_priv = NADIR_DOMINANCE_START)

/* NADIR_ERROR_ILL_POSED when a row is not finite. */
nadir_status nadir_dominance_check(nadir_context *context, const nadir_dominance *dominance);

/* True when the bound alone shows that A is far from singular. */
bool nadir_dominance_suffices(const nadir_dominance *dominance, int64_t states);

/* NADIR_ERROR_ILL_POSED when this reciprocal condition number is no better than rounding. */
nadir_status nadir_direct_check_condition(nadir_context *context, int64_t states, double reciprocal);

/* NADIR_ERROR_ILL_POSED: elimination found no pivot for the row of this state. */
nadir_status nadir_direct_singular(nadir_context *context, int64_t state);

/* NADIR_ERROR_MEMORY when `bytes` more would pass the limit of the context. */
nadir_status nadir_direct_check_memory(nadir_context *context, const char *backend, double bytes);

/* The sparse LU of A = I - gamma M before it is made. */
typedef struct nadir_fill {
    double entries; /* of both factors */
    double flops;   /* of the factorisation */
    double bytes;   /* of both factors with their indices */
} nadir_fill;

/* The fill of backend klu, from its ordering; M is CSR. Costs as much as the analysis of a set-up. */
nadir_status nadir_klu_predict(nadir_context *context, const nadir_matrix *matrix, nadir_fill *fill);

#endif
