/*
 * inside.h: the inside of the library, for paper/. No other file of paper/ includes headers of src/.
 *
 *     memory, errors, progress   NADIR_NEW, NADIR_CHECK, nadir_release, nadir_progress
 *     random streams             nadir_random_*
 *     threads                    nadir_threads_for, nadir_progress_team, nadir_blas_threads
 *     vectors and norms          nadir_vector_*, nadir_norm_p, nadir_gstd_compute (sigma_q, omega_q, u_q)
 *     eigenvectors               nadir_spectrum_*, nadir_symmetric_*, nadir_lanczos_top
 *     D and D^T                  nadir_occupancy_solve[_transposed] of solver->occupancy
 *     v, d, kernels              nadir_solver_solve, then solver->value; nadir_worst_kernel
 *     robust evaluation          nadir_problem, nadir_attack, nadir_verdict; nadir_robust_family
 */
#ifndef NADIR_PAPER_INSIDE_H
#define NADIR_PAPER_INSIDE_H

#include "adversary/method.h"
#include "adversary/proof/breakdown.h"
#include "adversary/proof/rank_one_check.h"
#include "adversary/proof/rank_one_states.h"
#include "adversary/question.h"
#include "adversary/robust.h"
#include "adversary/rows/lmo.h"
#include "adversary/search/breakdown_search.h"
#include "adversary/search/kernel_mix.h"
#include "adversary/search/kernel_solver.h"
#include "adversary/search/rank_one_candidate.h"
#include "adversary/valid/prove.h"
#include "adversary/worst.h"
#include "base/context.h"
#include "base/number.h"
#include "base/random.h"
#include "base/sha256.h"
#include "linalg/blocks.h"
#include "linalg/eigen.h"
#include "linalg/gstd.h"
#include "linalg/lanczos.h"
#include "linalg/matrix.h"
#include "linalg/norm.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/model.h"
#include "nominal/solver.h"
#include "policy/simplex.h"

#endif
