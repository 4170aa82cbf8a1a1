/* The paper's method and conservative steps against their definitions, dense and in long double. */
#include "support/support.h"

#include "methods/methods.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/singular.h"
#include "support/spectral.h"

#include <math.h>
#include <stdlib.h>

#define SEED 31415

static test_problem make_problem(nadir_context *context, int64_t states, int64_t actions, double discount,
                                 uint64_t seed, nadir_domain domain, const double *radius)
{
    nadir_generate_settings settings = test_generate_settings();
    nadir_policy *policy = NULL;
    settings.states = states;
    settings.actions = actions;
    settings.discount = discount;
    settings.seed = seed;
    nadir_model *model = test_generate(context, "random", &settings);
    nadir_model_data view = test_view(model);
    double *probabilities = test_new(view.rows, sizeof *probabilities);
    nadir_random random = test_random(seed);
    for (int64_t s = 0; s < states; s++) { /* with a zero, here and there */
        double sum = 0;
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            probabilities[row] =
                nadir_random_below(&random, 4) == 0 && sum > 0 ? 0 : nadir_random_uniform(&random);
            sum += probabilities[row];
        }
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            probabilities[row] /= sum;
        }
    }
    assert_ok(context, nadir_policy_create(context, model, probabilities, &policy));
    free(probabilities);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, radius, NULL);
    return test_problem_make(context, model, policy, &ball, NULL, 1);
}

/* ------------------------------------------------------------------------------------ Algorithms 1 and 2 */

/* max over i of lambda_i <v_i, u_i>, as printed, or squared; |A u| of that one. */
static long double heuristic(int64_t m, int64_t n, const long double *A, bool squared)
{
    test_singular all = test_singular_make(m, n, A);
    long double highest = -1;
    long double *u = test_new(n, sizeof *u);
    for (int64_t i = 0; i < n; i++) {
        const long double *v = all.right + i * n;
        long double parts[2] = {0, 0};
        for (int64_t j = 0; j < n; j++) {
            parts[v[j] < 0] += v[j] * v[j];
        }
        const long double sign = parts[1] > parts[0] ? -1 : 1;
        const long double length = sqrtl(fmaxl(parts[0], parts[1]));
        const long double score = all.values[i] * all.values[i] * (squared ? length * length : length);
        if (score > highest) {
            highest = score;
            for (int64_t j = 0; j < n; j++) {
                u[j] = fmaxl(0, sign * v[j]) / length;
            }
        }
    }
    long double square = 0;
    for (int64_t t = 0; t < m; t++) {
        long double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += A[j * m + t] * u[j];
        }
        square += sum * sum;
    }
    free(u);
    test_singular_clear(&all);
    return sqrtl(square);
}

/* gamma Phi (v d^T - lambda D) H: [states * rows] column after column. */
static long double *printed_operator(const nadir_problem *problem, const test_l2 *of, long double lambda)
{
    const int64_t m = problem->states;
    long double *E = test_new(m * problem->rows, sizeof *E);
    for (int64_t s = 0; s < m; s++) {
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            long double mean = 0;
            for (int64_t t = 0; t < m; t++) {
                E[row * m + t] = of->gamma * problem->policy->probabilities[row] *
                                 (of->v[t] * of->d[s] - lambda * of->D[s * m + t]);
                mean += E[row * m + t] / (long double)m;
            }
            for (int64_t t = 0; t < m; t++) {
                E[row * m + t] -= mean;
            }
        }
    }
    return E;
}

/* The lower end of the bracket that bisection ends with. */
static double bisect(const nadir_problem *problem, double beta, bool reduced, double ceiling)
{
    test_l2 of = test_l2_make(problem);
    double low = 0;
    double high = ceiling;
    while (high - low > 1e-10 * high) {
        const double lambda = (low + high) / 2;
        long double *E =
            reduced ? test_l2_operator(&of, false, lambda) : printed_operator(problem, &of, lambda);
        const long double F =
            beta * heuristic(problem->states, reduced ? problem->states : problem->rows, E, reduced);
        *(F > lambda ? &low : &high) = lambda;
        free(E);
    }
    test_l2_clear(&of);
    return low;
}

static void test_paper(void **state)
{
    nadir_context *context = *state;
    static const double shares[] = {0.01, 0.3, 0.9};
    for (int i = 0; i < 6; i++) {
        double radius = 1e-3;
        test_problem made =
            make_problem(context, 4 + i % 2, 2, 0.9, SEED + (uint64_t)i, NADIR_DOMAIN_FREE, &radius);
        const nadir_problem *problem = test_problem_view(&made);
        test_l2 of = test_l2_make(problem);
        const double limit = (double)test_l2_breakdown(&of);
        const double beta = shares[i % 3] * limit;
        const double exact = (double)test_l2_penalty(&of, beta, NULL, NULL);
        for (int reduced = 0; reduced < 2; reduced++) {
            nadir_trajectory track;
            nadir_candidate attack = {0};
            const nadir_budget budget = {INFINITY, 1000, 1e-9};
            nadir_trajectory_start("test", &budget, &track);
            assert_ok(context, (reduced == 1 ? nadir_search_paper_reduced
                                             : nadir_search_paper)(context, problem, beta, &track, &attack));
            const double expected = bisect(problem, beta, reduced == 1, exact * 1.5);
            test_note("seed %d, %s, share %g: %.12g, attained %.12g, expected %.12g, exact %.12g", SEED + i,
                      reduced == 1 ? "reduced" : "printed", shares[i % 3], track.best.value, attack.lambda,
                      expected, exact);
            assert_true(attack.converged);
            assert_relative(track.best.value, expected, 3e-9);
            assert_that(attack.lambda >= expected * (1 - 3e-9) && attack.lambda <= exact * (1 + 1e-12),
                        "the kernel does not attain it");
            nadir_candidate_clear(context, &attack);
            nadir_trajectory_clear(context, &track);
        }
        test_l2_clear(&of);
        test_problem_clear(&made);
    }
}

