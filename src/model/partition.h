/*
 * partition.h: a model whose states are distributed over processes, in the making.
 *
 * A reader fills in the rows of the states [first, first + states) of S, with successors numbered over all
 * processes or as a dense array, [rows * S]. nadir_model_distribute makes them CSR and numbers successors anew,
 * own states first and then those of others (exchange.h).
 */
#ifndef NADIR_MODEL_PARTITION_H
#define NADIR_MODEL_PARTITION_H

#include "model/model.h"

/* The states of a process: [first, end) of `total`, as many for each as for any other, give or take one; the
 * last ones have none where there are more processes than states. */
void nadir_model_own_states(const nadir_context *context, int64_t total, int64_t *first, int64_t *end);

/* Before nadir_model_finish. Every process calls at once. */
nadir_status nadir_model_distribute(nadir_context *context, nadir_model *model, const char *path,
                                    int64_t first, int64_t total);

#endif
