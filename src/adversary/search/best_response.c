/*
 * best_response.c: the worst kernel found for the L_p ball on the free domain; see best_response.h.
 *
 * With c fixed, g = D W c, the best k and its penalty come from one scalar equation, and so do the best c and
 * its penalty with k fixed, y = D^T k (equation.h):
 *
 *     x = sigma_q(gamma (d . W c) v - x gamma g),        x = |gamma beta (k . v) W d - x gamma beta W y|_q
 *
 * Each sweep solves both: one system and one transposed system for each chain, a chain being one start at one
 * radius; the systems of all chains are solved together. The penalty cannot fall. Since g is linear in c, any
 * point on the line through the last two c costs no solve: the last step is stretched for as long as that
 * pays, which is what makes radii near breakdown affordable. The error of the penalty is the square of that
 * of c and k, so y need be known only roughly.
 */
#include "adversary/search/best_response.h"

#include "adversary/search/scalar_newton.h"
#include "base/round.h"
#include "linalg/blocks.h"
#include "linalg/distributed.h"
#include "linalg/gstd.h"
#include "linalg/norm.h"

#include <math.h>
#include <string.h>

/* Of starts, at most and below p = 2, and of chains at a time. */
enum { STARTS = 8, STARTS_BELOW_TWO = 5, CHAINS = 32 };
/* Vectors that a chain keeps: c, g, k, and c and g of the sweep before. */
enum { KEPT = 5 };
/* The first sweeps of a chain say nothing of its rate yet. */
enum { EARLY = 2 };
/* Steps are stretched from this rate on: below, plain ones do. */
#define SLOW 0.05
/* Chains whose c are this close, relative to the largest entry, with equal penalties, have merged. */
#define CLOSE 1e-3
#define EQUAL 1e-7
/* A chain that would need this many times what it may still rise is beaten. */
#define BEATEN 10
/* Rounding of the solves leaves no more than this of the penalty. */
#define LEAST_TOLERANCE 1e-13

typedef struct chain {
    int64_t target; /* which radius */
    double radius;
    double lambda;  /* what (c, k) attains */
    double rise;    /* of lambda in the last sweep */
    double rate;    /* of rise to the one before */
    double left;    /* what lambda may still rise, at that rate */
    double stretch; /* of the last step that was tried */
    int64_t sweeps;
    bool over; /* converged, merged with another, or beaten */
    bool converged;
    double *c, *g, *k, *c_before, *g_before; /* [states] */
} chain;

typedef struct search {
    nadir_context *context;
    const nadir_problem *problem;
    int64_t states;
    double q;
    double tolerance;
    double scale;  /* gamma |W d|_q max |v|: penalties below its rounding, times beta, are none */
    double *Wd;    /* [states] */
    double *seeds; /* [STARTS * states] c of each start, |c|_p = 1 */
    int64_t starts;
    chain chains[CHAINS];
    int64_t count; /* of chains */
    double *kept;  /* [KEPT * states] of each chain */
    double *in;    /* [CHAINS * states] right-hand sides */
    double *out;   /* [CHAINS * states] */
    double *trial; /* [4 * states] c, g, k of a stretched step; work */
} search;

static nadir_status refuse(const search *at, const chain *on, double feedback)
{
    return nadir_fail(
        at->context, NADIR_ERROR_ILL_POSED,
        "the radius %.10g is at or past breakdown, which is %.10g or less, where a kernel of the "
        "ball makes I - gamma P singular; choose a smaller radius",
        on->radius, -on->radius / feedback);
}

/* The best k for c, with g = D W c. */
static nadir_status answer_with_k(const search *at, const chain *on, const double *c, const double *g,
                                  double start, double *k, double *lambda)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const nadir_scalar_newton equation = {
        .first = nadir_model_first(problem->model),
        .count = at->states,
        .a = problem->v,
        .b = g,
        .s = problem->gamma * nadir_blocks_dot(at->context, at->states, at->Wd, c),
        .t = problem->gamma,
        .q = at->q,
        .centred = true,
    };
    NADIR_CHECK(
        nadir_scalar_newton_solve(at->context, &equation, start, at->trial + 3 * at->states, k, lambda));
    if (isinf(*lambda)) {
        status = refuse(at, on, problem->gamma * nadir_blocks_dot(at->context, at->states, k, g));
    }
cleanup:
    return status;
}

