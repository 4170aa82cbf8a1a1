/*
 * test_multistart.c: the search for the worst kernel where no proof succeeds, on garnets and small models: known worse kernels are
 * found; random starts and a path down from larger radii find nothing worse; many radii at once, the radius of a
 * return and `optimize` find what one evaluation finds; at p = 1 steps do not zigzag.
 */
#include "support/support.h"

#include "proof/certificate.h"
#include "search/frank_wolfe.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 24601

/* A garnet, or another model, with its optimal policy. */
typedef struct garnet {
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
} garnet;

static garnet complete(nadir_context *context, nadir_model *model)
{
    nadir_policy *policy = test_optimal_policy(context, model);
    return (garnet){model, policy, test_solver(context, model, policy)};
}

static garnet garnet_make(nadir_context *context, int64_t states, int64_t actions, uint64_t seed)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = actions;
    shape.branch = 5;
    shape.seed = seed;
    return complete(context, test_generate(context, "garnet", &shape));
}

static void garnet_clear(garnet *made)
{
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

/* Kernels with these returns are known. */
static void known_kernels_are_found(void **state)
{
    static const struct {
        uint64_t seed;
        double norm, radius, known;
        nadir_domain domain;
    } cases[] = {{0, 1, 2, 9.721, NADIR_DOMAIN_SIMPLEX}, {2, 2, 1.6, 10.3495, NADIR_DOMAIN_SUPPORT}};
    nadir_context *context = *state;
    for (int i = 0; i < 2; i++) {
        garnet here = garnet_make(context, 20, 3, cases[i].seed);
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, cases[i].domain, cases[i].norm, &cases[i].radius, NULL);
        const nadir_robust found = test_robust(context, here.solver, &ball, NULL, NULL);
        test_note("seed %d, %s", (int)cases[i].seed, test_ball_name(&ball));
        assert_that(found.robust_return <= cases[i].known, "%.12g", found.robust_return);
        garnet_clear(&here);
    }
}

/* The path from a ball of many times the radius, in small steps, alone leads to a kernel that returns 9.18131. */
static void paths_from_far_are_followed(void **state)
{
    static const double radius = 8;
    nadir_context *context = *state;
    garnet here = garnet_make(context, 30, 3, 1840009);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 1, &radius, NULL);
    nadir_policy *policy = test_uniform_policy(context, here.model);
    nadir_solver *solver = test_solver(context, here.model, policy);
    const nadir_robust found = test_robust(context, solver, &ball, NULL, NULL);
    assert_that(found.robust_return <= 9.18131, "%.12g", found.robust_return);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    garnet_clear(&here);
}

/* Another row: all of it leads to one state, or none to one of its successors. nominal, entries: [states]. */
static void random_row(nadir_random *random, int64_t states, bool all, const double *nominal, double *entries)
{
    const bool leaves = nadir_random_uniform(random) < 0.5;
    int64_t chosen;
    double others = 0;
    do {
        chosen = (int64_t)(nadir_random_uniform(random) * (double)states);
    } while (!(nominal[chosen] > 0 || (all && !leaves)));
    for (int64_t t = 0; t < states; t++) {
        others += t != chosen && (all || nominal[t] > 0);
    }
    for (int64_t t = 0; t < states; t++) {
        const double more = all || nominal[t] > 0 ? nominal[chosen] / others : 0;
        entries[t] = !leaves || others == 0 ? t == chosen : t == chosen ? 0 : nominal[t] + more;
    }
}

