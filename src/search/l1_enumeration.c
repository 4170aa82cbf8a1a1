/*
 * l1_enumeration.c: the worst kernel of the non-rectangular L_1 ball on the free domain; see free_search.h.
 *
 * With q = infinity F(lambda) = max over |c|_1 <= beta of halfrange(E_lambda c) is reached at a corner c =
 * beta e_s, so that the penalty is the largest of the roots lambda_s of
 *
 *     gamma beta W_s halfrange(d_s v - lambda D e_s) = lambda.
 *
 * A bound H_s on halfrange(D e_s) bounds the root,
 *
 *     lambda_s <= gamma beta W_s d_s halfrange(v) / (1 - gamma beta W_s H_s).
 *
 * Columns are formed in the order of these bounds until the largest one left is below
 * the best root found. nadir_l1_reach gives the first H_s; where these leave many columns, D_ss <= (D 1_G)(s)
 * for s in G: one solve for all states of a group G.
 */
#include "search/free_search.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "proof/free_bounds.h"

#include <math.h>
#include <string.h>

/* Columns formed at a time: few at first, as the best is often among them. Also the number of groups. */
enum { FIRST_BLOCK = 8, BLOCK = 32 };
/* Bounds are tightened by groups when more columns than this would be needed. */
enum { MANY = 2 * BLOCK };
/* Newton's method on halfrange, made of straight pieces, takes 2 to 4 steps. */
#define STEPS 100

/* One radius. */
typedef struct radius_search {
    double radius;
    double best;      /* the largest root found */
    int64_t state;    /* of the best root; -1: none */
    int64_t up, down; /* places of k = (e_up - e_down) / 2 */
} radius_search;

typedef struct search {
    nadir_context *context;
    const nadir_problem *problem;
    int64_t states;
    int64_t count;
    radius_search *targets; /* [count] */
    double *weight;         /* [states] gamma W */
    double *share;          /* [states] at least 1 - min_t D_ts / D_ss */
    double *reach;          /* [states] proven: halfrange(D e_s) is at most this */
    double *width;          /* [states] halfrange(D e_s), of columns that were formed; -1 otherwise */
    double *priority;       /* [states] the largest are formed next; -1: not wanted */
    double *columns;        /* [states * BLOCK] */
    int64_t block;          /* columns to form next time */
    int64_t solved;         /* right-hand sides so far */
    double averaging;       /* relative error of the entries of P^pi */
    double v_halfrange;     /* halfrange(v) */
    bool grouped;           /* bounds were tightened by groups */
    const radius_search *past_breakdown; /* a radius at or past breakdown; NULL: none found */
} search;

/* The ends of s v - x t g: [count] each. */
typedef struct ends {
    double width; /* halfrange */
    int64_t up, down;
} ends;

static ends find_ends(int64_t count, double s, const double *v, double t, const double *g)
{
    ends found = {0};
    double highest = -INFINITY;
    double lowest = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        const double z = s * v[i] - t * g[i];
        found.up = z > highest ? i : found.up;
        highest = z > highest ? z : highest;
        found.down = z < lowest ? i : found.down;
        lowest = z < lowest ? z : lowest;
    }
    found.width = highest / 2 - lowest / 2;
    return found;
}

/* A bound on lambda_s: of the numbers as they are, or proven, errors of v and d and rounding included. */
static double bound_root(const search *self, const radius_search *current, int64_t s, bool proven)
{
    const nadir_problem *problem = self->problem;
    const double gamma_beta_W = self->weight[s] * current->radius;
    const double slope_low = nadir_round_below(1 - nadir_round_up(gamma_beta_W * self->reach[s], 8), 1, 2);
    if (gamma_beta_W == 0) {
        return 0;
    }
    if (!(slope_low > 0)) {
        return INFINITY;
    }
    const double d = fmax(0, problem->d[s]) + (proven ? problem->d_error : 0);
    const double v_halfrange = self->v_halfrange + (proven ? problem->v_error : 0);
    return gamma_beta_W * d * v_halfrange / slope_low * (proven ? 1 + nadir_round_error(32) : 1);
}

