/*
 * Attacks on the radial term of kappa (proof/kappa.c): models whose ball has several local minima, states in which the
 * chain can be held, each worth the whole budget. A minimum that is not the worst is given to the proof as if it were,
 * with bounds on occupancies that just hold a worse kernel: narrow ones, so that the radial term is strong. No proof
 * may succeed, nor may forged numbers. Around the worst minimum narrow bounds do prove it, by the radial term.
 *
 * The same minima, of every norm, are given to the search that narrows and splits boxes of occupancies
 * (search/occupancy_search.h); what it finds for the worst ones replays to the same bound, and forged trees prove nothing
 * that is false.
 *
 * NADIR_ATTACKS=20 attacks more than a thousand minima.
 */
#include "support/support.h"

#include "linalg/vector.h"
#include "proof/derivation.h"
#include "search/frank_wolfe.h"
#include "search/occupancy_search.h"
#include "search/second_order_search.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/tiny.h"
#include "support/valid.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(66260)

enum { CASES = 200, CASES_BOXES = 60, HOLDS = 4, STATES = HOLDS + 1 };

typedef struct fight {
    nadir_context *context;
    nadir_random *random;
    test_problem made;
    const nadir_problem *problem;
    test_oracle oracle;
    double p, radius, scale;
    nadir_candidate minima[HOLDS + 1];
    double *d[HOLDS + 1]; /* [states] their occupancies */
    int count, worst;
} fight;

typedef struct tally {
    int minima, false_minima, attacked, proven, tangent, forged, shown;
} tally;

/* States 0 .. holds - 1 keep the chain with some probability, the last one is their end. */
static nadir_model *make_model(nadir_context *context, nadir_random *random, int64_t holds, double *P)
{
    static const double discounts[] = {0.9, 0.97, 0.99};
    const int64_t n = holds + 1;
    double rewards[STATES] = {0};
    double mu[STATES] = {0};
    double sum = 0;
    memset(P, 0, (size_t)(n * n) * sizeof *P);
    for (int64_t s = 0; s < holds; s++) {
        const int64_t other = (int64_t)nadir_random_below(random, (uint64_t)n);
        const double leak = nadir_random_below(random, 3) == 0 ? 0.1 * nadir_random_uniform(random) : 0;
        const double stay = 0.55 + 0.3 * nadir_random_uniform(random);
        P[s * n + s] = stay;
        P[s * n + holds] = 1 - stay - leak;
        P[s * n + other] += leak;
        rewards[s] = -0.5 - nadir_random_uniform(random);
        mu[s] = s > 0 && nadir_random_below(random, 10) == 0 ? 0 : 0.5 + nadir_random_uniform(random);
        sum += mu[s];
    }
    for (int64_t s = 0; s < holds; s++) {
        mu[s] /= sum;
    }
    P[n * n - 1] = 1;
    return test_plain_model(context, n, discounts[nadir_random_below(random, 3)], P, rewards, mu);
}

static double *occupancy_of(const fight *self, const nadir_kernel *kernel)
{
    const nadir_problem *problem = self->problem;
    double *entries = test_kernel_entries(self->context, kernel);
    double *d = test_new(problem->states, sizeof *d);
    long double *exact = test_new(problem->states, sizeof *exact);
    long double *average = test_dense_average(problem->model, entries, problem->policy->probabilities);
    test_system system = test_system_make(problem->states, average, problem->gamma);
    test_system_solve(&system, true, problem->mu, exact);
    for (int64_t s = 0; s < problem->states; s++) {
        d[s] = (double)exact[s];
    }
    test_system_clear(&system);
    free(average);
    free(exact);
    free(entries);
    return d;
}

