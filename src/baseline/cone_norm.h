/*
 * cone_norm.h: max |A x|_2 over x >= 0, |x|_2 <= 1: the part that is not public.
 */
#ifndef NADIR_BASELINE_CONE_NORM_H
#define NADIR_BASELINE_CONE_NORM_H

#include "baseline/cone.h"

/* Algorithm 2 of the paper and nothing else: all eigenvectors of A^T A, then the best score. matrix:
 * [rows * columns] row after row; x: [columns]; *value: |A x|. */
nadir_status nadir_cone_norm_scored(nadir_context *context, int64_t rows, int64_t columns,
                                    const double *matrix, nadir_cone_score score, double *x, double *value);

#endif