/* The root of a column at one radius. */
static void try_column(const search *self, radius_search *current, int64_t s, const double *column)
{
    const nadir_problem *problem = self->problem;
    const double gamma_beta_W = self->weight[s] * current->radius;
    if (bound_root(self, current, s, true) <= current->best) {
        return;
    }
    const double d = problem->d[s]; /* may be below 0 by rounding */
    double x = 0;
    ends z = find_ends(self->states, gamma_beta_W * d, problem->v, 0, column);
    for (int step = 0; step < STEPS; step++) {
        const double denominator = 1 + gamma_beta_W * (column[z.up] - column[z.down]) / 2;
        const double next = x + (z.width - x) / denominator;
        if (!(next > nadir_round_up(x, 4))) {
            break;
        }
        x = next;
        z = find_ends(self->states, gamma_beta_W * d, problem->v, x * gamma_beta_W, column);
    }
    if (x > current->best) {
        current->best = x;
        current->state = s;
        current->up = z.up;
        current->down = z.down;
    }
}

/* D B for the `count` right-hand sides in `columns`; *error: of every entry. */
static nadir_status solve_columns(search *self, int64_t count, double *error)
{
    nadir_occupancy *occupancy = self->problem->occupancy;
    const double gap = self->problem->gamma < 1
                           ? 1 - self->problem->gamma * nadir_occupancy_average(occupancy)->norm
                           : nadir_occupancy_gap(occupancy);
    nadir_accuracy accuracy;
    NADIR_TRY(nadir_progress(self->context, "solving for columns", -1));
    NADIR_TRY(
        nadir_occupancy_solve(self->context, occupancy, count, self->columns, self->columns, &accuracy));
    self->solved += count;
    const double size = nadir_vector_largest(count * self->states, self->columns);
    *error = accuracy.error_bound + (self->averaging + nadir_round_error(2)) * size / gap;
    return NADIR_OK;
}

/* States of the largest priorities, largest first, at most `block` of them; returns how many are above -1. */
static int64_t choose(const search *self, int64_t places[BLOCK])
{
    int64_t chosen = 0;
    double least = -1; /* what a priority must exceed */
    for (int64_t s = 0; s < self->states; s++) {
        if (self->priority[s] <= least) {
            continue;
        }
        chosen += chosen == 0 || chosen < self->block;
        int64_t to = chosen - 1;
        for (; to > 0 && self->priority[places[to - 1]] < self->priority[s]; to--) {
            places[to] = places[to - 1];
        }
        places[to] = s;
        least = chosen == self->block ? self->priority[places[chosen - 1]] : -1;
    }
    return chosen;
}

/* Forms the columns with the largest priorities and tries every radius with them. */
static nadir_status form_columns(search *self)
{
    const int64_t n = self->states;
    int64_t places[BLOCK];
    double error;
    const int64_t chosen = choose(self, places);
    memset(self->columns, 0, (size_t)(chosen * n) * sizeof *self->columns);
    for (int64_t j = 0; j < chosen; j++) {
        self->columns[j * n + places[j]] = 1;
    }
    NADIR_TRY(solve_columns(self, chosen, &error));
    self->block = self->block < BLOCK ? 2 * self->block : BLOCK;
    for (int64_t j = 0; j < chosen; j++) {
        const int64_t s = places[j];
        const double *column = self->columns + j * n;
        self->width[s] = find_ends(n, 0, self->problem->v, 1, column).width;
        self->reach[s] = fmin(self->reach[s], nadir_round_up(self->width[s] + error, 4));
        for (int64_t i = 0; i < self->count; i++) {
            if (isinf(bound_root(self, &self->targets[i], s, true))) {
                self->past_breakdown = &self->targets[i];
                continue;
            }
            try_column(self, &self->targets[i], s, column);
        }
    }
    return NADIR_OK;
}

