/*
 * Attacks on the two-sided Lagrangian bound (proof/bellman_bound.h): random models, boxes of occupancies and
 * multipliers, against kernels of the box, every norm, both domains, frozen rewards and rewards on landing. What a
 * kernel returns and visits is computed here from the definitions. Wrong numbers prove nothing. Derivations take levels,
 * ends of ranges, right and forged ones, and splits of both kinds at random: every kernel below the level stays in a box, and none
 * returns less than what is shown.
 *
 * A case has 10 bounds; NADIR_ATTACKS=10 makes 10,000 of them.
 */
#include "support/support.h"

#include "model/landing.h"
#include "proof/bellman_bound.h"
#include "proof/certificate.h"
#include "proof/derivation.h"
#include "search/frank_wolfe.h"
#include "sets/lmo_by_state.h"
#include "support/landing.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/tiny.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 31337

enum { CASES = 100, BOUNDS = 10, KERNELS = 6, STEPS = 4000 };

static const double norms[] = {2, 1, 1.5, 3, 2, 1.2, 8};
static const double radii[] = {0.02, 0.1, 0.3, 0.6, 1, 2};

typedef struct arena {
    nadir_context *context;
    nadir_random *random;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
    nadir_setup setup;
    const nadir_problem *problem;
    test_oracle oracle;
    double *nominal; /* [rows * states] */
    double radius, size;
} arena;

/* What a kernel of the set does. */
typedef struct member {
    double *kernel; /* [rows * states] */
    double *d, *x;  /* [states] */
    long double J;
} member;

static void arena_make(arena *made, nadir_context *context, nadir_random *random, int number)
{
    const double p = norms[(size_t)number % (sizeof norms / sizeof *norms)];
    const nadir_domain domain =
        nadir_random_below(random, 2) == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
    nadir_solver_settings settings;
    *made = (arena){.context = context, .random = random};
    made->radius = radii[nadir_random_below(random, 6)] * (0.5 + nadir_random_uniform(random));
    if (number % 3 == 2) {
        test_landing_random drawn = test_landing_draw(context, random, 5, (test_rewards)(number / 3 % 4));
        made->model = drawn.model;
        made->policy = drawn.policy;
        drawn.model = NULL;
        drawn.policy = NULL;
        test_landing_random_clear(&drawn);
    } else {
        const test_miniature tiny = test_miniature_make(context, random, 5);
        made->model = tiny.model;
        made->policy = tiny.policy;
    }
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, p, &made->radius, NULL);
    test_note("seed %d, case %d, %s, p %g, radius %g", SEED, number, nadir_domain_name(domain), p,
              made->radius);
    nadir_solver_settings_default(&settings);
    assert_ok(context, nadir_solver_create(context, made->model, made->policy, &settings, &made->solver));
    assert_ok(context, nadir_setup_make(context, made->solver, &ball, number % 5 == 0, &made->setup));
    made->problem = &made->setup.problem;
    made->oracle = test_oracle_make(made->model, made->policy, &ball);
    made->nominal = test_dense_kernel(made->model);
    for (int64_t row = 0; row < made->problem->rows; row++) {
        made->size = fmax(made->size, fabs(made->problem->rewards[row]));
    }
    made->size += nadir_landing_is_general(made->model) ? 2 * nadir_landing_largest(made->model) : 0;
}

static void arena_clear(arena *made)
{
    test_oracle_clear(&made->oracle);
    nadir_setup_clear(made->context, &made->setup);
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    free(made->nominal);
}

