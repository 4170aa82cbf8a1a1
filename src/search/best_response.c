/*
 * best_response.c: the worst kernel found for the L_p ball on the free domain; see free_search.h.
 *
 * With c fixed, g = D W c, the best k and its penalty come from one scalar equation, and so do the best c and
 * its penalty with k fixed, y = D^T k (free_search.h):
 *
 *     x = sigma_q(gamma (d . W c) v - x gamma g),        x = |gamma beta (k . v) W d - x gamma beta W y|_q
 *
 * Each sweep solves both: one system and one transposed system for each chain, which has a start of its own; the
 * systems of all chains are solved together. The penalty cannot fall. Since g is linear in c, any
 * point on the line through the last two c costs no solve: the last step is extrapolated for as long as that
 * pays, which is what makes radii near breakdown affordable. The error of the penalty is the square of that
 * of c and k, so y need be known only roughly.
 */
#include "search/free_search.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/gstd.h"
#include "linalg/matrix.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* Of starts, at most and below p = 2. */
enum { STARTS = 8, STARTS_BELOW_TWO = 5 };
/* Vectors that a chain keeps: c, g, k, and c and g of the sweep before. */
enum { KEPT = 5 };
/* The rate of a chain is not known before these sweeps. */
enum { EARLY = 2 };
/* Steps are extrapolated from this rate on: below it plain steps are fast enough. */
#define SLOW 0.05
/* Chains whose c are this close, relative to the largest entry, with equal penalties, have merged. */
#define CLOSE 1e-3
#define EQUAL 1e-7
/* A chain is dropped when this many times what it may still rise would not reach the best. */
#define BEATEN 10
/* Rounding of the solves leaves no more than this of the penalty. */
#define LEAST_TOLERANCE 1e-13

typedef struct chain {
    double lambda;        /* what (c, k) attains */
    double rise;          /* of lambda in the last sweep */
    double rate;          /* of rise to the one before */
    double left;          /* what lambda may still rise, at that rate */
    double extrapolation; /* of the last step that was tried */
    int64_t sweeps;
    bool over; /* converged, merged with another, or dropped */
    bool converged;
    double *c, *g, *k, *c_before, *g_before; /* [states] */
} chain;

typedef struct search {
    nadir_context *context;
    const nadir_problem *problem;
    int64_t states;
    double q;
    double radius;
    double tolerance;
    double scale;  /* gamma |W d|_q max |v|: penalties below its rounding, times beta, are none */
    double *Wd;    /* [states] */
    double *seeds; /* [STARTS * states] c of each start, |c|_p = 1 */
    int64_t starts;
    chain chains[STARTS]; /* [starts] */
    double *kept;         /* [KEPT * states] of each chain */
    double *in;           /* [STARTS * states] right-hand sides */
    double *out;          /* [STARTS * states] */
    double *trial;        /* [4 * states] c, g, k of an extrapolated step; work */
} search;

static nadir_status refuse(const search *self, double feedback)
{
    return nadir_fail(
        self->context, NADIR_ERROR_ILL_POSED,
        "the radius %.10g is at or past breakdown, which is %.10g or less, where a kernel of the "
        "ball makes I - gamma P singular; choose a smaller radius",
        self->radius, -self->radius / feedback);
}

/* The best k for c, with g = D W c. */
static nadir_status find_k(const search *self, const double *c, const double *g, double start, double *k,
                           double *lambda)
{
    const nadir_problem *problem = self->problem;
    const nadir_scalar_newton equation = {
        .first = nadir_model_first(problem->model),
        .count = self->states,
        .a = problem->v,
        .b = g,
        .s = problem->gamma * nadir_blocks_dot(self->context, self->states, self->Wd, c),
        .t = problem->gamma,
        .q = self->q,
        .centred = true,
    };
    NADIR_TRY(nadir_scalar_newton_solve(self->context, &equation, start, self->trial + 3 * self->states, k,
                                        lambda));
    return isinf(*lambda) ? refuse(self, problem->gamma * nadir_blocks_dot(self->context, self->states, k, g))
                          : NADIR_OK;
}

