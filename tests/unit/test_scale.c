/*
 * test_scale.c: what large models rest on, on models small enough for factors: the iterative backend gives
 * the answers of the direct ones, solves may start from any guess, and bounds made of loose solves hold.
 */
#include "support/support.h"

#include "solve/occupancy.h"
#include "support/generated.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 60

/* Sparse models of some hundred states, on either side of where columns of D are formed (500). */
typedef struct sample {
    const char *kind;
    int64_t states; /* side of a gridworld, capacity of an inventory */
    double discount;
    double free_radius, radius;
    const char *direct;
} sample;

static const sample samples[] = {
    {"garnet", 300, 0.95, 0.02, 0.05, "lapack"}, {"garnet", 600, 0.9, 0.05, 0.05, "lapack"},
    {"gridworld", 24, 0.9, 0.005, 0.02, "klu"},  {"gridworld", 30, 0.99, 0.001, 0.01, "klu"},
    {"inventory", 520, 0.9, 0.005, 0.05, "klu"}, {"riverswim", 120, 0.9, 0.001, 0.02, "klu"},
};
enum { SAMPLES = sizeof samples / sizeof *samples, RADII = 3 };

static nadir_model *make_model(nadir_context *context, const sample *of)
{
    nadir_generate_settings shape = test_generate_settings();
    const bool garnet = strcmp(of->kind, "garnet") == 0;
    const bool grid = strcmp(of->kind, "gridworld") == 0;
    const bool inventory = strcmp(of->kind, "inventory") == 0;
    const int64_t states = test_memcheck() ? of->states / 5 : of->states;
    shape.states = grid || inventory ? 0 : states;
    shape.actions = garnet || inventory ? 4 : 0;
    shape.branch = garnet ? 5 : 0;
    shape.width = grid ? states : 0;
    shape.height = grid ? states : 0;
    shape.capacity = inventory ? states : 0;
    shape.demand = inventory ? 6 : 0;
    shape.discount = of->discount;
    shape.seed = SEED;
    return test_generate(context, of->kind, &shape);
}

static nadir_solver *make_solver(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                 const char *backend, double tolerance)
{
    nadir_solver *solver = NULL;
    nadir_solver_settings settings = test_solver_settings();
    settings.backend = backend;
    settings.tolerance = tolerance;
    assert_ok(context, nadir_solver_create(context, model, policy, &settings, &solver));
    return solver;
}

/* Two answers to one question: the same return, and bounds that hold for the other's kernel too. */
static void assert_same(const nadir_robust *one, const nadir_robust *other, double scale)
{
    assert_close(one->robust_return, other->robust_return, 1e-9 * scale);
    assert_that(one->lower_bound <= other->upper_bound && other->lower_bound <= one->upper_bound,
                "bounds [%.17g, %.17g] and [%.17g, %.17g] are apart", one->lower_bound, one->upper_bound,
                other->lower_bound, other->upper_bound);
}

/* One radius and several, with proofs. */
static void compare_on(nadir_context *context, nadir_solver *iterates, nadir_solver *factors,
                       nadir_domain domain, double radius)
{
    static const double shares[RADII] = {1, 0.3, 0.01};
    nadir_robust many[RADII];
    nadir_robust others[RADII];
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
    const nadir_robust one = test_robust(context, iterates, &ball, NULL, NULL);
    const nadir_robust other = test_robust(context, factors, &ball, NULL, NULL);
    const double scale = fabs(other.nominal_return);
    assert_same(&one, &other, scale);
    assert_that(one.upper_bound - one.lower_bound <= 1e-6 * scale, "bounds are %g apart, %s",
                one.upper_bound - one.lower_bound, one.bound);
    for (int i = 0; i < RADII; i++) {
        many[i].size = sizeof many[i];
        others[i].size = sizeof others[i];
    }
    assert_ok(context, nadir_solver_robust_many(context, iterates, &ball, NULL, RADII, shares, many));
    assert_ok(context, nadir_solver_robust_many(context, factors, &ball, NULL, RADII, shares, others));
    for (int i = 0; i < RADII; i++) {
        assert_same(&many[i], &others[i], scale);
    }
    assert_close(many[0].robust_return, one.robust_return, 1e-9 * scale);
}

