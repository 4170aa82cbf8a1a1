/*
 * return_policy.c: the policy whose return is high and well known: J - z sqrt(f) as high as possible; see returns.h.
 *
 * With h(s) = sum over a of 2 x pi U, w = D h, and e = D^T of the sum over rows of 2 gamma c x^2 m o (y - m.y),
 *
 *     df / dpi(a|s) = 2 x d U + gamma d m.w + e(s) Q(s, a),        dJ / dpi(a|s) = d Q.
 *
 * To first order J - z sqrt(f) is the worst return over a chi-squared ball of radius z around the mean kernel.
 */
#include "fit/returns.h"
#include "model/landing.h"
#include "model/policy.h"
#include "solve/nominal_optimum.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- The posterior ----------------------------------------------------------------------------------- */

/* Weight of the pooled variance of rewards in that of a row, in degrees of freedom. */
static const double pooled_freedom = 4;

/* Sum of squares and degrees of freedom of the rewards within the transitions of a row. */
static void row_squares(const nadir_counts *counts, int64_t row, double *square, double *freedom)
{
    *square = 0;
    *freedom = 0;
    for (int64_t i = counts->row_starts[row]; i < counts->row_starts[row + 1]; i++) {
        const double mean = counts->reward_sums[i] / counts->counts[i];
        const double rounding = counts->counts[i] * mean * mean * 0x1p-80; /* of means that do not vary */
        *square += counts->reward_squares[i] > rounding ? counts->reward_squares[i] : 0;
        *freedom += fmax(counts->counts[i] - 1, 0);
    }
}

/* Rewards that vary: each row has a scaled inverse chi-squared variance with the pooled one as prior. */
static nadir_status find_noise(nadir_context *context, nadir_return_problem *self)
{
    const nadir_counts *counts = self->fit->data.counts;
    double square = 0;
    double freedom = 0;
    for (int64_t row = 0; row < counts->rows; row++) {
        row_squares(counts, row, &self->noise_square[row], &self->noise_freedom[row]);
        square += self->noise_square[row];
        freedom += self->noise_freedom[row];
    }
    if (!isfinite(square)) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "the squares of the rewards are larger than any number");
    }
    const double pooled = freedom > 0 ? square / freedom : 0;
    self->reward_deviation = sqrt(pooled);
    for (int64_t row = 0; row < counts->rows; row++) {
        self->noise[row] = 0;
        self->noise_square[row] += pooled_freedom * pooled;
        self->noise_freedom[row] += pooled_freedom;
        const double variance = self->noise_square[row] / (self->noise_freedom[row] - 2);
        const double total = self->fit->evidence.visits[row] +
                             self->fit->evidence.each[row] * (double)self->fit->evidence.allowed[row];
        for (int64_t i = counts->row_starts[row]; i < counts->row_starts[row + 1]; i++) {
            const double mean = (counts->counts[i] + self->fit->evidence.each[row]) / total;
            self->noise[row] += mean * mean * variance / counts->counts[i];
        }
    }
    return NADIR_OK;
}

/* A row without data is taken only where its state has no others. */
static void find_taken(nadir_return_problem *self)
{
    const nadir_evidence *evidence = &self->fit->evidence;
    for (int64_t state = 0; state < evidence->states; state++) {
        bool any = false;
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            any = any || nadir_evidence_seen(evidence, row) > 0;
        }
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            self->taken[row] = !any || nadir_evidence_seen(evidence, row) > 0;
            self->barred += self->taken[row] ? 0 : 1;
        }
    }
}

nadir_status nadir_return_problem_make(nadir_context *context, const nadir_fit *fit,
                                       nadir_return_problem *problem)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = &fit->evidence;
    *problem = (nadir_return_problem){.fit = fit, .model = fit->nominal};
    NADIR_CHECK(nadir_kernel_create(context, fit->nominal, &problem->kernel));
    NADIR_NEW_ZERO(context, problem->shrink, evidence->rows);
    NADIR_NEW_ZERO(context, problem->noise, evidence->rows);
    NADIR_NEW_ZERO(context, problem->noise_square, evidence->rows);
    NADIR_NEW_ZERO(context, problem->noise_freedom, evidence->rows);
    NADIR_NEW(context, problem->taken, evidence->rows);
    for (int64_t row = 0; row < evidence->rows; row++) {
        const double total = evidence->visits[row] + evidence->each[row] * (double)evidence->allowed[row];
        problem->shrink[row] = evidence->kinds[row] == NADIR_ROW_DRAWN ? 1 / (total + 1) : 0;
    }
    NADIR_CHECK(find_noise(context, problem));
    find_taken(problem);
