/*
 * expansion_point.h: a kernel X of the set around which the occupancies of others are bounded, entry by
 * entry, with the columns of its D.
 *
 * For any numbers x with residual r = e_t - (I - gamma X^pi) x, and any kernel P,
 *
 *     d_P(t) = mu . x + gamma sum over s of d_P(s) sum_a pi(a|s) (P_sa - X_sa) . x + d_P . r.
 *
 * This is an identity: x may be any vector, and the accuracy of the solve enters through r alone. Rows of P -
 * X sum to zero, up to rounding of X, so x may be shifted: its mean is subtracted against cancellation.
 */
#ifndef NADIR_PROOF_EXPANSION_POINT_H
#define NADIR_PROOF_EXPANSION_POINT_H

#include "core/round.h"
#include "proof/certificate.h"
#include "proof/perturbable_rows.h"
#include "proof/verified_solve.h"

/* More roundings than any bound of a proof has beside its sums over states: 9007, or a relative error of
 * 1e-12. */
#define NADIR_PROOF_ROUNDINGS (1e-12 / NADIR_ROUND_UNIT)

/* A struct of zeros holds nothing. */
typedef struct nadir_expansion_point {
    const nadir_perturbable_rows *perturbable;
    nadir_problem problem; /* the problem given, with the occupancy operator of X */
    nadir_verified_solver known;
    const double *X;      /* [entries] of the perturbable rows; all others are nominal */
    double *own_X;        /* NULL: the numbers are those of `kernel`, or nominal */
    double sum_off;       /* how far a row of X may be from summing to one */
    double total;         /* at least the sum of d_P, for every kernel P of the set */
    double *D;            /* [states * states] column t: x less its mean; NULL until asked for */
    double *d;            /* [states] mu . x, at least 0 */
    double *off;          /* [states] error of d and of the sum over d_P together */
    double shared;        /* a part of every `off` whose sum over states is at most this; 0: none */
    nadir_kernel *kernel; /* X, where it is not that of the attack; or NULL */
    nadir_occupancy *occupancy;
    const nadir_candidate *start; /* whose v and d solves start from; NULL: none */
} nadir_expansion_point;

/* X is the kernel (NULL: the nominal one) without entries that are negative or not allowed, its rows scaled
 * to sum to one. Rows of states in `nominal`, [states] (NULL: none), become nominal. */
nadir_status nadir_expansion_point_make(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable, const nadir_kernel *kernel,
                                        const bool *nominal, nadir_expansion_point *point);
/* The same for the kernel of an attack, which must outlive it, for value and occupancy alone: solves start
 * from v and d of the attack and use the factors of the nominal operator (nadir_occupancy_perturb). */
nadir_status nadir_expansion_point_make_near(nadir_context *context, const nadir_problem *problem,
                                             const nadir_perturbable_rows *perturbable,
                                             const nadir_candidate *candidate, const bool *nominal,
                                             nadir_expansion_point *point);
void nadir_expansion_point_clear(nadir_context *context, nadir_expansion_point *point);

/* Computes d, and in `off` its error, without columns. */
nadir_status nadir_expansion_point_occupancy(nadir_context *context, nadir_expansion_point *point);
/* Adds to `off` what rows of P - X that sum to sum_off instead of zero do to d_P. `off` of columns includes
 * it already. */
void nadir_expansion_point_shift(nadir_expansion_point *point);

/* v: [states] the value of X, with a bound on its residual. */
nadir_status nadir_expansion_point_value(nadir_context *context, const nadir_expansion_point *point,
                                         double *v, nadir_solve_error *enclosed);

/* unvisited[states]: states with at most 1e-12 of the occupancy of all states. d: [states] about the
 * occupancy of the kernel; NULL: it is solved for. Any choice is valid; a poor one makes bounds wide. */
nadir_status nadir_expansion_point_unvisited(nadir_context *context, const nadir_problem *problem,
                                             const nadir_kernel *kernel, const double *d, bool *unvisited);

/* Computes D, d and off. */
nadir_status nadir_expansion_point_columns(nadir_context *context, nadir_expansion_point *point);

/* At least sum over s of d_P(s) for kernels whose rows sum to one. */
double nadir_expansion_point_total(const nadir_context *context, const nadir_problem *problem);

#endif