static void test_backends_agree(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < (test_memcheck() ? 1 : SAMPLES); i++) {
        const sample *of = &samples[i];
        nadir_model *model = make_model(context, of);
        nadir_policy *policy = test_uniform_policy(context, model);
        nadir_solver *iterates = make_solver(context, model, policy, "krylov", 1e-12);
        nadir_solver *factors = make_solver(context, model, policy, of->direct, 1e-12);
        test_note("%s %d, discount %g, free", of->kind, (int)of->states, of->discount);
        compare_on(context, iterates, factors, NADIR_DOMAIN_FREE, of->free_radius);
        test_note("%s %d, discount %g, support", of->kind, (int)of->states, of->discount);
        compare_on(context, iterates, factors, NADIR_DOMAIN_SUPPORT, of->radius);
        nadir_solver_free(iterates);
        nadir_solver_free(factors);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

static nadir_robust_optimum_result optimise(nadir_context *context, nadir_model *model, const char *backend,
                                            const double *radius)
{
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_policy *policy = NULL;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, radius, NULL);
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.backend = backend;
    settings.gap = 1e-9;
    assert_ok(context, nadir_robust_optimum(context, model, &ball, &settings, &policy, &result, NULL, NULL));
    nadir_policy_free(policy);
    return result;
}

static void test_optima_agree(void **state)
{
    static const int which[] = {0, 1};
    nadir_context *context = *state;
    for (size_t i = 0; i < (test_memcheck() ? 1 : sizeof which / sizeof *which); i++) {
        const sample *of = &samples[which[i]];
        nadir_model *model = make_model(context, of);
        test_note("%s %d, discount %g", of->kind, (int)of->states, of->discount);
        const nadir_robust_optimum_result one = optimise(context, model, "krylov", &of->radius);
        const nadir_robust_optimum_result other = optimise(context, model, of->direct, &of->radius);
        const double scale = fabs(other.robust_return);
        assert_close(one.robust_return, other.robust_return, 2e-9 * scale);
        assert_true(one.lower_bound <= other.optimality_upper_bound);
        assert_true(other.lower_bound <= one.optimality_upper_bound);
        nadir_model_free(model);
    }
}

