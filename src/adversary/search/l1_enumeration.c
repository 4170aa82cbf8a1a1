/*
 * strike.c: the worst kernel of the non-rectangular L_1 ball on the free domain; see strike.h.
 *
 * With q = infinity F(lambda) = max over |c|_1 <= beta of halfrange(E_lambda c) is reached at a corner c =
 * beta e_s, so that the penalty is the largest of the roots lambda_s of
 *
 *     gamma beta W_s halfrange(d_s v - lambda D e_s) = lambda.
 *
 * Whatever bounds halfrange(D e_s), H_s, bounds the root, lambda_s <= gamma beta W_s d_s halfrange(v) / (1 -
 * gamma beta W_s H_s): columns are formed in the order of these bounds until the largest one left is below
 * the best root found. Entries of the column are D_ts = h_t D_ss, h_t the discounted chance to hit s from t.
 * With m and n the largest and the smallest chance to step to s from elsewhere
 *
 *     gamma n / (1 - gamma (1 - n)) <= h_t <= h = gamma m / (1 - gamma (1 - m)),
 *     D_ss <= 1 / (1 - gamma P_ss - gamma (1 - P_ss) h),    H_s = D_ss (1 - min_t h_t) / 2,
 *
 * and where this leaves many columns, D_ss <= (D 1_G)(s) for s in G: one solve for all states of a group G.
 */
#include "adversary/search/l1_enumeration.h"

#include "base/round.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* Columns formed at a time: few at first, as the best is often among them. Also the number of groups. */
enum { FIRST_BLOCK = 8, BLOCK = 32 };
/* Bounds are sharpened by groups when more columns than this would be needed. */
enum { MANY = 2 * BLOCK };
/* Newton's method on halfrange, made of straight pieces, takes 2 to 4 steps. */
#define STEPS 100

/* One radius. */
typedef struct target {
    double radius;
    double best;      /* the largest root found */
    double high;      /* proven: the root of no state whose column was formed is larger */
    int64_t state;    /* of the best root; -1: none */
    int64_t up, down; /* places of k = (e_up - e_down) / 2 */
} target;

typedef struct search {
    nadir_context *context;
    const nadir_problem *problem;
    int64_t states;
    int64_t count;
    target *targets;    /* [count] */
    double *weight;     /* [states] gamma W */
    double *share;      /* [states] at least 1 - min_t D_ts / D_ss */
    double *reach;      /* [states] proven: halfrange(D e_s) is at most this */
    double *width;      /* [states] halfrange(D e_s), of columns that were formed; -1 otherwise */
    double *key;        /* [states] how much a column is wanted; -1: not at all */
    double *columns;    /* [states * BLOCK] */
    int64_t block;      /* columns to form next time */
    int64_t solved;     /* right-hand sides so far */
    double averaging;   /* relative error of the entries of P^pi */
    double v_size;      /* max |v| */
    double spread;      /* halfrange(v) */
    bool grouped;       /* bounds were sharpened */
    const target *lost; /* at or past breakdown */
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

/* Rounding of the average over the actions, as in every P^pi; the largest number of actions. */
static double averaging_error(const nadir_model *model)
{
    int64_t most = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t actions = model->state_rows[s + 1] - model->state_rows[s];
        most = actions > most ? actions : most;
    }
    return nadir_round_error((double)(most + 2));
}

/* What P^pi says of each state. */
typedef struct steps {
    double *stay;         /* [states] P^pi(s, s) */
    double *most, *least; /* [states] of P^pi(t, s) over t != s */
    double *entries;      /* [states] how many of these there are */
    double row_least;     /* sum of a row */
} steps;

