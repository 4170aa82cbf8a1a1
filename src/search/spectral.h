/*
 * spectral.h: the worst kernel of the non-rectangular L_2 ball on the free domain: F(lambda) = beta
 * sigma_max(E_lambda), exactly solvable.
 *
 * See spectral.c for the methods. Many radii share one subspace.
 */
#ifndef NADIR_SEARCH_SPECTRAL_H
#define NADIR_SEARCH_SPECTRAL_H

#include "linalg/eigen.h"
#include "search/free_search.h"
#include "sets/uncertainty.h"

typedef enum nadir_spectral_method {
    NADIR_SPECTRAL_NEWTON,       /* the default: the root of f on a growing subspace, in closed form there */
    NADIR_SPECTRAL_BISECT,       /* bisection on f(lambda) = F(lambda) - lambda */
    NADIR_SPECTRAL_BEST_RESPONSE /* nadir_best_response_solve */
} nadir_spectral_method;

/* candidates: [count] of zeros; filled with c, k, lambda, J, method, stop_reason, converged, iterations, and
 * with the kernel where there is one radius only: nadir_rank_one_candidate_kernel makes those of many that
 * are wanted. radii: [count], each below breakdown. tolerance: of the penalty, relative. A limit that is
 * reached is not an error: `converged` is false. */
nadir_status nadir_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                  nadir_spectral_method method, double tolerance, int64_t iterations_limit,
                                  int64_t count, const double *radii, nadir_candidate *candidates);

/*
 * the L_2 problem of the free domain, restricted to kernels whose c lies in a subspace.
 *
 * With v_hat = Phi v / nu, nu = sigma_2(v), lambda = nu l, an orthonormal basis X of the subspace and
 *
 *     a = X^T W d,   h = X^T W D^T v_hat,   Z = (I - v_hat v_hat^T) Phi D W X,   M = Z^T Z,   b = a - l h
 *
 * both parts of E_lambda X s / (gamma nu) = v_hat (b . s) - l Z s are orthogonal, so that sigma_max^2 is the
 * largest eigenvalue of b b^T + l^2 M. That is (l / (beta gamma))^2, the root of f, when
 *
 *     b^T T^-1 b = l^2,   T = I / (beta gamma)^2 - M,   attained by s = T^-1 b:
 *
 * a quadratic equation in l, whose coefficients a^T T^-1 a, a^T T^-1 h and h^T T^-1 h cost nothing for any
 * radius once M is diagonal. What it gives is attained by a kernel, so it is a lower bound on the penalty,
 * which rises with the subspace; T is positive, and the root exists, as long as no c of the subspace breaks
 * down. Only the worst kernel of the subspace can be found: b^T T^-1 b has no other stationary points.
 */

enum { NADIR_SPECTRAL_SUBSPACE_LIMIT = 40 };

typedef struct nadir_spectral_subspace {
    const nadir_problem *problem;
    double nu;     /* sigma_2(v) */
    double *v_hat; /* [states] */
    double *Wd;    /* [states] */
    bool idle;     /* nu, W d or gamma is zero: no kernel of this kind changes the return */
    int size;
    double *x[NADIR_SPECTRAL_SUBSPACE_LIMIT]; /* [states] each: the columns of X, the first along W d */
    double *z[NADIR_SPECTRAL_SUBSPACE_LIMIT]; /* [states] each: the columns of Z */
    double a[NADIR_SPECTRAL_SUBSPACE_LIMIT];
    double h[NADIR_SPECTRAL_SUBSPACE_LIMIT];
    double M[NADIR_SPECTRAL_SUBSPACE_LIMIT *
             NADIR_SPECTRAL_SUBSPACE_LIMIT]; /* column j at j * NADIR_SPECTRAL_SUBSPACE_LIMIT */
    /* M = V diag(m) V^T, V^T a and V^T h. */
    double m[NADIR_SPECTRAL_SUBSPACE_LIMIT]; /* rising */
    double V[NADIR_SPECTRAL_SUBSPACE_LIMIT * NADIR_SPECTRAL_SUBSPACE_LIMIT];
    double Va[NADIR_SPECTRAL_SUBSPACE_LIMIT];
    double Vh[NADIR_SPECTRAL_SUBSPACE_LIMIT];
    double work[NADIR_SPECTRAL_SUBSPACE_LIMIT * NADIR_SPECTRAL_SUBSPACE_LIMIT +
                NADIR_SYMMETRIC_WORK(NADIR_SPECTRAL_SUBSPACE_LIMIT)];
} nadir_spectral_subspace;

/* Of dimension 0. */
nadir_status nadir_spectral_subspace_create(nadir_context *context, const nadir_problem *problem,
                                            nadir_spectral_subspace **subspace);
void nadir_spectral_subspace_free(nadir_context *context, nadir_spectral_subspace *subspace);

/* The span of W d; the subspace is not idle. work: [states]. */
nadir_status nadir_spectral_subspace_begin(nadir_context *context, nadir_spectral_subspace *subspace,
                                           double *work);

/* x: [states] <- its part that is orthogonal to the subspace; returns the norm of that. */
double nadir_spectral_subspace_reduce(const nadir_context *context, const nadir_spectral_subspace *subspace,
                                      double *x);

/* Takes one more vector, of norm 1 and orthogonal to the subspace, at the price of an accurate solve. The
 * limit must not be exceeded. x: [states], overwritten. */
nadir_status nadir_spectral_subspace_append(nadir_context *context, nadir_spectral_subspace *subspace,
                                            double *x);

/* A unit vector of the subspace and its image, at one l. */
typedef struct nadir_spectral_subspace_point {
    double l;                                /* lambda / nu */
    double theta;                            /* |E_lambda X s| / (gamma nu) */
    double along;                            /* v_hat . y */
    double feedback;                         /* y . D W X s */
    double s[NADIR_SPECTRAL_SUBSPACE_LIMIT]; /* unit vector, in terms of X */
} nadir_spectral_subspace_point;

/* The worst kernel with c in the subspace. NADIR_ERROR_ILL_POSED when the radius is at or past breakdown. */
nadir_status nadir_spectral_subspace_root(nadir_context *context, const nadir_spectral_subspace *subspace,
                                          double beta, nadir_spectral_subspace_point *point);

/* x = X s; y = E_lambda x / |E_lambda x|; g = Phi D W x. [states] each. */
void nadir_spectral_subspace_expand(const nadir_context *context, const nadir_spectral_subspace *subspace,
                                    const nadir_spectral_subspace_point *point, double *x, double *y,
                                    double *g);

/* r <- E_lambda^T y / (gamma nu) - theta x: [states], in: D^T y; returns its norm. */
double nadir_spectral_subspace_residual(const nadir_context *context, const nadir_spectral_subspace *subspace,
                                        const nadir_spectral_subspace_point *point, double *r);

/* Shrinks a basis of the size of the limit: of the oldest columns, but for W d, the vector of the point is kept
 * alone. The subspace is to be appended to before it is used. */
void nadir_spectral_subspace_compress(const nadir_context *context, nadir_spectral_subspace *subspace,
                                      const nadir_spectral_subspace_point *point);

#endif