/* The best c for k, with W y = W D^T k. */
static nadir_status answer_with_c(const search *at, chain *on, const double *Wy)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const double push = problem->gamma * on->radius;
    const nadir_scalar_newton equation = {
        .first = nadir_model_first(problem->model),
        .count = at->states,
        .a = at->Wd,
        .b = Wy,
        .s = push * nadir_blocks_dot(at->context, at->states, on->k, problem->v),
        .t = push,
        .q = at->q,
    };
    double lambda;
    NADIR_CHECK(nadir_scalar_newton_solve(at->context, &equation, on->lambda, at->trial + 3 * at->states,
                                          on->c, &lambda));
    if (isinf(lambda)) {
        status = refuse(at, on, push * nadir_blocks_dot(at->context, at->states, on->c, Wy));
        goto cleanup;
    }
    for (int64_t s = 0; s < at->states; s++) {
        on->c[s] *= on->radius;
    }
cleanup:
    return status;
}

/* c beyond the last step, on the same sphere, as far as it pays; k for it. */
static nadir_status stretch_step(const search *at, chain *on)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->states;
    double *c = at->trial;
    double *g = c + n;
    double *k = g + n;
    double norm;
    double lambda;
    for (int64_t s = 0; s < n; s++) {
        c[s] = on->c[s] + on->stretch * (on->c[s] - on->c_before[s]);
        g[s] = on->g[s] + on->stretch * (on->g[s] - on->g_before[s]);
    }
    NADIR_CHECK(nadir_norm_p(at->context, n, c, at->problem->uncertainty->p, &norm));
    if (!(norm > 0)) {
        on->stretch /= 2;
        return NADIR_OK;
    }
    nadir_blocks_scale(at->context, n, on->radius / norm, c, c);
    nadir_blocks_scale(at->context, n, on->radius / norm, g, g);
    NADIR_CHECK(answer_with_k(at, on, c, g, on->lambda, k, &lambda));
    if (lambda > on->lambda) {
        memcpy(on->c, c, (size_t)n * sizeof *c);
        memcpy(on->g, g, (size_t)n * sizeof *g);
        memcpy(on->k, k, (size_t)n * sizeof *k);
        on->lambda = lambda;
        on->stretch *= 2;
    } else {
        on->stretch = fmax(0.5, on->stretch / 2);
    }
cleanup:
    return status;
}

/* g of every chain that is not over, then its k. The g are sums over steps where those were stretched, so
 * they are solved for more sharply than the penalty is wanted. */
static nadir_status sweep_forward(search *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->states;
    const double *W = at->problem->uncertainty->W;
    int64_t active = 0;
    for (int64_t i = 0; i < at->count; i++) {
        const chain *on = &at->chains[i];
        for (int64_t s = 0; !on->over && s < n; s++) {
            at->in[active * n + s] = W[s] * on->c[s];
        }
        active += !on->over;
    }
    NADIR_CHECK(nadir_occupancy_solve_roughly(at->context, at->problem->occupancy, false, active, at->in,
                                              0.01 * at->tolerance, at->out));
    active = 0;
    for (int64_t i = 0; i < at->count; i++) {
        chain *on = &at->chains[i];
        if (on->over) {
            continue;
        }
        const double before = on->lambda;
        const double rise = on->rise;
        memcpy(on->g, at->out + active++ * n, (size_t)n * sizeof *on->g);
        NADIR_CHECK(answer_with_k(at, on, on->c, on->g, before, on->k, &on->lambda));
        if (on->sweeps > EARLY && on->rate > SLOW) {
            NADIR_CHECK(stretch_step(at, on));
        }
        on->rise = fmax(0, on->lambda - before);
        /* steps that were stretched rise unevenly: a rate is forgotten slowly */
        on->rate = fmin(0.999, fmax(rise > 0 ? on->rise / rise : 0, on->sweeps > EARLY ? on->rate / 2 : 0));
        on->left = on->rise * fmax(on->rate, 0.1) / (1 - on->rate);
        on->sweeps++;
    }
cleanup:
    return status;
}

/* y of every chain that is not over, then its c. */
static nadir_status sweep_back(search *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->states;
    const double *W = at->problem->uncertainty->W;
    int64_t active = 0;
    for (int64_t i = 0; i < at->count; i++) {
        if (!at->chains[i].over) {
            memcpy(at->in + active++ * n, at->chains[i].k, (size_t)n * sizeof *at->in);
        }
    }
    if (active == 0) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_occupancy_solve_roughly(at->context, at->problem->occupancy, true, active, at->in,
                                              0.01 * sqrt(at->tolerance), at->out));
    active = 0;
    for (int64_t i = 0; i < at->count; i++) {
        chain *on = &at->chains[i];
        if (on->over) {
            continue;
        }
        double *y = at->out + active++ * n;
        for (int64_t s = 0; s < n; s++) {
            y[s] *= W[s];
        }
        memcpy(on->c_before, on->c, (size_t)n * sizeof *on->c);
        memcpy(on->g_before, on->g, (size_t)n * sizeof *on->g);
        NADIR_CHECK(answer_with_c(at, on, y));
    }
