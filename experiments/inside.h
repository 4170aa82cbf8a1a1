/*
 * inside.h: the inside of the library, for experiments: nothing else of experiments/ includes headers of
 * src/.
 *
 *     memory, errors, progress   NADIR_NEW, NADIR_CHECK, nadir_release, nadir_progress
 *     random streams             nadir_random_*, and NumPy's legacy generator, nadir_legacy_random_*
 *     threads                    nadir_threads_for, nadir_progress_team, nadir_blas_threads
 *     vectors and norms          nadir_vector_*, nadir_norm_p, nadir_gstd_compute (sigma_q, omega_q, u_q)
 *     D and D^T                  nadir_occupancy_solve[_transposed] of solver->occupancy
 *     v, d, kernels              nadir_solver_solve, then solver->value; nadir_worst_kernel
 */
#ifndef NADIR_EXPERIMENTS_INSIDE_H
#define NADIR_EXPERIMENTS_INSIDE_H

#include "adversary/worst.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/number.h"
#include "base/random.h"
#include "base/random_legacy.h"
#include "base/sha256.h"
#include "linalg/gstd.h"
#include "linalg/lanczos.h"
#include "linalg/matrix.h"
#include "linalg/norm.h"
#include "linalg/symmetric.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/model.h"
#include "nominal/solver.h"

#endif
