/* symmetric.h: small dense symmetric matrices. */
#ifndef NADIR_LINALG_SYMMETRIC_H
#define NADIR_LINALG_SYMMETRIC_H

#include "base/context.h"

/* Room that nadir_symmetric_eigen needs, in doubles, for a matrix of `size`. */
#define NADIR_SYMMETRIC_WORK(size) (34 * (size))

/* Eigenvalues, rising, and orthonormal eigenvectors. matrix: [size * size], in: its lower triangle, column
 * after column; out: the eigenvectors, one after another. values: [size]; work: [NADIR_SYMMETRIC_WORK(size)].
 * False when they were not found: a number is not finite. On one thread. */
bool nadir_symmetric_eigen(int size, double *matrix, double *values, double *work);

/* Proven, by a Cholesky factorisation: whatever differs from the matrix by at most `error` in the 2-norm is
 * positive semidefinite. matrix: [size * size] symmetric, its lower triangle, column after column; destroyed.
 * False says nothing. */
bool nadir_symmetric_is_positive(const nadir_context *context, int64_t size, double *matrix, double error);

#endif