static void scan_average(const nadir_matrix *matrix, steps *seen)
{
    const int64_t n = matrix->size;
    memset(seen->stay, 0, (size_t)n * sizeof *seen->stay);
    memset(seen->most, 0, (size_t)n * sizeof *seen->most);
    memset(seen->entries, 0, (size_t)n * sizeof *seen->entries);
    seen->row_least = INFINITY;
    for (int64_t t = 0; t < n; t++) {
        const int64_t start = matrix->dense != NULL ? t * n : matrix->starts[t];
        const int64_t end = matrix->dense != NULL ? (t + 1) * n : matrix->starts[t + 1];
        double sum = 0;
        for (int64_t i = start; i < end; i++) {
            const int64_t s = matrix->dense != NULL ? i - start : matrix->columns[i];
            const double value = matrix->dense != NULL ? matrix->dense[i] : matrix->values[i];
            sum += value;
            if (s == t) {
                seen->stay[s] = value;
                continue;
            }
            seen->most[s] = fmax(seen->most[s], value);
            seen->least[s] = seen->entries[s] > 0 ? fmin(seen->least[s], value) : value;
            seen->entries[s] += 1;
        }
        seen->row_least = fmin(seen->row_least, sum);
    }
}

/* The bounds that P^pi itself gives. Numbers near one are off by a few roundings, which are taken off the
 * denominators or added to them; sums of rows may differ from one by their own. */
static void bound_reach(const search *at)
{
    const nadir_average *average = nadir_occupancy_average(at->problem->occupancy);
    const int64_t n = at->states;
    const double gamma = at->problem->gamma;
    const double off = at->averaging + nadir_round_error(2);
    const double sum_off = off + nadir_round_error((double)(nadir_average_row_length(average) + 2));
    const double sum = average->norm * (1 + sum_off);
    steps seen = {at->columns, at->columns + n, at->columns + 2 * n, at->columns + 3 * n, 0};
    scan_average(&average->matrix, &seen);
    for (int64_t s = 0; s < n; s++) {
        const double step = seen.most[s] * (1 + off);
        const double missed = nadir_round_below(1 - gamma * (sum - step), 1, 4);
        const double hit = missed > 0 ? fmin(1, nadir_round_up(gamma * step / missed, 4)) : 1;
        const double self = fmin(sum, seen.stay[s] * (1 + off));
        const double lost = nadir_round_below(1 - gamma * self - gamma * (sum - self) * hit, 1, 8);
        const double rare = n == 1 || seen.entries[s] < (double)(n - 1) ? 0 : seen.least[s] * (1 - off);
        const double left = seen.row_least * (1 - sum_off) - rare;
        const double common = gamma * rare / (1 - gamma * left + nadir_round_error(4));
        at->share[s] = n > 1 ? 1 - nadir_round_down(common, 4) + nadir_round_error(1) : 0;
        at->reach[s] = n == 1 ? 0 : lost > 0 ? nadir_round_up(0.5 / lost * at->share[s], 8) : INFINITY;
    }
}

/* A bound on lambda_s: of the numbers as they are, or proven, errors of v and d and rounding included. */
static double bound_root(const search *at, const target *of, int64_t s, bool proven)
{
    const nadir_problem *problem = at->problem;
    const double push = at->weight[s] * of->radius;
    const double room = nadir_round_below(1 - nadir_round_up(push * at->reach[s], 8), 1, 2);
    if (push == 0) {
        return 0;
    }
    if (!(room > 0)) {
        return INFINITY;
    }
    const double d = fmax(0, problem->d[s]) + (proven ? problem->d_error : 0);
    const double spread = at->spread + (proven ? problem->v_error : 0);
    return push * d * spread / room * (proven ? 1 + nadir_round_error(32) : 1);
}

