/*
 * return_measure.c: the posterior of rows, and a policy on its mean: J, f, and the slope of J - z sqrt(f); see returns.h.
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

#include <math.h>

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

double nadir_return_pays(const nadir_model *model, int64_t row, const nadir_row *entries, int64_t i)
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
        sum += entries.values[i] * (nadir_return_pays(model, row, &entries, i) +
                                    model->discount * v[nadir_row_column(&entries, i)]);
    }
    for (int64_t i = 0; i < entries.count; i++) {
        const double change = nadir_return_pays(model, row, &entries, i) +
                              model->discount * v[nadir_row_column(&entries, i)] - sum;
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
        g[t] += weight * entries.values[i] *
                (nadir_return_pays(model, row, &entries, i) + model->discount * v[t] - mean);
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
