/*
 * The inequalities that proofs at second order are made of, each tried on many kernels of the set: what a
 * kernel P* says about the return of any other, kappa, and how far others can be from the answer to the
 * Lagrangian bound. They hold for candidates, multipliers, values and occupancies that no search would give, too.
 */
#include "support/support.h"

#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/bellman_bound.h"
#include "proof/kappa.h"
#include "search/frank_wolfe.h"
#include "search/lagrangian_search.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 5772

enum { CASES = 1000, KERNELS = 30 };

/* P*, another kernel P, and what there is between them. */
typedef struct pair {
    nadir_context *context;
    const nadir_problem *problem;
    const test_stage *stage;
    const double *P;    /* [rows * states] */
    long double *d_P;   /* [states] */
    long double *delta; /* [entries] (P - P*) / alpha of the live rows */
    long double J_P;
} pair;

static void pair_make(pair *of)
{
    const nadir_problem *problem = of->problem;
    const nadir_perturbable_rows *perturbable = &of->stage->perturbable;
    const double *pi = problem->policy->probabilities;
    long double *average = test_dense_average(problem->model, of->P, pi);
    test_system system = test_system_make(problem->states, average, problem->gamma);
    test_system_solve(&system, true, problem->mu, of->d_P);
    of->J_P = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        of->d_P[s] = fmaxl(of->d_P[s], 0); /* it is that but for rounding */
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            of->J_P += of->d_P[s] * pi[row] * problem->rewards[row];
        }
    }
    if (problem->landing != 0) { /* kernels pay what they land on */
        nadir_kernel *kernel = test_entries_kernel(of->context, problem->model, of->P);
        double *paid = test_new(problem->states, sizeof *paid);
        nadir_kernel_rewards(of->context, kernel, problem->policy, problem->sign, paid);
        of->J_P = 0;
        for (int64_t s = 0; s < problem->states; s++) {
            of->J_P += of->d_P[s] * paid[s];
        }
        free(paid);
        nadir_kernel_free(kernel);
    }
    for (int64_t i = 0; i < perturbable->count; i++) {
        for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
            const int64_t e = perturbable->starts[i] + j;
            const double there = of->P[perturbable->rows[i] * problem->states +
                                       nadir_perturbable_rows_column(perturbable, i, j)];
            of->delta[e] = ((long double)there - of->stage->star.point.X[e]) / perturbable->alpha[i];
        }
    }
    test_system_clear(&system);
    free(average);
}

/* sum over visited t of (d_P(t) / d(t) - 1) <Delta_t, delta_t> + sum over others of d_P(t) w_t |delta_t|. */
static long double change_of_visits(const pair *of)
{
    const nadir_kkt *kkt = &of->stage->star.kkt;
    const nadir_perturbable_rows *perturbable = &of->stage->perturbable;
    long double sum = 0;
    for (int64_t s = 0; s < perturbable->states; s++) {
        long double product = 0;
        long double square = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            for (int64_t e = perturbable->starts[i]; e < perturbable->starts[i + 1]; e++) {
                const double change = of->stage->star.point.X[e] - perturbable->phat[e];
                product += change / nadir_perturbable_rows_alpha(perturbable, i) * of->delta[e];
                square += of->delta[e] * of->delta[e];
            }
        }
        const double d = of->stage->star.point.d[s];
        sum += kkt->unvisited[s] ? of->d_P[s] * kkt->w_unvisited[s] * sqrtl(square)
               : d > 0           ? (of->d_P[s] / d - 1) * product
                                 : 0;
    }
    return sum;
}

/* sum of delta^2 / inverse; NULL: all one. */
static long double length_square(const pair *of, const double *inverse)
{
    long double sum = 0;
    for (int64_t e = 0; e < of->stage->perturbable.entries; e++) {
        sum += of->delta[e] * of->delta[e] / (inverse != NULL ? inverse[e] : 1);
    }
    return sum;
}

/* <Delta, delta> */
static long double product_of(const pair *of)
{
    const nadir_perturbable_rows *perturbable = &of->stage->perturbable;
    long double sum = 0;
    for (int64_t i = 0; i < perturbable->count; i++) {
        for (int64_t e = perturbable->starts[i]; e < perturbable->starts[i + 1]; e++) {
            sum += (of->stage->star.point.X[e] - perturbable->phat[e]) /
                   nadir_perturbable_rows_alpha(perturbable, i) * of->delta[e];
        }
    }
    return sum;
}

