/*
 * eigen.h: eigenpairs of small symmetric matrices, and proven upper bounds on the 2-norm of dense matrices.
 */
#ifndef NADIR_LINALG_EIGEN_H
#define NADIR_LINALG_EIGEN_H

#include "core/context.h"

/* ----------------------------------------------------------------------------------- small, on one thread */

/* Room that nadir_symmetric_eigen needs, in doubles, for a matrix of `size`. */
#define NADIR_SYMMETRIC_WORK(size) (34 * (size))

/* Eigenvalues, rising, and orthonormal eigenvectors. matrix: [size * size], in: its lower triangle, column
 * after column; out: the eigenvectors, one after another. values: [size]; work: [NADIR_SYMMETRIC_WORK(size)].
 * False when they were not found: a number is not finite. On one thread. */
bool nadir_symmetric_eigen(int size, double *matrix, double *values, double *work);

/* --------------------------------------------------- bounds on the 2-norm, rounding included */

/* *bound >= |N|_2 of a square N: [n * n] column after column, whose squares neither overflow nor vanish;
 * about n^2 roundings above it. from: the norm to begin with, 0: what Lanczos iterations say; where it is
 * more than some percent too small nothing is proven, and the bound is the Frobenius norm. Two thirds of n^3
 * multiplications and memory for n^2 numbers. */
nadir_status nadir_spectral_norm_prove(nadir_context *context, int64_t n, const double *N, double from,
                                       double *bound);

/* *bound >= |N^T N|_F^(1/2) >= |N|_2, the fourth root of the sum of the fourth powers of all singular values,
 * and at most a share of n^(3/2) 1e-7 above it: a third of n^3 multiplications in single precision, and room
 * for n^2 numbers. N as above. */
nadir_status nadir_spectral_norm_fourth(nadir_context *context, int64_t n, const double *N, double *bound);

/* At least |B|_2 for every B with |B| <= N entry by entry, from a few products with N >= 0: [n * n] column
 * after column. work: [3 * n]. */
double nadir_spectral_norm_quotient(const nadir_context *context, int64_t n, const double *N, double *work);

#endif