/* A kernel of the ball: some rows are others, all changes shortened alike. To be freed. */
static nadir_kernel *random_kernel(nadir_context *context, const nadir_problem *problem, nadir_random *random)
{
    nadir_model *model = problem->model;
    const int64_t n = model->states;
    const double p = problem->uncertainty->p;
    const bool all = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    const double share = pow(0.1, nadir_random_uniform(random)); /* of rows that change */
    double *entries = test_new(model->rows * n, sizeof *entries);
    double *nominal = test_new(model->rows * n, sizeof *nominal);
    double sum = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row own = nadir_model_row(model, row);
        const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
        for (int64_t i = 0; i < own.count; i++) {
            nominal[row * n + nadir_row_column(&own, i)] = own.values[i];
        }
        memcpy(entries + row * n, nominal + row * n, (size_t)n * sizeof *entries);
        if (nadir_random_uniform(random) < share && scale > 0) {
            random_row(random, n, all, nominal + row * n, entries + row * n);
        }
        for (int64_t t = 0; t < n; t++) {
            const double moved = fabs(entries[row * n + t] - nominal[row * n + t]);
            sum += moved > 0 ? pow(moved / scale, p) : 0;
        }
    }
    const double radius = problem->uncertainty->radius * (1 - 1e-9);
    const double shorter = fmin(1, radius / pow(sum, 1 / p));
    for (int64_t i = 0; i < model->rows * n; i++) {
        entries[i] = nominal[i] + shorter * (entries[i] - nominal[i]);
    }
    nadir_kernel *made = test_entries_kernel(context, model, entries);
    free(entries);
    free(nominal);
    return made;
}

static double descend(nadir_context *context, const nadir_problem *problem, double beta,
                      const nadir_kernel *start, nadir_kernel **end)
{
    nadir_candidate found = {0};
    assert_ok(context, nadir_frank_wolfe_run(context, problem, beta, start, 1e-9, 2000, &found));
    const double J = found.J;
    if (end != NULL) {
        *end = found.kernel;
        found.kernel = NULL;
    }
    nadir_candidate_clear(context, &found);
    return J;
}

/* The least return from random starts, and at the end of a path down from 16 times the radius. */
static double attack(nadir_context *context, const nadir_problem *problem, nadir_random *random, int starts)
{
    const double beta = problem->uncertainty->radius;
    nadir_kernel *larger = NULL;
    double least = descend(context, problem, 16 * beta, NULL, &larger);
    least = INFINITY;
    for (int i = 0; i < starts; i++) {
        nadir_kernel *start = random_kernel(context, problem, random);
        least = fmin(least, descend(context, problem, beta, start, NULL));
        nadir_kernel_free(start);
    }
    for (int level = 20; level-- > 0;) {
        const double ratio = pow(16, 1.0 / 20);
        const nadir_lagrangian before = {.kernel = larger, .distance = beta * pow(ratio, level + 1)};
        nadir_kernel *start = NULL;
        assert_ok(context, nadir_lagrangian_kernel_in_ball(context, problem, beta * pow(ratio, level),
                                                           &before, &start));
        nadir_kernel_free(larger);
        const double J = descend(context, problem, beta * pow(ratio, level), start, &larger);
        least = level == 0 ? fmin(least, J) : least;
        nadir_kernel_free(start);
    }
    nadir_kernel_free(larger);
    return least;
}

/* Seeds whose worst kernels a search from the nominal one misses, and others. */
static void attacks_find_nothing_worse(void **state)
{
    static const uint64_t seeds[2][8] = {{7, 12, 15, 55, 57, 73, 75, 102}, {7, 12, 20, 60, 62, 84, 85, 110}};
    static const double radii[2][5] = {{0.5, 1, 2, 4, 8}, {0.4, 0.8, 1.6, 3.2, 0.4}};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 16; i++) {
        const uint64_t seed = seeds[i % 2][i / 2];
        const double radius = radii[i % 2][seed / 2 % (i % 2 ? 4 : 5)];
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, seed % 2 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX,
                      i % 2 ? 2 : 1, &radius, NULL);
        garnet here = garnet_make(context, 20 + (int64_t)(seed % 3) * 10, 3, seed);
        nadir_setup setup = {0};
        const nadir_robust found = test_robust(context, here.solver, &ball, NULL, NULL);
        assert_ok(context, nadir_setup_make(context, here.solver, &ball, false, &setup));
        const double least = attack(context, &setup.problem, &random, test_often(10));
        test_note("random seed %d, garnet %d, %s", SEED, (int)seed, test_ball_name(&ball));
        assert_that(found.robust_return <= least + 1e-6 * found.penalty, "%.12g, known %.12g",
                    found.robust_return, least);
        nadir_setup_clear(context, &setup);
        garnet_clear(&here);
    }
}