/* ------------------------------------------------------------------------------------ conservative */

static nadir_candidate walk(nadir_context *context, const nadir_problem *problem, double beta, int64_t steps)
{
    nadir_trajectory track;
    nadir_candidate attack = {0};
    const nadir_budget budget = {INFINITY, steps, 1e-9};
    nadir_trajectory_start("test", &budget, &track);
    assert_ok(context, nadir_search_conservative(context, problem, beta, &track, &attack));
    assert_int_equal(attack.iterations, steps);
    nadir_trajectory_clear(context, &track);
    return attack;
}

/* The first step goes alpha of the way along the rank-one kernel of d and v. */
static void test_conservative_step(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < 5; i++) {
        const double radius = 0.02;
        test_problem made =
            make_problem(context, 5, 3, 0.3, SEED + 10 + (uint64_t)i, NADIR_DOMAIN_FREE, &radius);
        const nadir_problem *problem = test_problem_view(&made);
        test_l2 of = test_l2_make(problem);
        const int64_t n = problem->states;
        long double mean = 0;
        long double spread = 0;
        long double pull = 0;
        for (int64_t s = 0; s < n; s++) {
            mean += of.v[s] / (long double)n;
            pull += of.W[s] * of.d[s] * of.W[s] * of.d[s];
        }
        for (int64_t s = 0; s < n; s++) {
            spread += (of.v[s] - mean) * (of.v[s] - mean);
        }
        double low = INFINITY;
        double high = -INFINITY;
        for (int64_t row = 0; row < problem->rows; row++) {
            low = fmin(low, problem->rewards[row]);
            high = fmax(high, problem->rewards[row]);
        }
        pull = sqrtl(pull);
        spread = sqrtl(spread);
        const long double gap = of.gamma * radius * pull * spread;
        const long double rest = 1 - of.gamma;
        const long double alpha = rest * rest * rest * gap / (4 * of.gamma * of.gamma * (high - low));
        long double feedback = 0; /* k . D W c */
        for (int64_t s = 0; s < n; s++) {
            for (int64_t t = 0; t < n; t++) {
                feedback +=
                    (of.v[t] - mean) / spread * of.D[s * n + t] * of.W[s] * radius * of.W[s] * of.d[s] / pull;
            }
        }
        const double expected = (double)(alpha * gap / (1 + of.gamma * alpha * feedback));
        nadir_candidate attack = walk(context, problem, radius, 1);
        test_note("seed %d, alpha %g", SEED + 10 + i, (double)alpha);
        assert_true(alpha > 0 && alpha < 1);
        assert_relative(attack.lambda, expected, 1e-9);
        nadir_candidate_clear(context, &attack);
        test_l2_clear(&of);
        test_problem_clear(&made);
    }
}

/* Where no entry becomes negative the domains do not differ. */
static void test_conservative_domains(void **state)
{
    nadir_context *context = *state;
    static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
    const double radius = 1e-3;
    double found[3];
    for (int i = 0; i < 3; i++) {
        test_problem made = make_problem(context, 6, 2, 0.3, SEED + 20, domains[i], &radius);
        nadir_candidate attack = walk(context, test_problem_view(&made), radius, 40);
        found[i] = attack.lambda;
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
    assert_relative(found[1], found[0], 1e-6);
    assert_relative(found[2], found[0], 1e-6);
}

/* Where no entry becomes negative there is nothing to project. */
static void test_projection(void **state)
{
    nadir_context *context = *state;
    double found[2];
    const double radius = 1e-4;
    test_problem made = make_problem(context, 5, 2, 0.9, SEED + 30, NADIR_DOMAIN_FREE, &radius);
    for (int i = 0; i < 2; i++) {
        nadir_trajectory track;
        nadir_candidate attack = {0};
        const nadir_budget budget = {INFINITY, 500, 1e-9};
        nadir_trajectory_start("test", &budget, &track);
        assert_ok(context, (i == 0 ? nadir_search_random_kernel : nadir_search_random_kernel_projected)(
                               context, test_problem_view(&made), radius, &track, &attack));
        found[i] = attack.lambda;
        nadir_candidate_clear(context, &attack);
        nadir_trajectory_clear(context, &track);
    }
    assert_true(found[0] > 0);
    assert_relative(found[1], found[0], 1e-9);
    test_problem_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_paper),
        test_with_context(test_conservative_step),
        test_with_context(test_conservative_domains),
        test_with_context(test_projection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
