/*
 * penalty.h: the penalty that each method finds within a budget, on problems of the paper's kind; see
 * instance.h.
 *
 * The budget is either the same time for every method, and the result is the best penalty at its end (a step
 * that ends later does not count); or a number of kernels or steps for each method, so that results are the
 * same on every machine.
 */
#ifndef NADIR_PAPER_PENALTY_H
#define NADIR_PAPER_PENALTY_H

#include "instance.h"

enum { PENALTY_RADII = 4, PENALTY_METHODS = 5, PENALTY_SIZES = 6 };

extern const double penalty_radii[PENALTY_RADII]; /* that of the main text, then those of the appendix */
extern const int64_t penalty_sizes[PENALTY_SIZES];

/* A method, and its kernels or steps where these are the budget. */
typedef struct penalty_method {
    const char *name;
    int64_t samples;
} penalty_method;
extern const penalty_method penalty_methods[PENALTY_METHODS]; /* the paper's first, then SLSQP */

/* What a method found of one penalty. */
typedef struct penalty_found {
    double value;
    double share; /* of the exact penalty */
    int64_t samples;
    const char *stop_reason; /* a constant */
    double seconds;
} penalty_found;

/* seconds: the time for the method; infinity: its kernels or steps are the budget. */
nadir_status penalty_measure(const experiment_instance *instance, const penalty_method *method,
                             double seconds, penalty_found *found);

/* Mean and range of numbers; a struct of zeros holds none. */
typedef struct penalty_spread {
    int64_t count;
    double sum, least, most;
} penalty_spread;
void penalty_spread_add(penalty_spread *spread, double value);
double penalty_spread_mean(const penalty_spread *spread);

/* All problems of the same radius and size. */
typedef struct penalty_cell {
    penalty_spread exact;
    penalty_spread value[PENALTY_METHODS];
    penalty_spread share[PENALTY_METHODS];
    int64_t nothing[PENALTY_METHODS]; /* problems where less than a hundredth was found */
    bool uncertified;                 /* of some exact value */
} penalty_cell;

/* Runs all methods on the instance, whose radius has been set; found: [PENALTY_METHODS]. */
nadir_status penalty_cell_add(const experiment_instance *instance, double seconds, penalty_cell *cell,
                              penalty_found *found);

#endif