/* Occupancy, return and x_s of a kernel, which is taken. */
static member measure(const arena *self, double *kernel)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double *pi = problem->policy->probabilities;
    member made = {.kernel = kernel, .d = test_new(n, sizeof(double)), .x = test_new(n, sizeof(double))};
    long double *average = test_dense_average(self->model, kernel, pi);
    test_system system = test_system_make(n, average, problem->gamma);
    long double *d = test_new(n, sizeof *d);
    double *e = test_new(n, sizeof *e);
    test_system_solve(&system, true, problem->mu, d);
    for (int64_t s = 0; s < n; s++) {
        long double cost = 0;
        for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
            long double pays = problem->rewards[row];
            const double alpha = nadir_uncertainty_scale(problem->uncertainty, row);
            memset(e, 0, (size_t)n * sizeof *e);
            if (problem->landing != 0) {
                nadir_landing_add(self->model, row, problem->sign, false, e);
            }
            for (int64_t t = 0; t < n; t++) {
                const long double change = (long double)kernel[row * n + t] - self->nominal[row * n + t];
                pays += change * e[t];
                cost += alpha > 0 ? powl(fabsl(change) / alpha, problem->uncertainty->p) : 0;
            }
            made.J += d[s] * pi[row] * pays;
        }
        made.d[s] = (double)d[s];
        made.x[s] = (double)cost;
    }
    test_system_clear(&system);
    free(average);
    free(d);
    free(e);
    return made;
}

static void member_clear(member *made)
{
    free(made->kernel);
    free(made->d);
    free(made->x);
}

static member random_member(const arena *self)
{
    double *kernel = test_new(self->problem->rows * self->problem->states, sizeof *kernel);
    test_oracle_random(&self->oracle, self->random, kernel);
    return measure(self, kernel);
}

/* The kernel that a search ends in; *tau: its multiplier. */
static member found_member(const arena *self, double *tau)
{
    nadir_candidate found = {0};
    assert_ok(self->context,
              nadir_frank_wolfe_run(self->context, self->problem, self->radius, NULL, 1e-13, 500, &found));
    double *kernel = test_kernel_entries(self->context, found.kernel);
    *tau = found.tau;
    nadir_candidate_clear(self->context, &found);
    test_oracle_pull(&self->oracle, kernel);
    return measure(self, kernel);
}

/* A part of the way from one kernel to another. */
static member between(const arena *self, const member *from, const member *to, double share)
{
    const int64_t entries = self->problem->rows * self->problem->states;
    double *kernel = test_new(entries, sizeof *kernel);
    for (int64_t i = 0; i < entries; i++) {
        kernel[i] = from->kernel[i] + share * (to->kernel[i] - from->kernel[i]);
    }
    return measure(self, kernel);
}

/* Parts of the ball around those of one kernel, in half of all boxes. */
static void make_parts(const arena *self, const member *at, double wide, nadir_occupancy_bounds *box)
{
    const double p = self->problem->uncertainty->p;
    nadir_release(self->context, box->least);
    box->least = NULL;
    if (nadir_random_below(self->random, 2) == 0) {
        assert_ok(self->context, nadir_occupancy_bounds_share(self->context, self->radius, box));
        for (int64_t s = 0; s < box->states; s++) {
            const double more = exp(wide * nadir_random_uniform(self->random)) * (1 + 1e-14);
            box->least[box->states + s] = fmin(self->radius, pow(at->x[s], 1 / p) * more);
        }
    }
}

static bool has_part(const arena *self, int64_t states, const double *least, const member *at)
{
    bool has = true;
    for (int64_t s = 0; s < states && least != NULL; s++) {
        const double part = pow(at->x[s], 1 / self->problem->uncertainty->p);
        has = has && at->x[s] >= least[s] * (1 - 1e-12) && part <= least[states + s] * (1 + 1e-12);
    }
    return has;
}

/* A box around the occupancies of one kernel: of no width, wide, or open below. */
static void make_box(const arena *self, const member *at, nadir_occupancy_bounds *box)
{
    static const double widths[] = {0, 1e-6, 0.01, 0.1, 0.5, 3};
    const double wide = widths[nadir_random_below(self->random, 6)];
    for (int64_t s = 0; s < box->states; s++) {
        const double up = exp(wide * nadir_random_uniform(self->random));
        const double down = exp(-wide * nadir_random_uniform(self->random));
        const bool open = nadir_random_below(self->random, 6) == 0;
        box->high[s] = at->d[s] * up * (1 + 4 * DBL_EPSILON);
        box->low[s] = open ? 0 : at->d[s] * down * (1 - 4 * DBL_EPSILON);
    }
    make_parts(self, at, wide, box);
}

