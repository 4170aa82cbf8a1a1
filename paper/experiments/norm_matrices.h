/* norm_matrices.h: the random matrices of the paper's norm table, and the norm of one by one method. */
#ifndef NADIR_PAPER_NORM_MATRICES_H
#define NADIR_PAPER_NORM_MATRICES_H

#include "experiment.h"

/* np.random.seed(seed); np.random.randn(n, n): [n * n], to be freed with experiment_matrix_free. */
nadir_status experiment_matrix_create(experiment_run *run, int64_t n, uint64_t seed, double **matrix);
void experiment_matrix_free(experiment_run *run, double *matrix);

/* max |A x| over x >= 0, |x| <= 1 by one order of nadir_cone_norm, without the dual bound. Short runs are
 * repeated: the time is that of the fastest. samples: of random and slsqp. */
nadir_status experiment_matrix_norm(experiment_run *run, int64_t n, const double *matrix, const char *order,
                                    int64_t samples, nadir_cone_norm_result *result);

#endif
