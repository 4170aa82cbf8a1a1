/* rank_one.h: kernels nominal - b k^T, without making one. */
#ifndef NADIR_KERNEL_RANK_ONE_H
#define NADIR_KERNEL_RANK_ONE_H

#include "model/model.h"

/* The smallest entry of nominal - b k^T; b: [rows], k: [states]. Far below O(rows * states) on sparse models
 * and where entries are negative: see rank_one.c. */
nadir_status nadir_rank_one_minimum(nadir_context *context, const nadir_model *model, const double *b,
                                    const double *k, double *minimum);

/* The same with several processes. */
nadir_status nadir_rank_one_minimum_spread(nadir_context *context, const nadir_model *model, const double *b,
                                           const double *k, double *minimum);

#endif