cleanup:
    if (status != NADIR_OK) {
        nadir_return_problem_clear(context, problem);
    }
    return status;
}

void nadir_return_problem_clear(nadir_context *context, nadir_return_problem *problem)
{
    nadir_occupancy_free(context, problem->occupancy);
    nadir_kernel_free(problem->kernel);
    NADIR_RELEASE(context, problem->shrink, problem->noise, problem->noise_square, problem->noise_freedom,
                  problem->taken);
    *problem = (nadir_return_problem){0};
}

/* ---- A policy on the mean kernel --------------------------------------------------------------------- */

nadir_status nadir_return_measure_make(nadir_context *context, const nadir_return_problem *problem,
                                       nadir_return_measure *measure)
{
    nadir_status status = NADIR_OK;
    *measure = (nadir_return_measure){0};
    NADIR_NEW(context, measure->v, problem->model->states);
    NADIR_NEW(context, measure->d, problem->model->states);
    NADIR_NEW(context, measure->U, problem->model->rows);
    NADIR_NEW(context, measure->Q, problem->model->rows);
cleanup:
    if (status != NADIR_OK) {
        nadir_return_measure_clear(context, measure);
    }
    return status;
}

void nadir_return_measure_clear(nadir_context *context, nadir_return_measure *measure)
{
    NADIR_RELEASE(context, measure->v, measure->d, measure->U, measure->Q);
    *measure = (nadir_return_measure){0};
}

/* What entry i of a row pays. */
static double pays(const nadir_model *model, int64_t row, const nadir_row *entries, int64_t i)
{
    const double r = entries->rewards != NULL ? entries->rewards[i] : model->rewards[row];
    return isnan(r) ? nadir_landing_unseen(model, row, nadir_row_column(entries, i)) : r;
}

/* Mean of y over a row, and its variance. */
static void row_moments(const nadir_model *model, int64_t row, const double *v, double *mean,
                        double *variance)
{
    const nadir_row entries = nadir_model_row(model, row);
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < entries.count; i++) {
        sum += entries.values[i] *
               (pays(model, row, &entries, i) + model->discount * v[nadir_row_column(&entries, i)]);
    }
    for (int64_t i = 0; i < entries.count; i++) {
        const double change =
            pays(model, row, &entries, i) + model->discount * v[nadir_row_column(&entries, i)] - sum;
        squares += entries.values[i] * change * change;
    }
    *mean = sum;
    *variance = squares;
}

nadir_status nadir_return_measure_take(nadir_context *context, nadir_return_problem *problem,
                                       const nadir_policy *policy, nadir_return_measure *measure)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const double *pi = policy->probabilities;
    if (problem->occupancy == NULL) {
        NADIR_CHECK(nadir_occupancy_create(context, problem->kernel, policy, model->discount, NULL, 0,
                                           &problem->occupancy));
    } else {
        NADIR_CHECK(nadir_occupancy_update(context, problem->occupancy, problem->kernel, policy));
    }
    for (int64_t state = 0; state < model->states; state++) {
        measure->v[state] = 0;
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            measure->v[state] += pi[row] * model->rewards[row];
        }
    }
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, measure->v, measure->v, NULL));
    NADIR_CHECK(
        nadir_occupancy_solve_transposed(context, problem->occupancy, 1, model->initial, measure->d, NULL));
    measure->J = 0;
    measure->f = 0;
    for (int64_t state = 0; state < model->states; state++) {
        measure->d[state] = fmax(measure->d[state], 0);
        measure->J += model->initial[state] * measure->v[state];
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            const double x = measure->d[state] * pi[row];
            double variance;
            row_moments(model, row, measure->v, &measure->Q[row], &variance);
            measure->U[row] = problem->shrink[row] * variance + problem->noise[row];
            measure->f += x * x * measure->U[row];
        }
    }
cleanup:
    return status;
}

/* g <- g + weight m o (y - m.y) of a row. */
static void add_changes(const nadir_model *model, int64_t row, const double *v, double mean, double weight,
                        double *g)
{
    const nadir_row entries = nadir_model_row(model, row);
    for (int64_t i = 0; i < entries.count; i++) {
        const int64_t t = nadir_row_column(&entries, i);
        g[t] += weight * entries.values[i] * (pays(model, row, &entries, i) + model->discount * v[t] - mean);
    }
}

static double row_product(const nadir_model *model, int64_t row, const double *w)
{
    const nadir_row entries = nadir_model_row(model, row);
    double sum = 0;
    for (int64_t i = 0; i < entries.count; i++) {
        sum += entries.values[i] * w[nadir_row_column(&entries, i)];
    }
    return sum;
}

