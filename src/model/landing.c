/* landing.c: rewards that are paid where one lands: finding R, g and e, and what kernels pay; see landing.h. */
#include "model/landing.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/kernel_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Below this discount g / gamma is too large beside the rewards to be of use. */
#define DISCOUNT_LEAST 0x1p-20
/* e is taken to be zero where it is at most so many times the largest reward: chains of differences are off by
 * rounding. What is left out is part of the slack. */
#define SEPARABLE 1e-13
/* The offset of rewards is taken out where it is so many times their range. */
#define OFFSET_LEAST 64

void nadir_landing_clear(nadir_memory *memory, nadir_model *model)
{
    if (model->shaped != model->rewards) {
        nadir_memory_release(memory, model->shaped);
    }
    model->shaped = NULL;
    NADIR_MEMORY_RELEASE(memory, model->landing.base, model->landing.g);
    model->landing = (nadir_landing){0};
}

/* Nothing is known yet but the range of the rewards that are given. */
static nadir_status begin(nadir_context *context, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    nadir_landing *landing = &model->landing;
    NADIR_NEW_ZERO(context, landing->g, nadir_model_width(model));
    NADIR_NEW_ZERO(context, landing->base, model->rows);
    nadir_model_reward_range(model, &landing->lowest, &landing->highest);
    landing->lowest = nadir_allreduce_minimum(context, landing->lowest);
    landing->highest = nadir_allreduce_maximum(context, landing->highest);
cleanup:
    return status;
}

/* --------------------------------------------------------------------------------- separable rewards
 *
 * A row says that g(t) - g(t') = r(t) - r(t') for its successors. Sets of states whose differences are known
 * are joined row by row: each state points to another of its set, with the difference of both.
 */

typedef struct state_sets {
    int32_t *parent; /* [states] */
    double *above;   /* [states] g(state) - g(parent) */
} state_sets;

/* The root of a state's set; above[state] becomes the difference to it. Paths are halved on the way. */
static int32_t find_root(const state_sets *sets, int32_t state)
{
    int32_t root = state;
    double whole = 0;
    while (sets->parent[root] != root) {
        whole += sets->above[root];
        root = sets->parent[root];
    }
    while (sets->parent[state] != root && state != root) {
        const int32_t next = sets->parent[state];
        const double own = sets->above[state];
        sets->parent[state] = root;
        sets->above[state] = whole;
        whole -= own;
        state = next;
    }
    return root;
}

/* g(state) = g(other) + difference, unless it is known already. */
static void join_pair(const state_sets *sets, int32_t state, int32_t other, double difference)
{
    const int32_t root = find_root(sets, state);
    const int32_t into = find_root(sets, other);
    if (root != into) {
        const double other_above = into == other ? 0 : sets->above[other];
        const double above = root == state ? 0 : sets->above[state];
        sets->parent[root] = into;
        sets->above[root] = other_above + difference - above;
    }
}

/* Joins the successors of the rows that are not pinned. Most are joined already, by rows before. */
static void join_rows(const nadir_model *model, const state_sets *sets)
{
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        int64_t first = 0;
        while (first < entries.count && isnan(entries.rewards[first])) {
            first++;
        }
        if (first == entries.count || nadir_model_is_pinned(model, row)) {
            continue;
        }
        const int32_t other = (int32_t)nadir_row_column(&entries, first);
        int32_t root = find_root(sets, other);
        for (int64_t i = first + 1; i < entries.count; i++) {
            const int32_t t = (int32_t)nadir_row_column(&entries, i);
            if (sets->parent[t] != root && !isnan(entries.rewards[i])) {
                join_pair(sets, t, other, entries.rewards[i] - entries.rewards[first]);
                root = find_root(sets, other);
            }
        }
    }
}

/* Every state a set of its own. */
static nadir_status make_sets(nadir_context *context, int64_t states, state_sets *sets)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, sets->parent, states);
    NADIR_NEW_ZERO(context, sets->above, states);
    for (int64_t s = 0; s < states; s++) {
        sets->parent[s] = (int32_t)s;
    }
cleanup:
    return status;
}

/* What all processes know of differences: for each of [count] columns from `first` on its state, the root of
 * its set, and the difference of both, [3 * count of all]. */
