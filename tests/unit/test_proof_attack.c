/*
 * Attacks on proofs, on tiny models of every shape: whatever kernel and multiplier a proof starts from,
 * nothing that anybody finds in the set is below its lower bound, nor visits a state more than it says. The
 * steps of a proof are forged, too: what they prove then is still true.
 */
#include "support/support.h"

#include "linalg/vector.h"
#include "proof/derivation.h"
#include "proof/second_order.h"
#include "search/frank_wolfe.h"
#include "search/lagrangian_search.h"
#include "search/second_order_search.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/tiny.h"
#include "support/valid.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(2718)

enum { CASES = 1500, STARTS = 4, ATTACKS = STARTS + 4 };

typedef struct fight {
    nadir_context *context;
    nadir_random *random;
    test_miniature tiny;
    test_problem made;
    const nadir_problem *problem;
    test_oracle oracle;
    double radius;
    nadir_candidate attacks[ATTACKS];
    int count;
    double lowest; /* return found */
    double scale;  /* of returns */
} fight;

static void keep(fight *made, const nadir_candidate *attack)
{
    double *entries = test_kernel_entries(made->context, attack->kernel);
    made->attacks[made->count++] = *attack;
    made->lowest = fmin(made->lowest, test_oracle_return(&made->oracle, entries, NULL));
    free(entries);
}

/* Descents from the nominal kernel, from random ones, and from the answer to the Lagrangian bound. */
static void attack_set(fight *made)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = made->problem;
    const double beta = made->radius;
    double *entries = test_new(problem->rows * problem->states, sizeof *entries);
    double *d_bar = test_new(problem->states, sizeof *d_bar);
    nadir_candidate attack = test_descend(context, problem, beta);
    keep(made, &attack);
    for (int i = 1; i < STARTS; i++) {
        test_oracle_random(&made->oracle, made->random, entries);
        nadir_kernel *start = test_entries_kernel(context, problem->model, entries);
        attack = (nadir_candidate){0};
        assert_ok(context, nadir_frank_wolfe_run(context, problem, beta, start, 1e-12, 100, &attack));
        assert_ok(context,
                  nadir_frank_wolfe_polish(context, problem, beta, NULL, 1e-12 * made->scale, &attack));
        keep(made, &attack);
        nadir_kernel_free(start);
    }
    nadir_lagrangian lagrangian = {0};
    nadir_kernel *start = NULL;
    for (int64_t s = 0; s < problem->states; s++) {
        d_bar[s] = 1 / (1 - problem->gamma);
    }
    assert_ok(context, nadir_lagrangian_tau_best(context, problem, beta, d_bar, 0, 8, &lagrangian));
    assert_ok(context, nadir_lagrangian_kernel_in_ball(context, problem, beta, &lagrangian, &start));
    attack = (nadir_candidate){0};
    assert_ok(context, nadir_frank_wolfe_run(context, problem, beta, start, 1e-12, 100, &attack));
    keep(made, &attack);
    /* one that was stopped early, and one that lies about its multiplier */
    attack = (nadir_candidate){0};
    assert_ok(context, nadir_frank_wolfe_run(context, problem, beta, NULL, 1e-12, 1, &attack));
    keep(made, &attack);
    attack = (nadir_candidate){0};
    assert_ok(context, nadir_frank_wolfe_run(context, problem, beta, start, 1e-12, 2, &attack));
    attack.tau *= exp(nadir_random_normal(made->random));
    keep(made, &attack);
    /* the worst kernel without new successors, which is none of simplex */
    nadir_uncertainty support = *problem->uncertainty;
    nadir_problem smaller = *problem;
    support.domain = NADIR_DOMAIN_SUPPORT;
    smaller.uncertainty = &support;
    attack = test_descend(context, &smaller, beta);
    keep(made, &attack);
    nadir_kernel_free(start);
    nadir_lagrangian_clear(context, &lagrangian);
    free(entries);
    free(d_bar);
}

static fight fight_make(nadir_context *context, nadir_random *random, int number)
{
    static const double radii[] = {0.01, 0.05, 0.15, 0.3, 0.6, 1, 2};
    static const double norms[] = {2, 2, 2, 1.5, 2, 2, 1, 3};
    fight made = {.context = context, .random = random, .lowest = INFINITY};
    made.radius = radii[nadir_random_below(random, 7)];
    const nadir_domain domain = number % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
    const double p = norms[number / 2 % 8];
    made.tiny = number % 3 == 0 ? test_trap_make(context, random) : test_miniature_make(context, random, 5);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, p, &made.radius, NULL);
    test_note("seed %d, case %d, %s, %s, p %g, radius %g", SEED, number, made.tiny.name,
              nadir_domain_name(domain), p, made.radius);
    made.oracle = test_oracle_make(made.tiny.model, made.tiny.policy, &ball);
    for (int64_t row = 0; row < made.oracle.rows; row++) {
        made.oracle.rewards[row] -= made.tiny.model->landing.offset; /* as problems have them */
    }
    made.made = test_problem_make(context, made.tiny.model, made.tiny.policy, &ball, NULL, 1);
    return made;
}