/* A column against one radius: its root, and a proven bound on it. */
static void meet_target(const search *at, target *of, int64_t s, const double *column, double size,
                        double error)
{
    const nadir_problem *problem = at->problem;
    const double push = at->weight[s] * of->radius;
    const double bound = bound_root(at, of, s, true);
    if (bound <= of->best) {
        return;
    }
    const double d = problem->d[s]; /* may be below 0 by rounding */
    double x = 0;
    ends z = find_ends(at->states, push * d, problem->v, 0, column);
    for (int step = 0; step < STEPS; step++) {
        const double denominator = 1 + push * (column[z.up] - column[z.down]) / 2;
        const double next = x + (z.width - x) / denominator;
        if (!(next > nadir_round_up(x, 4))) {
            break;
        }
        x = next;
        z = find_ends(at->states, push * d, problem->v, x * push, column);
    }
    /* the left-hand side at x, less x, with errors of d, v, D e_s and rounding of s v - x t g */
    const double errors =
        push * (problem->d_error * (at->spread + problem->v_error) + fabs(d) * problem->v_error + x * error) +
        nadir_round_error(8) * (push * fabs(d) * at->v_size + x * push * size + x);
    const double room = nadir_round_below(1 - nadir_round_up(push * at->reach[s], 8), 1, 2);
    const double high = x + nadir_round_up((fmax(0, z.width - x) + errors) / room, 8);
    of->high = fmax(of->high, fmin(bound, high));
    if (x > of->best) {
        of->best = x;
        of->state = s;
        of->up = z.up;
        of->down = z.down;
    }
}

/* D B for the `count` right-hand sides that stand in at->columns; *error: of every entry. */
static nadir_status solve_columns(search *at, int64_t count, double *error)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *occupancy = at->problem->occupancy;
    const double gap = 1 - at->problem->gamma * nadir_occupancy_average(occupancy)->norm;
    nadir_accuracy accuracy;
    NADIR_CHECK(nadir_progress(at->context, "solving for columns", -1));
    NADIR_CHECK(nadir_occupancy_solve(at->context, occupancy, count, at->columns, at->columns, &accuracy));
    at->solved += count;
    const double size = nadir_vector_largest(count * at->states, at->columns);
    *error = accuracy.error_bound + (at->averaging + nadir_round_error(2)) * size / gap;
cleanup:
    return status;
}

/* Places of the largest keys, largest first, at most at->block of them; returns how many are above -1. */
static int64_t choose(const search *at, int64_t places[BLOCK])
{
    int64_t chosen = 0;
    double least = -1; /* what a key must exceed */
    for (int64_t s = 0; s < at->states; s++) {
        if (at->key[s] <= least) {
            continue;
        }
        chosen += chosen == 0 || chosen < at->block;
        int64_t to = chosen - 1;
        for (; to > 0 && at->key[places[to - 1]] < at->key[s]; to--) {
            places[to] = places[to - 1];
        }
        places[to] = s;
        least = chosen == at->block ? at->key[places[chosen - 1]] : -1;
    }
    return chosen;
}

/* Forms the columns with the largest keys and meets every radius with them. */
static nadir_status form_columns(search *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->states;
    int64_t places[BLOCK];
    double error;
    const int64_t chosen = choose(at, places);
    memset(at->columns, 0, (size_t)(chosen * n) * sizeof *at->columns);
    for (int64_t j = 0; j < chosen; j++) {
        at->columns[j * n + places[j]] = 1;
    }
    NADIR_CHECK(solve_columns(at, chosen, &error));
    at->block = at->block < BLOCK ? 2 * at->block : BLOCK;
    for (int64_t j = 0; j < chosen; j++) {
        const int64_t s = places[j];
        const double *column = at->columns + j * n;
        const double size = nadir_vector_largest(n, column);
        at->width[s] = find_ends(n, 0, at->problem->v, 1, column).width;
        at->reach[s] = fmin(at->reach[s], nadir_round_up(at->width[s] + error, 4));
        for (int64_t i = 0; i < at->count; i++) {
            if (isinf(bound_root(at, &at->targets[i], s, true))) {
                at->lost = &at->targets[i];
                continue;
            }
            meet_target(at, &at->targets[i], s, column, size, error);
        }
    }
cleanup:
    return status;
}