/* The best c for k, with W y = W D^T k. */
static nadir_status find_c(const search *self, chain *current, const double *Wy)
{
    const nadir_problem *problem = self->problem;
    const double push = problem->gamma * self->radius;
    const nadir_scalar_newton equation = {
        .first = nadir_model_first(problem->model),
        .count = self->states,
        .a = self->Wd,
        .b = Wy,
        .s = push * nadir_blocks_dot(self->context, self->states, current->k, problem->v),
        .t = push,
        .q = self->q,
    };
    double lambda;
    NADIR_TRY(nadir_scalar_newton_solve(self->context, &equation, current->lambda,
                                        self->trial + 3 * self->states, current->c, &lambda));
    if (isinf(lambda)) {
        return refuse(self, push * nadir_blocks_dot(self->context, self->states, current->c, Wy));
    }
    for (int64_t s = 0; s < self->states; s++) {
        current->c[s] *= self->radius;
    }
    return NADIR_OK;
}

/* c beyond the last step, on the same sphere, and k for it; taken where the penalty rises. */
static nadir_status extrapolate(const search *self, chain *current)
{
    const int64_t n = self->states;
    double *c = self->trial;
    double *g = c + n;
    double *k = g + n;
    double norm;
    double lambda;
    for (int64_t s = 0; s < n; s++) {
        c[s] = current->c[s] + current->extrapolation * (current->c[s] - current->c_before[s]);
        g[s] = current->g[s] + current->extrapolation * (current->g[s] - current->g_before[s]);
    }
    NADIR_TRY(nadir_norm_p(self->context, n, c, self->problem->uncertainty->p, &norm));
    if (!(norm > 0)) {
        current->extrapolation /= 2;
        return NADIR_OK;
    }
    nadir_blocks_scale(self->context, n, self->radius / norm, c, c);
    nadir_blocks_scale(self->context, n, self->radius / norm, g, g);
    NADIR_TRY(find_k(self, c, g, current->lambda, k, &lambda));
    if (lambda > current->lambda) {
        memcpy(current->c, c, (size_t)n * sizeof *c);
        memcpy(current->g, g, (size_t)n * sizeof *g);
        memcpy(current->k, k, (size_t)n * sizeof *k);
        current->lambda = lambda;
        current->extrapolation *= 2;
    } else {
        current->extrapolation = fmax(0.5, current->extrapolation / 2);
    }
    return NADIR_OK;
}

/* g of every chain that is not over, then its k. Extrapolated g are sums over steps, so they are
 * solved for more accurately than the penalty is wanted. */
static nadir_status respond_with_k(search *self)
{
    const int64_t n = self->states;
    const double *W = self->problem->uncertainty->W;
    int64_t active = 0;
    for (int64_t i = 0; i < self->starts; i++) {
        const chain *current = &self->chains[i];
        for (int64_t s = 0; !current->over && s < n; s++) {
            self->in[active * n + s] = W[s] * current->c[s];
        }
        active += !current->over;
    }
    NADIR_TRY(nadir_occupancy_solve_roughly(self->context, self->problem->occupancy, false, active, self->in,
                                            0.01 * self->tolerance, self->out));
    active = 0;
    for (int64_t i = 0; i < self->starts; i++) {
        chain *current = &self->chains[i];
        if (current->over) {
            continue;
        }
        const double before = current->lambda;
        const double rise = current->rise;
        memcpy(current->g, self->out + active++ * n, (size_t)n * sizeof *current->g);
        NADIR_TRY(find_k(self, current->c, current->g, before, current->k, &current->lambda));
        if (current->sweeps > EARLY && current->rate > SLOW) {
            NADIR_TRY(extrapolate(self, current));
        }
        current->rise = fmax(0, current->lambda - before);
        /* extrapolated steps rise unevenly: old rates decay slowly */
        current->rate = fmin(0.999, fmax(rise > 0 ? current->rise / rise : 0,
                                         current->sweeps > EARLY ? current->rate / 2 : 0));
        current->left = current->rise * fmax(current->rate, 0.1) / (1 - current->rate);
        current->sweeps++;
    }
    return NADIR_OK;
}

/* y of every chain that is not over, then its c. */
static nadir_status respond_with_c(search *self)
{
    const int64_t n = self->states;
    const double *W = self->problem->uncertainty->W;
    int64_t active = 0;
    for (int64_t i = 0; i < self->starts; i++) {
        if (!self->chains[i].over) {
            memcpy(self->in + active++ * n, self->chains[i].k, (size_t)n * sizeof *self->in);
        }
    }
    if (active == 0) {
        return NADIR_OK;
    }
    NADIR_TRY(nadir_occupancy_solve_roughly(self->context, self->problem->occupancy, true, active, self->in,
                                            0.01 * sqrt(self->tolerance), self->out));
    active = 0;
    for (int64_t i = 0; i < self->starts; i++) {
        chain *current = &self->chains[i];
        if (current->over) {
            continue;
        }
        double *y = self->out + active++ * n;
        for (int64_t s = 0; s < n; s++) {
            y[s] *= W[s];
        }
        memcpy(current->c_before, current->c, (size_t)n * sizeof *current->c);
        memcpy(current->g_before, current->g, (size_t)n * sizeof *current->g);
        NADIR_TRY(find_c(self, current, y));
    }
    return NADIR_OK;
}