/* The worst kernel of FrozenLake cuts the one edge into the goal and leads its probability evenly to all other states. */
static void cuts_are_found(void **state)
{
    static const double radius = 0.344;
    nadir_context *context = *state;
    garnet here = complete(context, test_lake(context, true, 0.99));
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    const nadir_robust found = test_robust(context, here.solver, &ball, NULL, NULL);
    nadir_setup setup = {0};
    assert_ok(context, nadir_setup_make(context, here.solver, &ball, false, &setup));
    double entries[64 * 16];
    for (int i = 0; i < 64 * 16; i++) {
        entries[i] = here.model->dense[i];
    }
    for (int row = 4 * 14; row < 4 * 15; row++) {
        const bool taken = here.policy->probabilities[row] > 0;
        const double cut = taken ? radius * (1 - 1e-9) / sqrt(1 + 1.0 / 15) : 0;
        for (int t = 0; t < 16; t++) {
            entries[row * 16 + t] += t == 15 ? -cut : cut / 15;
        }
    }
    nadir_kernel *cut = test_entries_kernel(context, here.model, entries);
    const double known = setup.problem.J - descend(context, &setup.problem, radius, cut, NULL);
    assert_that(known >= 0.998 * found.nominal_return, "%.12g", known);
    assert_that(found.penalty >= known * (1 - 1e-6), "%.12g, known %.12g", found.penalty, known);
    nadir_kernel_free(cut);
    nadir_setup_clear(context, &setup);
    garnet_clear(&here);
}

static nadir_model *make_small(nadir_context *context, int number)
{
    static const char *const kinds[] = {"gridworld", "riverswim", "inventory"};
    const nadir_generate_settings shape = test_generate_settings();
    return number < 2 ? test_lake(context, true, number ? 0.99 : 0.95)
                      : test_generate(context, kinds[number - 2], &shape);
}

/* Models in which few states are worth much. */
static void attacks_on_small_models_find_nothing_worse(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < 30; i++) {
        const double radius = 0.2 + 0.4 * nadir_random_uniform(&random);
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, i % 2 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX,
                      i / 2 % 3 ? 2 : 1, &radius, NULL);
        garnet here = complete(context, make_small(context, i % 5));
        nadir_setup setup = {0};
        const nadir_robust found = test_robust(context, here.solver, &ball, NULL, NULL);
        assert_ok(context, nadir_setup_make(context, here.solver, &ball, false, &setup));
        const double penalty = setup.problem.J - attack(context, &setup.problem, &random,
                                                        test_often(10)); /* with shaped rewards */
        test_note("random seed %d, model %d, %s", SEED + 1, i % 5, test_ball_name(&ball));
        assert_that(penalty <= found.penalty * (1 + 1e-6) + 1e-12, "%.12g, known %.12g", found.penalty,
                    penalty);
        nadir_setup_clear(context, &setup);
        garnet_clear(&here);
    }
}

/* Many radii find what one finds, and a larger ball has no better worst case. */
static void many_radii_agree(void **state)
{
    enum { RADII = 8 };
    nadir_context *context = *state;
    for (int i = 0; i < 2; i++) {
        garnet here = garnet_make(context, 20, 3, i ? 2 : 0);
        const double radius = i ? 2.4 : 3;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, i ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX,
                                          i ? 2 : 1, &radius, NULL);
        nadir_robust many[RADII];
        double factors[RADII];
        for (int j = 0; j < RADII; j++) {
            factors[j] = (j + 1.0) / RADII;
            many[j] = (nadir_robust){.size = sizeof *many};
        }
        assert_ok(context, nadir_solver_robust_many(context, here.solver, &ball, NULL, RADII, factors, many));
        for (int j = 0; j < RADII; j++) {
            const double own = factors[j] * radius;
            nadir_ball single = ball;
            single.radius = &own;
            const nadir_robust one = test_robust(context, here.solver, &single, NULL, NULL);
            test_note("garnet %d, %s", i ? 2 : 0, test_ball_name(&single));
            assert_that(fabs(many[j].robust_return - one.robust_return) <= 1e-6 * one.penalty,
                        "%.12g among many, %.12g alone", many[j].robust_return, one.robust_return);
            assert_true(j == 0 || many[j].robust_return <= many[j - 1].robust_return + 1e-6 * one.penalty);
        }
        garnet_clear(&here);
    }
}

