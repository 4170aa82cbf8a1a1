/*
 * rectangles.h: how wide the three sets must be to hold a kernel that is known from data with 95 % chance.
 *
 * Every row was observed N times, c(t) of them with successor t: Phat = c / N. The kernel has the Dirichlet
 * distribution with parameters c; it is drawn as sums of c(t) exponential variates, normalised. The radius of
 * a set at a confidence is the quantile of the distance that the set measures,
 *
 *     nonrect |P - Phat|_2        s   max_s |P_s - Phat_s|_2        sa   max_sa |P_sa - Phat_sa|_2
 *
 * so that all three contain the kernel with the same probability. Each sample has its own random stream, so
 * that the number of threads does not matter.
 */
#ifndef NADIR_PAPER_RECTANGLES_H
#define NADIR_PAPER_RECTANGLES_H

#include "inside.h"

enum { RECTANGLES_STATES = 16, RECTANGLES_SETS = 3 };

/* In the order of the distances: nonrect, s, sa. */
extern const nadir_set rectangles_sets[RECTANGLES_SETS];

/* What is known of a model; rows in the order of states. */
typedef struct rectangles_data {
    int64_t states; /* at most RECTANGLES_STATES */
    int64_t rows;
    const int64_t *state_rows; /* [states + 1] */
    const int32_t *counts;     /* [rows * states] */
    int32_t times;             /* all counts are this many times as large */
    double discount;
    const double *rewards; /* [rows] */
    int policies_count;
    const double *const *policies; /* [policies_count], each [rows] */
} rectangles_data;

/* One kernel: [rows * states]. */
void rectangles_draw(const rectangles_data *data, nadir_random *random, double *kernel);
/* Its distances from Phat. */
void rectangles_distances(const rectangles_data *data, const double *kernel,
                          double distances[RECTANGLES_SETS]);
/* Its return from the uniform initial distribution. */
double rectangles_return(const rectangles_data *data, const double *kernel, const double *policy);

/* distances: [RECTANGLES_SETS * samples] set after set; returns: [policies_count * samples] policy after
 * policy. */
nadir_status rectangles_sample(nadir_context *context, const rectangles_data *data, uint64_t seed,
                               int64_t samples, double *distances, double *returns);

/* The smallest value that at least this share of the values does not exceed. Sorts them. values: [count]. */
double rectangles_quantile(double *values, int64_t count, double share);

#endif
