/*
 * cone.h: max |A x|_2 over x >= 0, |x|_2 <= 1: what the methods for this problem share.
 *
 * All of them work on K = B^T B. B is A scaled by the power of two that brings its largest entry between 1/2
 * and 1. Values and bounds below are those of B.
 */
#ifndef NADIR_PAPER_CONE_H
#define NADIR_PAPER_CONE_H

#include "trajectory.h"

/* ------------------------------ leading eigenpairs of a dense symmetric matrix, or those above a threshold */

#define NADIR_SPECTRUM_LARGEST 30000

/* A struct of zeros holds nothing. */
typedef struct nadir_spectrum {
    int64_t count;   /* of eigenpairs */
    double *values;  /* [count] falling */
    double *vectors; /* [size * count] orthonormal, one after another */
} nadir_spectrum;

void nadir_spectrum_close(nadir_context *context, nadir_spectrum *spectrum);

/* The `count` largest eigenvalues, or, where that is 0, those above the threshold, with their vectors, in place
 * of what the spectrum held. matrix: [size * size] finite, its lower triangle column after column; destroyed;
 * for a threshold the squares of its entries neither overflow nor vanish. size: at most NADIR_SPECTRUM_LARGEST,
 * past which LAPACK's lengths are no 32-bit numbers. */
nadir_status nadir_spectrum_find(nadir_context *context, int64_t size, double *matrix, int64_t count,
                                 double threshold, nadir_spectrum *spectrum);

/* ---------------------------------------------------------------------------------------- the problem */

typedef struct nadir_cone {
    int64_t rows, columns; /* m, n */
    int exponent;          /* A = B 2^exponent */
    double *B;             /* [m * n] row after row */
    double *K;             /* [n * n] both triangles */
    double trace;          /* upper bound on that of K, |B|_F^2 */
    double error;          /* upper bound on |K - B^T B|_2: the rounding of K */
    double *work;          /* [n * n] */
} nadir_cone;

/* matrix: [rows * columns] row after row. NADIR_ERROR_ARGUMENT: a size or an entry is wrong. The caller calls
 * nadir_cone_close also after a failure. */
nadir_status nadir_cone_open(nadir_context *context, int64_t rows, int64_t columns, const double *matrix,
                             nadir_cone *cone);
void nadir_cone_close(nadir_context *context, nadir_cone *cone);

/* The `count` leading eigenpairs of K, all of them for count = n. The caller closes the spectrum also after a
 * failure. */
nadir_status nadir_cone_spectrum(nadir_context *context, const nadir_cone *cone, int64_t count,
                                 nadir_spectrum *spectrum);

/* Y <- K X for `count` vectors. x, y: [count * n] one vector after another. */
void nadir_cone_multiply(const nadir_context *context, const nadir_cone *cone, int64_t count, const double *x,
                         double *y);

/* |B x| / |x| for x != 0. x: [n]; work: [m] */
double nadir_cone_value(const nadir_context *context, const nadir_cone *cone, const double *x, double *work);

/* u <- (sign v)_+ / |(sign v)_+|, or 0 where that part is 0. Returns |(sign v)_+|. v, u: [n], may be the
 * same. */
double nadir_cone_positive(int64_t n, double sign, const double *v, double *u);
/* The same with the sign whose part is longer, + where both are equally long. */
double nadir_cone_longer(int64_t n, const double *v, double *u);

/* Order 0: x <- the longer part of the first eigenvector. Order 1: x <- the best of the longer parts of all
 * eigenvectors; the spectrum must hold all of them. x: [n] */
void nadir_cone_zero(const nadir_cone *cone, const nadir_spectrum *spectrum, double *x);
nadir_status nadir_cone_first(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                              double *x);

/* The paper's choice among the eigenvectors of the spectrum: the largest lambda_i <v_i, u_i>, as printed, or
 * the largest lambda_i <v_i, u_i>^2, which is a lower bound on |B u_i|^2. x: [n] */
typedef enum nadir_cone_score { NADIR_CONE_SCORE_PRINTED, NADIR_CONE_SCORE_SQUARED } nadir_cone_score;
void nadir_cone_scored(const nadir_cone *cone, const nadir_spectrum *spectrum, nadir_cone_score score,
                       double *x);

/* Algorithm 2 of the paper and nothing else: all eigenvectors of A^T A, then the best score. matrix:
 * [rows * columns] row after row; x: [columns]; *value: |A x|. */
nadir_status nadir_cone_norm_scored(nadir_context *context, int64_t rows, int64_t columns,
                                    const double *matrix, nadir_cone_score score, double *x, double *value);

/* Orders 2 and 3: the best positive part of any combination of the two or three leading eigenvectors, exactly
 * (of as many as there are). Order 3 takes about n^3 multiplications. x: [n] */
nadir_status nadir_cone_circle(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                               double *x);
nadir_status nadir_cone_sphere(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                               double *x);

/* Projected power iterations x <- (K x)_+ / |(K x)_+|, which never lower |B x|. They start from both parts of
 * the eigenvectors given and from a few other points. x: [n] the best limit. */
nadir_status nadir_cone_power(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                              double *x);

/* The best of random points within the budget of the trajectory, at least one block of them. Values of the
 * trajectory are those of A. x: [n] */
nadir_status nadir_cone_random(nadir_context *context, const nadir_cone *cone, nadir_trajectory *trajectory,
                               double *x);
/* One random point, of uniform direction. x: [n] */
void nadir_cone_draw(uint64_t key, int64_t sample, int64_t n, double *x);
/* Sequential quadratic programming from the first random point, to the tolerance of the budget. x: [n]. The
 * check fails with NADIR_ERROR_UNSUPPORTED where there are too many columns for it. */
nadir_status nadir_cone_slsqp_check(nadir_context *context, int64_t columns);
nadir_status nadir_cone_slsqp(nadir_context *context, const nadir_cone *cone, nadir_trajectory *trajectory,
                              double *x);

/* Upper bounds that include all rounding. The first-order bound is never above the zero-order bound. */
void nadir_cone_spectral_bounds(const nadir_context *context, const nadir_cone *cone,
                                const nadir_spectrum *spectrum, double *zero, double *first);

/* The bound sqrt(lambda_max(K + N)), N >= 0 with a zero diagonal. N is improved until the bound is at most
 * (1 + tolerance) |B x|, or `limit` iterations are done. x: [n] a good point. */
typedef struct nadir_cone_dual_result {
    double bound;
    int64_t iterations;
} nadir_cone_dual_result;
nadir_status nadir_cone_dual(nadir_context *context, const nadir_cone *cone, const double *x,
                             double tolerance, int64_t limit, nadir_cone_dual_result *result);

/* Proves tau I + delta v v^T - K - N >= 0 for some tau a little above `tau`, and returns that tau; infinity:
 * not proven. N: [n * n] or NULL, v: [n] or NULL; both are taken as exact. */
double nadir_cone_prove(const nadir_context *context, const nadir_cone *cone, double tau, double delta,
                        const double *v, const double *N);

#endif