static nadir_status gather_sets(nadir_context *context, const nadir_model *model, const state_sets *sets,
                                int64_t first, int64_t count, double **all, int64_t *all_count)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    double *own = NULL;
    *all_count = nadir_global_count(context, count);
    NADIR_NEW(context, own, 3 * count);
    NADIR_NEW(context, *all, 3 * *all_count);
    for (int64_t i = 0; i < count; i++) {
        const int32_t root = find_root(sets, (int32_t)(first + i));
        own[3 * i] = (double)nadir_exchange_index(model->exchange, first + i);
        own[3 * i + 1] = (double)nadir_exchange_index(model->exchange, root);
        own[3 * i + 2] = root == first + i ? 0 : sets->above[first + i];
    }
    NADIR_CHECK(table->gather(table->self, context, 3 * count, own, *all));
cleanup:
    nadir_release(context, own);
    return status;
}

/* The sets of all states, from those of the columns of each process. */
static nadir_status join_processes(nadir_context *context, const nadir_model *model, const state_sets *own,
                                   state_sets *sets)
{
    nadir_status status = NADIR_OK;
    double *all = NULL;
    int64_t count;
    NADIR_CHECK(make_sets(context, model->exchange->total, sets));
    for (int part = 0; part < 2; part++) { /* own states, then those of others */
        NADIR_CHECK(gather_sets(context, model, own, part * model->states,
                                part == 0 ? model->states : model->exchange->ghosts, &all, &count));
        for (int64_t i = 0; i < count; i++) {
            join_pair(sets, (int32_t)all[3 * i], (int32_t)all[3 * i + 1], all[3 * i + 2]);
        }
        nadir_release(context, all);
        all = NULL;
    }
cleanup:
    nadir_release(context, all);
    return status;
}

/* g of mean 0 on every set of states, where there are several: rows may then reach other sets. g: [states] */
static nadir_status centre(nadir_context *context, int64_t states, const state_sets *sets, double *g)
{
    nadir_status status = NADIR_OK;
    double *sums = NULL;
    int64_t *counts = NULL;
    int64_t roots = 0;
    NADIR_NEW_ZERO(context, sums, states);
    NADIR_NEW_ZERO(context, counts, states);
    for (int64_t s = 0; s < states; s++) {
        const int32_t root = find_root(sets, (int32_t)s);
        roots += root == s;
        sums[root] += g[s];
        counts[root]++;
    }
    for (int64_t s = 0; roots > 1 && s < states; s++) {
        const int32_t root = find_root(sets, (int32_t)s);
        g[s] -= sums[root] / (double)counts[root];
    }
cleanup:
    NADIR_RELEASE(context, sums, counts);
    return status;
}

/* ------------------------------------------------------------------------------------ least squares
 *
 * min over R and g of the sum over rows that are not pinned of Phat (r - R - g)^2. R(row) = Phat . (r - g), and
 * g solves A g = b with
 *
 *     (A g)(t) = sum over rows of Phat(t) (g(t) - Phat . g),    b(t) = sum over rows of Phat(t) (r(t) - Phat . r):
 *
 * conjugate gradients with the diagonal as preconditioner.
 */

enum { LEAST_SQUARES_STEPS = 300 };
#define LEAST_SQUARES_TOLERANCE 1e-14
/* Where every successor has a reward, g makes bounds tight and decides nothing. */
#define COMPLETE_TOLERANCE 1e-3
#define FLAT               1e-14

/* y <- A x; x NULL: y <- b */
static void multiply(const nadir_model *model, const double *x, double *y)
{
    memset(y, 0, (size_t)model->states * sizeof *y);
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        double mean = 0;
        if (nadir_model_is_pinned(model, row)) {
            continue;
        }
        for (int64_t i = 0; i < entries.count; i++) {
            const double value = x != NULL               ? x[nadir_row_column(&entries, i)]
                                 : entries.values[i] > 0 ? entries.rewards[i]
                                                         : 0;
            mean += entries.values[i] * value;
        }
        for (int64_t i = 0; i < entries.count; i++) {
            const int64_t t = nadir_row_column(&entries, i);
            if (entries.values[i] > 0) {
                y[t] += entries.values[i] * ((x != NULL ? x[t] : entries.rewards[i]) - mean);
            }
        }
    }
}

