/* sorted_states.h: the states in rising order of x, and sums along that order. */
#ifndef NADIR_ENGINES_CUDA_SORTED_STATES_H
#define NADIR_ENGINES_CUDA_SORTED_STATES_H

#include "engine.h"

/* The lower state first among equals; sums as in sets/lmo.h. */
struct sorted_states {
    int64_t states;
    int32_t *order;  /* [states] */
    int32_t *rank;   /* [states] the place of a state; p = infinity */
    double *sorted;  /* [states] x along the order */
    double *first;   /* [states] sum over j <= i of x_i - x_j; p other than 1 */
    double *second;  /* [states] the same with squares; p = 2 */
    int32_t *places; /* [states] 0, 1, ... */
};

/* Its arrays belong to the pool. */
nadir_status cuda_sorted_open(cuda_pool *pool, nadir_context *context, int64_t states, double p,
                              sorted_states *made);
/* x: [states] on the device, from 0 on. */
nadir_status cuda_sorted_make(cuda_engine *engine, nadir_context *context, const double *x,
                              sorted_states *in);

/* first[i] <- sum over j <= i of x_i - x_j, x: [count] rising; second: the same with squares, or NULL. */
nadir_status cuda_moments(cuda_engine *engine, nadir_context *context, int64_t count, const double *x,
                          double *first, double *second);

#endif
