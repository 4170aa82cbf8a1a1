/*
 * verified_solve.h: x = D b for the exact P^pi, with a bound on the error of x.
 *
 * A solve reports its residual against the average M as it was rounded. M differs from P^pi by at most
 * (A + 2) u of each entry, A the number of actions, and the right-hand side may be off too: both are added to
 * the residual. Then |x - D b| <= residual / (1 - gamma |P^pi|), in the maximum norm, or the 1-norm for D^T.
 */
#ifndef NADIR_PROOF_VERIFIED_SOLVE_H
#define NADIR_PROOF_VERIFIED_SOLVE_H

#include "core/round.h"
#include "linalg/vector.h"
#include "sets/uncertainty.h"

/* What holds for every solve. */
typedef struct nadir_verified_solver {
    double averaging; /* relative error of an entry of M, and of a sum over the actions of a state */
    double size;      /* at least gamma |P^pi| */
    double gap;       /* at most 1 - size; 0: nothing is known */
} nadir_verified_solver;

nadir_verified_solver nadir_verified_solver_make(nadir_context *context, const nadir_problem *problem);

/* The error of one solve, in the maximum norm, or the 1-norm for D^T. */
typedef struct nadir_solve_error {
    double b_error;  /* of the right-hand side: given */
    double residual; /* everything included */
    double error;    /* of the product; infinity where nothing is known */
    double largest;  /* norm of the product, its error not included */
} nadir_solve_error;

/* x = D b, or D^T b, for b: [states] that is known to b_error. x: [states] is not b. guess: [states] about x,
 * may be x; NULL: none. Where solves are iterations they stop at `tolerance`, or at their own if that is
 * larger; *error is that of the x that was reached. */
nadir_status nadir_verified_solve(nadir_context *context, const nadir_problem *problem,
                                  const nadir_verified_solver *solver, bool transposed, const double *b,
                                  double b_error, const double *guess, double tolerance, double *x,
                                  nadir_solve_error *error);

/* Right-hand sides that were solved for, orthonormal, with their products: others are combinations of them.
 * One for D, one for D^T. A struct of zeros holds nothing. */
enum { NADIR_SOLVE_BASIS_LIMIT = 24 };
typedef struct nadir_solve_basis {
    int rank;
    double *Q[NADIR_SOLVE_BASIS_LIMIT]; /* [states] each */
    double *Y[NADIR_SOLVE_BASIS_LIMIT]; /* [states] each: D Q */
    nadir_solve_error errors[NADIR_SOLVE_BASIS_LIMIT];
    double Q_norms[NADIR_SOLVE_BASIS_LIMIT];
} nadir_solve_basis;

void nadir_solve_basis_clear(nadir_context *context, nadir_solve_basis *basis);

/* nadir_verified_solve from a guess: [states], or else by the basis, which grows where it has to; NULL: there
 * is none. */
nadir_status nadir_verified_solve_near(nadir_context *context, const nadir_problem *problem,
                                       const nadir_verified_solver *solver, bool transposed, const double *b,
                                       double b_error, const double *guess, nadir_solve_basis *basis,
                                       double *x, nadir_solve_error *error);

/* residual / gap, rounded up. */
double nadir_verified_solve_error(const nadir_verified_solver *solver, double residual);

/* Some columns of D, one after another: [states * count], each with a residual of at most *residual,
 * everything included. which: [count] states, numbered over all processes, NULL: the first ones. */
nadir_status nadir_verified_solve_columns(nadir_context *context, const nadir_problem *problem,
                                          const nadir_verified_solver *solver, int64_t count,
                                          const int64_t *which, double *D, double *residual);

/* |x|_1 over all processes, rounded up. */
static inline double nadir_up_norm_1(const nadir_context *context, int64_t count, const double *x)
{
    const double total = (double)nadir_global_count(context, count);
    return nadir_round_up(nadir_global_norm_1(context, count, x), total + 4);
}

/* The same of |x|_2, whose sum is compensated. */
static inline double nadir_up_norm_2(const nadir_context *context, int64_t count, const double *x)
{
    const double members = (double)context->communication->members;
    return nadir_round_up(nadir_global_norm_2(context, count, x), 48 + members);
}

#endif