/* sum of rho_s slack . (P - P*) */
static long double slack_product(const pair *of)
{
    const nadir_perturbable_rows *perturbable = &of->stage->perturbable;
    long double sum = 0;
    for (int64_t s = 0; s < perturbable->states; s++) {
        for (int64_t i = perturbable->first[s];
             i < perturbable->first[s + 1] && !of->stage->star.kkt.unvisited[s]; i++) {
            for (int64_t e = perturbable->starts[i]; e < perturbable->starts[i + 1]; e++) {
                sum += of->d_P[s] / of->stage->star.point.d[s] * of->stage->star.kkt.slack[e] * of->delta[e] *
                       perturbable->alpha[i];
            }
        }
    }
    return sum;
}

/* What was made of one attack. */
typedef struct claims {
    nadir_displacement plain, weighted;
    double *inverse;
    double kappa, kappa_weighted, kappa_shared; /* the last NaN: not of this kind */
    double k, radial;                           /* with a radial term; k NaN: none */
    double scale;                               /* of returns */
    double tightest, tightest_radial;           /* how near any of kappas came */
} claims;

/* With a radial term: a part of kappa, and the least r that does with it. */
static void find_radial(nadir_context *context, test_stage *stage, claims *made)
{
    static const double shares[] = {0.15, 0.25, 0.35, 0.5};
    nadir_kappa_matrix matrix = {0};
    assert_ok(context, nadir_kappa_matrix_make(context, &stage->star.kkt, &stage->bounds, &made->plain, NULL,
                                               false, &matrix));
    const double k = 0.8 * made->kappa;
    made->k = NAN;
    assert_false(nadir_kappa_cholesky_holds(context, &matrix, k, 1, 0, 0)); /* reach is not known */
    matrix.reach = 1;
    for (double r = 1e4; r > 1e-4 && matrix.unvisited == NULL; r /= 1.5) {
        bool holds = false;
        for (int i = 0; i < 4 && !holds; i++) {
            const double theta = matrix.spread_norm > 0 ? fmin(matrix.spread_norm * shares[i], 0.9 * k) : 0;
            holds = nadir_kappa_cholesky_holds(context, &matrix, k, r, theta, 0);
            assert_false(nadir_kappa_cholesky_holds(context, &matrix, k, -r, theta, 0));
        }
        if (!holds) {
            break;
        }
        made->k = k;
        made->radial = r;
    }
    nadir_kappa_matrix_clear(context, &matrix);
}

static void claims_make(nadir_context *context, test_stage *stage, claims *made)
{
    const nadir_kkt *kkt = &stage->star.kkt;
    made->inverse = test_new(stage->perturbable.entries, sizeof *made->inverse);
    nadir_kkt_weigh(kkt, &stage->bounds, nadir_kkt_diameter(kkt), INFINITY, made->inverse);
    assert_ok(context, nadir_displacement_make(context, kkt, NULL, &made->plain));
    assert_ok(context, nadir_displacement_make(context, kkt, made->inverse, &made->weighted));
    made->kappa = test_find_kappa(context, kkt, &stage->bounds, &made->plain, NULL, false);
    find_radial(context, stage, made);
    made->kappa_weighted =
        test_find_kappa(context, kkt, &stage->bounds, &made->weighted, made->inverse, false);
    made->kappa_shared = NAN;
    if (stage->perturbable.columns == NULL) {
        made->kappa_shared = test_find_kappa(context, kkt, &stage->bounds, &made->plain, NULL, true);
    }
}

static void claims_clear(nadir_context *context, claims *made)
{
    nadir_displacement_clear(context, &made->plain);
    nadir_displacement_clear(context, &made->weighted);
    free(made->inverse);
}

/* Weights where no more is known than what P itself has: its occupancies, and what its slack adds up to. */
static void check_lift(const pair *of, long double square, long double slack, long double tiny)
{
    const nadir_kkt *kkt = &of->stage->star.kkt;
    double *inverse = test_new(of->stage->perturbable.entries, sizeof *inverse);
    double *d = test_new(of->problem->states, sizeof *d);
    nadir_occupancy_bounds own = of->stage->bounds;
    own.low = own.high = d;
    for (int64_t s = 0; s < of->problem->states; s++) {
        d[s] = (double)of->d_P[s] * (1 - 1e-12);
    }
    nadir_kkt_weigh(kkt, &own, nadir_kkt_diameter(kkt), (double)(slack / kkt->tau) * (1 + 1e-9), inverse);
    const long double weighted = length_square(of, inverse);
    assert_that(kkt->tau * square + slack >= kkt->tau * weighted * (1 - 1e-9L) - tiny,
                "weights with a lift of %Lg: %Lg < %Lg", slack / kkt->tau, kkt->tau * square + slack,
                kkt->tau * weighted);
    free(inverse);
    free(d);
}

