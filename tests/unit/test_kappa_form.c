/*
 * The quadratic form behind kappa, maximised: the most that a change delta of rows and occupancies y within
 * their bounds make of
 *
 *     sum over t of <Delta_t, delta_t> / d(t) e_t + sum over unvisited t of w_t |delta_t| e_t,
 *     e_t = gamma sum over s of y_s sum over a of pi delta_sa . De_t,
 *
 * relative to |delta|^2, by ascent in long double: the kappa that is proven is never below it. Kernels of the set do
 * not come as near to it: they need not attain the bounds on all occupancies at once. With a radial term it is the
 * form less r <Delta, delta>^2, and what that leaves to kernels on the sphere.
 */
#include "support/support.h"

#include "proof/kappa.h"
#include "proof/second_order.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1618

enum { CASES = 800, STARTS = 3, ROUNDS = 12, STEPS = 25 };

/* delta in units of alpha, entry by entry, and the numbers of the form there. */
typedef struct form {
    const test_stage *stage;
    const double *inverse; /* [entries] 1 / omega; NULL: all one */
    const double *w;       /* [states] of unvisited states */
    bool shared;           /* occupancies have a sum of at most T */
    double gamma;
    double radial;                 /* r of the radial term; 0: none */
    long double *delta, *gradient; /* [entries] */
    long double product;           /* <Delta, delta> over visited states */
    long double best_product;      /* where the form was largest */
    long double *y;                /* [states] */
    long double *along;            /* [states] what e_t is multiplied by */
    long double *through;          /* [states] what y_s is multiplied by */
} form;

/* Delta / alpha of an entry of row i. */
static long double change_of(const form *self, int64_t i, int64_t e)
{
    const nadir_perturbable_rows *rows = &self->stage->perturbable;
    return ((long double)self->stage->star.point.X[e] - rows->phat[e]) /
           nadir_perturbable_rows_alpha(rows, i);
}

static long double weight_of(const form *self, int64_t e)
{
    return self->inverse != NULL ? 1 / (long double)self->inverse[e] : 1;
}

/* Rows become zero-sum, in the norm with weights; delta of length one. */
static void normalise(form *self)
{
    const nadir_perturbable_rows *rows = &self->stage->perturbable;
    long double square = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        long double sum = 0;
        long double mass = 0;
        for (int64_t e = rows->starts[i]; e < rows->starts[i + 1]; e++) {
            sum += self->delta[e];
            mass += 1 / weight_of(self, e);
        }
        for (int64_t e = rows->starts[i]; e < rows->starts[i + 1]; e++) {
            self->delta[e] -= sum / mass / weight_of(self, e);
            square += self->delta[e] * self->delta[e] * weight_of(self, e);
        }
    }
    for (int64_t e = 0; e < rows->entries && square > 0; e++) {
        self->delta[e] /= sqrtl(square);
    }
}

/* <Delta_t, delta_t> / d(t), or w_t |delta_t|. */
static void fill_along(form *self)
{
    const nadir_perturbable_rows *rows = &self->stage->perturbable;
    const nadir_kkt *kkt = &self->stage->star.kkt;
    self->product = 0;
    for (int64_t t = 0; t < rows->states; t++) {
        long double product = 0;
        long double square = 0;
        for (int64_t i = rows->first[t]; i < rows->first[t + 1]; i++) {
            for (int64_t e = rows->starts[i]; e < rows->starts[i + 1]; e++) {
                product += change_of(self, i, e) * self->delta[e];
                square += self->delta[e] * self->delta[e] * weight_of(self, e);
            }
        }
        const double d = self->stage->star.point.d[t];
        self->along[t] = kkt->unvisited[t] ? self->w[t] * sqrtl(square) : d > 0 ? product / d : 0;
        self->product += kkt->unvisited[t] ? 0 : product;
    }
}

/* gamma pi alpha De_t of an entry of row i, summed over t with `along`. */
static long double pull_of(const form *self, int64_t i, int64_t j)
{
    const nadir_perturbable_rows *rows = &self->stage->perturbable;
    const int64_t n = rows->states;
    const int64_t column = nadir_perturbable_rows_column(rows, i, j);
    long double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        sum += self->along[t] * self->stage->star.point.D[t * n + column];
    }
    return self->gamma * rows->pi[i] * nadir_perturbable_rows_alpha(rows, i) * sum;
}