nadir_status nadir_return_slope(nadir_context *context, nadir_return_problem *problem,
                                const nadir_policy *policy, const nadir_return_measure *measure, double z,
                                double *slope)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const double *pi = policy->probabilities;
    const double root = sqrt(measure->f);
    const double weight = root > 0 ? z / (2 * root) : 0;
    double *w = NULL;
    double *e = NULL;
    NADIR_NEW_ZERO(context, w, model->states);
    NADIR_NEW_ZERO(context, e, model->states);
    for (int64_t state = 0; weight > 0 && state < model->states; state++) {
        const double d = measure->d[state];
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            const double x = d * pi[row];
            w[state] += 2 * x * pi[row] * measure->U[row];
            if (x > 0 && problem->shrink[row] > 0) {
                add_changes(model, row, measure->v, measure->Q[row],
                            2 * model->discount * problem->shrink[row] * x * x, e);
            }
        }
    }
    if (weight > 0) {
        NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, w, w, NULL));
        NADIR_CHECK(nadir_occupancy_solve_transposed(context, problem->occupancy, 1, e, e, NULL));
    }
    for (int64_t state = 0; state < model->states; state++) {
        const double d = measure->d[state];
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            slope[row] = d * measure->Q[row];
            if (weight > 0) {
                slope[row] -=
                    weight * (2 * d * pi[row] * d * measure->U[row] +
                              model->discount * d * row_product(model, row, w) + e[state] * measure->Q[row]);
            }
        }
    }
cleanup:
    NADIR_RELEASE(context, w, e);
    return status;
}

/* ---- Ascent ------------------------------------------------------------------------------------------ */

enum { ASCENT_STEPS = 200 };
/* It ends where a step gains less than this share of the deviation. */
static const double least_gain = 1e-5;

/* The point of the simplex over the rows that may be taken which is nearest to p + step g. p, g, to: [count] */
static void project(int64_t count, const bool *taken, const double *p, const double *g, double step,
                    double *to)
{
    double level = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        to[i] = taken[i] ? p[i] + step * g[i] : -INFINITY;
    }
    for (int64_t i = 0; i < count; i++) { /* the level of which to[i] is the smallest that stays */
        double sum = -1;
        int64_t above = 0;
        for (int64_t k = 0; taken[i] && k < count; k++) {
            if (to[k] >= to[i]) {
                sum += to[k];
                above++;
            }
        }
        const double own = above > 0 ? sum / (double)above : -INFINITY;
        level = above > 0 && own < to[i] ? fmax(level, own) : level;
    }
    double total = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = taken[i] ? fmax(to[i] - level, 0) : 0;
        total += to[i];
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] /= total;
    }
}

/* A step along the slope, for each state relative to its occupancy: with a long one every state takes its best row. */
static void move(const nadir_return_problem *problem, const nadir_return_measure *measure, const double *pi,
                 const double *slope, double step, double *own, double *to)
{
    const nadir_model *model = problem->model;
    for (int64_t state = 0; state < model->states; state++) {
        const int64_t first = model->state_rows[state];
        const int64_t count = model->state_rows[state + 1] - first;
        double best = -INFINITY;
        double spread = 0;
        for (int64_t i = 0; i < count; i++) {
            best = problem->taken[first + i] ? fmax(best, slope[first + i]) : best;
        }
        for (int64_t i = 0; i < count; i++) {
            own[i] = slope[first + i] - best;
            spread = problem->taken[first + i] ? fmax(spread, -own[i]) : spread;
        }
        const double scale = measure->d[state] > 0 && spread > 0 ? step / measure->d[state] : 0;
        project(count, problem->taken + first, pi + first, own, scale, to + first);
    }
}

/* The gain of a step is tried with steps ever shorter; *gain 0: none is better. */
static nadir_status climb(nadir_context *context, nadir_return_problem *problem, double z,
                          nadir_policy *policy, nadir_policy *next, nadir_return_measure *measure,
                          const double *slope, double *own, double *step, double *gain)
{
    const double before = measure->J - z * sqrt(measure->f);
    const double wanted = least_gain * sqrt(measure->f) + 16 * DBL_EPSILON * fabs(measure->J);
    for (int tries = 0; tries < 40; tries++) {
        move(problem, measure, policy->probabilities, slope, *step, own, next->probabilities);
        double first = 0;
        for (int64_t row = 0; row < problem->model->rows; row++) {
            first += slope[row] * (next->probabilities[row] - policy->probabilities[row]);
        }
        if (!(first > wanted)) {
            break;
        }
        nadir_return_measure after = *measure; /* shares the arrays */
        NADIR_TRY(nadir_return_measure_take(context, problem, next, &after));
        *gain = after.J - z * sqrt(after.f) - before;
        if (*gain > 0.1 * first) {
            measure->J = after.J;
            measure->f = after.f;
            memcpy(policy->probabilities, next->probabilities, (size_t)problem->model->rows * sizeof(double));
            return NADIR_OK;
        }
        NADIR_TRY(nadir_return_measure_take(context, problem, policy, measure));
        *step /= 4;
    }
    *gain = 0;
    return NADIR_OK;
}