static nadir_status fit_least_squares(nadir_context *context, const nadir_model *model, double tolerance,
                                      double *g)
{
    nadir_status status = NADIR_OK;
    const int64_t n = model->states;
    double *work = NULL;
    NADIR_NEW_ZERO(context, work, 5 * n);
    double *r = work;
    double *z = work + n;
    double *p = work + 2 * n;
    double *q = work + 3 * n;
    double *diagonal = work + 4 * n;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        for (int64_t i = 0; i < entries.count && !nadir_model_is_pinned(model, row); i++) {
            diagonal[nadir_row_column(&entries, i)] += entries.values[i] * (1 - entries.values[i]);
        }
    }
    /* from g as it is where that is better than 0: next to separable rewards on long chains are never reached
     * from there. The energy is g . A g / 2 - b . g */
    double energy = 0;
    double goal = 0;
    multiply(model, g, q);
    multiply(model, NULL, r);
    for (int64_t s = 0; s < n; s++) {
        energy += g[s] * (q[s] / 2 - r[s]);
        goal += diagonal[s] > DBL_EPSILON ? r[s] / diagonal[s] * r[s] : 0;
    }
    goal *= tolerance * tolerance;
    for (int64_t s = 0; s < n; s++) {
        g[s] = energy < 0 ? g[s] : 0;
        r[s] -= energy < 0 ? q[s] : 0;
    }
    double rho = 0;
    for (int step = 0; step < LEAST_SQUARES_STEPS; step++) {
        double next = 0;
        for (int64_t s = 0; s < n; s++) {
            z[s] = diagonal[s] > DBL_EPSILON ? r[s] / diagonal[s] : 0;
            next += r[s] * z[s];
        }
        if (!(next > goal)) {
            break;
        }
        for (int64_t s = 0; s < n; s++) {
            p[s] = z[s] + (step > 0 ? next / rho : 0) * p[s];
        }
        rho = next;
        multiply(model, p, q);
        double curvature = 0;
        double size = 0;
        for (int64_t s = 0; s < n; s++) {
            curvature += p[s] * q[s];
            size += p[s] * diagonal[s] * p[s];
        }
        if (!(curvature > FLAT * size)) { /* rounding alone: A has no inverse for constants */
            break;
        }
        for (int64_t s = 0; s < n; s++) {
            g[s] += rho / curvature * p[s];
            r[s] -= rho / curvature * q[s];
        }
        NADIR_CHECK(nadir_progress(context, "rewards of successors", -1));
    }
cleanup:
    nadir_release(context, work);
    return status;
}

/* -------------------------------------------------------------------------------------- decomposition */

/* base(row) = Phat . (r - g) as r_0 - g_0 + sum Phat (...): exact where that is the same for all. separable: it is,
 * or may be, and the first will do. */
static void find_base(nadir_model *model, bool separable)
{
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        double first = NAN;
        double excess = 0;
        for (int64_t i = 0; i < entries.count && !(separable && !isnan(first)); i++) {
            if (entries.values[i] > 0) {
                const double own = entries.rewards[i] - model->landing.g[nadir_row_column(&entries, i)];
                first = isnan(first) ? own : first;
                excess += entries.values[i] * (own - first);
            }
        }
        model->landing.base[row] =
            isnan(first) ? 0 : first + excess; /* no successor where the process ended */
    }
}

/* The range of e. */
static void find_rest(const nadir_context *context, nadir_model *model, double largest)
{
    nadir_landing *landing = &model->landing;
    double low = 0;
    double high = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        const int64_t start = nadir_landing_entry(model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            const double e = nadir_landing_e(model, row, start + i, nadir_row_column(&entries, i));
            low = e < low ? e : low;
            high = e > high ? e : high;
        }
    }
    landing->e_low = nadir_allreduce_minimum(context, low);
    landing->e_high = nadir_allreduce_maximum(context, high);
    const double rounding = 4 * NADIR_ROUND_UNIT * largest;
    landing->general = fmax(-landing->e_low, landing->e_high) > SEPARABLE * largest;
    landing->e_low -= landing->e_low < 0 ? rounding : 0;
    landing->e_high += landing->e_high > 0 ? rounding : 0;
}