/* The form at delta and y, less the radial term; fills along, product and through. */
static long double form_of(form *self)
{
    const nadir_perturbable_rows *rows = &self->stage->perturbable;
    long double sum = 0;
    fill_along(self);
    for (int64_t s = 0; s < rows->states; s++) {
        self->through[s] = 0;
        for (int64_t i = rows->first[s]; i < rows->first[s + 1]; i++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(rows, i); j++) {
                self->through[s] += self->delta[rows->starts[i] + j] * pull_of(self, i, j);
            }
        }
        sum += self->y[s] * self->through[s];
    }
    return sum - self->radial * self->product * self->product;
}

/* The best occupancies for this delta: where all have one sum, the best of them are raised first. */
static void choose_y(form *self)
{
    const nadir_occupancy_bounds *bounds = &self->stage->bounds;
    const int64_t n = bounds->states;
    long double left = bounds->total;
    for (int64_t s = 0; s < n; s++) {
        self->y[s] = bounds->low[s];
        left -= bounds->low[s];
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t best = -1;
        for (int64_t s = 0; s < n; s++) {
            if (self->through[s] > 0 && self->y[s] == bounds->low[s] && bounds->high[s] > bounds->low[s] &&
                (best < 0 || self->through[s] > self->through[best])) {
                best = s;
            }
        }
        if (best < 0) {
            break;
        }
        const long double room = (long double)bounds->high[best] - bounds->low[best];
        const long double more = self->shared && left < room ? fmaxl(left, 0) : room;
        self->y[best] += more;
        left -= more;
        if (self->shared && left <= 0) {
            break;
        }
    }
}

/* One step of ascent in delta: the gradient, and enough of delta itself that the form is convex. */
static void climb(form *self, long double shift)
{
    const nadir_perturbable_rows *rows = &self->stage->perturbable;
    const nadir_kkt *kkt = &self->stage->star.kkt;
    (void)form_of(self);
    for (int64_t s = 0; s < rows->states; s++) {
        long double e_s = 0; /* e of this state */
        long double length = 0;
        for (int64_t r = 0; r < rows->states; r++) {
            for (int64_t i = rows->first[r]; i < rows->first[r + 1]; i++) {
                for (int64_t j = 0; j < nadir_perturbable_rows_length(rows, i); j++) {
                    e_s += self->gamma * self->y[r] * rows->pi[i] * nadir_perturbable_rows_alpha(rows, i) *
                           self->delta[rows->starts[i] + j] *
                           self->stage->star.point
                               .D[s * rows->states + nadir_perturbable_rows_column(rows, i, j)];
                }
            }
        }
        for (int64_t e = rows->starts[rows->first[s]]; e < rows->starts[rows->first[s + 1]]; e++) {
            length += self->delta[e] * self->delta[e] * weight_of(self, e);
        }
        length = sqrtl(length);
        for (int64_t i = rows->first[s]; i < rows->first[s + 1]; i++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(rows, i); j++) {
                const int64_t e = rows->starts[i] + j;
                const double d = self->stage->star.point.d[s];
                const long double own =
                    kkt->unvisited[s]
                        ? (length > 0 ? self->w[s] * self->delta[e] * weight_of(self, e) / length : 0)
                    : d > 0 ? change_of(self, i, e) / d
                            : 0;
                const long double radial =
                    kkt->unvisited[s] ? 0 : 2 * self->radial * self->product * change_of(self, i, e);
                self->gradient[e] =
                    (self->y[s] * pull_of(self, i, j) + e_s * own - radial) / weight_of(self, e);
            }
        }
    }
    for (int64_t e = 0; e < rows->entries; e++) {
        self->delta[e] = self->gradient[e] + shift * self->delta[e];
    }
    normalise(self);
}