nadir_status nadir_return_ascend(nadir_context *context, nadir_return_problem *problem, double z,
                                 nadir_policy *policy)
{
    nadir_status status = NADIR_OK;
    nadir_return_measure measure = {0};
    nadir_policy *next = NULL;
    double *slope = NULL;
    double *own = NULL;
    double step = NAN;
    double gain = 1;
    NADIR_CHECK(nadir_return_measure_make(context, problem, &measure));
    NADIR_CHECK(nadir_policy_create_blank(context, problem->model, &next));
    NADIR_NEW(context, slope, problem->model->rows);
    NADIR_NEW(context, own, nadir_model_most_actions(problem->model));
    NADIR_CHECK(nadir_return_measure_take(context, problem, policy, &measure));
    for (int i = 0; i < ASCENT_STEPS && gain > 0; i++) {
        NADIR_CHECK(nadir_return_slope(context, problem, policy, &measure, z, slope));
        if (i == 0) { /* a step of 1 for a change of Q by the smallest deviation that matters */
            step = 1e3 / fmax(sqrt(measure.f), DBL_MIN);
        }
        NADIR_CHECK(climb(context, problem, z, policy, next, &measure, slope, own, &step, &gain));
        step *= 16;
        NADIR_CHECK(nadir_progress(context, "choosing a policy", -1));
    }
cleanup:
    nadir_return_measure_clear(context, &measure);
    nadir_policy_free(next);
    NADIR_RELEASE(context, slope, own);
    return status;
}

/* ---- Policies to start from -------------------------------------------------------------------------- */

static nadir_status spread(nadir_context *context, const nadir_return_problem *problem, const double *weights,
                           nadir_policy **policy)
{
    const nadir_model *model = problem->model;
    NADIR_TRY(nadir_policy_create_blank(context, model, policy));
    for (int64_t state = 0; state < model->states; state++) {
        double sum = 0;
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            sum += weights[row];
        }
        const double each = 1 / (double)(model->state_rows[state + 1] - model->state_rows[state]);
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            (*policy)->probabilities[row] = sum > 0 ? weights[row] / sum : each;
        }
    }
    return NADIR_OK;
}

nadir_status nadir_return_behaviour(nadir_context *context, const nadir_return_problem *problem,
                                    nadir_policy **policy)
{
    return spread(context, problem, problem->fit->evidence.visits, policy);
}

/* Policy iteration: with z = 0 a long step takes the best row of every state. */
nadir_status nadir_return_nominal(nadir_context *context, nadir_return_problem *problem,
                                  nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_return_measure measure = {0};
    nadir_policy *made = NULL;
    double *taken = NULL;
    bool changed = true;
    NADIR_NEW(context, taken, problem->model->rows);
    for (int64_t row = 0; row < problem->model->rows; row++) {
        taken[row] = problem->taken[row] ? 1 : 0;
    }
    NADIR_CHECK(spread(context, problem, taken, &made));
    NADIR_CHECK(nadir_return_measure_make(context, problem, &measure));
    for (int i = 0; i < ASCENT_STEPS && changed; i++) {
        const nadir_model *model = problem->model;
        changed = false;
        NADIR_CHECK(nadir_return_measure_take(context, problem, made, &measure));
        for (int64_t state = 0; state < model->states; state++) {
            int64_t best = -1;
            for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
                const double slack = made->probabilities[row] == 1 ? 1e-12 * fabs(measure.Q[row]) : 0;
                const bool better =
                    best < 0 || measure.Q[row] + slack >
                                    measure.Q[best] +
                                        (made->probabilities[best] == 1 ? 1e-12 * fabs(measure.Q[best]) : 0);
                best = problem->taken[row] && better ? row : best;
            }
            changed = changed || made->probabilities[best] != 1;
            for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
                made->probabilities[row] = row == best ? 1 : 0;
            }
        }
    }
    *policy = made;
    made = NULL;
cleanup:
    nadir_policy_free(made);
    nadir_return_measure_clear(context, &measure);
    nadir_release(context, taken);
    return status;
}