/* The largest of |r|, |base| and |g| / gamma: what roundings are measured by. */
static double find_largest(const nadir_context *context, const nadir_model *model)
{
    double largest = fmax(fabs(model->landing.lowest), fabs(model->landing.highest));
    for (int64_t s = 0; s < model->states; s++) {
        largest = fmax(largest, fabs(model->landing.g[s]));
    }
    for (int64_t row = 0; row < model->rows; row++) {
        largest = fmax(largest, fabs(model->landing.base[row]));
    }
    return nadir_allreduce_maximum(context, largest);
}

/* shaped = base + Phat . e + g(s) / gamma, with Phat . e = 0 for the base of `find_base`; and the slack. Without g, base +
 * Phat . e are the means of rows: a base that is far from them (NADIR_UNSEEN_VALUE) takes no digits from these. */
static nadir_status shape(nadir_context *context, nadir_model *model, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_landing *landing = &model->landing;
    const double gamma = model->discount;
    const bool shifted = landing->shifted;
    const double largest = find_largest(context, model);
    int64_t longest = 0;
    double steepest = 0;
    double rounding;
    double *terms = NULL;
    NADIR_NEW(context, model->shaped, model->rows);
    NADIR_NEW(context, terms, model->states);
    for (int64_t s = 0; s < model->states; s++) {
        terms[s] = landing->g[s] != 0 ? landing->g[s] / gamma : 0;
        steepest = fmax(steepest, fabs(terms[s]));
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            const int64_t start = nadir_landing_entry(model, row);
            double rest = 0;
            for (int64_t i = 0; landing->general && shifted && i < entries.count; i++) {
                rest +=
                    entries.values[i] * nadir_landing_e(model, row, start + i, nadir_row_column(&entries, i));
            }
            model->shaped[row] = shifted ? landing->base[row] + rest + terms[s] : model->rewards[row];
            longest = entries.count > longest ? entries.count : longest;
            if (!isfinite(model->shaped[row])) {
                NADIR_CHECK(nadir_fail(context, NADIR_ERROR_MODEL,
                                       "%s: rewards paid on landing overflow; scale the rewards down", path));
            }
        }
    }
    landing->shift = nadir_global_dot(context, model->states, model->initial, terms, &rounding);
    /* sums of a row: e has three roundings, products and sums one for each entry; g / gamma one, the last sums
     * two. What of e is left out is paid by Delta, |Delta|_1 <= 2; what successors of
     * probability 0 were said to pay likewise */
    steepest = nadir_allreduce_maximum(context, steepest);
    landing->longest = nadir_allreduce_maximum(context, (double)longest);
    const double row_error = NADIR_ROUND_UNIT * (landing->longest + 8) * 4 * (largest + steepest) +
                             (landing->general ? 0 : 2 * nadir_landing_largest(model)) +
                             2 * model->zeros_error;
    landing->each = gamma == 1 ? 1.01 * row_error : 0;
    landing->slack =
        1.01 * ((gamma == 1 ? 0 : row_error / (1 - gamma)) + rounding + 4 * NADIR_ROUND_UNIT * steepest);
cleanup:
    nadir_release(context, terms);
    return status;
}

/* Whether rows that can change have a reward for every state: nothing has to be assumed. */
static bool is_complete(const nadir_model *model)
{
    bool complete = model->exchange == NULL;
    for (int64_t row = 0; complete && row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        int64_t given = 0;
        for (int64_t i = 0; entries.count == model->states && i < entries.count; i++) {
            given += !isnan(entries.rewards[i]);
        }
        complete = given == model->states || nadir_model_is_pinned(model, row);
    }
    return complete;
}