/* D_ss <= (D 1_G)(s), G the states that leave the same rest when divided by BLOCK. */
static nadir_status tighten_by_groups(search *self)
{
    const int64_t n = self->states;
    double error;
    memset(self->columns, 0, (size_t)(BLOCK * n) * sizeof *self->columns);
    for (int64_t s = 0; s < n; s++) {
        self->columns[s % BLOCK * n + s] = 1;
    }
    NADIR_TRY(solve_columns(self, BLOCK, &error));
    for (int64_t s = 0; s < n; s++) {
        const double sum = self->columns[s % BLOCK * n + s];
        self->reach[s] = fmin(self->reach[s], nadir_round_up((sum + error) / 2 * self->share[s], 8));
    }
    self->grouped = true;
    return NADIR_OK;
}

/* The next columns, or better bounds where after the first columns too many are `wanted`. */
static nadir_status solve_more(search *self, int64_t wanted)
{
    if (wanted == 0) {
        return NADIR_OK;
    }
    const bool many = wanted > MANY && self->solved > 0;
    return many && !self->grouped ? tighten_by_groups(self) : form_columns(self);
}

/* Columns until no bound on another root is above the best root. */
static nadir_status enumerate_roots(search *self, const radius_search *current)
{
    int64_t wanted = 1;
    while (wanted > 0 && self->past_breakdown == NULL) {
        wanted = 0;
        for (int64_t s = 0; s < self->states; s++) {
            const double bound = self->width[s] < 0 ? bound_root(self, current, s, false) : 0;
            self->priority[s] = bound > current->best ? bound : -1;
            wanted += self->priority[s] > 0;
        }
        NADIR_TRY(solve_more(self, wanted));
    }
    return NADIR_OK;
}

/* Columns until none left can be wider, with its weight, than the widest. *widest: max_s gamma W_s
 * halfrange(D e_s). */
static nadir_status enumerate_breakdown(search *self, double *widest)
{
    int64_t wanted = 1;
    while (wanted > 0) {
        *widest = 0;
        wanted = 0;
        for (int64_t s = 0; s < self->states; s++) {
            *widest = fmax(*widest, self->weight[s] * self->width[s]);
        }
        for (int64_t s = 0; s < self->states; s++) {
            const double bound = self->width[s] < 0 ? self->weight[s] * self->reach[s] : 0;
            self->priority[s] = bound > *widest ? bound : -1;
            wanted += self->priority[s] > 0;
        }
        NADIR_TRY(solve_more(self, wanted));
    }
    return NADIR_OK;
}

static nadir_status refuse(search *self)
{
    double widest;
    const double radius = self->past_breakdown->radius;
    NADIR_TRY(enumerate_breakdown(self, &widest));
    return nadir_fail(self->context, NADIR_ERROR_ILL_POSED,
                      "the radius %.10g is at or past breakdown, %.10g, where a kernel of the ball makes I "
                      "- gamma P singular; choose a smaller radius",
                      radius, 1 / widest);
}

static nadir_status start(search *self, const double *radii)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = self->states;
    NADIR_NEW(context, self->targets, self->count);
    NADIR_NEW(context, self->weight, n);
    NADIR_NEW(context, self->share, n);
    NADIR_NEW(context, self->reach, n);
    NADIR_NEW(context, self->width, n);
    NADIR_NEW(context, self->priority, n);
    NADIR_NEW(context, self->columns, n * BLOCK);
    for (int64_t i = 0; i < self->count; i++) {
        self->targets[i] = (radius_search){.radius = radii[i], .state = -1};
    }
    self->block = FIRST_BLOCK;
    self->averaging = nadir_round_error((double)(nadir_model_most_actions(problem->model) + 2));
    self->v_halfrange = find_ends(n, 1, problem->v, 0, problem->v).width;
    NADIR_CHECK(nadir_l1_reach(context, problem, self->columns, self->share, self->reach));
    for (int64_t s = 0; s < n; s++) {
        self->weight[s] = problem->gamma * problem->uncertainty->W[s];
        self->width[s] = -1;
    }
