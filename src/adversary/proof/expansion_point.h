/*
 * expansion_point.h: a kernel X of the set around which occupancies of others are bounded, entry by entry, with the
 * columns of its D.
 *
 * For numbers x that solve (I - gamma X^pi) x = e_t up to a residual r, and any kernel P,
 *
 *     d_P(t) = mu . x + gamma sum over s of d_P(s) sum_a pi(a|s) (P_sa - X_sa) . x + d_P . r,
 *
 * an identity: x may be any vector, and how exactly it was solved for is in r alone. Rows of P - X sum to
 * zero, up to rounding of X, so x may be shifted: its mean is taken off, against cancellation.
 */
#ifndef NADIR_PROOF_EXPANSION_POINT_H
#define NADIR_PROOF_EXPANSION_POINT_H

#include "adversary/attack.h"
#include "adversary/proof/perturbable_rows.h"
#include "adversary/proof/verified_solve.h"
#include "base/round.h"

/* More roundings than any bound of a proof has beside its sums over states: 9007, a relative error of 1e-12. */
#define NADIR_PROOF_ROUNDINGS (1e-12 / NADIR_ROUND_UNIT)

/* A struct of zeros holds nothing. */
typedef struct nadir_expansion_point {
    const nadir_perturbable_rows *perturbable;
    nadir_problem problem; /* the problem given, with the occupancy operator of X */
    nadir_verified_solver known;
    const double *X;      /* [entries] of the live rows; all others are nominal */
    double *own_X;        /* NULL: the numbers are those of `kernel`, or nominal */
    double sum_off;       /* how far a row of X may be from summing to one */
    double total;         /* at least the sum of d_P, for every kernel P of the set */
    double *D;            /* [states * states] column t: x less its mean; NULL until asked for */
    double *d;            /* [states] mu . x, at least 0 */
    double *off;          /* [states] what d and the sum over d_P are off by, in all */
    double shared;        /* part of every `off`: errors that add up to this at most; 0: none */
    nadir_kernel *kernel; /* X, where it is not that of the attack; or NULL */
    nadir_occupancy *occupancy;
    const nadir_attack *start; /* that X is the kernel of, nearly; NULL: of none */
} nadir_expansion_point;

/* kernel: NULL for the nominal one. Its entries that are negative or not allowed are left out, rows then sum
 * to one; the rows of states in `nominal` (NULL: none) become nominal. */
nadir_status nadir_expansion_point_make(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable, const nadir_kernel *kernel,
                                        const bool *nominal, nadir_expansion_point *point);
/* The same of an attack, which must outlive it, for value and occupancy alone: they are made of those of the
 * attack by the nominal operator (nadir_occupancy_perturb). */
nadir_status nadir_expansion_point_make_near(nadir_context *context, const nadir_problem *problem,
                                             const nadir_perturbable_rows *perturbable,
                                             const nadir_attack *attack, const bool *nominal,
                                             nadir_expansion_point *point);
void nadir_expansion_point_clear(nadir_context *context, nadir_expansion_point *point);

/* Fills in d and off alone, off being that of d. */
nadir_status nadir_expansion_point_occupancy(nadir_context *context, nadir_expansion_point *point);
/* Adds to what the visits are off by what rows of P - X do to d_P that sum to sum_off; where columns of D are
 * made, they pay for that. */
void nadir_expansion_point_shift(nadir_expansion_point *point);

/* v: [states] the value of X. */
nadir_status nadir_expansion_point_value(nadir_context *context, const nadir_expansion_point *point,
                                         double *v, nadir_solve_error *enclosed);

/* Which states a kernel does not visit, to 1e-12 of all visits: unvisited[states]. visits: [states] its
 * occupancy, where that is known already, or NULL; a wrong one is a poor choice, no error. */
nadir_status nadir_expansion_point_unvisited(nadir_context *context, const nadir_problem *problem,
                                             const nadir_kernel *kernel, const double *d, bool *unvisited);

/* Fills in D, d and off. */
nadir_status nadir_expansion_point_columns(nadir_context *context, nadir_expansion_point *point);

/* At least sum over s of d_P(s) for kernels whose rows sum to one. */
double nadir_expansion_point_total(const nadir_context *context, const nadir_problem *problem);

#endif