/* g of separable rewards, else by least squares. */
static nadir_status find_g(nadir_context *context, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const nadir_exchange *exchange = model->exchange;
    const int64_t total = nadir_model_total(model);
    state_sets own = {0};
    state_sets joined = {0};
    double *all = NULL;
    NADIR_CHECK(make_sets(context, nadir_model_width(model), &own));
    join_rows(model, &own);
    if (exchange != NULL) {
        NADIR_CHECK(join_processes(context, model, &own, &joined));
    }
    const state_sets *sets = exchange != NULL ? &joined : &own;
    NADIR_NEW(context, all, total);
    for (int64_t s = 0; s < total; s++) {
        all[s] = find_root(sets, (int32_t)s) == s ? 0 : sets->above[s];
    }
    NADIR_CHECK(centre(context, total, sets, all));
    for (int64_t t = 0; t < nadir_model_width(model); t++) {
        model->landing.g[t] = all[nadir_exchange_index(exchange, t)];
    }
    find_base(model, true);
    /* along chains g may be large where r is not: e is measured by both */
    find_rest(context, model, find_largest(context, model));
    if (model->landing.general && exchange != NULL) { /* rows of a part reach their own successors alone */
        memset(model->landing.g, 0, (size_t)nadir_model_width(model) * sizeof *model->landing.g);
        find_base(model, false);
    } else if (model->landing.general) {
        NADIR_CHECK(fit_least_squares(context, model,
                                      is_complete(model) ? COMPLETE_TOLERANCE : LEAST_SQUARES_TOLERANCE,
                                      model->landing.g));
        NADIR_CHECK(centre(context, total, sets, model->landing.g));
        find_base(model, false);
    }
    if (model->landing.general) {
        find_rest(context, model, find_largest(context, model));
    }
cleanup:
    NADIR_RELEASE(context, own.parent, own.above, joined.parent, joined.above, all);
    return status;
}

/* Takes the offset out of shaped rewards that differ by at most 1 / OFFSET_LEAST of it: these differences are exact.
 */
static nadir_status take_offset(nadir_context *context, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    double low = INFINITY;
    double high = -INFINITY;
    model->landing.offset = 0;
    for (int64_t row = 0; model->shaped != NULL && row < model->rows; row++) {
        low = fmin(low, model->shaped[row]);
        high = fmax(high, model->shaped[row]);
    }
    low = nadir_allreduce_minimum(context, low);
    high = nadir_allreduce_maximum(context, high);
    const double middle = low + (high - low) / 2;
    if (!(high > low && high - low <= fabs(middle) / OFFSET_LEAST) || !(model->discount < 1)) {
        return NADIR_OK;
    }
    if (model->shaped == model->rewards) {
        double *own = NULL;
        NADIR_NEW(context, own, model->rows);
        model->shaped = memcpy(own, model->rewards, (size_t)model->rows * sizeof *own);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        model->shaped[row] -= middle;
    }
    model->landing.offset = middle;
    /* a difference, a quotient and a sum */
    model->landing.slack += 8 * NADIR_ROUND_UNIT * fabs(middle) / (1 - model->discount);
cleanup:
    return status;
}

nadir_status nadir_landing_make(nadir_context *context, nadir_model *model, const char *path)
{
    nadir_landing_clear(model->memory, model);
    model->shaped = model->rewards;
    if (model->unseen > NADIR_UNSEEN_VALUE ||
        (model->unseen == NADIR_UNSEEN_VALUE && !isfinite(model->unseen_value))) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "what successors without a reward pay (unseen) is %d, value %g; expected one of "
                          "nadir_unseen, and a finite number",
                          (int)model->unseen, model->unseen_value);
    }
    if (model->transition_rewards == NULL || (model->exchange != NULL && isnan(model->discount))) {
        return take_offset(context, model);
    }
    nadir_landing *landing = &model->landing;
    model->shaped = NULL;
    NADIR_TRY(begin(context, model));
    landing->unshaped = model->discount < DISCOUNT_LEAST;
    const bool complete = is_complete(model);
    const bool additive = model->unseen == NADIR_UNSEEN_ADDITIVE || complete;
    landing->lacking = landing->unshaped && additive && !complete;
    if (additive && !landing->unshaped) {
        NADIR_TRY(find_g(context, model));
    } else {
        for (int64_t row = 0; row < model->rows; row++) {
            landing->base[row] = additive || model->unseen == NADIR_UNSEEN_ROW ? model->rewards[row]
                                 : model->unseen == NADIR_UNSEEN_MIN           ? landing->lowest
                                                                               : model->unseen_value;
        }
        find_rest(context, model, find_largest(context, model));
    }
    landing->shifted = additive && !landing->unshaped;
    return nadir_landing_reshape(context, model, path);
}