/* The largest value found, from random starts. */
static long double maximise(form *self, nadir_random *random)
{
    const nadir_perturbable_rows *rows = &self->stage->perturbable;
    const double beta = self->stage->star.kkt.beta;
    long double best = -(long double)INFINITY;
    for (int start = 0; start < STARTS; start++) {
        for (int64_t e = 0; e < rows->entries; e++) {
            self->delta[e] = nadir_random_normal(random);
        }
        normalise(self);
        memset(self->y, 0, (size_t)rows->states * sizeof *self->y);
        for (int round = 0; round < ROUNDS; round++) {
            (void)form_of(self);
            choose_y(self);
            const long double before = form_of(self);
            for (int step = 0; step < STEPS; step++) {
                climb(self, 2 * fabsl(before) + 2 * self->radial * beta * beta + 1e-3L * (step % 2 + 1));
            }
            (void)form_of(self);
            choose_y(self);
            const long double found = form_of(self);
            self->best_product = found > best ? self->product : self->best_product;
            best = fmaxl(best, found);
        }
    }
    return best;
}

/* How near the form came to what is proven, by kind: plain, with weights, shared, radial. */
typedef struct tally {
    int cases, unvisited;
    double nearest[4];
} tally;

/* Occupancies that are those of P*, so that a matrix is as good as the form: d: [states]. */
static void fix_occupancies(const test_stage *stage, test_stage *fixed, double *d)
{
    for (int64_t s = 0; s < stage->perturbable.states;
         s++) { /* d <= d + off <= high, unless high is rounded below it */
        d[s] = fmin(stage->star.point.d[s], stage->bounds.high[s]);
    }
    *fixed = *stage;
    fixed->bounds.low = fixed->bounds.high = d;
}

/* S <= k |delta|^2 + r <Delta, delta>^2 where the matrix is positive. Of a kernel on the sphere with |delta|^2 = Z,
 * <Delta, delta> = -Z / 2; so kappa is at least S / Z of it for a reach of Z / 4. With delta of length one: both numbers
 * are those of Z delta. */
static void check_radial(nadir_context *context, nadir_random *random, form *self, tally *sums)
{
    const test_stage *stage = self->stage;
    const double beta = stage->star.kkt.beta;
    test_stage fixed;
    nadir_kappa_matrix matrix = {0};
    double *d = test_new(stage->perturbable.states, sizeof *d);
    fix_occupancies(stage, &fixed, d);
    self->stage = &fixed;
    self->inverse = NULL;
    self->w = stage->star.displacement.w;
    self->shared = false;
    assert_ok(context, nadir_kappa_matrix_make(context, &stage->star.kkt, &fixed.bounds,
                                               &stage->star.displacement, NULL, false, &matrix));
    nadir_kappa_bisect(context, &matrix, true);
    const double plain = matrix.proven;
    const double share = matrix.theta_unvisited / matrix.k;
    if (isfinite(plain) && plain > 1e-9 && matrix.spread_norm == 0) {
        self->radial = (0.1 + nadir_random_uniform(random)) * plain / (beta * beta);
        double least = 0;
        double k = plain;
        matrix.reach = 0;
        for (int step = 0; step < 40; step++) {
            const double middle = (least + k) / 2;
            const bool holds =
                nadir_kappa_cholesky_holds(context, &matrix, middle, self->radial, 0, share * middle);
            *(holds ? &k : &least) = middle;
        }
        const long double found = maximise(self, random);
        assert_that(!(found > k * (1 + 1e-9L) + 1e-12L), "k %.9g, r %.9g: %.9Lg is attained", k, self->radial,
                    found);
        matrix.reach = (double)(self->best_product * self->best_product);
        matrix.proven = INFINITY;
        (void)nadir_kappa_cholesky_holds(context, &matrix, k, self->radial, 0, share * k);
        const long double whole = found + self->radial * self->best_product * self->best_product;
        assert_that(!(whole > matrix.proven * (1 + 1e-9L) + 1e-12L),
                    "kappa %.9g is proven, %.9Lg attained on the sphere", matrix.proven, whole);
        sums->nearest[3] = fmax(sums->nearest[3], (double)(found / k));
    }
    nadir_kappa_matrix_clear(context, &matrix);
    self->radial = 0;
    self->stage = stage;
    free(d);
}