/* The minimum that a search ends in which holds the chain in one state first; the last one starts nowhere. */
static void descend(fight *self, const double *P, int64_t hold)
{
    nadir_context *context = self->context;
    const int64_t n = self->problem->states;
    double entries[STATES * STATES];
    nadir_kernel *start = NULL;
    nadir_candidate *found = &self->minima[self->count];
    memcpy(entries, P, (size_t)(n * n) * sizeof *P);
    if (hold < n - 1) {
        const double moved = fmin(0.999 * self->radius / pow(2, 1 / self->p), P[hold * n + n - 1]);
        entries[hold * n + hold] += moved;
        entries[hold * n + n - 1] -= moved;
        start = test_entries_kernel(context, self->problem->model, entries);
    }
    assert_ok(context, nadir_frank_wolfe_run(context, self->problem, self->radius, start, 1e-13, 500, found));
    assert_ok(context, nadir_frank_wolfe_polish(context, self->problem, self->radius, NULL,
                                                1e-12 * self->scale, found));
    self->d[self->count] = occupancy_of(self, found->kernel);
    self->worst = found->J < self->minima[self->worst].J ? self->count : self->worst;
    self->count++;
    nadir_kernel_free(start);
}

static void fight_make(fight *self, int number)
{
    double P[STATES * STATES];
    const int64_t holds = 2 + (int64_t)nadir_random_below(self->random, HOLDS - 1);
    const nadir_domain domain = number % 2 == 0 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX;
    self->radius = 0.1 + 0.6 * nadir_random_uniform(self->random);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, self->p, &self->radius, NULL);
    test_note("seed %d, case %d, %s, norm %g, radius %g", SEED, number, nadir_domain_name(domain), self->p,
              self->radius);
    nadir_model *model = make_model(self->context, self->random, holds, P);
    nadir_policy *policy = NULL;
    assert_ok(self->context, nadir_policy_create_uniform(self->context, model, &policy));
    self->oracle = test_oracle_make(model, policy, &ball);
    self->made = test_problem_make(self->context, model, policy, &ball, NULL, 1);
    self->problem = test_problem_view(&self->made);
    self->scale = 1.5 / (1 - self->problem->gamma);
    for (int64_t hold = 0; hold <= holds; hold++) {
        descend(self, P, hold);
    }
}

static void fight_clear(fight *self)
{
    for (int i = 0; i < self->count; i++) {
        nadir_candidate_clear(self->context, &self->minima[i]);
        free(self->d[i]);
    }
    test_oracle_clear(&self->oracle);
    test_problem_clear(&self->made);
}

/* A derivation that has just begun; false: no level is above the worst minimum, so that nothing could be wrong. */
static bool begin(fight *self, const nadir_candidate *star, nadir_certificate *proof, nadir_derivation *made)
{
    nadir_context *context = self->context;
    assert_ok(context, nadir_derivation_make(context, self->problem, self->radius, star, NULL, proof, made));
    assert_ok(context, nadir_derivation_expand(context, made));
    assert_ok(context, nadir_derivation_tabulate(context, made, false));
    assert_ok(context, nadir_derivation_begin(context, made, INFINITY));
    return made->level > self->minima[self->worst].J + 1e-9 * self->scale;
}

static void check_lower(const fight *self, double lower, const char *what)
{
    const double worst = self->minima[self->worst].J;
    assert_that(worst >= lower - 1e-13 * self->scale, "%.17g is below the bound %.17g, %s", worst, lower,
                what);
}

/* What the radial term and the lift rest on, for a kernel that does return less: Z <= 4 H^2, <Delta, delta>^2 <= (H^2 +
 * f) Z + f^2 and slack . delta <= tau lift, with bounds on occupancies that just hold both kernels. Z is between -2
 * <Delta, delta> and that and 2 f. */
static void check_inequalities(fight *self, const nadir_derivation *made)
{
    const nadir_perturbable_rows *perturbable = &made->perturbable;
    const nadir_kkt *kkt = &made->star.kkt;
    double *P = test_kernel_entries(self->context, self->minima[self->worst].kernel);
    long double product = 0;
    long double slack = 0;
    for (int64_t s = 0; s < perturbable->states; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
                const int64_t e = perturbable->starts[i] + j;
                const int64_t t = nadir_perturbable_rows_column(perturbable, i, j);
                const double X = made->star.point.X[e];
                const double delta =
                    P[nadir_perturbable_rows_row(perturbable, i) * perturbable->states + t] - X;
                product += (long double)(X - perturbable->phat[e]) * delta;
                slack += kkt->unvisited[s]
                             ? 0
                             : self->d[self->worst][s] / made->star.point.d[s] * kkt->slack[e] * delta;
            }
        }
    }
    const long double f = kkt->error / (2 * kkt->tau);
    const long double Z = 2 * f - 2 * product;
    assert_that(-2 * product <= 4 * (long double)made->matrix.reach &&
                    product * product <= made->matrix.reach * Z + f * f && slack <= kkt->tau * made->lift,
                "<Delta, delta> %Lg, slack %Lg; reach %g, lift %g, f %Lg", product, slack, made->matrix.reach,
                made->lift, f);
    free(P);
}

