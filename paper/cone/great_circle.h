/*
 * great_circle.h: maximises f(c) = |B (V c)_+|^2 / |(V c)_+|^2 on one great circle of combinations c of a few
 * vectors; see great_circle.c.
 */
#ifndef NADIR_PAPER_GREAT_CIRCLE_H
#define NADIR_PAPER_GREAT_CIRCLE_H

#include "cone/cone.h"

enum { NADIR_CIRCLE_DIMENSIONS = 3 };

/* Combinations x(c) = (V c)_+ of d = 2 or 3 vectors, and f(c) = x^T K x / x^T x. */
typedef struct nadir_circle_space {
    const nadir_cone *cone;
    int d;
    double *V;                                                   /* [n * d] the rows v_j */
    double *T;                                                   /* [n * d] the rows of K V */
    double G[NADIR_CIRCLE_DIMENSIONS * NADIR_CIRCLE_DIMENSIONS]; /* V^T K V */
    double M[NADIR_CIRCLE_DIMENSIONS * NADIR_CIRCLE_DIMENSIONS]; /* V^T V */
} nadir_circle_space;

nadir_status nadir_circle_space_open(nadir_context *context, const nadir_cone *cone,
                                     const nadir_spectrum *spectrum, int d, nadir_circle_space *space);
void nadir_circle_space_close(nadir_context *context, nadir_circle_space *space);

/* A point c and its value. */
typedef struct nadir_circle_point {
    double square; /* f(c) */
    double c[NADIR_CIRCLE_DIMENSIONS];
} nadir_circle_point;

/* The angle where component j changes its sign. */
typedef struct nadir_circle_crossing {
    double angle; /* in [0, pi) */
    int64_t j;
} nadir_circle_crossing;

/* Sums over a support I: G = sum of K_jl v_j v_l^T over j, l in I; H = the same over j in I and all l; M =
 * sum of v_j v_j^T. Those of the complement of I follow from them. */
typedef struct nadir_circle_sums {
    double G[NADIR_CIRCLE_DIMENSIONS * NADIR_CIRCLE_DIMENSIONS];
    double H[NADIR_CIRCLE_DIMENSIONS * NADIR_CIRCLE_DIMENSIONS];
    double M[NADIR_CIRCLE_DIMENSIONS * NADIR_CIRCLE_DIMENSIONS];
} nadir_circle_sums;

typedef struct nadir_circle_search {
    const nadir_circle_space *space;
    double *s;                        /* [n * d] sum over j in I of K_lj v_j */
    double *x;                        /* [n] */
    nadir_circle_crossing *crossings; /* [n] */
    int64_t *parallels;               /* [parallels_count] components that are zero on the whole circle */
    int64_t parallels_count;
    signed char *side;                     /* [n] 1, -1: v_j is parallel to v_i, to -v_i; 0: to neither */
    bool *inside;                          /* [n] whether j is in I */
    double P[2 * NADIR_CIRCLE_DIMENSIONS]; /* the circle is P (cos, sin); the two columns */
    nadir_circle_sums sums;                /* over I */
    nadir_circle_sums beside[2]; /* over the parallel components of side -1, and over those of side 1 */
    nadir_circle_point best;
    nadir_circle_point candidate; /* the best of this circle by the sums, not yet recomputed */
} nadir_circle_search;

nadir_status nadir_circle_search_open(nadir_context *context, const nadir_circle_space *space,
                                      nadir_circle_search *search);
void nadir_circle_search_close(nadir_context *context, nadir_circle_search *search);

/* search->best <- c if f(c) is larger. c: [d] */
void nadir_circle_search_try(nadir_circle_search *search, const double *c);

/* Searches the circle on which component `pinned` is zero, and the cells on both sides of it; for d = 2 and
 * pinned = -1 the only circle there is. search->best is replaced by what is better. */
void nadir_circle_search_run(nadir_circle_search *search, int64_t pinned);

/* The generalised Rayleigh quotient c^T G c / c^T M c in three dimensions: rayleigh_quotient.c. */

/* Whether some c has c^T G c > level c^T M c. */
bool nadir_rayleigh_exceeds(const double G[9], const double M[9], double level);
/* c <- the maximiser, with c^T M c = 1, and *mu <- the maximum: the leading eigenpair of G c = mu M c. False:
 * M is singular, or nearly. */
bool nadir_rayleigh_maximize(const double G[9], const double M[9], double c[3], double *mu);

#endif
