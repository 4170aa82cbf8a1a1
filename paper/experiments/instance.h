/*
 * instance.h: the random problems of the paper's section "Experiments", and its methods run on them.
 *
 *     P(.|s, a) uniform, then normalised;  R normal;  policy uniform, then normalised;  μ uniform
 *     γ = 0.9, 8 actions, p = 2, non-rectangular ball, domain free
 *
 * The model is that of `nadir generate random --states S --actions 8 --seed N`; the policy is np.random.rand
 * of NumPy's legacy generator after seed(N), row after row, each state divided by its sum.
 */
#ifndef NADIR_PAPER_INSTANCE_H
#define NADIR_PAPER_INSTANCE_H

#include "inside.h"

enum { EXPERIMENT_ACTIONS = 8 };

/* A struct of zeros holds nothing. */
typedef struct experiment_instance {
    nadir_context *context;
    nadir_model *model;
    nadir_solver *solver;
    nadir_ball ball;
    double radius;
    nadir_robust exact; /* of experiment_instance_set_radius */
} experiment_instance;

/* The caller calls experiment_instance_close also after a failure. */
nadir_status experiment_instance_open(nadir_context *context, int64_t states, uint64_t seed,
                                      experiment_instance *instance);
void experiment_instance_close(experiment_instance *instance);

/* The ball of this radius, and the exact penalty of it. */
nadir_status experiment_instance_set_radius(experiment_instance *instance, double radius);

/* What a method found. */
typedef struct experiment_found {
    nadir_baseline result;
    nadir_trajectory_point *points; /* [count] */
    int64_t count;
} experiment_found;

/* seconds: infinity where only `samples` limits the search. The caller calls experiment_found_free. */
nadir_status experiment_instance_find(const experiment_instance *instance, const char *method, double seconds,
                                      int64_t samples, experiment_found *found);
void experiment_found_free(const experiment_instance *instance, experiment_found *found);

/* The last point up to this time, or zeros. A step that ended later does not count. */
nadir_trajectory_point experiment_found_at(const experiment_found *found, double seconds);

#endif