/* What a positive matrix says of the worst kernel: S <= k |delta|^2 + r <Delta, delta>^2, from the definitions. */
static void check_form(fight *self, const nadir_derivation *made, double k, double r)
{
    const nadir_perturbable_rows *perturbable = &made->perturbable;
    const nadir_kkt *kkt = &made->star.kkt;
    double *P = test_kernel_entries(self->context, self->minima[self->worst].kernel);
    long double product = 0;
    long double size = 0;
    long double S = 0;
    for (int64_t s = 0; s < perturbable->states; s++) {
        const long double d = self->d[self->worst][s];
        long double own = 0;
        long double square = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
                const int64_t e = perturbable->starts[i] + j;
                const int64_t t = nadir_perturbable_rows_column(perturbable, i, j);
                const long double alpha = nadir_perturbable_rows_alpha(perturbable, i);
                const long double X = made->star.point.X[e];
                const long double delta =
                    (P[nadir_perturbable_rows_row(perturbable, i) * perturbable->states + t] - X) / alpha;
                own += (X - perturbable->phat[e]) / alpha * delta;
                square += delta * delta / made->inverse_weights[e];
            }
        }
        product += own;
        size += square;
        S += kkt->unvisited[s] ? d * kkt->w_unvisited[s] * sqrtl(square)
                               : (d / made->star.point.d[s] - 1) * own;
    }
    assert_that(S <= (k * size + r * product * product) * (1 + 1e-9L) + 1e-9L * size,
                "S is %Lg, not %g |delta|^2 + %g <Delta, delta>^2 = %Lg", S, k, r,
                k * size + r * product * product);
    free(P);
}

/* Numbers with which the matrix is often positive: strong radial terms, and those of kappa = 1/2. */
static void press(fight *self, nadir_derivation *made)
{
    static const double parts[] = {0.02, 0.1, 0.3, 0.45};
    nadir_kappa_matrix *matrix = &made->matrix;
    const double reach = matrix->reach;
    for (int i = 0; i < 64; i++) {
        const double k = parts[i % 4];
        const double r = i % 8 < 4
                             ? (0.5 - k) / reach * (1 - 1e-12)
                             : exp(2 * nadir_random_normal(self->random)) / (self->radius * self->radius);
        const double share = parts[i / 8 % 4];
        const double theta =
            matrix->spread_norm > 0 ? fmin(matrix->spread_norm * (0.05 + share), 0.9 * k) : 0;
        const double other = matrix->unvisited_norm > 0 ? matrix->unvisited_norm * (0.1 + share) : 0;
        if (nadir_kappa_cholesky_holds(self->context, matrix, k, r, theta, other)) {
            check_form(self, made, k, r);
        }
    }
    assert_ok(self->context, nadir_derivation_conclude_kappa(self->context, made));
    check_lower(self, made->certificate->lower, "by a strong radial term");
}

