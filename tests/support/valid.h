/*
 * valid.h: worst kernels of the non-rectangular ball on the domains simplex and support with their proofs,
 * for unit tests. Include support/support.h first.
 */
#ifndef NADIR_TESTS_VALID_H
#define NADIR_TESTS_VALID_H

#include "proof/kkt.h"
#include "robust/evaluate.h"
#include "search/second_order_search.h"
#include "support/miniature.h"
#include "support/problem.h"

/* The best deterministic policy. To be freed. */
nadir_policy *test_optimal_policy(nadir_context *context, nadir_model *model);

/* One action a state: P [states * states], rewards and mu [states]; mu NULL: all at state 0. To be freed. */
nadir_model *test_plain_model(nadir_context *context, int64_t states, double discount, const double *P,
                              const double *rewards, const double *mu);

/* What the descent finds from the nominal kernel, stationary to first order. To be cleared. */
nadir_candidate test_descend(nadir_context *context, const nadir_problem *problem, double beta);

/* The proof, wanted to a millionth of the penalty; checks that its numbers make sense. To be cleared. */
nadir_certificate test_prove(nadir_context *context, const nadir_problem *problem, double beta,
                             const nadir_candidate *attack, nadir_certify effort);

/* The proof by norms alone. To be cleared. */
nadir_certificate test_prove_by_norms(nadir_context *context, const nadir_problem *problem, double beta,
                                      const nadir_candidate *attack);

/* All that a proof at second order is made of, with the visits of all kernels of the set. */
typedef struct test_stage {
    nadir_perturbable_rows perturbable;
    nadir_occupancy_bounds bounds;
    nadir_stationary_point star;
} test_stage;

/* Passes over the occupancies of all kernels of the set, as proofs take them. */
void test_bound_occupancies(nadir_context *context, const nadir_problem *problem,
                            const nadir_perturbable_rows *perturbable, double radius,
                            nadir_occupancy_bounds *bounds);

/* The least kappa that the matrix of nadir_kappa_matrix_make proves. */
double test_find_kappa(nadir_context *context, const nadir_kkt *kkt, const nadir_occupancy_bounds *bounds,
                       const nadir_displacement *displacement, const double *inverse, bool shared);

/* The struct must stay where it is. */
void test_stage_make(nadir_context *context, const nadir_problem *problem, double beta,
                     const nadir_candidate *attack, test_stage *stage);
void test_stage_clear(nadir_context *context, test_stage *stage);

/* A kernel of these entries, [rows * states]. To be freed. */
nadir_kernel *test_entries_kernel(nadir_context *context, nadir_model *model, const double *entries);

/* 3 to 5 states of which visited ones lead to visited ones only: what others are like the adversary must find
 * out by itself. */
test_miniature test_trap_make(nadir_context *context, nadir_random *random);

#endif