/* kappa of the iteration for large models, which bounds the form for occupancies that are not below those of P*. */
static void check_large(nadir_context *context, nadir_random *random, const nadir_problem *problem,
                        const nadir_candidate *attack, form *self)
{
    const test_stage *stage = self->stage;
    const int64_t n = stage->perturbable.states;
    nadir_certificate proof = {.lower = -INFINITY, .kappa = NAN};
    test_stage fixed;
    double *d = test_new(n, sizeof *d);
    assert_ok(context, nadir_second_order_prove_large(context, problem, &stage->perturbable, &stage->bounds,
                                                      stage->star.kkt.beta, attack, &proof));
    fix_occupancies(stage, &fixed, d);
    self->stage = &fixed;
    self->inverse = NULL;
    self->w = stage->star.displacement.w;
    self->shared = false;
    const long double found = maximise(self, random);
    assert_that(!(found > proof.kappa * (1 + 1e-9L) + 1e-9L), "kappa %.9g for large models, %.9Lg attained",
                proof.kappa, found);
    self->stage = stage;
    nadir_certificate_clear(context, &proof);
    free(d);
}

static void check_stage(nadir_context *context, nadir_random *random, const nadir_problem *problem,
                        const nadir_candidate *attack, const test_stage *stage, tally *sums)
{
    const nadir_kkt *kkt = &stage->star.kkt;
    const nadir_perturbable_rows *rows = &stage->perturbable;
    const int64_t n = rows->states;
    double *inverse = test_new(rows->entries + 1, sizeof *inverse);
    form self = {.stage = stage, .gamma = problem->gamma};
    self.delta = test_new(2 * rows->entries + 1, sizeof *self.delta);
    self.gradient = self.delta + rows->entries;
    self.y = test_new(3 * n, sizeof *self.y);
    self.along = self.y + n;
    self.through = self.y + 2 * n;
    nadir_kkt_weigh(kkt, &stage->bounds, 2 * kkt->beta, INFINITY, inverse);
    for (int kind = 0; kind < 3; kind++) {
        nadir_displacement displacement = {0};
        self.inverse = kind == 1 ? inverse : NULL;
        self.shared = kind == 2;
        if (self.shared && rows->columns != NULL) {
            continue;
        }
        assert_ok(context, nadir_displacement_make(context, kkt, self.inverse, &displacement));
        self.w = displacement.w;
        const double kappa =
            test_find_kappa(context, kkt, &stage->bounds, &displacement, self.inverse, self.shared);
        const long double found = maximise(&self, random);
        assert_that(!(found > kappa * (1 + 1e-9L) + 1e-12L), "kind %d: kappa %.9g is proven, %.9Lg attained",
                    kind, kappa, found);
        if (isfinite(kappa) && kappa > 1e-6) {
            sums->nearest[kind] = fmax(sums->nearest[kind], (double)(found / kappa));
        }
        nadir_displacement_clear(context, &displacement);
    }
    check_radial(context, random, &self, sums);
    check_large(context, random, problem, attack, &self);
    free(inverse);
    free(self.delta);
    free(self.y);
}

static void test_form(void **state)
{
    static const double radii[] = {0.02, 0.1, 0.3, 0.6};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    tally sums = {0};
    const int cases = test_memcheck() ? CASES / 40 : test_often(CASES);
    for (int i = 0; i < cases; i++) {
        const double radius = radii[nadir_random_below(&random, 4)];
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
        test_miniature tiny =
            i % 4 < 2 ? test_trap_make(context, &random) : test_miniature_make(context, &random, 4);
        test_note("seed %d, case %d, %s, %s, %g", SEED, i, tiny.name, nadir_domain_name(domain), radius);
        test_problem made = test_problem_make(context, tiny.model, tiny.policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = test_descend(context, problem, radius);
        if (attack.tau > 0) {
            test_stage stage;
            test_stage_make(context, problem, radius, &attack, &stage);
            check_stage(context, &random, problem, &attack, &stage, &sums);
            for (int64_t s = 0; s < problem->states; s++) {
                sums.unvisited += stage.star.kkt.unvisited[s];
            }
            test_stage_clear(context, &stage);
            sums.cases++;
        }
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
    print_message("%d cases, %d unvisited states, nearest %g, %g with weights, %g shared, %g radial\n",
                  sums.cases, sums.unvisited, sums.nearest[0], sums.nearest[1], sums.nearest[2],
                  sums.nearest[3]);
    assert_that(sums.nearest[0] > 0.9 && sums.nearest[1] > 0.9 && sums.nearest[2] > 0.7 &&
                    sums.nearest[3] > 0.9 && sums.unvisited > 0,
                "not the attack that this is meant to be");
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_form)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