/* A box in which every state has the end at this kernel that the kernel is priced by, and the other one far away. */
static void make_sharp_box(const member *at, const nadir_two_sided *by, nadir_occupancy_bounds *box)
{
    for (int64_t s = 0; s < box->states; s++) {
        const bool at_low = by->k[s] > by->tau * at->x[s];
        box->high[s] = at->d[s] * (at_low ? 3 : 1 + 4 * DBL_EPSILON);
        box->low[s] = at->d[s] * (at_low ? 1 - 4 * DBL_EPSILON : 0.3);
    }
}

static bool is_within(const arena *self, const nadir_occupancy_bounds *box, const member *at)
{
    bool within = has_part(self, box->states, box->least, at);
    for (int64_t s = 0; s < box->states; s++) {
        within = within && at->d[s] >= box->low[s] && at->d[s] <= box->high[s];
    }
    return within;
}

/* v nearly Tv, by iteration from the nominal value. k: [states]; v: [states]. */
static void find_v(const arena *self, const nadir_occupancy_bounds *box, const nadir_two_sided *by, double *v)
{
    nadir_context *context = self->context;
    const int64_t n = self->problem->states;
    const double *pi = self->problem->policy->probabilities;
    nadir_problem posed = *self->problem;
    nadir_lmo_penalized ends[2] = {{0}, {0}};
    posed.landing = by->zeta * self->problem->landing;
    assert_ok(context, nadir_lmo_penalized_make(context, &posed, self->radius, box->high, &ends[0]));
    assert_ok(context, nadir_lmo_penalized_make(context, &posed, self->radius, box->low, &ends[1]));
    ends[0].caps = box->least != NULL ? box->least + n : NULL;
    ends[1].caps = ends[0].caps;
    double moved = INFINITY;
    double size = 0;
    double *next = test_new(n, sizeof *next);
    memset(v, 0, (size_t)n * sizeof *v);
    for (int step = 0; step < STEPS && moved > 1e-13 * size; step++) {
        assert_ok(context, nadir_lmo_penalized_solve(context, &ends[0], by->tau, v));
        assert_ok(context, nadir_lmo_penalized_solve(context, &ends[1], by->tau, v));
        moved = 0;
        for (int64_t s = 0; s < n; s++) {
            double sum = s == by->t ? by->theta : 0;
            for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
                double mean = 0;
                for (int64_t t = 0; t < n; t++) {
                    mean += self->nominal[row * n + t] * v[t];
                }
                sum += pi[row] * (by->zeta * self->problem->rewards[row] + self->problem->gamma * mean);
            }
            const double k = box->low[s] > 0 ? by->k[s] : 0;
            const double taken =
                k > 0 ? fmax(ends[0].taken[s] + k / box->high[s], ends[1].taken[s] + k / box->low[s])
                      : ends[0].taken[s];
            next[s] = sum - taken;
            moved = fmax(moved, fabs(next[s] - v[s]));
            size = fmax(size, fabs(next[s]));
        }
        memcpy(v, next, (size_t)n * sizeof *v);
    }
    free(next);
    nadir_lmo_penalized_clear(context, &ends[0]);
    nadir_lmo_penalized_clear(context, &ends[1]);
}

/* Multipliers: about those of a kernel, or anything. */
static void draw(const arena *self, const member *at, double tau, int number, nadir_two_sided *by, double *k)
{
    nadir_random *random = self->random;
    const double blur = number % 2 == 0 ? 0 : 0.3;
    by->t = (int64_t)nadir_random_below(random, (uint64_t)self->problem->states);
    by->theta = number % 3 == 0 ? 0 : nadir_random_normal(random) * (1 + self->size);
    by->zeta = number % 3 == 0 ? 1 : number % 3 == 1 ? nadir_random_uniform(random) : 0;
    by->tau = tau * exp(blur * nadir_random_normal(random));
    for (int64_t s = 0; s < self->problem->states; s++) {
        k[s] = by->tau * at->x[s] * exp(blur * nadir_random_normal(random));
    }
}

static void assert_below(const arena *self, const nadir_two_sided *by, double lower, const member *at)
{
    const long double truth = by->zeta * at->J + (long double)by->theta * at->d[by->t];
    const double error = 1e-15 * (by->zeta * self->size + fabs(by->theta)) / (1 - self->problem->gamma);
    assert_that(lower <= truth + error, "a bound of %.17g, attained %.17Lg", lower, truth);
}