/* The chain with the largest penalty, the first among equals. */
static const chain *find_best(const search *self)
{
    const chain *best = self->chains;
    for (int64_t i = 1; i < self->starts; i++) {
        best = self->chains[i].lambda > best->lambda ? &self->chains[i] : best;
    }
    return best;
}

/* Whether both have reached the same kernel: (c, k) and (-c, -k) are one. */
static bool have_merged(const search *self, const chain *a, const chain *b)
{
    if (!(fabs(a->lambda - b->lambda) <= EQUAL * fabs(b->lambda))) {
        return false;
    }
    const double size = nadir_global_largest(self->context, self->states, b->c);
    double same = 0;
    double opposite = 0;
    for (int64_t s = 0; s < self->states; s++) {
        same = fmax(same, fabs(a->c[s] - b->c[s]));
        opposite = fmax(opposite, fabs(a->c[s] + b->c[s]));
    }
    same = nadir_allreduce_maximum(self->context, same);
    opposite = nadir_allreduce_maximum(self->context, opposite);
    return fmin(same, opposite) <= CLOSE * size;
}

/* Marks the chains that are over; returns whether all are. */
static bool close_chains(search *self)
{
    bool all = true;
    for (int64_t i = 0; i < self->starts; i++) {
        chain *current = &self->chains[i];
        const chain *best = find_best(self);
        const double floor = nadir_round_error(32) * self->radius * self->scale;
        const bool late = current->sweeps > EARLY;
        current->converged = late && current->left <= fmax(self->tolerance * current->lambda, floor);
        const bool beaten = late && current->lambda + BEATEN * current->left < best->lambda;
        current->over = current->over || current->converged || beaten;
        if (current != best && have_merged(self, current, best)) {
            current->over = true;
            current->lambda = -INFINITY; /* rounding must not make it the best again */
        }
        all = all && current->over;
    }
    return all;
}

/* seed <- the c that goes with weights of the states: x, [states]. */
static nadir_status add_seed(search *self, const double *x)
{
    double norm;
    double *seed = self->seeds + self->starts * self->states;
    const nadir_status status = nadir_norm_dual(self->context, nadir_model_first(self->problem->model),
                                                self->states, x, self->q, seed, &norm);
    self->starts += norm > 0;
    return status;
}

/* The strongest states alone. x: [states] work */
static nadir_status add_single_states(search *self, double *x)
{
    const int64_t n = self->states;
    double *alone = self->trial;
    double norm;
    memcpy(x, self->Wd, (size_t)n * sizeof *x);
    while (self->starts < STARTS_BELOW_TWO) {
        NADIR_TRY(nadir_norm_dual(self->context, nadir_model_first(self->problem->model), n, x, INFINITY,
                                  alone, &norm));
        if (norm == 0) {
            break;
        }
        NADIR_TRY(add_seed(self, alone));
        for (int64_t s = 0; s < n; s++) {
            x[s] *= alone[s] == 0 ? 1 : 0;
        }
    }
    return NADIR_OK;
}

/* The same vector for any number of processes. */
static nadir_status add_random(search *self, nadir_random *random, double *x)
{
    const int64_t first = nadir_model_first(self->problem->model);
    const int64_t total = nadir_model_total(self->problem->model);
    for (int64_t t = 0; t < total; t++) {
        const double number = nadir_random_normal(random);
        if (t >= first && t < first + self->states) {
            x[t - first] = self->problem->uncertainty->W[t - first] * number;
        }
    }
    return add_seed(self, x);
}

/* The rank-one guess, x = W d; where k = u_q(v) feeds back most, x = W D^T k; a random one. Then, below p =
 * 2, where the adversary keeps to few states, the strongest ones; above, where it is the signs of c that make
 * local maxima, more random ones. (c, k) and (-c, -k) are one kernel: no start needs its negative. */