static void check_pair(const nadir_context *context, const pair *of, claims *made)
{
    const nadir_kkt *kkt = &of->stage->star.kkt;
    const long double tau = kkt->tau;
    const long double change = change_of_visits(of);
    const long double square = length_square(of, NULL);
    const long double weighted = length_square(of, made->inverse);
    const long double slack = slack_product(of);
    const long double tiny = 1e-15L * made->scale;
    const long double least = kkt->J - kkt->error + tau * square + slack - 2 * tau * change;
    assert_that(of->J_P >= least - tiny, "the return %.17Lg is below %.17Lg", of->J_P, least);
    assert_that(sqrtl(square) <= nadir_kkt_diameter(kkt), "|delta| is %.12Lg, %.12g at most", sqrtl(square),
                nadir_kkt_diameter(kkt));
    assert_that(tau * square + slack >= tau * weighted * (1 - 1e-12L) - tiny, "weights: %Lg < %Lg",
                tau * square + slack, tau * weighted);
    check_lift(of, square, slack, tiny);
    /* what is off is in the error, times 2 tau */
    const long double off = kkt->error / (2 * tau);
    assert_that(isinf(made->kappa) || change <= made->kappa * square + off, "%Lg > kappa %g |delta|^2 %Lg",
                change, made->kappa, square);
    assert_that(isinf(made->kappa_weighted) || change <= made->kappa_weighted * weighted + off,
                "%Lg > kappa %g |delta|^2 %Lg", change, made->kappa_weighted, weighted);
    assert_that(!isfinite(made->kappa_shared) || change <= made->kappa_shared * square + off,
                "%Lg > shared kappa %g |delta|^2 %Lg", change, made->kappa_shared, square);
    const long double product = product_of(of);
    const long double with_radial = made->k * square + made->radial * product * product;
    assert_that(isnan(made->k) || change <= with_radial + off,
                "%Lg > %g |delta|^2 + %g <Delta, delta>^2, %Lg", change, made->k, made->radial, with_radial);
    if (made->k > 1e-3 && square > 1e-10L) {
        made->tightest_radial = fmax(made->tightest_radial, (double)(change / with_radial));
    }
    if (square > 1e-10L && made->kappa > 1e-3) {
        made->tightest = fmax(made->tightest, (double)(change / (made->kappa * square)));
    }
    if (of->J_P < kkt->J - kkt->error - tiny) {
        const double radius = nadir_displacement_radius(context, kkt, &made->plain, &of->stage->bounds);
        const double other = nadir_displacement_radius(context, kkt, &made->weighted, &of->stage->bounds);
        /* what the radial term and the lift rest on */
        const long double f = off;
        const long double Z = f + f - 2 * product;
        const long double H2 = radius * (long double)radius / 4;
        assert_that(Z <= 4 * H2 + 4 * f && product * product <= (H2 + f) * (Z + 2 * f) + f * f,
                    "Z %Lg, H^2 %Lg, <Delta, delta> %Lg", Z, H2, product);
        assert_that(slack <= tau * H2 * (1 + 1e-12L) + tiny, "slack %Lg, tau H^2 %Lg", slack, tau * H2);
        assert_that(square <= radius * radius * (1 + 1e-12) && weighted <= other * other * (1 + 1e-12),
                    "|delta| %Lg and %Lg, radii %g and %g", sqrtl(square), sqrtl(weighted), radius, other);
    }
}

/* Kernels are held by the answer to the Lagrangian bound as far as their returns say. */
static void check_tether(nadir_context *context, const pair *of, const nadir_expansion_point *answer,
                         const nadir_lagrangian *found, double beta, double scale)
{
    const nadir_perturbable_rows *perturbable = &of->stage->perturbable;
    const nadir_occupancy_bounds *bounds = &of->stage->bounds;
    const double level = (double)of->J_P + 1e-15 * scale;
    long double sum = 0;
    double radius;
    for (int64_t s = 0; s < perturbable->states; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1] && bounds->high[s] > 0; i++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
                const double there = of->P[perturbable->rows[i] * perturbable->states +
                                           nadir_perturbable_rows_column(perturbable, i, j)];
                const long double far =
                    (there - answer->X[perturbable->starts[i] + j]) / perturbable->alpha[i];
                sum += of->d_P[s] / bounds->high[s] * far * far;
            }
        }
    }
    assert_ok(context,
              nadir_sublevel_radius(context, answer, bounds, beta, found->tau, found->v, level, &radius));
    const long double far = sqrtl(fmaxl(sum, 0)); /* occupancies of 0 are so up to rounding */
    assert_that(radius >= 0 && far <= radius * (1 + 1e-12), "%Lg away, the radius is %g", far, radius);
}