/* Bounds on occupancies from both kernels, a little wider, and passes, radius and kappa from there. */
static double prove_between(fight *self, nadir_derivation *made, const double *one, const double *other,
                            double share)
{
    nadir_occupancy_bounds *below = &made->below;
    for (int64_t s = 0; s < below->states; s++) {
        const double wide = 1e-9 * below->total;
        below->low[s] = fmax(below->low[s], (1 - share) * fmin(one[s], other[s]) - wide);
        below->high[s] = fmin(below->high[s], (1 + share) * fmax(one[s], other[s]) + wide);
    }
    assert_ok(self->context, nadir_derivation_use_weights(self->context, made));
    assert_ok(self->context, nadir_derivation_measure(self->context, made));
    assert_ok(self->context, nadir_derivation_matrix(self->context, made, false, 0));
    const double twice =
        nadir_displacement_radius(self->context, &made->star.kkt, &made->displacement, below);
    const double f = made->star.kkt.error / (2 * made->star.kkt.tau);
    assert_true(made->matrix.reach >= twice * twice / 4 + f); /* H^2 + f */
    assert_ok(self->context, nadir_derivation_matrix(self->context, made, false, 1e-9 * made->matrix.reach));
    assert_true(made->matrix.reach >= twice * twice / 4 + f); /* whatever is asked for */
    press(self, made);
    if (share == 0) {
        check_inequalities(self, made);
    }
    assert_ok(self->context, nadir_second_order_continue(self->context, made));
    return made->certificate->lower;
}

/* Any numbers in the last step prove nothing that is false. */
static void forge(fight *self, const nadir_candidate *star, tally *sums)
{
    enum { FORGERIES = 10 };
    nadir_context *context = self->context;
    for (int i = 0; i < FORGERIES; i++) {
        const double k = 0.5 * nadir_random_uniform(self->random);
        const double r = exp(3 * nadir_random_normal(self->random)) / (self->radius * self->radius);
        const double theta = exp(nadir_random_normal(self->random)) * 0.2;
        const bool open = self->problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
        const double steps[] = {NADIR_STEP_EXPAND,
                                NADIR_STEP_TABULATE,
                                0,
                                NADIR_STEP_BEGIN,
                                i % 3 == 0   ? NAN
                                : i % 3 == 1 ? DBL_MAX
                                             : nadir_random_normal(self->random),
                                NADIR_STEP_USE_WEIGHTS,
                                NADIR_STEP_MEASURE,
                                NADIR_STEP_PASS,
                                NADIR_STEP_MEASURE,
                                NADIR_STEP_MATRIX,
                                open ? i % 2 : 0,
                                i % 3 == 1   ? 1e-6 * r
                                : i % 4 == 1 ? -1
                                             : 0,
                                NADIR_STEP_CONCLUDE_TANGENT,
                                i % 5 == 0 ? INFINITY : k,
                                i % 4 == 0 ? -theta : theta,
                                i % 2 == 0 ? 0 : theta,
                                i % 3 == 0   ? -r
                                : i % 7 == 0 ? NAN
                                             : r};
        nadir_derivation made = {0};
        nadir_certificate proof = {0};
        assert_ok(context,
                  nadir_derivation_make(context, self->problem, self->radius, star, NULL, &proof, &made));
        assert_ok(context,
                  nadir_derivation_replay(context, &made, (int64_t)(sizeof steps / sizeof *steps), steps));
        check_lower(self, proof.lower, "by forged numbers");
        sums->forged++;
        nadir_derivation_clear(context, &made);
        nadir_certificate_clear(context, &proof);
    }
}

/* A box around P* alone, of which its matrix shows all, then one with the worst kernel, of which nothing is shown: what
 * was shown of the first is not known of the second. */
static void keep_facts(fight *self, int i, tally *sums)
{
    static const double again[] = {NADIR_STEP_CONCLUDE_KAPPA, 0, 0, 0};
    nadir_context *context = self->context;
    const double *here = self->d[i];
    const double *there = self->d[self->worst];
    nadir_derivation made = {0};
    nadir_certificate proof = {0};
    int64_t state = 0;
    (void)begin(self, &self->minima[i], &proof, &made);
    for (int64_t s = 1; s < self->problem->states; s++) {
        state = there[s] - here[s] > there[state] - here[state] ? s : state;
    }
    assert_ok(context, nadir_derivation_split(context, &made, state, (here[state] + there[state]) / 2));
    for (int64_t s = 0; s < self->problem->states; s++) {
        made.below.low[s] = fmax(made.below.low[s], here[s] - 1e-9 * made.below.total);
        made.below.high[s] = fmin(made.below.high[s], here[s] + 1e-9 * made.below.total);
    }
    assert_ok(context, nadir_derivation_measure(context, &made));
    assert_ok(context, nadir_derivation_matrix(context, &made, false, 0));
    nadir_kappa_bisect(context, &made.matrix, false);
    sums->shown += made.matrix.proven <= 0.5;
    assert_ok(context, nadir_derivation_conclude_kappa(context, &made));
    assert_ok(context, nadir_derivation_next(context, &made));
    (void)nadir_derivation_replay(context, &made, sizeof again / sizeof *again, again);
    assert_ok(context, nadir_derivation_conclude(context, &made));
    assert_ok(context, nadir_derivation_next(context, &made));
    check_lower(self, proof.lower, "of another box");
    nadir_derivation_clear(context, &made);
    nadir_certificate_clear(context, &proof);
}