static nadir_robust evaluate(nadir_context *context, const garnet *here, nadir_policy *policy,
                             const nadir_ball *ball, nadir_certify certify)
{
    nadir_robust_settings settings = test_robust_settings();
    nadir_solver *solver = test_solver(context, here->model, policy);
    settings.certify = certify;
    const nadir_robust found = test_robust(context, solver, ball, &settings, NULL);
    nadir_solver_free(solver);
    return found;
}

/* However the worst return of a policy is asked for, it is the same: by an evaluation with and without proofs, by the
 * radius that has this return, and by `optimize`, for its first policy and the one it finds. */
static void questions_agree(void **state)
{
    static const double norms[] = {1, 2, 1, 2};
    static const double radii[] = {2, 1.6, 0.5, 0.8};
    nadir_context *context = *state;
    for (int i = 0; i < 4; i++) {
        garnet here = garnet_make(context, 20, 3, i % 2 ? 2 : 0);
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, i % 2 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX, norms[i],
                      &radii[i], NULL);
        nadir_policy *best = NULL;
        nadir_robust_optimum_result optimum = {.size = sizeof optimum};
        nadir_radius radius = {.size = sizeof radius};
        test_note("garnet %d, %s", i % 2 ? 2 : 0, test_ball_name(&ball));
        const nadir_robust one = evaluate(context, &here, here.policy, &ball, NADIR_CERTIFY_AUTO);
        const nadir_robust off = evaluate(context, &here, here.policy, &ball, NADIR_CERTIFY_OFF);
        const double room = 1e-6 * one.penalty;
        assert_close(off.robust_return, one.robust_return, room);
        assert_ok(context,
                  nadir_solver_radius(context, here.solver, &ball, NULL, one.robust_return, &radius));
        assert_close(radius.radius, radii[i], 1e-6 * radii[i]);
        const nadir_status status =
            nadir_robust_optimum(context, here.model, &ball, NULL, &best, &optimum, NULL, NULL);
        assert_true(status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED);
        const nadir_robust found = evaluate(context, &here, best, &ball, NADIR_CERTIFY_AUTO);
        assert_close(optimum.initial_robust_return, one.robust_return, room);
        assert_close(optimum.robust_return, found.robust_return, 1e-6 * found.penalty);
        assert_true(optimum.robust_return >= optimum.initial_robust_return - room);
        nadir_policy_free(best);
        garnet_clear(&here);
    }
}

/* Half of all rows move: the worst kernel is no vertex, and steps to vertices do not end within the limit. */
static void steps_do_not_zigzag(void **state)
{
    nadir_context *context = *state;
    static const uint64_t seeds[] = {117, 118};
    static const double radii[] = {4, 8};
    for (int i = 0; i < 2; i++) {
        garnet here = garnet_make(context, 20 + 10 * i, 3, seeds[i]);
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, i ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, 1, &radii[i], NULL);
        nadir_robust_settings settings = test_robust_settings();
        settings.certify = NADIR_CERTIFY_OFF;
        const nadir_robust found = test_robust(context, here.solver, &ball, &settings, NULL);
        test_note("garnet %d, %s", (int)seeds[i], test_ball_name(&ball));
        assert_that(found.iterations <= 500, "%d steps", (int)found.iterations);
        garnet_clear(&here);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(known_kernels_are_found),
        test_with_context(paths_from_far_are_followed),
        test_with_context(attacks_find_nothing_worse),
        test_with_context(cuts_are_found),
        test_with_context(attacks_on_small_models_find_nothing_worse),
        test_with_context(many_radii_agree),
        test_with_context(questions_agree),
        test_with_context(steps_do_not_zigzag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
