/*
 * cone.h: max |A x|_2 over x >= 0, |x|_2 <= 1: what the methods for it share.
 *
 * They all work on K = B^T B, with B = A times the power of two that brings its largest entry to between 1/2
 * and 1; values and bounds below are those of B.
 */
#ifndef NADIR_BASELINE_CONE_H
#define NADIR_BASELINE_CONE_H

#include "baseline/track.h"
#include "linalg/spectrum.h"

typedef struct nadir_cone {
    int64_t rows, columns; /* m, n */
    int exponent;          /* A = B 2^exponent */
    double *B;             /* [m * n] row after row */
    double *K;             /* [n * n] all of it */
    double trace;          /* of K: |B|_F^2 */
    double error;          /* |K - B^T B|_2 is at most this */
    double *work;          /* [n * n] */
} nadir_cone;

/* matrix: [rows * columns] row after row. NADIR_ERROR_ARGUMENT: a size or an entry is wrong.
 * nadir_cone_close is legal afterwards in any case. */
nadir_status nadir_cone_open(nadir_context *context, int64_t rows, int64_t columns, const double *matrix,
                             nadir_cone *cone);
void nadir_cone_close(nadir_context *context, nadir_cone *cone);

/* The `count` leading eigenpairs of K, all of them with count = n; a spectrum to be closed in any case. */
nadir_status nadir_cone_spectrum(nadir_context *context, const nadir_cone *cone, int64_t count,
                                 nadir_spectrum *spectrum);

/* y <- K x for `count` vectors, one after another. */
void nadir_cone_multiply(const nadir_context *context, const nadir_cone *cone, int64_t count, const double *x,
                         double *y);

/* |B x| / |x| for x != 0. work: [m] */
double nadir_cone_value(const nadir_context *context, const nadir_cone *cone, const double *x, double *work);

/* u <- the positive part of sign v, as a unit vector: [n]. Returns the length of that part; where it is 0
 * u = 0. u may be v. */
double nadir_cone_positive(int64_t n, double sign, const double *v, double *u);
/* The same with the sign that has the longer part, + where both are equal. */
double nadir_cone_longer(int64_t n, const double *v, double *u);

/* x: [n] the positive part of the first eigenvector (order 0); the best of the positive parts of all
 * eigenvectors (order 1), which the spectrum has to have. */
void nadir_cone_zero(const nadir_cone *cone, const nadir_spectrum *spectrum, double *x);
nadir_status nadir_cone_first(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                              double *x);

/* The paper's choice among the eigenvectors of the spectrum: the largest lambda_i <v_i, u_i>, as printed, or
 * lambda_i <v_i, u_i>^2, which is a lower bound on |B u_i|^2. */
typedef enum nadir_cone_score { NADIR_CONE_SCORE_PRINTED, NADIR_CONE_SCORE_SQUARED } nadir_cone_score;
void nadir_cone_scored(const nadir_cone *cone, const nadir_spectrum *spectrum, nadir_cone_score score,
                       double *x);

/* Orders 2 and 3: the best positive part of any combination of the two or three leading eigenvectors, exactly
 * (of as many as there are). The sphere takes some n^3 multiplications. */
nadir_status nadir_cone_circle(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                               double *x);
nadir_status nadir_cone_sphere(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                               double *x);

/* Projected power iterations x <- (K x)_+ / |.|, which never lower |B x|, from the positive parts of the
 * eigenvectors given, of both signs, and some other points; the best end. */
nadir_status nadir_cone_power(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                              double *x);

/* The best of random points within the budget of the track, one block of them at least; the values on the way
 * are those of A. */
nadir_status nadir_cone_random(nadir_context *context, const nadir_cone *cone, nadir_track *track, double *x);
/* One of them: x: [n], of uniform direction. */
void nadir_cone_draw(uint64_t key, int64_t sample, int64_t n, double *x);
/* Sequential quadratic programming from the first of them, to the tolerance of the track's budget; and
 * whether it takes so many columns: NADIR_ERROR_UNSUPPORTED. */
nadir_status nadir_cone_slsqp_check(nadir_context *context, int64_t columns);
nadir_status nadir_cone_slsqp(nadir_context *context, const nadir_cone *cone, nadir_track *track, double *x);

/* Upper bounds, proven whatever the rounding; the first-order one is never above the zero-order one. */
void nadir_cone_spectral_bounds(const nadir_context *context, const nadir_cone *cone,
                                const nadir_spectrum *spectrum, double *zero, double *first);

/* The bound sqrt(lambda_max(K + N)), N >= 0 with a zero diagonal, made as low as `limit` iterations make it,
 * or until it is no more than (1 + tolerance) |B x|; x: [n] a good point. */
typedef struct nadir_cone_dual_result {
    double bound;
    int64_t iterations;
} nadir_cone_dual_result;
nadir_status nadir_cone_dual(nadir_context *context, const nadir_cone *cone, const double *x,
                             double tolerance, int64_t limit, nadir_cone_dual_result *result);

/* Proves M = tau I + delta v v^T - K - N >= 0 for a tau as near above `tau` as can be, and returns it;
 * infinity: not proven. N: [n * n] or NULL, v: [n] or NULL, both as they stand, without error. */
double nadir_cone_prove(const nadir_context *context, const nadir_cone *cone, double tau, double delta,
                        const double *v, const double *N);

#endif