static void judge(fight *self, int i, tally *sums)
{
    nadir_context *context = self->context;
    const nadir_candidate *star = &self->minima[i];
    nadir_derivation made = {0};
    nadir_certificate proof = {0};
    sums->minima++;
    if (begin(self, star, &proof, &made)) {
        sums->false_minima++;
        sums->attacked += self->minima[self->worst].J < made.level - 1e-6 * self->scale;
        check_lower(self, prove_between(self, &made, self->d[i], self->d[self->worst], 0), "between minima");
        nadir_certificate whole =
            test_prove(context, self->problem, self->radius, star, NADIR_CERTIFY_STRICT);
        check_lower(self, whole.lower, "of the whole set");
        nadir_certificate_clear(context, &whole);
        forge(self, star, sums);
        keep_facts(self, i, sums);
    } else if (i == self->worst) {
        const double share = 0.3 * nadir_random_uniform(self->random);
        const double lower = prove_between(self, &made, self->d[i], self->d[i], share);
        check_lower(self, lower, "around the worst minimum");
        sums->proven += lower >= made.level;
        sums->tangent += lower >= made.level - 1e-9 * self->scale && proof.steps_count > 5 &&
                         proof.steps[proof.steps_count - 5] == NADIR_STEP_CONCLUDE_TANGENT;
    }
    nadir_derivation_clear(context, &made);
    nadir_certificate_clear(context, &proof);
}

static void test_false_minima(void **state)
{
    nadir_random random = test_random((uint64_t)SEED);
    tally sums = {0};
    const int cases = test_attack_count(CASES);
    for (int number = 0; number < cases; number++) {
        fight self = {.context = *state, .random = &random, .p = 2};
        fight_make(&self, number);
        for (int i = 0; i < self.count; i++) {
            if (self.minima[i].tau > 0) {
                judge(&self, i, &sums);
            }
        }
        fight_clear(&self);
    }
    print_message(
        "%d minima, %d not the worst, %d of them by far, %d worst ones proven, %d by the radial term, "
        "%d forged\n",
        sums.minima, sums.false_minima, sums.attacked, sums.proven, sums.tangent, sums.forged);
    assert_that(test_memcheck() || (sums.attacked > cases / 4 && sums.proven > cases / 4 &&
                                    sums.tangent > 0 && sums.shown > 0),
                "not the attack that this is meant to be");
}

/* ------------------------------------------------------------------------------------ boxes of occupancies */

typedef struct count {
    int false_minima, worst, proven, split, forged, refused;
} count;

static void begin_boxes(fight *self, const nadir_candidate *star, nadir_certificate *proof,
                        nadir_derivation *made)
{
    assert_ok(self->context,
              nadir_derivation_make(self->context, self->problem, self->radius, star, NULL, proof, made));
}

static bool has_split(const nadir_certificate *proof)
{
    return proof->steps_count > 0 && proof->steps[proof->steps_count - 1] == NADIR_STEP_NEXT;
}