static void fight_clear(fight *made)
{
    for (int i = 0; i < made->count; i++) {
        nadir_candidate_clear(made->context, &made->attacks[i]);
    }
    test_oracle_clear(&made->oracle);
    test_problem_clear(&made->made);
}

/* Random kernels, and now and then the general-purpose optimiser. */
static void search(fight *made, bool thoroughly)
{
    double *kernel = test_new(made->problem->rows * made->problem->states, sizeof *kernel);
    for (int i = 0; i < 20; i++) {
        test_oracle_random(&made->oracle, made->random, kernel);
        made->lowest = fmin(made->lowest, test_oracle_return(&made->oracle, kernel, NULL));
    }
    if (thoroughly) {
        made->lowest = fmin(made->lowest, test_oracle_worst(&made->oracle, made->random, 2, kernel));
    }
    free(kernel);
}

/* What the proofs came to. */
typedef struct tally {
    int attacks, proven, false_optima, informative, series, large, open, forged;
} tally;

/* One attack as if the model were too large for columns of D: kappa makes its own bounds on occupancies. */
static void judge_one_as_large(fight *made, const nadir_perturbable_rows *perturbable,
                               const nadir_occupancy_bounds *bounds, int i, int *proven)
{
    const nadir_candidate *attack = &made->attacks[i];
    nadir_certificate proof = {.lower = -INFINITY, .kappa = NAN};
    assert_ok(made->context, nadir_second_order_prove_large(made->context, made->problem, perturbable, bounds,
                                                            made->radius, attack, &proof));
    assert_that(made->lowest >= proof.lower - 1e-13 * made->scale,
                "%.17g is below the lower bound %.17g (kappa %g) of attack %d as a large one%s, %.17g",
                made->lowest, proof.lower, proof.kappa, i, perturbable->open ? " with open rows" : "",
                attack->J);
    *proven += proof.lower >= attack->J - 1e-6 * (made->problem->J - made->lowest);
    nadir_certificate_clear(made->context, &proof);
}

/* All attacks, on domain simplex also with rows that list the entries of the candidate alone. */
static void judge_as_large(fight *made, tally *sums)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = made->problem;
    nadir_occupancy_bounds bounds = {0};
    nadir_perturbable_rows perturbable = {0};
    const bool can_be_open = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX && problem->landing == 0;
    if (problem->uncertainty->p != 2) {
        return;
    }
    assert_ok(context, nadir_occupancy_bounds_make(context, problem, &bounds));
    assert_ok(context, nadir_perturbable_rows_make(context, problem, &perturbable));
    nadir_occupancy_bounds_limit(context, problem, made->radius, &bounds);
    for (int i = 0; i < made->count; i++) {
        const nadir_candidate *attack = &made->attacks[i];
        if (attack->tau > 0 && isfinite(attack->tau)) {
            judge_one_as_large(made, &perturbable, &bounds, i, &sums->large);
        }
        if (can_be_open && attack->tau > 0 && isfinite(attack->tau)) {
            nadir_perturbable_rows open = {0};
            assert_ok(context, nadir_perturbable_rows_make_open(context, problem, attack->kernel, &open));
            judge_one_as_large(made, &open, &bounds, i, &sums->open);
            nadir_perturbable_rows_clear(context, &open);
        }
    }
    nadir_perturbable_rows_clear(context, &perturbable);
    nadir_occupancy_bounds_clear(context, &bounds);
}

/* The same by a series for radii up to a larger one. */
static void judge_in_series(fight *made, tally *sums)
{
    nadir_kappa_path *series = NULL;
    if (made->problem->uncertainty->p != 2) {
        return;
    }
    const double most = made->radius * (1 + 0.25 * (double)(sums->attacks % 4));
    assert_ok(made->context, nadir_kappa_path_create(made->context, made->problem, most, &series));
    for (int i = 0; i < made->count; i++) {
        const nadir_candidate *attack = &made->attacks[i];
        if (attack->tau > 0 && isfinite(attack->tau)) {
            nadir_certificate proof = {0};
            assert_ok(made->context,
                      nadir_kappa_path_search(made->context, series, made->radius, attack, &proof));
            assert_that(made->lowest >= proof.lower - 1e-13 * made->scale,
                        "%.17g is below the lower bound %.17g (kappa %g) of attack %d in a series, %.17g",
                        made->lowest, proof.lower, proof.kappa, i, attack->J);
            assert_true(isinf(proof.lower) || proof.kappa <= 0.5);
            sums->series += proof.lower >= attack->J - 1e-6 * (made->problem->J - made->lowest);
            nadir_certificate_clear(made->context, &proof);
        }
    }
    nadir_kappa_path_free(made->context, series);
}