/* Whether P* lies in the ball. */
static bool is_inside(const test_stage *stage, double beta)
{
    const nadir_perturbable_rows *perturbable = &stage->perturbable;
    double sum = 0;
    for (int64_t i = 0; i < perturbable->count; i++) {
        for (int64_t e = perturbable->starts[i]; e < perturbable->starts[i + 1]; e++) {
            const double change = (stage->star.point.X[e] - perturbable->phat[e]) / perturbable->alpha[i];
            sum += change * change;
        }
    }
    return sqrt(sum) <= beta * (1 + 1e-9);
}

/* One attack against many kernels: at random, and between those and P*. given: v and d of P* to take; NULL: none. */
static void check_attack(nadir_context *context, nadir_random *random, const nadir_problem *problem,
                         const test_oracle *oracle, double beta, const nadir_candidate *attack, double *given,
                         claims *made)
{
    test_stage stage;
    nadir_lagrangian found = {0};
    nadir_expansion_point answer = {0};
    double *P = test_new(problem->rows * problem->states, sizeof *P);
    test_stage_make(context, problem, beta, attack, &stage);
    if (given != NULL) {
        assert_ok(context,
                  nadir_stationary_point_kkt(context, &stage.bounds, beta, attack->tau, &given, &stage.star));
    }
    claims_make(context, &stage, made);
    assert_ok(context, nadir_lagrangian_solve(context, problem, beta, stage.bounds.high,
                                              attack->tau * exp(nadir_random_normal(random)), &found));
    assert_ok(context, nadir_expansion_point_make(context, problem, &stage.perturbable, found.kernel, NULL,
                                                  NULL, &answer));
    /* around the nominal kernel and its value, which is the answer to nothing */
    nadir_expansion_point nominal = {0};
    const nadir_lagrangian any = {.tau = found.tau, .v = (double *)problem->v};
    assert_ok(context,
              nadir_expansion_point_make(context, problem, &stage.perturbable, NULL, NULL, NULL, &nominal));
    pair of = {.context = context, .problem = problem, .stage = &stage, .P = P};
    of.d_P = test_new(problem->states, sizeof *of.d_P);
    of.delta = test_new(stage.perturbable.entries, sizeof *of.delta);
    const bool inside = is_inside(&stage, beta);
    for (int i = 0; i < KERNELS; i++) {
        test_oracle_random(oracle, random, P);
        const double share = i % 3 == 0 || !inside ? 1 : i % 3 == 1 ? nadir_random_uniform(random) : 1e-3;
        for (int64_t l = 0; l < stage.perturbable.count; l++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(&stage.perturbable, l); j++) {
                double *entry = &P[stage.perturbable.rows[l] * problem->states +
                                   nadir_perturbable_rows_column(&stage.perturbable, l, j)];
                *entry = share * *entry + (1 - share) * stage.star.point.X[stage.perturbable.starts[l] + j];
            }
        }
        pair_make(&of);
        check_pair(context, &of, made);
        check_tether(context, &of, &answer, &found, beta, made->scale);
        check_tether(context, &of, &nominal, &any, beta, made->scale);
    }
    free(of.d_P);
    free(of.delta);
    nadir_expansion_point_clear(context, &answer);
    nadir_expansion_point_clear(context, &nominal);
    nadir_lagrangian_clear(context, &found);
    claims_clear(context, made);
    test_stage_clear(context, &stage);
    free(P);
}