/* One number of the record changed, or a part of it left out: it is refused, or shows what is true. */
static void forge_boxes(fight *self, const nadir_candidate *star, const nadir_certificate *proof, count *sums)
{
    enum { FORGERIES = 20 };
    static const double factors[] = {0, -1, 0.5, 1.01, 2, 0.9, 1e6, 1 + 1e-9};
    double *steps = test_new(proof->steps_count, sizeof *steps);
    for (int i = 0; i < FORGERIES; i++) {
        const int64_t place = (int64_t)nadir_random_below(self->random, (uint64_t)proof->steps_count);
        int64_t size = proof->steps_count;
        nadir_certificate forged = {0};
        nadir_derivation made = {0};
        memcpy(steps, proof->steps, (size_t)size * sizeof *steps);
        if (i % 4 == 0) { /* the last ones, such as boxes that were not looked into */
            size = place + 1;
            steps[place] = i % 8 == 0 ? NADIR_STEP_NEXT : NADIR_STEP_CONCLUDE;
        } else {
            steps[place] *= factors[nadir_random_below(self->random, 8)];
            steps[place] += i % 5 == 0 ? 0.1 * nadir_random_normal(self->random) : 0;
        }
        begin_boxes(self, star, &forged, &made);
        const nadir_status status = nadir_derivation_replay(self->context, &made, size, steps);
        assert_true(status == NADIR_OK || status == NADIR_ERROR_ARGUMENT);
        check_lower(self, forged.lower, "by a forged tree");
        sums->forged++;
        sums->refused += status != NADIR_OK;
        nadir_derivation_clear(self->context, &made);
        nadir_certificate_clear(self->context, &forged);
    }
    free(steps);
}

static void check_replay(fight *self, const nadir_candidate *star, const nadir_certificate *proof)
{
    nadir_certificate again = {0};
    nadir_derivation made = {0};
    begin_boxes(self, star, &again, &made);
    assert_ok(self->context, nadir_derivation_replay(self->context, &made, proof->steps_count, proof->steps));
    assert_that(fabs(again.lower - proof->lower) <= 1e-12 * self->scale, "%.17g, and %.17g again",
                proof->lower, again.lower);
    nadir_derivation_clear(self->context, &made);
    nadir_certificate_clear(self->context, &again);
}

static void judge_boxes(fight *self, int i, count *sums)
{
    nadir_context *context = self->context;
    const nadir_candidate *star = &self->minima[i];
    nadir_occupancy_effort effort = {.until = INFINITY, .solves = 1500, .tree = true};
    const double wanted = star->J - 5e-7 * (self->problem->J - star->J);
    const bool is_false = self->minima[self->worst].J < wanted;
    nadir_derivation made = {0};
    nadir_certificate proof = {0};
    if (!is_false && i != self->worst) {
        return;
    }
    begin_boxes(self, star, &proof, &made);
    if (self->p == 2) {
        assert_ok(context, nadir_second_order_search(context, &made, NADIR_CERTIFY_STRICT, wanted));
    }
    if (proof.lower < wanted) {
        assert_ok(context, nadir_occupancy_search(context, &made, wanted, &effort));
        check_replay(self, star, &proof);
        forge_boxes(self, star, &proof, sums);
    }
    check_lower(self, proof.lower, is_false ? "of a false minimum" : "of the worst minimum");
    sums->false_minima += is_false;
    sums->worst += !is_false;
    sums->proven += !is_false && proof.lower >= wanted;
    sums->split += has_split(&proof);
    nadir_derivation_clear(context, &made);
    nadir_certificate_clear(context, &proof);
}

static void test_boxes(void **state)
{
    static const double norms[] = {2, 1.5, 1, 3};
    nadir_random random = test_random((uint64_t)SEED + 1);
    count sums = {0};
    const int cases = test_attack_count(CASES_BOXES);
    for (int number = 0; number < cases; number++) {
        fight self = {.context = *state, .random = &random, .p = norms[number / 2 % 4]};
        fight_make(&self, number);
        for (int i = 0; i < self.count; i++) {
            if (self.minima[i].tau > 0 && isfinite(self.minima[i].tau)) {
                judge_boxes(&self, i, &sums);
            }
        }
        fight_clear(&self);
    }
    print_message("%d false minima, %d worst ones, %d proven, %d split, %d forged, %d of them refused\n",
                  sums.false_minima, sums.worst, sums.proven, sums.split, sums.forged, sums.refused);
    assert_that(test_memcheck() ||
                    (sums.false_minima > cases / 4 && sums.proven > sums.worst / 2 && sums.split > 0),
                "not the attack that this is meant to be");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_false_minima),
        test_with_context(test_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
