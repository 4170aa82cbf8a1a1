/*
 * rectangular_search.h: robust policy iteration as long work: progress, limits, checkpoints.
 */
#ifndef NADIR_POLICY_RECTANGULAR_SEARCH_H
#define NADIR_POLICY_RECTANGULAR_SEARCH_H

#include "policy/checkpoint.h"
#include "policy/rectangular_optimum.h"

/* All but the last two to be set. */
typedef struct nadir_bellman_search {
    nadir_context *context;
    nadir_model *model;
    const nadir_ball *ball;
    const nadir_robust_optimum_settings *settings;
    const char *identity; /* of model, ball and method: what a checkpoint is good for */
    const nadir_checkpoint_store *store;
    double nominal_optimum;
    double begun; /* seconds on the clock */
    double saved; /* when the last checkpoint was written */
} nadir_bellman_search;

/* As nadir_rectangular_optimum. */
nadir_status nadir_bellman_search_run(nadir_bellman_search *search, nadir_policy **policy,
                                      nadir_rectangular_optimum_result *result);

#endif