cleanup:
    return status;
}

/* The chain with the largest penalty for a radius; the first among equals. */
static chain *best_of(search *at, int64_t target)
{
    chain *best = NULL;
    for (int64_t i = 0; i < at->count; i++) {
        chain *on = &at->chains[i];
        if (on->target == target && (best == NULL || on->lambda > best->lambda)) {
            best = on;
        }
    }
    return best;
}

/* Whether both go the same way: (c, k) and (-c, -k) are one kernel. */
static bool have_merged(const search *at, const chain *a, const chain *b)
{
    if (!(fabs(a->lambda - b->lambda) <= EQUAL * fabs(b->lambda))) {
        return false;
    }
    const double size = nadir_global_largest(at->context, at->states, b->c);
    double same = 0;
    double opposite = 0;
    for (int64_t s = 0; s < at->states; s++) {
        same = fmax(same, fabs(a->c[s] - b->c[s]));
        opposite = fmax(opposite, fabs(a->c[s] + b->c[s]));
    }
    same = nadir_allreduce_maximum(at->context, same);
    opposite = nadir_allreduce_maximum(at->context, opposite);
    return fmin(same, opposite) <= CLOSE * size;
}

/* Which chains are over; whether all are. */
static bool judge(search *at)
{
    bool all = true;
    for (int64_t i = 0; i < at->count; i++) {
        chain *on = &at->chains[i];
        const chain *best = best_of(at, on->target);
        const double floor = nadir_round_error(32) * on->radius * at->scale;
        const bool late = on->sweeps > EARLY;
        on->converged = late && on->left <= fmax(at->tolerance * on->lambda, floor);
        const bool beaten = late && on->lambda + BEATEN * on->left < best->lambda;
        on->over = on->over || on->converged || beaten;
        if (on != best && have_merged(at, on, best)) {
            on->over = true;
            on->lambda = -INFINITY; /* rounding must not make it the best again */
        }
        all = all && on->over;
    }
    return all;
}

/* seed <- the c that goes with weights of the states: x, [states]. */
static nadir_status add_seed(search *at, const double *x)
{
    double norm;
    double *seed = at->seeds + at->starts * at->states;
    const nadir_status status = nadir_norm_dual(at->context, nadir_model_first(at->problem->model),
                                                at->states, x, at->q, seed, &norm);
    at->starts += norm > 0;
    return status;
}

/* The strongest states alone. x: [states] work */
static nadir_status add_single_states(search *at, double *x)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->states;
    double *alone = at->trial;
    double norm;
    memcpy(x, at->Wd, (size_t)n * sizeof *x);
    while (at->starts < STARTS_BELOW_TWO) {
        NADIR_CHECK(nadir_norm_dual(at->context, nadir_model_first(at->problem->model), n, x, INFINITY, alone,
                                    &norm));
        if (norm == 0) {
            break;
        }
        NADIR_CHECK(add_seed(at, alone));
        for (int64_t s = 0; s < n; s++) {
            x[s] *= alone[s] == 0 ? 1 : 0;
        }
    }
cleanup:
    return status;
}

/* The same vector, however it is spread over processes. */
static nadir_status add_random(search *at, nadir_random *random, double *x)
{
    const int64_t first = nadir_model_first(at->problem->model);
    const int64_t total = nadir_model_total(at->problem->model);
    for (int64_t t = 0; t < total; t++) {
        const double number = nadir_random_normal(random);
        if (t >= first && t < first + at->states) {
            x[t - first] = at->problem->uncertainty->W[t - first] * number;
        }
    }
    return add_seed(at, x);
}

/* The rank-one guess, x = W d; where k = u_q(v) feeds back most, x = W D^T k; a random one. Then, below p =
 * 2, where the adversary keeps to few states, the strongest ones; above, where it is the signs of c that make
 * local maxima, more random ones. (c, k) and (-c, -k) are one kernel: no start needs its negative. */
static nadir_status make_seeds(search *at)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    const nadir_problem *problem = at->problem;
    const int64_t n = at->states;
    double *k = at->trial;
    double *x = at->trial + n;
    nadir_gstd gstd;
    nadir_random random;
    NADIR_CHECK(add_seed(at, at->Wd));
    if (at->starts == 0) { /* no state that counts can be changed */
        goto cleanup;
    }
    NADIR_CHECK(
        nadir_gstd_compute(context, nadir_model_first(problem->model), n, problem->v, at->q, k, k, &gstd));
    NADIR_CHECK(nadir_occupancy_solve_roughly(context, problem->occupancy, true, 1, k, 1e-3, x));
    for (int64_t s = 0; s < n; s++) {
        x[s] *= problem->uncertainty->W[s];
    }
    NADIR_CHECK(add_seed(at, x));
    nadir_random_seed(&random, 0);
    NADIR_CHECK(add_random(at, &random, x));
    if (problem->uncertainty->p < 2) {
        NADIR_CHECK(add_single_states(at, x));
    }
    while (problem->uncertainty->p > 2 && at->starts < STARTS) {
        NADIR_CHECK(add_random(at, &random, x));
    }