static void test_inequalities(void **state)
{
    static const double radii[] = {0.02, 0.1, 0.3, 0.6, 1.2};
    nadir_context *context = *state;
    double tightest = 0;
    double tightest_radial = 0;
    int tried = 0;
    nadir_random random = test_random(SEED);
    const int cases = test_memcheck() ? CASES / 20 : CASES;
    for (int i = 0; i < cases; i++) {
        const double radius = radii[nadir_random_below(&random, 5)];
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
        test_miniature tiny =
            i % 4 < 2 ? test_trap_make(context, &random) : test_miniature_make(context, &random, 5);
        if (i % 7 == 6) {
            test_miniature_land(context, &random, i / 7, &tiny);
        }
        test_note("seed %d, case %d, %s, %s, %g", SEED, i, tiny.name, nadir_domain_name(domain), radius);
        test_oracle oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
        test_problem made = test_problem_make(context, tiny.model, tiny.policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = {0};
        if (i % 3 == 0) { /* far from stationary */
            assert_ok(context, nadir_frank_wolfe_run(context, problem, radius, NULL, 1e-13, 1, &attack));
        } else {
            attack = test_descend(context, problem, radius);
        }
        if (attack.tau > 0) {
            const double most = nadir_vector_largest(problem->rows, problem->rewards) +
                                2 * nadir_landing_largest(problem->model);
            claims all = {.scale = most / (1 - problem->gamma)};
            check_attack(context, &random, problem, &oracle, radius, &attack, NULL, &all);
            tightest = fmax(tightest, all.tightest);
            tightest_radial = fmax(tightest_radial, all.tightest_radial);
            tried++;
        }
        nadir_candidate_clear(context, &attack);
        test_oracle_clear(&oracle);
        test_problem_clear(&made);
    }
    assert_that(tried > cases / 3 && tightest > 0.3 && tightest_radial > 0.3,
                "%d tried, the tightest at %g and %g", tried, tightest, tightest_radial);
}

/* A kernel of these entries, [rows * states], stored as dense models store theirs, or as lists. To be freed. */
static nadir_kernel *store(nadir_context *context, nadir_model *model, const double *entries)
{
    nadir_kernel *kernel = NULL;
    if (model->dense == NULL) {
        return test_entries_kernel(context, model, entries);
    }
    assert_ok(context, nadir_kernel_create_blank(context, model, false, &kernel));
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(kernel);
    memcpy(perturbed->values, entries, (size_t)(model->rows * model->states) * sizeof *entries);
    memset(perturbed->nominal, 0, (size_t)model->rows * sizeof *perturbed->nominal);
    return kernel;
}

/* Some rows of a kernel get an entry below zero, where the nominal one has two. */
static void make_negative(nadir_random *random, const test_oracle *oracle, double *P)
{
    const int64_t n = oracle->states;
    for (int64_t row = 0; row < oracle->rows; row++) {
        const int64_t from = (int64_t)nadir_random_below(random, (uint64_t)n);
        const int64_t to = (int64_t)nadir_random_below(random, (uint64_t)n);
        if (from != to && oracle->nominal[row * n + from] > 0 && oracle->nominal[row * n + to] > 0) {
            const double moved = P[row * n + from] + 0.2 * nadir_random_uniform(random);
            P[row * n + from] -= moved;
            P[row * n + to] += moved;
        }
    }
}

/* Kernels drawn at random, the rows of states that they do not visit among them, some with negative entries, with any
 * multiplier, and every second time with v and d that are off. */
static void test_any_candidate(void **state)
{
    static const double radii[] = {0.02, 0.1, 0.3, 0.6, 1.2};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    const int cases = test_memcheck() ? CASES / 40 : test_often(CASES / 2);
    for (int i = 0; i < cases; i++) {
        const double radius = radii[i % 5];
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
        test_miniature tiny =
            i % 4 < 2 ? test_trap_make(context, &random) : test_miniature_make(context, &random, 5);
        test_note("seed %d, case %d, %s, %s, %g", SEED + 1, i, tiny.name, nadir_domain_name(domain), radius);
        test_oracle oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
        test_problem made = test_problem_make(context, tiny.model, tiny.policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        const int64_t n = problem->states;
        double *P = test_new(problem->rows * n, sizeof *P);
        double given[16];
        claims all = {.scale = nadir_vector_largest(problem->rows, problem->rewards) / (1 - problem->gamma)};
        test_oracle_random(&oracle, &random, P);
        if (i % 3 == 0) {
            make_negative(&random, &oracle, P);
        }
        nadir_candidate attack = {.kernel = store(context, problem->model, P),
                                  .tau = all.scale / radius * exp(2 * nadir_random_normal(&random))};
        for (int64_t s = 0; s < n; s++) {
            given[s] = problem->v[s] + 0.1 * all.scale * nadir_random_normal(&random);
            given[n + s] = problem->d[s] * exp(nadir_random_normal(&random));
        }
        if (all.scale > 0) {
            check_attack(context, &random, problem, &oracle, radius, &attack, i % 4 % 3 == 0 ? given : NULL,
                         &all);
        }
        nadir_kernel_free(attack.kernel);
        free(P);
        test_oracle_clear(&oracle);
        test_problem_clear(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_inequalities),
        test_with_context(test_any_candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