/* D_ss <= (D 1_G)(s), G the states that leave the same rest when divided by BLOCK. */
static nadir_status sharpen_by_groups(search *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->states;
    double error;
    memset(at->columns, 0, (size_t)(BLOCK * n) * sizeof *at->columns);
    for (int64_t s = 0; s < n; s++) {
        at->columns[s % BLOCK * n + s] = 1;
    }
    NADIR_CHECK(solve_columns(at, BLOCK, &error));
    for (int64_t s = 0; s < n; s++) {
        const double sum = at->columns[s % BLOCK * n + s];
        at->reach[s] = fmin(at->reach[s], nadir_round_up((sum + error) / 2 * at->share[s], 8));
    }
    at->grouped = true;
cleanup:
    return status;
}

/* The next columns, or better bounds where after the first columns too many are `wanted`. */
static nadir_status go_on(search *at, int64_t wanted)
{
    if (wanted == 0) {
        return NADIR_OK;
    }
    const bool many = wanted > MANY && at->solved > 0;
    return many && !at->grouped ? sharpen_by_groups(at) : form_columns(at);
}

/* Columns until no bound on another root is above the best root. */
static nadir_status chase_root(search *at, const target *of)
{
    nadir_status status = NADIR_OK;
    int64_t wanted = 1;
    while (wanted > 0 && at->lost == NULL) {
        wanted = 0;
        for (int64_t s = 0; s < at->states; s++) {
            const double bound = at->width[s] < 0 ? bound_root(at, of, s, false) : 0;
            at->key[s] = bound > of->best ? bound : -1;
            wanted += at->key[s] > 0;
        }
        NADIR_CHECK(go_on(at, wanted));
    }
cleanup:
    return status;
}

/* Columns until none left can be wider, with its weight, than the widest. *widest: max_s gamma W_s
 * halfrange(D e_s). */
static nadir_status chase_breakdown(search *at, double *widest)
{
    nadir_status status = NADIR_OK;
    int64_t wanted = 1;
    while (wanted > 0) {
        *widest = 0;
        wanted = 0;
        for (int64_t s = 0; s < at->states; s++) {
            *widest = fmax(*widest, at->weight[s] * at->width[s]);
        }
        for (int64_t s = 0; s < at->states; s++) {
            const double bound = at->width[s] < 0 ? at->weight[s] * at->reach[s] : 0;
            at->key[s] = bound > *widest ? bound : -1;
            wanted += at->key[s] > 0;
        }
        NADIR_CHECK(go_on(at, wanted));
    }
cleanup:
    return status;
}

static nadir_status refuse(search *at)
{
    nadir_status status = NADIR_OK;
    double widest;
    const double radius = at->lost->radius;
    NADIR_CHECK(chase_breakdown(at, &widest));
    status = nadir_fail(at->context, NADIR_ERROR_ILL_POSED,
                        "the radius %.10g is at or past breakdown, %.10g, where a kernel of the ball makes I "
                        "- gamma P singular; choose a smaller radius",
                        radius, 1 / widest);
cleanup:
    return status;
}

static nadir_status start(search *at, const double *radii)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    const nadir_problem *problem = at->problem;
    const int64_t n = at->states;
    NADIR_NEW(context, at->targets, at->count);
    NADIR_NEW(context, at->weight, n);
    NADIR_NEW(context, at->share, n);
    NADIR_NEW(context, at->reach, n);
    NADIR_NEW(context, at->width, n);
    NADIR_NEW(context, at->key, n);
    NADIR_NEW(context, at->columns, n * BLOCK);
    for (int64_t i = 0; i < at->count; i++) {
        at->targets[i] = (target){.radius = radii[i], .state = -1};
    }
    at->block = FIRST_BLOCK;
    at->averaging = averaging_error(problem->model);
    at->v_size = nadir_vector_largest(n, problem->v);
    at->spread = find_ends(n, 1, problem->v, 0, problem->v).width;
    NADIR_CHECK(nadir_average_fetch(context, nadir_occupancy_average(problem->occupancy)));
    bound_reach(at);
    for (int64_t s = 0; s < n; s++) {
        at->weight[s] = problem->gamma * problem->uncertainty->W[s];
        at->width[s] = -1;
    }