nadir_status nadir_landing_reshape(nadir_context *context, nadir_model *model, const char *path)
{
    const bool unshaped = model->discount < DISCOUNT_LEAST;
    if (model->transition_rewards != NULL &&
        (model->landing.base == NULL || model->landing.unshaped != unshaped)) {
        return nadir_landing_make(context, model, path);
    }
    if (model->shaped != model->rewards) {
        nadir_release(context, model->shaped);
    }
    model->shaped = model->rewards;
    if (model->transition_rewards == NULL) {
        model->landing.slack = 0;
    } else if (!isnan(model->discount)) {
        NADIR_TRY(shape(context, model, path));
    }
    return take_offset(context, model);
}

nadir_status nadir_landing_extend(nadir_context *context, nadir_model *model, double *tolerance)
{
    nadir_landing_clear(model->memory, model);
    NADIR_TRY(begin(context, model));
    NADIR_TRY(find_g(context, model));
    *tolerance = SEPARABLE * fmax(fabs(model->landing.lowest), fabs(model->landing.highest));
    return NADIR_OK;
}

/* -------------------------------------------------------------------------------------- what kernels pay */

double nadir_landing_reward_size(const nadir_context *context, const nadir_model *model, double largest)
{
    const double shaped = nadir_global_largest(context, model->rows, model->shaped);
    if (!model->landing.general) {
        return shaped;
    }
    /* the difference of two entries, e, product and sum; parts of e are in the slack */
    const double roundings = model->landing.longest + 8;
    return nadir_round_up(shaped + (largest + 1) * nadir_landing_largest(model) * (1 + roundings / 4), 8);
}

/* sum of (P - Phat) (r - base - g) over a dense row, [count] each, where there is a reward. Four sums at once. */
static inline __attribute__((always_inline)) double dense_landing(int64_t count, const double *P,
                                                                  const double *phat, const double *r,
                                                                  double base, const double *g)
{
    double sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int j = 0; j < 4; j++) {
            const double e = r[i + j] - base - g[i + j];
            sums[j] += (P[i + j] - phat[i + j]) * (e == e ? e : 0);
        }
    }
    for (; i < count; i++) {
        const double e = r[i] - base - g[i];
        sums[0] += (P[i] - phat[i]) * (e == e ? e : 0);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

#if defined __x86_64__
/* The same code for processors with registers for four doubles. */
__attribute__((target("avx2"))) static double dense_landing_wide(int64_t count, const double *P,
                                                                 const double *phat, const double *r,
                                                                 double base, const double *g)
{
    return dense_landing(count, P, phat, r, base, g);
}
#endif

/* sum of (P - Phat) e over the entries of a row, P: [count] in the same places. */
static double listed_landing(const nadir_model *model, int64_t row, const nadir_row *nominal, const double *P)
{
    const double *g = model->landing.g;
    const double base = model->landing.base[row];
    double sum = 0;
    if (nominal->columns == NULL) {
#if defined __x86_64__
        if (__builtin_cpu_supports("avx2")) {
            return dense_landing_wide(nominal->count, P, nominal->values, nominal->rewards, base, g);
        }
#endif
        return dense_landing(nominal->count, P, nominal->values, nominal->rewards, base, g);
    }
    for (int64_t i = 0; i < nominal->count; i++) {
        const double e = nominal->rewards[i] - base - g[nominal->columns[i]];
        sum += (P[i] - nominal->values[i]) * (isnan(e) ? 0 : e);
    }
    return sum;
}

double nadir_kernel_landing(const nadir_kernel *kernel, int64_t row)
{
    const nadir_model *model = kernel->model;
    if (!model->landing.general || nadir_kernel_is_nominal(kernel, row)) {
        return 0;
    }
    const nadir_row nominal = nadir_model_row(model, row);
    const nadir_row own = nadir_kernel_row(kernel, row);
    const int64_t start = nadir_landing_entry(model, row);
    const bool rank_one = kernel->kind == NADIR_KERNEL_RANK_ONE;
    double sum = 0;
    int64_t j = 0;
    if (kernel->kind == NADIR_KERNEL_PERTURBED) {
        return listed_landing(model, row, &nominal, own.values);
    }
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        const double value = !rank_one && nadir_row_seek(&own, t, &j) ? own.values[j] : 0;
        const double change = rank_one ? kernel->k[t] : value - nominal.values[i];
        sum += change * nadir_landing_e(model, row, start + i, t);
    }
    return rank_one ? -kernel->b[row] * sum : sum;
}