/* One box with its bounds. Returns how many were within a millionth of what the kernel of the box attains. */
static int attack_box(const arena *self, const member *at, double tau, int number,
                      nadir_occupancy_bounds *box)
{
    const int64_t n = self->problem->states;
    double *k = test_new(n, sizeof *k);
    double *v = test_new(n, sizeof *v);
    nadir_two_sided by = {.k = k, .v = v};
    double lower;
    int tight = 0;
    draw(self, at, tau, number, &by, k);
    if (number % 3 == 0) {
        make_sharp_box(at, &by, box);
        make_parts(self, at, number % 2 == 0 ? 0 : 1, box);
    } else {
        make_box(self, at, box);
    }
    find_v(self, box, &by, v);
    assert_ok(self->context,
              nadir_two_sided_bound(self->context, self->problem, self->radius, box, &by, &lower));
    assert_below(self, &by, lower, at);
    const double scale = (by.zeta * self->size + fabs(by.theta)) / (1 - self->problem->gamma);
    tight += (double)(by.zeta * at->J + by.theta * at->d[by.t]) - lower < 1e-6 * scale;
    for (int i = 0; i < KERNELS; i++) {
        member other = random_member(self);
        member near = between(self, at, &other, pow(10, -3 * nadir_random_uniform(self->random)));
        if (is_within(self, box, &near)) {
            assert_below(self, &by, lower, &near);
        }
        member_clear(&near);
        member_clear(&other);
    }
    /* any v proves something, and no more */
    for (int64_t s = 0; s < n; s++) {
        v[s] += 0.01 * (1 + fabs(v[s])) * nadir_random_normal(self->random);
    }
    assert_ok(self->context,
              nadir_two_sided_bound(self->context, self->problem, self->radius, box, &by, &lower));
    assert_below(self, &by, lower, at);
    free(k);
    free(v);
    return tight;
}

static void test_attacked(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    int bounds = 0;
    int tight = 0;
    for (int number = 0; number < test_attack_count(CASES); number++) {
        arena self;
        double tau;
        nadir_occupancy_bounds box = {0};
        arena_make(&self, context, &random, number);
        assert_ok(context, nadir_occupancy_bounds_make(context, self.problem, &box));
        member worst = found_member(&self, &tau);
        for (int i = 0; i < BOUNDS; i++) {
            member other = random_member(&self);
            const member *at = i < BOUNDS / 2 ? &worst : &other;
            const double price =
                i < BOUNDS / 2 && isfinite(tau) ? tau : self.size * nadir_random_exponential(&random);
            tight += attack_box(&self, at, price, i, &box);
            bounds++;
            member_clear(&other);
        }
        member_clear(&worst);
        nadir_occupancy_bounds_clear(context, &box);
        arena_clear(&self);
    }
    assert_that(bounds < 1000 || tight * 10 >= bounds, "%d of %d bounds are tight", tight, bounds);
}

/* Numbers that are no multipliers prove nothing. */
static void test_wrong(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    arena self;
    nadir_occupancy_bounds box = {0};
    arena_make(&self, context, &random, 0);
    assert_ok(context, nadir_occupancy_bounds_make(context, self.problem, &box));
    const int64_t n = self.problem->states;
    double *k = test_new(n, sizeof *k);
    double *v = test_new(n, sizeof *v);
    const nadir_two_sided right = {.zeta = 1, .tau = 1, .k = k, .v = v};
    for (int which = 0; which < 9; which++) {
        nadir_two_sided by = right;
        double lower = 0;
        k[0] = which == 6 ? -1 : 0;
        v[0] = which == 7 ? NAN : 0;
        by.zeta = which == 0 ? -0.1 : which == 1 ? 1.1 : which == 2 ? NAN : 1;
        by.tau = which == 3 ? -1 : which == 4 ? INFINITY : 1;
        by.t = which == 5 ? n : 0;
        by.theta = which == 8 ? INFINITY : 0;
        assert_ok(context, nadir_two_sided_bound(context, self.problem, self.radius, &box, &by, &lower));
        assert_true(lower == -INFINITY);
    }
    free(k);
    free(v);
    nadir_occupancy_bounds_clear(context, &box);
    arena_clear(&self);
}