/* The lower bound of a list of steps; -infinity where it is no list of steps. */
static double replay(fight *made, const nadir_candidate *attack, int64_t count, const double *steps)
{
    nadir_context *context = made->context;
    nadir_derivation derivation = {0};
    nadir_certificate proof = {0};
    assert_ok(context,
              nadir_derivation_make(context, made->problem, made->radius, attack, NULL, &proof, &derivation));
    const nadir_status status = nadir_derivation_replay(context, &derivation, count, steps);
    assert_true(status == NADIR_OK || status == NADIR_ERROR_ARGUMENT);
    const double lower = status == NADIR_OK ? proof.lower : -INFINITY;
    nadir_derivation_clear(context, &derivation);
    nadir_certificate_clear(context, &proof);
    return lower;
}

/* A number of the list becomes another one, a code above all, or is left out. */
static int64_t forge(nadir_random *random, int64_t count, double *steps)
{
    const int64_t place = (int64_t)nadir_random_below(random, (uint64_t)count);
    switch (nadir_random_below(random, 4)) {
    case 0:
        steps[place] *= exp(4 * nadir_random_normal(random));
        return count;
    case 1:
        steps[place] = (double)nadir_random_below(random, NADIR_STEP_CONCLUDE_TANGENT + 2);
        return count;
    case 2:
        steps[place] = -steps[place];
        return count;
    default:
        memmove(steps + place, steps + place + 1, (size_t)(count - place - 1) * sizeof *steps);
        return count - 1;
    }
}

/* The steps of a proof prove the same again; whatever is made of them proves nothing that is false. */
static void judge_steps(fight *made, const nadir_candidate *attack, const nadir_certificate *proof,
                        tally *sums)
{
    enum { FORGERIES = 6 };
    const double again = replay(made, attack, proof->steps_count, proof->steps);
    const double width = fabs(made->problem->J - proof->lower);
    assert_that(!(fabs(again - proof->lower) > 1e-9 * width + 1e-13 * made->scale),
                "%.17g is proven, %.17g is what its steps prove", proof->lower, again);
    double *steps = test_new(proof->steps_count + 1, sizeof *steps);
    for (int i = 0; i < FORGERIES; i++) {
        int64_t count = proof->steps_count;
        memcpy(steps, proof->steps, (size_t)count * sizeof *steps);
        for (int changes = 1 + i % 3; changes > 0 && count > 0; changes--) {
            count = forge(made->random, count, steps);
        }
        const double lower = replay(made, attack, count, steps);
        assert_that(made->lowest >= lower - 1e-13 * made->scale,
                    "%.17g is below what forged steps prove, %.17g", made->lowest, lower);
        sums->forged += isfinite(lower);
    }
    free(steps);
}

static void judge(fight *made, tally *sums)
{
    for (int i = 0; i < made->count; i++) {
        const nadir_candidate *attack = &made->attacks[i];
        const nadir_certify effort = i % 2 == 0 ? NADIR_CERTIFY_AUTO : NADIR_CERTIFY_STRICT;
        nadir_certificate proof = test_prove(made->context, made->problem, made->radius, attack, effort);
        const double penalty = made->problem->J - made->lowest;
        assert_that(made->lowest >= proof.lower - 1e-13 * made->scale,
                    "%.17g is below the lower bound %.17g (%s, kappa %g) of attack %d, %.17g", made->lowest,
                    proof.lower, nadir_bound_name(proof.bound), proof.kappa, i, attack->J);
        const bool worst = attack->J <= made->lowest + 1e-9 * made->scale;
        sums->attacks++;
        sums->proven += proof.lower >= attack->J - 1e-6 * penalty;
        sums->false_optima += !worst && attack->converged;
        sums->informative += proof.lower > made->lowest - penalty;
        if (proof.steps_count > 0) {
            judge_steps(made, attack, &proof, sums);
        }
        nadir_certificate_clear(made->context, &proof);
    }
}

static void test_lower_bounds(void **state)
{
    nadir_context *context = *state;
    tally sums = {0};
    nadir_random random = test_random((uint64_t)SEED);
    const int cases = test_memcheck() ? CASES / 30 : test_attack_count(CASES);
    for (int i = 0; i < cases; i++) {
        fight made = fight_make(context, &random, i);
        made.problem = test_problem_view(&made.made);
        const double most = nadir_vector_largest(made.problem->rows, made.problem->rewards);
        made.scale = most / (1 - made.problem->gamma);
        attack_set(&made);
        search(&made, i % 8 == 0);
        judge(&made, &sums);
        judge_in_series(&made, &sums);
        judge_as_large(&made, &sums);
        fight_clear(&made);
    }
    print_message(
        "%d attacks, %d proven, %d false optima, %d informative, %d proven in series, %d as large, %d with "
        "open rows, %d forged lists that are lists of steps\n",
        sums.attacks, sums.proven, sums.false_optima, sums.informative, sums.series, sums.large, sums.open,
        sums.forged);
    /* the attack is one: there are proofs, and kernels that look like the worst but are not */
    assert_that(sums.proven > sums.attacks / 5 && sums.informative > sums.attacks / 2 &&
                    sums.false_optima > 0 && sums.series > sums.attacks / 50 &&
                    sums.large > sums.attacks / 50 && sums.open > sums.attacks / 100 &&
                    sums.forged > sums.attacks,
                "not the attack that this is meant to be");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_lower_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
