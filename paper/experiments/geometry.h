/*
 * geometry.h: the set {D^pi H^pi} of the paper's example, three states and two actions, as points of R^18.
 *
 * A point is M(s, (t, a)) = D(s, t) pi(a|t): row s holds the discounted visits of (t, a) from s. Policies are
 * drawn in blocks of fixed size, each with a random stream of its own, and sums are added in the order of the
 * blocks, so that results do not depend on the number of threads.
 *
 * Policies that differ in one state only lie on a line. With pi(0|s) = t, Sherman and Morrison give M(t) =
 * M(0) + g(t) X, X a matrix of rank one and g(t) = t / (1 - c t) monotone. So (a) a linear function is
 * largest at a deterministic policy: the hull of the set is that of its 2^3 corners, and (b) policies that
 * differ in one state are joined by a segment of the set. The set has 3 dimensions; if the points span more,
 * it cannot be convex.
 */
#ifndef NADIR_PAPER_GEOMETRY_H
#define NADIR_PAPER_GEOMETRY_H

#include "inside.h"

enum {
    GEOMETRY_STATES = 3,
    GEOMETRY_ACTIONS = 2,
    GEOMETRY_ROWS = GEOMETRY_STATES * GEOMETRY_ACTIONS,
    GEOMETRY_ENTRIES = GEOMETRY_STATES * GEOMETRY_ROWS,
    GEOMETRY_CORNERS = 8,
    GEOMETRY_BLOCK = 1 << 14, /* policies of one stream */
    GEOMETRY_BINS = 120
};

typedef struct geometry_model {
    double discount;
    double kernel[GEOMETRY_ROWS][GEOMETRY_STATES];
} geometry_model;

/* The paper's: gamma = 0.9, P = np.random.rand(3, 2, 3) after np.random.seed(seed), rows normalised. */
void geometry_model_make(uint32_t seed, geometry_model *model);

/* pi(.|s) = (u, w) / (u + w), both uniform in [0, 1). chance: pi(0|s) of each state. */
void geometry_policy_draw(nadir_random *random, double chance[GEOMETRY_STATES]);

/* D^pi H^pi, row after row. */
void geometry_point(const geometry_model *model, const double chance[GEOMETRY_STATES],
                    double point[GEOMETRY_ENTRIES]);

/* Corner i takes action 0 in state s unless bit s of i is set. */
void geometry_corner(const geometry_model *model, int corner, double point[GEOMETRY_ENTRIES]);

/* The stream of a block; block < 0 for other uses. */
nadir_random geometry_stream(uint64_t seed, int64_t block);

typedef struct geometry_moments {
    int64_t samples;
    double mean[GEOMETRY_ENTRIES];
    double covariance[GEOMETRY_ENTRIES * GEOMETRY_ENTRIES];
    double variances[GEOMETRY_ENTRIES];                     /* along the principal components, falling */
    double components[GEOMETRY_ENTRIES * GEOMETRY_ENTRIES]; /* one after another; largest entry positive */
} geometry_moments;

/* Of `samples` random policies; two or more. */
nadir_status geometry_moments_compute(nadir_context *context, const geometry_model *model, uint64_t seed,
                                      int64_t samples, geometry_moments *moments);

/* The set seen along two directions, and how many policies fall into each cell. */
typedef struct geometry_view {
    double axes[2][GEOMETRY_ENTRIES];
    double low[2], high[2];                        /* of the set, exactly: from its corners */
    int64_t counts[GEOMETRY_BINS * GEOMETRY_BINS]; /* cell (i, j), i along the first axis: i * BINS + j */
} geometry_view;

/* Fills low and high from the axes. Coordinates are relative to the origin [GEOMETRY_ENTRIES]. */
void geometry_view_range(const geometry_model *model, const double *origin, geometry_view *view);
/* Orthonormal directions, uniformly random: axes [count * GEOMETRY_ENTRIES], count <= 3. */
void geometry_axes_draw(nadir_random *random, int count, double *axes);
double geometry_coordinate(const double point[GEOMETRY_ENTRIES], const double *origin, const double *axis);

/* counts of all views [count] for the same `samples` policies as above. */
nadir_status geometry_views_fill(nadir_context *context, const geometry_model *model, uint64_t seed,
                                 int64_t samples, const double *origin, int count, geometry_view *views);

/* Whether a matrix lies in the set. Each row holds the visits of some policy. The matrix lies in the set
 * exactly when that policy is the same for all rows. Returns the largest difference of pi(0|s) between rows.
 * */
double geometry_disagreement(const double point[GEOMETRY_ENTRIES]);
/* The distance, in the Frobenius norm, to the nearest point of the set that Gauss-Newton iterations find.
 * They start from the policies of the rows and from the uniform policy. */
double geometry_distance(const geometry_model *model, const double target[GEOMETRY_ENTRIES]);

/* Midpoints of pairs of policies that differ in `differing` states. All arrays: [pairs]. */
typedef struct geometry_midpoints {
    double *separation;   /* |M_1 - M_2| */
    double *distance;     /* of the midpoint to the set */
    double *disagreement; /* of the midpoint's rows */
} geometry_midpoints;
nadir_status geometry_midpoints_test(nadir_context *context, const geometry_model *model, uint64_t seed,
                                     int differing, int64_t pairs, geometry_midpoints *midpoints);

#endif