/* ------------------------------------------------------------------------------ boxes of a derivation */

enum { MEMBERS = 14, STEPS_OF_BOXES = 24 };

typedef struct siege {
    const arena *in;
    nadir_derivation made;
    nadir_certificate proof;
    member members[MEMBERS];
    bool left[MEMBERS]; /* in a box that is done */
    double tau, room;   /* of occupancies */
} siege;

static bool is_in(const siege *self, const double *low, const double *high, const double *least,
                  const member *at)
{
    bool within = has_part(self->in, self->in->problem->states, least, at);
    for (int64_t s = 0; s < self->in->problem->states; s++) {
        within = within && at->d[s] >= low[s] - self->room && at->d[s] <= high[s] + self->room;
    }
    return within;
}

/* Every kernel below the level is in a box that is open, or in one that is done and shown to return no less. */
static void check_siege(siege *self, const char *what)
{
    const nadir_derivation *made = &self->made;
    const int64_t n = self->in->problem->states;
    const double off = 1e-13 * self->in->size / (1 - self->in->problem->gamma);
    for (int i = 0; i < MEMBERS; i++) {
        const member *at = &self->members[i];
        const double J = (double)at->J;
        assert_that(self->proof.lower <= J + off, "%s: %.17g is shown, %.17g returned", what,
                    self->proof.lower, J);
        if (!made->begun || !(J < made->level - off)) {
            continue;
        }
        const bool here = is_in(self, made->below.low, made->below.high, made->below.least, at);
        bool somewhere = here && !made->below.empty;
        for (int64_t k = 0; k < made->open_count; k++) {
            const double *box = made->open + k * (4 * n + 1);
            somewhere = somewhere || is_in(self, box, box + n, box + 2 * n, at);
        }
        assert_that(somewhere || (self->left[i] && made->tree_lower <= J + off), "%s: kernel %d is in no box",
                    what, i);
        assert_that(!here || self->left[i] || made->below.empty || made->box_lower <= J + off,
                    "%s: %.17g is shown of its box, kernel %d returns %.17g", what, made->box_lower, i, J);
    }
}

/* One end of a range, or a bound on returns, from numbers that suit one of the kernels. */
static void narrow(siege *self, int number)
{
    const arena *in = self->in;
    nadir_random *random = in->random;
    const int64_t n = in->problem->states;
    const member *at = &self->members[nadir_random_below(random, MEMBERS)];
    double *k = test_new(n, sizeof *k);
    double *v = test_new(n, sizeof *v);
    nadir_two_sided by = {.k = k, .v = v};
    draw(in, at, self->tau, number, &by, k);
    find_v(in, &self->made.below, &by, v);
    const int kind = (int)nadir_random_below(random, 3);
    const double end = kind == 0 ? NAN : kind == 1 ? at->d[by.t] : INFINITY * (by.theta < 0 ? -1 : 1);
    assert_ok(in->context, nadir_derivation_narrow(in->context, &self->made, &by, end));
    free(k);
    free(v);
}

/* A box that is wider by itself, or that of one of the kernels, forged: no end moves inwards. */
static void widen(siege *self)
{
    const arena *in = self->in;
    const int64_t n = in->problem->states;
    const member *at = &self->members[nadir_random_below(in->random, MEMBERS)];
    const bool forged = nadir_random_below(in->random, 2) == 0;
    double *box = test_new(2 * n, sizeof *box);
    memcpy(box, at->d, (size_t)n * sizeof *box);
    memcpy(box + n, at->d, (size_t)n * sizeof *box);
    assert_ok(in->context, nadir_derivation_box(in->context, &self->made, forged ? box : NULL));
    free(box);
}

static void split(siege *self)
{
    const arena *in = self->in;
    const nadir_occupancy_bounds *below = &self->made.below;
    const int64_t s = (int64_t)nadir_random_below(in->random, (uint64_t)in->problem->states);
    const double at = self->members[nadir_random_below(in->random, MEMBERS)].d[s];
    if (at > below->low[s] && at < below->high[s]) {
        assert_ok(in->context, nadir_derivation_split(in->context, &self->made, s, at));
    }
}