cleanup:
    return status;
}

/* The kernels of targets first .. first + count - 1, their systems solved together. */
static nadir_status make_candidates(search *self, int64_t first, int64_t count, nadir_candidate *candidates)
{
    const int64_t n = self->states;
    const double *W = self->problem->uncertainty->W;
    double *c = self->priority;
    double *k = self->width;
    double error;
    memset(self->columns, 0, (size_t)(count * n) * sizeof *self->columns);
    for (int64_t j = 0; j < count; j++) {
        const radius_search *current = &self->targets[first + j];
        if (current->state >= 0) {
            self->columns[j * n + current->state] = W[current->state] * current->radius;
        }
    }
    NADIR_TRY(solve_columns(self, count, &error));
    for (int64_t j = 0; j < count; j++) {
        const radius_search *current = &self->targets[first + j];
        nadir_candidate *candidate = &candidates[first + j];
        memset(c, 0, (size_t)n * sizeof *c);
        memset(k, 0, (size_t)n * sizeof *k);
        if (current->state >= 0) {
            c[current->state] = current->radius;
            k[current->up] += 0.5;
            k[current->down] -= 0.5;
        }
        NADIR_TRY(nadir_rank_one_candidate_known(self->context, self->problem, current->radius, c, k,
                                                 self->columns + j * n, candidate));
        NADIR_TRY(nadir_rank_one_candidate_kernel(self->context, self->problem, candidate));
        candidate->method = "enumeration";
        candidate->stop = NADIR_STOP_TOLERANCE;
        candidate->converged = true;
        candidate->iterations = self->solved;
    }
    return NADIR_OK;
}

/* The bounds that were proven, those of columns that were not formed included. */
static void set_bounds(const search *self, nadir_l1_enumeration_bounds *bounds)
{
    double most = 0;
    for (int64_t s = 0; s < self->states; s++) {
        most = fmax(most, self->weight[s] * self->reach[s]);
    }
    *bounds = (nadir_l1_enumeration_bounds){1 / nadir_round_up(most, 8), self->solved};
}

nadir_status nadir_l1_enumeration_solve(nadir_context *context, const nadir_problem *problem, bool exact,
                                        int64_t count, const double *radii, nadir_candidate *candidates,
                                        nadir_l1_enumeration_bounds *bounds)
{
    nadir_status status = NADIR_OK;
    search self = {.context = context, .problem = problem, .states = problem->states, .count = count};
    double widest;
    int64_t made = 0;
    NADIR_CHECK(start(&self, radii));
    for (int64_t i = 0; i < count && self.past_breakdown == NULL; i++) {
        NADIR_CHECK(enumerate_roots(&self, &self.targets[i]));
    }
    if (self.past_breakdown != NULL) {
        NADIR_CHECK(refuse(&self));
    }
    if (exact) {
        NADIR_CHECK(enumerate_breakdown(&self, &widest));
    }
    set_bounds(&self, bounds);
    for (; made < count; made += BLOCK) {
        NADIR_CHECK(make_candidates(&self, made, count - made < BLOCK ? count - made : BLOCK, candidates));
    }
cleanup:
    for (int64_t i = 0; status != NADIR_OK && i < count; i++) {
        nadir_candidate_clear(context, &candidates[i]);
    }
    nadir_release(context, self.targets);
    nadir_release(context, self.weight);
    nadir_release(context, self.share);
    nadir_release(context, self.reach);
    nadir_release(context, self.width);
    nadir_release(context, self.priority);
    nadir_release(context, self.columns);
    return status;
}