/* The mean over actions of (P - Phat) . e, and of `rewards` with it unless NULL, times sign. */
static void average_rows(const nadir_context *context, const nadir_kernel *kernel, const nadir_policy *policy,
                         const double *rewards, double sign, double *mean)
{
    const nadir_model *model = kernel->model;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    const int threads = nadir_threads_for(context, model->landing.general ? entries : model->rows);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t s = 0; s < model->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            if (policy->probabilities[row] > 0) {
                const double more = model->landing.general ? nadir_kernel_landing(kernel, row) : 0;
                sum += policy->probabilities[row] * (rewards != NULL ? rewards[row] + more : more);
            }
        }
        mean[s] = sign * sum;
    }
}

void nadir_kernel_landings(const nadir_context *context, const nadir_kernel *kernel,
                           const nadir_policy *policy, double sign, double *more)
{
    average_rows(context, kernel, policy, NULL, sign, more);
}

void nadir_kernel_rewards(const nadir_context *context, const nadir_kernel *kernel,
                          const nadir_policy *policy, double sign, double *R)
{
    average_rows(context, kernel, policy, kernel->model->shaped, sign, R);
}

/* ----------------------------------------------------------------------------------------- and back */

nadir_reward_kind nadir_model_rewards(const nadir_model *model, nadir_unseen *unseen, double *unseen_value)
{
    const bool lands = model->transition_rewards != NULL;
    *unseen = model->unseen;
    *unseen_value = !lands                                ? NAN
                    : model->unseen == NADIR_UNSEEN_MIN   ? model->landing.lowest
                    : model->unseen == NADIR_UNSEEN_VALUE ? model->unseen_value
                                                          : NAN;
    return !lands                   ? model->rewards != NULL ? NADIR_REWARDS_ROW : NADIR_REWARDS_NONE
           : model->landing.general ? NADIR_REWARDS_LANDING
                                    : NADIR_REWARDS_SEPARABLE;
}

double nadir_model_unseen_error(const nadir_model *model)
{
    const bool fitted = model->landing.general && model->unseen == NADIR_UNSEEN_ADDITIVE;
    return fitted && !is_complete(model) ? nadir_landing_largest(model) : 0;
}

/* What the offset adds to values and returns. */
static double level_of(const nadir_model *model)
{
    return model->landing.offset != 0 ? model->landing.offset / (1 - model->discount) : 0;
}

double nadir_landing_return(const nadir_model *model, double J)
{
    return J - model->landing.shift + level_of(model);
}

double nadir_landing_shaped_return(const nadir_model *model, double J)
{
    return J - level_of(model) + model->landing.shift;
}

/* One rounding of the difference. */
static double difference_slack(const nadir_model *model, double J)
{
    return model->landing.slack + (model->landing.slack > 0 ? NADIR_ROUND_UNIT * fabs(J) : 0);
}

double nadir_landing_lower(const nadir_model *model, double lower)
{
    const double J = nadir_landing_return(model, lower);
    return J - difference_slack(model, J);
}

double nadir_landing_upper(const nadir_model *model, double upper)
{
    const double J = nadir_landing_return(model, upper);
    return J + difference_slack(model, J);
}

/* g / gamma of a state */
static double shift_of(const nadir_model *model, int64_t state)
{
    const double *g = model->landing.g;
    return (g != NULL && g[state] != 0 ? g[state] / model->discount : 0) - level_of(model);
}

double nadir_landing_value_size(const nadir_context *context, const nadir_model *model, const double *v,
                                double shift)
{
    double largest = 0;
    for (int64_t s = 0; s < model->states; s++) {
        largest = fmax(largest, fabs(v[s] + shift - shift_of(model, s)));
    }
    return nadir_allreduce_maximum(context, largest);
}

void nadir_landing_value(const nadir_model *model, double *v)
{
    for (int64_t s = 0; s < model->states; s++) {
        v[s] -= shift_of(model, s);
    }
}

void nadir_landing_q(const nadir_model *model, double *q)
{
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            q[row] -= shift_of(model, s);
        }
    }
}