cleanup:
    return status;
}

/* The kernels of targets first .. first + count - 1, their systems solved together. */
static nadir_status make_attacks(search *at, int64_t first, int64_t count, nadir_attack *attacks)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->states;
    const double *W = at->problem->uncertainty->W;
    double *c = at->key;
    double *k = at->width;
    double error;
    memset(at->columns, 0, (size_t)(count * n) * sizeof *at->columns);
    for (int64_t j = 0; j < count; j++) {
        const target *of = &at->targets[first + j];
        if (of->state >= 0) {
            at->columns[j * n + of->state] = W[of->state] * of->radius;
        }
    }
    NADIR_CHECK(solve_columns(at, count, &error));
    for (int64_t j = 0; j < count; j++) {
        const target *of = &at->targets[first + j];
        nadir_attack *attack = &attacks[first + j];
        memset(c, 0, (size_t)n * sizeof *c);
        memset(k, 0, (size_t)n * sizeof *k);
        if (of->state >= 0) {
            c[of->state] = of->radius;
            k[of->up] += 0.5;
            k[of->down] -= 0.5;
        }
        NADIR_CHECK(nadir_rank_one_candidate_known(at->context, at->problem, of->radius, c, k,
                                                   at->columns + j * n, attack));
        NADIR_CHECK(nadir_rank_one_candidate_kernel(at->context, at->problem, attack));
        attack->method = "enumeration";
        attack->stop_reason = "tolerance";
        attack->converged = true;
        attack->iterations = at->solved;
    }
cleanup:
    return status;
}

/* What was proven; the bounds of columns that were not formed are part of it. */
static void state_facts(const search *at, nadir_l1_enumeration_bounds *facts)
{
    double most = 0;
    for (int64_t s = 0; s < at->states; s++) {
        most = fmax(most, at->weight[s] * at->reach[s]);
    }
    for (int64_t i = 0; i < at->count; i++) {
        double high = at->targets[i].high;
        for (int64_t s = 0; s < at->states; s++) {
            high = fmax(high, at->width[s] < 0 ? bound_root(at, &at->targets[i], s, true) : 0);
        }
        facts[i] = (nadir_l1_enumeration_bounds){high, 1 / nadir_round_up(most, 8), at->solved};
    }
}

nadir_status nadir_l1_enumeration_solve(nadir_context *context, const nadir_problem *problem, bool exact,
                                        int64_t count, const double *radii, nadir_attack *attacks,
                                        nadir_l1_enumeration_bounds *facts)
{
    nadir_status status = NADIR_OK;
    search at = {.context = context, .problem = problem, .states = problem->states, .count = count};
    double widest;
    int64_t made = 0;
    NADIR_CHECK(start(&at, radii));
    for (int64_t i = 0; i < count && at.lost == NULL; i++) {
        NADIR_CHECK(chase_root(&at, &at.targets[i]));
    }
    if (at.lost != NULL) {
        NADIR_CHECK(refuse(&at));
    }
    if (exact) {
        NADIR_CHECK(chase_breakdown(&at, &widest));
    }
    state_facts(&at, facts);
    for (; made < count; made += BLOCK) {
        NADIR_CHECK(make_attacks(&at, made, count - made < BLOCK ? count - made : BLOCK, attacks));
    }
cleanup:
    for (int64_t i = 0; status != NADIR_OK && i < count; i++) {
        nadir_attack_clear(context, &attacks[i]);
    }
    nadir_release(context, at.targets);
    nadir_release(context, at.weight);
    nadir_release(context, at.share);
    nadir_release(context, at.reach);
    nadir_release(context, at.width);
    nadir_release(context, at.key);
    nadir_release(context, at.columns);
    return status;
}
