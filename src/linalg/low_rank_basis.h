/*
 * low_rank_basis.h: many vectors written as combinations of few, where that can be done up to rounding.
 *
 * What depends smoothly on one number, as the worst kernels of a row of radii do, hardly leaves a space of a
 * few dimensions: whatever is linear is then to be made for a basis of that only.
 */
#ifndef NADIR_LINALG_LOW_RANK_BASIS_H
#define NADIR_LINALG_LOW_RANK_BASIS_H

#include "core/context.h"

/* How many vectors are tried for `count`, at most; 0: it does not pay to look, or there are several
 * processes. */
int nadir_low_rank_basis_limit(const nadir_context *context, int64_t count);

/*
 * X = Q T + the remainder, which X becomes: [length * count]. Q: [length * limit], of unit vectors; T: [limit
 * * count], of which column j starts at j * limit; sizes: [count], for work. No remainder is longer than
 * `tolerance` times its vector (2-norm). Returns how many columns Q has, and -1 when the limit is not enough
 * or a number is not finite; X is lost then. Vectors should not be longer than 1e100.
 *
 * Up to nadir_low_rank_basis_rounding times the sum over k of |T_kj| |Q_k| + |remainder j|, in every norm in
 * which a vector is not shorter than another with smaller entries, X_j was what it is said to be.
 */
int nadir_low_rank_basis_split(const nadir_context *context, int64_t length, int64_t count, int limit,
                               double tolerance, double *X, double *Q, double *T, double *sizes);
double nadir_low_rank_basis_rounding(int rank);

/* X <- Y T, [length * count], for Y: [length * rank], off by as much of the sum over k of |T_kj| |Y_k|. */
void nadir_low_rank_basis_combine(const nadir_context *context, int64_t length, int64_t count, int limit,
                                  int rank, const double *Y, const double *T, double *X);

#endif
