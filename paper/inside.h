/*
 * inside.h: the inside of the library, for paper/. No other file of paper/ includes headers of src/.
 *
 *     memory, errors, progress   NADIR_NEW, NADIR_CHECK, nadir_release, nadir_progress
 *     random streams             nadir_random_*
 *     threads                    nadir_threads_for, nadir_progress_team, nadir_blas_threads
 *     vectors and norms          nadir_vector_*, nadir_norm_p, nadir_gstd_compute (sigma_q, omega_q, u_q)
 *     eigenvectors               nadir_symmetric_eigen, nadir_lanczos_top
 *     D and D^T                  nadir_occupancy_solve[_transposed] of solver->occupancy
 *     v, d, kernels              nadir_solver_solve, then solver->value; nadir_worst_kernel
 *     robust evaluation          nadir_problem, nadir_candidate, nadir_evaluation; nadir_evaluator_for, nadir_sweep
 */
#ifndef NADIR_PAPER_INSIDE_H
#define NADIR_PAPER_INSIDE_H

#include "core/context.h"
#include "core/file.h"
#include "core/number.h"
#include "core/random.h"
#include "linalg/eigen.h"
#include "linalg/gstd.h"
#include "linalg/lanczos.h"
#include "linalg/matrix.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/model.h"
#include "proof/breakdown.h"
#include "proof/certificate.h"
#include "proof/rank_one_check.h"
#include "robust/robust.h"
#include "search/free_search.h"
#include "search/kernel_solver.h"
#include "sets/lmo.h"
#include "solve/solver.h"

#endif
