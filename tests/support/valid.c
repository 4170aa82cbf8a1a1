/* valid.c: worst valid kernels with their proofs, for unit tests; see valid.h. */
#include "support/support.h"

#include "search/frank_wolfe.h"
#include "support/reference.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

nadir_policy *test_optimal_policy(nadir_context *context, nadir_model *model)
{
    nadir_policy *policy = NULL;
    nadir_optimum_result result = {.size = sizeof result};
    assert_ok(context, nadir_optimum(context, model, NULL, &policy, &result));
    return policy;
}

nadir_model *test_plain_model(nadir_context *context, int64_t states, double discount, const double *P,
                              const double *rewards, const double *mu)
{
    nadir_model *model = NULL;
    nadir_model_data data;
    int64_t *state_rows = test_new(states + 1, sizeof *state_rows);
    double *initial = test_new(states, sizeof *initial);
    for (int64_t s = 0; s < states; s++) {
        state_rows[s + 1] = s + 1;
        initial[s] = mu != NULL ? mu[s] : s == 0 ? 1 : 0;
    }
    nadir_model_data_default(&data);
    data.states = states;
    data.rows = states;
    data.discount = discount;
    data.state_rows = state_rows;
    data.dense = P;
    data.rewards = rewards;
    data.initial = initial;
    assert_ok(context, nadir_model_create(context, &data, &model));
    free(state_rows);
    free(initial);
    return model;
}

nadir_candidate test_descend(nadir_context *context, const nadir_problem *problem, double beta)
{
    nadir_candidate attack = {0};
    assert_ok(context, nadir_frank_wolfe_run(context, problem, beta, NULL, 1e-13, 500, &attack));
    const double penalty = problem->J - attack.J;
    assert_ok(context, nadir_frank_wolfe_polish(context, problem, beta, NULL, 1e-10 * penalty, &attack));
    return attack;
}

nadir_certificate test_prove(nadir_context *context, const nadir_problem *problem, double beta,
                             const nadir_candidate *attack, nadir_certify effort)
{
    nadir_certificate proof;
    const double penalty = fmax(problem->J - attack->J, 0);
    assert_ok(context,
              nadir_valid_prove(context, problem, beta, attack, effort, attack->J - 1e-6 * penalty, &proof));
    assert_that(!isnan(proof.lower), "the lower bound is not a number");
    assert_true((proof.proof != NADIR_PROOF_NONE) == (proof.lower > -INFINITY));
    assert_true(isnan(proof.kappa) || proof.kappa >= 0);
    for (int64_t s = 0; s < problem->states; s++) {
        assert_true(proof.d_bar[s] >= 0 && isfinite(proof.d_bar[s]));
    }
    return proof;
}

nadir_certificate test_prove_by_norms(nadir_context *context, const nadir_problem *problem, double beta,
                                      const nadir_candidate *attack)
{
    nadir_certificate proof;
    nadir_derivation derivation = {0};
    assert_ok(context, nadir_derivation_make(context, problem, beta, attack, NULL, &proof, &derivation));
    assert_ok(context, nadir_derivation_by_norms(context, &derivation));
    nadir_derivation_clear(context, &derivation);
    return proof;
}

void test_bound_occupancies(nadir_context *context, const nadir_problem *problem,
                            const nadir_perturbable_rows *perturbable, double radius,
                            nadir_occupancy_bounds *bounds)
{
    int64_t passes;
    assert_ok(context,
              nadir_occupancy_bounds_pass(context, problem, perturbable, radius, NADIR_OCCUPANCY_PASSES,
                                          NADIR_OCCUPANCY_SETTLED, bounds, &passes));
}

double test_find_kappa(nadir_context *context, const nadir_kkt *kkt, const nadir_occupancy_bounds *bounds,
                       const nadir_displacement *displacement, const double *inverse, bool shared)
{
    nadir_kappa_matrix matrix = {0};
    assert_ok(context, nadir_kappa_matrix_make(context, kkt, bounds, displacement, inverse, shared, &matrix));
    nadir_kappa_bisect(context, &matrix, true);
    const double kappa = matrix.proven;
    nadir_kappa_matrix_clear(context, &matrix);
    return kappa;
}

void test_stage_make(nadir_context *context, const nadir_problem *problem, double beta,
                     const nadir_candidate *attack, test_stage *stage)
{
    *stage = (test_stage){0};
    assert_ok(context, nadir_perturbable_rows_make(context, problem, &stage->perturbable));
    assert_ok(context, nadir_occupancy_bounds_make(context, problem, &stage->bounds));
    test_bound_occupancies(context, problem, &stage->perturbable, beta, &stage->bounds);
    assert_ok(context, nadir_stationary_point_make(context, problem, &stage->perturbable, attack,
                                                   NADIR_OCCUPANCY_COLUMNS, &stage->star));
    assert_ok(context,
              nadir_stationary_point_kkt(context, &stage->bounds, beta, attack->tau, NULL, &stage->star));
}

void test_stage_clear(nadir_context *context, test_stage *stage)
{
    nadir_stationary_point_clear(context, &stage->star);
    nadir_occupancy_bounds_clear(context, &stage->bounds);
    nadir_perturbable_rows_clear(context, &stage->perturbable);
}

nadir_kernel *test_entries_kernel(nadir_context *context, nadir_model *model, const double *entries)
{
    const int64_t n = model->states;
    int64_t *rows = test_new(2 * model->rows + 1, sizeof *rows);
    int64_t *starts = rows + model->rows;
    int32_t *columns = test_new(model->rows * n, sizeof *columns);
    for (int64_t row = 0; row < model->rows; row++) {
        rows[row] = row;
        starts[row + 1] = (row + 1) * n;
        for (int64_t t = 0; t < n; t++) {
            columns[row * n + t] = (int32_t)t;
        }
    }
    nadir_kernel *kernel = NULL;
    const nadir_changed_rows changed = {model->rows, rows, starts, columns, entries};
    assert_ok(context, nadir_kernel_create_changed(context, model, &changed, &kernel));
    free(rows);
    free(columns);
    return kernel;
}

test_miniature test_trap_make(nadir_context *context, nadir_random *random)
{
    test_miniature made = {0};
    const int64_t states = 3 + (int64_t)nadir_random_below(random, 3);
    const int64_t inside = 1 + (int64_t)nadir_random_below(random, 2);
    static const double discounts[] = {0.5, 0.9, 0.95, 0.99};
    const double discount = discounts[nadir_random_below(random, 4)];
    double P[25] = {0};
    double rewards[5];
    double mu[5] = {0};
    for (int64_t s = 0; s < states; s++) {
        double sum = 0;
        const int64_t reach = s < inside ? inside : states;
        const int64_t sure = (int64_t)nadir_random_below(random, (uint64_t)reach);
        for (int64_t t = 0; t < reach; t++) {
            const bool there = t == sure || nadir_random_uniform(random) < 0.4;
            P[s * states + t] = there ? nadir_random_exponential(random) : 0;
            sum += P[s * states + t];
        }
        for (int64_t t = 0; t < states; t++) {
            P[s * states + t] /= sum;
        }
        rewards[s] = nadir_random_normal(random);
        mu[s] = s < inside ? 1 / (double)inside : 0;
    }
    made.model = test_plain_model(context, states, discount, P, rewards, mu);
    assert_ok(context, nadir_policy_create_uniform(context, made.model, &made.policy));
    return made;
}
