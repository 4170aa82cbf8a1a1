/*
 * check_combined.h: bounds around many kernels Phat - b k^T of the L_2 ball at once, all of them combinations
 * of a few vectors:
 *
 *     c = beta x / |x|,   x = X s,        k = y / |y|,   y = Phi K t,
 *
 * taken exactly: a kernel is its radius and the numbers s and t, and never written out.
 */
#ifndef NADIR_ADVERSARY_CHECK_COMBINED_H
#define NADIR_ADVERSARY_CHECK_COMBINED_H

#include "adversary/proof/spectral_check.h"

/* A vector of a stack: at least its 2-norm, and how far it is from the exact one. */
typedef struct nadir_combined_size {
    double size, off;
} nadir_combined_size;

/* Vectors, one after another, some of their products, and all of them in terms of nearly orthonormal ones. */
typedef struct nadir_combined_stack {
    double *vectors;            /* [states * N] */
    double *products;           /* [N * N] those that kernels are measured by */
    nadir_combined_size *sizes; /* [N] of the vectors */
    int rank;
    double *frame;               /* [N * N]: column j at j * N, of which `rank` numbers count */
    double stretch;              /* no combination is longer than this times that of the columns */
    nadir_combined_size *framed; /* [N]: `off` is that of the vectors, and what is missing of the columns */
} nadir_combined_stack;

/* What all kernels share; m is `size`, N = 2 m + 2. A struct of zeros holds nothing. */
typedef struct nadir_combined {
    int size;
    bool bounded;               /* whether there is what lambda_high needs */
    bool usable;                /* numbers are neither too large nor too small for products */
    double rounding;            /* of a sum of N^2 products, relative to the sum of the sizes */
    nadir_spectral_pair pair;   /* what is the same for all radii */
    nadir_combined_stack left;  /* Phi v | Phi D W X: m | Phi K: m + 1 */
    nadir_combined_stack right; /* W d | W D^T Phi K: m + 1 | X: m */
} nadir_combined;

/* What the kernels are made of. */
typedef struct nadir_combined_basis {
    int size;                 /* m */
    const double *X;          /* [states * m] */
    const double *K;          /* [states * (m + 1)] */
    const double *const *DWX; /* [m] of [states]: guesses of D W X up to constants; NULL: none */
    const double *const *DtK; /* [m + 1] of [states]: guesses of D^T K; NULL: none */
} nadir_combined_basis;

/* bounded: lambda_high will be asked for. The problem is one of p = 2 on one process, the rest is as for
 * nadir_spectral_check. To be cleared after success. */
nadir_status nadir_combined_make(nadir_context *context, const nadir_problem *problem, bool bounded,
                                 const nadir_combined_basis *basis, double breakdown_low,
                                 nadir_combined *made);
void nadir_combined_clear(nadir_context *context, nadir_combined *made);

typedef struct nadir_combined_answer {
    bool usable;        /* otherwise nothing was found out */
    double lambda;      /* about the penalty of the kernel */
    double lambda_low;  /* no more than that */
    double lambda_high; /* no kernel of the ball has a larger one; infinity: not known, or not asked for */
} nadir_combined_answer;

/* Of `count` kernels. S: [m * count], T: [(m + 1) * count], s and t of one after another, which are brought
 * to |x| = |y| = 1, up to rounding. radii, answers: [count]. */
nadir_status nadir_combined_check(nadir_context *context, const nadir_combined *of, int64_t count,
                                  const double *radii, double *S, double *T, nadir_combined_answer *answers);

/* The smallest entries of `count` kernels, [count], up to rounding. S: [m * count] s of one after another,
 * times the radius; T: [(m + 1) * count]. */
nadir_status nadir_combined_minima(nadir_context *context, const nadir_combined *of, int64_t count,
                                   const double *S, const double *T, double *minima);

#endif
