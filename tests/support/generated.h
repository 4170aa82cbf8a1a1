/* generated.h: models from the generators, for unit tests. Include support.h first. */
#ifndef NADIR_TESTS_GENERATED_H
#define NADIR_TESTS_GENERATED_H

#include "core/random.h"
#include "nadir.h"

/* Makes a model, without any message; fails the test otherwise. To be freed. */
nadir_model *test_generate(nadir_context *context, const char *kind, const nadir_generate_settings *settings);

/* The same model with the mean rewards of its rows, whatever the successor is. Takes `model`; to be freed. */
nadir_model *test_frozen(nadir_context *context, nadir_model *model);

/* The dense kind, `random`, with four actions. To be freed. */
nadir_model *test_generate_dense(nadir_context *context, int64_t states, double discount, uint64_t seed);

/* FrozenLake 4x4 of Gymnasium: slippery, moves go sideways with probability 2/3; holes and the goal hold for ever. The goal
 * is the last state; 1 is paid on landing in it. To be freed. */
nadir_model *test_lake(nadir_context *context, bool slippery, double discount);

/* States of 1 to 3 actions, rows of 1 to `most` successors, each within `apart` states of its own, which may
 * be next to impossible; no rewards. states > apart * most. */
nadir_model *test_ragged_model(nadir_context *context, nadir_random *random, int64_t states, int64_t most,
                               int64_t apart, double discount);

#endif