static nadir_status make_seeds(search *self)
{
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = self->states;
    double *k = self->trial;
    double *x = self->trial + n;
    nadir_gstd gstd;
    nadir_random random;
    NADIR_TRY(add_seed(self, self->Wd));
    if (self->starts == 0) { /* no state that counts can be changed */
        return NADIR_OK;
    }
    NADIR_TRY(
        nadir_gstd_compute(context, nadir_model_first(problem->model), n, problem->v, self->q, k, k, &gstd));
    NADIR_TRY(nadir_occupancy_solve_roughly(context, problem->occupancy, true, 1, k, 1e-3, x));
    for (int64_t s = 0; s < n; s++) {
        x[s] *= problem->uncertainty->W[s];
    }
    NADIR_TRY(add_seed(self, x));
    nadir_random_seed(&random, 0);
    NADIR_TRY(add_random(self, &random, x));
    if (problem->uncertainty->p < 2) {
        NADIR_TRY(add_single_states(self, x));
    }
    while (problem->uncertainty->p > 2 && self->starts < STARTS) {
        NADIR_TRY(add_random(self, &random, x));
    }
    return NADIR_OK;
}

static nadir_status start(search *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = self->states;
    double norm;
    NADIR_NEW(context, self->Wd, n);
    NADIR_NEW(context, self->seeds, STARTS * n);
    NADIR_NEW(context, self->trial, 4 * n);
    NADIR_NEW(context, self->kept, KEPT * STARTS * n);
    NADIR_NEW(context, self->in, STARTS * n);
    NADIR_NEW(context, self->out, STARTS * n);
    for (int64_t s = 0; s < n; s++) {
        self->Wd[s] = problem->uncertainty->W[s] * problem->d[s];
    }
    NADIR_CHECK(nadir_norm_p(context, n, self->Wd, self->q, &norm));
    self->scale = problem->gamma * norm * nadir_global_largest(context, n, problem->v);
    NADIR_CHECK(make_seeds(self));
cleanup:
    return status;
}

/* Chains from every start. */
static void start_chains(search *self)
{
    const int64_t n = self->states;
    for (int64_t j = 0; j < self->starts; j++) {
        double *kept = self->kept + j * KEPT * n;
        self->chains[j] = (chain){.rate = 1,
                                  .extrapolation = 1,
                                  .c = kept,
                                  .g = kept + n,
                                  .k = kept + 2 * n,
                                  .c_before = kept + 3 * n,
                                  .g_before = kept + 4 * n};
        for (int64_t s = 0; s < n; s++) {
            kept[s] = self->radius * self->seeds[j * n + s];
        }
    }
}

static nadir_status finish(search *self, nadir_candidate *candidate)
{
    const int64_t n = self->states;
    const bool none = self->starts == 0;
    const chain *best = find_best(self);
    if (none) {
        memset(self->trial, 0, (size_t)(2 * n) * sizeof *self->trial);
    }
    NADIR_TRY(nadir_rank_one_candidate(self->context, self->problem, self->radius,
                                       none ? self->trial : best->c, none ? self->trial + n : best->k,
                                       candidate));
    candidate->method = "best-response";
    candidate->converged = none || best->converged;
    candidate->stop = candidate->converged ? NADIR_STOP_TOLERANCE : NADIR_STOP_ITERATIONS;
    candidate->iterations = none ? 0 : best->sweeps;
    return NADIR_OK;
}

nadir_status nadir_best_response_solve(nadir_context *context, const nadir_problem *problem, double tolerance,
                                       int64_t iterations_limit, int64_t count, const double *radii,
                                       nadir_candidate *candidates)
{
    nadir_status status = NADIR_OK;
    search self = {.context = context,
                   .problem = problem,
                   .states = problem->states,
                   .q = problem->uncertainty->q,
                   .tolerance = fmax(tolerance, LEAST_TOLERANCE)};
    NADIR_CHECK(start(&self));
    for (int64_t i = 0; i < count; i++) {
        self.radius = radii[i];
        start_chains(&self);
        for (int64_t sweep = 0; (sweep == 0 || sweep < iterations_limit) && self.starts > 0; sweep++) {
            NADIR_CHECK(nadir_progress(context, "searching worst kernels", (double)i / (double)count));
            NADIR_CHECK(respond_with_k(&self));
            if (close_chains(&self)) {
                break;
            }
            NADIR_CHECK(respond_with_c(&self));
        }
        NADIR_CHECK(finish(&self, &candidates[i]));
    }
cleanup:
    for (int64_t i = 0; status != NADIR_OK && i < count; i++) {
        nadir_candidate_clear(context, &candidates[i]);
    }
    nadir_release(context, self.Wd);
    nadir_release(context, self.seeds);
    nadir_release(context, self.trial);
    nadir_release(context, self.kept);
    nadir_release(context, self.in);
    nadir_release(context, self.out);
    return status;
}