/* At the part of the ball that one of the kernels spends in a state, or near it. */
static void divide(siege *self)
{
    const arena *in = self->in;
    const int64_t s = (int64_t)nadir_random_below(in->random, (uint64_t)in->problem->states);
    const double blur = nadir_random_below(in->random, 2) == 0 ? 0 : 0.5;
    const double at = self->members[nadir_random_below(in->random, MEMBERS)].x[s] *
                      exp(blur * nadir_random_normal(in->random));
    if (at > 0) {
        assert_ok(in->context, nadir_derivation_divide(in->context, &self->made, s, at));
    }
}

/* The kernels of this box that are in no other go with it. */
static void go_on(siege *self)
{
    for (int i = 0; i < MEMBERS && self->made.split; i++) {
        self->left[i] = self->left[i] || is_in(self, self->made.below.low, self->made.below.high,
                                               self->made.below.least, &self->members[i]);
    }
    if (self->made.split) {
        assert_ok(self->in->context, nadir_derivation_next(self->in->context, &self->made));
    }
}

static void lay_siege(const arena *in)
{
    nadir_context *context = in->context;
    siege self = {.in = in};
    nadir_candidate none = {.tau = 1};
    self.members[0] = found_member(in, &self.tau);
    self.tau = isfinite(self.tau) ? self.tau : in->size;
    for (int i = 1; i < MEMBERS; i++) {
        self.members[i] = random_member(in);
    }
    assert_ok(context,
              nadir_derivation_make(context, in->problem, in->radius, &none, NULL, &self.proof, &self.made));
    self.room = 1e-13 * self.made.set.total;
    const double J = (double)self.members[nadir_random_below(in->random, MEMBERS)].J;
    const double worst = (double)self.members[0].J;
    const double step = nadir_random_normal(in->random) * fabs(J - worst);
    const bool low = nadir_random_below(in->random, 2) == 0; /* so that many boxes are empty */
    assert_ok(context, nadir_derivation_set_level(context, &self.made,
                                                  low ? worst + 0.02 * fabs(step) : J + 0.1 * step));
    for (int i = 0; i < STEPS_OF_BOXES && self.made.begun; i++) {
        switch (nadir_random_below(in->random, 10)) {
        case 0:
            split(&self);
            check_siege(&self, "split");
            break;
        case 1:
            go_on(&self);
            check_siege(&self, "next");
            break;
        case 2:
            assert_ok(context, nadir_derivation_conclude(context, &self.made));
            check_siege(&self, "conclude");
            break;
        case 3: /* a level that is higher is not taken */
            assert_ok(context, self.made.split ? NADIR_OK
                                               : nadir_derivation_set_level(
                                                     context, &self.made,
                                                     J + nadir_random_normal(in->random) * fabs(J - worst)));
            check_siege(&self, "level");
            break;
        case 5:
            divide(&self);
            check_siege(&self, "divide");
            break;
        case 4:
            widen(&self);
            check_siege(&self, "box");
            break;
        default:
            narrow(&self, i);
            check_siege(&self, "narrow");
        }
    }
    while (self.made.split) {
        go_on(&self);
        check_siege(&self, "last boxes");
    }
    for (int i = 0; i < MEMBERS; i++) {
        member_clear(&self.members[i]);
    }
    nadir_derivation_clear(context, &self.made);
    nadir_certificate_clear(context, &self.proof);
}

static void test_boxes(void **state)
{
    nadir_random random = test_random(SEED + 1);
    for (int number = 0; number < test_attack_count(2 * CASES); number++) {
        arena self;
        arena_make(&self, *state, &random, number);
        lay_siege(&self);
        arena_clear(&self);
    }
}