cleanup:
    return status;
}

static nadir_status start(search *at, int64_t radii)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    const nadir_problem *problem = at->problem;
    const int64_t n = at->states;
    const int64_t chains = radii * STARTS < CHAINS ? radii * STARTS : CHAINS;
    double norm;
    NADIR_NEW(context, at->Wd, n);
    NADIR_NEW(context, at->seeds, STARTS * n);
    NADIR_NEW(context, at->trial, 4 * n);
    NADIR_NEW(context, at->kept, KEPT * chains * n);
    NADIR_NEW(context, at->in, chains * n);
    NADIR_NEW(context, at->out, chains * n);
    for (int64_t s = 0; s < n; s++) {
        at->Wd[s] = problem->uncertainty->W[s] * problem->d[s];
    }
    NADIR_CHECK(nadir_norm_p(context, n, at->Wd, at->q, &norm));
    at->scale = problem->gamma * norm * nadir_global_largest(context, n, problem->v);
    NADIR_CHECK(make_seeds(at));
cleanup:
    return status;
}

/* Chains from every start for the radii first .. end - 1. */
static void start_chains(search *at, int64_t first, int64_t end, const double *radii)
{
    const int64_t n = at->states;
    at->count = 0;
    for (int64_t i = first; i < end; i++) {
        for (int64_t j = 0; j < at->starts; j++) {
            double *kept = at->kept + at->count * KEPT * n;
            chain *on = &at->chains[at->count++];
            *on = (chain){.target = i, .radius = radii[i], .rate = 1, .stretch = 1};
            on->c = kept;
            on->g = kept + n;
            on->k = kept + 2 * n;
            on->c_before = kept + 3 * n;
            on->g_before = kept + 4 * n;
            for (int64_t s = 0; s < n; s++) {
                on->c[s] = radii[i] * at->seeds[j * n + s];
            }
        }
    }
}

static nadir_status finish(search *at, int64_t target, double radius, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    const chain *best = best_of(at, target);
    if (best == NULL) { /* no start */
        memset(at->trial, 0, (size_t)(2 * at->states) * sizeof *at->trial);
        NADIR_CHECK(nadir_rank_one_candidate(at->context, at->problem, radius, at->trial,
                                             at->trial + at->states, attack));
    } else {
        NADIR_CHECK(nadir_rank_one_candidate(at->context, at->problem, radius, best->c, best->k, attack));
    }
    attack->method = "best-response";
    attack->converged = best == NULL || best->converged;
    attack->stop_reason = attack->converged ? "tolerance" : "iterations";
    attack->iterations = best == NULL ? 0 : best->sweeps;
cleanup:
    return status;
}

nadir_status nadir_best_response_solve(nadir_context *context, const nadir_problem *problem, double tolerance,
                                       int64_t iterations_limit, int64_t count, const double *radii,
                                       nadir_attack *attacks)
{
    nadir_status status = NADIR_OK;
    search at = {.context = context,
                 .problem = problem,
                 .states = problem->states,
                 .q = problem->uncertainty->q,
                 .tolerance = fmax(tolerance, LEAST_TOLERANCE)};
    NADIR_CHECK(start(&at, count));
    for (int64_t first = 0, end; first < count; first = end) {
        end = first + CHAINS / STARTS < count ? first + CHAINS / STARTS : count;
        start_chains(&at, first, end, radii);
        for (int64_t sweep = 0; (sweep == 0 || sweep < iterations_limit) && at.count > 0; sweep++) {
            NADIR_CHECK(nadir_progress(context, "searching worst kernels", (double)first / (double)count));
            NADIR_CHECK(sweep_forward(&at));
            if (judge(&at)) {
                break;
            }
            NADIR_CHECK(sweep_back(&at));
        }
        for (int64_t i = first; i < end; i++) {
            NADIR_CHECK(finish(&at, i, radii[i], &attacks[i]));
        }
    }
cleanup:
    for (int64_t i = 0; status != NADIR_OK && i < count; i++) {
        nadir_attack_clear(context, &attacks[i]);
    }
    nadir_release(context, at.Wd);
    nadir_release(context, at.seeds);
    nadir_release(context, at.trial);
    nadir_release(context, at.kept);
    nadir_release(context, at.in);
    nadir_release(context, at.out);
    return status;
}