/* Solves that are far from converged: bounds get wide, and the truth stays between them. */
static void test_loose_solves_keep_bounds(void **state)
{
    static const double tolerances[] = {1e-8, 1e-5};
    nadir_context *context = *state;
    for (int i = 0; i < (test_memcheck() ? 1 : SAMPLES); i++) {
        const sample *of = &samples[i];
        nadir_model *model = make_model(context, of);
        nadir_policy *policy = test_uniform_policy(context, model);
        nadir_solver *factors = make_solver(context, model, policy, of->direct, 1e-12);
        for (int domain = 0; domain < 2; domain++) {
            const nadir_domain which = domain == 0 ? NADIR_DOMAIN_FREE : NADIR_DOMAIN_SUPPORT;
            const double radius = domain == 0 ? of->free_radius : of->radius;
            const nadir_ball ball = test_ball(NADIR_SET_NONRECT, which, 2, &radius, NULL);
            const nadir_robust truth = test_robust(context, factors, &ball, NULL, NULL);
            for (size_t j = 0; j < sizeof tolerances / sizeof *tolerances; j++) {
                nadir_robust loose = {.size = sizeof loose};
                nadir_solver *solver = make_solver(context, model, policy, "krylov", tolerances[j]);
                test_note("%s %d, %s, tolerance %g", of->kind, (int)of->states, nadir_domain_name(which),
                          tolerances[j]);
                const nadir_status status = nadir_solver_robust(context, solver, &ball, NULL, &loose, NULL);
                if (status == NADIR_OK) {
                    assert_that(loose.lower_bound <= truth.upper_bound, "lower bound %.17g above %.17g",
                                loose.lower_bound, truth.upper_bound);
                    assert_that(loose.upper_bound >= truth.lower_bound, "upper bound %.17g below %.17g",
                                loose.upper_bound, truth.lower_bound);
                } else { /* nothing can be said of a radius near breakdown, or a kernel cannot be checked */
                    assert_true(tolerances[j] > 1e-8);
                    assert_true(status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED ||
                                status == NADIR_ERROR_VERIFICATION);
                }
                nadir_solver_free(solver);
            }
        }
        nadir_solver_free(factors);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

/* Guesses: none, the answer, the answer but for a constant, half of it, and nonsense of any size. */
enum { GUESSES = 6 };

static void make_guess(int which, int64_t n, const double *exact, nadir_random *random, double *x)
{
    for (int64_t s = 0; s < n; s++) {
        x[s] = which == 0   ? 0
               : which == 1 ? exact[s]
               : which == 2 ? exact[s] + 100
               : which == 3 ? exact[s] / 2
               : which == 4 ? 1e12 * nadir_random_normal(random)
                            : 1e-3 * nadir_random_normal(random);
    }
}

static void test_any_guess_will_do(void **state)
{
    nadir_context *context = *state;
    const sample *of = &samples[1];
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_model *models[2] = {make_model(context, of), make_model(context, of)};
    nadir_policy *policies[2] = {NULL, NULL};
    static const char *const backends[2] = {"krylov", "lapack"};
    test_problem made[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(context, nadir_policy_create_uniform(context, models[i], &policies[i]));
        made[i] = test_problem_make(context, models[i], policies[i], &ball, backends[i], 1);
        assert_true(nadir_occupancy_iterates(made[i].occupancy) == (i == 0));
    }
    const int64_t n = made[0].model->states;
    double *b = test_new(2 * n, sizeof *b);
    double *exact = test_new(2 * n, sizeof *exact);
    double *x = test_new(2 * n, sizeof *x);
    nadir_random random = test_random(SEED);
    for (int64_t i = 0; i < 2 * n; i++) {
        b[i] = nadir_random_normal(&random);
    }
    for (int transposed = 0; transposed < 2; transposed++) {
        assert_ok(context,
                  transposed ? nadir_occupancy_solve_transposed(context, made[1].occupancy, 2, b, exact, NULL)
                             : nadir_occupancy_solve(context, made[1].occupancy, 2, b, exact, NULL));
        int64_t spent[GUESSES] = {0};
        for (int which = 0; which < GUESSES; which++) {
            for (int on = 0; on < 2; on++) {
                for (int loose = 0; loose < 2; loose++) {
                    nadir_accuracy accuracy;
                    nadir_backend_statistics before;
                    nadir_backend_statistics after;
                    double off = 0;
                    make_guess(which, 2 * n, exact, &random, x);
                    test_note("seed %d, guess %d, %s, transposed %d", SEED, which, backends[on], transposed);
                    nadir_occupancy_statistics(made[on].occupancy, &before);
                    assert_ok(context, nadir_occupancy_improve(context, made[on].occupancy, transposed == 1,
                                                               2, b, loose ? 1e-4 : 0, x, &accuracy));
                    nadir_occupancy_statistics(made[on].occupancy, &after);
                    spent[which] = on == 0 && !loose ? after.iterations - before.iterations : spent[which];
                    for (int column = 0; column < 2; column++) {
                        double sum = 0;
                        double most = 0;
                        for (int64_t s = column * n; s < (column + 1) * n; s++) {
                            sum += fabs(x[s] - exact[s]);
                            most = fmax(most, fabs(x[s] - exact[s]));
                        }
                        off = fmax(off, transposed ? sum : most);
                    }
                    assert_that(off <= accuracy.error_bound * (1 + 1e-9) + 1e-11, "off by %g, said %g", off,
                                accuracy.error_bound);
                    assert_true(loose || accuracy.error_bound < 1e-7);
                }
            }
        }
        assert_that(spent[1] <= 4 && spent[1] < spent[0] / 4, "%d products from the answer, %d from nothing",
                    (int)spent[1], (int)spent[0]);
    }
    test_note_clear();
    for (int i = 0; i < 2; i++) {
        test_problem_clear(&made[i]);
    }
    free(b);
    free(exact);
    free(x);
}

/* Where kappa proves nothing on a large model, the Lagrangian bound is rough; it still lies between what each
 * state with the whole ball to itself can do and what was attained. */
static void test_the_fallback_is_a_bound(void **state)
{
    if (test_memcheck()) { /* it takes a large model */
        return;
    }
    nadir_context *context = *state;
    nadir_generate_settings shape = test_generate_settings();
    const double radius = 0.8;
    shape.states = 20100;
    shape.actions = 2;
    shape.branch = 2;
    shape.discount = 0.9;
    shape.seed = SEED;
    nadir_model *model = test_generate(context, "garnet", &shape);
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver *solver = make_solver(context, model, policy, NULL, 1e-12);
    const nadir_ball whole = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    const nadir_ball each = test_ball(NADIR_SET_S, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    const nadir_robust found = test_robust(context, solver, &whole, NULL, NULL);
    const nadir_robust worse = test_robust(context, solver, &each, NULL, NULL);
    assert_string_equal(found.bound, "lagrangian");
    assert_string_equal(found.certificate, "rigorous");
    assert_true(found.lower_bound < found.robust_return && found.robust_return < found.nominal_return);
    assert_that(found.lower_bound > worse.robust_return, "%.17g is below %.17g", found.lower_bound,
                worse.robust_return);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* The most in use at once, over the model: P^pi and its transpose twice over, numbers of kernels, and vectors
 * of states; one number for each row, of which a model has four a state here, would be 0.1 more. */
static void test_memory(void **state)
{
    enum { STATES = 22000 }; /* more than what is worth starting over for */
    const double radius = 0.05;
    const double bytes = STATES * (12.0 * 20 + 16.0 * 4 + 16);
    (void)state;
    if (test_memcheck()) {
        skip();
        return;
    }
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    const sample of = {.kind = "garnet", .states = STATES, .discount = 0.95};
    for (int i = 0; i < (test_brief() ? 1 : 2); i++) {
        nadir_context *context = test_context();
        nadir_model *model = make_model(context, &of);
        nadir_policy *policy = NULL;
        if (i == 0) {
            nadir_robust found = {.size = sizeof found};
            assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
            nadir_solver *solver = make_solver(context, model, policy, "krylov", 1e-12);
            assert_ok(context, nadir_solver_robust(context, solver, &ball, NULL, &found, NULL));
            nadir_solver_free(solver);
        } else {
            nadir_robust_optimum_result found = {.size = sizeof found};
            nadir_robust_optimum_settings settings = test_robust_optimum_settings();
            settings.backend = "krylov";
            settings.gap = 1e-7;
            assert_ok(context,
                      nadir_robust_optimum(context, model, &ball, &settings, &policy, &found, NULL, NULL));
            assert_that(found.evaluations > 1, "%lld evaluations", (long long)found.evaluations);
        }
        const double most = (double)nadir_context_memory_peak(context) / bytes;
        assert_that(most <= (i == 0 ? 5.6 : 7.2), "%s: %.2f of the model",
                    i == 0 ? "evaluation" : "optimisation", most);
        nadir_policy_free(policy);
        nadir_model_free(model);
        nadir_context_free(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_backends_agree),           test_with_context(test_optima_agree),
        test_with_context(test_loose_solves_keep_bounds), test_with_context(test_any_guess_will_do),
        test_with_context(test_the_fallback_is_a_bound),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