/* A level that is not a number, from a forged value of P*, shows nothing of what comes after it. */
static void test_no_level(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    arena self;
    nadir_candidate found = {0};
    double steps[512];
    arena_make(&self, context, &random, 0);
    const int64_t n = self.problem->states;
    assert_ok(context, nadir_frank_wolfe_run(context, self.problem, self.radius, NULL, 1e-13, 500, &found));
    for (int kind = 0; kind < 4; kind++) {
        nadir_derivation made = {0};
        nadir_certificate proof = {0};
        int64_t count = 0;
        steps[count++] = NADIR_STEP_POINT;
        for (int64_t i = 0; i < 2 * n; i++) {
            steps[count++] =
                i >= n ? 1 : (kind % 2 == 0 && i % 2 == 0 ? -1 : 1) * (kind < 2 ? DBL_MAX : 1e300);
        }
        steps[count++] = NADIR_STEP_EXPAND;
        steps[count++] = NADIR_STEP_TABULATE;
        steps[count++] = 0;
        steps[count++] = NADIR_STEP_BEGIN;
        steps[count++] = DBL_MAX;
        for (int64_t t = 0; t < n; t++) {
            const double numbers[] = {NADIR_STEP_NARROW, (double)t, -1, 0, 0, 0};
            memcpy(steps + count, numbers, sizeof numbers);
            count += 6;
            memset(steps + count, 0, (size_t)(2 * n) * sizeof *steps);
            count += 2 * n;
        }
        steps[count++] = NADIR_STEP_LAGRANGIAN_BELOW;
        steps[count++] = 0;
        memcpy(steps + count, self.problem->v, (size_t)n * sizeof *steps);
        count += n;
        assert_ok(context,
                  nadir_derivation_make(context, self.problem, self.radius, &found, NULL, &proof, &made));
        assert_ok(context, nadir_derivation_replay(context, &made, count, steps));
        assert_that(proof.lower <= found.J, "%.17g is shown, %.17g returned", proof.lower, found.J);
        nadir_derivation_clear(context, &made);
        nadir_certificate_clear(context, &proof);
    }
    nadir_candidate_clear(context, &found);
    arena_clear(&self);
}

/* kappa of one box is none of P*, until all boxes are done. */
static void test_kappa_of_boxes(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 4);
    int shown = 0;
    for (int number = 0; number < 40; number++) {
        arena self;
        nadir_candidate found = {0};
        arena_make(&self, context, &random, number % 2 == 0 ? 0 : 4); /* p = 2 */
        const int64_t n = self.problem->states;
        const double radius = 0.05 * self.radius;
        assert_ok(context, nadir_frank_wolfe_run(context, self.problem, radius, NULL, 1e-13, 500, &found));
        for (int64_t s = 0; s < n && found.tau > 0; s++) {
            nadir_derivation made = {0};
            nadir_certificate proof = {0};
            const double begin[] = {NADIR_STEP_EXPAND, NADIR_STEP_TABULATE, 0, NADIR_STEP_BEGIN, DBL_MAX};
            const double box[] = {NADIR_STEP_MEASURE, NADIR_STEP_PASS, NADIR_STEP_CONCLUDE};
            const double next[] = {NADIR_STEP_NEXT};
            assert_ok(context,
                      nadir_derivation_make(context, self.problem, radius, &found, NULL, &proof, &made));
            assert_ok(context, nadir_derivation_replay(context, &made, 5, begin));
            const double at = 0.5 * (made.below.low[s] + made.below.high[s]);
            const double split[] = {NADIR_STEP_SPLIT, (double)s, at};
            if (at > made.below.low[s] && at < made.below.high[s]) {
                assert_ok(context, nadir_derivation_replay(context, &made, 3, split));
                assert_ok(context, nadir_derivation_replay(context, &made, 3, box));
                assert_true(isnan(proof.kappa) && proof.lower == -INFINITY);
                const bool first = made.kappa <= 0.5 || made.below.empty;
                assert_ok(context, nadir_derivation_replay(context, &made, 1, next));
                assert_ok(context, nadir_derivation_replay(context, &made, 3, box));
                assert_true(isnan(proof.kappa));
                const bool second = made.kappa <= 0.5 || made.below.empty;
                assert_ok(context, nadir_derivation_replay(context, &made, 1, next));
                assert_int_equal(proof.lower == made.level, first && second);
                assert_true(first && second ? !(proof.kappa > 0.5) : isnan(proof.kappa));
                shown += proof.kappa <= 0.5;
            }
            nadir_derivation_clear(context, &made);
            nadir_certificate_clear(context, &proof);
        }
        nadir_candidate_clear(context, &found);
        arena_clear(&self);
    }
    assert_true(shown > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_kappa_of_boxes), test_with_context(test_attacked),
        test_with_context(test_wrong),          test_with_context(test_boxes),
        test_with_context(test_no_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
