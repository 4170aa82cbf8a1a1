/*
 * cone_walk.h: around one great circle of combinations of a few vectors; see cone_walk.c.
 */
#ifndef NADIR_BASELINE_CONE_WALK_H
#define NADIR_BASELINE_CONE_WALK_H

#include "baseline/cone.h"

enum { NADIR_WALK_DIMENSIONS = 3 };

/* Combinations x(c) = (V c)_+ of d = 2 or 3 vectors, and f(c) = x^T K x / x^T x. */
typedef struct nadir_walk_space {
    const nadir_cone *cone;
    int d;
    double *V;                                               /* [n * d] the rows v_j */
    double *T;                                               /* [n * d] the rows of K V */
    double G[NADIR_WALK_DIMENSIONS * NADIR_WALK_DIMENSIONS]; /* V^T K V */
    double M[NADIR_WALK_DIMENSIONS * NADIR_WALK_DIMENSIONS]; /* V^T V */
} nadir_walk_space;

nadir_status nadir_walk_space_open(nadir_context *context, const nadir_cone *cone,
                                   const nadir_spectrum *spectrum, int d, nadir_walk_space *space);
void nadir_walk_space_close(nadir_context *context, nadir_walk_space *space);

/* The best point so far. */
typedef struct nadir_walk_best {
    double square; /* f */
    double c[NADIR_WALK_DIMENSIONS];
} nadir_walk_best;

/* Where component j changes its sign. */
typedef struct nadir_crossing {
    double angle; /* in [0, pi) */
    int64_t j;
} nadir_crossing;

/* The sums over a support I: G = sum of K_jl v_j v_l^T, H = sum over j in I and all l of the same, M = sum of
 * v_j v_j^T; those of the complement follow. */
typedef struct nadir_walk_sums {
    double G[NADIR_WALK_DIMENSIONS * NADIR_WALK_DIMENSIONS];
    double H[NADIR_WALK_DIMENSIONS * NADIR_WALK_DIMENSIONS];
    double M[NADIR_WALK_DIMENSIONS * NADIR_WALK_DIMENSIONS];
} nadir_walk_sums;

typedef struct nadir_walker {
    const nadir_walk_space *of;
    double *s;                 /* [n * d] sum over j in I of K_lj v_j */
    double *x;                 /* [n] */
    nadir_crossing *crossings; /* [n] */
    int64_t *parallels;        /* [parallels_count] components that are zero all around */
    int64_t parallels_count;
    signed char *side;                   /* [n] 1, -1: v_j is parallel to v_i, or to -v_i; 0: neither */
    bool *inside;                        /* [n] I */
    double P[2 * NADIR_WALK_DIMENSIONS]; /* the circle is P (cos, sin); the two columns */
    nadir_walk_sums sums;                /* over I */
    nadir_walk_sums beside[2];           /* over the components of side -1 and of side 1, among themselves */
    nadir_walk_best best;
    nadir_walk_best promised; /* of this walk, by the sums alone */
} nadir_walker;

nadir_status nadir_walker_open(nadir_context *context, const nadir_walk_space *of, nadir_walker *walker);
void nadir_walker_close(nadir_context *context, nadir_walker *walker);

/* walker->best becomes f(c) if that is better. */
void nadir_walker_try(nadir_walker *walker, const double *c);

/* Around the circle on which component `pinned` is zero, or (d = 2, pinned = -1) around the only one there
 * is: the best of it, and of the cells on both sides of it, if it is better than walker->best. */
void nadir_walker_around(nadir_walker *walker, int64_t pinned);

#endif
